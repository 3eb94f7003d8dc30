//! Unit tier: the tools, their allowlisted fields, and errors that repeat nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    fixture::{Caller, Era, Stdio, TestHosted, TestVault, error_of, tool_text},
    vault::unit::{ALLOWED, EXAMPLE, check_fields},
    vectors::TOOLS,
};

fn listed(answer: &Value) -> Vec<Value> {
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn the_tools_are_those_of_the_vault_world() {
    let (hosted, vault) = (TestHosted::empty(), TestVault::empty());
    let gateway = hosted.serve();
    for era in Era::BOTH {
        let request = era.request(1, "tools/list", json!({}));
        let tools = listed(&gateway.post(era, &Caller::named("ann"), &request).json());
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, TOOLS, "{era:?}");
        for tool in &tools {
            assert_eq!(tool["inputSchema"]["required"], json!(["path"]), "{tool}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        }
        let known = listed(&Stdio::ready(&vault, era).exchange(&request));
        assert_eq!(
            Value::Array(tools).to_string(),
            Value::Array(known).to_string(),
            "{era:?}"
        );
    }
    assert_eq!(gateway.requests(), []);
}

#[test]
fn each_tool_answers_its_allowlisted_fields_in_order_and_no_others() {
    let hosted = TestHosted::sample();
    hosted.note(
        "default",
        "ann",
        "deep.md",
        "# A\n## B\n### C\n#### D\ntext\n# E\n",
    );
    let gateway = hosted.serve();
    for era in Era::BOTH {
        for (tool, allowed) in ALLOWED {
            for path in ["inbox/one.md", "deep.md"] {
                let caller = Caller::named("ann");
                let answer = gateway.call(era, &caller, tool, json!({ "path": path }));
                let view: Value = serde_json::from_str(tool_text(&answer)).unwrap();
                assert_eq!(answer["result"]["structuredContent"], view, "{tool}");
                let mut met = BTreeSet::new();
                check_fields(&view, "", allowed, &mut met);
                assert_eq!(met.len(), allowed.len(), "{tool}, {path}, {era:?}: {met:?}");
            }
        }
    }
}

#[test]
fn no_body_and_no_snippet_is_ever_returned() {
    let hosted = TestHosted::sample();
    hosted.note("default", "ann", "many.md", "# H\n\ntext\n\n".repeat(501));
    let gateway = hosted.serve();
    let mut with_body = 0;
    for path in ["inbox/one.md", "many.md"] {
        let source = gateway.view("get_section_source", path);
        assert_eq!(source["schema"], "knowtation.section_source/v0");
        for section in source["sections"].as_array().unwrap() {
            assert_eq!(section["body_returned"], false, "{path}: {section}");
            assert_eq!(section["snippet_returned"], false, "{path}: {section}");
            with_body += u32::from(section["body_available"] == true);
        }
    }
    assert!(with_body > 500, "there were bodies to return");
}

/// Arguments whose path is no path, with `mark` in whatever they hold.
fn without_a_path(mark: &str) -> Vec<Value> {
    vec![
        json!({}),
        json!({ "path": null }),
        json!({ "path": 5 }),
        json!({ "path": true }),
        json!({ "path": [mark] }),
        json!({ "path": { mark: mark } }),
        json!({ "path": "" }),
        json!({ "path": " \t\n" }),
        json!({ "path": "." }),
        json!({ "path": "./././" }),
        json!({ "path": ".\\." }),
        json!({ "path": format!("/srv/{mark}.md") }),
        json!({ "path": format!("  /srv/{mark}.md") }),
        json!({ "path": format!("C:\\Users\\{mark}.md") }),
        json!({ "path": format!("c:/{mark}.md") }),
        json!({ "path": format!("./c:/{mark}.md") }),
        json!({ "path": format!("\\\\server\\{mark}") }),
        json!({ "path": format!("../{mark}.md") }),
        json!({ "path": format!("a/../{mark}.md") }),
        json!({ "path": format!("{mark}\\..\\b.md") }),
        json!({ "path": format!("{mark}\0.md") }),
        json!({ "path": format!("{mark}/{}", "x".repeat(5000)) }),
    ]
}

#[test]
fn an_invalid_path_is_said_to_be_one_and_nothing_else_is_said() {
    const MARK: &str = "mark-3e77";
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let caller = Caller::named("ann");
    for era in Era::BOTH {
        for tool in TOOLS {
            for arguments in without_a_path(MARK) {
                let answer = gateway.call(era, &caller, tool, arguments.clone());
                assert_eq!(error_of(&answer), "Invalid path", "{tool}, {arguments}");
                assert!(!answer.to_string().contains(MARK), "{answer}");
            }
        }
    }
    assert_eq!(gateway.requests(), []);
    assert_eq!(hosted.store().connections(), 0);
    assert!(!gateway.http.log().contains(MARK));
}

#[test]
fn other_arguments_are_refused_without_an_echo() {
    const MARK: &str = "mark-3e77";
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    for name in [
        "vault_id",
        "vault",
        "user_id",
        "userId",
        "role",
        "body",
        "snippet",
        "search",
        "filter",
        "rank",
        "provider",
        "classroom",
        "resource",
        "persistence",
        "line_range",
        "byte_offset",
        "summary",
        "paths",
        "Path",
        MARK,
    ] {
        let arguments = json!({ "path": "ready.md", name: MARK });
        let answer = gateway.call(Era::Handshake, &Caller::named("ann"), TOOLS[0], arguments);
        assert_eq!(
            error_of(&answer),
            "Invalid arguments: this tool takes only: path.",
            "{name}"
        );
    }
    assert_eq!(gateway.requests(), []);
}

#[test]
fn the_example_of_the_contract_comes_as_it_is_written() {
    let hosted = TestHosted::empty();
    let (note, expected) = EXAMPLE;
    hosted.note("default", "ann", "inbox/example.md", note);
    let gateway = hosted.serve();
    let answer = gateway.note("get_section_source", "inbox/example.md");
    assert_eq!(tool_text(&answer), expected);
}
