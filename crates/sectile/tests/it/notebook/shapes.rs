//! The shapes of the contract: every argument and every field that it names, with the type that it gives. What this world adds is
//! not listed here.

use serde_json::{Value, json};

use super::{Library, tour::tour};
use crate::fixture::Era;

/// Arguments: tool, name, type, and whether it must be given.
const ARGUMENTS: [(&str, &str, &str, bool); 8] = [
    ("enter_collection", "collection_id", "string", true),
    ("semantic_search", "query", "string", true),
    ("semantic_search", "k", "integer", false),
    ("fetch_passage", "source_id", "string", true),
    ("retrieve_artifact", "artifact_id", "string", true),
    ("begin_result_stream", "query", "string", true),
    ("next_stream_chunk", "stream_token", "string", true),
    ("explain_provenance", "id", "string", true),
];

/// Fields of answers: where they are and what they are; `?` stands for null besides.
type Fields = &'static [(&'static str, &'static str)];

const DESCRIBE_WORLD: Fields = &[
    ("world.name", "string"),
    ("world.type", "string"),
    ("world.authority_level", "string"),
    ("world.mutation", "string"),
    ("world.persistence", "string"),
    ("purpose[]", "string"),
    ("boundaries.scope", "string"),
    ("boundaries.reasoning", "string"),
    ("boundaries.learning", "string"),
    ("boundaries.decisions", "string"),
    ("available_affordances[]", "string"),
    ("citation_requirements.passages_must_quote", "boolean"),
    ("citation_requirements.artifacts_must_disclaim", "boolean"),
    ("citation_requirements.synthesis_must_label", "boolean"),
    ("provenance_available", "boolean"),
];

const LIST_COLLECTIONS: Fields = &[
    ("collections[].collection_id", "string"),
    ("collections[].title", "string"),
    ("collections[].date_range.start", "string"),
    ("collections[].date_range.end", "string"),
    ("collections[].domain_tags", "list"),
    ("collections[].artifact_count", "number"),
    ("collections[].notebook_count", "number"),
    ("collections[].last_modified", "number"),
    ("metadata.total_collections", "number"),
    ("metadata.data_as_of", "number"),
    ("metadata.next_refresh", "number?"),
];

const ENTER_COLLECTION: Fields = &[
    ("collection_id", "string"),
    ("title", "string"),
    ("context_established", "boolean"),
    ("scope_note", "string"),
    ("available_operations[]", "string"),
    ("preload_note", "string"),
];

const LIST_ARTIFACT_SETS: Fields = &[
    ("collection_id", "string"),
    ("artifact_sets[].artifact_set_id", "string"),
    ("artifact_sets[].artifact_type", "string"),
    ("artifact_sets[].created_at", "number"),
    ("artifact_sets[].status", "string"),
    ("artifact_sets[].source_notebooks", "list"),
    ("artifact_sets[].artifact_count", "number"),
];

const SEMANTIC_SEARCH: Fields = &[
    ("collection_id", "string"),
    ("query", "string"),
    ("results[].reference_id", "string"),
    ("results[].relevance_score", "number"),
    ("results[].source_pointer.notebook_id", "string"),
    ("results[].source_pointer.page", "number?"),
    ("results[].source_pointer.timestamp", "number?"),
    ("results[].preview_snippet", "string"),
    ("metadata.total_matches", "number"),
    ("metadata.returned", "number"),
    ("metadata.search_time_ms", "number"),
    ("note", "string"),
];

const FETCH_PASSAGE: Fields = &[
    ("source_id", "string"),
    ("passage.exact_text", "string"),
    ("passage.context_before", "string"),
    ("passage.context_after", "string"),
    ("provenance.notebook_id", "string"),
    ("provenance.notebook_title", "string"),
    ("provenance.page", "number?"),
    ("provenance.timestamp", "number?"),
    ("provenance.export_method", "string"),
    ("provenance.last_verified", "number"),
    ("integrity.checksum", "string"),
    ("integrity.verified", "boolean"),
    ("disclaimer", "string"),
];

const RETRIEVE_ARTIFACT: Fields = &[
    ("artifact_id", "string"),
    ("artifact_type", "string"),
    ("status", "string"),
    ("contents", "string or object"),
    ("provenance.source_notebooks", "list"),
    ("provenance.transformation_steps[].step_order", "number"),
    ("provenance.transformation_steps[].tool", "string"),
    ("provenance.transformation_steps[].timestamp", "number"),
    ("provenance.transformation_steps[].parameters", "object"),
    ("provenance.created_at", "number"),
    ("provenance.created_by", "string"),
    ("synthesis_metadata.synthesized", "boolean"),
    ("synthesis_metadata.confidence_note", "string"),
    ("synthesis_metadata.last_refreshed", "number?"),
    ("synthesis_metadata.staleness_indicator", "string"),
    ("disclaimer", "string"),
    ("immutable", "boolean"),
];

const BEGIN_RESULT_STREAM: Fields = &[
    ("stream_token", "string"),
    ("query", "string"),
    ("disclosure_policy.step_order[]", "string"),
    ("disclosure_policy.chunk_strategy", "string"),
    ("disclosure_policy.cancelable", "boolean"),
    ("disclosure_policy.timeout_s", "number"),
    ("metadata.estimated_chunks", "number?"),
    ("metadata.created_at", "number"),
    ("note", "string"),
];

const CHUNK: Fields = &[
    ("stream_token", "string"),
    ("chunk_index", "number"),
    ("chunk_type", "string"),
    ("payload", "string or object"),
    ("stream_metadata.what_changed", "string"),
    ("stream_metadata.why", "string"),
    ("stream_metadata.progress.current_step", "string"),
    ("stream_metadata.progress.completed_steps", "list"),
    ("stream_metadata.progress.remaining_steps", "list"),
    ("continuation.has_more", "boolean"),
    ("continuation.next_chunk_available", "boolean"),
    ("continuation.estimated_remaining", "number?"),
];

const COMPLETION: Fields = &[
    ("stream_token", "string"),
    ("chunk_type", "string"),
    ("summary.total_chunks", "number"),
    ("summary.total_references", "number"),
    ("summary.query", "string"),
    ("continuation.has_more", "boolean"),
    ("continuation.stream_closed", "boolean"),
];

const EXPLAIN_PROVENANCE: Fields = &[
    ("id", "string"),
    ("id_type", "string"),
    ("provenance.transformation_steps[].step_order", "number"),
    ("provenance.transformation_steps[].tool", "string"),
    ("provenance.transformation_steps[].parameters", "object"),
    ("provenance.transformation_steps[].timestamp", "number"),
    ("provenance.tools_involved", "list"),
    ("provenance.confidence_notes[]", "string"),
    ("interpretation_note", "string"),
];

/// Where a notebook is on record.
const ORIGIN: Fields = &[
    ("provenance.origin_notebook.notebook_id", "string"),
    ("provenance.origin_notebook.title", "string"),
    ("provenance.origin_notebook.author", "string?"),
    ("provenance.origin_notebook.created_at", "number"),
];

const LIST_CONSTRAINTS: Fields = &[
    ("mutation_prohibitions[]", "string"),
    ("scope_limits.world_type", "string"),
    ("scope_limits.authority_level", "string"),
    ("scope_limits.reasoning", "string"),
    ("scope_limits.learning", "string"),
    ("scope_limits.decisions", "string"),
    ("citation_requirements.passages", "string"),
    ("citation_requirements.artifacts", "string"),
    ("citation_requirements.synthesis", "string"),
    ("refusal_conditions[]", "string"),
    ("interpretation_rule.when_ambiguous[]", "string"),
    ("interpretation_rule.when_in_doubt[]", "string"),
];

fn is_a(value: &Value, kind: &str) -> bool {
    match kind.strip_suffix('?') {
        Some(kind) => value.is_null() || is_a(value, kind),
        None => match kind {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "list" => value.is_array(),
            "object" => value.is_object(),
            "string or object" => value.is_string() || value.is_object(),
            _ => panic!("{kind}"),
        },
    }
}

/// Whether the field is there, in every entry of the lists on the way, and is what it should be.
fn holds(value: &Value, path: &str, kind: &str) -> bool {
    let (step, rest) = match path.split_once('.') {
        Some((step, rest)) => (step, Some(rest)),
        None => (path, None),
    };
    let go_on = |value: &Value| match rest {
        Some(rest) => holds(value, rest, kind),
        None => is_a(value, kind),
    };
    match step.strip_suffix("[]") {
        Some(name) => value[name]
            .as_array()
            .is_some_and(|entries| entries.iter().all(go_on)),
        None => value.get(step).is_some_and(go_on),
    }
}

fn fields(tool: &str, answer: &Value) -> Vec<Fields> {
    match tool {
        "describe_world" => vec![DESCRIBE_WORLD],
        "list_collections" => vec![LIST_COLLECTIONS],
        "enter_collection" => vec![ENTER_COLLECTION],
        "list_artifact_sets" => vec![LIST_ARTIFACT_SETS],
        "semantic_search" => vec![SEMANTIC_SEARCH],
        "fetch_passage" => vec![FETCH_PASSAGE],
        "retrieve_artifact" => vec![RETRIEVE_ARTIFACT],
        "begin_result_stream" => vec![BEGIN_RESULT_STREAM],
        "next_stream_chunk" if answer["chunk_type"] == "stream_complete" => vec![COMPLETION],
        "next_stream_chunk" => vec![CHUNK],
        "explain_provenance" if answer["provenance"]["origin_notebook"].is_null() => {
            vec![EXPLAIN_PROVENANCE]
        }
        "explain_provenance" => vec![EXPLAIN_PROVENANCE, ORIGIN],
        "list_constraints" => vec![LIST_CONSTRAINTS],
        _ => panic!("{tool}"),
    }
}

#[test]
fn every_field_of_the_contract_is_there_with_its_type() {
    let library = Library::rich();
    library.vault.note("bare/untitled.md", "No heading.\n");
    std::fs::create_dir(library.vault.root().join("void")).unwrap();
    for era in Era::BOTH {
        let mut seen = Vec::new();
        for collection in ["lab", "bare"] {
            let mut client = library.open(era);
            for (tool, result) in tour(&mut client, collection) {
                let answer = &result["structuredContent"];
                for (path, kind) in fields(tool, answer).into_iter().flatten() {
                    assert!(holds(answer, path, kind), "{tool} {path} {kind}: {answer}");
                }
                seen.push((tool, answer["chunk_type"].clone()));
                // The text says the same as the structure.
                let text = result["content"][0]["text"].as_str().unwrap();
                let text: Value = serde_json::from_str(text).unwrap();
                assert_eq!(text, *answer, "{tool}");
            }
        }
        for tool in super::TOOLS {
            assert!(seen.iter().any(|(walked, _)| *walked == tool), "{tool}");
        }
    }
}

#[test]
fn every_argument_of_the_contract_is_taken_with_its_type() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    let request = Era::Handshake.request(1, "tools/list", json!({}));
    let listed = client.server.exchange(&request)["result"]["tools"].clone();
    for tool in listed.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        let mut required: Vec<&str> = Vec::new();
        for (_, argument, kind, is_required) in ARGUMENTS.iter().filter(|row| row.0 == name) {
            assert_eq!(schema["properties"][argument]["type"], *kind, "{name}");
            required.extend(is_required.then_some(*argument));
        }
        if name == "explain_provenance" {
            required.push("id_type");
            let kinds = schema["properties"]["id_type"].to_string() + &schema["$defs"].to_string();
            assert!(
                kinds.contains("\"source\"") && kinds.contains("\"artifact\""),
                "{schema}"
            );
        }
        let asked = schema.get("required").cloned().unwrap_or(json!([]));
        assert_eq!(asked, json!(required), "{name}: nothing else must be given");
    }
    let mut tools = listed.as_array().unwrap().iter();
    let search = tools.find(|tool| tool["name"] == "semantic_search");
    let k = &search.unwrap()["inputSchema"]["properties"]["k"];
    assert_eq!((&k["default"], &k["maximum"]), (&json!(10), &json!(50)));
}
