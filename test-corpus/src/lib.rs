//! Documents written for the tests of Sectile, so that the repository contains no text by other people.
//!
//! There are two sets. [`MANUAL`] is a manual of thirteen documents with labelled questions, written by hand.
//! [`passages()`] are 2,000 short texts, assembled from the sentences in `words` in the same way every time; since a
//! passage is about one aspect of one thing, the answer to a query about both is known by construction.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read the set from files, which are written here"
)]

mod passages;
mod words;

use std::{fs, io, path::Path};

use serde_json::json;

pub use passages::{Passage, Queries, Query, passages, queries};

/// The documents of the manual, by their paths, in the order of its settings.
pub const MANUAL: [(&str, &str); 13] = [
    ("concepts.md", include_str!("../manual/concepts.md")),
    ("safety.md", include_str!("../manual/safety.md")),
    ("commands.md", include_str!("../manual/commands.md")),
    ("formats.md", include_str!("../manual/formats.md")),
    ("rules.md", include_str!("../manual/rules.md")),
    ("logic.md", include_str!("../manual/logic.md")),
    ("choosing.md", include_str!("../manual/choosing.md")),
    ("sensors.md", include_str!("../manual/sensors.md")),
    ("wire.md", include_str!("../manual/wire.md")),
    ("drivers.md", include_str!("../manual/drivers.md")),
    ("recipes.md", include_str!("../manual/recipes.md")),
    ("reports.md", include_str!("../manual/reports.md")),
    ("archive.md", include_str!("../manual/archive.md")),
];

/// The settings that serve the manual: slugs, roles and descriptions.
pub const MANUAL_SETTINGS: &str = include_str!("../manual/sectile.toml");

/// Questions about the manual, with the sections that answer them.
pub const MANUAL_QUESTIONS: &str = include_str!("../manual/questions.toml");

/// Writes the passages and their queries in the format of `sectile notebook eval`: `corpus.jsonl`, and for each kind of
/// queries a file of queries and one of judgements, named by [`Queries::files`].
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    let lines = |lines: Vec<serde_json::Value>| -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    };
    let corpus = passages()
        .iter()
        .map(|passage| json!({ "_id": passage.id, "title": "", "text": passage.text }))
        .collect();
    fs::write(folder.join("corpus.jsonl"), lines(corpus))?;
    for kind in Queries::ALL {
        let (asked, judged) = kind.files();
        let queries = queries(kind);
        let texts = queries
            .iter()
            .map(|query| json!({ "_id": query.id, "text": query.text }))
            .collect();
        fs::write(folder.join(asked), lines(texts))?;
        let rows: String = queries
            .iter()
            .map(|query| format!("{}\t{}\t1\n", query.id, query.answer))
            .collect();
        let rows = format!("query-id\tcorpus-id\tscore\n{rows}");
        fs::write(folder.join(judged), rows)?;
    }
    Ok(())
}
