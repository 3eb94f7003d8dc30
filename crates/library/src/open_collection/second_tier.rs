//! The second tier of a snapshot: read from disk when it is complete there, and computed for a few chunks in memory.

use std::path::Path;

use sectile_retrieval::{DocumentLocation, Embedder, Segment, Store, VectorCache};

use crate::{
    error::LibraryError,
    filling::{Text, texts},
    library::Library,
    open_collection::snapshot::{Snapshot, SnapshotNotebook, corpus},
};

/// The most chunks in memory that are embedded in the background; more are left to `sectile notebook index`.
const MOST_IN_MEMORY: usize = 256;
/// Number of chunks embedded per batch.
const TOGETHER: usize = 8;

impl Snapshot {
    /// Returns whether the second tier answers.
    pub(crate) fn has_second_tier(&self) -> bool {
        let second_tier = self.second_tier.as_ref();
        second_tier.is_some_and(|second_tier| second_tier.len() == self.segments.len())
    }

    /// Returns the model of the tier that answers.
    pub(crate) fn model(&self) -> &'static dyn Embedder {
        let second = self.models.second.filter(|_| self.has_second_tier());
        second.unwrap_or(self.models.first)
    }

    /// Returns the segments on disk with the vectors of the second tier, if all segments have them.
    pub(crate) fn on_second_tier(&self, store: &Store) -> Option<Vec<Segment>> {
        let places = self.notebooks.iter().map(|known| known.place);
        let places: Vec<DocumentLocation> = places
            .filter(|place| place.segment < self.disk_segments)
            .collect();
        let on_disk = self.segments.get(..self.disk_segments)?;
        store.meaning(&self.names, on_disk, &places, self.models.second?)
    }

    /// Returns the snapshot with these segments as the second tier.
    pub(crate) fn with_second_tier(&self, second_tier: Option<Vec<Segment>>) -> Self {
        let complete = second_tier.as_deref();
        let complete = complete.filter(|segments| segments.len() == self.segments.len());
        Self {
            second_corpus: complete.map(|segments| corpus(segments, &self.notebooks)),
            second_tier,
            ..self.clone()
        }
    }

    /// Returns the snapshot with the second tier that is on disk now; `None` if that changes nothing.
    pub(crate) fn with_its_tier(&self, folder: Option<&Path>) -> Option<Self> {
        if !self.on_disk || self.second_tier.is_some() {
            return None;
        }
        let store = Store::at(folder?).ok().flatten()?;
        let second_tier = self.on_second_tier(&store)?;
        Some(self.with_second_tier(Some(second_tier)))
    }

    /// Returns whether the second tier lacks only a few chunks in memory.
    pub(crate) fn second_tier_lags(&self) -> bool {
        self.second_tier.is_some()
            && !self.has_second_tier()
            && self.chunks_in_memory() <= MOST_IN_MEMORY
    }

    /// Returns the snapshot with a second tier that covers the chunks in memory too; `None` if that could not be
    /// computed.
    pub(crate) fn completed(
        &self,
        library: &Library,
        collection: &str,
        known: &mut VectorCache,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, LibraryError> {
        let (Some(second), Some(second_tier)) = (self.models.second, &self.second_tier) else {
            return Ok(None);
        };
        let mut second_tier = second_tier.clone();
        for number in second_tier.len()..self.segments.len() {
            let segment = &self.segments[number];
            let mut keys = vec![None; segment.chunks()];
            let mut missing = Vec::new();
            for notebook in self.notebooks_in(number) {
                let SnapshotNotebook {
                    notebook,
                    digest,
                    place,
                    ..
                } = notebook;
                let Some(texts) = texts(library, collection, notebook, digest)? else {
                    // It changed again, which the next comparison will notice.
                    return Ok(None);
                };
                for (at, text) in segment.chunks_of(place.document).zip(texts) {
                    keys[at] = Some(text.key);
                    if !known.has(text.key) {
                        missing.push(text);
                    }
                }
            }
            embed(second, &missing, known, stop);
            match known.in_place(segment, &keys) {
                Some(segment) => second_tier.push(segment),
                None => return Ok(None),
            }
        }
        Ok(Some(self.with_second_tier(Some(second_tier))))
    }

    fn notebooks_in(&self, segment: usize) -> impl Iterator<Item = &SnapshotNotebook> {
        let notebooks = self.notebooks.iter();
        notebooks.filter(move |known| known.place.segment == segment)
    }

    /// Returns the number of live chunks in memory.
    fn chunks_in_memory(&self) -> usize {
        let numbers = self.disk_segments..self.segments.len();
        let chunks = numbers.flat_map(|number| {
            let segment = &self.segments[number];
            let notebooks = self.notebooks_in(number);
            notebooks.map(|known| segment.chunks_of(known.place.document).len())
        });
        chunks.sum()
    }
}

/// Embeds texts until `stop` returns `true`.
fn embed(
    model: &dyn Embedder,
    texts: &[Text],
    known: &mut VectorCache,
    stop: &mut dyn FnMut() -> bool,
) {
    let mut reader = model.reader();
    for batch in texts.chunks(TOGETHER) {
        if stop() {
            return;
        }
        let parts: Vec<Vec<&str>> = batch.iter().map(Text::parts).collect();
        for (text, vector) in batch.iter().zip(reader.embed_all(&parts)) {
            known.add(text.key, vector.as_deref());
        }
    }
}
