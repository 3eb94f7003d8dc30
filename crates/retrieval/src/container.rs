//! A file of parts: what each part is, where it is, and a checksum of it.
//!
//! The head is a mark, a version, the number of parts, and a checksum of the table of parts, which comes next: for each
//! part its name, its place, its length and its checksum. All numbers are little-endian. Parts start at multiples of 64.

use std::io::{self, Read, Seek, SeekFrom};

use crate::bytes::Bytes;

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is something else.
    #[error("it is no index of this program")]
    Strange,
    /// It was made by another version of this program.
    #[error("it has another format version")]
    OtherVersion,
    /// It was made with another model or other rules.
    #[error("it was made with another model or other rules")]
    OtherModel,
    /// It is cut off, or its bytes are not what they were.
    #[error("it is damaged")]
    Damaged,
}

const MARK: &[u8; 8] = b"SECTILE\n";
const HEAD: usize = 24;
const ROW: usize = 32;
const ALIGNMENT: usize = 64;

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

/// A file that was opened. Its parts are there, but not yet compared with their checksums.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    name: Name,
    bytes: Bytes,
    checksum: u64,
    /// Whether it was compared with its checksum.
    is_checked: bool,
}

impl Container {
    pub(crate) fn open(file: &Bytes, version: u32) -> Result<Self, FormatError> {
        let bytes = file.as_ref();
        if bytes.get(..MARK.len()) != Some(MARK) {
            return Err(FormatError::Strange);
        }
        if number(bytes, 8, 4) != Some(u64::from(version)) {
            return Err(FormatError::OtherVersion);
        }
        let opened = || {
            let count = usize::try_from(number(bytes, 12, 4)?).ok()?;
            let table = bytes.get(HEAD..HEAD.checked_add(count.checked_mul(ROW)?)?)?;
            if u64::from(crc32fast::hash(table)) != number(bytes, 16, 8)? {
                return None;
            }
            let parts = table.chunks_exact(ROW).map(|row| {
                let start = usize::try_from(number(row, 8, 8)?).ok()?;
                let length = usize::try_from(number(row, 16, 8)?).ok()?;
                Some(Part {
                    name: row.get(..8)?.try_into().ok()?,
                    bytes: file.slice(start..start.checked_add(length)?)?,
                    checksum: number(row, 24, 8)?,
                    is_checked: false,
                })
            });
            parts.collect::<Option<Vec<Part>>>()
        };
        opened()
            .map(|parts| Self { parts })
            .ok_or(FormatError::Damaged)
    }

    /// A part, as it is.
    pub(crate) fn part(&self, name: &Name) -> Result<Bytes, FormatError> {
        let part = self.parts.iter().find(|part| part.name == *name);
        part.map(|part| part.bytes.clone())
            .ok_or(FormatError::Damaged)
    }

    /// A part that was compared with its checksum.
    pub(crate) fn checked_part(&mut self, name: &Name) -> Result<Bytes, FormatError> {
        let part = self.parts.iter_mut().find(|part| part.name == *name);
        let part = part.ok_or(FormatError::Damaged)?;
        part.is_checked = part.is_whole();
        part.is_checked
            .then(|| part.bytes.clone())
            .ok_or(FormatError::Damaged)
    }

    /// Compares the parts with their checksums that were not compared yet.
    pub(crate) fn verify(&self) -> Result<(), FormatError> {
        let whole = self
            .parts
            .iter()
            .filter(|part| !part.is_checked)
            .all(|part| {
                let is_whole = part.is_whole();
                // Comparing brought all of it into memory.
                part.bytes.release();
                is_whole
            });
        whole.then_some(()).ok_or(FormatError::Damaged)
    }
}

impl Part {
    fn is_whole(&self) -> bool {
        u64::from(crc32fast::hash(self.bytes.as_ref())) == self.checksum
    }
}

/// Compares all parts of a file with their checksums, without keeping it in memory.
pub(crate) fn verify(mut file: impl Read + Seek) -> io::Result<bool> {
    let mut head = [0; HEAD];
    if file.read_exact(&mut head).is_err() || head[..MARK.len()] != *MARK {
        return Ok(false);
    }
    let rows = number(&head, 12, 4).unwrap_or_default();
    let mut table = Vec::new();
    (&mut file)
        .take(rows * ROW as u64)
        .read_to_end(&mut table)?;
    if Some(u64::from(crc32fast::hash(&table))) != number(&head, 16, 8) {
        return Ok(false);
    }
    let mut buffer = vec![0; 1 << 16];
    for row in table.chunks_exact(ROW) {
        let field = |at: usize| number(row, at, 8).unwrap_or_default();
        let mut checksum = crc32fast::Hasher::new();
        file.seek(SeekFrom::Start(field(8)))?;
        let mut part = (&mut file).take(field(16));
        loop {
            match part.read(&mut buffer)? {
                0 => break,
                length => checksum.update(&buffer[..length]),
            }
        }
        if part.limit() > 0 || u64::from(checksum.finalize()) != field(24) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The little-endian number in `length` bytes, at most 8.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let mut number = [0; 8];
    number
        .get_mut(..length)?
        .copy_from_slice(bytes.get(at..at.checked_add(length)?)?);
    Some(u64::from_le_bytes(number))
}

/// The `at`th number of a part that holds numbers of four bytes.
pub(crate) fn u32_at(part: &[u8], at: usize) -> Option<u32> {
    let start = at.checked_mul(4)?;
    let bytes = part.get(start..start.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file() -> Vec<u8> {
        write(3, &[(*b"one     ", b"first"), (*b"two     ", &[7; 200])])
    }

    #[test]
    fn parts_come_back() {
        let mut container = Container::open(&Bytes::new(file()), 3).unwrap();
        assert_eq!(container.part(b"one     ").unwrap().as_ref(), b"first");
        assert_eq!(
            container.checked_part(b"two     ").unwrap().as_ref(),
            [7; 200]
        );
        assert_eq!(
            container.part(b"three   ").unwrap_err(),
            FormatError::Damaged
        );
        assert_eq!(
            Container::open(&Bytes::new(file()), 4).unwrap_err(),
            FormatError::OtherVersion
        );
        assert_eq!(
            Container::open(&Bytes::new(b"#!/bin/sh".to_vec()), 3).unwrap_err(),
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
            let opened = Container::open(&Bytes::new(damaged.clone()), 3);
            let verified = opened.and_then(|container| container.verify());
            prop_assert_eq!(verified.is_ok(), is_padding);
            prop_assert_eq!(verify(io::Cursor::new(&damaged)).unwrap(), is_padding);
            let mut short = file();
            prop_assume!(cut < short.len());
            short.truncate(cut);
            prop_assert!(Container::open(&Bytes::new(short), 3).is_err());
        }
    }
}
