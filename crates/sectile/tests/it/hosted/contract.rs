//! What clients can rely on, pinned in files.

use serde_json::{Value, json};

use crate::{
    contract::{pin, schema::violation},
    fixture::{Caller, Era, TestHosted, initialize, tool_text},
    vault::unit::ALLOWED,
    vectors::TOOLS,
};

fn result(gateway: &crate::fixture::Gateway<'_>, era: Era, message: &Value) -> Value {
    let answer = gateway.post(era, &Caller::named("ann"), message);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

#[test]
fn the_listing_and_every_tool_are_as_pinned() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let listing = result(
        &gateway,
        Era::Stateless,
        &Era::Stateless.request(1, "tools/list", json!({})),
    );
    let tools = listing["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    pin("hosted__tools", &json!(names));
    for tool in tools {
        pin(&format!("hosted__{}", tool["name"].as_str().unwrap()), tool);
    }
}

#[test]
fn the_introductions_are_as_pinned() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let mut introduced = result(&gateway, Era::Handshake, &initialize(1));
    introduced["serverInfo"]["version"] = json!("[version]");
    pin("hosted__initialize", &introduced);
    let discover = Era::Stateless.request(1, "server/discover", json!({}));
    let mut discovered = result(&gateway, Era::Stateless, &discover);
    discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] = json!("[version]");
    pin("hosted__discover", &discovered);
}

#[test]
fn answers_are_valid_under_their_output_schemas() {
    let hosted = TestHosted::sample();
    hosted.note("default", "ann", "empty.md", "");
    hosted.note(
        "default",
        "ann",
        "deep.md",
        "# a\n## b\n### c\n#### d\n##### e\n###### f\n# g\n",
    );
    let gateway = hosted.serve();
    let listing = result(
        &gateway,
        Era::Handshake,
        &Era::Handshake.request(1, "tools/list", json!({})),
    );
    for (tool, name) in listing["tools"].as_array().unwrap().iter().zip(TOOLS) {
        assert_eq!(tool["name"], name);
        for path in ["inbox/one.md", "empty.md", "deep.md"] {
            let answer = gateway.note(name, path);
            let structured = &answer["result"]["structuredContent"];
            assert_eq!(
                violation(&tool["outputSchema"], structured),
                None,
                "{name}, {path}"
            );
            assert_eq!(tool_text(&answer), structured.to_string(), "{name}, {path}");
        }
    }
}

/// What the contract wants written down before anybody runs this world, and the words that have to be in it.
const TOPICS: [(&str, &[&str]); 12] = [
    (
        "Roles in the hosted world",
        &["viewer", "admin", "a role that nobody knows"],
    ),
    (
        "The caller of the hosted world: user, vault, role",
        &["`X-Vault-Id`", "403"],
    ),
    (
        "The caller of the hosted world: user, vault, role",
        &["effective user", "user of the token"],
    ),
    (
        "The one request to the store",
        &[
            "GET {store_url}/api/v1/notes/",
            "Authorization: Bearer",
            "X-Vault-Id:",
            "X-User-Id:",
            "X-Gateway-Auth:",
            "Accept: application/json",
            "Content-Type: application/json",
        ],
    ),
    ("The one request to the store", &["one request goes out"]),
    (
        "What the hosted world never does",
        &["asks the store a second time", "body text"],
    ),
    (
        "Paths in the hosted world",
        &["`..`", "leading `/`", "`C:/`", "not repeated"],
    ),
    (
        "Errors of the hosted world",
        &[
            "`Invalid path`",
            "`Upstream 404`",
            "`Runtime failure`",
            "UPSTREAM_ERROR",
        ],
    ),
    (
        "What is logged of the hosted world",
        &[
            "`tool`",
            "`outcome`",
            "`upstream`",
            "`elapsed_us`",
            "`sections`",
            "`truncated`",
        ],
    ),
    (
        "Deleted, exported and changed notes in the hosted world",
        &["deleted", "edited", "exports", "index"],
    ),
    (
        "Words of notes are data in the hosted world",
        &["instruction", "permission"],
    ),
    (
        "Programs that build on the hosted world",
        &["untrusted", "parsing Markdown", "permission to change"],
    ),
];

#[test]
fn the_page_about_the_hosted_world_covers_the_contracts_list_of_topics() {
    let page = include_str!("../../../../../docs/hosted.md");
    let section = |heading: &str| {
        let (_, after) = page
            .split_once(&format!("\n## {heading}\n"))
            .unwrap_or_else(|| panic!("no section {heading}"));
        let text = after.split("\n## ").next().unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (heading, words) in TOPICS {
        let text = section(heading).to_lowercase();
        for word in words {
            assert!(text.contains(&word.to_lowercase()), "{heading}: {word}");
        }
    }
    let fields = section("What an answer of the hosted world holds");
    for (tool, allowed) in ALLOWED {
        assert!(fields.contains(&format!("`{tool}`")), "{tool}");
        let is_whole = tool == "get_section_source";
        for (_, names) in allowed.iter().filter(|_| is_whole) {
            for name in *names {
                assert!(fields.contains(&format!("`{name}`")), "{tool}: {name}");
            }
        }
    }
}
