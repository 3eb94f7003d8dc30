//! Slug, title, role and description from each source.

use sectile_library::live_manual::{PageText, PagesInMemory};
use sectile_vault::NotePath;

use super::*;

fn listed(slug: &str, title: &str, role: DocRole, description: &str) -> DocsDocument {
    DocsDocument {
        path: crate::worlds::docs::DocsPath {
            written: String::new(),
            location: std::path::PathBuf::new(),
        },
        slug: Some(slug.to_owned()),
        title: Some(title.to_owned()),
        role,
        description: Some(description.to_owned()),
    }
}

/// Describes a document with these bytes.
fn describe(bytes: &[u8], file_name: &str, listed: Option<&DocsDocument>) -> DocDescription {
    // Some names are those of files that no path can hold, but slugs are made of them.
    let name = NotePath::parse_vault(file_name);
    let text = PageText {
        name: name.unwrap_or_else(|_| NotePath::parse_vault("a.md").unwrap()),
        title: listed.and_then(|listed| one_line(listed.title.as_deref()?, MAX_TITLE)),
        bytes: bytes.to_vec().into(),
    };
    let pages = PagesInMemory::new(vec![text]).unwrap();
    super::describe(pages.records().next().unwrap(), file_name, listed)
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
    let mut taken = TakenSlugs::default();
    for expected in ["a", "a-2", "a-3"] {
        assert_eq!(taken.take("a"), expected);
    }
    assert_eq!(taken.take("a-2"), "a-2-2");
    let long = "x".repeat(MAX_SLUG);
    assert_eq!(taken.take(&long), long);
    let next = taken.take(&long);
    assert_eq!(next, format!("{}-2", "x".repeat(62)));
    assert!(is_slug(&next, MAX_SLUG));
}

#[test]
fn slugs_of_long_paths_differ_although_they_begin_alike() {
    let name = |end: &str| format!("{}/{end}.md", "guide".repeat(20));
    let slugs = [slug_of_file(&name("one")), slug_of_file(&name("two"))];
    assert_ne!(slugs[0], slugs[1]);
    assert!(
        slugs.iter().all(|slug| is_slug(slug, MAX_SLUG)),
        "{slugs:?}"
    );
    assert_eq!(slug_of_file("guide/First steps.md"), "guide-first-steps");
}

#[test]
fn long_descriptions_are_cut_between_words() {
    let described = describe("wörd ".repeat(100).as_bytes(), "a.md", None);
    assert!(described.description.chars().count() <= 200);
    assert!(described.description.ends_with("wörd…"));
}
