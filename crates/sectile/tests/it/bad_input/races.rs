//! Files that change while calls run.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::Value;

use super::{Client, INVALID_PATH, assert_failure};
use crate::fixture::{TestVault, note_not_found, tool_text};

/// More turns than any test here needs; a test stops the other thread when it has seen enough.
const MAX_TURNS: usize = 1_000_000;
const MAX_CALLS: usize = 20_000;

/// Runs `change` again and again on another thread until `calls` is done.
fn while_changing(change: impl Fn(usize) + Sync, calls: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            for turn in 0..MAX_TURNS {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                change(turn);
            }
        });
        // Stops the other thread also when a call fails the test.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(calls));
        done.store(true, Ordering::Relaxed);
        changing.join().unwrap();
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}

/// What a call on a note that is swapped for a link may answer.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Note,
    Refusal,
    Nothing,
}

fn seen(answer: &Value, path: &str) -> Seen {
    if answer["result"]["isError"] == false {
        let outline: Value = serde_json::from_str(tool_text(answer)).unwrap();
        assert_eq!(outline["headings"][0]["text"], "Inside", "{answer}");
        return Seen::Note;
    }
    if tool_text(answer).contains("not found") {
        assert_failure(answer, &note_not_found(path), "swapped");
        return Seen::Nothing;
    }
    assert_failure(answer, INVALID_PATH, "swapped");
    Seen::Refusal
}

/// Calls until the note and the refusal were both seen often. The fixture fails the test if the secret ever shows.
fn call_until_both_were_seen(client: &mut Client<'_>, path: &str) {
    let (mut notes, mut refusals) = (0, 0);
    for _ in 0..MAX_CALLS {
        match seen(&client.read("get_note_outline", path), path) {
            Seen::Note => notes += 1,
            Seen::Refusal => refusals += 1,
            Seen::Nothing => {}
        }
        if notes >= 50 && refusals >= 50 {
            client.still_answers("swapping");
            return;
        }
    }
    panic!("{notes} notes and {refusals} refusals: the swapping did not meet the calls");
}

/// Puts a link to `target` at `place` in one step.
fn put_link(target: &str, place: &Path) {
    let spare = place.with_extension("spare-link");
    symlink(target, &spare).unwrap();
    fs::rename(&spare, place).unwrap();
}

/// Puts a regular file at `place` in one step.
fn put_file(content: &str, place: &Path) {
    let spare = place.with_extension("spare-file");
    fs::write(&spare, content).unwrap();
    fs::rename(&spare, place).unwrap();
}

#[test]
fn a_note_swapped_for_a_link_never_shows_what_is_outside() {
    let vault = TestVault::sample();
    let note = vault.root().join("swapped.md");
    put_file("# Inside\n", &note);
    let mut client = Client::stdio(&vault, &[]);
    while_changing(
        |turn| match turn % 2 {
            0 => put_link("../outside/secret.md", &note),
            _ => put_file("# Inside\n", &note),
        },
        || call_until_both_were_seen(&mut client, "swapped.md"),
    );
}

#[test]
fn a_folder_swapped_for_a_link_never_shows_what_is_outside() {
    let vault = TestVault::sample();
    vault.note("swapped/secret.md", "# Inside\n");
    let (folder, aside) = (vault.root().join("swapped"), vault.root().join("aside"));
    let mut client = Client::stdio(&vault, &[]);
    while_changing(
        |turn| {
            if turn % 2 == 0 {
                fs::rename(&folder, &aside).unwrap();
                symlink("../outside", &folder).unwrap();
            } else {
                fs::remove_file(&folder).unwrap();
                fs::rename(&aside, &folder).unwrap();
            }
        },
        || call_until_both_were_seen(&mut client, "swapped/secret.md"),
    );
}

#[test]
fn a_note_replaced_in_one_step_is_seen_before_or_after_but_never_between() {
    let vault = TestVault::sample();
    let (few, many) = ("# Few\n".repeat(3), "# Many\n".repeat(400));
    let note = vault.root().join("replaced.md");
    put_file(&few, &note);
    let mut client = Client::stdio(&vault, &[]);
    let mut seen = [0, 0];
    while_changing(
        |turn| put_file([&many, &few][turn % 2], &note),
        || {
            for _ in 0..MAX_CALLS {
                let answer = client.read("get_note_outline", "replaced.md");
                let outline: Value = serde_json::from_str(tool_text(&answer)).unwrap();
                let texts: Vec<&Value> = outline["headings"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|heading| &heading["text"])
                    .collect();
                match (texts.len(), texts.first().and_then(|text| text.as_str())) {
                    (3, Some("Few")) => seen[0] += 1,
                    (400, Some("Many")) => seen[1] += 1,
                    other => panic!("a mixture: {other:?}"),
                }
                if seen.iter().all(|count| *count >= 20) {
                    return;
                }
            }
            panic!("the replacing did not meet the calls: {seen:?}");
        },
    );
    client.still_answers("replacing");
}

/// Written in place, a note may be seen half done; that is still an answer.
#[test]
fn a_note_rewritten_in_place_always_gives_an_answer() {
    let vault = TestVault::sample();
    let note = vault.root().join("rewritten.md");
    let contents = ["# Few\n".repeat(3), "# Many\n".repeat(5_000)];
    fs::write(&note, &contents[0]).unwrap();
    let mut client = Client::stdio(&vault, &[]);
    while_changing(
        |turn| fs::write(&note, &contents[turn % 2]).unwrap(),
        || {
            for _ in 0..50 {
                for tool in crate::vectors::TOOLS {
                    let answer = client.read(tool, "rewritten.md");
                    assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
                }
            }
        },
    );
    client.still_answers("rewriting");
}
