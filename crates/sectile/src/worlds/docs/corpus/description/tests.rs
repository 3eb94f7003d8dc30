//! Slug, title, role and description from each source.

use super::*;

fn listed(slug: &str, title: &str, role: DocRole, description: &str) -> DocsDocument {
    DocsDocument {
        path: super::super::DocsPath {
            written: String::new(),
            location: std::path::PathBuf::new(),
        },
        slug: Some(slug.to_owned()),
        title: Some(title.to_owned()),
        role,
        description: Some(description.to_owned()),
    }
}

fn parts(described: &DocDescription) -> [&str; 4] {
    [
        &described.slug,
        &described.title,
        described.role.as_str(),
        &described.description,
    ]
}

#[test]
fn front_matter_comes_first_then_the_list_then_the_text() {
    let full = b"---\ntitle: 'From\n  above'\nslug: above\nrole: ontology\ndescription: Said above.\n---\n# Heading\n\nText here. More.\n";
    let plain = b"<!-- Banner. -->\n\n## Not yet\n\n# The heading\n\nText *here*. More.\n";
    let list = listed(
        "list",
        " From \n the list ",
        DocRole::Decision,
        "Said in the list.",
    );
    for (bytes, list, expected) in [
        (
            &full[..],
            Some(&list),
            ["above", "From above", "ontology", "Said above."],
        ),
        (
            plain,
            Some(&list),
            ["list", "From the list", "decision", "Said in the list."],
        ),
        (
            plain,
            None,
            ["my-file", "The heading", "pattern", "Text here."],
        ),
        (b"- x\n", None, ["my-file", "My_File", "pattern", ""]),
    ] {
        let described = describe(bytes, "My_File.MD", list);
        assert_eq!(parts(&described), expected);
        assert_eq!(described.problems, [""; 0]);
    }
}

#[test]
fn what_cannot_be_used_is_said_and_the_next_source_counts() {
    let list = listed("list", "List", DocRole::Decision, "In the list.");
    for (front_matter, problems) in [
        ("title: [a, b]", &["`title`"][..]),
        ("title: '  '", &["`title`"]),
        ("description: {a: b}", &["`description`"]),
        ("role: recipe", &["`role`"]),
        ("role: 1", &["`role`"]),
        ("slug: Not One", &["`slug`"]),
        ("slug: -a", &["`slug`"]),
        ("slug: 1.5\nrole: Pattern", &["`slug`", "`role`"]),
        ("a: [", &["the front matter"]),
        ("title: a\ntitle: b", &["the front matter"]),
        ("title:\nslug: ~\nrole: null\ndescription:", &[]),
        ("just text", &[]),
        ("other: key", &[]),
    ] {
        let text = format!("---\n{front_matter}\n---\n# Heading\n");
        let described = describe(text.as_bytes(), "a.md", Some(&list));
        let expected = ["list", "List", "decision", "In the list."];
        assert_eq!(parts(&described), expected, "{front_matter}");
        assert_eq!(described.problems.len(), problems.len(), "{front_matter}");
        for (said, start) in described.problems.iter().zip(problems) {
            assert!(
                said.starts_with(start) && said.ends_with("Correct it."),
                "{said}"
            );
        }
    }
}

#[test]
fn scalars_are_text_too() {
    let text = b"---\ntitle: 2024\nslug: 7\ndescription: 2024-05-01\n---\nx\n";
    let described = describe(text, "a.md", None);
    assert_eq!(parts(&described), ["7", "2024", "pattern", "2024-05-01"]);
}

#[test]
fn slugs_of_file_names() {
    for (name, expected) in [
        ("Evidence Flow_2.md", "evidence-flow-2"),
        ("a.b.md", "a-b"),
        ("---x---.md", "x"),
        ("日本.md", "doc-"),
        ("...md", "doc-"),
    ] {
        let described = describe(b"x", name, None);
        assert!(is_slug(&described.slug, MAX_SLUG), "{}", described.slug);
        match expected {
            "doc-" => assert!(described.slug.starts_with("doc-") && described.slug.len() == 12),
            _ => assert_eq!(described.slug, expected, "{name}"),
        }
    }
    let long = format!("{}-{}.md", "a".repeat(63), "b".repeat(20));
    assert_eq!(describe(b"x", &long, None).slug, "a".repeat(63));
}

#[test]
fn a_taken_slug_gets_the_first_free_number() {
    let mut taken = HashSet::new();
    for expected in ["a", "a-2", "a-3"] {
        let slug = free_slug("a", &taken);
        assert_eq!(slug, expected);
        taken.insert(slug);
    }
    assert_eq!(free_slug("a-2", &taken), "a-2-2");
    let long = "x".repeat(MAX_SLUG);
    taken.insert(long.clone());
    let next = free_slug(&long, &taken);
    assert_eq!(next, format!("{}-2", "x".repeat(62)));
    assert!(is_slug(&next, MAX_SLUG));
}

#[test]
fn first_sentences() {
    for (text, expected) in [
        ("One. Two.", "One."),
        ("No end", "No end"),
        (
            "Version 1.2 of sectile.toml is here. Next",
            "Version 1.2 of sectile.toml is here.",
        ),
        (
            "Tools, e.g. this one, work. And more.",
            "Tools, e.g. this one, work.",
        ),
        (
            "It edits (e.g. this). sectile does.",
            "It edits (e.g. this).",
        ),
        ("A vs. B, i.e. two. Two.", "A vs. B, i.e. two."),
        ("What: a thing\nWhy: so.", "What: a thing\n"),
        ("Really? Yes.", "Really?"),
        ("文です。次。", "文です。"),
        ("Ends here.", "Ends here."),
    ] {
        assert_eq!(first_sentence(text), expected);
    }
}

#[test]
fn lines_are_cut_between_words() {
    assert_eq!(one_line(" a\n\tb\u{0} c ", 10).as_deref(), Some("a b c"));
    assert_eq!(one_line(" \n\u{0}", 10), None);
    assert_eq!(one_line("abcde fghij", 11).as_deref(), Some("abcde fghij"));
    assert_eq!(one_line("abcde fghij", 10).as_deref(), Some("abcde…"));
    assert_eq!(one_line("ééééé", 4).as_deref(), Some("ééé…"));
    let described = describe("wörd ".repeat(100).as_bytes(), "a.md", None);
    assert!(described.description.chars().count() <= 200);
    assert!(described.description.ends_with("wörd…"));
}
