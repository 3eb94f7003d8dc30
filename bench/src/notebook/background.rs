//! Searching while another process fills the second tier of the same library.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    asked, enter,
    library::{LIBRARY, NotebookLibrary},
    settle,
};
use crate::{
    Bench,
    measure::middle,
    processes::{finish, on_all_cores},
    report::{Report, Verdict},
    server::Server,
};

/// Turns with and without the other process, and questions in each.
const TURNS: usize = 20;
const FEW_TURNS: usize = 6;
const QUESTIONS: usize = 60;
/// The largest slowdown allowed.
const MOST: f64 = 1.2;
/// The time within which the other process must have started embedding.
const LONGEST_START: Duration = Duration::from_secs(60);

/// A process that fills the second tier, and that can be paused.
struct Filler(Child);

impl Filler {
    fn start(command: &Command) -> Result<Self> {
        let child = on_all_cores(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the other process")?;
        Ok(Self(child))
    }

    fn signal(&self, name: &str) -> Result<()> {
        let process = self.0.id().to_string();
        let status = Command::new("kill").args(["-s", name, &process]).status()?;
        ensure!(status.success(), "the other process is gone");
        Ok(())
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        // Both fail only when it has ended already, which is what is wanted.
        drop(self.0.kill().and_then(|()| self.0.wait()));
    }
}

pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
    questions: &[String],
) -> Result<()> {
    finish(&mut library.index_command(bench, LIBRARY))?;
    without_second_tier(library)?;
    let mut server = Server::start(&mut on_all_cores(&library.serve_command(bench)))?;
    server.initialize()?;
    enter(&mut server, LIBRARY)?;
    settle(&mut server, questions)?;
    let filler = Filler::start(&library.whole_index_command(bench, LIBRARY))?;
    wait_for_parts(&library.index())?;
    let mut ratios = Vec::new();
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for turn in 0..bench.size(TURNS, FEW_TURNS) {
        let questions = questions
            .iter()
            .cycle()
            .skip(turn * QUESTIONS)
            .take(QUESTIONS);
        let questions: Vec<&String> = questions.collect();
        filler.signal("STOP")?;
        let quiet = searched(&mut server, &questions)?;
        filler.signal("CONT")?;
        let busy = searched(&mut server, &questions)?;
        ratios.push(busy.as_secs_f64() / quiet.as_secs_f64());
        alone.push(quiet);
        beside.push(busy);
    }
    drop(filler);
    server.stop()?;
    without_second_tier(library)?;
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios
        .get(ratios.len() / 2)
        .copied()
        .unwrap_or(f64::INFINITY);
    let what = format!(
        "semantic_search while {} notes are embedded beside it, of one without",
        library.count
    );
    let figures = format!(
        "{ratio:.2} (target {MOST}; {:.2?} / {:.2?})",
        middle(beside),
        middle(alone)
    );
    report.line(&what, &figures, Verdict::at_most(ratio, MOST));
    Ok(())
}

/// Returns the median time of these searches.
fn searched(server: &mut Server, questions: &[&String]) -> Result<Duration> {
    let times = questions
        .iter()
        .map(|question| Ok(server.call("semantic_search", &asked(question))?.0));
    Ok(middle(times.collect::<Result<_>>()?))
}

/// Returns the files of the second tier in all index folders.
fn second_tier(indexes: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for folder in fs::read_dir(indexes)? {
        for file in fs::read_dir(folder?.path())? {
            let file = file?;
            if file.file_name().to_string_lossy().starts_with("meaning-") {
                files.push(file.path());
            }
        }
    }
    Ok(files)
}

/// Removes all vectors of the second tier, also those that an earlier run left for others.
fn without_second_tier(library: &NotebookLibrary) -> Result<()> {
    for file in second_tier(&library.index())? {
        fs::remove_file(file)?;
    }
    if library.cache().is_dir() {
        fs::remove_dir_all(library.cache())?;
    }
    Ok(())
}

fn wait_for_parts(indexes: &Path) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < LONGEST_START {
        if !second_tier(indexes)?.is_empty() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("nothing was embedded")
}
