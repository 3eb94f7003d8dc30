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
                "vault: no folder is given",
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
                "settings: the file is valid",
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
        ("notes", 0, "editor: the journal is intact, with 1 entry"),
        (
            "notes/plan.md",
            0,
            "editor: the journal is intact, with 1 entry",
        ),
        ("other", 0, "editor: nothing has been edited here yet"),
        (
            "other/plan.md",
            0,
            "editor: nothing has been edited here yet",
        ),
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

/// The program as somebody who may not read `locked`.
#[cfg(unix)]
#[test]
fn doctor_tells_the_truth_about_unreadable_folders() {
    use std::os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    };
    const NOBODY: u32 = 65534;
    let home = Home::new();
    home.write("locked/a.md", "# A\n");
    home.write("notes/open.md", "# A\n");
    home.write("notes/closed/a.md", "# A\n");
    home.write("notes/closed.md", "# A\n");
    home.write("notes/image.png", "x");
    let is_root = fs::metadata(home.path("work")).unwrap().uid() == 0;
    // The owner of a file is refused nothing if that is root, who becomes somebody else.
    let closed = if is_root { 0o700 } else { 0o000 };
    let set = |path: &str, mode| {
        fs::set_permissions(home.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("", 0o755);
    for path in [
        "work/locked",
        "work/notes/closed",
        "work/notes/closed.md",
        "work/notes/image.png",
    ] {
        set(path, closed);
    }
    let run = |arguments: &[&str]| {
        let mut command = home.command();
        command.env("XDG_STATE_HOME", home.path("home/state"));
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.args(arguments).output().unwrap();
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    let whole = run(&["doctor", "--root", "locked"]);
    let parts = run(&["doctor", "--root", "notes"]);
    let served = run(&["serve", "vault", "locked"]);
    home.write("sectile.toml", "[vault]\nroot = 'locked'\n");
    let checked = run(&["config", "check"]);
    for path in ["work/locked", "work/notes/closed"] {
        set(path, 0o700);
    }
    assert!(
        whole.contains("problem vault: the folder cannot be opened (permission denied)"),
        "{whole}"
    );
    for said in [
        "problem vault: `closed` cannot be read (permission denied)",
        "problem vault: `closed.md` cannot be read (permission denied)",
        "2 problems were found",
    ] {
        assert!(parts.contains(said), "{parts}");
    }
    assert!(!parts.contains("can be read\n"), "{parts}");
    assert!(served.contains("the folder cannot be opened"), "{served}");
    assert!(
        checked.contains("`vault.root` (`locked`) cannot be used"),
        "{checked}"
    );
}
