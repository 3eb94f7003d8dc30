//! Unit tier: name, arguments and allowlisted fields of each tool.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    fixture::{Era, Stdio, TestVault, tool_text},
    vectors::TOOLS,
};

/// The answer of `tool` for `path`, decoded with its keys in order.
fn view(server: &mut Stdio<'_>, era: Era, tool: &str, path: &str) -> Value {
    let answer = server.call(era, tool, json!({ "path": path }));
    assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
    serde_json::from_str(tool_text(&answer)).unwrap()
}

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap_or_else(|| panic!("not an object: {object}"))
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_world_has_four_tools_that_take_one_required_path() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut server = Stdio::ready(&vault, era);
        let answer = server.exchange(&era.request(1, "tools/list", json!({})));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, TOOLS, "{era:?}");
        for tool in tools {
            let input = &tool["inputSchema"];
            assert_eq!(input["type"], "object", "{tool}");
            assert_eq!(keys(&input["properties"]), ["path"], "{tool}");
            assert_eq!(input["properties"]["path"]["type"], "string", "{tool}");
            assert_eq!(
                input["properties"]["path"]["description"],
                "Vault-relative path (e.g. inbox/foo.md)",
                "{tool}"
            );
            assert_eq!(input["required"], json!(["path"]), "{tool}");
            assert_eq!(input["additionalProperties"], false, "{tool}");
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        }
    }
}

/// A place in a view and the keys of the objects there, in order.
pub(crate) type Fields = (&'static str, &'static [&'static str]);

/// The fields of each tool's answer.
pub(crate) const ALLOWED: [(&str, &[Fields]); 4] = [
    (
        "get_section_source",
        &[
            ("", &["schema", "path", "title", "sections", "truncated"]),
            (
                "sections",
                &[
                    "section_id",
                    "heading_id",
                    "level",
                    "heading_path",
                    "heading_text",
                    "child_section_ids",
                    "body_available",
                    "body_returned",
                    "snippet_returned",
                ],
            ),
        ],
    ),
    (
        "get_note_outline",
        &[
            ("", &["schema", "path", "title", "headings", "truncated"]),
            ("headings", &["level", "text", "id"]),
        ],
    ),
    (
        "get_document_tree",
        &[
            ("", &["schema", "path", "title", "root", "truncated"]),
            ("root", &["children"]),
            ("children", &["id", "level", "text", "children"]),
        ],
    ),
    (
        "get_metadata_facets",
        &[
            ("", &["schema", "path", "facets", "inferred", "truncated"]),
            (
                "facets",
                &[
                    "project",
                    "tags",
                    "date",
                    "updated",
                    "causal_chain_id",
                    "entity",
                    "episode_id",
                ],
            ),
            ("inferred", &["folder", "source_type"]),
        ],
    ),
];

/// Checks every object in `value` and notes the places where there was one.
pub(crate) fn check_fields(
    value: &Value,
    place: &str,
    allowed: &[Fields],
    met: &mut BTreeSet<String>,
) {
    match value {
        Value::Object(object) => {
            let expected = allowed.iter().find(|(name, _)| *name == place);
            let (_, expected) = expected.unwrap_or_else(|| panic!("an object at {place:?}"));
            assert_eq!(keys(value), *expected, "at {place:?}");
            met.insert(place.to_owned());
            for (key, below) in object {
                check_fields(below, key, allowed, met);
            }
        }
        Value::Array(items) => {
            for item in items {
                check_fields(item, place, allowed, met);
            }
        }
        _ => {}
    }
}

#[test]
fn each_tool_answers_its_allowlisted_fields_in_order_and_no_others() {
    let vault = TestVault::sample();
    vault.note("deep.md", "# A\n## B\n### C\n#### D\ntext\n# E\n");
    for era in Era::BOTH {
        let mut server = Stdio::ready(&vault, era);
        for (tool, allowed) in ALLOWED {
            for path in ["inbox/one.md", "deep.md"] {
                let mut met = BTreeSet::new();
                check_fields(&view(&mut server, era, tool, path), "", allowed, &mut met);
                assert_eq!(met.len(), allowed.len(), "{tool}, {path}, {era:?}: {met:?}");
            }
        }
    }
}

#[test]
fn no_body_and_no_snippet_is_ever_returned() {
    let vault = TestVault::sample();
    vault.note(
        "with-text.md",
        "# A\ntext\n## B\n> quote\n\n- # In a list\n\n  more\n",
    );
    vault.note("without-text.md", "# A\n## B\n");
    vault.note("many.md", "# H\n\ntext\n\n".repeat(501));
    let mut server = Stdio::ready(&vault, Era::Handshake);
    let mut with_body = 0;
    for path in ["inbox/one.md", "with-text.md", "without-text.md", "many.md"] {
        let source = view(&mut server, Era::Handshake, "get_section_source", path);
        let sections = source["sections"].as_array().unwrap();
        assert!(!sections.is_empty(), "{path}");
        for section in sections {
            assert_eq!(section["body_returned"], false, "{path}: {section}");
            assert_eq!(section["snippet_returned"], false, "{path}: {section}");
            with_body += u32::from(section["body_available"] == true);
        }
    }
    assert!(with_body > 500, "there were bodies to return");
}

#[test]
fn the_title_is_the_front_matters_else_the_file_names() {
    let cases = [
        (
            "inbox/foo.md",
            "---\ntitle: Given\n---\n# Heading\n",
            json!("Given"),
        ),
        ("inbox/foo.md", "# Heading\n", json!("foo")),
        (
            "my_long-file__name.md",
            "# Heading\n",
            json!("my long file name"),
        ),
        ("A.Markdown", "", json!("A")),
        ("list.txt", "", json!("list.txt")),
        ("---.md", "", json!(null)),
        ("foo.md", "---\ntitle: '  '\n---\n", json!("foo")),
        ("foo.md", "---\ntitle: ~\n---\n", json!("foo")),
        ("foo.md", "---\ntitle: ' a  b '\n---\n", json!("a  b")),
        ("foo.md", "---\ntitle: 42\n---\n", json!("42")),
        ("foo.md", "---\ntitle: true\n---\n", json!("true")),
        ("foo.md", "---\ntitle: [a, b]\n---\n", json!("a,b")),
        ("foo.md", "---\ntitle: {a: b}\n---\n", json!("foo")),
        (
            "foo.md",
            "---\ntitle: 2025-03-01\n---\n",
            json!("2025-03-01"),
        ),
        ("foo.md", "---\ntitle: [broken\n---\n", json!("foo")),
        ("foo.md", "---\nTitle: Given\n---\n", json!("foo")),
        ("foo.md", "---\r\ntitle: Given\r\n---\r\n", json!("Given")),
        ("foo.md", "\u{feff}---\ntitle: Given\n...", json!("Given")),
    ];
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for (path, note, title) in cases {
        vault.note(path, note);
        for tool in [
            "get_section_source",
            "get_note_outline",
            "get_document_tree",
        ] {
            let view = view(&mut server, Era::Handshake, tool, path);
            assert_eq!(view["title"], title, "{tool}, {path}: {note:?}");
        }
    }
}

/// The answer that the contract has as its example, for a note with this text.
pub(crate) const EXAMPLE: (&str, &str) = (
    "---\ntitle: Example\n---\n# Example\n\nText.\n",
    r#"{"schema":"knowtation.section_source/v0","path":"inbox/example.md","title":"Example","sections":[{"section_id":"inbox-example-md:h1-example-0001","heading_id":"h1-example-0001","level":1,"heading_path":["Example"],"heading_text":"Example","child_section_ids":[],"body_available":true,"body_returned":false,"snippet_returned":false}],"truncated":false}"#,
);

#[test]
fn the_example_of_the_contract_comes_as_it_is_written() {
    let vault = TestVault::empty();
    let (note, expected) = EXAMPLE;
    vault.note("inbox/example.md", note);
    for era in Era::BOTH {
        let arguments = json!({ "path": "inbox/example.md" });
        let answer = Stdio::ready(&vault, era).call(era, "get_section_source", arguments);
        assert_eq!(tool_text(&answer), expected, "{era:?}");
    }
}
