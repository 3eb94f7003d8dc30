//! The journal stays within its bounds, and forgets for good what it is asked to forget.

use super::*;

#[test]
fn history_can_be_purged_for_good() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    bench
        .write(update("a.md", by_id(&beta), "token SECRET-VALUE"))
        .unwrap();
    assert_eq!(
        bench.editor.purge(None, Some("SECRET-VALUE")).unwrap_err(),
        EditorError::StillThere {
            path: "a.md".to_owned()
        }
    );
    bench.write(update("a.md", by_id(&beta), "clean")).unwrap();
    bench.write(insert("a.md", "Later", 0)).unwrap();
    let journal = || fs::read_to_string(bench.path(".sectile/journal")).unwrap();
    assert!(journal().contains("SECRET-VALUE"));
    assert_eq!(bench.editor.purge(None, Some("SECRET-VALUE")).unwrap(), 2);
    assert!(!journal().contains("SECRET-VALUE"));
    let other = bench.reopened();
    other.undo(&undo("a.md", false), CallHooks::none()).unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE.replace("Beta body.", "clean"));
    assert_eq!(
        other
            .undo(&undo("a.md", false), CallHooks::none())
            .unwrap_err(),
        EditorError::NothingToUndo
    );
    assert_eq!(bench.id("a.md", "Beta"), beta);
}

/// A secret that was removed in parts is in no single entry, only in the text between two of them. And some of its
/// words are in section ids.
#[test]
fn a_purge_finds_what_stands_in_no_single_entry() {
    const SECRET: &str = "sk-live-0123456789abcdef";
    let bench = Bench::new(&[("b.md", &format!("# {SECRET} here\n\nb\n"))]);
    bench.id("b.md", &format!("{SECRET} here"));
    fs::write(bench.path("b.md"), "# Else\n\nb\n").unwrap();
    let create = Operation::CreateDocument(CreateDocument {
        path: note("a.md"),
        content: format!("# A\n\nkey: {SECRET}\n\n# {SECRET}\n\ntext\n"),
    });
    bench.write(create).unwrap();
    let edit = |old: &str, new: &str| {
        Operation::EditText(EditText {
            path: Some(note("a.md")),
            section: None,
            old_text: old.to_owned(),
            new_text: new.to_owned(),
            expected_count: 1,
            scope: Scope::Subtree,
            expected_hash: None,
        })
    };
    bench.write(edit("text", "other text")).unwrap();
    bench
        .write(edit(
            "key: sk-live-0123456789abcdef",
            "key: sk-live-REDACTED",
        ))
        .unwrap();
    bench
        .write(edit("# sk-live-0123456789abcdef", "# B sk-live-0123"))
        .unwrap();
    bench.write(edit("other", "one more")).unwrap();
    let private = |name: &str| fs::read_to_string(bench.path(&format!(".sectile/{name}")));
    assert!(private("journal").unwrap().contains(SECRET));
    // A crash may have left this file, and other tools may put files there.
    fs::create_dir(bench.path(".sectile/other")).unwrap();
    fs::write(bench.path(".sectile/other/copy"), format!("..{SECRET}..")).unwrap();
    assert_eq!(
        bench.editor.purge(None, Some(SECRET)).unwrap_err(),
        EditorError::NotPurged {
            name: "other/copy".to_owned()
        }
    );
    fs::remove_dir_all(bench.path(".sectile/other")).unwrap();
    bench.editor.purge(None, Some(SECRET)).unwrap();
    for name in ["journal", "ids"] {
        let text = private(name).unwrap_or_default();
        assert!(!text.contains("0123456789abcdef"), "{name}: {text}");
    }
    let editor = bench.reopened();
    for path in ["a.md", "b.md"] {
        let view = editor.view(&note(path)).unwrap();
        assert!(
            view.ids()
                .iter()
                .all(|id| !id.contains("sk-live-0123456789"))
        );
        let filter = HistoryFilter {
            limit: 100,
            ..HistoryFilter::default()
        };
        let (history, _) = editor.history(&note(path), &filter).unwrap();
        for number in history.iter().map(|entry| entry.number).chain([0]) {
            if let Ok(revision) = editor.revision(&note(path), number) {
                let text = String::from_utf8(revision.bytes.unwrap_or_default()).unwrap();
                assert!(!text.contains(SECRET), "{path} {number}");
            }
        }
    }
}

#[test]
fn a_damaged_line_does_not_keep_the_journal_from_being_shortened() {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    let limits = EditorLimits {
        max_journal_bytes: 20_000,
        ..EditorLimits::default()
    };
    let journal = folder.path().join(".sectile/journal");
    let edit = |editor: &Editor, round: usize| {
        let text = format!("{} {round}", "words ".repeat(100));
        write(editor, vec![update("a.md", by_heading("Beta"), &text)]).unwrap();
    };
    let editor = open_within(folder.path(), limits);
    edit(&editor, 0);
    edit(&editor, 1);
    let mut bytes = fs::read(&journal).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 40;
    bytes[second] ^= 1;
    fs::write(&journal, &bytes).unwrap();
    let editor = open_within(folder.path(), limits);
    for round in 2..120 {
        edit(&editor, round);
        let size = fs::metadata(&journal).unwrap().len();
        assert!(size < 60_000, "{size} after {round} edits");
    }
    take_back(&editor, &undo("a.md", false)).unwrap();
    let text = fs::read_to_string(folder.path().join("a.md")).unwrap();
    assert!(text.contains("words  118\n"), "{text}");
}

#[test]
fn the_journal_stays_within_bounds_and_goes_on_working() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    let limits = EditorLimits {
        max_journal_bytes: 20_000,
        ..EditorLimits::default()
    };
    let editor = open_within(folder.path(), limits);
    let other = open_within(folder.path(), limits);
    let beta = editor.view(&note("a.md")).unwrap().ids()[3].clone();
    for round in 0..200 {
        let writer = if round % 3 == 0 { &other } else { &editor };
        let operation = update("a.md", by_id(&beta), &format!("round {round}"));
        writer
            .write(&request(vec![operation]), CallHooks::none())
            .unwrap();
        assert!(
            fs::metadata(folder.path().join(".sectile/journal"))
                .unwrap()
                .len()
                < 30_000
        );
    }
    for round in (150..199).rev() {
        match editor.undo(&undo("a.md", false), CallHooks::none()) {
            Ok(_) => {
                let text = fs::read_to_string(folder.path().join("a.md")).unwrap();
                assert!(text.contains(&format!("round {round}\n")), "{text}");
            }
            Err(error) => {
                assert_eq!(error, EditorError::NothingToUndo);
                assert!(round < 190);
                break;
            }
        }
    }
    assert_eq!(editor.view(&note("a.md")).unwrap().ids()[3], beta);
}
