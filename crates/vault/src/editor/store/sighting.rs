//! The ids of documents without a history: in the id file, or not recorded at all.

use std::{collections::HashMap, sync::Arc};

use sectile_markdown::Digest;

use super::{JournalStore, State, take_news};
use crate::{
    editor::EditorError,
    journal::{Prints, Record, Sighting},
};

/// Most sections of a document whose ids are recorded before it is edited; beyond that they last as long as the
/// process. This bounds a line of the id file to a few megabytes.
pub(crate) const MOST_SIGHTED_SECTIONS: usize = 1 << 16;

/// Ids that are not recorded and last as long as this process.
#[derive(Debug, Default)]
pub(crate) struct UnrecordedIds {
    documents: HashMap<String, UnrecordedDocument>,
    sections: usize,
    clock: u64,
}

/// The ids of one such document.
#[derive(Debug)]
pub(crate) struct UnrecordedDocument {
    pub(crate) hash: Digest,
    pub(crate) prints: Prints,
    pub(crate) ids: Arc<[String]>,
    /// Whether the ids are derived from the sections. Derived ids are never recorded, because they could come to name
    /// another section.
    pub(crate) is_derived: bool,
    pub(crate) used: u64,
}

/// Number of sections whose ids are kept, unless a single document has more.
const MOST_UNRECORDED_SECTIONS: usize = 1 << 20;

impl UnrecordedIds {
    /// Returns the ids of the document at `path` that may be used in an edit, if its bytes have this digest.
    pub(crate) fn ids(&self, path: &str, hash: &Digest) -> Option<&[String]> {
        let known = self.documents.get(path)?;
        (known.hash == *hash && !known.is_derived).then_some(&known.ids)
    }

    pub(crate) fn take(&mut self, path: &str) -> Option<UnrecordedDocument> {
        let known = self.documents.remove(path)?;
        self.sections -= known.ids.len();
        Some(known)
    }

    pub(crate) fn put(&mut self, path: &str, mut document: UnrecordedDocument) {
        self.take(path);
        self.clock += 1;
        self.sections += document.ids.len();
        document.used = self.clock;
        self.documents.insert(path.to_owned(), document);
        while self.sections > MOST_UNRECORDED_SECTIONS && self.documents.len() > 1 {
            let all = self.documents.iter();
            let oldest = all.min_by_key(|(_, known)| known.used);
            match oldest.map(|(path, _)| path.clone()) {
                Some(path) => self.take(&path),
                None => break,
            };
        }
    }
}

impl JournalStore {
    /// Returns the id file's record of the document at `path`. Ids that are in the journal are not read from this file:
    /// the document has been edited since, and is a different one now.
    pub(crate) fn sighting(
        &self,
        state: &State,
        path: &str,
    ) -> Result<Option<Sighting>, EditorError> {
        if state.sightings.card(path).is_none() {
            return Ok(None);
        }
        let Some(folder) = self.folder.private_if_there()? else {
            return Ok(None);
        };
        let sighting = state.sightings.load(&folder, path)?;
        Ok(sighting.filter(|one| !one.ids.iter().any(|id| state.ledger.knows(id))))
    }

    /// Returns the path of the document without a history that holds the section with this id.
    pub(crate) fn sighted_with(&self, state: &State, id: &str) -> Option<String> {
        let holds = |path: &String| {
            let sighting = self.sighting(state, path);
            sighting.is_ok_and(|one| one.is_some_and(|one| one.ids.iter().any(|held| held == id)))
        };
        state.sightings.paths_for_id(id).into_iter().find(holds)
    }

    /// Records a sighting, and returns its offset.
    pub(crate) fn write_sighting(
        &self,
        sighting: Sighting,
        moved_from: Option<String>,
    ) -> Result<Option<u64>, EditorError> {
        let folder = self.folder.private()?;
        let _lock = self.lock_journal(&folder)?;
        let mut state = self.state();
        take_news(&mut state, &folder)?;
        let path = sighting.path.clone();
        let forgotten = moved_from.map(|path| Record::Forget { path });
        let records: Vec<Record> = forgotten
            .into_iter()
            .chain([Record::Sighting(Box::new(sighting))])
            .collect();
        state.sightings.append(&folder, &records)?;
        Ok(state.sightings.card(&path).map(|card| card.offset))
    }
}
