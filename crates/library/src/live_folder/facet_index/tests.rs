//! A table of facets finds what looking at every note finds.

use proptest::prelude::*;

use super::*;
use crate::live_folder::testing::{Texts, changes, contents, texts};

const NOW: i64 = 1_000_000;
const QUERIES: [&str; 26] = [
    "",
    "tag:a",
    "tag:a/b",
    "TAG:A",
    "tag:*",
    "-tag:a",
    "-tag:a/b -status:open",
    "status:open",
    "status:*",
    "-status:*",
    "count:1",
    "count:1.0",
    "path:x/",
    "path:X/y",
    "path:x/y/",
    "-path:x/",
    "-path:x/y",
    "is:task",
    "is:done",
    "is:task is:done",
    "-is:task",
    "tag:a status:open -is:done",
    "outer:*",
    "outer.inner:z",
    "before:2020",
    "after:2020 -tag:a",
];
const PATHS: [&str; 6] = [
    "a.md",
    "x/a.md",
    "x/y/b.md",
    "X/y/c.md",
    "x/yz.md",
    "z/\u{c4}.md",
];
const TEXTS: [&str; 7] = [
    "",
    "---\ntags: [A, c]\nstatus: Open\n---\n",
    "---\nstatus: [done, open]\ncount: 01\n---\n- [x] y\n",
    "#a/b #\u{e4}\n\n- [ ] t\n",
    "---\ncount: 1\nouter:\n  inner: Z\n---\n",
    "---\ndate: 2019-01-01\ntags: a/b/c\n---\n- [ ] t\n- [x] d\n",
    "---\nstatus:\n---\n",
];

fn query(text: &str, index: &FacetIndex) -> FolderQuery {
    FolderQuery::parse(text, NOW, &|name| index.has_field(name)).unwrap()
}

#[test]
fn a_filter_looks_only_at_what_it_needs() {
    let mut files = texts(&[("p/one.md", "---\nstatus: open\n---\n#rare\n")]);
    for number in 0..200 {
        files.insert(
            format!("q/{number}.md"),
            "---\nstatus: open\n---\n#common\n".into(),
        );
    }
    let state = contents(&files);
    let index = FacetIndex::new(&state);
    for (text, expected) in [
        ("tag:rare", Some(1)),
        ("tag:rare status:open tag:common", Some(1)),
        ("status:open path:p/o", Some(1)),
        ("status:closed", Some(0)),
        ("status:open", Some(201)),
        ("-tag:rare", None),
        ("modified:7d", None),
        ("words", None),
    ] {
        let candidates = index.candidates(&query(text, &index));
        assert_eq!(candidates.map(<[_]>::len), expected, "{text}");
    }
    assert!(index.has_field("Status") && !index.has_field("colour"));
    assert_eq!(
        tag_counts(&state.notes),
        [("common".to_owned(), 200), ("rare".to_owned(), 1)]
    );
    assert_eq!(field_counts(&state.notes), [("status".to_owned(), 201)]);
}

proptest! {
    /// After any changes, every filter selects what it matches, in the order of paths.
    #[test]
    fn a_selection_is_what_matches(
        steps in proptest::collection::vec((0..PATHS.len(), proptest::option::weighted(0.8, 0..TEXTS.len())), 1..16),
    ) {
        let mut files = Texts::new();
        let mut state = contents(&files);
        let mut index = FacetIndex::new(&state);
        for (at, text) in steps {
            match text {
                Some(text) => files.insert(PATHS[at].to_owned(), TEXTS[text].to_owned()),
                None => files.remove(PATHS[at]),
            };
            let mut after = contents(&files);
            let changes = changes(&state, &mut after);
            index.apply(&changes);
            state = after;
        }
        for text in QUERIES {
            let query = query(text, &index);
            let expected: Vec<_> = state.notes.iter().filter(|note| query.matches(note)).collect();
            prop_assert_eq!(index.select(&query, &state.notes), expected, "{}", text);
        }
        let fields = state.notes.iter().flat_map(|note| &note.properties.fields);
        let has = fields.into_iter().any(|field| field.name == "status");
        prop_assert_eq!(index.has_field("status"), has);
    }
}
