//! The background work of a live folder: opening it, indexing many notes, writing the cache, and looking for changes
//! that the system did not report.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{
    DocumentLocation, Manifest, ManifestEntry, Store, StoreError, VectorCache, Writer,
};

use crate::{
    error::LibraryError,
    filling::{FillJob, fill, usual_threads},
    folder::FolderItem,
    indexing::{
        Job, NotebookCandidate, NotebookOutcome, build_with, dissolved_segments, why_nowhere,
    },
    left_out::WhyLeftOut,
    live_folder::{
        FolderChanges, InMemoryReason, LiveFolder, NoteChange, NoteRecord,
        cache::CachedState,
        encode_records,
        engine::{PendingNote, left_out, touched},
        state::{NotePlace, NoteUpdate},
    },
    open_collection::snapshot::{NamedSegment, Snapshot},
    storage::{NotebookFile, NotebookStamp, TOP},
    threads::at_once,
};

/// Number of notes in the first round of a long job; each later one has this many times as many, up to the most. Every
/// round makes segments of its own, and each of these spells the words that most notes have.
const FIRST_ROUND: usize = 256;
const ROUND_GROWTH: usize = 4;
const LARGEST_ROUND: usize = 8_192;
/// The cache is written when nothing changed for this long, or after the longest time.
const QUIET: Duration = Duration::from_secs(1);
const LONGEST_UNCACHED: Duration = Duration::from_secs(30);
/// What this process wrote is indexed when nothing was written for this long, or after the longest time, unless a call
/// needs it before.
const WRITTEN_QUIET: Duration = Duration::from_millis(50);
const WRITTEN_LONGEST: Duration = Duration::from_millis(500);
/// Writing the cache takes at most about one part in so many of the time.
const SHARE_OF_CACHE: u32 = 20;
/// More small segments in memory are merged at once: each makes every search a little slower.
const MOST_IN_MEMORY: usize = 64;
/// How often changes are looked for that nobody reported, and other processes' work in the cache.
const PAUSE: Duration = Duration::from_secs(30);
/// Filling the second tier is tried again after this long, and each time after twice as long, up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(300);
/// How often a running filler is looked after.
const FILL_CHECK: Duration = Duration::from_millis(250);
/// How long filling pauses after a call.
const POLITE: Duration = Duration::from_millis(200);
const POLITE_STEP: Duration = Duration::from_millis(20);

/// Keeps a folder up to date until it is dropped.
pub(super) fn keep_up(weak: &Weak<LiveFolder>, woken: &mpsc::Receiver<()>) {
    let mut keeper = Keeper::default();
    if let Some(live) = weak.upgrade() {
        keeper.open(&live);
    }
    loop {
        let Some(live) = weak.upgrade() else {
            return;
        };
        let pause = keeper.work(&live);
        drop(live);
        match woken.recv_timeout(pause) {
            Ok(()) => while woken.try_recv().is_ok() {},
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The state of the background thread.
#[derive(Default)]
struct Keeper {
    store: Option<Arc<Store>>,
    /// How long it took to write the cache the last time.
    cache_time: Duration,
    /// When changes were last looked for that nobody reported.
    looked_at: Option<Instant>,
    /// When the second tier was last looked for on disk.
    tier_at: Option<Instant>,
    /// Fills the second tier; returns whether it is complete.
    filler: Option<JoinHandle<bool>>,
    /// When filling may be tried again after it stopped before its end, and the pause after the next time.
    retry: Option<(Instant, Duration)>,
    /// Known vectors of the second tier, with the state of the disk that they belong to.
    vectors: Option<(Option<Digest>, VectorCache)>,
}

impl Keeper {
    /// Reads the cache, and compares it with the folder.
    fn open(&mut self, live: &Arc<LiveFolder>) {
        let location = live.options.cache.as_deref();
        let opened = location.map(|location| {
            let store = Store::make_cache_at(location)?;
            // Two servers may start at the same moment. The label only tells people whose cache it is.
            if let Err(error) = store.label(&live.storage.location().to_string_lossy()) {
                tracing::debug!(kind = %error.kind(), "the cache cannot be labelled");
            }
            Ok(store)
        });
        let reason = match opened {
            Some(Ok(store)) => {
                self.store = Some(Arc::new(store));
                None
            }
            Some(Err(error)) => {
                let error: std::io::Error = error;
                tracing::warn!(kind = %error.kind(), "the index is kept in memory: its folder cannot be written");
                Some(InMemoryReason::Unwritable)
            }
            None => Some(InMemoryReason::NotWanted),
        };
        let mut engine = live.engine.lock();
        let stop = || is_alone(live);
        let (cached, listed) = at_once(
            || CachedState::read(self.store.as_deref()?, location?, live.models),
            || live.listing(&mut engine, &stop),
        );
        {
            let mut state = live.state.lock();
            let state = Arc::make_mut(&mut state);
            state.progress.in_memory_reason = reason;
            if let Some(cached) = cached.flatten() {
                let left_out = |note: &&Arc<NoteRecord>| note.left_out.is_some();
                state.progress.left_out = cached.notes.iter().filter(left_out).count();
                state.contents.notes = cached.notes;
                state.snapshot = cached.snapshot;
                // A caller that did not wait may have asked for these while nothing was known.
                (state.mentions, state.names, state.facets) = Default::default();
            }
        }
        let reconciled = listed.and_then(|listed| live.reconcile(&mut engine, listed));
        if let Err(error) = reconciled {
            tracing::debug!(?error, "the folder cannot be listed");
        }
        live.set_tried();
        live.published.notify_all();
    }

    /// Does the work that is due, and returns the pause before the next round.
    fn work(&mut self, live: &Arc<LiveFolder>) -> Duration {
        let until_written = live.index_written();
        if let Err(error) = self.index(live) {
            tracing::debug!(?error, "the folder cannot be indexed");
        }
        let (uncached, is_awaited) = {
            let mut engine = live.engine.lock();
            (engine.uncached, std::mem::take(&mut engine.is_awaited))
        };
        // Where writing takes long, it is done less often.
        let least = self.cache_time * SHARE_OF_CACHE;
        let is_due = |(last, first): (Instant, Instant)| {
            last.elapsed() >= QUIET.max(least) || first.elapsed() >= LONGEST_UNCACHED.max(least)
        };
        let in_memory = {
            let snapshot = &live.now().snapshot;
            snapshot.segments.len() - snapshot.disk_segments
        };
        if uncached.is_some() && (is_awaited || uncached.is_some_and(is_due)) {
            let began = Instant::now();
            live.engine.lock().is_caching = true;
            self.cache(live);
            live.engine.lock().is_caching = false;
            live.published.notify_all();
            self.cache_time = began.elapsed();
        } else if in_memory > MOST_IN_MEMORY {
            live.compact_in_memory();
        }
        if self.looked_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            let is_first = self.looked_at.is_none();
            self.looked_at = Some(Instant::now());
            if !is_first && let Err(error) = live.look_for_missed(&|| is_alone(live)) {
                tracing::debug!(?error, "the folder cannot be listed");
            }
        }
        if live.engine.lock().uncached.is_none() {
            self.fill(live);
        }
        let pause = match (live.engine.lock().uncached, self.retry) {
            (Some(_), _) => QUIET / 4,
            (None, _) if self.filler.is_some() => FILL_CHECK,
            (None, Some((at, _))) => at.saturating_duration_since(Instant::now()).min(PAUSE),
            (None, _) => PAUSE,
        };
        until_written.map_or(pause, |until| pause.min(until))
    }

    /// Indexes the notes that wait for it, the most recently changed first.
    fn index(&mut self, live: &Arc<LiveFolder>) -> Result<(), LibraryError> {
        let mut most = FIRST_ROUND;
        let mut lock: Option<Writer<'_>> = None;
        let store = self.store.clone();
        loop {
            let batch = live.waiting(most);
            if batch.is_empty() || is_alone(live) {
                break;
            }
            if lock.is_none() && batch.len() == most {
                // Where another process is writing, the index grows in memory.
                lock = store.as_deref().and_then(|store| store.writer().ok());
            }
            let target = store.as_deref().zip(lock.as_ref());
            live.index_batch(&batch, target)?;
            most = (most * ROUND_GROWTH).min(LARGEST_ROUND);
        }
        if let Some((store, writer)) = store.as_deref().zip(lock.as_ref()) {
            let mut engine = live.engine.lock();
            let snapshot = &live.now().snapshot;
            if snapshot.disk_segments == snapshot.segments.len() {
                engine.uncached = None;
            }
            engine.is_caching = true;
            drop(engine);
            self.written(live, live.write_cache(store, writer));
            live.engine.lock().is_caching = false;
        }
        Ok(())
    }

    /// Writes to the cache what is not in it.
    fn cache(&mut self, live: &Arc<LiveFolder>) {
        live.engine.lock().uncached = None;
        let Some(store) = self.store.clone() else {
            live.compact_in_memory();
            return;
        };
        let writer = match store.writer() {
            Ok(writer) => writer,
            Err(StoreError::Busy) => {
                // Another process is writing. Try again later.
                let now = Instant::now();
                live.engine.lock().uncached.get_or_insert((now, now));
                live.compact_in_memory();
                return;
            }
            Err(error) => return self.written(live, Err(error)),
        };
        if let Some(location) = live.options.cache.as_deref() {
            live.adopt(&store, location);
        }
        let compacted = live.compact(Some((&store, &writer)));
        let written = match compacted {
            Ok(()) => live.write_cache(&store, &writer),
            Err(error) => {
                tracing::debug!(?error, "changes cannot be added to the cache");
                let now = Instant::now();
                live.engine.lock().uncached.get_or_insert((now, now));
                return;
            }
        };
        self.written(live, written);
    }

    /// Goes on in memory if the cache cannot be written.
    fn written(&mut self, live: &LiveFolder, result: Result<(), StoreError>) {
        let Err(error) = result else {
            return;
        };
        tracing::warn!(%error, "the index is kept in memory: its folder cannot be written");
        self.store = None;
        let mut engine = live.engine.lock();
        live.publish(&mut engine, &|_| false, |state| {
            state.progress.in_memory_reason = Some(InMemoryReason::Unwritable);
            FolderChanges::default()
        });
    }

    /// Brings the second tier forward.
    fn fill(&mut self, live: &Arc<LiveFolder>) {
        let Some(location) = live.options.cache.clone().filter(|_| self.store.is_some()) else {
            return;
        };
        let finished = self.filler.take_if(|filler| filler.is_finished());
        let has_filled = finished.map(|filler| filler.join().unwrap_or(false));
        match has_filled {
            Some(true) => self.retry = None,
            Some(false) => {
                let pause = self.retry.map_or(FIRST_RETRY, |(_, pause)| pause);
                let next = (pause * 2).min(LAST_RETRY);
                self.retry = Some((Instant::now() + pause, next));
            }
            None => {}
        }
        let is_due = self.tier_at.is_none_or(|at| at.elapsed() >= PAUSE);
        if has_filled == Some(true) || is_due {
            self.tier_at = Some(Instant::now());
            live.read_second_tier(&location);
        }
        self.complete_tier(live);
        let snapshot = live.now().snapshot.clone();
        let is_missing = snapshot.on_disk && snapshot.second_tier.is_none();
        let may_try = self.retry.is_none_or(|(at, _)| at <= Instant::now());
        let is_wanted = live.fills_second_tier() && is_missing && self.filler.is_none();
        if is_wanted && may_try && has_filled != Some(true) {
            self.filler = spawn_filler(live, &location);
        }
    }

    /// Embeds the few passages that are not on disk.
    fn complete_tier(&mut self, live: &LiveFolder) {
        let snapshot = live.now().snapshot.clone();
        let Some(second) = live.models.second.filter(|_| live.fills_second_tier()) else {
            return;
        };
        if !snapshot.second_tier_lags() {
            return;
        }
        if self
            .vectors
            .as_ref()
            .is_none_or(|(of, _)| *of != snapshot.manifest)
        {
            let known = self
                .store
                .as_ref()
                .and_then(|store| store.known_vectors(second).ok());
            let known = known.unwrap_or_else(|| VectorCache::none(second));
            self.vectors = Some((snapshot.manifest, known));
        }
        let Some((_, known)) = &mut self.vectors else {
            return;
        };
        let mut stop = || live.engine.lock().uncached.is_some();
        let completed = snapshot.completed(&live.library, TOP, known, &mut stop);
        if let Ok(Some(completed)) = completed {
            live.replace_snapshot(&snapshot, completed);
        }
    }
}

/// Returns whether only this thread still uses a folder.
fn is_alone(live: &Arc<LiveFolder>) -> bool {
    Arc::strong_count(live) == 1
}

/// Starts to fill the second tier, as far as callers leave time for it, when it is the turn of this folder.
fn spawn_filler(live: &Arc<LiveFolder>, location: &Path) -> Option<JoinHandle<bool>> {
    let second = live.models.second?;
    let (first, library) = (live.models.first, Arc::clone(&live.library));
    let (weak, location) = (Arc::downgrade(live), location.to_owned());
    let shared = live.options.shared_vectors.clone();
    let (queue, used_at) = (live.limits.fill_queue, live.used_at());
    let work = move || {
        let turn = queue.join(used_at, Instant::now());
        let is_first = |live: &LiveFolder| turn.is_now(live.used_at(), Instant::now());
        // Waits as long as the folder is not `ready`; returns whether it is not worth it any more.
        let wait_until = |ready: &dyn Fn(&LiveFolder) -> bool| {
            loop {
                let Some(live) = weak.upgrade() else {
                    return true;
                };
                let is_written = !live.own.lock().notes.is_empty();
                let is_behind = is_written || live.engine.lock().uncached.is_some();
                if is_behind || ready(&live) {
                    return is_behind;
                }
                drop(live);
                std::thread::sleep(POLITE_STEP);
            }
        };
        let is_put_off = AtomicBool::new(false);
        let stop = || {
            let is_over = wait_until(&|live| {
                is_put_off.fetch_or(!is_first(live), Ordering::Relaxed);
                is_put_off.load(Ordering::Relaxed) || live.since_last_call() >= POLITE
            });
            is_over || is_put_off.load(Ordering::Relaxed)
        };
        let job = FillJob {
            storage: &library,
            collection: TOP,
            first,
            second,
            shared: shared.as_ref(),
            threads: usual_threads(),
            stop: &stop,
            progress: &|_| {},
        };
        loop {
            // While it waits, another process may fill the same index.
            if wait_until(&is_first) {
                return false;
            }
            is_put_off.store(false, Ordering::Relaxed);
            match fill(job, &location) {
                Ok(report) if report.complete => return true,
                Ok(_) if is_put_off.load(Ordering::Relaxed) => {}
                Ok(_) => return false,
                Err(error) => {
                    tracing::debug!(?error, "the second tier cannot be filled");
                    return false;
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("second_tier".to_owned());
    thread.spawn(work).ok()
}

/// A note that waits, and the state in which it was listed.
type WaitingNote = (NotebookFile, PendingNote);
/// The folder of the cache, and the right to write it.
type CacheTarget<'a> = (&'a Store, &'a Writer<'a>);

impl LiveFolder {
    /// Indexes what this process wrote, if it is not being written right now; otherwise returns how long to wait.
    fn index_written(&self) -> Option<Duration> {
        let (first, last) = self.own.lock().times?;
        let until = (last + WRITTEN_QUIET).min(first + WRITTEN_LONGEST);
        let until = until.saturating_duration_since(Instant::now());
        if !until.is_zero() {
            return Some(until);
        }
        let mut engine = self.engine.lock();
        if self.is_listed()
            && let Err(error) = self.catch_up(&mut engine, &|| false)
        {
            // The next call lists the folder, and says what is wrong with it.
            tracing::debug!(?error, "what was written cannot be indexed");
        }
        None
    }

    /// Returns the notes to index next, sorted by path.
    fn waiting(&self, most: usize) -> Vec<WaitingNote> {
        let engine = self.engine.lock();
        let mut waiting: Vec<(&NotePath, &PendingNote)> = engine.pending.iter().collect();
        if waiting.len() > most {
            waiting.sort_by_key(|(_, note)| std::cmp::Reverse(note.stamp.modified));
            waiting.truncate(most);
            waiting.sort_unstable_by_key(|(path, _)| *path);
        }
        let waiting = waiting.into_iter().map(|(path, note)| {
            let listed = NotebookFile {
                notebook: path.clone(),
                stamp: note.stamp,
            };
            (listed, *note)
        });
        waiting.collect()
    }

    /// Reads and indexes notes without the lock, and adds those that did not change meanwhile.
    fn index_batch(
        self: &Arc<Self>,
        batch: &[WaitingNote],
        target: Option<CacheTarget<'_>>,
    ) -> Result<(), LibraryError> {
        let state = self.now();
        let candidates: Vec<NotebookCandidate<'_>> = batch
            .iter()
            .map(|(listed, _)| {
                let known = state.note(&listed.notebook);
                let known = known.filter(|known| known.left_out.is_none());
                NotebookCandidate {
                    listed,
                    known: known.map(|known| known.digest),
                }
            })
            .collect();
        let records: Mutex<BTreeMap<NotePath, NoteRecord>> = Mutex::default();
        let cut = |listed: &NotebookFile, bytes: &[u8]| {
            let (note, cut) = self.options.cut.examined(listed, bytes);
            records.lock().insert(listed.notebook.clone(), note);
            cut
        };
        let (segments, outcomes) = self.build(&candidates, &cut, target)?;
        drop(state);
        let mut records = records.into_inner();
        let mut engine = self.engine.lock();
        let mut updates = Vec::with_capacity(batch.len());
        for ((listed, waited), outcome) in batch.iter().zip(outcomes) {
            let path = &listed.notebook;
            let pending = engine.pending.get(path);
            if pending.is_none_or(|pending| pending.generation != waited.generation) {
                continue;
            }
            let known = self.state.lock().note(path).cloned();
            let now = match outcome {
                NotebookOutcome::Same => {
                    known.map(|known| (touched(&known, listed.stamp), NotePlace::Same))
                }
                NotebookOutcome::Indexed { place, .. } => records
                    .remove(path)
                    .map(|note| (Arc::new(note), NotePlace::At(place))),
                NotebookOutcome::LeftOut(why) => match self.left_out_now(path, why) {
                    Ok(now) => now,
                    Err(error) => {
                        // It stays pending, and is tried again with the next round.
                        tracing::debug!(?error, "a note cannot be examined");
                        continue;
                    }
                },
            };
            engine.pending.remove(path);
            self.remember(&mut engine, path, &listed.stamp);
            let path = path.clone();
            updates.push(NoteUpdate { path, now });
        }
        let is_external = |change: &NoteChange| {
            let at = change.path().and_then(|path| {
                let at = batch.binary_search_by(|(listed, _)| listed.notebook.cmp(path));
                at.ok()
            });
            at.is_some_and(|at| batch[at].1.is_external)
        };
        self.publish(&mut engine, &is_external, |state| {
            state.apply(updates, segments)
        });
        Ok(())
    }

    /// Returns a note that could not be read, unless it is gone.
    fn left_out_now(
        &self,
        path: &NotePath,
        why: WhyLeftOut,
    ) -> Result<Option<(Arc<NoteRecord>, NotePlace)>, LibraryError> {
        Ok(match self.storage.item(path)? {
            Some(FolderItem::Note(stamp)) => Some(left_out(path.clone(), stamp, why)),
            _ => None,
        })
    }

    /// Builds segments, in the cache if it may be written.
    fn build(
        self: &Arc<Self>,
        candidates: &[NotebookCandidate<'_>],
        cut: crate::indexing::Cutter<'_>,
        target: Option<CacheTarget<'_>>,
    ) -> Result<(Vec<NamedSegment>, Vec<NotebookOutcome>), LibraryError> {
        let first = self.models.first;
        let job = Job {
            storage: &self.library,
            collection: TOP,
            embedder: first,
            stop: &|| is_alone(self),
            progress: &|| self.step(),
        };
        build_with(job, candidates, cut, |file| {
            let on_disk = target.and_then(|(store, writer)| {
                let name = writer.add(&file).ok()?;
                let segment = store.segment(&name, Some(first)).ok()?;
                Some((segment, Some(name)))
            });
            match on_disk {
                Some(segment) => Ok(segment),
                None => Ok((self.opened(file)?, None)),
            }
        })
    }

    /// Puts the notes of small and mostly unused segments, and of those in memory if there is a cache, into new ones.
    /// Without a cache to write to, those on disk stay as they are.
    fn compact(self: &Arc<Self>, target: Option<CacheTarget<'_>>) -> Result<(), LibraryError> {
        let state = self.now();
        let snapshot = &state.snapshot;
        let places = snapshot.notebooks.iter().map(|known| known.place);
        let dissolved = dissolved_segments(&snapshot.segments, places);
        let is_moved = |place: DocumentLocation| {
            let is_in_memory = place.segment >= snapshot.disk_segments;
            let is_dissolved = dissolved.contains(&place.segment);
            let is_moved = match target {
                Some(_) => is_in_memory || is_dissolved,
                None => is_in_memory && is_dissolved,
            };
            why_nowhere(place).is_none() && is_moved
        };
        let listed: Vec<NotebookFile> = state
            .notes()
            .iter()
            .zip(snapshot.notebooks.iter())
            .filter(|(_, indexed)| is_moved(indexed.place))
            .map(|(note, _)| NotebookFile {
                notebook: note.path.clone(),
                stamp: note.stamp,
            })
            .collect();
        drop(state);
        if listed.is_empty() {
            return Ok(());
        }
        let candidates: Vec<NotebookCandidate<'_>> = listed
            .iter()
            .map(|listed| NotebookCandidate {
                listed,
                known: None,
            })
            .collect();
        let how = self.options.cut;
        let cut = |listed: &NotebookFile, bytes: &[u8]| how.cut(bytes, &listed.notebook);
        let (segments, outcomes) = self.build(&candidates, &cut, target)?;
        let mut engine = self.engine.lock();
        let state = self.now();
        let updates = listed.iter().zip(outcomes).filter_map(|(listed, outcome)| {
            let NotebookOutcome::Indexed { digest, place, .. } = outcome else {
                return None;
            };
            let note = state.note(&listed.notebook);
            let note = note.filter(|note| note.digest == digest && note.left_out.is_none())?;
            Some(NoteUpdate {
                path: note.path.clone(),
                now: Some((Arc::clone(note), NotePlace::At(place))),
            })
        });
        let updates: Vec<NoteUpdate> = updates.collect();
        drop(state);
        self.publish(&mut engine, &|_| false, |state| {
            let changes = state.apply(updates, segments);
            if target.is_some() {
                // Those that were dissolved are not needed any more.
                let snapshot = &state.snapshot;
                let notebooks = snapshot.notebooks.to_vec();
                state.snapshot = snapshot.assembled(notebooks, snapshot.named_segments());
            }
            changes
        });
        Ok(())
    }

    /// Keeps the number of segments in memory small where there is no cache.
    fn compact_in_memory(self: &Arc<Self>) {
        if let Err(error) = self.compact(None) {
            tracing::debug!(?error, "segments cannot be merged");
        }
    }

    /// Takes over what another process wrote to the cache, as far as it is of the same notes.
    fn adopt(&self, store: &Store, location: &Path) {
        let on_disk = store.state().ok().flatten();
        if on_disk.is_none() || on_disk == self.now().snapshot.manifest {
            return;
        }
        let Some(theirs) = Snapshot::of_disk(Some(location), TOP, self.models) else {
            return;
        };
        let mut engine = self.engine.lock();
        self.publish(&mut engine, &|_| false, |state| {
            let ours = &state.snapshot;
            let mut segments = theirs.named_segments();
            let first = segments.len();
            segments.extend(ours.named_segments());
            let notebooks = ours.notebooks.iter().map(|known| {
                let mut known = known.clone();
                let at = theirs.position(&known.notebook);
                let same = at.map(|at| &theirs.notebooks[at]).filter(|theirs| {
                    theirs.digest == known.digest && why_nowhere(theirs.place).is_none()
                });
                if why_nowhere(known.place).is_none() {
                    match same {
                        Some(same) => known.place = same.place,
                        None => known.place.segment += first,
                    }
                }
                known
            });
            let mut adopted = ours.assembled(notebooks.collect(), segments);
            adopted.manifest = theirs.manifest;
            state.snapshot = adopted;
            FolderChanges::default()
        });
    }

    /// Writes the manifest and the records of everything that is in the cache.
    fn write_cache(&self, store: &Store, writer: &Writer<'_>) -> Result<(), StoreError> {
        let (state, recent) = {
            let engine = self.engine.lock();
            (self.now(), engine.recent.clone())
        };
        let snapshot = &state.snapshot;
        let pairs = state.notes().iter().zip(snapshot.notebooks.iter());
        let pairs = pairs.filter(|(_, indexed)| {
            indexed.place.segment < snapshot.disk_segments || why_nowhere(indexed.place).is_some()
        });
        let mut entries = Vec::with_capacity(state.notes().len());
        let mut records = Vec::with_capacity(state.notes().len());
        for (note, indexed) in pairs {
            // A stamp that cannot be relied on makes the next process read the note again.
            let stamp = match recent.contains(&note.path) {
                true => NotebookStamp::default(),
                false => note.stamp,
            };
            entries.push(ManifestEntry {
                name: note.path.as_str().to_owned(),
                stamp: stamp.state,
                digest: note.digest,
                place: indexed.place,
            });
            records.push(match stamp == note.stamp {
                true => Arc::clone(note),
                false => touched(note, stamp),
            });
        }
        let manifest = Manifest {
            name: TOP.to_owned(),
            made_at: (self.options.clock)(),
            segments: snapshot.names.clone(),
            entries,
        };
        writer.write_records(&encode_records(&records))?;
        writer.commit(&manifest)?;
        let written = store.state()?;
        let mut engine = self.engine.lock();
        self.publish(&mut engine, &|_| false, |state| {
            state.snapshot.manifest = written;
            state.snapshot.as_of = manifest.made_at;
            FolderChanges::default()
        });
        Ok(())
    }

    /// Uses the second tier if it is complete on disk.
    fn read_second_tier(&self, location: &Path) {
        let before = self.now().snapshot.clone();
        if let Some(now) = before.with_its_tier(Some(location)) {
            self.replace_snapshot(&before, now);
        }
    }

    /// Puts `now` in the place of `before`, unless that has changed.
    fn replace_snapshot(&self, before: &Snapshot, now: Snapshot) {
        let mut engine = self.engine.lock();
        self.publish(&mut engine, &|_| false, |state| {
            let is_same = Arc::ptr_eq(&state.snapshot.corpus, &before.corpus);
            if is_same {
                state.snapshot = now;
            }
            FolderChanges::default()
        });
    }
}
