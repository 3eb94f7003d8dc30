//! `sectile notebook verify`: hashes everything again.

use sectile_library::{
    artifacts::{self, ArtifactCheck, Drift},
    library::Library,
    provenance::{self, CollectionRoot},
};
use serde::Serialize;

use super::{args::VerifyArgs, collections, failed, open, require};
use crate::cli::ui::{BAD, CliError, DIM, GOOD, NAME, StyledText, print, visible};

/// The result for one collection.
#[derive(Serialize)]
struct VerifyRow {
    collection_id: String,
    root: String,
    notebooks: usize,
    /// Notebooks that cannot be read, and so are not part of the root digest.
    left_out: Vec<String>,
    #[serde(flatten)]
    artifacts: ArtifactCheck,
}

#[derive(Serialize)]
struct VerifyReport {
    verified: bool,
    collections: Vec<VerifyRow>,
}

pub(super) fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let storage = open(&args.root)?;
    let names = match &args.collection {
        Some(collection) => {
            require(&storage, collection)?;
            vec![collection.clone()]
        }
        None => collections(&storage)?,
    };
    if args.sums {
        return sums(&storage, &names);
    }
    let mut rows = Vec::new();
    for collection in names {
        rows.push(VerifyRow::of(&storage, collection)?);
    }
    let problems: usize = rows.iter().map(VerifyRow::problems).sum();
    let looked_at: usize = rows.iter().map(VerifyRow::looked_at).sum();
    if args.json {
        let report = VerifyReport {
            verified: problems == 0 && looked_at > 0,
            collections: rows,
        };
        let text = serde_json::to_string(&report)
            .map_err(|_| CliError::failed("the answer could not be written as JSON."))?;
        print(format_args!("{text}\n"))?;
    } else {
        print(shown(&rows))?;
    }
    match problems {
        0 if looked_at == 0 => Err(nothing()),
        0 => Ok(()),
        1 => Err(CliError::failed("one item does not verify.")),
        _ => Err(CliError::failed(format_args!(
            "{problems} items do not verify."
        ))),
    }
}

fn sums(storage: &Library, collections: &[String]) -> Result<(), CliError> {
    let (mut left_out, mut is_empty) = (0, true);
    for collection in collections {
        let sums =
            provenance::sums(storage, collection, &|| false).map_err(|error| failed(&error))?;
        left_out += sums.left_out.len();
        let lines = sums.lines();
        is_empty &= lines.is_empty();
        print(lines)?;
    }
    match left_out {
        0 if is_empty => Err(nothing()),
        0 => Ok(()),
        _ => Err(CliError::failed("some notebooks cannot be read.")
            .next("`sectile notebook verify` names them")),
    }
}

/// The error for a library without anything to verify, which must not pass for an intact one.
fn nothing() -> CliError {
    CliError::failed("nothing was verified: there are no notebooks and no artifacts.")
        .next("put `.md` files into the folder of the collection")
}

impl VerifyRow {
    fn of(storage: &Library, collection: String) -> Result<Self, CliError> {
        let root = provenance::collection_root(storage, &collection, &|| false);
        let CollectionRoot {
            root,
            notebooks,
            left_out,
        } = root.map_err(|error| failed(&error))?;
        let artifacts = artifacts::check(storage, &collection).map_err(|error| failed(&error))?;
        Ok(Self {
            collection_id: collection,
            root: root.to_string(),
            notebooks,
            left_out: left_out.iter().map(ToString::to_string).collect(),
            artifacts,
        })
    }

    /// Returns the number of items that were hashed, or should have been.
    fn looked_at(&self) -> usize {
        let artifacts = self.artifacts.sets.iter().map(|set| set.artifacts);
        self.notebooks + artifacts.sum::<usize>() + self.problems()
    }

    fn problems(&self) -> usize {
        let drifted = self.artifacts.sets.iter();
        let drifted = drifted.map(|set| set.drifted_artifacts.len() + set.drifted_sources.len());
        self.left_out.len() + self.artifacts.damaged.len() + drifted.sum::<usize>()
    }
}

fn shown(rows: &[VerifyRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let artifacts: usize = row.artifacts.sets.iter().map(|set| set.artifacts).sum();
        text += &format!(
            "{}  {}\n  {}\n",
            row.root,
            StyledText(NAME, visible(&row.collection_id)),
            StyledText(
                DIM,
                format_args!("notebooks: {}, artifacts: {artifacts}", row.notebooks)
            ),
        );
        let mut problem = |kind: &str, id: &str, what: &str| {
            text += &format!(
                "  {} {}: {}\n",
                StyledText(BAD, kind),
                visible(id),
                visible(what)
            );
        };
        for notebook in &row.left_out {
            problem("notebook", notebook, "cannot be read, or is too large");
        }
        for Drift { id, problem: what } in &row.artifacts.damaged {
            problem("damaged ", id, what);
        }
        for set in &row.artifacts.sets {
            for Drift { id, problem: what } in &set.drifted_artifacts {
                problem("artifact", id, what);
            }
            for Drift { id, problem: what } in &set.drifted_sources {
                let what = format!("a source of `{}`, {what}", set.artifact_set_id);
                problem("source  ", id, &what);
            }
        }
        if row.looked_at() == 0 {
            text += &format!("  {}\n", StyledText(DIM, "nothing to verify"));
        } else if row.problems() == 0 {
            text += &format!("  {}\n", StyledText(GOOD, "verified"));
        }
    }
    text
}
