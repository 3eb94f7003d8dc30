//! The manifest of an index: when it was built, its segments, and each document with its state and its place.

use sectile_markdown::Digest;

use super::{MOST_MANIFEST, SEGMENT};
use crate::{
    Bytes, DocumentLocation, FormatError,
    bytes::Origin,
    container::{self, Container, Name},
    varint::{self, Numbers},
};

/// The version of the format.
const VERSION: u32 = 2;
const FACTS: Name = *b"facts   ";
const SEGMENTS: Name = *b"segments";
const ENTRIES: Name = *b"entries ";
/// Bytes of the stamp and the digest of an entry. Before them come how many bytes of its name the one before has too, how
/// many more there are, and these; behind them its segment and its document, in four bytes at most each.
const FIXED: usize = 4 * 8 + 32;

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
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let mut last: &[u8] = b"";
        for entry in &self.entries {
            let name = entry.name.as_bytes();
            let shared = last
                .iter()
                .zip(name)
                .take_while(|(one, other)| one == other);
            let shared = shared.count();
            varint::write(&mut entries, number(shared));
            varint::write(&mut entries, number(name.len() - shared));
            entries.extend_from_slice(&name[shared..]);
            last = name;
            for number in entry.stamp {
                entries.extend_from_slice(&number.to_le_bytes());
            }
            entries.extend_from_slice(entry.digest.as_bytes());
            varint::write(&mut entries, number(entry.place.segment));
            varint::write(&mut entries, number(entry.place.document));
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
        let mut last = Vec::new();
        // Names that share a long beginning would otherwise take more memory than the largest manifest.
        let mut room = MOST_MANIFEST as usize;
        while !rest.is_empty() {
            let (entry, behind) = entry(rest, &mut last).ok_or(FormatError::Damaged)?;
            room = room
                .checked_sub(entry.name.len())
                .ok_or(FormatError::Damaged)?;
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

/// Reads the first entry; returns it and the rest. `name` is the name of the entry before, and becomes that of this one.
fn entry<'b>(bytes: &'b [u8], name: &mut Vec<u8>) -> Option<(ManifestEntry, &'b [u8])> {
    let mut numbers = Numbers::new(bytes);
    let shared = numbers.next()? as usize;
    let length = numbers.next()? as usize;
    let (more, rest) = numbers.rest().split_at_checked(length)?;
    name.get(..shared)?;
    name.truncate(shared);
    name.extend_from_slice(more);
    let mut rest = rest;
    let mut stamp = [0; 4];
    for number in &mut stamp {
        let (bytes, behind) = rest.split_first_chunk()?;
        (*number, rest) = (u64::from_le_bytes(*bytes), behind);
    }
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    let mut numbers = Numbers::new(rest);
    let (segment, document) = (numbers.next()? as usize, numbers.next()? as usize);
    let entry = ManifestEntry {
        name: std::str::from_utf8(name).ok()?.to_owned(),
        stamp,
        digest: Digest::from_bytes(*digest),
        place: DocumentLocation { segment, document },
    };
    Some((entry, numbers.rest()))
}
