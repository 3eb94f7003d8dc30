//! `get_section`: reads one section.

use schemars::JsonSchema;
use sectile_markdown::LetterCase;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::{SectionRef, page, part_hash};
use serde::{Deserialize, Serialize};

use super::super::{
    EditorWorld,
    errors::CallSubject,
    paging::{Cursor, TextPart},
    params::ScopeWord,
};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "get_section",
        "Get section",
        "Read one section: heading, content, position, and the hashes to pass as expected_hash. content is the section's own text; scope subtree adds its subsections. Long text comes in pages with partial: true; follow next_cursor for the rest.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetSectionParams {
    /// The section. Or give heading.
    section_id: Option<String>,
    /// Heading of the section, as list_sections shows it or as it is written, if it is unique.
    heading: Option<String>,
    /// body: the section's own text. subtree: everything below its heading, subsections included.
    #[serde(default)]
    scope: ScopeWord,
    /// Path of the document, relative to the folder; not needed with a section_id.
    path: Option<String>,
    /// next_cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SectionText {
    heading: String,
    /// The text; with partial, one page of it.
    content: String,
    /// content is only a part of the text. Never write it back: update_section replaces the whole text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    /// With partial: what this is a part of, and how to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// With partial: where content starts in the text, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    /// With partial: length of the whole text in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<usize>,
    /// Index in the list of sections, from 0.
    position: usize,
    section_id: String,
    path: String,
    /// 1 to 6.
    level: u8,
    /// The headings above it and its own, outermost first.
    heading_path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    /// Number of subsections at any depth.
    subsections: usize,
    /// Hash of the section's own text. It starts with part- unless all of that text was shown; then update_section does not
    /// accept it, but all other tools do.
    hash: String,
    /// Hash of heading, text and subsections, with part- in the same way.
    subtree_hash: String,
    /// On the last page: the hash to pass as expected_hash to update_section with the text of all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_hash: Option<String>,
    /// Number of the document's last history entry.
    revision: u64,
    /// There are more pages: call again with this as cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn handle(
    world: &EditorWorld,
    params: GetSectionParams,
    context: &CallContext,
) -> Result<(SectionText, AnswerFacts), Failure> {
    let given = params.path.as_deref();
    let path = world.document_unless_id(given, params.section_id.as_deref(), context)?;
    let wanted = SectionRef {
        id: params.section_id,
        heading: params.heading,
    };
    let (view, position) = world
        .editor
        .find_section(path.as_ref(), &wanted, LetterCase::MayDiffer)
        .map_err(|error| {
            let about = CallSubject::document(path.as_ref(), context).section(&wanted);
            world.failure(&error, &about)
        })?;
    let subtree = matches!(params.scope, ScopeWord::Subtree);
    let section = view.section(position);
    let content = view.content(position, subtree);
    let (Some(section), Some(content)) = (section, content) else {
        return Err(world.failure(
            &sectile_vault::editor::EditorError::DocumentNotFound,
            &CallSubject::document(path.as_ref(), context),
        ));
    };
    let cursor = Cursor::read(params.cursor.as_deref(), view.hash())?;
    let (part, next) = page(&content, cursor.offset, world.max_answer_bytes);
    let cut = TextPart::of(part, cursor.offset, content.len());
    let (hash, subtree_hash) = match &cut {
        Some(_) => (part_hash(&section.hash), part_hash(&section.subtree_hash)),
        None => section.shown_hashes(world.max_answer_bytes),
    };
    let whole_hash = match subtree {
        true => section.subtree_hash,
        false => section.hash,
    };
    let facts = AnswerFacts {
        sections: Some(1),
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let text = SectionText {
        heading: section.heading,
        content: part.to_owned(),
        partial: cut.is_some(),
        note: cut
            .as_ref()
            .map(|cut| cut.note("section", &context.for_caller(advice(cut)))),
        offset: cut.as_ref().map(|cut| cut.offset),
        total_bytes: cut.as_ref().map(|cut| cut.total),
        position,
        section_id: section.id,
        path: view.path().as_str().to_owned(),
        level: section.level,
        heading_path: view.heading_path(position),
        parent_id: section.parent,
        subsections: section.descendants,
        hash,
        subtree_hash,
        whole_hash: cut.filter(TextPart::is_last).map(|_| whole_hash),
        revision: view.revision(),
        next_cursor: next.map(|offset| cursor.at(offset)),
    };
    Ok((text, facts))
}

/// Advice for a page of a section.
fn advice(cut: &TextPart) -> &'static str {
    match cut.is_last() {
        true => {
            "To replace the section, put all parts together and pass whole_hash as expected_hash; to change a passage, use \
             edit_text."
        }
        false => {
            "Do not write this part back: update_section replaces the whole text. To change a passage, use edit_text."
        }
    }
}
