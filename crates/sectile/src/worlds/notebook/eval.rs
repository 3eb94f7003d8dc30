//! Test sets of documents, queries and judgements: how well the documents that answer a query are found.

use std::collections::HashMap;

use sectile_markdown::{Digest, Span};
use sectile_retrieval::{
    Bytes, Chunk, Corpus, Embedder, EmbeddingReader, Passage, Place, Query, Segment, SegmentBuilder,
};
use serde::Deserialize;

/// So many results are looked at.
const DEPTH: usize = 10;

/// A test set.
pub(crate) struct Set {
    pub(crate) documents: Vec<TestDocument>,
    pub(crate) queries: Vec<TestQuery>,
    pub(crate) judgements: Vec<Judgement>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TestDocument {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TestQuery {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// How well a document answers a query; nothing for one that does not.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) query: String,
    pub(crate) document: String,
    pub(crate) score: u32,
}

/// Means over all queries that have an answer, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) queries: usize,
    pub(crate) ndcg: f64,
    pub(crate) recall: f64,
    pub(crate) reciprocal_rank: f64,
}

impl Set {
    /// Asks all queries twice: of words alone, and of words and meaning.
    pub(crate) fn evaluate(&self, embedder: &dyn Embedder) -> Result<[Figures; 2], String> {
        let corpus = self.corpus(embedder)?;
        let mut wanted: HashMap<&str, HashMap<&str, u32>> = HashMap::new();
        for judgement in self
            .judgements
            .iter()
            .filter(|judgement| judgement.score > 0)
        {
            let answers = wanted.entry(&judgement.query).or_default();
            answers.insert(&judgement.document, judgement.score);
        }
        let mut figures = [Figures::default(); 2];
        let mut reader = embedder.reader();
        for query in &self.queries {
            let Some(wanted) = wanted.get(query.id.as_str()) else {
                continue;
            };
            let parsed = Query::parse(&query.text).map_err(|error| error.to_string())?;
            for (number, figures) in figures.iter_mut().enumerate() {
                let reader: Option<&mut dyn EmbeddingReader> = match number {
                    0 => None,
                    _ => Some(&mut *reader),
                };
                let found = corpus.search(&parsed, &query.text, reader, DEPTH);
                let ids = found.hits.iter().map(|hit| {
                    let document = corpus.document_of(hit.chunk);
                    self.documents[document].id.as_str()
                });
                figures.add(&ids.collect::<Vec<_>>(), wanted);
            }
        }
        if figures[0].queries == 0 {
            return Err("no query has an answer.".to_owned());
        }
        Ok(figures.map(Figures::means))
    }

    fn corpus(&self, embedder: &dyn Embedder) -> Result<Corpus, String> {
        let mut reader = embedder.reader();
        let mut builder = SegmentBuilder::new(Some((embedder, &mut *reader)));
        for document in &self.documents {
            builder.document();
            let span = Span::new(0, document.text.len());
            let chunk = Chunk {
                span,
                digest: Digest::of(document.text.as_bytes()),
                line: 1,
            };
            let passage = Passage {
                heading: &document.title,
                trail: Vec::new(),
                body: &document.text,
            };
            builder.chunk(&chunk, &passage);
        }
        let file = Bytes::new(builder.finish());
        let segment = Segment::open(&file, Some(embedder)).map_err(|error| error.to_string())?;
        let places: Vec<Place> = (0..self.documents.len())
            .map(|document| Place {
                segment: 0,
                document,
            })
            .collect();
        Ok(Corpus::new(vec![segment], &places))
    }
}

impl Figures {
    fn add(&mut self, found: &[&str], wanted: &HashMap<&str, u32>) {
        let gain = |score: u32, at: usize| f64::from(score) / ((at + 2) as f64).log2();
        let gained: f64 = found
            .iter()
            .enumerate()
            .filter_map(|(at, id)| Some(gain(*wanted.get(id)?, at)))
            .sum();
        let mut best: Vec<u32> = wanted.values().copied().collect();
        best.sort_unstable_by(|one, other| other.cmp(one));
        let ideal: f64 = best
            .iter()
            .take(DEPTH)
            .enumerate()
            .map(|(at, score)| gain(*score, at))
            .sum();
        let hits = found.iter().filter(|id| wanted.contains_key(*id)).count();
        let first = found.iter().position(|id| wanted.contains_key(id));
        self.queries += 1;
        self.ndcg += gained / ideal;
        self.recall += hits as f64 / wanted.len() as f64;
        self.reciprocal_rank += first.map_or(0.0, |first| 1.0 / (first + 1) as f64);
    }

    fn means(self) -> Self {
        let mean = |sum: f64| sum * 100.0 / self.queries as f64;
        Self {
            queries: self.queries,
            ndcg: mean(self.ndcg),
            recall: mean(self.recall),
            reciprocal_rank: mean(self.reciprocal_rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_what_the_formulas_say() {
        let mut figures = Figures::default();
        let wanted = HashMap::from([("a", 2), ("b", 1), ("gone", 1)]);
        figures.add(&["x", "a", "b"], &wanted);
        let figures = figures.means();
        let gained = 2.0 / 3_f64.log2() + 1.0 / 4_f64.log2();
        let ideal = 2.0 + 1.0 / 3_f64.log2() + 1.0 / 4_f64.log2();
        assert!((figures.ndcg - 100.0 * gained / ideal).abs() < 1e-9);
        assert!((figures.recall - 200.0 / 3.0).abs() < 1e-9);
        assert!((figures.reciprocal_rank - 50.0).abs() < 1e-9);
    }
}
