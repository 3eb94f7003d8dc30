//! The contract's vectors, through the real server.

use serde_json::{Value, json};

use crate::fixture::{Era, Stdio, TestVault, tool_text};

/// Every tool of the vault world.
pub(crate) const TOOLS: [&str; 4] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
    "get_metadata_facets",
];

/// How many vectors of the largest table run in both eras.
const IN_BOTH_ERAS: usize = 10;

/// Inputs and answers observed from the contract's original.
pub(crate) fn table(name: &str) -> Vec<Value> {
    let vectors: Value =
        serde_json::from_str(include_str!("../../test_data/section_source.json")).unwrap();
    let rows = vectors[name].as_array().unwrap().clone();
    assert!(!rows.is_empty(), "the table {name} has rows");
    rows
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} is a string in {row}"))
}

/// Writes a note where a path from a vector leads.
fn write_note(vault: &TestVault, path: &str, markdown: &str) {
    vault.note(&path.replace('\\', "/"), markdown);
}

/// Calls `tool` and compares the answer byte for byte, so that the order of keys counts.
fn assert_answer(
    server: &mut Stdio<'_>,
    era: Era,
    tool: &str,
    path: &str,
    expected: &Value,
    case: &str,
) {
    let answer = server.call(era, tool, json!({ "path": path }));
    assert_eq!(
        tool_text(&answer),
        expected.to_string(),
        "{case}, {tool}, {era:?}"
    );
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(
        structured.to_string(),
        expected.to_string(),
        "{case}, {tool}, {era:?}"
    );
}

fn check_markdown_vectors(rows: &[Value], era: Era) {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, era);
    for row in rows {
        let (id, path) = (text(row, "id"), text(row, "path"));
        write_note(&vault, path, text(row, "markdown"));
        for (tool, key) in [
            ("get_section_source", "section_source"),
            ("get_note_outline", "note_outline"),
            ("get_document_tree", "document_tree"),
        ] {
            let expected = &row[key];
            assert_eq!(expected["path"], path.replace('\\', "/"), "{id}");
            assert_answer(&mut server, era, tool, path, expected, id);
        }
    }
    assert!(server.finish().success());
}

#[test]
fn markdown_vectors() {
    let rows = table("markdown_vectors");
    assert!(
        rows.iter().any(|row| text(row, "path").contains('\\')),
        "one path has backslashes"
    );
    check_markdown_vectors(&rows, Era::Handshake);
    check_markdown_vectors(&rows[..IN_BOTH_ERAS], Era::Stateless);
}

#[test]
fn fuzz_vectors() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for row in table("fuzz_vectors") {
        let path = text(&row, "path");
        write_note(&vault, path, text(&row, "markdown"));
        let answer = server.call(
            Era::Handshake,
            "get_section_source",
            json!({ "path": path }),
        );
        let source: Value = serde_json::from_str(tool_text(&answer)).unwrap();
        assert_eq!(
            answer["result"]["structuredContent"], source,
            "{}",
            row["id"]
        );
        let sections: Vec<Value> = source["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| {
                json!([
                    section["section_id"],
                    section["level"],
                    section["heading_path"],
                    section["child_section_ids"],
                    section["body_available"],
                ])
            })
            .collect();
        assert_eq!(
            json!([source["title"], source["truncated"], sections]),
            json!([row["title"], row["truncated"], row["sections"]]),
            "{}",
            row["id"]
        );
    }
    assert!(server.finish().success());
}

#[test]
fn facet_vectors_from_markdown() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for row in table("metadata_facets_from_markdown") {
        let (path, markdown) = (text(&row, "path"), text(&row, "markdown"));
        write_note(&vault, path, markdown);
        assert_answer(
            &mut server,
            Era::Handshake,
            "get_metadata_facets",
            path,
            &row["result"]["ok"],
            markdown,
        );
    }
    assert!(server.finish().success());
}

/// The original's facets builder takes this path; all four tools here refuse it, as the original's note reader does.
const REFUSED_PATHS: [&str; 1] = ["..foo.md"];

/// The front matter of these vectors is JSON, and JSON is YAML.
#[test]
fn facet_vectors_from_json() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    let mut refused = Vec::new();
    for row in table("metadata_facets") {
        let path = text(&row, "path");
        write_note(&vault, path, &format!("---\n{}\n---\n", row["frontmatter"]));
        let answer = server.call(
            Era::Handshake,
            "get_metadata_facets",
            json!({ "path": path }),
        );
        if answer["result"]["isError"] == true {
            refused.push(path.to_owned());
        } else {
            assert_eq!(
                tool_text(&answer),
                row["result"]["ok"].to_string(),
                "{}",
                row["frontmatter"]
            );
        }
    }
    assert_eq!(refused, REFUSED_PATHS);
    assert!(server.finish().success());
}
