//! Indexes in vector services, which are emulated: the rules of every index, and behaviour under faults.

mod faults;
mod pinecone;
mod weaviate;

use sectile_markdown::Digest;
use sectile_retrieval::{Embedder, EmbeddingReader, MeaningWeight};

use crate::postgres::fixture::model;

/// The usual model under another name, which makes it another one.
struct RenamedModel;

impl Embedder for RenamedModel {
    fn name(&self) -> &str {
        "renamed"
    }

    fn fingerprint(&self) -> Digest {
        Digest::of(b"renamed")
    }

    fn dimensions(&self) -> usize {
        model().dimensions()
    }

    fn weight(&self) -> MeaningWeight {
        model().weight()
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        model().reader()
    }
}
