//! A tool that a caller cannot see is named nowhere: not in instructions, listings, schemas, answers or errors.
//!
//! Every tool of every world is hidden by itself, and whatever can be asked of the rest is asked. What documents say and
//! what was recorded of earlier changes is data, not something the program says: none of it names a tool here.

use std::{collections::BTreeSet, process::Command};

use serde_json::{Value, json};

use crate::fixture::{
    Caller, Era, More, NOTE_TEXT, Stdio, TestDocuments, TestHosted, TestVault, initialize, sectile,
};

/// A request: its method and parameters.
pub(crate) type Asked = (&'static str, Value);

pub(crate) fn call(tool: &str, arguments: Value) -> Asked {
    (
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
}

/// What any client asks first.
pub(crate) fn listings(era: Era) -> Vec<Asked> {
    let mut asked = vec![
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/read", json!({ "uri": "sectile://nope" })),
        ("prompts/get", json!({ "name": "nope" })),
        ("nope/nope", json!({})),
    ];
    if era == Era::Stateless {
        asked.push(("server/discover", json!({})));
    }
    asked
}

/// Every byte that a server writes when it is asked all of this.
fn heard(vault: &TestVault, command: Command, era: Era, asked: &[Asked]) -> String {
    let mut server = Stdio::spawn(vault, command);
    if era == Era::Handshake {
        server.exchange(&initialize(0));
        server.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }
    for (id, (method, params)) in (1..).zip(asked) {
        let request = era.request(id, method, params.clone());
        server.send_line(&request.to_string());
        while server.receive()["id"] != id {}
    }
    let written = server.written();
    assert!(server.finish().success());
    written
}

/// The names in a listing of tools.
fn names_in(written: &str) -> BTreeSet<String> {
    let answers = written
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let listing = answers
        .map(|answer: Value| answer["result"]["tools"].clone())
        .find(Value::is_array)
        .expect("a listing of tools");
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    listing.as_array().unwrap().iter().map(name).collect()
}

/// Words that tools are called and that mean something else as well, with what stands before them then.
const ORDINARY: [(&str, &[&str]); 3] = [
    (
        "history",
        &[
            "the ", "The ", "its ", "editor/", "last ", "\"", "\\\"", "this ",
        ],
    ),
    ("undo", &["can_", "_to_", "nothing to ", "already_"]),
    ("redo", &["can_", "_to_", "nothing to ", "already_"]),
];

/// Fails when `name` is somewhere as the name of a tool.
pub(crate) fn assert_unnamed(written: &str, name: &str, case: &str) {
    let other_meanings = ORDINARY.iter().find(|(word, _)| *word == name);
    for (at, _) in written.match_indices(name) {
        let (before, after) = (&written[..at], &written[at + name.len()..]);
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric());
        let is_other = other_meanings
            .is_some_and(|(_, all)| goes_on || all.iter().any(|words| before.ends_with(words)));
        let line = before.rsplit('\n').next().unwrap();
        let start = line.len().saturating_sub(200);
        let start = (start..).find(|at| line.is_char_boundary(*at)).unwrap();
        let end: String = after.chars().take(100).collect();
        assert!(is_other, "{case}: …{}{name}{end}…", &line[start..]);
    }
}

/// Hides each tool of a world by itself and looks for its name in whatever is answered.
pub(crate) fn assert_hidden_tools_are_unnamed(
    world: &str,
    vault: &TestVault,
    command: impl Fn(&str) -> Command,
    asked: &[Asked],
) {
    for era in Era::BOTH {
        let all: Vec<Asked> = [listings(era), asked.to_vec()].concat();
        let tools = names_in(&heard(vault, command(""), era, &listings(era)));
        assert!(!tools.is_empty(), "{world}");
        for tool in &tools {
            let others: Vec<&String> = tools.iter().filter(|other| *other != tool).collect();
            let mut hiding = vec![format!("[server.tools]\ndenylist = ['{world}/{tool}']\n")];
            // An empty list would allow everything.
            hiding.extend((!others.is_empty()).then(|| allowing(&others)));
            for settings in hiding {
                let case = format!("{world}, {era:?}, {settings}");
                let written = heard(vault, command(&settings), era, &all);
                assert_unnamed(&written, tool, &case);
            }
        }
    }
}

/// Settings under which only these tools exist.
fn allowing(tools: &[&String]) -> String {
    let names: Vec<String> = tools.iter().map(|name| format!("'{name}'")).collect();
    format!("[server.tools]\nallowlist = [{}]\n", names.join(", "))
}

#[test]
fn hidden_tools_are_named_nowhere_in_the_vault_world() {
    let vault = TestVault::sample();
    let command = |settings: &str| {
        let mut command = sectile();
        command.args(["serve", "vault"]).arg(vault.root());
        command.arg("--config").arg(vault.config(settings));
        command
    };
    let paths = [
        json!({ "path": "inbox/one.md" }),
        json!({ "path": "nope.md" }),
        json!({ "path": "../nope.md" }),
        json!({ "path": 5 }),
        json!({ "nope": 5 }),
        json!({}),
    ];
    let asked: Vec<Asked> = VAULT_TOOLS
        .iter()
        .flat_map(|tool| paths.iter().map(|arguments| call(tool, arguments.clone())))
        .collect();
    assert_hidden_tools_are_unnamed("vault", &vault, command, &asked);
}

const VAULT_TOOLS: [&str; 5] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
    "get_metadata_facets",
    "nope",
];

#[test]
fn hidden_tools_are_named_nowhere_in_the_hosted_world() {
    let hosted = TestHosted::sample();
    for tool in &VAULT_TOOLS[..4] {
        let tables = format!("[server.tools]\ndenylist = ['{tool}']\n");
        let gateway = hosted.serve_with(More {
            tables: &tables,
            ..More::default()
        });
        let ann = Caller::named("ann");
        for era in Era::BOTH {
            let mut asked = listings(era);
            if era == Era::Handshake {
                asked.push(("initialize", initialize(0)["params"].clone()));
            }
            for tool in VAULT_TOOLS {
                for path in ["inbox/one.md", "nope.md", "/nope", ""] {
                    asked.push(call(tool, json!({ "path": path })));
                }
                asked.push(call(tool, json!({ "nope": 1 })));
            }
            for (id, (method, params)) in (1..).zip(asked) {
                gateway.post(era, &ann, &era.request(id, method, params));
            }
        }
        gateway.http.request("GET", "/", &[], b"");
        assert_unnamed(&gateway.http.answers().text(), tool, "hosted");
    }
}

#[test]
fn hidden_tools_are_named_nowhere_in_the_docs_world() {
    let vault = TestVault::empty();
    vault.note("guide.md", "# Guide\n\nHow to begin.\n");
    let command = |settings: &str| {
        let mut command = sectile();
        let file = "[docs]\ninclude_default_docs = false\nextra_paths = ['vault']\n";
        command.args(["serve", "docs", "--config"]);
        command.arg(vault.config(&format!("{file}{settings}")));
        command
    };
    let asked = [
        call("sectile_docs_search", json!({ "query": "begin" })),
        call("sectile_docs_search", json!({ "query": "zzz" })),
        call("sectile_docs_search", json!({ "nope": 1 })),
        ("resources/read", json!({ "uri": "sectile://docs/guide" })),
        ("resources/read", json!({ "uri": "sectile://docs/nope" })),
    ];
    assert_hidden_tools_are_unnamed("docs", &vault, command, &asked);
    let written = heard(
        &vault,
        command("enable_search = false\n"),
        Era::Handshake,
        &[listings(Era::Handshake), asked.to_vec()].concat(),
    );
    assert_unnamed(&written, "sectile_docs_search", "search is switched off");
}

const DOCUMENT: &str = "---\ntitle: One\n---\n# Title\n\nIntro text.\n\n## Alpha\n\nAlpha body.\n\n### Child\n\nChild body.\n\n\
                        ## Twin\n\nOne.\n\n## Twin\n\nTwo.\n\n## Long\n\n";

/// Arguments of a call, once for each of some values of one of them.
fn each<const N: usize>(tool: &'static str, name: &str, values: [Value; N]) -> Vec<Asked> {
    let with = |value: Value| {
        let mut arguments = json!({});
        arguments[name] = value;
        call(tool, arguments)
    };
    values.into_iter().map(with).collect()
}

/// Calls that look at documents, and that fail in as many ways as there are.
fn reading(alpha: &str, long: &str) -> Vec<Asked> {
    let mut asked = Vec::new();
    for tool in ["list_sections", "get_document", "history", "check_links"] {
        let paths = ["doc.md", "nope.md", "../x.md", "x.txt", ".git/x.md"].map(Value::from);
        asked.extend(each(tool, "path", paths));
        asked.extend(each(tool, "cursor", [json!("x"), json!("9.0000")]));
        asked.push(call(tool, json!({})));
    }
    for tool in ["get_section", "history"] {
        asked.extend(each(
            tool,
            "section_id",
            [alpha, long, "nope-1"].map(Value::from),
        ));
    }
    asked.push(call(
        "get_section",
        json!({ "heading": "Twin", "path": "doc.md" }),
    ));
    asked.push(call(
        "get_section",
        json!({ "heading": "Alph", "path": "doc.md" }),
    ));
    asked.push(call(
        "get_section",
        json!({ "section_id": long, "cursor": "1.0" }),
    ));
    asked.push(call(
        "get_section",
        json!({ "section_id": alpha, "heading": "Title" }),
    ));
    asked.extend(
        [0, 1, 99].map(|entry| call("get_revision", json!({ "entry": entry, "path": "doc.md" }))),
    );
    asked.push(call("list_documents", json!({})));
    asked.push(call("open_document", json!({ "path": "nope.md" })));
    let argument = json!({ "name": "section_id", "value": "" });
    let prompt = json!({ "type": "ref/prompt", "name": "summarize_section" });
    asked.push((
        "completion/complete",
        json!({ "ref": prompt, "argument": argument }),
    ));
    for arguments in [
        json!({ "section_id": alpha }),
        json!({ "section_id": "nope" }),
        json!({ "heading": "Twin", "path": "doc.md" }),
        json!({ "nope": "x" }),
        json!({}),
    ] {
        let prompt = json!({ "name": "summarize_section", "arguments": arguments });
        asked.push(("prompts/get", prompt));
    }
    for uri in ["structure", "metadata", "documents/nope.md"] {
        asked.push((
            "resources/read",
            json!({ "uri": format!("sectile://editor/{uri}") }),
        ));
    }
    asked
}

/// Calls that would change documents: dry runs, and calls that fail.
fn writing(alpha: &str, long: &str) -> Vec<Asked> {
    let stale = "0".repeat(64);
    let mut asked = Vec::new();
    for arguments in [
        json!({ "section_id": alpha, "content": "x", "dry_run": true }),
        json!({ "section_id": alpha, "content": "# Top\n" }),
        json!({ "section_id": alpha, "content": "```\n" }),
        json!({ "section_id": alpha, "content": "x", "expected_hash": stale }),
        json!({ "section_id": alpha, "content": "x", "expected_hash": "x" }),
        json!({ "section_id": long, "content": "Only a part." }),
        json!({ "section_id": "nope-1", "content": "x" }),
        json!({ "heading": "Twin", "path": "doc.md", "content": "x" }),
        json!({ "content": "x" }),
    ] {
        asked.push(call("update_section", arguments));
    }
    for arguments in [
        json!({ "heading": "New", "position": 99, "path": "doc.md" }),
        json!({ "heading": "New", "position": 1, "place": "after", "path": "doc.md" }),
        json!({ "heading": "New", "content": "# Up\n", "position": 1, "path": "doc.md", "level": 4 }),
        json!({ "heading": "", "content": "x", "position": 0, "path": "doc.md" }),
        json!({ "heading": "New", "content": "x", "position": 0, "dry_run": true, "path": "doc.md" }),
        json!({ "heading": "New", "content": "x", "position": 0, "dry_run": true }),
    ] {
        asked.push(call("insert_section", arguments));
    }
    for tool in [
        "delete_section",
        "move_section",
        "rename_section",
        "edit_text",
    ] {
        for arguments in [
            json!({ "section_id": "nope-1" }),
            json!({ "section_id": alpha, "dry_run": true }),
            json!({ "section_id": alpha, "new_position": 99 }),
            json!({ "section_id": alpha, "place": "after", "anchor": alpha }),
            json!({ "section_id": alpha, "heading": "" }),
            json!({ "section_id": alpha, "heading": "Other", "dry_run": true }),
            json!({ "section_id": alpha, "old_text": "zzz", "new_text": "x" }),
            json!({ "section_id": alpha, "expected_hash": stale }),
            json!({ "heading": "Twin", "path": "doc.md" }),
            json!({}),
        ] {
            asked.push(call(tool, arguments));
        }
    }
    asked.push(call(
        "set_front_matter",
        json!({ "path": "doc.md", "key": "a", "value": 1, "dry_run": true }),
    ));
    asked.push(call("set_front_matter", json!({ "path": "doc.md" })));
    for operation in OPERATIONS {
        let edit = json!({ "operation": operation, "section_id": alpha });
        asked.push(call(
            "apply_edits",
            json!({ "edits": [edit], "path": "doc.md", "dry_run": true }),
        ));
        let edit = json!({ "operation": operation, "path": "nope.md", "content": "x" });
        asked.push(call(
            "apply_edits",
            json!({ "edits": [edit], "dry_run": true }),
        ));
    }
    asked.push(call("apply_edits", json!({ "edits": [] })));
    asked.push(call(
        "apply_edits",
        json!({ "edits": [{ "operation": "nope" }] }),
    ));
    asked.push(call("apply_plan", json!({ "plan": "nope" })));
    for tool in ["undo", "redo"] {
        asked.push(call(tool, json!({ "path": "doc.md", "dry_run": true })));
        asked.push(call(tool, json!({ "path": "empty.md" })));
        asked.push(call(tool, json!({ "entry": 99 })));
    }
    for tool in ["create_document", "rename_document", "delete_document"] {
        for path in ["doc.md", "nope.md", "x.txt", "../x.md"] {
            let new_path = "empty.md";
            asked.push(call(tool, json!({ "path": path, "dry_run": true })));
            asked.push(call(
                tool,
                json!({ "path": path, "new_path": new_path, "dry_run": true }),
            ));
        }
    }
    asked
}

const OPERATIONS: [&str; 10] = [
    "insert_section",
    "update_section",
    "delete_section",
    "move_section",
    "rename_section",
    "edit_text",
    "set_front_matter",
    "create_document",
    "rename_document",
    "delete_document",
];

/// Documents of a single editor and of a folder, and what is asked of them.
fn editors() -> Vec<(&'static str, TestDocuments, Vec<Asked>)> {
    let text = format!("{DOCUMENT}{}\n", format!("{NOTE_TEXT} long. ").repeat(300));
    let folder = TestDocuments::folder(&[("doc.md", &text), ("empty.md", "")]);
    let all = [
        ("document", TestDocuments::single(&text)),
        ("folder", folder),
    ];
    let asked = |documents: &TestDocuments| {
        let mut editor = documents.open_with(Era::Handshake, LIMITS);
        let (alpha, long) = (
            editor.id_in("doc.md", "Alpha"),
            editor.id_in("doc.md", "Long"),
        );
        let beta =
            json!({ "section_id": alpha, "old_text": "Alpha body.", "new_text": "Alpha text." });
        editor.ok("edit_text", beta);
        [reading(&alpha, &long), writing(&alpha, &long)].concat()
    };
    all.map(|(name, documents)| {
        let asked = asked(&documents);
        (name, documents, asked)
    })
    .into()
}

/// So that texts come in parts.
const LIMITS: &str = "[editor]\nmax_answer_bytes = 4096\n";

/// Whether the history has an entry of this tool, which says so. All else that succeeds is a dry run.
fn is_recorded(tool: &str) -> bool {
    tool == "edit_text"
}

#[test]
fn hidden_tools_are_named_nowhere_in_the_editor_world() {
    for ((name, documents, asked), (style, era)) in editors()
        .into_iter()
        .zip([("protocol", Era::Handshake), ("result", Era::Stateless)])
    {
        let command = |settings: &str| {
            let errors = format!("{LIMITS}errors = '{style}'\n");
            documents.command(&format!("{errors}{settings}"))
        };
        let vault = documents.vault();
        let tools = names_in(&heard(vault, command(""), era, &listings(era)));
        assert!(tools.len() >= 17, "{tools:?}");
        for tool in &tools {
            let settings = format!("[server.tools]\ndenylist = ['editor/{tool}']\n");
            let mut all: Vec<Asked> = [listings(era), asked.clone()].concat();
            if is_recorded(tool) {
                // The record of a change says which tool made it.
                all.retain(|(_, params)| params["name"] != "history");
            }
            let written = heard(vault, command(&settings), era, &all);
            assert_unnamed(&written, tool, &format!("{name}, {era:?}, {tool}"));
        }
    }
}

#[test]
fn what_a_single_document_has_no_tools_for_is_named_nowhere() {
    let (_, documents, asked) = editors().swap_remove(0);
    for era in Era::BOTH {
        let all = [listings(era), asked.clone()].concat();
        let written = heard(documents.vault(), documents.command(LIMITS), era, &all);
        for tool in ["list_documents", "open_document"] {
            assert_unnamed(&written, tool, "a single document");
        }
    }
}

#[test]
fn a_server_that_only_reads_names_no_tool_that_writes() {
    for (name, documents, asked) in editors() {
        for era in Era::BOTH {
            let command = |more: &[&str]| {
                let mut command = documents.command(LIMITS);
                command.args(more);
                command
            };
            let first = listings(era);
            let all = names_in(&heard(documents.vault(), command(&[]), era, &first));
            let asked: Vec<Asked> = [first.clone(), asked.clone()].concat();
            let written = heard(documents.vault(), command(&["--read-only"]), era, &asked);
            let left = names_in(&written);
            for tool in all.difference(&left).filter(|tool| !is_recorded(tool)) {
                assert_unnamed(&written, tool, &format!("{name}, {era:?}, {tool}"));
            }
        }
    }
}
