//! Undo, redo, and what was.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, SAMPLE};
use crate::fixture::{Editor, TestDocuments};

fn update(editor: &mut Editor<'_>, heading: &str, content: &str) -> u64 {
    let id = editor.id(heading);
    let arguments =
        json!({ "section_id": id, "content": content, "reason": format!("for {heading}") });
    editor.ok("update_section", arguments)["entry"]
        .as_u64()
        .unwrap()
}

#[test]
fn undo_and_redo_survive_restarts() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    update(&mut editor, "Alpha", "1");
    let one = documents.only();
    update(&mut editor, "Beta", "2");
    let two = documents.only();
    for (tool, expected) in [
        ("undo", one.as_str()),
        ("undo", SAMPLE),
        ("redo", &one),
        ("redo", &two),
        ("undo", &one),
    ] {
        editor.leave();
        editor = documents.open();
        editor.ok(tool, json!({}));
        assert_eq!(documents.only(), expected, "{tool}");
    }
}

#[test]
fn any_entry_can_be_undone_unless_a_later_one_overlaps() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let alpha = update(&mut editor, "Alpha", "1");
    let beta = update(&mut editor, "Beta", "2");
    let beta_again = update(&mut editor, "Beta", "3");
    let refusal = (APPLICATION_ERROR, "undo_overlaps");
    let error = editor.assert_refused("undo", json!({ "entry": beta }), refusal);
    assert_eq!(error["data"]["entry"], beta_again);
    editor.ok("undo", json!({ "entry": alpha }));
    assert_eq!(documents.only(), SAMPLE.replace("Beta body.", "3"));
    let refusal = (APPLICATION_ERROR, "already_undone");
    editor.assert_refused("undo", json!({ "entry": alpha }), refusal);
    let refusal = (APPLICATION_ERROR, "entry_not_found");
    editor.assert_refused("undo", json!({ "entry": 99 }), refusal);
    editor.ok("redo", json!({ "entry": alpha }));
    let all = SAMPLE
        .replace("Alpha body.", "1")
        .replace("Beta body.", "3");
    assert_eq!(documents.only(), all);
}

#[test]
fn the_history_of_a_section_shows_what_was_done_to_it() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let beta = editor.id("Beta");
    update(&mut editor, "Alpha", "1");
    let first = update(&mut editor, "Beta", "2");
    let renamed = editor.ok(
        "rename_section",
        json!({ "section_id": beta, "heading": "Z" }),
    );
    let history = editor.ok("history", json!({ "section_id": beta, "diff": true }));
    let entries = history["history"].as_array().unwrap();
    let numbers: Vec<&Value> = entries.iter().map(|one| &one["details"]["entry"]).collect();
    assert_eq!(numbers, [&renamed["entry"], &json!(first)]);
    let diffs: Vec<&str> = entries
        .iter()
        .map(|one| one["details"]["diff"].as_str().unwrap())
        .collect();
    assert!(diffs[0].contains("-## Beta\n+## Z\n"), "{}", diffs[0]);
    assert!(diffs[1].contains("-Beta body.\n+2\n"), "{}", diffs[1]);
    let details = &entries[1]["details"];
    assert_eq!(details["reason"], "for Beta");
    assert_eq!(details["actor"], "test 1", "the client's name and version");
    assert_eq!(details["section_ids"], json!([beta]));
    assert_eq!(
        (&history["can_undo"], &history["can_redo"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn a_long_history_comes_in_parts() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    for number in 0..7 {
        update(&mut editor, "Beta", &number.to_string());
    }
    let mut seen = Vec::new();
    let mut arguments = json!({ "limit": 3 });
    loop {
        let part = editor.ok("history", arguments.clone());
        let entries = part["history"].as_array().unwrap();
        assert!(entries.len() <= 3);
        seen.extend(
            entries
                .iter()
                .map(|one| one["details"]["entry"].as_u64().unwrap()),
        );
        match part.get("next_before") {
            Some(next) => arguments["before"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn every_revision_can_be_read_again() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let mut texts = vec![SAMPLE.to_owned()];
    for content in ["1", "2", "3"] {
        update(&mut editor, "Gamma", content);
        texts.push(documents.only());
    }
    editor.ok("undo", json!({}));
    texts.push(documents.only());
    editor.leave();
    let mut editor = documents.open();
    for (entry, text) in texts.iter().enumerate() {
        let revision = editor.ok("get_revision", json!({ "entry": entry }));
        assert_eq!(revision["document"], **text, "{entry}");
        assert_eq!(revision["total_bytes"], text.len());
    }
    let refusal = (APPLICATION_ERROR, "entry_not_found");
    editor.assert_refused("get_revision", json!({ "entry": 99 }), refusal);
}

#[test]
fn revisions_and_hashes_tell_states_apart() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let before = editor.ok("list_sections", json!({}));
    let entry = update(&mut editor, "Beta", "2");
    let after = editor.ok("list_sections", json!({}));
    assert_eq!(after["revision"], entry);
    assert_ne!(after["document_hash"], before["document_hash"]);
    for (old, new) in before["sections"]
        .as_array()
        .unwrap()
        .iter()
        .zip(after["sections"].as_array().unwrap())
    {
        let heading = old["heading"].as_str().unwrap();
        assert_eq!(old["hash"] == new["hash"], heading != "Beta", "{heading}");
        let holds_beta = ["Title", "Beta"].contains(&heading);
        assert_eq!(
            old["subtree_hash"] == new["subtree_hash"],
            !holds_beta,
            "{heading}"
        );
    }
}

/// The numbers of the entries that a history lists.
fn numbers(history: &Value) -> Vec<u64> {
    let entries = history["history"].as_array().unwrap();
    let number = |one: &Value| one["details"]["entry"].as_u64().unwrap();
    entries.iter().map(number).collect()
}

#[test]
fn the_past_of_a_deleted_document_is_found_by_its_path_and_by_its_sections() {
    for restarts in [false, true] {
        let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
        let mut editor = documents.open();
        let beta = editor.id_in("a.md", "Beta");
        let write = json!({ "section_id": beta, "content": "x" });
        let first = editor.ok("update_section", write)["entry"].clone();
        let text = documents.text("a.md");
        let gone = editor.ok("delete_document", json!({ "path": "a.md" }))["entry"].clone();
        if restarts {
            editor.leave();
            editor = documents.open();
        }
        let expected: Vec<u64> = [&gone, &first]
            .iter()
            .map(|entry| entry.as_u64().unwrap())
            .collect();
        for arguments in [
            json!({ "path": "a.md", "diff": true }),
            json!({ "section_id": beta, "diff": true }),
            json!({ "path": "a.md", "section_id": beta, "diff": true }),
        ] {
            let history = editor.ok("history", arguments.clone());
            assert_eq!(numbers(&history), expected, "{arguments}");
            assert_eq!(history["path"], "a.md");
            assert_eq!(history["can_undo"], true, "{arguments}");
            let diff = history["history"][0]["details"]["diff"].as_str().unwrap();
            assert!(diff.contains("-# Title\n"), "{diff}");
        }
        let revision = editor.ok("get_revision", json!({ "path": "a.md", "entry": first }));
        assert_eq!(revision["document"], text);
        let revision = editor.ok("get_revision", json!({ "path": "a.md", "entry": gone }));
        assert!(revision.get("document").is_none(), "{revision}");
        assert_eq!(revision["path"], "a.md");
        let refusal = (APPLICATION_ERROR, "document_not_found");
        for tool in ["history", "undo"] {
            editor.assert_refused(tool, json!({ "path": "c.md" }), refusal);
        }
        editor.ok("undo", json!({ "path": "a.md" }));
        assert_eq!(documents.text("a.md"), text);
        assert_eq!(editor.id_in("a.md", "Beta"), beta);
    }
}

#[test]
fn a_document_at_the_path_of_a_deleted_one_has_a_past_of_its_own() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE)]);
    let mut editor = documents.open();
    let beta = editor.id_in("a.md", "Beta");
    let gone = editor.ok("delete_document", json!({ "path": "a.md" }))["entry"].clone();
    let new = json!({ "path": "a.md", "content": "# New\n" });
    let made = editor.ok("create_document", new)["entry"].clone();
    let history = editor.ok("history", json!({ "path": "a.md" }));
    assert_eq!(json!(numbers(&history)), json!([made]));
    let history = editor.ok("history", json!({ "section_id": beta }));
    assert_eq!(json!(numbers(&history)), json!([gone]));
    // The one that was there last.
    editor.ok("undo", json!({ "path": "a.md" }));
    assert!(!documents.location("a.md").exists());
    let history = editor.ok("history", json!({ "path": "a.md" }));
    assert_eq!(numbers(&history).last().copied(), made.as_u64());
    editor.ok("redo", json!({ "path": "a.md" }));
    assert_eq!(documents.text("a.md"), "# New\n");
}

#[test]
fn the_history_of_a_deleted_section_needs_no_path() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE)]);
    let mut editor = documents.open();
    let beta = editor.id_in("a.md", "Beta");
    let gone = editor.ok("delete_section", json!({ "section_id": beta }))["entry"].clone();
    let history = editor.ok("history", json!({ "section_id": beta }));
    assert_eq!(json!(numbers(&history)), json!([gone]));
}

#[test]
fn undo_of_an_entry_over_several_documents_names_the_one_that_was_asked_for() {
    let documents = TestDocuments::folder(&[("a.md", "# A\n\na\n"), ("b.md", "# B\n\nb\n")]);
    let mut editor = documents.open();
    let (a, b) = (editor.id_in("a.md", "A"), editor.id_in("b.md", "B"));
    let edit =
        |id: &str| json!({ "operation": "update_section", "section_id": id, "content": "x" });
    editor.ok("apply_edits", json!({ "edits": [edit(&a), edit(&b)] }));
    for (tool, path, id) in [
        ("undo", "b.md", &b),
        ("redo", "a.md", &a),
        ("undo", "a.md", &a),
        ("redo", "b.md", &b),
    ] {
        let request = json!({ "path": path, "request_id": format!("{tool} {path}") });
        for replayed in [false, true] {
            let answer = editor.ok(tool, request.clone());
            let told = (&answer["path"], &answer["section_id"]);
            assert_eq!(told, (&json!(path), &json!(id)), "{tool}: {answer}");
            assert_eq!(answer["replayed"] == true, replayed, "{tool}: {answer}");
            assert_eq!(answer["documents"].as_array().unwrap().len(), 2);
        }
    }
}

#[test]
fn a_history_resource_that_is_cut_says_so() {
    let documents = TestDocuments::single("# A\n\na\n");
    let mut editor = documents.open();
    let id = editor.id("A");
    for number in 1..=201 {
        let write = json!({ "section_id": id, "content": number.to_string() });
        editor.ok("update_section", write);
        if number < 200 {
            continue;
        }
        let resource = editor.resource("sectile://editor/history");
        assert_eq!(resource["history"].as_array().unwrap().len(), 200);
        match number {
            200 => assert!(resource.get("next_before").is_none(), "all are there"),
            _ => assert_eq!(resource["next_before"], 2),
        }
    }
    let rest = editor.ok("history", json!({ "before": 2 }));
    assert_eq!(numbers(&rest), [1]);
}
