//! Findings of the random and hostile tests, each as a small example.

use std::cell::RefCell;

use super::*;

/// The other holder of the lock writes the file, as another program would, and releases the lock.
#[test]
fn an_outside_edit_while_undo_waits_for_the_lock_is_no_deadlock() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    bench.write(update("a.md", by_id(&beta), "Ours.")).unwrap();
    let other = bench.reopened();
    let held = other.store.lock_documents(["a.md"], &|| false).unwrap();
    let held = RefCell::new(Some(held));
    let outside = bench.text("a.md").replace("Gamma body.", "Outside.");
    let stop = || {
        if let Some(held) = held.borrow_mut().take() {
            fs::write(bench.path("a.md"), &outside).unwrap();
            drop(held);
        }
        false
    };
    bench
        .editor
        .undo(&undo("a.md", false), CallHooks::until(&stop))
        .unwrap();
    assert_eq!(bench.text("a.md"), outside.replace("Ours.", "Beta body."));
}

/// Documents share locks. One request takes each lock once.
#[test]
fn documents_with_the_same_lock_go_into_one_request() {
    let names: Vec<String> = (0..60).map(|number| format!("d{number}.md")).collect();
    let documents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), SAMPLE)).collect();
    let bench = Bench::new(&documents);
    let operations = names.iter().map(|name| insert(name, "New", 0)).collect();
    write(&bench.editor, operations).unwrap();
    bench.undo("d7.md").unwrap();
    assert!(names.iter().all(|name| bench.text(name) == SAMPLE));
}

#[test]
fn a_batch_goes_on_with_a_document_that_it_renames() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let rename = |from: &str, to: &str| {
        Operation::RenameDocument(RenameDocument {
            path: note(from),
            new_path: note(to),
            repair_links: false,
        })
    };
    let create = Operation::CreateDocument(CreateDocument {
        path: note("x.md"),
        content: "# X\n".to_owned(),
    });
    let operations = vec![
        rename("a.md", "b.md"),
        insert("b.md", "In b", 0),
        rename("b.md", "c.md"),
        create,
        rename("x.md", "y.md"),
        insert("y.md", "In y", 1),
    ];
    write(&bench.editor, operations).unwrap();
    assert!(bench.text("c.md").starts_with("# In b\n"));
    assert_eq!(bench.text("y.md"), "# X\n\n# In y\n\nIn y text.\n");
    assert!(
        !["a.md", "b.md", "x.md"]
            .iter()
            .any(|gone| bench.path(gone).exists())
    );
    let gone = write(
        &bench.editor,
        vec![rename("c.md", "d.md"), insert("c.md", "Nowhere", 0)],
    );
    assert_eq!(gone.unwrap_err(), EditorError::DocumentNotFound);
    let taken = write(
        &bench.editor,
        vec![rename("c.md", "d.md"), rename("y.md", "d.md")],
    );
    assert_eq!(taken.unwrap_err(), EditorError::DocumentExists);
    bench.undo("c.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    assert!(!bench.path("y.md").exists());
}

#[test]
fn another_programs_edit_is_taken_back_once() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    bench.id("a.md", "Beta");
    fs::write(bench.path("a.md"), SAMPLE.replace("Beta body.\n", "")).unwrap();
    bench.id("a.md", "Beta");
    let foreign = UndoRequest {
        entry: Some(1),
        ..undo("a.md", false)
    };
    take_back(&bench.editor, &foreign).unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    bench.write(insert("a.md", "New", 0)).unwrap();
    let again = take_back(&bench.editor, &foreign).unwrap_err();
    assert_eq!(again, EditorError::AlreadyUndone);
}

#[test]
fn a_rename_is_not_undone_when_the_document_has_moved_on() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    for (from, to) in [("a.md", "b.md"), ("b.md", "c.md")] {
        let rename = Operation::RenameDocument(RenameDocument {
            path: note(from),
            new_path: note(to),
            repair_links: false,
        });
        bench.write(rename).unwrap();
    }
    let first = UndoRequest {
        path: None,
        entry: Some(1),
        ..undo("a.md", false)
    };
    let refused = take_back(&bench.editor, &first).unwrap_err();
    assert_eq!(refused, EditorError::UndoOverlaps { entry: 2 });
    bench.undo("c.md").unwrap();
    bench.undo("b.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
}

#[test]
fn an_edit_that_changes_nothing_is_no_entry() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let same = Operation::Rename(RenameSection {
        path: Some(note("a.md")),
        section: by_heading("Beta"),
        heading: "Beta".to_owned(),
        level: None,
        repair_links: false,
        expected_hash: None,
    });
    assert_eq!(bench.write(same).unwrap().entry, None);
    assert_eq!(bench.undo("a.md").unwrap_err(), EditorError::NothingToUndo);
}

/// The parser does not see the end of a comment where lines end in CR, so the text has another heading elsewhere.
#[test]
fn a_move_that_would_change_the_headings_is_refused() {
    let text = "# A\r\r<!-- # comment\r## more -->\r\r# B";
    let bench = Bench::new(&[("a.md", text), ("b.md", "# C\n")]);
    let sections = bench.editor.view(&note("a.md")).unwrap().ids().len();
    let moved = bench.write(relocate(by_id(&bench.id("a.md", "A")), Some("b.md"), 0));
    match sections {
        1 => assert!(matches!(moved.unwrap_err(), EditorError::Edit(_))),
        _ => assert!(bench.text("b.md").contains("<!-- # comment\n")),
    }
}

/// While an edit swaps files, the one that a reader has open is in the private folder. It is still found.
#[test]
fn a_document_is_found_while_it_is_replaced() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let editor = &bench.editor;
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for round in 0..150 {
                let text = format!("Round {round}.");
                bench
                    .write(update("a.md", by_heading("Beta"), &text))
                    .unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            editor.root().read(&note("a.md"), 1 << 20).unwrap();
            editor.view(&note("a.md")).unwrap();
        }
    });
}

/// Raises `flag` just before a lock is opened, after `passes` earlier ones.
fn raise_at_lock(passes: usize, flag: std::rc::Rc<std::cell::Cell<bool>>) {
    crate::fault::before_step("open_lock", move || {
        if passes == 0 {
            flag.set(true);
        } else {
            raise_at_lock(passes - 1, flag);
        }
    });
}

#[test]
fn a_commit_does_not_begin_when_the_caller_has_given_up() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    bench.write(update("a.md", by_id(&beta), "one")).unwrap();
    let before = bench.text("a.md");
    let journal = || fs::read(bench.path(".sectile/journal")).unwrap();
    let journal_before = journal();
    // The first lock is the document's, the second the journal's, for the intent.
    for passes in [0, 1] {
        let given_up = std::rc::Rc::new(std::cell::Cell::new(false));
        raise_at_lock(passes, given_up.clone());
        let stop = || given_up.get();
        let request = request(vec![update("a.md", by_id(&beta), "two")]);
        let result = bench.editor.write(&request, CallHooks::until(&stop));
        assert_eq!(result.unwrap_err(), EditorError::Cancelled, "{passes}");
        given_up.set(false);
        raise_at_lock(passes, given_up.clone());
        let result = bench
            .editor
            .undo(&undo("a.md", false), CallHooks::until(&stop));
        assert_eq!(result.unwrap_err(), EditorError::Cancelled, "{passes}");
    }
    assert_eq!(bench.text("a.md"), before);
    assert_eq!(journal(), journal_before);
}

#[cfg(unix)]
#[test]
fn a_private_folder_that_others_can_open_is_closed_to_them() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    bench.write(insert("a.md", "New", 0)).unwrap();
    let private = bench.path(".sectile");
    for loose in [0o755, 0o770, 0o701] {
        fs::set_permissions(&private, fs::Permissions::from_mode(loose)).unwrap();
        bench.reopened();
        let mode = fs::metadata(&private).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700, "{loose:o}");
    }
    // A folder that someone else creates before the first edit.
    let other = scratch();
    fs::create_dir(other.path().join(".sectile")).unwrap();
    fs::set_permissions(
        other.path().join(".sectile"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    open(other.path());
    let mode = fs::metadata(other.path().join(".sectile")).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o700);
}

#[test]
fn a_purge_takes_what_was_rescued_along() {
    use std::io::Write as _;
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", SAMPLE)]);
    let rescue = |path: &str, text: &'static [u8]| {
        let mut open = fs::OpenOptions::new()
            .append(true)
            .open(bench.path(path))
            .unwrap();
        crate::fault::before_step("flush_folder", move || open.write_all(text).unwrap());
        let report = bench.write(insert(path, "New", 0)).unwrap();
        assert_eq!(report.rescued, 1);
    };
    let kept = || {
        let names = fs::read_dir(bench.path(".sectile")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("rescued-")).count()
    };
    rescue("a.md", b"late");
    rescue("b.md", b"SECRET");
    rescue("b.md", b"later");
    assert_eq!(kept(), 3);
    bench.editor.purge(None, Some("SECRET")).unwrap();
    assert_eq!(kept(), 2, "the one that holds the text is gone");
    bench.editor.purge(Some(&note("a.md")), None).unwrap();
    assert_eq!(kept(), 1, "that of an entry that is dropped is gone");
    bench.editor.purge(None, None).unwrap();
    assert_eq!(kept(), 0);
    assert!(bench.path(".sectile/.gitignore").exists());
}
