//! The contract of the search tool: its schema, pinned, and answers that keep to it.

use serde_json::json;

use super::library::Library;
use crate::{
    contract::{pin, schema::violation},
    fixture::Era,
};

#[test]
fn tooling_schema_includes_docs_search_with_correct_input_and_output() {
    let library = Library::sample("");
    let mut client = library.open_in(Era::Stateless);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    let tool = &tools[0];
    pin("docs__sectile_docs_search", tool);
    assert_eq!(tool["inputSchema"]["required"], json!(["query"]));
    for name in ["sections", "docs_covered", "suggested_followups"] {
        assert_eq!(tool["outputSchema"]["properties"][name]["type"], "array");
    }
    for arguments in [
        json!({ "query": "lane" }),
        json!({ "query": "lane", "max_sections": 10, "explain": true }),
        json!({ "query": "" }),
        json!({ "query": "xylophone" }),
        json!({ "query": "asertted" }),
        json!({ "query": "\"lane nowhere\"" }),
    ] {
        let answer = client.search(arguments.clone());
        assert_eq!(
            violation(&tool["outputSchema"], &answer),
            None,
            "{arguments}: {answer}"
        );
    }
}

#[test]
fn resources_are_as_pinned() {
    let library = Library::sample("");
    let mut client = library.open();
    pin(
        "docs__resources",
        &client.ask("resources/list", json!({}))["result"],
    );
    pin(
        "docs__templates",
        &client.ask("resources/templates/list", json!({}))["result"],
    );
}
