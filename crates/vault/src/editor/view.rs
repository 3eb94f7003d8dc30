//! A document as it is now: its bytes, its sections and their ids. Looking at one notices what other programs did to it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use sectile_markdown::{
    Digest, Document, Source, Span,
    align::{self, Fingerprint},
    edit::content_span,
    line_changes,
};

use super::{
    Editor, EditorError,
    history::before,
    store::{State, Unrecorded},
};
use crate::{
    NotePath, ReadError, ids,
    journal::{Adopt, Entry, Kind, Mark, Record, Splice, Step, written},
    ledger::DocumentState,
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
            outline: OnceLock::new(),
            hashes: OnceLock::new(),
        }
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

/// Views of documents of this many bytes are kept.
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
        self.bytes += view.bytes.len();
        let key = view.path.as_str().to_owned();
        if let Some((_, old)) = self.views.insert(key, (self.clock, Arc::clone(view))) {
            self.bytes -= old.bytes.len();
        }
        while self.bytes > CACHE_BYTES && self.views.len() > 1 {
            let oldest = self
                .views
                .iter()
                .min_by_key(|(_, (used, _))| *used)
                .map(|(path, _)| path.clone());
            if let Some((_, old)) = oldest.and_then(|path| self.views.remove(&path)) {
                self.bytes -= old.bytes.len();
            }
        }
    }

    pub(super) fn forget(&mut self, path: &str) {
        if let Some((_, old)) = self.views.remove(path) {
            self.bytes -= old.bytes.len();
        }
    }
}

/// A file that another program is just writing is looked at again after this long.
const SETTLING: Duration = Duration::from_millis(4);
const MOST_LOOKS: usize = 50;
/// Programs that write in place empty the file first. An empty one has to stay so for this many looks.
const LOOKS_AT_NOTHING: usize = 50;
/// So many entries of other programs are searched for a section that is back.
const MOST_ENTRIES_BACK: usize = 8;

impl Editor {
    /// The document at `path` as it is on disk now. Sections that have no id yet get one; changes by other programs are
    /// entered into the history.
    ///
    /// # Errors
    /// [`EditorError`] when it cannot be read.
    pub fn view(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.check_path(path)?;
        let located = self.locate(path)?;
        match self.recorded(located.path()) {
            Err(
                EditorError::NotPermitted
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
        let bytes = match self.read(real) {
            Err(EditorError::DocumentNotFound) => self.read_after_others(real)?,
            bytes => bytes?,
        };
        {
            let mut state = self.state();
            self.catch_up(&mut state)?;
            if let Some(view) = self.known(&state, real, &bytes) {
                return Ok(view);
            }
        }
        let _locks = self.lock_documents([real.as_str()], &|| false)?;
        let view = self.settled(real)?;
        self.state().unrecorded.remove(real.as_str());
        Ok(view)
    }

    /// The bytes of a document that is not there. Where two names cannot be exchanged in one step, another process may be
    /// just replacing it, or was ended while it did.
    fn read_after_others(&self, real: &NotePath) -> Result<Vec<u8>, EditorError> {
        let is_pending = {
            let mut state = self.state();
            self.catch_up(&mut state)?;
            !state.ledger.pending(Some(real.as_str())).is_empty()
        };
        if is_pending {
            let _locks = self.lock_documents([real.as_str()], &|| false)?;
            self.finish_pending(real.as_str())?;
        }
        self.read(real)
    }

    /// A view of a document when nothing can be written down: what has an id keeps it, the rest gets ids that last as
    /// long as this process. Nothing can be edited by these.
    fn unrecorded(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        let bytes = self.read(path)?;
        let (hash, document) = (Digest::of(&bytes), Source::new(&bytes).parse());
        let known = self.state().ledger.document(path.as_str()).cloned();
        let revision = known
            .as_ref()
            .and_then(|known| known.entries.last().copied());
        let known = known.map(|known| (self.prints_of(&known), known.ids));
        let mut state = self.state();
        let State {
            unrecorded,
            unrecorded_ids,
            ..
        } = &mut *state;
        let seen = unrecorded.remove(path.as_str());
        let seen = match seen {
            Some(seen) if seen.hash == hash => seen,
            seen => {
                let prints = align::fingerprints(&bytes, &document);
                let old = seen.map(|seen| (seen.prints, seen.ids)).or(known);
                let (old_prints, old_ids) = old
                    .filter(|(prints, ids)| prints.len() == ids.len())
                    .unwrap_or_default();
                let ids = align::align(&old_prints, &prints)
                    .into_iter()
                    .zip(&prints)
                    .map(|(origin, print)| match origin {
                        Some(at) => old_ids[at].clone(),
                        None => {
                            *unrecorded_ids += 1;
                            ids::unrecorded(&print.heading, *unrecorded_ids)
                        }
                    })
                    .collect();
                Unrecorded { hash, prints, ids }
            }
        };
        let ids = seen.ids.clone();
        unrecorded.insert(path.as_str().to_owned(), seen);
        drop(state);
        let revision = revision.unwrap_or(0);
        Ok(Arc::new(View::new(
            path.clone(),
            bytes,
            hash,
            document,
            ids,
            revision,
        )))
    }

    /// When the file of a document was made, in milliseconds since 1970, as far as that is known.
    #[must_use]
    pub fn created(&self, path: &NotePath) -> Option<i64> {
        self.state().ledger.document(path.as_str())?.created
    }

    pub(super) fn read(&self, path: &NotePath) -> Result<Vec<u8>, EditorError> {
        self.root
            .read(path, self.limits.max_document_bytes)
            .map_err(|error| match error {
                ReadError::NotFound if !self.root.is_there() => EditorError::RootGone,
                error => error.into(),
            })
    }

    pub(super) fn views(&self) -> MutexGuard<'_, Cache> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A view of `bytes` when the journal knows them.
    fn known(&self, state: &State, path: &NotePath, bytes: &[u8]) -> Option<Arc<View>> {
        let known = state.ledger.document(path.as_str())?;
        let revision = known.entries.last().copied().unwrap_or(0);
        let cached = self.views().get(path.as_str());
        let cached = cached.filter(|view| view.bytes == bytes);
        let hash = cached
            .as_ref()
            .map_or_else(|| Digest::of(bytes), |view| view.hash);
        if known.hash.as_deref() != Some(hash.to_string().as_str()) {
            return None;
        }
        if let Some(view) = cached.filter(|view| view.revision == revision && view.ids == known.ids)
        {
            return Some(view);
        }
        let document = Source::new(bytes).parse();
        if document.top_level().count() != known.ids.len() {
            return None;
        }
        Some(self.keep(View::new(
            path.clone(),
            bytes.to_vec(),
            hash,
            document,
            known.ids.clone(),
            revision,
        )))
    }

    pub(super) fn keep(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        self.views().put(&view);
        view
    }

    /// The document at `path`, which the caller has locked and which has no links in it.
    pub(super) fn settled(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.finish_pending(path.as_str())?;
        let mut bytes = self.read(path)?;
        let mut same_looks = 0;
        for _ in 0..MOST_LOOKS + LOOKS_AT_NOTHING {
            let mut state = self.state();
            self.catch_up(&mut state)?;
            if let Some(view) = self.known(&state, path, &bytes) {
                return Ok(view);
            }
            let is_new = state.ledger.document(path.as_str()).is_none();
            drop(state);
            if is_new {
                break;
            }
            std::thread::sleep(SETTLING);
            let again = self.read(path)?;
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
            prints: &prints,
        };
        let known = self.state().ledger.document(path.as_str()).cloned();
        let ids = match known {
            Some(known) => self.enter_foreign_edit(&known, &new)?,
            None => match self.moved_from(&hash) {
                Some(known) => self.enter_foreign_edit(&known, &new)?,
                None => self.adopt(&new)?,
            },
        };
        let state = self.state();
        let revision = state
            .ledger
            .document(path.as_str())
            .and_then(|known| known.entries.last().copied())
            .unwrap_or(0);
        drop(state);
        Ok(self.keep(View::new(
            path.clone(),
            bytes,
            hash,
            document,
            ids,
            revision,
        )))
    }

    /// A document that was at another path with the same bytes, where no file is now.
    fn moved_from(&self, hash: &Digest) -> Option<DocumentState> {
        let wanted = hash.to_string();
        let candidates: Vec<DocumentState> = {
            let state = self.state();
            state.ledger.documents_with(&wanted).cloned().collect()
        };
        candidates.into_iter().find(|known| {
            let path = known
                .path
                .as_deref()
                .and_then(|path| NotePath::parse_vault(path).ok());
            path.is_some_and(|path| matches!(self.root.read(&path, 0), Err(ReadError::NotFound)))
        })
    }

    fn adopt(&self, new: &New<'_>) -> Result<Vec<String>, EditorError> {
        self.record(|ledger| {
            let first = ledger.next().id;
            let ids: Vec<String> = new
                .prints
                .iter()
                .zip(first..)
                .map(|(print, number)| ids::id(&print.heading, number))
                .collect();
            let adopt = Adopt {
                document: ledger.next().document,
                path: new.path.as_str().to_owned(),
                hash: new.hash.to_string(),
                created: self.root.times(new.path).created,
                sections: marks(&ids, new.prints),
            };
            Ok((vec![Record::Adopt(adopt)], ids))
        })
    }

    /// What the sections of a document are known by.
    fn prints_of(&self, known: &DocumentState) -> Vec<Fingerprint> {
        match self.text_of(known) {
            Some(text) => align::fingerprints(&text, &Source::new(&text).parse()),
            None => known.marks.iter().filter_map(fingerprint).collect(),
        }
    }

    /// Sections that other programs took out of a document since we last changed it, in case they put them back: the
    /// latest first. A program that empties a file and writes it anew does just that.
    fn ghosts(&self, known: &DocumentState, text: Option<Vec<u8>>) -> Vec<(Fingerprint, String)> {
        let mut ghosts: Vec<(Fingerprint, String)> = Vec::new();
        let (mut text, mut ids) = (text, known.ids.clone());
        let chain = known.entries.get(known.chain_start..).unwrap_or_default();
        for number in chain.iter().rev().take(MOST_ENTRIES_BACK) {
            let is_foreign = {
                let state = self.state();
                let card = state.ledger.entry(*number);
                card.is_some_and(|card| card.kind == Kind::Foreign)
            };
            let Some(step) = is_foreign.then(|| self.step(*number, known.id)) else {
                break;
            };
            let Ok(step) = step else { break };
            let (Ok(older), Some(older_ids)) = (
                before(&step, text.as_deref()),
                step.ids.inverse().apply(&ids),
            ) else {
                break;
            };
            let bytes = older.clone().unwrap_or_default();
            let prints = align::fingerprints(&bytes, &Source::new(&bytes).parse());
            let gone = prints.into_iter().zip(&older_ids).filter(|(_, id)| {
                !known.ids.contains(id) && !ghosts.iter().any(|(_, ghost)| ghost == *id)
            });
            let gone: Vec<_> = gone.map(|(print, id)| (print, id.clone())).collect();
            ghosts.extend(gone);
            (text, ids) = (older, older_ids);
        }
        let state = self.state();
        ghosts.retain(|(_, id)| state.ledger.deleted_by(id).is_some());
        ghosts
    }

    /// Enters what another program did to a document.
    fn enter_foreign_edit(
        &self,
        known: &DocumentState,
        new: &New<'_>,
    ) -> Result<Vec<String>, EditorError> {
        let old_text = self.text_of(known);
        let old_prints = self.prints_of(known);
        let same_list = old_prints.len() == known.ids.len();
        let lineage = if same_list {
            align::align(&old_prints, new.prints)
        } else {
            vec![None; new.prints.len()]
        };
        let mut ids: Vec<Option<String>> = lineage
            .iter()
            .map(|origin| origin.map(|at| known.ids[at].clone()))
            .collect();
        if ids.contains(&None) {
            revive(self.ghosts(known, old_text.clone()), new.prints, &mut ids);
        }
        let old_path = known.path.clone().unwrap_or_default();
        let moved_to = (old_path != new.path.as_str()).then(|| new.path.as_str().to_owned());
        self.record(|ledger| {
            let same = ledger
                .document_by_number(known.id)
                .is_some_and(|now| (&now.path, &now.hash) == (&known.path, &known.hash));
            if !same {
                // It was found at another path, too, and that was quicker.
                return Err(EditorError::KeepsChanging);
            }
            let mut next = ledger.next().id;
            let ids: Vec<String> = ids
                .iter()
                .zip(new.prints)
                .map(|(id, print)| match id {
                    Some(id) => id.clone(),
                    None => {
                        next += 1;
                        ids::id(&print.heading, next - 1)
                    }
                })
                .collect();
            let touched = touched((&known.ids, &old_prints), (&ids, new.prints), &lineage);
            let changes = old_text
                .as_ref()
                .map(|old| written(&line_changes(old, new.bytes), old));
            let step = Step {
                document: known.id,
                path: old_path.clone(),
                moved_to: moved_to.clone(),
                before: known.hash.clone(),
                after: Some(new.hash.to_string()),
                marks: if changes.is_none() {
                    marks(&ids, new.prints)
                } else {
                    Vec::new()
                },
                changes,
                ids: Splice::between(&known.ids, &ids),
                touched,
                snapshot: None,
            };
            let entry = Entry {
                number: ledger.next().entry,
                time: (self.clock)(),
                actor: "another program".to_owned(),
                operation: "external_edit".to_owned(),
                reason: None,
                request: None,
                kind: Kind::Foreign,
                steps: vec![step],
            };
            Ok((vec![Record::Done(Box::new(entry))], ids))
        })
    }
}

/// A document as it was just read.
struct New<'a> {
    path: &'a NotePath,
    bytes: &'a [u8],
    hash: Digest,
    prints: &'a [Fingerprint],
}

/// Gives sections that another program took out and put back their ids again.
fn revive(
    mut ghosts: Vec<(Fingerprint, String)>,
    prints: &[Fingerprint],
    ids: &mut [Option<String>],
) {
    for (slot, print) in ids.iter_mut().zip(prints) {
        if slot.is_none()
            && let Some(at) = ghosts.iter().position(|(ghost, _)| ghost == print)
        {
            *slot = Some(ghosts.remove(at).1);
        }
    }
}

/// The sections that a foreign edit is about: changed, new or gone.
fn touched(
    (old_ids, old): (&[String], &[Fingerprint]),
    (ids, new): (&[String], &[Fingerprint]),
    lineage: &[Option<usize>],
) -> Vec<String> {
    const MOST: usize = 64;
    let is_touched = |(origin, print): (&Option<usize>, &Fingerprint)| {
        let was = origin.and_then(|at| old.get(at));
        was.is_none_or(|was| was.body != print.body || was.heading != print.heading)
    };
    let touched = lineage.iter().zip(new).map(is_touched);
    let changed = ids.iter().zip(touched).filter(|(_, touched)| *touched);
    let kept: HashSet<&String> = ids.iter().collect();
    let gone = old_ids.iter().filter(|id| !kept.contains(id));
    changed
        .map(|(id, _)| id)
        .chain(gone)
        .take(MOST)
        .cloned()
        .collect()
}

pub(super) fn marks(ids: &[String], prints: &[Fingerprint]) -> Vec<Mark> {
    ids.iter()
        .zip(prints)
        .map(|(id, print)| Mark {
            id: id.clone(),
            heading: print.heading.clone(),
            path: print.path,
            body: print.body.to_string(),
            empty: print.is_empty,
        })
        .collect()
}

fn fingerprint(mark: &Mark) -> Option<Fingerprint> {
    Some(Fingerprint {
        heading: mark.heading.clone(),
        path: mark.path,
        body: Digest::parse(&mark.body)?,
        lines: Vec::new(),
        is_empty: mark.empty,
    })
}
