//! Obsidian's extensions of CommonMark: comments, block names, aliases.

use super::*;

fn targets(text: &str) -> Vec<String> {
    parse(text).iter().map(Link::target).collect()
}

#[test]
fn comments_have_no_links() {
    for (text, expected) in [
        ("%%[[a]]%% [[b]]", &["b"][..]),
        ("one %%two [[a]] %% [[b]] %% [[c]] %%", &["b"]),
        ("%% [a](a.md) <a href=\"b.md\"> ![[c]] %%", &[]),
        ("%%\n[[a]]\n\n[[b]]\n%%\n\n[[c]]", &["c"]),
        (
            "%%\n\n# Heading [[a]]\n\n- [[b]]\n\n> [[c]]\n\n%% [[d]]",
            &["d"],
        ),
        ("> %%\n> [[a]]\n> %%\n> [[b]]", &["b"]),
        ("text %%[[a]]\nnext line%% [[b]]", &["b"]),
        ("%%%%[[a]]", &["a"]),
        ("%%\n[x]: a.md\n%%\n\n[[b]]", &["b"]),
        ("[^1]: %%[[a]]%% [[b]]", &["b"]),
        ("---\nup: \"%%[[a]]%%\"\n---\n%%[[b]]%%", &["a"]),
    ] {
        assert_eq!(targets(text), expected, "{text:?}");
    }
}

#[test]
fn percent_signs_that_do_not_begin_a_comment_hide_nothing() {
    for (text, expected) in [
        ("%% [[a]]", &["a"][..]),
        ("[[a]] %% [[b]]", &["a", "b"]),
        // Inside a paragraph, a comment must end there.
        ("up 5%% [[a]]\n\ndown 6%% [[b]]", &["a", "b"]),
        ("- 5%% [[a]]\n- 6%% [[b]]", &["a", "b"]),
        ("`%%` [[a]] `%%`", &["a"]),
        ("```\n%%\n```\n\n[[a]]\n\n```\n%%\n```", &["a"]),
        ("\\%% [[a]] \\%%", &["a"]),
        ("b <!-- %% --> [[a]] %%", &["a"]),
        ("% % [[a]] % %", &["a"]),
        ("[a](50%%25.md) [[b]] %%", &["50%%.md", "b"]),
    ] {
        let found: Vec<String> = targets(text);
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn blocks_are_named_at_the_end_of_a_line() {
    for (text, names) in [
        ("A claim. ^claim", &["claim"][..]),
        ("A claim. ^Claim-2 \t\n\nMore. ^b\r\n", &["claim-2", "b"]),
        ("- one ^a\n- two\n  ^b\n", &["a", "b"]),
        ("> quoted\n> ^q\n", &["q"]),
        ("| a | b |\n|---|---|\n| c | d |\n\n^table\n", &["table"]),
        (
            "# Heading ^h\n\n*strong* ^s\n\n`code` ^c\n",
            &["h", "s", "c"],
        ),
        ("one ^a\ntwo ^b", &["a", "b"]),
    ] {
        let anchors = anchors(text);
        for name in names {
            assert!(anchors.has_block(&format!("^{name}")), "{name} in {text:?}");
            assert!(anchors.has_block(&format!("Heading#^{name}")), "{name}");
        }
        assert_eq!(
            anchors.resolve(LinkForm::Wiki, "^none"),
            FragmentResolution::MissingBlock
        );
    }
    for text in [
        "```\ncode ^a\n```\n",
        "    code ^a\n",
        "`code ^a`",
        "x^a",
        "^a and more",
        "^a b",
        "^a.",
        "<div>\n^a\n</div>",
        "---\nk: v ^a\n---\n",
        "\\^a x",
        "^",
    ] {
        assert!(!anchors(text).has_block("^a"), "{text:?}");
    }
}

#[test]
fn aliases_are_those_of_the_front_matter() {
    for (yaml, expected) in [
        ("aliases: [One, \"Two, too\"]", &["One", "Two, too"][..]),
        (
            "aliases:\n  - One\n  - ' Two '\n  - ''\n  - [x]",
            &["One", "Two"],
        ),
        ("aliases: One, Two", &["One", "Two"]),
        ("alias: One", &["One"]),
        ("aliases: [2024, 2024-05-06]", &["2024", "2024-05-06"]),
        ("aliases: [A]\nalias: B", &["A", "B"]),
        ("aliases:", &[]),
        ("aliases: {a: b}", &[]),
        ("aliases: [One", &[]),
        ("Aliases: [One]", &[]),
        ("title: aliases", &[]),
    ] {
        let text = format!("---\n{yaml}\n---\n# A\n");
        let found = aliases(&Source::new(text.as_bytes()));
        assert_eq!(found, expected, "{yaml:?}");
    }
    assert!(aliases(&Source::new(b"aliases: [One]\n")).is_empty());
}

proptest! {
    /// Hidden text is between two marks.
    #[test]
    fn only_marks_hide_links(text in markdown()) {
        let source = Source::new(text.as_bytes());
        let shown = links(&source);
        let all = find::links_near(&source, &source.parse(), Span::new(0, text.len()));
        let is_hidden = |link: &&Link| !shown.contains(link);
        for hidden in all.iter().filter(is_hidden) {
            let (before, after) = text.split_at(hidden.span.start);
            prop_assert!(before.contains("%%") && after.contains("%%"), "{:?}", hidden);
        }
    }

    /// A name at the end of a paragraph is found, whatever the paragraph says.
    #[test]
    fn a_block_that_is_named_is_found(words in "[a-z ]{0,12}", name in "[a-zA-Z0-9-]{1,8}") {
        let fragment = format!("^{name}");
        let text = format!("para\n\nx {words} ^{name}\n\nmore\n");
        prop_assert!(anchors(&text).has_block(&fragment));
        let without = format!("para\n\nx {words} {name}\n\nmore\n");
        prop_assert!(!anchors(&without).has_block(&fragment));
    }
}
