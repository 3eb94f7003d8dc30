//! A model with known vectors for some texts and any weight, so that many weights can be tried.

use std::collections::HashMap;

use sectile_markdown::Digest;
use sectile_retrieval::{Embedder, EmbeddingReader, MeaningWeight, Vector};

pub(super) struct CachedModel<'m> {
    model: &'m dyn Embedder,
    vectors: HashMap<String, Option<Vector>>,
    pub(super) weight: MeaningWeight,
}

impl<'m> CachedModel<'m> {
    pub(super) fn new<'t>(
        model: &'m dyn Embedder,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let texts: Vec<Vec<&str>> = texts.into_iter().map(|text| vec![text]).collect();
        let vectors = model.reader().embed_all(&texts);
        Self {
            weight: model.weight(),
            vectors: texts
                .iter()
                .map(|parts| parts.concat())
                .zip(vectors)
                .collect(),
            model,
        }
    }
}

impl Embedder for CachedModel<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn fingerprint(&self) -> Digest {
        self.model.fingerprint()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn weight(&self) -> MeaningWeight {
        self.weight
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        Box::new(CachedReader(self))
    }
}

struct CachedReader<'m>(&'m CachedModel<'m>);

impl EmbeddingReader for CachedReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.0
    }

    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        self.0.vectors.get(&parts.concat()).cloned().flatten()
    }
}
