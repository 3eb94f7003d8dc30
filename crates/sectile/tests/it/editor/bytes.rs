//! What must not change keeps its bytes: line ends, byte order mark, final newline, front matter, other encodings.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS};
use crate::fixture::TestDocuments;

const FRONT: &str = "---\n# a comment\ntitle: \"Quoted\"   # why\ndate: 2026-01-02\nodd:   [ a,b ]\nnested:\n  - x: 1\n---\n";

#[test]
fn a_front_matter_key_is_set_and_removed_and_the_rest_keeps_its_bytes() {
    let text = format!("{FRONT}\n# T\n\nx\n");
    let documents = TestDocuments::single(&text);
    let mut editor = documents.open();
    for (key, value, line) in [
        ("new", json!("plain"), "new: plain\n"),
        ("new", json!(true), "new: true\n"),
        ("new", json!(null), "new: null\n"),
        ("new", json!(["a", "b"]), "new: [a, b]\n"),
        ("new", json!(3), "new: 3\n"),
    ] {
        editor.ok("set_front_matter", json!({ "key": key, "value": value }));
        let expected = text.replace("  - x: 1\n", &format!("  - x: 1\n{line}"));
        assert_eq!(documents.only(), expected);
    }
    editor.ok("set_front_matter", json!({ "key": "new", "remove": true }));
    assert_eq!(documents.only(), text);
    editor.ok(
        "set_front_matter",
        json!({ "key": "date", "value": "2027-01-01" }),
    );
    let changed = documents.only();
    let line = changed.lines().nth(3).unwrap();
    assert!(
        line.starts_with("date: ") && line.contains("2027-01-01"),
        "{line}"
    );
    assert_eq!(changed.replace(line, "date: 2026-01-02"), text);
}

#[test]
fn a_text_in_front_matter_stays_a_text() {
    let documents = TestDocuments::single("# T\n");
    let mut editor = documents.open();
    for value in [
        "yes",
        "3",
        "null",
        "2026-01-02",
        "a: b",
        "# c",
        "- d",
        "",
        "x\ny",
        "\"q\"",
        "'",
    ] {
        editor.ok(
            "set_front_matter",
            json!({ "key": "author", "value": value }),
        );
        let metadata = editor.resource("sectile://editor/metadata");
        assert_eq!(metadata["author"], *value, "{}", documents.only());
        assert!(
            documents.only().ends_with("---\n# T\n") || documents.only().ends_with("---\n\n# T\n")
        );
    }
}

#[test]
fn front_matter_arguments_are_checked() {
    let documents = TestDocuments::single("---\n{{ not yaml\n---\n# T\n");
    let mut editor = documents.open();
    for arguments in [
        json!({ "key": "a" }),
        json!({ "key": "a", "value": 1, "remove": true }),
        json!({ "value": 1 }),
    ] {
        let refusal = (INVALID_PARAMS, "invalid_arguments");
        editor.assert_refused("set_front_matter", arguments, refusal);
    }
    let arguments = json!({ "key": "a", "value": 1 });
    let refusal = (APPLICATION_ERROR, "front_matter");
    let error = editor.assert_refused("set_front_matter", arguments, refusal);
    let recovery = error["data"]["recovery"].as_str().unwrap();
    assert!(!recovery.contains("edit_text"), "it never gets there");
}

#[test]
fn a_passage_is_replaced_only_when_it_occurs_as_often_as_expected() {
    let text = "---\nword: word\n---\n# T\n\nword\n\n## A\n\nword word\n\n### B\n\nword\n";
    let documents = TestDocuments::single(text);
    let mut editor = documents.open();
    let a = editor.id("A");
    let refusal = (APPLICATION_ERROR, "text_not_unique");
    for (more, found) in [
        (json!({}), 4),
        (json!({ "section_id": a }), 2),
        (json!({ "section_id": a, "scope": "subtree" }), 3),
        (json!({ "section_id": a, "expected_count": 3 }), 2),
    ] {
        let mut arguments = more;
        arguments["old_text"] = json!("word");
        arguments["new_text"] = json!("W");
        let error = editor.assert_refused("edit_text", arguments, refusal);
        assert_eq!(error["data"]["found"], found, "{error}");
    }
    let missing = json!({ "old_text": "nowhere", "new_text": "x" });
    let error = editor.assert_refused("edit_text", missing, refusal);
    assert_eq!(error["data"]["found"], 0);
    let empty = json!({ "old_text": "", "new_text": "x" });
    editor.assert_refused("edit_text", empty, (INVALID_PARAMS, "invalid_arguments"));
    assert_eq!(documents.only(), text);
    let both =
        json!({ "section_id": a, "old_text": "word", "new_text": "$1 \\n", "expected_count": 2 });
    editor.ok("edit_text", both);
    assert_eq!(documents.only(), text.replace("word word", "$1 \\n $1 \\n"));
}

#[test]
fn line_ends_byte_order_mark_and_the_missing_last_newline_stay() {
    let text = "\u{feff}---\r\nk: v\r\n---\r\n# T\r\n\r\nold\r\n\r\n## A\r\n\r\na\r\nb";
    let documents = TestDocuments::single(text);
    let mut editor = documents.open();
    let (t, a) = (editor.id("T"), editor.id("A"));
    editor.ok(
        "update_section",
        json!({ "section_id": t, "content": "x\ny" }),
    );
    assert_eq!(documents.only(), text.replace("old", "x\r\ny"));
    editor.ok("undo", json!({}));
    editor.ok(
        "edit_text",
        json!({ "section_id": a, "old_text": "a\nb", "new_text": "1\n2" }),
    );
    assert_eq!(documents.only(), text.replace("a\r\nb", "1\r\n2"));
    editor.ok("undo", json!({}));
    editor.ok("set_front_matter", json!({ "key": "num", "value": 1 }));
    assert_eq!(
        documents.only(),
        text.replace("k: v\r\n", "k: v\r\nnum: 1\r\n")
    );
    editor.ok("undo", json!({}));
    editor.ok(
        "insert_section",
        json!({ "heading": "N", "content": "n\nm", "position": 0 }),
    );
    assert_eq!(
        documents.only(),
        text.replace("# T", "\r\n# N\r\n\r\nn\r\nm\r\n\r\n# T")
    );
    editor.ok("undo", json!({}));
    assert_eq!(documents.only(), text);
}

#[test]
fn what_is_not_utf8_is_read_and_never_written() {
    let bytes = b"---\nk: v\n---\n# T\n\ncaf\xe9\n\n## A\n\na\n";
    let documents = TestDocuments::single(bytes);
    let mut editor = documents.open();
    let (t, a) = (editor.id("T"), editor.id("A"));
    let read = editor.ok("get_section", json!({ "section_id": t }));
    assert_eq!(read["content"], "caf\u{fffd}");
    editor.ok("get_document", json!({}));
    let refusal = (APPLICATION_ERROR, "encoding");
    let writes: [(&str, Value); 7] = [
        ("update_section", json!({ "section_id": a, "content": "x" })),
        ("delete_section", json!({ "section_id": a })),
        (
            "move_section",
            json!({ "section_id": a, "new_position": 0 }),
        ),
        ("rename_section", json!({ "section_id": a, "heading": "B" })),
        ("edit_text", json!({ "old_text": "a", "new_text": "b" })),
        ("set_front_matter", json!({ "key": "k", "value": "w" })),
        (
            "insert_section",
            json!({ "heading": "N", "content": "n", "position": 0 }),
        ),
    ];
    for (tool, arguments) in writes {
        editor.assert_refused(tool, arguments, refusal);
        assert_eq!(documents.bytes("doc.md"), bytes, "{tool}");
    }
}
