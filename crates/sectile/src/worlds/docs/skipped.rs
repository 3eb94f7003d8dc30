//! The documents that are not loaded, as clients are told about them.

use schemars::JsonSchema;
use sectile_mcp::JsonObject;
use serde::Serialize;
use serde_json::json;

use super::corpus::DocsCorpus;

/// Most documents that an answer names as not loaded.
const MOST_SKIPPED: usize = 20;

/// A document that could not be loaded.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SkippedDocument {
    /// Name of its file.
    name: String,
    /// Code of the reason, such as max_docs, empty or link.
    reason: &'static str,
}

/// Returns the first of these skipped documents, as many as an answer names.
pub(super) fn named(all: &DocsCorpus, skipped: &[usize]) -> Vec<SkippedDocument> {
    let first = skipped.iter().take(MOST_SKIPPED);
    first
        .map(|at| SkippedDocument {
            name: all.skipped[*at].name.clone(),
            reason: all.skipped[*at].reason.code(),
        })
        .collect()
}

/// Returns the `_meta` of a result of a caller who may learn about this number of skipped documents, with the names of
/// those that are given. Empty if there are none.
pub(super) fn meta(namespace: &str, total: usize, named: &[SkippedDocument]) -> JsonObject {
    let mut meta = JsonObject::new();
    if total > 0 {
        meta.insert(format!("{namespace}/skipped_total"), json!(total));
    }
    if !named.is_empty() {
        meta.insert(format!("{namespace}/skipped_documents"), json!(named));
    }
    meta
}
