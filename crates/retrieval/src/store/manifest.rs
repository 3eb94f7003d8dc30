//! The manifest of an index: when it was built, its segments, and each document with its state and its place.

use sectile_markdown::Digest;

use super::SEGMENT;
use crate::{
    Bytes, DocumentLocation, FormatError,
    bytes::Origin,
    container::{self, Container, Name},
};

/// The version of the format.
const VERSION: u32 = 1;
const FACTS: Name = *b"facts   ";
const SEGMENTS: Name = *b"segments";
const ENTRIES: Name = *b"entries ";
/// Bytes of an entry in addition to its name.
const FIXED: usize = 4 * 8 + 32 + 4 + 4;

/// The manifest of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The name of the indexed collection.
    pub name: String,
    /// When it was built, in milliseconds since 1970.
    pub made_at: i64,
    /// The names of its segments.
    pub segments: Vec<String>,
    /// Its documents, in order.
    pub entries: Vec<ManifestEntry>,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Its name.
    pub name: String,
    /// The stamp that the storage reported when it was read. Its meaning is up to the storage.
    pub stamp: [u64; 4],
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its location in the index.
    pub place: DocumentLocation,
}

impl Manifest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut facts = self.made_at.to_le_bytes().to_vec();
        facts.extend_from_slice(self.name.as_bytes());
        let mut entries = Vec::with_capacity(self.entries.len() * (FIXED + 40));
        for entry in &self.entries {
            let length = u32::try_from(entry.name.len()).unwrap_or(u32::MAX);
            entries.extend_from_slice(&length.to_le_bytes());
            entries.extend_from_slice(entry.name.as_bytes());
            for number in entry.stamp {
                entries.extend_from_slice(&number.to_le_bytes());
            }
            entries.extend_from_slice(entry.digest.as_bytes());
            for number in [entry.place.segment, entry.place.document] {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                entries.extend_from_slice(&number.to_le_bytes());
            }
        }
        let segments = self.segments.join("\n");
        container::write(
            VERSION,
            &[
                (FACTS, &facts),
                (SEGMENTS, segments.as_bytes()),
                (ENTRIES, &entries),
            ],
        )
    }

    pub(super) fn decode(file: &Bytes) -> Result<Self, FormatError> {
        let container = Container::open(&Origin::Memory(file.clone()), VERSION)?;
        let facts = container.part(&FACTS)?;
        let (made_at, name) = facts
            .as_ref()
            .split_first_chunk()
            .ok_or(FormatError::Damaged)?;
        let segments = segments(&container)?;
        let bytes = container.part(&ENTRIES)?;
        let mut rest = bytes.as_ref();
        let mut entries = Vec::with_capacity(rest.len() / (FIXED + 4));
        while !rest.is_empty() {
            let (entry, behind) = entry(rest).ok_or(FormatError::Damaged)?;
            entries.push(entry);
            rest = behind;
        }
        Ok(Self {
            name: text(name)?,
            made_at: i64::from_le_bytes(*made_at),
            segments,
            entries,
        })
    }

    /// Reads only the names of the segments.
    pub(super) fn segments_of(file: &Bytes) -> Result<Vec<String>, FormatError> {
        segments(&Container::open(&Origin::Memory(file.clone()), VERSION)?)
    }
}

fn text(bytes: &[u8]) -> Result<String, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|_| FormatError::Damaged)?;
    Ok(text.to_owned())
}

/// Reads the names of segments. They are file names, and a malicious file must not be able to name any other file.
fn segments(container: &Container) -> Result<Vec<String>, FormatError> {
    let names = text(container.part(&SEGMENTS)?.as_ref())?;
    let is_ours = |name: &str| {
        let digits = name.strip_prefix(SEGMENT);
        digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    match names.lines().all(is_ours) {
        true => Ok(names.lines().map(str::to_owned).collect()),
        false => Err(FormatError::Damaged),
    }
}

/// Reads the first entry; returns it and the rest.
fn entry(bytes: &[u8]) -> Option<(ManifestEntry, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (name, rest) = rest.split_at_checked(length)?;
    let mut rest = rest;
    let mut stamp = [0; 4];
    for number in &mut stamp {
        let (bytes, behind) = rest.split_first_chunk()?;
        (*number, rest) = (u64::from_le_bytes(*bytes), behind);
    }
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    let (segment, rest) = rest.split_first_chunk()?;
    let (document, rest) = rest.split_first_chunk()?;
    let entry = ManifestEntry {
        name: std::str::from_utf8(name).ok()?.to_owned(),
        stamp,
        digest: Digest::from_bytes(*digest),
        place: DocumentLocation {
            segment: usize::try_from(u32::from_le_bytes(*segment)).ok()?,
            document: usize::try_from(u32::from_le_bytes(*document)).ok()?,
        },
    };
    Some((entry, rest))
}
