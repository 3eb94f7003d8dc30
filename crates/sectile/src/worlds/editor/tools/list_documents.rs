//! `list_documents`: lists the documents of the folder.

use schemars::JsonSchema;
use sectile_markdown::Digest;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use serde::{Deserialize, Serialize};

use super::super::{EditorWorld, errors::CallSubject, paging::Cursor};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "list_documents",
        "List documents",
        "List the Markdown documents of the folder by path. Files that .gitignore excludes are not listed.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDocumentsParams {
    /// Only documents below this folder; . is the whole folder.
    folder: Option<String>,
    /// next_cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DocumentList {
    documents: Vec<String>,
    /// Number of documents.
    total: usize,
    /// There are more: call again with this as cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn handle(
    world: &EditorWorld,
    params: ListDocumentsParams,
    context: &CallContext,
) -> Result<(DocumentList, AnswerFacts), Failure> {
    let below = match &params.folder {
        None => String::new(),
        Some(folder) if ["", ".", "./"].contains(&folder.as_str()) => String::new(),
        Some(folder) => format!("{}/", world.path(folder)?),
    };
    let all = world
        .editor
        .documents(&|| context.cancelled.is_cancelled())
        .map_err(|error| world.failure(&error, &CallSubject::default()))?;
    let all: Vec<String> = all
        .iter()
        .map(|path| path.as_str().to_owned())
        .filter(|path| path.starts_with(&below))
        .collect();
    let cursor = Cursor::read(
        params.cursor.as_deref(),
        &Digest::of(all.join("\n").as_bytes()),
    )?;
    let mut documents: Vec<String> = Vec::new();
    let mut room = world.max_answer_bytes;
    for path in all.iter().skip(cursor.offset) {
        let size = path.len() + 4;
        if size > room && !documents.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        documents.push(path.clone());
    }
    let next = cursor.offset + documents.len();
    let facts = AnswerFacts {
        sections: None,
        truncated: next < all.len(),
        ..AnswerFacts::default()
    };
    let list = DocumentList {
        documents,
        total: all.len(),
        next_cursor: (next < all.len()).then(|| cursor.at(next)),
    };
    Ok((list, facts))
}
