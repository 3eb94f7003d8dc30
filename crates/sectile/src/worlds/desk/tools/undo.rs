//! `undo`: reverts a change.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::{CallHooks, Scope, UndoRequest};
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{AnswerSubject, DeskWriteAnswer, actor},
    errors::{CHANGE_NOT_FOUND, NOTHING_TO_UNDO, failure, named},
    roots::{DeskRoot, VisibleRoots},
};

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::write(
        "undo",
        "Undo",
        "Revert a change, in all its documents or none. Undoing an undo is redo.",
    )
    .alias("entry", "change")
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeskUndoParams {
    /// A change from an answer; none: your newest
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
    let refused = |error| roots.editor_failure(root, &error, &name);
    let editor = &root.folder.editor;
    let change = editor.entry(number).map_err(refused)?;
    // The entry that is acted on is the edit itself, whether it was undone or redone last.
    let redo = change.undoes.is_some() && change.operation != "redo";
    let request = UndoRequest {
        path: None,
        entry: Some(change.undoes.unwrap_or(number)),
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
        .map_err(refused)?;
    let subject = AnswerSubject::Section(Scope::Body);
    Ok(roots.answered(root, report, subject, name.clone(), false))
}

impl<'a> VisibleRoots<'a> {
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

    /// Finds the newest change that the caller made and that can be undone.
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
            .ok_or_else(|| {
                let what = "You have made no change that could be undone.";
                failure(&NOTHING_TO_UNDO, what, "")
            })
    }
}
