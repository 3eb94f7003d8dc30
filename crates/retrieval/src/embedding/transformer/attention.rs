//! Attention: each token of a passage takes in what the others say.
//!
//! Floating point in a fixed order: a sum runs over its terms one after the other, with one rounding per product, so the
//! vector width of the processor changes nothing.

#![expect(
    clippy::needless_range_loop,
    reason = "the functions behind iterators are not always inlined, see `functions`"
)]

use pulp::{Simd, WithSimd};

use super::{
    functions::soften,
    instructions,
    integer::ActivationGroup,
    panels::{PANEL, PanelRow},
};

/// Tokens computed at a time, so that keys and values are loaded once for all of them.
const ROWS: usize = 8;
/// Keys side by side.
const KEYS: usize = 16;

/// Buffers for one head of a passage.
#[derive(Default)]
pub(super) struct AttentionBuffers {
    keys: Vec<KeyBlock>,
    /// The scores of [`ROWS`] tokens, each a row.
    scores: Vec<[f32; KEYS]>,
}

/// The keys of some tokens side by side, one number after the other.
#[derive(Clone)]
#[repr(align(64))]
struct KeyBlock([[f32; KEYS]; PANEL]);

/// One head of a passage, with a row for each token.
pub(super) struct AttentionHead<'a> {
    pub(super) queries: &'a [PanelRow],
    pub(super) keys: &'a [PanelRow],
    pub(super) values: &'a [PanelRow],
    /// Groups of one token after the other. One group of each becomes the mean of the values, weighted by how well their
    /// keys fit the query, and rounded.
    pub(super) mixed: &'a mut [ActivationGroup],
    /// Groups of a token.
    pub(super) stride: usize,
    /// The group that becomes the mean.
    pub(super) number: usize,
    pub(super) buffers: &'a mut AttentionBuffers,
}

impl AttentionHead<'_> {
    pub(super) fn attend(self) {
        instructions::best().dispatch(self);
    }
}

impl WithSimd for AttentionHead<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let AttentionBuffers { keys, scores } = self.buffers;
        arrange(self.keys, keys);
        let (count, columns) = (self.values.len(), keys.len().max(1));
        scores.resize(columns * ROWS, [0.0; KEYS]);
        let scale = 1.0 / (PANEL as f32).sqrt();
        let mut queries = self.queries.chunks(ROWS);
        for mixed in self.mixed.chunks_mut(ROWS * self.stride) {
            let queries = queries.next().unwrap_or_default();
            // In a last block that is not full, rows that are not used repeat the first one.
            let mut rows = [&queries[0]; ROWS];
            for row in 1..queries.len() {
                rows[row] = &queries[row];
            }
            for (column, keys) in keys.iter().enumerate() {
                let tile = score(simd, rows, keys);
                for row in 0..ROWS {
                    scores[row * columns + column] = tile[row];
                }
            }
            let mut shares = [0.0; ROWS];
            for (row, scores) in scores.chunks_exact_mut(columns).enumerate() {
                shares[row] = soften(simd, &mut scores.as_flattened_mut()[..count], scale);
            }
            let mut weights: [&[f32]; ROWS] = [&[]; ROWS];
            for row in 0..ROWS {
                let scores = &scores[row * columns..(row + 1) * columns];
                weights[row] = &scores.as_flattened()[..count];
            }
            let tile = mix(simd, weights, self.values);
            for (row, mixed) in mixed.chunks_mut(self.stride).enumerate() {
                let mut mean = tile[row];
                for number in &mut mean {
                    *number *= shares[row];
                }
                mixed[self.number] = ActivationGroup::rounded(simd, &mean);
            }
        }
    }
}

/// Puts keys side by side. Numbers that belong to no token are arbitrary.
#[inline(always)]
fn arrange(keys: &[PanelRow], blocks: &mut Vec<KeyBlock>) {
    blocks.resize(keys.len().div_ceil(KEYS), KeyBlock([[0.0; KEYS]; PANEL]));
    for (number, key) in keys.iter().enumerate() {
        let block = &mut blocks[number / KEYS].0;
        for at in 0..PANEL {
            block[at][number % KEYS] = key.0[at];
        }
    }
}

/// Returns the products of queries and keys.
#[inline(always)]
fn score<S: Simd>(simd: S, queries: [&PanelRow; ROWS], keys: &KeyBlock) -> [[f32; KEYS]; ROWS] {
    let mut tile = [[0.0; KEYS]; ROWS];
    for vector in 0..KEYS / S::F32_LANES {
        let mut sums = [simd.splat_f32s(0.0); ROWS];
        for (at, keys) in keys.0.iter().enumerate() {
            let keys = S::as_simd_f32s(keys).0[vector];
            for row in 0..ROWS {
                let query = simd.splat_f32s(queries[row].0[at]);
                sums[row] = simd.mul_add_f32s(query, keys, sums[row]);
            }
        }
        for row in 0..ROWS {
            S::as_mut_simd_f32s(&mut tile[row]).0[vector] = sums[row];
        }
    }
    tile
}

/// Returns weighted sums of the values.
#[inline(always)]
fn mix<S: Simd>(simd: S, weights: [&[f32]; ROWS], values: &[PanelRow]) -> [[f32; PANEL]; ROWS] {
    let mut tile = [[0.0; PANEL]; ROWS];
    for vector in 0..PANEL / S::F32_LANES {
        let mut sums = [simd.splat_f32s(0.0); ROWS];
        for (at, value) in values.iter().enumerate() {
            let value = S::as_simd_f32s(&value.0).0[vector];
            for row in 0..ROWS {
                let weight = simd.splat_f32s(weights[row][at]);
                sums[row] = simd.mul_add_f32s(weight, value, sums[row]);
            }
        }
        for row in 0..ROWS {
            S::as_mut_simd_f32s(&mut tile[row]).0[vector] = sums[row];
        }
    }
    tile
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;

    /// Rows with all kinds of low-order digits.
    fn rows(count: usize, seed: u32) -> Vec<PanelRow> {
        let mut state = seed;
        let mut next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count)
            .map(|_| PanelRow(std::array::from_fn(&mut next)))
            .collect()
    }

    fn mixed(count: usize, kernel: impl FnOnce(AttentionHead<'_>)) -> Vec<ActivationGroup> {
        let mut mixed = vec![ActivationGroup::default(); 2 * count];
        kernel(AttentionHead {
            queries: &rows(count, 1),
            keys: &rows(count, 2),
            values: &rows(count, 3),
            mixed: &mut mixed,
            stride: 2,
            number: 1,
            buffers: &mut AttentionBuffers::default(),
        });
        mixed
    }

    #[test]
    fn heads_have_the_same_bits_whatever_the_processor_takes_at_once() {
        for count in [1, ROWS, KEYS + 1, 77] {
            let dispatched = mixed(count, |head| head.attend());
            let scalar = mixed(count, |head| head.with_simd(Scalar));
            assert_eq!(dispatched, scalar, "{count}");
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                let narrower = mixed(count, |head| simd.vectorize(|| head.with_simd(simd)));
                assert_eq!(dispatched, narrower, "{count}");
            }
        }
    }

    #[test]
    fn tokens_are_weighted_by_softmax() {
        let count = 19;
        let [queries, keys, values] = [1, 2, 3].map(|seed| rows(count, seed));
        let found = mixed(count, |head| head.attend());
        for (query, found) in queries.iter().zip(found.chunks(2)) {
            let fits = keys.iter().map(|key| {
                let products = query.0.iter().zip(key.0);
                let sum: f64 = products.map(|(one, other)| f64::from(one * other)).sum();
                (sum / (PANEL as f64).sqrt()).exp()
            });
            let fits: Vec<f64> = fits.collect();
            for (at, found) in found[1].numbers().into_iter().enumerate() {
                let pairs = fits.iter().zip(&values);
                let sum: f64 = pairs.map(|(fit, value)| fit * f64::from(value.0[at])).sum();
                let expected = sum / fits.iter().sum::<f64>();
                assert!((f64::from(found) - expected).abs() < 2e-3);
            }
        }
    }
}
