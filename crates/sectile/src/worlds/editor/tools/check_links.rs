//! `check_links`: which links lead nowhere.

use schemars::JsonSchema;
use sectile_vault::editor::Watch;
use serde::{Deserialize, Serialize};

use super::super::{EditorWorld, answers::LeadsNowhere, errors::About};
use crate::mcp::{CallContext, Facts, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "check_links",
        "Check links",
        "Find links that lead nowhere: to documents, files, #anchors, [[wiki#headings]] and [[wiki#^blocks]] that do not exist, in the text, in HTML and in front matter, but not in code and %%comments%%. Looks at one document, or at all of them without a path. URLs are not checked.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Document, relative to the folder; without one, all documents.
    path: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Checked {
    broken_links: Vec<LeadsNowhere>,
    /// Broken links that are not named here.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    /// Documents that were looked at.
    documents: usize,
    /// Links that were looked at.
    links: usize,
}

/// Links that one answer names.
const SHOWN: usize = 200;

fn handle(
    world: &EditorWorld,
    params: Params,
    context: &CallContext,
) -> Result<(Checked, Facts), Failure> {
    let path = params.path.map(|path| world.path(&path)).transpose()?;
    let stop = || context.cancelled.is_cancelled();
    let watch = Watch {
        stop: &stop,
        progress: &|done, total| context.progress.report(done, total, "documents"),
    };
    let check = world
        .editor
        .check_links(path.as_ref(), watch)
        .map_err(|error| world.failure(&error, &About::document(path.as_ref(), context)))?;
    let more = check.more + check.broken.len().saturating_sub(SHOWN);
    let checked = Checked {
        broken_links: check
            .broken
            .into_iter()
            .take(SHOWN)
            .map(LeadsNowhere::from)
            .collect(),
        more: (more > 0).then_some(more),
        documents: check.documents,
        links: check.links,
    };
    let facts = Facts {
        sections: None,
        truncated: more > 0,
        ..Facts::default()
    };
    Ok((checked, facts))
}
