//! Texts that are longer than one answer: the whole text can be written back, but no part of it.

use proptest::prelude::*;

use super::*;

/// Long enough for several lines, short enough for several pages.
const PAGE: usize = 64;

fn paged(text: &str, max_payload_bytes: usize) -> Bench {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), text).unwrap();
    let limits = EditorLimits {
        max_shown_bytes: PAGE,
        max_payload_bytes,
        ..EditorLimits::default()
    };
    let editor = open_within(folder.path(), limits);
    Bench { folder, editor }
}

fn pages(text: &str) -> Vec<String> {
    let mut pages = Vec::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let (part, after) = page(text, offset, PAGE);
        pages.push(part.to_owned());
        next = after;
    }
    pages
}

fn replacing(content: &str, scope: Scope, expected: Option<&str>) -> Operation {
    Operation::Update(UpdateSection {
        path: Some(note("a.md")),
        section: by_heading("One"),
        content: content.to_owned(),
        scope,
        headings: PayloadHeadings::Inside,
        expected_hash: expected.map(str::to_owned),
    })
}

/// Lines with characters of all lengths, none of which starts a heading.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        8 => "[a-zé日🚀][a-z é日🚀]{0,30}[a-zé日🚀]",
        1 => Just(String::new()),
        1 => "[a日]{70,90}",
    ];
    proptest::collection::vec(line, 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn all_pages_can_be_written_back_and_no_single_one(own in lines(), below in lines(), line_end in prop_oneof![Just("\n"), Just("\r\n")]) {
        let (own, below) = (own.join("\n"), below.join("\n"));
        let text = format!("# One\n\n{own}\n\n## Two\n\n{below}\n\n# Three\n\nEnd.\n").replace('\n', line_end);
        let bench = paged(&text, 1 << 20);
        let view = bench.editor.view(&note("a.md")).unwrap();
        let info = view.section(0).unwrap();
        for (scope, subtree, hash) in [(Scope::Body, false, &info.hash), (Scope::Subtree, true, &info.subtree_hash)] {
            let content = view.content(0, subtree).unwrap();
            let bytes = if subtree { info.bytes_below } else { info.bytes };
            prop_assert_eq!(content.len(), bytes);
            let pages = pages(&content);
            prop_assert_eq!(pages.concat(), &content[..]);
            let report = bench.write(replacing(&content, scope, Some(hash))).unwrap();
            prop_assert!(report.documents.is_empty());
            prop_assert_eq!(bench.text("a.md"), &text[..]);
            if content.len() <= PAGE {
                continue;
            }
            let (own, whole) = (part_hash(&info.hash), part_hash(&info.subtree_hash));
            for part in &pages {
                let trimmed = part.trim_end();
                let changed = format!("{trimmed} and more");
                for (ours, expected) in [
                    (part.as_str(), None),
                    (part, Some(hash)),
                    (part, Some(&own)),
                    (part, Some(&whole)),
                    (trimmed, Some(hash)),
                    (&changed, None),
                    (&changed, Some(&own)),
                    (&changed, Some(&whole)),
                ] {
                    let refused = bench.write(replacing(ours, scope, expected.map(String::as_str)));
                    prop_assert!(matches!(refused, Err(EditorError::PartOfText(_))), "{ours:?}, {expected:?}: {refused:?}");
                }
                for (other, expected) in [(Scope::Body, &own), (Scope::Subtree, &whole), (Scope::Body, &whole), (Scope::Subtree, &own)] {
                    let refused = bench.write(replacing(part, other, Some(expected)));
                    prop_assert!(refused.is_err(), "{part:?}, {other:?}: {refused:?}");
                }
            }
            prop_assert_eq!(bench.text("a.md"), &text[..]);
        }
    }
}

fn long_section() -> String {
    format!("# One\n\n{}\n## Two\n\nEnd.\n", "Some words.\n".repeat(20))
}

/// The mark says what was read, and nothing about what else may be done.
#[test]
fn a_marked_hash_guards_every_other_change() {
    let bench = paged(&long_section(), 1 << 20);
    let info = bench
        .editor
        .view(&note("a.md"))
        .unwrap()
        .section(0)
        .unwrap();
    let (hash, subtree_hash) = info.shown_hashes(PAGE);
    assert_eq!(
        (&hash, &subtree_hash),
        (&part_hash(&info.hash), &part_hash(&info.subtree_hash))
    );
    let section = by_heading("One");
    let edit = Operation::EditText(EditText {
        path: Some(note("a.md")),
        section: Some(section.clone()),
        old_text: "Some words.".to_owned(),
        new_text: "Other words.".to_owned(),
        expected_count: 20,
        scope: Scope::Body,
        expected_hash: Some(hash),
    });
    let report = bench.write(edit).unwrap();
    assert!(!report.steps[0].merged);
    // The section has changed since.
    let delete = |expected_hash: String| {
        Operation::Delete(DeleteSection {
            path: Some(note("a.md")),
            section: section.clone(),
            expected_hash: Some(expected_hash),
        })
    };
    let refused = bench.write(delete(subtree_hash)).unwrap_err();
    assert!(matches!(refused, EditorError::Conflict(_)), "{refused:?}");
    let info = bench
        .editor
        .view(&note("a.md"))
        .unwrap()
        .section(0)
        .unwrap();
    bench.write(delete(part_hash(&info.subtree_hash))).unwrap();
    assert_eq!(bench.text("a.md"), "");
}

/// A page of the text that a change is based on is still a part if someone has changed the text since.
#[test]
fn a_page_of_an_older_text_is_not_merged() {
    let bench = paged(&long_section(), 1 << 20);
    let view = bench.editor.view(&note("a.md")).unwrap();
    let hash = view.section(0).unwrap().hash;
    let text = view.content(0, false).unwrap();
    let changed = text.replacen("Some words.", "Their words.", 1);
    bench
        .write(replacing(&changed, Scope::Body, Some(&hash)))
        .unwrap();
    let now = bench.text("a.md");
    for part in pages(&text) {
        let refused = bench
            .write(replacing(&part, Scope::Body, Some(&hash)))
            .unwrap_err();
        assert!(matches!(refused, EditorError::PartOfText(_)), "{refused:?}");
    }
    assert_eq!(bench.text("a.md"), now);
    // The whole text is merged with the other change.
    let ours = text.clone() + "\nOur words.";
    bench
        .write(replacing(&ours, Scope::Body, Some(&hash)))
        .unwrap();
    let merged = bench.text("a.md");
    assert!(
        merged.contains("Their words.") && merged.contains("Our words."),
        "{merged}"
    );
}

#[test]
fn a_text_can_be_written_back_that_is_longer_than_texts_may_be() {
    let text = long_section();
    let bench = paged(&text, 3 * PAGE);
    let view = bench.editor.view(&note("a.md")).unwrap();
    let content = view.content(0, false).unwrap();
    let hash = view.section(0).unwrap().hash;
    assert!(content.len() > bench.editor.limits().max_payload_bytes);
    let report = bench
        .write(replacing(&content, Scope::Body, Some(&hash)))
        .unwrap();
    assert!(report.documents.is_empty());
    let longer = content + ".";
    let refused = bench
        .write(replacing(&longer, Scope::Body, Some(&hash)))
        .unwrap_err();
    assert!(
        matches!(refused, EditorError::TooLarge { .. }),
        "{refused:?}"
    );
    assert_eq!(bench.text("a.md"), text);
}

/// A caller that has read a section with everything below it has one hash, which serves for all of its changes.
#[test]
fn the_hash_of_a_whole_section_covers_its_own_text() {
    let words = |words: &str| words.replace(' ', "\n\n");
    let read_text = words("one two three four five");
    let bench = Bench::new(&[("a.md", &format!("# A\n\n{read_text}\n\n## B\n\nb\n"))]);
    let section = |position| {
        let view = bench.editor.view(&note("a.md")).unwrap();
        view.section(position).unwrap()
    };
    let read = section(0);
    let change = |text: &str, hash: &str| {
        let update = update("a.md", by_id(&read.id), &words(text));
        let report = bench.write(with_hash(update, hash));
        report.map(|report| report.steps[0].merged)
    };
    let first = change("ONE two three four five", &read.subtree_hash);
    assert_eq!(first, Ok(false));
    // A change below the section does not concern its own text.
    let now = section(0);
    bench
        .write(update("a.md", by_id(&section(1).id), "B"))
        .unwrap();
    let second = change("ONE two three four FIVE", &now.subtree_hash);
    assert_eq!(second, Ok(true));
    // An older hash is merged, or refused with the older text.
    let third = change("one two THREE four five", &read.subtree_hash);
    assert_eq!(third, Ok(true));
    let merged = words("ONE two THREE four FIVE");
    assert_eq!(
        bench.text("a.md"),
        format!("# A\n\n{merged}\n\n## B\n\nB\n")
    );
    let refused = change("1 two three four five", &read.subtree_hash);
    let Err(EditorError::Conflict(conflict)) = refused else {
        panic!("no conflict")
    };
    assert_eq!(conflict.base, Some(read_text));
    // The hash of the own text says nothing about what is below it.
    let gone = with_hash(delete("a.md", by_id(&read.id)), &section(0).hash);
    assert!(matches!(bench.write(gone), Err(EditorError::Conflict(_))));
}

/// A caller that has read a whole document has one hash, which serves for changes of all its sections.
#[test]
fn the_hash_of_a_document_covers_its_sections() {
    let bench = Bench::new(&[("a.md", "# A\n\na\n\n## B\n\nb\n\n## C\n\nc\n")]);
    let view = bench.editor.view(&note("a.md")).unwrap();
    let read = short_hash(view.hash());
    let change = |position: usize, text: &str| {
        let update = update("a.md", by_id(&view.ids()[position]), text);
        let report = bench.write(with_hash(update, &read));
        report.map(|report| report.steps[0].merged)
    };
    assert_eq!(change(0, "A"), Ok(false));
    // The document is another one now, but the section is not.
    assert_eq!(change(1, "B"), Ok(true));
    assert!(matches!(change(1, "b2"), Err(EditorError::Conflict(_))));
    let gone = with_hash(delete("a.md", by_id(&view.ids()[1])), &read);
    assert!(matches!(bench.write(gone), Err(EditorError::Conflict(_))));
}

/// Where a section has no subsections, its own text is all there is below its heading.
#[test]
fn the_hash_of_its_own_text_is_enough_to_delete_a_section_without_subsections() {
    let bench = Bench::new(&[("a.md", "# A\n\na\n\n## B\n\nb\n")]);
    let view = bench.editor.view(&note("a.md")).unwrap();
    let delete = |position: usize| {
        let section = view.section(position).unwrap();
        bench.write(with_hash(delete("a.md", by_id(&section.id)), &section.hash))
    };
    assert!(matches!(delete(0), Err(EditorError::Conflict(_))));
    delete(1).unwrap();
    assert_eq!(bench.text("a.md"), "# A\n\na\n");
}
