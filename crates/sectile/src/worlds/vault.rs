//! The `vault` world: the structure of any note in a folder, and nothing else.
//!
//! No bodies, no resources, no prompts, no search, no writes, nothing kept between calls: each call reads one note.

mod open;
mod settings;

use std::path::Path;

use schemars::JsonSchema;
use sectile_markdown::Note;
use sectile_mcp::{
    AnswerFacts, CallContext, ErrorList, ErrorResponse, ErrorRow, Failure, FailureKind, Tool,
    ToolBuilder, WorldSpec, may_be_repeated, visible,
};
use sectile_vault::{NotePath, ReadError, Root, RootError};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::{open::ENTRY, settings::VaultSection};
use crate::worlds::note_structure::{self, NoteParams, NoteSource, NoteTooLong, View};

/// State of the world: the folder of the notes, and the largest size of one.
pub(crate) struct VaultWorld {
    root: Root,
    max_note_bytes: u64,
}

/// The contract of the world.
pub(crate) fn spec() -> WorldSpec<VaultWorld> {
    WorldSpec {
        tools: note_structure::tools(),
        ..WorldSpec::new(
            "vault",
            include_str!("vault/instructions.md"),
            |failure| ErrorResponse::Result(error_object(failure)),
            errors,
        )
    }
}

/// A failure as one JSON object.
pub(crate) fn error_object(failure: &Failure) -> Value {
    json!({ "error": failure.told(), "code": "RUNTIME_ERROR" })
}

const NOT_FOUND: ErrorRow = ErrorRow::of_kind(
    FailureKind::NotFound,
    "There is no note at this path.",
    "Give the path of a note from the top of the vault, with its folder and its extension, such as inbox/foo.md.",
);

/// The meaning of each kind of failure in this world, and what to do about it.
const ERRORS: [ErrorRow; 7] = [
    ErrorRow::of_kind(
        FailureKind::InvalidArguments,
        "The arguments do not match the tool's input schema.",
        "Compare the arguments with the tool's input schema.",
    ),
    ErrorRow::of_kind(
        FailureKind::InvalidPath,
        "The path is empty, is not relative to the folder, or leads out of it.",
        "Give a path relative to the folder that is served, such as `inbox/foo.md`.",
    ),
    NOT_FOUND,
    ErrorRow::of_kind(
        FailureKind::TooLarge,
        "The note is larger than allowed.",
        "Split the note, or ask the operator to raise vault.max_note_bytes if the message names that limit.",
    ),
    ErrorRow::of_kind(
        FailureKind::Unreadable,
        "The note exists, but the system refused access to it.",
        "Ask the operator to allow reading it.",
    ),
    ErrorRow::of_kind(
        FailureKind::Cancelled,
        "The caller gave up.",
        "Call again if the answer is still wanted.",
    ),
    ErrorRow::of_kind(
        FailureKind::Internal,
        "The answer could not be written because of a defect in the server.",
        "Call again; if it happens again, report it with the server's log line.",
    ),
];

fn errors() -> ErrorList {
    ErrorList {
        form: "A tool result with `isError`, whose text is `{\"error\": MESSAGE, \"code\": \"RUNTIME_ERROR\"}`. The code \
               is the same for all errors; the message tells them apart. The names below are those in the server's log.",
        codes: ERRORS.iter().collect(),
    }
}

impl VaultWorld {
    pub(crate) fn open(root: &Path, max_note_bytes: u64) -> Result<Self, RootError> {
        Ok(Self {
            root: Root::open(root)?,
            max_note_bytes,
        })
    }

    /// Returns whether the notes are on a local disk, so that reading one is quick.
    pub(crate) fn is_on_local_disk(&self) -> bool {
        self.root.is_on_local_disk()
    }

    /// Reads the one note a call is about and makes a view of it.
    fn view<T>(
        &self,
        params: &NoteParams,
        context: &CallContext,
        view: View<T>,
    ) -> Result<(T, AnswerFacts), Failure> {
        let path = NotePath::parse_vault(&params.path).map_err(|_| invalid_path())?;
        let bytes = self
            .root
            .read(&path, self.max_note_bytes)
            .map_err(|error| read_failure(error, &params.path))?;
        context.check()?;
        view(&Note::new(path.as_str(), &bytes)).map_err(too_long)
    }
}

impl NoteSource for VaultWorld {
    fn show<T: Serialize + JsonSchema + Send + 'static>(
        tool: ToolBuilder<Self>,
        view: View<T>,
    ) -> Tool<Self> {
        let tool = tool.quick();
        tool.call(move |vault: &Self, params: NoteParams, context| {
            vault.view(&params, context, view)
        })
    }
}

fn invalid_path() -> Failure {
    Failure::new(
        FailureKind::InvalidPath,
        "Invalid path: path must be vault-relative and cannot escape vault",
    )
}

/// The failure for a note that cannot be read. A safe path without a note is repeated, so that the caller sees its own
/// mistake; an unsafe one never is. No similar names are offered: these tools look at one note, never at a folder.
fn read_failure(error: ReadError, given: &str) -> Failure {
    const SHOWN: usize = 256;
    match error {
        ReadError::OutsideRoot => invalid_path(),
        ReadError::NotFound => {
            let message = match may_be_repeated(given) {
                true => format!("Note not found: {}.", visible(given, SHOWN)),
                false => "Note not found.".to_owned(),
            };
            NOT_FOUND.failure(message)
        }
        ReadError::TooLarge { limit } => Failure::new(
            FailureKind::TooLarge,
            format!("Note is larger than {limit} bytes; refusing to read unbounded Markdown."),
        ),
        ReadError::TooManyOpenFiles => Failure::new(
            FailureKind::Unreadable,
            "Note cannot be read: too many files are open. Call again later; if it happens again, the limit on open files \
             is too low.",
        ),
        ReadError::Unreadable(_) => Failure::new(
            FailureKind::Unreadable,
            "Note cannot be read: the system refused access.",
        ),
    }
}

fn too_long(error: NoteTooLong) -> Failure {
    Failure::new(FailureKind::TooLarge, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_in_the_table() {
        let read = |error| read_failure(error, "a.md");
        let failures = [
            invalid_path(),
            read(ReadError::OutsideRoot),
            read(ReadError::NotFound),
            read(ReadError::TooLarge { limit: 1 }),
            read(ReadError::TooManyOpenFiles),
            read(ReadError::Unreadable(std::io::ErrorKind::Other)),
            too_long(NoteTooLong),
        ];
        let codes: Vec<&str> = errors().codes.iter().map(|card| card.code).collect();
        for failure in failures {
            assert!(codes.contains(&failure.name()), "{failure:?}");
        }
    }
}
