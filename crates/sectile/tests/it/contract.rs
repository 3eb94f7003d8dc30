//! What clients can rely on: listings and schemas, pinned in files.
//!
//! After a wanted change: `INSTA_UPDATE=always cargo test -p sectile --test it contract`, then read the difference.

pub(crate) mod schema;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use self::schema::{objects, schemas, violation};
use crate::fixture::{Era, Stdio, TestVault, initialize, tool_text};

/// Compares `value` with the file `tests/contract/NAME.snap`.
pub(crate) fn pin(name: &str, value: &Value) {
    insta::with_settings!({
        snapshot_path => "../contract",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_json_snapshot!(name, value);
    });
}

fn listed_tools(vault: &TestVault) -> Vec<Value> {
    let mut server = Stdio::ready(vault, Era::Stateless);
    let listing = server.exchange(&Era::Stateless.request(1, "tools/list", json!({})));
    let tools = listing["result"]["tools"].as_array().unwrap().clone();
    assert!(!tools.is_empty());
    tools
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn the_listing_and_every_tool_are_as_pinned() {
    let vault = TestVault::empty();
    let tools = listed_tools(&vault);
    let names: Vec<&str> = tools.iter().map(|tool| text(tool, "name")).collect();
    pin("vault__tools", &json!(names));
    for tool in &tools {
        pin(&format!("vault__{}", text(tool, "name")), tool);
    }
}

#[test]
fn both_eras_and_every_call_list_the_same_tools() {
    let vault = TestVault::empty();
    let tools = listed_tools(&vault);
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for id in 1..=2 {
        let listing = server.exchange(&Era::Handshake.request(id, "tools/list", json!({})));
        let listed = listing["result"]["tools"].to_string();
        assert_eq!(listed, Value::Array(tools.clone()).to_string());
    }
}

#[test]
fn the_introductions_are_as_pinned() {
    let vault = TestVault::empty();
    let mut answer = Stdio::start(&vault).exchange(&initialize(1));
    let version = &mut answer["result"]["serverInfo"]["version"];
    assert_eq!(*version, env!("CARGO_PKG_VERSION"));
    *version = json!("[version]");
    pin("vault__initialize", &answer["result"]);

    let discover = Era::Stateless.request(1, "server/discover", json!({}));
    let mut answer = Stdio::start(&vault).exchange(&discover);
    let info = &mut answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    info["version"] = json!("[version]");
    pin("vault__discover", &answer["result"]);
}

#[test]
fn every_tool_has_a_name_a_title_hints_and_a_short_description() {
    let mut seen = BTreeSet::new();
    for tool in listed_tools(&TestVault::empty()) {
        let name = text(&tool, "name");
        assert!(seen.insert(name.to_owned()), "{name} is listed twice");
        assert!((1..=50).contains(&name.len()), "{name}");
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        assert!(!text(&tool, "title").is_empty(), "{name}");
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{name}, {hint}");
        }
        let description = text(&tool, "description");
        assert!((1..300).contains(&description.chars().count()), "{name}");
        let first_sentence = description.split_inclusive(". ").next().unwrap();
        assert!(
            first_sentence.trim_end().ends_with('.'),
            "{name}: {description}"
        );
    }
}

#[test]
fn every_tool_of_this_world_only_reads() {
    for tool in listed_tools(&TestVault::empty()) {
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], true, "{tool}");
        assert_eq!(hints["destructiveHint"], false, "{tool}");
        assert_eq!(hints["idempotentHint"], true, "{tool}");
        assert_eq!(hints["openWorldHint"], false, "{tool}");
    }
}

#[test]
fn schemas_hold_nothing_that_clients_stumble_over() {
    for tool in listed_tools(&TestVault::empty()) {
        for side in ["inputSchema", "outputSchema"] {
            let schema = &tool[side];
            let case = format!("{}, {side}", tool["name"]);
            assert_eq!(schema["type"], "object", "{case}");
            for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$schema"] {
                assert_eq!(schema.get(keyword), None, "{case}");
            }
            for part in schemas(schema) {
                assert!(
                    part.get("type").is_none_or(Value::is_string),
                    "{case}: {part}"
                );
                let format = part.get("format").and_then(Value::as_str).unwrap_or("");
                assert!(
                    !format.starts_with("uint") && !format.starts_with("int"),
                    "{case}: {part}"
                );
            }
        }
    }
}

#[test]
fn schemas_describe_every_property_and_are_closed() {
    for tool in listed_tools(&TestVault::empty()) {
        for side in ["inputSchema", "outputSchema"] {
            let case = format!("{}, {side}", tool["name"]);
            let found = objects(&tool[side]);
            assert!(!found.is_empty(), "{case}");
            for object in found {
                assert_eq!(object["additionalProperties"], false, "{case}: {object}");
                for (name, property) in object["properties"].as_object().unwrap() {
                    let description = property["description"].as_str().unwrap_or("");
                    assert!(!description.is_empty(), "{case}: {name}");
                }
            }
        }
    }
}

#[test]
fn output_schemas_require_every_field() {
    for tool in listed_tools(&TestVault::empty()) {
        for object in objects(&tool["outputSchema"]) {
            let fields: BTreeSet<&String> =
                object["properties"].as_object().unwrap().keys().collect();
            let required: BTreeSet<String> =
                serde_json::from_value(object["required"].clone()).unwrap();
            assert_eq!(fields, required.iter().collect(), "{}", tool["name"]);
        }
    }
}

/// Notes whose answers differ as much as they can.
fn notes() -> [(&'static str, String); 5] {
    [
        ("empty.md", String::new()),
        ("no-headings.md", "Only text.\n".to_owned()),
        (
            "deep.md",
            "# a\n## b\n### c\n#### d\n##### e\n###### f\n# g\n".to_owned(),
        ),
        ("long.md", "# x\n\n".repeat(600)),
        (
            "projects/p/facets.md",
            "---\ntags: a\nentity: [b, c]\ndate: 2026-01-02\nupdated: 2026-01-03\n\
             causal_chain_id: d\nepisode_id: e\n---\n# x\n"
                .to_owned(),
        ),
    ]
}

#[test]
fn answers_are_valid_under_their_output_schemas() {
    let vault = TestVault::sample();
    let mut paths = vec!["inbox/one.md"];
    let notes = notes();
    for (path, markdown) in &notes {
        vault.note(path, markdown);
        paths.push(path);
    }
    let tools = listed_tools(&vault);
    for era in Era::BOTH {
        let mut server = Stdio::ready(&vault, era);
        for tool in &tools {
            let (name, schema) = (text(tool, "name"), &tool["outputSchema"]);
            for path in &paths {
                let answer = server.call(era, name, json!({ "path": path }));
                let case = format!("{name}, {path}, {era:?}");
                let structured = &answer["result"]["structuredContent"];
                assert_eq!(violation(schema, structured), None, "{case}");
                assert_eq!(tool_text(&answer), structured.to_string(), "{case}");
            }
        }
    }
}

/// Without this, a validator that lets everything pass would make the test above pass as well.
#[test]
fn an_answer_with_a_field_more_less_or_of_another_type_is_not_valid() {
    let vault = TestVault::sample();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for tool in listed_tools(&vault) {
        let (name, schema) = (text(&tool, "name"), &tool["outputSchema"]);
        let answer = server.call(Era::Handshake, name, json!({ "path": "inbox/one.md" }));
        let valid = &answer["result"]["structuredContent"];
        for (damage, damaged) in schema::damaged(valid) {
            assert!(
                violation(schema, &damaged).is_some(),
                "{name}, {damage}: {damaged}"
            );
        }
    }
}
