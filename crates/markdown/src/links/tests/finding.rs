//! Which links are found, the spans of their parts, and their decoded text.

use super::*;

/// Returns one line per link: its form, then path and fragment as decoded.
fn found(text: &str) -> Vec<String> {
    let links = parse(text).into_iter().map(|link| {
        let form = match link.form {
            LinkForm::Inline => "inline",
            LinkForm::Image => "image",
            LinkForm::Definition => "definition",
            LinkForm::Wiki => "wiki",
            LinkForm::WikiEmbed => "embed",
            LinkForm::Html => "html",
        };
        let fragment = link
            .fragment
            .map_or(String::new(), |fragment| format!("#{}", fragment.text));
        format!("{form} {}{fragment}", link.path.text)
    });
    links.collect()
}

#[track_caller]
fn assert_found(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(found(text), *expected, "{text:?}");
    }
}

#[test]
fn links_in_html() {
    assert_found(&[
        ("a <a href=\"b.md#c\">d</a>", &["html b.md#c"]),
        ("<div>\n<img src='p%20q.png'>\n</div>\n", &["html p q.png"]),
        ("> <div>\n> <a\n> href=b.md>\n> </div>\n", &["html b.md"]),
        ("> a <b\n> title='x' href=\"b.md\">c</b>\n", &["html b.md"]),
        ("- <p>\n  <a href=\"#c\">\n", &["html #c"]),
        ("<a href=\"b&amp;c.md#d&num;e\">", &["html b&c.md#d#e"]),
        ("<a href=\"b\\#c\">", &["html b\\#c"]),
        ("<a href=\"https://x/y\"><a href=\"//x\"><a href=\"\">", &[]),
        ("`<a href=\"b.md\">`", &[]),
        (
            "```\n<a href=\"b.md\">\n```\n\n    <a href=\"b.md\">\n",
            &[],
        ),
        (
            "<!-- <a href=\"b.md\"> -->\n\na <!-- <a href=b.md> -->",
            &[],
        ),
        ("<script>\n\"<a href='b.md'>\"\n</script>\n", &[]),
        (
            "[<img src=\"p.png\">](b.md) [[c]]",
            &["inline b.md", "html p.png", "wiki c"],
        ),
    ]);
}

#[test]
fn links_in_front_matter() {
    assert_found(&[
        (
            "---\nup: \"[[a#b|c]]\"\nsee: 'x [t](b.md#c) y'\n---\n[d](e.md)",
            &["wiki a#b", "inline b.md#c", "inline e.md"],
        ),
        (
            "---\nup: [[a#b]]\nlist:\n  - \"[[c]]\"\n  - ![[d]]\n---\n",
            &["wiki a#b", "wiki c", "embed d"],
        ),
        ("---\nup: [[a]], [[b]]\n---\n", &["wiki a", "wiki b"]),
        ("---\na: \"`[[b]]` [[c]]\" # [[d]]\n---\n", &["wiki c"]),
        (
            "---\na: |\n  [[b]]\n  [c](d.md)\n---\n",
            &["wiki b", "inline d.md"],
        ),
        ("---\n\"[[key]]\": https://x/[[y\n---\n", &[]),
        ("---\na: \"\\x5b[b]]\"\n---\n", &["wiki b"]),
    ]);
}

#[test]
fn links_of_very_long_front_matter_are_known_but_not_repaired() {
    let filler = "x: y\n".repeat(1 << 18);
    let text = format!("---\nup: \"[[a]]\"\n# {filler}---\n");
    let link = only_link(&text);
    assert_eq!(
        (link.path.text.as_str(), link.enclosure),
        ("a", Enclosure::Sealed)
    );
}

#[test]
fn where_a_link_can_be_written_is_known() {
    let enclosures =
        |text: &str| -> Vec<Enclosure> { parse(text).iter().map(|link| link.enclosure).collect() };
    let quoted = |quote| Enclosure::FrontMatter(Some(quote));
    for (text, expected) in [
        ("[a](b)", vec![Enclosure::Text]),
        ("<a href='b'>", vec![Enclosure::Attribute(Some('\''))]),
        ("<a href=b>", vec![Enclosure::Attribute(None)]),
        ("---\na: \"it's [[b]]\"\n---\n", vec![quoted('"')]),
        ("---\na: 'it''s [[b]]'\n---\n", vec![quoted('\'')]),
        ("---\na: '[[b|it''s]]'\n---\n", vec![quoted('\'')]),
        ("---\na: \"\\x5b[b]\\u005d\"\n---\n", vec![quoted('"')]),
        ("---\na: \"[[b|c\n  d]]\"\n---\n", vec![Enclosure::Sealed]),
        ("---\na: [[b]]\n---\n", vec![Enclosure::FrontMatter(None)]),
        (
            "---\na: >\n  x [[b]]\n  [[c\n  d]]\n---\n",
            vec![Enclosure::Sealed, Enclosure::FrontMatter(None)],
        ),
        ("---\na: [[b]], [[c]]\n---\n", vec![Enclosure::Sealed; 2]),
        ("---\na: '<a href=\"b\">'\n---\n", vec![Enclosure::Sealed]),
    ] {
        assert_eq!(enclosures(text), expected, "{text:?}");
        for link in parse(text) {
            let written = &text[link.path.span.range()];
            assert!(
                link.enclosure == Enclosure::Sealed || written == link.path.text,
                "{text:?}: {written}"
            );
        }
    }
}

#[test]
fn commonmark_links() {
    assert_found(&[
        ("[a](b.md)", &["inline b.md"]),
        ("[a](b.md#c)", &["inline b.md#c"]),
        ("[a](#c)", &["inline #c"]),
        ("[a](#)", &["inline #"]),
        ("[a]()", &[]),
        ("[a](<>)", &[]),
        ("[](b.md#c)", &["inline b.md#c"]),
        ("![a](b.png)", &["image b.png"]),
        ("![](b.png)", &["image b.png"]),
        ("[a](b.md#c \"title (x) [y](z)\")", &["inline b.md#c"]),
        ("[a](b.md 'it''s')", &[]),
        ("[a](b.md (title))", &["inline b.md"]),
        ("[a]( <b c.md#d e> )", &["inline b c.md#d e"]),
        ("[a](<b(c.md#d>)", &["inline b(c.md#d"]),
        ("[a](b(c)d.md#e(f))", &["inline b(c)d.md#e(f)"]),
        ("[a](b\\(c.md#d\\)e)", &["inline b(c.md#d)e"]),
        ("[a](b\\#c%23d)", &["inline b#c#d"]),
        ("[a](b%23c.md#d)", &["inline b#c.md#d"]),
        ("[a](b%20c.md#d%20e)", &["inline b c.md#d e"]),
        ("[a](100%.md#50%)", &["inline 100%.md#50%"]),
        ("[a](%ff.md)", &["inline %ff.md"]),
        ("[a](b&amp;c.md#d&eacute;)", &["inline b&c.md#dé"]),
        ("[a](b&num;c&#35;d)", &["inline b#c#d"]),
        ("[a](b&c;d.md&)", &["inline b&c;d.md&"]),
        ("[a](b.md?plain=1#L10)", &["inline b.md#L10"]),
        ("[a](b.md#c?d)", &["inline b.md#c?d"]),
        ("[`](b.md)`](c.md)", &["inline c.md"]),
        ("[a [b] c](d.md)", &["inline d.md"]),
        ("[a *b* `c`](d.md)", &["inline d.md"]),
        ("[a\\]](d.md)", &["inline d.md"]),
        ("[![a](b.png)](c.md#d)", &["inline c.md#d", "image b.png"]),
        ("[a](b.md)[c](d.md)", &["inline b.md", "inline d.md"]),
        ("[a](\nb.md\n\"t\"\n)", &["inline b.md"]),
        ("> [a](\n> b.md#c)", &["inline b.md#c"]),
        ("> [a\n> ](b.md#c)", &["inline b.md#c"]),
        ("[a](\n>b.md)", &[]),
        ("- x [a](b.md\r\n  't')\r\n", &["inline b.md"]),
        (
            "# A [b](c.md#d) e\n\nf [g](h.md)\n===\n",
            &["inline c.md#d", "inline h.md"],
        ),
        (
            "| a | [b](c.md) |\n|---|---|\n| [d](e.md#f) | g |",
            &["inline c.md", "inline e.md#f"],
        ),
        ("\\[a](b.md)", &[]),
        ("[a] (b.md)", &[]),
        ("\u{feff}[a](b.md)", &["inline b.md"]),
    ]);
}

#[test]
fn what_leads_out_of_the_folder_is_no_link() {
    assert_found(&[
        ("[a](https://example.org/b.md#c)", &[]),
        ("[a](mailto:a@example.org)", &[]),
        ("[a](//example.org/b.md)", &[]),
        ("[a](obsidian://open?file=b)", &[]),
        ("[a](https&colon;//example.org)", &[]),
        ("<https://example.org/[[a]]> <a@example.org>", &[]),
        ("[a]: https://example.org", &[]),
        ("[[https://example.org|a]]", &[]),
        (
            "[a](b/c:d.md) [e](./f:g.md)",
            &["inline b/c:d.md", "inline ./f:g.md"],
        ),
        ("[[Plan: part one]]", &["wiki Plan: part one"]),
    ]);
}

#[test]
fn definitions() {
    assert_found(&[
        (
            "[a] and [b][a] and [a][]\n\n[a]: b.md#c",
            &["definition b.md#c"],
        ),
        ("[a]: <b c.md#d e> 'title'", &["definition b c.md#d e"]),
        ("[a]:\n  b.md#c\n  \"title\"", &["definition b.md#c"]),
        ("> [a]:\n> b.md#c", &["definition b.md#c"]),
        ("[a\\]: x]: b.md", &["definition b.md"]),
        (
            "[b]: c.md\n[a]: b.md\n",
            &["definition c.md", "definition b.md"],
        ),
        ("[a]: first.md\n[A]: second.md\n", &["definition first.md"]),
        ("![x][a]\n\n[a]: b.png", &["definition b.png"]),
        ("[^1]: Ibid.", &[]),
        ("[^1]: [a](b.md#c)", &["inline b.md#c"]),
        ("[^1]: [[b#c]]\n[^2]: [[d]]", &["wiki b#c", "wiki d"]),
        ("[^1]: See [a](b.md) and [[c]].", &["inline b.md", "wiki c"]),
        ("[up]: [[b]]", &["wiki b"]),
        ("    [a]: b.md", &[]),
    ]);
}

#[test]
fn a_definition_knows_its_uses() {
    for (text, expected) in [
        (
            "[t][a], [A][], ![i][a] and [a].\n\n> [x *y*][a]\n\n[a]: b.md",
            &["[t][a]", "[A][]", "![i][a]", "[a]", "[x *y*][a]"][..],
        ),
        (
            "[t][ \u{c4}pfel  und\nBirnen ]\n\n[\u{e4}pfel und birnen]: b.md",
            &["[t][ \u{c4}pfel  und\nBirnen ]"],
        ),
        ("[Stra\u{df}e]\n\n[STRASSE]: b.md", &["[Stra\u{df}e]"]),
        ("[a]: b.md\n", &[]),
        (
            "`[a]` %%[a]%% \\[a] [a](c.md) [[a]] <!-- [a] -->\n\n[a]: b.md",
            &[],
        ),
        ("---\nx: '[a]'\n---\n\u{e9} [a]\n\n[a]: b.md", &["[a]"]),
        ("[a]\n\n[a]: b.md\n[a]: c.md", &["[a]"]),
    ] {
        let found = parse(text);
        let definition = found
            .iter()
            .find(|link| link.form == LinkForm::Definition)
            .expect("a definition");
        let uses = definition.uses.iter();
        let uses: Vec<&str> = uses.map(|place| &text[place.range()]).collect();
        assert_eq!(uses, expected, "{text}");
        let places = definition.places();
        match expected {
            [] => assert_eq!(places, [definition.span], "{text}"),
            _ => assert_eq!(places, definition.uses, "{text}"),
        }
        let others = found
            .iter()
            .filter(|link| link.form != LinkForm::Definition);
        assert!(
            others
                .clone()
                .all(|link| link.uses.is_empty() && link.places() == [link.span])
        );
    }
    let bytes = b"\xff [a]\n\n[a]: b.md";
    let found = links(&Source::new(bytes));
    assert_eq!(found[0].uses, [Span::new(2, 5)]);
}

#[test]
fn wiki_links() {
    assert_found(&[
        ("[[Note]]", &["wiki Note"]),
        ("[[Note#Heading]]", &["wiki Note#Heading"]),
        ("[[#Heading]]", &["wiki #Heading"]),
        ("[[Note#A#B]]", &["wiki Note#A#B"]),
        ("[[Note|alias]]", &["wiki Note"]),
        ("[[Note#Heading|alias]]", &["wiki Note#Heading"]),
        ("![[embed#x]]", &["embed embed#x"]),
        ("\\![[embed#x]]", &["wiki embed#x"]),
        ("[[Note#^block]]", &["wiki Note#^block"]),
        ("[[ Note # Heading | alias ]]", &["wiki Note#Heading"]),
        ("[[a/b c.md#d]]", &["wiki a/b c.md#d"]),
        ("[[100%20 &amp; co]]", &["wiki 100%20 &amp; co"]),
        ("[[Note|alias [with] brackets]]", &["wiki Note"]),
        ("[[Note|alias [x]]]", &["wiki Note"]),
        ("[[Note|alias [[Inner]]", &["wiki Inner"]),
        ("[[a]][[b]]", &["wiki a", "wiki b"]),
        ("[[[a]]]", &["wiki a"]),
        ("[[a [[b]]", &["wiki b"]),
        (
            "[[_private_]] [[snake_case]] [[a*b*c]]",
            &["wiki _private_", "wiki snake_case", "wiki a*b*c"],
        ),
        (
            "**[[a]]** _[[b]]_ [[c|**d**]]",
            &["wiki a", "wiki b", "wiki c"],
        ),
        ("[[Note#The `foo` call]]", &["wiki Note#The `foo` call"]),
        (
            "| [[Note\\|alias]] | [[b#c\\|d]] |",
            &["wiki Note", "wiki b#c"],
        ),
        ("# See [[a#b]]\n\n> - [[c]]\n", &["wiki a#b", "wiki c"]),
        ("- [ ] [[a]]\n- [x] [[b]]", &["wiki a", "wiki b"]),
        (
            "[[Note]]\n\n[note]: x.md",
            &["wiki Note", "definition x.md"],
        ),
        ("[see [[a]] there](b.md)", &["inline b.md", "wiki a"]),
        ("[[a]](b.md)", &["inline b.md"]),
        ("x [[a]](b.md)", &["inline b.md"]),
        ("[[日本語#見出し]]", &["wiki 日本語#見出し"]),
    ]);
}

#[test]
fn what_only_looks_like_a_wiki_link() {
    assert_found(&[
        ("\\[[x]]", &[]),
        ("a\n\\[[x]]", &[]),
        ("[\\[x]]", &[]),
        ("\\\\[[x]]", &["wiki x"]),
        ("&#91;[x]]", &[]),
        ("[[]] [[ ]] [[|a]]", &[]),
        ("[[a\nb]]", &[]),
        ("[[a]", &[]),
        ("[a]]", &[]),
        ("[[a]b]]", &[]),
        ("`[[x]]` ``[[y]]``", &[]),
        ("`[[x` ]]", &[]),
        ("[[x `]]`", &[]),
        ("```\n[[x]] [a](b.md)\n```\n", &[]),
        ("    [[x]] [a](b.md)\n", &[]),
        ("<div>\n[[x]] [a](b.md)\n</div>\n", &[]),
        ("a <b title=\"[[x]]\"> <!-- [[y]] -->", &[]),
        ("[a](b[[c]].md)", &["inline b[[c]].md"]),
    ]);
}

/// Returns the text with paths in `<>` and fragments in `{}`.
fn marked(text: &str) -> Vec<String> {
    let mark = |link: Link| {
        let mut marked = text.as_bytes().to_vec();
        let parts = [
            link.fragment.map(|fragment| (fragment.span, "{}")),
            Some((link.path.span, "<>")),
        ];
        for (span, signs) in parts.into_iter().flatten() {
            marked.splice(span.end..span.end, signs.bytes().skip(1));
            marked.splice(span.start..span.start, signs.bytes().take(1));
        }
        String::from_utf8(marked[link.span.start..].to_vec()).expect("text")
    };
    parse(text).into_iter().map(mark).collect()
}

#[test]
fn parts_are_found_to_the_byte() {
    for (text, expected) in [
        ("é [a](b%20c.md#d 't')", "[a](<b%20c.md>#{d} 't')"),
        ("[a]( <b c.md#d> )", "[a]( <<b c.md>#{d}> )"),
        ("[a](#d)", "[a](<>#{d})"),
        ("[a](b\\#c#d\\)e)", "[a](<b>\\#{c#d\\)e})"),
        ("[a](b&#35;c)", "[a](<b>&#35;{c})"),
        ("[a](b.md?x=1#c)", "[a](<b.md>?x=1#{c})"),
        ("[a]: b.md#c 't'", "[a]: <b.md>#{c} 't'"),
        ("[[ b c # d e | f ]]", "[[ <b c> # {d e} | f ]]"),
        ("[[#d]]", "[[<>#{d}]]"),
        ("![[b#c#d\\|e]]", "![[<b>#{c#d}\\|e]]"),
    ] {
        assert_eq!(marked(text), [expected], "{text:?}");
    }
}

#[test]
fn spans_cover_the_whole_link() {
    for (text, expected) in [
        ("x [a](b.md 't') y", "[a](b.md 't')"),
        ("x ![a](b.md) y", "![a](b.md)"),
        ("[a]: b.md 't'\n", "[a]: b.md 't'"),
        ("x [[a|b [c]]] y", "[[a|b [c]]]"),
        ("x ![[a]] y", "![[a]]"),
        ("x [[[a]]] y", "[[a]]"),
    ] {
        let span = only_link(text).span;
        assert_eq!(&text[span.range()], expected, "{text:?}");
    }
}

#[test]
fn spans_are_bytes_of_the_original() {
    let bytes = b"---\na: b\n---\n\xff\0[x\xff](a\xffb.md#c) [[d\xff#e]]";
    let found = links(&Source::new(bytes));
    let parts: Vec<&[u8]> = found
        .iter()
        .flat_map(|link| {
            [
                Some(link.path.span),
                link.fragment.as_ref().map(|part| part.span),
            ]
        })
        .flatten()
        .map(|span| span.slice(bytes))
        .collect();
    assert_eq!(parts, [&b"a\xffb.md"[..], b"c", b"d\xff", b"e"]);
    assert_eq!(found[1].path.text, "d\u{fffd}");
}

#[test]
fn hostile_repetition_is_read_once() {
    const OFTEN: usize = 50_000;
    for piece in [
        "[[",
        "](",
        "]]",
        "[[a|",
        "[[a#",
        "![[",
        "[a](",
        "[a](b)",
        "![",
        "![a](",
        "[[a]]",
        "\\[[",
        "[[a|[",
        "]",
        "[",
        "`[[",
        "<a [[",
        "[^a]: [[b]]\n",
        "[a]: b\n",
        "&amp;",
        "[a](&amp;)",
        "[a](<",
        "#",
        "# a\n",
        "<a id=\"",
        "*[[",
        "[a](\n",
        "> [[a",
        "%",
        "%% ",
        "%%\n\n",
        "> %%",
        "a ^b ",
        "^b\n",
        "*a* ^b",
        "[[a]](",
    ] {
        let text = piece.repeat(OFTEN);
        let found = parse(&text);
        let anchors = anchors(&text);
        for link in found.iter().take(10) {
            std::hint::black_box(anchors.resolve(link.form, link.fragment_text()));
        }
    }
    let one_link = format!("[[a|{}]]", "[".repeat(2 * OFTEN).replace("[[", "[ "));
    assert_eq!(parse(&one_link).len(), 1);
    let entities = format!("[a]({}.md)", "&amp;".repeat(OFTEN));
    assert_eq!(only_link(&entities).path.text.len(), OFTEN + 3);
}

proptest! {
    #[test]
    fn any_bytes_have_links_inside_them(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..64),
            markdown().prop_map(String::into_bytes),
            (markdown(), any::<u8>(), any::<prop::sample::Index>()).prop_map(|(text, byte, at)| {
                let mut bytes = text.into_bytes();
                bytes.insert(at.index(bytes.len() + 1), byte);
                bytes
            }),
        ],
    ) {
        let source = Source::new(&bytes);
        let found = links(&source);
        prop_assert!(found.is_sorted_by_key(|link| link.span));
        for link in found {
            prop_assert!(link.span.end <= bytes.len());
            prop_assert!(link.span.contains(link.path.span));
            if let Some(fragment) = link.fragment {
                prop_assert!(link.span.contains(fragment.span));
                prop_assert!(link.path.span.end < fragment.span.start);
            }
        }
        let anchors = Anchors::new(&source);
        prop_assert_eq!(anchors.len(), source.parse().sections().len());
    }

    /// Every inline link into the folder that the parser reports is found, and nothing else.
    #[test]
    fn inline_links_are_those_of_the_parser(text in markdown()) {
        use pulldown_cmark::{Event, LinkType, Tag};
        let source = Source::new(text.as_bytes());
        let markdown = &source.text[source.body_start..];
        let expected = crate::options::ParserInput::of(markdown)
            .all_events()
            .filter(|(event, _)| match event {
                Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                    *link_type == LinkType::Inline && !dest_url.is_empty() && !dest_url.starts_with('?')
                        && !destination::is_external(dest_url)
                }
                _ => false,
            })
            .count();
        let found = links(&source);
        let inline = found.iter().filter(|link| matches!(link.form, LinkForm::Inline | LinkForm::Image)).count();
        prop_assert!(inline <= expected);
        // Links in comments are not found.
        if !text.contains("]:") && text.matches("%%").count() < 2 {
            prop_assert_eq!(inline, expected);
        }
    }
}

proptest! {
    #[test]
    fn links_near_a_place_are_those_of_the_document(before in markdown(), here in markdown(), after in markdown()) {
        let text = format!("# One\n\n{before}\n\n# Two\n\n{here}\n\n# Three\n\n{after}");
        let source = Source::new(text.as_bytes());
        let start = "# One\n\n\n\n# Two\n\n".len() + before.len();
        let span = Span::new(start, start + here.len());
        let touching = |links: Vec<Link>| -> Vec<Link> {
            let touches = |link: &Link| link.span.start < span.end && span.start < link.span.end;
            links.into_iter().filter(touches).collect()
        };
        let near = links_near(&source, &source.parse(), span);
        let (near, all) = (touching(near), touching(links(&source)));
        prop_assert!(all.iter().all(|link| near.contains(link)), "{:?}, {:?}", near, all);
        // The start of a comment may be out of sight, so links in one may be among them.
        if text.matches("%%").count() < 2 {
            prop_assert_eq!(near, all);
        }
    }
}
