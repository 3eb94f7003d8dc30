//! Hostile content of notes.

use serde_json::{Value, json};

use super::Client;
use crate::{
    fixture::{TestVault, tool_text},
    vectors::TOOLS,
};

const HEADING_TOOLS: [&str; 3] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
];
const TOO_LONG: &str =
    "Note outline input exceeds 1000000 characters; refusing to parse unbounded Markdown.";

#[test]
fn a_note_that_is_not_utf_8_shows_replacement_characters() {
    let vault = TestVault::sample();
    vault.note(
        "latin.md",
        b"---\ntitle: \xe9t\xe9\ntags: [caf\xe9]\n---\n# caf\xe9 \xff\xfe\n",
    );
    vault.note(
        "binary.md",
        (0..=255).cycle().take(100_000).collect::<Vec<u8>>(),
    );
    vault.note("wide.md", b"\xff\xfe#\0 \0A\0\n\0");
    let mut client = Client::stdio(&vault, &[]);
    let outline = client.view("get_note_outline", "latin.md");
    assert_eq!(
        outline["headings"][0]["text"],
        "caf\u{fffd} \u{fffd}\u{fffd}"
    );
    for tool in TOOLS {
        for path in ["latin.md", "binary.md", "wide.md"] {
            client.view(tool, path);
        }
    }
}

#[test]
fn input_beyond_the_cap_is_refused_by_the_heading_tools_alone() {
    let vault = TestVault::sample();
    vault.note("fits.md", "x".repeat(1_000_000));
    vault.note("long.md", "x".repeat(1_000_001));
    vault.note("fits-in-pairs.md", "🚀".repeat(500_000));
    vault.note("long-in-pairs.md", "🚀".repeat(500_001));
    // Front matter and white space at the end do not count.
    vault.note(
        "fits-beside.md",
        format!(
            "---\nproject: P\n---\n{}{}",
            "x".repeat(1_000_000),
            "\n ".repeat(1000)
        ),
    );
    let mut client = Client::stdio(&vault, &[]);
    for tool in HEADING_TOOLS {
        for path in ["fits.md", "fits-in-pairs.md", "fits-beside.md"] {
            assert_eq!(
                client.view(tool, path)["truncated"],
                false,
                "{tool}, {path}"
            );
        }
        for path in ["long.md", "long-in-pairs.md"] {
            client.fails(tool, json!({ "path": path }), TOO_LONG, path);
        }
    }
    for path in ["fits.md", "long.md", "long-in-pairs.md"] {
        let facets = client.view("get_metadata_facets", path);
        assert_eq!(facets["truncated"], false, "{path}");
    }
}

#[test]
fn deep_nesting_is_parsed() {
    let vault = TestVault::sample();
    vault.note("quotes.md", format!("{} # Deep\n", ">".repeat(200_000)));
    vault.note("lists.md", format!("{}# Deep\n", "- ".repeat(50_000)));
    vault.note("brackets.md", format!("# {}Deep\n", "[".repeat(200_000)));
    vault.note(
        "emphasis.md",
        format!("# {}Deep\n", "*a **b ".repeat(50_000)),
    );
    vault.note(
        "images.md",
        format!("# {}Deep{}\n", "![".repeat(50_000), "](u)".repeat(50_000)),
    );
    let mut client = Client::stdio(&vault, &[]);
    for path in [
        "quotes.md",
        "lists.md",
        "brackets.md",
        "emphasis.md",
        "images.md",
    ] {
        for tool in TOOLS {
            client.view(tool, path);
        }
        let outline = client.view("get_note_outline", path);
        assert_eq!(outline["headings"].as_array().unwrap().len(), 1, "{path}");
    }
    let outline = client.view("get_note_outline", "quotes.md");
    assert_eq!(outline["headings"][0]["text"], "Deep");
}

#[test]
fn a_long_heading_over_many_children_is_cut() {
    let vault = TestVault::sample();
    let note = format!("# {}\n{}", "w".repeat(400_000), "## Child\n".repeat(499));
    vault.note("wide.md", note);
    let mut client = Client::stdio(&vault, &[]);
    for tool in HEADING_TOOLS {
        let answer = client.read(tool, "wide.md");
        assert!(answer.to_string().len() < 1_000_000, "{tool}");
        let view: Value = serde_json::from_str(tool_text(&answer)).unwrap();
        assert_eq!(view["truncated"], true, "{tool}");
    }
    let source = client.view("get_section_source", "wide.md");
    assert_eq!(source["sections"].as_array().unwrap().len(), 500);
    assert_eq!(source["sections"][0]["heading_text"], "w".repeat(256));
    assert_eq!(source["sections"][499]["heading_path"][0], "w".repeat(256));
}

/// Each level of an alias bomb repeats the one before nine times.
fn alias_bomb() -> String {
    let mut yaml = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        yaml += &format!("a{level}: &a{level} [{items}]\n");
    }
    yaml
}

#[test]
fn front_matter_that_is_a_bomb_counts_as_absent() {
    let vault = TestVault::sample();
    let keys: String = (0..100_000).map(|key| format!("k{key}: v\n")).collect();
    let bombs = [
        ("alias-bomb.md", alias_bomb(), "alias bomb"),
        (
            "deep-brackets.md",
            format!("deep: {}\n", "[".repeat(10_000)),
            "deep brackets",
        ),
        (
            "closed-brackets.md",
            format!("deep: {}{}\n", "[".repeat(10_000), "]".repeat(10_000)),
            "closed brackets",
        ),
        (
            "deep-maps.md",
            format!("deep: {}\n", "{a: ".repeat(10_000)),
            "deep maps",
        ),
        ("many-keys.md", keys, "many keys"),
        (
            "long-list.md",
            format!("tags: [{}]\n", "t,".repeat(200_000)),
            "long list",
        ),
        (
            "self-reference.md",
            "tags: &a [*a]\n".to_owned(),
            "self reference",
        ),
        ("merge.md", "a: &a {<<: *a}\n".to_owned(), "merge"),
    ];
    for (path, yaml, _) in &bombs {
        let note = format!("---\ntitle: Bomb\n{yaml}---\n# Heading\n");
        vault.note(path, note);
    }
    let mut client = Client::stdio(&vault, &[]);
    for (path, _, title) in &bombs {
        for tool in HEADING_TOOLS {
            assert_eq!(client.view(tool, path)["title"], *title, "{tool}, {path}");
        }
        let facets = client.view("get_metadata_facets", path);
        assert_eq!(facets["facets"]["tags"], json!([]), "{path}");
    }
}
