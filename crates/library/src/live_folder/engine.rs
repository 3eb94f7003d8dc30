//! Comparing a folder with the disk, and bringing its state up to date.
//!
//! Everything here happens under the lock of [`Engine`], so that an older comparison never replaces the result of a
//! newer one. A few notes are read and indexed at once; many are left to the thread in the background, which does most
//! of the work without the lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Bytes, EmbeddingReader, Segment};

use crate::{
    clock,
    error::LibraryError,
    folder::{FolderItem, FolderListing, SettledNote},
    indexing::{build_segment, nowhere},
    left_out::WhyLeftOut,
    live_folder::{
        ChangeDetection, FolderChanges, FolderState, LiveFolder, NoteChange, NoteRecord, OwnWrites,
        state::{NotePlace, NoteUpdate, difference},
        watcher::{Hints, Watcher},
    },
    open_collection::snapshot::{NamedSegment, Snapshot},
    storage::{NotebookFile, NotebookStamp},
};

/// The most notes, and bytes of notes, that a call reads and indexes itself.
pub(super) const MOST_AT_ONCE: usize = 64;
const MOST_BYTES_AT_ONCE: u64 = 4 << 20;
/// More hints than this cost more than listing the folder: each is compared with everything that waits.
const MOST_HINTS: usize = 1_024;
/// Clocks of files are coarse: one that changed this shortly before it was read may change again without a new time.
const COARSE_LOCAL: u64 = 100_000_000;
const COARSE_ELSEWHERE: u64 = 3_000_000_000;

/// Notes that this process wrote, and the digest that each had then; `None` if it was gone.
pub(super) type WrittenNotes = BTreeMap<NotePath, Option<Digest>>;

/// The state of the comparison with the disk.
pub(super) struct Engine {
    /// Reports changes, if the system can.
    watcher: Option<Watcher>,
    /// The folder that the watcher watches.
    identity: Option<(u64, u64)>,
    /// When the last listing began.
    listed_at: Option<Instant>,
    /// Whether hints were lost, so that the folder must be listed.
    must_list: bool,
    /// Notes that are to be read and indexed in the background.
    pub(super) pending: BTreeMap<NotePath, PendingNote>,
    generation: u64,
    /// Notes that were read so soon after a change that another one might have the same stamp.
    pub(super) recent: BTreeSet<NotePath>,
    /// Embeds the notes that a call indexes itself.
    reader: Option<Box<dyn EmbeddingReader>>,
    /// When a note last changed that is not in the cache, and when the first one did.
    pub(super) uncached: Option<(Instant, Instant)>,
    /// Whether the cache is being written, and whether someone waits for that.
    pub(super) is_caching: bool,
    pub(super) is_awaited: bool,
}

/// A note that is to be read.
#[derive(Clone, Copy)]
pub(super) struct PendingNote {
    /// Grows with every hint, so that what was read before the last one is not used.
    pub(super) generation: u64,
    pub(super) stamp: NotebookStamp,
    /// Whether another program changed it while it was served.
    pub(super) is_external: bool,
}

/// Differences between the state and the disk.
#[derive(Default)]
struct Differences {
    /// Notes that are gone.
    gone: BTreeSet<NotePath>,
    /// Notes to read.
    candidates: BTreeMap<NotePath, NotebookStamp>,
    /// The other files and folders, if they changed.
    files: Option<(BTreeSet<NotePath>, BTreeSet<NotePath>)>,
}

impl Engine {
    pub(super) fn new() -> Self {
        Self {
            watcher: None,
            identity: None,
            listed_at: None,
            must_list: true,
            pending: BTreeMap::new(),
            generation: 0,
            recent: BTreeSet::new(),
            reader: None,
            uncached: None,
            is_caching: false,
            is_awaited: false,
        }
    }

    /// Leaves a note to the background.
    fn postpone(&mut self, path: NotePath, stamp: NotebookStamp, is_external: bool) {
        self.generation += 1;
        let note = PendingNote {
            generation: self.generation,
            stamp,
            is_external,
        };
        self.pending.insert(path, note);
    }

    /// Returns the paths that the system reported since the last time. If it reported more than it can name, the folder
    /// must be listed.
    pub(super) fn drain(&mut self) -> BTreeSet<NotePath> {
        let mut hints = Hints::default();
        if let Some(watcher) = &mut self.watcher {
            watcher.drain(&mut hints);
        }
        self.must_list |= hints.is_everything || hints.paths.len() > MOST_HINTS;
        hints.paths
    }

    fn detection(&self) -> ChangeDetection {
        match self.watcher {
            Some(_) => ChangeDetection::Events,
            None => ChangeDetection::Listing,
        }
    }
}

impl LiveFolder {
    /// Compares the state with the disk. Changes that were complete at `arrived` are found.
    pub(super) fn look(
        &self,
        engine: &mut Engine,
        arrived: Instant,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        let root = self.storage.root();
        let identity = root.identity().ok_or(LibraryError::FolderNotFound);
        if identity.as_ref().ok() != engine.identity.as_ref() {
            engine.must_list = true;
        }
        identity?;
        if self.state.lock().snapshot.answering().is_damaged() {
            tracing::warn!("the index was changed by another program and will be rebuilt");
            self.forget(engine);
        }
        if engine.watcher.is_none() {
            engine.must_list |= engine.listed_at.is_none_or(|listed| listed < arrived);
        }
        match self.catch_up(engine, stop)? {
            true => self.list(engine, stop),
            false => Ok(()),
        }
    }

    /// Takes in what this process wrote, and what the system reported. Returns whether the folder must be listed too.
    pub(super) fn catch_up(
        &self,
        engine: &mut Engine,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool, LibraryError> {
        // Reports about own notes are read before the notes are, so that they are not looked at again.
        let mut hinted = engine.drain();
        if hinted.iter().any(|path| !self.storage.is_note(path)) {
            self.note_other_change();
        }
        if !self.is_listed() {
            return Ok(true);
        }
        // First the own ones: a folder made for one of them is among the others, and what is known in it is not news.
        let own = self.take_written(engine)?;
        if engine.must_list {
            return Ok(true);
        }
        hinted.retain(|path| !own.contains_key(path));
        self.examine_hinted(engine, hinted, None, stop)?;
        Ok(engine.must_list)
    }

    /// Takes in what this process wrote.
    pub(super) fn take_written(&self, engine: &mut Engine) -> Result<WrittenNotes, LibraryError> {
        let OwnWrites { notes, .. } = std::mem::take(&mut *self.own.lock());
        let paths = notes.keys().cloned().collect();
        self.examine_hinted(engine, paths, Some(&notes), &|| false)?;
        Ok(notes)
    }

    /// Compares the state with the disk at paths that are known to nobody else any more.
    fn examine_hinted(
        &self,
        engine: &mut Engine,
        paths: BTreeSet<NotePath>,
        own: Option<&WrittenNotes>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        if paths.is_empty() {
            return Ok(());
        }
        let examined = self.examine(engine, paths, own, stop);
        // Whatever was not looked at is found by listing.
        engine.must_list |= examined.is_err();
        examined
    }

    /// Drops everything that is indexed.
    fn forget(&self, engine: &mut Engine) {
        engine.must_list = true;
        let mut state = self.state.lock();
        let now = Arc::make_mut(&mut state);
        now.contents.notes.clear();
        now.snapshot = Snapshot::empty(self.models, (self.options.clock)());
        now.progress.left_out = 0;
        (now.mentions, now.names, now.facets) = Default::default();
    }

    /// Lists the folder, and compares the state with the list.
    pub(super) fn list(
        &self,
        engine: &mut Engine,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        let listed = self.listing(engine, stop)?;
        self.reconcile(engine, listed)
    }

    /// Compares the state with a list of everything.
    pub(super) fn reconcile(
        &self,
        engine: &mut Engine,
        listed: FolderListing,
    ) -> Result<(), LibraryError> {
        let differences = self.compared(engine, listed);
        self.resolve(engine, differences, None)?;
        engine.must_list = false;
        self.set_listed();
        Ok(())
    }

    /// Lists the folder, with a watch on everything that is listed.
    pub(super) fn listing(
        &self,
        engine: &mut Engine,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FolderListing, LibraryError> {
        let root = self.storage.root();
        let identity = root.identity().ok_or(LibraryError::FolderNotFound)?;
        self.note_other_change();
        let began = Instant::now();
        if engine.identity != Some(identity) {
            let most = self.limits.watches;
            let may_watch = root.is_on_local_disk() && most > 0;
            engine.watcher = match may_watch {
                true => Watcher::new(root.location(), most),
                false => None,
            };
            engine.identity = Some(identity);
        }
        let mut watcher = engine.watcher.take();
        let listed = self.storage.inventory(None, &|| stop(), &mut |folder| {
            self.step();
            if watcher
                .as_mut()
                .is_some_and(|watcher| !watcher.watch(folder))
            {
                tracing::warn!("changes are found by listing the folder: no more watches");
                watcher = None;
            }
        });
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                engine.watcher = watcher;
                engine.identity = None;
                return Err(error);
            }
        };
        if let Some(watcher) = &mut watcher {
            let folders = &listed.folders;
            watcher.retain(|folder| {
                let at = folders.binary_search_by(|known| known.as_str().cmp(folder));
                folder.is_empty() || at.is_ok()
            });
        }
        engine.watcher = watcher;
        engine.listed_at = Some(began);
        Ok(listed)
    }

    /// Compares the state with the disk without holding up any call, for changes that the system did not report.
    pub(super) fn look_for_missed(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        let listed = self.storage.inventory(None, &|| stop(), &mut |_| {})?;
        let mut engine = self.engine.lock();
        self.take_written(&mut engine)?;
        if engine.watcher.is_none() || engine.must_list {
            return Ok(());
        }
        let mut paths: BTreeSet<NotePath> = {
            let state = Arc::clone(&self.state.lock());
            let others = difference(&state.contents.others, &listed.others);
            let folders = difference(&state.listed_folders, &listed.folders);
            others.into_iter().chain(folders).collect()
        };
        // The list may be older than the state, so that it is only a hint.
        let differences = self.compared(&engine, listed);
        paths.extend(differences.gone);
        paths.extend(differences.candidates.into_keys());
        match paths.is_empty() {
            true => Ok(()),
            false => self.examine(&mut engine, paths, None, stop),
        }
    }

    /// Returns how the state differs from a list of everything.
    fn compared(&self, engine: &Engine, listed: FolderListing) -> Differences {
        let state = Arc::clone(&self.state.lock());
        let mut differences = Differences::default();
        let mut known = state.notes().iter().peekable();
        for one in listed.notes {
            while let Some(gone) = known.next_if(|known| known.path < one.notebook) {
                differences.gone.insert(gone.path.clone());
            }
            let same = known.next_if(|known| known.path == one.notebook);
            if !same.is_some_and(|same| self.is_current(engine, same, &one.stamp)) {
                differences.candidates.insert(one.notebook, one.stamp);
            }
        }
        differences.gone.extend(known.map(|gone| gone.path.clone()));
        if listed.others != state.contents.others || listed.folders != state.listed_folders {
            let others = listed.others.into_iter().collect();
            differences.files = Some((others, listed.folders.into_iter().collect()));
        }
        differences
    }

    /// Returns whether a note is as it was, judging by its stamp.
    fn is_current(&self, engine: &Engine, note: &NoteRecord, stamp: &NotebookStamp) -> bool {
        let may_be_readable_now = note.left_out.is_some()
            && (note.left_out == Some(WhyLeftOut::Unreadable)
                || stamp.bytes <= self.options.max_note_bytes);
        note.stamp == *stamp && !may_be_readable_now && !engine.recent.contains(&note.path)
    }

    /// Compares the state with the disk at these paths. `own` says how this process left them, if it changed them.
    pub(super) fn examine(
        &self,
        engine: &mut Engine,
        paths: BTreeSet<NotePath>,
        own: Option<&WrittenNotes>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        let mut differences = Differences::default();
        {
            let state = Arc::clone(&self.state.lock());
            for path in paths {
                let item = self.storage.item(&path)?;
                if item != Some(FolderItem::Folder) {
                    self.leave(engine, &state, &path, item.is_none(), &mut differences);
                }
                match item {
                    Some(FolderItem::Note(stamp)) => {
                        differences.candidates.insert(path, stamp);
                    }
                    Some(FolderItem::Other)
                        if state.other_files().binary_search(&path).is_err() =>
                    {
                        differences.files_of(&state).0.insert(path);
                    }
                    Some(FolderItem::Folder) => {
                        self.enter(engine, &state, &path, &mut differences, stop)?;
                    }
                    Some(FolderItem::Other) | None => {}
                }
            }
        }
        self.resolve(engine, differences, own)
    }

    /// Notes that nothing is at `path` any more (if `is_gone`), and nothing below it.
    fn leave(
        &self,
        engine: &mut Engine,
        state: &FolderState,
        path: &NotePath,
        is_gone: bool,
        differences: &mut Differences,
    ) {
        let gone = |known: &NotePath| (is_gone && known == path) || is_below(known, path);
        let notes = state.notes();
        let from = notes.partition_point(|note| note.path < *path);
        let notes = notes[from..].iter().map(|note| &note.path);
        let notes = notes.take_while(|known| known.as_str().starts_with(path.as_str()));
        differences
            .gone
            .extend(notes.filter(|known| gone(known)).cloned());
        differences.candidates.retain(|known, _| !gone(known));
        engine.pending.retain(|known, _| !gone(known));
        let has = |list: &[NotePath]| {
            let from = list.partition_point(|known| known < path);
            list[from..]
                .iter()
                .take_while(|known| known.as_str().starts_with(path.as_str()))
                .any(|known| known == path || is_below(known, path))
        };
        if has(state.other_files()) || has(&state.listed_folders) || differences.files.is_some() {
            let (others, folders) = differences.files_of(state);
            others.retain(|known| !gone(known));
            // A file in the place of a folder ends the folder too.
            folders.retain(|known| known != path && !is_below(known, path));
        }
        if let Some(watcher) = &mut engine.watcher {
            watcher.forget(path.as_str());
        }
    }

    /// Lists a folder that appeared, or may have changed.
    fn enter(
        &self,
        engine: &mut Engine,
        state: &FolderState,
        path: &NotePath,
        differences: &mut Differences,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        let mut watcher = engine.watcher.take();
        let mut is_watched = true;
        let listed = self
            .storage
            .inventory(Some(path), &|| stop(), &mut |folder| {
                is_watched &= watcher.as_mut().is_none_or(|watcher| watcher.watch(folder));
            });
        engine.watcher = watcher.filter(|_| is_watched);
        let listed = match listed {
            Ok(listed) => listed,
            Err(LibraryError::FolderNotFound) => {
                self.leave(engine, state, path, true, differences);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let before: Vec<&Arc<NoteRecord>> = {
            let notes = state.notes();
            let from = notes.partition_point(|note| note.path < *path);
            let notes = notes[from..].iter();
            let notes = notes.take_while(|note| note.path.as_str().starts_with(path.as_str()));
            notes.filter(|note| is_below(&note.path, path)).collect()
        };
        // A folder may be in the place of a note.
        let in_its_place = state.note(path).map(|note| note.path.clone());
        differences.gone.extend(in_its_place);
        for note in &before {
            let at = listed
                .notes
                .binary_search_by(|one| one.notebook.cmp(&note.path));
            if at.is_err() {
                differences.gone.insert(note.path.clone());
            }
        }
        for one in listed.notes {
            let at = before.binary_search_by(|note| note.path.cmp(&one.notebook));
            let is_current = at.is_ok_and(|at| self.is_current(engine, before[at], &one.stamp));
            differences.gone.remove(&one.notebook);
            if !is_current {
                differences.candidates.insert(one.notebook, one.stamp);
            }
        }
        let (others, folders) = differences.files_of(state);
        others.retain(|known| known != path && !is_below(known, path));
        others.extend(listed.others);
        folders.retain(|known| known != path && !is_below(known, path));
        folders.extend(listed.folders);
        Ok(())
    }

    /// Reads and indexes the differences, or leaves them to the background if there are many.
    fn resolve(
        &self,
        engine: &mut Engine,
        differences: Differences,
        own: Option<&WrittenNotes>,
    ) -> Result<(), LibraryError> {
        let Differences {
            mut gone,
            candidates,
            files,
        } = differences;
        gone.retain(|path| !candidates.contains_key(path));
        for path in &gone {
            engine.pending.remove(path);
            engine.recent.remove(path);
        }
        let bytes: u64 = candidates.values().map(|stamp| stamp.bytes).sum();
        let is_little = candidates.len() <= MOST_AT_ONCE && bytes <= MOST_BYTES_AT_ONCE;
        let mut updates: BTreeMap<NotePath, _> =
            gone.into_iter().map(|path| (path, None)).collect();
        let mut added = Vec::new();
        if is_little || own.is_some() {
            added = self.read(engine, candidates, &mut updates)?;
        } else {
            for (path, stamp) in candidates {
                engine.postpone(path, stamp, self.is_listed());
            }
        }
        let updates = updates.into_iter();
        let updates = updates
            .map(|(path, now)| NoteUpdate { path, now })
            .collect();
        let files = files
            .map(|(others, folders)| (others.into_iter().collect(), folders.into_iter().collect()));
        let is_listed = self.is_listed();
        let is_external = |change: &NoteChange| {
            let own = own.and_then(|own| own.get(change.path()?));
            is_listed && !own.is_some_and(|digest| is_left(change, *digest))
        };
        self.publish(engine, &is_external, |state| {
            let mut changes = state.apply(updates, added);
            if let Some((others, folders)) = files {
                state.replace_files(others, folders, &mut changes);
            }
            changes
        });
        Ok(())
    }

    /// Reads notes and indexes those whose text changed; returns the new segment, if there is one.
    fn read(
        &self,
        engine: &mut Engine,
        candidates: BTreeMap<NotePath, NotebookStamp>,
        updates: &mut BTreeMap<NotePath, Option<(Arc<NoteRecord>, NotePlace)>>,
    ) -> Result<Vec<NamedSegment>, LibraryError> {
        let mut texts = Vec::new();
        for (path, stamp) in candidates {
            self.step();
            engine.pending.remove(&path);
            match self.storage.read_settled(&path) {
                SettledNote::Read(bytes, stamp) => {
                    self.remember(engine, &path, &stamp);
                    let known = self.state.lock().note(&path).cloned();
                    let known = known.filter(|known| known.left_out.is_none());
                    let is_same = |known: &Arc<NoteRecord>| known.digest == Digest::of(&bytes);
                    match known.filter(is_same) {
                        Some(known) if known.stamp == stamp => {}
                        Some(known) => {
                            let note = touched(&known, stamp);
                            updates.insert(path, Some((note, NotePlace::Same)));
                        }
                        None => {
                            let listed = NotebookFile {
                                notebook: path,
                                stamp,
                            };
                            let (note, cut) = self.options.cut.examined(&listed, &bytes);
                            texts.push((bytes, cut));
                            let place = sectile_retrieval::DocumentLocation {
                                segment: 0,
                                document: texts.len() - 1,
                            };
                            let now = (Arc::new(note), NotePlace::At(place));
                            updates.insert(listed.notebook, Some(now));
                        }
                    }
                }
                SettledNote::Unsettled => engine.postpone(path, stamp, self.is_listed()),
                SettledNote::LeftOut(why) => {
                    let now = left_out(path.clone(), stamp, why);
                    updates.insert(path, Some(now));
                }
                SettledNote::Gone => {
                    updates.insert(path, None);
                }
            }
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let first = self.models.first;
        let reader = engine.reader.get_or_insert_with(|| first.reader());
        let notes = texts.iter().map(|(bytes, cut)| (bytes.as_slice(), cut));
        let file = build_segment(first, &mut **reader, notes);
        Ok(vec![(self.opened(file)?, None)])
    }

    /// Opens a segment in memory.
    pub(super) fn opened(&self, file: Vec<u8>) -> Result<Segment, LibraryError> {
        let opened = Segment::open(&Bytes::new(file), Some(self.models.first));
        opened.map_err(|error| {
            LibraryError::of_process(format!("The index in memory cannot be used: {error}."))
        })
    }

    /// Remembers whether a note was read too soon after a change to rely on its stamp.
    pub(super) fn remember(&self, engine: &mut Engine, path: &NotePath, stamp: &NotebookStamp) {
        let coarse = match engine.detection() {
            ChangeDetection::Events => COARSE_LOCAL,
            ChangeDetection::Listing => COARSE_ELSEWHERE,
        };
        // The times of files are those of the system, whatever clock the caller has.
        let now = u64::try_from(clock::now()).unwrap_or_default();
        match stamp.changed.saturating_add(coarse) > now.saturating_mul(1_000_000) {
            true => engine.recent.insert(path.clone()),
            false => engine.recent.remove(path),
        };
    }

    /// Changes the state and wakes all waiting calls. `is_external` says which notes another program changed.
    pub(super) fn publish(
        &self,
        engine: &mut Engine,
        is_external: &dyn Fn(&NoteChange) -> bool,
        change: impl FnOnce(&mut FolderState) -> FolderChanges,
    ) {
        let mut state = self.state.lock();
        let now = Arc::make_mut(&mut state);
        let changes = change(now);
        now.follow(&changes);
        let known = now.notes();
        let is_new = |path: &&NotePath| {
            let at = known.binary_search_by(|note| note.path.cmp(path));
            at.is_err()
        };
        let waiting = engine.pending.keys().filter(is_new).count();
        now.progress.indexed = now.contents.notes.len();
        now.progress.total = now.contents.notes.len() + waiting;
        now.progress.is_complete = engine.pending.is_empty();
        now.progress.detection = engine.detection();
        now.progress.tier = now.snapshot.state().tier;
        drop(state);
        let is_text = |change: &&NoteChange| {
            let digest = |note: &Option<Arc<NoteRecord>>| note.as_ref().map(|note| note.digest);
            digest(&change.before) != digest(&change.after)
        };
        let changed = changes.notes.iter().filter(is_text);
        for change in changed {
            let mut external = self.external.lock();
            match (change.path(), is_external(change)) {
                (Some(path), true) => external.insert(path.clone()),
                (Some(path), false) => external.remove(path),
                (None, _) => false,
            };
        }
        let had_work = engine.uncached.is_some();
        if !changes.notes.is_empty() {
            let now = Instant::now();
            let first = engine.uncached.map_or(now, |(_, first)| first);
            engine.uncached = Some((now, first));
        }
        self.published.notify_all();
        // As long as something is not in the cache, the background looks after it in short intervals.
        if !engine.pending.is_empty() || (engine.uncached.is_some() && !had_work) {
            self.wake();
        }
    }
}

impl Differences {
    /// Returns the other files and folders, to be changed.
    fn files_of(&mut self, state: &FolderState) -> &mut (BTreeSet<NotePath>, BTreeSet<NotePath>) {
        self.files.get_or_insert_with(|| {
            let others = state.contents.others.iter().cloned().collect();
            (others, state.listed_folders.iter().cloned().collect())
        })
    }
}

/// Returns a note whose file changed, but not its text.
pub(super) fn touched(note: &NoteRecord, stamp: NotebookStamp) -> Arc<NoteRecord> {
    Arc::new(note.with_stamp(stamp))
}

/// Returns a note whose text is not searched.
pub(super) fn left_out(
    path: NotePath,
    stamp: NotebookStamp,
    why: WhyLeftOut,
) -> (Arc<NoteRecord>, NotePlace) {
    let note = NoteRecord::left_out(path, stamp, Some(why));
    (Arc::new(note), NotePlace::At(nowhere(why)))
}

/// Returns whether a note is as this process left it, as far as that is known.
fn is_left(change: &NoteChange, digest: Option<Digest>) -> bool {
    match &change.after {
        Some(after) => after.left_out.is_some() || Some(after.digest) == digest,
        None => digest.is_none(),
    }
}

/// Returns whether a path is below a folder.
fn is_below(path: &NotePath, folder: &NotePath) -> bool {
    let rest = path.as_str().strip_prefix(folder.as_str());
    rest.is_some_and(|rest| rest.starts_with('/'))
}
