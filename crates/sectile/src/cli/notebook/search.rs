//! `sectile notebook search`: passages that answer a question, from a shell.

use std::sync::Arc;

use serde_json::json;

use super::{args::SearchArgs, failed, open, require};
use crate::{
    cli::ui::{CliError, DIM, NAME, Styled, print, visible},
    worlds::{
        editor,
        notebook::shelf::{Found, Shelf},
    },
};

/// Characters of a passage that are shown.
const SHOWN: usize = 160;

pub(super) fn search(args: &SearchArgs) -> Result<(), CliError> {
    let storage = open(&args.root)?;
    require(&storage, &args.collection)?;
    let shelf = storage
        .indexes(args.index.as_deref())
        .of(&args.collection, None)
        .and_then(|place| {
            let library = Arc::clone(&storage.library);
            Shelf::open(library, &args.collection, place, editor::now, &|| false)
        })
        .map_err(|error| failed(&error))?;
    shelf.refresh().map_err(|error| failed(&error))?;
    let found = shelf
        .search(&args.query.join(" "), args.most, &|| false)
        .map_err(|error| failed(&error))?;
    if args.json {
        return print(format_args!("{}\n", as_json(&found)));
    }
    print(shown(&found))
}

fn as_json(found: &Found) -> serde_json::Value {
    let hits = found.hits.iter().map(|hit| {
        json!({
            "reference_id": hit.id.to_string(),
            "heading_path": hit.heading_path,
            "line": hit.line,
            "relevance_score": f64::from(hit.scores.fused) / 1e6,
            "scores": {
                "lexical": f64::from(hit.scores.lexical) / 1e6,
                "semantic": f64::from(hit.scores.semantic) / 1e6,
            },
            "matched_terms": hit.matched,
            "text": hit.text,
        })
    });
    json!({
        "results": hits.collect::<Vec<_>>(),
        "total_matches": found.total,
        "index_on_disk": found.state.on_disk,
        "tier": found.state.tier.name(),
        "unknown_words": found.unknown_words,
    })
}

fn shown(found: &Found) -> String {
    let mut text = String::new();
    for hit in &found.hits {
        let words: Vec<&str> = hit.text.split_whitespace().collect();
        let mut said = words.join(" ");
        if let Some((end, _)) = said.char_indices().nth(SHOWN) {
            said.truncate(end);
            said.push('…');
        }
        text += &format!(
            "{}\n  {}\n  {}\n",
            Styled(NAME, visible(&hit.id.to_string())),
            Styled(
                DIM,
                format_args!(
                    "{} · line {} · score {}: words {}, meaning {}",
                    visible(&hit.heading_path.join(" > ")),
                    hit.line,
                    share(hit.scores.fused),
                    share(hit.scores.lexical),
                    share(hit.scores.semantic),
                )
            ),
            visible(&said),
        );
    }
    if found.hits.is_empty() {
        text += "Nothing was found.\n";
    }
    if !found.unknown_words.is_empty() {
        let words = visible(&found.unknown_words.join(", "));
        text += &format!("{}\n", Styled(DIM, format_args!("not there: {words}")));
    }
    if !found.state.on_disk {
        let hint = "There is no index on disk that can be used, so the collection was read for this: see `sectile notebook index`.";
        text += &format!("{}\n", Styled(DIM, hint));
    }
    text
}

/// Millionths, as a part of one.
fn share(millionths: u32) -> String {
    format!(
        "{}.{:03}",
        millionths / 1_000_000,
        millionths % 1_000_000 / 1_000
    )
}
