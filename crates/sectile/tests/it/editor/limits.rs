//! Bounds, each with an answer that says which; long answers in pages; arguments that no tool has.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Editor, Era, TestDocuments};

const SMALL_PAGES: &str = "[editor]\nmax_answer_bytes = 1024\n";
const PAGE: usize = 1024;

/// A document of many pages, with characters of several bytes.
fn long_document() -> String {
    let lines = |number: usize| format!("Línea {number}: 日本語のテキスト. ").repeat(8);
    let section = |number: usize| {
        format!(
            "## Abschnitt {number}\n\n{}\n{}\n\n",
            lines(number),
            lines(number)
        )
    };
    let sections: String = (0..40).map(section).collect();
    format!("# Lang\n\n{sections}")
}

/// All pages of an answer's text.
fn pages(editor: &mut Editor<'_>, tool: &str, arguments: &Value, field: &str) -> Vec<String> {
    let mut arguments = arguments.clone();
    let mut found = Vec::new();
    loop {
        let page = editor.ok(tool, arguments.clone());
        let text = page[field].as_str().unwrap().to_owned();
        assert!(text.len() <= PAGE, "{tool}: {}", text.len());
        assert!(!text.is_empty(), "{tool} stands still");
        found.push(text);
        match page.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => return found,
        }
    }
}

#[test]
fn pages_put_together_are_the_whole() {
    let text = long_document();
    for era in Era::BOTH {
        let documents = TestDocuments::single(&text);
        let mut editor = documents.open_with(era, SMALL_PAGES);
        let found = pages(&mut editor, "get_document", &json!({}), "document");
        assert!(found.len() > 20);
        assert_eq!(found.concat(), text);
        let found = pages(
            &mut editor,
            "get_revision",
            &json!({ "entry": 0 }),
            "document",
        );
        assert_eq!(found.concat(), text);
        let whole = json!({ "heading": "Lang", "scope": "subtree" });
        let found = pages(&mut editor, "get_section", &whole, "content");
        let expected = text
            .strip_prefix("# Lang\n\n")
            .unwrap()
            .trim_end_matches('\n');
        assert_eq!(found.concat(), expected);
        let mut headings = Vec::new();
        let mut arguments = json!({});
        loop {
            let page = editor.ok("list_sections", arguments.clone());
            assert_eq!(page["total"], 41);
            let sections = page["sections"].as_array().unwrap();
            assert!(sections.len() < 41);
            headings.extend(sections.iter().map(|one| one["heading"].clone()));
            match page.get("next_cursor") {
                Some(next) => arguments["cursor"] = next.clone(),
                None => break,
            }
        }
        assert_eq!(headings.len(), 41);
        assert_eq!(headings[40], "Abschnitt 39");
    }
}

#[test]
fn documents_are_listed_in_pages() {
    let names: Vec<String> = (0..60)
        .map(|number| format!("folder/document-number-{number:02}.md"))
        .collect();
    let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "# x\n")).collect();
    let documents = TestDocuments::folder(&all);
    let mut editor = documents.open_with(Era::Handshake, SMALL_PAGES);
    let mut listed = Vec::new();
    let mut arguments = json!({});
    loop {
        let page = editor.ok("list_documents", arguments.clone());
        assert_eq!(page["total"], 60);
        listed.extend(page["documents"].as_array().unwrap().clone());
        match page.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(json!(listed), json!(names));
}

#[test]
fn a_cursor_of_another_state_is_refused() {
    let documents = TestDocuments::single(long_document());
    let mut editor = documents.open_with(Era::Handshake, SMALL_PAGES);
    let id = editor.id("Abschnitt 2");
    let calls = [
        ("get_document", json!({})),
        ("list_sections", json!({})),
        (
            "get_section",
            json!({ "heading": "Lang", "scope": "subtree" }),
        ),
    ];
    let cursors = calls
        .clone()
        .map(|(tool, arguments)| editor.ok(tool, arguments)["next_cursor"].clone());
    editor.ok(
        "update_section",
        json!({ "section_id": id, "content": "kurz" }),
    );
    for ((tool, mut arguments), cursor) in calls.into_iter().zip(cursors) {
        arguments["cursor"] = cursor;
        let refusal = (APPLICATION_ERROR, "cursor_stale");
        editor.assert_refused(tool, arguments.clone(), refusal);
        for nonsense in ["", "x", ".", "-1.abc", "99999999999999999999.abc"] {
            arguments["cursor"] = json!(nonsense);
            let refusal = (INVALID_PARAMS, "invalid_cursor");
            editor.assert_refused(tool, arguments.clone(), refusal);
        }
    }
}

#[test]
fn what_is_too_large_is_refused_with_the_limit() {
    let settings = "[editor]\nmax_payload_bytes = 100\nmax_document_bytes = 300\nmax_edits = 3\n";
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open_with(Era::Handshake, settings);
    let beta = editor.id("Beta");
    let long = "x".repeat(101);
    let calls = [
        (
            "update_section",
            json!({ "section_id": beta, "content": long }),
        ),
        (
            "insert_section",
            json!({ "heading": "N", "content": long, "position": 0 }),
        ),
        (
            "rename_section",
            json!({ "section_id": beta, "heading": long }),
        ),
        (
            "edit_text",
            json!({ "section_id": beta, "old_text": "Beta", "new_text": long }),
        ),
        ("set_front_matter", json!({ "key": "k", "value": long })),
        ("set_front_matter", json!({ "key": long, "value": 1 })),
    ];
    for (tool, arguments) in calls {
        let refusal = (APPLICATION_ERROR, "too_large");
        let error = editor.assert_refused(tool, arguments, refusal);
        assert_eq!(error["data"]["limit"], 100, "{error}");
        assert_eq!(documents.only(), SAMPLE, "{tool}");
    }
    let fits = json!({ "heading": "N", "content": "y".repeat(100), "position": 5 });
    editor.ok("insert_section", fits.clone());
    let before = documents.only();
    let error = editor.assert_refused("insert_section", fits, (APPLICATION_ERROR, "too_large"));
    assert_eq!(error["data"]["limit"], 300);
    let edit = json!({ "operation": "update_section", "section_id": beta, "content": "x" });
    let edits = json!({ "edits": [edit, edit, edit, edit] });
    let error = editor.assert_refused("apply_edits", edits, (APPLICATION_ERROR, "too_many_edits"));
    assert_eq!(error["data"]["limit"], 3);
    assert_eq!(documents.only(), before);
    documents.overwrite("doc.md", format!("# Large\n\n{}\n", "z".repeat(400)));
    let error = editor.assert_refused("get_document", json!({}), (APPLICATION_ERROR, "too_large"));
    assert_eq!(error["data"]["limit"], 300);
}

/// Something of the type that a schema asks for.
fn dummy(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("integer") => json!(1),
        Some("array") => json!([]),
        _ => json!("x"),
    }
}

#[test]
fn no_tool_takes_an_argument_that_it_does_not_name() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE)]);
    let mut editor = documents.open();
    let listing = editor.ask("tools/list", json!({}));
    for tool in listing["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        let mut arguments = json!({});
        for required in schema["required"].as_array().into_iter().flatten() {
            let required = required.as_str().unwrap();
            arguments[required] = dummy(&schema["properties"][required]);
        }
        for extra in ["position_", "validation_level", "Path", "__proto__", ""] {
            let mut arguments = arguments.clone();
            arguments[extra] = json!(1);
            let refusal = (INVALID_PARAMS, "invalid_arguments");
            let error = editor.assert_refused(name, arguments, refusal);
            let is_echoed = error.to_string().contains("validation_level");
            assert!(!is_echoed, "{name} echoes a name: {error}");
        }
    }
    assert_eq!(documents.text("a.md"), SAMPLE);
}

#[test]
fn a_write_that_takes_too_long_says_that_it_may_have_been_made_and_does_not_begin() {
    for era in Era::BOTH {
        for tool in ["update_section", "undo", "list_sections"] {
            let documents = TestDocuments::single(SAMPLE);
            let mut editor = documents.open();
            let beta = editor.id("Beta");
            let write = json!({ "section_id": beta, "content": "x" });
            editor.ok("update_section", write);
            editor.leave();
            let before = documents.only();
            let mut command = documents.command("[server.limits]\ncall_timeout_ms = 50\n");
            command.env("SECTILE_FAULT", format!("sleep:{tool}:300"));
            let mut editor = Editor::connect(&documents, era, command, &json!({}));
            let arguments = match tool {
                "update_section" => json!({ "section_id": beta, "content": "y" }),
                _ => json!({}),
            };
            let error = editor.assert_refused(tool, arguments, (-32074, "timed_out"));
            let recovery = error["data"]["recovery"].as_str().unwrap();
            let is_write = tool != "list_sections";
            assert_eq!(
                recovery.contains("may have been made"),
                is_write,
                "{tool}: {recovery}"
            );
            assert_eq!(recovery.contains("history"), is_write, "{tool}: {recovery}");
            assert_eq!(
                recovery.contains("request_id"),
                is_write,
                "{tool}: {recovery}"
            );
            // The end waits for the handler.
            editor.leave();
            assert_eq!(documents.only(), before, "{tool}");
        }
    }
}
