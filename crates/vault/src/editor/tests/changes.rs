//! The changes of a whole folder.

use super::{folders::rename_folder, *};

fn by(actor: &str, operation: Operation) -> WriteRequest {
    WriteRequest::new(vec![operation], "test", actor)
}

fn numbers(editor: &Editor, filter: ChangeFilter) -> (Vec<u64>, bool) {
    let (entries, more) = editor.changes(&filter, CallHooks::none()).unwrap();
    (entries.iter().map(|entry| entry.number).collect(), more)
}

fn all() -> ChangeFilter {
    ChangeFilter {
        limit: 100,
        ..ChangeFilter::default()
    }
}

#[test]
fn changes_are_listed_newest_first_by_every_condition() {
    let bench = Bench::new(&[("a/x.md", SAMPLE), ("a/y.md", "# Y\n"), ("b.md", "# B\n")]);
    let gamma = bench.id("a/x.md", "Gamma");
    let one = |actor: &str, operation| {
        bench
            .editor
            .write(&by(actor, operation), CallHooks::none())
            .unwrap()
    };
    one("ann", update("a/x.md", by_heading("Gamma"), "one"));
    one("bob", update("b.md", by_heading("B"), "two"));
    one(
        "ann",
        Operation::DeleteDocument(DeleteDocument {
            path: note("a/y.md"),
            expected_hash: None,
        }),
    );
    one("bob", rename_folder("a", "c"));
    fs::write(bench.path("c/x.md"), format!("{SAMPLE}\nOutside.\n")).unwrap();
    let editor = &bench.editor;
    assert_eq!(numbers(editor, all()), (vec![5, 4, 3, 2, 1], false));
    assert!(editor.entry(5).unwrap().is_foreign);
    // Asking again enters nothing.
    assert_eq!(numbers(editor, all()).0.len(), 5);
    assert_eq!(
        numbers(editor, ChangeFilter { limit: 2, ..all() }),
        (vec![5, 4], true)
    );
    assert_eq!(
        numbers(
            editor,
            ChangeFilter {
                before: Some(3),
                ..all()
            }
        )
        .0,
        [2, 1]
    );
    assert_eq!(
        numbers(
            editor,
            ChangeFilter {
                actor: Some("ann".to_owned()),
                ..all()
            }
        )
        .0,
        [3, 1]
    );
    let under = |path: &str| {
        numbers(
            editor,
            ChangeFilter {
                under: Some(note(path)),
                ..all()
            },
        )
        .0
    };
    assert_eq!(under("c/x.md"), [5, 4, 1]);
    assert_eq!(under("c"), [5, 4, 1]);
    assert_eq!(under("a"), [4, 3, 1]);
    assert_eq!(under("a/y.md"), [3]);
    assert_eq!(under("b.md"), [2]);
    assert_eq!(under("b"), [] as [u64; 0]);
    let section = ChangeFilter {
        section_id: Some(gamma),
        ..all()
    };
    assert_eq!(numbers(editor, section).0.last(), Some(&1));
    assert_eq!(
        numbers(
            editor,
            ChangeFilter {
                since: Some(clock()),
                ..all()
            }
        )
        .0
        .len(),
        5
    );
    assert_eq!(
        numbers(
            editor,
            ChangeFilter {
                since: Some(clock() + 1),
                ..all()
            }
        )
        .0,
        [] as [u64; 0]
    );
    assert_eq!(editor.entry(4).unwrap().documents, ["c/x.md"]);
    assert_eq!(editor.entry(9).unwrap_err(), EditorError::EntryNotFound);
}

#[test]
fn the_newest_change_of_a_caller_is_the_one_in_force() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let one = |actor: &str, text: &str| {
        let request = by(actor, update("a.md", by_heading("Beta"), text));
        bench.editor.write(&request, CallHooks::none()).unwrap();
    };
    let newest = |actor: &str| bench.editor.newest_change_of(actor).unwrap();
    let take = |entry: Option<u64>| {
        let request = UndoRequest {
            path: None,
            entry,
            actor: "ann".to_owned(),
            ..undo("a.md", false)
        };
        take_back(&bench.editor, &request)
    };
    assert_eq!(newest("ann"), None);
    one("ann", "one");
    one("ann", "two");
    assert_eq!((newest("ann"), newest("bob")), (Some(2), None));
    take(newest("ann")).unwrap();
    assert_eq!(newest("ann"), Some(1));
    take(newest("ann")).unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    // All is undone. Undoing the newest undo by its number redoes.
    assert_eq!(newest("ann"), None);
    take(Some(4)).unwrap();
    assert!(bench.text("a.md").contains("one"));
    assert_eq!(newest("ann"), Some(1));
}

#[test]
fn what_a_caller_undid_for_another_is_not_its_own_change() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let request = by("ann", update("a.md", by_heading("Beta"), "one"));
    bench.editor.write(&request, CallHooks::none()).unwrap();
    let request = UndoRequest {
        path: None,
        entry: Some(1),
        actor: "bob".to_owned(),
        ..undo("a.md", false)
    };
    take_back(&bench.editor, &request).unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    assert_eq!(bench.editor.newest_change_of("bob"), Ok(None));
    assert_eq!(bench.editor.newest_change_of("ann"), Ok(None));
}

#[test]
fn nothing_is_read_for_a_caller_that_has_given_up() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    bench
        .write(update("a.md", by_heading("Beta"), "one"))
        .unwrap();
    let filter = ChangeFilter {
        limit: 9,
        ..ChangeFilter::default()
    };
    let given_up = bench.editor.changes(&filter, CallHooks::until(&|| true));
    assert_eq!(given_up.unwrap_err(), EditorError::Cancelled);
}
