//! `sectile self-check`: it needs nothing of its user, and says what does not work.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

use super::{Home, text};

/// The lines about everything that is checked, where it works.
const CHECKS: [&str; 6] = [
    "ok      model: the model sectile-static-2 is intact",
    "ok      model: the model sectile-transformer-1 is intact",
    "ok      folder: ",
    "ok      desk: ",
    "ok      server: ",
    "ok      cache: ",
];

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_program_works_here_and_nothing_is_left_behind() {
    let home = Home::new();
    let ran = home.run(&["self-check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let version = concat!("program: sectile ", env!("CARGO_PKG_VERSION"), " for ");
    for line in CHECKS.iter().chain([&version]) {
        assert!(ran.stdout.contains(line), "{line} is not in {ran:?}");
    }
    for folder in ["home", "work", "tmp"] {
        let left = fs::read_dir(home.path(folder)).unwrap().count();
        assert_eq!(left, 0, "{folder}");
    }
}

#[test]
fn it_is_reported_as_json_too() {
    let home = Home::new();
    for (variables, code, works) in [
        (&[][..], 0, true),
        (&[("TMPDIR", "missing"), ("TMP", "missing")], 1, false),
    ] {
        let ran = home.run_with(&["self-check", "--json"], variables);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(answer["works"], works, "{answer}");
        assert_eq!(answer["version"], env!("CARGO_PKG_VERSION"));
        let checks = answer["checks"].as_array().unwrap();
        assert_eq!(checks.len(), CHECKS.len() + 1, "{answer}");
        let is_problem = |check: &Value| check["state"] == "problem";
        assert_eq!(checks.iter().any(is_problem), !works, "{answer}");
    }
}

#[cfg(unix)]
#[test]
fn neither_a_home_nor_a_path_nor_settings_are_needed() {
    let home = Home::new();
    home.write("file", "");
    let file = home.path("work/file");
    for (name, cache) in [
        (
            text(&file),
            "warning cache: the cache folder cannot be written",
        ),
        // Nobody can write here, not even root.
        ("/proc", "warning cache: the cache folder cannot be written"),
        ("/nonexistent", "cache: "),
    ] {
        let mut command = home.command();
        command
            .args(["self-check"])
            .env("HOME", name)
            .env("PATH", "")
            .env("SECTILE_CONFIG", "missing.toml")
            .env("SECTILE_DESK__ROOT", "missing")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CACHE_HOME");
        if name == "/proc" && !cfg!(target_os = "linux") {
            continue;
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        let said = said(&output);
        for line in &CHECKS[..5] {
            assert!(said.contains(line), "{name}: {line} is not in {said}");
        }
        assert!(said.contains(cache), "{name}: {said}");
    }
}

#[test]
fn a_temporary_folder_that_cannot_be_written_is_a_problem() {
    let home = Home::new();
    let file = home.write("file", "");
    for folder in ["missing", text(&file)] {
        let ran = home.run_with(&["self-check"], &[("TMPDIR", folder), ("TMP", folder)]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.stderr, "error: 1 problem was found.\n");
        let line = "problem folder: the temporary folder cannot be written (";
        assert!(ran.stdout.contains(line), "{ran:?}");
        assert!(ran.stdout.contains("set TMPDIR"), "{ran:?}");
        assert!(
            ran.stdout.contains("note    server: not checked"),
            "{ran:?}"
        );
    }
}

/// Runs lines of a shell in namespaces of its own; `None`, which is said, where the system does not allow that.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a test that cannot check says so")]
fn apart(home: &Home, namespace: &str, lines: &str) -> Option<Output> {
    let unshare = |lines: &str| {
        let mut command = Command::new("unshare");
        let program = crate::fixture::sectile();
        command
            .args(["--map-root-user", namespace, "sh", "-c", lines])
            .env("PROGRAM", program.get_program())
            .env("HOME", home.path("home"))
            .env("XDG_CACHE_HOME", home.path("home/cache"))
            .env("TMPDIR", home.path("tmp"))
            .current_dir(home.path("work"))
            .output()
    };
    match unshare("true") {
        Ok(output) if output.status.success() => Some(unshare(lines).unwrap()),
        _ => {
            eprintln!("not checked: `unshare {namespace}` is not allowed here");
            None
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_network_is_needed() {
    let home = Home::new();
    if let Some(output) = apart(&home, "--net", "\"$PROGRAM\" self-check") {
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = said(&output);
        for line in CHECKS {
            assert!(said.contains(line), "{line} is not in {said}");
        }
    }
}

/// A full disk, before and after the sample has been written.
#[cfg(target_os = "linux")]
#[test]
fn a_full_temporary_folder_is_a_problem() {
    let home = Home::new();
    for (size, line) in [
        (
            "4k",
            "problem folder: the temporary folder cannot be written (",
        ),
        ("16k", "problem desk: disk_full: The disk is full."),
    ] {
        let lines =
            format!("mount -t tmpfs -o size={size} tmpfs \"$TMPDIR\" && \"$PROGRAM\" self-check");
        let Some(output) = apart(&home, "--mount", &lines) else {
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = said(&output);
        assert!(said.contains(line), "{size}: {line} is not in {said}");
        assert!(!said.contains('\u{fffd}'), "{said}");
    }
}
