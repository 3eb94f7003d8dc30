//! A library whose index is in a vector service, which is emulated.

use sectile_test_servers::ServiceFault;
use serde_json::{Value, json};

use super::client;
use crate::{
    fixture::{Backends, Era, IndexHome, Where},
    notebook::Library,
};

fn filled(library: &Library, index: IndexHome) -> Backends {
    let backends = Backends::start(Where::new(false, index), &library.vault);
    backends.fill(&library.vault);
    backends
}

#[test]
fn which_service_answers_is_told() {
    let library = Library::rich();
    for index in [IndexHome::Pinecone, IndexHome::Weaviate] {
        let backends = filled(&library, index);
        let mut client = client(&library, &backends, Era::Handshake);
        client.enter("lab");
        let found = client.search("ice on the lake");
        assert_eq!(found["metadata"]["passages_not_seen"], 0, "{found}");
        assert_eq!(found["metadata"]["index_location"], index.name(), "{found}");
        let described = client.call("describe_world", json!({}));
        let active = &described["retrieval"]["active"];
        assert_eq!(active["index"], index.name(), "{active}");
        assert_eq!(active["vectors"], "exact", "{active}");
        assert_eq!(active["tier"], "static", "{active}");
    }
}

#[test]
fn a_search_says_how_many_passages_it_did_not_see() {
    let library = Library::rich();
    let backends = filled(&library, IndexHome::Pinecone);
    let pinecone = backends.pinecone.as_ref().unwrap();
    pinecone.lose("/c/0/0");
    let mut client = client(&library, &backends, Era::Handshake);
    client.enter("lab");
    let found = client.search("ice on the lake");
    assert_eq!(found["metadata"]["passages_not_seen"], 1, "{found}");
    pinecone.fail("/", 10_000, ServiceFault::Status(401));
    let error = client.error("semantic_search", json!({ "query": "ice" }));
    let message = error.to_string();
    assert!(
        message.contains("Pinecone refused the API key."),
        "{message}"
    );
    assert!(!message.contains(pinecone.key()), "{message}");
}

#[test]
fn destinations_that_the_settings_do_not_name_are_refused() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(false, IndexHome::Weaviate), &library.vault);
    for (to, tier, message) in [
        (
            "pinecone",
            "static",
            "the settings do not name an index in Pinecone.",
        ),
        ("postgres", "static", "the settings do not name a database."),
        ("s3", "static", "the settings do not name a bucket"),
        ("weaviate", "transformer", "has the static tier only."),
    ] {
        let mut command = backends.index_tiers(&library.vault);
        let output = command.args(["--to", to, "--tier", tier]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{said}");
    }
    let told = backends.index_tiers(&library.vault).output().unwrap();
    let told: Vec<Value> = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told.iter().all(|row| row["transformer"].is_null()));
}
