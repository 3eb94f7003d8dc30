//! Links in HTML and front matter, what Obsidian adds to links, links of the file system, texts that look like dates, and line ends in CR.

use serde_json::json;

use super::INVALID_PARAMS;
use crate::fixture::TestDocuments;

#[test]
fn links_in_html_and_front_matter_follow_or_are_told() {
    let documents = TestDocuments::folder(&[
        ("a.md", "# A\n"),
        (
            "b.md",
            "---\nup: \"[[a]]\"\n---\n<img src=\"a.md\"> <a href='a.md#a'>x</a> `<a href=\"a.md\">`\n",
        ),
        ("broken.md", "---\nup: [[a]], [[b]]\n---\n"),
    ]);
    let mut editor = documents.open();
    let rename = json!({ "path": "a.md", "new_path": "it's.md" });
    let renamed = editor.ok("rename_document", rename);
    assert_eq!(renamed["repaired_links"], 3, "{renamed}");
    assert_eq!(
        documents.text("b.md"),
        "---\nup: \"[[it's]]\"\n---\n<img src=\"it's.md\"> <a href='it%27s.md#a'>x</a> `<a href=\"a.md\">`\n"
    );
    let told =
        json!([{ "path": "broken.md", "line": 2, "target": "a", "reason": "no such document" }]);
    assert_eq!(renamed["broken_links"], told);
    let checked = editor.ok("check_links", json!({}));
    assert_eq!(checked["broken_links"], told);
    editor.ok("undo", json!({ "path": "it's.md" }));
    assert_eq!(
        editor.ok("check_links", json!({}))["broken_links"],
        json!([])
    );
}

#[test]
fn a_document_that_cannot_be_read_is_told() {
    let large = format!("[a](a.md)\n{}", "x".repeat(17 << 20));
    let documents = TestDocuments::folder(&[("a.md", "# A\n"), ("large.md", &large)]);
    let mut editor = documents.open();
    let renamed = editor.ok(
        "rename_document",
        json!({ "path": "a.md", "new_path": "b.md" }),
    );
    let told = &renamed["broken_links"][0];
    assert_eq!(
        (&told["path"], &told["target"]),
        (&json!("large.md"), &json!(""))
    );
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.contains("too large"), "{reason}");
    assert_eq!(documents.text("large.md"), large);
}

#[test]
fn a_link_of_the_file_system_is_not_renamed_or_deleted() {
    let documents = TestDocuments::folder(&[("a.md", "# A\n")]);
    std::os::unix::fs::symlink("a.md", documents.vault().root().join("same.md")).unwrap();
    let mut editor = documents.open();
    for (tool, arguments) in [
        (
            "rename_document",
            json!({ "path": "same.md", "new_path": "c.md" }),
        ),
        ("delete_document", json!({ "path": "same.md" })),
    ] {
        let refused = editor.assert_refused(tool, arguments, (INVALID_PARAMS, "document_is_link"));
        assert_eq!(
            refused["message"],
            "Invalid params: \"same.md\" is a link to \"a.md\". Call again with the path that the link leads to, or change \
             the link outside Sectile."
        );
        assert_eq!(refused["data"]["path"], "a.md");
    }
    assert_eq!(documents.text("same.md"), "# A\n");
    let deleted = editor.ok("delete_document", json!({ "path": "a.md" }));
    assert_eq!(deleted["broken_links"][0]["path"], "same.md", "{deleted}");
}

#[test]
fn texts_that_look_like_something_else_are_quoted() {
    let documents = TestDocuments::folder(&[("a.md", "---\nday: 2023-05-05\n---\n# A\n")]);
    let mut editor = documents.open();
    for (key, value) in [
        ("day", json!("2024-01-01")),
        ("new", json!("2024-01-01")),
        ("list", json!(["yes", "0123", "12:30:00", "plain"])),
        ("number", json!(5)),
    ] {
        editor.ok(
            "set_front_matter",
            json!({ "path": "a.md", "key": key, "value": value }),
        );
    }
    assert_eq!(
        documents.text("a.md"),
        "---\nday: \"2024-01-01\"\nnew: \"2024-01-01\"\nlist: [\"yes\", \"0123\", \"12:30:00\", plain]\nnumber: 5\n---\n# A\n"
    );
}

#[test]
fn a_carriage_return_ends_a_line_as_a_line_feed_does() {
    let text = "---\na: b\n---\n# A\n\n```\n# no\n```\n\n<div>\n# no\n</div>\n\n## B\n\n    # no\n\nC\n=\n\n[b](#b)\n";
    let returns = text.replace('\n', "\r");
    let documents = TestDocuments::folder(&[("lf.md", text), ("cr.md", &returns)]);
    let mut editor = documents.open();
    let mut shown = Vec::new();
    for path in ["lf.md", "cr.md"] {
        let listed = editor.ok("list_sections", json!({ "path": path }));
        let sections = listed["sections"].as_array().unwrap().clone();
        let all = sections
            .iter()
            .map(|one| (one["heading"].clone(), one["level"].clone()));
        shown.push(all.collect::<Vec<_>>());
        let id = editor.id_in(path, "B");
        let rename = json!({ "section_id": id, "heading": "Bee" });
        assert_eq!(editor.ok("rename_section", rename)["repaired_links"], 1);
        let insert =
            json!({ "path": path, "heading": "New", "content": "one\ntwo", "position": 1 });
        editor.ok("insert_section", insert);
    }
    assert_eq!(shown[0], shown[1]);
    assert_eq!(shown[0].len(), 3);
    assert_eq!(
        documents.text("cr.md"),
        documents.text("lf.md").replace('\n', "\r")
    );
}

#[test]
fn a_broken_link_to_a_block_is_reported_also_when_an_edit_takes_the_block() {
    let documents = TestDocuments::folder(&[
        (
            "a.md",
            "# A\n\n## Keep\n\nText.\n\n## Go\n\nA claim. ^claim\n",
        ),
        ("b.md", "# B\n\n[[a#^claim]] ![[a#^claim]]\n\n[[a#^nope]]\n"),
    ]);
    let mut editor = documents.open();
    let told = |line: u64, target: &str| json!({ "path": "b.md", "line": line, "target": target, "reason": "no such block" });
    let checked = editor.ok("check_links", json!({}));
    assert_eq!(checked["broken_links"], json!([told(5, "a#^nope")]));
    let delete = json!({ "path": "a.md", "heading": "Go" });
    let deleted = editor.ok("delete_section", delete);
    let both = json!([told(3, "a#^claim"), told(3, "a#^claim")]);
    assert_eq!(deleted["broken_links"], both);
    let undone = editor.ok("undo", json!({ "path": "a.md" }));
    assert!(undone.get("broken_links").is_none(), "{undone}");
}

#[test]
fn obsidian_comments_are_not_links() {
    let text =
        "# B\n\nText %%[[none]]%% more.\n\n%%\n\n[[none]]\n\n- [x](no.md)\n\n%%\n\n[[gone]]\n";
    let documents = TestDocuments::folder(&[("b.md", text)]);
    let mut editor = documents.open();
    let checked = editor.ok("check_links", json!({}));
    let told =
        json!([{ "path": "b.md", "line": 13, "target": "gone", "reason": "no such document" }]);
    assert_eq!(checked["broken_links"], told);
    assert_eq!(checked["links"], 1);
}

#[test]
fn aliases_resolve_as_link_targets() {
    let documents = TestDocuments::folder(&[
        (
            "notes/long name.md",
            "---\naliases:\n  - Short\n  - Shared\n---\n# L\n\n## H\n",
        ),
        ("other.md", "---\naliases: [Shared, own]\n---\n"),
        ("own.md", "# Own\n"),
        (
            "b.md",
            "[[Short]] [[short#H|x]] [[own#Own]]\n\n[[Shared]]\n",
        ),
    ]);
    let mut editor = documents.open();
    let told = json!([{
        "path": "b.md", "line": 3, "target": "Shared", "reason": "several documents have this alias",
    }]);
    assert_eq!(editor.ok("check_links", json!({}))["broken_links"], told);
    let rename = json!({ "path": "notes/long name.md", "new_path": "renamed.md" });
    let renamed = editor.ok("rename_document", rename);
    assert!(renamed.get("repaired_links").is_none(), "{renamed}");
    assert!(renamed.get("broken_links").is_none(), "{renamed}");
    assert_eq!(
        documents.text("b.md"),
        "[[Short]] [[short#H|x]] [[own#Own]]\n\n[[Shared]]\n"
    );
    assert_eq!(editor.ok("check_links", json!({}))["broken_links"], told);
}
