//! The layers of the model, applied to the tokens of a batch of passages.

use super::{
    super::{
        ModelError,
        file::{Head, Matrix, Parts},
    },
    functions::{activate, add, distribute, normalise},
    maps::{LinearMap, PANEL, RowView, UnpackBuffers, add_product, arrange_in, numbers, row},
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

/// Parameters of a layer normalisation, as 16-bit floats.
struct LayerNorm {
    weight: &'static [u8],
    bias: &'static [u8],
}

/// Buffers for the activations of all tokens.
#[derive(Default)]
pub(super) struct Scratch {
    state: Vec<f32>,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
    made: Vec<f32>,
    scores: Vec<f32>,
    panel: Vec<[f32; PANEL]>,
    room: UnpackBuffers,
}

impl LayerNorm {
    fn read(parts: &mut Parts, length: usize) -> Result<Self, ModelError> {
        Ok(Self {
            weight: parts.vector(length)?,
            bias: parts.vector(length)?,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        normalise(rows, &numbers(self.weight), &numbers(self.bias));
    }
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
        let norm = LayerNorm::read(&mut parts, wide)?;
        let mut layers = Vec::with_capacity(head.layers.min(64));
        for _ in 0..head.layers {
            layers.push(Layer {
                query: map(&mut parts, wide, wide)?,
                key: map(&mut parts, wide, wide)?,
                value: map(&mut parts, wide, wide)?,
                attention: map(&mut parts, wide, wide)?,
                attention_norm: LayerNorm::read(&mut parts, wide)?,
                inner: map(&mut parts, inner, wide)?,
                outer: map(&mut parts, wide, inner)?,
                outer_norm: LayerNorm::read(&mut parts, wide)?,
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
        self.norm.apply(&mut scratch.state);
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
    fn apply(&self, dimensions: usize, texts: &[Vec<u32>], scratch: &mut Scratch) {
        let Scratch {
            state,
            query,
            key,
            value,
            mixed,
            room,
            ..
        } = scratch;
        self.query.apply(state, query, room);
        self.key.apply(state, key, room);
        self.value.apply(state, value, room);
        mixed.clear();
        mixed.resize(state.len(), 0.0);
        let mut from = 0;
        for text in texts {
            attend(scratch, dimensions, from, text.len());
            from += text.len();
        }
        let Scratch {
            state,
            mixed,
            inner,
            made,
            room,
            ..
        } = scratch;
        self.attention.apply(mixed, made, room);
        add(state, made);
        self.attention_norm.apply(state);
        self.inner.apply(state, inner, room);
        activate(inner);
        self.outer.apply(inner, made, room);
        add(state, made);
        self.outer_norm.apply(state);
    }
}

/// Applies attention among the tokens of one passage, `count` from `from` on.
fn attend(scratch: &mut Scratch, dimensions: usize, from: usize, count: usize) {
    let text = from * dimensions..(from + count) * dimensions;
    let (query, key) = (&scratch.query[text.clone()], &scratch.key[text.clone()]);
    let (value, mixed) = (&scratch.value[text.clone()], &mut scratch.mixed[text]);
    let (panel, room, scores) = (&mut scratch.panel, &mut scratch.room, &mut scratch.scores);
    let padded = count.next_multiple_of(PANEL);
    let scale = 1.0 / (PANEL as f32).sqrt();
    for start in (0..dimensions).step_by(PANEL) {
        let rows = |numbers, stride, start| RowView {
            numbers,
            stride,
            start,
            count,
        };
        scores.clear();
        scores.resize(count * padded, 0.0);
        arrange_in(room, rows(query, dimensions, start), PANEL);
        for first in (0..count).step_by(PANEL) {
            // Their keys side by side; zero where there is no token.
            panel.clear();
            panel.resize(PANEL, [0.0; PANEL]);
            let keys = key.chunks_exact(dimensions).skip(first).take(PANEL);
            for (at, key) in keys.enumerate() {
                for (place, number) in panel.iter_mut().zip(&key[start..start + PANEL]) {
                    place[at] = *number;
                }
            }
            add_product(room, panel, scores, padded, first);
        }
        distribute(scores, padded, count, scale);
        arrange_in(room, rows(scores, padded, 0), count);
        panel.clear();
        let values = value.chunks_exact(dimensions);
        panel.extend(values.map(|value| {
            let mut numbers = [0.0; PANEL];
            numbers.copy_from_slice(&value[start..start + PANEL]);
            numbers
        }));
        add_product(room, panel, mixed, dimensions, start);
    }
}
