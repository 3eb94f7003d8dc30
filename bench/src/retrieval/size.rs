//! The size of the models in the program, and the time to its first answer.

use std::{fs, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use sectile_retrieval::Embedder;

use super::model_folder;
use crate::{
    Bench,
    measure::middle,
    processes,
    report::{Report, Verdict},
    server::Server,
};

const START: std::time::Duration = std::time::Duration::from_millis(20);
/// The most bytes of each model.
const MOST: [usize; 2] = [5_000_000, 10_000_000];
/// The number of bytes of a model file that are looked up in the program.
const SAMPLE: usize = 256;

pub(super) fn run(report: &mut Report, bench: &Bench, models: &[&dyn Embedder]) -> Result<()> {
    let program = bench.binaries.join("sectile");
    let program = fs::read(program).context("the program")?;
    let mut inside = 0;
    for (model, most) in models.iter().zip(MOST) {
        let name = format!("{}.bin", model.name());
        let file = fs::read(model_folder().join(&name)).with_context(|| name.clone())?;
        let sample = file
            .get(file.len() / 2..)
            .and_then(|rest| rest.get(..SAMPLE));
        let sample = sample.context("an invalid model")?;
        let is_inside = program.windows(SAMPLE).any(|window| window == sample);
        inside += if is_inside { file.len() } else { 0 };
        let figures = format!(
            "{} bytes (target at most {most}; {})",
            file.len(),
            if is_inside {
                "in the program"
            } else {
                "not in the program"
            }
        );
        report.line(&name, &figures, Verdict::at_most(file.len(), most));
    }
    let share = inside * 100 / program.len().max(1);
    let figures = format!("{} bytes, {share} % of them models", program.len());
    report.seen("the program", &figures);
    start(report, bench)
}

/// Measures the time from the start of a server, on a small indexed library, to its first answer.
fn start(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir_in(&bench.target)?;
    let collection = folder.path().join("library");
    fs::create_dir_all(&collection)?;
    fs::write(collection.join("note.md"), "# A note\n\nWith some words.\n")?;
    let program = bench.binaries.join("sectile");
    let mut index = Command::new(&program);
    index
        .args(["notebook", "index", "--json"])
        .arg(folder.path());
    processes::quickly(&mut index)?;
    let mut times = Vec::new();
    for _ in 0..bench.size(31, 11) {
        let mut serve = Command::new(&program);
        serve.args(["serve", "notebook"]).arg(folder.path());
        let started = Instant::now();
        let mut server = Server::start(&mut serve)?;
        server.initialize()?;
        times.push(started.elapsed());
        server.stop()?;
    }
    ensure!(!times.is_empty(), "nothing was started");
    let time = middle(times);
    let figures = format!("{time:.1?} (target {START:.0?})");
    report.line(
        "start to first answer",
        &figures,
        Verdict::at_most(time, START),
    );
    Ok(())
}
