//! Products of activations and weights that are small integers.
//!
//! The activations that a token brings to a group of 32 inputs are rounded to bytes: the least to 0, the largest to 255,
//! and the others to equal steps between. A weight is a code from -7 to 7. So the sum of their products is an exact
//! integer, in whatever order it is computed. Only these sums become floating point, and they are added group after
//! group. So every processor computes the same bits.

#![expect(
    clippy::needless_range_loop,
    reason = "the functions behind iterators are not always inlined, see `functions`"
)]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(
        dead_code,
        unused_imports,
        reason = "other processors have only the portable kernel"
    )
)]

use std::hint::black_box;

use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

use super::{
    super::file::{ADDED, GROUP, STEP, STEP_BYTES, STEP_INPUTS, STEPS},
    functions::{bounds, gelu},
    instructions,
    panels::{PANEL, PanelRow},
};

/// Vectors of outputs computed at a time.
const STRIP: usize = 2;

/// The activations of a token for a group of inputs: `least` plus `step` times each byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ActivationGroup {
    bytes: [u8; GROUP],
    least: f32,
    step: f32,
}

impl ActivationGroup {
    /// Rounds activations.
    #[inline(always)]
    pub(super) fn rounded<S: Simd>(simd: S, numbers: &[f32; GROUP]) -> Self {
        // Adding this rounds to an integer, which is then in the lowest bits.
        const ROUND: f32 = 12_582_912.0;
        let (least, most) = bounds(simd, numbers);
        let range = most - least;
        let factor = if range > 0.0 { 255.0 / range } else { 0.0 };
        let mut bytes = [0; GROUP];
        for at in 0..GROUP {
            bytes[at] = (numbers[at] - least).mul_add(factor, ROUND).to_bits() as u8;
        }
        Self {
            bytes,
            least,
            step: range * (1.0 / 255.0),
        }
    }
}

#[cfg(test)]
impl ActivationGroup {
    pub(super) fn numbers(&self) -> [f32; GROUP] {
        self.bytes
            .map(|byte| self.step.mul_add(f32::from(byte), self.least))
    }
}

/// The weights of a panel for a group of inputs.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct WeightGroup {
    /// Step after step, four inputs of each output.
    codes: [[i8; STEP]; STEPS],
    scales: [f32; PANEL],
    /// The sum of each output's weights.
    sums: [f32; PANEL],
}

impl WeightGroup {
    pub(super) const EMPTY: Self = Self {
        codes: [[0; STEP]; STEPS],
        scales: [0.0; PANEL],
        sums: [0.0; PANEL],
    };

    /// Unpacks the weights. Their sums are computed later.
    #[inline(always)]
    pub(super) fn unpack(&mut self, packed: &[[u8; STEP_BYTES]; STEPS], scales: [f32; PANEL]) {
        for step in 0..STEPS {
            for at in 0..STEP_BYTES {
                let byte = packed[step][at];
                self.codes[step][at] = (byte & 15).wrapping_sub(ADDED).cast_signed();
                self.codes[step][at + STEP_BYTES] = (byte >> 4).wrapping_sub(ADDED).cast_signed();
            }
        }
        self.scales = scales;
    }
}

/// The outputs of a panel for all tokens.
pub(super) struct PanelProduct<'a> {
    /// The groups of one token after the other.
    pub(super) tokens: &'a [ActivationGroup],
    pub(super) panel: &'a mut [WeightGroup],
    pub(super) bias: [f32; PANEL],
    pub(super) outputs: PanelOutputs<'a>,
}

/// The place for a panel's outputs.
pub(super) enum PanelOutputs<'a> {
    /// A row for each token.
    Rows(&'a mut [PanelRow]),
    /// Groups of one token after the other, of which this panel is one: the outputs pass through [`gelu`] and are rounded.
    Activations {
        groups: &'a mut [ActivationGroup],
        /// Groups of a token.
        stride: usize,
        number: usize,
    },
}

impl PanelOutputs<'_> {
    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, token: usize, outputs: &PanelRow) {
        match self {
            Self::Rows(rows) => rows[token] = *outputs,
            Self::Activations {
                groups,
                stride,
                number,
            } => {
                let mut activated = *outputs;
                for at in 0..PANEL {
                    activated.0[at] = gelu(outputs.0[at]);
                }
                groups[token * *stride + *number] = ActivationGroup::rounded(simd, &activated.0);
            }
        }
    }
}

impl PanelProduct<'_> {
    pub(super) fn compute(self) {
        match instructions::best() {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(lanes) => lanes.vectorize(LaneKernel::<_, 4>(lanes, self)),
            #[cfg(target_arch = "x86_64")]
            Arch::V3(lanes) => lanes.vectorize(LaneKernel::<_, 3>(lanes, self)),
            other => other.dispatch(PortableKernel(self)),
        }
    }
}

/// Computes `ROWS` tokens at a time, so that weights are loaded once for all of them: as many as have room in the
/// registers.
struct LaneKernel<'a, L, const ROWS: usize>(L, PanelProduct<'a>);

// A value with a method, not a closure: see `functions`.
impl<L: IntegerLanes, const ROWS: usize> NullaryFnOnce for LaneKernel<'_, L, ROWS> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(lanes, mut product) = self;
        for group in &mut *product.panel {
            sum_weights(lanes, group);
        }
        let groups = product.panel.len().max(1);
        for (block, some) in product.tokens.chunks(groups * ROWS).enumerate() {
            // In a last block that is not full, rows that are not used repeat the first one.
            let mut rows = [&some[..groups]; ROWS];
            let count = some.len() / groups;
            for row in 1..count {
                rows[row] = &some[row * groups..(row + 1) * groups];
            }
            let mut tile = [PanelRow(product.bias); ROWS];
            for strip in (0..PANEL / L::LANES).step_by(STRIP) {
                compute_strip(lanes, rows, product.panel, strip, &mut tile);
            }
            for row in 0..count {
                let outputs = &mut product.outputs;
                outputs.set(lanes, block * ROWS + row, &tile[row]);
            }
        }
    }
}

/// Sets the sums of a group's weights.
#[inline(always)]
fn sum_weights<L: IntegerLanes>(lanes: L, group: &mut WeightGroup) {
    for vector in 0..PANEL / L::LANES {
        let mut sums = lanes.no_sum();
        for codes in &group.codes {
            let ones = lanes.inputs([1; STEP_INPUTS]);
            sums = lanes.add_products(sums, ones, lanes.weights(codes, vector));
        }
        let sums = lanes.multiply(lanes.whole(sums), lanes.load(&group.scales, vector));
        lanes.store(sums, &mut group.sums, vector);
    }
}

/// Adds to two vectors of outputs of each row, from `strip` on.
#[inline(always)]
fn compute_strip<L: IntegerLanes, const ROWS: usize>(
    lanes: L,
    rows: [&[ActivationGroup]; ROWS],
    panel: &[WeightGroup],
    strip: usize,
    tile: &mut [PanelRow; ROWS],
) {
    // A number that the compiler does not know: it would unroll the loop over the steps, change the order of the
    // additions, and run out of registers.
    let steps = black_box(STEPS);
    let mut totals = [[lanes.load(&tile[0].0, 0); STRIP]; ROWS];
    for row in 0..ROWS {
        for at in 0..STRIP {
            totals[row][at] = lanes.load(&tile[row].0, strip + at);
        }
    }
    for (number, group) in panel.iter().enumerate() {
        let mut sums = [[lanes.no_sum(); STRIP]; ROWS];
        for (step, codes) in group.codes[..steps].iter().enumerate() {
            let weights = [lanes.weights(codes, strip), lanes.weights(codes, strip + 1)];
            for row in 0..ROWS {
                let (inputs, _) = rows[row][number].bytes.as_chunks::<STEP_INPUTS>();
                let inputs = lanes.inputs(inputs[step]);
                for at in 0..STRIP {
                    sums[row][at] = lanes.add_products(sums[row][at], inputs, weights[at]);
                }
            }
        }
        for row in 0..ROWS {
            let ActivationGroup { least, step, .. } = rows[row][number];
            let (least, step) = (lanes.splat(least), lanes.splat(step));
            for at in 0..STRIP {
                let scales = lanes.multiply(lanes.load(&group.scales, strip + at), step);
                let total = lanes.multiply_add(lanes.whole(sums[row][at]), scales, totals[row][at]);
                let weights = lanes.load(&group.sums, strip + at);
                totals[row][at] = lanes.multiply_add(weights, least, total);
            }
        }
    }
    for row in 0..ROWS {
        for at in 0..STRIP {
            lanes.store(totals[row][at], &mut tile[row].0, strip + at);
        }
    }
}

/// A processor's way of computing some outputs side by side.
trait IntegerLanes: Simd {
    /// Products, added up in pairs, as 16-bit integers. Those of a group fit: 16 × 255 × 8 < 32,768.
    type Sums: Copy;
    /// A number for each output of a vector.
    type Numbers: Copy;
    /// The outputs of a vector.
    const LANES: usize;

    fn no_sum(self) -> Self::Sums;
    /// Returns four weights of each output of a vector.
    fn weights(self, step: &[i8; STEP], vector: usize) -> Self::Sums;
    /// Returns the four inputs, for each output.
    fn inputs(self, inputs: [u8; STEP_INPUTS]) -> Self::Sums;
    fn add_products(self, sums: Self::Sums, inputs: Self::Sums, weights: Self::Sums) -> Self::Sums;
    /// Adds the sums of each output.
    fn whole(self, sums: Self::Sums) -> Self::Numbers;
    fn splat(self, number: f32) -> Self::Numbers;
    fn multiply(self, one: Self::Numbers, other: Self::Numbers) -> Self::Numbers;
    fn multiply_add(
        self,
        one: Self::Numbers,
        other: Self::Numbers,
        sum: Self::Numbers,
    ) -> Self::Numbers;
    fn load(self, numbers: &[f32; PANEL], vector: usize) -> Self::Numbers;
    fn store(self, numbers: Self::Numbers, row: &mut [f32; PANEL], vector: usize);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m256i, __m512, __m512i};

    use pulp::{
        bytemuck::cast,
        x86::{V3, V4},
    };

    use super::{IntegerLanes, PANEL, STEP, STEP_INPUTS};

    impl IntegerLanes for V3 {
        type Sums = __m256i;
        type Numbers = __m256;
        const LANES: usize = 8;

        #[inline(always)]
        fn no_sum(self) -> __m256i {
            self.avx._mm256_setzero_si256()
        }

        #[inline(always)]
        fn weights(self, step: &[i8; STEP], vector: usize) -> __m256i {
            cast(step.as_chunks::<32>().0[vector])
        }

        #[inline(always)]
        fn inputs(self, inputs: [u8; STEP_INPUTS]) -> __m256i {
            self.avx._mm256_set1_epi32(i32::from_le_bytes(inputs))
        }

        #[inline(always)]
        fn add_products(self, sums: __m256i, inputs: __m256i, weights: __m256i) -> __m256i {
            let products = self.avx2._mm256_maddubs_epi16(inputs, weights);
            self.avx2._mm256_add_epi16(sums, products)
        }

        #[inline(always)]
        fn whole(self, sums: __m256i) -> __m256 {
            let ones = self.avx._mm256_set1_epi16(1);
            let sums = self.avx2._mm256_madd_epi16(sums, ones);
            self.avx._mm256_cvtepi32_ps(sums)
        }

        #[inline(always)]
        fn splat(self, number: f32) -> __m256 {
            self.avx._mm256_set1_ps(number)
        }

        #[inline(always)]
        fn multiply(self, one: __m256, other: __m256) -> __m256 {
            self.avx._mm256_mul_ps(one, other)
        }

        #[inline(always)]
        fn multiply_add(self, one: __m256, other: __m256, sum: __m256) -> __m256 {
            self.fma._mm256_fmadd_ps(one, other, sum)
        }

        #[inline(always)]
        fn load(self, numbers: &[f32; PANEL], vector: usize) -> __m256 {
            cast(numbers.as_chunks::<8>().0[vector])
        }

        #[inline(always)]
        fn store(self, numbers: __m256, row: &mut [f32; PANEL], vector: usize) {
            row.as_chunks_mut::<8>().0[vector] = cast(numbers);
        }
    }

    impl IntegerLanes for V4 {
        type Sums = __m512i;
        type Numbers = __m512;
        const LANES: usize = 16;

        #[inline(always)]
        fn no_sum(self) -> __m512i {
            self.avx512f._mm512_setzero_si512()
        }

        #[inline(always)]
        fn weights(self, step: &[i8; STEP], vector: usize) -> __m512i {
            cast(step.as_chunks::<64>().0[vector])
        }

        #[inline(always)]
        fn inputs(self, inputs: [u8; STEP_INPUTS]) -> __m512i {
            self.avx512f._mm512_set1_epi32(i32::from_le_bytes(inputs))
        }

        #[inline(always)]
        fn add_products(self, sums: __m512i, inputs: __m512i, weights: __m512i) -> __m512i {
            let products = self.avx512bw._mm512_maddubs_epi16(inputs, weights);
            self.avx512bw._mm512_add_epi16(sums, products)
        }

        #[inline(always)]
        fn whole(self, sums: __m512i) -> __m512 {
            let ones = self.avx512f._mm512_set1_epi16(1);
            let sums = self.avx512bw._mm512_madd_epi16(sums, ones);
            self.avx512f._mm512_cvtepi32_ps(sums)
        }

        #[inline(always)]
        fn splat(self, number: f32) -> __m512 {
            self.avx512f._mm512_set1_ps(number)
        }

        #[inline(always)]
        fn multiply(self, one: __m512, other: __m512) -> __m512 {
            self.avx512f._mm512_mul_ps(one, other)
        }

        #[inline(always)]
        fn multiply_add(self, one: __m512, other: __m512, sum: __m512) -> __m512 {
            self.avx512f._mm512_fmadd_ps(one, other, sum)
        }

        #[inline(always)]
        fn load(self, numbers: &[f32; PANEL], vector: usize) -> __m512 {
            cast(numbers.as_chunks::<16>().0[vector])
        }

        #[inline(always)]
        fn store(self, numbers: __m512, row: &mut [f32; PANEL], vector: usize) {
            row.as_chunks_mut::<16>().0[vector] = cast(numbers);
        }
    }
}

/// The same for processors without a way of their own, as well as the compiler can.
struct PortableKernel<'a>(PanelProduct<'a>);

impl WithSimd for PortableKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut product = self.0;
        for group in &mut *product.panel {
            let sums = products(&[1; GROUP], &group.codes);
            for output in 0..PANEL {
                group.sums[output] = sums[output] as f32 * group.scales[output];
            }
        }
        let groups = product.panel.len().max(1);
        for (token, inputs) in product.tokens.chunks(groups).enumerate() {
            let mut totals = PanelRow(product.bias);
            for (number, group) in product.panel.iter().enumerate() {
                let ActivationGroup { bytes, least, step } = &inputs[number];
                let sums = products(bytes, &group.codes);
                for output in 0..PANEL {
                    let scale = group.scales[output] * step;
                    let total = (sums[output] as f32).mul_add(scale, totals.0[output]);
                    totals.0[output] = group.sums[output].mul_add(*least, total);
                }
            }
            product.outputs.set(simd, token, &totals);
        }
    }
}

/// Returns the sums of products of a group.
#[inline(always)]
fn products(inputs: &[u8; GROUP], codes: &[[i8; STEP]; STEPS]) -> [i32; PANEL] {
    let mut sums = [0; PANEL];
    let (inputs, _) = inputs.as_chunks::<STEP_INPUTS>();
    for step in 0..STEPS {
        let (codes, _) = codes[step].as_chunks::<STEP_INPUTS>();
        for output in 0..PANEL {
            for at in 0..STEP_INPUTS {
                sums[output] += i32::from(inputs[step][at]) * i32::from(codes[output][at]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;

    const GROUPS: usize = 3;

    /// Bytes of all sizes.
    fn bytes(count: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(next).collect()
    }

    fn panel() -> Vec<WeightGroup> {
        let codes = bytes(GROUPS * STEPS * STEP_BYTES);
        let (steps, _) = codes.as_chunks::<STEP_BYTES>();
        let (groups, _) = steps.as_chunks::<STEPS>();
        let groups = groups.iter().enumerate().map(|(number, packed)| {
            let scales = std::array::from_fn(|at| (number * PANEL + at) as f32 * 0.017 + 0.3);
            let mut group = WeightGroup::EMPTY;
            group.unpack(packed, scales);
            group
        });
        groups.collect()
    }

    fn groups(bytes: &[u8]) -> Vec<ActivationGroup> {
        let groups = bytes.as_chunks::<GROUP>().0.iter().enumerate();
        let groups = groups.map(|(number, bytes)| ActivationGroup {
            bytes: *bytes,
            least: -0.013 * number as f32,
            step: 0.003 + 0.000_7 * number as f32,
        });
        groups.collect()
    }

    /// Returns the outputs of a kernel as they are, and activated.
    fn computed(
        tokens: &[ActivationGroup],
        kernel: impl Fn(PanelProduct<'_>),
    ) -> (Vec<u32>, Vec<ActivationGroup>) {
        let count = tokens.len() / GROUPS;
        let mut rows = vec![PanelRow([0.5; PANEL]); count];
        let mut groups = vec![ActivationGroup::default(); 2 * count];
        let activations = PanelOutputs::Activations {
            groups: &mut groups,
            stride: 2,
            number: 1,
        };
        for outputs in [PanelOutputs::Rows(&mut rows), activations] {
            kernel(PanelProduct {
                tokens,
                panel: &mut panel(),
                bias: [0.7; PANEL],
                outputs,
            });
        }
        let numbers = rows.iter().flat_map(|row| row.0);
        (numbers.map(f32::to_bits).collect(), groups)
    }

    fn compare(tokens: &[ActivationGroup]) {
        // Group after group, with one rounding per product.
        let panel = panel();
        let mut rows = Vec::new();
        let mut groups = Vec::new();
        for token in tokens.chunks(GROUPS) {
            let mut row = [0.7_f32; PANEL];
            for (output, total) in row.iter_mut().enumerate() {
                for (inputs, group) in token.iter().zip(&panel) {
                    let code = |at: usize| i32::from(group.codes[at / 4][output * 4 + at % 4]);
                    let bytes = inputs.bytes.iter().enumerate();
                    let sum: i32 = bytes.map(|(at, byte)| i32::from(*byte) * code(at)).sum();
                    let weights: i32 = (0..GROUP).map(code).sum();
                    let scale = group.scales[output];
                    *total = (sum as f32).mul_add(scale * inputs.step, *total);
                    *total = (weights as f32 * scale).mul_add(inputs.least, *total);
                }
            }
            rows.extend(row.map(f32::to_bits));
            groups.push(ActivationGroup::default());
            groups.push(ActivationGroup::rounded(Scalar, &row.map(gelu)));
        }
        let expected = (rows, groups);
        assert_eq!(computed(tokens, |product| product.compute()), expected);
        let scalar = computed(tokens, |product| PortableKernel(product).with_simd(Scalar));
        assert_eq!(scalar, expected);
        let portable = |product: PanelProduct<'_>| Arch::new().dispatch(PortableKernel(product));
        assert_eq!(computed(tokens, portable), expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let narrower = computed(tokens, |product| {
                simd.vectorize(LaneKernel::<_, 3>(simd, product));
            });
            assert_eq!(narrower, expected);
        }
    }

    #[test]
    fn sums_have_the_same_bits_whatever_the_processor_takes_at_once() {
        for count in [1, 3, 4, 9] {
            compare(&groups(&bytes(count * GROUPS * GROUP)));
        }
    }

    #[test]
    fn the_largest_activations_fit() {
        compare(&groups(&[u8::MAX; GROUPS * GROUP]));
    }

    #[test]
    fn rounding_loses_half_a_step_at_most() {
        let numbers: [f32; GROUP] = std::array::from_fn(|at| (at * at % 97) as f32 / 31.0 - 1.5);
        let rounded = ActivationGroup::rounded(Scalar, &numbers);
        assert!(rounded.bytes.contains(&0) && rounded.bytes.contains(&255));
        for (number, found) in numbers.iter().zip(rounded.numbers()) {
            assert!((found - number).abs() <= rounded.step * 0.501);
        }
        let equal = ActivationGroup::rounded(Scalar, &[0.7; GROUP]);
        assert_eq!(
            (equal.least, equal.step, equal.bytes),
            (0.7, 0.0, [0; GROUP])
        );
    }
}
