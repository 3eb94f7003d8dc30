//! `apply_edits`: several edits, in several documents, all or nothing.

use schemars::{JsonSchema, Schema};
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::Operation;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        EditorWorld,
        answers::{PendingWrite, write_tool},
        errors::bad_arguments,
        params::{EditArguments, WriteOptions, closed_schema},
    },
    create_document::CreateDocumentArguments,
    delete_document::DeleteDocumentArguments,
    delete_section::DeleteSectionArguments,
    edit_text::EditTextArguments,
    insert_section::InsertSectionArguments,
    move_section::MoveSectionArguments,
    rename_document::RenameDocumentArguments,
    rename_section::RenameSectionArguments,
    set_front_matter::SetFrontMatterArguments,
    update_section::UpdateSectionArguments,
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::destructive(
        "apply_edits",
        "Apply edits",
        "Make several edits in one or more documents, all or nothing, as one entry of the history. Later edits see the result of earlier ones; a section inserted with label \"x\" is section_id \"@x\" for later ones.",
    )
    .input(closed_schema::<ApplyEditsParams>);
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ApplyEditsParams {
    /// The edits, in order. The operation of each is the name of a tool, and its other fields are the arguments of that tool.
    edits: Vec<BatchEdit>,
    /// Confirm a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

/// One edit: the name of a tool, and the arguments of that tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "operation", rename_all = "snake_case")]
#[schemars(transform = close_forms)]
enum BatchEdit {
    InsertSection(DocumentEdit<LabelledInsertion>),
    UpdateSection(DocumentEdit<UpdateSectionArguments>),
    DeleteSection(DocumentEdit<DeleteSectionArguments>),
    MoveSection(DocumentEdit<MoveSectionArguments>),
    RenameSection(DocumentEdit<RenameSectionArguments>),
    EditText(DocumentEdit<EditTextArguments>),
    SetFrontMatter(DocumentEdit<SetFrontMatterArguments>),
    CreateDocument(NamedDocumentEdit<CreateDocumentArguments>),
    RenameDocument(DocumentEdit<RenameDocumentArguments>),
    DeleteDocument(NamedDocumentEdit<DeleteDocumentArguments>),
}

/// An edit that may rely on the call to name the document.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct DocumentEdit<A> {
    #[serde(flatten)]
    arguments: A,
    /// Path of the document; defaults to that of the call.
    path: Option<String>,
}

/// An edit that has to name the document itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct NamedDocumentEdit<A> {
    #[serde(flatten)]
    arguments: A,
    /// Path of the document, relative to the folder.
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LabelledInsertion {
    #[serde(flatten)]
    arguments: InsertSectionArguments,
    /// A name by which later edits of this call can refer to the new section.
    label: Option<String>,
}

impl EditArguments for LabelledInsertion {
    const TOOL: &'static str = InsertSectionArguments::TOOL;
    const DONE: &'static str = InsertSectionArguments::DONE;

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        self.arguments.insertion(self.label, world, path, context)
    }
}

/// Closes every form to unknown fields, and drops the descriptions that the tools themselves give for their arguments.
fn close_forms(schema: &mut Schema) {
    const SAID_HERE: [&str; 2] = ["path", "label"];
    let forms = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for form in forms.into_iter().flatten().filter_map(Value::as_object_mut) {
        form.shift_remove("description");
        form.insert("additionalProperties".to_owned(), false.into());
        let properties = form.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            if let Some(property) = property.as_object_mut()
                && !SAID_HERE.contains(&name.as_str())
            {
                property.shift_remove("description");
            }
        }
    }
}

fn planned(
    world: &EditorWorld,
    params: ApplyEditsParams,
    context: &CallContext,
) -> Result<PendingWrite, Failure> {
    if params.edits.is_empty() {
        return Err(bad_arguments("Invalid arguments: edits is empty."));
    }
    let call = BatchCall {
        world,
        path: params.options.path.as_deref(),
        context,
    };
    let edits = params.edits.into_iter().enumerate();
    let operations = edits
        .map(|(index, edit)| call.operation(index, edit))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(
        PendingWrite::batch("apply_edits", "Edits applied.", operations)
            .confirmed(params.confirm)
            .with(params.options),
    )
}

/// The context that all edits of a call share.
struct BatchCall<'a> {
    world: &'a EditorWorld,
    path: Option<&'a str>,
    context: &'a CallContext,
}

impl BatchCall<'_> {
    fn operation(&self, index: usize, edit: BatchEdit) -> Result<Operation, Failure> {
        match edit {
            BatchEdit::InsertSection(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::UpdateSection(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::DeleteSection(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::MoveSection(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::RenameSection(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::EditText(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::SetFrontMatter(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::CreateDocument(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::RenameDocument(edit) => self.made(index, edit.arguments, edit.path),
            BatchEdit::DeleteDocument(edit) => self.made(index, edit.arguments, edit.path),
        }
    }

    /// Returns the change that the edit at `index` asks for.
    fn made<A: EditArguments>(
        &self,
        index: usize,
        arguments: A,
        path: impl Into<Option<String>>,
    ) -> Result<Operation, Failure> {
        if !self.context.may_use(A::TOOL) {
            return Err(bad_arguments(
                "Invalid arguments: an operation is not available here.",
            ));
        }
        let path: Option<String> = path.into();
        let path = path.as_deref().or(self.path);
        let made = arguments.operation(self.world, path, self.context);
        made.map_err(|mut failure| {
            if let Some(what) = failure.message.strip_prefix("Invalid arguments: ") {
                let message = format!("Invalid arguments: edits[{index}] ({}): {what}", A::TOOL);
                failure.message = message.into();
            }
            failure
        })
    }
}
