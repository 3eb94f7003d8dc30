//! Earlier texts of documents: cached, on disk, or rebuilt from the journal.

use parking_lot::MutexGuard;
use sectile_markdown::Digest;

use super::DocumentReader;
use crate::{NotePath, editor::EditorError, journal::Step, ledger::DocumentState};

impl DocumentReader {
    /// Returns the text of a document as the journal knows it, which may no longer be what is on disk. `None` if it is
    /// not stored.
    pub(crate) fn text_of(&self, known: &DocumentState) -> Option<Vec<u8>> {
        let wanted = known.hash.as_deref()?;
        if let Some(view) = known
            .path
            .as_deref()
            .and_then(|path| self.views().get(path))
            && view.hash().to_string() == wanted
        {
            return Some(view.bytes().to_vec());
        }
        if let Some(text) = self.text_on_disk(known) {
            return Some(text);
        }
        let remembered = self.remembered_text(known);
        let start = {
            let state = self.store.state();
            let chain = known.entries.get(known.chain_start..).unwrap_or_default();
            let starts_known = |number: &&u64| {
                state
                    .ledger
                    .entry(**number)
                    .and_then(|card| card.step(known.id))
                    .is_some_and(|step| step.has_snapshot || step.before.is_none())
            };
            *chain.iter().rev().find(starts_known)?
        };
        // Starting from a later text takes fewer reads of the journal.
        let (start, mut text) = match remembered {
            Some((entry, text)) if entry >= start => (entry + 1, Some(text)),
            _ => (start, None),
        };
        for number in known.entries.iter().filter(|number| **number >= start) {
            // A step that can no longer be read is not stored.
            let step = self.store.step(*number, known.id).ok()?;
            let base = match (text, &step.snapshot) {
                (Some(text), _) => text,
                (None, Some(snapshot)) => snapshot.0.clone(),
                (None, None) if step.before.is_none() => Vec::new(),
                (None, None) => return None,
            };
            text = Some(step.changes()?.apply(&base)?);
        }
        let text = text.filter(|text| Digest::of(text).to_string() == wanted)?;
        if let Some(entry) = known.entries.last() {
            let made = (known.id, *entry, text.clone());
            *self.made_text() = Some(made);
        }
        Some(text)
    }

    /// Returns a cached text of the document after one of its entries, and that entry, if there is one.
    fn remembered_text(&self, known: &DocumentState) -> Option<(u64, Vec<u8>)> {
        let made = self.made_text().clone();
        let made = made.filter(|(document, ..)| *document == known.id);
        let view = known
            .path
            .as_deref()
            .and_then(|path| self.views().get(path));
        let candidates = [
            made.map(|(_, entry, text)| (entry, text)),
            view.map(|view| (view.revision(), view.bytes().to_vec())),
        ];
        let newest = candidates.into_iter().flatten().max_by_key(|one| one.0)?;
        let after = {
            let state = self.store.state();
            let card = state.ledger.entry(newest.0)?;
            card.step(known.id)?.after.clone()
        };
        (after? == Digest::of(&newest.1).to_string()).then_some(newest)
    }

    /// Returns the text of a document on disk, if it is what the journal says.
    fn text_on_disk(&self, known: &DocumentState) -> Option<Vec<u8>> {
        let path = NotePath::parse_vault(known.path.as_deref()?).ok()?;
        let bytes = self.folder.read(&path).ok()?;
        let is_known = known.hash.as_deref() == Some(Digest::of(&bytes).to_string().as_str());
        is_known.then_some(bytes)
    }

    fn made_text(&self) -> MutexGuard<'_, Option<(u64, u64, Vec<u8>)>> {
        self.made_text.lock()
    }
}

/// Returns the bytes before a step, given those after it.
pub(crate) fn before(step: &Step, after: Option<&[u8]>) -> Result<Option<Vec<u8>>, EditorError> {
    if step.before.is_none() {
        return Ok(None);
    }
    let changes = step.inverse().ok_or(EditorError::TextUnknown)?;
    let bytes = changes
        .apply(after.unwrap_or_default())
        .ok_or(EditorError::TextUnknown)?;
    if step.before.as_deref() == Some(Digest::of(&bytes).to_string().as_str()) {
        Ok(Some(bytes))
    } else {
        Err(EditorError::TextUnknown)
    }
}
