//! What other editors got wrong, and what is right here: the documents and calls are those of
//! `test_data/editor_pitfalls.json`, what must come out is stated below.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Editor, TestDocuments};

/// Vectors that are not run here.
const SKIPPED: [(&str, &str); 1] = [(
    "concurrent_updates",
    "needs processes: `processes::no_update_of_sixteen_servers_is_lost`",
)];

/// What must become of the document.
enum Right {
    Becomes(String),
    Refused(i64, &'static str),
}

/// The calls to make instead of prose, or of calls that were never right.
enum Calls {
    /// As recorded. Sections are named by slug there.
    AsRecorded,
    /// These. `$Heading` is the id of that section, `$Heading.hash` its hash.
    Ours(Vec<(&'static str, Value)>),
}

struct Case {
    id: &'static str,
    calls: Calls,
    right: Right,
}

fn case(id: &'static str, calls: Calls, right: Right) -> Case {
    Case { id, calls, right }
}

fn becomes(text: impl Into<String>) -> Right {
    Right::Becomes(text.into())
}

/// Cases with the calls as recorded.
fn recorded() -> Vec<Case> {
    let sample = |from: &str, to: &str| becomes(SAMPLE.replace(from, to));
    let gamma_first = || {
        becomes(format!(
            "# Gamma\n\nGamma body.\n\n{}",
            SAMPLE.replace("\n## Gamma\n\nGamma body.\n", "")
        ))
    };
    [
        (
            "insert_pos_0",
            becomes(format!("# New\n\nNew body.\n\n{SAMPLE}")),
        ),
        (
            "insert_pos_2",
            sample("### Alpha child", "### New\n\nNew body.\n\n### Alpha child"),
        ),
        ("insert_empty_doc", becomes("# New\n\nx\n")),
        (
            "insert_heading_injection",
            Right::Refused(INVALID_PARAMS, "invalid_heading"),
        ),
        ("delete_last", sample("\n## Gamma\n\nGamma body.\n", "")),
        ("delete_first_h1_multi_h1", becomes("# Two\n\ntwo\n")),
        (
            "delete_by_dup_heading",
            Right::Refused(APPLICATION_ERROR, "ambiguous"),
        ),
        ("update_leaf", sample("Beta body.", "New beta.")),
        (
            "update_h1_wipes_document",
            sample("Intro text.", "New intro."),
        ),
        (
            "update_injects_sibling",
            Right::Refused(APPLICATION_ERROR, "boundary_escape"),
        ),
        ("move_noop", gamma_first()),
        (
            "setext_update",
            becomes("Title\n=====\n\nBody\n\nSub\n---\n\nchanged\n"),
        ),
        (
            "frontmatter_insert0",
            becomes("---\ntitle: Hello\ntags: [a]\n---\n\n# New\n\nn\n\n# Real\n\nbody\n"),
        ),
        (
            "crlf",
            becomes("# T\r\n\r\n## A\r\n\r\na\r\n\r\n## B\r\n\r\nnew\r\n"),
        ),
        ("latin1", Right::Refused(APPLICATION_ERROR, "encoding")),
        (
            "duplicate_id_shift_after_delete",
            becomes("# G\n\n## A\n\n2\n\n## A\n\n3\n"),
        ),
        (
            "strict_jump_after_edit",
            Right::Refused(INVALID_PARAMS, "invalid_arguments"),
        ),
        ("backup_single", sample("Beta body.", "two")),
        (
            "legacy_ids_shift",
            sample("### Alpha child", "### New\n\nx\n\n### Alpha child"),
        ),
    ]
    .into_iter()
    .map(|(id, right)| case(id, Calls::AsRecorded, right))
    .chain([case(
        "legacy_move",
        Calls::Ours(vec![(
            "move_section",
            json!({ "section_id": "$Gamma", "new_position": 0 }),
        )]),
        gamma_first(),
    )])
    .collect()
}

fn one(id: &'static str, call: (&'static str, Value), right: &str) -> Case {
    case(id, Calls::Ours(vec![call]), becomes(right))
}

/// Cases whose calls are told in prose.
fn told() -> Vec<Case> {
    let update = |section: &str, content: &str| {
        let arguments = json!({ "section_id": section, "content": content });
        ("update_section", arguments)
    };
    let stale = "# T\n\n## A\n\na\n\n### A1\n\na1\n\n## N\n\nn\nn\nn\n\n## B\n\nSTALE\n";
    vec![
        case(
            "legacy_redo",
            Calls::Ours(vec![
                update("$Beta", "Again."),
                ("undo", json!({})),
                ("redo", json!({})),
            ]),
            becomes(SAMPLE.replace("Beta body.", "Again.")),
        ),
        case(
            "lib_stale_reference",
            Calls::Ours(vec![
                (
                    "insert_section",
                    json!({ "heading": "N", "content": "n\nn\nn", "place": "after", "anchor": "$A" }),
                ),
                (
                    "update_section",
                    json!({ "section_id": "$B", "content": "STALE", "expected_hash": "$B.hash" }),
                ),
            ]),
            becomes(stale),
        ),
        one(
            "lib_change_level_setext",
            (
                "rename_section",
                json!({ "section_id": "$Title", "heading": "Title", "level": 2 }),
            ),
            "Title\n-----\n\nx\n",
        ),
        one(
            "lib_preview_delete",
            ("delete_section", json!({ "section_id": "$A" })),
            "# T\n\n## B\n\nb\n",
        ),
        one(
            "mp_replace_parent",
            update("$Alpha", "New alpha.\n"),
            &SAMPLE.replace("Alpha body.", "New alpha."),
        ),
        one(
            "mp_leaf_only_create",
            update("$Beta", "X\n"),
            &SAMPLE.replace("Beta body.", "X"),
        ),
        one(
            "mp_crlf",
            update("$A", "X\n"),
            "# T\r\n\r\n## A\r\n\r\nX\r\n\r\n## B\r\n\r\nb\r\n",
        ),
        one("mp_bom", update("$A", "X"), "\u{feff}# T\n\n## A\n\nX\n"),
        one(
            "bm_replace_nolevel",
            update("$Alpha child", "X"),
            &SAMPLE.replace("Child body.", "X"),
        ),
        one(
            "bm_setext",
            update("$Sub", "X"),
            "Title\n=====\n\nBody\n\nSub\n---\n\nX\n",
        ),
    ]
}

/// Cases about a passage, told in prose.
fn told_of_passages() -> Vec<Case> {
    let edit_text =
        |old: &str, new: &str| ("edit_text", json!({ "old_text": old, "new_text": new }));
    let words = iwe_document().replace("Target para.", "Changed.");
    vec![
        one(
            "fs_crlf",
            edit_text("one", "X"),
            "# A\r\n\r\nX\r\n\r\ntwo\r\n",
        ),
        one(
            "iwe_one_word_edit",
            edit_text("Target para.", "Changed."),
            &words,
        ),
        one(
            "iwe_crlf",
            (
                "edit_text",
                json!({ "section_id": "$A", "old_text": "a", "new_text": "X" }),
            ),
            "# T\r\n\r\n## A\r\n\r\nX\r\n\r\n## B\r\n\r\nb\r\n",
        ),
        one(
            "te_crlf",
            (
                "edit_text",
                json!({
                    "section_id": "$A", "expected_hash": "$A.hash", "old_text": "one", "new_text": "X",
                }),
            ),
            "# A\r\n\r\nX\r\n\r\ntwo\r\n",
        ),
    ]
}

fn cases() -> Vec<Case> {
    [recorded(), told(), told_of_passages()]
        .into_iter()
        .flatten()
        .collect()
}

fn vectors() -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_data/editor_pitfalls.json");
    let all: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    all["vectors"].as_array().unwrap().clone()
}

fn vector(id: &str) -> Value {
    let found = vectors().into_iter().find(|vector| vector["id"] == id);
    found.unwrap_or_else(|| panic!("no vector {id}"))
}

fn iwe_document() -> String {
    vector("iwe_one_word_edit")["document"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn document(vector: &Value) -> Vec<u8> {
    if let Some(text) = vector["document"].as_str() {
        return text.as_bytes().to_vec();
    }
    let digits = vector["document_hex"].as_str().unwrap();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The calls of a vector, in the words of the contract. Sections are named by slug there.
fn recorded_calls(vector: &Value) -> Vec<(String, Value)> {
    let steps = vector["steps"].as_array().unwrap();
    let call = |step: &Value| {
        let tool = step["call"].as_str().unwrap().to_owned();
        let mut arguments = step["args"].clone();
        let fields = arguments.as_object_mut().unwrap();
        if let Some(position) = fields.remove("target_position") {
            fields.insert("new_position".to_owned(), position);
        }
        (tool, arguments)
    };
    steps.iter().map(call).collect()
}

/// Arguments with the ids and hashes of sections as they were at first.
fn filled(mut arguments: Value, sections: &[Value]) -> Value {
    let by_heading = |name: &str| {
        let (heading, field) = name.split_once('.').unwrap_or((name, "section_id"));
        let found = sections.iter().find(|one| one["heading"] == heading);
        found.unwrap_or_else(|| panic!("no section {heading}"))[field].clone()
    };
    let by_slug = |slug: &str| {
        let is_it = |one: &&Value| {
            let id = one["section_id"].as_str().unwrap();
            id.rsplit_once('-').is_some_and(|(known, _)| known == slug)
        };
        sections
            .iter()
            .find(is_it)
            .map(|one| one["section_id"].clone())
    };
    for (name, value) in arguments.as_object_mut().unwrap() {
        let Some(text) = value.as_str().map(str::to_owned) else {
            continue;
        };
        if let Some(named) = text.strip_prefix('$') {
            *value = by_heading(named);
        } else if name == "section_id" {
            *value = by_slug(&text).unwrap_or_else(|| panic!("no section {text}"));
        }
    }
    arguments
}

fn run(case: &Case, editor: &mut Editor<'_>) {
    let at_first = editor.sections();
    let calls: Vec<(String, Value)> = match &case.calls {
        Calls::AsRecorded => recorded_calls(&vector(case.id)),
        Calls::Ours(calls) => calls
            .iter()
            .map(|(tool, arguments)| ((*tool).to_owned(), arguments.clone()))
            .collect(),
    };
    for (tool, arguments) in calls {
        let arguments = filled(arguments, &at_first);
        match &case.right {
            Right::Refused(code, kind) if tool != "list_sections" => {
                let error = editor.refused(&tool, arguments);
                assert_eq!(error["code"], *code, "{}: {error}", case.id);
                assert_eq!(error["data"]["kind"], *kind, "{}: {error}", case.id);
            }
            _ => drop(editor.ok(&tool, arguments)),
        }
    }
}

#[test]
fn what_other_editors_got_wrong_is_right_here() {
    for case in cases() {
        let before = document(&vector(case.id));
        let documents = TestDocuments::single(&before);
        let mut editor = documents.open();
        run(&case, &mut editor);
        let after = documents.bytes("doc.md");
        match &case.right {
            Right::Becomes(text) => {
                assert_eq!(String::from_utf8_lossy(&after), *text, "{}", case.id)
            }
            Right::Refused(..) => assert_eq!(after, before, "{}", case.id),
        }
        assert_nothing_lies_around(&documents, case.id);
    }
}

/// Other editors leave backups beside the document.
fn assert_nothing_lies_around(documents: &TestDocuments, case: &str) {
    let beside: BTreeSet<String> = fs::read_dir(documents.vault().root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = [".sectile", "doc.md"].map(str::to_owned);
    assert_eq!(beside, BTreeSet::from(expected), "{case}");
}

#[test]
fn every_vector_is_run_or_skipped_for_a_reason() {
    let all: BTreeSet<String> = vectors()
        .iter()
        .map(|vector| vector["id"].as_str().unwrap().to_owned())
        .collect();
    let mut known: BTreeSet<String> = SKIPPED.iter().map(|(id, _)| (*id).to_owned()).collect();
    for case in cases() {
        assert!(known.insert(case.id.to_owned()), "{} twice", case.id);
    }
    assert_eq!(known, all);
}

#[test]
fn ids_never_come_to_name_another_section() {
    for (id, gone) in [
        ("duplicate_id_shift_after_delete", Some(1)),
        ("legacy_ids_shift", None),
    ] {
        let documents = TestDocuments::single(document(&vector(id)));
        let mut editor = documents.open();
        let before = editor.ids();
        let cases = recorded();
        run(
            cases.iter().find(|case| case.id == id).unwrap(),
            &mut editor,
        );
        let after = editor.ids();
        for (at, section) in before.iter().enumerate() {
            assert_eq!(after.contains(section), gone != Some(at), "{id}, {section}");
        }
        if let Some(gone) = gone {
            let arguments = json!({ "section_id": before[gone] });
            let refusal = (APPLICATION_ERROR, "section_deleted");
            editor.assert_refused("get_section", arguments, refusal);
        }
    }
}

#[test]
fn a_preview_shows_what_will_be_and_writes_nothing() {
    let text = document(&vector("lib_preview_delete"));
    for (tool, arguments, line) in [
        ("delete_section", json!({}), "-### A1\n"),
        ("move_section", json!({ "new_position": 0 }), "+# A\n"),
        (
            "rename_section",
            json!({ "heading": "A", "level": 3 }),
            "+### A\n",
        ),
    ] {
        let documents = TestDocuments::single(&text);
        let mut editor = documents.open();
        let mut arguments = arguments;
        arguments["section_id"] = json!(editor.id("A"));
        arguments["dry_run"] = json!(true);
        let answer = editor.ok(tool, arguments);
        let diff = answer["documents"][0]["diff"].as_str().unwrap();
        assert!(diff.contains(line), "{tool}: {diff}");
        assert_eq!(documents.bytes("doc.md"), text, "{tool}");
    }
}

#[test]
fn a_deeper_heading_in_a_text_makes_a_subsection() {
    let documents = TestDocuments::single(document(&vector("strict_jump_after_edit")));
    let mut editor = documents.open();
    let a = editor.id("A");
    let content = "x\n\n##### Deep\n\ny";
    editor.ok(
        "update_section",
        json!({ "section_id": a, "content": content }),
    );
    assert_eq!(documents.only(), "# T\n\n## A\n\nx\n\n##### Deep\n\ny\n");
    assert_eq!(editor.section("Deep")["parent_id"], a);
}

#[test]
fn a_missing_section_is_never_made_by_an_update() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let mut edit = json!({ "section_id": "betta", "content": "X" });
    let refusal = (APPLICATION_ERROR, "section_not_found");
    editor.assert_refused("update_section", edit.clone(), refusal);
    edit["operation"] = json!("update_section");
    editor.assert_refused("apply_edits", json!({ "edits": [edit] }), refusal);
    assert_eq!(documents.only(), SAMPLE);
}

#[test]
fn earlier_texts_are_all_kept_not_only_the_last() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    run(
        recorded()
            .iter()
            .find(|case| case.id == "backup_single")
            .unwrap(),
        &mut editor,
    );
    editor.ok("undo", json!({}));
    assert_eq!(documents.only(), SAMPLE.replace("Beta body.", "one"));
    editor.ok("undo", json!({}));
    assert_eq!(documents.only(), SAMPLE);
}
