//! What clients hear without asking, and what they are offered while they fill something in.

use serde_json::{Value, json};

use super::SAMPLE;
use crate::fixture::{Editor, Era, TestDocuments};

const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

fn is_update(uri: &str) -> impl Fn(&Value) -> bool {
    move |message| message["method"] == UPDATED && message["params"]["uri"] == uri
}

fn is_list_change(message: &Value) -> bool {
    message["method"] == LIST_CHANGED
}

/// Asks to be told of changes, in the way of the era.
fn watch(editor: &mut Editor<'_>, uri: &str) {
    match editor.era {
        Era::Handshake => {
            let answer = editor.ask("resources/subscribe", json!({ "uri": uri }));
            assert!(answer["result"].is_object(), "{answer}");
        }
        Era::Stateless => {
            let wanted = json!({ "resourceSubscriptions": [uri], "resourcesListChanged": true });
            editor.send("subscriptions/listen", json!({ "notifications": wanted }));
            editor.hear("the acknowledgement", |message| {
                message["method"] == "notifications/subscriptions/acknowledged"
            });
        }
    }
}

#[test]
fn a_watcher_hears_of_our_writes_and_of_those_of_other_programs() {
    for era in Era::BOTH {
        let folder = TestDocuments::folder(&[("sub/a b.md", SAMPLE)]);
        for (documents, path, suffix) in [
            (TestDocuments::single(SAMPLE), "doc.md", ""),
            (folder, "sub/a b.md", "/sub/a%20b.md"),
        ] {
            let mut editor = documents.open_with(era, "");
            let id = editor.id_in(path, "Beta");
            for aspect in ["document", "history", "metadata"] {
                watch(&mut editor, &format!("sectile://editor/{aspect}{suffix}"));
            }
            let heard = |editor: &mut Editor<'_>| {
                for aspect in ["document", "history", "metadata"] {
                    let uri = format!("sectile://editor/{aspect}{suffix}");
                    editor.hear(&format!("{uri}, {era:?}"), is_update(&uri));
                }
            };
            editor.ok(
                "update_section",
                json!({ "section_id": id, "content": "ours" }),
            );
            heard(&mut editor);
            editor.hear_out();
            documents.overwrite(path, SAMPLE.replace("Beta body.", "in place"));
            heard(&mut editor);
            editor.hear_out();
            documents.replace(path, SAMPLE.replace("Beta body.", "by renaming"));
            heard(&mut editor);
        }
    }
}

#[test]
fn nobody_hears_of_what_nobody_watches() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
    let mut editor = documents.open();
    let (a, b) = (editor.id_in("a.md", "Beta"), editor.id_in("b.md", "B"));
    let uri = "sectile://editor/document/a.md";
    watch(&mut editor, uri);
    editor.ok("update_section", json!({ "section_id": b, "content": "x" }));
    editor.ok("update_section", json!({ "section_id": a, "content": "x" }));
    let first = editor.hear("an update", |message| message["method"] == UPDATED);
    assert_eq!(first["params"]["uri"], uri, "not the other document");
    let answer = editor.ask("resources/unsubscribe", json!({ "uri": uri }));
    assert!(answer["result"].is_object(), "{answer}");
    editor.hear_out();
    editor.ok("update_section", json!({ "section_id": a, "content": "y" }));
    editor.ok(
        "create_document",
        json!({ "path": "c.md", "content": "# C\n" }),
    );
    editor.hear("a change of the list", is_list_change);
    let others = editor.hear_out();
    let is_told = others.iter().any(|message| message["method"] == UPDATED);
    assert!(!is_told, "{others:?}");
    let missing = json!({ "uri": "sectile://editor/document/nope.md" });
    let answer = editor.ask("resources/subscribe", missing);
    let kind = &answer["error"]["data"]["kind"];
    assert_eq!(*kind, "unknown_resource", "{answer}");
}

#[test]
fn the_list_changes_when_documents_come_and_go() {
    for era in Era::BOTH {
        let documents = TestDocuments::folder(&[("a.md", SAMPLE)]);
        let mut editor = documents.open_with(era, "");
        if era == Era::Stateless {
            watch(&mut editor, "sectile://editor/document/a.md");
        }
        let listed = |editor: &mut Editor<'_>| -> Vec<Value> {
            let answer = editor.ask("resources/list", json!({}));
            let all = answer["result"]["resources"].as_array().unwrap();
            all.iter().map(|one| one["name"].clone()).collect()
        };
        assert_eq!(listed(&mut editor), ["a.md"]);
        editor.ok(
            "create_document",
            json!({ "path": "b.md", "content": "# B\n" }),
        );
        editor.hear("b.md by us", is_list_change);
        assert_eq!(listed(&mut editor), ["a.md", "b.md"]);
        editor.hear_out();
        editor.ok("delete_document", json!({ "path": "b.md" }));
        editor.hear("no b.md any more", is_list_change);
        assert_eq!(listed(&mut editor), ["a.md"]);
        editor.hear_out();
        documents.overwrite("c.md", "# C\n");
        editor.hear("c.md by another program", is_list_change);
        editor.hear_out();
        std::fs::remove_file(documents.location("c.md")).unwrap();
        editor.hear("no c.md any more", is_list_change);
        assert_eq!(listed(&mut editor), ["a.md"]);
        // Documents come and go with their folder.
        let (folder, other) = (documents.location("folder"), documents.location("other"));
        documents.vault().note("folder/d.md", "# D\n");
        editor.hear_out();
        std::fs::rename(&folder, &other).unwrap();
        editor.hear("a folder of another name", is_list_change);
        assert_eq!(listed(&mut editor), ["a.md", "other/d.md"]);
        editor.hear_out();
        std::fs::rename(&other, documents.vault().outside().join("away")).unwrap();
        editor.hear("no folder any more", is_list_change);
        assert_eq!(listed(&mut editor), ["a.md"]);
    }
}

fn offered(
    editor: &mut Editor<'_>,
    reference: &Value,
    argument: (&str, &str),
    path: Option<&str>,
) -> Value {
    let (name, value) = argument;
    let mut params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
    if let Some(path) = path {
        params["context"] = json!({ "arguments": { "path": path } });
    }
    let answer = editor.ask("completion/complete", params);
    let values = &answer["result"]["completion"]["values"];
    assert!(values.is_array(), "{answer}");
    values.clone()
}

#[test]
fn arguments_are_completed_from_what_is_there() {
    for era in Era::BOTH {
        let documents =
            TestDocuments::folder(&[("a.md", SAMPLE), ("notes/b.md", "# B\n"), ("c.txt", "no")]);
        let mut editor = documents.open_with(era, "");
        let ids = editor.ids_of("a.md");
        let summarize = json!({ "type": "ref/prompt", "name": "summarize_section" });
        let outline = json!({ "type": "ref/prompt", "name": "generate_outline" });
        let template =
            json!({ "type": "ref/resource", "uri": "sectile://editor/document/{+path}" });
        for reference in [&summarize, &outline, &template] {
            let all = offered(&mut editor, reference, ("path", ""), None);
            assert_eq!(all, json!(["a.md", "notes/b.md"]), "{reference}");
            let some = offered(&mut editor, reference, ("path", "NOTES"), None);
            assert_eq!(some, json!(["notes/b.md"]), "{reference}");
        }
        let headings = offered(&mut editor, &summarize, ("heading", "a"), Some("a.md"));
        assert_eq!(headings, json!(["Alpha", "Alpha child", "Beta", "Gamma"]));
        let found = offered(
            &mut editor,
            &summarize,
            ("section_id", "beta"),
            Some("a.md"),
        );
        assert_eq!(found, json!([ids[3]]));
        for nothing in [
            Some("../outside/secret.md"),
            Some(".sectile/journal"),
            Some("nope.md"),
            None,
        ] {
            let found = offered(&mut editor, &summarize, ("heading", ""), nothing);
            assert_eq!(found, json!([]), "{nothing:?}");
        }
        let free = offered(&mut editor, &summarize, ("section_content", "x"), None);
        assert_eq!(free, json!([]));
    }
}
