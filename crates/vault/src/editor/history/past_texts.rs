//! The texts that documents had before: each is read once, from the newest back.

use std::ops::ControlFlow;

use sectile_markdown::Changes;

use super::DocumentHistory;
use crate::{
    editor::{CallHooks, EditorError, read::past::before},
    ledger::DocumentState,
};

/// The text of a document until an entry replaced it.
#[derive(Clone, Copy, Debug)]
pub struct PastText<'a> {
    /// The entry.
    pub entry: u64,
    /// The path that the document had.
    pub path: &'a str,
    /// The text.
    pub bytes: &'a [u8],
    /// The replacements that the entry made in it.
    pub changes: &'a Changes,
}

/// How far the past was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastTextsEnd {
    /// Everything that is stored was read, or the visitor broke off.
    Complete,
    /// The limit was reached.
    Limited,
}

impl DocumentHistory {
    pub(crate) fn past_texts(
        &self,
        max_bytes: u64,
        watch: CallHooks<'_>,
        visit: &mut dyn FnMut(PastText<'_>) -> ControlFlow<()>,
    ) -> Result<PastTextsEnd, EditorError> {
        self.enter_external_edits(None, watch)?;
        let documents: Vec<DocumentState> = {
            let state = self.store.current_state()?;
            let all = state.ledger.documents();
            all.into_iter().cloned().collect()
        };
        let mut left = max_bytes;
        for known in &documents {
            // The text before a point where the chain is broken is not stored.
            match self.past_of(known, &mut left, watch, visit) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(end)) => return Ok(end),
                Err(error @ EditorError::Cancelled) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(PastTextsEnd::Complete)
    }

    /// Shows the past texts of one document.
    fn past_of(
        &self,
        known: &DocumentState,
        left: &mut u64,
        watch: CallHooks<'_>,
        visit: &mut dyn FnMut(PastText<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<PastTextsEnd>, EditorError> {
        let path = known.path.as_deref();
        if path.is_some_and(|path| self.folder.is_hidden_at(path)) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut bytes = match known.hash {
            Some(_) => Some(self.reader.text_of(known).ok_or(EditorError::TextUnknown)?),
            None => None,
        };
        let entries = known.entries.get(known.chain_start..).unwrap_or_default();
        for number in entries.iter().rev() {
            watch.check()?;
            let is_hidden = {
                let state = self.store.state();
                let card = state.ledger.entry(*number);
                let step = card.and_then(|card| card.step(known.id));
                step.is_none_or(|step| self.folder.is_step_hidden(step, &state.ledger))
            };
            let step = self.store.step(*number, known.id)?;
            bytes = before(&step, bytes.as_deref())?;
            let Some(old) = &bytes else {
                continue;
            };
            let Some(rest) = left.checked_sub(old.len() as u64) else {
                return Ok(ControlFlow::Break(PastTextsEnd::Limited));
            };
            *left = rest;
            let changes = step.changes().ok_or(EditorError::TextUnknown)?;
            if is_hidden || changes.is_empty() {
                continue;
            }
            let past = PastText {
                entry: *number,
                path: &step.path,
                bytes: old,
                changes: &changes,
            };
            if visit(past).is_break() {
                return Ok(ControlFlow::Break(PastTextsEnd::Complete));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
