//! Documents without a history: their sections have ids, and reading them does not touch the journal.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use sectile_markdown::{
    Digest, Document, Source,
    align::{self, Fingerprint},
};

use super::{
    DocumentReader, View,
    view::{AssignedIds, NewDocument},
};
use crate::{
    NotePath, ReadError,
    editor::{EditorError, store::UnrecordedDocument},
    ids,
    journal::{Prints, Sighting},
    ledger::DocumentState,
};

impl DocumentReader {
    /// Assigns ids to a document that was never seen, or that was at another path.
    pub(super) fn sight_first(&self, new: &NewDocument<'_>) -> Result<AssignedIds, EditorError> {
        let hash = new.hash.to_string();
        let is_gone = |path: &str| {
            NotePath::parse_vault(path).is_ok_and(|path| {
                matches!(self.folder.root.read(&path, 0), Err(ReadError::NotFound))
            })
        };
        let (recorded, sighted): (Vec<DocumentState>, Vec<String>) = {
            let state = self.store.state();
            let recorded = state.ledger.documents_with(&hash).cloned().collect();
            (recorded, state.sightings.paths_with_hash(&hash))
        };
        let recorded = recorded
            .into_iter()
            .find(|known| known.path.as_deref().is_some_and(is_gone));
        if let Some(known) = recorded {
            return self.enter_foreign_edit(&known, new);
        }
        let moved = sighted.into_iter().find(|path| is_gone(path));
        let moved = match moved {
            Some(path) => {
                let state = self.store.state();
                self.store.sighting(&state, &path)?
            }
            None => None,
        };
        match moved.filter(|moved| moved.ids.len() == new.prints.len()) {
            Some(moved) => {
                let ids = moved.ids.into_iter().map(Some).collect();
                self.sight(new, ids, Some(moved.path))
            }
            None => self.sight(new, vec![None; new.prints.len()], None),
        }
    }

    /// Assigns ids to a document that another program has changed.
    pub(super) fn sight_again(
        &self,
        sighting: Sighting,
        new: &NewDocument<'_>,
    ) -> Result<AssignedIds, EditorError> {
        let was_emptied = sighting.was_emptied;
        let known = DocumentState {
            path: Some(sighting.path),
            hash: Some(sighting.hash),
            created: sighting.created,
            ids: sighting.ids,
            prints: sighting.prints,
            ..DocumentState::default()
        };
        if !was_emptied && self.text_of(&known).is_some() {
            return self.enter_foreign_edit(&known, new);
        }
        let old = known.prints.fingerprints();
        // A program may empty a file before it writes it again.
        if new.bytes.is_empty() {
            let emptied = Sighting {
                path: new.path.as_str().to_owned(),
                hash: new.hash.to_string(),
                created: known.created,
                ids: known.ids,
                prints: known.prints,
                was_emptied: true,
            };
            self.store.write_sighting(emptied, None)?;
            return Ok(Vec::new().into());
        }
        let lineage = if old.len() != known.ids.len() {
            vec![None; new.prints.len()]
        } else if was_emptied {
            returned(&old, new.prints)
        } else {
            align::align(&old, new.prints)
        };
        let ids = lineage.into_iter();
        let ids = ids.map(|origin| origin.map(|at| known.ids[at].clone()));
        self.sight(new, ids.collect(), None)
    }

    /// Records the ids of a document: those that its sections have, and new ones for the others.
    fn sight(
        &self,
        new: &NewDocument<'_>,
        ids: Vec<Option<String>>,
        moved_from: Option<String>,
    ) -> Result<AssignedIds, EditorError> {
        let ids = {
            let state = self.store.state();
            state.completed_ids(ids.into_iter().zip(new.headings()))?
        };
        let sighting = Sighting {
            path: new.path.as_str().to_owned(),
            hash: new.hash.to_string(),
            created: self.folder.root.times(new.path).created,
            ids: ids.clone(),
            prints: Prints::of(new.prints),
            was_emptied: false,
        };
        let sighted_at = self.store.write_sighting(sighting, moved_from)?;
        Ok(AssignedIds { ids, sighted_at })
    }

    /// Assigns ids to a document with too many sections to record.
    pub(super) fn carry_ids(&self, new: &NewDocument<'_>) -> Result<AssignedIds, EditorError> {
        let mut state = self.store.state();
        let seen = state.unrecorded.take(new.path.as_str());
        let seen = seen.filter(|seen| !seen.is_derived);
        let seen = seen.map(|seen| (seen.prints.fingerprints(), seen.ids.to_vec()));
        let (old, old_ids) = seen.unwrap_or_default();
        let origins = align::align(&old, new.prints).into_iter();
        let ids = origins.map(|origin| origin.map(|at| old_ids[at].clone()));
        let ids = state.completed_ids(ids.zip(new.headings()))?;
        let document = UnrecordedDocument {
            hash: new.hash,
            prints: Prints::of(new.prints),
            ids: ids.as_slice().into(),
            is_derived: false,
            used: 0,
        };
        state.unrecorded.put(new.path.as_str(), document);
        Ok(ids.into())
    }

    /// Returns a view of a document when nothing can be recorded: sections with an id keep it, and the others get ids
    /// derived from their content. These cannot be used for editing.
    pub(crate) fn unrecorded(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        let bytes = self.folder.read(path)?;
        let (hash, document) = (Digest::of(&bytes), Source::new(&bytes).parse());
        let (recorded, sighting) = {
            let state = self.store.state();
            let recorded = state.ledger.document(path.as_str()).cloned();
            // A file that cannot be read provides no ids.
            let sighting = self
                .store
                .sighting(&state, path.as_str())
                .unwrap_or_default();
            (recorded, sighting)
        };
        let revision = recorded
            .as_ref()
            .and_then(|known| known.entries.last().copied());
        let recorded = recorded.map(|known| (self.prints_of(&known), known.ids));
        let sighting = sighting.filter(|seen| !seen.was_emptied);
        let sighted = || sighting.map(|seen| (seen.prints.fingerprints(), seen.ids));
        let known = recorded.or_else(sighted);
        let mut state = self.store.state();
        let seen = match state.unrecorded.take(path.as_str()) {
            Some(seen) if seen.hash == hash => seen,
            seen => {
                let seen = seen.map(|seen| (seen.prints.fingerprints(), seen.ids.to_vec()));
                let old = seen.or(known);
                let old = old.filter(|(prints, ids)| prints.len() == ids.len());
                let prints = align::fingerprints(&bytes, &document);
                UnrecordedDocument {
                    hash,
                    ids: derived_ids(path, &document, &prints, &old.unwrap_or_default()).into(),
                    prints: Prints::of(&prints),
                    is_derived: true,
                    used: 0,
                }
            }
        };
        let ids = seen.ids.to_vec();
        state.unrecorded.put(path.as_str(), seen);
        drop(state);
        let revision = revision.unwrap_or(0);
        Ok(self.keep(View::new(
            path.clone(),
            bytes,
            hash,
            document,
            ids,
            revision,
        )))
    }
}

/// Returns, for each section of `new`, the identical one of `old`.
fn returned(old: &[Fingerprint], new: &[Fingerprint]) -> Vec<Option<usize>> {
    let key = |print: &Fingerprint| (print.heading, print.path, print.body);
    let mut free: HashMap<(u64, u64, u64), VecDeque<usize>> = HashMap::new();
    for (at, print) in old.iter().enumerate() {
        free.entry(key(print)).or_default().push_back(at);
    }
    let found = |print| free.get_mut(&key(print)).and_then(VecDeque::pop_front);
    new.iter().map(found).collect()
}

/// Returns ids for sections that cannot be recorded: those that they had, and derived ones for the others.
fn derived_ids(
    path: &NotePath,
    document: &Document,
    prints: &[Fingerprint],
    (old, old_ids): &(Vec<Fingerprint>, Vec<String>),
) -> Vec<String> {
    let origins = align::align(old, prints);
    let carried = origins.iter().flatten().map(|at| old_ids[*at].clone());
    let mut taken: HashSet<String> = carried.collect();
    let mut occurrences: HashMap<(u64, u64), usize> = HashMap::new();
    let sections = document.top_level().zip(prints).zip(origins);
    let ids = sections.map(|(((_, section, _), print), origin)| {
        if let Some(at) = origin {
            return old_ids[at].clone();
        }
        let occurrence = occurrences.entry((print.path, print.body)).or_default();
        loop {
            let id = ids::unrecorded(&section.text, path.as_str(), print, *occurrence);
            *occurrence += 1;
            if taken.insert(id.clone()) {
                return id;
            }
        }
    });
    ids.collect()
}
