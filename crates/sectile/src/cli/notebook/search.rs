//! `sectile notebook search`: passages that answer a question, from a shell.

use std::{cmp::Reverse, path::Path, slice, sync::Arc};

use sectile_library::{
    LibraryError, SearchQuery,
    open_collection::{OpenCollection, VerifiedHit, VerifiedResults},
};
use serde_json::json;

use super::{args::SearchArgs, collections, failed, open, require};
use crate::{
    cli::ui::{CliError, DIM, NAME, StyledText, print, visible},
    worlds::{editor, notebook::OpenLibrary},
};

/// The number of characters shown of a passage.
const SHOWN: usize = 160;

pub(super) fn search(args: &SearchArgs) -> Result<(), CliError> {
    let storage = open(&args.root)?;
    if !args.all {
        require(&storage, &args.collection)?;
        let found = search_one(&storage, args, &args.collection, &parsed(&args.query)?)
            .map_err(|error| failed(&error))?;
        return match args.json {
            true => print(format_args!("{}\n", as_json(&found))),
            false => print(shown(&found)),
        };
    }
    let query = [slice::from_ref(&args.collection), &args.query].concat();
    let found = search_all(&storage, args, &query)?;
    match args.json {
        true => print(format_args!("{}\n", found.as_json())),
        false => print(found.shown()),
    }
}

/// Parses a query.
fn parsed(words: &[String]) -> Result<SearchQuery, CliError> {
    SearchQuery::parse(words.join(" "))
        .map_err(|error| CliError::failed(visible(&error.to_string())))
}

/// Returns the best passages of a collection.
fn search_one(
    storage: &OpenLibrary,
    args: &SearchArgs,
    collection: &str,
    query: &SearchQuery,
) -> Result<VerifiedResults, LibraryError> {
    let open_collection = opened(storage, args.index.as_deref(), collection)?;
    open_collection.search(query, args.most, &|| false)
}

/// Opens a collection with its index, as a server does, and compares both.
pub(super) fn opened(
    storage: &OpenLibrary,
    index: Option<&Path>,
    collection: &str,
) -> Result<Arc<OpenCollection>, LibraryError> {
    let place = storage.indexes(index).of(collection, None)?;
    let library = Arc::clone(&storage.library);
    let open_collection = OpenCollection::open(library, collection, place, editor::now, &|| false)?;
    open_collection.refresh(&|| false)?;
    Ok(open_collection)
}

/// The results from all collections together.
struct FoundInAll {
    /// The best hits, best first.
    hits: Vec<VerifiedHit>,
    /// The results from each collection, without their hits.
    collections: Vec<(String, VerifiedResults)>,
}

/// Returns the best passages of all collections. Only one collection is open at a time.
fn search_all(
    storage: &OpenLibrary,
    args: &SearchArgs,
    query: &[String],
) -> Result<FoundInAll, CliError> {
    let mut all = FoundInAll {
        hits: Vec::new(),
        collections: Vec::new(),
    };
    let collections = collections(storage)?;
    let query = parsed(query)?;
    for collection in collections {
        let mut found = match search_one(storage, args, &collection, &query) {
            // It was removed after the names were listed.
            Err(LibraryError::CollectionNotFound) => continue,
            found => found.map_err(|error| failed(&error))?,
        };
        all.hits.append(&mut found.hits);
        // The sort is stable: the order of collections, and of hits in each, decides between equals.
        all.hits.sort_by_key(|hit| Reverse(hit.scores.fused));
        all.hits.truncate(args.most);
        all.collections.push((collection, found));
    }
    Ok(all)
}

impl FoundInAll {
    /// Returns the words that are in none of the collections.
    fn unknown_words(&self) -> Vec<String> {
        let mut each = self.collections.iter().map(|(_, found)| found);
        let mut unknown = each
            .next()
            .map_or_else(Vec::new, |found| found.unknown_words.clone());
        for found in each {
            unknown.retain(|word| found.unknown_words.contains(word));
        }
        unknown
    }

    fn as_json(&self) -> serde_json::Value {
        let collections = self.collections.iter().map(|(name, found)| {
            json!({
                "collection_id": name,
                "total_matches": found.total,
                "index_on_disk": found.state.on_disk,
                "tier": found.state.tier.name(),
            })
        });
        let total: usize = self.collections.iter().map(|(_, found)| found.total).sum();
        json!({
            "results": results(&self.hits),
            "total_matches": total,
            "collections": collections.collect::<Vec<_>>(),
            "unknown_words": self.unknown_words(),
        })
    }

    fn shown(&self) -> String {
        let unread = self.collections.iter();
        let without_index: Vec<&str> = unread
            .filter(|(_, found)| !found.state.on_disk)
            .map(|(name, _)| name.as_str())
            .collect();
        let hint = (!without_index.is_empty()).then(|| {
            let names = visible(&without_index.join(", "));
            format!("Read for this search, because they have no usable index on disk: {names}. See `sectile notebook index`.")
        });
        lines(&self.hits, &self.unknown_words(), hint.as_deref())
    }
}

fn results(hits: &[VerifiedHit]) -> Vec<serde_json::Value> {
    let hits = hits.iter().map(|hit| {
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
    hits.collect()
}

fn as_json(found: &VerifiedResults) -> serde_json::Value {
    json!({
        "results": results(&found.hits),
        "total_matches": found.total,
        "index_on_disk": found.state.on_disk,
        "tier": found.state.tier.name(),
        "unknown_words": found.unknown_words,
    })
}

fn shown(found: &VerifiedResults) -> String {
    let hint = "There is no usable index on disk, so the collection was read for this search: see `sectile notebook index`.";
    let hint = (!found.state.on_disk).then_some(hint);
    lines(&found.hits, &found.unknown_words, hint)
}

fn lines(hits: &[VerifiedHit], unknown_words: &[String], hint: Option<&str>) -> String {
    let mut text = String::new();
    for hit in hits {
        let words: Vec<&str> = hit.text.split_whitespace().collect();
        let mut said = words.join(" ");
        if let Some((end, _)) = said.char_indices().nth(SHOWN) {
            said.truncate(end);
            said.push('…');
        }
        text += &format!(
            "{}\n  {}\n  {}\n",
            StyledText(NAME, visible(&hit.id.to_string())),
            StyledText(
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
    if hits.is_empty() {
        text += "Nothing was found.\n";
    }
    if !unknown_words.is_empty() {
        let words = visible(&unknown_words.join(", "));
        text += &format!("{}\n", StyledText(DIM, format_args!("not found: {words}")));
    }
    if let Some(hint) = hint {
        text += &format!("{}\n", StyledText(DIM, hint));
    }
    text
}

/// Formats millionths as a fraction of one.
fn share(millionths: u32) -> String {
    format!(
        "{}.{:03}",
        millionths / 1_000_000,
        millionths % 1_000_000 / 1_000
    )
}
