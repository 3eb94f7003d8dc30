//! Linear maps, layer normalisations and tables.

use pulp::{Simd, WithSimd};

use super::{
    super::file::{ADDED, GROUP, GROUP_BYTES, Matrix, STEP_BYTES, STEPS, f32_of},
    functions::normalise,
    instructions,
    integer::{ActivationGroup, PanelOutputs, PanelProduct, WeightGroup},
    panels::{PANEL, PanelTable},
};

/// A linear map with a bias, with the weights as they are in the file.
pub(super) struct LinearMap {
    pub(super) matrix: Matrix,
    pub(super) bias: &'static [u8],
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

/// Parameters of a layer normalisation.
pub(super) struct LayerNorm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

impl LayerNorm {
    /// Adds `others` to rows, if there are any, normalises them, and rounds the result.
    pub(super) fn apply(
        &self,
        rows: &mut [f32],
        others: Option<&PanelTable>,
        rounded: &mut Vec<ActivationGroup>,
    ) {
        rounded.clear();
        instructions::best().dispatch(LayerNormKernel {
            norm: self,
            rows,
            others,
            rounded,
        });
    }
}

struct LayerNormKernel<'a> {
    norm: &'a LayerNorm,
    rows: &'a mut [f32],
    others: Option<&'a PanelTable>,
    rounded: &'a mut Vec<ActivationGroup>,
}

impl WithSimd for LayerNormKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LayerNorm { weight, bias } = self.norm;
        for (token, row) in self.rows.chunks_exact_mut(weight.len()).enumerate() {
            if let Some(others) = self.others {
                others.add_to(token, row);
            }
            normalise(row, weight, bias);
            for numbers in row.as_chunks::<GROUP>().0 {
                self.rounded.push(ActivationGroup::rounded(simd, numbers));
            }
        }
    }
}

impl LinearMap {
    /// Computes the outputs for the activations of each token. `panel` is a buffer.
    pub(super) fn apply(
        &self,
        tokens: &[ActivationGroup],
        outputs: &mut PanelTable,
        panel: &mut Vec<WeightGroup>,
    ) {
        outputs.resize(self.outputs / PANEL, tokens.len() / (self.inputs / GROUP));
        for number in 0..self.outputs / PANEL {
            let outputs = PanelOutputs::Rows(outputs.panel_mut(number));
            self.compute(number, tokens, outputs, panel);
        }
    }

    /// Does the same, but the outputs pass through the activation function and are rounded.
    pub(super) fn activate(
        &self,
        tokens: &[ActivationGroup],
        activations: &mut Vec<ActivationGroup>,
        panel: &mut Vec<WeightGroup>,
    ) {
        let stride = self.outputs / PANEL;
        let count = tokens.len() / (self.inputs / GROUP);
        activations.resize(count * stride, ActivationGroup::default());
        for number in 0..stride {
            let outputs = PanelOutputs::Activations {
                groups: activations,
                stride,
                number,
            };
            self.compute(number, tokens, outputs, panel);
        }
    }

    /// Computes the outputs of a panel.
    fn compute(
        &self,
        number: usize,
        tokens: &[ActivationGroup],
        outputs: PanelOutputs<'_>,
        panel: &mut Vec<WeightGroup>,
    ) {
        self.unpack(number, panel);
        let (bias, _) = self.bias.as_chunks::<2>();
        let (biases, _) = bias.as_chunks::<PANEL>();
        PanelProduct {
            tokens,
            panel,
            bias: biases[number].map(f32_of),
            outputs,
        }
        .compute();
    }

    /// Unpacks the weights of a panel.
    fn unpack(&self, number: usize, panel: &mut Vec<WeightGroup>) {
        let groups = self.inputs / GROUP;
        let (codes, _) = self.matrix.codes.as_chunks::<STEP_BYTES>();
        let (codes, _) = codes.as_chunks::<STEPS>();
        let (scales, _) = self.matrix.scales.as_chunks::<2>();
        let (scales, _) = scales.as_chunks::<PANEL>();
        panel.resize(groups, WeightGroup::EMPTY);
        instructions::best().dispatch(UnpackKernel {
            codes: codes.get(number * groups..).unwrap_or_default(),
            scales: scales.get(number * groups..).unwrap_or_default(),
            panel,
        });
    }
}

struct UnpackKernel<'a> {
    codes: &'a [[[u8; STEP_BYTES]; STEPS]],
    scales: &'a [[[u8; 2]; PANEL]],
    panel: &'a mut [WeightGroup],
}

impl WithSimd for UnpackKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (number, group) in self.panel.iter_mut().enumerate() {
            let mut scales = [0.0; PANEL];
            for (at, scale) in self.scales[number].iter().enumerate() {
                scales[at] = f32_of(*scale);
            }
            group.unpack(&self.codes[number], scales);
        }
    }
}

/// Unpacks a row of a table that is packed row by row.
pub(super) fn row(table: &Matrix, dimensions: usize, number: usize, row: &mut [f32]) {
    let (codes, _) = table.codes.as_chunks::<GROUP_BYTES>();
    let (scales, _) = table.scales.as_chunks::<2>();
    let first = number * (dimensions / GROUP);
    let codes = codes.get(first..).unwrap_or_default();
    let scales = scales.get(first..).unwrap_or_default();
    let (groups, _) = row.as_chunks_mut::<GROUP>();
    let added = f32::from(ADDED);
    for ((group, codes), scale) in groups.iter_mut().zip(codes).zip(scales) {
        let scale = f32_of(*scale);
        for (at, code) in codes.iter().enumerate() {
            group[at] = (f32::from(code & 15) - added) * scale;
            group[at + GROUP_BYTES] = (f32::from(code >> 4) - added) * scale;
        }
    }
}

/// Converts bytes to 16-bit floats, widened to 32 bits.
pub(super) fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<2>();
    numbers.iter().map(|number| f32_of(*number)).collect()
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;

    const WIDTH: usize = 3 * PANEL;
    const TOKENS: usize = 4;

    fn numbers(count: usize) -> Vec<f32> {
        let number = |at| (at * at % 97) as f32 / 31.0 - 1.5;
        (0..count).map(number).collect()
    }

    fn panels() -> PanelTable {
        let mut panels = PanelTable::default();
        panels.resize(WIDTH / PANEL, TOKENS);
        for number in 0..WIDTH / PANEL {
            for (token, row) in panels.panel_mut(number).iter_mut().enumerate() {
                let first = PANEL * (token + number);
                row.0.copy_from_slice(&numbers(first + PANEL)[first..]);
            }
        }
        panels
    }

    /// Returns everything that a normalisation makes.
    fn made(kernel: impl FnOnce(LayerNormKernel<'_>)) -> (Vec<u32>, Vec<ActivationGroup>) {
        let norm = LayerNorm {
            weight: numbers(WIDTH),
            bias: numbers(2 * WIDTH)[WIDTH..].to_vec(),
        };
        let mut rows = numbers(WIDTH * TOKENS);
        let mut rounded = Vec::new();
        kernel(LayerNormKernel {
            norm: &norm,
            rows: &mut rows,
            others: Some(&panels()),
            rounded: &mut rounded,
        });
        (rows.into_iter().map(f32::to_bits).collect(), rounded)
    }

    #[test]
    fn rows_have_the_same_bits_whatever_the_processor_takes_at_once() {
        let dispatched = made(|kernel| instructions::best().dispatch(kernel));
        assert_eq!(dispatched, made(|kernel| kernel.with_simd(Scalar)));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let narrower = made(|kernel| simd.vectorize(|| kernel.with_simd(simd)));
            assert_eq!(dispatched, narrower);
        }
    }
}
