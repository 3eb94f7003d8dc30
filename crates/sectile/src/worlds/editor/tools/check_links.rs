//! `check_links`: finds broken links.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::CallHooks;
use serde::{Deserialize, Serialize};

use super::super::{EditorWorld, answers::BrokenLinkEntry, errors::CallSubject};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "check_links",
        "Check links",
        "Find broken links: to documents, files, #anchors, [[wiki#headings]] and [[wiki#^blocks]] that do not exist, in text, HTML and front matter, but not in code and %%comments%%. Checks one document, or all of them without a path. URLs are not checked.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckLinksParams {
    /// Path of the document, relative to the folder; without one, all documents.
    path: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LinkCheckAnswer {
    broken_links: Vec<BrokenLinkEntry>,
    /// Number of broken links that are not listed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    /// Number of documents that were checked.
    documents: usize,
    /// Number of links that were checked.
    links: usize,
}

/// Most broken links in one answer.
const SHOWN: usize = 200;

fn handle(
    world: &EditorWorld,
    params: CheckLinksParams,
    context: &CallContext,
) -> Result<(LinkCheckAnswer, AnswerFacts), Failure> {
    let path = params.path.map(|path| world.path(&path)).transpose()?;
    let stop = || context.cancelled.is_cancelled();
    let watch = CallHooks {
        stop: &stop,
        progress: &|done, total| context.progress.report(done, total, "documents"),
        ..CallHooks::none()
    };
    let check = world
        .editor
        .check_links(path.as_ref(), watch)
        .map_err(|error| world.failure(&error, &CallSubject::document(path.as_ref(), context)))?;
    let more = check.more + check.broken.len().saturating_sub(SHOWN);
    let checked = LinkCheckAnswer {
        broken_links: check
            .broken
            .into_iter()
            .take(SHOWN)
            .map(BrokenLinkEntry::from)
            .collect(),
        more: (more > 0).then_some(more),
        documents: check.documents,
        links: check.links,
    };
    let facts = AnswerFacts {
        sections: None,
        truncated: more > 0,
        ..AnswerFacts::default()
    };
    Ok((checked, facts))
}
