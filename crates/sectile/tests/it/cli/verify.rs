//! Quotations of a draft are verified against the bytes on disk, or said to be changed, moved or nowhere.

use std::{io::Write as _, process::Stdio};

use serde_json::Value;

use super::{Home, Ran, text};

const PLAN: &str = "# Plan\n\nFirst things first.\n\n## Budget\n\nThe pilot costs **350** a day,\nfood included.\n\n## Crew\n\n\
                    Two people sail it, and a third one cooks.\n";
const FEED: &str = "# Winter feed\r\n\r\nHay is \u{201c}dear\u{201d} this year.\r\n";

/// Notes in the working folder.
fn desk() -> Home {
    let home = Home::new();
    std::fs::create_dir(home.path("work/.obsidian")).unwrap();
    home.write("projects/plan.md", PLAN);
    home.write("Winter feed.md", FEED);
    home
}

fn piped(home: &Home, arguments: &[&str], input: &str) -> Ran {
    let mut child = home
        .command()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn json(home: &Home, draft: &str) -> Value {
    let ran = piped(home, &["verify", "-", "--json"], draft);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn statuses(answer: &Value) -> Vec<&str> {
    let passages = answer["passages"].as_array().unwrap().iter();
    passages
        .map(|passage| passage["status"].as_str().unwrap())
        .collect()
}

#[test]
fn a_draft_is_checked_passage_by_passage() {
    let home = desk();
    let draft = "# Answer\n\nThe plan says \"The pilot costs 350 a day, food included.\" ([[plan#Budget]])\n\n\
                 > Hay is \"dear\" this year.\n> \u{2014} projects/plan.md\n\n\
                 It also says \"The pilot costs 360 a day\" and \"nothing of the sort was written\".\n";
    home.write("drafts/answer.md", draft);
    let ran = home.run(&["verify", "drafts/answer.md"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("verified line 3: The pilot costs 350 a day"),
        "{ran:?}"
    );
    assert!(lines[1].contains("projects/plan.md#budget-"), "{ran:?}");
    assert!(
        lines[1].ends_with("line 7 (white space differs, markup differs)"),
        "{ran:?}"
    );
    assert!(lines[2].starts_with("moved    line 5: Hay is"), "{ran:?}");
    assert!(
        ran.stdout
            .contains("cited: projects/plan.md (the text is not there)\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("now: Winter feed.md#winter-feed-"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("The pilot costs [-360-] {+350+} a day\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("nowhere  line 8: nothing of the sort"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .ends_with("4 passages: 1 verified, 1 moved, 1 changed, 1 nowhere\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("3 of 4 passages are not verified"),
        "{ran:?}"
    );
    // The same draft and the same notes, the same bytes.
    assert_eq!(home.run(&["verify", "drafts/answer.md"]).stdout, ran.stdout);
}

#[test]
fn what_is_verified_is_on_disk_with_that_digest() {
    let home = desk();
    let answer = json(
        &home,
        "\"The pilot costs 350 a day\" and \u{201e}Hay is 'dear' this\u{201c}",
    );
    assert_eq!(statuses(&answer), ["verified", "changed"], "{answer}");
    let part = &answer["passages"][0]["places"][0]["parts"][0];
    let range = |key: &str| usize::try_from(part[key].as_u64().unwrap()).unwrap();
    let bytes = &PLAN.as_bytes()[range("start")..range("end")];
    assert_eq!(part["text"], "The pilot costs **350** a day");
    assert_eq!(bytes, part["text"].as_str().unwrap().as_bytes());
    let digest = sectile_markdown::Digest::of(bytes).to_string();
    assert_eq!(part["sha256"], digest.as_str());
    assert_eq!(answer["counts"]["verified"], 1);
    let ran = piped(
        &home,
        &["verify", "-"],
        "The pilot costs 350 a day,\nfood included.",
    );
    assert_eq!(ran.code, Some(0), "a bare quote can be pasted: {ran:?}");
    assert!(ran.stdout.ends_with("1 passage: 1 verified\n"), "{ran:?}");
}

#[test]
fn edits_by_anyone_count_at_once() {
    let home = desk();
    let draft = "\"Two people sail it, and a third one cooks\"";
    assert_eq!(statuses(&json(&home, draft)), ["verified"]);
    let ran = home.run(&["edit", "plan#Crew", "--old", "Two", "--new", "Three"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer = json(&home, draft);
    let passage = &answer["passages"][0];
    assert_eq!(passage["status"], "changed", "{answer}");
    assert_eq!(passage["removed"]["change"], "1", "{answer}");
    assert_eq!(passage["removed"]["tool"], "edit", "{answer}");
    assert_eq!(passage["removed"]["id"], "projects/plan.md", "{answer}");
    assert_eq!(passage["nearest"]["diff"][0]["quoted"], "Two", "{answer}");
    assert_eq!(passage["nearest"]["diff"][1]["now"], "Three", "{answer}");
    // Another program writes as many bytes as there were.
    home.write("Winter feed.md", &FEED.replace("dear", "free"));
    assert_eq!(
        statuses(&json(&home, "> Hay is \"dear\" this year.")),
        ["changed"]
    );
    assert_eq!(
        statuses(&json(&home, "> Hay is \"free\" this year.")),
        ["verified"]
    );
}

#[test]
fn citations_of_all_kinds_lead_to_their_notes() {
    let home = desk();
    let found = json(&home, "\"The pilot costs 350 a day\"");
    let id = found["passages"][0]["places"][0]["id"].as_str().unwrap();
    let section = id.split_once('#').unwrap().1;
    home.write(
        "drafts/answer.md",
        "\"The pilot costs 350 a day\" ([plan](../projects/plan.md#budget))\n",
    );
    let ran = home.run(&["verify", "drafts/answer.md"]);
    assert_eq!(
        ran.code,
        Some(0),
        "a link counts from the folder of the draft: {ran:?}"
    );
    let obsidian = "obsidian://open?vault=work&file=projects%2Fplan.md%23Budget";
    for cited in [
        id,
        &format!("[here]({obsidian})"),
        "[[plan#Budget]]",
        "`projects/plan.md`",
    ] {
        let answer = json(&home, &format!("\"The pilot costs 350 a day\" ({cited})"));
        assert_eq!(statuses(&answer), ["verified"], "{cited}: {answer}");
        assert!(
            answer["passages"][0]["cited"][0]["id"].is_string(),
            "{cited}: {answer}"
        );
    }
    assert_eq!(
        home.run(&["rename", "projects/plan.md", "old/harbour.md"])
            .code,
        Some(0)
    );
    assert_eq!(home.run(&["rename", section, "Costs"]).code, Some(0));
    let answer = json(&home, &format!("\"The pilot costs 350 a day\" ({id})"));
    assert_eq!(
        statuses(&answer),
        ["verified"],
        "the id of a section lasts: {answer}"
    );
    let answer = json(&home, "\"The pilot costs 350 a day\" (projects/plan.md)");
    assert_eq!(statuses(&answer), ["moved"], "{answer}");
}

#[test]
fn a_draft_on_the_desk_does_not_prove_itself() {
    let home = desk();
    home.write("drafts/own.md", "> Words that only this draft has.\n");
    let ran = home.run(&["verify", "drafts/own.md"]);
    assert!(ran.stdout.ends_with("1 passage: 1 nowhere\n"), "{ran:?}");
}

#[test]
fn hidden_notes_do_not_exist_for_a_check() {
    let home = desk();
    let root = home.path("work");
    let secret = home.write(
        "private/safe.md",
        "# Safe\n\nIt opens with nine turns left.\n",
    );
    let hidden = format!(
        "[desk.roots.notes]\npath = \"{}\"\nhide = [\"private/\"]\n",
        text(&root)
    );
    std::fs::write(home.path("hidden.toml"), hidden).unwrap();
    let config = home.path("hidden.toml");
    let draft =
        "\"It opens with nine turns left\" (private/safe.md) and \"It opens with ten turns left\"";
    let check = |draft: &str| {
        piped(
            &home,
            &["verify", "-", "--json", "--config", text(&config)],
            draft,
        )
    };
    assert_eq!(
        home.run(&[
            "edit",
            "private/safe.md#Safe",
            "--old",
            "nine",
            "--new",
            "ten"
        ])
        .code,
        Some(0)
    );
    assert_eq!(statuses(&json(&home, draft)), ["changed", "verified"]);
    let seen = check(draft);
    std::fs::remove_file(secret).unwrap();
    std::fs::remove_dir_all(root.join(".sectile")).unwrap();
    assert_eq!(
        check(draft).stdout,
        seen.stdout,
        "as if there had never been such a note"
    );
    assert!(seen.stdout.contains("\"nowhere\":2"), "{seen:?}");
}

#[test]
fn mistakes_are_told_apart() {
    let home = desk();
    let ran = home.run(&["verify", "missing.md"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("missing.md cannot be read"), "{ran:?}");
    assert_eq!(home.run(&["verify"]).code, Some(2));
    let ran = piped(&home, &["verify", "-"], "```\ncode\n```\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("no passage to check"), "{ran:?}");
    home.write("long.md", &"long ".repeat(300_000));
    let ran = home.run(&["verify", "long.md"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("more than 1024 KiB"), "{ran:?}");
    std::fs::write(home.path("work/latin.txt"), b"caf\xe9").unwrap();
    assert_eq!(home.run(&["verify", "latin.txt"]).code, Some(2));
}

#[test]
fn nothing_in_a_note_or_draft_reaches_a_terminal_as_a_command() {
    let home = desk();
    let ran = piped(
        &home,
        &["verify", "-"],
        "> The pilot\u{1b}[2J costs 350 a day, food \u{7} included.\n",
    );
    assert!(!ran.stdout.contains(['\u{1b}', '\u{7}']), "{ran:?}");
}
