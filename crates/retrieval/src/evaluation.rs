//! Evaluation of search quality on test sets of documents, queries and judgements.
//!
//! For commands and measurements. The figures do not affect any order, so they may be floating point.

use std::collections::HashMap;

use sectile_markdown::Span;

use crate::{
    Bytes, Chunk, ChunkDigest, Corpus, DocumentLocation, Embedder, EmbeddingReader, FormatError,
    LenientQuery, Passage, Segment, SegmentBuilder,
};

/// The number of results considered per query.
pub const DEPTH: usize = 10;

/// A test set.
#[derive(Clone, Debug, Default)]
pub struct TestSet {
    /// The documents to search.
    pub documents: Vec<TestDocument>,
    /// The queries.
    pub queries: Vec<TestQuery>,
    /// The relevance judgements.
    pub judgements: Vec<Judgement>,
}

/// A document of a test set.
#[derive(Clone, Debug)]
pub struct TestDocument {
    /// Its id in the set.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// A query of a test set.
#[derive(Clone, Debug)]
pub struct TestQuery {
    /// Its id in the set.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// The relevance of a document to a query; 0 if it is not relevant.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The id of the query.
    pub query: String,
    /// The id of the document.
    pub document: String,
    /// The relevance.
    pub score: u32,
}

/// Means over all queries that have an answer, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Number of those queries.
    pub queries: usize,
    /// nDCG at [`DEPTH`].
    pub ndcg: f64,
    /// Recall at [`DEPTH`].
    pub recall: f64,
    /// Mean reciprocal rank of the first answer, down to [`DEPTH`].
    pub reciprocal_rank: f64,
}

impl TestSet {
    /// Runs all queries twice: by words alone, and by words and meaning.
    ///
    /// # Errors
    /// A sentence when there is nothing to measure.
    pub fn evaluate(&self, embedder: &dyn Embedder) -> Result<[Figures; 2], String> {
        let file = Bytes::new(self.segment(embedder));
        let corpus = self.corpus(&file, embedder);
        let corpus = corpus.map_err(|error| error.to_string())?;
        let mut reader = embedder.reader();
        let words = self.measured(|query| found(&corpus, query, None))?;
        let both = self.measured(|query| found(&corpus, query, Some(&mut *reader)))?;
        Ok([words, both])
    }

    /// Runs all queries that have an answer. `find` returns the numbers of the best documents, best first.
    ///
    /// # Errors
    /// A sentence when no query has an answer.
    pub fn measured(
        &self,
        mut find: impl FnMut(&TestQuery) -> Vec<usize>,
    ) -> Result<Figures, String> {
        let mut wanted: HashMap<&str, HashMap<&str, u32>> = HashMap::new();
        for judgement in self
            .judgements
            .iter()
            .filter(|judgement| judgement.score > 0)
        {
            let answers = wanted.entry(&judgement.query).or_default();
            answers.insert(&judgement.document, judgement.score);
        }
        let mut figures = Figures::default();
        for query in &self.queries {
            if let Some(wanted) = wanted.get(query.id.as_str()) {
                let found = find(query).into_iter().take(DEPTH);
                let ids = found.filter_map(|at| Some(self.documents.get(at)?.id.as_str()));
                figures.add(&ids.collect::<Vec<_>>(), wanted);
            }
        }
        if figures.queries == 0 {
            return Err(
                "no query of the test set has an answer. Add judgements with a score above 0."
                    .to_owned(),
            );
        }
        Ok(figures.means())
    }

    /// Builds a segment file of the documents, embedded with a model.
    #[must_use]
    pub fn segment(&self, embedder: &dyn Embedder) -> Vec<u8> {
        let mut reader = embedder.reader();
        let mut builder = SegmentBuilder::new(Some((embedder, &mut *reader)));
        for document in &self.documents {
            builder.document();
            let span = Span::new(0, document.text.len());
            let chunk = Chunk {
                span,
                digest: ChunkDigest::of(document.text.as_bytes()),
                line: 1,
            };
            let passage = Passage {
                heading: &document.title,
                trail: Vec::new(),
                body: &document.text,
            };
            builder.chunk(&chunk, &passage);
        }
        builder.finish()
    }

    /// Opens the file that [`Self::segment`] built, for searching.
    ///
    /// # Errors
    /// [`FormatError`] when it is a different file.
    pub fn corpus(&self, file: &Bytes, embedder: &dyn Embedder) -> Result<Corpus, FormatError> {
        let segment = Segment::open(file, Some(embedder))?;
        let places: Vec<DocumentLocation> = (0..self.documents.len())
            .map(|document| DocumentLocation {
                segment: 0,
                document,
            })
            .collect();
        Ok(Corpus::new(vec![segment], &places))
    }
}

/// Returns the numbers of the documents found for a query of any length, best first, as a server finds them.
pub fn found(
    corpus: &Corpus,
    query: &TestQuery,
    reader: Option<&mut dyn EmbeddingReader>,
) -> Vec<usize> {
    let asked = LenientQuery::new(&query.text, corpus);
    let found = corpus.search(&asked.query, &asked.text, reader, DEPTH);
    let documents = found.hits.iter().map(|hit| corpus.document_of(hit.chunk));
    documents.collect()
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
    use crate::built_in;

    /// A query that no server would take as it is finds what the words that it is reduced to find.
    #[test]
    fn queries_of_any_length_are_searched_for_by_the_words_that_say_most() {
        let document = |id: &str, text: &str| TestDocument {
            id: id.to_owned(),
            title: String::new(),
            text: text.to_owned(),
        };
        let many: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
        let all = many.join(" ");
        let set = TestSet {
            documents: vec![
                document("a", &format!("{all} harbour")),
                document("b", &all),
                document("c", &all),
            ],
            ..TestSet::default()
        };
        let model = built_in().unwrap();
        let file = Bytes::new(set.segment(model));
        let corpus = set.corpus(&file, model).unwrap();
        for repeated in [1, 500] {
            let text = format!("harbour {}", vec![all.as_str(); repeated].join(" "));
            let asked = LenientQuery::new(&text, &corpus);
            assert!(!asked.dropped.is_empty() && asked.text.len() <= crate::MAX_QUERY_BYTES);
            let mut reader = model.reader();
            let query = TestQuery {
                id: "q".to_owned(),
                text,
            };
            assert_eq!(found(&corpus, &query, Some(&mut *reader))[0], 0);
            assert_eq!(found(&corpus, &query, None)[0], 0);
        }
        let short = LenientQuery::new("Where is the harbour?", &corpus);
        assert_eq!(short.text, "Where is the harbour?");
    }

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
