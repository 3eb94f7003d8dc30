//! The cache of records that never change: chunks, and one generation of each collection.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use sectile_retrieval::Vocabulary;

use super::{
    dictionary::TermShard,
    records::{Manifest, NotebookRow, StoredChunk, Version},
};

/// The memory for chunks: enough for the candidates of some dozen questions in large collections.
const MAX_CHUNK_BYTES: usize = 64 << 20;
/// The number of collections whose state is kept, which bounds the memory.
const SNAPSHOTS: usize = 8;

/// One generation of a collection, as far as it was needed.
pub(super) struct Snapshot {
    pub(super) manifest: Manifest,
    /// The shards of the list of notebooks.
    pub(super) notebooks: Vec<(String, Arc<Vec<NotebookRow>>)>,
    /// The notebooks by the run that wrote them and their place in it, with the number of their chunks.
    pub(super) places: HashMap<(Version, u32), u32>,
    /// The shards of the word counts that were read, by their ids.
    pub(super) terms: Mutex<HashMap<String, Arc<TermShard>>>,
    pub(super) vocabulary: Mutex<Option<Arc<Vocabulary>>>,
}

impl Snapshot {
    pub(super) fn new(
        manifest: Manifest,
        notebooks: Vec<(String, Arc<Vec<NotebookRow>>)>,
        terms: HashMap<String, Arc<TermShard>>,
    ) -> Self {
        let rows = notebooks.iter().flat_map(|(_, rows)| rows.iter());
        let places = rows.map(|row| ((row.version, row.place), row.chunks));
        Self {
            places: places.collect(),
            manifest,
            notebooks,
            terms: Mutex::new(terms),
            vocabulary: Mutex::default(),
        }
    }

    /// Returns whether a chunk belongs to this generation.
    pub(super) fn has(&self, version: Version, place: u32, number: u32) -> bool {
        let chunks = self.places.get(&(version, place));
        chunks.is_some_and(|chunks| number < *chunks)
    }

    /// Returns its notebooks, sorted by path.
    pub(super) fn rows(&self) -> Vec<&NotebookRow> {
        let mut rows: Vec<&NotebookRow> = self
            .notebooks
            .iter()
            .flat_map(|(_, rows)| rows.iter())
            .collect();
        rows.sort_by(|one, other| one.path.cmp(&other.path));
        rows
    }
}

/// The last generation of some collections, by tenant; the most recently used last.
#[derive(Default)]
pub(super) struct SnapshotCache(Mutex<Vec<(String, Arc<Snapshot>)>>);

impl SnapshotCache {
    pub(super) fn get(&self, tenant: &str) -> Option<Arc<Snapshot>> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|(known, _)| known == tenant)?;
        let found = kept.remove(at);
        let snapshot = Arc::clone(&found.1);
        kept.push(found);
        Some(snapshot)
    }

    pub(super) fn keep(&self, tenant: &str, snapshot: &Arc<Snapshot>) {
        let mut kept = self.0.lock();
        kept.retain(|(known, _)| known != tenant);
        if kept.len() == SNAPSHOTS {
            kept.remove(0);
        }
        kept.push((tenant.to_owned(), Arc::clone(snapshot)));
    }

    pub(super) fn forget(&self, tenant: &str) {
        self.0.lock().retain(|(known, _)| known != tenant);
    }
}

/// Chunks by tenant and id; the oldest are dropped first.
#[derive(Default)]
pub(super) struct ChunkCache(Mutex<ServiceChunkCache>);

#[derive(Default)]
struct ServiceChunkCache {
    chunks: HashMap<Arc<str>, Arc<StoredChunk>>,
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

impl ChunkCache {
    pub(super) fn get(&self, tenant: &str, id: &str) -> Option<Arc<StoredChunk>> {
        let key = format!("{tenant} {id}");
        self.0.lock().chunks.get(key.as_str()).map(Arc::clone)
    }

    pub(super) fn keep(&self, tenant: &str, id: &str, chunk: &Arc<StoredChunk>) {
        let key: Arc<str> = format!("{tenant} {id}").into();
        let mut kept = self.0.lock();
        if kept
            .chunks
            .insert(Arc::clone(&key), Arc::clone(chunk))
            .is_some()
        {
            return;
        }
        kept.order.push_back(key);
        kept.bytes += chunk.bytes();
        while kept.bytes > MAX_CHUNK_BYTES
            && let Some(oldest) = kept.order.pop_front()
        {
            let dropped = kept.chunks.remove(&oldest);
            kept.bytes -= dropped.map_or(0, |chunk| chunk.bytes());
        }
    }
}
