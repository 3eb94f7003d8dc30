//! Passages that were in a note once.

use std::{collections::BTreeMap, ops::ControlFlow};

use sectile_markdown::Changes;
use sectile_vault::editor::{CallHooks, PastText, PastTextsEnd};

use super::{
    LeftOutOfCheck, PassageRemoval, QuoteCheck, editor_error,
    locate::{ComparedNote, WantedPassage},
};
use crate::error::LibraryError;

/// Bytes around a change in which a passage that it removed may reach, beyond the length of the passage: room for markup.
const ROOM_FOR_MARKUP: usize = 1 << 10;

impl QuoteCheck<'_> {
    /// Returns the newest change that removed each passage, by the numbers of the passages.
    pub(super) fn removals(
        &self,
        missing: &[(usize, WantedPassage)],
        left_out: &mut LeftOutOfCheck,
    ) -> Result<BTreeMap<usize, PassageRemoval>, LibraryError> {
        let mut removals: BTreeMap<usize, PassageRemoval> = BTreeMap::new();
        if missing.is_empty() {
            return Ok(removals);
        }
        for (folder, of) in self.folders.iter().enumerate() {
            let mut newest: BTreeMap<usize, (u64, String)> = BTreeMap::new();
            let mut visit = |past: PastText<'_>| {
                let near = near_changes(past.bytes, past.changes);
                let note = ComparedNote::new(past.bytes);
                for (index, wanted) in missing {
                    let is_older = newest
                        .get(index)
                        .is_some_and(|(entry, _)| *entry >= past.entry);
                    let is_draft = self
                        .draft
                        .as_ref()
                        .is_some_and(|(of, draft)| *of == folder && draft.as_str() == past.path);
                    if is_older || is_draft || !wanted.may_be_in(near) {
                        continue;
                    }
                    if !wanted.find_in(&note, note.whole()).is_empty() {
                        newest.insert(*index, (past.entry, past.path.to_owned()));
                    }
                }
                ControlFlow::Continue(())
            };
            let hooks = CallHooks::until(self.stop);
            let end = of
                .editor
                .past_texts(self.limits.past_bytes, hooks, &mut visit);
            let end = end.map_err(|error| editor_error(&error))?;
            left_out.history |= end == PastTextsEnd::Limited;
            for (index, (number, path)) in newest {
                let Ok(entry) = of.editor.entry(number) else {
                    continue;
                };
                let known = removals.get(&index);
                if known.is_none_or(|known| known.entry.time < entry.time) {
                    let removal = PassageRemoval {
                        folder,
                        path,
                        entry,
                    };
                    removals.insert(index, removal);
                }
            }
        }
        Ok(removals)
    }
}

/// Returns the bytes that changes replaced, with those around them that a passage may reach.
fn near_changes<'b>(bytes: &'b [u8], changes: &Changes) -> &'b [u8] {
    let room = sectile_markdown::MAX_QUOTATION_BYTES + ROOM_FOR_MARKUP;
    let first = changes.iter().next().map_or(0, |change| change.span.start);
    let last = changes
        .iter()
        .next_back()
        .map_or(0, |change| change.span.end);
    let (start, end) = (
        first.saturating_sub(room),
        last.saturating_add(room).min(bytes.len()),
    );
    bytes.get(start..end).unwrap_or(bytes)
}
