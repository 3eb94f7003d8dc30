//! Whatever a note contains, its page is well formed and safe.

use proptest::prelude::*;

use super::*;
use crate::testing::{cases, documents_of};

/// Generates notes dense in what could become markup.
fn hostile_notes() -> impl Strategy<Value = Vec<u8>> {
    documents_of(vec![
        "# ",
        "## ",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "> ",
        "- ",
        "1. ",
        "  ",
        "    ",
        "- [ ] ",
        "- [x] ",
        "===",
        "---",
        "***",
        "*",
        "_",
        "**",
        "~~",
        "`",
        "```\n",
        "~~~x\n",
        "<",
        ">",
        "\"",
        "'",
        "&",
        ";",
        "&lt;",
        "&#106;",
        "&Tab;",
        "<b>",
        "</b>",
        "<br>",
        "<div>",
        "<!-- ",
        "-->",
        "<script>",
        "</script>",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "[[",
        "]]",
        "![[",
        "|",
        "\\|",
        "\\",
        "!",
        "[^1]",
        "[^1]: ",
        "[a]: ",
        "[a]",
        "[a](b)",
        "](missing)",
        "|a|b|\n|-|-|\n",
        "|-|\n",
        "%%",
        "javascript:",
        "https://a",
        "http:",
        "mailto:b",
        "<https://c>",
        "<javascript:x>",
        "<d@e.example>",
        "data:",
        "//",
        "#",
        "?",
        "%0a",
        "[!note]",
        "^id",
        "text",
        "é",
        "日",
        "\u{202e}",
        "\u{feff}",
        "\0",
        "---\nx: y\n---\n",
        "missing",
        "several",
        "wrong",
        "\t",
        "\u{a0}",
        "+",
        "=",
        " ",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn every_page_is_well_formed_and_leads_nowhere_else(note in hostile_notes()) {
        let html = rendered(&note).html;
        checked(&note, &html);
        // Each section is on the page once, except where an element has no place for it.
        let sections = Source::new(&note).parse().sections().len();
        prop_assert_eq!(html.matches(" id=\"section-").count(), sections, "{}", html);
    }

    #[test]
    fn a_page_that_is_cut_is_well_formed(note in hostile_notes(), max_bytes in 0_usize..400) {
        let options = HtmlOptions { max_bytes, ..HtmlOptions::default() };
        let cut = rendered_within(&note, options);
        prop_assert!(cut.html.len() <= max_bytes);
        checked(&note, &cut.html);
        let whole = rendered(&note);
        prop_assert_eq!(cut.is_truncated, whole.html.len() > max_bytes);
    }

    #[test]
    fn text_is_shown_as_it_is(words in "[a-z<>\"'/=&]{1,8}( [a-z<>\"'/=&]{1,8}){0,8}") {
        // A quote, a tag of a block or a heading would be more than text.
        let note = format!("x {words}");
        prop_assume!(!note.contains("<br"));
        prop_assert_eq!(seen(&note), note);
    }

    #[test]
    fn code_is_shown_as_it_is(code in "[^~\r\0\u{1}-\u{8}\u{b}-\u{1f}\u{7f}]{0,60}") {
        let note = format!("~~~\n{code}\n~~~");
        prop_assert_eq!(seen(&note), code.trim());
    }
}
