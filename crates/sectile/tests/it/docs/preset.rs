//! The Decision Gate preset, on documents of ours in the places of its own; and the labelled questions of two manuals.
//!
//! Its questions about its own documents, which are not in the repository, are asked by `cargo xtask eval`.

use std::{fs, path::PathBuf, process::Command};

use sectile_test_corpus::{MANUAL, MANUAL_QUESTIONS, MANUAL_SETTINGS};
use serde_json::{Value, json};

use super::{
    Desk,
    library::{Client, text},
};
use crate::{
    contract::pin,
    fixture::{Era, TestVault, sectile},
};

fn repository(below: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(below)
}

const PRESET: &str = "examples/decision-gate/sectile.toml";

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

/// The paths of the documents that the preset lists.
fn listed() -> Vec<String> {
    let text = fs::read_to_string(repository(PRESET)).unwrap();
    let settings: toml::Table = text.parse().unwrap();
    let documents = settings["docs"]["documents"].as_array().unwrap();
    let path = |one: &toml::Value| one["path"].as_str().unwrap().to_owned();
    documents.iter().map(path).collect()
}

/// A folder like a checkout, with a document of the test corpus in the place of each that the preset lists.
fn checkout() -> TestVault {
    let vault = TestVault::empty();
    for (path, (_, text)) in listed().iter().zip(MANUAL) {
        vault.note(path, text);
    }
    vault
}

/// A server with the preset, on a checkout.
fn preset(checkout: &TestVault) -> Command {
    let mut command = sectile();
    command.env("SECTILE_DOCS__ROOT", checkout.root());
    command.args(["serve", "docs", "--config"]);
    command.arg(repository(PRESET));
    command
}

#[test]
fn registry_loads_all_default_docs_and_roles() {
    let vault = checkout();
    let mut client = Client::new(&vault, preset(&vault), Era::Handshake);
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
    let hit = search(&mut client, "rehearsal and live run")["sections"][0].clone();
    assert_eq!(
        hit["uri"],
        "decision-gate://docs/evidence-flow#rehearsal-and-live-run"
    );
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
    assert_eq!(tooling["result"]["contents"][0]["text"], MANUAL[2].1);
}

#[test]
fn the_preset_gives_each_document_the_role_of_the_plan() {
    let vault = checkout();
    let root = vault.root();
    let output = sectile()
        .env("SECTILE_DOCS__ROOT", &root)
        .args(["docs", "check", "--json", "--strict", "--config"])
        .arg(repository(PRESET))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let with_role = |role: &str| -> Vec<String> {
        let documents = report["documents"].as_array().unwrap().iter();
        let mut slugs: Vec<String> = documents
            .filter(|document| document["role"] == role)
            .map(|document| text(&document["slug"]))
            .collect();
        slugs.sort();
        slugs
    };
    for (role, slugs) in [
        (
            "reasoning",
            &["evidence-flow", "runpack-architecture", "security"][..],
        ),
        ("decision", &["llm-playbook", "tooling"]),
        (
            "ontology",
            &["authoring", "conditions", "providers", "ret-logic"],
        ),
        (
            "pattern",
            &[
                "json-evidence",
                "provider-development",
                "provider-protocol",
                "provider-schema",
            ],
        ),
    ] {
        assert_eq!(with_role(role), slugs, "{role}");
    }
}

#[test]
fn without_a_checkout_the_preset_says_which_documents_are_missing() {
    let config = repository(PRESET);
    let ran = Desk::new(&[]).run(&[
        "docs",
        "check",
        "--json",
        "--config",
        config.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let skipped = report["skipped"].as_array().unwrap();
    let paths: Vec<String> = skipped.iter().map(|one| text(&one["path"])).collect();
    assert_eq!(paths, listed());
    assert!(skipped.iter().all(|one| one["reason"] == "missing"));
}

/// Asks the questions of a file. The thresholds are a little below what was reached.
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

/// The manual of the test corpus: its documents, settings and questions.
fn millrace() -> Desk {
    let desk = Desk::new(&MANUAL);
    desk.write("sectile.toml", MANUAL_SETTINGS.as_bytes());
    desk.write("questions.toml", MANUAL_QUESTIONS.as_bytes());
    desk
}

#[test]
fn questions_about_an_unknown_manual_are_answered() {
    let desk = millrace();
    let (config, file) = (desk.path("sectile.toml"), desk.path("questions.toml"));
    let arguments = [file.to_str().unwrap(), "--config", config.to_str().unwrap()];
    let thresholds = ["--min-hit-1", "83", "--min-hit-3", "95"];
    let result = evaluated(&[&arguments[..], &thresholds[..]].concat());
    assert_eq!(result["questions"], 89);
    assert_eq!(result["hit_at_10_permille"], 1000);
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
    let desk = millrace();
    let mut command = sectile();
    command.args(["serve", "docs", "--config"]);
    command.arg(desk.path("sectile.toml"));
    let mut client = Client::new(&vault, command, Era::Handshake);
    let mut pinned = serde_json::Map::new();
    for query in [
        "water classes",
        "how do I write a driver?",
        "\"fail closed\" comparater",
        "comparater",
        "max_gate_speed",
        "xylophone",
        "",
    ] {
        let arguments = json!({ "query": query, "explain": true });
        let call = json!({ "name": "millrace_docs_search", "arguments": arguments });
        let mut answer = client.ask("tools/call", call)["result"]["structuredContent"].clone();
        // The texts are those of the documents, which the receipt identifies.
        for section in answer["sections"].as_array_mut().unwrap() {
            section["content"] = json!(section["content"].as_str().unwrap().len());
        }
        pinned.insert(query.to_owned(), answer);
    }
    pin("docs__answers", &Value::Object(pinned));
}
