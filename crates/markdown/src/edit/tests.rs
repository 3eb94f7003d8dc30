//! Examples of every edit, and its invariants as properties over random documents and edits.

use proptest::prelude::*;

use super::*;
use crate::Digest;

const SAMPLE: &str = "# Title\n\nIntro text.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n\n## Beta\n\nBeta body.\n\n## Gamma\n\nGamma body.\n";

fn try_edit(text: &str, edit: &Edit<'_>) -> Result<String, EditError> {
    let document = Source::new(text.as_bytes()).parse();
    let edited = EditableDocument::new(text.as_bytes(), &document)?.edit(edit)?;
    Ok(String::from_utf8(edited.bytes).expect("edits keep UTF-8"))
}

#[track_caller]
fn check(text: &str, edit: &Edit<'_>, expected: &str) {
    assert_eq!(try_edit(text, edit).as_deref(), Ok(expected));
}

fn insert<'a>(place: SectionPlacement, heading: &'a str, body: &'a str) -> Edit<'a> {
    Edit::Insert {
        place,
        level: None,
        heading,
        body,
        headings: PayloadHeadings::Inside,
    }
}

fn body(section: usize, body: &str) -> Edit<'_> {
    Edit::ReplaceBody {
        section,
        body,
        headings: PayloadHeadings::Inside,
    }
}

#[test]
fn changes_within_lines_leave_the_tree_alone() {
    let text = "---\na: 1\n---\n# See [[x#a]]\n\n[l](#a) and [m](#b)\n\n## B\n";
    let change = |old: &str, new: &str| {
        let start = text.find(old).unwrap();
        crate::Change::new(Span::new(start, start + old.len()), new)
    };
    let edit = |changes: Vec<crate::Change>| Edit::WithinLines(Changes::new(changes).unwrap());
    check(
        text,
        &edit(vec![change("x#a", "y#c"), change("#a)", "#c)")]),
        "---\na: 1\n---\n# See [[y#c]]\n\n[l](#c) and [m](#b)\n\n## B\n",
    );
    let refused = Err(EditError::Escapes(Escape::Structure));
    for change in [
        change("a: 1", "b: 1"),
        change("#a)", "#a\n)"),
        change("]]\n", "]]"),
        change("## B", "### B"),
        change("## B", "B"),
        change("[l]", "# [l]"),
    ] {
        assert_eq!(
            try_edit(text, &edit(vec![change.clone()])),
            refused,
            "{change:?}"
        );
    }
}

#[test]
fn inserts_go_where_they_are_told() {
    let first = insert(SectionPlacement::Position(0), "New", "New body.");
    check(SAMPLE, &first, &format!("# New\n\nNew body.\n\n{SAMPLE}"));
    let last = insert(SectionPlacement::Position(5), "New", "New body.");
    check(SAMPLE, &last, &format!("{SAMPLE}\n## New\n\nNew body.\n"));
    check(
        "",
        &insert(SectionPlacement::Position(0), "New", "x"),
        "# New\n\nx\n",
    );
    check(
        "just text",
        &insert(SectionPlacement::Position(0), "New", "x"),
        "just text\n\n# New\n\nx",
    );
    check(
        "---\ntitle: Hello\n---\n\n# Real\n\nbody\n",
        &insert(SectionPlacement::Position(0), "New", "n"),
        "---\ntitle: Hello\n---\n\n# New\n\nn\n\n# Real\n\nbody\n",
    );
    check(
        "---\na: 1\n---",
        &insert(SectionPlacement::Position(0), "New", ""),
        "---\na: 1\n---\n\n# New",
    );
    check(
        "\u{feff}# A\r\n\r\na\r\n",
        &insert(SectionPlacement::After(0), "B", "x\ny"),
        "\u{feff}# A\r\n\r\na\r\n\r\n# B\r\n\r\nx\r\ny\r\n",
    );
    check(
        "# A\n\na",
        &insert(SectionPlacement::After(0), "B", "b"),
        "# A\n\na\n\n# B\n\nb",
    );
    check(
        "# A\n\n## X\n\nx\n",
        &insert(SectionPlacement::FirstChild(0), "W", "w"),
        "# A\n\n## W\n\nw\n\n## X\n\nx\n",
    );
    check(
        "# A\n\na\n\n# B\n",
        &insert(SectionPlacement::LastChild(0), "W", "w"),
        "# A\n\na\n\n## W\n\nw\n\n# B\n",
    );
}

#[test]
fn inserts_that_would_do_more_are_refused() {
    let err = |edit: &Edit<'_>| try_edit(SAMPLE, edit).unwrap_err();
    assert_eq!(
        err(&insert(SectionPlacement::Position(6), "N", "")),
        EditError::PositionOutOfRange { max: 5 }
    );
    assert_eq!(
        err(&insert(SectionPlacement::Position(4), "A\n# B", "x")),
        EditError::HeadingHasLineBreak
    );
    assert_eq!(
        err(&insert(SectionPlacement::Position(4), " ", "x")),
        EditError::EmptyHeading
    );
    let reparenting = Edit::Insert {
        place: SectionPlacement::Position(2),
        level: Some(1),
        heading: "N",
        body: "",
        headings: PayloadHeadings::Inside,
    };
    assert_eq!(err(&reparenting), EditError::Reparents { section: 2 });
    assert_eq!(
        err(&insert(SectionPlacement::Position(3), "N", "```\nopen")),
        EditError::Escapes(Escape::OpenFence)
    );
    assert_eq!(
        err(&insert(SectionPlacement::Position(3), "N", "<!-- open")),
        EditError::Escapes(Escape::OpenHtml)
    );
    assert_eq!(
        err(&insert(
            SectionPlacement::Position(3),
            "N",
            "text\n\nSetext\n---\n"
        )),
        EditError::Escapes(Escape::Heading {
            line: 3,
            level: 2,
            section_level: 2
        })
    );
    assert_eq!(
        try_edit(
            "# A\n\n```\nnever closed\n",
            &insert(SectionPlacement::Position(1), "B", "")
        ),
        Err(EditError::Escapes(Escape::Structure))
    );
}

#[test]
fn payload_headings_can_be_rebased_or_let_through() {
    let with = |headings| Edit::Insert {
        place: SectionPlacement::Position(3),
        level: None,
        heading: "New",
        body: "text\n\n# Deep\n\nSetext\n------\n\nx",
        headings,
    };
    let rebased = try_edit(SAMPLE, &with(PayloadHeadings::Rebase)).unwrap();
    assert!(
        rebased.contains("## New\n\ntext\n\n### Deep\n\n#### Setext\n\nx\n\n## Beta"),
        "{rebased}"
    );
    // "# Deep" would take Beta and Gamma away from Title.
    assert_eq!(
        try_edit(SAMPLE, &with(PayloadHeadings::AsWritten)),
        Err(EditError::Reparents { section: 3 })
    );
    check(
        "# A\n\na\n",
        &Edit::ReplaceBody {
            section: 0,
            body: "x\n\n# B\n\ny",
            headings: PayloadHeadings::AsWritten,
        },
        "# A\n\nx\n\n# B\n\ny\n",
    );
}

#[test]
fn updates_keep_subsections_and_separators() {
    check(
        SAMPLE,
        &body(0, "New intro."),
        &SAMPLE.replace("Intro text.", "New intro."),
    );
    check(
        SAMPLE,
        &body(3, "\n\nNew beta.\n\n"),
        &SAMPLE.replace("Beta body.", "New beta."),
    );
    check("# A\nx\n# B\ny", &body(0, "z"), "# A\nz\n# B\ny");
    check("# A\n# B\n", &body(0, "z"), "# A\n\nz\n\n# B\n");
    check("# A", &body(0, "z"), "# A\n\nz");
    check("# A\n\nz\n\n# B\n", &body(0, ""), "# A\n\n# B\n");
    check("# A\n\nz\n", &body(0, ""), "# A\n");
    check(
        "# T\r\n\r\n## A\r\n\r\na\r\n\r\n## B\r\n\r\nb\r\n",
        &body(2, "new\ntext"),
        "# T\r\n\r\n## A\r\n\r\na\r\n\r\n## B\r\n\r\nnew\r\ntext\r\n",
    );
    check(
        "Title\n=====\n\nBody\n\nSub\n---\n\nsub body\n",
        &body(1, "changed"),
        "Title\n=====\n\nBody\n\nSub\n---\n\nchanged\n",
    );
    // A paragraph must not run into a setext heading directly below a fence.
    check(
        "# A\n```\n```\nB\n===\n",
        &body(0, "para"),
        "# A\npara\n\nB\n===\n",
    );
    check("# A\nx\n# B\n", &body(0, "<div>"), "# A\n<div>\n\n# B\n");
    check(
        "# A\n\n```\nopen\n",
        &body(0, "```\nstill open"),
        "# A\n\n```\nstill open\n",
    );
}

#[test]
fn a_subtree_is_replaced_as_a_whole() {
    let edit = Edit::ReplaceSubtree {
        section: 1,
        body: "x\n\n### Alpha child\n\nChanged.\n\n### More\n",
        headings: PayloadHeadings::Inside,
    };
    let document = Source::new(SAMPLE.as_bytes()).parse();
    let edited = EditableDocument::new(SAMPLE.as_bytes(), &document)
        .unwrap()
        .edit(&edit)
        .unwrap();
    assert_eq!(
        edited.lineage,
        [Some(0), Some(1), Some(2), None, Some(3), Some(4)]
    );
}

#[test]
fn deletes_take_the_subtree_and_nothing_else() {
    check(
        "# One\n\none\n\n# Two\n\ntwo\n",
        &Edit::Delete { section: 0 },
        "# Two\n\ntwo\n",
    );
    check(
        "# One\n\none\n\n# Two\n\ntwo\n",
        &Edit::Delete { section: 1 },
        "# One\n\none\n",
    );
    check(
        "# One\none\n# Two\ntwo\n",
        &Edit::Delete { section: 0 },
        "# Two\ntwo\n",
    );
    check(
        "---\na: 1\n---\n# One\n",
        &Edit::Delete { section: 0 },
        "---\na: 1\n---\n",
    );
    check(SAMPLE, &Edit::Delete { section: 0 }, "");
    check(
        SAMPLE,
        &Edit::Delete { section: 1 },
        "# Title\n\nIntro text.\n\n## Beta\n\nBeta body.\n\n## Gamma\n\nGamma body.\n",
    );
}

fn relocate(section: usize, place: SectionPlacement) -> Edit<'static> {
    Edit::Move {
        section,
        place,
        level: None,
    }
}

#[test]
fn moves_take_the_subtree_along() {
    check(
        SAMPLE,
        &relocate(4, SectionPlacement::Position(1)),
        "# Title\n\nIntro text.\n\n## Gamma\n\nGamma body.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n\n## Beta\n\nBeta body.\n",
    );
    check(
        SAMPLE,
        &relocate(1, SectionPlacement::After(4)),
        "# Title\n\nIntro text.\n\n## Beta\n\nBeta body.\n\n## Gamma\n\nGamma body.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n",
    );
    check(
        SAMPLE,
        &relocate(4, SectionPlacement::Position(0)),
        "# Gamma\n\nGamma body.\n\n# Title\n\nIntro text.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n\n## Beta\n\nBeta body.\n",
    );
    check(
        SAMPLE,
        &relocate(3, SectionPlacement::LastChild(1)),
        "# Title\n\nIntro text.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n\n### Beta\n\nBeta body.\n\n## Gamma\n\nGamma body.\n",
    );
    check(SAMPLE, &relocate(1, SectionPlacement::Position(1)), SAMPLE);
    check(
        SAMPLE,
        &relocate(2, SectionPlacement::After(1)),
        &SAMPLE.replace("### Alpha child", "## Alpha child"),
    );
    let err = |edit: &Edit<'_>| try_edit(SAMPLE, edit).unwrap_err();
    assert_eq!(
        err(&relocate(1, SectionPlacement::LastChild(2))),
        EditError::IntoItself
    );
    assert_eq!(
        err(&relocate(1, SectionPlacement::Position(4))),
        EditError::PositionOutOfRange { max: 3 }
    );
}

#[test]
fn headings_keep_their_style() {
    let rename = |text: &str, heading: &str| {
        try_edit(
            text,
            &Edit::Rename {
                section: 0,
                heading,
            },
        )
    };
    let level = |text: &str, level| try_edit(text, &Edit::SetLevel { section: 0, level });
    assert_eq!(
        rename("  ##  Old text ##\n\nx\n", "New").unwrap(),
        "  ##  New ##\n\nx\n"
    );
    assert_eq!(rename("#\n\nx\n", "New").unwrap(), "# New\n\nx\n");
    assert_eq!(
        rename("Old\nlines\n---\nx\n", "New").unwrap(),
        "New\n---\nx\n"
    );
    assert_eq!(rename("Old\n===\nx\n", "- New").unwrap(), "# - New\nx\n");
    assert_eq!(rename("# Old\n", "C #").unwrap(), "# C \\#\n");
    assert_eq!(rename("# Old\n", "C#").unwrap(), "# C#\n");
    assert_eq!(
        level("Title\n=====\n\nx\n", 2).unwrap(),
        "Title\n-----\n\nx\n"
    );
    assert_eq!(level("Title\n=====\n\nx\n", 3).unwrap(), "### Title\n\nx\n");
    assert_eq!(level("# A #\n\n## B\n", 2).unwrap(), "## A ##\n\n### B\n");
    assert_eq!(
        level("# A\n\n###### B\n", 2),
        Err(EditError::LevelOutOfRange)
    );
    assert_eq!(level("# T\n\n## A\n", 2).unwrap(), "## T\n\n### A\n");
    assert_eq!(
        try_edit(
            SAMPLE,
            &Edit::SetLevel {
                section: 1,
                level: 1
            }
        ),
        Err(EditError::Reparents { section: 3 })
    );
}

fn words<'a>(within: EditScope, old: &'a str, new: &'a str, expected: usize) -> Edit<'a> {
    Edit::ReplaceText {
        within,
        old,
        new,
        expected,
    }
}

#[test]
fn words_are_replaced_when_they_are_as_many_as_expected() {
    check(
        SAMPLE,
        &words(EditScope::Body(3), "Beta", "The $1 beta", 1),
        &SAMPLE.replace("Beta body", "The $1 beta body"),
    );
    let err = |edit: &Edit<'_>| try_edit(SAMPLE, edit).unwrap_err();
    assert_eq!(
        err(&words(EditScope::Subtree(1), "body", "x", 1)),
        EditError::TextCount {
            found: 2,
            expected: 1
        }
    );
    assert_eq!(
        err(&words(EditScope::Body(3), "Gamma", "x", 1)),
        EditError::TextCount {
            found: 0,
            expected: 1
        }
    );
    assert_eq!(
        err(&words(EditScope::Body(3), "", "x", 1)),
        EditError::EmptyOldText
    );
    assert_eq!(
        err(&words(EditScope::Body(3), "Beta body.", "x\n\n# Top\n", 1)),
        EditError::Escapes(Escape::Heading {
            line: 3,
            level: 1,
            section_level: 2
        })
    );
    check(
        "# A\r\n\r\none\r\ntwo\r\n",
        &words(EditScope::Body(0), "one\ntwo", "1\n2", 1),
        "# A\r\n\r\n1\r\n2\r\n",
    );
    check(
        "preamble\n\n# A\n",
        &words(EditScope::Document, "preamble", "x", 1),
        "x\n\n# A\n",
    );
}

/// Generates pieces of Markdown that cause trouble for editors.
fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,6}( [a-z]{1,6}){0,3}",
        1 => Just("```\n# not a heading\n```".to_owned()),
        1 => Just("~~~~\ncode\n\n## no\n~~~~".to_owned()),
        1 => Just("> # quoted\n> text".to_owned()),
        1 => Just("- item\n\n  # nested\n- two".to_owned()),
        1 => Just("<!-- # comment\n## more -->".to_owned()),
        1 => Just("<div>\n# html\n</div>".to_owned()),
        1 => Just("    indented code".to_owned()),
        1 => Just("***".to_owned()),
        1 => Just("[ref]: /url".to_owned()),
        1 => Just("é 日本 \u{1f680}".to_owned()),
        1 => Just(String::new()),
    ]
}

fn heading() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (1_usize..5, "[A-C]").prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        1 => "[A-C]".prop_map(|text| format!("{text}\n===")),
        1 => "[A-C]".prop_map(|text| format!("{text}\n---")),
        1 => "[A-C]".prop_map(|text| format!("## {text} ##")),
        1 => Just("###".to_owned()),
    ]
}

prop_compose! {
    /// Generates documents of all kinds: line endings, byte order mark, front matter, tight or wide, with or without a
    /// final newline.
    pub(crate) fn any_document()(
        bom in proptest::bool::weighted(0.1),
        front_matter in proptest::bool::weighted(0.2),
        preamble in proptest::option::weighted(0.3, block()),
        sections in proptest::collection::vec((heading(), proptest::collection::vec(block(), 0..3), any::<bool>()), 0..6),
        line_end in prop_oneof![3 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")],
        final_newline in proptest::bool::weighted(0.8),
    ) -> String {
        let mut text = String::new();
        if front_matter {
            text += "---\ntitle: x # c\ntags: [a]\n---\n";
        }
        if let Some(preamble) = preamble {
            text += &format!("{preamble}\n\n");
        }
        for (heading, blocks, tight) in sections {
            let gap = if tight { "\n" } else { "\n\n" };
            text += &format!("{heading}{gap}");
            for block in blocks {
                text += &format!("{block}\n\n");
            }
        }
        if !final_newline {
            text.truncate(text.trim_end().len());
        }
        let text = text.replace('\n', line_end);
        if bom { format!("\u{feff}{text}") } else { text }
    }
}

#[derive(Clone, Debug)]
struct AnyEdit {
    kind: u8,
    section: usize,
    target: usize,
    level: Option<u8>,
    heading: String,
    body: String,
}

prop_compose! {
    fn any_edit()(
        kind in 0_u8..12,
        section in 0_usize..8,
        target in 0_usize..8,
        level in proptest::option::weighted(0.3, 1_u8..5),
        heading in prop_oneof!["[D-F]", Just("C #".to_owned()), Just("*x* `y`".to_owned()), Just("- z".to_owned())],
        body in proptest::collection::vec(prop_oneof![3 => block(), 1 => heading(), 1 => Just("```\nopen".to_owned())], 0..3),
    ) -> AnyEdit {
        AnyEdit { kind, section, target, level, heading, body: body.join("\n\n") }
    }
}

impl AnyEdit {
    fn as_edit(&self) -> Edit<'_> {
        let (section, target, level) = (self.section, self.target, self.level);
        let headings = match self.target % 3 {
            0 => PayloadHeadings::Inside,
            1 => PayloadHeadings::Rebase,
            _ => PayloadHeadings::AsWritten,
        };
        let place = match self.kind % 5 {
            0 => SectionPlacement::Position(target),
            1 => SectionPlacement::Before(target),
            2 => SectionPlacement::After(target),
            3 => SectionPlacement::FirstChild(target),
            _ => SectionPlacement::LastChild(target),
        };
        let (heading, body) = (self.heading.as_str(), self.body.as_str());
        match self.kind {
            0..=2 => Edit::Insert {
                place,
                level,
                heading,
                body,
                headings,
            },
            3 | 4 => Edit::ReplaceBody {
                section,
                body,
                headings,
            },
            5 => Edit::ReplaceSubtree {
                section,
                body,
                headings,
            },
            6 => Edit::Delete { section },
            7 | 8 => Edit::Move {
                section,
                place,
                level,
            },
            9 => Edit::Rename { section, heading },
            10 => Edit::SetLevel {
                section,
                level: level.unwrap_or(2),
            },
            _ => Edit::ReplaceText {
                within: EditScope::Subtree(section),
                old: "a",
                new: body,
                expected: 1,
            },
        }
    }
}

/// Returns the level, heading and own text of every section.
fn tree(bytes: &[u8]) -> Vec<(u8, Digest, Digest)> {
    let document = Source::new(bytes).parse();
    document
        .top_level()
        .map(|(_, section, extent)| {
            let heading = content_span(bytes, section.heading);
            let content = content_span(bytes, extent.own_body);
            (
                section.level,
                Digest::of(heading.slice(bytes)),
                Digest::of(content.slice(bytes)),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(8_000)))]

    /// Bytes outside the declared spans stay, the inverse restores the source, and only the intended sections differ.
    #[test]
    fn an_edit_changes_what_it_says_and_nothing_else(text in any_document(), any in any_edit()) {
        let bytes = text.as_bytes();
        let document = Source::new(bytes).parse();
        let Ok(edited) = EditableDocument::new(bytes, &document).unwrap().edit(&any.as_edit()) else {
            return Ok(());
        };
        let back = edited.changes.inverse(bytes);
        prop_assert_eq!(back.apply(&edited.bytes).unwrap(), bytes);
        let mut at = (0, 0);
        for (change, after) in edited.changes.iter().zip(edited.changes.spans_after()) {
            prop_assert_eq!(&bytes[at.0..change.span.start], &edited.bytes[at.1..after.start]);
            at = (change.span.end, after.end);
        }
        prop_assert_eq!(&bytes[at.0..], &edited.bytes[at.1..]);
        prop_assert_eq!(&Source::new(&edited.bytes).parse(), &edited.document);

        let (before, after) = (tree(bytes), tree(&edited.bytes));
        prop_assert_eq!(edited.lineage.len(), after.len());
        let survivors: Vec<usize> = edited.lineage.iter().flatten().copied().collect();
        let mut unique = survivors.clone();
        unique.sort_unstable();
        unique.dedup();
        prop_assert_eq!(unique.len(), survivors.len(), "no section is two");
        let untouched = |old: usize| match any.as_edit() {
            Edit::ReplaceBody { section, .. } | Edit::Rename { section, .. } => old != section,
            Edit::ReplaceSubtree { section, .. }
            | Edit::SetLevel { section, .. }
            | Edit::Delete { section }
            | Edit::ReplaceText { within: EditScope::Subtree(section), .. }
            | Edit::Move { section, .. } => {
                !(section..super::tops(&document)[section].subtree_end).contains(&old)
            }
            _ => true,
        };
        for (new, old) in edited.lineage.iter().enumerate() {
            if let Some(old) = old.filter(|old| untouched(*old)) {
                prop_assert_eq!(&before[old], &after[new]);
            }
        }
        for old in 0..before.len() {
            prop_assert!(survivors.contains(&old) || !untouched(old), "section {} is lost", old);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(20_000)))]

    /// A sequence of edits is one change; undone one by one, it restores every intermediate state.
    #[test]
    fn a_script_of_edits_is_one_change_and_leads_back(
        text in any_document(),
        script in proptest::collection::vec(any_edit(), 1..6),
    ) {
        let mut states = vec![text.into_bytes()];
        let mut steps: Vec<(Changes, Changes)> = Vec::new();
        let mut all = Changes::default();
        for any in &script {
            let bytes = &states[states.len() - 1];
            let document = Source::new(bytes).parse();
            if let Ok(edited) = EditableDocument::new(bytes, &document).unwrap().edit(&any.as_edit()) {
                let back = edited.changes.inverse(bytes);
                prop_assert_eq!(&back.inverse(&edited.bytes), &edited.changes);
                all = all.then(&edited.changes);
                steps.push((edited.changes, back));
                states.push(edited.bytes);
            }
        }
        let (first, last) = (&states[0], &states[states.len() - 1]);
        prop_assert_eq!(&all.apply(first).unwrap(), last);
        prop_assert_eq!(&all.inverse(first).apply(last).unwrap(), first);
        for (at, (forth, back)) in steps.iter().enumerate() {
            prop_assert_eq!(&forth.apply(&states[at]).unwrap(), &states[at + 1]);
            prop_assert_eq!(&back.apply(&states[at + 1]).unwrap(), &states[at]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(4_000)))]

    #[test]
    fn writing_back_what_was_read_changes_nothing(text in any_document(), section in 0_usize..6, subtree: bool) {
        let bytes = text.as_bytes();
        let document = Source::new(bytes).parse();
        let Some((_, found, extent)) = document.top_level().nth(section) else { return Ok(()) };
        let region = if subtree { Span::new(found.heading.end, extent.subtree.end) } else { extent.own_body };
        let content = std::str::from_utf8(content_span(bytes, region).slice(bytes)).unwrap();
        let headings = PayloadHeadings::Inside;
        let edit = if subtree {
            Edit::ReplaceSubtree { section, body: content, headings }
        } else {
            Edit::ReplaceBody { section, body: content, headings }
        };
        let edited = EditableDocument::new(bytes, &document).unwrap().edit(&edit).unwrap();
        prop_assert!(edited.changes.is_empty());
        prop_assert_eq!(edited.bytes, bytes);
    }

    #[test]
    fn what_was_written_is_what_is_read(text in any_document(), section in 0_usize..6, payload in proptest::collection::vec(block(), 0..3)) {
        let payload = payload.join("\n\n");
        let bytes = text.as_bytes();
        let document = Source::new(bytes).parse();
        let edit = Edit::ReplaceBody { section, body: &payload, headings: PayloadHeadings::Inside };
        let Ok(edited) = EditableDocument::new(bytes, &document).unwrap().edit(&edit) else { return Ok(()) };
        let (_, _, extent) = edited.document.top_level().nth(section).unwrap();
        let read = content_span(&edited.bytes, extent.own_body).slice(&edited.bytes);
        let all = Span::new(0, payload.len());
        let asked = &payload[content_span(payload.as_bytes(), all).range()];
        let read = std::str::from_utf8(read).unwrap().replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(read, asked);
    }
}
