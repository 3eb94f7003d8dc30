//! A root that is really read-only, full, removed, or swapped for something else.

use super::*;

const OPERATION_HEADING: &str = "New";

fn operation() -> Vec<Operation> {
    vec![insert("a.md", OPERATION_HEADING, 0)]
}

#[test]
fn a_root_that_is_removed_is_reported_and_not_made_again() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    bench.write(insert("a.md", "Made", 0)).unwrap();
    let root = bench.folder.path().to_path_buf();
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(
        bench.editor.view(&note("a.md")).unwrap_err(),
        EditorError::RootGone
    );
    assert_eq!(
        write(&bench.editor, operation()).unwrap_err(),
        EditorError::RootGone
    );
    assert_eq!(bench.undo("a.md").unwrap_err(), EditorError::RootGone);
    assert_eq!(
        bench.write(create().remove(0)).unwrap_err(),
        EditorError::RootGone
    );
    assert!(bench.editor.damage().is_empty());
    assert!(!root.exists());
    // The folder comes back, like a drive that was unplugged.
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("a.md"), SAMPLE).unwrap();
    write(&bench.editor, operation()).unwrap();
    assert!(bench.text("a.md").starts_with("# New\n"));
    bench.undo("a.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
}

#[test]
fn a_document_that_vanished_or_became_a_folder_is_not_found() {
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", OTHER)]);
    let beta = bench.id("a.md", "Beta");
    bench.write(update("a.md", by_id(&beta), "x")).unwrap();
    let edited = bench.text("a.md");
    fs::remove_file(bench.path("a.md")).unwrap();
    for folder in [false, true] {
        if folder {
            fs::create_dir(bench.path("a.md")).unwrap();
        }
        let not_found = EditorError::DocumentNotFound;
        assert_eq!(bench.editor.view(&note("a.md")).unwrap_err(), not_found);
        assert_eq!(
            bench.write(update("a.md", by_id(&beta), "y")).unwrap_err(),
            not_found
        );
        assert_eq!(bench.undo("a.md").unwrap_err(), not_found);
    }
    bench.write(insert("b.md", "Works", 0)).unwrap();
    fs::remove_dir(bench.path("a.md")).unwrap();
    // A new document at the same path is a different document, and does not get the old ids.
    let made = Operation::CreateDocument(CreateDocument {
        path: note("a.md"),
        content: "# Beta\n".to_owned(),
    });
    let report = bench.write(made).unwrap();
    let view = report.documents[0].view.clone().unwrap();
    assert_ne!(view.ids()[0], beta);
    assert_eq!(
        bench.reopened().view(&note("a.md")).unwrap().ids(),
        view.ids()
    );
    bench.undo("a.md").unwrap();
    assert!(!bench.path("a.md").exists());
    // And a file that comes back at another path is recognized by its content.
    fs::write(bench.path("c.md"), edited).unwrap();
    bench.editor.view(&note("c.md")).unwrap();
    check_whole(bench.folder.path(), "vanished");
}

/// The child's task in a mount of its own.
const MOUNTED: &str = "SECTILE_TEST_MOUNT";

/// Runs [`mounted`] with `kind` in namespaces of its own, after `prepare` in a shell. Returns `None` if the system does
/// not allow that; the error tests meet the same errors step by step.
#[cfg(target_os = "linux")]
fn in_a_mount(kind: &str, folder: &Path, prepare: &str) -> Option<String> {
    let allowed = Command::new("unshare")
        .args(["-rm", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !allowed {
        println!("skipped: no mounts can be made here");
        return None;
    }
    let program = std::env::current_exe().unwrap();
    let (program, folder) = (program.to_str().unwrap(), folder.to_str().unwrap());
    let test = "editor::tests::faults::surroundings::mounted";
    let script = format!("{prepare}\nexec '{program}' --exact {test} --nocapture");
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-ec", &script, "sh", folder])
        .env(MOUNTED, format!("{kind}|{folder}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(text)
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_file_system_can_be_read() {
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", OTHER)]);
    bench.write(insert("a.md", "Made", 0)).unwrap();
    let before = documents(bench.folder.path());
    let mount = "mount --bind \"$1\" \"$1\"; mount -o remount,bind,ro \"$1\"";
    in_a_mount("read-only", bench.folder.path(), mount);
    assert_eq!(documents(bench.folder.path()), before);
    check_whole(bench.folder.path(), "read-only");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    let folder = scratch();
    let mount = "mount -t tmpfs -o size=256k none \"$1\"";
    in_a_mount("full", folder.path(), mount);
}

#[cfg(target_os = "linux")]
#[test]
fn documents_below_a_mount_point_can_be_edited() {
    let folder = scratch();
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::create_dir(folder.path().join("same")).unwrap();
    fs::create_dir(folder.path().join("bound")).unwrap();
    // Another file system, and the same one under another mount: neither lets a file be moved in or out.
    let mount = "mount -t tmpfs none \"$1/other\"; mount --bind \"$1/same\" \"$1/bound\"";
    in_a_mount("below", folder.path(), mount);
}

/// A file of a group that we are not in, in a folder that we may write to.
#[cfg(target_os = "linux")]
#[test]
fn a_group_that_cannot_be_kept_is_a_reason_to_refuse() {
    let bench = Bench::new(&[
        ("refused.md", SAMPLE),
        ("taken.md", SAMPLE),
        ("closed.md", SAMPLE),
    ]);
    for (name, mode) in [
        ("refused.md", 0o646),
        ("taken.md", 0o666),
        ("closed.md", 0o664),
    ] {
        use std::os::unix::fs::PermissionsExt as _;
        let path = bench.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        if std::os::unix::fs::chown(&path, Some(1234), Some(1235)).is_err() {
            println!("skipped: only root can give files away");
            return;
        }
    }
    in_a_mount("group", bench.folder.path(), "true");
}

/// Not a test itself: the process that works in a mount. Without a parent it does nothing.
#[test]
fn mounted() {
    let Ok(job) = std::env::var(MOUNTED) else {
        return;
    };
    let (kind, folder) = job.split_once('|').unwrap();
    match kind {
        "read-only" => on_a_read_only_file_system(Path::new(folder)),
        "below" => below_a_mount_point(Path::new(folder)),
        "group" => with_files_of_another_group(Path::new(folder)),
        _ => on_a_full_disk(Path::new(folder)),
    }
}

fn on_a_read_only_file_system(folder: &Path) {
    let editor = open(folder);
    let known = editor.view(&note("a.md")).unwrap().ids().to_vec();
    let fresh = editor.view(&note("b.md")).unwrap().ids().to_vec();
    assert!(known.iter().all(|id| !id.contains('~')), "{known:?}");
    assert!(fresh.iter().all(|id| id.contains('~')), "{fresh:?}");
    for _ in 0..2 {
        let refused = write(&editor, operation()).unwrap_err();
        assert_eq!(refused, EditorError::ReadOnlyFileSystem);
        let refused = take_back(&editor, &undo("a.md", false)).unwrap_err();
        assert_eq!(refused, EditorError::ReadOnlyFileSystem);
        assert_eq!(editor.view(&note("a.md")).unwrap().ids(), known);
        assert_eq!(editor.view(&note("b.md")).unwrap().ids(), fresh);
    }
    assert_eq!(
        editor
            .history(
                &note("a.md"),
                &HistoryFilter {
                    limit: 5,
                    ..HistoryFilter::default()
                }
            )
            .unwrap()
            .0
            .len(),
        1
    );
}

fn below_a_mount_point(folder: &Path) {
    for mount in ["other", "bound"] {
        let a = format!("{mount}/a.md");
        fs::write(folder.join(&a), SAMPLE).unwrap();
        let editor = open(folder);
        write(&editor, vec![insert(&a, "Made", 0)]).unwrap();
        let text = fs::read_to_string(folder.join(&a)).unwrap();
        assert!(text.starts_with("# Made\n"));
        take_back(&editor, &undo(&a, false)).unwrap();
        assert_eq!(fs::read_to_string(folder.join(&a)).unwrap(), SAMPLE);
        let made = Operation::CreateDocument(CreateDocument {
            path: note(&format!("{mount}/new/n.md")),
            content: "# N\n".to_owned(),
        });
        write(&editor, vec![made]).unwrap();
        for (from, to) in [(a.as_str(), "moved.md"), ("moved.md", a.as_str())] {
            let moved = Operation::RenameDocument(RenameDocument {
                path: note(from),
                new_path: note(to),
                repair_links: false,
            });
            write(&editor, vec![moved]).unwrap();
            assert_eq!(fs::read_to_string(folder.join(to)).unwrap(), SAMPLE);
            assert!(!folder.join(from).exists());
        }
        let deleted = Operation::DeleteDocument(DeleteDocument {
            path: note(&a),
            expected_hash: None,
        });
        let entry = write(&editor, vec![deleted]).unwrap().entry.unwrap();
        take_back(&editor, &undo_entry(entry)).unwrap();
        check_whole(folder, mount);
        let names = fs::read_dir(folder.join(mount)).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(
            names,
            ["a.md", "new"],
            "{mount}: nothing is left beside the documents"
        );
    }
}

fn with_files_of_another_group(folder: &Path) {
    let editor = open(folder);
    let edit = |path: &str| write(&editor, vec![insert(path, "Made", 0)]).map(|_| ());
    let what = "the group of the file".to_owned();
    assert_eq!(edit("refused.md"), Err(EditorError::Unkept { what }));
    assert_eq!(edit("closed.md"), Err(EditorError::ReadOnlyDocument));
    assert_eq!(edit("taken.md"), Ok(()));
    for path in ["refused.md", "closed.md"] {
        assert_eq!(fs::read_to_string(folder.join(path)).unwrap(), SAMPLE);
    }
    check_whole(folder, "group");
}

fn on_a_full_disk(folder: &Path) {
    fs::write(folder.join("a.md"), SAMPLE).unwrap();
    fs::write(folder.join("b.md"), OTHER).unwrap();
    let editor = open(folder);
    write(&editor, operation()).unwrap();
    let mut refusals = 0;
    // The journal and other writes fill the disk, at a different byte every time.
    for round in 0..40 {
        let ballast = folder.join("ballast");
        let size = 4_096 * (20 + round % 30);
        let filled = fs::write(&ballast, vec![b'x'; size]);
        let before = documents(folder);
        let text = "long text ".repeat(500);
        match write(
            &editor,
            vec![update(
                "a.md",
                by_heading(OPERATION_HEADING),
                &format!("{text}{round}"),
            )],
        ) {
            Ok(_) => assert!(documents(folder) != before),
            Err(error) => {
                refusals += 1;
                assert_eq!(error, EditorError::DiskFull);
                assert_eq!(documents(folder), before);
            }
        }
        let view = editor.view(&note("b.md")).unwrap();
        assert_eq!(view.bytes(), OTHER.as_bytes());
        fs::remove_file(&ballast).unwrap();
        drop(filled);
        if round % 8 == 7 {
            // Room is made for the journal.
            editor.purge(None, None).unwrap();
        }
    }
    assert!(refusals > 5, "{refusals}");
    write(
        &editor,
        vec![update("a.md", by_heading(OPERATION_HEADING), "Short.")],
    )
    .unwrap();
    write(&editor, vec![insert("b.md", "Works", 0)]).unwrap();
    check_whole(folder, "full");
}
