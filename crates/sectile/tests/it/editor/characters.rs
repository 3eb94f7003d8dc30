//! Control characters: no tool brings one into a document, and those that are there stay.

use serde_json::{Value, json};

use super::{INVALID_PARAMS, SAMPLE};
use crate::fixture::{Era, TestDocuments};

const REFUSED: (i64, &str) = (INVALID_PARAMS, "control_character");

/// Every call that brings a text into a document, and the field that has it.
fn calls(text: &str, beta: &str) -> Vec<(&'static str, Value, &'static str)> {
    let edit = |what: Value| json!({ "edits": [what], "path": "a.md" });
    vec![
        (
            "insert_section",
            json!({ "path": "a.md", "heading": "N", "content": text, "position": 0 }),
            "content",
        ),
        (
            "insert_section",
            json!({ "path": "a.md", "heading": text, "content": "n", "position": 0 }),
            "heading",
        ),
        (
            "update_section",
            json!({ "section_id": beta, "content": text }),
            "content",
        ),
        (
            "update_section",
            json!({ "section_id": beta, "content": text, "scope": "subtree" }),
            "content",
        ),
        (
            "update_section",
            json!({ "section_id": beta, "content": text, "dry_run": true }),
            "content",
        ),
        (
            "rename_section",
            json!({ "section_id": beta, "heading": text }),
            "heading",
        ),
        (
            "edit_text",
            json!({ "section_id": beta, "old_text": "Beta", "new_text": text }),
            "new_text",
        ),
        (
            "edit_text",
            json!({ "path": "a.md", "old_text": "Beta body", "new_text": text }),
            "new_text",
        ),
        (
            "set_front_matter",
            json!({ "path": "a.md", "key": "k", "value": text }),
            "value",
        ),
        (
            "set_front_matter",
            json!({ "path": "a.md", "key": "k", "value": { "deep": [text] } }),
            "value",
        ),
        (
            "set_front_matter",
            json!({ "path": "a.md", "key": text, "value": 1 }),
            "key",
        ),
        (
            "create_document",
            json!({ "path": "n.md", "content": text }),
            "content",
        ),
        (
            "create_document",
            json!({ "path": format!("{}.md", text.replace('\0', "\u{1}")), "content": "" }),
            "path",
        ),
        (
            "rename_document",
            json!({ "path": "a.md", "new_path": format!("{}.md", text.replace('\0', "\u{1}")) }),
            "path",
        ),
        (
            "apply_edits",
            edit(
                json!({ "operation": "insert_section", "heading": "N", "content": text, "position": 0 }),
            ),
            "content",
        ),
        (
            "apply_edits",
            edit(json!({ "operation": "update_section", "section_id": beta, "content": text })),
            "content",
        ),
        (
            "apply_edits",
            edit(json!({ "operation": "create_document", "path": "n.md", "content": text })),
            "content",
        ),
    ]
}

#[test]
fn nul_and_other_control_characters_are_refused_by_every_tool_that_writes() {
    for era in Era::BOTH {
        let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
        let mut editor = documents.open_with(era, "");
        let (beta, b) = (editor.id_in("a.md", "Beta"), editor.id_in("b.md", "B"));
        editor.ok("update_section", json!({ "section_id": b, "content": "2" }));
        for bad in ['\0', '\u{7}', '\u{c}', '\u{1b}', '\u{7f}', '\u{9b}'] {
            for (tool, arguments, field) in calls(&format!("a{bad}b"), &beta) {
                let error = editor.assert_refused(tool, arguments, REFUSED);
                assert_eq!(error["data"]["field"], field, "{tool}: {error}");
                let named = error["data"]["character"].as_str().unwrap();
                assert!(named.starts_with("U+"), "{error}");
                let message = error["message"].as_str().unwrap();
                assert!(message.contains(named) && !message.contains(bad), "{error}");
            }
        }
        assert_eq!(documents.text("a.md"), SAMPLE);
        assert_eq!(documents.text("b.md"), "# B\n\n2\n");
        let listed = editor.ok("list_documents", json!({}));
        assert_eq!(listed["documents"].as_array().unwrap().len(), 2);
        // Tab and line ends are not among them.
        editor.ok(
            "update_section",
            json!({ "section_id": beta, "content": "\ta\r\nb\n\nc" }),
        );
    }
}

#[test]
fn control_characters_that_are_in_a_document_stay() {
    let text = "# A\n\nOne\u{c}two\u{0}.\n\n# B\n\nb\n";
    let documents = TestDocuments::single(text);
    let mut editor = documents.open();
    let read = editor.ok("get_section", json!({ "heading": "A" }));
    let back = json!({ "section_id": read["section_id"], "content": read["content"] });
    assert_eq!(editor.ok("update_section", back)["unchanged"], true);
    let around = json!({ "old_text": "One\u{c}", "new_text": "1\u{c}" });
    editor.ok("edit_text", around);
    editor.ok(
        "move_section",
        json!({ "section_id": read["section_id"], "new_position": 1 }),
    );
    assert_eq!(documents.only(), "# B\n\nb\n\n# A\n\n1\u{c}two\0.\n");
    let more = json!({ "old_text": "1\u{c}", "new_text": "1\u{c}\u{c}" });
    editor.assert_refused("edit_text", more, REFUSED);
}
