//! `sectile docs eval`: ranks, saved runs, and what moved a question.

use serde_json::Value;

use super::{Desk, Ran};

const SETTINGS: &str =
    "[docs]\ninclude_default_docs = false\nextra_paths = [\"manual\"]\nranking = \"words\"\n";
const QUESTIONS: &str = "\
[[question]]
ask = \"How do I lock a gate?\"
expect = [\"gates#lock-a-gate\"]

[[question]]
ask = \"sluice pressure\"
expect = [\"manual/water.md#pressure\", \"water.md#pressure\"]
";
const GATES: &str = "# Gates\n\nAbout gates.\n\n## Lock a gate\n\nTurn the wheel to lock it.\n";
const WATER: &str = "# Water\n\nAbout water.\n\n## Pressure\n\nThe pressure at the sluice.\n";

fn desk() -> Desk {
    Desk::new(&[
        ("sectile.toml", SETTINGS),
        ("questions.toml", QUESTIONS),
        ("manual/gates.md", GATES),
        ("manual/water.md", WATER),
    ])
}

fn eval(desk: &Desk, arguments: &[&str]) -> Ran {
    let fixed = ["docs", "eval", "questions.toml", "--config", "sectile.toml"];
    desk.run(&[&fixed[..], arguments].concat())
}

/// Labels that are right for the folder: its pages have the paths below it.
fn corrected(desk: &Desk) {
    let questions = QUESTIONS.replace("\"manual/water.md#pressure\", ", "");
    desk.write("questions.toml", questions.as_bytes());
}

#[test]
fn a_wrong_label_is_reported_and_the_run_is_not_saved() {
    let desk = desk();
    let ran = eval(&desk, &["--save", "run.json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("no section `manual/water.md#pressure`"),
        "{ran:?}"
    );
    assert!(!desk.path("run.json").exists());
}

#[test]
fn all_ranks_are_shown_on_request() {
    let desk = desk();
    corrected(&desk);
    let ran = eval(&desk, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains("sluice"), "{ran:?}");
    let ran = eval(&desk, &["--all"]);
    assert!(ran.stdout.contains("   1 sluice pressure\n"), "{ran:?}");
}

#[test]
fn the_difference_to_a_saved_run_names_what_moved_and_why() {
    let desk = desk();
    corrected(&desk);
    assert_eq!(eval(&desk, &["--save", "run.json"]).code, Some(0));
    let ran = eval(&desk, &["--against", "run.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with("no question moved\n"), "{ran:?}");
    assert!(!ran.stdout.contains("changed"), "{ran:?}");

    // Another section has the words more often, so that each says less than before.
    desk.write(
        "manual/sluice.md",
        b"# Sluice pressure\n\nSluice pressure: the sluice pressure of every sluice.\n",
    );
    let ran = eval(&desk, &["--against", "run.json", "--explain"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for expected in [
        "corpus changed\n",
        "hit@1 100.0 % -> 50.0 %",
        "   1 -> 2 sluice pressure: word `",
        "expected: sectile://docs/water#pressure  word `",
        "above it: sectile://docs/sluice  word `",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {ran:?}");
    }
    let ran = eval(&desk, &["--against", "run.json", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let against = &report["against"];
    assert_eq!(against["corpus_changed"], true);
    assert_eq!(against["ranking_changed"], Value::Null);
    let moved = against["moved"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{against}");
    assert_eq!(moved[0]["then"], 1);
    assert_eq!(moved[0]["now"], 2);
}

#[test]
fn another_ranking_is_named() {
    let desk = desk();
    corrected(&desk);
    assert_eq!(eval(&desk, &["--save", "run.json"]).code, Some(0));
    let settings = SETTINGS.replace("words", "static");
    desk.write("sectile.toml", settings.as_bytes());
    // The same file may be compared with and then replaced.
    let ran = eval(&desk, &["--against", "run.json", "--save", "run.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("ranking changed sectile-docs-"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("corpus changed"), "{ran:?}");
    let ran = eval(&desk, &["--against", "run.json"]);
    assert!(!ran.stdout.contains("changed"), "{ran:?}");
}

#[test]
fn questions_of_only_one_run_are_counted() {
    let desk = desk();
    corrected(&desk);
    assert_eq!(eval(&desk, &["--save", "run.json"]).code, Some(0));
    let questions = "[[question]]\nask = \"sluice pressure\"\nexpect = [\"water#pressure\"]\n\
                     [[question]]\nask = \"wheel\"\nexpect = [\"gates#lock-a-gate\"]\n";
    desk.write("questions.toml", questions.as_bytes());
    let ran = eval(&desk, &["--against", "run.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for expected in [
        "1 question of both runs",
        "1 question is not in the saved run\n",
        "1 question is only in the saved run\n",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {ran:?}");
    }
}

#[test]
fn a_saved_run_that_cannot_be_used_is_refused() {
    let desk = desk();
    corrected(&desk);
    for (text, expected) in [
        (None, "--against does not exist."),
        (
            Some("{"),
            "--against is not a saved run (line 1, column 1).",
        ),
        (
            Some("{\"version\": 9}"),
            "--against is a saved run of version 9",
        ),
    ] {
        if let Some(text) = text {
            desk.write("run.json", text.as_bytes());
        }
        let ran = eval(&desk, &["--against", "run.json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        assert_eq!(ran.stdout, "");
    }
}
