//! Changes that are based on an older text: combined where that is clean, refused otherwise, and nothing is written then.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS};
use crate::fixture::{Editor, Era, TestDocuments};

const TEXT: &str =
    "# T\n\n## A\n\none\ntwo\nthree\nfour\nfive\n\n### Below\n\nbelow\n\n## B\n\nb\n";
const CONFLICT: (i64, &str) = (APPLICATION_ERROR, "conflict");

/// The section as a client knew it before somebody else changed its first line.
fn stale(editor: &mut Editor<'_>) -> Value {
    let known = editor.section("A");
    let id = &known["section_id"];
    let other = json!({ "section_id": id, "content": "ONE\ntwo\nthree\nfour\nfive" });
    editor.ok("update_section", other);
    known
}

#[test]
fn a_change_of_other_lines_is_merged() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let known = stale(&mut editor);
    let ours = json!({
        "section_id": known["section_id"],
        "content": "one\ntwo\nthree\nfour\nFIVE",
        "expected_hash": known["hash"],
    });
    let answer = editor.ok("update_section", ours);
    assert_eq!(answer["merged"], true);
    assert_eq!(
        documents.only(),
        TEXT.replace("one", "ONE").replace("five", "FIVE")
    );
    // The hash that comes back is the one to go on with.
    let next = json!({
        "section_id": known["section_id"], "content": "x", "expected_hash": answer["hash"],
    });
    let answer = editor.ok("update_section", next);
    assert!(answer.get("merged").is_none(), "{answer}");
}

#[test]
fn a_change_of_the_same_line_is_refused_with_all_three_texts() {
    for restarts in [false, true] {
        let documents = TestDocuments::single(TEXT);
        let mut editor = documents.open();
        let known = stale(&mut editor);
        if restarts {
            editor.leave();
            editor = documents.open();
        }
        let before = documents.only();
        let ours = "uno\ntwo\nthree\nfour\nfive";
        let arguments = json!({
            "section_id": known["section_id"], "content": ours, "expected_hash": known["hash"],
        });
        let error = editor.assert_refused("update_section", arguments, CONFLICT);
        let data = &error["data"];
        assert_eq!(data["base"], "one\ntwo\nthree\nfour\nfive");
        assert_eq!(data["ours"], ours);
        assert_eq!(data["theirs"], "ONE\ntwo\nthree\nfour\nfive");
        assert_eq!(data["section_id"], known["section_id"]);
        assert_eq!(documents.only(), before, "nothing is written");
        // What the recovery says works.
        let again = json!({
            "section_id": known["section_id"], "content": ours, "expected_hash": data["hash"],
        });
        editor.ok("update_section", again);
        assert_eq!(documents.only(), TEXT.replace("one", "uno"));
    }
}

#[test]
fn a_base_that_nobody_knows_is_a_conflict() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let a = editor.id("A");
    for hash in ["0123456789abcdef".to_owned(), "0f".repeat(32)] {
        let arguments = json!({ "section_id": a, "content": "x", "expected_hash": hash });
        let error = editor.assert_refused("update_section", arguments, CONFLICT);
        assert_eq!(error["data"]["base"], Value::Null);
    }
    assert_eq!(documents.only(), TEXT);
}

#[test]
fn what_was_changed_since_is_not_deleted() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let a = editor.section("A");
    let below = editor.id("Below");
    editor.ok(
        "update_section",
        json!({ "section_id": below, "content": "changed" }),
    );
    let before = documents.only();
    let arguments = |hash: &Value| json!({ "section_id": a["section_id"], "expected_hash": hash });
    let error = editor.assert_refused("delete_section", arguments(&a["subtree_hash"]), CONFLICT);
    let theirs = error["data"]["theirs"].as_str().unwrap();
    assert!(theirs.contains("changed"), "{theirs}");
    assert_eq!(documents.only(), before);
    // What the recovery says works.
    editor.ok("delete_section", arguments(&error["data"]["hash"]));
    assert_eq!(documents.only(), "# T\n\n## B\n\nb\n");
}

#[test]
fn a_subtree_is_compared_with_the_hash_of_the_subtree() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let a = editor.section("A");
    let below = editor.id("Below");
    editor.ok(
        "update_section",
        json!({ "section_id": below, "content": "changed" }),
    );
    let whole = |hash: &Value| {
        json!({
            "section_id": a["section_id"], "content": "all new", "scope": "subtree",
            "expected_hash": hash,
        })
    };
    let error = editor.assert_refused("update_section", whole(&a["subtree_hash"]), CONFLICT);
    // The own text has not changed, so its hash must not open the door.
    editor.assert_refused("update_section", whole(&a["hash"]), CONFLICT);
    editor.ok("update_section", whole(&error["data"]["hash"]));
    assert_eq!(documents.only(), "# T\n\n## A\n\nall new\n\n## B\n\nb\n");
}

#[test]
fn a_section_that_changed_is_moved_and_renamed_as_it_is_now() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let known = stale(&mut editor);
    let rename = json!({
        "section_id": known["section_id"], "heading": "Z", "expected_hash": known["hash"],
    });
    assert_eq!(editor.ok("rename_section", rename)["merged"], true);
    let moving = json!({
        "section_id": known["section_id"], "new_position": 2,
        "expected_hash": known["subtree_hash"],
    });
    assert_eq!(editor.ok("move_section", moving)["merged"], true);
    assert_eq!(
        documents.only(),
        "# T\n\n## B\n\nb\n\n## Z\n\nONE\ntwo\nthree\nfour\nfive\n\n### Below\n\nbelow\n"
    );
}

#[test]
fn a_passage_is_edited_wherever_the_rest_has_changed() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let known = stale(&mut editor);
    let edit = json!({
        "section_id": known["section_id"], "old_text": "five", "new_text": "FIVE",
        "expected_hash": known["hash"],
    });
    assert_eq!(editor.ok("edit_text", edit)["merged"], true);
    assert_eq!(
        documents.only(),
        TEXT.replace("one", "ONE").replace("five", "FIVE")
    );
}

#[test]
fn a_hash_can_be_made_mandatory() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open_with(
        crate::fixture::Era::Handshake,
        "[editor]\nrequire_hash = true\n",
    );
    let a = editor.section("A");
    let id = &a["section_id"];
    let calls = [
        (
            "update_section",
            json!({ "section_id": id, "content": "x" }),
            "hash",
        ),
        (
            "rename_section",
            json!({ "section_id": id, "heading": "Z" }),
            "hash",
        ),
        (
            "edit_text",
            json!({ "section_id": id, "old_text": "one", "new_text": "1" }),
            "hash",
        ),
        (
            "move_section",
            json!({ "section_id": id, "new_position": 2 }),
            "subtree_hash",
        ),
        (
            "delete_section",
            json!({ "section_id": id }),
            "subtree_hash",
        ),
    ];
    for (tool, arguments, _) in &calls {
        let refusal = (INVALID_PARAMS, "hash_required");
        editor.assert_refused(tool, arguments.clone(), refusal);
        assert_eq!(documents.only(), TEXT, "{tool}");
    }
    for (tool, mut arguments, hash) in calls {
        arguments["expected_hash"] = a[hash].clone();
        editor.ok(tool, arguments);
        editor.ok("undo", json!({}));
        assert_eq!(documents.only(), TEXT, "{tool}");
    }
}

#[test]
fn a_text_is_edited_in_a_whole_document_only_as_that_was_read() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let read = editor.ok("get_document", json!({}))["document_hash"].clone();
    stale(&mut editor);
    let before = documents.only();
    let edit =
        |hash: &Value| json!({ "old_text": "below", "new_text": "x", "expected_hash": hash });
    let refusal = (APPLICATION_ERROR, "stale");
    editor.assert_refused("edit_text", edit(&read), refusal);
    let mut batched = edit(&read);
    batched["operation"] = json!("edit_text");
    editor.assert_refused("apply_edits", json!({ "edits": [batched] }), refusal);
    assert_eq!(documents.only(), before);
    let now = editor.ok("get_document", json!({}))["document_hash"].clone();
    let edit = |old: &str, new: &str| json!({ "operation": "edit_text", "old_text": old, "new_text": new, "expected_hash": now });
    // The second edit cannot know what the first one makes of the document.
    let edits = json!({ "edits": [edit("below", "x"), edit("four", "4")] });
    editor.ok("apply_edits", edits);
    assert_eq!(
        documents.only(),
        before.replace("below", "x").replace("four", "4")
    );
}

#[test]
fn a_text_edit_of_a_whole_document_needs_its_hash_where_hashes_are_required() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open_with(Era::Handshake, "[editor]\nrequire_hash = true\n");
    let edit = json!({ "old_text": "below", "new_text": "x" });
    let refusal = (INVALID_PARAMS, "hash_required");
    let error = editor.assert_refused("edit_text", edit.clone(), refusal);
    let recovery = error["data"]["recovery"].as_str().unwrap();
    assert!(recovery.contains("document_hash"), "{recovery}");
    assert_eq!(documents.only(), TEXT);
    let mut edit = edit;
    edit["expected_hash"] = editor.ok("get_document", json!({}))["document_hash"].clone();
    editor.ok("edit_text", edit);
    assert_eq!(documents.only(), TEXT.replace("below", "x"));
}

#[test]
fn what_is_no_hash_is_refused_as_an_argument() {
    let documents = TestDocuments::folder(&[("a.md", TEXT)]);
    let mut editor = documents.open();
    let known = editor.sections_of("a.md")[1].clone();
    let id = &known["section_id"];
    for hash in [
        "",
        "abc",
        "0123456789a",
        "not a hash at all",
        "zzzzzzzzzzzzzzzz",
    ] {
        for (tool, mut arguments) in [
            (
                "update_section",
                json!({ "section_id": id, "content": "x" }),
            ),
            ("delete_section", json!({ "section_id": id })),
            (
                "move_section",
                json!({ "section_id": id, "new_position": 0 }),
            ),
            (
                "rename_section",
                json!({ "section_id": id, "heading": "x" }),
            ),
            (
                "edit_text",
                json!({ "section_id": id, "old_text": "one", "new_text": "x" }),
            ),
            (
                "edit_text",
                json!({ "path": "a.md", "old_text": "one", "new_text": "x" }),
            ),
            ("delete_document", json!({ "path": "a.md" })),
        ] {
            arguments["expected_hash"] = json!(hash);
            let refusal = (INVALID_PARAMS, "invalid_arguments");
            let error = editor.assert_refused(tool, arguments.clone(), refusal);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("expected_hash"), "{message}");
            arguments["operation"] = json!(tool);
            editor.assert_refused("apply_edits", json!({ "edits": [arguments] }), refusal);
        }
    }
    assert_eq!(documents.text("a.md"), TEXT);
    // Shortened, in capitals, in full.
    let hash = known["hash"].as_str().unwrap();
    for given in [hash[..12].to_owned(), hash.to_uppercase()] {
        let same = "one\ntwo\nthree\nfour\nfive";
        let arguments = json!({ "section_id": id, "content": same, "expected_hash": given });
        assert_eq!(editor.ok("update_section", arguments)["unchanged"], true);
    }
}

#[test]
fn a_deletion_of_what_was_not_seen_is_refused_as_a_deletion() {
    let documents = TestDocuments::single(TEXT);
    let mut editor = documents.open();
    let known = stale(&mut editor);
    let delete = json!({
        "section_id": known["section_id"], "expected_hash": known["subtree_hash"],
    });
    let error = editor.assert_refused("delete_section", delete.clone(), CONFLICT);
    let message = error["message"].as_str().unwrap();
    let recovery = error["data"]["recovery"].as_str().unwrap();
    assert!(!message.contains("overlap"), "{message}");
    assert!(!recovery.contains("ours"), "{recovery}");
    assert!(recovery.contains("data.theirs"), "{recovery}");
    let mut delete = delete;
    delete["expected_hash"] = error["data"]["hash"].clone();
    editor.ok("delete_section", delete);
}
