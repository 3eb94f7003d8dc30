//! What was measured: a line for each figure, one table at the end, and runs that are kept to compare later ones with.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

/// How much worse than all saved runs a figure may be. Repeated runs on an idle machine stay within a tenth of each other;
/// the rest is for one that is less idle.
const NOISE: f64 = 1.25;

/// A figure that has a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    measured: f64,
    target: f64,
    /// Whether more is better. Otherwise, less is.
    wants_more: bool,
    met: bool,
}

impl Verdict {
    pub(crate) fn at_most(measured: impl Quantity, target: impl Quantity) -> Self {
        let (measured, target) = (measured.as_number(), target.as_number());
        Self {
            measured,
            target,
            wants_more: false,
            met: measured <= target,
        }
    }

    pub(crate) fn at_least(measured: impl Quantity, target: impl Quantity) -> Self {
        let (measured, target) = (measured.as_number(), target.as_number());
        Self {
            measured,
            target,
            wants_more: true,
            met: measured >= target,
        }
    }

    /// Adds a condition that a target has beside its figure.
    pub(crate) fn and(mut self, holds: bool) -> Self {
        self.met &= holds;
        self
    }

    /// Returns how many times as bad this figure is as another one. Figures so small that they are zero are alike.
    fn worse_than(&self, other: &Self) -> f64 {
        let (bad, good) = match self.wants_more {
            true => (other.measured, self.measured),
            false => (self.measured, other.measured),
        };
        match (bad, good) {
            (bad, _) if bad <= 0.0 => 1.0,
            (_, good) if good <= 0.0 => f64::INFINITY,
            (bad, good) => bad / good,
        }
    }
}

/// Something that can be compared with a target: durations count in seconds.
pub(crate) trait Quantity {
    fn as_number(&self) -> f64;
}

impl Quantity for Duration {
    fn as_number(&self) -> f64 {
        self.as_secs_f64()
    }
}

macro_rules! quantities {
    ($($number:ty),*) => {
        $(impl Quantity for $number {
            fn as_number(&self) -> f64 {
                *self as f64
            }
        })*
    };
}

quantities!(f64, u64, usize);

/// A figure in a report.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ReportRow {
    group: String,
    what: String,
    figures: String,
    verdict: Verdict,
}

/// A run that was saved: one line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct SavedRun {
    quick: bool,
    rows: Vec<ReportRow>,
}

/// A report, printed line by line, and as a table at the end.
#[derive(Default)]
pub(crate) struct Report {
    group: String,
    rows: Vec<ReportRow>,
}

impl Report {
    /// Begins a group of figures.
    pub(crate) fn begin(&mut self, group: &str) {
        group.clone_into(&mut self.group);
    }

    /// Reports a time as a multiple of a baseline, with its target.
    pub(crate) fn ratio(&mut self, what: &str, time: Duration, yardstick: Duration, target: f64) {
        let ratio = time.as_secs_f64() / yardstick.as_secs_f64();
        let figures = format!("{ratio:.2} (target {target:.1}; {time:.1?} / {yardstick:.1?})");
        self.line(what, &figures, Verdict::at_most(ratio, target));
    }

    /// Reports how many times as long the alternative takes, with the least factor to reach.
    pub(crate) fn faster(&mut self, what: &str, time: Duration, slower: Duration, target: f64) {
        let ratio = slower.as_secs_f64() / time.as_secs_f64();
        let figures =
            format!("{ratio:.0} times (target {target:.0} or more; {slower:.1?} / {time:.1?})");
        self.line(what, &figures, Verdict::at_least(ratio, target));
    }

    /// Reports a figure without a target.
    pub(crate) fn seen(&mut self, what: &str, figures: &str) {
        println!("       {what}: {figures}");
    }

    /// Reports any other figure that has a target.
    pub(crate) fn line(&mut self, what: &str, figures: &str, verdict: Verdict) {
        println!("{} {what}: {figures}", word(verdict.met));
        self.rows.push(ReportRow {
            group: self.group.clone(),
            what: what.to_owned(),
            figures: figures.to_owned(),
            verdict,
        });
    }

    /// Prints all figures that have a target.
    pub(crate) fn print_table(&self) {
        println!("\n| group | figure | measured | target met |\n| --- | --- | --- | --- |");
        for row in &self.rows {
            let ReportRow {
                group,
                what,
                figures,
                verdict,
            } = row;
            let met = if verdict.met { "yes" } else { "**no**" };
            println!("| {group} | {what} | {figures} | {met} |");
        }
    }

    pub(crate) fn all_met(&self) -> bool {
        self.rows.iter().all(|row| row.verdict.met)
    }

    /// Adds this run to a file.
    pub(crate) fn save(&self, file: &Path, quick: bool) -> Result<()> {
        let run = SavedRun {
            quick,
            rows: self.rows.clone(),
        };
        let line = serde_json::to_string(&run)? + "\n";
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .with_context(|| format!("cannot open `{}`", file.display()))?;
        file.write_all(line.as_bytes())
            .context("cannot save this run")
    }

    /// Compares this run with those of a file, and returns whether no figure is clearly worse than in all of them.
    pub(crate) fn compare(&self, file: &Path, quick: bool) -> Result<bool> {
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        let runs = text
            .lines()
            .map(serde_json::from_str)
            .collect::<serde_json::Result<Vec<SavedRun>>>()
            .with_context(|| format!("`{}` has a line that is not a run", file.display()))?;
        let runs: Vec<&SavedRun> = runs.iter().filter(|run| run.quick == quick).collect();
        ensure!(!runs.is_empty(), "`{}` has no such run", file.display());
        let compared = self.rows.iter().filter_map(|row| {
            let worse = runs
                .iter()
                .flat_map(|run| &run.rows)
                .filter(|saved| (&saved.group, &saved.what) == (&row.group, &row.what))
                .map(|saved| row.verdict.worse_than(&saved.verdict))
                .reduce(f64::min)?;
            Some((row, worse))
        });
        let compared: Vec<(&ReportRow, f64)> = compared.collect();
        println!(
            "\n{} of {} figures are in {} saved runs",
            compared.len(),
            self.rows.len(),
            runs.len()
        );
        let regressions = compared.iter().filter(|(_, worse)| *worse > NOISE);
        let mut count = 0;
        for (row, worse) in regressions {
            count += 1;
            println!(
                "WORSE  {} {}: {worse:.2} times as bad as the nearest saved run; now {}",
                row.group, row.what, row.figures
            );
        }
        Ok(count == 0)
    }
}

fn word(met: bool) -> &'static str {
    if met { "met   " } else { "MISSED" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(measured: f64, rate: f64) -> Report {
        let mut report = Report::default();
        report.begin("calls");
        report.line("a ratio", "", Verdict::at_most(measured, 1.5));
        report.line("a rate", "", Verdict::at_least(rate, 100.0));
        report
    }

    #[test]
    fn a_figure_has_to_be_worse_than_all_saved_runs() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("runs");
        report(1.0, 200.0).save(&file, false)?;
        report(1.2, 150.0).save(&file, false)?;
        for (measured, rate, fine) in [
            (1.0, 200.0, true),
            (1.4, 130.0, true),
            (1.6, 200.0, false),
            (1.0, 100.0, false),
            (0.1, 900.0, true),
        ] {
            let compared = report(measured, rate).compare(&file, false)?;
            assert_eq!(compared, fine, "{measured} {rate}");
        }
        assert!(report(1.0, 200.0).compare(&file, true).is_err());
        Ok(())
    }

    #[test]
    fn targets_are_met_or_missed() {
        assert!(report(1.5, 100.0).all_met());
        assert!(!report(1.6, 100.0).all_met());
        assert!(!report(1.5, 99.0).all_met());
        assert!(!Verdict::at_most(0_u64, 5_u64).and(false).met);
    }
}
