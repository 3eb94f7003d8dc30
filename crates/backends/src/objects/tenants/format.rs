//! The objects of a tenant as they are written: its head, a base, and commits. All of it is JSON, and untrusted when it is
//! read.

use std::collections::{BTreeMap, HashMap};

use sectile_library::tenants::{
    CopiedFile, LogChange, LogName, TenantCommit, TenantRevision, is_tenant_name,
};
use sectile_markdown::{Digest, NotePath};
use serde::{Deserialize, Serialize};

use super::packs::PackedFile;

/// The version that this program reads and writes.
pub(super) const VERSION: u32 = 1;
/// A bound on revisions, which no tenant reaches by counting.
const MAX_REVISION: u64 = 1 << 60;
/// The longest part of a log that is written into its commit, in bytes. A longer one is an object of its own.
const MAX_INLINE: usize = 256 << 10;

/// The one object of a tenant that is ever replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) revision: u64,
    pub(super) commit: String,
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// The state that the commits start from.
    pub(super) base: BaseReference,
    /// The commits since then, oldest first. Their revisions count on from that of the base.
    pub(super) commits: Vec<CommitReference>,
    /// Earlier commits, by which one that is sent twice is recognized, with their revisions.
    pub(super) earlier: Vec<(u64, String)>,
}

/// Where a base is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BaseReference {
    pub(super) revision: u64,
    pub(super) commit: String,
    /// The digest of the base, unless the tenant was empty.
    pub(super) digest: Option<String>,
}

/// Where a commit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitReference {
    pub(super) id: String,
    pub(super) digest: String,
}

/// A complete state of a tenant, without the bytes of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base {
    pub(super) files: Vec<FileRecord>,
    pub(super) logs: BTreeMap<String, LogRecord>,
}

/// A file. Its bytes are the object that its digest names, or a part of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRecord {
    pub(super) path: String,
    /// The digest of its bytes; none if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    pub(super) bytes: u64,
    pub(super) modified: i64,
    /// The pack with its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pack: Option<PackRecord>,
}

/// The place of a file in an object with the bytes of many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PackRecord {
    /// The digest of the object.
    pub(super) object: String,
    pub(super) offset: u64,
}

/// A log, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogRecord {
    pub(super) replaced_at: u64,
    pub(super) parts: Vec<LogPart>,
}

/// A part of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogPart {
    /// These bytes, which are UTF-8.
    Text(String),
    /// An object: its digest, and the number of its bytes.
    Object(String, u64),
}

/// What a commit changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitRecord {
    /// The id of the commit, so that no two of these objects are equal.
    pub(super) id: String,
    pub(super) files: Vec<FileRecord>,
    pub(super) logs: Vec<LogAddition>,
}

/// What a commit appended to a log, or put in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogAddition {
    pub(super) name: String,
    pub(super) replaces: bool,
    pub(super) part: LogPart,
}

impl Head {
    /// Returns the head of a tenant without files.
    pub(super) fn first(revision: u64) -> Self {
        let commit = format!("created-{revision}");
        Self {
            version: VERSION,
            revision,
            commit: commit.clone(),
            files: 0,
            bytes: 0,
            base: BaseReference {
                revision,
                commit,
                digest: None,
            },
            commits: Vec::new(),
            earlier: Vec::new(),
        }
    }

    /// Parses a head, or returns `None` for one that contradicts itself or is of another version.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let head: Self = serde_json::from_slice(bytes).ok()?;
        let revision = head.base.revision.checked_add(head.commits.len() as u64)?;
        let revision = Some(revision).filter(|revision| *revision < MAX_REVISION)?;
        let newest = head.commits.last();
        let newest = newest.map_or(&head.base.commit, |newest| &newest.id);
        let is_sound =
            head.version == VERSION && revision == head.revision && *newest == head.commit;
        is_sound.then_some(head)
    }

    pub(super) fn tenant_revision(&self) -> TenantRevision {
        TenantRevision {
            number: self.revision,
            commit: self.commit.clone(),
        }
    }

    /// Returns the revision that a commit made, if it is remembered.
    pub(super) fn revision_of(&self, id: &str) -> Option<u64> {
        let known = self.commits.iter().position(|commit| commit.id == id);
        match known {
            Some(at) => Some(self.base.revision + 1 + at as u64),
            None => {
                let earlier = self.earlier.iter().find(|(_, earlier)| earlier == id);
                earlier.map(|(revision, _)| *revision)
            }
        }
    }

    /// Returns the number of commits up to a revision, if it is the base or after it.
    pub(super) fn commits_until(&self, revision: &TenantRevision) -> Option<usize> {
        let after = revision.number.checked_sub(self.base.revision)?;
        let after = usize::try_from(after).ok()?;
        let id = match after.checked_sub(1) {
            None => &self.base.commit,
            Some(at) => &self.commits.get(at)?.id,
        };
        (*id == revision.commit).then_some(after)
    }
}

impl FileRecord {
    /// Returns the record of a file, which is in a pack if `packed` has its bytes.
    pub(super) fn new(
        path: &NotePath,
        state: Option<&CopiedFile>,
        packed: &HashMap<Digest, PackedFile>,
    ) -> Self {
        let place = state.and_then(|state| packed.get(&state.digest));
        Self {
            path: path.as_str().to_owned(),
            digest: state.map(|state| state.digest.to_string()),
            bytes: state.map_or(0, |state| state.bytes),
            modified: state.map_or(0, |state| state.modified),
            pack: place.map(|place| PackRecord {
                object: place.object.to_string(),
                offset: place.offset,
            }),
        }
    }

    /// Returns the place of its bytes in a pack, if it has one; `None` if that is not valid.
    pub(super) fn place(&self) -> Option<Option<PackedFile>> {
        let Some(pack) = &self.pack else {
            return Some(None);
        };
        let place = PackedFile {
            object: Digest::parse(&pack.object)?,
            offset: pack.offset,
            bytes: self.bytes,
        };
        place.range().map(|_| Some(place))
    }

    /// Returns the path and the state; `None` if they are not valid.
    pub(super) fn parsed(&self) -> Option<(NotePath, Option<CopiedFile>)> {
        let path = NotePath::parse_vault(&self.path).ok();
        let path = path.filter(|path| path.as_str() == self.path)?;
        let state = match &self.digest {
            None => None,
            Some(digest) => Some(CopiedFile {
                digest: Digest::parse(digest)?,
                bytes: self.bytes,
                modified: self.modified,
            }),
        };
        Some((path, state))
    }
}

impl LogPart {
    /// Returns the part for these bytes, and whether they have to be written as an object.
    pub(super) fn of(bytes: &[u8]) -> (Self, bool) {
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= MAX_INLINE => (Self::Text(text.to_owned()), false),
            _ => {
                let digest = Digest::of(bytes).to_string();
                (Self::Object(digest, bytes.len() as u64), true)
            }
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Object(_, bytes) => *bytes,
        }
    }
}

impl LogRecord {
    /// Returns a log of which only what comes next matters.
    pub(super) fn since(replaced_at: u64) -> Self {
        Self {
            replaced_at,
            parts: Vec::new(),
        }
    }

    /// Adds what the commit that made `revision` did to the log.
    pub(super) fn add(&mut self, addition: &LogAddition, revision: u64) {
        if addition.replaces || self.replaced_at == 0 {
            self.parts.clear();
            self.replaced_at = revision;
        }
        self.parts.push(addition.part.clone());
    }

    pub(super) fn len(&self) -> u64 {
        let lengths = self.parts.iter().map(LogPart::len);
        lengths.fold(0, u64::saturating_add)
    }
}

impl CommitRecord {
    /// Returns the record of a commit, and the parts of logs that have to be written as objects.
    pub(super) fn of(
        commit: &TenantCommit,
        packed: &HashMap<Digest, PackedFile>,
    ) -> (Self, Vec<(String, Vec<u8>)>) {
        let mut objects = Vec::new();
        let mut logs = Vec::new();
        for (log, change) in &commit.logs {
            let (part, is_object) = LogPart::of(change.bytes());
            if let (LogPart::Object(digest, _), true) = (&part, is_object) {
                objects.push((digest.clone(), change.bytes().to_vec()));
            }
            logs.push(LogAddition {
                name: log.file().to_owned(),
                replaces: matches!(change, LogChange::Replace(_)),
                part,
            });
        }
        let files = commit.files.iter().map(|file| {
            let state = file.content.as_ref().map(|(state, _)| state);
            FileRecord::new(&file.path, state, packed)
        });
        let record = Self {
            id: commit.id.clone(),
            files: files.collect(),
            logs,
        };
        (record, objects)
    }
}

/// Returns whether a head is of a version that this program does not know yet, whatever else it says.
pub(super) fn is_newer(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct VersionField {
        version: u32,
    }
    let found = serde_json::from_slice::<VersionField>(bytes);
    found.is_ok_and(|found| found.version > VERSION)
}

/// Returns the log with this name.
pub(super) fn log_name(name: &str) -> Option<LogName> {
    LogName::ALL.into_iter().find(|log| log.file() == name)
}

/// Returns the key of a tenant's head.
pub(super) fn head_key(tenant: &str) -> Option<String> {
    is_tenant_name(tenant).then(|| format!("{HEADS}{tenant}"))
}

/// Returns the start of the keys of a tenant's other objects.
pub(super) fn objects_prefix(tenant: &str) -> String {
    format!("objects/{tenant}/")
}

/// Returns the key of an object that its digest names.
pub(super) fn object_key(tenant: &str, digest: &str) -> String {
    format!("{}{digest}", objects_prefix(tenant))
}

/// The start of the keys of all heads.
pub(super) const HEADS: &str = "heads/";
