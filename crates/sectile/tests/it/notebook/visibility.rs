//! What is hidden cannot be told from what does not exist.

use serde_json::{Value, json};

use super::{Client, Library, TOOLS, data_calls, source};
use crate::{
    fixture::{Era, initialize},
    hidden_names::{Asked, assert_hidden_tools_are_unnamed, call},
};

const HIDING: &str =
    "[server.tools]\ndenylist = [\"semantic_search\", \"notebook/fetch_passage\"]\n";

fn calls() -> [(&'static str, Value); 2] {
    [
        ("semantic_search", json!({ "query": "ice", "k": 0 })),
        ("fetch_passage", json!({ "source_id": 5 })),
    ]
}

#[test]
fn a_hidden_tool_is_forbidden_byte_for_byte_like_one_that_does_not_exist() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open_with(era, HIDING);
        for (hidden, arguments) in calls() {
            let mut line = |tool: &str| {
                let call = era.call(7, tool, arguments.clone());
                client.server.send_line(&call.to_string());
                client.server.receive_line()
            };
            let answer = line(hidden);
            assert!(answer.contains("operation_forbidden"), "{answer}");
            assert_eq!(answer, line("no_such_tool"));
        }
    }
    let http = library.http(HIDING);
    for era in Era::BOTH {
        for (hidden, arguments) in calls() {
            let post = |tool: &str| {
                let call = era.call(7, tool, arguments.clone());
                // A session of its own, for the ids of events count on.
                let opened = http.post(Era::Handshake, &initialize(0));
                let id = opened.header("mcp-session-id").unwrap().to_owned();
                let session = [("Mcp-Session-Id", id.as_str())];
                let more = match era {
                    Era::Handshake => &session[..],
                    Era::Stateless => &[],
                };
                let answer = http.post_with(era, &call, more);
                (answer.status, answer.body)
            };
            let (status, body) = post(hidden);
            assert_eq!(status, 200);
            assert!(body.contains("operation_forbidden"), "{body}");
            assert_eq!((status, body), post("no_such_tool"));
        }
    }
}

#[test]
fn describe_world_and_enter_collection_name_visible_tools_only() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open_with(era, HIDING);
        let is_hidden = |name: &&str| ["semantic_search", "fetch_passage"].contains(name);
        let visible: Vec<&str> = TOOLS.into_iter().filter(|name| !is_hidden(name)).collect();
        let world = client.call("describe_world", json!({}));
        assert_eq!(world["available_affordances"], json!(visible));
        let entered = client.enter("journal");
        assert_eq!(
            entered["available_operations"],
            json!([
                "list_artifact_sets",
                "retrieve_artifact",
                "begin_result_stream"
            ])
        );
    }
}

#[test]
fn a_tool_that_a_caller_may_not_use_is_refused_as_in_every_world() {
    let library = Library::new();
    let settings = "[server.auth]\nallowed_tools = [\"describe_world\"]\n";
    let mut client = library.open_with(Era::Handshake, settings);
    let answer = client
        .server
        .call(Era::Handshake, "list_collections", json!({}));
    assert_eq!(answer["error"]["data"]["kind"], "forbidden", "{answer}");
    let world = client.call("describe_world", json!({}));
    assert_eq!(world["available_affordances"], json!(["describe_world"]));
}

#[test]
fn hidden_tools_are_named_nowhere_in_the_notebook_world() {
    let library = Library::rich();
    library.vault.note("lab/empty.md", "");
    let found = library.open(Era::Handshake).found_in("lab", "ice");
    let enter = |collection: &str| call("enter_collection", json!({ "collection_id": collection }));
    let mut asked: Vec<Asked> = data_calls()
        .into_iter()
        .map(|(tool, arguments)| call(tool, arguments))
        .collect();
    let before = asked.clone();
    asked.extend([
        call("list_collections", json!({})),
        call("describe_world", json!({})),
        call("list_constraints", json!({})),
        call("describe_world", json!({ "context_handle": "nope" })),
        enter("nope"),
        enter("lab"),
    ]);
    asked.extend(before);
    for id in [found.as_str(), "nope", &source("physics"), &source("lab")] {
        asked.push(call("fetch_passage", json!({ "source_id": id })));
        let arguments = json!({ "id": id, "id_type": "source" });
        asked.push(call("explain_provenance", arguments));
    }
    for query in ["", "zzzz", "glacier"] {
        asked.push(call("semantic_search", json!({ "query": query })));
        asked.push(call("begin_result_stream", json!({ "query": query })));
    }
    asked.push(call("write_notebook", json!({})));
    asked.push(call("semantic_search", json!({ "nope": 1 })));
    let command = |settings: &str| library.command(settings);
    assert_hidden_tools_are_unnamed("notebook", &library.vault, command, &asked);
}

impl Client<'_> {
    /// The id of the first passage that a search finds.
    fn found_in(mut self, collection: &str, query: &str) -> String {
        self.enter(collection);
        let found = self.search(query);
        found["results"][0]["reference_id"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}
