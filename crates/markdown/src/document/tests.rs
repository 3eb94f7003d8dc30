//! Invariants of the section map, over hand-written and arbitrary documents.

use proptest::prelude::*;

use super::*;
use crate::testing::documents_of;

fn parse(source: &[u8]) -> Document {
    Source::new(source).parse()
}

/// Generates Markdown dense in what makes headings hard: containers, fences, setext lines, unusual line endings.
fn tricky_markdown() -> impl Strategy<Value = Vec<u8>> {
    documents_of(vec![
        "# ",
        "## ",
        "### x",
        "#",
        "####### ",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "> ",
        "- ",
        "1. ",
        "  ",
        "    ",
        "\t",
        "===",
        "---",
        "***",
        "```\n",
        "~~~",
        "<div>",
        "<!-- ",
        "-->",
        "text",
        "*a*",
        "`c`",
        "[l](u)",
        "![i](j)",
        "[r]: u",
        "\\",
        "&amp;",
        "\u{feff}",
        "\0",
        "é",
        "日本",
        "---\ntitle: x\n---\n",
        "...",
        "\u{a0}",
    ])
}

fn check_promises(source: &[u8]) {
    let document = parse(source);
    let mut rebuilt = document.preamble().slice(source).to_vec();
    let front_matter_end = document.front_matter().map_or(0, |found| found.block.end);
    let mut previous_start = 0;
    for (index, section) in document.sections().iter().enumerate() {
        assert_eq!(section.ordinal, index + 1);
        assert!((1..=6).contains(&section.level));
        assert!(
            section.heading.start >= front_matter_end,
            "front matter is never a heading"
        );
        assert!(section.heading.start >= previous_start && section.heading.end <= source.len());
        previous_start = section.heading.start;
        if let Some(parent) = section.parent {
            assert!(parent < index && document.sections()[parent].level < section.level);
        }
        assert_eq!(
            document.heading_path(index).last(),
            Some(&section.text.as_str())
        );
        let Some(extent) = section.extent else {
            continue;
        };
        rebuilt.extend_from_slice(section.heading.slice(source));
        rebuilt.extend_from_slice(extent.own_body.slice(source));
        assert!(
            extent.subtree.contains(section.heading) && extent.subtree.contains(extent.own_body)
        );
        assert_eq!(extent.subtree.start, section.heading.start);
        if let Some(parent) = extent.parent {
            let outer = document.sections()[parent]
                .extent
                .expect("an enclosing section owns bytes");
            assert!(outer.subtree.contains(extent.subtree), "subtrees nest");
        }
        let line_before = source[..section.heading.start].last();
        assert!(
            section.heading.start == front_matter_end
                || matches!(line_before, Some(b'\n' | b'\r'))
                || source[..section.heading.start].ends_with("\u{feff}".as_bytes()),
            "a top-level heading starts a line"
        );
    }
    assert_eq!(rebuilt, source, "preamble and sections are all bytes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn spans_nest_and_tile_for_tricky_markdown(source in tricky_markdown()) {
        check_promises(&source);
    }

    #[test]
    fn parse_is_total_over_arbitrary_bytes(source in prop::collection::vec(any::<u8>(), 0..200)) {
        check_promises(&source);
    }

    #[test]
    fn ids_are_unique(source in tricky_markdown()) {
        let document = parse(&source);
        let ids: std::collections::HashSet<String> = document
            .sections()
            .iter()
            .map(|section| crate::heading_id(section.level, &section.text, section.ordinal))
            .collect();
        prop_assert_eq!(ids.len(), document.sections().len());
    }

    #[test]
    fn a_section_parsed_alone_has_the_same_heading(source in tricky_markdown()) {
        let document = parse(&source);
        for (_, section, extent) in document.top_level() {
            let alone = extent.subtree.slice(&source);
            // Directly below a link definition, `-` is text; anywhere else it would start a list.
            let before = &source[..section.heading.start];
            let follows_text = !before.is_empty() && !before.ends_with(b"\n\n");
            let is_underlined = !alone.trim_ascii_start().starts_with(b"#");
            if follows_text && is_underlined {
                continue;
            }
            // Link definitions elsewhere may change inline text, so only block structure is compared.
            let again = parse(&[b"\n", alone].concat());
            prop_assert_eq!(again.sections().first().map(|first| first.level), Some(section.level));
        }
    }
}

/// Replaces the line endings of `text` with those of `ends` in turn. All have the same length.
fn with_ends(text: &[u8], ends: &[u8]) -> Vec<u8> {
    let mut next = ends.iter().cycle();
    let ended = text.iter().map(|byte| match byte {
        b'\n' => next.next().copied().unwrap_or(b'\n'),
        byte => *byte,
    });
    ended.collect()
}

/// Makes every line of `text` end with LF.
fn with_line_feeds(text: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let line = line_at(text, at);
        result.extend_from_slice(&text[at..line.content_end]);
        if line.end > line.content_end {
            result.push(b'\n');
        }
        at = line.end;
    }
    result
}

/// Checks that the document is the same whatever single byte ends its lines.
fn check_line_ends(text: &[u8], ends: &[u8]) {
    let other = with_ends(text, ends);
    let (one, other) = (Source::new(text), Source::new(&other));
    assert_eq!(one.parse(), other.parse());
    assert_eq!(crate::links(&one), crate::links(&other));
    let anchors =
        |source: &Source<'_>| crate::passages(source, 6, crate::PageFormat::default()).anchors;
    assert_eq!(anchors(&one), anchors(&other));
    assert_eq!(one.first_paragraph(), other.first_paragraph());
    let chunks = |source: &Source<'_>| crate::chunks(source, 20).chunks;
    assert_eq!(chunks(&one), chunks(&other));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(2000)))]

    #[test]
    fn a_carriage_return_ends_a_line_as_a_line_feed_does(text in tricky_markdown()) {
        check_line_ends(&with_line_feeds(&text), b"\r");
    }

    #[test]
    fn line_ends_can_be_mixed(text in tricky_markdown(), ends in prop::collection::vec(prop::sample::select(b"\r\n\n".to_vec()), 1..6)) {
        // CR before LF would be one line ending instead of two.
        let text = with_line_feeds(&text);
        let mixed = with_ends(&text, &ends);
        let joined = mixed.windows(2).any(|pair| pair == b"\r\n");
        if !joined {
            check_line_ends(&text, &ends);
        }
    }
}

#[test]
fn headings_behind_blocks_with_carriage_returns_are_seen() {
    for text in [
        "# A\n\n```\nx\n```\n\n## B\n\ntext\n",
        "<!-- c -->\n# A\n\n## B\n",
        "# A\n\n<div>\nx\n</div>\n\n## B\n",
        "    code\n\n# B\n",
        "A\n=\n\nB\n-\n",
        "# A\n\n- x\n\n## B\n",
        "---\na: b\n---\n~~~\n# no\n~~~\n# A\n",
        "<pre>\n# no\n</pre>\n# A\n[r]: /u\n\n[r]\n",
    ] {
        check_line_ends(text.as_bytes(), b"\r");
    }
    let texts = |text: &str| -> Vec<String> {
        let document = parse(text.as_bytes());
        let sections = document.sections().iter();
        sections.map(|section| section.text.clone()).collect()
    };
    assert_eq!(texts("# A\r\r```\rx\r```\r\r## B\r"), ["A", "B"]);
    assert_eq!(texts("    # code\r\r# B\r"), ["B"]);
}

#[test]
fn a_dash_below_a_link_definition_is_a_heading_that_cannot_stand_alone() {
    let document = parse(b"# \n[r]: u\n- \n---\ntitle: x\n---\n");
    let levels: Vec<u8> = document
        .sections()
        .iter()
        .map(|section| section.level)
        .collect();
    assert_eq!(levels, [1, 2, 2]);
    assert_eq!(document.sections()[1].text, "-");
}

#[test]
fn spans_of_a_small_document() {
    let source =
        b"---\ntitle: T\n---\nintro\n\n# A\r\nbody\n\n  ## B ##\nmore\n\n> ### Q\n\nC\n=\n";
    let document = parse(source);
    let cut = |span: Span| std::str::from_utf8(span.slice(source)).expect("valid");
    assert_eq!(cut(document.preamble()), "---\ntitle: T\n---\nintro\n\n");
    let rows: Vec<_> = document
        .sections()
        .iter()
        .map(|section| {
            let extent = section.extent;
            (
                section.text.as_str(),
                cut(section.heading),
                extent.map(|extent| cut(extent.own_body)),
                extent.map(|extent| cut(extent.subtree).len()),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("A", "# A\r\n", Some("body\n\n"), Some(36)),
            ("B", "  ## B ##\n", Some("more\n\n> ### Q\n\n"), Some(25)),
            ("Q", "### Q\n", None, None),
            ("C", "C\n=\n", Some(""), Some(4)),
        ]
    );
}

#[test]
fn nested_headings_are_parents_in_the_outline_but_own_no_bytes() {
    let document = parse(b"# A\n\n> ## Q\n\n### C\n");
    let [a, q, c] = document.sections() else {
        panic!("three headings")
    };
    assert_eq!((a.parent, q.parent, c.parent), (None, Some(0), Some(1)));
    assert_eq!(q.extent, None);
    assert_eq!(c.extent.expect("top level").parent, Some(0));
    assert_eq!(document.heading_path(2), ["A", "Q", "C"]);
}

#[test]
fn digests_are_over_raw_bytes() {
    let source = b"# A\r\n\xff\r\n## B\r\nb";
    let document = parse(source);
    let (_, _, extent) = document.top_level().next().expect("a section");
    assert_eq!(extent.own_body_digest(source), Digest::of(b"\xff\r\n"));
    assert_eq!(extent.subtree_digest(source), Digest::of(source));
}

#[test]
fn hostile_nesting_is_linear_enough_to_finish() {
    check_promises(&b"> ".repeat(100_000));
    check_promises(&b"- ".repeat(20_000));
    check_promises(&b"[".repeat(100_000));
    check_promises(&b"# x\n".repeat(100_000));
}
