//! Switched off is absent: no address, no status of its own, and nothing else moves.

use serde_json::{Value, json};

use super::{
    Desk,
    library::{Library, SEARCH},
};
use crate::fixture::{Era, Http, HttpAnswer, TestVault, initialize, sectile};

const ERA: Era = Era::Handshake;

/// A vault, a document and these settings, served over HTTP.
fn served<'a>(vault: &'a TestVault, settings: &str) -> Http<'a> {
    let config = vault.config(settings);
    let mut command = sectile();
    command.args(["serve", "--config"]).arg(config);
    Http::spawn(vault, command)
}

/// Status and body, for comparing what is answered at an address.
fn answered(answer: HttpAnswer) -> (u16, String) {
    (answer.status, answer.body)
}

#[test]
fn a_disabled_docs_world_answers_as_if_it_were_absent_with_every_status() {
    let vault = TestVault::sample();
    let without = "[vault]\nroot = 'vault'\n";
    let disabled = format!("{without}[docs]\nenabled = false\nextra_paths = ['nowhere']\n");
    let disabled = served(&vault, &disabled);
    let other = TestVault::sample();
    let absent = served(&other, without);
    let search = ERA.call(7, SEARCH, json!({ "query": "lane" }));
    let read = ERA.request(
        7,
        "resources/read",
        json!({ "uri": "sectile://docs/model" }),
    );
    for path in ["/docs/mcp", "/mcp", "/vault/mcp", "/never/mcp"] {
        for message in [&initialize(1), &search, &read] {
            let post = |server: &Http<'_>| answered(server.post_to(path, ERA, message, &[]));
            assert_eq!(post(&disabled), post(&absent), "{path} {message}");
        }
        let get = |server: &Http<'_>| answered(server.request("GET", path, &[], b""));
        assert_eq!(get(&disabled), get(&absent), "{path}");
    }
    assert_eq!(
        disabled
            .post_to("/docs/mcp", ERA, &initialize(1), &[])
            .status,
        404
    );
}

#[test]
fn mentioning_docs_does_not_move_the_addresses_of_other_worlds() {
    for docs in [
        "",
        "[docs]\n",
        "[docs]\nenabled = false\n",
        "[docs]\nenabled = true\n",
        "[docs]\nmax_sections = 5\n",
    ] {
        let vault = TestVault::sample();
        let server = served(&vault, &format!("[vault]\nroot = 'vault'\n{docs}"));
        let call = ERA.call(7, "get_note_outline", json!({ "path": "inbox/one.md" }));
        for path in ["/mcp", "/vault/mcp"] {
            let answer = server.post_to(path, ERA, &call, &[]).json();
            assert_eq!(
                answer["result"]["isError"], false,
                "{docs} {path}: {answer}"
            );
        }
        let is_served = docs.contains("true") || docs.contains("max");
        let there = server.post_to("/docs/mcp", ERA, &initialize(1), &[]).status;
        assert_eq!(there, if is_served { 200 } else { 404 }, "{docs}");
        let log = server.log();
        let vault_line = log
            .lines()
            .find(|line| line.contains("vault") && line.contains("/mcp"));
        let vault_line = vault_line.unwrap_or_else(|| panic!("{log}"));
        assert!(!vault_line.contains("/vault/mcp"), "{docs}: {log}");
    }
}

#[test]
fn several_worlds_beside_docs_have_an_address_each_and_no_common_one() {
    let vault = TestVault::sample();
    let server = served(
        &vault,
        "[vault]\nroot = 'vault'\n[editor]\nroot = 'vault'\n[docs]\nenabled = true\n",
    );
    for (path, status) in [
        ("/mcp", 404),
        ("/vault/mcp", 200),
        ("/editor/mcp", 200),
        ("/docs/mcp", 200),
    ] {
        let answer = server.post_to(path, ERA, &initialize(1), &[]);
        assert_eq!(answer.status, status, "{path}");
    }
}

#[test]
fn a_server_of_the_disabled_docs_world_alone_has_no_endpoint() {
    let library = Library::with("enabled = false\n");
    let http = library.http();
    for path in ["/mcp", "/docs/mcp"] {
        let answer = http.post_to(path, ERA, &initialize(1), &[]);
        assert_eq!(answer.status, 404, "{path}");
    }
    assert_eq!(http.request("GET", "/healthz", &[], b"").status, 200);
}

#[test]
fn docs_and_resources_can_be_disabled_independently() {
    for (settings, tools, resources) in [
        ("", true, true),
        ("enable_search = false\n", false, true),
        ("enable_resources = false\n", true, false),
        (
            "enable_search = false\nenable_resources = false\n",
            false,
            false,
        ),
        ("enabled = false\n", false, false),
    ] {
        let library = Library::with(settings);
        let mut client = library.open();
        assert_eq!(client.tool_names().is_empty(), !tools, "{settings}");
        let listed = client.ask("resources/list", json!({}));
        assert_eq!(
            listed["result"].is_object(),
            resources,
            "{settings}: {listed}"
        );
    }
}

/// `allowed_tools` says who may call, and goes for documents too. One that names only the tool leaves nothing to find, which the
/// answer and the operator's reports say.
#[test]
fn allowed_tools_that_names_only_the_tool_says_why_nothing_is_found() {
    const WORDS: &str = "server.auth.allowed_tools";
    for list in [
        "[server.auth]\nallowed_tools = ['sectile_docs_search']\n",
        "[server.tools]\nallowlist = ['sectile_docs_search']\n",
    ] {
        let library = Library::sample(list);
        let mut client = library.open();
        for query in ["", "lane", "xylophone"] {
            let answer = client.search(json!({ "query": query }));
            assert_eq!(answer["sections"], json!([]), "{list}");
            let help = answer["help"]["message"].as_str().unwrap_or_default();
            assert!(
                help.contains(WORDS) && help.contains("no document"),
                "{list}: {answer}"
            );
        }
        let log = client.server.log();
        assert!(log.contains("no document can be found"), "{log}");
        // A caller cannot tell that from a server without documents.
        let empty = Library::new(&[], list);
        let call = json!({ "name": SEARCH, "arguments": { "query": "lane" } });
        let of_empty = empty.open().bytes("tools/call", call.clone());
        assert_eq!(client.bytes("tools/call", call), of_empty, "{list}");
    }
    let desk = Desk::new(&[
        ("a.md", "# A\n\ntext\n"),
        (
            "sectile.toml",
            "[docs]\nextra_paths = ['a.md']\n[server.auth]\nallowed_tools = ['sectile_docs_search']\n",
        ),
    ]);
    let ran = desk.run(&["docs", "check", "--config", "sectile.toml", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let notes = report["notes"].to_string();
    assert!(notes.contains(WORDS), "{notes}");
    // One document is enough to be found.
    let library = Library::sample(
        "[server.auth]\nallowed_tools = ['sectile_docs_search', 'sectile://docs/{slug}']\n",
    );
    let mut client = library.open();
    assert_eq!(
        client.found("trust lanes")[0],
        "sectile://docs/why#trust-lanes"
    );
    let log = client.server.log();
    assert!(!log.contains("no document can be found"), "{log}");
}
