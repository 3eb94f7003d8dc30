//! Whole documents, default documents, and what no path reaches.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Editor, Era, Http, NOTE_TEXT, SECRET, TestDocuments, initialize, sectile};

const B: &str = "# B\n\nb text\n";

fn two() -> TestDocuments {
    TestDocuments::folder(&[("a.md", SAMPLE), ("sub/b.md", B)])
}

#[test]
fn a_document_is_named_by_path_by_open_document_or_by_an_id() {
    let documents = two();
    let mut editor = documents.open();
    let refusal = (INVALID_PARAMS, "no_document");
    for (tool, arguments) in [
        ("list_sections", json!({})),
        ("get_document", json!({})),
        ("get_section", json!({ "heading": "B" })),
        ("history", json!({})),
        ("undo", json!({})),
        ("redo", json!({})),
        ("set_front_matter", json!({ "key": "k", "value": 1 })),
        (
            "insert_section",
            json!({ "heading": "N", "content": "n", "position": 0 }),
        ),
        ("edit_text", json!({ "old_text": "b", "new_text": "c" })),
    ] {
        editor.assert_refused(tool, arguments, refusal);
    }
    let b = editor.id_in("sub/b.md", "B");
    let opened = editor.ok("open_document", json!({ "path": "a.md" }));
    assert_eq!(
        (&opened["path"], &opened["is_default"]),
        (&json!("a.md"), &json!(true))
    );
    assert_eq!(opened["metadata"]["title"], "Title");
    assert_eq!(editor.ok("get_document", json!({}))["document"], SAMPLE);
    // A path says otherwise, and so does an id.
    assert_eq!(
        editor.ok("get_document", json!({ "path": "sub/b.md" }))["document"],
        B
    );
    assert_eq!(
        editor.ok("get_section", json!({ "section_id": b }))["path"],
        "sub/b.md"
    );
    let next_to_it = json!({ "heading": "N", "content": "n", "place": "after", "anchor": b });
    assert_eq!(editor.ok("insert_section", next_to_it)["path"], "sub/b.md");
    let next_to_it = json!({
        "operation": "insert_section", "heading": "M", "content": "", "place": "after", "anchor": b,
    });
    editor.ok("apply_edits", json!({ "edits": [next_to_it] }));
    assert_eq!(
        documents.text("sub/b.md"),
        format!("{B}\n# M\n\n# N\n\nn\n")
    );
    assert_eq!(documents.text("a.md"), SAMPLE);
    // A new connection has no default, and ids still find their document.
    editor.leave();
    let mut editor = documents.open();
    editor.assert_refused("list_sections", json!({}), refusal);
    editor.ok(
        "update_section",
        json!({ "section_id": b, "content": "new" }),
    );
    assert!(documents.text("sub/b.md").starts_with("# B\n\nnew\n"));
}

#[test]
fn an_id_and_a_path_must_agree() {
    let documents = two();
    let mut editor = documents.open();
    let b = editor.id_in("sub/b.md", "B");
    for (tool, more) in [
        ("get_section", json!({})),
        ("update_section", json!({ "content": "x" })),
        ("delete_section", json!({})),
        ("move_section", json!({ "new_position": 0 })),
        ("rename_section", json!({ "heading": "x" })),
        ("edit_text", json!({ "old_text": "b", "new_text": "x" })),
    ] {
        let mut arguments = more;
        arguments["section_id"] = json!(b);
        arguments["path"] = json!("a.md");
        editor.assert_refused(tool, arguments, (INVALID_PARAMS, "bad_reference"));
    }
    assert_eq!(documents.text("sub/b.md"), B);
}

/// A session of the handshake era over HTTP.
struct Session<'a> {
    http: &'a Http<'a>,
    id: String,
}

impl<'a> Session<'a> {
    fn open(http: &'a Http<'a>) -> Self {
        let answer = http.post(Era::Handshake, &initialize(0));
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        Self { http, id }
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let message = Era::Handshake.call(7, tool, arguments);
        let session = [("Mcp-Session-Id", self.id.as_str())];
        let answer = self.http.post_with(Era::Handshake, &message, &session);
        let events = answer.events();
        let answered = events.into_iter().find(|event| event["id"] == 7);
        answered.unwrap_or_else(|| panic!("no answer: {answer:?}"))
    }

    fn path_of_default(&self) -> Value {
        let answer = self.call("list_sections", json!({}));
        answer["result"]["structuredContent"]["path"].clone()
    }
}

#[test]
fn every_session_has_a_default_of_its_own() {
    let documents = two();
    let http = documents.http("");
    let (one, other, third) = (
        Session::open(&http),
        Session::open(&http),
        Session::open(&http),
    );
    one.call("open_document", json!({ "path": "a.md" }));
    other.call("open_document", json!({ "path": "sub/b.md" }));
    assert_eq!(one.path_of_default(), "a.md");
    assert_eq!(other.path_of_default(), "sub/b.md");
    assert_eq!(third.path_of_default(), Value::Null);
    one.call("open_document", json!({ "path": "sub/b.md" }));
    assert_eq!(one.path_of_default(), "sub/b.md");
    // Without sessions there is nothing to remember it for, and the answer says so.
    let open = Era::Stateless.call(7, "open_document", json!({ "path": "a.md" }));
    let answer = http.post(Era::Stateless, &open).json();
    assert_eq!(answer["result"]["structuredContent"]["is_default"], false);
    let list = Era::Stateless.call(8, "list_sections", json!({}));
    let answer = http.post(Era::Stateless, &list).json();
    assert_eq!(answer["error"]["data"]["kind"], "no_document", "{answer}");
}

#[test]
fn documents_are_created_renamed_and_deleted() {
    let documents = two();
    let mut editor = documents.open();
    let text = "# C\n\nc\n\n## D\n\nd\n";
    let created = editor.ok(
        "create_document",
        json!({ "path": "new/deep/c.md", "content": text }),
    );
    assert_eq!(created["message"], "Document created.");
    assert_eq!(documents.text("new/deep/c.md"), text);
    let ids = editor.ids_of("new/deep/c.md");
    let refusal = (APPLICATION_ERROR, "document_exists");
    editor.assert_refused(
        "create_document",
        json!({ "path": "new/deep/c.md" }),
        refusal,
    );
    let onto = json!({ "path": "new/deep/c.md", "new_path": "a.md" });
    editor.assert_refused("rename_document", onto, refusal);
    let rename = json!({ "path": "new/deep/c.md", "new_path": "e.md" });
    assert_eq!(
        editor.ok("rename_document", rename)["message"],
        "Document renamed."
    );
    assert!(!documents.location("new/deep/c.md").exists());
    assert_eq!(editor.ids_of("e.md"), ids, "ids stay");
    let listed = editor.ok("list_documents", json!({}))["documents"].clone();
    assert_eq!(listed, json!(["a.md", "e.md", "sub/b.md"]));
    let below = editor.ok("list_documents", json!({ "folder": "sub" }))["documents"].clone();
    assert_eq!(below, json!(["sub/b.md"]));
    let refusal = (INVALID_PARAMS, "invalid_arguments");
    editor.ok("open_document", json!({ "path": "e.md" }));
    editor.assert_refused("delete_document", json!({}), refusal);
    let stale = json!({ "path": "e.md", "expected_hash": "0123456789abcdef" });
    editor.assert_refused("delete_document", stale, (APPLICATION_ERROR, "stale"));
    let deleted = editor.ok("delete_document", json!({ "path": "e.md" }));
    assert!(!documents.location("e.md").exists());
    let gone = editor.refused("get_section", json!({ "section_id": ids[1] }));
    assert_eq!(gone["code"], APPLICATION_ERROR, "{gone}");
    editor.leave();
    let mut editor = documents.open();
    editor.ok("undo", json!({ "entry": deleted["entry"] }));
    assert_eq!(documents.text("e.md"), text);
    assert_eq!(editor.ids_of("e.md"), ids, "and come back");
}

#[test]
fn files_that_are_no_markdown_or_ignored_are_not_listed() {
    let documents = TestDocuments::folder(&[
        ("a.md", SAMPLE),
        ("b.markdown", B),
        ("c.MD", B),
        ("d.txt", "no"),
        ("drafts/e.md", B),
        (".gitignore", "drafts/\n"),
    ]);
    let mut editor = documents.open();
    let listed = editor.ok("list_documents", json!({}))["documents"].clone();
    assert_eq!(listed, json!(["a.md", "b.markdown", "c.MD"]));
    for (tool, path) in [
        ("get_document", "d.txt"),
        ("create_document", "x.txt"),
        ("get_document", "sub"),
    ] {
        let arguments = json!({ "path": path });
        editor.assert_refused(tool, arguments, (INVALID_PARAMS, "not_markdown"));
    }
}

/// Paths that must lead nowhere.
const OUT_OF_REACH: [&str; 20] = [
    ".sectile/secret.md",
    ".SECTILE/secret.md",
    "./.sectile/secret.md",
    "sub/../.sectile/secret.md",
    ".sectile\\secret.md",
    "peek/secret.md",
    "peek.md",
    "peek2.md",
    "out.md",
    "away/secret.md",
    "../outside/secret.md",
    "sub/../../outside/secret.md",
    "..\\outside\\secret.md",
    "/etc/passwd",
    "/etc/hosts.md",
    "C:\\x.md",
    "a.md\0.md",
    "a.md/x.md",
    "",
    ".",
];

/// A folder with a secret in its private folder, and links to it and out.
fn with_links() -> TestDocuments {
    let documents = two();
    documents.open().ids_of("a.md");
    let root = documents.vault().root();
    fs::write(root.join(".sectile/secret.md"), format!("# {SECRET}\n")).unwrap();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(Path::new(target), root.join(name)).unwrap();
    };
    link(".sectile", "peek");
    link(".sectile/secret.md", "peek.md");
    link("peek/secret.md", "peek2.md");
    link("../outside/secret.md", "out.md");
    link("../outside", "away");
    documents
}

/// Every call that names a document.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let edit = |edit: Value| ("apply_edits", json!({ "edits": [edit] }));
    vec![
        ("open_document", json!({ "path": path })),
        ("list_sections", json!({ "path": path })),
        ("get_document", json!({ "path": path })),
        ("get_section", json!({ "path": path, "heading": "x" })),
        ("history", json!({ "path": path })),
        ("get_revision", json!({ "path": path, "entry": 0 })),
        (
            "insert_section",
            json!({ "path": path, "heading": "H", "content": "c", "position": 0 }),
        ),
        (
            "edit_text",
            json!({ "path": path, "old_text": "S", "new_text": "T" }),
        ),
        (
            "set_front_matter",
            json!({ "path": path, "key": "k", "value": 1 }),
        ),
        ("create_document", json!({ "path": path, "content": "x" })),
        ("delete_document", json!({ "path": path, "confirm": true })),
        (
            "rename_document",
            json!({ "path": path, "new_path": "stolen.md" }),
        ),
        (
            "rename_document",
            json!({ "path": "a.md", "new_path": path }),
        ),
        ("undo", json!({ "path": path })),
        ("redo", json!({ "path": path })),
        edit(json!({ "operation": "create_document", "path": path, "content": "x" })),
        edit(json!({ "operation": "rename_document", "path": "a.md", "new_path": path })),
        edit(json!({ "operation": "delete_document", "path": path })),
    ]
}

fn assert_refused_everywhere(editor: &mut Editor<'_>, path: &str) {
    for (tool, arguments) in calls(path) {
        let error = editor.refused(tool, arguments.clone());
        let code = error["code"].as_i64().unwrap();
        assert!(
            [INVALID_PARAMS, APPLICATION_ERROR].contains(&code),
            "{tool} {path}: {error}"
        );
    }
    let beta = editor.id_in("a.md", "Beta");
    let away = json!({ "section_id": beta, "to_path": path, "new_position": 0 });
    editor.refused("move_section", away);
    for aspect in ["document", "history", "metadata"] {
        for uri in [
            format!("sectile://editor/{aspect}/{path}"),
            format!(
                "sectile://editor/{aspect}/{}",
                path.replace('.', "%2E").replace('/', "%2F")
            ),
        ] {
            for method in ["resources/read", "resources/subscribe"] {
                let answer = editor.ask(method, json!({ "uri": uri }));
                assert!(answer["error"].is_object(), "{method} {uri}: {answer}");
            }
        }
    }
    for prompt in ["generate_outline", "summarize_section"] {
        let arguments = json!({ "name": prompt, "arguments": { "path": path, "heading": "x" } });
        let answer = editor.ask("prompts/get", arguments);
        assert!(answer["error"].is_object(), "{prompt} {path}: {answer}");
    }
    let arguments = json!({ "name": "generate_outline", "arguments": { "path": path } });
    let answer = editor.ask("prompts/get", arguments);
    assert!(answer["error"].is_object(), "{path}: {answer}");
}

/// All files but the journal, its locks and temporary files.
fn files(documents: &TestDocuments) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let is_private = |path: &Path| {
        path.components().any(|part| {
            [".sectile", "peek"]
                .iter()
                .any(|name| part.as_os_str() == *name)
        })
    };
    let is_kept = |path: &Path| !is_private(path) || path.ends_with("secret.md");
    let all = documents.vault().contents();
    all.into_iter().filter(|(path, _)| is_kept(path)).collect()
}

#[test]
fn the_private_folder_and_what_is_outside_cannot_be_reached() {
    // A secret in an answer fails the test as well: the fixture scans all of them.
    let documents = with_links();
    let before = files(&documents);
    let mut editor = documents.open();
    for path in OUT_OF_REACH {
        assert_refused_everywhere(&mut editor, path);
        assert_eq!(files(&documents), before, "{path}");
    }
    let listed = editor.ok("list_documents", json!({}))["documents"].clone();
    assert_eq!(listed, json!(["a.md", "sub/b.md"]));
    for folder in [".sectile", "peek", "away", "..", "/"] {
        let answer = editor.call("list_documents", json!({ "folder": folder }));
        let found = &answer["result"]["structuredContent"]["documents"];
        assert!(found.is_null() || *found == json!([]), "{folder}: {answer}");
    }
    let resources = editor.ask("resources/list", json!({}));
    let all = resources["result"]["resources"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{resources}");
}

#[test]
fn a_link_inside_the_folder_is_the_document_that_it_leads_to() {
    let documents = two();
    let root = documents.vault().root();
    std::os::unix::fs::symlink("a.md", root.join("same.md")).unwrap();
    let mut editor = documents.open();
    let ids = editor.ids_of("a.md");
    assert_eq!(editor.ids_of("same.md"), ids);
    let edit = json!({ "path": "same.md", "old_text": "Beta body.", "new_text": "Linked." });
    editor.ok("edit_text", edit);
    assert_eq!(
        documents.text("a.md"),
        SAMPLE.replace("Beta body.", "Linked.")
    );
    let kind = fs::symlink_metadata(root.join("same.md")).unwrap();
    assert!(kind.file_type().is_symlink(), "the link stays one");
}

#[test]
fn the_private_folder_is_private_and_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    let documents = two();
    let mut editor = documents.open();
    editor.ok(
        "set_front_matter",
        json!({ "path": "a.md", "key": "k", "value": 1 }),
    );
    let private = documents.location(".sectile");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&private), 0o700);
    assert_eq!(mode(&private.join("journal")), 0o600);
    assert_eq!(
        fs::read_to_string(private.join(".gitignore"))
            .unwrap()
            .trim(),
        "*"
    );
}

#[test]
fn logs_hold_nothing_of_documents_arguments_and_paths() {
    // Whatever the servers log is scanned for NOTE_TEXT, secrets and absolute paths when they end.
    let text =
        format!("---\ntitle: {NOTE_TEXT}\n---\n# {NOTE_TEXT}\n\n{NOTE_TEXT} body\n\n## Two\n\nx\n");
    let name = format!("{NOTE_TEXT}.md");
    let debug =
        "[log]\nlevel = 'debug'\n[editor]\nconfirm_delete_bytes = 5\nmax_payload_bytes = 100\n";
    for era in Era::BOTH {
        let documents = TestDocuments::folder(&[(name.as_str(), text.as_str())]);
        let mut editor = documents.open_with(era, debug);
        let id = editor.id_in(&name, "Two");
        let stale = "0123456789abcdef";
        for (tool, arguments) in [
            ("get_section", json!({ "section_id": NOTE_TEXT })),
            ("get_section", json!({ "path": name, "heading": NOTE_TEXT })),
            ("get_document", json!({ "path": format!("../{NOTE_TEXT}") })),
            (NOTE_TEXT, json!({ NOTE_TEXT: NOTE_TEXT })),
            ("list_sections", json!({ NOTE_TEXT: NOTE_TEXT })),
            (
                "update_section",
                json!({ "section_id": id, "content": NOTE_TEXT, "reason": NOTE_TEXT, "request_id": NOTE_TEXT }),
            ),
            (
                "update_section",
                json!({ "section_id": id, "content": NOTE_TEXT, "expected_hash": stale }),
            ),
            (
                "update_section",
                json!({ "section_id": id, "content": format!("# {NOTE_TEXT}") }),
            ),
            (
                "update_section",
                json!({ "section_id": id, "content": NOTE_TEXT.repeat(50) }),
            ),
            (
                "edit_text",
                json!({ "path": name, "old_text": NOTE_TEXT, "new_text": "x" }),
            ),
            (
                "delete_section",
                json!({ "path": name, "heading": NOTE_TEXT }),
            ),
            (
                "create_document",
                json!({ "path": name, "content": NOTE_TEXT }),
            ),
            (
                "rename_document",
                json!({ "path": name, "new_path": format!("{NOTE_TEXT}/x.md") }),
            ),
            ("undo", json!({ "path": name })),
        ] {
            editor.call(tool, arguments);
        }
        let params = json!({ "name": "generate_outline", "arguments": { "document": NOTE_TEXT } });
        editor.ask("prompts/get", params);
        editor.ask(
            "resources/read",
            json!({ "uri": format!("sectile://editor/document/{NOTE_TEXT}") }),
        );
        documents.overwrite(&name, "---\nbroken: [\n---\n# x\n");
        editor.call(
            "set_front_matter",
            json!({ "path": name, "key": NOTE_TEXT, "value": NOTE_TEXT }),
        );
        assert!(
            editor.server.log().contains("tool=editor/"),
            "calls are logged"
        );
        editor.leave();
    }
}

#[test]
fn a_single_document_that_is_not_found_names_no_tool_that_is_not_there() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let refusal = (APPLICATION_ERROR, "document_not_found");
    let mut refused = |arguments: Value, tools: &[&str]| {
        for tool in tools {
            let error = editor.assert_refused(tool, arguments.clone(), refusal);
            let recovery = error["data"]["recovery"].as_str().unwrap();
            assert!(!recovery.contains("list_documents"), "{tool}: {recovery}");
            assert!(recovery.contains("path"), "{tool}: {recovery}");
        }
        let mut edit = arguments;
        edit["key"] = json!("k");
        edit["value"] = json!("v");
        let error = editor.assert_refused("set_front_matter", edit, refusal);
        let recovery = error["data"]["recovery"].as_str().unwrap();
        assert!(!recovery.contains("list_documents"), "{recovery}");
    };
    let all = ["list_sections", "get_document", "history", "undo"];
    refused(json!({ "path": "other.md" }), &all);
    fs::remove_file(documents.location("doc.md")).unwrap();
    refused(json!({}), &all[..2]);
}

#[test]
fn the_folder_itself_can_be_named_in_a_listing() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("sub/b.md", SAMPLE)]);
    let mut editor = documents.open();
    let all = editor.ok("list_documents", json!({}));
    for folder in [".", "", "./"] {
        let listed = editor.ok("list_documents", json!({ "folder": folder }));
        assert_eq!(listed, all, "{folder:?}");
    }
    let sub = editor.ok("list_documents", json!({ "folder": "sub" }));
    assert_eq!(sub["documents"], json!(["sub/b.md"]));
    for folder in ["..", "/", "sub/../..", "/etc"] {
        let refusal = (INVALID_PARAMS, "outside_root");
        editor.assert_refused("list_documents", json!({ "folder": folder }), refusal);
    }
}

#[test]
fn a_server_of_one_document_keeps_to_the_history_of_that_document() {
    let documents = TestDocuments::single(SAMPLE);
    documents.vault().note("b.md", B);
    let mut folder = sectile();
    folder.args(["serve", "editor"]).arg(documents.location(""));
    let mut editor = Editor::connect(&documents, Era::Handshake, folder, &json!({}));
    let b = editor.id_in("b.md", "B");
    let write = json!({ "section_id": b, "content": "x" });
    let entry = editor.ok("update_section", write)["entry"].clone();
    editor.leave();
    let before = documents.text("b.md");
    let mut editor = documents.open();
    let refusal = (APPLICATION_ERROR, "document_not_found");
    for (tool, arguments) in [
        ("history", json!({ "path": "b.md" })),
        ("history", json!({ "section_id": b })),
        ("get_revision", json!({ "path": "b.md", "entry": entry })),
        ("undo", json!({ "path": "b.md" })),
        ("undo", json!({ "path": "b.md", "entry": entry })),
    ] {
        editor.assert_refused(tool, arguments, refusal);
    }
    let refusal = (APPLICATION_ERROR, "entry_not_found");
    for tool in ["undo", "redo"] {
        editor.assert_refused(tool, json!({ "entry": entry }), refusal);
    }
    assert_eq!(documents.text("b.md"), before);
}
