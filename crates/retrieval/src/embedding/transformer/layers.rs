//! The layers of the model, applied to the tokens of a batch of passages.

use super::{
    super::{
        ModelError,
        file::{Head, Matrix, Parts},
    },
    attention::{AttentionBuffers, AttentionHead},
    functions::add,
    integer::{ActivationGroup, WeightGroup},
    maps::{LayerNorm, LinearMap, numbers, row},
    panels::{PANEL, PanelTable},
};

/// The weights, as they are in the file.
pub(super) struct Encoder {
    dimensions: usize,
    tokens: Matrix,
    positions: Matrix,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    query: LinearMap,
    key: LinearMap,
    value: LinearMap,
    attention: LinearMap,
    attention_norm: LayerNorm,
    inner: LinearMap,
    outer: LinearMap,
    outer_norm: LayerNorm,
}

/// Buffers for the activations of all tokens.
#[derive(Default)]
pub(super) struct Scratch {
    /// The state of one token after the other.
    state: Vec<f32>,
    /// The state as the next map takes it.
    rounded: Vec<ActivationGroup>,
    query: PanelTable,
    key: PanelTable,
    value: PanelTable,
    mixed: Vec<ActivationGroup>,
    inner: Vec<ActivationGroup>,
    made: PanelTable,
    attention: AttentionBuffers,
    panel: Vec<WeightGroup>,
}

fn layer_norm(parts: &mut Parts, length: usize) -> Result<LayerNorm, ModelError> {
    Ok(LayerNorm {
        weight: numbers(parts.vector(length)?),
        bias: numbers(parts.vector(length)?),
    })
}

fn map(parts: &mut Parts, outputs: usize, inputs: usize) -> Result<LinearMap, ModelError> {
    Ok(LinearMap {
        matrix: parts.matrix(outputs, inputs)?,
        bias: parts.vector(outputs)?,
        inputs,
        outputs,
    })
}

impl Encoder {
    pub(super) fn new(head: &Head, mut parts: Parts) -> Result<Self, ModelError> {
        let (wide, inner) = (head.dimensions, head.inner);
        // An attention head is as wide as a panel.
        if head.heads * PANEL != wide || !inner.is_multiple_of(PANEL) || head.layers == 0 {
            return Err(ModelError::OtherKind);
        }
        let tokens = parts.matrix(head.pieces, wide)?;
        let positions = parts.matrix(head.positions, wide)?;
        let norm = layer_norm(&mut parts, wide)?;
        let mut layers = Vec::with_capacity(head.layers.min(64));
        for _ in 0..head.layers {
            layers.push(Layer {
                query: map(&mut parts, wide, wide)?,
                key: map(&mut parts, wide, wide)?,
                value: map(&mut parts, wide, wide)?,
                attention: map(&mut parts, wide, wide)?,
                attention_norm: layer_norm(&mut parts, wide)?,
                inner: map(&mut parts, inner, wide)?,
                outer: map(&mut parts, wide, inner)?,
                outer_norm: layer_norm(&mut parts, wide)?,
            });
        }
        parts.end()?;
        Ok(Self {
            dimensions: wide,
            tokens,
            positions,
            norm,
            layers,
        })
    }

    /// Returns the directions of the tokenized passages, each a row.
    pub(super) fn encode(&self, texts: &[Vec<u32>], scratch: &mut Scratch) -> Vec<f32> {
        self.look_up(texts, &mut scratch.state);
        let Scratch { state, rounded, .. } = scratch;
        self.norm.apply(state, None, rounded);
        for layer in &self.layers {
            layer.apply(self.dimensions, texts, scratch);
        }
        let mut tokens = scratch.state.chunks_exact(self.dimensions);
        let mut directions = Vec::with_capacity(texts.len() * self.dimensions);
        for text in texts {
            let mut mean = vec![0.0; self.dimensions];
            for token in tokens.by_ref().take(text.len()) {
                add(&mut mean, token);
            }
            directions.extend(mean);
        }
        directions
    }

    /// Initialises the state of each token: the sum of its token and position embeddings.
    fn look_up(&self, texts: &[Vec<u32>], state: &mut Vec<f32>) {
        state.clear();
        let mut token_row = vec![0.0; self.dimensions];
        let mut place_row = vec![0.0; self.dimensions];
        for text in texts {
            for (place, token) in text.iter().enumerate() {
                row(
                    &self.tokens,
                    self.dimensions,
                    *token as usize,
                    &mut token_row,
                );
                row(&self.positions, self.dimensions, place, &mut place_row);
                add(&mut token_row, &place_row);
                state.extend_from_slice(&token_row);
            }
        }
    }
}

impl Layer {
    /// Applies the layer to the state and its rounded form.
    fn apply(&self, dimensions: usize, texts: &[Vec<u32>], scratch: &mut Scratch) {
        let Scratch {
            state,
            rounded,
            query,
            key,
            value,
            mixed,
            inner,
            made,
            attention,
            panel,
        } = scratch;
        self.query.apply(rounded, query, panel);
        self.key.apply(rounded, key, panel);
        self.value.apply(rounded, value, panel);
        let heads = dimensions / PANEL;
        mixed.resize(rounded.len(), ActivationGroup::default());
        for head in 0..heads {
            let mut from = 0;
            for text in texts {
                let text = from..from + text.len();
                from = text.end;
                AttentionHead {
                    queries: &query.panel(head)[text.clone()],
                    keys: &key.panel(head)[text.clone()],
                    values: &value.panel(head)[text.clone()],
                    mixed: &mut mixed[text.start * heads..text.end * heads],
                    stride: heads,
                    number: head,
                    buffers: attention,
                }
                .attend();
            }
        }
        self.attention.apply(mixed, made, panel);
        self.attention_norm.apply(state, Some(made), rounded);
        self.inner.activate(rounded, inner, panel);
        self.outer.apply(inner, made, panel);
        self.outer_norm.apply(state, Some(made), rounded);
    }
}
