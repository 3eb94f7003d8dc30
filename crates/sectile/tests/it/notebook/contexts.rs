//! Which collection a caller has entered, in both eras and on both transports.

use serde_json::{Value, json};

use super::{Library, error_of};
use crate::fixture::{Era, Http, initialize};

const ENTER: &str = "enter_collection";

#[test]
fn entering_replaces_the_context_of_the_connection() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    for collection in ["journal", "physics", "journal"] {
        let entered = client.enter(collection);
        assert_eq!(entered["context_handle"], Value::Null);
        let sets = client.call("list_artifact_sets", json!({}));
        assert_eq!(sets["collection_id"], collection);
    }
}

#[test]
fn in_the_stateless_era_only_the_handle_counts() {
    let library = Library::new();
    let mut client = library.open(Era::Stateless);
    client.enter("journal");
    let journal = client.handle.take();
    // Even on stdio, where the process is one connection.
    let error = client.error("list_artifact_sets", json!({}));
    assert_eq!(error["context"]["reason"], "context_handle_missing");
    client.enter("physics");
    let physics = client.handle.take();
    assert_ne!(journal, physics);
    for (handle, collection) in [(&journal, "journal"), (&physics, "physics")] {
        let sets = client.call("list_artifact_sets", json!({ "context_handle": handle }));
        assert_eq!(sets["collection_id"], collection);
    }
    let again = json!({ "collection_id": "physics", "context_handle": journal });
    client.call(ENTER, again);
    let error = client.error("list_artifact_sets", json!({ "context_handle": journal }));
    assert_eq!(
        error["context"]["reason"], "context_handle_unknown_or_expired",
        "it was given up"
    );
}

#[test]
fn a_handle_that_was_never_given_out_is_refused_in_every_era() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        for handle in ["", "x", "00000000-0000-4000-8000-000000000000"] {
            let arguments = json!({ "context_handle": handle });
            let error = client.error("list_artifact_sets", arguments.clone());
            assert_eq!(error["type"], "no_collection_context", "{error}");
            assert_eq!(
                error["context"]["reason"],
                "context_handle_unknown_or_expired"
            );
            client.error("describe_world", arguments);
        }
    }
}

/// A session of the handshake era over HTTP.
struct Session<'a> {
    http: &'a Http<'a>,
    id: String,
}

impl<'a> Session<'a> {
    fn open(http: &'a Http<'a>) -> Self {
        let answer = http.post(Era::Handshake, &initialize(0));
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        Self { http, id }
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let request = Era::Handshake.call(1, tool, arguments);
        let session = [("Mcp-Session-Id", self.id.as_str())];
        let answer = self.http.post_with(Era::Handshake, &request, &session);
        answer.events().pop().unwrap()["result"].clone()
    }
}

#[test]
fn sessions_over_http_have_a_context_each() {
    let library = Library::new();
    let http = library.http("");
    let (first, second) = (Session::open(&http), Session::open(&http));
    first.call(ENTER, json!({ "collection_id": "journal" }));
    let error = error_of(&second.call("list_artifact_sets", json!({})));
    assert_eq!(error["type"], "no_collection_context");
    assert_eq!(error["context"]["reason"], "no_collection_entered");
    second.call(ENTER, json!({ "collection_id": "physics" }));
    for (session, collection) in [(&first, "journal"), (&second, "physics")] {
        let result = session.call("list_artifact_sets", json!({}));
        assert_eq!(result["structuredContent"]["collection_id"], collection);
    }
}

#[test]
fn the_stateless_era_over_http_works_with_the_handle() {
    let library = Library::new();
    let http = library.http("");
    let call = |tool: &str, arguments: Value| {
        let answer = http.post(Era::Stateless, &Era::Stateless.call(1, tool, arguments));
        answer.json()["result"].clone()
    };
    let error = error_of(&call("semantic_search", json!({ "query": "ice" })));
    assert_eq!(error["context"]["reason"], "context_handle_missing");
    let entered = call(ENTER, json!({ "collection_id": "journal" }));
    let handle = &entered["structuredContent"]["context_handle"];
    assert_eq!(handle.as_str().map(str::len), Some(36), "{entered}");
    let sets = call("list_artifact_sets", json!({ "context_handle": handle }));
    assert_eq!(sets["structuredContent"]["collection_id"], "journal");
    // It is good in the other era too.
    let session = Session::open(&http);
    let sets = session.call("list_artifact_sets", json!({ "context_handle": handle }));
    assert_eq!(sets["structuredContent"]["collection_id"], "journal");
}
