//! A model that is a table: a row for each piece of a word. A text is the sum of its pieces.
//!
//! The file, little-endian: 64 bytes of head (`SECTEMB1`, the kind, the dimensions, the number of pieces, the bytes of the
//! vocabulary), the rows of signed bytes, a scale of two bytes for each row, and the pieces themselves, each behind its
//! length in one byte.

use std::sync::OnceLock;

use sectile_markdown::Digest;

use super::{
    DIMENSIONS, Embedder, EmbeddingReader, ModelError, Vector,
    pieces::{Vocabulary, runs},
};
use crate::table::Table;

const MARK: &[u8] = b"SECTEMB1";
const HEAD: usize = 64;
/// The kind of a table.
const KIND: u32 = 1;
/// So many pieces of a text count: more would not fit into the sum.
const MOST_PIECES: usize = 4_000;

/// A model in bytes that stay where they are.
pub struct StaticModel {
    name: &'static str,
    file: &'static [u8],
    rows: &'static [u8],
    scales: &'static [u8],
    words: &'static [u8],
    pieces: usize,
    /// Made when first needed.
    vocabulary: OnceLock<Vocabulary>,
    fingerprint: OnceLock<Digest>,
}

impl StaticModel {
    /// The model in `file`.
    ///
    /// # Errors
    /// [`ModelError`] when it is none.
    pub fn new(name: &'static str, file: &'static [u8]) -> Result<Self, ModelError> {
        let number = |at: usize| {
            let bytes = file.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let damaged = ModelError::Damaged;
        if !file.starts_with(MARK) {
            return Err(damaged);
        }
        if number(8) != Some(KIND) || number(12) != u32::try_from(DIMENSIONS).ok() {
            return Err(ModelError::OtherKind);
        }
        let (pieces, word_bytes) = number(16).zip(number(20)).ok_or(damaged)?;
        let (pieces, word_bytes) = (pieces as usize, word_bytes as usize);
        let body = file.get(HEAD..).ok_or(damaged)?;
        let (rows, rest) = body.split_at_checked(pieces * DIMENSIONS).ok_or(damaged)?;
        let (scales, words) = rest.split_at_checked(pieces * 2).ok_or(damaged)?;
        if words.len() != word_bytes {
            return Err(damaged);
        }
        Ok(Self {
            name,
            file,
            rows,
            scales,
            words,
            pieces,
            vocabulary: OnceLock::new(),
            fingerprint: OnceLock::new(),
        })
    }

    /// The same, when the digest of its file is known.
    pub(super) fn with_fingerprint(mut self, digest: Digest) -> Self {
        self.fingerprint = OnceLock::from(digest);
        self
    }

    fn vocabulary(&self) -> &Vocabulary {
        self.vocabulary
            .get_or_init(|| Vocabulary::new(self.words, self.pieces))
    }

    /// Adds the rows of pieces up.
    fn sum(&self, pieces: &[u32]) -> [i32; DIMENSIONS] {
        const NOTHING: (&[u8; DIMENSIONS], i16) = (&[0; DIMENSIONS], 0);
        let (rows, _) = self.rows.as_chunks::<DIMENSIONS>();
        let (scales, _) = self.scales.as_chunks::<2>();
        // Two bytes with a sign can be multiplied faster; scales are at most 4,095.
        let row = |piece: &u32| {
            let (row, scale) = (rows.get(*piece as usize)?, scales.get(*piece as usize)?);
            Some((row, i16::from_le_bytes(*scale)))
        };
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut sum = [0_i32; DIMENSIONS];
                // Several at a time, so that sums are fetched and put back less often.
                for pieces in pieces.chunks(4) {
                    let row = |at: usize| pieces.get(at).and_then(row).unwrap_or(NOTHING);
                    let [one, two, three, four] = [row(0), row(1), row(2), row(3)];
                    for (at, sum) in sum.iter_mut().enumerate() {
                        let product = |(row, scale): (&[u8; DIMENSIONS], i16)| {
                            i32::from(scale) * i32::from(row[at].cast_signed())
                        };
                        *sum += product(one) + product(two) + product(three) + product(four);
                    }
                }
                sum
            },
        )
    }
}

impl Embedder for StaticModel {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> Digest {
        *self.fingerprint.get_or_init(|| Digest::of(self.file))
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        Box::new(TableReader {
            model: self,
            known: Table::default(),
            known_pieces: Vec::new(),
            pieces: Vec::new(),
        })
    }
}

/// More runs of letters than this are not remembered.
const MOST_KNOWN: usize = 200_000;

struct TableReader<'m> {
    model: &'m StaticModel,
    /// Where the pieces of runs of letters are, as they are written.
    known: Table<(u32, u32)>,
    known_pieces: Vec<u32>,
    pieces: Vec<u32>,
}

impl TableReader<'_> {
    fn add_run(&mut self, run: &str) {
        if let Some((start, end)) = self.known.get(run) {
            let known = self.known_pieces.get(start as usize..end as usize);
            self.pieces.extend_from_slice(known.unwrap_or_default());
            return;
        }
        let start = self.pieces.len();
        self.model.vocabulary().split(run, &mut self.pieces);
        if self.known.len() < MOST_KNOWN {
            let first = self.known_pieces.len() as u32;
            self.known_pieces.extend_from_slice(&self.pieces[start..]);
            self.known
                .insert(run, (first, self.known_pieces.len() as u32));
        }
    }
}

impl EmbeddingReader for TableReader<'_> {
    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        self.pieces.clear();
        for part in parts {
            for run in runs(part) {
                self.add_run(run);
                if self.pieces.len() >= MOST_PIECES {
                    self.pieces.truncate(MOST_PIECES);
                    break;
                }
            }
        }
        let sum = self.model.sum(&self.pieces);
        let most = sum.iter().map(|value| value.unsigned_abs()).max()?;
        if most == 0 {
            return None;
        }
        Some(sum.map(|value| rounded(value, most)))
    }
}

/// `value` when `most` is to be 127, rounded half away from zero.
fn rounded(value: i32, most: u32) -> i8 {
    let most = u64::from(most);
    let size = (u64::from(value.unsigned_abs()) * 254 + most) / (2 * most);
    let size = i8::try_from(size).unwrap_or(i8::MAX);
    if value < 0 { -size } else { size }
}
