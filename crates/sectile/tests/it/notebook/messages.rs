//! Errors about names that lead nowhere say which name, and which names are like it.

use serde_json::{Value, json};

use super::Library;
use crate::fixture::Era;

fn message(error: &Value) -> &str {
    let message = error["message"].as_str().unwrap();
    assert!(message.chars().count() <= 400, "{message}");
    assert!(!message.chars().any(char::is_control), "{message:?}");
    message
}

#[test]
fn message_names_the_collection_and_the_nearest_ones() {
    let library = Library::rich();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let error = client.error("enter_collection", json!({ "collection_id": "lap" }));
        assert_eq!(error["type"], "collection_not_found");
        assert_eq!(
            message(&error),
            "There is no collection \"lap\". Nearest: \"lab\"."
        );
        assert_eq!(
            error["context"],
            json!({ "collection_id": "lap", "nearest": ["lab"] })
        );
        for odd in ["\u{1b}[31m\n\u{202e}", "_artifacts", ".sectile", "../lab"] {
            let error = client.error("enter_collection", json!({ "collection_id": odd }));
            assert_eq!(error["type"], "collection_not_found", "{error}");
            assert!(!message(&error).contains('\u{202e}'), "{error}");
        }
    }
}

#[test]
fn message_names_the_artifact_and_the_nearest_ones() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    for (tool, arguments) in [
        (
            "retrieve_artifact",
            json!({ "artifact_id": "one/sumary.md" }),
        ),
        (
            "explain_provenance",
            json!({ "id": "one/sumary.md", "id_type": "artifact" }),
        ),
    ] {
        let error = client.error(tool, arguments);
        assert_eq!(error["type"], "artifact_not_found");
        assert_eq!(
            message(&error),
            "The active collection has no artifact \"one/sumary.md\". Nearest: \"one/summary.md\"."
        );
        assert_eq!(error["context"]["nearest"], json!(["one/summary.md"]));
    }
}

#[test]
fn nearest_names_are_only_for_callers_who_may_list_them() {
    let library = Library::rich();
    let hiding = "[server.tools]\ndenylist = ['list_collections', 'list_artifact_sets']\n";
    let mut client = library.open_with(Era::Handshake, hiding);
    let error = client.error("enter_collection", json!({ "collection_id": "lap" }));
    assert_eq!(message(&error), "There is no collection \"lap\".");
    assert_eq!(error["context"], json!({ "collection_id": "lap" }));
    client.enter("lab");
    let error = client.error(
        "retrieve_artifact",
        json!({ "artifact_id": "one/sumary.md" }),
    );
    assert!(
        message(&error).ends_with("no artifact \"one/sumary.md\"."),
        "{error}"
    );
    assert_eq!(error["context"].get("nearest"), None, "{error}");
}

#[test]
fn message_names_the_notebook_whose_passage_is_gone() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let passage = |id: &str| json!({ "source_id": id });
    let error = client.error("fetch_passage", passage("nonsense"));
    assert_eq!(message(&error), "\"nonsense\" is not the id of a passage.");
    let gone = "lab/none.md@0-1:0123456789abcdef";
    let error = client.error("fetch_passage", passage(gone));
    assert_eq!(
        message(&error),
        "The notebook \"none.md\" no longer exists, and neither do its passages."
    );
    let elsewhere = "other/none.md@0-1:0123456789abcdef";
    let error = client.error("fetch_passage", passage(elsewhere));
    assert_eq!(
        message(&error),
        "The passage is in the collection \"other\", not in the active one."
    );
}
