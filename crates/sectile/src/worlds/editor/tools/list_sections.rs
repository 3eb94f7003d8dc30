//! `list_sections`: lists the sections of a document, without their text.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::short_hash;
use serde::{Deserialize, Serialize};

use super::super::{EditorWorld, answers::ListedSection, errors::CallSubject, paging::Cursor};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "list_sections",
        "List sections",
        "List the sections of a document with their ids, headings, positions, levels and hashes, in order, without text.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListSectionsParams {
    /// Path of the document, relative to the folder.
    path: Option<String>,
    /// next_cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SectionList {
    sections: Vec<ListedSection>,
    path: String,
    /// Number of the document's last history entry.
    revision: u64,
    document_hash: String,
    /// Number of sections in the document.
    total: usize,
    /// There are more: call again with this as cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// About how many bytes an entry takes in an answer, in addition to its heading and ids.
const ENTRY_BYTES: usize = 150;

fn handle(
    world: &EditorWorld,
    params: ListSectionsParams,
    context: &CallContext,
) -> Result<(SectionList, AnswerFacts), Failure> {
    let path = world.named_document(params.path.as_deref(), context)?;
    let view = world
        .editor
        .view(&path)
        .map_err(|error| world.failure(&error, &CallSubject::document(&path, context)))?;
    let total = view.ids().len();
    let cursor = Cursor::read(params.cursor.as_deref(), view.hash())?;
    let mut sections: Vec<ListedSection> = Vec::new();
    let mut room = world.max_answer_bytes;
    for position in cursor.offset..total {
        let Some(section) = view.section(position) else {
            break;
        };
        let size = ENTRY_BYTES + section.heading.len() + 2 * section.id.len();
        if size > room && !sections.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        sections.push(ListedSection::new(section, world.max_answer_bytes));
    }
    let next = cursor.offset + sections.len();
    let facts = AnswerFacts {
        sections: Some(sections.len()),
        truncated: next < total,
        ..AnswerFacts::default()
    };
    let list = SectionList {
        sections,
        path: view.path().as_str().to_owned(),
        revision: view.revision(),
        document_hash: short_hash(view.hash()),
        total,
        next_cursor: (next < total).then(|| cursor.at(next)),
    };
    Ok((list, facts))
}
