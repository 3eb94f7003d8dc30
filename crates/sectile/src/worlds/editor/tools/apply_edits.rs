//! `apply_edits`: several edits, in several documents, all or nothing.

use schemars::JsonSchema;
use sectile_vault::{
    NotePath,
    editor::{
        CreateDocument, DeleteDocument, DeleteSection, EditText, InsertSection, MoveSection,
        Operation, RenameDocument, RenameSection, SetFrontMatter, UpdateSection,
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    errors::bad_arguments,
    params::{HeadingsWord, PlaceWord, ScopeWord, WriteOptions, at, closed_schema, section},
    values::yaml_value,
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::destructive(
        "apply_edits",
        "Apply edits",
        "Make several edits, in one or more documents, all or nothing, as one entry of the history. Later edits see what earlier ones did; a section made with label \"x\" is section_id \"@x\" for later ones.",
    )
    .input(closed_schema::<Params>);
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// The edits, in order.
    edits: Vec<OneEdit>,
    /// Agree to a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

/// What an edit does: the tool of the same name.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Does {
    InsertSection,
    UpdateSection,
    DeleteSection,
    MoveSection,
    RenameSection,
    EditText,
    SetFrontMatter,
    CreateDocument,
    RenameDocument,
    DeleteDocument,
}

impl Does {
    /// The tool of the same name.
    fn tool(self) -> &'static str {
        match self {
            Self::InsertSection => "insert_section",
            Self::UpdateSection => "update_section",
            Self::DeleteSection => "delete_section",
            Self::MoveSection => "move_section",
            Self::RenameSection => "rename_section",
            Self::EditText => "edit_text",
            Self::SetFrontMatter => "set_front_matter",
            Self::CreateDocument => "create_document",
            Self::RenameDocument => "rename_document",
            Self::DeleteDocument => "delete_document",
        }
    }
}

/// One edit: what it does, and the arguments of the tool of that name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneEdit {
    /// What it does.
    operation: Does,
    /// Document; without one, that of the call.
    path: Option<String>,
    section_id: Option<String>,
    heading: Option<String>,
    content: Option<String>,
    position: Option<u64>,
    new_position: Option<u64>,
    place: Option<PlaceWord>,
    anchor: Option<String>,
    to_path: Option<String>,
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    #[serde(default)]
    scope: ScopeWord,
    #[serde(default)]
    headings: HeadingsWord,
    expected_hash: Option<String>,
    old_text: Option<String>,
    new_text: Option<String>,
    #[schemars(range(min = 1, max = 10_000))]
    expected_count: Option<usize>,
    key: Option<String>,
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    #[serde(default)]
    remove: bool,
    new_path: Option<String>,
    repair_links: Option<bool>,
    /// A name for the section that insert_section makes, for later edits of this call.
    label: Option<String>,
}

/// Tells a value of null from no value.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    if params.edits.is_empty() {
        return Err(bad_arguments("Invalid arguments: edits is empty."));
    }
    let operations = params
        .edits
        .into_iter()
        .map(|edit| operation(world, edit, &params.options, context))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Write::batch("apply_edits", "Edits applied.", operations)
        .confirmed(params.confirm)
        .with(params.options))
}

fn needed<T>(value: Option<T>, message: &'static str) -> Result<T, Failure> {
    value.ok_or_else(|| bad_arguments(message))
}

fn operation(
    world: &EditorWorld,
    edit: OneEdit,
    options: &WriteOptions,
    context: &CallContext,
) -> Result<Operation, Failure> {
    if !context.may_use(edit.operation.tool()) {
        return Err(bad_arguments(
            "Invalid arguments: an operation is not available here.",
        ));
    }
    let own = WriteOptions {
        path: edit.path.clone().or_else(|| options.path.clone()),
        ..WriteOptions::default()
    };
    let of_section = || world.document_unless_id(&own, edit.section_id.as_deref(), context);
    let target = section(edit.section_id.clone(), None);
    let expected_hash = edit.expected_hash.clone();
    Ok(match edit.operation {
        Does::InsertSection => Operation::Insert(InsertSection {
            path: world.document_unless_id(&own, edit.anchor.as_deref(), context)?,
            heading: needed(
                edit.heading,
                "Invalid arguments: insert_section needs heading.",
            )?,
            content: edit.content.unwrap_or_default(),
            at: at(edit.position, edit.place, edit.anchor, "position")?,
            level: edit.level,
            headings: edit.headings.into(),
            label: edit.label,
        }),
        Does::UpdateSection => Operation::Update(UpdateSection {
            path: of_section()?,
            section: section(edit.section_id.clone(), edit.heading),
            content: needed(
                edit.content,
                "Invalid arguments: update_section needs content.",
            )?,
            scope: edit.scope.into(),
            headings: edit.headings.into(),
            expected_hash,
        }),
        Does::DeleteSection => Operation::Delete(DeleteSection {
            path: of_section()?,
            section: section(edit.section_id.clone(), edit.heading),
            expected_hash,
        }),
        Does::MoveSection => Operation::Move(MoveSection {
            path: of_section()?,
            section: target,
            at: at(
                edit.new_position,
                edit.place,
                edit.anchor.clone(),
                "new_position",
            )?,
            to: edit
                .to_path
                .as_deref()
                .map(|path| world.path(path))
                .transpose()?,
            level: edit.level,
            expected_hash,
        }),
        Does::RenameSection => Operation::Rename(RenameSection {
            path: of_section()?,
            section: target,
            heading: needed(
                edit.heading,
                "Invalid arguments: rename_section needs heading.",
            )?,
            level: edit.level,
            repair_links: edit.repair_links.unwrap_or(true),
            expected_hash,
        }),
        Does::EditText => Operation::EditText(EditText {
            path: of_section()?,
            section: edit.section_id.clone().map(|id| section(Some(id), None)),
            old_text: needed(
                edit.old_text,
                "Invalid arguments: edit_text needs old_text.",
            )?,
            new_text: needed(
                edit.new_text,
                "Invalid arguments: edit_text needs new_text.",
            )?,
            expected_count: edit.expected_count.unwrap_or(1),
            scope: edit.scope.into(),
            expected_hash,
        }),
        Does::SetFrontMatter
        | Does::CreateDocument
        | Does::RenameDocument
        | Does::DeleteDocument => {
            let path = world.named_document(own.path.as_deref(), context)?;
            document_operation(world, edit, path)?
        }
    })
}

/// An edit of a document as a whole.
fn document_operation(
    world: &EditorWorld,
    edit: OneEdit,
    path: NotePath,
) -> Result<Operation, Failure> {
    Ok(match edit.operation {
        Does::CreateDocument => Operation::CreateDocument(CreateDocument {
            path,
            content: edit.content.unwrap_or_default(),
        }),
        Does::RenameDocument => Operation::RenameDocument(RenameDocument {
            path,
            new_path: world.path(&needed(
                edit.new_path,
                "Invalid arguments: rename_document needs new_path.",
            )?)?,
            repair_links: edit.repair_links.unwrap_or(true),
        }),
        Does::DeleteDocument => Operation::DeleteDocument(DeleteDocument {
            path,
            expected_hash: edit.expected_hash,
        }),
        _ => Operation::SetFrontMatter(SetFrontMatter {
            path: Some(path),
            key: needed(edit.key, "Invalid arguments: set_front_matter needs key.")?,
            value: match (&edit.value, edit.remove) {
                (Some(value), false) => Some(yaml_value(value)?),
                (None, true) => None,
                _ => {
                    return Err(bad_arguments(
                        "Invalid arguments: set_front_matter needs value, or remove: true.",
                    ));
                }
            },
        }),
    })
}
