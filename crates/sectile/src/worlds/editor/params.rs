//! Arguments that several tools share.

use schemars::JsonSchema;
use sectile_markdown::edit::PayloadHeadings;
use sectile_mcp::{CallContext, Failure, JsonObject, input_schema};
use sectile_vault::editor::{Operation, Placement, RelativePlacement, Scope, SectionRef};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EditorWorld, answers::PendingWrite, errors::bad_arguments};

/// The schema of arguments that are composed of several types.
pub(super) fn closed_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = input_schema::<T>();
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The same, for tools that require the call to name the document.
pub(super) fn naming_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = closed_schema::<T>();
    let mut required = match schema.remove("required") {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    required.push("path".into());
    schema.insert("required".to_owned(), required.into());
    if let Some(path) = schema
        .get_mut("properties")
        .and_then(|all| all.get_mut("path"))
    {
        *path = json!({
            "type": "string",
            "description": "Path of the document, relative to the folder.",
        });
    }
    schema
}

/// The options of every write.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct WriteOptions {
    /// Path of the document, relative to the folder. Not needed with a section_id, in a single document, or after
    /// open_document.
    pub(super) path: Option<String>,
    /// Write nothing; return the diff and a plan for apply_plan.
    pub(super) dry_run: bool,
    /// Reason for the change, recorded in the history.
    pub(super) reason: Option<String>,
    /// Your id for this request: a retry with the same id is not applied twice and gets the first answer.
    pub(super) request_id: Option<String>,
}

/// The arguments of a tool that makes one change, both in a call and as an edit of `apply_edits`.
pub(super) trait EditArguments: Sized {
    /// The name of the tool.
    const TOOL: &'static str;
    /// The message of a call that made the change.
    const DONE: &'static str;

    /// Returns the change that the arguments ask for, in the document at `path` if one is named.
    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure>;

    /// Returns the write that a call of the tool with these arguments makes.
    fn write(
        self,
        world: &EditorWorld,
        options: WriteOptions,
        context: &CallContext,
    ) -> Result<PendingWrite, Failure> {
        let operation = self.operation(world, options.path.as_deref(), context)?;
        Ok(PendingWrite::new(Self::TOOL, Self::DONE, operation).with(options))
    }
}

/// A call of a tool that makes one change.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EditParams<A> {
    #[serde(flatten)]
    pub(super) edit: A,
    #[serde(flatten)]
    pub(super) options: WriteOptions,
}

/// The part of a section.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeWord {
    /// The section's own text, without subsections.
    #[default]
    Body,
    /// The text with all subsections.
    Subtree,
}

impl From<ScopeWord> for Scope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::Body => Self::Body,
            ScopeWord::Subtree => Self::Subtree,
        }
    }
}

/// The treatment of headings in the content.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum HeadingsWord {
    /// Headings must be deeper than the section; others are refused.
    #[default]
    Inside,
    /// All headings are shifted so that the highest is one level below the section.
    Rebase,
    /// Headings stay as they are, even if that ends the section.
    AsWritten,
}

impl From<HeadingsWord> for PayloadHeadings {
    fn from(word: HeadingsWord) -> Self {
        match word {
            HeadingsWord::Inside => Self::Inside,
            HeadingsWord::Rebase => Self::Rebase,
            HeadingsWord::AsWritten => Self::AsWritten,
        }
    }
}

/// A place relative to the anchor.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PlaceWord {
    /// Before the anchor.
    Before,
    /// After the anchor and all its subsections.
    After,
    /// The anchor's first subsection.
    FirstChild,
    /// The anchor's last subsection.
    LastChild,
}

/// The destination of a section: exactly one of a position, or a place with its anchor.
pub(super) fn at(
    position: Option<u64>,
    place: Option<PlaceWord>,
    anchor: Option<String>,
    position_name: &'static str,
) -> Result<Placement, Failure> {
    match (position, place, anchor) {
        (Some(position), None, None) => Ok(Placement::Position(
            usize::try_from(position).unwrap_or(usize::MAX),
        )),
        (None, Some(place), Some(anchor)) => Ok(Placement::Next {
            relative: match place {
                PlaceWord::Before => RelativePlacement::Before,
                PlaceWord::After => RelativePlacement::After,
                PlaceWord::FirstChild => RelativePlacement::FirstChild,
                PlaceWord::LastChild => RelativePlacement::LastChild,
            },
            anchor: SectionRef {
                id: Some(anchor),
                heading: None,
            },
        }),
        _ if position_name == "position" => Err(bad_arguments(
            "Invalid arguments: give either position, or place with anchor.",
        )),
        _ => Err(bad_arguments(
            "Invalid arguments: give either new_position, or place with anchor.",
        )),
    }
}

pub(super) fn section(id: Option<String>, heading: Option<String>) -> SectionRef {
    SectionRef { id, heading }
}
