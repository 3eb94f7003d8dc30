//! `sectile doctor`: what is right, what is not, and the exit code that says so.

use std::fs;

use super::{Home, text};
use crate::fixture::TestVault;

#[test]
fn good_settings_have_no_problem() {
    let home = Home::new();
    let vault = TestVault::sample();
    let root = vault.root();
    home.write(
        "sectile.toml",
        &format!("[vault]\nroot = '{}'\n", text(&root)),
    );
    for (arguments, lines) in [
        (
            &["doctor"][..],
            [
                "settings: defaults, no file is named",
                "vault: no folder is named",
            ],
        ),
        (
            &["doctor", "--root", text(&root)],
            [
                "settings: defaults, no file is named",
                "vault: the folder can be read",
            ],
        ),
        (
            &["doctor", "--config", "sectile.toml"],
            [
                "settings: the file is right",
                "vault: the folder can be read",
            ],
        ),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
        assert!(!ran.stdout.contains("problem"), "{arguments:?}: {ran:?}");
        for line in lines {
            assert!(ran.stdout.contains(line), "{arguments:?}: {ran:?}");
        }
    }
}

#[test]
fn every_problem_is_named_and_counted() {
    let home = Home::new();
    home.write("sectile.toml", "[log]\nlevel = 'loud'\n");
    for (arguments, problems, count) in [
        (
            &["doctor", "--config", "sectile.toml"][..],
            &["settings: sectile.toml, line 2, column 9: `log.level` must be one of"][..],
            "1 problem was found",
        ),
        (
            &["doctor", "--root", "missing"],
            &["vault: the folder does not exist"],
            "1 problem was found",
        ),
        (
            &[
                "doctor",
                "--config",
                "sectile.toml",
                "--root",
                "sectile.toml",
            ],
            &["settings: sectile.toml", "vault: it is not a folder"],
            "2 problems were found",
        ),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(count), "{arguments:?}: {ran:?}");
        for problem in problems {
            let line = format!("problem {problem}");
            assert!(ran.stdout.contains(&line), "{arguments:?}: {ran:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn clients_are_connected_not_connected_or_broken() {
    let home = Home::new();
    for (client, name, file) in [
        ("claude-code", "Claude Code", "work/.mcp.json"),
        ("zed", "Zed", "home/config/zed/settings.json"),
        ("codex", "Codex", "home/.codex/config.toml"),
    ] {
        let ran = home.run(&["doctor"]);
        assert!(
            ran.stdout.contains(&format!("{name}: not connected")),
            "{ran:?}"
        );
        home.run(&["connect", client, "--write"]);
        let ran = home.run(&["doctor"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(&format!("{name}: connected")),
            "{ran:?}"
        );
        fs::write(home.path(file), "{oops").unwrap();
        let ran = home.run(&["doctor"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stdout
                .contains(&format!("problem {name}: the file is not valid")),
            "{ran:?}"
        );
        fs::remove_file(home.path(file)).unwrap();
    }
}

#[test]
fn the_journal_of_what_is_edited_is_found_or_missed() {
    let home = Home::new();
    home.write("notes/plan.md", "# Plan\n\ntext\n");
    home.write("other/plan.md", "# Plan\n");
    let edit = ["edit", "update", "notes/plan.md", "Plan", "--content", "x"];
    assert_eq!(home.run(&edit).code, Some(0));
    for (root, code, line) in [
        ("notes", 0, "editor: the journal is right, with 1 entries"),
        (
            "notes/plan.md",
            0,
            "editor: the journal is right, with 1 entries",
        ),
        ("other", 0, "editor: nothing was edited here yet"),
        ("other/plan.md", 0, "editor: nothing was edited here yet"),
        ("missing", 1, "problem editor: "),
        ("notes/missing.md", 1, "problem editor: "),
    ] {
        home.write("sectile.toml", &format!("[editor]\nroot = '{root}'\n"));
        let ran = home.run(&["doctor", "--config", "sectile.toml"]);
        assert_eq!(ran.code, Some(code), "{root}: {ran:?}");
        assert!(ran.stdout.contains(line), "{root}: {ran:?}");
    }
}

#[test]
fn documents_that_cannot_be_served_are_named() {
    let home = Home::new();
    home.write("guides/a.md", "# A\n\ntext\n");
    for (path, code, line) in [
        ("guides", 0, "ok      docs: all documents can be served"),
        ("missing", 1, "problem docs: `missing` does not exist"),
    ] {
        home.write(
            "sectile.toml",
            &format!("[docs]\nextra_paths = ['{path}']\n"),
        );
        let ran = home.run(&["doctor", "--config", "sectile.toml"]);
        assert_eq!(ran.code, Some(code), "{path}: {ran:?}");
        assert!(ran.stdout.contains(line), "{path}: {ran:?}");
    }
}
