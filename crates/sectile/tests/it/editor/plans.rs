//! Dry runs, plans, and requests that are made twice.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Era, TestDocuments};

/// Every write, on a folder with `a.md`.
fn writes(alpha: &str) -> Vec<(&'static str, Value)> {
    vec![
        (
            "insert_section",
            json!({ "path": "a.md", "heading": "N", "content": "n", "position": 0 }),
        ),
        (
            "update_section",
            json!({ "section_id": alpha, "content": "x" }),
        ),
        ("delete_section", json!({ "section_id": alpha })),
        (
            "move_section",
            json!({ "section_id": alpha, "new_position": 3 }),
        ),
        (
            "rename_section",
            json!({ "section_id": alpha, "heading": "Z" }),
        ),
        (
            "edit_text",
            json!({ "path": "a.md", "old_text": "Beta body", "new_text": "B" }),
        ),
        (
            "set_front_matter",
            json!({ "path": "a.md", "key": "k", "value": "v" }),
        ),
        (
            "apply_edits",
            json!({ "edits": [
                { "operation": "update_section", "section_id": alpha, "content": "x" },
                { "operation": "create_document", "path": "new/deep/n.md", "content": "# N\n" },
            ] }),
        ),
        (
            "create_document",
            json!({ "path": "other/deep/c.md", "content": "# C\n" }),
        ),
        (
            "rename_document",
            json!({ "path": "a.md", "new_path": "third/deep/z.md" }),
        ),
        ("delete_document", json!({ "path": "a.md" })),
        ("undo", json!({ "path": "b.md" })),
    ]
}

#[test]
fn a_dry_run_of_any_write_shows_it_and_leaves_no_trace() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
    let mut editor = documents.open();
    let (alpha, b) = (editor.id_in("a.md", "Alpha"), editor.id_in("b.md", "B"));
    editor.ok("update_section", json!({ "section_id": b, "content": "2" }));
    let files = || -> Vec<_> {
        let all = documents.vault().contents();
        let is_ours =
            |path: &std::path::Path| path.components().any(|part| part.as_os_str() == ".sectile");
        all.into_iter().filter(|(path, _)| !is_ours(path)).collect()
    };
    let folders = || std::fs::read_dir(documents.vault().root()).unwrap().count();
    let (files_before, folders_before) = (files(), folders());
    for (tool, mut arguments) in writes(&alpha) {
        arguments["dry_run"] = json!(true);
        let answer = editor.ok(tool, arguments);
        assert!(answer.get("entry").is_none(), "{tool}: {answer}");
        let changed = answer["documents"].as_array().unwrap();
        assert!(!changed.is_empty(), "{tool}: {answer}");
        assert_eq!(files(), files_before, "{tool}");
        assert_eq!(folders(), folders_before, "{tool} leaves a folder behind");
    }
    let history = editor.ok("history", json!({ "path": "a.md" }));
    assert_eq!(history["history"], json!([]));
}

#[test]
fn a_plan_is_applied_exactly_as_shown() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let beta = editor.id("Beta");
    let dry_run = json!({ "section_id": beta, "content": "Planned.", "dry_run": true });
    let shown = editor.ok("update_section", dry_run);
    assert!(shown["message"].as_str().unwrap().starts_with("Dry run"));
    assert_eq!(documents.only(), SAMPLE);
    let plan = json!({ "plan": shown["plan"] });
    let applied = editor.ok("apply_plan", plan.clone());
    assert_eq!(documents.only(), SAMPLE.replace("Beta body.", "Planned."));
    let of = |answer: &Value| answer["documents"][0].clone();
    assert_eq!(of(&applied)["diff"], of(&shown)["diff"]);
    assert_eq!(of(&applied)["document_hash"], of(&shown)["document_hash"]);
    // Once.
    let refusal = (APPLICATION_ERROR, "plan_unknown");
    editor.assert_refused("apply_plan", plan, refusal);
    editor.assert_refused("apply_plan", json!({ "plan": "nope" }), refusal);
    editor.ok("undo", json!({}));
    assert_eq!(documents.only(), SAMPLE);
}

#[test]
fn a_plan_for_a_document_that_changed_is_refused() {
    for by_another_program in [false, true] {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let (alpha, beta) = (editor.id("Alpha"), editor.id("Beta"));
        let dry_run = json!({ "section_id": beta, "content": "Planned.", "dry_run": true });
        let plan = editor.ok("update_section", dry_run)["plan"].clone();
        let changed = SAMPLE.replace("Alpha body.", "Changed.");
        if by_another_program {
            documents.overwrite("doc.md", &changed);
        } else {
            editor.ok(
                "update_section",
                json!({ "section_id": alpha, "content": "Changed." }),
            );
        }
        let refusal = (APPLICATION_ERROR, "stale");
        editor.assert_refused("apply_plan", json!({ "plan": plan }), refusal);
        assert_eq!(documents.only(), changed);
    }
}

#[test]
fn a_request_with_the_same_name_is_done_once_also_after_a_restart() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let request = json!({ "heading": "N", "content": "n", "position": 5, "request_id": "r-1" });
    let first = editor.ok("insert_section", request.clone());
    let once = documents.only();
    for restarts in [false, true] {
        if restarts {
            editor.leave();
            editor = documents.open_with(Era::Stateless, "");
        }
        let again = editor.ok("insert_section", request.clone());
        assert_eq!(again["replayed"], true);
        for field in ["section_id", "entry", "message", "path"] {
            assert_eq!(again[field], first[field], "{field}");
        }
        assert_eq!(documents.only(), once);
    }
    let mut other = request.clone();
    other["content"] = json!("another");
    let refusal = (INVALID_PARAMS, "request_id_reused");
    editor.assert_refused("insert_section", other, refusal);
    let other_tool = json!({ "key": "k", "value": 1, "request_id": "r-1" });
    editor.assert_refused("set_front_matter", other_tool, refusal);
    assert_eq!(documents.only(), once);
}

#[test]
fn a_retry_while_the_first_is_still_running_is_not_done_twice() {
    for _ in 0..5 {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        editor.ids();
        let request = json!({ "heading": "N", "content": "n", "position": 5, "request_id": "r-1" });
        let params = json!({ "name": "insert_section", "arguments": request });
        let sent: Vec<u64> = (0..4)
            .map(|_| editor.send("tools/call", params.clone()))
            .collect();
        let entries: Vec<Value> = sent
            .into_iter()
            .map(|id| editor.answer(id)["result"]["structuredContent"]["entry"].clone())
            .collect();
        assert_eq!(entries, vec![json!(1); 4]);
        assert_eq!(documents.only(), format!("{SAMPLE}\n## N\n\nn\n"));
    }
}

#[test]
fn undo_knows_a_retry_too() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    for content in ["1", "2"] {
        let beta = editor.id("Beta");
        editor.ok(
            "update_section",
            json!({ "section_id": beta, "content": content }),
        );
    }
    for _ in 0..2 {
        editor.ok("undo", json!({ "request_id": "u-1" }));
        assert_eq!(documents.only(), SAMPLE.replace("Beta body.", "1"));
    }
}

#[test]
fn a_dry_run_speaks_of_a_plan_only_where_it_gives_one() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
    let mut editor = documents.open();
    let (alpha, b) = (editor.id_in("a.md", "Alpha"), editor.id_in("b.md", "B"));
    editor.ok("update_section", json!({ "section_id": b, "content": "2" }));
    let mut check = |tool: &str, mut arguments: Value| {
        arguments["dry_run"] = json!(true);
        let answer = editor.ok(tool, arguments);
        let message = answer["message"].as_str().unwrap();
        assert!(message.starts_with("Dry run"), "{tool}: {message}");
        let has_plan = answer["plan"].is_string();
        assert_eq!(message.contains("plan"), has_plan, "{tool}: {answer}");
        has_plan
    };
    for (tool, arguments) in writes(&alpha) {
        assert_eq!(check(tool, arguments), tool != "undo", "{tool}");
    }
    editor.ok("undo", json!({ "path": "b.md" }));
    let answer = editor.ok("redo", json!({ "path": "b.md", "dry_run": true }));
    assert!(
        !answer["message"].as_str().unwrap().contains("plan"),
        "{answer}"
    );
}
