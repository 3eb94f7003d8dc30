//! Matrix products, with the weights as they are in the file.
//!
//! 32 outputs (a panel) are computed side by side, for some tokens (a block) at a time. Every sum runs over the inputs
//! in order, with one rounding per product, so the vector width of the processor changes nothing.

use pulp::{Arch, Simd, WithSimd};

use super::super::file::{ADDED, GROUP, GROUP_BYTES, Matrix, f32_of};

/// Outputs of a panel.
pub(super) const PANEL: usize = GROUP;
/// Tokens of a block.
const BLOCK: usize = 12;
/// Inputs processed at a time, so that the unpacked part of a panel stays in the cache.
const DEPTH: usize = 192;

/// A linear map with a bias.
#[derive(Clone, Copy)]
pub(super) struct LinearMap {
    pub(super) matrix: Matrix,
    pub(super) bias: &'static [u8],
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

/// Buffers for unpacked weights and rearranged inputs.
#[derive(Default)]
pub(super) struct UnpackBuffers {
    blocks: Vec<[f32; BLOCK]>,
    panel: Vec<[f32; PANEL]>,
}

/// Rows of numbers in a larger table.
#[derive(Clone, Copy)]
pub(super) struct RowView<'a> {
    pub(super) numbers: &'a [f32],
    /// Distance from one row to the next.
    pub(super) stride: usize,
    /// First number of each row to use.
    pub(super) start: usize,
    pub(super) count: usize,
}

impl LinearMap {
    /// Computes the outputs for each row of `inputs`.
    pub(super) fn apply(&self, inputs: &[f32], outputs: &mut Vec<f32>, room: &mut UnpackBuffers) {
        let count = inputs.len() / self.inputs;
        outputs.clear();
        let bias = numbers(self.bias);
        for _ in 0..count {
            outputs.extend_from_slice(&bias);
        }
        for from in (0..self.inputs).step_by(DEPTH) {
            let depth = DEPTH.min(self.inputs - from);
            let rows = RowView {
                numbers: inputs,
                stride: self.inputs,
                start: from,
                count,
            };
            arrange(rows, depth, &mut room.blocks);
            for panel in 0..self.outputs / PANEL {
                self.unpack(panel, from, depth, &mut room.panel);
                multiply(Product {
                    blocks: &room.blocks,
                    panel: &room.panel,
                    outputs,
                    stride: self.outputs,
                    start: panel * PANEL,
                });
            }
        }
    }

    /// Unpacks the weights of some inputs of a panel.
    fn unpack(&self, panel: usize, from: usize, depth: usize, room: &mut Vec<[f32; PANEL]>) {
        let (codes, _) = self.matrix.codes.as_chunks::<GROUP_BYTES>();
        let codes = codes.get(panel * self.inputs + from..).unwrap_or_default();
        let (scales, _) = self.matrix.scales.as_chunks::<2>();
        let (scales, _) = scales.as_chunks::<PANEL>();
        let first = (panel * self.inputs + from) / GROUP;
        let scales = scales.get(first..).unwrap_or_default();
        room.resize(depth, [0.0; PANEL]);
        Arch::new().dispatch(UnpackKernel {
            codes,
            scales,
            weights: room,
        });
    }
}

struct UnpackKernel<'a> {
    codes: &'a [[u8; GROUP_BYTES]],
    scales: &'a [[[u8; 2]; PANEL]],
    weights: &'a mut [[f32; PANEL]],
}

impl WithSimd for UnpackKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let groups = self.weights.chunks_mut(GROUP);
        let groups = groups.zip(self.codes.chunks(GROUP)).zip(self.scales);
        for ((group, codes), packed) in groups {
            let mut scales = [0.0; PANEL];
            for (scale, packed) in scales.iter_mut().zip(packed) {
                *scale = f32_of(*packed);
            }
            for (weights, codes) in group.iter_mut().zip(codes) {
                *weights = weights_of(codes, &scales);
            }
        }
    }
}

/// Returns the weights of one input.
#[inline(always)]
fn weights_of(codes: &[u8; GROUP_BYTES], scales: &[f32; PANEL]) -> [f32; PANEL] {
    let mut weights = [0.0; PANEL];
    let added = f32::from(ADDED);
    for at in 0..GROUP_BYTES {
        weights[at] = (f32::from(codes[at] & 15) - added) * scales[at];
        weights[at + GROUP_BYTES] = (f32::from(codes[at] >> 4) - added) * scales[at + GROUP_BYTES];
    }
    weights
}

/// Unpacks a row of a table that is packed row by row.
pub(super) fn row(table: &Matrix, dimensions: usize, number: usize, row: &mut [f32]) {
    let (codes, _) = table.codes.as_chunks::<GROUP_BYTES>();
    let (scales, _) = table.scales.as_chunks::<2>();
    let first = number * (dimensions / GROUP);
    let codes = codes.get(first..).unwrap_or_default();
    let scales = scales.get(first..).unwrap_or_default();
    let (groups, _) = row.as_chunks_mut::<GROUP>();
    for ((group, codes), scale) in groups.iter_mut().zip(codes).zip(scales) {
        *group = weights_of(codes, &[f32_of(*scale); PANEL]);
    }
}

/// Transposes rows into blocks: for each block, the numbers that its rows have at one index after the other.
fn arrange(rows: RowView<'_>, depth: usize, blocks: &mut Vec<[f32; BLOCK]>) {
    // Entries that are not overwritten belong to no row, and to no output that is used.
    blocks.resize(rows.count.div_ceil(BLOCK) * depth, [0.0; BLOCK]);
    let of_blocks = rows.numbers.chunks(rows.stride * BLOCK);
    for (block, numbers) in blocks.chunks_exact_mut(depth).zip(of_blocks) {
        let mut parts: [&[f32]; BLOCK] = [&[]; BLOCK];
        for (part, row) in parts.iter_mut().zip(numbers.chunks(rows.stride)) {
            *part = &row[rows.start..rows.start + depth];
        }
        for (at, place) in block.iter_mut().enumerate() {
            for (number, part) in place.iter_mut().zip(parts) {
                *number = part.get(at).copied().unwrap_or_default();
            }
        }
    }
}

/// Converts bytes to 16-bit floats, widened to 32 bits.
pub(super) fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<2>();
    numbers.iter().map(|number| f32_of(*number)).collect()
}

/// Adds the products of rows and a panel to outputs.
struct Product<'a> {
    blocks: &'a [[f32; BLOCK]],
    panel: &'a [[f32; PANEL]],
    outputs: &'a mut [f32],
    /// Distance from one row of outputs to the next.
    stride: usize,
    /// Offset of the panel's outputs in a row.
    start: usize,
}

/// Rearranges `depth` numbers of each row, for [`add_product`].
pub(super) fn arrange_in(room: &mut UnpackBuffers, rows: RowView<'_>, depth: usize) {
    arrange(rows, depth, &mut room.blocks);
}

/// Adds the products of the rearranged rows and a panel to 32 outputs of each, from `start` on.
pub(super) fn add_product(
    room: &UnpackBuffers,
    panel: &[[f32; PANEL]],
    outputs: &mut [f32],
    stride: usize,
    start: usize,
) {
    multiply(Product {
        blocks: &room.blocks,
        panel,
        outputs,
        stride,
        start,
    });
}

fn multiply(product: Product<'_>) {
    Arch::new().dispatch(product);
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let depth = self.panel.len().max(1);
        let (panel, _) = S::as_simd_f32s(self.panel.as_flattened());
        let rows = self.outputs.chunks_mut(self.stride * BLOCK);
        for (block, rows) in self.blocks.chunks_exact(depth).zip(rows) {
            let mut tile = [[0.0; PANEL]; BLOCK];
            for (tile, row) in tile.iter_mut().zip(rows.chunks(self.stride)) {
                tile.copy_from_slice(&row[self.start..self.start + PANEL]);
            }
            add_tile(simd, block, panel, &mut tile);
            for (tile, row) in tile.iter().zip(rows.chunks_mut(self.stride)) {
                row[self.start..self.start + PANEL].copy_from_slice(tile);
            }
        }
    }
}

/// SIMD vectors accumulated at the same time, for each token.
const STRIP: usize = 2;

#[inline(always)]
fn add_tile<S: Simd>(
    simd: S,
    block: &[[f32; BLOCK]],
    panel: &[S::f32s],
    tile: &mut [[f32; PANEL]; BLOCK],
) {
    // As many accumulators as fit into the registers.
    let vectors = PANEL / S::F32_LANES;
    for strip in (0..vectors).step_by(STRIP) {
        if S::REGISTER_COUNT >= 32 {
            add_strip::<S, BLOCK>(simd, block, panel, tile, strip, 0);
        } else {
            add_strip::<S, { BLOCK / 2 }>(simd, block, panel, tile, strip, 0);
            add_strip::<S, { BLOCK / 2 }>(simd, block, panel, tile, strip, BLOCK / 2);
        }
    }
}

/// Adds to the sums of `ROWS` tokens from `first` on.
#[inline(always)]
fn add_strip<S: Simd, const ROWS: usize>(
    simd: S,
    block: &[[f32; BLOCK]],
    panel: &[S::f32s],
    tile: &mut [[f32; PANEL]; BLOCK],
    strip: usize,
    first: usize,
) {
    let vectors = PANEL / S::F32_LANES;
    let tile = &mut tile[first..first + ROWS];
    let mut sums = [[simd.splat_f32s(0.0); STRIP]; ROWS];
    for (sums, tile) in sums.iter_mut().zip(&*tile) {
        let (tile, _) = S::as_simd_f32s(tile);
        sums.copy_from_slice(&tile[strip..strip + STRIP]);
    }
    for (inputs, weights) in block.iter().zip(panel.chunks_exact(vectors)) {
        let weights = &weights[strip..strip + STRIP];
        for (sums, input) in sums.iter_mut().zip(&inputs[first..first + ROWS]) {
            let input = simd.splat_f32s(*input);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add_f32s(input, *weight, *sum);
            }
        }
    }
    for (sums, tile) in sums.iter().zip(tile) {
        let (tile, _) = S::as_mut_simd_f32s(tile);
        tile[strip..strip + STRIP].copy_from_slice(sums);
    }
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;

    /// Numbers with all kinds of low-order digits.
    fn numbers(count: usize) -> Vec<f32> {
        let mut state = 1_u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(next).collect()
    }

    const DEEP: usize = 77;
    const STRIDE: usize = 2 * PANEL;

    fn product<'a>(
        blocks: &'a [[f32; BLOCK]],
        panel: &'a [[f32; PANEL]],
        outputs: &'a mut [f32],
    ) -> Product<'a> {
        Product {
            blocks,
            panel,
            outputs,
            stride: STRIDE,
            start: PANEL,
        }
    }

    #[test]
    fn sums_have_the_same_bits_whatever_the_processor_takes_at_once() {
        let rows = BLOCK + 5;
        let inputs = numbers(rows * DEEP);
        let weights = numbers(DEEP * PANEL);
        let (panel, _) = weights.as_chunks::<PANEL>();
        let mut blocks = Vec::new();
        let of_inputs = RowView {
            numbers: &inputs,
            stride: DEEP,
            start: 0,
            count: rows,
        };
        arrange(of_inputs, DEEP, &mut blocks);
        let before = numbers(rows * STRIDE);
        // In order, with one rounding per product.
        let mut expected = before.clone();
        for (row, inputs) in expected.chunks_mut(STRIDE).zip(inputs.chunks(DEEP)) {
            for (output, sum) in row[PANEL..].iter_mut().enumerate() {
                for (input, weights) in inputs.iter().zip(panel) {
                    *sum = input.mul_add(weights[output], *sum);
                }
            }
        }
        let mut dispatched = before.clone();
        multiply(product(&blocks, panel, &mut dispatched));
        assert_eq!(dispatched, expected);
        let mut scalar = before.clone();
        product(&blocks, panel, &mut scalar).with_simd(Scalar);
        assert_eq!(scalar, expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let mut narrower = before;
            simd.vectorize(|| product(&blocks, panel, &mut narrower).with_simd(simd));
            assert_eq!(narrower, expected);
        }
    }
}
