//! The Decision Gate preset, on its real files; and the labelled questions of both manuals.

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use super::library::{Client, text};
use crate::{
    contract::pin,
    fixture::{Era, TestVault, sectile},
};

fn repository(below: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(below)
}

/// The URIs of the plan's appendix.
const URIS: [&str; 13] = [
    "evidence-flow",
    "security",
    "tooling",
    "authoring",
    "conditions",
    "ret-logic",
    "llm-playbook",
    "providers",
    "provider-protocol",
    "provider-schema",
    "provider-development",
    "json-evidence",
    "runpack-architecture",
];

fn preset() -> Command {
    let mut command = sectile();
    command.args(["serve", "docs", "--config"]);
    command.arg(repository("examples/decision-gate/sectile.toml"));
    command
}

#[test]
fn registry_loads_all_default_docs_and_roles() {
    let vault = TestVault::empty();
    let mut client = Client::new(&vault, preset(), Era::Handshake);
    assert_eq!(client.tool_names(), ["decision_gate_docs_search"]);
    let listed = client.ask("resources/list", json!({}));
    let uris: Vec<String> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| text(&resource["uri"]))
        .collect();
    assert_eq!(
        uris,
        URIS.map(|slug| format!("decision-gate://docs/{slug}"))
    );
    let search = |client: &mut Client<'_>, query: &str| -> Value {
        let call = json!({ "name": "decision_gate_docs_search", "arguments": { "query": query } });
        client.ask("tools/call", call)["result"]["structuredContent"].clone()
    };
    let hit = search(&mut client, "trust lanes")["sections"][0].clone();
    assert_eq!(hit["uri"], "decision-gate://docs/evidence-flow#trust-lanes");
    let roles: Vec<String> = search(&mut client, "")["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| text(&section["doc_role"]))
        .collect();
    assert_eq!(roles, ["reasoning", "decision", "ontology", "pattern"]);
    let tooling = client.ask(
        "resources/read",
        json!({ "uri": "decision-gate://docs/tooling" }),
    );
    let file = repository("examples/decision-gate/Docs/generated/decision-gate/tooling.md");
    assert_eq!(
        tooling["result"]["contents"][0]["text"],
        std::fs::read_to_string(file).unwrap()
    );
}

/// Asks the questions of a file. The thresholds were set by the plan, or a little below what was reached.
fn evaluated(arguments: &[&str]) -> Value {
    let output = sectile()
        .args(["docs", "eval", "--json"])
        .args(arguments)
        .current_dir(repository(""))
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn questions_about_decision_gate_are_answered() {
    let config = "examples/decision-gate/sectile.toml";
    let thresholds = ["--min-hit-1", "75", "--min-hit-3", "90"];
    let file = "examples/decision-gate/questions.toml";
    let result = evaluated(&[&[file, "--config", config], &thresholds[..]].concat());
    assert!(result["questions"].as_u64().unwrap() >= 40);
}

#[test]
fn questions_about_the_manual_are_answered() {
    let thresholds = ["--min-hit-1", "70", "--min-hit-3", "90"];
    let result = evaluated(&[&["docs/questions.toml"], &thresholds[..]].concat());
    assert!(result["questions"].as_u64().unwrap() >= 60);
}

/// Numbers and texts of some answers, as every build on every machine gives them.
#[test]
fn answers_are_the_same_bytes_for_every_build() {
    let vault = TestVault::empty();
    let mut client = Client::new(&vault, preset(), Era::Handshake);
    let mut pinned = serde_json::Map::new();
    for query in [
        "trust lanes",
        "how do I write a provider?",
        "\"fail closed\" comparater",
        "max_doc_bytes",
        "xylophone",
        "",
    ] {
        let arguments = json!({ "query": query, "explain": true });
        let call = json!({ "name": "decision_gate_docs_search", "arguments": arguments });
        let mut answer = client.ask("tools/call", call)["result"]["structuredContent"].clone();
        // The texts are those of the documents, which the receipt identifies.
        for section in answer["sections"].as_array_mut().unwrap() {
            section["content"] = json!(section["content"].as_str().unwrap().len());
        }
        pinned.insert(query.to_owned(), answer);
    }
    pin("docs__decision_gate_answers", &Value::Object(pinned));
}
