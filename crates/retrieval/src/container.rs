//! A file of named parts, each with a checksum.
//!
//! The header is a magic number, a version, the number of parts, and a checksum of the table of parts, which comes
//! next: for each part its name, offset, length and checksum. All numbers are little-endian. Parts start at multiples
//! of 64.

use std::ops::Range;

use crate::bytes::{Bytes, LazyBytes, Origin};

/// The reason why a file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is a different kind of file.
    #[error("it is not an index of this program")]
    Strange,
    /// It was written by another version of this program.
    #[error("it has a different format version")]
    OtherVersion,
    /// It was made with another model or other rules.
    #[error("it was made with a different model or different rules")]
    OtherModel,
    /// It is truncated, or its bytes have changed.
    #[error("it is damaged")]
    Damaged,
}

const MARK: &[u8; 8] = b"SECTILE\n";
const HEAD: usize = 24;
const ROW: usize = 32;
const ALIGNMENT: usize = 64;
/// More parts than any file has.
const MOST_PARTS: u64 = 64;

/// The name of a part.
pub(crate) type Name = [u8; 8];

/// Writes a file.
pub(crate) fn write(version: u32, parts: &[(Name, &[u8])]) -> Vec<u8> {
    let mut at = (HEAD + parts.len() * ROW).next_multiple_of(ALIGNMENT);
    let mut table = Vec::with_capacity(parts.len() * ROW);
    for (name, part) in parts {
        table.extend_from_slice(name);
        table.extend_from_slice(&(at as u64).to_le_bytes());
        table.extend_from_slice(&(part.len() as u64).to_le_bytes());
        table.extend_from_slice(&u64::from(crc32fast::hash(part)).to_le_bytes());
        at = (at + part.len()).next_multiple_of(ALIGNMENT);
    }
    let mut file = Vec::with_capacity(at);
    file.extend_from_slice(MARK);
    file.extend_from_slice(&version.to_le_bytes());
    file.extend_from_slice(&u32::try_from(parts.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend_from_slice(&u64::from(crc32fast::hash(&table)).to_le_bytes());
    file.extend_from_slice(&table);
    for (_, part) in parts {
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        file.extend_from_slice(part);
    }
    file
}

/// An open file. Each part is verified against its checksum when it is taken out.
#[derive(Debug)]
pub(crate) struct Container {
    origin: Origin,
    parts: Vec<ContainerPart>,
}

#[derive(Debug)]
struct ContainerPart {
    name: Name,
    range: Range<u64>,
    checksum: u64,
}

impl Container {
    pub(crate) fn open(origin: &Origin, version: u32) -> Result<Self, FormatError> {
        let head = origin.bytes(0..origin.len().min(HEAD as u64));
        let head = head.filter(|head| !head.as_ref().is_empty());
        let head = head.ok_or(FormatError::Damaged)?;
        let head = head.as_ref();
        if head.get(..MARK.len()) != Some(MARK) {
            return Err(FormatError::Strange);
        }
        if number(head, 8, 4) != Some(u64::from(version)) {
            return Err(FormatError::OtherVersion);
        }
        let opened = || {
            let count = number(head, 12, 4).filter(|count| *count <= MOST_PARTS)?;
            let table = origin.bytes(HEAD as u64..HEAD as u64 + count * ROW as u64)?;
            if u64::from(crc32fast::hash(table.as_ref())) != number(head, 16, 8)? {
                return None;
            }
            let parts = table.as_ref().chunks_exact(ROW).map(|row| {
                let start = number(row, 8, 8)?;
                let range = start..start.checked_add(number(row, 16, 8)?)?;
                (range.end <= origin.len()).then_some(ContainerPart {
                    name: row.get(..8)?.try_into().ok()?,
                    range,
                    checksum: number(row, 24, 8)?,
                })
            });
            parts.collect::<Option<Vec<ContainerPart>>>()
        };
        let parts = opened().ok_or(FormatError::Damaged)?;
        Ok(Self {
            origin: origin.clone(),
            parts,
        })
    }

    fn find(&self, name: &Name) -> Result<&ContainerPart, FormatError> {
        let part = self.parts.iter().find(|part| part.name == *name);
        part.ok_or(FormatError::Damaged)
    }

    /// Reads a part into memory.
    pub(crate) fn part(&self, name: &Name) -> Result<Bytes, FormatError> {
        let part = self.find(name)?;
        let bytes = self.origin.bytes(part.range.clone());
        bytes
            .filter(|bytes| u64::from(crc32fast::hash(bytes.as_ref())) == part.checksum)
            .ok_or(FormatError::Damaged)
    }

    /// Returns a part that stays on disk.
    pub(crate) fn stretch(&self, name: &Name) -> Result<LazyBytes, FormatError> {
        let part = self.find(name)?;
        self.origin.stretch(part.range.clone(), part.checksum)
    }
}

/// Reads a little-endian number of `length` bytes, at most 8.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let mut number = [0; 8];
    number
        .get_mut(..length)?
        .copy_from_slice(bytes.get(at..at.checked_add(length)?)?);
    Some(u64::from_le_bytes(number))
}

/// Returns the number at index `at` of a part that holds 4-byte numbers.
pub(crate) fn u32_at(part: &[u8], at: usize) -> Option<u32> {
    let start = at.checked_mul(4)?;
    let bytes = part.get(start..start.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Returns the name and range of each part of an intact file.
#[cfg(test)]
pub(crate) fn parts(file: &[u8]) -> Vec<(Name, Range<usize>)> {
    let count = number(file, 12, 4).unwrap() as usize;
    let rows = file[HEAD..HEAD + count * ROW].chunks_exact(ROW);
    let parts = rows.map(|row| {
        let start = number(row, 8, 8).unwrap() as usize;
        let end = start + number(row, 16, 8).unwrap() as usize;
        (row[..8].try_into().unwrap(), start..end)
    });
    parts.collect()
}

/// Recomputes the checksums of a modified file, as an attacker would.
#[cfg(test)]
pub(crate) fn seal(file: &mut [u8]) {
    let parts = parts(file);
    for (number, (_, range)) in parts.iter().enumerate() {
        let checksum = u64::from(crc32fast::hash(&file[range.clone()]));
        let at = HEAD + number * ROW + 24;
        file[at..at + 8].copy_from_slice(&checksum.to_le_bytes());
    }
    let table = HEAD..HEAD + parts.len() * ROW;
    let checksum = u64::from(crc32fast::hash(&file[table]));
    file[16..24].copy_from_slice(&checksum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file() -> Vec<u8> {
        write(3, &[(*b"one     ", b"first"), (*b"two     ", &[7; 200])])
    }

    fn memory(bytes: Vec<u8>) -> Origin {
        Origin::Memory(Bytes::new(bytes))
    }

    #[test]
    fn parts_come_back() {
        let container = Container::open(&memory(file()), 3).unwrap();
        assert_eq!(container.part(b"one     ").unwrap().as_ref(), b"first");
        let two = container.stretch(b"two     ").unwrap();
        assert_eq!(two.whole().unwrap().as_ref(), [7; 200]);
        assert_eq!(
            container.part(b"three   ").unwrap_err(),
            FormatError::Damaged
        );
        assert_eq!(
            Container::open(&memory(file()), 4).unwrap_err(),
            FormatError::OtherVersion
        );
        assert_eq!(
            Container::open(&memory(b"#!/bin/sh".to_vec()), 3).unwrap_err(),
            FormatError::Strange
        );
    }

    proptest! {
        #[test]
        fn damage_is_noticed(at in 12..264_usize, cut in 0..264_usize, flip in 1..=255_u8) {
            let mut damaged = file();
            prop_assume!(at < damaged.len());
            let is_padding = (88..128).contains(&at) || (133..192).contains(&at);
            damaged[at] ^= flip;
            let opened = Container::open(&memory(damaged), 3);
            let is_whole = opened.and_then(|container| {
                container.part(b"one     ")?;
                container.part(b"two     ")?;
                container.stretch(b"two     ")
            });
            prop_assert_eq!(is_whole.is_ok(), is_padding);
            let mut short = file();
            prop_assume!(cut < short.len());
            short.truncate(cut);
            prop_assert!(Container::open(&memory(short), 3).is_err());
        }
    }
}
