//! Activations as they are computed: 32 numbers of one token after the other (a panel), then the next 32.

use super::super::file::GROUP;

/// Numbers of a row: as many as an attention head has, and as many as share a scale.
pub(super) const PANEL: usize = GROUP;

/// The numbers of a token in one panel.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct PanelRow(pub(super) [f32; PANEL]);

/// Panels with a row for each token.
#[derive(Default)]
pub(super) struct PanelTable {
    rows: Vec<PanelRow>,
    count: usize,
    /// Rows from one panel to the next. It is odd, because caches are slow at distances that are powers of two.
    stride: usize,
}

impl PanelTable {
    /// Makes room for rows of `count` tokens. The numbers are arbitrary.
    pub(super) fn resize(&mut self, panels: usize, count: usize) {
        self.count = count;
        self.stride = count | 1;
        self.rows
            .resize(panels * self.stride, PanelRow([0.0; PANEL]));
    }

    /// Returns the rows of a panel.
    pub(super) fn panel(&self, number: usize) -> &[PanelRow] {
        let first = number * self.stride;
        &self.rows[first..first + self.count]
    }

    pub(super) fn panel_mut(&mut self, number: usize) -> &mut [PanelRow] {
        let first = number * self.stride;
        &mut self.rows[first..first + self.count]
    }

    /// Adds the numbers of a token to `row`.
    #[inline(always)]
    pub(super) fn add_to(&self, token: usize, row: &mut [f32]) {
        for (panel, numbers) in row.as_chunks_mut::<PANEL>().0.iter_mut().enumerate() {
            // A copy, so that the compiler knows that they are not the same numbers.
            let mut sums = self.rows[panel * self.stride + token].0;
            for at in 0..PANEL {
                sums[at] += numbers[at];
            }
            *numbers = sums;
        }
    }
}
