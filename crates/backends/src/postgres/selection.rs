//! Selecting candidates in memory, from the cached vectors and lists of a large collection.

use std::sync::Arc;

use sectile_retrieval::{Candidate, ChunkScores};
use tokio_postgres::Row;

use super::{
    PostgresTuning,
    cache::{CachedChunks, CandidateCache},
    failure::PostgresFailure,
    rows,
    search::{QueryMeaning, ReadTransaction},
};

/// The rows of selected chunks.
pub(super) const FETCH: &str = "SELECT c.id, c.path, c.span_start, c.span_end, c.line, c.digest, c.notebook_digest, c.headings,
        c.heading_words, c.trail_words, c.body_words, c.words
    FROM sectile.chunk c WHERE c.collection = $1 AND c.id = ANY($2) ORDER BY c.path, c.number";

/// A sixth of the candidates that the database would select by words, and also by meaning, is enough: all vectors are
/// compared, and the sum of both scores selects too. Of 100 questions to 100,000 chunks, the ten best are those of all
/// chunks. `cargo xtask bench --only backends` prints the recall.
const SHARE: usize = 6;
/// The fewest chunks selected by each order, so that small settings do not lose what a search returns.
const LEAST: usize = 64;
/// Bits of a score by words, which is far below: chunks with words in quotation marks come before others.
const SCORE_BITS: u32 = 24;

/// The clue of a query that leads to a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClueKey {
    pub(super) hash: i64,
    pub(super) weight: i32,
    /// Whether it is a word in quotation marks.
    pub(super) is_required: bool,
}

/// The candidates of a search that were selected in memory.
pub(super) struct SelectedChunks {
    pub(super) collection: i64,
    /// Their numbers.
    pub(super) ids: Vec<i32>,
    /// The number of chunks that match at all.
    pub(super) total: usize,
    chunks: Arc<CachedChunks>,
}

impl SelectedChunks {
    /// Reads a chunk in the form that the search takes.
    pub(super) fn candidate(
        &self,
        row: &Row,
        meaning: Option<&QueryMeaning>,
    ) -> Result<Candidate, PostgresFailure> {
        let vector = match meaning {
            Some(_) => self.chunks.vector_of(row.try_get("id")?),
            None => None,
        };
        let vector = vector.unwrap_or_default();
        let query = meaning.map_or(&[][..], |meaning| &meaning.vector);
        let products = query.iter().zip(&vector);
        let square = |value: &i8| u64::from(value.unsigned_abs()).pow(2);
        Ok(Candidate {
            lengths: rows::lengths(row)?,
            encoded: row.try_get("words")?,
            product: products
                .map(|(one, other)| i32::from(*one) * i32::from(*other))
                .sum(),
            square: vector.iter().map(square).sum(),
        })
    }
}

/// Selects the candidates of a search by these clues and by meaning. Returns `None` for a collection that is so small that
/// all chunks are candidates, or so large that its vectors are not cached.
pub(super) async fn select(
    reading: &ReadTransaction,
    clues: &[ClueKey],
    meaning: Option<&QueryMeaning>,
    (cache, rules): (&CandidateCache, &PostgresTuning),
) -> Result<Option<SelectedChunks>, PostgresFailure> {
    let row = &reading.collection;
    if usize::try_from(row.chunks).is_ok_and(|chunks| chunks <= rules.candidates) {
        return Ok(None);
    }
    let second = meaning.and_then(|meaning| meaning.second.as_ref());
    let dimensions = match second.and(rules.second.as_ref()) {
        Some(second) => second.model.dimensions(),
        None => rules.first.dimensions(),
    };
    let Some(chunks) = cache.chunks(reading, second, dimensions).await? else {
        return Ok(None);
    };
    let hashes: Vec<i64> = clues.iter().map(|clue| clue.hash).collect();
    let lists = cache.lists(reading, &chunks, &hashes).await?;
    let length = chunks.len_before(row.next_chunk);
    let mut words = vec![0_u32; length];
    let mut required = vec![
        0_u32;
        if clues.iter().any(|clue| clue.is_required) {
            length
        } else {
            0
        }
    ];
    for (clue, list) in clues.iter().zip(&lists) {
        let weight = clue.weight.unsigned_abs();
        for (slot, posting) in list.postings() {
            // A list may be newer than this snapshot.
            if let Some(score) = words.get_mut(slot) {
                let part = (u64::from(weight) * u64::from(posting)) >> 10;
                *score = score.saturating_add(u32::try_from(part.max(1)).unwrap_or(u32::MAX));
            }
            if clue.is_required
                && let Some(count) = required.get_mut(slot)
            {
                *count += 1;
            }
        }
    }
    let mut nearnesses = vec![0; if meaning.is_some() { length } else { 0 }];
    if let Some(meaning) = meaning {
        chunks.compare(&meaning.vector, &mut nearnesses);
    }
    for slot in chunks.removed_at(row.revision) {
        for scores in [&mut words, &mut required, &mut nearnesses] {
            if let Some(score) = scores.get_mut(slot) {
                *score = 0;
            }
        }
    }
    let with_required = |(score, count): (&u32, &u32)| {
        let score = (*score).min((1 << SCORE_BITS) - 1);
        (*count).min(u32::MAX >> SCORE_BITS) << SCORE_BITS | score
    };
    let order: Option<Vec<u32>> = match required.is_empty() {
        true => None,
        false => Some(words.iter().zip(&required).map(with_required).collect()),
    };
    let scores = ChunkScores {
        words: &words,
        order: order.as_deref(),
        clues: clues
            .iter()
            .map(|clue| u64::from(clue.weight.unsigned_abs()))
            .sum(),
        meanings: meaning.map(|meaning| (nearnesses.as_slice(), meaning.weight)),
    };
    // Only their positions tell which chunks have words side by side.
    let share = if order.is_some() { 1 } else { SHARE };
    let (slots, total) = scores.select((rules.candidates / share).max(LEAST));
    let ids = slots.into_iter().filter_map(|slot| chunks.id_of(slot));
    Ok(Some(SelectedChunks {
        collection: row.id,
        ids: ids.collect(),
        total: if order.is_some() { 0 } else { total },
        chunks,
    }))
}
