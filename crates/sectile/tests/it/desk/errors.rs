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

/// However the note is named, and wherever it is.
#[test]
fn a_heading_that_is_not_there_is_answered_with_those_that_are() {
    let desk = TestDocuments::desk(NOTES);
    desk.vault().note("deep/er/plain.md", "Only text.\n");
    let mut client = desk.open();
    for id in [
        "plan.md#Nothing",
        "plan#Nothing",
        "PLAN.md#Nothing",
        "[[Plan#Nothing]]",
        "projects/plan.md#Nothing",
        "plan.md#Budget/Nothing",
    ] {
        let text = client.assert_error("edit", json!({ "id": id, "new": "x" }), "not_found");
        for heading in ["plan", "budget", "catering", "dates"] {
            let offered = format!("\n- projects/plan.md#{heading}-");
            assert!(text.contains(&offered), "{id}: {text}");
        }
    }
    // The most similar one comes first.
    for (wanted, first) in [
        ("Date", "dates"),
        ("Buget", "budget"),
        ("the catering costs", "catering"),
    ] {
        let call = json!({ "id": format!("plan.md#{wanted}"), "new": "x" });
        let text = client.assert_error("edit", call, "not_found");
        let first = format!("Nearest:\n- projects/plan.md#{first}-");
        assert!(text.contains(&first), "{wanted}: {text}");
    }
    let call = json!({ "id": "plain#Nothing", "new": "x" });
    let text = client.assert_error("edit", call, "not_found");
    assert!(text.contains("Nearest:\n- deep/er/plain.md"), "{text}");
}

/// Links write spaces as `%20`, so that form of a path is understood; what separates the parts of an id is never encoded.
#[test]
fn an_encoded_path_is_understood_and_an_encoded_separator_is_not() {
    let desk = TestDocuments::desk(NOTES);
    desk.overwrite("projects/my plan.md", "# Mine\n\n## Größe\n\nText.\n");
    desk.overwrite("C# notes.md", "# Notes\n\nText.\n");
    desk.overwrite("100%25.md", "# Literal\n\nText.\n");
    let mut client = desk.open();
    for (id, found) in [
        ("projects/my%20plan.md", "projects/my plan.md"),
        ("my%20plan", "projects/my plan.md"),
        (
            "projects/my%20plan.md#Gr%C3%B6%C3%9Fe",
            "projects/my plan.md#größe-",
        ),
        ("C%23%20notes.md", "C# notes.md"),
        ("100%25.md", "100%25.md"),
    ] {
        let edit = json!({ "id": id, "old": "Text.", "new": "Text." });
        let answer = client.ok("edit", edit);
        let answered = answer["id"].as_str().unwrap();
        let is_id = answered == found || (found.ends_with('-') && answered.contains('#'));
        assert!(is_id, "{id}: {answer}");
    }
    for (id, why) in [
        ("projects%2Fplan.md", "encoded separator"),
        ("projects%5cplan.md", "encoded separator"),
        ("projects/plan.md%23Budget", "encoded separator"),
        ("projects/plan%00.md", "control character"),
        ("%2e%2e/plan.md", "never lead upwards"),
        ("\u{feff}", "cannot be seen"),
        ("projects/pl\u{200b}an.md", "cannot be seen"),
        ("\u{202e}plan", "cannot be seen"),
        ("projects/plan.md#Budget/", "heading path is empty"),
        ("projects/plan.md#/Budget", "heading path is empty"),
        ("plan#Budget//Catering", "heading path is empty"),
        ("plan#", "nothing follows"),
        ("#^block", "does not name a note"),
    ] {
        for (tool, call) in [
            ("edit", json!({ "id": id, "new": "x" })),
            ("delete", json!({ "id": id, "base": "0123456789abcdef" })),
            ("outline", json!({ "id": id })),
            ("links", json!({ "id": id })),
            ("changes", json!({ "id": id })),
            ("fetch", json!({ "id": id })),
        ] {
            let text = client.assert_error(tool, call, "malformed_id");
            assert!(text.contains(why), "{tool} {id:?}: {text}");
        }
    }
}

/// A heading may have a slash at its end or two in a row: what is there comes before what is well formed.
#[test]
fn slashes_of_a_heading_are_not_parts_of_a_path() {
    let desk =
        TestDocuments::desk(&[("a.md", "# A\n\n## TCP/\n\none\n\n## https://x.org\n\ntwo\n")]);
    let mut client = desk.open();
    client.ok("edit", json!({ "id": "a#TCP/", "old": "one", "new": "1" }));
    client.ok(
        "edit",
        json!({ "id": "a#https://x.org", "old": "two", "new": "2" }),
    );
    client.ok(
        "edit",
        json!({ "id": "a#A/TCP/", "old": "1", "new": "one" }),
    );
}

/// Someone who knows the old path is told the new one.
#[test]
fn a_note_that_was_renamed_is_named_where_it_is_now() {
    let desk = TestDocuments::desk(NOTES);
    let mut client = desk.open();
    let to = "archive/summer.md";
    let renamed = client.ok("rename", json!({ "id": "projects/plan.md", "to": to }));
    let hint = format!(
        "Nearest:\n- archive/summer.md (renamed by change {})",
        renamed["change"].as_str().unwrap()
    );
    for id in ["projects/plan.md", "projects/plan.md#Budget"] {
        let text = client.assert_error("edit", json!({ "id": id, "new": "x" }), "not_found");
        assert!(text.contains(&hint), "{text}");
    }
    client.ok("rename", json!({ "id": to, "to": "elsewhere.md" }));
    let call = json!({ "id": "projects/plan.md", "new": "x" });
    let text = client.assert_error("edit", call, "not_found");
    assert!(!text.contains("summer"), "{text}");
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
    let before = desk.all();
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
        "x/../y.md",
        "projects\\..\\y.md",
        "projects/ .. /y.md",
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
    assert_eq!(before, desk.all());
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
        text.contains("Only white space differs. The text there is:\nTwo  words\nhere."),
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
    let desk = TestDocuments::desk_in_folder(NOTES);
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
