//! What is hidden or switched off does not exist: tools, resources, single documents.

use serde_json::{Value, json};

use super::library::{Library, SAMPLE, SEARCH};
use crate::fixture::Era;

/// Everything that a client can ask, with answers that could give a hidden document away.
fn questions() -> Vec<(&'static str, Value)> {
    let search = |arguments: Value| {
        (
            "tools/call",
            json!({ "name": SEARCH, "arguments": arguments }),
        )
    };
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
    vec![
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        read("sectile://docs/why"),
        read("sectile://docs/why#trust-lanes"),
        read("sectile://docs/steps"),
        search(json!({ "query": "trust lanes", "explain": true, "max_sections": 10 })),
        search(json!({ "query": "verified asserted" })),
        search(json!({ "query": "lane", "explain": true })),
        search(json!({ "query": "asertted" })),
        search(json!({ "query": "" })),
    ]
}

#[test]
fn a_hidden_document_is_byte_for_byte_one_that_does_not_exist() {
    let without = Library::new(&SAMPLE[1..], "");
    for settings in [
        "[server.tools]\ndenylist = ['sectile://docs/why']\n",
        "[server.tools]\ndenylist = ['docs/sectile://docs/why']\n",
        "[server.tools]\nallowlist = ['sectile_docs_search', 'sectile://docs/which', 'sectile://docs/names', 'sectile://docs/steps', 'sectile://docs/{slug}{#anchor}']\n",
    ] {
        let hiding = Library::sample(settings);
        for era in Era::BOTH {
            let (mut client, mut nobody) = (hiding.open_in(era), without.open_in(era));
            for (method, params) in questions() {
                let hidden = client.bytes(method, params.clone());
                let nonexistent = nobody.bytes(method, params.clone());
                if method == "resources/templates/list" && settings.contains("allowlist") {
                    continue;
                }
                assert_eq!(hidden, nonexistent, "{settings} {era:?} {method} {params}");
            }
        }
        let (http, nobody) = (hiding.http(), without.http());
        for (method, params) in questions() {
            if method == "resources/templates/list" {
                continue;
            }
            let message = Era::Stateless.request(7, method, params);
            let (hidden, nonexistent) = (
                http.post(Era::Stateless, &message),
                nobody.post(Era::Stateless, &message),
            );
            assert_eq!(
                (hidden.status, hidden.body),
                (nonexistent.status, nonexistent.body)
            );
        }
    }
}

#[test]
fn a_document_that_may_not_be_read_is_not_found_either() {
    let settings =
        "[server.auth]\nallowed_tools = ['sectile_docs_search', 'sectile://docs/steps']\n";
    let library = Library::sample(settings);
    let mut client = library.open();
    assert_eq!(
        client.found("trust lanes"),
        ["sectile://docs/steps#lane-recipe"]
    );
    let refused = client.ask("resources/read", json!({ "uri": "sectile://docs/why" }));
    assert!(refused["error"]["code"].is_i64(), "{refused}");
}

#[test]
fn disabled_search_tool_returns_error() {
    for settings in ["enable_search = false\n", "enabled = false\n"] {
        let library = Library::with(settings);
        for era in Era::BOTH {
            let mut client = library.open_in(era);
            assert_eq!(client.tool_names(), [""; 0], "{settings}");
            let call = |name: &str| json!({ "name": name, "arguments": { "query": "lane" } });
            let disabled = client.bytes("tools/call", call(SEARCH));
            let nonexistent = client.bytes("tools/call", call("nope_docs_search"));
            assert_eq!(disabled, nonexistent, "{settings}");
            assert!(disabled.contains("-32602"), "{disabled}");
        }
    }
    // Resources go on.
    let library = Library::with("enable_search = false\n");
    let listed = library.open().ask("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 4);
}

#[test]
fn disabled_resources_methods_return_error() {
    for settings in ["enable_resources = false\n", "enabled = false\n"] {
        let library = Library::with(settings);
        for era in Era::BOTH {
            let mut client = library.open_in(era);
            for (method, params) in [
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({ "uri": "sectile://docs/why" })),
            ] {
                let answer = client.ask(method, params);
                assert_eq!(
                    answer["error"]["code"], -32601,
                    "{settings} {method}: {answer}"
                );
            }
        }
    }
    let library = Library::with("enable_resources = false\n");
    assert_eq!(
        library.open().found("trust lanes")[0],
        "sectile://docs/why#trust-lanes"
    );
}

#[test]
fn tools_list_respects_the_allowlist_and_hidden_calls_get_a_generic_error() {
    let library = Library::sample("[server.tools]\ndenylist = ['sectile_docs_search']\n");
    for era in Era::BOTH {
        let mut client = library.open_in(era);
        assert_eq!(client.tool_names(), [""; 0]);
        let call = |name: &str| json!({ "name": name, "arguments": { "query": "lane" } });
        let hidden = client.bytes("tools/call", call(SEARCH));
        assert_eq!(hidden, client.bytes("tools/call", call("nope")));
    }
    let http = library.http();
    let listed = http.post(
        Era::Stateless,
        &Era::Stateless.request(1, "tools/list", json!({})),
    );
    assert_eq!(listed.json()["result"]["tools"], json!([]));
}

#[test]
fn what_is_skipped_is_in_the_log_without_a_host_path() {
    let library = Library::new(
        &[
            ("a.md", "# A\n\ntext\n"),
            ("big.md", &"x\n".repeat(700_000)),
        ],
        "",
    );
    let mut client = library.open();
    assert_eq!(client.found("text"), ["sectile://docs/a"]);
    let log = client.server.log();
    assert!(
        log.contains("big.md") && log.contains("max_doc_bytes"),
        "{log}"
    );
}
