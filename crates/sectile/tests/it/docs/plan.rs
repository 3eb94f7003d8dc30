//! Requirements of the plan that no other test of this world is named after.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::library::{Client, Library, SEARCH, text, uris};
use crate::fixture::{Era, TestVault, sectile};

/// A page of the manual, as it is in the repository.
fn page(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// A server without settings, which has the manual and nothing else.
fn manual(vault: &TestVault) -> Client<'_> {
    let mut command = sectile();
    command.args(["serve", "docs"]);
    Client::new(vault, command, Era::Handshake)
}

fn roles(answer: &Value) -> Vec<String> {
    let sections = answer["sections"].as_array().unwrap().iter();
    sections.map(|section| text(&section["doc_role"])).collect()
}

#[test]
fn default_docs_are_embedded_and_read_back_byte_for_byte() {
    let vault = TestVault::empty();
    let mut client = manual(&vault);
    let listed = client.ask("resources/list", json!({}));
    let resources = listed["result"]["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 19, "{listed}");
    for resource in resources {
        let uri = text(&resource["uri"]);
        let slug = uri.strip_prefix("sectile://docs/").unwrap();
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(
            answer["result"]["contents"][0]["text"],
            page(&format!("{slug}.md")),
            "{uri}"
        );
    }
    // Each role has something to say about choosing and calling tools.
    let overview = client.search(json!({ "query": "" }));
    assert_eq!(
        roles(&overview),
        ["reasoning", "decision", "ontology", "pattern"]
    );
    assert!(!client.found("which tool reads a section").is_empty());
}

/// Answers are made of the documents as they are, never of what they were.
#[test]
fn what_is_gone_is_not_answered_from_memory() {
    let library = Library::sample("");
    let mut client = library.open();
    let reading = json!({ "uri": "sectile://docs/why" });
    let read = client.ask("resources/read", reading.clone());
    assert!(read["result"]["contents"].is_array(), "{read}");
    assert_eq!(
        uris(&client.search(json!({ "query": "trust lanes" })))[0],
        "sectile://docs/why#trust-lanes"
    );
    fs::remove_file(library.vault().root().join("why.md")).unwrap();
    let found = client.search(json!({ "query": "trust lanes" }));
    assert!(!found.to_string().contains("docs/why"), "{found}");
    let listed = client.ask("resources/list", json!({}));
    assert!(!listed.to_string().contains("docs/why"), "{listed}");
    assert!(client.ask("resources/read", reading)["error"].is_object());
    // Without its folder there is nothing to answer from.
    fs::remove_dir_all(library.vault().root()).unwrap();
    let refused = client.call(json!({ "query": "lane" }));
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("documents_unreadable") && !text.contains("/tmp"),
        "{refused}"
    );
}

#[test]
fn role_aware_bonus_scoring_moves_sections_of_the_role_that_is_asked_for() {
    let document =
        |role: &str| format!("---\nrole: {role}\n---\n# T\n\n## Lane\n\nA lane of its own.\n");
    let documents = ["reasoning", "decision", "ontology", "pattern"]
        .map(|role| (format!("{role}.md"), document(role)));
    let documents: Vec<(&str, &str)> = documents
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let library = Library::new(&documents, "");
    let mut client = library.open();
    for (cue, role) in [
        ("why", "reasoning"),
        ("which", "decision"),
        ("schema", "ontology"),
        ("example", "pattern"),
    ] {
        let query = format!("{cue} lane");
        let answer = client.search(json!({ "query": query, "explain": true, "max_sections": 4 }));
        let sections = answer["sections"].as_array().unwrap();
        assert_eq!(sections[0]["doc_role"], role, "{answer}");
        for section in sections {
            let bonus = section["score"]["role_bonus"].as_u64().unwrap();
            assert_eq!(bonus > 0, section["doc_role"] == role, "{section}");
        }
    }
    // A cue by itself lets nobody in.
    let answer = client.search(json!({ "query": "example" }));
    assert_eq!(answer["sections"], json!([]), "{answer}");
}

#[test]
fn resource_uris_are_stable_when_other_documents_come() {
    let library = Library::sample("");
    let uris = |library: &Library| -> Vec<String> {
        let listed = library.open().ask("resources/list", json!({}));
        let resources = listed["result"]["resources"].as_array().unwrap().iter();
        resources.map(|one| text(&one["uri"])).collect()
    };
    let before = uris(&library);
    library.vault().note("another.md", "# Another\n");
    library.vault().note("zoo/why.md", "# Why else\n");
    let after = uris(&library);
    assert!(before.iter().all(|uri| after.contains(uri)), "{after:?}");
    assert_eq!(after.len(), before.len() + 2);
}

#[test]
fn tools_list_respects_the_allowlist() {
    let listed = |settings: &str| {
        let library = Library::sample(settings);
        let mut client = library.open();
        let names = client.tool_names();
        let http = library.http();
        let list = Era::Stateless.request(3, "tools/list", json!({}));
        let over_http = http.post(Era::Stateless, &list).json();
        let tools = over_http["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), names.len(), "{settings}");
        names
    };
    assert_eq!(
        listed("[server.tools]\nallowlist = ['sectile_docs_search']\n"),
        [SEARCH]
    );
    assert_eq!(
        listed("[server.tools]\nallowlist = ['vault/get_note_outline']\n"),
        [""; 0]
    );
    assert_eq!(
        listed(
            "[server.tools]\nallowlist = ['sectile_docs_search']\ndenylist = ['docs/sectile_docs_search']\n"
        ),
        [""; 0]
    );
    assert_eq!(
        listed("[server.tools]\nmode = 'passthrough'\ndenylist = ['sectile_docs_search']\n"),
        [SEARCH]
    );
    assert_eq!(
        listed("[server.auth]\nallowed_tools = ['sectile://docs/why']\n"),
        [SEARCH],
        "who may call changes no listing"
    );
}

#[test]
fn tools_list_over_http_hides_the_search_when_it_is_disabled() {
    let library = Library::with("enable_search = false\n");
    let http = library.http();
    for era in Era::BOTH {
        let listed = http
            .post(era, &era.request(3, "tools/list", json!({})))
            .json();
        assert_eq!(listed["result"]["tools"], json!([]), "{era:?}");
        let call = |name: &str| {
            let answer = http.post(era, &era.call(7, name, json!({ "query": "lane" })));
            (answer.status, answer.body)
        };
        assert_eq!(call(SEARCH), call("never_was_search"), "{era:?}");
        let read = era.request(7, "resources/read", json!({ "uri": "sectile://docs/why" }));
        assert!(
            http.post(era, &read).json()["result"].is_object(),
            "{era:?}"
        );
    }
}

#[test]
fn the_threat_model_covers_queries_addresses_extra_documents_failures_and_rates() {
    let model = page("security.md");
    for (heading, words) in [
        (
            "## Input from clients: search queries of the docs world",
            &["untrusted", "2,048 bytes", "max_sections"][..],
        ),
        (
            "## Input from clients: addresses of resources in the docs world",
            &["untrusted", "`..`", "max_doc_bytes", "rate"],
        ),
        (
            "## Input from settings and extra documents",
            &[
                "limits on their size",
                "A link inside a listed folder",
                "does not exist",
            ],
        ),
        (
            "## When the docs world fails",
            &["fails closed", "rarest words", "pages_change"],
        ),
    ] {
        let (_, section) = model
            .split_once(heading)
            .unwrap_or_else(|| panic!("{heading}"));
        let section = section.split("\n## ").next().unwrap();
        for word in words {
            assert!(section.contains(word), "{heading}: {word}");
        }
    }
}
