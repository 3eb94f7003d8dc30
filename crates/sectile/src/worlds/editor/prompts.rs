//! The prompts: the contract's templates, filled in from their arguments or from a section or document.

use sectile_markdown::LetterCase;
use sectile_mcp::{CallContext, CompletionRequest, Failure, JsonObject, Prompt, PromptArgument};
use sectile_vault::editor::{EditorError, SectionRef};

use super::{
    EditorWorld,
    errors::{CallSubject, bad_arguments},
};

const SECTION_ARGUMENTS: &[PromptArgument] = &[
    PromptArgument {
        name: "section_content",
        description: "Text of the section. Or name the section by section_id, or by heading.",
        required: false,
    },
    PromptArgument {
        name: "section_id",
        description: "Id of a section, from list_sections.",
        required: false,
    },
    PromptArgument {
        name: "heading",
        description: "Heading of a section, if it is unique.",
        required: false,
    },
    PromptArgument {
        name: "path",
        description: "Path of the document that the heading is in, relative to the folder.",
        required: false,
    },
];

const DOCUMENT_ARGUMENTS: &[PromptArgument] = &[
    PromptArgument {
        name: "document",
        description: "Text of the document. Or name the document by path.",
        required: false,
    },
    PromptArgument {
        name: "path",
        description: "Path of the document, relative to the folder.",
        required: false,
    },
];

/// All prompts, in listing order.
pub(super) fn table() -> Vec<Prompt<EditorWorld>> {
    vec![
        Prompt {
            name: "summarize_section",
            title: "Summarize section",
            description: "Summarize a section.",
            arguments: SECTION_ARGUMENTS,
            render: |world, arguments, context| {
                let content = section_content(world, arguments, context)?;
                Ok(vec![
                    format!("Summarize the following section:\n{content}").into(),
                ])
            },
        },
        Prompt {
            name: "rewrite_section",
            title: "Rewrite section",
            description: "Rewrite a section for clarity and conciseness.",
            arguments: SECTION_ARGUMENTS,
            render: |world, arguments, context| {
                let content = section_content(world, arguments, context)?;
                let text = format!(
                    "Rewrite the following section for clarity and conciseness:\n{content}"
                );
                Ok(vec![text.into()])
            },
        },
        Prompt {
            name: "generate_outline",
            title: "Generate outline",
            description: "Generate an outline of a document.",
            arguments: DOCUMENT_ARGUMENTS,
            render: |world, arguments, context| {
                let document = document_text(world, arguments, context)?;
                let text = format!("Generate an outline for the following document:\n{document}");
                Ok(vec![text.into()])
            },
        },
    ]
}

fn text(arguments: &JsonObject, name: &str) -> Option<String> {
    arguments.get(name)?.as_str().map(str::to_owned)
}

fn section_content(
    world: &EditorWorld,
    arguments: &JsonObject,
    context: &CallContext,
) -> Result<String, Failure> {
    let section = SectionRef {
        id: text(arguments, "section_id"),
        heading: text(arguments, "heading"),
    };
    let is_named = section.id.is_some() || section.heading.is_some();
    match (text(arguments, "section_content"), is_named) {
        (Some(content), false) => Ok(content),
        (None, true) => {
            let given = text(arguments, "path");
            let path =
                world.document_unless_id(given.as_deref(), section.id.as_deref(), context)?;
            let (view, position) = world
                .editor
                .find_section(path.as_ref(), &section, LetterCase::MayDiffer)
                .map_err(|error| {
                    let about = CallSubject::document(path.as_ref(), context).section(&section);
                    world.failure(&error, &about)
                })?;
            view.content(position, true).ok_or_else(|| {
                world.failure(
                    &EditorError::DocumentNotFound,
                    &CallSubject::document(path.as_ref(), context),
                )
            })
        }
        _ => Err(bad_arguments(
            "Invalid arguments: give either section_content, or section_id or heading.",
        )),
    }
}

fn document_text(
    world: &EditorWorld,
    arguments: &JsonObject,
    context: &CallContext,
) -> Result<String, Failure> {
    match (text(arguments, "document"), text(arguments, "path")) {
        (Some(document), None) => Ok(document),
        (Some(_), Some(_)) => Err(bad_arguments(
            "Invalid arguments: give either document or path.",
        )),
        (None, path) => {
            let path = world.named_document(path.as_deref(), context)?;
            let view = world
                .editor
                .view(&path)
                .map_err(|error| world.failure(&error, &CallSubject::document(&path, context)))?;
            Ok(String::from_utf8_lossy(view.bytes()).into_owned())
        }
    }
}

/// Completions for an argument that is being typed: paths, ids and headings.
pub(super) fn complete(
    world: &EditorWorld,
    request: &CompletionRequest,
    _: &CallContext,
) -> Vec<String> {
    let typed = request.value.to_lowercase();
    let fits = |candidate: &String| candidate.to_lowercase().contains(&typed);
    let candidates = match request.argument.as_str() {
        "path" => documents(world),
        "section_id" | "heading" => {
            let named = request.others.get("path").cloned();
            let only = world.editor.only().map(|path| path.as_str().to_owned());
            let path = named.or(only).and_then(|path| world.path(&path).ok());
            let view = path.and_then(|path| world.editor.view(&path).ok());
            let sections = view.map(|view| view.sections()).unwrap_or_default();
            let is_id = request.argument == "section_id";
            sections
                .into_iter()
                .map(|section| if is_id { section.id } else { section.heading })
                .collect()
        }
        _ => Vec::new(),
    };
    let mut fitting: Vec<String> = candidates.into_iter().filter(fits).collect();
    // Candidates that start with the typed text come first.
    fitting.sort_by_key(|candidate| !candidate.to_lowercase().starts_with(&typed));
    fitting.dedup();
    fitting
}

fn documents(world: &EditorWorld) -> Vec<String> {
    let paths = world.editor.documents(&|| false).unwrap_or_default();
    paths.iter().map(|path| path.as_str().to_owned()).collect()
}
