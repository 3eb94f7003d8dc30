//! A document as it is now: its bytes, its sections and their ids. Looking at one notices what other programs did to it.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use sectile_markdown::{
    Digest, Document, Source, Span,
    align::{self, Fingerprint},
    edit::content_span,
};

use super::{Editor, EditorError, sighting::MOST_SIGHTED_SECTIONS, store::State};
use crate::{
    NotePath,
    journal::{Kind, Origin},
    ledger::StepCard,
};

/// A document at one moment.
#[derive(Debug)]
pub struct View {
    path: NotePath,
    bytes: Vec<u8>,
    hash: Digest,
    document: Document,
    ids: Vec<String>,
    revision: u64,
    /// Where the ids stand in the file of ids, when they are from there.
    sighted_at: Option<u64>,
    outline: OnceLock<Vec<Outline>>,
    hashes: OnceLock<Vec<OnceLock<Hashes>>>,
}

/// A section in terms of positions.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) heading: String,
    pub(super) level: u8,
    pub(super) parent: Option<usize>,
    pub(super) content: Span,
    /// Text with subsections.
    pub(super) below: Span,
    /// Heading and everything below, without blank lines behind it.
    pub(super) subtree: Span,
    pub(super) subtree_end: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub(super) own: Digest,
    pub(super) subtree: Digest,
}

impl View {
    pub(super) fn new(
        path: NotePath,
        bytes: Vec<u8>,
        hash: Digest,
        document: Document,
        ids: Vec<String>,
        revision: u64,
    ) -> Self {
        Self {
            path,
            bytes,
            hash,
            document,
            ids,
            revision,
            sighted_at: None,
            outline: OnceLock::new(),
            hashes: OnceLock::new(),
        }
    }

    /// About how much memory it takes. What is made of small sections is many times their text.
    fn weight(&self) -> usize {
        const OF_SECTION: usize = 256;
        self.bytes.len() + self.ids.len() * OF_SECTION
    }

    /// Where the file is, below the root.
    #[must_use]
    pub fn path(&self) -> &NotePath {
        &self.path
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their digest.
    #[must_use]
    pub fn hash(&self) -> &Digest {
        &self.hash
    }

    /// Its sections.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The ids of its sections, in order.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The number of the last entry of its history; 0 before the first.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn outline(&self) -> &[Outline] {
        self.outline
            .get_or_init(|| outline(&self.bytes, &self.document))
    }

    /// The hashes of one section, made when somebody asks for them: all of them would be many times the document.
    pub(super) fn hashes(&self, position: usize) -> Option<&Hashes> {
        let outline = self.outline().get(position)?;
        let all = self
            .hashes
            .get_or_init(|| self.outline().iter().map(|_| OnceLock::new()).collect());
        Some(all.get(position)?.get_or_init(|| Hashes {
            own: Digest::of(outline.content.slice(&self.bytes)),
            subtree: Digest::of(outline.subtree.slice(&self.bytes)),
        }))
    }
}

pub(super) fn outline(bytes: &[u8], document: &Document) -> Vec<Outline> {
    let mut position_of: HashMap<usize, usize> = HashMap::new();
    let mut result: Vec<Outline> = Vec::new();
    let mut ends = Vec::new();
    let mut starts = Vec::new();
    for (index, section, extent) in document.top_level() {
        position_of.insert(index, result.len());
        starts.push(section.heading.start);
        ends.push(extent.subtree.end);
        result.push(Outline {
            heading: section.text.clone(),
            level: section.level,
            parent: extent
                .parent
                .and_then(|parent| position_of.get(&parent).copied()),
            content: content_span(bytes, extent.own_body),
            below: content_span(bytes, Span::new(section.heading.end, extent.subtree.end)),
            subtree: content_span(bytes, extent.subtree),
            subtree_end: 0,
        });
    }
    for (one, end) in result.iter_mut().zip(ends) {
        one.subtree_end = starts.partition_point(|start| *start < end);
    }
    result
}

/// Views that were made lately, and texts that callers were given.
#[derive(Debug, Default)]
pub(super) struct Cache {
    views: HashMap<String, (u64, Arc<View>)>,
    bytes: usize,
    clock: u64,
}

/// Views of about this many bytes are kept.
const CACHE_BYTES: usize = 64 << 20;

impl Cache {
    pub(super) fn get(&mut self, path: &str) -> Option<Arc<View>> {
        self.clock += 1;
        let (used, view) = self.views.get_mut(path)?;
        *used = self.clock;
        Some(Arc::clone(view))
    }

    pub(super) fn put(&mut self, view: &Arc<View>) {
        self.clock += 1;
        self.bytes += view.weight();
        let key = view.path.as_str().to_owned();
        if let Some((_, old)) = self.views.insert(key, (self.clock, Arc::clone(view))) {
            self.bytes -= old.weight();
        }
        while self.bytes > CACHE_BYTES && self.views.len() > 1 {
            let oldest = self
                .views
                .iter()
                .min_by_key(|(_, (used, _))| *used)
                .map(|(path, _)| path.clone());
            if let Some((_, old)) = oldest.and_then(|path| self.views.remove(&path)) {
                self.bytes -= old.weight();
            }
        }
    }

    pub(super) fn forget(&mut self, path: &str) {
        if let Some((_, old)) = self.views.remove(path) {
            self.bytes -= old.weight();
        }
    }
}

/// A file that another program is just writing is looked at again after this long.
const SETTLING: Duration = Duration::from_millis(4);
const MOST_LOOKS: usize = 50;
/// Programs that write in place empty the file first. An empty one has to stay so for this many looks.
const LOOKS_AT_NOTHING: usize = 50;

impl Editor {
    /// The document at `path` as it is on disk now. Sections that have no id yet get one; what other programs changed in a
    /// document with a history is entered there.
    ///
    /// # Errors
    /// [`EditorError`] when it cannot be read.
    pub fn view(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.folder.check_path(path)?;
        let located = self.folder.locate(path)?;
        // A link may have the name of a document and lead to something else.
        self.folder.check_path(located.path())?;
        match self.recorded(located.path()) {
            Err(
                EditorError::ReadOnly
                | EditorError::NotPermitted
                | EditorError::ReadOnlyFileSystem
                | EditorError::DiskFull
                | EditorError::JournalTooNew
                | EditorError::StrangePrivateFile { .. }
                | EditorError::Io(_),
            ) => self.unrecorded(located.path()),
            result => result,
        }
    }

    fn recorded(&self, real: &NotePath) -> Result<Arc<View>, EditorError> {
        let bytes = match self.folder.read(real) {
            Err(EditorError::DocumentNotFound) => self.read_after_others(real)?,
            bytes => bytes?,
        };
        {
            let mut state = self.store.state();
            self.store.catch_up(&mut state)?;
            if let Some(view) = self.known(&state, real, &bytes)? {
                return Ok(view);
            }
        }
        let _locks = self.store.lock_documents([real.as_str()], &|| false)?;
        self.settled(real)
    }

    /// The bytes of a document that is not there. Where two names cannot be exchanged in one step, another process may be
    /// just replacing it, or was ended while it did.
    fn read_after_others(&self, real: &NotePath) -> Result<Vec<u8>, EditorError> {
        let is_pending = {
            let mut state = self.store.state();
            self.store.catch_up(&mut state)?;
            !state.ledger.pending(Some(real.as_str())).is_empty()
        };
        if is_pending {
            let _locks = self.store.lock_documents([real.as_str()], &|| false)?;
            self.store.finish_pending(real.as_str())?;
        }
        self.folder.read(real)
    }

    /// When the file of a document was made, in milliseconds since 1970, as far as that is known.
    #[must_use]
    pub fn created(&self, path: &NotePath) -> Option<i64> {
        let state = self.store.state();
        let known = state.ledger.document(path.as_str());
        let sighted = || state.sightings.card(path.as_str());
        known.map_or_else(
            || sighted().and_then(|card| card.created),
            |known| known.created,
        )
    }

    /// When the text that `view` shows was written, in milliseconds since 1970: by the editor's own clock where this user's
    /// last edit made it, and else as the file says.
    #[must_use]
    pub fn modified(&self, view: &View) -> Option<i64> {
        let edited = {
            let state = self.store.state();
            let card = state.ledger.entry(view.revision());
            let hash = view.hash.to_string();
            let wrote = |step: &StepCard| step.after.as_deref() == Some(hash.as_str());
            let own = card.filter(|card| {
                card.kind != Kind::Foreign
                    && card.origin == Origin::Own
                    && card.steps.iter().any(wrote)
            });
            own.map(|card| card.time)
        };
        edited.or_else(|| self.folder.root.times(&view.path).modified)
    }

    pub(super) fn views(&self) -> MutexGuard<'_, Cache> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A view of `bytes` when the ids of just these are written down.
    fn known(
        &self,
        state: &State,
        path: &NotePath,
        bytes: &[u8],
    ) -> Result<Option<Arc<View>>, EditorError> {
        let cached = self.views().get(path.as_str());
        let cached = cached.filter(|view| view.bytes == bytes);
        let hash = cached
            .as_ref()
            .map_or_else(|| Digest::of(bytes), |view| view.hash);
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
            (view.revision, view.sighted_at) == (revision, sighted_at) && *view.ids == *ids
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
        Ok(Some(self.keep(View { sighted_at, ..view })))
    }

    pub(super) fn keep(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        self.views().put(&view);
        view
    }

    /// The document at `path`, which the caller has locked and which has no links in it.
    pub(super) fn settled(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.store.finish_pending(path.as_str())?;
        let mut bytes = self.folder.read(path)?;
        let mut same_looks = 0;
        for _ in 0..MOST_LOOKS + LOOKS_AT_NOTHING {
            let mut state = self.store.state();
            self.store.catch_up(&mut state)?;
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
        let new = New {
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
        Ok(self.keep(View {
            sighted_at: given.sighted_at,
            ..view
        }))
    }
}

/// A document as it was just read.
pub(super) struct New<'a> {
    pub(super) path: &'a NotePath,
    pub(super) bytes: &'a [u8],
    pub(super) hash: Digest,
    pub(super) document: &'a Document,
    pub(super) prints: &'a [Fingerprint],
}

impl New<'_> {
    /// The headings of its sections, in order.
    pub(super) fn headings(&self) -> impl Iterator<Item = &str> {
        let sections = self.document.top_level();
        sections.map(|(_, section, _)| section.text.as_str())
    }
}

/// The ids that the sections of a document have, and where they stand when that is the file of ids.
pub(super) struct GivenIds {
    pub(super) ids: Vec<String>,
    pub(super) sighted_at: Option<u64>,
}

impl From<Vec<String>> for GivenIds {
    fn from(ids: Vec<String>) -> Self {
        Self {
            ids,
            sighted_at: None,
        }
    }
}
