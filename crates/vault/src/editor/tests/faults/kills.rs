//! The process dies before each step of a commit, and in the middle of each write to the journal.

use super::*;
use crate::fault::{NO_EXCHANGE, OTHER_FILE_SYSTEM};

/// More steps than any scenario has.
const MOST_STEPS: usize = 400;

#[test]
fn a_commit_that_is_cut_off_anywhere_leaves_the_old_or_the_new() {
    let kills = in_each(&SCENARIOS, |scenario| {
        let stage = Stage::new(scenario);
        cut_off_everywhere(&stage, "kill:*") + cut_off_everywhere(&stage, "tear:write_journal")
    });
    assert!(kills > 300, "{kills}");
    println!("{kills} kills");
}

/// The same if two names cannot be exchanged, and if documents are on another file system than the journal.
#[test]
fn a_commit_that_is_cut_off_in_other_surroundings_leaves_the_old_or_the_new() {
    let scenarios = [
        Scenario::Edit,
        Scenario::Batch,
        Scenario::Create,
        Scenario::RenameDocument,
        Scenario::RenameFolder,
        Scenario::DeleteDocument,
    ];
    for surroundings in [NO_EXCHANGE, OTHER_FILE_SYSTEM] {
        let kills = in_each(&scenarios, |scenario| {
            cut_off_everywhere(&Stage::new(scenario), &format!("{surroundings},kill:*"))
        });
        assert!(kills > 100, "{surroundings}: {kills}");
        println!("{surroundings}: {kills} kills");
    }
}

/// Recovery may be interrupted as well, any number of times.
#[test]
fn a_recovery_that_is_cut_off_is_taken_up_again() {
    let scenarios = [
        Scenario::Batch,
        Scenario::RenameDocument,
        Scenario::RenameFolder,
        Scenario::UndoDelete,
    ];
    let kills = in_each(&scenarios, cut_off_recovery);
    assert!(kills > 50, "{kills}");
    println!("{kills} kills");
}

/// Kills at every step of what the next process does after a kill in the middle of a commit.
fn cut_off_recovery(scenario: Scenario) -> usize {
    let stage = Stage::new(scenario);
    let mut kills = 0;
    for first in 0..MOST_STEPS {
        let folder = stage.set();
        let fault = format!("kill:place:{first}");
        if !matches!(run_child(scenario, &fault, folder.path()), Outcome::Killed) {
            break;
        }
        for second in 0..MOST_STEPS {
            let copy = scratch();
            copy_folder(folder.path(), copy.path());
            let what = format!("{scenario:?} {fault}, then kill:*:{second}");
            // The second child finishes what the first began, then does the same again or is refused.
            let outcome = run_child(scenario, &format!("kill:*:{second}"), copy.path());
            drop(open(copy.path()));
            check_whole(copy.path(), &what);
            if !matches!(outcome, Outcome::Killed) {
                break;
            }
            kills += 1;
            let now = documents(copy.path());
            let known = now == stage.before || now == stage.after;
            assert!(known || is_done_twice(&stage, &now), "{what}: {now:?}");
        }
    }
    kills
}

/// Returns whether these are the documents after the scenario was done twice.
fn is_done_twice(stage: &Stage, now: &Documents) -> bool {
    let folder = stage.set();
    for _ in 0..2 {
        let editor = stage.scenario.open(folder.path());
        if stage.scenario.act(&editor).is_err() {
            return false;
        }
    }
    documents(folder.path()) == *now
}

/// Kills at every step until the child reaches its end, and returns the number of kills.
fn cut_off_everywhere(stage: &Stage, fault: &str) -> usize {
    let scenario = stage.scenario;
    let ids_before = (scenario != Scenario::First).then(|| ids_by_heading(stage.set().path()));
    let locks = locks_in_a_row(scenario, fault);
    for at in (0..MOST_STEPS).filter(|at| !locks.contains(at)) {
        let folder = stage.set();
        let what = format!("{scenario:?} {fault}:{at}");
        let outcome = run_child(scenario, &format!("{fault}:{at}"), folder.path());
        if let Outcome::Said(result) = outcome {
            assert_eq!(result, "ok", "{what}");
            assert_eq!(documents(folder.path()), stage.after, "{what}");
            check_whole(folder.path(), &what);
            return at;
        }
        drop(scenario.open(folder.path()));
        let now = documents(folder.path());
        let is_new = now == stage.after;
        assert!(is_new || now == stage.before, "{what}: {now:?}");
        check_whole(folder.path(), &what);
        if let Some(ids_before) = &ids_before {
            let ids = ids_by_heading(folder.path());
            for (heading, id) in ids_before {
                assert!(
                    ids.get(heading).is_none_or(|now| now == id),
                    "{what}: {heading} {id} {ids:?}"
                );
            }
        }
        go_on(stage, folder.path(), is_new, &what);
    }
    panic!("{scenario:?} has more steps than expected")
}

/// The steps that take one lock after another, all but the first. Moving a folder takes all of them, and is cut
/// off no differently at each.
fn locks_in_a_row(scenario: Scenario, fault: &str) -> Vec<usize> {
    if !matches!(scenario, Scenario::RenameFolder | Scenario::UndoFolder)
        || !fault.contains("kill:*")
    {
        return Vec::new();
    }
    let Outcome::Said(steps) = run_child(scenario, STEPS, Stage::new(scenario).set().path()) else {
        panic!("nothing was to end it");
    };
    let steps: Vec<&str> = steps.split(' ').collect();
    let pairs = steps.windows(2).enumerate();
    let both = pairs.filter(|(_, pair)| pair.iter().all(|step| *step == "open_lock"));
    both.map(|(at, _)| at + 1).collect()
}

/// After a recovery everything works: what was done is undone and redone, what was not done is done.
fn go_on(stage: &Stage, folder: &Path, is_new: bool, what: &str) {
    let scenario = stage.scenario;
    let editor = scenario.open(folder);
    if stage.before == stage.after {
        // There is nothing to see: a new edit shows that all is well.
        write(&editor, vec![insert("a.md", "Later", 0)]).unwrap();
        take_back(&editor, &undo("a.md", false)).unwrap();
        assert_eq!(documents(folder), stage.before, "{what}");
        return;
    }
    if !is_new {
        scenario.act(&editor).unwrap();
        assert_eq!(documents(folder), stage.after, "{what}");
    }
    if let Some(result) = scenario.act_back(&editor) {
        result.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(documents(folder), stage.before, "{what}");
    }
    check_whole(folder, what);
}
