//! Text that is added to sections and documents.

use super::*;

fn place(path: &str, section: Option<SectionRef>, place: TextPlace, text: &str) -> PlaceText {
    PlaceText {
        path: Some(note(path)),
        section,
        place,
        scope: Scope::Body,
        text: text.to_owned(),
        headings: PayloadHeadings::Inside,
        expected_hash: None,
    }
}

#[test]
fn text_is_added_and_taken_back() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let alpha = bench.id("a.md", "Alpha");
    for (section, at, text, expected) in [
        (
            Some("Alpha"),
            TextPlace::Append,
            "More.",
            SAMPLE.replace("Alpha body.", "Alpha body.\n\nMore."),
        ),
        (
            Some("Alpha"),
            TextPlace::Prepend,
            "More.",
            SAMPLE.replace("Alpha body.", "More.\n\nAlpha body."),
        ),
        (
            Some("Alpha"),
            TextPlace::After,
            "## New\n\nText.",
            SAMPLE.replace("Child body.", "Child body.\n\n## New\n\nText."),
        ),
        (
            Some("Alpha"),
            TextPlace::Before,
            "## New",
            SAMPLE.replacen("## Alpha", "## New\n\n## Alpha", 1),
        ),
        (None, TextPlace::Append, "End.", format!("{SAMPLE}\nEnd.\n")),
        (
            None,
            TextPlace::Before,
            "Start.",
            format!("Start.\n\n{SAMPLE}"),
        ),
    ] {
        let report = bench
            .write(Operation::PlaceText(place(
                "a.md",
                section.map(by_heading),
                at,
                text,
            )))
            .unwrap();
        assert_eq!(bench.text("a.md"), expected, "{at:?}");
        assert_eq!(report.steps[0].section.is_some(), section.is_some());
        assert_eq!(bench.id("a.md", "Alpha"), alpha);
        bench.undo("a.md").unwrap();
        assert_eq!(bench.text("a.md"), SAMPLE);
    }
}

#[test]
fn added_text_needs_no_newest_hash() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let view = bench.editor.view(&note("a.md")).unwrap();
    let (own, whole) = (view.section(1).unwrap().hash, short_hash(view.hash()));
    bench
        .write(update("a.md", by_heading("Alpha"), "Changed."))
        .unwrap();
    for (section, hash) in [(Some(by_heading("Alpha")), own), (None, whole)] {
        let stale = PlaceText {
            expected_hash: Some(hash),
            ..place("a.md", section, TextPlace::Append, "Added.")
        };
        let report = bench.write(Operation::PlaceText(stale)).unwrap();
        assert!(report.steps[0].merged);
    }
    let expected = SAMPLE.replace("Alpha body.", "Changed.\n\nAdded.");
    assert_eq!(bench.text("a.md"), format!("{expected}\nAdded.\n"));
    let fields = |hash: &str| {
        Operation::SetFrontMatter(SetFrontMatter {
            path: Some(note("a.md")),
            key: "k".to_owned(),
            value: Some(sectile_markdown::Value::String("v".to_owned())),
            expected_hash: Some(hash.to_owned()),
        })
    };
    let now = short_hash(bench.editor.view(&note("a.md")).unwrap().hash());
    let stale = short_hash(view.hash());
    assert_eq!(
        bench.write(fields(&stale)).unwrap_err(),
        EditorError::DocumentChanged
    );
    // The second of two keys is based on the same document as the first.
    let mut second = fields(&now);
    if let Operation::SetFrontMatter(set) = &mut second {
        set.key = "l".to_owned();
    }
    write(&bench.editor, vec![fields(&now), second]).unwrap();
    assert!(bench.text("a.md").starts_with("---\nk: v\nl: v\n---\n"));
}
