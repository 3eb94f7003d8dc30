//! Large deletions want a yes where a setting says so: from the call itself, or from the person before the client.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, SAMPLE};
use crate::fixture::{Editor, Era, TestDocuments};

/// Deleting `Alpha` takes more than this, deleting `Beta` does not.
const SETTINGS: &str = "[editor]\nconfirm_delete_bytes = 30\n";
const NOT_CONFIRMED: (i64, &str) = (APPLICATION_ERROR, "not_confirmed");

fn without_alpha() -> String {
    let (start, rest) = SAMPLE.split_once("## Alpha\n").unwrap();
    let (_, end) = rest.split_once("## Beta\n").unwrap();
    format!("{start}## Beta\n{end}")
}

#[test]
fn a_large_deletion_needs_no_confirmation_unless_a_setting_asks_for_one() {
    let large = format!("# Small\n\n# Large\n\n{}", "A line.\n".repeat(20_000));
    for era in Era::BOTH {
        let documents = TestDocuments::folder(&[("a.md", &large), ("b.md", &large)]);
        // Somebody could be asked, and is not.
        let mut editor = documents.open_asking(era, "");
        let call = json!({ "path": "a.md", "heading": "Large" });
        let answer = editor.ok("delete_section", call);
        assert_eq!(answer["message"], "Section deleted.", "{answer}");
        assert_eq!(documents.text("a.md"), "# Small\n");
        editor.ok("undo", json!({ "path": "a.md" }));
        assert_eq!(documents.text("a.md"), large);
        editor.ok("delete_document", json!({ "path": "b.md" }));
        let asked = editor.hear_out();
        let is_question = |one: &Value| one["method"] == "elicitation/create";
        assert!(!asked.iter().any(is_question), "{asked:?}");
    }
}

#[test]
fn a_large_deletion_is_refused_until_it_is_confirmed() {
    for era in Era::BOTH {
        let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", SAMPLE)]);
        let mut editor = documents.open_with(era, SETTINGS);
        let alpha = editor.id_in("a.md", "Alpha");
        let beta = editor.id_in("a.md", "Beta");
        let dry_run = json!({ "section_id": alpha, "dry_run": true });
        let plan = editor.ok("delete_section", dry_run)["plan"].clone();
        let edit = json!({ "operation": "delete_section", "section_id": alpha });
        for (tool, arguments) in [
            ("delete_section", json!({ "section_id": alpha })),
            ("apply_edits", json!({ "edits": [edit] })),
            ("apply_plan", json!({ "plan": plan })),
            ("delete_document", json!({ "path": "b.md" })),
        ] {
            let error = editor.assert_refused(tool, arguments.clone(), NOT_CONFIRMED);
            assert!(error["data"]["bytes"].as_u64().unwrap() > 30, "{error}");
            assert_eq!(documents.text("a.md"), SAMPLE, "{tool}");
            let mut confirmed = arguments;
            confirmed["confirm"] = json!(true);
            editor.ok(tool, confirmed);
            if tool == "delete_document" {
                assert!(!documents.location("b.md").exists());
            } else {
                assert_eq!(documents.text("a.md"), without_alpha(), "{tool}");
                editor.ok("undo", json!({ "path": "a.md" }));
                assert_eq!(documents.text("a.md"), SAMPLE);
            }
            if tool == "apply_edits" {
                // The state is the one that the plan was made for.
                assert_eq!(documents.text("a.md"), SAMPLE);
            }
        }
        editor.ok("delete_section", json!({ "section_id": beta }));
    }
}

fn delete_alpha(editor: &mut Editor<'_>) -> (u64, Value) {
    let id = editor.id("Alpha");
    let params = json!({ "name": "delete_section", "arguments": { "section_id": id } });
    (editor.send("tools/call", params.clone()), params)
}

fn responses() -> [(Value, bool); 4] {
    [
        (
            json!({ "action": "accept", "content": { "confirm": true } }),
            true,
        ),
        (
            json!({ "action": "accept", "content": { "confirm": false } }),
            false,
        ),
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
    ]
}

/// The answer to a deletion is what the person's answer makes it.
fn assert_outcome(answer: &Value, is_deleted: bool, documents: &TestDocuments) {
    if is_deleted {
        assert_eq!(
            answer["result"]["structuredContent"]["message"], "Section deleted.",
            "{answer}"
        );
        assert_eq!(documents.only(), without_alpha());
    } else {
        assert_eq!(answer["error"]["data"]["kind"], "not_confirmed", "{answer}");
        assert_eq!(documents.only(), SAMPLE);
    }
}

#[test]
fn a_person_is_asked_in_the_handshake_era() {
    for (response, is_deleted) in responses() {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_asking(Era::Handshake, SETTINGS);
        let (call, _) = delete_alpha(&mut editor);
        let question = editor.hear("a question", |message| {
            message["method"] == "elicitation/create"
        });
        let text = question["params"]["message"].as_str().unwrap();
        assert!(text.contains("bytes") && !text.contains("Alpha"), "{text}");
        assert_eq!(
            documents.only(),
            SAMPLE,
            "nothing happens before the answer"
        );
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": response });
        editor.server.send_line(&answer.to_string());
        assert_outcome(&editor.answer(call), is_deleted, &documents);
    }
}

#[test]
fn without_a_handshake_the_call_is_made_again_with_the_answer() {
    for (response, is_deleted) in responses() {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_asking(Era::Stateless, SETTINGS);
        let (call, mut params) = delete_alpha(&mut editor);
        let asked = editor.answer(call);
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert_eq!(documents.only(), SAMPLE);
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({ "confirm": response });
        // The yes is for this section, not for another one.
        let mut other = params.clone();
        other["arguments"]["section_id"] = json!(editor.id("Title"));
        let refused = editor.ask("tools/call", other);
        assert_eq!(
            refused["error"]["data"]["kind"], "strange_state",
            "{refused}"
        );
        assert_eq!(documents.only(), SAMPLE);
        assert_outcome(&editor.ask("tools/call", params), is_deleted, &documents);
    }
}

#[test]
fn over_http_the_call_is_made_again_too() {
    let documents = TestDocuments::single(SAMPLE);
    let alpha = documents.open().id("Alpha");
    let http = documents.http(SETTINGS);
    let mut call = Era::Stateless.call(7, "delete_section", json!({ "section_id": alpha }));
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": {} });
    let asked = http.post(Era::Stateless, &call).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["params"]["requestState"] = asked["result"]["requestState"].clone();
    call["params"]["inputResponses"] =
        json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
    assert_outcome(&http.post(Era::Stateless, &call).json(), true, &documents);
}
