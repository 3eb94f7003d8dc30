//! Idle readers of the models, kept for later searches.

use parking_lot::Mutex;
use sectile_retrieval::{Embedder, EmbeddingReader};

/// The most readers that are kept.
const MOST_READERS: usize = 8;

/// Idle readers.
#[derive(Default)]
pub(crate) struct ReaderPool {
    readers: Mutex<Vec<Box<dyn EmbeddingReader>>>,
}

impl ReaderPool {
    /// Calls `work` with a reader of `model`.
    pub(crate) fn with<T>(
        &self,
        model: &'static dyn Embedder,
        work: impl FnOnce(&mut dyn EmbeddingReader) -> T,
    ) -> T {
        let idle = {
            let mut readers = self.readers.lock();
            let at = readers
                .iter()
                .position(|reader| reader.model().fingerprint() == model.fingerprint());
            at.map(|at| readers.swap_remove(at))
        };
        let mut reader = idle.unwrap_or_else(|| model.reader());
        let result = work(&mut *reader);
        let mut readers = self.readers.lock();
        if readers.len() < MOST_READERS {
            readers.push(reader);
        }
        result
    }
}
