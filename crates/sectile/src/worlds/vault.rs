//! The `vault` world: the structure of any note in a folder, and nothing else of it.
//!
//! No bodies, no resources, no prompts, no search, no writes, nothing kept between calls: each call reads one note.

mod tools;

use std::path::Path;

use schemars::JsonSchema;
use sectile_vault::{NotePath, ReadError, Root, RootError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    mcp::{CallContext, Failure, FailureKind, Said, WorldSpec},
    structure::Note,
};

/// State of the world: where the notes are, and how large one may be.
pub(crate) struct Vault {
    root: Root,
    max_note_bytes: u64,
}

/// Arguments of every tool of this world.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoteParams {
    /// Vault-relative path (e.g. inbox/foo.md)
    path: String,
}

/// The contract of the world.
pub(crate) fn spec() -> WorldSpec<Vault> {
    WorldSpec {
        name: "vault",
        title: "vault",
        instructions: include_str!("vault/instructions.md"),
        tools: tools::table(),
        resources: None,
        families: Vec::new(),
        prompts: Vec::new(),
        complete: None,
        sessions: false,
        unknown_tool_code: -32602,
        envelope: |failure| Said::Result(error_object(failure)),
    }
}

/// How this world says that a call failed.
pub(crate) fn error_object(failure: &Failure) -> Value {
    json!({ "error": failure.message, "code": "RUNTIME_ERROR" })
}

impl Vault {
    pub(crate) fn open(root: &Path, max_note_bytes: u64) -> Result<Self, RootError> {
        Ok(Self {
            root: Root::open(root)?,
            max_note_bytes,
        })
    }

    /// Whether reading a note cannot take longer than the disk.
    pub(crate) fn is_on_local_disk(&self) -> bool {
        self.root.is_on_local_disk()
    }

    /// Reads the one note a call is about and makes a view of it.
    fn view<T>(
        &self,
        params: &NoteParams,
        context: &CallContext,
        view: impl FnOnce(&Note<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let path = NotePath::parse_vault(&params.path).map_err(|_| invalid_path())?;
        let bytes = self
            .root
            .read(&path, self.max_note_bytes)
            .map_err(|error| read_failure(error, &params.path))?;
        context.check()?;
        view(&Note::new(path.as_str(), &bytes))
    }
}

fn invalid_path() -> Failure {
    Failure::new(
        FailureKind::InvalidPath,
        "Invalid path: path must be vault-relative and cannot escape vault",
    )
}

/// A safe path that leads nowhere is repeated, so that the caller sees its own mistake; an unsafe one never is.
fn read_failure(error: ReadError, given: &str) -> Failure {
    const SHOWN: usize = 256;
    match error {
        ReadError::OutsideRoot => invalid_path(),
        ReadError::NotFound => {
            let shown: String = given.chars().take(SHOWN).collect();
            let mark = if shown.len() < given.len() { "…" } else { "" };
            Failure::new(
                FailureKind::NotFound,
                format!("Note not found: {shown}{mark}"),
            )
        }
        ReadError::TooLarge { limit } => Failure::new(
            FailureKind::TooLarge,
            format!("Note is larger than {limit} bytes; refusing to read unbounded Markdown."),
        ),
        _ => Failure::new(
            FailureKind::Unreadable,
            "Note cannot be read: the system refused access.",
        ),
    }
}

fn too_long(error: crate::structure::TooLong) -> Failure {
    Failure::new(FailureKind::TooLarge, error.to_string())
}
