//! One root, one history: which folder a command or a server works in when nobody names one, and what is said of others.

use std::{fs, io::Write as _, process::Stdio as Pipe};

use serde_json::{Value, json};

use super::{Home, Ran, text};
use crate::fixture::{Era, initialize, tool_text};

const TAX: &str = "# Tax\n\n## Receipts\n\nKeep them.\n";
const DAY: &str = "# Day\n\nSee [[tax#Receipts]] and [md](../Areas/tax.md#receipts).\n";

/// A vault of Obsidian in the working folder, with links from one folder into another.
fn vault() -> Home {
    let home = Home::new();
    fs::create_dir(home.path("work/.obsidian")).unwrap();
    home.write("Areas/tax.md", TAX);
    home.write("Daily/day.md", DAY);
    home
}

/// Runs a command in a folder below the working folder.
fn run_in(home: &Home, folder: &str, arguments: &[&str]) -> Ran {
    talk_in(home, folder, arguments, &[])
}

/// Runs a command in a folder below the working folder, with these lines as its input.
fn talk_in(home: &Home, folder: &str, arguments: &[&str], lines: &[Value]) -> Ran {
    let mut child = home
        .command()
        .current_dir(home.path("work").join(folder))
        .args(arguments)
        .stdin(Pipe::piped())
        .stdout(Pipe::piped())
        .stderr(Pipe::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        // A command that refuses to start does not read.
        let _gone = writeln!(input, "{line}");
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What a tool of a server answers that is started in `folder` with these arguments, and what the server logs.
fn served(
    home: &Home,
    folder: &str,
    arguments: &[&str],
    tool: &str,
    call: Value,
) -> (Value, String) {
    let lines = [
        initialize(1),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        Era::Handshake.call(2, tool, call),
    ];
    let ran = talk_in(home, folder, arguments, &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains(text(&home.path(""))), "{ran:?}");
    let answer: Value = serde_json::from_str(ran.stdout.lines().nth(1).unwrap()).unwrap();
    (
        serde_json::from_str(tool_text(&answer)).unwrap(),
        ran.stderr,
    )
}

fn has_history(home: &Home, folder: &str) -> bool {
    home.path("work").join(folder).join(".sectile").is_dir()
}

/// Changes a note, so that its root has a history.
const UPDATE: [&str; 6] = [
    "edit",
    "update",
    "Areas/tax.md",
    "Receipts",
    "--content",
    "x",
];

#[test]
fn one_root_one_history_for_shell_and_server() {
    let home = vault();
    let rename = ["edit", "rename", "tax.md", "Receipts", "Receipts to keep"];
    let ran = run_in(&home, "Areas", &rename);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .ends_with("root: .. (the nearest folder with .obsidian)\n"),
        "{ran:?}"
    );
    let day = "# Day\n\nSee [[tax#Receipts to keep]] and [md](../Areas/tax.md#receipts-to-keep).\n";
    assert_eq!(home.read("Daily/day.md"), day);
    assert!(has_history(&home, "") && !has_history(&home, "Areas"));
    // A server on the vault, named or found, goes on with the same history.
    let of_tax = json!({ "path": "Areas/tax.md" });
    for (folder, arguments) in [
        ("", &["serve", "editor", "."][..]),
        ("", &["serve", "editor"]),
        ("Daily", &["serve", "editor"]),
    ] {
        let (history, _) = served(&home, folder, arguments, "history", of_tax.clone());
        assert_eq!(
            history["history"][0]["operation"], "rename_section",
            "{arguments:?} in {folder:?}: {history}"
        );
    }
    served(&home, "Daily", &["serve", "editor"], "undo", of_tax);
    assert_eq!(home.read("Daily/day.md"), DAY);
    let ran = run_in(&home, "Daily", &["edit", "redo", "../Areas/tax.md"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.read("Daily/day.md"), day);
    assert!(!has_history(&home, "Daily"));
}

#[test]
fn every_shell_command_takes_the_nearest_root() {
    let home = vault();
    for command in ["sections", "tree", "facets"] {
        let expected = home.run(&[command, "Areas/tax.md", "--root", ".", "--json"]);
        assert_eq!(expected.code, Some(0), "{expected:?}");
        for (folder, path) in [
            ("", "Areas/tax.md"),
            ("Areas", "tax.md"),
            ("Areas", "./tax.md"),
            ("Daily", "../Areas/tax.md"),
        ] {
            let ran = run_in(&home, folder, &[command, path, "--json"]);
            assert_eq!(
                ran.stdout, expected.stdout,
                "{command} {path} in {folder:?}"
            );
        }
        let ran = run_in(&home, "Areas", &[command, "none.md"]);
        assert!(
            ran.stderr
                .starts_with("error: Note not found: Areas/none.md.\nhint: "),
            "{ran:?}"
        );
    }
    // Named, it is taken as it is.
    let ran = run_in(&home, "", &["tree", "tax.md", "--root", "Areas", "--json"]);
    let outline: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outline["path"], "tax.md");

    let ran = run_in(&home, "Areas", &["edit", "list", "tax.md", "--json"]);
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(list["path"], "Areas/tax.md");
    assert!(has_history(&home, "") && !has_history(&home, "Areas"));
    let update = ["edit", "update", "tax.md", "Receipts", "--content", "x"];
    assert_eq!(run_in(&home, "Areas", &update).code, Some(0));
    for (folder, path) in [("", "Areas/tax.md"), ("Areas", "."), ("", ".")] {
        let ran = run_in(&home, folder, &["trust", path, "--json"]);
        let said: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(said["history"], "own", "{folder:?} {path}: {ran:?}");
        let root = if folder.is_empty() { "." } else { ".." };
        assert_eq!(said["root"], root, "{folder:?} {path}");
    }
    let ran = run_in(&home, "Areas", &["trust", "tax.md"]);
    assert!(
        ran.stdout
            .ends_with("root: .. (the nearest folder with .sectile)\n"),
        "{ran:?}"
    );
    let ran = run_in(&home, "Areas", &["doctor"]);
    assert!(
        ran.stdout
            .contains("root: .. (the nearest folder with .sectile)\n"),
        "{ran:?}"
    );
    let purge = ["edit", "purge", "--yes"];
    let ran = run_in(&home, "Areas", &purge);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = home.run(&["edit", "history", "Areas/tax.md"]);
    assert_eq!(ran.stdout, "No history yet.\n");
}

#[test]
fn without_a_mark_a_note_has_its_history_beside_it_and_the_command_says_so() {
    let home = Home::new();
    home.write("notes/tax.md", TAX);
    let update = [
        "edit",
        "update",
        "notes/tax.md",
        "Receipts",
        "--content",
        "x",
    ];
    let ran = home.run(&update);
    assert!(
        ran.stdout.ends_with(
            "root: notes (its own folder: none above has .sectile, .obsidian or .git)\n"
        ),
        "{ran:?}"
    );
    assert!(has_history(&home, "notes"));
    // Nothing is kept of a look at the structure, so it counts from where people are.
    let home = Home::new();
    home.write("notes/tax.md", TAX);
    for (folder, path, expected) in [
        ("", "notes/tax.md", "notes/tax.md"),
        ("notes", "tax.md", "tax.md"),
        ("notes", "../notes/tax.md", "tax.md"),
        ("../home", "../work/notes/tax.md", "tax.md"),
    ] {
        let ran = run_in(&home, folder, &["tree", path, "--json"]);
        let outline: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|_| panic!("{folder:?} {path}: {ran:?}"));
        assert_eq!(outline["path"], expected, "{folder:?} {path}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_note_has_the_history_of_the_note() {
    let home = vault();
    home.write("elsewhere/.git", "gitdir: x\n");
    std::os::unix::fs::symlink("../Areas/tax.md", home.path("work/elsewhere/link.md")).unwrap();
    let update = ["edit", "update", "link.md", "Receipts", "--content", "x"];
    let ran = run_in(&home, "elsewhere", &update);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(home.read("Areas/tax.md").ends_with("\n\nx\n"));
    assert!(has_history(&home, "") && !has_history(&home, "elsewhere"));
}

#[test]
fn a_note_that_the_root_leaves_out_is_refused_and_explained() {
    let home = Home::new();
    home.write(".git/HEAD", "ref: refs/heads/main\n");
    home.write(".gitignore", "private/\n");
    home.write("private/plan.md", "# Plan\n\nOne.\n");
    let update = [
        "edit",
        "update",
        "private/plan.md",
        "Plan",
        "--content",
        "x",
    ];
    let ran = home.run(&update);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "error: The path is hidden, ignored or excluded, so it cannot be changed here.\n\
         hint: the root is . (the nearest folder with .git), which excludes this document; give a \
         folder that includes it with --root DIR\n"
    );
    assert_eq!(home.read("private/plan.md"), "# Plan\n\nOne.\n");
    let ran = home.run(&[&update[..], &["--root", "private"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // From now on that is its root.
    let ran = home.run(&update);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(has_history(&home, "private"));
}

#[test]
fn a_server_without_a_folder_serves_the_root_of_the_current_one() {
    let home = vault();
    let outline = json!({ "path": "Areas/tax.md" });
    for folder in ["", "Areas", "Daily"] {
        let (answer, log) = served(
            &home,
            folder,
            &["serve", "vault"],
            "get_note_outline",
            outline.clone(),
        );
        assert_eq!(answer["headings"][0]["text"], "Tax", "{folder:?}");
        let root = if folder.is_empty() { "." } else { ".." };
        let expected =
            format!("serving the root of the current folder root=\"{root}\" mark=\".obsidian\"");
        assert!(log.contains(&expected), "{folder:?}: {log}");
    }
    // Unmarked, it is the folder itself.
    fs::remove_dir(home.path("work/.obsidian")).unwrap();
    let own = json!({ "path": "tax.md" });
    let (answer, _) = served(&home, "Areas", &["serve", "vault"], "get_note_outline", own);
    assert_eq!(answer["headings"][0]["text"], "Tax");
}

#[test]
fn a_server_serves_no_home_folder_and_no_file_system_unless_it_is_named() {
    let home = Home::new();
    fs::create_dir(home.path("home/.git")).unwrap();
    for (folder, what) in [
        ("../home", "your whole home folder"),
        ("/", "the whole file system"),
    ] {
        for world in ["vault", "editor"] {
            let ran = run_in(&home, folder, &["serve", world]);
            assert_eq!(ran.code, Some(2), "{folder} {world}: {ran:?}");
            let expected = format!(
                "error: no folder is given, and serving the current one would expose {what}.\n\
                 hint: sectile serve {world} DIR, or set {world}.root in the settings file\n"
            );
            assert_eq!(ran.stderr, expected, "{folder} {world}");
            let ran = run_in(&home, folder, &["connect", "zed", "--world", world]);
            assert_eq!(ran.code, Some(2), "{folder} {world}: {ran:?}");
        }
    }
    let ran = run_in(&home, "../home", &["serve", "vault", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // A settings file that names no folder is not an order to serve this one.
    home.write("sectile.toml", "[log]\nlevel = 'warn'\n");
    let ran = home.run(&["serve", "vault", "--config", "sectile.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.starts_with("error: no folder is given.\n"),
        "{ran:?}"
    );
}

#[test]
fn a_folder_that_a_server_is_given_is_never_widened() {
    let home = vault();
    assert_eq!(home.run(&UPDATE).code, Some(0));
    let (listed, log) = served(
        &home,
        "",
        &["serve", "editor", "Areas"],
        "list_documents",
        json!({}),
    );
    assert_eq!(listed["documents"], json!(["tax.md"]));
    let warning = "a folder above has a history of its own: a note that is edited in both has two";
    assert!(
        log.contains(warning) && log.contains("above=\"..\""),
        "{log}"
    );
    // One document has its history beside it.
    let content = json!({ "heading": "New", "content": "y", "position": 0 });
    let document = ["serve", "editor", "Areas/tax.md"];
    let (_, log) = served(&home, "", &document, "insert_section", content);
    assert!(log.contains(warning), "{log}");
    assert!(has_history(&home, "Areas"));
    let (_, log) = served(
        &home,
        "",
        &["serve", "editor", "."],
        "list_documents",
        json!({}),
    );
    assert!(!log.contains(warning), "{log}");
    let ran = home.run(&["connect", "zed", "--world", "editor", "--root", "Areas"]);
    assert!(ran.stdout.contains("work/Areas\""), "{ran:?}");
    let ran = run_in(&home, "Areas", &["connect", "zed", "--world", "editor"]);
    assert!(ran.stdout.contains("work/Areas\""), "{ran:?}");
    fs::remove_dir_all(home.path("work/Areas/.sectile")).unwrap();
    let ran = run_in(&home, "Areas", &["connect", "zed", "--world", "editor"]);
    assert!(ran.stdout.contains("/work\""), "{ran:?}");
    assert!(
        ran.stderr
            .contains("The folder to serve is .. (the nearest folder with .sectile).\n"),
        "{ran:?}"
    );
    // A library is the folder itself.
    let ran = run_in(&home, "Areas", &["connect", "zed", "--world", "notebook"]);
    assert!(ran.stdout.contains("work/Areas\""), "{ran:?}");
}

#[test]
fn doctor_reports_nested_histories() {
    let home = vault();
    assert_eq!(home.run(&UPDATE).code, Some(0));
    let ran = home.run(&["doctor", "--root", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains("has a history"), "{ran:?}");
    let inner = [&UPDATE[..], &["--root", "Areas"]].concat();
    let inner: Vec<&str> = inner
        .iter()
        .map(|word| if *word == "x" { "y" } else { word })
        .collect();
    let ran = home.run(&inner);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("warning: Areas has a history of its own inside that of .: "),
        "{ran:?}"
    );
    home.write("sectile.toml", "[editor]\nroot = 'Areas/tax.md'\n");
    for (arguments, said) in [
        (
            &["doctor", "--root", "."][..],
            "editor: the folder `Areas` below this one has a history of its own: ",
        ),
        (
            &["doctor"],
            "editor: the folder `Areas` below this one has a history of its own: ",
        ),
        (
            &["doctor", "--root", "Areas"],
            "editor: the folder `..` above this one has a history too: ",
        ),
        (
            &["doctor", "--config", "sectile.toml"],
            "editor: the folder `..` above this one has a history too: ",
        ),
    ] {
        let ran = home.run(arguments);
        assert_eq!(
            ran.stdout.matches(said).count(),
            1,
            "{arguments:?}: {ran:?}"
        );
    }
}
