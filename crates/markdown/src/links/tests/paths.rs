//! Resolving links to documents, and repairing them.

use super::*;
use PathResolution::{Ambiguous, Document, Missing, OutsideRoot, SameDocument};

const FILES: &[&str] = &[
    "README.md",
    "a b.md",
    "docs/guide.md",
    "docs/img/logo.png",
    "docs/sub/deep.md",
    "docs/sub/same.md",
    "other/same.md",
    "other/guide.md",
    "x/y/unique.md",
    "x/y/z.md",
    "q/y/z.md",
    "plain",
];

fn resolved(from: &str, link: &str) -> PathResolution {
    let exists = |path: &str| FILES.contains(&path);
    let by_name = |name: &str| {
        let name = name.to_lowercase();
        let fits = |path: &&&str| {
            let file = path.rsplit('/').next().unwrap().to_lowercase();
            file == name || file.strip_suffix(".md") == Some(name.as_str())
        };
        FILES
            .iter()
            .filter(fits)
            .map(|path| (*path).to_owned())
            .collect()
    };
    resolve_path(from, &only_link(link), &exists, &by_name)
}

#[test]
fn links_name_documents() {
    let document = |path: &str| Document(path.to_owned());
    for (from, link, expected) in [
        ("docs/guide.md", "[a](#x)", SameDocument),
        ("docs/guide.md", "[[#x]]", SameDocument),
        (
            "docs/guide.md",
            "[a](sub/deep.md#x)",
            document("docs/sub/deep.md"),
        ),
        (
            "docs/guide.md",
            "[a](./sub/deep.md)",
            document("docs/sub/deep.md"),
        ),
        (
            "docs/guide.md",
            "[a](sub/deep)",
            document("docs/sub/deep.md"),
        ),
        ("docs/guide.md", "[a](../README.md)", document("README.md")),
        ("docs/guide.md", "[a](/README.md)", document("README.md")),
        (
            "docs/guide.md",
            "[a](sub/../guide.md)",
            document("docs/guide.md"),
        ),
        ("docs/guide.md", "[a](../a%20b.md)", document("a b.md")),
        (
            "docs/guide.md",
            "![a](img/logo.png)",
            document("docs/img/logo.png"),
        ),
        ("docs/guide.md", "[a](../plain)", document("plain")),
        ("docs/guide.md", "[a](README.md)", Missing),
        ("docs/guide.md", "[a](sub/)", Missing),
        ("docs/guide.md", "[a](..)", Missing),
        ("docs/guide.md", "[a](../../README.md)", OutsideRoot),
        ("docs/guide.md", "[a](/../README.md)", OutsideRoot),
        (
            "README.md",
            "[a]: docs/guide.md#x",
            document("docs/guide.md"),
        ),
        ("README.md", "[[docs/guide]]", document("docs/guide.md")),
        (
            "docs/guide.md",
            "[[docs/guide.md]]",
            document("docs/guide.md"),
        ),
        ("docs/guide.md", "[[README]]", document("README.md")),
        ("docs/guide.md", "[[readme]]", document("README.md")),
        (
            "docs/guide.md",
            "[[sub/deep]]",
            document("docs/sub/deep.md"),
        ),
        ("README.md", "[[unique]]", document("x/y/unique.md")),
        ("README.md", "[[Y/Unique.md]]", document("x/y/unique.md")),
        ("README.md", "[[w/unique]]", Missing),
        ("README.md", "![[logo.png]]", document("docs/img/logo.png")),
        ("docs/sub/deep.md", "[[same]]", document("docs/sub/same.md")),
        (
            "docs/guide.md",
            "[[same]]",
            Ambiguous(vec!["other/same.md".into(), "docs/sub/same.md".into()]),
        ),
        (
            "README.md",
            "[[y/z]]",
            Ambiguous(vec!["q/y/z.md".into(), "x/y/z.md".into()]),
        ),
        (
            "docs/guide.md",
            "[[./sub/deep]]",
            document("docs/sub/deep.md"),
        ),
        ("docs/guide.md", "[[../README]]", document("README.md")),
        ("docs/guide.md", "[[../../README]]", OutsideRoot),
        ("docs/guide.md", "[[/README]]", document("README.md")),
        ("docs/guide.md", "[[/unique]]", Missing),
        ("docs/guide.md", "[[nothing]]", Missing),
    ] {
        assert_eq!(resolved(from, link), expected, "{link:?} in {from}");
    }
}

const FROM: &str = "docs/guide.md";

#[track_caller]
fn assert_follows(from: &str, link: &str, new_path: &str, is_unique_name: bool, expected: &str) {
    let found = only_link(link);
    let repair = repair_path(&found, link.as_bytes(), from, new_path, is_unique_name);
    assert_eq!(repaired(link, &repair), expected, "{link:?} to {new_path}");
}

#[test]
fn commonmark_links_follow_a_document() {
    for (link, new_path, expected) in [
        ("[a](sub/b.md#x 't')", "docs/new.md", "[a](new.md#x 't')"),
        ("[a](sub/b)", "docs/new.md", "[a](new)"),
        ("[a](b.markdown)", "docs/new.md", "[a](new.md)"),
        ("[a](b)", "docs/new.markdown", "[a](new.markdown)"),
        ("[a](./sub/b.md)", "docs/new.md", "[a](./new.md)"),
        ("[a](./sub/b.md)", "new.md", "[a](../new.md)"),
        ("[a](/docs/sub/b.md)", "new.md", "[a](/new.md)"),
        ("[a](x.md?y=1#z)", "docs/new.md", "[a](new.md?y=1#z)"),
        ("[a](x.md)", "docs/a b (c).md", "[a](a%20b%20%28c%29.md)"),
        ("[a](<x y.md#z>)", "docs/a b (c).md", "[a](<a b (c).md#z>)"),
        ("[a](x.md)", "docs/100%#?.md", "[a](100%25%23%3F.md)"),
        ("[a](x.md)", "docs/&amp;.md", "[a](%26amp;.md)"),
        ("[a](x.md)", "docs/é.md", "[a](é.md)"),
        ("[a](%C3%A9.md)", "docs/ö.md", "[a](%C3%B6.md)"),
        ("[a](x.md)", "docs/c:d.md", "[a](./c:d.md)"),
        ("[a](#x)", "docs/new.md", "[a](new.md#x)"),
        ("[a](#x)", "docs/guide.md", "="),
        ("[a](new.md)", "docs/new.md", "="),
        ("[a](guide.md#x)", "docs/guide.md", "="),
        ("![a](img/b.png)", "img/b.png", "![a](../img/b.png)"),
        ("[a]: x.md#y", "new.md", "[a]: ../new.md#y"),
        ("[a](x.md)", "", "!"),
    ] {
        assert_follows(FROM, link, new_path, true, expected);
    }
    let link = "[a](new.md)";
    assert_follows(
        "moved/guide.md",
        link,
        "docs/new.md",
        true,
        "[a](../docs/new.md)",
    );
}

#[test]
fn definitions_follow_a_document() {
    for (link, new_path, expected) in [
        (
            "[a]: <x y.md#z> 't'",
            "docs/a b (c).md",
            "[a]: <a b (c).md#z> 't'",
        ),
        ("[a]: <x.md>", "docs/b<c>.md", "[a]: <b%3Cc%3E.md>"),
        (
            "[a]: x.md (t)",
            "docs/a b (c).md",
            "[a]: a%20b%20%28c%29.md (t)",
        ),
        ("[a]: x%20y.md#z%20w", "docs/b.md", "[a]: b.md#z%20w"),
        ("[a]: %C3%A9.md", "docs/ö ü.md", "[a]: %C3%B6%20%C3%BC.md"),
        ("[a]: x\\(y.md", "docs/b.md", "[a]: b.md"),
        ("[a]: x&amp;y.md 'x.md'", "docs/b.md", "[a]: b.md 'x.md'"),
        (
            "[X.md]: x.md \"x.md\"",
            "new.md",
            "[X.md]: ../new.md \"x.md\"",
        ),
        (
            "[Ä  b]:\n  <x.md#y>\n  \"t\"",
            "new.md",
            "[Ä  b]:\n  <../new.md#y>\n  \"t\"",
        ),
        (
            "> [a]:\n> x.md\n> 't'",
            "new.md",
            "> [a]:\n> ../new.md\n> 't'",
        ),
        ("[a\\]: b]: x.md", "docs/b.md", "[a\\]: b]: b.md"),
        ("[a]: x", "docs/b.md", "[a]: b"),
        ("[a]: /docs/x.md", "b.md", "[a]: /b.md"),
        ("[a]: ./x.md", "docs/b.md", "[a]: ./b.md"),
        ("[a]: #x", "docs/new.md", "[a]: new.md#x"),
        ("[a]: #x", "docs/guide.md", "="),
        ("[a]: x.md", "docs/c:d.md", "[a]: ./c:d.md"),
        ("[a]: x.md", "docs/[b].md", "[a]: %5Bb%5D.md"),
        (
            "[a]: x.md\n\n[A]: x.md",
            "docs/b.md",
            "[a]: b.md\n\n[A]: x.md",
        ),
        ("[b][A]\n\n[a]: x.md", "docs/b.md", "[b][A]\n\n[a]: b.md"),
    ] {
        assert_follows(FROM, link, new_path, true, expected);
        if let Repair::Change(_) =
            repair_path(&only_link(link), link.as_bytes(), FROM, new_path, true)
        {
            let after = only_link(expected);
            assert_eq!(after.form, LinkForm::Definition, "{expected}");
            let resolved = resolve_path(FROM, &after, &|path| path == new_path, &|_| Vec::new());
            assert_eq!(
                resolved,
                PathResolution::Document(new_path.to_owned()),
                "{expected}"
            );
        }
    }
}

#[test]
fn wiki_links_follow_a_document() {
    for (link, new_path, expected) in [
        ("[[b]]", "docs/new.md", "[[new]]"),
        ("[[b.md]]", "docs/new.md", "[[new.md]]"),
        ("[[docs/sub/b]]", "docs/new.md", "[[docs/new]]"),
        ("[[./sub/b]]", "docs/new.md", "[[./new]]"),
        ("[[../b]]", "docs/new.md", "[[./new]]"),
        ("[[./b]]", "new.md", "[[../new]]"),
        ("[[/b]]", "docs/new.md", "[[/docs/new]]"),
        ("![[b.png]]", "docs/mark.png", "![[mark.png]]"),
        ("[[ b | x ]]", "docs/new.md", "[[ new | x ]]"),
        ("| [[b\\|x]] |", "docs/new.md", "| [[new\\|x]] |"),
        ("[[#x]]", "docs/new.md", "[[new#x]]"),
        ("[[#x]]", "docs/guide.md", "="),
        ("[[b]]", "else/b.md", "="),
        ("[[b]]", "docs/a [b].md", "!"),
        ("[[b]]", "docs/a#b.md", "!"),
    ] {
        assert_follows(FROM, link, new_path, true, expected);
    }
    assert_follows(FROM, "[[b#x|y]]", "docs/new.md", false, "[[docs/new#x|y]]");
    assert_follows(FROM, "[[#x]]", "docs/new.md", false, "[[docs/new#x]]");
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-c]|[^/\\pC]{1,6}", 1..4)
        .prop_map(|names| names.join("/"))
        .prop_filter("a path", |path| {
            path.split('/').all(|name| !matches!(name, "." | ".."))
        })
        .prop_map(|path| path + ".md")
}

proptest! {
    /// A repaired link, parsed again, leads to the new path.
    #[test]
    fn repaired_links_lead_to_the_new_path(
        link in proptest::sample::select(vec![
            "[a](b.md#c)", "[a](<b.md>)", "![a](./b 'c')", "[a](/b.md?d)", "[a](#c)", "[a]: b.md\n", "[a]: <b c.md#d> 't'\n", "> [a]:\n> b.md\n", "[[b]]", "[[b/c#d|e]]",
            "[[./b]]", "![[/b]]", "`x` [a](b.md) `y`", "[[#c]] `x`", "> [a](\n> b.md)", "&[a](%C3%A9.md);",
        ]),
        from in path(),
        to in path(),
        unique in any::<bool>(),
    ) {
        let found = only_link(link);
        let again = match repair_path(&found, link.as_bytes(), &from, &to, unique) {
            Repair::NotNeeded => found,
            Repair::Impossible => {
                prop_assert!(found.form.is_wiki());
                return Ok(());
            }
            repair => only_link(&repaired(link, &repair)),
        };
        let by_name = |_: &str| vec![to.clone()];
        let expected = match again.path.text.as_str() {
            "" => SameDocument,
            _ => Document(to.clone()),
        };
        prop_assert_eq!(resolve_path(&from, &again, &|path| path == to, &by_name), expected, "{:?}", again);
    }

    #[test]
    fn any_path_has_an_answer(text in markdown(), from in "\\PC{0,8}", to in "\\PC{0,8}", unique in any::<bool>()) {
        for link in parse(&text) {
            std::hint::black_box(resolve_path(&from, &link, &|path| path.len() % 2 == 0, &|name| vec![name.to_owned(), format!("a/{name}.md")]));
            std::hint::black_box(repair_path(&link, text.as_bytes(), &from, &to, unique));
            std::hint::black_box(repair_path(&link, b"\xff", &from, &to, unique));
        }
    }
}
