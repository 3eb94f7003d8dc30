//! What the journal says, as types. Their JSON form is the format on disk: fields are added, never renamed.

use std::fmt;

use sectile_markdown::{Change, Changes, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// The first line.
    Header(Header),
    /// A document whose sections have ids from now on.
    Adopt(Adopt),
    /// What a document was when older entries were dropped.
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
    /// A change that was already made when it was written down.
    Done(Box<Entry>),
}

/// What the journal says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the format.
    pub(crate) version: u32,
    /// Grows when the journal is written anew.
    pub(crate) generation: u64,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created: i64,
    /// Ids with smaller numbers were never handed out from here.
    pub(crate) first_id: u64,
    /// Entries with smaller numbers were dropped.
    #[serde(default)]
    pub(crate) first_entry: u64,
}

/// A document that is met for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Adopt {
    pub(crate) document: u64,
    pub(crate) path: String,
    pub(crate) hash: String,
    /// When the file was made, in milliseconds since 1970. Edits replace the file, so it cannot be asked later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<i64>,
    pub(crate) sections: Vec<Mark>,
}

/// A section as it was when it got its id: enough to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) id: String,
    pub(crate) heading: String,
    pub(crate) path: u64,
    pub(crate) body: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) empty: bool,
}

/// A document at the point where its history now starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) document: u64,
    /// `None` for a document that was deleted.
    pub(crate) path: Option<String>,
    pub(crate) hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<i64>,
    pub(crate) ids: Vec<String>,
    /// Ids that no longer name a section, with the entry that deleted it.
    pub(crate) deleted: Vec<(String, u64)>,
    /// What the sections were, when the text is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Mark>,
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// Milliseconds since 1970.
    pub(crate) time: i64,
    /// Who asked for it.
    pub(crate) actor: String,
    /// What was asked for: the name of a tool, or `external_edit`.
    pub(crate) operation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<Request>,
    pub(crate) kind: Kind,
    pub(crate) steps: Vec<Step>,
}

/// How a caller names its request, so that a retry is known as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: String,
    /// Digest of what was asked.
    pub(crate) digest: String,
}

/// What kind of entry it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A change of ours.
    Edit,
    /// It takes back the entry with this number.
    Undo(u64),
    /// It makes the entry with this number again.
    Redo(u64),
    /// A change that another program made.
    Foreign,
}

/// What an entry does to one document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) document: u64,
    /// Where it is before.
    pub(crate) path: String,
    /// Where it is afterwards, when that is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved_to: Option<String>,
    /// Digest of its bytes before; `None` when it did not exist.
    pub(crate) before: Option<String>,
    /// Digest of its bytes afterwards; `None` when it does not exist any more.
    pub(crate) after: Option<String>,
    /// The replacements with the bytes they replace, or `None` when the old bytes were not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<(usize, Bytes, Bytes)>>,
    /// All bytes before, now and then, so that any later state can be made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<Bytes>,
    pub(crate) ids: Splice,
    /// The sections that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) touched: Vec<String>,
    /// What the sections are afterwards, when the text is not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Mark>,
}

/// A change of the list of section ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Splice {
    pub(crate) at: usize,
    pub(crate) removed: Vec<String>,
    pub(crate) inserted: Vec<String>,
}

/// Bytes that are a JSON string when they are UTF-8, and hexadecimal digits in an object otherwise.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Step {
    /// The replacements of the step.
    pub(crate) fn changes(&self) -> Option<Changes> {
        Changes::new(self.changes.as_ref()?.iter().map(|(start, old, new)| {
            let end = start.saturating_add(old.0.len());
            Change::new(Span::new(*start, end), new.0.clone())
        }))
    }

    /// The replacements that take the step back.
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

    /// How many bytes the replacements carry.
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

/// `changes` of `source` in the form of the journal.
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
    /// The smallest change from `old` to `new`.
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

    /// The ids afterwards, or `None` when `ids` is not the list this was made for.
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

fn from_hex(hex: &str) -> Option<Vec<u8>> {
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
