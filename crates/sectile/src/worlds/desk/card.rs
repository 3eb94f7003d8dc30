//! The card on which people review a change, and what it shows.
//!
//! The card is one HTML page for hosts with MCP Apps. It decides nothing: it calls the same tool again with the plan of
//! the preview, and the desk checks that call like any other. The diff of an answer is as short as its model needs it;
//! a person who is asked to agree sees more, in the `_meta` of the answer, which hosts hand to the card but not to the
//! model.

use sectile_mcp::{Failure, FailureKind, JsonObject};
use sectile_vault::editor::{DocumentReport, WriteReport};
use serde::Serialize;

/// Address of the card.
pub(super) const CARD_URI: &str = "ui://sectile/change";

/// The page: its parts put together, since it may load nothing.
pub(super) const CARD: &str = concat!(
    include_str!("card/head.html"),
    "<style>\n",
    include_str!("card/diff_view.css"),
    include_str!("card/card.css"),
    "</style>\n",
    include_str!("card/body.html"),
    "<script>\n",
    include_str!("card/diff_view.js"),
    include_str!("card/card.js"),
    "</script>\n",
);

/// Key of the details in the `_meta` of an answer.
const META_KEY: &str = "sectile/change";

/// Maximum length of the diff of one document, in bytes: some 800 lines, more than anyone reviews at once.
pub(super) const MAX_DOCUMENT_DIFF_BYTES: usize = 64 << 10;
/// Maximum length of all diffs on a card, in bytes.
const MAX_DIFF_BYTES: usize = 128 << 10;
/// Maximum number of documents on a card.
const MAX_DOCUMENTS: usize = 100;

/// A change in more detail than an answer has room for.
#[derive(Debug, Serialize)]
pub(super) struct ChangeDetails {
    /// The tool that makes the change.
    tool: &'static str,
    /// The documents that change: those with changed lines first.
    documents: Vec<DocumentDetails>,
    /// Number of documents that are not listed.
    more_documents: usize,
    /// Number of changed lines in those.
    more_lines: usize,
    /// Number of repaired links.
    repaired: usize,
    /// Links that lead nowhere afterwards.
    broken: Vec<String>,
    /// Number of those not listed.
    broken_more: usize,
}

/// The change of one document.
#[derive(Debug, Serialize)]
struct DocumentDetails {
    id: String,
    /// Its id before, if that was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Whether it does not exist afterwards.
    deleted: bool,
    /// A unified diff; empty if only the path changes.
    diff: String,
    /// Number of changed lines that are missing at the end of the diff, or somewhat more.
    left_out: usize,
}

impl ChangeDetails {
    /// Makes the details of what `tool` did, or would do. `broken` describes the broken links that the report lists, and
    /// `id` returns the id of the document at a path.
    pub(super) fn new(
        tool: &'static str,
        report: &WriteReport,
        broken: Vec<String>,
        id: impl Fn(&str) -> String,
    ) -> Self {
        let mut sorted: Vec<&DocumentReport> = report.documents.iter().collect();
        sorted.sort_by_key(|document| document.diff.is_empty());
        let (listed, others) = sorted.split_at(sorted.len().min(MAX_DOCUMENTS));
        let mut room = MAX_DIFF_BYTES;
        let documents = listed.iter().map(|document| {
            let (diff, cut) = start_of(&document.diff, room);
            room -= diff.len();
            DocumentDetails {
                id: id(&document.path),
                from: document.moved_from.as_deref().map(&id),
                deleted: document.hash.is_none(),
                diff: diff.to_owned(),
                left_out: document.diff_left_out + changed_lines(cut),
            }
        });
        let lines = |document: &&DocumentReport| {
            document.diff_left_out + changed_lines(without_names(&document.diff))
        };
        Self {
            tool,
            documents: documents.collect(),
            more_documents: others.len(),
            more_lines: others.iter().map(lines).sum(),
            repaired: report.repaired_links,
            broken,
            broken_more: report.broken_links_more,
        }
    }

    /// Returns the details as the `_meta` of an answer.
    pub(super) fn into_meta(self) -> Result<JsonObject, Failure> {
        let details = serde_json::to_value(self).map_err(|_| {
            Failure::new(
                FailureKind::Internal,
                "The change could not be written as JSON.",
            )
        })?;
        Ok(JsonObject::from_iter([(META_KEY.to_owned(), details)]))
    }
}

/// Splits a diff after the last line that ends within `room` bytes.
fn start_of(diff: &str, room: usize) -> (&str, &str) {
    if diff.len() <= room {
        return (diff, "");
    }
    let room = diff.floor_char_boundary(room);
    let end = diff[..room].rfind('\n').map_or(0, |at| at + 1);
    match diff.split_at(end) {
        // A hunk without its first line cannot be read.
        (start, _) if !start.contains("\n@@") => ("", without_names(diff)),
        split => split,
    }
}

/// Returns a unified diff without the two lines that name the document.
fn without_names(diff: &str) -> &str {
    let hunks = diff.find("\n@@").map(|at| &diff[at + 1..]);
    hunks.unwrap_or(diff)
}

/// Counts the added and removed lines of a unified diff without names.
fn changed_lines(diff: &str) -> usize {
    let lines = diff.lines();
    lines.filter(|line| line.starts_with(['+', '-'])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str, diff: String) -> DocumentReport {
        DocumentReport {
            path: path.to_owned(),
            moved_from: None,
            revision: 0,
            hash: None,
            diff,
            diff_truncated: false,
            diff_left_out: 0,
            view: None,
        }
    }

    fn diff(lines: usize) -> String {
        let added = "+ twenty bytes of it\n".repeat(lines);
        format!("--- a/x.md\n+++ b/x.md\n@@ -0,0 +1,{lines} @@\n{added}")
    }

    fn details(documents: Vec<DocumentReport>) -> ChangeDetails {
        let report = WriteReport {
            documents,
            ..WriteReport::default()
        };
        ChangeDetails::new("edit", &report, Vec::new(), str::to_owned)
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let each = 2_000;
        let documents = (0..6).map(|n| document(&format!("{n}.md"), diff(each)));
        let details = details(documents.collect());
        let shown: usize = details.documents.iter().map(|one| one.diff.len()).sum();
        assert!(shown <= MAX_DIFF_BYTES && shown > MAX_DIFF_BYTES - 100);
        for one in &details.documents {
            let shown = changed_lines(without_names(&one.diff));
            assert_eq!(shown + one.left_out, each, "{}", one.id);
        }
        assert_eq!(details.documents.last().map(|one| one.left_out), Some(each));
    }

    #[test]
    fn many_documents_are_counted_and_those_with_lines_come_first() {
        let moved = (0..150).map(|n| document(&format!("moved/{n}.md"), String::new()));
        let edited = (0..50).map(|n| document(&format!("edited/{n}.md"), diff(3)));
        let first = details(moved.clone().chain(edited.clone()).collect());
        assert!(first.documents[..50].iter().all(|one| !one.diff.is_empty()));
        assert_eq!((first.documents.len(), first.more_documents), (100, 100));
        assert_eq!(first.more_lines, 0);
        let edited = edited.clone().chain(edited.clone()).chain(edited);
        assert_eq!(details(edited.collect()).more_lines, 150);
    }

    #[test]
    fn the_page_loads_nothing_and_builds_no_markup_from_text() {
        assert!(CARD.starts_with("<!doctype html>"));
        for word in [
            "http:",
            "https:",
            "src=",
            "url(",
            "@import",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!CARD.contains(word), "{word}");
        }
        assert!(CARD.contains("default-src 'none'"));
    }
}
