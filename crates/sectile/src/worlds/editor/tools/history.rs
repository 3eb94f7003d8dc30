//! `history`: lists the changes of a document or section.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::HistoryFilter;
use serde::{Deserialize, Serialize};

use super::super::{EditorWorld, errors::CallSubject, resources::HistoryLine};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "history",
        "History",
        "List the history of a document, newest first: who changed what, when and why, with diffs on request. Edits by other programs are entries too. Give section_id for the history of one section.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HistoryParams {
    /// Path of the document, relative to the folder.
    path: Option<String>,
    /// Only entries about this section.
    section_id: Option<String>,
    /// Maximum number of entries.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
    /// Only entries before this one; next_before of the previous page.
    before: Option<u64>,
    /// Show the diff of each entry.
    #[serde(default)]
    diff: bool,
}

fn twenty() -> usize {
    20
}

#[derive(Debug, Serialize, JsonSchema)]
struct History {
    history: Vec<HistoryLine>,
    path: String,
    can_undo: bool,
    can_redo: bool,
    /// Number of places in the journal that cannot be read. They are left alone; the history may have gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged_places: Option<usize>,
    /// There are more: call again with this as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<u64>,
}

fn handle(
    world: &EditorWorld,
    params: HistoryParams,
    context: &CallContext,
) -> Result<(History, AnswerFacts), Failure> {
    let document = match (&params.path, &params.section_id) {
        (None, Some(id)) => world.editor.remembered_by_section(id),
        _ => Ok(None),
    };
    let document = match document.transpose() {
        Some(document) => document.map_err(|error| world.failure(&error, &CallSubject::default())),
        None => {
            let path = world.named_document(params.path.as_deref(), context)?;
            let document = world.editor.remembered(&path);
            document.map_err(|error| world.failure(&error, &CallSubject::document(&path, context)))
        }
    }?;
    let filter = HistoryFilter {
        section_id: params.section_id,
        before: params.before,
        limit: params.limit,
    };
    let (entries, more) = world
        .editor
        .history_of(&document, &filter)
        .map_err(|error| world.failure(&error, &CallSubject::default()))?;
    let (can_undo, can_redo) = world.editor.can_undo_redo(&document);
    let next_before = entries.last().map(|entry| entry.number).filter(|_| more);
    let mut lines = Vec::new();
    let mut room = world.max_answer_bytes;
    for entry in &entries {
        context.check()?;
        let mut line = HistoryLine::of(entry);
        if params.diff {
            line.add_diff(world, &document, entry.number, room);
            room = room.saturating_sub(line.diff_len());
        }
        lines.push(line);
    }
    let damage = world.editor.damage().len();
    let facts = AnswerFacts {
        sections: None,
        truncated: more,
        ..AnswerFacts::default()
    };
    let history = History {
        history: lines,
        path: document.path().to_owned(),
        can_undo,
        can_redo,
        damaged_places: (damage > 0).then_some(damage),
        next_before,
    };
    Ok((history, facts))
}
