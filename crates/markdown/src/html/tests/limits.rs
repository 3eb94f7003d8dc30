//! Notes that are too deep, too wide or too long.

use super::*;

#[test]
fn deep_nesting_is_flattened() {
    let quotes = "> ".repeat(100);
    for (note, expected) in [
        (format!("{} a", ">".repeat(5_000)), "a"),
        (format!("{}a", "- ".repeat(2_000)), "a"),
        (format!("{}a", "1. ".repeat(500)), "a"),
        (format!("{}a", "> - ".repeat(1_000)), "a"),
        (format!("{quotes}|a|\n{quotes}|-|\n{quotes}|*b*|\n"), "ab"),
        (format!("{quotes}# a\n"), "a"),
        (format!("{quotes}    a\n"), "a"),
        (format!("{quotes}- [ ] a\n"), "a"),
    ] {
        let text: String = seen(&note).split_whitespace().collect();
        assert_eq!(text, expected);
    }
    let emphasis = format!("{}c{}", "*a **b ".repeat(200), " d** e*".repeat(200));
    let text = seen(&emphasis);
    assert_eq!(text.split_whitespace().count(), 801, "{text}");
    assert!(!text.contains('*'), "{text}");
    let items: String = (0..200)
        .map(|depth| format!("{}- {depth}\n", "  ".repeat(depth)))
        .collect();
    let text: String = seen(&items).split_whitespace().collect();
    let expected: String = (0..200).map(|depth: usize| depth.to_string()).collect();
    assert_eq!(text, expected);
}

#[test]
fn the_result_is_never_longer_than_its_limit() {
    let note = "# A & B\n\n> - *a* [[b]] [c](https://d \"e\") ![f](g)\n>   - [x] `h` <i>\n\n|a|b|\n|-|-|\n|1|2|\n\n```x\n&&&&\n```\n\n[^1]: i [^1]\n";
    let whole = rendered(note.as_bytes());
    assert!(!whole.is_truncated);
    for max_bytes in 0..=whole.html.len() {
        let options = HtmlOptions {
            max_bytes,
            ..HtmlOptions::default()
        };
        let cut = rendered_within(note.as_bytes(), options);
        assert!(cut.html.len() <= max_bytes);
        assert_eq!(cut.is_truncated, max_bytes < whole.html.len());
        checked(note.as_bytes(), &cut.html);
        // Up to the closing tags, it is the start of the whole.
        let same = cut.html.bytes().zip(whole.html.bytes());
        let same = same.take_while(|(one, other)| one == other).count();
        let closing = &cut.html[same..];
        assert!(closing.len() < 80, "{closing}");
    }
}

#[test]
fn tables_cannot_grow_beyond_their_note() {
    // Each row has one cell and would be filled up to the width of the head.
    let table = format!(
        "{}\n{}\n{}\n",
        "|a".repeat(400),
        "|-".repeat(400),
        "|\n".repeat(600)
    );
    assert!(html(&table).contains("<table>"));
    let note = table.repeat(100);
    let html = html(&note);
    assert!(!html.contains("<table>"));
    assert!(html.len() < 4 * note.len());
    // What is wide and has its cells is a table.
    let row = format!("{}\n", "|a".repeat(1_000));
    let note = format!("{row}{}\n{}", "|-".repeat(1_000), row.repeat(50));
    let html = super::html(&note);
    assert_eq!(html.matches("<td ").count(), 50_000);
}
