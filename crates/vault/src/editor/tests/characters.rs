//! Control characters: none gets in, and none that is there is lost.

use proptest::prelude::*;
use sectile_markdown::Value;

use super::*;

/// A document that has had control characters for a long time.
const OLD: &str = "# Old\u{1} one\n\nBefore\u{c}after \u{0} and \u{1b}[1m.\n\n## Plain\n\nText.\n";

fn refused(field: &'static str, character: char) -> EditorError {
    EditorError::ControlCharacter { field, character }
}

fn edit_text(old_text: &str, new_text: &str) -> Operation {
    Operation::EditText(EditText {
        path: Some(note("a.md")),
        section: None,
        old_text: old_text.to_owned(),
        new_text: new_text.to_owned(),
        expected_count: 1,
        scope: Scope::Body,
        expected_hash: None,
    })
}

fn rename(section: SectionRef, heading: &str) -> Operation {
    Operation::Rename(RenameSection {
        path: Some(note("a.md")),
        section,
        heading: heading.to_owned(),
        level: None,
        repair_links: true,
        expected_hash: None,
    })
}

fn front_matter(key: &str, value: Value) -> Operation {
    Operation::SetFrontMatter(SetFrontMatter {
        path: Some(note("a.md")),
        key: key.to_owned(),
        value: Some(value),
        expected_hash: None,
    })
}

fn create(path: &str, content: &str) -> Operation {
    Operation::CreateDocument(CreateDocument {
        path: note(path),
        content: content.to_owned(),
    })
}

/// Every operation that adds new text, with `bad` in it, and the field that is refused.
fn bringing(bad: char) -> Vec<(Operation, &'static str)> {
    let text = format!("a{bad}b");
    let list = Value::List(vec![Value::String(text.clone())]);
    let map = Value::Map([(text.clone(), Value::Null)].into_iter().collect());
    vec![
        (insert("a.md", &text, 0), "heading"),
        (update("a.md", by_heading("Plain"), &text), "content"),
        (rename(by_heading("Plain"), &text), "heading"),
        (edit_text("Text.", &text), "new_text"),
        (front_matter("k", Value::String(text.clone())), "value"),
        (front_matter("k", list), "value"),
        (front_matter("k", map), "value"),
        (front_matter(&text, Value::Null), "key"),
        (create("new.md", &text), "content"),
    ]
}

#[test]
fn no_operation_brings_a_control_character_into_a_document() {
    let bench = Bench::new(&[("a.md", OLD)]);
    for bad in [
        '\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{1b}', '\u{7f}', '\u{85}', '\u{9f}',
    ] {
        for (operation, field) in bringing(bad) {
            let shown = format!("{operation:?}");
            let error = bench.write(operation).unwrap_err();
            assert_eq!(error, refused(field, bad), "{shown}");
        }
    }
    for (bad, path) in [
        ('\u{1b}', "x\u{1b}[1m.md"),
        ('\n', "x\ny.md"),
        ('\t', "x\t.md"),
    ] {
        let error = bench.write(create(path, "# N\n")).unwrap_err();
        assert_eq!(error, refused("path", bad), "{path:?}");
    }
    assert_eq!(bench.text("a.md"), OLD);
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 2);
    bench
        .write(update("a.md", by_heading("Plain"), "\ttab,\r\nline"))
        .unwrap();
}

#[test]
fn control_characters_that_are_there_stay_and_text_around_them_can_change() {
    let bench = Bench::new(&[("a.md", OLD)]);
    let old = bench.editor.view(&note("a.md")).unwrap();
    let content = old.content(0, false).unwrap();
    let report = bench
        .write(update("a.md", by_id(&old.ids()[0]), &content))
        .unwrap();
    assert_eq!(report.entry, None, "what was read can be written back");
    bench
        .write(edit_text("Before\u{c}after", "Then\u{c}now"))
        .unwrap();
    bench.write(edit_text("and", "or")).unwrap();
    bench
        .write(rename(by_id(&old.ids()[0]), "New\u{1} two"))
        .unwrap();
    bench.write(insert("a.md", "Other", 2)).unwrap();
    let now = bench.text("a.md");
    assert!(
        now.starts_with("# New\u{1} two\n\nThen\u{c}now \0 or \u{1b}[1m.\n"),
        "{now:?}"
    );
    // A second one is new.
    let twice = edit_text("Then\u{c}now", "Then\u{c}\u{c}now");
    assert_eq!(
        bench.write(twice).unwrap_err(),
        refused("new_text", '\u{c}')
    );
    bench.write(delete("a.md", by_id(&old.ids()[0]))).unwrap();
    bench.undo("a.md").unwrap();
    assert_eq!(
        bench.text("a.md"),
        now,
        "what was deleted comes back as it was"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// No edit adds a control character that the document did not have.
    #[test]
    fn edits_add_no_control_character(
        old in "[a\u{0}\u{c}\u{7f}\n]{0,12}",
        new in "[a\u{0}\u{c}\u{7f}\n]{0,12}",
    ) {
        let bench = Bench::new(&[("a.md", &format!("# A\n\n{old}\n"))]);
        let count = |text: &str, wanted: char| text.chars().filter(|c| *c == wanted).count();
        let before = bench.text("a.md");
        let id = bench.editor.view(&note("a.md")).unwrap().ids()[0].clone();
        let written = bench.write(update("a.md", by_id(&id), &new));
        let after = bench.text("a.md");
        for character in ['\0', '\u{c}', '\u{7f}'] {
            prop_assert!(count(&after, character) <= count(&before, character), "{:?}", after);
        }
        if written.is_err() {
            prop_assert_eq!(after, before);
        }
    }
}
