//! What bad arguments, ids and tokens answer: always a typed error that says what is wrong.

/// What happens to files: between search and fetch, to the collection, to its artifacts.
mod files;

use serde_json::{Value, json};

use super::{Library, source};
use crate::fixture::Era;

#[test]
fn bad_arguments_are_ambiguous_requests_that_name_the_argument() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        let search = |arguments: Value| ("semantic_search", arguments);
        let long = "x".repeat(1 << 20);
        let many = "word ".repeat(33);
        for ((tool, arguments), argument) in [
            (search(json!({ "query": "ice", "k": 0 })), "k"),
            (search(json!({ "query": "ice", "k": 51 })), "k"),
            (search(json!({ "query": "ice", "k": -1 })), "k"),
            (search(json!({ "query": "ice", "k": 2.5 })), "k"),
            (search(json!({ "query": "ice", "k": "ten" })), "k"),
            (search(json!({ "query": "ice", "k": null })), "k"),
            (search(json!({ "query": "" })), "query"),
            (search(json!({ "query": " \n" })), "query"),
            (search(json!({ "query": long })), "query"),
            (search(json!({ "query": many })), "query"),
            (search(json!({ "query": ["ice"] })), "query"),
            (search(json!({ "k": 3 })), "query"),
            (
                search(json!({ "query": "ice", "collection": "physics" })),
                "arguments",
            ),
            (("begin_result_stream", json!({ "query": "" })), "query"),
            (("begin_result_stream", json!({})), "query"),
            (
                ("fetch_passage", json!({ "reference_id": "x" })),
                "arguments",
            ),
            (("fetch_passage", json!({})), "source_id"),
            (("retrieve_artifact", json!({})), "artifact_id"),
            (("next_stream_chunk", json!({})), "stream_token"),
            (("explain_provenance", json!({ "id": "x" })), "id_type"),
            (
                (
                    "explain_provenance",
                    json!({ "id": "x", "id_type": "note" }),
                ),
                "id_type",
            ),
            (("enter_collection", json!({})), "collection_id"),
            (("list_collections", json!({ "x": 1 })), "arguments"),
        ] {
            let error = client.error(tool, arguments);
            assert_eq!(error["type"], "ambiguous_request", "{tool}: {error}");
            assert_eq!(error["context"]["argument"], argument, "{tool}: {error}");
        }
    }
}

#[test]
fn the_most_results_follow_the_settings() {
    let library = Library::new();
    let settings = "[notebook.constraints]\nmax_search_results = 7\n";
    let mut client = library.open_with(Era::Handshake, settings);
    client.enter("journal");
    let error = client.error("semantic_search", json!({ "query": "ice", "k": 8 }));
    assert_eq!(error["context"]["argument"], "k", "{error}");
    let request = Era::Handshake.request(1, "tools/list", json!({}));
    let listed = client.server.exchange(&request);
    let k = &listed["result"]["tools"][4]["inputSchema"]["properties"]["k"];
    assert_eq!(k["maximum"], 7, "{k}");
    assert_eq!(k["default"], 7, "{k}");
}

#[test]
fn a_collection_that_is_not_there_cannot_be_entered_and_changes_nothing() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        for id in [
            "nowhere",
            "",
            ".",
            "..",
            "../outside",
            "journal/..",
            "Journal",
            "jou\u{0}rnal",
            "journal/deep",
            "/",
            "_artifacts",
            "ｊournal",
        ] {
            let error = client.error(
                "enter_collection",
                json!({ "collection_id": id, "context_handle": "none" }),
            );
            assert_eq!(error["type"], "collection_not_found", "{id:?}: {error}");
        }
        let sets = client.call("list_artifact_sets", json!({}));
        assert_eq!(sets["collection_id"], "journal");
    }
}

#[test]
fn an_id_that_is_none_is_not_found_and_one_of_another_collection_is_outside() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        for id in [
            "x",
            "",
            "journal/one.md",
            "journal/one.md@4-2:0123456789abcdef",
            "journal/one.md@00-4:0123456789abcdef",
            "journal/../physics/water.md@0-4:0123456789abcdef",
            "journal/one.md@0-4:0123456789ABCDEF",
            "journal/one.md@0-4:0123",
            "journal/one.md@0-99999999999999999999999:0123456789abcdef",
        ] {
            let explain = json!({ "id": id, "id_type": "source" });
            let fetched = client.error("fetch_passage", json!({ "source_id": id }));
            for error in [fetched, client.error("explain_provenance", explain)] {
                assert_eq!(error["type"], "source_not_found", "{id:?}: {error}");
                assert_eq!(error["context"]["reason"], "malformed", "{id:?}: {error}");
                assert_eq!(error["source_id"], id);
            }
        }
        // The same whether the collection exists or not.
        for collection in ["physics", "nowhere", "Journal", ".."] {
            let id = source(collection);
            let explain = json!({ "id": id, "id_type": "source" });
            let fetched = client.error("fetch_passage", json!({ "source_id": id }));
            for error in [fetched, client.error("explain_provenance", explain)] {
                assert_eq!(error["type"], "source_outside_collection", "{error}");
                assert_eq!(error["source_id"], id);
            }
        }
    }
}

#[test]
fn tokens_and_artifacts_that_were_never_given_out_are_unknown() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    for token in ["x", "", "00000000-0000-4000-8000-000000000000"] {
        let error = client.error("next_stream_chunk", json!({ "stream_token": token }));
        assert_eq!(error["type"], "stream_token_invalid", "{error}");
        assert_eq!(error["context"]["reason"], "unknown", "{error}");
    }
    for id in ["x", "", "../../outside/secret.md"] {
        let error = client.error("retrieve_artifact", json!({ "artifact_id": id }));
        assert_eq!(error["type"], "artifact_not_found", "{error}");
        let explain = json!({ "id": id, "id_type": "artifact" });
        let error = client.error("explain_provenance", explain);
        assert_eq!(error["type"], "artifact_not_found", "{error}");
    }
}

#[test]
fn very_long_arguments_are_refused_and_not_repeated_without_end() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        let long = "x".repeat(1 << 20);
        let path = format!("journal/{long}.md@0-4:0123456789abcdef");
        for (tool, arguments, expected) in [
            (
                "begin_result_stream",
                json!({ "query": long }),
                "ambiguous_request",
            ),
            (
                "semantic_search",
                json!({ "query": "é".repeat(1 << 19) }),
                "ambiguous_request",
            ),
            (
                "fetch_passage",
                json!({ "source_id": long }),
                "source_not_found",
            ),
            (
                "fetch_passage",
                json!({ "source_id": path }),
                "source_not_found",
            ),
            (
                "explain_provenance",
                json!({ "id": path, "id_type": "source" }),
                "source_not_found",
            ),
            (
                "explain_provenance",
                json!({ "id": long, "id_type": "artifact" }),
                "artifact_not_found",
            ),
            (
                "retrieve_artifact",
                json!({ "artifact_id": long }),
                "artifact_not_found",
            ),
            (
                "next_stream_chunk",
                json!({ "stream_token": long }),
                "stream_token_invalid",
            ),
            (
                "enter_collection",
                json!({ "collection_id": long }),
                "collection_not_found",
            ),
            (
                "list_artifact_sets",
                json!({ "context_handle": long }),
                "no_collection_context",
            ),
        ] {
            let error = client.error(tool, arguments);
            assert_eq!(error["type"], expected, "{tool}");
            assert!(error.to_string().len() < 8192, "{tool}");
        }
    }
}

/// Names that look like those that are there.
#[test]
fn other_spellings_of_a_name_are_other_names() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let bytes = super::proof::bytes_of(&library.vault.root(), "lab/plain.md").unwrap();
    let id = super::proof::id_of("lab/plain.md", &bytes, 0, 5);
    client.call("fetch_passage", json!({ "source_id": id }));
    for other in [
        "plain.MD",
        "Plain.md",
        "./plain.md",
        "x/../plain.md",
        "plain.md/",
        "/plain.md",
        "pl\u{430}in.md",
        "plain\u{200b}.md",
        "plain.md\0",
        "plain.md ",
        "deep\\plain.md",
        ".sectile/journal",
        "../journal/one.md",
    ] {
        let other = id.replace("plain.md", other);
        for (tool, arguments) in [
            ("fetch_passage", json!({ "source_id": other })),
            (
                "explain_provenance",
                json!({ "id": other, "id_type": "source" }),
            ),
        ] {
            let error = client.error(tool, arguments);
            assert_eq!(error["type"], "source_not_found", "{other:?}: {error}");
            let reason = error["context"]["reason"].as_str().unwrap();
            assert!(
                ["malformed", "deleted", "moved"].contains(&reason),
                "{other:?}: {error}"
            );
        }
    }
    // A true id of what is no notebook: derived material must not be quoted without its label.
    library.vault.note("lab/collection.toml", "title = 'Lab'\n");
    for file in [
        "_artifacts/one/summary.md",
        "_artifacts/one/set.toml",
        "collection.toml",
    ] {
        let path = format!("lab/{file}");
        let bytes = super::proof::bytes_of(&library.vault.root(), &path).unwrap();
        let id = super::proof::id_of(&path, &bytes, 0, 5);
        let error = client.error("fetch_passage", json!({ "source_id": id }));
        assert_eq!(error["context"]["reason"], "deleted", "{file}: {error}");
    }
    for other in [
        "ONE",
        "one/",
        "one/Summary.md",
        "one/../one/summary.md",
        "one/set.toml",
        "ｏne",
        "one\0",
        "../lab/_artifacts/one",
        "./one",
    ] {
        let error = client.error("retrieve_artifact", json!({ "artifact_id": other }));
        assert_eq!(error["type"], "artifact_not_found", "{other:?}: {error}");
    }
}
