//! What is equal is found where it is, and nothing else is equal.

use proptest::prelude::*;

use super::*;

fn folded(text: &str) -> String {
    ComparableText::of_text(text, TextFolding::ALL).text
}

fn read(markdown: &str) -> String {
    ComparableText::as_read(&Source::new(markdown.as_bytes()), TextFolding::ALL).text
}

/// The bytes of `markdown` where a reader sees `wanted`.
fn found<'m>(markdown: &'m str, wanted: &str) -> Vec<&'m str> {
    let text = ComparableText::as_read(&Source::new(markdown.as_bytes()), TextFolding::ALL);
    let parts = text.find(&folded(wanted), 0);
    parts
        .map(|part| &markdown[text.source_of(part).range()])
        .collect()
}

#[test]
fn white_space_typography_and_normal_forms_are_even() {
    for (one, other) in [
        ("  a\r\n\tb\u{a0}c ", "a b c"),
        ("\u{201c}No\u{201d} \u{2014} it\u{2019}s", "\"No\" - it's"),
        ("wait...", "wait\u{2026}"),
        ("one -- two---three", "one - two-three"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("a\u{323}\u{307}", "a\u{307}\u{323}"),
        ("soft\u{ad}ware", "software"),
        ("预算\n是四千", "预算是四千"),
        ("用 Rust 写", "用Rust写"),
        (
            "한국어",
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165}",
        ),
    ] {
        assert_eq!(folded(one), folded(other), "{one:?}");
    }
    for (one, other) in [
        ("cafe", "caf\u{e9}"),
        ("4000", "4,000"),
        ("1 2", "12"),
        ("The", "the"),
        ("--force", "-force"),
        ("5'", "5\""),
        ("\u{ff11}", "1"),
        ("\u{fb01}", "fi"),
    ] {
        assert_ne!(folded(one), folded(other), "{one:?}");
    }
}

#[test]
fn a_reader_sees_no_markup() {
    for (markdown, seen) in [
        (
            "Some **bold** and `code` and [a link](x.md).",
            "Some bold and code and a link.",
        ),
        (
            "See [[Plan]] and [[plan#Budget|the budget]].",
            "See Plan and the budget.",
        ),
        ("one\n> two\n\n- three", "one two three"),
        ("A &amp; B \\* C", "A & B * C"),
        ("H<sub>2</sub>O<br>x", "H2O x"),
        ("---\nt: x\n---\n# Head\n\ntext", "Head text"),
        ("`[[not a link]]`", "[[not a link]]"),
    ] {
        assert_eq!(read(markdown), seen, "{markdown}");
    }
}

#[test]
fn parts_lead_back_to_their_bytes() {
    for (markdown, wanted, bytes) in [
        (
            "a **bold\nword** here",
            "bold word here",
            "bold\nword** here",
        ),
        ("x `code` y", "code y", "code` y"),
        (
            "see [[plan#Budget|the budget]] now",
            "the budget now",
            "the budget]] now",
        ),
        ("A &amp; B", "A & B", "A &amp; B"),
        ("caf\u{e9} noir", "cafe\u{301} noir", "caf\u{e9} noir"),
        ("\u{201c}No\u{201d}", "\"No\"", "\u{201c}No\u{201d}"),
    ] {
        assert_eq!(found(markdown, wanted), [bytes], "{markdown}");
    }
}

#[test]
fn a_quotation_does_not_end_inside_a_word_or_number() {
    for (text, wanted) in [
        ("costs 4000 euros", "costs 400"),
        ("costs 4,000 euros", "costs 4"),
        ("costs 14 euros", "4 euros"),
        ("at -5 degrees", "5 degrees"),
        ("I can't go", "I can"),
        ("un caf\u{e9} noir", "un cafe"),
        ("the walls fell", "the wall"),
        ("한국어", "하"),
    ] {
        assert_eq!(found(text, wanted), [""; 0], "{wanted}");
    }
    for (text, wanted) in [
        ("l'avion est parti", "avion est parti"),
        ("预算是四千元", "算是四"),
        ("costs 4. 5 more", "costs 4"),
        ("pages 3-5 here", "5 here"),
        ("walls; the wall", "the wall"),
    ] {
        assert_eq!(found(text, wanted).len(), 1, "{wanted}");
    }
}

#[test]
fn bytes_that_are_not_text_keep_their_places() {
    let bytes = b"one \xff\xff two three\n";
    let text = ComparableText::as_read(&Source::new(bytes), TextFolding::ALL);
    let part = text.find("two three", 0).next().unwrap();
    assert_eq!(text.source_of(part).slice(bytes), b"two three");
}

#[test]
fn text_that_repeats_itself_is_not_searched_forever() {
    let text = "a".repeat(100_000);
    assert_eq!(found(&text, &"a".repeat(50)), [""; 0]);
}

proptest! {
    #[test]
    fn every_part_of_a_text_is_found_where_it_is(
        markdown in "([#>*`\\[\\]|_ -]{0,2}[a-cé\u{301}一“”—&;.\r\n]{0,4}){0,20}",
    ) {
        let source = Source::new(markdown.as_bytes());
        for text in [
            ComparableText::as_read(&source, TextFolding::ALL),
            ComparableText::as_written(&source, TextFolding::ALL),
        ] {
            let mut last = 0;
            for (at, c) in text.text.char_indices() {
                let span = text.source_of(at..at + c.len_utf8());
                prop_assert!(span.start <= span.end && span.end <= markdown.len());
                // Marks may be in another order.
                prop_assert!(span.start >= last || canonical_combining_class(c) != 0);
                prop_assert!(markdown.get(span.range()).is_some());
                last = last.max(span.start);
            }
        }
    }
}
