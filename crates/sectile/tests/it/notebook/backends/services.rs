//! A library whose index is in a vector service, which is emulated.

use std::{fs, process::Command};

use sectile_test_servers::{PineconeEmulator, ServiceFault, WeaviateEmulator};
use serde_json::{Value, json};

use super::comparable;
use crate::{
    fixture::{Era, Stdio, initialize, sectile},
    notebook::{Client, Library},
};

const QUESTIONS: [&str; 5] = [
    "ice on the lake",
    "melting",
    "How thick is the ice?",
    "zzzz qqqq",
    "\"the lake\"",
];

fn settings(library: &Library, kind: &str, url: &str, key: &str) -> String {
    fs::write(library.vault.outside().join("key"), key).unwrap();
    format!(
        "[notebook]\nroot = 'vault'\n[notebook.vector_storage]\ntype = '{kind}'\nurl = '{url}'\n\
         api_key_file = 'outside/key'\nallow_http = true\n"
    )
}

fn index(library: &Library, settings: &str, to: &str) -> Command {
    let mut command = sectile();
    command
        .args(["notebook", "index", "--to", to])
        .arg(library.vault.config(settings));
    command
}

fn client<'a>(library: &'a Library, settings: &str) -> Client<'a> {
    let mut command = sectile();
    command.args(["serve", "notebook", "--config"]);
    command.arg(library.vault.config(settings));
    let mut server = Stdio::spawn(&library.vault, command);
    server.exchange(&initialize(0));
    server.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    Client {
        era: Era::Handshake,
        server,
        handle: None,
    }
}

fn answers(client: &mut Client<'_>) -> Vec<Value> {
    client.enter("lab");
    let ask = |question: &&str| {
        let result = client.result("semantic_search", json!({ "query": question, "k": 20 }));
        comparable("semantic_search", &result)
    };
    QUESTIONS.iter().map(ask).collect()
}

#[test]
fn a_service_gives_the_answers_of_a_folder() {
    let library = Library::rich();
    let expected = answers(&mut client(&library, "[notebook]\nroot = 'vault'\n"));
    let pinecone = PineconeEmulator::start(257, "dotproduct");
    let weaviate = WeaviateEmulator::start();
    for (kind, url, key) in [
        ("pinecone", pinecone.url(), pinecone.key()),
        ("weaviate", weaviate.url(), weaviate.key()),
    ] {
        let settings = settings(&library, kind, &url, key);
        let output = index(&library, &settings, kind).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut client = client(&library, &settings);
        assert_eq!(answers(&mut client), expected, "{kind}");
        let described = client.call("describe_world", json!({}));
        let active = &described["retrieval"]["active"];
        assert_eq!(active["index"], kind, "{active}");
        assert_eq!(active["tier"], "static", "{active}");
        let found = client.search("ice on the lake");
        assert_eq!(found["metadata"]["passages_not_seen"], 0);
        let id = found["results"][0]["reference_id"].clone();
        let quote = client.call("fetch_passage", json!({ "source_id": id }));
        assert_eq!(quote["integrity"]["verified"], true, "{quote}");
    }
}

#[test]
fn a_search_says_how_many_passages_it_did_not_see() {
    let library = Library::rich();
    let pinecone = PineconeEmulator::start(257, "dotproduct");
    let settings = settings(&library, "pinecone", &pinecone.url(), pinecone.key());
    let output = index(&library, &settings, "pinecone").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    pinecone.lose("/c/0/0");
    let mut client = client(&library, &settings);
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
    let weaviate = WeaviateEmulator::start();
    let settings = settings(&library, "weaviate", &weaviate.url(), weaviate.key());
    for (to, tier, message) in [
        (
            "pinecone",
            "static",
            "the settings do not name an index in Pinecone.",
        ),
        ("postgres", "static", "the settings do not name a database."),
        ("weaviate", "transformer", "has the static tier only."),
    ] {
        let mut command = index(&library, &settings, to);
        let output = command.args(["--tier", tier]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{said}");
    }
}
