//! The plots of the comparison: panels of bars as SVG, without a script.

use serde_json::Value;

use super::page::{self, Figure};
use super::programs::ProgramFacts;

const WIDTH: usize = 760;
/// Width of the names of programs.
const NAMES: usize = 210;
/// Width of the longest bar.
const BARS: usize = 430;
const ROW: usize = 20;
const TITLE: usize = 34;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:bold}.bar{fill:#8c959f}.own{fill:#0a6b74}\
                     .back{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.own{fill:#3fb6c4}\
                     .back{fill:#0d1117}}";

/// A panel: a title, and a bar for each program that has the figure.
struct BarPanel {
    title: String,
    /// Each with whether it is our own.
    bars: Vec<(String, bool, f64)>,
}

/// Returns the paths and texts of all plots.
pub(super) fn plots(results: &Value) -> Vec<(String, String)> {
    let measured = page::measured(results);
    let programs = page::with_notes(&measured);
    let panel = |title: &str, get: &dyn Fn(&Value) -> Option<f64>| BarPanel {
        title: title.to_owned(),
        bars: programs
            .iter()
            .filter_map(|(facts, row)| Some((facts.name.to_owned(), is_ours(facts), get(row)?)))
            .collect(),
    };
    let safety = [
        panel(
            "Edits of two agents that were answered with success and lost, of 100",
            &|row| row["safety"]["two_agents"]["lost"].as_f64(),
        ),
        panel(
            "Notes, of 7, in which an edit changed other bytes",
            &|row| {
                let bytes = &row["safety"]["bytes"];
                Some(bytes.as_object()?.len() as f64 - page::kept(bytes) as f64)
            },
        ),
    ];
    // Programs that index for long have no figures among more notes.
    let size = page::sizes(&measured).first().copied().unwrap_or_default();
    let shown = |figure: &&Figure| !["complete_s", "read_ms"].contains(&figure.key);
    let speed: Vec<BarPanel> = page::FIGURES
        .iter()
        .filter(shown)
        .map(|figure| {
            let title = format!("{} among {size} notes, {}", figure.name, figure.unit);
            panel(&title, &|row| {
                page::speed_at(row, size)[figure.key].as_f64()
            })
        })
        .collect();
    vec![
        (
            "docs/pictures/comparison-safety.svg".to_owned(),
            draw("Lost edits and changed bytes", &safety),
        ),
        (
            "docs/pictures/comparison-speed.svg".to_owned(),
            draw("Start, search, edit and memory", &speed),
        ),
    ]
}

fn is_ours(facts: &ProgramFacts) -> bool {
    facts.id == "sectile"
}

fn draw(title: &str, panels: &[BarPanel]) -> String {
    let mut body = String::new();
    let mut y = 0;
    for panel in panels {
        body += &format!(
            "<text class=\"title\" x=\"12\" y=\"{}\">{}</text>\n",
            y + 22,
            panel.title
        );
        y += TITLE;
        let longest = panel
            .bars
            .iter()
            .map(|(_, _, value)| *value)
            .fold(f64::MIN_POSITIVE, f64::max);
        for (name, is_own, value) in &panel.bars {
            let class = if *is_own { "own" } else { "bar" };
            let width = (value / longest * BARS as f64).max(1.0).round();
            body += &format!(
                "<text x=\"12\" y=\"{0}\">{name}</text><rect class=\"{class}\" x=\"{NAMES}\" y=\"{1}\" width=\"{width}\" \
                 height=\"12\"/><text x=\"{2}\" y=\"{0}\">{value}</text>\n",
                y + 12,
                y + 2,
                NAMES as f64 + width + 8.0,
            );
            y += ROW;
        }
    }
    y += 12;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{y}\" viewBox=\"0 0 {WIDTH} {y}\" role=\"img\" \
         aria-labelledby=\"t\">\n<title id=\"t\">{title}</title>\n<style>{STYLE}</style>\n<rect class=\"back\" width=\"{WIDTH}\" \
         height=\"{y}\"/>\n{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_has_the_full_width() {
        let panel = BarPanel {
            title: "t".to_owned(),
            bars: vec![("a".to_owned(), true, 4.0), ("b".to_owned(), false, 2.0)],
        };
        let plot = draw("t", &[panel]);
        assert!(plot.contains("width=\"430\"") && plot.contains("width=\"215\""));
    }
}
