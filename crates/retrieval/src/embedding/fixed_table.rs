//! A static model: a table with a row for each word piece. The vector of a passage is the sum over its pieces.

use std::sync::OnceLock;

use sectile_markdown::Digest;

use super::{
    Embedder, EmbeddingReader, MeaningWeight, ModelError, Vector,
    file::{self, ADDED, GROUP, GROUP_BYTES, Head, Matrix, ModelKind, whole_scale},
    pieces::{PieceVocabulary, runs},
    scripts::is_readable,
};
use crate::table::Table;

/// The name of this arithmetic. It changes whenever a vector may.
const ARITHMETIC: &str = "sectile-table-2";
/// Numbers in a row.
const DIMENSIONS: usize = 256;
const GROUPS: usize = DIMENSIONS / GROUP;
/// Only the first pieces of a passage count: the topic of a section is at its beginning.
const MOST_PIECES: usize = 128;
/// The largest magnitude in a row before it is scaled.
const LARGEST: u64 = 8;

/// A model that borrows its file's bytes.
pub struct StaticModel {
    name: &'static str,
    file: &'static [u8],
    head: Head,
    rows: Matrix,
    words: &'static [u8],
    /// Built when first needed.
    lazy: OnceLock<LazyTables>,
    fingerprint: OnceLock<Digest>,
}

/// Values that take a moment to compute.
struct LazyTables {
    vocabulary: PieceVocabulary,
    /// Number of rows that can be summed in 32 bits.
    together: usize,
}

/// A row of the table.
type Codes = [[u8; GROUP_BYTES]; GROUPS];
type Scales = [[u8; 2]; GROUPS];

impl StaticModel {
    /// Opens the model in `file`.
    ///
    /// # Errors
    /// [`ModelError`] when it is not a static model.
    pub fn new(name: &'static str, file: &'static [u8]) -> Result<Self, ModelError> {
        let (head, words, mut parts) = file::open(file, ModelKind::Static)?;
        if head.dimensions != DIMENSIONS {
            return Err(ModelError::OtherKind);
        }
        let rows = parts.matrix(head.pieces, DIMENSIONS)?;
        parts.end()?;
        Ok(Self {
            name,
            file,
            head,
            rows,
            words,
            lazy: OnceLock::new(),
            fingerprint: OnceLock::new(),
        })
    }

    /// Sets the digest of its file, if known.
    pub(super) fn with_file_digest(mut self, digest: Digest) -> Self {
        self.fingerprint = OnceLock::from(fingerprint(&digest));
        self
    }

    /// Returns whether its vocabulary has a word, in lower case, as a whole. It has the frequent words of the language.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.lazy().vocabulary.has_word(word)
    }

    fn lazy(&self) -> &LazyTables {
        self.lazy.get_or_init(|| {
            let (scales, _) = self.rows.scales.as_chunks::<2>();
            let largest = scales.iter().map(|scale| whole_scale(*scale)).max();
            let together =
                u64::from(i32::MAX.unsigned_abs()) / (LARGEST * largest.unwrap_or(1).max(1));
            LazyTables {
                vocabulary: PieceVocabulary::new(self.words, self.head.pieces),
                together: usize::try_from(together)
                    .unwrap_or(MOST_PIECES)
                    .min(MOST_PIECES),
            }
        })
    }

    /// Sums the rows of pieces.
    fn sum(&self, pieces: &[u32]) -> [i64; DIMENSIONS] {
        let (codes, _) = self.rows.codes.as_chunks::<GROUP_BYTES>();
        let (codes, _) = codes.as_chunks::<GROUPS>();
        let (scales, _) = self.rows.scales.as_chunks::<2>();
        let (scales, _) = scales.as_chunks::<GROUPS>();
        let row = |piece: &u32| Some((codes.get(*piece as usize)?, scales.get(*piece as usize)?));
        let rows: Vec<(&Codes, &Scales)> = pieces.iter().filter_map(row).collect();
        let mut sum = [0; DIMENSIONS];
        match self.lazy().together {
            // Scales that no trained table has.
            0 => rows
                .iter()
                .for_each(|(codes, scales)| add_large(&mut sum, codes, scales)),
            together => {
                let (sums, _) = sum.as_chunks_mut::<GROUP>();
                for rows in rows.chunks(together) {
                    for (group, sums) in sums.iter_mut().enumerate() {
                        add_group(rows, group, sums);
                    }
                }
            }
        }
        sum
    }
}

fn fingerprint(file: &Digest) -> Digest {
    Digest::of(format!("{ARITHMETIC}\n{file}").as_bytes())
}

/// A part of a row: its codes, and their scale.
type ScaledGroup = (u128, i32);

/// Adds one group of each row to sums. The rows are few enough to be summed in 32 bits.
fn add_group(rows: &[(&Codes, &Scales)], group: usize, sums: &mut [i64; GROUP]) {
    let scaled = |(codes, scales): &(&Codes, &Scales)| {
        (
            u128::from_le_bytes(codes[group]),
            whole_scale(scales[group]) as i32,
        )
    };
    let mut groups = [ScaledGroup::default(); MOST_PIECES];
    for (group, row) in groups.iter_mut().zip(rows) {
        *group = scaled(row);
    }
    let groups = &groups[..rows.len().min(MOST_PIECES)];
    let some = small_sums(groups);
    // What was added to every code is taken away again.
    let added = groups
        .iter()
        .map(|(_, scale)| i64::from(*scale) * i64::from(ADDED));
    let added: i64 = added.sum();
    for (sum, some) in sums.iter_mut().zip(some) {
        // Only the difference is sure to fit into 32 bits.
        *sum += i64::from(some.wrapping_sub(added as i32));
    }
}

/// Returns the sums of the codes of some groups times their scales, modulo 2 to the power of 32.
fn small_sums(groups: &[ScaledGroup]) -> [i32; GROUP] {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(SmallSums { simd, groups });
    }
    small_sums_anywhere(groups)
}

fn small_sums_anywhere(groups: &[ScaledGroup]) -> [i32; GROUP] {
    let mut sums = [0_i32; GROUP];
    for (codes, scale) in groups {
        let codes = codes.to_le_bytes();
        let (lower, upper) = sums.split_at_mut(GROUP_BYTES);
        for ((lower, upper), both) in lower.iter_mut().zip(upper).zip(codes) {
            *lower = lower.wrapping_add(i32::from(both & 15).wrapping_mul(*scale));
            *upper = upper.wrapping_add(i32::from(both >> 4).wrapping_mul(*scale));
        }
    }
    sums
}

/// The same with instructions that compilers do not find. It is not a closure because that would be compiled apart, for
/// any machine.
#[cfg(target_arch = "x86_64")]
struct SmallSums<'g> {
    simd: pulp::x86::V3,
    groups: &'g [ScaledGroup],
}

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for SmallSums<'_> {
    type Output = [i32; GROUP];

    #[inline(always)]
    fn call(self) -> [i32; GROUP] {
        use std::arch::x86_64::{__m128i, __m256i};

        let (sse2, avx, avx2) = (self.simd.sse2, self.simd.avx, self.simd.avx2);
        let half = sse2._mm_set1_epi8(15);
        let mut sums: [__m256i; 4] = [avx._mm256_setzero_si256(); 4];
        let mut row = 0;
        while row < self.groups.len() {
            let (codes, scale) = self.groups[row];
            let both: __m128i = pulp::cast(codes.to_le_bytes());
            let scale = avx._mm256_set1_epi32(scale);
            let low = sse2._mm_and_si128(both, half);
            let high = sse2._mm_and_si128(sse2._mm_srli_epi16::<4>(both), half);
            let eights = [
                low,
                sse2._mm_srli_si128::<8>(low),
                high,
                sse2._mm_srli_si128::<8>(high),
            ];
            let mut at = 0;
            while at < eights.len() {
                let codes = avx2._mm256_cvtepu8_epi32(eights[at]);
                let product = avx2._mm256_mullo_epi32(codes, scale);
                sums[at] = avx2._mm256_add_epi32(sums[at], product);
                at += 1;
            }
            row += 1;
        }
        pulp::cast(sums)
    }
}

fn add_large(sums: &mut [i64; DIMENSIONS], codes: &Codes, scales: &Scales) {
    let (sums, _) = sums.as_chunks_mut::<GROUP>();
    for ((sums, codes), scale) in sums.iter_mut().zip(codes).zip(scales) {
        let scale = whole_scale(*scale).cast_signed();
        let (lower, upper) = sums.split_at_mut(GROUP_BYTES);
        for ((lower, upper), both) in lower.iter_mut().zip(upper).zip(codes) {
            *lower += (i64::from(both & 15) - i64::from(ADDED)) * scale;
            *upper += (i64::from(both >> 4) - i64::from(ADDED)) * scale;
        }
    }
}

impl Embedder for StaticModel {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> Digest {
        *self
            .fingerprint
            .get_or_init(|| fingerprint(&Digest::of(self.file)))
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn weight(&self) -> MeaningWeight {
        self.head.weight
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

/// The most runs of letters cached. A round number that bounds the memory; further runs are split each time.
const MOST_KNOWN: usize = 200_000;

struct TableReader<'m> {
    model: &'m StaticModel,
    /// The pieces of each run of letters, as written: a range of `known_pieces`.
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
        self.model.lazy().vocabulary.split(run, &mut self.pieces);
        if self.known.len() < MOST_KNOWN {
            let first = self.known_pieces.len() as u32;
            self.known_pieces.extend_from_slice(&self.pieces[start..]);
            self.known
                .insert(run, (first, self.known_pieces.len() as u32));
        }
    }
}

impl EmbeddingReader for TableReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.model
    }

    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        if !is_readable(parts) {
            return None;
        }
        self.pieces.clear();
        for run in parts.iter().flat_map(|part| runs(part)) {
            self.add_run(run);
            if self.pieces.len() >= MOST_PIECES {
                self.pieces.truncate(MOST_PIECES);
                break;
            }
        }
        let sum = self.model.sum(&self.pieces);
        let most = sum.iter().map(|value| value.unsigned_abs()).max()?;
        if most == 0 {
            return None;
        }
        let numbers = sum.iter().map(|value| rounded(*value, most));
        Some(numbers.collect())
    }
}

/// Scales `value` so that `most` becomes 127, rounding half away from zero.
fn rounded(value: i64, most: u64) -> i8 {
    // 128 pieces, each at most 8 times 2^40: it fits.
    let size = (value.unsigned_abs() * 254 + most) / (2 * most);
    let size = i8::try_from(size).unwrap_or(i8::MAX);
    if value < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_the_same_everywhere(
            groups in proptest::collection::vec((any::<u128>(), any::<i32>()), 0..MOST_PIECES),
        ) {
            prop_assert_eq!(small_sums(&groups), small_sums_anywhere(&groups));
        }
    }
}
