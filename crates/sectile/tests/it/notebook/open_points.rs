//! Every row of the table of points that the contract left open, as they were decided, by name. `ROWS` says which test
//! shows which; a test sees to it that each of them exists.

/// Artifacts, their ids, digests and freshness, and provenance.
mod artifacts;
/// What a result stream delivers, and how it ends.
mod streams;

use serde_json::{Value, json};

use super::{Library, proof};
use crate::fixture::Era;

/// The open points, and the test that shows what was decided.
const ROWS: [(&str, &str); 42] = [
    (
        "on-disk layout",
        "a_folder_is_a_collection_and_every_document_below_it_a_notebook",
    ),
    (
        "ids: self-verifying",
        "an_id_says_where_a_passage_is_and_proves_what_it_says",
    ),
    (
        "ids: the jail is checked from the id alone",
        "an_id_that_is_none_is_not_found_and_one_of_another_collection_is_outside",
    ),
    (
        "reference_id and source_id",
        "a_reference_id_is_a_source_id",
    ),
    (
        "artifact ids are listed",
        "artifact_ids_are_listed_and_can_be_retrieved",
    ),
    (
        "set id with one artifact",
        "the_id_of_a_set_stands_for_its_only_artifact_and_for_no_one_of_several",
    ),
    (
        "set id with many artifacts",
        "the_id_of_a_set_stands_for_its_only_artifact_and_for_no_one_of_several",
    ),
    (
        "checksum of a passage is recomputed",
        "checksums_are_those_of_the_bytes_on_disk_now",
    ),
    (
        "checksum of an artifact is recomputed",
        "a_payload_that_is_not_as_recorded_is_not_answered",
    ),
    (
        "checksum of the collection",
        "a_chain_leads_up_to_the_root_of_the_collection",
    ),
    (
        "last_verified",
        "times_are_milliseconds_of_this_call_and_dates_are_iso",
    ),
    ("page", "a_page_is_null_and_a_line_is_given"),
    (
        "timestamp",
        "a_timestamp_comes_from_a_heading_or_front_matter_and_never_from_the_file",
    ),
    (
        "times",
        "times_are_milliseconds_of_this_call_and_dates_are_iso",
    ),
    ("export_method", "the_export_method_is_a_verbatim_read"),
    (
        "transformation steps",
        "steps_are_recorded_with_digests_that_fit_together",
    ),
    (
        "source_outside_collection",
        "an_id_that_is_none_is_not_found_and_one_of_another_collection_is_outside",
    ),
    (
        "explain_provenance precondition",
        "safe_server_starts_with_no_active_collection",
    ),
    (
        "staleness",
        "staleness_is_a_matter_of_content_and_not_of_age",
    ),
    (
        "canonical and the disclaimer",
        "canonical_and_offered_are_kept_apart_and_both_carry_the_disclaimer",
    ),
    (
        "stream step contents",
        "every_step_delivers_its_payload_under_its_own_name",
    ),
    (
        "chunk_type",
        "every_step_delivers_its_payload_under_its_own_name",
    ),
    (
        "totals at completion",
        "totals_and_remaining_chunks_are_exact",
    ),
    (
        "cancel: by entering a collection",
        "entering_any_collection_drops_all_streams",
    ),
    (
        "cancel: by time",
        "a_stream_lasts_for_its_time_from_its_beginning_however_it_is_used",
    ),
    (
        "cancel: by closing the connection",
        "a_stream_ends_with_its_connection",
    ),
    (
        "stream after a collection switch",
        "entering_any_collection_drops_all_streams",
    ),
    (
        "expired and unknown token",
        "a_stream_lasts_for_its_time_from_its_beginning_however_it_is_used",
    ),
    (
        "timeout",
        "a_stream_lasts_for_its_time_from_its_beginning_however_it_is_used",
    ),
    (
        "exit",
        "exit_collection_context_clearable_no_persistent_state",
    ),
    (
        "access log",
        "no_implicit_memory_session_state_in_memory_only",
    ),
    (
        "search_time_ms, data_as_of, tokens",
        "determinism_read_only_is_repeatable",
    ),
    ("total_matches", "total_matches_counts_before_the_cut"),
    (
        "k",
        "bad_arguments_are_ambiguous_requests_that_name_the_argument",
    ),
    ("preview_snippet", "a_preview_has_100_characters_at_most"),
    (
        "context before and after",
        "context_is_cut_at_characters_and_follows_the_settings",
    ),
    (
        "unknown tool and mutation attempts",
        "no_silent_mutation_mutation_attempts_return_explicit_refusal",
    ),
    (
        "reversibility metadata",
        "reversibility_declaration_all_tools_marked_reversible",
    ),
    (
        "metadata of results",
        "observability_surface_all_responses_include_metadata",
    ),
    (
        "number of purposes",
        "inspectability_describe_world_exposes_all_capabilities",
    ),
    (
        "explainQuery",
        "streaming_explains_each_chunk_says_what_changed_and_the_measured_reason",
    ),
    (
        "the texts of the seed",
        "the_fixed_texts_are_those_of_the_seed",
    ),
];

/// The files that hold these tests.
const FILES: [&str; 5] = [
    include_str!("open_points.rs"),
    include_str!("open_points/artifacts.rs"),
    include_str!("open_points/streams.rs"),
    include_str!("checklist.rs"),
    include_str!("bad_input.rs"),
];

/// Whether one of these files has a test of this name.
pub(super) fn is_tested(files: &[&str], test: &str) -> bool {
    let head = format!("#[test]\nfn {test}() {{");
    files.iter().any(|file| file.contains(&head))
}

#[test]
fn every_row_has_its_test() {
    for (row, test) in ROWS {
        assert!(is_tested(&FILES, test), "{row}: {test}");
    }
}

fn first(answer: &Value) -> &Value {
    &answer["results"][0]
}

#[test]
fn a_folder_is_a_collection_and_every_document_below_it_a_notebook() {
    let library = Library::rich();
    library
        .vault
        .note("lab/collection.toml", "title = 'The lab'\ntags = ['ice']\n");
    library.vault.note("_drafts/x.md", "# Ice\n");
    library.vault.note("loose.md", "# Ice\n");
    let mut client = library.open(Era::Handshake);
    let listed = client.call("list_collections", json!({}));
    let cards = listed["collections"].as_array().unwrap();
    let said = cards.iter().map(|card| {
        let said = |key: &str| card[key].clone();
        json!([
            said("collection_id"),
            said("title"),
            said("domain_tags"),
            said("notebook_count"),
            said("artifact_count")
        ])
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            json!([".", "vault", [], 1, 0]),
            json!(["journal", "journal", [], 2, 0]),
            json!(["lab", "The lab", ["ice"], 2, 4]),
            json!(["physics", "physics", [], 1, 0]),
        ]
    );
}

#[test]
fn an_id_says_where_a_passage_is_and_proves_what_it_says() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let found = client.search("thin on the eighth");
    let id = first(&found)["reference_id"].as_str().unwrap();
    let bytes = proof::bytes_of(&library.vault.root(), "lab/dated.md").unwrap();
    let text = "The ice was thin on the eighth.";
    let start = String::from_utf8(bytes.clone())
        .unwrap()
        .find(text)
        .unwrap();
    assert_eq!(
        id,
        proof::id_of("lab/dated.md", &bytes, start, start + text.len())
    );
    // A passage of one's own choice can be cited as well, as long as it is true.
    let own = proof::id_of("lab/dated.md", &bytes, start, start + 7);
    let fetched = client.call("fetch_passage", json!({ "source_id": own }));
    assert_eq!(fetched["passage"]["exact_text"], "The ice");
    let (place, _) = own.rsplit_once(':').unwrap();
    let forged = format!("{place}:0123456789abcdef");
    let error = client.error("fetch_passage", json!({ "source_id": forged }));
    assert_eq!(error["context"]["reason"], "changed", "{error}");
}

#[test]
fn a_reference_id_is_a_source_id() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    for result in client.search("ice")["results"].as_array().unwrap() {
        let id = &result["reference_id"];
        let fetched = client.call("fetch_passage", json!({ "source_id": id }));
        assert_eq!(fetched["source_id"], *id);
        let explained = client.call(
            "explain_provenance",
            json!({ "id": id, "id_type": "source" }),
        );
        assert_eq!(explained["id"], *id);
    }
}

#[test]
fn checksums_are_those_of_the_bytes_on_disk_now() {
    let library = Library::rich();
    let root = library.vault.root();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let id = first(&client.search("thin on the eighth"))["reference_id"].clone();
    let before = client.call("fetch_passage", json!({ "source_id": id }));
    proof::assert_fetched(&root, &before);
    // The passage stays, the rest of the notebook does not.
    let path = root.join("lab/dated.md");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text += "\nMore.\n";
    std::fs::write(&path, &text).unwrap();
    let after = client.call("fetch_passage", json!({ "source_id": id }));
    proof::assert_fetched(&root, &after);
    assert_eq!(before["integrity"], after["integrity"]);
    assert_ne!(
        before["provenance"]["notebook_checksum"],
        after["provenance"]["notebook_checksum"]
    );
    std::fs::write(&path, text.replace("eighth", "EIGHTH")).unwrap();
    let error = client.error("fetch_passage", json!({ "source_id": id }));
    assert_eq!(error["type"], "source_not_found", "{error}");
    assert_eq!(error["context"]["reason"], "changed", "{error}");
}

#[test]
fn times_are_milliseconds_of_this_call_and_dates_are_iso() {
    let library = Library::rich();
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        i64::try_from(since.unwrap().as_millis()).unwrap()
    };
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let id = first(&client.search("thin"))["reference_id"].clone();
    let before = now();
    let fetched = client.call("fetch_passage", json!({ "source_id": id }));
    let found = client.search("thin");
    let listed = client.call("list_collections", json!({}));
    let after = now();
    for time in [
        &fetched["provenance"]["last_verified"],
        &first(&found)["last_verified"],
        &listed["metadata"]["data_as_of"],
    ] {
        let time = time.as_i64().unwrap();
        assert!((before..=after).contains(&time), "{before} {time} {after}");
    }
    let card = &listed["collections"][1];
    let modified = card["last_modified"].as_i64().unwrap();
    assert!(modified <= after && modified > after - 3_600_000, "{card}");
    for end in ["start", "end"] {
        let day = card["date_range"][end].as_str().unwrap();
        let dashes: Vec<usize> = day.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!((day.len(), dashes), (10, vec![4, 7]), "{card}");
    }
}

#[test]
fn a_page_is_null_and_a_line_is_given() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let found = client.search("thin on the eighth");
    assert_eq!(first(&found)["source_pointer"]["page"], Value::Null);
    assert_eq!(first(&found)["line"], 13);
    let id = &first(&found)["reference_id"];
    let provenance = &client.call("fetch_passage", json!({ "source_id": id }))["provenance"];
    assert_eq!(
        (&provenance["page"], &provenance["line"]),
        (&Value::Null, &json!(13))
    );
    assert_eq!(
        provenance["heading_path"],
        json!(["Field book", "Week 19", "2024-05-08, a Wednesday"])
    );
}

#[test]
fn a_timestamp_comes_from_a_heading_or_front_matter_and_never_from_the_file() {
    const DAY: i64 = 86_400_000;
    const SIXTH: i64 = 1_714_953_600_000;
    let library = Library::rich();
    library.vault.note(
        "lab/bad.md",
        "---\ndate: soon\n---\n\n# Nowhen\n\nAn undated iceberg.\n",
    );
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    for (query, expected) in [
        ("ice was thin on the eighth", json!(SIXTH + 2 * DAY)),
        ("ice on the lake was measured", json!(SIXTH)),
        ("glacier number 2", Value::Null),
        ("undated iceberg", Value::Null),
    ] {
        let found = client.search(query);
        assert_eq!(
            first(&found)["source_pointer"]["timestamp"],
            expected,
            "{query}: {found}"
        );
        let id = &first(&found)["reference_id"];
        let fetched = client.call("fetch_passage", json!({ "source_id": id }));
        assert_eq!(fetched["provenance"]["timestamp"], expected, "{query}");
    }
}

#[test]
fn the_export_method_is_a_verbatim_read() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let id = first(&client.search("glacier"))["reference_id"].clone();
    let fetched = client.call("fetch_passage", json!({ "source_id": id }));
    assert_eq!(fetched["provenance"]["export_method"], "verbatim_file_read");
}

#[test]
fn total_matches_counts_before_the_cut() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let mut totals = Vec::new();
    for k in [1, 2, 50] {
        let found = client.call("semantic_search", json!({ "query": "ice", "k": k }));
        let total = found["metadata"]["total_matches"].as_u64().unwrap();
        assert_eq!(
            found["results"].as_array().unwrap().len() as u64,
            total.min(k),
            "{found}"
        );
        totals.push(total);
    }
    assert!(
        totals[0] > 2 && totals.iter().all(|total| *total == totals[0]),
        "{totals:?}"
    );
}

#[test]
fn a_preview_has_100_characters_at_most() {
    let library = Library::rich();
    library
        .vault
        .note("lab/wide.md", format!("# 氷\n\n{}\n", "氷の湖 ".repeat(60)));
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    for (query, is_long) in [
        ("氷の湖", true),
        ("glacier number 3", true),
        ("Nothing of it", false),
    ] {
        let found = client.search(query);
        proof::assert_found(&library.vault.root(), "lab", &found);
        let preview = first(&found)["preview_snippet"].as_str().unwrap();
        assert_eq!(preview.chars().count() == 100, is_long, "{preview}");
        assert!(preview.chars().count() <= 100, "{preview}");
    }
}

#[test]
fn context_is_cut_at_characters_and_follows_the_settings() {
    let library = Library::rich();
    let text = format!("{} here {}", "é".repeat(900), "湖".repeat(900));
    library.vault.note("lab/wide.md", &text);
    let start = text.find("here").unwrap();
    let id = proof::id_of("lab/wide.md", text.as_bytes(), start, start + 4);
    for (settings, most) in [
        ("", 500),
        ("[notebook.constraints]\nmax_passage_context = 7\n", 7),
        ("[notebook.constraints]\nmax_passage_context = 0\n", 0),
    ] {
        let mut client = library.open_with(Era::Handshake, settings);
        client.enter("lab");
        let fetched = client.call("fetch_passage", json!({ "source_id": id }));
        let passage = &fetched["passage"];
        assert_eq!(passage["exact_text"], "here");
        let (before, after) = (most.min(901_usize), most.min(901));
        let expected = format!("{} ", "é".repeat(900))
            .chars()
            .skip(901 - before)
            .collect::<String>();
        assert_eq!(passage["context_before"], expected, "{settings}");
        let expected = format!(" {}", "湖".repeat(900))
            .chars()
            .take(after)
            .collect::<String>();
        assert_eq!(passage["context_after"], expected, "{settings}");
    }
}

#[test]
fn the_fixed_texts_are_those_of_the_seed() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let found = client.search("glacier");
    assert_eq!(
        found["note"],
        "Full text not included. Use fetch_passage to retrieve content."
    );
    let id = &first(&found)["reference_id"];
    let fetched = client.call("fetch_passage", json!({ "source_id": id }));
    assert_eq!(
        fetched["disclaimer"],
        "This is a quoted passage from human-authored material. It is provided as-is with no interpretation."
    );
    let begun = client.call("begin_result_stream", json!({ "query": "glacier" }));
    assert_eq!(
        begun["note"],
        "No content returned. Use next_stream_chunk to retrieve incrementally."
    );
    assert_eq!(
        begun["disclosure_policy"],
        json!({
            "step_order": ["reference_identifiers", "passages", "dense_sections", "artifact_links"],
            "chunk_strategy": "progressive_depth",
            "cancelable": true,
            "timeout_s": 300,
        })
    );
    let explained = client.call(
        "explain_provenance",
        json!({ "id": id, "id_type": "source" }),
    );
    assert_eq!(
        explained["interpretation_note"],
        "This provenance chain is descriptive only. No new interpretation has been added."
    );
}
