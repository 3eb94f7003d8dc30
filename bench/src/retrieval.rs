//! Quality and speed of retrieval: by words, by each model, by both together, and by the model that ours was distilled
//! from. Also the sizes of the models in the program, and their effect on its start.

mod quality;
mod remembered;
mod sets;
mod size;
mod speed;
mod yardstick;

use std::path::PathBuf;

use anyhow::Result;
use sectile_retrieval::{Embedder, built_in, transformer};

use crate::{Bench, report::Report};

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let models: [&dyn Embedder; 2] = [built_in()?, transformer()?];
    match sets::read(bench)? {
        Some(sets) => quality::run(report, bench, &sets, &models)?,
        None => report.seen(
            "skipped, retrieval quality",
            &format!(
                "other people wrote the documents, and they are not at {}; --data names another folder",
                bench.data.join("ir/k8s-docs").display()
            ),
        ),
    }
    size::run(report, bench, &models)?;
    speed::run(report, bench, &models)
}

/// The folder of the models and their scripts.
fn model_folder() -> PathBuf {
    repository().join("model")
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
