//! The codes of errors: the first line says what is wrong, the second what to do next, and facts follow.

use serde_json::json;

use super::NOTES;
use crate::fixture::{TestDocuments, TestVault};

#[test]
fn what_is_not_found_is_named_with_the_nearest_names() {
    let desk = TestDocuments::desk(NOTES);
    let mut client = desk.open();
    for id in [
        "projects/plann.md",
        "plann",
        "projects/plan.md#Budgett",
        "nothing-1kebc1",
    ] {
        client.assert_error("edit", json!({ "id": id, "new": "x" }), "not_found");
    }
    let call = json!({ "id": "projects/plann.md", "new": "x" });
    let text = client.assert_error("edit", call, "not_found");
    assert!(text.contains("\n- projects/plan.md"), "{text}");
    let call = json!({ "id": "projects/plan.md#Budgets", "new": "x" });
    let text = client.assert_error("edit", call, "not_found");
    assert!(text.contains("\n- projects/plan.md#budget-"), "{text}");
}

#[test]
fn an_ambiguous_name_is_refused_with_all_candidates() {
    let desk = TestDocuments::desk(&[
        (
            "a/plan.md",
            "# One\n\n## Same\n\nfirst\n\n## Same\n\nsecond\n",
        ),
        ("b/plan.md", "# Two\n"),
    ]);
    let mut client = desk.open();
    let text = client.assert_error("edit", json!({ "id": "plan", "new": "x" }), "ambiguous");
    for candidate in ["\n- a/plan.md", "\n- b/plan.md"] {
        assert!(text.contains(candidate), "{text}");
    }
    let call = json!({ "id": "a/plan.md#Same", "new": "x" });
    let text = client.assert_error("edit", call, "ambiguous");
    assert_eq!(text.matches("\n- a/plan.md#same-").count(), 2, "{text}");
    assert!(text.contains("first") && text.contains("second"), "{text}");
}

#[test]
fn malformed_ids_are_refused_and_not_repeated_if_they_could_be_paths_of_this_machine() {
    let desk = TestDocuments::desk(NOTES);
    let before = desk.vault().contents();
    let mut client = desk.open();
    let absolute = desk.location("projects/plan.md");
    let absolute = absolute.to_str().unwrap();
    let long = "x".repeat(100_000);
    for id in [
        "../secret.md",
        "a/../../b.md",
        "\u{0}",
        "a\nb.md",
        "#",
        "[[",
        "[[]]",
        "a.md#",
        "//",
        "\\\\host\\a.md",
        "C:\\a.md",
        absolute,
        "file:///etc/passwd",
        &long,
        ".sectile/journal",
        "projects/.hidden.md",
        "unknown:plan.md",
    ] {
        for (tool, call) in [
            ("edit", json!({ "id": id, "new": "x" })),
            ("set_fields", json!({ "id": id, "set": { "a": 1 } })),
            ("rename", json!({ "id": id, "to": "b.md" })),
            ("delete", json!({ "id": id, "base": "0123456789abcdef" })),
        ] {
            let text = client.error_text(tool, call);
            let code = text.split(':').next().unwrap_or_default();
            let is_known = ["not_found", "malformed_id", "invalid_path"].contains(&code);
            assert!(is_known, "{tool} {id:?}: {text}");
            assert!(text.len() < 2000 && !text.contains(absolute), "{text}");
        }
    }
    for path in [
        "",
        "../a.md",
        absolute,
        "a\u{0}.md",
        ".sectile/a.md",
        "/a.md",
        "con\u{7}.md",
    ] {
        let text = client.error_text("create", json!({ "path": path, "text": "x" }));
        let code = text.split(':').next().unwrap_or_default();
        let is_known = ["invalid_path", "not_markdown", "control_character"].contains(&code);
        assert!(is_known, "{path:?}: {text}");
    }
    client.assert_error(
        "create",
        json!({ "path": "a.txt", "text": "x" }),
        "not_markdown",
    );
    drop(client);
    // The history may have been begun, but no note has changed and none is new.
    let notes = |contents: Vec<(std::path::PathBuf, Vec<u8>)>| {
        let is_note = |(path, _): &(std::path::PathBuf, Vec<u8>)| {
            !path.to_string_lossy().contains(".sectile")
        };
        contents.into_iter().filter(is_note).collect::<Vec<_>>()
    };
    assert_eq!(notes(before), notes(desk.vault().contents()));
}

#[test]
fn a_passage_that_does_not_occur_once_is_shown_where_it_is() {
    let desk = TestDocuments::desk(&[(
        "a.md",
        "# A\n\nThe price is 40.\nThe price is 40.\n\n## B\n\nTwo  words\nhere.\n\n## C\n\nOnly here.\n",
    )]);
    let mut client = desk.open();
    let twice = json!({ "id": "a.md#A", "old": "price is 40", "new": "x" });
    let text = client.assert_error("edit", twice, "text_not_unique");
    assert!(text.contains("occurs 2 times"), "{text}");
    assert!(text.contains("- line 2 of it: The price is 40."), "{text}");
    let blanks = json!({ "id": "a.md#B", "old": "Two words here.", "new": "x" });
    let text = client.assert_error("edit", blanks, "text_not_found");
    assert!(
        text.contains("Only white space differs. It is written so:\nTwo  words\nhere."),
        "{text}"
    );
    let near = json!({ "id": "a.md#B", "old": "Two  wards", "new": "x" });
    let text = client.assert_error("edit", near, "text_not_found");
    assert!(text.contains("Nearest line:\nTwo  words"), "{text}");
    let elsewhere = json!({ "id": "a.md#B", "old": "Only here.", "new": "x" });
    let text = client.assert_error("edit", elsewhere, "text_not_found");
    assert!(text.contains("It occurs here:\n- a.md#c-"), "{text}");
    client.assert_error(
        "edit",
        json!({ "id": "a.md#B", "old": "", "new": "x" }),
        "invalid_arguments",
    );
}

#[test]
fn edits_that_would_break_the_structure_are_refused() {
    let desk = TestDocuments::desk(NOTES);
    let before = desk.text("projects/plan.md");
    let mut client = desk.open();
    let id = "projects/plan.md#Budget";
    for (call, code) in [
        (json!({ "id": id, "new": "# Top\n" }), "boundary_escape"),
        (json!({ "id": id, "new": "```\nopen" }), "boundary_escape"),
        (json!({ "id": id, "new": "a\u{0}b" }), "control_character"),
        (
            json!({ "id": id, "new": "x", "base": "zzz" }),
            "invalid_base",
        ),
        (
            json!({ "id": id, "new": "x", "base": "part-0123456789abcdef" }),
            "part_of_text",
        ),
        (json!({ "id": id, "new": "x".repeat(2 << 20) }), "too_large"),
        (
            json!({ "id": id, "old": "Forty", "new": "x", "place": "append" }),
            "invalid_arguments",
        ),
        (
            json!({ "id": id, "new": "x", "place": "inside" }),
            "invalid_arguments",
        ),
        (json!({ "id": "projects/", "new": "x" }), "wrong_kind"),
        (json!({ "id": "", "new": "x" }), "wrong_kind"),
        (json!({ "id": id }), "invalid_arguments"),
        (json!({}), "invalid_arguments"),
    ] {
        client.assert_error("edit", call, code);
    }
    for to in ["", "  ", "two\nlines"] {
        client.assert_error("rename", json!({ "id": id, "to": to }), "invalid_heading");
    }
    client.assert_error(
        "rename",
        json!({ "id": id, "to": "projects/plan.md#Catering" }),
        "into_itself",
    );
    client.assert_error("rename", json!({ "id": "", "to": "x" }), "wrong_kind");
    client.assert_error("delete", json!({ "id": ".", "base": "x" }), "wrong_kind");
    client.assert_error(
        "set_fields",
        json!({ "id": "projects", "set": { "a": 1 } }),
        "wrong_kind",
    );
    client.assert_error(
        "set_fields",
        json!({ "id": "index.md", "set": { "": 1 } }),
        "front_matter",
    );
    assert_eq!(desk.text("projects/plan.md"), before);
}

#[test]
fn a_document_that_is_not_utf_8_is_not_edited() {
    let vault = TestVault::empty();
    vault.note("a.md", b"# A\n\n\xff\xfe text\n");
    let desk = TestDocuments::desk(&[]);
    desk.vault().note("a.md", b"# A\n\n\xff\xfe text\n");
    let mut client = desk.open();
    let call = json!({ "id": "a.md#A", "old": "text", "new": "x" });
    client.assert_error("edit", call, "encoding");
}

#[test]
fn a_link_is_read_but_not_renamed_or_deleted() {
    let desk = TestDocuments::desk(NOTES);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("plan.md", desk.location("projects/link.md")).unwrap();
        let mut client = desk.open();
        for (tool, call) in [
            ("rename", json!({ "id": "projects/link.md", "to": "b.md" })),
            (
                "delete",
                json!({ "id": "projects/link.md", "base": "0123456789abcdef" }),
            ),
        ] {
            client.assert_error(tool, call, "is_link");
        }
        assert!(desk.location("projects/link.md").exists());
    }
}

#[test]
fn a_deleted_section_names_the_change_that_brings_it_back() {
    let desk = TestDocuments::desk(&[("a.md", "# A\n\n## B\n\nb\n")]);
    let mut client = desk.open();
    let found = client.ok("edit", json!({ "id": "a.md#B", "old": "b", "new": "b" }));
    let gone = client.ok(
        "delete",
        json!({ "id": found["id"], "base": found["base"] }),
    );
    let section = found["id"].as_str().unwrap().split_once('#').unwrap().1;
    let change = gone["change"].as_str().unwrap();
    for id in [section.to_owned(), format!("a.md#{section}")] {
        let text = client.assert_error("edit", json!({ "id": id, "new": "x" }), "deleted");
        assert!(text.contains(&format!("by change {change}.")), "{text}");
    }
    client.ok("undo", json!({ "change": change }));
    client.ok("edit", json!({ "id": section, "new": "x" }));
    assert_eq!(desk.text("a.md"), "# A\n\n## B\n\nx\n");
}
