//! Folders: renamed with everything in them, in one change that can be undone.

use super::*;

pub(super) fn rename_folder(path: &str, new_path: &str) -> Operation {
    Operation::RenameFolder(RenameFolder {
        path: note(path),
        new_path: note(new_path),
    })
}

/// The files below a folder with their bytes, without Sectile's own.
pub(super) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if name == ".sectile" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((name, fs::read(&path).unwrap_or_default()));
            }
        }
    }
    found.sort();
    found
}

const FOLDER: &[(&str, &str)] = &[
    (
        "index.md",
        "---\nup: \"[[projects/plan]]\"\n---\n# Index\n\n[plan](projects/plan.md#goals) [[projects/plan|p]] [[notes]] ![[shot.png]]\n![](projects/img/shot.png) [all](projects/) [ref][r]\n\n[r]: <projects/deep/notes.md> \"t\"\n",
    ),
    (
        "other/far.md",
        "# Far\n\n[up](../projects/plan.md) ![[projects/plan#Goals]]\n",
    ),
    (
        "projects/plan.md",
        "# Plan\n\n[i](../index.md) [n](deep/notes.md) ![](img/shot.png) [[far]]\n\n## Goals\n\n[[#Goals]] [abs](/projects/plan.md)\n",
    ),
    (
        "projects/deep/notes.md",
        "# Notes\n\n[p](../plan.md#goals) [f](../../other/far.md)\n",
    ),
    ("projects/img/shot.png", "png"),
    ("projects/img/.hidden", "dot"),
    ("projects/.obsidian/app.json", "{}"),
];

#[test]
fn everything_in_a_folder_moves_and_every_link_follows() {
    let bench = Bench::new(FOLDER);
    fs::write(bench.path("projects/latin.md"), b"# \xe9\n").unwrap();
    let (plan, goals) = (
        bench.id("projects/plan.md", "Plan"),
        bench.id("projects/plan.md", "Goals"),
    );
    let before = files(bench.folder.path());
    let report = bench
        .write(rename_folder("projects", "work/2026/proj"))
        .unwrap();
    assert_eq!(
        report
            .broken_links
            .iter()
            .map(|link| link.path.as_str())
            .collect::<Vec<_>>(),
        ["projects/latin.md"]
    );
    assert_eq!(report.steps[0].path, "work/2026/proj");
    assert_eq!(
        bench.text("index.md"),
        "---\nup: \"[[work/2026/proj/plan]]\"\n---\n# Index\n\n[plan](work/2026/proj/plan.md#goals) [[work/2026/proj/plan|p]] [[notes]] ![[shot.png]]\n![](work/2026/proj/img/shot.png) [all](work/2026/proj/) [ref][r]\n\n[r]: <work/2026/proj/deep/notes.md> \"t\"\n"
    );
    assert_eq!(
        bench.text("other/far.md"),
        "# Far\n\n[up](../work/2026/proj/plan.md) ![[work/2026/proj/plan#Goals]]\n"
    );
    assert_eq!(
        bench.text("work/2026/proj/plan.md"),
        "# Plan\n\n[i](../../../index.md) [n](deep/notes.md) ![](img/shot.png) [[far]]\n\n## Goals\n\n[[#Goals]] [abs](/work/2026/proj/plan.md)\n"
    );
    assert_eq!(
        bench.text("work/2026/proj/deep/notes.md"),
        "# Notes\n\n[p](../plan.md#goals) [f](../../../../other/far.md)\n"
    );
    for file in [
        "img/shot.png",
        "img/.hidden",
        ".obsidian/app.json",
        "latin.md",
    ] {
        assert!(bench.path("work/2026/proj").join(file).is_file(), "{file}");
    }
    assert!(!bench.path("projects").exists());
    let check = bench.editor.check_links(None, CallHooks::none()).unwrap();
    assert_eq!(check.broken, []);
    // Ids stay, for another process too.
    for editor in [&bench.editor, &bench.reopened()] {
        let view = editor.view(&note("work/2026/proj/plan.md")).unwrap();
        assert_eq!(view.ids(), [plan.clone(), goals.clone()]);
        assert_eq!(
            editor.document_of(&goals),
            Some(note("work/2026/proj/plan.md"))
        );
    }
    let after = files(bench.folder.path());
    take_back(&bench.reopened(), &undo("index.md", false)).unwrap();
    assert_eq!(files(bench.folder.path()), before);
    assert_eq!(bench.id("projects/plan.md", "Goals"), goals);
    bench.redo("index.md").unwrap();
    assert_eq!(files(bench.folder.path()), after);
}

#[test]
fn a_folder_without_documents_moves_and_comes_back() {
    let bench = Bench::new(&[("a.md", "# A\n"), ("img/x.png", "x")]);
    let report = bench.write(rename_folder("img", "pics")).unwrap();
    assert!(bench.path("pics/x.png").is_file());
    let entry = report.entry.unwrap();
    let undo_it = |redo| UndoRequest {
        path: None,
        entry: Some(entry),
        ..undo("a.md", redo)
    };
    assert_eq!(
        take_back(&bench.editor, &undo_it(true)).unwrap_err(),
        EditorError::NothingToRedo
    );
    let undone = take_back(&bench.editor, &undo_it(false))
        .unwrap()
        .entry
        .unwrap();
    assert!(bench.path("img/x.png").is_file());
    assert_eq!(
        take_back(&bench.editor, &undo_it(false)).unwrap_err(),
        EditorError::AlreadyUndone
    );
    // Undoing the undo is a redo.
    let again = UndoRequest {
        entry: Some(undone),
        ..undo_it(false)
    };
    take_back(&bench.editor, &again).unwrap();
    assert!(bench.path("pics/x.png").is_file());
}

#[test]
fn what_was_added_since_comes_back_with_the_folder() {
    let bench = Bench::new(FOLDER);
    bench.write(rename_folder("projects", "work")).unwrap();
    fs::write(
        bench.path("work/new.md"),
        "# New\n\n[p](plan.md) [i](../index.md)\n",
    )
    .unwrap();
    fs::write(bench.path("late.md"), "# Late\n\n[n](work/new.md)\n").unwrap();
    let entry = bench.editor.newest_change_of("tests").unwrap();
    let back = UndoRequest {
        path: None,
        entry,
        ..undo("index.md", false)
    };
    take_back(&bench.editor, &back).unwrap();
    assert_eq!(
        bench.text("projects/new.md"),
        "# New\n\n[p](plan.md) [i](../index.md)\n"
    );
    assert_eq!(bench.text("late.md"), "# Late\n\n[n](projects/new.md)\n");
    assert_eq!(bench.text("index.md"), FOLDER[0].1);
    assert!(!bench.path("work").exists());
}

#[test]
fn folders_that_cannot_move_stay_with_everything_in_them() {
    let bench = Bench::new(&[
        ("a/x.md", "# X\n"),
        ("b/y.md", "# Y\n"),
        ("a/in/z.md", "# Z\n"),
        (".gitignore", "ignored/\n"),
        ("ignored/i.md", "# I\n"),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(bench.path("a"), bench.path("link")).unwrap();
    let before = files(bench.folder.path());
    let refused = |path: &str, new: &str| bench.write(rename_folder(path, new)).unwrap_err();
    for (path, new, error) in [
        ("a", "b", EditorError::FolderExists),
        ("a", "a", EditorError::FolderExists),
        ("a", "b/y.md", EditorError::FolderExists),
        ("a", "a/in/a", EditorError::FolderIntoItself),
        ("gone", "c", EditorError::FolderNotFound),
        ("a/x.md", "c", EditorError::FolderNotFound),
        (".sectile", "c", EditorError::FolderNotFound),
        ("ignored", "c", EditorError::FolderNotFound),
        ("a", ".c", EditorError::NotADocument),
        ("a", "ignored/c", EditorError::NotADocument),
        ("a", "b/.sectile", EditorError::NotADocument),
    ] {
        assert_eq!(refused(path, new), error, "{path} {new}");
    }
    #[cfg(unix)]
    assert_eq!(
        refused("link", "c"),
        EditorError::IsLink {
            target: "a".to_owned()
        }
    );
    let two = vec![
        rename_folder("a", "c"),
        update("b/y.md", by_heading("Y"), "y"),
    ];
    assert!(matches!(
        write(&bench.editor, two),
        Err(EditorError::FolderStays(_))
    ));
    assert_eq!(files(bench.folder.path()), before);
    // A dry run shows what would happen, and its plan can be applied.
    let dry = WriteRequest {
        dry_run: true,
        ..request(vec![rename_folder("a", "c")])
    };
    let plan = bench
        .editor
        .write(&dry, CallHooks::none())
        .unwrap()
        .plan
        .unwrap();
    assert_eq!(files(bench.folder.path()), before);
    bench
        .editor
        .apply_plan(&plan, false, CallHooks::none())
        .unwrap();
    assert!(bench.path("c/in/z.md").is_file());
}

#[test]
fn a_change_that_another_program_makes_meanwhile_is_kept() {
    let bench = Bench::new(FOLDER);
    let path = bench.path("projects/deep/notes.md");
    crate::fault::before_step("move_folder", move || {
        fs::write(&path, "# Notes\n\nWritten meanwhile.\n").unwrap();
    });
    bench.write(rename_folder("projects", "work")).unwrap();
    assert_eq!(
        bench.text("work/deep/notes.md"),
        "# Notes\n\nWritten meanwhile.\n"
    );
    // Another folder at the new path makes it fail, and nothing is left of it.
    let before = files(bench.folder.path());
    let path = bench.path("taken");
    crate::fault::before_step("move_folder", move || fs::create_dir(path).unwrap());
    let refused = bench.write(rename_folder("work", "taken"));
    assert_eq!(refused.unwrap_err(), EditorError::FolderExists);
    fs::remove_dir(bench.path("taken")).unwrap();
    assert_eq!(files(bench.folder.path()), before);
}

/// Work per document does not grow with their number, and no more files are open than there are folders.
#[test]
fn the_work_grows_with_the_documents() {
    let work = |count: usize| {
        let text = "# N\n\n[up](../index.md) [[n0]]\n";
        let names: Vec<String> = (0..count).map(|at| format!("many/n{at}.md")).collect();
        let mut documents: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), text)).collect();
        documents.push(("index.md", "# I\n\n[n](many/n1.md)\n"));
        let bench = Bench::new(&documents);
        let steps =
            crate::work::steps_of(|| bench.write(rename_folder("many", "deep/many")).unwrap());
        assert_eq!(
            bench.text("deep/many/n1.md"),
            "# N\n\n[up](../../index.md) [[n0]]\n"
        );
        steps
    };
    let (few, many) = (work(20), work(200));
    assert!(many <= few * 12, "{few} {many}");
}

#[test]
fn empty_folders_are_removed_and_others_are_not() {
    let bench = Bench::new(&[("a/x.md", "# X\n")]);
    fs::create_dir_all(bench.path("b/c")).unwrap();
    let remove = |path: &str| bench.editor.remove_empty_folder(&note(path));
    assert_eq!(remove("a"), Err(EditorError::FolderNotEmpty));
    assert_eq!(remove("b"), Err(EditorError::FolderNotEmpty));
    assert_eq!(remove("b/c"), Ok(()));
    assert_eq!(remove("b"), Ok(()));
    for path in ["b", "a/x.md", ".sectile"] {
        assert_eq!(remove(path), Err(EditorError::FolderNotFound), "{path}");
    }
    assert_eq!(bench.text("a/x.md"), "# X\n");
}

#[cfg(unix)]
#[test]
fn an_empty_folder_behind_a_link_is_not_removed() {
    let bench = Bench::new(&[("a.md", "# A\n")]);
    fs::create_dir_all(bench.path("real/empty")).unwrap();
    std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
    for path in ["link/empty", "link"] {
        assert_eq!(
            bench.editor.remove_empty_folder(&note(path)),
            Err(EditorError::FolderNotFound),
            "{path}"
        );
    }
    assert!(bench.path("real/empty").is_dir());
    bench
        .editor
        .remove_empty_folder(&note("real/empty"))
        .unwrap();
}

#[test]
fn a_folder_of_too_many_bytes_stays() {
    let large = format!("# A\n\n{}\n", "word ".repeat(300_000));
    let paths = ["a/1.md", "a/2.md", "a/deep/3.md"];
    let bench = Bench::new(&paths.map(|path| (path, large.as_str())));
    let moved = bench.write(rename_folder("a", "b"));
    let limit = 4 << 20;
    assert_eq!(moved.unwrap_err(), EditorError::FolderTooLarge { limit });
    assert!(bench.path("a/deep/3.md").is_file());
    bench.write(rename_folder("a/deep", "b")).unwrap();
    bench.write(rename_folder("a", "c")).unwrap();
}
