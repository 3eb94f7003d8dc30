//! The state of an index as a bucket keeps it: one object that names the files of an index folder, piece by piece.
//!
//! It is read from a bucket that anyone with the key may write, so everything in it is checked before it is used.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use sectile_library::StorageError;
use sectile_markdown::Digest;
use sectile_retrieval::Store;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "sectile-index";
const VERSION: u32 = 1;
/// The bytes of a piece: a request for one fits into the time limit of requests even over a slow line.
pub(super) const PIECE_BYTES: u64 = 8 << 20;
/// The largest state that is read: it has some 130 bytes for each piece, so this is an index of 200 GB.
pub(super) const MOST_STATE_BYTES: u64 = 4 << 20;
/// The largest file, and the largest sum of them. The code that opens an index takes nothing larger.
const MOST_FILE_BYTES: u64 = 1 << 30;
const MOST_BYTES: u64 = 16 << 30;
/// Hexadecimal digits of a digest, and of the number of a build.
const DIGEST_DIGITS: usize = 64;
const BUILD_DIGITS: usize = 16;

/// A published state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedState {
    format: String,
    version: u32,
    /// The collection; empty if its index was removed.
    pub(super) collection: String,
    /// The number of states before this one.
    pub(super) generation: u64,
    /// The number of the build. It makes every state differ from all others, so that no two have the same tag.
    pub(super) build: String,
    pub(super) index_as_of: i64,
    /// Empty if the index was removed.
    pub(super) files: Vec<PublishedFile>,
}

/// A file of an index folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedFile {
    pub(super) name: String,
    pub(super) pieces: Vec<PublishedPiece>,
}

/// A part of a file, which is an object of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedPiece {
    /// The SHA-256 of its bytes, and the number of the build that uploaded it.
    pub(super) key: String,
    pub(super) bytes: u64,
}

/// The only parts of a state that every version has.
#[derive(Deserialize)]
struct StateHead {
    format: String,
    version: u32,
}

/// The reason why a state cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateError {
    /// It was written by a version of this program with another format.
    OtherVersion,
    /// It is not a state of this collection's index, or something in it is not true.
    Damaged,
}

impl StateError {
    /// Returns the reason in a few words.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::OtherVersion => "its format is that of another version",
            Self::Damaged => "its manifest is damaged",
        }
    }
}

impl From<StateError> for StorageError {
    fn from(error: StateError) -> Self {
        let message = match error {
            StateError::OtherVersion => {
                "The index in the bucket has the format of another version of Sectile. Use the same version everywhere, or remove the index with `sectile notebook bucket remove` and build it again."
            }
            StateError::Damaged => {
                "The index in the bucket is damaged. Build it again with `sectile notebook index --to s3`."
            }
        };
        Self::OtherRules {
            message: message.to_owned(),
        }
    }
}

impl PublishedPiece {
    /// Names a piece with these bytes, uploaded by a build.
    pub(super) fn new(digest: &Digest, build: &str, bytes: u64) -> Self {
        Self {
            key: format!("{digest}-{build}"),
            bytes,
        }
    }

    /// Returns the digest of its bytes in hexadecimal digits.
    pub(super) fn digest(&self) -> &str {
        self.key.get(..DIGEST_DIGITS).unwrap_or_default()
    }

    /// Returns whether these are its bytes.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.bytes && Digest::of(bytes).to_string() == self.digest()
    }

    fn is_valid(&self) -> bool {
        let is_hex = |text: &str, digits: usize| {
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            text.len() == digits && text.bytes().all(is_digit)
        };
        let parts = self.key.split_once('-');
        let is_key = parts.is_some_and(|(digest, build)| {
            is_hex(digest, DIGEST_DIGITS) && is_hex(build, BUILD_DIGITS)
        });
        is_key && (1..=PIECE_BYTES).contains(&self.bytes)
    }
}

impl PublishedFile {
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    /// Returns a digest of what the file contains.
    pub(super) fn identity(&self) -> Digest {
        let digests: Vec<&str> = self.pieces.iter().map(PublishedPiece::digest).collect();
        Digest::of(digests.join("\n").as_bytes())
    }

    fn is_valid(&self) -> bool {
        // The sum cannot overflow: a state has room for a few ten thousand pieces.
        Store::is_copied(&self.name)
            && !self.pieces.is_empty()
            && self.pieces.iter().all(PublishedPiece::is_valid)
            && self.bytes() <= MOST_FILE_BYTES
    }
}

impl PublishedState {
    /// Creates the state after `before`.
    pub(super) fn after(
        before: Option<&Self>,
        build: &str,
        (collection, index_as_of): (&str, i64),
        files: Vec<PublishedFile>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            collection: collection.to_owned(),
            generation: before.map_or(0, |before| before.generation.saturating_add(1)),
            build: build.to_owned(),
            index_as_of,
            files,
        }
    }

    /// Creates the state that says that the index was removed. It has no name, and says so to builds that began before.
    pub(super) fn removal(before: Option<&Self>, build: &str) -> Self {
        Self::after(before, build, ("", 0), Vec::new())
    }

    pub(super) fn is_removal(&self) -> bool {
        self.collection.is_empty() && self.files.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(PublishedFile::bytes).sum()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Returns the pieces by the digests of their bytes.
    pub(super) fn pieces(&self) -> HashMap<&str, &PublishedPiece> {
        let pieces = self.files.iter().flat_map(|file| &file.pieces);
        pieces.map(|piece| (piece.digest(), piece)).collect()
    }

    /// Returns whether the files of both are the same.
    pub(super) fn has_same_files(&self, files: &[PublishedFile]) -> bool {
        let told = |files: &[PublishedFile]| -> Vec<(String, Digest)> {
            let files = files.iter();
            files
                .map(|file| (file.name.clone(), file.identity()))
                .collect()
        };
        told(&self.files) == told(files)
    }

    pub(super) fn encode(&self) -> Result<Bytes, StorageError> {
        match serde_json::to_vec(self) {
            Ok(bytes) if bytes.len() as u64 <= MOST_STATE_BYTES => Ok(bytes.into()),
            _ => Err(StorageError::failed(
                "The index is too large to be kept in a bucket. Divide the collection.",
            )),
        }
    }

    /// Reads the state of a collection's index.
    pub(super) fn decode(bytes: &[u8], collection: &str) -> Result<Self, StateError> {
        let state = Self::decode_any(bytes)?;
        match state.is_removal() || state.collection == collection {
            true => Ok(state),
            false => Err(StateError::Damaged),
        }
    }

    /// Reads the state of any collection's index.
    pub(super) fn decode_any(bytes: &[u8]) -> Result<Self, StateError> {
        let head: StateHead = serde_json::from_slice(bytes).map_err(|_| StateError::Damaged)?;
        if head.format != FORMAT {
            return Err(StateError::Damaged);
        }
        if head.version != VERSION {
            return Err(StateError::OtherVersion);
        }
        let state: Self = serde_json::from_slice(bytes).map_err(|_| StateError::Damaged)?;
        let mut names = HashSet::new();
        let are_valid = state
            .files
            .iter()
            .all(|file| file.is_valid() && names.insert(file.name.as_str()));
        let is_first = state
            .files
            .first()
            .is_some_and(|file| file.name == "manifest");
        let is_valid = are_valid && state.bytes() <= MOST_BYTES;
        match is_valid && (is_first != state.is_removal()) {
            true => Ok(state),
            false => Err(StateError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> PublishedState {
        let piece = |text: &[u8]| {
            PublishedPiece::new(&Digest::of(text), "0123456789abcdef", text.len() as u64)
        };
        let file = |name: &str, text: &[u8]| PublishedFile {
            name: name.to_owned(),
            pieces: vec![piece(text)],
        };
        let segment = format!("segment-{}", "0".repeat(32));
        let files = vec![file("manifest", b"m"), file(&segment, b"s")];
        PublishedState::after(None, "b", ("lab", 7), files)
    }

    #[test]
    fn what_was_written_is_read() {
        let state = state();
        let bytes = state.encode().unwrap();
        assert_eq!(PublishedState::decode(&bytes, "lab"), Ok(state.clone()));
        assert_eq!(
            PublishedState::decode(&bytes, "another"),
            Err(StateError::Damaged)
        );
        let removal = PublishedState::removal(Some(&state), "c");
        assert_eq!(removal.generation, 1);
        let bytes = removal.encode().unwrap();
        assert_eq!(PublishedState::decode(&bytes, "lab"), Ok(removal));
    }

    #[test]
    fn lies_are_noticed() {
        let text = String::from_utf8(state().encode().unwrap().to_vec()).unwrap();
        let digest = Digest::of(b"s").to_string();
        for (from, to) in [
            ("sectile-index", "another"),
            ("\"files\":[", "\"more\":1,\"files\":["),
            ("segment-000", "segment-../"),
            ("segment-", "label-"),
            ("\"manifest\"", "\"lock\""),
            ("\"bytes\":1", "\"bytes\":0"),
            ("\"bytes\":1", "\"bytes\":9000000"),
            ("\"bytes\":1", "\"bytes\":-1"),
            ("0123456789abcdef", "../456789abcdef"),
            ("0123456789abcdef", "0123456789ABCDEF"),
            (digest.as_str(), "x"),
            ("\"generation\":0", "\"generation\":\"0\""),
            ("\"collection\":\"lab\"", "\"collection\":\"\""),
        ] {
            assert!(text.contains(from), "{from}");
            let lie = text.replace(from, to);
            let read = PublishedState::decode(lie.as_bytes(), "lab");
            assert_eq!(read, Err(StateError::Damaged), "{from} {to}");
        }
        let newer = text.replace("\"version\":1", "\"version\":2,\"new\":{}");
        assert_eq!(
            PublishedState::decode(newer.as_bytes(), "lab"),
            Err(StateError::OtherVersion)
        );
        let mut twice = state();
        twice.files.push(twice.files[1].clone());
        let bytes = twice.encode().unwrap();
        assert_eq!(
            PublishedState::decode(&bytes, "lab"),
            Err(StateError::Damaged)
        );
        for end in 0..text.len() {
            let begun = PublishedState::decode(&text.as_bytes()[..end], "lab");
            assert_eq!(begun, Err(StateError::Damaged), "{end}");
        }
    }
}
