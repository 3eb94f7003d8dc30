//! `open_document`: makes a document the default of the connection.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::short_hash;
use serde::{Deserialize, Serialize};

use super::super::{EditorWorld, errors::CallSubject, metadata::DocumentMetadata};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "open_document",
        "Open document",
        "Make a document the default for this connection, so that later calls need no path. Returns a summary of it.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenDocumentParams {
    /// Path of the document, relative to the folder.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OpenedDocument {
    path: String,
    /// Whether it is the default now. Without a lasting connection, pass path with each call.
    is_default: bool,
    metadata: DocumentMetadata,
    /// Number of sections.
    sections: usize,
    bytes: usize,
    /// Number of the document's last history entry.
    revision: u64,
    document_hash: String,
    can_undo: bool,
    can_redo: bool,
}

fn handle(
    world: &EditorWorld,
    params: OpenDocumentParams,
    context: &CallContext,
) -> Result<(OpenedDocument, AnswerFacts), Failure> {
    let path = world.path(&params.path)?;
    let view = world
        .editor
        .view(&path)
        .map_err(|error| world.failure(&error, &CallSubject::document(&path, context)))?;
    let document = world.editor.remembered(&path);
    let (can_undo, can_redo) = document
        .map(|document| world.editor.can_undo_redo(&document))
        // A document that could not be recorded has no history.
        .unwrap_or_default();
    let opened = OpenedDocument {
        path: path.as_str().to_owned(),
        is_default: world.open_document(&path, context),
        metadata: DocumentMetadata::of(world, &view),
        sections: view.ids().len(),
        bytes: view.bytes().len(),
        revision: view.revision(),
        document_hash: short_hash(view.hash()),
        can_undo,
        can_redo,
    };
    let facts = AnswerFacts {
        sections: Some(opened.sections),
        truncated: false,
        ..AnswerFacts::default()
    };
    Ok((opened, facts))
}
