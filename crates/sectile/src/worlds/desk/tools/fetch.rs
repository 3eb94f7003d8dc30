//! `fetch`: the text of documents and sections.

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_markdown::{Digest, estimate_tokens};
use sectile_mcp::{AnswerBody, AnswerFacts, CallContext, Failure, Tool, quoted};
use sectile_vault::editor::part_hash;
use serde::{Deserialize, Serialize};

use super::super::{
    DeskWorld,
    errors::{INVALID_ARGUMENTS, TOO_MANY, WRONG_KIND, failure, library_failure},
    fetched::{ReadAnswer, ReadEntry, ReadItem, ReadPosition, read_answer, title},
    paging::PageCursor,
    roots::{DeskRoot, VisibleRoots, missing},
};

/// Number of tokens in an answer if the call does not give a budget.
const DEFAULT_BUDGET: u64 = 6_000;
/// Maximum number of tokens in an answer, whatever the call asks for. Clients cut off answers at 25,000.
const MAX_BUDGET: u64 = 20_000;
/// Maximum number of ids in one call.
const MAX_IDS: usize = 50;

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::read(
        "fetch",
        "Fetch",
        "Read documents or sections: exact Markdown, each after a line with id, base and tokens. What exceeds the budget comes as section ids, the first part and a cursor.",
    )
    .alias("path", "id")
    .call_text(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FetchParams {
    /// Several: one per line.
    id: String,
    /// Maximum tokens to return.
    #[serde(default = "default_budget")]
    budget: u64,
    cursor: Option<String>,
}

fn default_budget() -> u64 {
    DEFAULT_BUDGET
}

/// The answer to clients of ChatGPT's kind.
#[derive(Debug, Serialize)]
struct ConnectorDocument {
    id: String,
    title: String,
    text: String,
    url: String,
    metadata: ConnectorMetadata,
}

/// Facts about a [`ConnectorDocument`], which hosts show as they are.
#[derive(Debug, Serialize)]
struct ConnectorMetadata {
    base: String,
    tokens: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn handle(
    world: &DeskWorld,
    params: FetchParams,
    context: &CallContext,
) -> Result<(AnswerBody, AnswerFacts), Failure> {
    let roots = world.roots_for(context);
    let cursor = PageCursor::parse(params.cursor.as_deref(), 2)?;
    let ids = params.id.lines().filter(|id| !id.trim().is_empty());
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return Err(failure(&INVALID_ARGUMENTS, "`id` is empty.", ""));
    }
    if ids.len() > MAX_IDS {
        let what = format!("`id` has more than {MAX_IDS} lines.");
        return Err(failure(&TOO_MANY, what, ""));
    }
    let mut entries = Vec::new();
    let mut first_item = None;
    for given in &ids {
        context.check()?;
        match readable(&roots, given) {
            Ok((root, item)) => {
                first_item.get_or_insert((root, entries.len()));
                entries.push(ReadEntry::Item(item));
            }
            // One mistake among many ids does not cost the others.
            Err(failure) if ids.len() > 1 => {
                let what = failure.message.replace(['\n', '\r'], " ");
                let line = format!("[{} | {}: {what}]", quoted(given), failure.name());
                entries.push(ReadEntry::Refused(line));
            }
            Err(failure) => return Err(failure),
        }
    }
    let state = state_of(&entries);
    cursor.check(&state)?;
    let start = ReadPosition {
        item: cursor.position(0),
        offset: boundary(&entries, cursor.position(0), cursor.position(1)),
    };
    let budget = usize::try_from(params.budget.min(MAX_BUDGET)).unwrap_or(usize::MAX);
    let answer = read_answer(&entries, start, budget, &state);
    let facts = AnswerFacts {
        sections: Some(entries.len()),
        truncated: answer.next.is_some(),
        ..AnswerFacts::default()
    };
    let is_single = entries.len() == 1;
    let body = match (first_item, entries.first()) {
        (Some((root, _)), Some(ReadEntry::Item(item))) if is_single && is_connector(context) => {
            AnswerBody::json(&connector_document(&roots, root, item, answer)?)?
        }
        _ => AnswerBody::Text(answer.text),
    };
    Ok((body, facts))
}

/// Returns the text of a document or section within the default budget, as `fetch` does.
pub(in super::super) fn note_text(
    roots: &VisibleRoots<'_>,
    given: &str,
) -> Result<String, Failure> {
    let (_, item) = readable(roots, given)?;
    let entries = [ReadEntry::Item(item)];
    let budget = usize::try_from(DEFAULT_BUDGET).unwrap_or(usize::MAX);
    let answer = read_answer(
        &entries,
        ReadPosition::default(),
        budget,
        &state_of(&entries),
    );
    Ok(answer.text)
}

/// Finds the document or section that an id names.
fn readable<'a>(
    roots: &VisibleRoots<'a>,
    given: &str,
) -> Result<(&'a DeskRoot, ReadItem), Failure> {
    let located = roots.locate(given)?;
    let (root, id) = (
        located.root,
        roots.id_of_target(located.root, &located.target),
    );
    let (path, section) = match located.target {
        FoundTarget::Document(path) => (path, None),
        FoundTarget::Section { path, id } => (path, Some(id)),
        FoundTarget::Folder(_) | FoundTarget::Top => {
            let what = format!(
                "{} is a folder; only documents and sections have text.",
                quoted(&id)
            );
            return Err(failure(&WRONG_KIND, what, ""));
        }
    };
    let view = roots.view(root, &path, &id)?;
    let section = match section {
        Some(id) => match view.position_of(&id) {
            Some(position) => Some(position),
            // It was there a moment ago.
            None => return Err(missing(given, &[])),
        },
        None => None,
    };
    let item = ReadItem {
        document_id: roots.id_of(root, view.path().as_str(), None),
        view,
        section,
    };
    Ok((root, item))
}

/// Returns the digest of everything that is read.
fn state_of(entries: &[ReadEntry]) -> Digest {
    let mut text = String::new();
    for entry in entries {
        text += &match entry {
            ReadEntry::Item(item) => format!("{} {}\n", item.id(), item.view.hash()),
            ReadEntry::Refused(_) => "\n".to_owned(),
        };
    }
    Digest::of(text.as_bytes())
}

/// Returns an offset in an item's text at which a character starts.
fn boundary(entries: &[ReadEntry], item: usize, offset: usize) -> usize {
    match entries.get(item) {
        Some(ReadEntry::Item(item)) => item.text().floor_char_boundary(offset),
        _ => 0,
    }
}

/// Returns whether a client shows its model documents only in the form of ChatGPT's connectors. These clients call
/// themselves `openai-mcp` or the like.
fn is_connector(context: &CallContext) -> bool {
    context.client.as_deref().is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("openai") || name.contains("chatgpt")
    })
}

/// Returns the answer for such a client.
fn connector_document(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    item: &ReadItem,
    answer: ReadAnswer,
) -> Result<ConnectorDocument, Failure> {
    let text = item.text();
    let whole = item.base();
    let is_whole = answer.next.is_none();
    Ok(ConnectorDocument {
        id: item.id(),
        title: title_of(roots, root, item)?,
        url: roots.url_of(root, item),
        metadata: ConnectorMetadata {
            base: if is_whole { whole } else { part_hash(&whole) },
            tokens: estimate_tokens(&text).to_string(),
            next: answer.next,
        },
        text: text
            .get(answer.shown.range())
            .unwrap_or_default()
            .to_owned(),
    })
}

/// Returns the title of a document, and the headings above a section with its own.
fn title_of(roots: &VisibleRoots<'_>, root: &DeskRoot, item: &ReadItem) -> Result<String, Failure> {
    let stop = || roots.context().cancelled.is_cancelled();
    let state = root.folder.index.current(&stop);
    let state = state.map_err(|error| library_failure(&error))?;
    let note = state.note(item.view.path());
    let mut parts: Vec<String> = note.map(|note| note.title.clone()).into_iter().collect();
    if let Some(position) = item.section {
        parts.extend(item.view.heading_path(position));
    }
    Ok(title(&parts))
}
