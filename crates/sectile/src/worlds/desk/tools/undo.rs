//! `undo`: reverts a change.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::{CallHooks, ChangeFilter, EditorError, UndoRequest};
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{AnswerSubject, AnsweredWrite, DeskWriteAnswer, actor},
    errors::{CHANGE_NOT_FOUND, NOT_WRITABLE, NOTHING_TO_UNDO, UNDO_OVERLAPS, failure, named},
    roots::{DeskRoot, VisibleRoots},
};

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::write(
        "undo",
        "Undo",
        "Revert a change, in all its documents or none. Call again to go further back. Undoing an undo redoes.",
    )
    .alias("entry", "change")
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeskUndoParams {
    /// A change from an answer; none: your newest that is not undone
    change: Option<ChangeName>,
}

/// The name of a change, which models also write as a number.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum ChangeName {
    Text(String),
    Number(u64),
}

/// Reverts the change with this name.
pub(in super::super) fn undo_change(
    world: &DeskWorld,
    change: &str,
    context: &CallContext,
) -> Result<(), Failure> {
    let change = Some(ChangeName::Text(change.to_owned()));
    handle(world, DeskUndoParams { change }, context).map(drop)
}

fn handle(
    world: &DeskWorld,
    params: DeskUndoParams,
    context: &CallContext,
) -> Result<(DeskWriteAnswer, AnswerFacts), Failure> {
    let roots = world.roots_for(context);
    let (root, number) = match params.change {
        Some(ChangeName::Number(number)) => roots.change(&number.to_string())?,
        Some(ChangeName::Text(text)) => roots.change(&text)?,
        None => roots.newest_change()?,
    };
    let name = roots.change_id(root, number);
    let editor = &root.folder.editor;
    let change = editor
        .entry(number)
        .map_err(|error| roots.editor_failure(root, &error, &name))?;
    // The entry that is acted on is the edit itself, whether it was undone or redone last.
    let redo = change.undoes.is_some() && change.operation != "redo";
    let target = change.undoes.unwrap_or(number);
    let request = UndoRequest {
        path: None,
        entry: Some(target),
        redo,
        actor: actor(context),
        reason: None,
        request: None,
        dry_run: false,
    };
    let stop = || context.cancelled.is_cancelled();
    let report = root
        .folder
        .undo(&request, CallHooks::until(&stop))
        .map_err(|error| roots.undo_failure(root, &error, &name))?;
    let written = AnsweredWrite {
        subject: AnswerSubject::Section,
        id: name,
        is_preview: false,
        has_read_all: false,
    };
    let (mut answer, facts) = roots.answered(root, report, written);
    answer.add_undone(roots.change_id(root, target), redo);
    Ok((answer, facts))
}

impl<'a> VisibleRoots<'a> {
    /// Returns the failure to undo a change that the caller can see.
    fn undo_failure(&self, root: &DeskRoot, error: &EditorError, change: &str) -> Failure {
        match error {
            // The change also concerns notes that are hidden from this caller, or that it may only read. Which of the two
            // is not said.
            EditorError::EntryNotFound | EditorError::NotWritable { .. } => {
                let what = format!(
                    "The rules of this root do not allow undoing change {change}. Nothing was written."
                );
                failure(&NOT_WRITABLE, what, "")
            }
            EditorError::DocumentExists | EditorError::FolderExists => {
                let what = format!(
                    "Change {change} cannot be undone by itself: something else is now at a path that it would restore."
                );
                failure(&UNDO_OVERLAPS, what, "")
            }
            EditorError::DocumentNotFound | EditorError::FolderNotFound => {
                let what = format!(
                    "Change {change} cannot be undone by itself: something that it changed has been deleted since."
                );
                failure(&UNDO_OVERLAPS, what, "")
            }
            error => self.editor_failure(root, error, &format!("change {change}")),
        }
    }

    /// Finds the change that a caller names.
    fn change(&self, given: &str) -> Result<(&'a DeskRoot, u64), Failure> {
        let unknown = || {
            let what = format!("There is no change {}.", named(given));
            failure(&CHANGE_NOT_FOUND, what, "")
        };
        let (root, rest) = self.split(given);
        let number = rest.trim().trim_start_matches('#').parse::<u64>();
        let number = number.map_err(|_| unknown())?;
        let mut all = self.iter();
        let root = match (root, all.next(), all.next()) {
            (Some(root), ..) | (None, Some(root), None) => root,
            // Every root counts its changes from 1.
            _ => return Err(unknown()),
        };
        Ok((root, number))
    }

    /// Finds the newest change that the caller made and that is not undone.
    fn newest_change(&self) -> Result<(&'a DeskRoot, u64), Failure> {
        let actor = actor(self.context());
        let mut newest: Option<(i64, &DeskRoot, u64)> = None;
        for root in self.iter() {
            let refused = |error| self.editor_failure(root, &error, "");
            let editor = &root.folder.editor;
            let Some(number) = editor.newest_change_of(&actor).map_err(refused)? else {
                continue;
            };
            let time = editor.entry(number).map_err(refused)?.time;
            if newest.is_none_or(|(latest, ..)| time >= latest) {
                newest = Some((time, root, number));
            }
        }
        newest
            .map(|(_, root, number)| (root, number))
            .ok_or_else(|| match self.newest_undo() {
                Some(undo) => {
                    let what = "All changes that you made are undone.";
                    let facts = format!("To redo the one undone last, undo change {undo}.");
                    failure(&NOTHING_TO_UNDO, what, facts)
                }
                None => failure(&NOTHING_TO_UNDO, "You have not made any changes.", ""),
            })
    }

    /// Returns the name of the caller's newest entry, if that is an undo.
    fn newest_undo(&self) -> Option<String> {
        let filter = ChangeFilter {
            actor: Some(actor(self.context())),
            limit: 1,
            ..ChangeFilter::default()
        };
        let stop = || self.context().cancelled.is_cancelled();
        let newest = |root: &'a DeskRoot| {
            // A history that cannot be read has failed the call already.
            let editor = &root.folder.editor;
            let (entries, _) = editor.changes(&filter, CallHooks::until(&stop)).ok()?;
            let entry = entries.into_iter().next()?;
            Some((entry.time, root, entry))
        };
        let newest = self
            .iter()
            .filter_map(newest)
            .max_by_key(|(time, ..)| *time);
        let (_, root, entry) = newest?;
        let is_undo = entry.undoes.is_some() && entry.operation != "redo";
        (is_undo && !entry.is_unverified).then(|| self.change_id(root, entry.number))
    }
}
