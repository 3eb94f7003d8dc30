//! The file of a model. `model/pack.py` defines it and writes it.
//!
//! A head of 64 bytes, the pieces of words, and tensors, each part at a multiple of 64. A matrix is two parts: codes of four
//! bits in groups of 32, and a scale for each group. Nothing is unpacked when a file is opened.

use super::ModelError;

const MARK: &[u8] = b"SECTEMB2";
const HEAD: usize = 64;
const ALIGNMENT: usize = 64;
/// Codes that share a scale.
pub(super) const GROUP: usize = 32;
/// Bytes of the codes of a group: code `j` in the lower half of byte `j`, code `j + 16` in its upper half.
pub(super) const GROUP_BYTES: usize = GROUP / 2;
/// What a code has in addition to its number.
pub(super) const ADDED: u8 = 8;

/// What kind of model a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Static = 1,
    Transformer = 2,
}

/// The head of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) dimensions: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) positions: usize,
    pub(super) pieces: usize,
    /// How much meaning counts beside words, in millionths.
    pub(super) weight: u64,
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

/// The head, the pieces (each behind its length in one byte), and what comes behind them.
pub(super) fn open(
    file: &'static [u8],
    kind: Kind,
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
    let weight = f32::from_bits(number(40)?);
    if !(0.0..=1.0).contains(&weight) {
        return Err(ModelError::Damaged);
    }
    let head = Head {
        dimensions: size(12)?,
        layers: size(16)?,
        heads: size(20)?,
        inner: size(24)?,
        positions: size(28)?,
        pieces: size(32)?,
        weight: (f64::from(weight) * 1_000_000.0).round() as u64,
    };
    if head.dimensions == 0 || head.dimensions % 64 > 0 {
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

    /// Numbers of 16 bits.
    pub(super) fn vector(&mut self, length: usize) -> Result<&'static [u8], ModelError> {
        self.next(length * 2)
    }

    /// Says whether this was all.
    pub(super) fn end(self) -> Result<(), ModelError> {
        match self.at == self.file.len() {
            true => Ok(()),
            false => Err(ModelError::Damaged),
        }
    }
}

/// A scale as a whole number of 2^-24: every number of 16 bits is one. Those that are none (infinite, not a number) and
/// those below zero are none of ours, and taken for others that are harmless.
pub(super) fn whole_scale(bytes: [u8; 2]) -> u64 {
    let bits = u64::from(u16::from_le_bytes(bytes) & 0x7fff);
    match bits >> 10 {
        0 => bits,
        31 => 0,
        exponent => ((bits & 0x3ff) | 0x400) << (exponent - 1),
    }
}

/// A number of 16 bits as one of 32.
#[inline(always)]
pub(super) fn f32_of(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let sign = (bits & 0x8000) << 16;
    // Its exponent counts from another number: 2^112 makes up for that, exactly, also where there are leading zeros.
    let size = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    f32::from_bits(size.to_bits() | sign)
}
