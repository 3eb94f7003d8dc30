//! Filters mean what they say, and only they are filters.

use proptest::prelude::*;
use sectile_markdown::NotePath;
use sectile_retrieval::MAX_QUERY_WORDS;

use super::*;
use crate::{live_folder::testing::note, storage::NotebookStamp};

/// 2026-03-10T12:00:00Z.
const NOW: i64 = 1_773_144_000_000;
const DAY: i64 = 86_400_000;

fn is_field(name: &str) -> bool {
    ["status", "due", "count", "due date", "outer"].contains(&name.to_lowercase().as_str())
}

fn parsed(text: &str) -> FolderQuery {
    FolderQuery::parse(text, NOW, &is_field).unwrap()
}

fn mistake(text: &str) -> String {
    FolderQuery::parse(text, NOW, &is_field)
        .unwrap_err()
        .message
}

fn words(text: &str) -> Option<String> {
    searched(&parsed(text)).map(|(words, _)| words.text().to_owned())
}

/// Returns what a query searches for in a folder without notes.
fn searched(query: &FolderQuery) -> Option<(SearchQuery, Vec<String>)> {
    query.words(&Corpus::new(Vec::new(), &[]))
}

fn harbour() -> NoteRecord {
    let text = "---\nstatus: Open\ndue: 2026-04-01\ncount: 10\ndue date: soon\ntags: [Work/Harbour, x]\ndate: 2026-02-01\n\
                outer: {inner: a b}\nmany: [one, Two]\n---\n- [ ] open\n";
    let mut record = NoteRecord::clone(&note("Projects/harbour.md", text));
    record.stamp.modified = NOW - 3 * DAY;
    record
}

#[test]
fn filters_hold_or_do_not() {
    let note = harbour();
    for (query, expected) in [
        ("tag:work", true),
        ("tag:WORK/harbour", true),
        ("tag:#x", true),
        ("tag:wor", false),
        ("tag:work/har", false),
        ("tag:*", true),
        ("-tag:work", false),
        ("-tag:other", true),
        ("path:projects/", true),
        ("path:projects/harbour", true),
        ("path:Projects\\", true),
        ("path:/projects/", true),
        ("path:\"Daily notes/\"", false),
        ("path:harbour", false),
        ("-path:projects/", false),
        ("status:open", true),
        ("STATUS:OPEN", true),
        ("status:\"open\"", true),
        ("status:ope", false),
        ("status:*", true),
        ("-status:done", true),
        ("-status:*", false),
        ("count:10", true),
        ("count:1e1", true),
        ("count:10.0", true),
        ("count:100", false),
        ("due:2026-04-01", true),
        ("due:2026-4-1T0:00:00Z", true),
        ("due:2026-04-02", false),
        ("\"due date\":soon", true),
        ("outer:*", true),
        ("before:2026-02-02", true),
        ("before:2026-02-01", false),
        ("after:2026-02-01", true),
        ("after:2026-02", true),
        ("after:2026-03", false),
        ("before:2027", true),
        ("modified:7d", true),
        ("modified:2d", false),
        ("modified:73h", true),
        ("modified:1w", true),
        ("modified:1m", true),
        ("modified:1y", true),
        ("modified:2026-03-07", true),
        ("modified:2026-03-08", false),
        ("-modified:7d", false),
        ("is:task", true),
        ("is:done", false),
        ("is:task is:done", true),
        ("-is:task", false),
        ("-is:done", true),
        ("tag:x status:open path:projects is:task", true),
        ("tag:x status:done", false),
        ("", true),
        ("words only", true),
    ] {
        assert_eq!(parsed(query).matches(&note), expected, "{query}");
    }
    let undated = harbour().with_details(|details| details.date = None);
    assert!(parsed("after:2026-03-07 before:2026-03-08").matches(&undated));
}

#[test]
fn numbers_are_equal_only_if_all_their_digits_are() {
    for (one, other, expected) in [
        ("10", "10.0", true),
        ("1e3", "1000", true),
        ("20260131123456789", "20260131123456790", false),
        ("20260131123456789", "20260131123456789", true),
        ("1e400", "9e999", false),
    ] {
        let text = format!("---\nstatus: {one}\n---\n");
        let note = note("a.md", &text);
        let is_found = parsed(&format!("status:{other}")).matches(&note);
        assert_eq!(is_found, expected, "{one} {other}");
    }
}

#[test]
fn words_are_words() {
    for (query, expected) in [
        ("winter feed", Some("winter feed")),
        ("tag:x", None),
        ("", None),
        ("  ", None),
        ("feed tag:x hay status:open", Some("feed hay")),
        // Not fields of any note.
        ("colour:red", Some("colour:red")),
        ("https://example.org/x", Some("https://example.org/x")),
        ("10:30", Some("10:30")),
        ("colour:", Some("colour:")),
        (":x", Some(":x")),
        ("-word", Some("-word")),
        ("hay -\"wet hay\"", Some("hay wet hay")),
        ("- word", Some("- word")),
        // Phrases count as words, too.
        ("\"winter  feed\" hay", Some("winter  feed hay")),
        ("5\" pipe", Some("5\" pipe")),
        ("\"open pipe", Some("\"open pipe")),
        ("\"\"", None),
    ] {
        assert_eq!(words(query).as_deref(), expected, "{query}");
    }
    let query = parsed("\"Winter  feed\" \u{201c}hay bale\u{201d} status:\"in work\"");
    assert_eq!(query.phrases(), ["Winter feed", "hay bale"]);
    assert!(query.has_phrases("WINTER\nfeed, and a Hay bale"));
    assert!(!query.has_phrases("winter feed and hay"));
    assert_eq!(parsed("sort:modified").order(), HitOrder::Modified);
    assert_eq!(parsed("Sort:Path x").order(), HitOrder::Path);
    assert_eq!(parsed("is:task").tasks(), Some(TaskFilter::Open));
    assert_eq!(parsed("is:done is:task").tasks(), Some(TaskFilter::Any));
    assert!(!parsed("x").has_filters() && parsed("tag:a").has_filters());
}

#[test]
fn a_long_question_is_never_refused() {
    let many: Vec<String> = (0..10_000).map(|number| format!("word{number}")).collect();
    let query = parsed(&format!("tag:x {}", many.join(" ")));
    let (searched_for, dropped) = searched(&query).unwrap();
    assert!(query.has_filters());
    assert_eq!(searched_for.parsed().terms().count(), MAX_QUERY_WORDS);
    // A number is a word of its own.
    assert_eq!(dropped.len(), many.len() + 1 - MAX_QUERY_WORDS);
    assert_eq!(query.text(), many.join(" "));
    assert!(searched(&parsed(&"x".repeat(1_000_000))).is_none());
    // A word that is too long does not keep others from being searched for.
    let query = parsed(&format!("hay {}", "x".repeat(5_000)));
    let (searched_for, dropped) = searched(&query).unwrap();
    assert_eq!(searched_for.text(), "hay");
    assert_eq!(dropped, ["x".repeat(60)]);
}

#[test]
fn a_filter_without_a_meaning_is_a_mistake() {
    assert_eq!(
        mistake("hay tag:"),
        "The filter `tag:` has no value. Write tag:project, without a space after the colon."
    );
    assert_eq!(
        mistake("status: open"),
        "The filter `status:` has no value. Write status:value, or status:* for any value, without a space after the \
         colon."
    );
    for (query, named) in [
        ("path:", "path:"),
        ("path:\"\"", "path:\"\""),
        ("tag:#", "tag:#"),
        ("-tag:", "-tag:"),
        ("before:", "before:"),
        ("after:soon", "after:soon"),
        ("after:2026-02-30", "after:2026-02-30"),
        ("before:2026-13", "before:2026-13"),
        ("modified:7x", "modified:7x"),
        ("modified:d", "modified:d"),
        ("modified:99999999d", "modified:99999999d"),
        ("modified:99999y", "modified:99999y"),
        ("is:", "is:"),
        ("is:open", "is:open"),
        ("sort:size", "sort:size"),
        ("-sort:path", "-sort:path"),
    ] {
        let mistake = FolderQuery::parse(query, NOW, &is_field).unwrap_err();
        assert_eq!(mistake.filter, named);
        assert!(mistake.message.contains(&format!("`{named}`")), "{mistake}");
    }
    let long = format!("after:{}", "x".repeat(100_000));
    assert!(mistake(&long).len() < 300);
}

proptest! {
    /// Any text is a query or a mistake that names a part of it, and excluding is the opposite of requiring.
    #[test]
    fn any_text_is_a_query(
        text in "(tag:|path:|status:|modified:|is:|sort:|-|\"|a|B/|7d|task| |:|\u{e9}|\n){0,12}",
        value in "[a-z\"]{1,3}",
        path in "[a-z]{1,3}/[a-z]{1,3}",
    ) {
        match FolderQuery::parse(&text, NOW, &is_field) {
            Ok(query) => {
                let note = harbour();
                prop_assert!(query.has_filters() || query.matches(&note));
            }
            Err(mistake) => prop_assert!(text.contains(&mistake.filter)),
        }
        let path = NotePath::parse_vault(&format!("{path}.md")).unwrap();
        let note = NoteRecord::new(path, NotebookStamp::default(), b"---\ntags: [a, b]\nstatus: ab\n---\n");
        for filter in ["tag", "path", "status"] {
            let text = format!("{filter}:{value}");
            if let Ok(query) = FolderQuery::parse(&text, NOW, &is_field)
                && searched(&query).is_none()
            {
                let opposite = parsed(&format!("-{text}"));
                prop_assert_ne!(query.matches(&note), opposite.matches(&note), "{}", text);
            }
        }
    }
}
