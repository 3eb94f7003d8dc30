//! The resources that the contract defines: a document, its history and its metadata.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_markdown::{DiffOptions, unified_diff};
use sectile_mcp::{
    CacheHint, CallContext, Failure, Resource, ResourceContent, ResourceListing, ResourceNotice,
    ResourceTemplate, Resources, encoded_path,
};
use sectile_vault::{
    NotePath,
    editor::{EditorError, HistoryDocument, HistoryEntry, HistoryFilter},
};
use serde::Serialize;
use serde_json::json;

use super::{EditorWorld, errors::CallSubject, metadata::DocumentMetadata};
use crate::worlds::timestamp;

const BASE: &str = "sectile://editor/";
const JSON: &str = "application/json";
/// Most entries in the history resource; the history tool returns all of them.
const HISTORY_ENTRIES: usize = 200;

/// Resources of a single document.
pub(super) const OF_DOCUMENT: Resources<EditorWorld> = Resources {
    list: list_of_document,
    read,
    templates: Cow::Borrowed(&[]),
    cache: CacheHint::TABLE,
    changes: Some(|world| world.notices.subscribe()),
};

/// Resources of a folder of documents.
pub(super) const OF_FOLDER: Resources<EditorWorld> = Resources {
    list: list_of_folder,
    read,
    templates: Cow::Borrowed(&TEMPLATES),
    cache: CacheHint::LIVE,
    changes: Some(|world| world.notices.subscribe()),
};

const TEMPLATES: [ResourceTemplate; 3] = [
    ResourceTemplate {
        uri_template: Cow::Borrowed("sectile://editor/document/{+path}"),
        name: "document",
        title: "Document",
        description: "The current text of the document at path.",
        mime_type: JSON,
    },
    ResourceTemplate {
        uri_template: Cow::Borrowed("sectile://editor/history/{+path}"),
        name: "history",
        title: "History",
        description: "Changes of the document at path, newest first.",
        mime_type: JSON,
    },
    ResourceTemplate {
        uri_template: Cow::Borrowed("sectile://editor/metadata/{+path}"),
        name: "metadata",
        title: "Metadata",
        description: "Title, author and times of the document at path.",
        mime_type: JSON,
    },
];

/// The aspect of a document that a resource shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aspect {
    Document,
    History,
    Metadata,
}

const ASPECTS: [(Aspect, &str, &str); 3] = [
    (
        Aspect::Document,
        "document",
        "The current Markdown document.",
    ),
    (
        Aspect::History,
        "history",
        "List of past operations, newest first.",
    ),
    (
        Aspect::Metadata,
        "metadata",
        "Document metadata: title, author, created, modified.",
    ),
];

/// A history entry, with the contract's fields and more.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HistoryLine {
    operation: String,
    /// Time of the change, in RFC 3339.
    timestamp: String,
    details: HistoryDetails,
}

/// Further details of a history entry.
#[derive(Debug, Serialize, JsonSchema)]
struct HistoryDetails {
    /// Number of the entry.
    entry: u64,
    /// Who asked for the change.
    actor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The entry that this one undid or redid.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_entry: Option<u64>,
    /// Another program made the change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    external: bool,
    /// The entry came with the folder, not from this user: it is shown but cannot be undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unverified: bool,
    /// The change was undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
    documents: Vec<String>,
    /// Ids of the sections that the change is about.
    section_ids: Vec<String>,
    /// Diff of the change; null if it is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The diff was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diff_truncated: bool,
}

impl HistoryLine {
    pub(super) fn of(entry: &HistoryEntry) -> Self {
        Self {
            operation: entry.operation.clone(),
            timestamp: timestamp(entry.time),
            details: HistoryDetails {
                entry: entry.number,
                actor: entry.actor.clone(),
                reason: entry.reason.clone(),
                of_entry: entry.undoes,
                external: entry.is_foreign,
                unverified: entry.is_unverified,
                undone: entry.is_undone,
                documents: entry.documents.clone(),
                section_ids: entry.sections.clone(),
                diff: None,
                diff_truncated: false,
            },
        }
    }

    /// Adds the diff of the entry, if it is kept.
    pub(super) fn add_diff(
        &mut self,
        world: &EditorWorld,
        document: &HistoryDocument,
        entry: u64,
        max_bytes: usize,
    ) {
        if let Ok((old, changes)) = world.editor.entry_changes(document, entry) {
            let options = DiffOptions {
                old_name: "before",
                new_name: "after",
                context: 3,
                max_bytes,
            };
            let diff = unified_diff(&old, &changes, options);
            self.details.diff = Some(diff.text);
            self.details.diff_truncated = diff.truncated;
        }
    }

    pub(super) fn diff_len(&self) -> usize {
        self.details.diff.as_ref().map_or(0, String::len)
    }
}

/// Notifies the subscribers of a document that it has changed.
pub(super) fn changed(world: &EditorWorld, path: &str) {
    for notice in notices(world.editor.only().is_some(), path) {
        // There are no listeners.
        if world.notices.send(notice).is_err() {
            return;
        }
    }
}

/// The notices about a change of the document at `path`.
pub(super) fn notices(is_single: bool, path: &str) -> Vec<ResourceNotice> {
    ASPECTS
        .iter()
        .map(|(_, name, _)| ResourceNotice::Updated(uri(name, path, is_single)))
        .collect()
}

fn uri(aspect: &str, path: &str, is_single: bool) -> String {
    if is_single {
        format!("{BASE}{aspect}")
    } else {
        format!("{BASE}{aspect}/{}", encoded_path(path))
    }
}

fn list_of_document(world: &EditorWorld, _: &CallContext) -> Result<ResourceListing, Failure> {
    let path = world.editor.only().map_or("", |path| path.as_str());
    let resources: Vec<Resource> = ASPECTS
        .iter()
        .map(|(_, name, description)| Resource {
            uri: uri(name, path, true),
            name: (*name).to_owned(),
            title: format!("{name} of {path}"),
            description: (*description).to_owned(),
            mime_type: JSON,
            size: None,
            last_modified: None,
        })
        .collect();
    Ok(resources.into())
}

fn list_of_folder(world: &EditorWorld, _: &CallContext) -> Result<ResourceListing, Failure> {
    // A folder that cannot be walked lists nothing; the tools report why.
    let paths = world.editor.documents(&|| false).unwrap_or_default();
    let document = |path: &NotePath| Resource {
        uri: uri("document", path.as_str(), false),
        name: path.as_str().to_owned(),
        title: path.file_name().to_owned(),
        description: "The current Markdown document.".to_owned(),
        mime_type: JSON,
        size: None,
        last_modified: None,
    };
    let resources: Vec<Resource> = paths.iter().map(document).collect();
    Ok(resources.into())
}

fn read(world: &EditorWorld, given: &str) -> Result<Option<ResourceContent>, Failure> {
    let Some((aspect, path)) = parsed(world, given) else {
        return Ok(None);
    };
    let view = match world.editor.view(&path) {
        Ok(view) => view,
        Err(
            EditorError::DocumentNotFound | EditorError::OutsideRoot | EditorError::NotMarkdown,
        ) => {
            return Ok(None);
        }
        Err(error) => return Err(world.failure(&error, &CallSubject::default())),
    };
    let value = match aspect {
        Aspect::Document => json!({ "document": String::from_utf8_lossy(view.bytes()) }),
        Aspect::History => {
            let filter = HistoryFilter {
                limit: HISTORY_ENTRIES,
                ..HistoryFilter::default()
            };
            let (entries, more) = world
                .editor
                .history(&path, &filter)
                .map_err(|error| world.failure(&error, &CallSubject::default()))?;
            let lines: Vec<HistoryLine> = entries.iter().map(HistoryLine::of).collect();
            let mut value = json!({ "history": lines });
            if let Some(last) = entries.last().filter(|_| more) {
                // The history tool continues from here.
                value["next_before"] = json!(last.number);
            }
            value
        }
        Aspect::Metadata => json!(DocumentMetadata::of(world, &view)),
    };
    Ok(Some(ResourceContent::text(
        JSON,
        value.to_string(),
        CacheHint::LIVE,
    )))
}

/// The resource that a URI names. Only the form used by listings and templates is accepted.
fn parsed(world: &EditorWorld, given: &str) -> Option<(Aspect, NotePath)> {
    let rest = given.strip_prefix(BASE)?;
    let (name, path) = match (world.editor.only(), rest.split_once('/')) {
        (Some(only), None) => (rest, only.clone()),
        (None, Some((name, path))) => (name, NotePath::parse_vault(&decoded(path)?).ok()?),
        _ => return None,
    };
    let (aspect, name, _) = ASPECTS.iter().find(|(_, known, _)| *known == name)?;
    let is_single = world.editor.only().is_some();
    (uri(name, path.as_str(), is_single) == given).then_some((*aspect, path))
}

fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_into_a_uri_and_back() {
        for path in ["a.md", "a b/ü.md", "100%.md", "a+b&c?.md", "日本/語.md"] {
            let inside = encoded_path(path);
            assert!(
                inside.is_ascii() && !inside.contains([' ', '?', '#']),
                "{inside}"
            );
            assert_eq!(decoded(&inside).as_deref(), Some(path));
        }
        assert_eq!(decoded("%zz"), None);
        assert_eq!(decoded("%e"), None);
    }
}
