//! The contents of a folder's cache. Its bytes are untrusted: anything inconsistent is rebuilt.

use std::{path::Path, sync::Arc};

use sectile_retrieval::Store;

use crate::{
    indexing::why_nowhere,
    live_folder::{NoteRecord, decode_records},
    open_collection::snapshot::{Snapshot, SnapshotNotebook},
    storage::TOP,
    threads::at_once,
    tiers::Models,
};

/// The notes in a cache, and the index of their text.
pub(super) struct CachedState {
    /// In the order of the notebooks of the snapshot.
    pub(super) notes: Vec<Arc<NoteRecord>>,
    pub(super) snapshot: Snapshot,
}

impl CachedState {
    /// Reads the cache at `location`, if there is a usable one.
    pub(super) fn read(store: &Store, location: &Path, models: Models) -> Option<Self> {
        let (records, snapshot) = at_once(
            || decode_records(store.records()?.as_ref()).ok(),
            || Snapshot::of_disk(Some(location), TOP, models),
        );
        Self::joined(snapshot?, records??)
    }

    /// Keeps the notes that both know in the same state.
    fn joined(snapshot: Snapshot, records: Vec<NoteRecord>) -> Option<Self> {
        let are_sorted = records.is_sorted_by(|one, other| one.path < other.path)
            && snapshot
                .notebooks
                .is_sorted_by(|one, other| one.notebook < other.notebook);
        if !are_sorted {
            return None;
        }
        let mut records = records.into_iter().peekable();
        let mut notes = Vec::with_capacity(snapshot.notebooks.len());
        let mut kept: Vec<SnapshotNotebook> = Vec::new();
        for indexed in snapshot.notebooks.iter() {
            while records
                .next_if(|record| record.path < indexed.notebook)
                .is_some()
            {}
            let record = records.next_if(|record| record.path == indexed.notebook);
            let is_same = |record: &NoteRecord| {
                let segment = snapshot.segments.get(indexed.place.segment);
                let is_there =
                    segment.is_some_and(|segment| indexed.place.document < segment.documents());
                record.digest == indexed.digest
                    && record.left_out == why_nowhere(indexed.place)
                    && (is_there || record.left_out.is_some())
            };
            if let Some(record) = record.filter(is_same) {
                notes.push(Arc::new(record));
                kept.push(indexed.clone());
            }
        }
        let snapshot = match kept.len() == snapshot.notebooks.len() {
            true => snapshot,
            false => {
                let segments = snapshot.named_segments();
                snapshot.assembled(kept, segments)
            }
        };
        Some(Self { notes, snapshot })
    }
}
