//! The system refuses a step of a commit: full disk, no permission, read-only, broken. Nothing is lost, and the answer
//! says what state the documents are in.

use std::collections::BTreeMap;

use super::*;
use crate::fault::{NO_EXCHANGE, OTHER_FILE_SYSTEM, arm, steps_taken};

/// Stands for all errors, in place of a single fault.
pub(super) const ALL: &str = "all errors";

const DISK_FULL: i32 = 28;
const NOT_PERMITTED: i32 = 13;
const READ_ONLY: i32 = 30;
const BROKEN: i32 = 5;
/// Number of locks that are tried, which no scenario takes but those that move a folder.
const MOST_LOCKS: usize = 16;

#[test]
fn an_error_at_any_step_leaves_the_old_or_says_that_the_new_is_there() {
    let total = in_each(&SCENARIOS, |scenario| count(scenario, ""));
    assert!(total > 1_000, "{total}");
    println!("{total} errors");
}

/// The same if two names cannot be exchanged, and if documents are on another file system than the journal.
#[test]
fn an_error_in_other_surroundings_leaves_the_old_or_says_that_the_new_is_there() {
    let scenarios = [Scenario::Edit, Scenario::Batch, Scenario::RenameDocument];
    for surroundings in [NO_EXCHANGE, OTHER_FILE_SYSTEM] {
        let total = in_each(&scenarios, |scenario| count(scenario, surroundings));
        assert!(total > 300, "{surroundings}: {total}");
        println!("{surroundings}: {total} errors");
    }
}

/// Number of errors that a scenario meets in a process of its own.
fn count(scenario: Scenario, surroundings: &str) -> usize {
    let job = format!("{ALL}{surroundings}");
    let Outcome::Said(faults) = run_child(scenario, &job, Path::new("")) else {
        panic!("{scenario:?} was killed")
    };
    faults.parse().unwrap()
}

/// Runs a scenario with every error at every step, in this process, and returns their number. `surroundings` are
/// lasting faults.
pub(super) fn meet_all(scenario: Scenario, surroundings: &str) -> usize {
    let stage = Stage::new(scenario);
    let mut steps: BTreeMap<&str, usize> = BTreeMap::new();
    let trial = stage.set();
    arm(surroundings);
    scenario.act(&scenario.open(trial.path())).unwrap();
    for step in steps_taken() {
        *steps.entry(step).or_default() += 1;
    }
    let mut faults = 0;
    for (step, times) in steps {
        // Moving a folder takes all locks, and each of them fails in the same way.
        let times = if step == "open_lock" {
            times.min(MOST_LOCKS)
        } else {
            times
        };
        for at in 0..times {
            let often = if at == 0 {
                [DISK_FULL, NOT_PERMITTED, READ_ONLY, BROKEN].as_slice()
            } else {
                &[DISK_FULL]
            };
            for number in often {
                let fault = format!("errno:{number}:{step}:{at},{surroundings}");
                meet(&stage, *number, &fault);
            }
            // A single failure, after which the rollback works.
            let fault = format!("once:{BROKEN}:{step}:{at},{surroundings}");
            meet(&stage, BROKEN, &fault);
            faults += often.len() + 1;
        }
    }
    faults
}

fn meet(stage: &Stage, number: i32, fault: &str) {
    let (scenario, folder) = (stage.scenario, stage.set());
    let what = format!("{scenario:?} {fault}");
    let ids_before = (scenario != Scenario::First).then(|| ids_by_heading(folder.path()));
    arm(fault);
    let editor = scenario.open(folder.path());
    let result = scenario.act(&editor);
    let now = documents(folder.path());
    match &result {
        Ok(()) => assert_eq!(now, stage.after, "{what}"),
        Err(EditorError::Interrupted) => assert!(is_mixture(stage, &now), "{what}: {now:?}"),
        Err(error) => {
            assert!(is_typed(error, number), "{what}: {error:?}");
            assert_eq!(now, stage.before, "{what}: {error:?}");
        }
    }
    let interrupted = result == Err(EditorError::Interrupted);
    let look = |path: &str| match editor.view(&note(path)) {
        _ if !path.ends_with(".md") => fs::read(folder.path().join(path)).ok(),
        Ok(view) => Some(view.bytes().to_vec()),
        // A view continues the interrupted change, so the document may be elsewhere or gone now.
        Err(EditorError::DocumentNotFound) if interrupted => None,
        Err(error) => panic!("{what}: {path}: {error:?}"),
    };
    for (path, bytes) in &now {
        let seen = look(path);
        assert!(interrupted || seen.as_ref() == Some(bytes), "{what}");
    }
    assert!(is_mixture(stage, &documents(folder.path())), "{what}");
    arm("");
    for path in now.keys() {
        look(path);
    }
    let settled = documents(folder.path());
    let is_new = settled == stage.after;
    match &result {
        Ok(()) => assert!(is_new, "{what}"),
        Err(EditorError::Interrupted) => {
            assert!(is_new || settled == stage.before, "{what}: {settled:?}");
        }
        Err(_) => assert_eq!(settled, stage.before, "{what}"),
    }
    if let Some(ids_before) = ids_before {
        let ids = ids_by_heading(folder.path());
        for (heading, id) in &ids_before {
            let same = ids.get(heading).is_none_or(|now| now == id);
            assert!(same, "{what}: {heading} {id} {ids:?}");
        }
    }
    go_on(stage, &editor, folder.path(), is_new, &what);
    check_whole(folder.path(), &what);
}

/// Returns whether every document is as before or as afterwards.
fn is_mixture(stage: &Stage, now: &Documents) -> bool {
    if matches!(
        stage.scenario,
        Scenario::RenameFolder | Scenario::UndoFolder
    ) {
        return is_mixture_in_folder(stage, now);
    }
    let paths = stage
        .before
        .keys()
        .chain(stage.after.keys())
        .chain(now.keys());
    paths.clone().all(|path| {
        let here = now.get(path);
        here == stage.before.get(path) || here == stage.after.get(path)
    })
}

/// Returns whether a folder is as a whole where it was or where it will be, and the text of every document is as before
/// or as afterwards: links are repaired where the documents are.
fn is_mixture_in_folder(stage: &Stage, now: &Documents) -> bool {
    let both = [&stage.before, &stage.after];
    let is_text = |path: &String, bytes: &Vec<u8>| {
        let name = path.rsplit('/').next();
        let mut texts = both.iter().flat_map(|documents| documents.iter());
        texts.any(|(path, text)| path.rsplit('/').next() == name && text == bytes)
    };
    both.iter().any(|documents| documents.keys().eq(now.keys()))
        && now.iter().all(|(path, bytes)| is_text(path, bytes))
}

fn is_typed(error: &EditorError, number: i32) -> bool {
    match number {
        DISK_FULL => *error == EditorError::DiskFull,
        NOT_PERMITTED => *error == EditorError::NotPermitted,
        READ_ONLY => *error == EditorError::ReadOnlyFileSystem,
        _ => matches!(error, EditorError::Io(_)),
    }
}

/// The same process goes on: what was not done is done, and what was done is undone.
fn go_on(stage: &Stage, editor: &Editor, folder: &Path, is_new: bool, what: &str) {
    let scenario = stage.scenario;
    if stage.before == stage.after {
        write(editor, vec![insert("a.md", "Later", 0)]).unwrap();
        take_back(editor, &undo("a.md", false)).unwrap();
        assert_eq!(documents(folder), stage.before, "{what}");
        return;
    }
    if !is_new {
        let done = scenario.act(editor);
        done.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(documents(folder), stage.after, "{what}");
    }
    if let Some(result) = scenario.act_back(editor) {
        result.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(documents(folder), stage.before, "{what}");
    }
}
