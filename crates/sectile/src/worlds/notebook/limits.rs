//! Every limit that this world enforces, by name. `list_constraints` returns them all.
//!
//! A number that limits what a caller may send or gets back is in [`FIXED`]; a test compares that table with the constants
//! in the code, so that a new one cannot be forgotten. Limits from settings are added under the names of the settings.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_library::{
    StorageLimit, artifacts, collection, facts, indexing, left_out, open_collections, quote,
};
use sectile_retrieval::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, MOST_CORRECTED};
use serde::Serialize;

use super::{Constraints, NotebookWorld, contexts, errors, seal, streams, tools};

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Limit {
    /// Name of the limit; if a setting defines it, the name of that setting.
    pub(crate) name: Cow<'static, str>,
    /// The highest value allowed.
    pub(crate) value: u64,
    /// Description of what is limited.
    pub(crate) bounds: Cow<'static, str>,
}

/// A limit that is the same everywhere.
struct FixedLimit {
    /// Path of the constant, relative to this world.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the test"))]
    constant: &'static str,
    name: &'static str,
    value: u64,
    bounds: &'static str,
}

/// Rows of the table: a name, the constant, and what it bounds.
macro_rules! fixed {
    ($($name:literal: $($constant:ident)::+, $bounds:literal;)+) => {
        &[$(FixedLimit {
            constant: stringify!($($constant)::+),
            name: $name,
            value: $($constant)::+ as u64,
            bounds: $bounds,
        }),+]
    };
}

const FIXED: &[FixedLimit] = fixed! {
    "max_query_bytes": MAX_QUERY_BYTES, "bytes of a query";
    "max_query_words": MAX_QUERY_WORDS, "words of a query";
    "max_corrected_words": MOST_CORRECTED, "unknown words of a query that are corrected";
    "max_preview_characters": tools::semantic_search::PREVIEW, "characters of a preview";
    "max_passage_bytes": tools::fetch_passage::MOST_BYTES, "bytes of a passage that can be quoted";
    "passage_target_bytes": indexing::LONGEST_CHUNK, "bytes up to which blocks become one passage; a longer block is not split";
    "max_moved_candidates": quote::MOST_CANDIDATES, "positions where a moved passage is looked for";
    "max_notebooks_named": left_out::MOST_NAMED, "notebooks that an answer names as not searched";
    "max_streams": streams::MOST_STREAMS, "streams of one context; a new one replaces the oldest";
    "max_ended_streams": streams::MOST_ENDED, "ended streams of one context whose end is remembered";
    "max_sections_a_chunk": streams::SECTIONS_A_CHUNK, "sections of one chunk, at most stream_chunk_size";
    "max_section_characters": streams::chunks::MOST_CHARACTERS, "characters of a section in a chunk; a longer one is cut and marked";
    "max_artifact_links": streams::MOST_LINKS, "artifacts that one stream links to";
    "max_access_records": contexts::MOST_RECORDS, "calls of one context that are remembered; all are counted";
    "max_context_handles": contexts::MOST_HANDLES, "handles at the same time; the caller with the most loses one";
    "context_handle_idle_s": contexts::HANDLE_IDLE_S, "seconds that the context of a handle is kept after its last use";
    "max_open_collections": open_collections::MOST_OPEN, "collections open for search; the least recently used one is closed";
    "max_list_bytes": artifacts::MOST_LISTED_BYTES, "approximate bytes of one page of collections or artifact sets";
    "max_listed_source_bytes": artifacts::MOST_SOURCE_BYTES, "bytes of the names of a set's sources in a list";
    "max_artifact_sets": artifacts::MAX_SETS, "sets of a collection that are counted and linked";
    "max_records_bytes": artifacts::MOST_RECORD_BYTES, "approximate bytes of the records that one call reads";
    "max_record_bytes": artifacts::record::MAX_BYTES, "bytes of a set.toml";
    "max_record_sources": artifacts::record::MAX_SOURCES, "sources of a set";
    "max_record_steps": artifacts::record::MAX_STEPS, "steps of a set";
    "max_record_digests": artifacts::record::MAX_DIGESTS, "input digests, or output digests, of a step";
    "max_record_artifacts": artifacts::record::MAX_ARTIFACTS, "artifacts of a set";
    "max_step_parameters_bytes": artifacts::record::MAX_PARAMETERS, "bytes of the parameters of a step, as JSON";
    "max_tool_characters": artifacts::record::MAX_TOOL, "characters of the name of a step's tool";
    "max_confidence_note_characters": artifacts::record::MAX_NOTE, "characters of a confidence note";
    "max_artifact_name_bytes": artifacts::record::MAX_NAME, "bytes of the name of a set or of its file";
    "max_manifest_bytes": collection::MAX_MANIFEST, "bytes of a collection.toml";
    "max_manifest_text_characters": collection::MAX_TEXT, "characters of a title, author or tag of a collection; more are cut";
    "max_tags": collection::MAX_TAGS, "tags of a collection";
    "max_manifest_notes": collection::MAX_NOTES, "remarks on one collection.toml";
    "max_author_characters": facts::MAX_AUTHOR, "characters of a notebook's author; more are cut";
    "max_shown_id_characters": errors::SHOWN_ID, "characters of an id that an error repeats";
};

/// Further limits where replicas share a secret.
const SEALED: &[FixedLimit] = fixed! {
    "context_handle_valid_s": seal::SEALED_HANDLE_S, "seconds that a sealed handle is valid after entering";
    "max_clock_difference_s": seal::AHEAD_S, "seconds that the clock of another replica may be ahead";
};

/// Returns every limit that applies to calls of this world.
pub(super) fn all(world: &NotebookWorld) -> Vec<Limit> {
    let sealed = match world.contexts.are_sealed() {
        true => SEALED,
        false => &[],
    };
    let mut limits = of_settings(&world.constraints);
    limits.push(Limit {
        name: "max_notebook_bytes".into(),
        value: world.storage.max_notebook_bytes(),
        bounds: "bytes of a notebook or a payload; a larger notebook is reported and not searched"
            .into(),
    });
    limits.extend(FIXED.iter().chain(sealed).map(Limit::from));
    limits.extend(world.storage.limits().map(Limit::from));
    limits.extend(world.server_limits.iter().cloned());
    limits
}

/// Returns the limits set by `notebook.constraints`.
fn of_settings(constraints: &Constraints) -> Vec<Limit> {
    let Constraints {
        max_passage_context,
        max_search_results,
        stream_timeout_s,
        stream_chunk_size,
    } = *constraints;
    let limit = |name: &'static str, value: u64, bounds: &'static str| Limit {
        name: name.into(),
        value,
        bounds: bounds.into(),
    };
    vec![
        limit(
            "max_passage_context",
            max_passage_context as u64,
            "characters before and after a passage",
        ),
        limit(
            "max_search_results",
            max_search_results as u64,
            "results of a search, and references of a stream",
        ),
        limit(
            "stream_timeout_s",
            stream_timeout_s,
            "seconds that a stream lasts from its start",
        ),
        limit(
            "stream_chunk_size",
            stream_chunk_size as u64,
            "entries of one chunk of a stream, of any kind",
        ),
    ]
}

impl From<&FixedLimit> for Limit {
    fn from(fixed: &FixedLimit) -> Self {
        Self {
            name: fixed.name.into(),
            value: fixed.value,
            bounds: fixed.bounds.into(),
        }
    }
}

impl From<&StorageLimit> for Limit {
    fn from(limit: &StorageLimit) -> Self {
        Self {
            name: limit.name.into(),
            value: limit.value,
            bounds: limit.bounds.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the code itself is read")]

    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// Numbers that do not limit a call, each with the reason why callers need not know it.
    const INTERNAL: [(&str, &str); 35] = [
        ("artifacts::SET_BYTES", "an estimate, within max_list_bytes"),
        ("artifacts::SHOWN", "names in a message"),
        ("artifacts::record::FORMAT", "a version"),
        (
            "collection::CARD_BYTES",
            "an estimate, within max_list_bytes",
        ),
        ("facts::LENGTH", "the length of a date"),
        ("filling::TOGETHER", "how work is divided"),
        ("filling::database::WINDOW", "how work is divided"),
        ("filling::MOST_UNKEPT", "how often work is kept"),
        ("filling::LONGEST_UNKEPT", "how often work is kept"),
        ("ids::DIGITS", "the form of an id"),
        ("indexing::BYTES_AT_A_TIME", "how work is divided"),
        ("indexing::LEAST_SHARED", "how work is divided"),
        ("indexing::MOST_THREADS", "how work is divided"),
        ("indexing::SMALL", "how an index is divided"),
        ("indexing::MANY_SMALL", "how an index is divided"),
        ("provenance::root::SETTLED", "what is remembered of files"),
        ("provenance::root::MAX_REMEMBERED", "a cache"),
        ("publishing::WAITING", "how work is divided"),
        ("seal::VERSION", "a version"),
        (
            "open_collection::PAUSE",
            "how fresh an index is; answers say that",
        ),
        (
            "open_collection::QUIET",
            "how fresh an index is; answers say that",
        ),
        (
            "open_collection::LONGEST_WAIT",
            "how fresh an index is; answers say that",
        ),
        ("open_collection::SPARE", "how work is divided"),
        ("open_collection::readers::MOST_READERS", "a cache"),
        ("open_collection::snapshot::MANY", "how lists are merged"),
        ("open_collection::local::MOST_KNOWN", "a cache"),
        (
            "open_collection::second_tier::MOST_IN_MEMORY",
            "which tier answers; answers say that",
        ),
        (
            "open_collection::second_tier::TOGETHER",
            "how work is divided",
        ),
        (
            "open_collection::snapshot::MOST_IN_MEMORY",
            "how an index is divided",
        ),
        (
            "open_collection::snapshot::LARGE",
            "how an index is divided",
        ),
        (
            "open_collections::MOST_TRIES",
            "how often a damaged index is opened again",
        ),
        ("open_collections::PATIENCE", "how waiting is done"),
        (
            "folder::MAX_NOTE_BYTES",
            "the default of max_notebook_bytes",
        ),
        ("tools::next_stream_chunk::PAUSE", "how waiting is done"),
        (
            "tools::semantic_search::DEFAULT_K",
            "a default; the schema says it",
        ),
    ];

    /// Numbers that a storage reports itself.
    const OF_STORAGE: [&str; 1] = ["folder::MAX_ARTIFACT_FOLDERS"];

    /// Returns the constants in a file that are numbers or durations, outside its tests.
    fn constants(text: &str) -> impl Iterator<Item = &str> {
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or(text);
        code.lines().filter_map(|line| {
            let (_, constant) = line.split_once("const ")?;
            let (name, rest) = constant.split_once(": ")?;
            let is_name = name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            let kinds = ["usize =", "u64 =", "u32 =", "u8 =", "i64 =", "Duration ="];
            (is_name && kinds.iter().any(|kind| rest.starts_with(kind))).then_some(name)
        })
    }

    /// Collects every such constant in a folder of modules, as a path relative to it.
    fn all_constants(folder: &Path, module: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let inner = format!("{module}{name}::");
            if path.extension().is_none() {
                all_constants(&path, &inner, found);
            } else if !["tests", "testing"].contains(&name) && path.extension().unwrap() == "rs" {
                let text = fs::read_to_string(&path).unwrap();
                found.extend(constants(&text).map(|name| format!("{inner}{name}")));
            }
        }
    }

    #[test]
    fn list_constraints_names_every_limit_that_is_in_the_code() {
        let own_crate = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        for folder in ["src/worlds/notebook", "../library/src"] {
            all_constants(&own_crate.join(folder), "", &mut found);
        }
        // These are not of this world: a folder that is being edited, tenants, and the quotes from them are the desk's, and a manual is of
        // the docs world.
        let is_ours = |name: &String| {
            let of_others = [
                "live_folder",
                "editable_folder",
                "live_manual",
                "manual_",
                "quote_check",
                "tenants",
            ];
            of_others.iter().all(|module| !name.starts_with(module))
        };
        found.retain(is_ours);
        let own = include_str!("../notebook.rs");
        found.extend(constants(own).map(str::to_owned));
        let named = FIXED
            .iter()
            .chain(SEALED)
            .map(|row| row.constant.replace(' ', ""));
        let named: BTreeSet<String> = named.collect();
        for constant in &found {
            let is_internal = INTERNAL.iter().any(|(name, _)| name == constant);
            let is_of_storage = OF_STORAGE.contains(&constant.as_str());
            let places = [named.contains(constant), is_internal, is_of_storage];
            assert_eq!(
                places.iter().filter(|is_there| **is_there).count(),
                1,
                "`{constant}` belongs in FIXED, which callers see, or in INTERNAL with the reason why not"
            );
        }
        // And nothing is listed that is not there.
        let outside = [MAX_QUERY, "MOST_CORRECTED"];
        for constant in named
            .iter()
            .map(String::as_str)
            .chain(INTERNAL.map(|(name, _)| name))
        {
            let is_outside = outside.iter().any(|name| constant.starts_with(name));
            assert!(found.contains(constant) || is_outside, "{constant}");
        }
    }

    /// Prefix of the constants for queries, which another crate defines.
    const MAX_QUERY: &str = "MAX_QUERY_";

    #[test]
    fn no_two_limits_have_one_name() {
        let mut names: Vec<&str> = FIXED.iter().chain(SEALED).map(|row| row.name).collect();
        names.extend([
            "max_notebook_bytes",
            "max_passage_context",
            "max_search_results",
        ]);
        names.extend(["stream_timeout_s", "stream_chunk_size"]);
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
    }
}
