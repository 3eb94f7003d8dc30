//! The records of the journal. Their JSON form is the format on disk: fields are added, never renamed.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use sectile_markdown::{
    Change, Changes, Digest, Span,
    align::{Fingerprint, body_key, heading_key},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// The first line.
    Header(Header),
    /// A document whose sections have ids from now on.
    Adopt(Adoption),
    /// The state of a document when older entries were dropped.
    Checkpoint(Box<Checkpoint>),
    /// A change that is about to be made.
    Intent(Box<Entry>),
    /// The change of this entry was made.
    Commit {
        /// Its number.
        entry: u64,
    },
    /// The change of this entry was not made.
    Abort {
        /// Its number.
        entry: u64,
    },
    /// A change that was already made when it was recorded.
    Done(Box<Entry>),
    /// The ids of a document that was only read. It is in the id file, not in the journal.
    Sighting(Box<Sighting>),
    /// The id file's earlier record of the document at this path no longer counts.
    Forget {
        /// The path.
        path: String,
    },
}

/// Bound on the numbers of entries and documents, which no folder reaches by counting. Otherwise a journal that came
/// with a folder could use the numbers up.
const MOST_NUMBERS: u64 = 1 << 48;

impl Record {
    /// Returns whether its numbers can be the result of counting.
    pub(super) fn is_plausible(&self) -> bool {
        let numbers: Vec<u64> = match self {
            Self::Header(header) => vec![header.first_entry],
            Self::Adopt(adopt) => vec![adopt.document],
            Self::Checkpoint(checkpoint) => vec![checkpoint.document],
            Self::Intent(entry) | Self::Done(entry) => {
                let documents = entry.steps.iter().map(|step| step.document);
                documents.chain([entry.number]).collect()
            }
            Self::Commit { entry } | Self::Abort { entry } => vec![*entry],
            Self::Sighting(_) | Self::Forget { .. } => Vec::new(),
        };
        numbers.iter().all(|number| *number < MOST_NUMBERS)
    }
}

/// The header of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the format.
    pub(crate) version: u32,
    /// Increases when the journal is rewritten.
    pub(crate) generation: u64,
    /// When it was created, in milliseconds since 1970.
    pub(crate) created: i64,
    /// Earlier versions counted ids from here. It is written so that they can read the journal.
    #[serde(default)]
    pub(crate) first_id: u64,
    /// Entries with smaller numbers were dropped.
    #[serde(default)]
    pub(crate) first_entry: u64,
    /// Length of the rest of the journal when it was rewritten, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) rewritten_bytes: u64,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            version: super::VERSION,
            generation: 1,
            created: 0,
            first_id: 0,
            first_entry: 0,
            rewritten_bytes: 0,
        }
    }
}

/// A document that is about to be edited for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Adoption {
    pub(crate) document: u64,
    pub(crate) path: String,
    pub(crate) hash: String,
    /// When the file was created, in milliseconds since 1970. Edits replace the file, so the time cannot be read later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<i64>,
    pub(crate) sections: Vec<Mark>,
}

/// A section as it was when its document entered the journal. Only earlier versions wrote more than the id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) heading: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) path: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) body: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) empty: bool,
}

/// The sections of a document that was read and never edited, so that they keep their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sighting {
    pub(crate) path: String,
    /// Digest of the document's bytes.
    pub(crate) hash: String,
    /// When the file was created, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<i64>,
    pub(crate) ids: Vec<String>,
    pub(crate) prints: Prints,
    /// Whether the document was empty when it was seen. Then these are its previous sections, in case they come back
    /// unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) was_emptied: bool,
}

impl Sighting {
    /// Returns the ids of the sections that the document has.
    pub(crate) fn ids_now(self) -> Vec<String> {
        if self.was_emptied {
            Vec::new()
        } else {
            self.ids
        }
    }
}

/// The fingerprints of a document's sections, in order: 24 bytes each, and none of their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prints(Vec<[u64; 3]>);

impl Prints {
    pub(crate) fn of(prints: &[Fingerprint]) -> Self {
        let packed = prints.iter().map(|one| [one.heading, one.path, one.body]);
        Self(packed.collect())
    }

    /// Converts the marks of an earlier version; empty if one of them cannot be read.
    pub(crate) fn of_marks(marks: &[Mark]) -> Self {
        let packed = marks.iter().map(|mark| {
            let body = body_key(&Digest::parse(&mark.body)?);
            Some([heading_key(&mark.heading), mark.path, body])
        });
        Self(packed.collect::<Option<Vec<_>>>().unwrap_or_default())
    }

    pub(crate) fn fingerprints(&self) -> Vec<Fingerprint> {
        let of_nothing = body_key(&Digest::of(b""));
        let unpacked = self.0.iter().map(|[heading, path, body]| Fingerprint {
            heading: *heading,
            path: *path,
            body: *body,
            lines: Vec::new(),
            is_empty: *body == of_nothing,
        });
        unpacked.collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Prints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self
            .0
            .iter()
            .flatten()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Prints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(de::Error::custom)?;
        let numbers = bytes.as_chunks::<8>();
        let prints = numbers.0.as_chunks::<3>();
        if !numbers.1.is_empty() || !prints.1.is_empty() {
            return Err(de::Error::custom("not whole prints"));
        }
        let unpacked = prints.0.iter().map(|print| print.map(u64::from_le_bytes));
        Ok(Self(unpacked.collect()))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A document at the point where its history now starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) document: u64,
    /// `None` for a deleted document.
    pub(crate) path: Option<String>,
    pub(crate) hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<i64>,
    pub(crate) ids: Vec<String>,
    /// Ids of deleted sections, with the entry that deleted each.
    pub(crate) deleted: Vec<(String, u64)>,
    /// Fingerprints of the sections, if the text is unknown.
    #[serde(default, skip_serializing_if = "Prints::is_empty")]
    pub(crate) prints: Prints,
    /// The same, as written by earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Mark>,
}

/// A history entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// Milliseconds since 1970.
    pub(crate) time: i64,
    /// The caller that asked for it.
    pub(crate) actor: String,
    /// The operation that was asked for: the name of a tool, or `external_edit`.
    pub(crate) operation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<Request>,
    pub(crate) kind: EntryKind,
    /// The folder that moves with everything in it. The documents in it are moved by this, not by their steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<FolderMove>,
    pub(crate) steps: Vec<Step>,
}

/// A folder that moves with everything in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FolderMove {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl FolderMove {
    /// Returns the path afterwards of something in the folder, or `None` for anything else.
    pub(crate) fn moved(&self, path: &str) -> Option<String> {
        below(path, &self.from).map(|rest| format!("{}{rest}", self.to))
    }

    /// Returns the path before of something in the folder afterwards, or `None` for anything else.
    pub(crate) fn origin(&self, path: &str) -> Option<String> {
        below(path, &self.to).map(|rest| format!("{}{rest}", self.from))
    }

    /// Returns the move that takes the folder back.
    pub(crate) fn inverse(&self) -> Self {
        Self {
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }
}

/// Returns the rest of `path` if it is `folder` or in it.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// A caller's id for its request, by which a retry is recognized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: String,
    /// Digest of the request's content.
    pub(crate) digest: String,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryKind {
    /// An own change.
    Edit,
    /// Undoes the entry with this number.
    Undo(u64),
    /// Redoes the entry with this number.
    Redo(u64),
    /// A change that another program made.
    Foreign,
}

/// The effect of an entry on one document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) document: u64,
    /// The path before.
    pub(crate) path: String,
    /// The path afterwards, if it is different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved_to: Option<String>,
    /// Digest of its bytes before; `None` if it did not exist.
    pub(crate) before: Option<String>,
    /// Digest of its bytes afterwards; `None` if it no longer exists.
    pub(crate) after: Option<String>,
    /// The replacements with the bytes they replace, or `None` if the old bytes were unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<(usize, Bytes, Bytes)>>,
    /// All bytes before, in some steps only, so that any later state can be rebuilt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<Bytes>,
    pub(crate) ids: Splice,
    /// The ids of the sections that it concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) touched: Vec<String>,
    /// Fingerprints of the sections afterwards, and their ids, if the text is not stored.
    #[serde(default, skip_serializing_if = "Prints::is_empty")]
    pub(crate) prints: Prints,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) section_ids: Vec<String>,
    /// The same, as written by earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Mark>,
    /// Whether only links were repaired, for a caller from whom the document is hidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_silent: bool,
}

/// A change to the list of section ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Splice {
    pub(crate) at: usize,
    pub(crate) removed: Vec<String>,
    pub(crate) inserted: Vec<String>,
}

/// Bytes, written as a JSON string if they are UTF-8, otherwise as an object with hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Step {
    /// Returns the replacements of the step.
    pub(crate) fn changes(&self) -> Option<Changes> {
        Changes::new(self.changes.as_ref()?.iter().map(|(start, old, new)| {
            let end = start.saturating_add(old.0.len());
            Change::new(Span::new(*start, end), new.0.clone())
        }))
    }

    /// Returns the replacements that revert the step.
    pub(crate) fn inverse(&self) -> Option<Changes> {
        let mut shift: i64 = 0;
        Changes::new(self.changes.as_ref()?.iter().map(|(start, old, new)| {
            let start = i64::try_from(*start).unwrap_or(i64::MAX);
            let start = usize::try_from(start.saturating_add(shift)).unwrap_or_default();
            shift += len(new) - len(old);
            let end = start.saturating_add(new.0.len());
            Change::new(Span::new(start, end), old.0.clone())
        }))
    }

    /// Returns the number of bytes that the replacements carry.
    pub(crate) fn weight(&self) -> usize {
        self.changes
            .iter()
            .flatten()
            .map(|(_, old, new)| old.0.len() + new.0.len())
            .sum()
    }
}

fn len(bytes: &Bytes) -> i64 {
    i64::try_from(bytes.0.len()).unwrap_or(i64::MAX)
}

/// Returns `changes` of `source` in the form of the journal.
pub(crate) fn written(changes: &Changes, source: &[u8]) -> Vec<(usize, Bytes, Bytes)> {
    changes
        .iter()
        .map(|change| {
            (
                change.span.start,
                Bytes(change.span.slice(source).to_vec()),
                Bytes(change.text.clone()),
            )
        })
        .collect()
}

impl Splice {
    /// Returns the smallest change from `old` to `new`.
    pub(crate) fn between(old: &[String], new: &[String]) -> Self {
        let at = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - at;
        let from_end = old
            .iter()
            .rev()
            .zip(new.iter().rev())
            .take(rest)
            .take_while(|(a, b)| a == b)
            .count();
        Self {
            at,
            removed: old[at..old.len() - from_end].to_vec(),
            inserted: new[at..new.len() - from_end].to_vec(),
        }
    }

    /// Returns the ids afterwards, or `None` if `ids` is not the list that this was made for.
    pub(crate) fn apply(&self, ids: &[String]) -> Option<Vec<String>> {
        let end = self.at.checked_add(self.removed.len())?;
        if ids.get(self.at..end)? != self.removed {
            return None;
        }
        let mut result = ids.to_vec();
        result.splice(self.at..end, self.inserted.iter().cloned());
        Some(result)
    }

    pub(crate) fn inverse(&self) -> Self {
        Self {
            at: self.at,
            removed: self.inserted.clone(),
            inserted: self.removed.clone(),
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Hex {
            hex: String,
        }
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let hex = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
                Hex { hex }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Hex { hex: String },
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(text.into_bytes())),
            Form::Hex { hex } => from_hex(&hex)
                .map(Self)
                .ok_or_else(|| de::Error::custom("not hexadecimal")),
        }
    }
}

pub(super) fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}
