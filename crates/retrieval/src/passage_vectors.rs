//! Embeddings of passages in memory, and the nearest ones to a query: for when an [`crate::Index`] of the same passages
//! finds nothing.

use std::cmp::Reverse;

use crate::{
    corpus::{embedded, nearness},
    embedding::{
        Embedder, EmbeddingReader,
        vectors::{cosines, inverse_length, kept},
    },
    lexical::Passage,
};

/// The name of these rules. It changes whenever an answer may.
const NEARNESS: &str = "sectile-meaning-1";
/// Minimum similarity, in millionths, for a passage to match. Lower than where words are found as well, because a query
/// that ends up here is mostly a word or two. One in ten queries about something else altogether still comes this near
/// to one of some hundred passages.
const NEAR_ENOUGH: u64 = 220_000;

/// The vectors of passages.
#[derive(Debug)]
pub struct Meanings {
    vectors: Vec<u8>,
    inverse_lengths: Vec<u8>,
}

/// A passage near the query in meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearPassage {
    /// Its number.
    pub passage: usize,
    /// Its cosine similarity to the query, in millionths.
    pub nearness: u64,
}

impl Meanings {
    /// Embeds passages; their order breaks ties.
    pub fn new<'a>(
        passages: impl IntoIterator<Item = Passage<'a>>,
        reader: &mut dyn EmbeddingReader,
    ) -> Self {
        let (mut vectors, mut inverse_lengths) = (Vec::new(), Vec::new());
        for passage in passages {
            let vector = kept(&embedded(reader, &passage));
            inverse_lengths.extend_from_slice(&inverse_length(&vector).to_le_bytes());
            vectors.extend_from_slice(&vector);
        }
        Self {
            vectors,
            inverse_lengths,
        }
    }

    /// Returns the passages near enough to `text` to match, nearest first. `reader` must use the model that the
    /// passages were embedded with.
    pub fn near(&self, text: &str, reader: &mut dyn EmbeddingReader) -> Vec<NearPassage> {
        let Some(vector) = reader.embed(&[text]) else {
            return Vec::new();
        };
        let mut near = Vec::new();
        cosines(
            &vector,
            &self.vectors,
            &self.inverse_lengths,
            |passage, cosine| {
                let nearness = u64::from(nearness(cosine));
                if nearness >= NEAR_ENOUGH {
                    near.push(NearPassage { passage, nearness });
                }
            },
        );
        near.sort_by_key(|one| (Reverse(one.nearness), one.passage));
        near
    }

    /// Returns the name of the rules of [`Self::near`] with this model. The same rules give the same answers about the
    /// same passages.
    #[must_use]
    pub fn rules(embedder: &dyn Embedder) -> String {
        format!("{NEARNESS}-{}", embedder.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages() -> [Passage<'static>; 4] {
        [
            "apple cake recipe",
            "fixing an automobile",
            "",
            "fixing an automobile",
        ]
        .map(|body| Passage {
            body,
            ..Passage::default()
        })
    }

    #[test]
    fn the_nearest_come_first_and_equal_ones_in_their_order() {
        let model = crate::built_in().unwrap();
        let mut reader = model.reader();
        let meanings = Meanings::new(passages(), reader.as_mut());
        let near = meanings.near("car repair", reader.as_mut());
        let numbers: Vec<usize> = near.iter().map(|one| one.passage).collect();
        assert_eq!(numbers, [1, 3], "{near:?}");
        assert_eq!(near[0].nearness, near[1].nearness);
        assert_eq!(meanings.near("", reader.as_mut()), []);
        let none = Meanings::new([], reader.as_mut());
        assert_eq!(none.near("car repair", reader.as_mut()), []);
    }

    /// The similarity of a passage does not depend on the others.
    #[test]
    fn other_passages_count_nothing() {
        let model = crate::built_in().unwrap();
        let mut reader = model.reader();
        let all = Meanings::new(passages(), reader.as_mut());
        let few = Meanings::new(passages().into_iter().skip(3), model.reader().as_mut());
        let all = all.near("car repair", reader.as_mut());
        let few = few.near("car repair", reader.as_mut());
        assert_eq!(all[0].nearness, few[0].nearness);
    }
}
