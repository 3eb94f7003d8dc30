//! Edits that other programs make while a server runs, in place and by renaming: ids stay, the history has them, and
//! nothing of theirs is overwritten.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, SAMPLE};
use crate::fixture::{Editor, TestDocuments};

/// A way in which programs save.
type Save = fn(&TestDocuments, &str, &str);

const WAYS: [(&str, Save); 2] = [
    ("in place", |documents, path, text| {
        documents.overwrite(path, text)
    }),
    ("by renaming", |documents, path, text| {
        documents.replace(path, text)
    }),
];

fn entries(editor: &mut Editor<'_>) -> Vec<Value> {
    let history = editor.ok("history", json!({ "diff": true }));
    history["history"].as_array().unwrap().clone()
}

#[test]
fn ids_stay_and_the_history_says_who_it_was() {
    for (way, save) in WAYS {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let ids = editor.ids();
        let theirs = SAMPLE
            .replace("# Title", "# Another title")
            .replace("Beta body.", "Beta as they want it.")
            .replace("## Gamma", "## New\n\nA new section.\n\n## Gamma");
        save(&documents, "doc.md", &theirs);
        let mut expected = ids.clone();
        let new = editor.ids()[4].clone();
        assert!(!ids.contains(&new), "{way}");
        expected.insert(4, new);
        assert_eq!(editor.ids(), expected, "{way}");
        assert_eq!(editor.ok("get_document", json!({}))["document"], theirs);
        let entries = entries(&mut editor);
        let [entry] = entries.as_slice() else {
            panic!("{way}: {entries:?}")
        };
        assert_eq!(entry["details"]["external"], true, "{way}: {entry}");
        let diff = entry["details"]["diff"].as_str().unwrap();
        assert!(diff.contains("+Beta as they want it.\n"), "{way}: {diff}");
        assert_eq!(documents.only(), theirs, "looking changes nothing");
        editor.leave();
        assert_eq!(documents.open().ids(), expected, "{way}, after a restart");
    }
}

#[test]
fn an_edit_goes_on_top_of_theirs() {
    for (way, save) in WAYS {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let (alpha, beta) = (editor.section("Alpha"), editor.section("Beta"));
        let theirs = SAMPLE.replace("Beta body.", "Theirs.");
        save(&documents, "doc.md", &theirs);
        // Of a section that they left alone, the hash is still right.
        let ours = json!({
            "section_id": alpha["section_id"], "content": "Ours.", "expected_hash": alpha["hash"],
        });
        let answer = editor.ok("update_section", ours);
        assert!(answer.get("merged").is_none(), "{way}: {answer}");
        assert_eq!(
            documents.only(),
            theirs.replace("Alpha body.", "Ours."),
            "{way}"
        );
        let ours = json!({
            "section_id": beta["section_id"], "content": "Ours.", "expected_hash": beta["hash"],
        });
        let error = editor.assert_refused("update_section", ours, (APPLICATION_ERROR, "conflict"));
        assert_eq!(error["data"]["theirs"], "Theirs.", "{way}");
        assert_eq!(error["data"]["base"], "Beta body.", "{way}");
    }
}

#[test]
fn undo_takes_back_ours_and_never_theirs() {
    for (way, save) in WAYS {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let (alpha, beta) = (editor.id("Alpha"), editor.id("Beta"));
        let first = editor.ok(
            "update_section",
            json!({ "section_id": alpha, "content": "1" }),
        );
        let second = editor.ok(
            "update_section",
            json!({ "section_id": beta, "content": "2" }),
        );
        // They write over what we wrote last.
        let theirs = documents.only().replace("\n2\n", "\ntheirs\n");
        save(&documents, "doc.md", &theirs);
        let refusal = (APPLICATION_ERROR, "undo_overlaps");
        editor.assert_refused("undo", json!({}), refusal);
        editor.assert_refused("undo", json!({ "entry": second["entry"] }), refusal);
        assert_eq!(documents.only(), theirs, "{way}");
        editor.ok("undo", json!({ "entry": first["entry"] }));
        assert_eq!(
            documents.only(),
            theirs.replace("\n1\n", "\nAlpha body.\n"),
            "{way}"
        );
    }
}

#[test]
fn what_they_did_while_nobody_looked_is_noticed_at_the_next_start() {
    for (way, save) in WAYS {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let beta = editor.id("Beta");
        editor.ok(
            "update_section",
            json!({ "section_id": beta, "content": "2" }),
        );
        editor.leave();
        let theirs = documents.only().replace("Gamma body.", "Theirs.");
        save(&documents, "doc.md", &theirs);
        let mut editor = documents.open();
        editor.ok("undo", json!({}));
        assert_eq!(
            documents.only(),
            SAMPLE.replace("Gamma body.", "Theirs."),
            "{way}"
        );
        let operations: Vec<Value> = entries(&mut editor)
            .iter()
            .map(|one| one["operation"].clone())
            .collect();
        assert_eq!(
            operations,
            ["undo", "external_edit", "update_section"],
            "{way}"
        );
    }
}

#[test]
fn a_document_that_they_delete_or_move_is_gone_or_moved() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
    let mut editor = documents.open();
    let (ids, b) = (editor.ids_of("a.md"), editor.id_in("b.md", "B"));
    std::fs::rename(documents.location("a.md"), documents.location("moved.md")).unwrap();
    std::fs::remove_file(documents.location("b.md")).unwrap();
    assert_eq!(editor.ids_of("moved.md"), ids, "ids go along");
    let refusal = (APPLICATION_ERROR, "document_not_found");
    for path in ["a.md", "b.md"] {
        editor.assert_refused("list_sections", json!({ "path": path }), refusal);
    }
    let gone = editor.refused("get_section", json!({ "section_id": b }));
    assert_eq!(gone["code"], APPLICATION_ERROR, "{gone}");
    editor.ok(
        "update_section",
        json!({ "section_id": ids[3], "content": "moved" }),
    );
    assert_eq!(
        documents.text("moved.md"),
        SAMPLE.replace("Beta body.", "moved")
    );
}

#[test]
fn a_document_may_become_empty_or_binary_and_come_back() {
    for between in [&b""[..], b"\xff\xfe\x00binary\x00", b"no headings at all\n"] {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let ids = editor.ids();
        documents.overwrite("doc.md", between);
        assert_eq!(editor.ids(), Vec::<String>::new());
        documents.overwrite("doc.md", SAMPLE);
        let again = editor.ids();
        assert_eq!(again.len(), ids.len());
        let refusal = editor.call("get_section", json!({ "section_id": ids[1] }));
        let is_same = again == ids;
        let is_gone = refusal["error"]["data"]["kind"] == "section_deleted";
        assert!(
            is_same != is_gone,
            "an id names its section or none: {refusal}"
        );
    }
}

#[test]
fn an_external_edit_names_the_sections_it_made_and_says_when_it_is_undone() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    editor.ids();
    documents.overwrite("doc.md", format!("{SAMPLE}\n## New\n\nnew\n"));
    let new = editor.id("New");
    let details = |editor: &mut Editor<'_>| {
        let history = editor.ok("history", json!({}));
        let entries = history["history"].as_array().unwrap();
        let external = entries
            .iter()
            .find(|one| one["details"]["external"] == true);
        external.unwrap()["details"].clone()
    };
    let external = details(&mut editor);
    assert_eq!(external["section_ids"], json!([new]));
    assert!(external.get("undone").is_none(), "{external}");
    let of_section = editor.ok("history", json!({ "section_id": new }));
    assert_eq!(of_section["history"].as_array().unwrap().len(), 1);
    let entry = json!({ "entry": external["entry"] });
    for (tool, undone) in [("undo", true), ("redo", false), ("undo", true)] {
        editor.ok(tool, entry.clone());
        let external = details(&mut editor);
        assert_eq!(external["undone"] == true, undone, "{tool}: {external}");
    }
    // A later edit ends what can be redone, but not that it is undone.
    let beta = editor.id("Beta");
    editor.ok(
        "update_section",
        json!({ "section_id": beta, "content": "x" }),
    );
    assert_eq!(details(&mut editor)["undone"], true);
    assert_eq!(
        documents.only(),
        SAMPLE.replace("Beta body.", "x"),
        "and it is"
    );
}
