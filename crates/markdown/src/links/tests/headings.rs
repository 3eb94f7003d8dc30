//! Resolving links to headings, and repairing them.

use super::*;
use FragmentResolution::{Block, Heading, Html, Missing, MissingBlock, TopOfDocument};

#[test]
fn anchors_are_githubs() {
    for (text, anchor) in [
        ("Hello World", "hello-world"),
        ("A & B", "a--b"),
        ("What's new in 2.0?", "whats-new-in-20"),
        ("snake_case-and-dash", "snake_case-and-dash"),
        ("🚀 Launch", "-launch"),
        ("Übergröße ÉTÉ", "übergröße-été"),
        ("日本語 見出し。", "日本語-見出し"),
        ("हिन्दी", "हिन्दी"),
        ("e\u{301}", "e\u{301}"),
        ("x² ½ ①", "x--"),
        ("٣ ௧", "٣-௧"),
        ("C++ / C#", "c--c"),
        ("ΑΣ", "ας"),
        ("!!!", ""),
    ] {
        assert_eq!(github_anchor(text), anchor, "{text:?}");
    }
}

#[test]
fn anchors_of_documents() {
    for (text, expected) in [
        ("# A\n## B\n# C", &["a", "b", "c"][..]),
        ("# A\n# A\n# A", &["a", "a-1", "a-2"]),
        ("# A\n# A-1\n# A", &["a", "a-1", "a-2"]),
        ("# A\n# A\n# A-1\n# a", &["a", "a-1", "a-1-1", "a-2"]),
        ("# The `foo`() call", &["the-foo-call"]),
        ("# **Bold**: text", &["bold-text"]),
        ("# See [docs](x.md) and [[Note]]", &["see-docs-and-note"]),
        ("# <a name=\"x\"></a>Title", &["title"]),
        ("# ![logo](x.png) Title", &["-title"]),
        ("# a &amp; \\* b ##", &["a---b"]),
        (
            "> # Quoted\n\n- # Item\n\nSetext\nlines\n---",
            &["quoted", "item", "setext-lines"],
        ),
        ("#\n#", &["", "-1"]),
    ] {
        let anchors = anchors(text);
        let found: Vec<&str> = (0..anchors.len())
            .filter_map(|index| anchors.anchor(index))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

const NOTE: &str = "\
# Setup
## Step 1: get `cargo`
## Notes
# Use
## Notes
### Notes
## C
## C++
## Émile [x](y.md)
## Renamed {#stable .x}
## quick-start
## Quick start
<a id=\"old-name\"></a> <A NAME=Other>

Text. ^block
";

#[test]
fn fragments_lead_to_headings() {
    let anchors = anchors(NOTE);
    for (fragment, inline, wiki) in [
        ("", TopOfDocument, TopOfDocument),
        ("top", TopOfDocument, TopOfDocument),
        ("setup", Heading(0), Heading(0)),
        ("Setup", Heading(0), Heading(0)),
        ("step-1-get-cargo", Heading(1), Heading(1)),
        ("Step 1 get cargo", Heading(1), Heading(1)),
        ("Step 1: get `cargo`", Heading(1), Heading(1)),
        ("  step 1   GET cargo ", Heading(1), Heading(1)),
        ("notes", Heading(2), Heading(2)),
        ("notes-1", Heading(4), Heading(4)),
        ("Notes-2", Heading(5), Heading(5)),
        ("Use#Notes", Heading(4), Heading(4)),
        ("Use#Notes#Notes", Heading(5), Heading(5)),
        ("#Use##Notes#", Heading(4), Heading(4)),
        ("Notes#Notes", Heading(5), Heading(5)),
        ("Notes#Use", Missing, Missing),
        ("C++", Heading(7), Heading(7)),
        ("c-1", Heading(7), Heading(7)),
        ("c", Heading(6), Heading(6)),
        ("C?", Heading(6), Heading(6)),
        ("E\u{301}mile x", Heading(8), Heading(8)),
        ("émile [x](y.md)", Heading(8), Heading(8)),
        ("stable", Heading(9), Heading(9)),
        ("Renamed", Heading(9), Heading(9)),
        ("quick-start", Heading(10), Heading(10)),
        ("quick-start-1", Heading(11), Heading(11)),
        ("Quick start", Heading(11), Heading(11)),
        ("^block", Block, Block),
        ("^BLOCK", Block, Block),
        ("Use#^block", Block, Block),
        ("^none", MissingBlock, MissingBlock),
        ("Use#^none", MissingBlock, MissingBlock),
        ("old-name", Html, Html),
        ("other", Html, Html),
        ("nothing", Missing, Missing),
        ("?!", Missing, Missing),
        ("^", MissingBlock, MissingBlock),
        ("#", Missing, Missing),
    ] {
        assert_eq!(
            anchors.resolve(LinkForm::Inline, fragment),
            inline,
            "inline {fragment:?}"
        );
        assert_eq!(
            anchors.resolve(LinkForm::Wiki, fragment),
            wiki,
            "wiki {fragment:?}"
        );
    }
}

#[test]
fn indices_are_those_of_the_document() {
    let source = Source::new(NOTE.as_bytes());
    let (document, anchors) = (source.parse(), Anchors::new(&source));
    let index = document
        .sections()
        .iter()
        .position(|section| section.text == "C++");
    assert_eq!(
        index.map(Heading),
        Some(anchors.resolve(LinkForm::Wiki, "c++"))
    );
    assert_eq!(anchors.link_text(1).as_deref(), Some("Step 1 get cargo"));
    assert_eq!(anchors.link_text(9).as_deref(), Some("Renamed"));
    assert_eq!(anchors.anchor(99), None);
}

/// Returns `link` after `old` became `new`, which have equally many headings.
fn after_rename(link: &str, old: &str, new: &str) -> String {
    let (old, new) = (anchors(old), anchors(new));
    let lineage: Vec<Option<usize>> = (0..old.len()).map(Some).collect();
    let repair = repair_fragment(&only_link(link), link.as_bytes(), &old, &new, &lineage);
    repaired(link, &repair)
}

#[test]
fn links_follow_a_renamed_heading() {
    let old = "# Set up\n## Notes\n# Other\n";
    let new = "# Getting (really) started: now!\n## Notes\n# Other\n";
    for (link, expected) in [
        ("[a](n.md#set-up)", "[a](n.md#getting-really-started-now)"),
        (
            "[a](n.md#Set-Up 'Set up')",
            "[a](n.md#getting-really-started-now 'Set up')",
        ),
        ("[a](#set-up)", "[a](#getting-really-started-now)"),
        (
            "[set-up]: n.md#set-up 'x'",
            "[set-up]: n.md#getting-really-started-now 'x'",
        ),
        (
            "[a]: <n.md#Set up> (Set up)",
            "[a]: <n.md#Getting (really) started now!> (Set up)",
        ),
        (
            "[a]:\n  n.md#Set%20up\n  'x'",
            "[a]:\n  n.md#Getting%20%28really%29%20started%20now!\n  'x'",
        ),
        (
            "[a](n.md#Set%20up)",
            "[a](n.md#Getting%20%28really%29%20started%20now!)",
        ),
        (
            "[a](<n.md#Set up>)",
            "[a](<n.md#Getting (really) started now!>)",
        ),
        (
            "[a](n.md#Set&#32;up#Notes)",
            "[a](n.md#Getting%20%28really%29%20started%20now!#Notes)",
        ),
        ("[[n#Set up]]", "[[n#Getting (really) started now!]]"),
        (
            "[[n#set up|Set up]]",
            "[[n#Getting (really) started now!|Set up]]",
        ),
        ("![[n# Set up ]]", "![[n# Getting (really) started now! ]]"),
        ("[[#Set up\\|x]]", "[[#Getting (really) started now!\\|x]]"),
        ("[[n#set-up]]", "[[n#getting-really-started-now]]"),
        (
            "[[n#Set up#Notes|x]]",
            "[[n#Getting (really) started now!#Notes|x]]",
        ),
        (
            "[[n# Set up # Notes ]]",
            "[[n# Getting (really) started now! # Notes ]]",
        ),
        ("[[n#Notes]]", "="),
        ("[[n#Other]]", "="),
        ("[[n]]", "="),
        ("[[n#^b]]", "="),
        ("[[n#gone]]", "="),
        ("[a](n.md#other)", "="),
    ] {
        assert_eq!(after_rename(link, old, new), expected, "{link:?}");
    }
}

#[test]
fn only_what_must_change_does() {
    for (link, old, new, expected) in [
        ("[[n#Set up!]]", "# Set up!", "# Set up?", "="),
        ("[[n#set up]]", "# Set up", "# SET UP", "="),
        ("[a](#a)", "# A", "# A!", "="),
        ("[a](#keep)", "# A {#keep}", "# B {#keep}", "="),
        ("[a](#keep)", "# A {#keep}", "# B {#new}", "[a](#new)"),
        ("[a](#keep)", "# A {#keep}", "# B", "[a](#b)"),
        (
            "[[n#A#B#C]]",
            "# A\n## B\n### C",
            "# A\n## X\n### C",
            "[[n#A#X#C]]",
        ),
        (
            "[[n#A#B#C]]",
            "# A\n## B\n### C",
            "# Z\n## B\n### X",
            "[[n#Z#B#X]]",
        ),
        ("[[n#B]]", "# A\n# B", "# A\n# A", "!"),
        (
            "[[n#B]]",
            "# A\n## B\n# C\n## D",
            "# A\n## D\n# C\n## D",
            "[[n#D]]",
        ),
        (
            "[[n#D]]",
            "# A\n## B\n# C\n## D",
            "# A\n## D\n# C\n## D",
            "[[n#C#D]]",
        ),
        (
            "[a](n#My%20D)",
            "# B\n# My D",
            "# My D\n# My D",
            "[a](n#my-d-1)",
        ),
        ("[[n#A]]", "# A", "#", "!"),
        ("[a](#a)", "# A", "# ???", "[a](#%3F%3F%3F)"),
        ("[a](#%C3%A9)", "# é", "# ö b", "[a](#%C3%B6-b)"),
        ("[a](#é)", "# é", "# ö b", "[a](#ö-b)"),
        ("[a](#A%20b)", "# A b", "# R&amp;D; c", "[a](#R%26D;%20c)"),
        (
            "[[n#A]]",
            "# A",
            "# x [[y|z]] <b> `#` %%c%% ^d",
            "[[n#x y z c d]]",
        ),
    ] {
        assert_eq!(after_rename(link, old, new), expected, "{link:?} {new:?}");
    }
}

#[test]
fn links_follow_one_of_two_equal_headings() {
    let old = "# A\n# A\n";
    for (link, new, expected) in [
        ("[x](#a)", "# B\n# A\n", "[x](#b)"),
        ("[x](#a-1)", "# B\n# A\n", "[x](#a)"),
        ("[x](#a)", "# A\n# B\n", "="),
        ("[x](#a-1)", "# A\n# B\n", "[x](#b)"),
        ("[[n#A]]", "# B\n# A\n", "[[n#B]]"),
        ("[[n#A]]", "# A\n# B\n", "="),
    ] {
        assert_eq!(after_rename(link, old, new), expected, "{link:?} {new:?}");
    }
}

#[test]
fn links_to_a_heading_that_is_gone_break() {
    let (old, new) = (anchors("# A\n# A\n# B\n"), anchors("# A\n# B\n"));
    let lineage = [None, Some(0), Some(1)];
    for (link, expected) in [
        ("[x](#a)", "!"),
        ("[x](#a-1)", "[x](#a)"),
        ("[x](#b)", "="),
        ("[[n#A]]", "!"),
    ] {
        let repair = repair_fragment(&only_link(link), link.as_bytes(), &old, &new, &lineage);
        assert_eq!(repaired(link, &repair), expected, "{link:?}");
    }
    let beyond = [Some(7)];
    let link = only_link("[x](#a)");
    assert_eq!(
        repair_fragment(&link, b"", &old, &new, &beyond),
        Repair::Impossible
    );
    assert_eq!(
        repair_fragment(&link, b"", &old, &new, &[]),
        Repair::Impossible
    );
}

#[test]
fn anchors_that_moved() {
    let (old, new) = (anchors("# A\n# A\n# B\n# C\n"), anchors("# A\n# D\n# C\n"));
    let moved: Vec<_> = moved_anchors(&old, &new, &[None, Some(0), Some(1), Some(2)])
        .into_iter()
        .map(|moved| (moved.anchor, moved.heading, moved.now, moved.taken_by))
        .collect();
    assert_eq!(
        moved,
        [
            ("a".to_owned(), 0, None, Some(0)),
            ("a-1".to_owned(), 1, Some(("a".to_owned(), 0)), None),
            ("b".to_owned(), 2, Some(("d".to_owned(), 1)), None),
        ]
    );
}

fn heading_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ABab]{1,2}( [ABab])?",
        "[A-Ca-c:#|^%\\[\\]`<>*_&;()?!{}/é²-]{0,8}",
        "\\PC{0,8}",
    ]
}

fn headings() -> impl Strategy<Value = Vec<(usize, String)>> {
    proptest::collection::vec((1_usize..4, heading_text()), 1..6)
}

fn written(headings: &[(usize, String)]) -> String {
    let lines = headings
        .iter()
        .map(|(level, text)| format!("{} {text}\n\n", "#".repeat(*level)));
    lines.collect()
}

proptest! {
    /// All links of a document lead to the same headings once it is repaired and parsed again.
    #[test]
    fn repaired_links_lead_to_the_same_heading(
        headings in headings(),
        renamed in any::<prop::sample::Index>(),
        new_text in heading_text(),
    ) {
        let old = anchors(&written(&headings));
        let mut after = headings.clone();
        let renamed = renamed.index(after.len());
        after[renamed].1 = new_text;
        let new = anchors(&written(&after));
        prop_assert_eq!(old.len(), new.len());
        let lineage: Vec<Option<usize>> = (0..old.len()).map(Some).collect();
        let linking: String = (0..old.len())
            .map(|index| {
                let anchor = old.anchor(index).unwrap();
                let text = old.link_text(index).unwrap();
                let parent = old.parent(index).and_then(|parent| old.link_text(parent)).unwrap_or_default();
                let encoded = destination::encoded(&text, false, b"");
                format!(
                    "[a](n.md#{anchor}) ![a](<n.md#{anchor}> \"b\") [a](n.md#{encoded})\n\n[[n#{text}]] | \
                     [[n#{parent}#{text}\\|c]]\n\n[{index}]: n.md#{anchor}\n\n"
                )
            })
            .collect();
        let before = parse(&linking);
        let repairs: Vec<Repair> = before
            .iter()
            .map(|link| repair_fragment(link, linking.as_bytes(), &old, &new, &lineage))
            .collect();
        let changes = repairs.iter().filter_map(|repair| match repair {
            Repair::Change(change) => Some(change.clone()),
            _ => None,
        });
        let changed = Changes::new(changes).unwrap().apply(linking.as_bytes()).unwrap();
        let again = links(&Source::new(&changed));
        prop_assert_eq!(before.len(), again.len());
        for ((before, again), repair) in before.iter().zip(&again).zip(&repairs) {
            prop_assert_eq!(before.form, again.form);
            prop_assert_eq!(&before.path.text, &again.path.text);
            if *repair != Repair::Impossible && let Heading(target) = old.resolve(before.form, before.fragment_text()) {
                prop_assert_eq!(new.resolve(again.form, again.fragment_text()), Heading(target), "{:?}", again);
            }
        }
    }

    #[test]
    fn any_fragment_has_an_answer(text in markdown(), fragment in "\\PC{0,12}", other in markdown()) {
        let (old, new) = (anchors(&text), anchors(&other));
        for form in [LinkForm::Inline, LinkForm::Wiki] {
            std::hint::black_box(old.resolve(form, &fragment));
        }
        let lineage: Vec<Option<usize>> = (0..old.len()).map(|index| index.checked_sub(1)).collect();
        std::hint::black_box(moved_anchors(&old, &new, &lineage));
        for link in parse(&text) {
            std::hint::black_box(repair_fragment(&link, text.as_bytes(), &old, &new, &lineage));
            std::hint::black_box(repair_fragment(&link, b"\xff", &old, &new, &lineage));
        }
    }
}
