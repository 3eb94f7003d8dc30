//! `sectile notebook quote`: a passage by its id, verified, from a shell.

use sectile_library::{
    GoneReason, LibraryError,
    ids::SourceId,
    quote::{Quote, quote as read},
};
use serde_json::json;

use super::{args::QuoteArgs, failed, open};
use crate::{
    cli::ui::{CliError, DIM, GOOD, NAME, StyledText, print, visible},
    worlds::editor,
};

pub(super) fn quote(args: &QuoteArgs) -> Result<(), CliError> {
    let storage = open(&args.root)?;
    let id = SourceId::parse(&args.id).ok_or_else(|| {
        CliError::failed("that is not the id of a passage.")
            .next("take one from `sectile notebook search`")
    })?;
    let quote =
        read(&storage, None, &id, args.context, editor::now).map_err(|error| gone(&error))?;
    if args.json {
        return print(format_args!("{}\n", as_json(&quote)));
    }
    print(format_args!(
        "{}\n{}\n{}\n",
        visible_lines(&quote.text),
        StyledText(
            NAME,
            format_args!(
                "— {}, line {}",
                visible(&quote.heading_path.join(" > ")),
                quote.line
            )
        ),
        StyledText(
            GOOD,
            format_args!("verified: sha256 {} of these bytes, read now", quote.digest)
        ),
    ))
}

fn as_json(quote: &Quote) -> serde_json::Value {
    json!({
        "source_id": quote.id.to_string(),
        "exact_text": quote.text,
        "context_before": quote.before,
        "context_after": quote.after,
        "checksum": quote.digest.to_string(),
        "verified": true,
        "notebook_id": quote.id.notebook.as_str(),
        "notebook_checksum": quote.notebook_digest.to_string(),
        "notebook_title": quote.notebook_title,
        "heading_path": quote.heading_path,
        "line": quote.line,
    })
}

/// Replaces characters that could control a terminal, except line breaks.
fn visible_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible).collect();
    lines.join("\n")
}

fn gone(error: &LibraryError) -> CliError {
    let LibraryError::SourceNotFound {
        reason,
        new_source_id,
        ..
    } = error
    else {
        return failed(error);
    };
    let what = match reason {
        GoneReason::Deleted => "the notebook of that passage no longer exists.",
        GoneReason::Moved => "the passage is no longer there: it moved.",
        _ => "the notebook changed, and the passage is no longer in it.",
    };
    match new_source_id {
        Some(new) => CliError::failed(what).next(format_args!(
            "quote {}",
            StyledText(DIM, visible(&new.to_string()))
        )),
        None => CliError::failed(what).next("search again: sectile notebook search"),
    }
}
