//! Documents as they are now. Viewing one detects what other programs did to it.

pub(super) mod external_edits;
pub(super) mod part;
pub(super) mod past;
pub(super) mod section;
mod sighting;
mod view;

use std::{borrow::Cow, cell::Cell, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use sectile_markdown::{Digest, Source, align};

pub use self::view::View;
use self::view::{Cache, NewDocument};
use super::{
    EditorError,
    folder::DocumentFolder,
    store::{JournalStore, MOST_SIGHTED_SECTIONS, State},
};
use crate::{
    NotePath,
    journal::{EntryKind, LineOrigin},
    ledger::StepCard,
};

/// Reads documents, and gives their sections ids.
#[derive(Debug)]
pub(super) struct DocumentReader {
    folder: Arc<DocumentFolder>,
    store: Arc<JournalStore>,
    views: Mutex<Cache>,
    /// The last text rebuilt from the journal: the document, the entry that produced it, and the bytes.
    made_text: Mutex<Option<(u64, u64, Vec<u8>)>>,
}

/// Reads the documents that one call needs. What other processes have recorded is read before the first of them, not before
/// each: a document whose bytes are not those that its ids are recorded for is looked at again.
#[derive(Debug)]
pub struct ViewBatch<'e> {
    reader: &'e DocumentReader,
    is_caught_up: Cell<bool>,
}

impl<'e> ViewBatch<'e> {
    pub(super) fn new(reader: &'e DocumentReader) -> Self {
        Self {
            reader,
            is_caught_up: Cell::new(false),
        }
    }

    /// Returns the document at `path` as it is on disk now.
    ///
    /// # Errors
    /// [`EditorError`] when it cannot be read.
    pub fn view(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        match self.look(path) {
            Some(Some(view)) => Ok(view),
            Some(None) => self.reader.or_unrecorded(path, self.reader.locked(path)),
            None => self.reader.view_behind_links(path),
        }
    }

    /// Looks at a document whose file has exactly this path, and returns it if its ids are recorded for exactly its bytes.
    /// `None` if more than a look is needed.
    fn look(&self, path: &NotePath) -> Option<Option<Arc<View>>> {
        let DocumentReader { folder, store, .. } = self.reader;
        let bytes = folder.read_in_place(path)?;
        let state = match self.is_caught_up.get() {
            true => store.state(),
            false => store.current_state().ok()?,
        };
        self.is_caught_up.set(true);
        self.reader.known(&state, path, &bytes).ok()
    }
}

/// Delay before another look at a file that another program is just writing.
const SETTLING: Duration = Duration::from_millis(4);
const MOST_LOOKS: usize = 50;
/// Number of looks, 200 ms in all, during which an empty file must stay empty. Programs that write in place empty the
/// file first.
const LOOKS_AT_NOTHING: usize = 50;

impl DocumentReader {
    pub(super) fn new(folder: &Arc<DocumentFolder>, store: &Arc<JournalStore>) -> Self {
        Self {
            folder: Arc::clone(folder),
            store: Arc::clone(store),
            views: Mutex::default(),
            made_text: Mutex::default(),
        }
    }

    /// Returns the document at `path` as it is on disk now.
    pub(super) fn view(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        ViewBatch::new(self).view(path)
    }

    /// Like [`Self::view`], wherever links lead.
    fn view_behind_links(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.folder.check_path(path)?;
        let located = self.folder.locate(path)?;
        // A link may have the name of a document but lead to something else.
        self.folder.check_path(located.path())?;
        self.or_unrecorded(located.path(), self.recorded(located.path()))
    }

    /// Returns the document at `real` as it was read, or without recording anything if that is not possible.
    fn or_unrecorded(
        &self,
        real: &NotePath,
        read: Result<Arc<View>, EditorError>,
    ) -> Result<Arc<View>, EditorError> {
        match read {
            Err(
                EditorError::ReadOnly
                | EditorError::NotPermitted
                | EditorError::ReadOnlyFileSystem
                | EditorError::DiskFull
                | EditorError::JournalTooNew
                | EditorError::StrangePrivateFile { .. }
                | EditorError::Io(_),
            ) => self.unrecorded(real),
            result => result,
        }
    }

    fn recorded(&self, real: &NotePath) -> Result<Arc<View>, EditorError> {
        let bytes = match self.folder.read(real) {
            Err(EditorError::DocumentNotFound) => self.read_after_others(real)?,
            bytes => bytes?,
        };
        {
            let state = self.store.current_state()?;
            if let Some(view) = self.known(&state, real, &bytes)? {
                return Ok(view);
            }
        }
        self.locked(real)
    }

    /// Returns a document that is not known as it is.
    fn locked(&self, real: &NotePath) -> Result<Arc<View>, EditorError> {
        let _locks = self.store.lock_documents([real.as_str()], &|| false)?;
        self.settled(real)
    }

    /// Returns the bytes of a document that was not found. Where two names cannot be exchanged in one step, another
    /// process may be replacing it just now, or was killed while doing so.
    fn read_after_others(&self, real: &NotePath) -> Result<Vec<u8>, EditorError> {
        let is_pending = {
            let state = self.store.current_state()?;
            !state.ledger.pending(Some(real.as_str())).is_empty()
        };
        if is_pending {
            let _locks = self.store.lock_documents([real.as_str()], &|| false)?;
            self.store.finish_pending(real.as_str())?;
        }
        self.folder.read(real)
    }

    /// Returns when the file of a document was created, if that is known.
    pub(super) fn created(&self, path: &NotePath) -> Option<i64> {
        if self.folder.is_hidden(path) {
            return None;
        }
        let state = self.store.state();
        let known = state.ledger.document(path.as_str());
        let sighted = || state.sightings.card(path.as_str());
        known.map_or_else(
            || sighted().and_then(|card| card.created),
            |known| known.created,
        )
    }

    /// Returns when the text in `view` was written.
    pub(super) fn modified(&self, view: &View) -> Option<i64> {
        let edited = {
            let state = self.store.state();
            let card = state.ledger.entry(view.revision());
            let hash = view.hash().to_string();
            let wrote = |step: &StepCard| step.after.as_deref() == Some(hash.as_str());
            let own = card.filter(|card| {
                card.kind != EntryKind::Foreign
                    && card.origin == LineOrigin::Own
                    && card.steps.iter().any(wrote)
            });
            own.map(|card| card.time)
        };
        edited.or_else(|| self.folder.root.times(view.path()).modified)
    }

    /// Returns a view of `bytes` if the ids for exactly these bytes are recorded.
    fn known(
        &self,
        state: &State,
        path: &NotePath,
        bytes: &[u8],
    ) -> Result<Option<Arc<View>>, EditorError> {
        let cached = self.views().get(path.as_str());
        let cached = cached.filter(|view| view.bytes() == bytes);
        let hash = cached
            .as_ref()
            .map_or_else(|| Digest::of(bytes), |view| *view.hash());
        let is_hash = |known: &str| known == hash.to_string();
        let (ids, revision, sighted_at) = match state.ledger.document(path.as_str()) {
            Some(known) => {
                if !known.hash.as_deref().is_some_and(is_hash) {
                    return Ok(None);
                }
                let ids = Cow::Borrowed(known.ids.as_slice());
                (ids, known.entries.last().copied(), None)
            }
            None => match state.sightings.card(path.as_str()) {
                Some(card) if is_hash(&card.hash) => {
                    let offset = Some(card.offset);
                    if let Some(view) = cached.as_ref().filter(|view| view.sighted_at == offset) {
                        return Ok(Some(Arc::clone(view)));
                    }
                    match self.store.sighting(state, path.as_str())? {
                        Some(sighting) => (Cow::Owned(sighting.ids_now()), None, offset),
                        None => return Ok(None),
                    }
                }
                Some(_) => return Ok(None),
                None => match state.unrecorded.ids(path.as_str(), &hash) {
                    Some(ids) => (Cow::Borrowed(ids), None, None),
                    None => return Ok(None),
                },
            },
        };
        let revision = revision.unwrap_or(0);
        let is_same = |view: &Arc<View>| {
            (view.revision(), view.sighted_at) == (revision, sighted_at) && *view.ids() == *ids
        };
        if let Some(view) = cached.filter(is_same) {
            return Ok(Some(view));
        }
        let document = Source::new(bytes).parse();
        if document.top_level().count() != ids.len() {
            return Ok(None);
        }
        let (bytes, ids) = (bytes.to_vec(), ids.into_owned());
        let view = View::new(path.clone(), bytes, hash, document, ids, revision);
        Ok(Some(self.keep(view.with_sighting(sighted_at))))
    }

    /// Returns the document at `path`, a path without links that the caller has locked.
    pub(super) fn settled(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.store.finish_pending(path.as_str())?;
        let mut bytes = self.folder.read(path)?;
        let mut same_looks = 0;
        for _ in 0..MOST_LOOKS + LOOKS_AT_NOTHING {
            let state = self.store.current_state()?;
            if let Some(view) = self.known(&state, path, &bytes)? {
                return Ok(view);
            }
            let is_new = state.ledger.document(path.as_str()).is_none()
                && state.sightings.card(path.as_str()).is_none();
            drop(state);
            if is_new {
                break;
            }
            std::thread::sleep(SETTLING);
            let again = self.folder.read(path)?;
            same_looks = if again == bytes { same_looks + 1 } else { 0 };
            bytes = again;
            let wanted = if bytes.is_empty() {
                LOOKS_AT_NOTHING
            } else {
                1
            };
            if same_looks >= wanted {
                break;
            }
        }
        let document = Source::new(&bytes).parse();
        let prints = align::fingerprints(&bytes, &document);
        let hash = Digest::of(&bytes);
        let new = NewDocument {
            path,
            bytes: &bytes,
            hash,
            document: &document,
            prints: &prints,
        };
        let (known, sighting) = {
            let state = self.store.state();
            let known = state.ledger.document(path.as_str()).cloned();
            let sighting = match known {
                Some(_) => None,
                None => self.store.sighting(&state, path.as_str())?,
            };
            (known, sighting)
        };
        let given = match (known, sighting) {
            (Some(known), _) => self.enter_foreign_edit(&known, &new)?,
            (None, _) if prints.len() > MOST_SIGHTED_SECTIONS => self.carry_ids(&new)?,
            (None, Some(sighting)) => self.sight_again(sighting, &new)?,
            (None, None) => self.sight_first(&new)?,
        };
        let revision = {
            let state = self.store.state();
            let known = state.ledger.document(path.as_str());
            known.and_then(|known| known.entries.last().copied())
        };
        let revision = revision.unwrap_or(0);
        let view = View::new(path.clone(), bytes, hash, document, given.ids, revision);
        Ok(self.keep(view.with_sighting(given.sighted_at)))
    }

    fn views(&self) -> MutexGuard<'_, Cache> {
        self.views.lock()
    }

    /// Forgets the view of a document that is no longer at `path`.
    pub(super) fn forget(&self, path: &str) {
        self.views().forget(path);
    }

    pub(super) fn keep(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        self.views().put(&view);
        view
    }

    /// Returns the document at `path`, if its file exists.
    pub(super) fn looked_at(&self, path: &NotePath) -> Result<Option<Arc<View>>, EditorError> {
        match self.view(path) {
            Ok(view) => Ok(Some(view)),
            Err(EditorError::DocumentNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
