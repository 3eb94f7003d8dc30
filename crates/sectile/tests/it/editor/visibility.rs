//! What is hidden cannot be told from what does not exist, and a server that only reads has no tool that writes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::SAMPLE;
use crate::fixture::{Era, Http, Stdio, TestDocuments, initialize};

const HIDDEN: &str = "delete_section";
const NONEXISTENT: [&str; 3] = ["delete_sectiox", "nope", "editor/delete_section"];

/// Settings that hide [`HIDDEN`].
const HIDING: [&str; 4] = [
    "[server.tools]\ndenylist = ['delete_section']\n",
    "[server.tools]\ndenylist = ['editor/delete_section']\n",
    "[server.tools]\nallowlist = ['list_sections', 'get_section']\n",
    "[server.tools]\nmode = 'passthrough'\ndenylist = ['delete_section']\n\
     [server.auth]\nallowed_tools = ['list_sections']\n",
];

/// Every byte of an answer on stdio.
fn on_stdio(documents: &TestDocuments, era: Era, settings: &str, message: &Value) -> String {
    let mut server = Stdio::spawn(documents.vault(), documents.command(settings));
    if era == Era::Handshake {
        server.exchange(&initialize(0));
    }
    server.send_line(&message.to_string());
    server.receive_line()
}

/// Every byte of an answer over HTTP, in a session of its own where there are sessions.
fn over_http(http: &Http<'_>, era: Era, message: &Value) -> String {
    let answer = match era {
        Era::Stateless => http.post(era, message),
        Era::Handshake => {
            let opened = http.post(era, &initialize(0));
            let session = opened.header("mcp-session-id").unwrap().to_owned();
            http.post_with(era, message, &[("Mcp-Session-Id", &session)])
        }
    };
    format!(
        "{}\n{}\n\n{}",
        answer.status,
        answer.headers.join("\n"),
        answer.body
    )
}

fn call(era: Era, name: &str, arguments: &Value) -> Value {
    era.call(7, name, arguments.clone())
}

#[test]
fn a_hidden_tool_answers_byte_for_byte_like_one_that_never_existed() {
    let documents = TestDocuments::single(SAMPLE);
    let beta = documents.open().id("Beta");
    let all_arguments = [
        json!({ "section_id": beta }),
        json!({ "section_id": "abc123" }),
        json!({ "heading": 5 }),
        json!({}),
    ];
    for settings in HIDING {
        let http = documents.http(settings);
        for era in Era::BOTH {
            for arguments in &all_arguments {
                let hidden = call(era, HIDDEN, arguments);
                let seen = on_stdio(&documents, era, settings, &hidden);
                assert!(seen.contains("-32601") && !seen.contains(HIDDEN), "{seen}");
                let seen_over_http = over_http(&http, era, &hidden);
                assert!(seen_over_http.contains("unknown_tool"), "{seen_over_http}");
                let unknown = call(era, NONEXISTENT[0], arguments);
                assert_eq!(
                    seen,
                    on_stdio(&documents, era, settings, &unknown),
                    "{settings}"
                );
                for name in NONEXISTENT {
                    let unknown = call(era, name, arguments);
                    assert_eq!(
                        seen_over_http,
                        over_http(&http, era, &unknown),
                        "{settings}, {name}"
                    );
                }
            }
        }
        assert_eq!(documents.only(), SAMPLE, "{settings}");
    }
}

#[test]
fn hidden_resources_and_prompts_answer_like_nonexistent_ones() {
    let documents = TestDocuments::single(SAMPLE);
    let settings = "[server.tools]\ndenylist = ['sectile://editor/history', 'generate_outline']\n";
    for era in Era::BOTH {
        for (hidden, unknown) in [
            (
                (
                    "resources/read",
                    json!({ "uri": "sectile://editor/history" }),
                ),
                ("resources/read", json!({ "uri": "sectile://editor/nope" })),
            ),
            (
                ("prompts/get", json!({ "name": "generate_outline" })),
                ("prompts/get", json!({ "name": "nope" })),
            ),
        ] {
            let seen = [hidden, unknown].map(|(method, params)| {
                let message = era.request(7, method, params);
                on_stdio(&documents, era, settings, &message)
            });
            assert!(seen[0].contains("error"), "{}", seen[0]);
            assert_eq!(seen[0], seen[1]);
        }
        let mut editor = documents.open_with(era, settings);
        let listed = editor.ask("prompts/list", json!({}))["result"].to_string();
        assert!(!listed.contains("generate_outline"), "{listed}");
        let listed = editor.ask("resources/list", json!({}))["result"].to_string();
        assert!(!listed.contains("editor/history"), "{listed}");
    }
}

#[test]
fn a_server_that_only_reads_has_no_tool_that_writes() {
    for documents in [
        TestDocuments::single(SAMPLE),
        TestDocuments::folder(&[("doc.md", SAMPLE)]),
    ] {
        let all = documents.open().ask("tools/list", json!({}));
        let tools = all["result"]["tools"].as_array().unwrap();
        let (readers, writers): (Vec<&Value>, Vec<&Value>) = tools
            .iter()
            .partition(|tool| tool["annotations"]["readOnlyHint"] == true);
        let names = |tools: &[&Value]| -> BTreeSet<String> {
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect()
        };
        for era in Era::BOTH {
            let mut command = documents.command("");
            command.arg("--read-only");
            let mut editor = crate::fixture::Editor::connect(&documents, era, command, &json!({}));
            let listing = editor.ask("tools/list", json!({}));
            let listed: Vec<&Value> = listing["result"]["tools"]
                .as_array()
                .unwrap()
                .iter()
                .collect();
            assert_eq!(names(&listed), names(&readers), "{era:?}");
            for writer in names(&writers) {
                let error = editor.refused(&writer, json!({}));
                assert_eq!(error["code"], -32601, "{writer}");
                assert_eq!(error["data"]["kind"], "unknown_tool", "{writer}");
            }
            assert_eq!(editor.sections_of("doc.md").len(), 5);
            assert_eq!(documents.text("doc.md"), SAMPLE);
        }
    }
}

#[test]
fn a_tool_that_a_caller_may_not_use_is_refused_and_writes_nothing() {
    let documents = TestDocuments::single(SAMPLE);
    let settings = "[server.auth]\nallowed_tools = ['list_sections']\n";
    for era in Era::BOTH {
        let mut editor = documents.open_with(era, settings);
        let beta = editor.id("Beta");
        let error = editor.call("delete_section", json!({ "section_id": beta }))["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(-32003), &json!("forbidden"))
        );
        assert_eq!(documents.only(), SAMPLE);
    }
}

/// What may not be called by itself may not be called as part of a batch either.
#[test]
fn apply_edits_is_no_way_around_the_policy() {
    let forbidding = [
        HIDING[0],
        HIDING[1],
        "[server.tools]\nallowlist = ['list_sections', 'apply_edits', 'update_section']\n",
        "[server.auth]\nallowed_tools = ['apply_edits', 'update_section']\n",
    ];
    let documents = TestDocuments::single(SAMPLE);
    let beta = documents.open().id("Beta");
    let update = json!({ "operation": "update_section", "section_id": beta, "content": "x" });
    let delete = json!({ "operation": "delete_section", "section_id": beta });
    for settings in forbidding {
        for era in Era::BOTH {
            let batch = call(era, "apply_edits", &json!({ "edits": [update, delete] }));
            let answer = on_stdio(&documents, era, settings, &batch);
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["error"]["code"], -32602, "{settings}: {answer}");
            assert_eq!(documents.text("doc.md"), SAMPLE, "{settings}");
            let dry = json!({ "edits": [delete], "dry_run": true });
            let answer = on_stdio(&documents, era, settings, &call(era, "apply_edits", &dry));
            assert!(answer.contains("-32602"), "{settings}: {answer}");
        }
    }
    let batch = call(Era::Stateless, "apply_edits", &json!({ "edits": [update] }));
    let answer = on_stdio(&documents, Era::Stateless, forbidding[3], &batch);
    assert!(answer.contains("Edits applied."), "{answer}");
}
