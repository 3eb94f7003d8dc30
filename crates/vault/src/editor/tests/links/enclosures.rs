//! Links outside the text: in HTML and in front matter, and in documents that cannot be read.

use super::*;

#[test]
fn links_in_html_follow_a_document_and_a_heading() {
    let html = "<p align=\"center\">\n  <img src=\"docs/guide.md\" alt=\"x\"><a\n    href='docs/guide.md#set-up'>\n</p>\n\nText <a href=docs/guide.md#set-up>a</a> and `<a href=\"docs/guide.md\">`.\n\n> <div>\n> <A HREF=\"docs/guide.md?raw=1#Set%20up\">\n> </div>\n\n```html\n<a href=\"docs/guide.md\">\n```\n\n<!-- <a href=\"docs/guide.md\"> -->\n\n<script>x = '<a href=\"docs/guide.md\">'</script>\n";
    let bench = Bench::new(&[
        (
            "docs/guide.md",
            "# Guide\n\n## Set up\n\n<a href=\"#set-up\">up</a>\n",
        ),
        ("index.md", html),
    ]);
    let before = texts(&bench);
    let report = bench
        .write(rename(
            "docs/guide.md",
            by_heading("Set up"),
            "Getting 'ready'",
        ))
        .unwrap();
    assert_eq!(report.repaired_links, 4);
    assert_eq!(broken(&report.broken_links), [""; 0]);
    let report = bench
        .write(rename_document("docs/guide.md", "docs/it's = a & b.md"))
        .unwrap();
    assert_eq!(report.repaired_links, 4);
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert_eq!(
        bench.text("index.md"),
        "<p align=\"center\">\n  <img src=\"docs/it's%20=%20a%20%26%20b.md\" alt=\"x\"><a\n    href='docs/it%27s%20=%20a%20%26%20b.md#getting-ready'>\n</p>\n\nText <a href=docs/it%27s%20%3D%20a%20%26%20b.md#getting-ready>a</a> and `<a href=\"docs/guide.md\">`.\n\n> <div>\n> <A HREF=\"docs/it's%20=%20a%20%26%20b.md?raw=1#Getting%20'ready'\">\n> </div>\n\n```html\n<a href=\"docs/guide.md\">\n```\n\n<!-- <a href=\"docs/guide.md\"> -->\n\n<script>x = '<a href=\"docs/guide.md\">'</script>\n"
    );
    bench.undo("docs/it's = a & b.md").unwrap();
    bench.undo("docs/guide.md").unwrap();
    assert_eq!(texts(&bench), before);
}

#[test]
fn links_in_front_matter_follow_a_document_and_a_heading() {
    let note = "---\n# [[guide]] in a comment\nup: \"[[guide#Set up|x]]\"\nsee: 'it''s [g](docs/guide.md#set-up)'\nnext: [[guide]]\nlist:\n  - \"![[docs/guide#Set up]]\"\n  - plain [g](docs/guide.md) text\ncode: \"`[[guide]]`\"\nmore: |\n  [[guide]]\ndate: 2024-01-01\n---\n# Note\n\n[[guide]]\n";
    let bench = Bench::new(&[("docs/guide.md", "# Guide\n\n## Set up\n"), ("a.md", note)]);
    let before = texts(&bench);
    let report = bench
        .write(rename(
            "docs/guide.md",
            by_heading("Set up"),
            "Bob's \"own\"",
        ))
        .unwrap();
    assert_eq!(report.repaired_links, 3);
    let report = bench
        .write(rename_document("docs/guide.md", "docs/manual.md"))
        .unwrap();
    assert_eq!(report.repaired_links, 7);
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert_eq!(
        bench.text("a.md"),
        "---\n# [[guide]] in a comment\nup: \"[[manual#Bob's \\\"own\\\"|x]]\"\nsee: 'it''s [g](docs/manual.md#bobs-own)'\nnext: [[manual]]\nlist:\n  - \"![[docs/manual#Bob's \\\"own\\\"]]\"\n  - plain [g](docs/manual.md) text\ncode: \"`[[guide]]`\"\nmore: |\n  [[manual]]\ndate: 2024-01-01\n---\n# Note\n\n[[manual]]\n"
    );
    bench.undo("docs/manual.md").unwrap();
    bench.undo("docs/guide.md").unwrap();
    assert_eq!(texts(&bench), before);
}

#[test]
fn what_cannot_be_written_in_front_matter_is_reported() {
    let bench = Bench::new(&[
        ("a.md", "# A\n"),
        ("broken.md", "---\nup: [[a]], [[b]]\n---\n[[a]]\n"),
        ("escaped.md", "---\nup: \"[[a|it\\\n  s]]\"\n---\n"),
        ("flow.md", "---\nup: [[a]]\n---\n[[a]]\n"),
        ("folded.md", "---\nup: >\n  see [[a|one\n  two]]\n---\n"),
        ("html.md", "---\nup: '<a href=\"a.md\">'\n---\n"),
    ]);
    let report = bench.write(rename_document("a.md", "x, y.md")).unwrap();
    assert_eq!(
        broken(&report.broken_links),
        [
            "broken.md:2 a: no such document",
            "escaped.md:2 a: no such document",
            "flow.md:2 a: no such document",
            "folded.md:3 a: no such document",
            "html.md:2 a.md: no such document",
        ]
    );
    assert_eq!(report.repaired_links, 2);
    assert_eq!(bench.text("flow.md"), "---\nup: [[a]]\n---\n[[x, y]]\n");
    assert_eq!(
        bench.text("broken.md"),
        "---\nup: [[a]], [[b]]\n---\n[[x, y]]\n"
    );
}

#[test]
fn links_of_front_matter_and_html_are_checked_and_told_when_they_are_new() {
    let bench = Bench::new(&[(
        "a.md",
        "---\nup: \"[[none]]\"\n---\n# A\n\n<img src=\"none.png\"> <a href=\"#top\"> <a href=\"#a\">\n",
    )]);
    let check = bench.editor.check_links(None, CallHooks::none()).unwrap();
    assert_eq!(check.links, 4);
    assert_eq!(
        broken(&check.broken),
        [
            "a.md:2 none: no such document",
            "a.md:6 none.png: no such document"
        ]
    );
    let report = bench
        .write(Operation::SetFrontMatter(SetFrontMatter {
            path: Some(note("a.md")),
            key: "next".to_owned(),
            value: Some(sectile_markdown::Value::String("[[gone]]".to_owned())),
            expected_hash: None,
        }))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["a.md:3 gone: no such document"]
    );
}

#[test]
fn documents_that_cannot_be_read_are_told() {
    let large = format!("[a](a.md)\n{}", "x".repeat(2000));
    let bench = Bench::new(&[
        ("a.md", "# A\n"),
        ("b.md", "[a](a.md)\n"),
        ("large.md", &large),
    ]);
    let limits = EditorLimits {
        max_document_bytes: 1000,
        ..EditorLimits::default()
    };
    let editor = open_within(bench.folder.path(), limits);
    let expected =
        ["large.md:1 : the document is too large to read, so its links were not checked"];
    let check = editor.check_links(None, CallHooks::none()).unwrap();
    assert_eq!(broken(&check.broken), expected);
    let report = write(&editor, vec![rename_document("a.md", "c.md")]).unwrap();
    assert_eq!(report.repaired_links, 1);
    assert_eq!(broken(&report.broken_links), expected);
    assert_eq!(bench.text("large.md"), large);
}

#[cfg(unix)]
#[test]
fn folders_that_cannot_be_read_are_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new(&[
        ("a.md", "# A\n"),
        ("closed/b.md", "[a](../a.md)\n"),
        ("closed.md", "[a](a.md)\n"),
    ]);
    let mode = |path: &str, mode| {
        fs::set_permissions(bench.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("closed", 0o000);
    mode("closed.md", 0o000);
    // The system refuses nothing to root.
    let is_root = fs::read_dir(bench.path("closed")).is_ok();
    let report = bench.write(rename_document("a.md", "c.md"));
    mode("closed", 0o755);
    mode("closed.md", 0o644);
    let told = broken(&report.unwrap().broken_links);
    if is_root {
        // Root can read it, but still nobody may write it.
        assert_eq!(told, ["closed.md:1 a.md: no such document"]);
    } else {
        assert_eq!(
            told,
            [
                "closed:1 : the folder cannot be read, so the links of its documents were not checked",
                "closed.md:1 : the document cannot be read, so its links were not checked",
            ]
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_of_the_file_system_is_neither_renamed_nor_deleted() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new(&[("real/a.md", "# A\n"), ("b.md", "[a](real/a.md)\n")]);
    symlink("real/a.md", bench.path("alias.md")).unwrap();
    symlink("real", bench.path("folder")).unwrap();
    symlink("nowhere.md", bench.path("dangling.md")).unwrap();
    let refused = Err(EditorError::IsLink {
        target: "real/a.md".to_owned(),
    });
    let renamed = bench.write(rename_document("alias.md", "c.md"));
    assert_eq!(renamed.map(|_| ()), refused);
    let deleted = bench.write(Operation::DeleteDocument(DeleteDocument {
        path: note("alias.md"),
        expected_hash: None,
    }));
    assert_eq!(deleted.map(|_| ()), refused);
    assert_eq!(bench.text("alias.md"), "# A\n");
    let onto = bench.write(rename_document("b.md", "dangling.md"));
    assert_eq!(onto.map(|_| ()), Err(EditorError::DocumentExists));
    // It can be edited through, and a link on the way is followed.
    bench
        .write(rename("alias.md", by_heading("A"), "B"))
        .unwrap();
    let report = bench
        .write(rename_document("folder/a.md", "folder/c.md"))
        .unwrap();
    assert_eq!(bench.text("real/c.md"), "# B\n");
    assert_eq!(bench.text("b.md"), "[a](real/c.md)\n");
    assert_eq!(
        broken(&report.broken_links),
        ["alias.md:1 real/a.md: the path is a link to this document, which is no longer there"]
    );
}

/// Steps taken to rename the first of this many sections with the same heading, each with a link to itself.
fn steps_of_rename(sections: usize) -> usize {
    let text: String = (0..sections)
        .map(|at| {
            let anchor = if at == 0 {
                String::new()
            } else {
                format!("-{at}")
            };
            format!("# Same\n\n[x](#same{anchor}) [[#Same]]\n\n")
        })
        .collect();
    let bench = Bench::new(&[("a.md", &text)]);
    let first = bench.editor.view(&note("a.md")).unwrap().ids()[0].clone();
    let operation = rename("a.md", by_id(&first), "Other name");
    let mut repaired = 0;
    let steps = crate::work::steps_of(|| {
        repaired = bench.write(operation).unwrap().repaired_links;
    });
    assert_eq!(
        repaired,
        2 * sections,
        "all lead elsewhere, or to the first"
    );
    steps
}

#[test]
fn the_work_of_a_repair_grows_with_the_links_and_not_with_their_square() {
    let (one, two) = (steps_of_rename(200), steps_of_rename(400));
    assert!(one >= 400, "every link is a step: {one}");
    assert!(two <= one * 5 / 2, "{one} steps, then {two}");
}

#[test]
fn links_that_name_what_many_documents_are_called_are_followed_once() {
    let steps = |count: usize| {
        let links = "[[x/readme]] ".repeat(count);
        let mut documents = vec![("a.md".to_owned(), "# A\n".to_owned())];
        documents.push(("links.md".to_owned(), format!("[a](a.md) {links}\n")));
        documents.extend((0..count).map(|at| (format!("d{at}/readme.md"), String::new())));
        let documents: Vec<(&str, &str)> = documents
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let bench = Bench::new(&documents);
        crate::work::steps_of(|| bench.write(rename_document("a.md", "b.md")).unwrap())
    };
    let (one, two) = (steps(50), steps(100));
    assert!(two <= one * 5 / 2, "{one} steps, then {two}");
}

#[test]
fn a_call_that_is_given_up_ends_in_the_middle_of_a_document() {
    let text = format!("# A\n\n{}", "[x](#a)\n".repeat(2000));
    let bench = Bench::new(&[("a.md", &text)]);
    let before = texts(&bench);
    let asked = Cell::new(0);
    let count = || {
        asked.set(asked.get() + 1);
        false
    };
    let operations = || request(vec![rename("a.md", by_heading("A"), "B")]);
    let mut dry = operations();
    dry.dry_run = true;
    bench.editor.write(&dry, CallHooks::until(&count)).unwrap();
    let all = asked.get();
    assert!(all > 2 * 2000 / 64, "asked {all} times");
    for calls in [all / 4, all / 2, all * 3 / 4] {
        let left = Cell::new(calls);
        let stop = || {
            left.set(left.get() - 1);
            left.get() < 0
        };
        let result = bench.editor.write(&operations(), CallHooks::until(&stop));
        assert_eq!(result.map(|_| ()), Err(EditorError::Cancelled));
        assert!(left.get() >= -2, "it went on: {}", left.get());
        assert_eq!(texts(&bench), before);
    }
}
