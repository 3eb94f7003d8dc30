//! The file format of a model. `model/pack.py` defines and writes it.
//!
//! A header of 64 bytes, the word pieces, and tensors, each part at a multiple of 64. A matrix consists of two parts:
//! 4-bit codes, and a scale for each group of 32. Nothing is unpacked when a file is opened.

use super::{MeaningWeight, ModelError};

const MARK: &[u8] = b"SECTEMB2";
const HEAD: usize = 64;
const ALIGNMENT: usize = 64;
/// Codes that share a scale.
pub(super) const GROUP: usize = 32;
/// Bytes of a group of codes of a table: code `j` in the low nibble of byte `j`, code `j + 16` in the high nibble.
pub(super) const GROUP_BYTES: usize = GROUP / 2;
/// Inputs of a map whose codes lie side by side, for each output of a panel.
pub(super) const STEP_INPUTS: usize = 4;
/// Steps of a group of inputs.
pub(super) const STEPS: usize = GROUP / STEP_INPUTS;
/// Codes of a step.
pub(super) const STEP: usize = GROUP * STEP_INPUTS;
/// Bytes of a step: code `j` in the low nibble of byte `j`, code `j + 64` in the high nibble.
pub(super) const STEP_BYTES: usize = STEP / 2;
/// The offset of a stored code from its value.
pub(super) const ADDED: u8 = 8;

/// The kind of model in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelKind {
    Static = 1,
    /// 2 was a transformer whose maps lay in another order.
    Transformer = 3,
}

/// The header of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) dimensions: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) positions: usize,
    pub(super) pieces: usize,
    pub(super) weight: MeaningWeight,
}

/// Codes and scales.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) codes: &'static [u8],
    pub(super) scales: &'static [u8],
}

/// Reads one part after the other.
pub(super) struct Parts {
    file: &'static [u8],
    at: usize,
}

/// Reads the header and the pieces (each preceded by its length in one byte); returns a reader for the parts that
/// follow.
pub(super) fn open(
    file: &'static [u8],
    kind: ModelKind,
) -> Result<(Head, &'static [u8], Parts), ModelError> {
    let number = |at: usize| {
        let bytes = file.get(at..at + 4).ok_or(ModelError::Damaged)?;
        let bytes = bytes.try_into().map_err(|_| ModelError::Damaged)?;
        Ok(u32::from_le_bytes(bytes))
    };
    if !file.starts_with(MARK) {
        return Err(ModelError::Damaged);
    }
    if number(8)? != kind as u32 {
        return Err(ModelError::OtherKind);
    }
    let size = |at: usize| Ok(number(at)? as usize);
    let millionths = |at: usize| match f32::from_bits(number(at)?) {
        share @ 0.0..=1.0 => Ok((f64::from(share) * 1_000_000.0).round() as u64),
        _ => Err(ModelError::Damaged),
    };
    let head = Head {
        dimensions: size(12)?,
        layers: size(16)?,
        heads: size(20)?,
        inner: size(24)?,
        positions: size(28)?,
        pieces: size(32)?,
        weight: MeaningWeight {
            most: millionths(40)?,
            discount: millionths(44)?,
        },
    };
    if head.dimensions == 0 || !head.dimensions.is_multiple_of(64) {
        return Err(ModelError::OtherKind);
    }
    let mut parts = Parts { file, at: HEAD };
    let words = parts.next(size(36)?)?;
    Ok((head, words, parts))
}

impl Parts {
    fn next(&mut self, length: usize) -> Result<&'static [u8], ModelError> {
        let start = self.at.next_multiple_of(ALIGNMENT);
        let end = start.checked_add(length).ok_or(ModelError::Damaged)?;
        self.at = end;
        self.file.get(start..end).ok_or(ModelError::Damaged)
    }

    pub(super) fn matrix(&mut self, rows: usize, columns: usize) -> Result<Matrix, ModelError> {
        let codes = rows.checked_mul(columns).ok_or(ModelError::Damaged)?;
        Ok(Matrix {
            codes: self.next(codes / 2)?,
            scales: self.next(codes / GROUP * 2)?,
        })
    }

    /// Reads a vector of 16-bit floats.
    pub(super) fn vector(&mut self, length: usize) -> Result<&'static [u8], ModelError> {
        self.next(length * 2)
    }

    /// Checks that nothing is left.
    pub(super) fn end(self) -> Result<(), ModelError> {
        match self.at == self.file.len() {
            true => Ok(()),
            false => Err(ModelError::Damaged),
        }
    }
}

/// Returns a scale as an integer multiple of 2^-24, which every 16-bit float is. Infinite, NaN and negative values are
/// invalid here and become harmless ones.
pub(super) fn whole_scale(bytes: [u8; 2]) -> u64 {
    let bits = u64::from(u16::from_le_bytes(bytes) & 0x7fff);
    match bits >> 10 {
        0 => bits,
        31 => 0,
        exponent => ((bits & 0x3ff) | 0x400) << (exponent - 1),
    }
}

/// Converts a 16-bit float to 32 bits.
#[inline(always)]
pub(super) fn f32_of(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let sign = (bits & 0x8000) << 16;
    // The exponents have different biases: multiplying by 2^112 corrects for that, exactly, even for subnormal numbers.
    let size = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    f32::from_bits(size.to_bits() | sign)
}
