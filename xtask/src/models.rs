//! Rebuilds the embedding models inside the program from their checkpoints, and compares them byte for byte.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install::PACKING;
use crate::process::{self, Repo, not_checked};

/// A model file, as `pack.py` is called for it.
struct PackedModel {
    kind: &'static str,
    checkpoint: &'static str,
    file: &'static str,
    /// The fusion weight that belongs to it.
    weight: &'static [&'static str],
}

const MODELS: [PackedModel; 2] = [
    PackedModel {
        kind: "static",
        checkpoint: "checkpoints/static-2.npz",
        file: "static/sectile-static-2.bin",
        weight: &["--weight", "0.31"],
    },
    PackedModel {
        kind: "transformer",
        checkpoint: "checkpoints/transformer-1.npz",
        file: "transformer/sectile-transformer-1.bin",
        weight: &["--weight", "0.7", "--discount", "0.4"],
    },
];
/// The vectors that the static model's script prints. Those of the transformer are floating point, whose last digits depend on
/// the version of numpy; the tests of `retrieval` compare them.
const STATIC_VECTORS: (&str, &str) = ("reference_static.py", "vectors-static-2.jsonl");

pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let outside = repo.target.join("outside");
    if let Some(missing) = PACKING.missing(&outside) {
        return not_checked(&missing);
    }
    let python = PACKING.python(&outside);
    let (folder, rebuilt) = (repo.root.join("model"), repo.target.join("models"));
    for model in &MODELS {
        fs::create_dir_all(rebuilt.join(model.file).parent().unwrap_or(&rebuilt))?;
        let mut pack = Command::new(&python);
        pack.current_dir(&folder)
            .args(["pack.py", model.kind, model.checkpoint])
            .arg(rebuilt.join(model.file))
            .args(model.weight);
        process::run(&mut pack)?;
        compare(&folder.join(model.file), &read(&rebuilt.join(model.file))?)?;
    }
    let (script, vectors) = STATIC_VECTORS;
    let mut print = Command::new(&python);
    let printed = process::stdout_of(print.current_dir(&folder).arg(script))?;
    compare(&folder.join(vectors), printed.as_bytes())?;
    Ok(Some(format!("{} files rebuilt", MODELS.len() + 1)))
}

/// Fails if a file in the repository is not what was made of its sources.
fn compare(path: &Path, rebuilt: &[u8]) -> Result<()> {
    if read(path)? != rebuilt {
        let name = path.file_name().unwrap_or_default().display();
        bail!("model/{name} is not what its script makes; model/README.md says how to rebuild it");
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_is_refused() {
        let path = Repo::find().root.join("model").join(STATIC_VECTORS.1);
        let bytes = read(&path).unwrap();
        compare(&path, &bytes).unwrap();
        let error = compare(&path, &bytes[1..]).unwrap_err().to_string();
        assert!(
            error.starts_with("model/vectors-static-2.jsonl is not"),
            "{error}"
        );
    }

    #[test]
    fn the_manual_names_the_same_commands() {
        let readme = Repo::find().root.join("model/README.md");
        let readme = fs::read_to_string(readme).unwrap();
        for model in &MODELS {
            let command = format!(
                "python pack.py {} {} {} {}",
                model.kind,
                model.checkpoint,
                model.file,
                model.weight.join(" ")
            );
            assert!(readme.contains(&command), "{command}");
        }
    }
}
