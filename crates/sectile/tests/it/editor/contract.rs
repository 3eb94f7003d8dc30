//! The contract as it is written down: every call, answer field, error code, resource and prompt, in single-document mode.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Editor, Era, TestDocuments};

/// The calls of the contract.
const TOOLS: [&str; 9] = [
    "insert_section",
    "delete_section",
    "update_section",
    "move_section",
    "get_section",
    "list_sections",
    "undo",
    "redo",
    "get_document",
];

#[test]
fn the_calls_of_the_contract_are_all_there() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        let listing = editor.ask("tools/list", json!({}));
        let listed = listing["result"]["tools"].as_array().unwrap();
        for tool in TOOLS {
            assert!(listed.iter().any(|one| one["name"] == tool), "{tool}");
        }
    }
}

#[test]
fn the_example_call_inserts_before_everything_else() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        let example = json!({
            "heading": "Introduction",
            "content": "This is the intro.",
            "position": 0,
        });
        let answer = editor.ok("insert_section", example);
        assert_eq!(answer["message"], "Section inserted.");
        assert!(answer["section_id"].is_string(), "{answer}");
        let text = documents.only();
        assert_eq!(
            text,
            format!("# Introduction\n\nThis is the intro.\n\n{SAMPLE}")
        );
        assert_eq!(editor.ok("get_document", json!({}))["document"], text);
    }
}

#[test]
fn sections_are_listed_and_read_with_the_fields_of_the_contract() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let sections = editor.sections();
    let headings = ["Title", "Alpha", "Alpha child", "Beta", "Gamma"];
    assert_eq!(sections.len(), headings.len());
    for (position, (section, heading)) in sections.iter().zip(headings).enumerate() {
        assert_eq!(section["heading"], heading);
        assert_eq!(section["position"], position);
        assert!(section["section_id"].is_string(), "{section}");
        let read = editor.ok(
            "get_section",
            json!({ "section_id": section["section_id"] }),
        );
        assert_eq!(read["heading"], heading);
        assert_eq!(read["position"], position);
        assert!(read["content"].is_string(), "{read}");
    }
    let alpha = editor.ok(
        "get_section",
        json!({ "section_id": editor_id(&sections, 1) }),
    );
    assert_eq!(alpha["content"], "Alpha body.", "without the subsection");
}

fn editor_id(sections: &[Value], position: usize) -> Value {
    sections[position]["section_id"].clone()
}

#[test]
fn sections_are_updated_moved_and_deleted_with_the_arguments_of_the_contract() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let beta = editor.id("Beta");
    let update = json!({ "section_id": beta, "content": "New beta." });
    let answer = editor.ok("update_section", update);
    assert_eq!(answer["message"], "Section updated.");
    let updated = SAMPLE.replace("Beta body.", "New beta.");
    assert_eq!(documents.only(), updated);

    let move_it = json!({ "section_id": beta, "new_position": 1 });
    let answer = editor.ok("move_section", move_it);
    assert_eq!(answer["message"], "Section moved.");
    let moved = updated
        .replace("## Beta\n\nNew beta.\n\n", "")
        .replace("## Alpha\n", "## Beta\n\nNew beta.\n\n## Alpha\n");
    assert_eq!(documents.only(), moved);

    let answer = editor.ok("delete_section", json!({ "section_id": beta }));
    assert_eq!(answer["message"], "Section deleted.");
    let without_beta = SAMPLE.replace("## Beta\n\nBeta body.\n\n", "");
    assert_eq!(documents.only(), without_beta);
    let answer = editor.ok("delete_section", json!({ "heading": "Alpha" }));
    assert_eq!(answer["message"], "Section deleted.");
    assert_eq!(
        documents.only(),
        "# Title\n\nIntro text.\n\n## Gamma\n\nGamma body.\n"
    );
}

#[test]
fn undo_and_redo_go_back_and_forth_one_step_at_a_time() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let (alpha, beta) = (editor.id("Alpha"), editor.id("Beta"));
    editor.ok(
        "update_section",
        json!({ "section_id": alpha, "content": "One." }),
    );
    let one = documents.only();
    editor.ok(
        "update_section",
        json!({ "section_id": beta, "content": "Two." }),
    );
    let two = documents.only();
    for (tool, message, expected) in [
        ("undo", "Undo successful.", one.as_str()),
        ("undo", "Undo successful.", SAMPLE),
        ("redo", "Redo successful.", &one),
        ("redo", "Redo successful.", &two),
        ("undo", "Undo successful.", &one),
    ] {
        let answer = editor.ok(tool, json!({}));
        assert_eq!(answer["message"], message);
        assert_eq!(documents.only(), expected, "{tool}");
    }
    editor.ok("undo", json!({}));
    editor.assert_refused("undo", json!({}), (APPLICATION_ERROR, "nothing_to_undo"));
    editor.ok(
        "update_section",
        json!({ "section_id": beta, "content": "Three." }),
    );
    editor.assert_refused("redo", json!({}), (APPLICATION_ERROR, "nothing_to_redo"));
}

/// The message of the contract's example, then what helps a model that sees nothing else.
const ABC123_NOT_FOUND: &str = "Section not found. \"doc.md\" has no section with the id \"abc123\". Call list_sections to \
     see the sections and their ids.";

#[test]
fn the_example_error_comes_as_it_is_written() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        for (tool, more) in [
            ("get_section", json!({})),
            ("delete_section", json!({})),
            ("update_section", json!({ "content": "x" })),
            ("move_section", json!({ "new_position": 0 })),
        ] {
            let mut arguments = more;
            arguments["section_id"] = json!("abc123");
            let error = editor.refused(tool, arguments);
            assert_eq!(error["code"], APPLICATION_ERROR, "{tool}");
            let message = error["message"].as_str().unwrap();
            assert_eq!(message, ABC123_NOT_FOUND, "{tool}");
            assert!(
                message.starts_with("Section not found. "),
                "as the contract has it"
            );
            assert_eq!(error["data"]["section_id"], "abc123", "{tool}");
        }
        assert_eq!(documents.only(), SAMPLE);
    }
}

/// Arguments that the schemas of the contract refuse.
fn invalid_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("insert_section", json!({ "heading": "H", "content": "c" })),
        ("insert_section", json!({ "heading": "H", "position": 0 })),
        ("insert_section", json!({ "content": "c", "position": 0 })),
        (
            "insert_section",
            json!({ "heading": 5, "content": "c", "position": 0 }),
        ),
        (
            "insert_section",
            json!({ "heading": "H", "content": "c", "position": "0" }),
        ),
        (
            "insert_section",
            json!({ "heading": "H", "content": "c", "position": -1 }),
        ),
        (
            "insert_section",
            json!({ "heading": "H", "content": "c", "position": 0.5 }),
        ),
        ("delete_section", json!({})),
        (
            "delete_section",
            json!({ "section_id": null, "heading": null }),
        ),
        ("update_section", json!({ "section_id": "x" })),
        ("update_section", json!({ "content": "x" })),
        ("move_section", json!({ "section_id": "x" })),
        ("get_section", json!({})),
        ("get_section", json!({ "section_id": ["x"] })),
    ]
}

#[test]
fn the_codes_are_those_of_the_contract() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        for (tool, arguments) in invalid_calls() {
            let error = editor.refused(tool, arguments.clone());
            assert_eq!(error["code"], INVALID_PARAMS, "{tool} {arguments}: {error}");
        }
        for tool in ["nope", "editor/insert_section", ""] {
            let error = editor.refused(tool, json!({}));
            assert_eq!(error["code"], -32601, "{tool}: {error}");
        }
        let answer = editor.ask("no/such/method", json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        editor.server.send_line("[]");
        assert_eq!(editor.server.receive()["error"]["code"], -32600);
        editor
            .server
            .send_line(r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#);
        assert_eq!(editor.server.receive()["error"]["code"], -32600);
        assert_eq!(documents.only(), SAMPLE, "nothing of this writes");
    }
}

#[test]
fn errors_can_be_results_with_the_same_object() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let calls = [
            ("get_section", json!({ "section_id": "abc123" })),
            ("get_section", json!({})),
            ("update_section", json!({ "section_id": "x" })),
            (
                "insert_section",
                json!({ "heading": "H", "content": "c", "position": 99 }),
            ),
        ];
        let mut as_errors = Vec::new();
        let mut editor = documents.open_with(era, "");
        for (tool, arguments) in &calls {
            as_errors.push(editor.refused(tool, arguments.clone()));
        }
        editor.leave();
        let mut editor = documents.open_with(era, "[editor]\nerrors = 'result'\n");
        for ((tool, arguments), error) in calls.iter().zip(&as_errors) {
            let answer = editor.call(tool, arguments.clone());
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            let object: Value = serde_json::from_str(text).unwrap();
            assert_eq!(object, *error, "{tool} {arguments}");
        }
        // What does not exist is the protocol's business in both.
        assert_eq!(editor.refused("nope", json!({}))["code"], -32601);
    }
}

#[test]
fn the_resources_have_the_fields_of_the_contract() {
    let text =
        "---\ntitle: The title\nauthor: Somebody\ncreated: 2026-01-02\n---\n# Heading\n\nText.\n";
    for era in Era::BOTH {
        let documents = TestDocuments::single(text);
        let mut editor = documents.open_with(era, "");
        let listing = editor.ask("resources/list", json!({}));
        let listed = listing["result"]["resources"].as_array().unwrap();
        let names: Vec<&Value> = listed.iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["document", "history", "metadata"]);
        editor.ok(
            "insert_section",
            json!({ "heading": "More", "content": "m", "position": 1, "reason": "to try" }),
        );
        editor.ok("undo", json!({}));

        let document = editor.resource("sectile://editor/document");
        assert_eq!(document, json!({ "document": documents.only() }));
        let history = editor.resource("sectile://editor/history");
        let entries = history["history"].as_array().unwrap();
        let operations: Vec<&Value> = entries.iter().map(|one| &one["operation"]).collect();
        assert_eq!(operations, ["undo", "insert_section"], "newest first");
        for entry in entries {
            assert_timestamp(&entry["timestamp"]);
            assert!(entry["details"].is_object(), "{entry}");
        }
        assert_eq!(entries[1]["details"]["reason"], "to try");
        let metadata = editor.resource("sectile://editor/metadata");
        assert_eq!(metadata["title"], "The title");
        assert_eq!(metadata["author"], "Somebody");
        assert_eq!(metadata["created"], "2026-01-02");
        assert_timestamp(&metadata["modified"]);
    }
}

fn assert_timestamp(value: &Value) {
    let text = value.as_str().unwrap_or_default();
    let is_iso = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
    assert!(is_iso, "{value}");
}

#[test]
fn modified_is_an_iso_8601_time_that_follows_edits() {
    let text = "---\nmodified: 2001-02-03\nupdated: long ago\n---\n# A\n\nText.\n";
    let documents = TestDocuments::single(text);
    let mut editor = documents.open();
    let modified = |editor: &mut Editor<'_>| -> jiff::Timestamp {
        let metadata = editor.resource("sectile://editor/metadata");
        assert_timestamp(&metadata["modified"]);
        metadata["modified"].as_str().unwrap().parse().unwrap()
    };
    let first = modified(&mut editor);
    let id = editor.id("A");
    let mut last = first;
    for content in ["One.", "Two."] {
        std::thread::sleep(std::time::Duration::from_millis(5));
        editor.ok(
            "update_section",
            json!({ "section_id": id, "content": content }),
        );
        let now = modified(&mut editor);
        assert!(now > last, "{now} after {last}");
        last = now;
    }
    let history = editor.resource("sectile://editor/history");
    let entry = history["history"][0]["timestamp"].as_str().unwrap();
    assert_eq!(last, entry.parse().unwrap(), "the time of the edit itself");
    // Another program, whose file says when.
    let when: jiff::Timestamp = "2030-01-02T03:04:05Z".parse().unwrap();
    documents.overwrite("doc.md", "# A\n\nTheirs.\n");
    let file = std::fs::File::options()
        .append(true)
        .open(documents.location("doc.md"))
        .unwrap();
    file.set_modified(when.into()).unwrap();
    assert_eq!(modified(&mut editor), when);
}

#[test]
fn created_is_iso_8601_whatever_the_document_says() {
    for (written, expected) in [
        ("2026-01-02", Some("2026-01-02")),
        ("\"2026-01-02\"", Some("2026-01-02")),
        ("2026-01-02 03:04:05", Some("2026-01-02T03:04:05")),
        ("2026-01-02T03:04:05+01:00", Some("2026-01-02T02:04:05Z")),
        ("yesterday", None),
        ("[2026]", None),
    ] {
        let documents = TestDocuments::single(format!("---\ncreated: {written}\n---\n# A\n"));
        let metadata = documents.open().resource("sectile://editor/metadata");
        match expected {
            Some(expected) => assert_eq!(metadata["created"], expected, "{written}"),
            None if metadata["created"].is_null() => {}
            None => assert_timestamp(&metadata["created"]),
        }
    }
}

#[test]
fn section_id_is_required_in_the_outputs_of_insert_and_get() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        let listing = editor.ask("tools/list", json!({}));
        let tools = listing["result"]["tools"].as_array().unwrap();
        for name in ["insert_section", "get_section"] {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            let schema = &tool["outputSchema"];
            let required = schema["required"].as_array().unwrap();
            assert!(
                required.contains(&json!("section_id")),
                "{name}: {required:?}"
            );
            assert_eq!(
                schema["properties"]["section_id"]["type"], "string",
                "{name}"
            );
        }
        let call = json!({ "heading": "N", "content": "n", "position": 0, "request_id": "r" });
        let mut dry = call.clone();
        dry["dry_run"] = json!(true);
        dry["request_id"] = json!("dry");
        let promised = editor.ok("insert_section", dry);
        let applied = editor.ok("apply_plan", json!({ "plan": promised["plan"] }));
        assert_eq!(applied["section_id"], promised["section_id"], "{applied}");
        editor.ok("undo", json!({}));
        let made = editor.ok("insert_section", call.clone());
        let again = editor.ok("insert_section", call);
        assert_eq!(again["replayed"], true);
        assert_eq!(again["section_id"], made["section_id"]);
        let read = editor.ok("get_section", json!({ "heading": "N" }));
        assert_eq!(read["section_id"], made["section_id"]);
    }
}

#[test]
fn metadata_that_nobody_gave_is_not_invented() {
    let documents = TestDocuments::single("Only text.\n");
    let metadata = documents.open().resource("sectile://editor/metadata");
    assert_eq!(metadata["title"], Value::Null);
    assert_eq!(metadata["author"], Value::Null);
    assert_timestamp(&metadata["modified"]);
}

#[test]
fn an_unknown_resource_or_prompt_is_refused() {
    let documents = TestDocuments::single(SAMPLE);
    for era in Era::BOTH {
        let mut editor = documents.open_with(era, "");
        for uri in [
            "sectile://editor/nope",
            "document",
            "file:///etc/passwd",
            "",
        ] {
            let answer = editor.ask("resources/read", json!({ "uri": uri }));
            let expected = match era {
                Era::Handshake => -32002,
                Era::Stateless => -32602,
            };
            assert_eq!(
                answer["error"]["code"], expected,
                "{uri}, {era:?}: {answer}"
            );
        }
        let answer = editor.ask("prompts/get", json!({ "name": "nope" }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

fn prompt_text(answer: &Value) -> &str {
    let message = &answer["result"]["messages"][0];
    assert_eq!(message["role"], "user", "{answer}");
    message["content"]["text"].as_str().unwrap()
}

#[test]
fn the_prompts_have_the_text_of_the_contract() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        let alpha = "Alpha body.\n\n### Alpha child\n\nChild body.";
        let id = editor.id("Alpha");
        for (prompt, template, given, filled) in [
            (
                "summarize_section",
                "Summarize the following section:\n",
                json!({ "section_content": "{braces} & <tags>" }),
                "{braces} & <tags>",
            ),
            (
                "rewrite_section",
                "Rewrite the following section for clarity and conciseness:\n",
                json!({ "section_content": "Some text." }),
                "Some text.",
            ),
            (
                "generate_outline",
                "Generate an outline for the following document:\n",
                json!({ "document": "# A\n" }),
                "# A\n",
            ),
            (
                "summarize_section",
                "Summarize the following section:\n",
                json!({ "section_id": id }),
                alpha,
            ),
            (
                "rewrite_section",
                "Rewrite the following section for clarity and conciseness:\n",
                json!({ "heading": "Alpha" }),
                alpha,
            ),
            (
                "generate_outline",
                "Generate an outline for the following document:\n",
                json!({}),
                SAMPLE,
            ),
        ] {
            let params = json!({ "name": prompt, "arguments": given });
            let answer = editor.ask("prompts/get", params);
            assert_eq!(prompt_text(&answer), format!("{template}{filled}"));
        }
        for arguments in [
            json!({}),
            json!({ "section_content": "x", "heading": "Alpha" }),
        ] {
            let params = json!({ "name": "summarize_section", "arguments": arguments });
            let answer = editor.ask("prompts/get", params);
            assert_eq!(answer["error"]["code"], INVALID_PARAMS, "{answer}");
        }
    }
}
