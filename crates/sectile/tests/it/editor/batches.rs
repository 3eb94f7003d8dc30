//! Several edits at once: all or nothing, as one step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Editor, TestDocuments};

const B: &str = "# B\n\nb text\n";

fn two_documents() -> TestDocuments {
    TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", B)])
}

/// Edits of both documents; later ones name by label what an earlier one makes.
fn edits(editor: &mut Editor<'_>) -> Vec<Value> {
    let beta = editor.id_in("a.md", "Beta");
    vec![
        json!({
            "operation": "insert_section", "path": "a.md", "heading": "L", "content": "l",
            "position": 0, "label": "new",
        }),
        json!({
            "operation": "insert_section", "heading": "L2", "content": "l2",
            "place": "first_child", "anchor": "@new",
        }),
        json!({ "operation": "update_section", "section_id": "@new", "content": "l again" }),
        json!({ "operation": "edit_text", "path": "b.md", "old_text": "text", "new_text": "words" }),
        json!({
            "operation": "move_section", "section_id": beta, "to_path": "b.md", "new_position": 1,
        }),
        json!({ "operation": "set_front_matter", "path": "b.md", "key": "k", "value": 1 }),
    ]
}

#[test]
fn edits_of_two_documents_are_one_step() {
    let documents = two_documents();
    let mut editor = documents.open();
    let beta = editor.id_in("a.md", "Beta");
    let edits = edits(&mut editor);
    let answer = editor.ok("apply_edits", json!({ "edits": edits }));
    let a = format!(
        "# L\n\nl again\n\n## L2\n\nl2\n\n{}",
        SAMPLE.replace("## Beta\n\nBeta body.\n\n", "")
    );
    assert_eq!(documents.text("a.md"), a);
    assert_eq!(
        documents.text("b.md"),
        "---\nk: 1\n---\n\n# B\n\nb words\n\n# Beta\n\nBeta body.\n"
    );
    let done = answer["edits"].as_array().unwrap();
    assert_eq!(done.len(), 6);
    assert_eq!(done[0]["section_id"], done[2]["section_id"]);
    assert_eq!(done[4]["section_id"], beta, "an id goes along");
    assert_eq!(editor.id_in("b.md", "Beta"), beta);
    assert_eq!(answer["documents"].as_array().unwrap().len(), 2);
    for path in ["a.md", "b.md"] {
        let history = editor.ok("history", json!({ "path": path }));
        let entries = history["history"].as_array().unwrap();
        assert_eq!(entries.len(), 1, "{path}");
        assert_eq!(entries[0]["details"]["entry"], answer["entry"], "{path}");
    }
    // One undo, from either, takes back both, also after a restart.
    editor.leave();
    let mut editor = documents.open();
    editor.ok("undo", json!({ "path": "b.md" }));
    assert_eq!(documents.text("a.md"), SAMPLE);
    assert_eq!(documents.text("b.md"), B);
    editor.ok("redo", json!({ "path": "a.md" }));
    assert_eq!(documents.text("a.md"), a);
}

#[test]
fn one_edit_that_fails_undoes_all_before_it() {
    let documents = two_documents();
    let mut editor = documents.open();
    let ids = editor.ids_of("a.md");
    let good = edits(&mut editor);
    for (bad, code, kind) in [
        (
            json!({ "operation": "edit_text", "path": "b.md", "old_text": "no such", "new_text": "x" }),
            APPLICATION_ERROR,
            "text_not_unique",
        ),
        (
            json!({ "operation": "update_section", "section_id": "@other", "content": "x" }),
            APPLICATION_ERROR,
            "section_not_found",
        ),
        (
            json!({ "operation": "update_section", "section_id": "@new" }),
            INVALID_PARAMS,
            "invalid_arguments",
        ),
        (
            json!({ "operation": "create_document", "path": "b.md", "content": "" }),
            APPLICATION_ERROR,
            "document_exists",
        ),
        (
            json!({ "operation": "create_document", "path": "../out.md", "content": "" }),
            INVALID_PARAMS,
            "outside_root",
        ),
        (
            json!({ "operation": "explode" }),
            INVALID_PARAMS,
            "invalid_arguments",
        ),
        (
            json!({ "operation": "edit_text", "old_text": "a", "new_text": "b", "extra": 1 }),
            INVALID_PARAMS,
            "invalid_arguments",
        ),
    ] {
        let mut all = good.clone();
        let in_a_new_folder =
            json!({ "operation": "create_document", "path": "new/n.md", "content": "" });
        all.push(in_a_new_folder);
        all.push(bad.clone());
        let error = editor.refused("apply_edits", json!({ "edits": all }));
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(code), &json!(kind)),
            "{bad}"
        );
        assert_eq!(documents.text("a.md"), SAMPLE, "{bad}");
        assert_eq!(documents.text("b.md"), B, "{bad}");
        assert!(!documents.location("new").exists(), "{bad} leaves a folder");
    }
    assert_eq!(editor.ids_of("a.md"), ids);
    let nothing = json!({ "edits": [] });
    editor.assert_refused(
        "apply_edits",
        nothing,
        (INVALID_PARAMS, "invalid_arguments"),
    );
}

/// What of a call is no part of an edit.
const OF_THE_CALL: [&str; 4] = ["confirm", "dry_run", "reason", "request_id"];

/// The forms of an edit, by their operation.
fn forms(editor: &mut Editor<'_>) -> (Vec<Value>, BTreeMap<String, Value>) {
    let listing = editor.ask("tools/list", json!({}));
    let tools = listing["result"]["tools"].as_array().unwrap().clone();
    let batch = tools.iter().find(|tool| tool["name"] == "apply_edits");
    let schema = &batch.unwrap()["inputSchema"];
    let items = schema["properties"]["edits"]["items"]["$ref"]
        .as_str()
        .unwrap();
    let forms = schema.pointer(&items[1..]).unwrap()["oneOf"].as_array();
    let named = forms.unwrap().iter().map(|form| {
        let name = form["properties"]["operation"]["const"].as_str().unwrap();
        (name.to_owned(), form.clone())
    });
    let named = named.collect();
    (tools, named)
}

#[test]
fn an_edit_takes_what_the_tool_of_its_name_takes() {
    for (documents, expected) in [(two_documents(), 10), (TestDocuments::single(SAMPLE), 7)] {
        let (tools, forms) = forms(&mut documents.open());
        assert_eq!(forms.len(), expected);
        for (name, form) in forms {
            let tool = tools.iter().find(|tool| tool["name"] == name.as_str());
            let tool = &tool.unwrap()["inputSchema"];
            let shape = |schema: &Value| {
                let mut fields = schema["properties"].as_object().unwrap().clone();
                for field in fields.values_mut() {
                    let field = field.as_object_mut().unwrap();
                    field.retain(|keyword, rule| {
                        keyword != "description"
                            && (keyword, &*rule) != (&"default".into(), &Value::Null)
                    });
                }
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let required = required
                    .iter()
                    .map(|name| name.as_str().unwrap().to_owned());
                let required: BTreeSet<String> = required.collect();
                (fields, required)
            };
            let (mut of_tool, required_by_tool) = shape(tool);
            of_tool.retain(|name, _| !OF_THE_CALL.contains(&name.as_str()));
            let (mut of_form, mut required_by_form) = shape(&form);
            assert!(of_form.remove("operation").is_some());
            assert!(required_by_form.remove("operation"));
            assert_eq!(of_form.remove("label").is_some(), name == "insert_section");
            assert_eq!(of_form, of_tool, "{name}");
            assert_eq!(required_by_form, required_by_tool, "{name}");
            assert_eq!(form["additionalProperties"], false, "{name}");
        }
    }
}

#[test]
fn an_edit_with_a_field_of_another_operation_is_refused() {
    let documents = two_documents();
    let mut editor = documents.open();
    let beta = editor.id_in("a.md", "Beta");
    let (_, forms) = forms(&mut editor);
    let names = |form: &Value| -> BTreeSet<String> {
        let fields = form["properties"].as_object().unwrap();
        fields.keys().cloned().collect()
    };
    let mut all: BTreeSet<String> = forms.values().flat_map(names).collect();
    all.extend(OF_THE_CALL.map(str::to_owned));
    for (operation, form) in &forms {
        let own = names(form);
        for other in all.difference(&own) {
            let mut edit = json!({ "operation": operation });
            for name in form["required"].as_array().unwrap().iter().skip(1) {
                edit[name.as_str().unwrap()] = json!("x");
            }
            edit[other] = json!("x");
            let good = json!({ "operation": "update_section", "section_id": beta, "content": "x" });
            let arguments = json!({ "edits": [good, edit] });
            let refusal = (INVALID_PARAMS, "invalid_arguments");
            let error = editor.assert_refused("apply_edits", arguments, refusal);
            let expected = format!("edits[1] ({operation}) takes only: operation, ");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(&expected), "{other}: {message}");
            for name in &own {
                assert!(message.contains(name.as_str()), "{name}: {message}");
            }
        }
    }
    assert_eq!(documents.text("a.md"), SAMPLE);
}

#[test]
fn message_about_a_wrong_edit_names_its_place_its_operation_and_the_field() {
    let documents = two_documents();
    let mut editor = documents.open();
    let beta = editor.id_in("a.md", "Beta");
    for (edit, expected) in [
        (
            json!({ "operation": "update_section", "heading": "Beta", "content": "x" }),
            "edits[0] (update_section) takes only: operation, section_id, content, scope, expected_hash, headings, path.",
        ),
        (
            json!({ "operation": "update_section", "content": "x" }),
            "edits[0].section_id (update_section) is required.",
        ),
        (
            json!({ "operation": "update_section", "section_id": beta, "content": null }),
            "edits[0].content (update_section) must be a JSON string.",
        ),
        (
            json!({ "operation": "edit_text", "old_text": "a", "new_text": "b", "scope": "x" }),
            "edits[0].scope (edit_text) must be one of: body, subtree.",
        ),
        (
            json!({ "operation": "create_document", "content": "x" }),
            "edits[0].path (create_document) is required.",
        ),
        (
            json!({ "operation": "move_section", "section_id": beta }),
            "edits[0] (move_section): give either new_position, or place with anchor.",
        ),
        (
            json!({ "operation": "set_front_matter", "path": "a.md", "key": "k" }),
            "edits[0] (set_front_matter): give either value, or remove: true.",
        ),
        (
            json!({ "operation": "explode" }),
            "edits[0].operation must be one of: insert_section, update_section, delete_section, ",
        ),
        (
            json!({ "section_id": beta }),
            "edits[0].operation is required.",
        ),
        (json!("explode"), "edits[0] must be a JSON object."),
    ] {
        let arguments = json!({ "edits": [edit], "path": "a.md" });
        let refusal = (INVALID_PARAMS, "invalid_arguments");
        let error = editor.assert_refused("apply_edits", arguments, refusal);
        let message = error["message"].as_str().unwrap();
        let expected = format!("Invalid params: {expected}");
        assert!(message.starts_with(&expected), "{message}");
    }
    assert_eq!(documents.text("a.md"), SAMPLE);
}

#[test]
fn a_batch_of_documents_is_all_or_nothing_too() {
    let documents = two_documents();
    let mut editor = documents.open();
    let edits = json!([
        { "operation": "create_document", "path": "c.md", "content": "# C\n" },
        { "operation": "rename_document", "path": "b.md", "new_path": "sub/b2.md" },
        { "operation": "delete_document", "path": "a.md" },
        { "operation": "insert_section", "path": "c.md", "heading": "More", "content": "m", "position": 1 },
    ]);
    let answer = editor.ok("apply_edits", json!({ "edits": edits }));
    let all = editor.ok("list_documents", json!({}))["documents"].clone();
    assert_eq!(all, json!(["c.md", "sub/b2.md"]));
    assert_eq!(documents.text("c.md"), "# C\n\n# More\n\nm\n");
    editor.ok("undo", json!({ "entry": answer["entry"] }));
    let all = editor.ok("list_documents", json!({}))["documents"].clone();
    assert_eq!(all, json!(["a.md", "b.md"]));
    assert_eq!(documents.text("a.md"), SAMPLE);
}

#[test]
fn a_single_document_has_no_others() {
    let documents = TestDocuments::single(SAMPLE);
    documents.vault().note("other.md", "# Other\n");
    let mut editor = documents.open();
    for edit in [
        json!({ "operation": "create_document", "path": "new.md", "content": "" }),
        json!({ "operation": "create_document", "path": "x/new.md", "content": "" }),
        json!({ "operation": "delete_document", "path": "other.md" }),
        json!({ "operation": "delete_document", "path": "doc.md" }),
        json!({ "operation": "rename_document", "path": "doc.md", "new_path": "new.md" }),
        json!({ "operation": "edit_text", "path": "other.md", "old_text": "Other", "new_text": "x" }),
        json!({ "operation": "move_section", "section_id": editor.id("Beta"), "to_path": "other.md", "new_position": 0 }),
    ] {
        editor.refused("apply_edits", json!({ "edits": [edit] }));
    }
    for (tool, arguments) in [
        ("get_document", json!({ "path": "other.md" })),
        ("list_sections", json!({ "path": "other.md" })),
        ("history", json!({ "path": "other.md" })),
        ("get_revision", json!({ "path": "other.md", "entry": 0 })),
    ] {
        let refusal = (APPLICATION_ERROR, "document_not_found");
        editor.assert_refused(tool, arguments, refusal);
    }
    assert_eq!(documents.only(), SAMPLE);
    assert_eq!(documents.text("other.md"), "# Other\n");
    assert!(!documents.location("new.md").exists() && !documents.location("x").exists());
}
