//! Files that were replaced, and programs that still write to them. Nothing they write is lost.

use std::{
    io::Write as _,
    process::Command,
    sync::atomic::{AtomicI64, Ordering},
};

use super::*;
use crate::fault::{NO_EXCHANGE, OTHER_FILE_SYSTEM};

static TIME: AtomicI64 = AtomicI64::new(1_800_000_000_000);

fn moving_clock() -> i64 {
    TIME.load(Ordering::Relaxed)
}

fn open_with_clock(folder: &Path) -> Editor {
    let options = EditorOptions {
        clock: moving_clock,
        ..options()
    };
    Editor::folder(folder, options).unwrap()
}

/// Another program's handle on the file that is there now.
fn handle(path: &Path) -> fs::File {
    fs::OpenOptions::new().append(true).open(path).unwrap()
}

/// The rescued files, by name.
fn rescued(folder: &Path) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = fs::read_dir(folder.join(".sectile"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("rescued-"))
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

fn kept(folder: &Path) -> usize {
    fs::read_dir(folder.join(".sectile/displaced"))
        .into_iter()
        .flatten()
        .count()
}

/// A program that has the old file open writes to it long after the answer.
#[test]
fn what_is_written_to_a_replaced_file_after_the_answer_is_rescued() {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    fs::write(folder.path().join("b.md"), SAMPLE).unwrap();
    let editor = open_with_clock(folder.path());
    let mut late = handle(&folder.path().join("a.md"));
    let report = write(&editor, vec![insert("a.md", "Made", 0)]).unwrap();
    assert_eq!(report.rescued, 0);
    late.write_all(b"LATE").unwrap();
    let report = write(&editor, vec![insert("b.md", "Made", 0)]).unwrap();
    assert_eq!(
        (report.rescued, kept(folder.path())),
        (0, 2),
        "it is kept for a while"
    );
    TIME.fetch_add(61_000, Ordering::Relaxed);
    let report = write(&editor, vec![insert("b.md", "More", 0)]).unwrap();
    assert_eq!((report.rescued, kept(folder.path())), (1, 1));
    let expected = vec![("rescued-1-0".to_owned(), format!("{SAMPLE}LATE"))];
    assert_eq!(rescued(folder.path()), expected);
    // The next start does the same, and a purge does not wait.
    let mut late = handle(&folder.path().join("a.md"));
    write(&editor, vec![insert("a.md", "More", 0)]).unwrap();
    late.write_all(b"LATER").unwrap();
    TIME.fetch_add(61_000, Ordering::Relaxed);
    drop(open_with_clock(folder.path()));
    assert_eq!(rescued(folder.path()).len(), 2);
    write(&editor, vec![insert("a.md", "Last", 0)]).unwrap();
    editor.purge(None, None).unwrap();
    assert_eq!((kept(folder.path()), rescued(folder.path()).len()), (0, 0));
}

#[test]
fn few_replaced_files_are_kept() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    for round in 0..80 {
        let text = format!("Round {round}.");
        bench
            .write(update("a.md", by_heading("Beta"), &text))
            .unwrap();
    }
    assert_eq!(kept(bench.folder.path()), 64);
    assert!(rescued(bench.folder.path()).is_empty());
}

/// Rescued files stay, even if entries are counted from the start again.
#[test]
fn a_rescued_file_is_not_overwritten() {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    for text in ["FIRST", "SECOND", "THIRD"] {
        let editor = open(folder.path());
        let mut late = handle(&folder.path().join("a.md"));
        crate::fault::before_step("read_back", move || {
            late.write_all(text.as_bytes()).unwrap()
        });
        let report = write(&editor, vec![insert("a.md", "Made", 0)]).unwrap();
        assert_eq!(report.rescued, 1);
        fs::remove_file(folder.path().join(".sectile/journal")).unwrap();
    }
    let all = rescued(folder.path());
    assert_eq!(all.len(), 3);
    for (at, text) in ["FIRST", "SECOND", "THIRD"].iter().enumerate() {
        assert!(all[at].1.ends_with(text), "{all:?}");
    }
}

/// The child's task, surroundings and folder, separated by bars.
const CHILD: &str = "SECTILE_TEST_DISPLACED";

fn run_child(job: &str, fault: &str, folder: &Path) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "editor::tests::displaced::child", "--nocapture"])
        .env(CHILD, format!("{job}|{fault}|{}", folder.to_str().unwrap()))
        .output()
        .unwrap();
    let is_killed = output.status.code().is_none();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(is_killed || output.status.success(), "{text}{errors}");
    is_killed
}

/// Not a test itself: the process in which faults are armed. Without a parent it does nothing.
#[test]
fn child() {
    let Ok(job) = std::env::var(CHILD) else {
        return;
    };
    let [job, fault, folder] = job.split('|').collect::<Vec<_>>()[..] else {
        panic!("{job}")
    };
    let folder = Path::new(folder);
    crate::fault::arm(fault);
    match job {
        "edit" => {
            write(&open(folder), vec![insert("a.md", "Made", 0)]).unwrap();
        }
        step => save_before(step, folder),
    }
}

/// A process dies with a replaced file still there, and a program that has it open writes to it. The next process
/// notices that before it cleans up.
#[test]
fn recovery_removes_no_file_unread() {
    for surroundings in ["", NO_EXCHANGE, OTHER_FILE_SYSTEM] {
        for step in [
            "read_back",
            "write_journal",
            "flush_folder",
            "remove_temporary",
        ] {
            let folder = scratch();
            fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
            fs::write(folder.path().join("b.md"), SAMPLE).unwrap();
            let editor = open(folder.path());
            write(&editor, vec![insert("b.md", "First", 0)]).unwrap();
            editor.view(&note("a.md")).unwrap();
            let mut late = handle(&folder.path().join("a.md"));
            // The second line of the journal is the commit.
            let passes = usize::from(step == "write_journal");
            let fault = format!("{surroundings},kill:{step}:{passes}");
            assert!(run_child("edit", &fault, folder.path()), "{fault}");
            late.write_all(b"LATE").unwrap();
            drop(open(folder.path()));
            let texts = rescued(folder.path());
            let is_rescued = texts.iter().any(|(_, text)| text.ends_with("LATE"));
            let is_in_place = fs::read_to_string(folder.path().join("a.md"))
                .unwrap()
                .ends_with("LATE");
            assert!(is_rescued || is_in_place, "{fault}: {texts:?}");
            let hidden = fs::read_dir(folder.path()).unwrap();
            let hidden = hidden.filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_str().unwrap().starts_with(".sectile-")
            });
            assert_eq!(hidden.count(), 0, "{fault}");
        }
    }
}

const OTHERS: &str = "# Theirs\n\nSaved by another program.\n";

/// Another program saves just before each step of a swap that takes several.
#[test]
fn nobody_is_overwritten_where_names_cannot_be_exchanged() {
    for step in ["move_away", "place_after", "flush_folder", "read_back"] {
        let folder = scratch();
        fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
        write(&open(folder.path()), vec![insert("a.md", "First", 0)]).unwrap();
        assert!(!run_child(step, NO_EXCHANGE, folder.path()));
    }
}

/// Edits while another program saves, by a rename and in place, just before `step`.
fn save_before(step: &str, folder: &Path) {
    let step: &'static str = step.to_owned().leak();
    for by_rename in [true, false] {
        let path = folder.join("a.md");
        let beside = folder.join("beside");
        let editor = open(folder);
        let before = fs::read_to_string(&path).unwrap();
        let theirs = format!("{OTHERS}\n{before}");
        crate::fault::before_step(step, move || {
            if by_rename {
                fs::write(&beside, &theirs).unwrap();
                fs::rename(&beside, &path).unwrap();
            } else {
                fs::write(&path, &theirs).unwrap();
            }
        });
        let report = write(&editor, vec![insert("a.md", "Ours", 0)]).unwrap();
        let now = fs::read_to_string(folder.join("a.md")).unwrap();
        let everywhere = rescued(folder);
        let is_kept = now.contains("Saved by another program.")
            || everywhere
                .iter()
                .any(|(_, text)| text.contains("Saved by another program."));
        assert!(is_kept, "{step} {by_rename}: {now} {everywhere:?}");
        assert!(
            report.changed_since || now.contains("# Ours"),
            "{step}: {now}"
        );
        assert!(now.contains("Gamma body."), "{step}: {now}");
    }
}
