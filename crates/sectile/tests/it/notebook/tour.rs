//! A walk over every tool: list, enter, search, fetch, stream to the end, artifacts, provenance.

use serde_json::{Value, json};

use super::Client;

/// Walks through a collection and returns each tool with its result, in order.
pub(super) fn tour(client: &mut Client<'_>, collection: &str) -> Vec<(&'static str, Value)> {
    let mut walked = Vec::new();
    let mut go = |client: &mut Client<'_>, tool: &'static str, arguments: Value| {
        let result = client.result(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let answer = result["structuredContent"].clone();
        walked.push((tool, result));
        answer
    };
    for tool in ["describe_world", "list_collections", "list_constraints"] {
        go(client, tool, json!({}));
    }
    let entered = go(
        client,
        "enter_collection",
        json!({ "collection_id": collection }),
    );
    client.handle = entered["context_handle"].as_str().map(str::to_owned);
    let found = go(
        client,
        "semantic_search",
        json!({ "query": "ice on the lake", "k": 3 }),
    );
    for result in found["results"].as_array().unwrap() {
        let id = &result["reference_id"];
        go(client, "fetch_passage", json!({ "source_id": id }));
        go(
            client,
            "explain_provenance",
            json!({ "id": id, "id_type": "source" }),
        );
    }
    let listed = go(client, "list_artifact_sets", json!({}));
    for set in listed["artifact_sets"].as_array().unwrap() {
        for id in set["artifact_ids"].as_array().unwrap() {
            go(client, "retrieve_artifact", json!({ "artifact_id": id }));
            go(
                client,
                "explain_provenance",
                json!({ "id": id, "id_type": "artifact" }),
            );
        }
    }
    let begun = go(
        client,
        "begin_result_stream",
        json!({ "query": "glacier ice" }),
    );
    let token = &begun["stream_token"];
    loop {
        let chunk = go(
            client,
            "next_stream_chunk",
            json!({ "stream_token": token }),
        );
        if chunk["continuation"]["has_more"] == false {
            break;
        }
    }
    go(client, "describe_world", json!({}));
    walked
}
