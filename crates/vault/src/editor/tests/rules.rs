//! Rules about paths: what is hidden does not exist, and what may not be written stays.

use super::{
    folders::{files, rename_folder},
    *,
};
use crate::PathRules;

fn rules(patterns: &[&str]) -> PathRules {
    PathRules::new(patterns.iter().map(|one| (*one).to_owned()).collect()).unwrap()
}

fn restricted(folder: &Path, hide: &[&str], read: &[&str], write: &[&str]) -> Editor {
    let options = EditorOptions {
        hide: rules(hide),
        read: rules(read),
        write: rules(write),
        ..options()
    };
    Editor::folder(folder, options).unwrap()
}

#[test]
fn the_last_pattern_that_matches_decides() {
    let one = rules(&["drafts/", "!drafts/final.md", "*.tmp.md", "/top/a.md"]);
    for (path, is_covered) in [
        ("drafts/a.md", true),
        ("Drafts/deep/a.md", true),
        ("drafts/final.md", false),
        ("x/drafts/a.md", true),
        ("x/y.tmp.md", true),
        ("top/a.md", true),
        ("x/top/a.md", false),
        ("other.md", false),
    ] {
        assert_eq!(one.cover(&note(path)), is_covered, "{path}");
    }
    assert!(PathRules::new(vec!["a[".to_owned()]).is_err());
    assert!(!PathRules::default().cover(&note("a.md")));
}

/// What an editor answers about the folder, with the rules or with the hidden files removed.
fn answers(editor: &Editor, ids: &[String]) -> Vec<String> {
    let mut said = Vec::new();
    let mut say = |what: &str, answer: String| said.push(format!("{what}: {answer}"));
    say("documents", format!("{:?}", editor.documents(&|| false)));
    for path in [
        "open.md",
        "secret/s.md",
        "secret/none.md",
        "link.md",
        "folder/s.md",
    ] {
        say(
            path,
            format!(
                "{:?}",
                editor.view(&note(path)).map(|view| view.bytes().to_vec())
            ),
        );
        say(
            "history",
            format!(
                "{:?}",
                editor.history(
                    &note(path),
                    &HistoryFilter {
                        limit: 9,
                        ..HistoryFilter::default()
                    }
                )
            ),
        );
        say(
            "created",
            format!(
                "{:?}",
                path == "open.md" || editor.created(&note(path)).is_none()
            ),
        );
        say(
            "undo",
            format!("{:?}", take_back(editor, &undo(path, false)).map(|_| ())),
        );
        say(
            "delete",
            match path {
                "open.md" => String::new(),
                path => format!(
                    "{:?}",
                    write(
                        editor,
                        vec![Operation::DeleteDocument(DeleteDocument {
                            path: note(path),
                            expected_hash: None
                        })]
                    )
                    .map(|_| ())
                ),
            },
        );
    }
    for id in ids {
        let found = editor.find_section(None, &by_id(id), LetterCase::Matters);
        say(
            "id",
            format!(
                "{:?} {:?} {:?}",
                found.map(|_| ()),
                editor.document_of(id),
                editor.knows(id)
            ),
        );
        say(
            "within",
            format!(
                "{:?}",
                editor
                    .find_section(Some(&note("open.md")), &by_id(id), LetterCase::Matters)
                    .map(|_| ())
            ),
        );
        say(
            "remembered",
            format!("{:?}", editor.remembered_by_section(id)),
        );
    }
    say(
        "links",
        format!("{:?}", editor.check_links(None, CallHooks::none())),
    );
    said
}

#[test]
fn what_is_hidden_does_not_exist() {
    let open = "# Open\n\n[s](secret/s.md) [[s]] [[alias]] [f](secret/) ![](secret/p.png) [n](secret/none.md)\n";
    let documents = [
        ("open.md", open),
        (
            "secret/s.md",
            "---\naliases: [alias]\n---\n# Secret\n\n## Inner\n\ntext\n",
        ),
        ("secret/p.png", "png"),
    ];
    let bench = Bench::new(&documents);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("secret/s.md", bench.path("link.md")).unwrap();
        std::os::unix::fs::symlink("secret", bench.path("folder")).unwrap();
    }
    let mut ids = vec![
        bench.id("secret/s.md", "Secret"),
        bench.id("secret/s.md", "Inner"),
    ];
    bench
        .write(update("secret/s.md", by_heading("Secret"), "Edited."))
        .unwrap();
    bench
        .write(delete("secret/s.md", by_heading("Inner")))
        .unwrap();
    ids.push("nothing-000000".to_owned());
    let hidden = answers(
        &restricted(bench.folder.path(), &["secret/"], &[], &[]),
        &ids,
    );
    let unreadable = answers(
        &restricted(
            bench.folder.path(),
            &[],
            &["open.md", "link.md", "folder/"],
            &[],
        ),
        &ids,
    );
    // The same folder without it.
    let without = Bench::new(&documents[..1]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("secret/s.md", without.path("link.md")).unwrap();
        std::os::unix::fs::symlink("secret", without.path("folder")).unwrap();
    }
    let gone = answers(&without.editor, &ids);
    assert_eq!(hidden, gone);
    assert_eq!(unreadable, gone);
    // The history knows two entries, and says nothing of them.
    let editor = restricted(bench.folder.path(), &["secret/"], &[], &[]);
    let filter = ChangeFilter {
        limit: 9,
        ..ChangeFilter::default()
    };
    assert_eq!(
        editor.changes(&filter, CallHooks::none()).unwrap().0.len(),
        0
    );
    assert_eq!(editor.entry(1).unwrap_err(), EditorError::EntryNotFound);
    assert_eq!(editor.newest_change_of("tests").unwrap(), None);
    let one = UndoRequest {
        path: None,
        entry: Some(2),
        ..undo("open.md", false)
    };
    assert_eq!(
        take_back(&editor, &one).unwrap_err(),
        EditorError::EntryNotFound
    );
    for path in ["secret/s.md", "secret/new.md"] {
        let create = Operation::CreateDocument(CreateDocument {
            path: note(path),
            content: String::new(),
        });
        assert_eq!(
            write(&editor, vec![create]).unwrap_err(),
            EditorError::NotADocument
        );
        let rename = Operation::RenameDocument(RenameDocument {
            path: note("open.md"),
            new_path: note(path),
            repair_links: true,
        });
        assert_eq!(
            write(&editor, vec![rename]).unwrap_err(),
            EditorError::NotADocument
        );
    }
    assert_eq!(
        editor.remove_empty_folder(&note("secret")),
        Err(EditorError::FolderNotFound)
    );
    assert_eq!(
        write(&editor, vec![rename_folder("secret", "s")]).unwrap_err(),
        EditorError::FolderNotFound
    );
    assert_eq!(
        bench.text("secret/s.md"),
        "---\naliases: [alias]\n---\n# Secret\n\nEdited.\n"
    );
}

#[test]
fn a_hidden_document_keeps_its_links_and_nobody_is_told() {
    let bench = Bench::new(&[
        ("plan.md", "# Plan\n"),
        ("open.md", "# Open\n\n[[plan]]\n"),
        ("secret/s.md", "# S\n\n[p](../plan.md) [[plan#Plan]]\n"),
    ]);
    let before = files(bench.folder.path());
    let editor = restricted(bench.folder.path(), &["secret/"], &[], &[]);
    let rename = || {
        Operation::RenameDocument(RenameDocument {
            path: note("plan.md"),
            new_path: note("goal.md"),
            repair_links: true,
        })
    };
    let report = write(&editor, vec![rename()]).unwrap();
    assert_eq!(
        bench.text("secret/s.md"),
        "# S\n\n[p](../goal.md) [[goal#Plan]]\n"
    );
    assert_eq!(report.repaired_links, 1);
    let paths: Vec<&str> = report
        .documents
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(paths, ["open.md", "goal.md"]);
    assert!(
        report
            .documents
            .iter()
            .all(|one| !one.diff.contains("secret"))
    );
    let entry = report.entry.unwrap();
    assert_eq!(
        editor.entry(entry).unwrap().documents,
        ["open.md", "goal.md"]
    );
    // The caller may take its own change back, with the links that it does not know of.
    let back = UndoRequest {
        path: None,
        entry: Some(entry),
        ..undo("open.md", false)
    };
    let undone = take_back(&editor, &back).unwrap();
    assert_eq!(undone.documents.len(), 2);
    assert_eq!(files(bench.folder.path()), before);
    // Not where it may not write; then the links break, and still nobody is told.
    let editor = restricted(
        bench.folder.path(),
        &["secret/"],
        &[],
        &["*.md", "!secret/"],
    );
    let report = write(&editor, vec![rename()]).unwrap();
    assert_eq!(report.broken_links, []);
    assert_eq!(
        bench.text("secret/s.md"),
        "# S\n\n[p](../plan.md) [[plan#Plan]]\n"
    );
}

#[test]
fn what_may_not_be_written_stays_and_its_links_are_reported() {
    let bench = Bench::new(&[
        ("drafts/a.md", "# A\n"),
        ("fixed/b.md", "# B\n\n[a](../drafts/a.md)\n"),
    ]);
    let editor = restricted(bench.folder.path(), &[], &[], &["drafts/"]);
    let before = files(bench.folder.path());
    let not_writable = |path: &str| EditorError::NotWritable {
        path: path.to_owned(),
    };
    let rename = |path: &str, new_path: &str| {
        Operation::RenameDocument(RenameDocument {
            path: note(path),
            new_path: note(new_path),
            repair_links: true,
        })
    };
    for (operation, path) in [
        (update("fixed/b.md", by_heading("B"), "new"), "fixed/b.md"),
        (
            Operation::DeleteDocument(DeleteDocument {
                path: note("fixed/b.md"),
                expected_hash: None,
            }),
            "fixed/b.md",
        ),
        (
            Operation::CreateDocument(CreateDocument {
                path: note("new.md"),
                content: String::new(),
            }),
            "new.md",
        ),
        (rename("drafts/a.md", "fixed/a.md"), "fixed/a.md"),
        (rename("fixed/b.md", "drafts/b.md"), "fixed/b.md"),
        (rename_folder("drafts", "other"), "other"),
        (rename_folder("fixed", "drafts/fixed"), "fixed"),
    ] {
        let dry = WriteRequest {
            dry_run: true,
            ..request(vec![operation.clone()])
        };
        assert_eq!(
            editor.write(&dry, CallHooks::none()).unwrap_err(),
            not_writable(path)
        );
        assert_eq!(
            write(&editor, vec![operation]).unwrap_err(),
            not_writable(path)
        );
    }
    assert_eq!(editor.view(&note("fixed/b.md")).unwrap().ids().len(), 1);
    assert_eq!(
        editor.remove_empty_folder(&note("fixed")),
        Err(not_writable("fixed"))
    );
    assert_eq!(files(bench.folder.path()), before);
    let report = write(&editor, vec![rename("drafts/a.md", "drafts/c.md")]).unwrap();
    assert_eq!((report.repaired_links, report.broken_links.len()), (0, 1));
    assert_eq!(report.broken_links[0].path, "fixed/b.md");
}

#[test]
fn a_folder_does_not_carry_hidden_files_into_the_open() {
    let bench = Bench::new(&[
        ("a/x.md", "# X\n"),
        ("a/secret/s.md", "# S\n\n[x](../x.md)\n"),
    ]);
    let before = files(bench.folder.path());
    let anchored = restricted(bench.folder.path(), &["/a/secret/"], &[], &[]);
    let refused = EditorError::NotWritable {
        path: "a".to_owned(),
    };
    assert_eq!(
        write(&anchored, vec![rename_folder("a", "b")]).unwrap_err(),
        refused
    );
    // The answer is the same where nothing is hidden there.
    let empty = Bench::new(&[("a/x.md", "# X\n")]);
    let same = restricted(empty.folder.path(), &["/a/secret/"], &[], &[]);
    assert_eq!(
        write(&same, vec![rename_folder("a", "b")]).unwrap_err(),
        refused
    );
    assert_eq!(files(bench.folder.path()), before);
    // A rule about names holds at the new path as well.
    let anywhere = restricted(bench.folder.path(), &["secret/"], &[], &[]);
    let report = write(&anywhere, vec![rename_folder("a", "b/c")]).unwrap();
    assert_eq!(report.documents.len(), 1);
    assert_eq!(bench.text("b/c/secret/s.md"), "# S\n\n[x](../x.md)\n");
    let back = UndoRequest {
        path: None,
        entry: report.entry,
        ..undo("x.md", false)
    };
    take_back(&anywhere, &back).unwrap();
    assert_eq!(files(bench.folder.path()), before);
}

#[test]
fn a_pattern_with_folders_of_any_depth_keeps_them_in_place() {
    for (hide, secret, from) in [
        (&["a/**/secret"][..], "a/b/c/secret/x.md", "a/b/c"),
        (&["/**/x/y"], "p/q/x/y/s.md", "p/q/x"),
        // In the folder `open`, nothing is hidden.
        (&["*.md", "!open/"], "p/s.md", "p"),
    ] {
        let bench = Bench::new(&[(secret, "# S\n")]);
        let before = files(bench.folder.path());
        let editor = restricted(bench.folder.path(), hide, &[], &[]);
        let refused = EditorError::NotWritable {
            path: from.to_owned(),
        };
        let moved = write(&editor, vec![rename_folder(from, "open")]);
        assert_eq!(moved.unwrap_err(), refused, "{hide:?}");
        assert_eq!(files(bench.folder.path()), before);
    }
}

fn entry(number: u64) -> UndoRequest {
    UndoRequest {
        path: None,
        entry: Some(number),
        ..undo("open.md", false)
    }
}

fn all_changes(editor: &Editor) -> Vec<HistoryEntry> {
    let filter = ChangeFilter {
        limit: 99,
        ..ChangeFilter::default()
    };
    editor.changes(&filter, CallHooks::none()).unwrap().0
}

#[test]
fn a_document_that_went_out_of_sight_takes_its_history_along() {
    let bench = Bench::new(&[("notes/a.md", "# A\n\nold\n"), ("b.md", "# B\n")]);
    bench
        .write(update("notes/a.md", by_heading("A"), "Words."))
        .unwrap();
    let both = WriteRequest {
        actor: "caller".to_owned(),
        ..request(vec![
            update("notes/a.md", by_heading("A"), "More words."),
            update("b.md", by_heading("B"), "Seen."),
        ])
    };
    bench.editor.write(&both, CallHooks::none()).unwrap();
    let rename = Operation::RenameDocument(RenameDocument {
        path: note("notes/a.md"),
        new_path: note("private/a.md"),
        repair_links: true,
    });
    bench.write(rename).unwrap();
    let before = files(bench.folder.path());
    let editor = restricted(bench.folder.path(), &["private/"], &[], &[]);
    for number in [1, 2, 3] {
        assert_eq!(
            take_back(&editor, &entry(number)).unwrap_err(),
            EditorError::EntryNotFound,
            "{number}"
        );
    }
    assert_eq!(files(bench.folder.path()), before);
    let seen = all_changes(&editor);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].documents, ["b.md"]);
    assert_eq!(seen[0].sections.len(), 1);
    assert_eq!(editor.entry(1).unwrap_err(), EditorError::EntryNotFound);
    // The caller cannot undo half of its change, so that is not its newest.
    assert_eq!(editor.newest_change_of("caller").unwrap(), None);
    assert_eq!(bench.editor.newest_change_of("caller").unwrap(), Some(2));
    // Where nothing is hidden, all of it can be undone.
    assert_eq!(all_changes(&bench.editor).len(), 3);
    take_back(&bench.editor, &entry(1)).unwrap_err();
    take_back(&bench.editor, &entry(3)).unwrap();
}

#[test]
fn a_moved_folder_without_documents_is_unknown_if_one_of_its_paths_is_hidden() {
    for (from, to) in [("pictures", "private"), ("private", "pictures")] {
        let bench = Bench::new(&[(&format!("{from}/p.png"), "png")]);
        bench.write(rename_folder(from, to)).unwrap();
        let before = files(bench.folder.path());
        // A rule about folders, which does not hold for a file of that name.
        let hiding = restricted(bench.folder.path(), &["private/"], &[], &[]);
        let reading = restricted(bench.folder.path(), &[], &["pictures/"], &[]);
        for editor in [hiding, reading] {
            assert_eq!(all_changes(&editor).len(), 0, "{from}");
            assert_eq!(editor.newest_change_of("tests").unwrap(), None);
            assert_eq!(
                take_back(&editor, &entry(1)).unwrap_err(),
                EditorError::EntryNotFound
            );
        }
        assert_eq!(files(bench.folder.path()), before);
        assert_eq!(all_changes(&bench.editor).len(), 1);
        take_back(&bench.editor, &entry(1)).unwrap();
    }
}

#[test]
fn a_folder_with_nothing_but_hidden_documents_moves_like_an_empty_one() {
    let answers = [true, false].map(|is_there| {
        let bench = Bench::new(&[("a/p.png", "png")]);
        if is_there {
            fs::write(bench.path("a/s.secret.md"), "# S\n").unwrap();
        }
        let editor = restricted(bench.folder.path(), &["*.secret.md"], &[], &[]);
        let report = write(&editor, vec![rename_folder("a", "b")]).unwrap();
        let seen = all_changes(&editor);
        let seen = seen.iter().map(|one| (one.number, one.documents.clone()));
        let seen: Vec<(u64, Vec<String>)> = seen.collect();
        let undone = take_back(&editor, &entry(1)).map(|report| report.documents.len());
        (report.documents.len(), seen, undone)
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], (0, vec![(1, Vec::new())], Ok(0)));
}

#[test]
fn a_folder_in_which_nothing_may_be_read_does_not_exist() {
    let bench = Bench::new(&[("inbox/a.md", "# A\n\n[x](../secret/) [y](../none/)\n")]);
    fs::create_dir_all(bench.path("secret/empty")).unwrap();
    fs::write(bench.path("secret/s.md"), "# S\n").unwrap();
    fs::write(bench.path("secret/.keep"), "").unwrap();
    let editor = restricted(bench.folder.path(), &[], &["inbox/"], &[]);
    for folder in ["secret", "secret/empty", "none"] {
        assert_eq!(
            write(&editor, vec![rename_folder(folder, "inbox/b")]).unwrap_err(),
            EditorError::FolderNotFound,
            "{folder}"
        );
        assert_eq!(
            editor.remove_empty_folder(&note(folder)),
            Err(EditorError::FolderNotFound),
            "{folder}"
        );
    }
    let broken = editor.check_links(None, CallHooks::none()).unwrap();
    assert_eq!(broken.broken.len(), 2, "{broken:?}");
    // One that may be read exists even if it is empty.
    fs::create_dir_all(bench.path("inbox/empty")).unwrap();
    editor.remove_empty_folder(&note("inbox/empty")).unwrap();
}
