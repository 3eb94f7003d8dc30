//! `sectile edit`: the editor from a shell. On a terminal it is shown in `terminal`.

use std::{fs, io::Write as _, process::Stdio as Pipe};

use serde_json::{Value, json};

use super::{Home, Ran, text};
use crate::fixture::{Era, TestVault, initialize, run_with_input, tool_text};

const PLAN: &str = "# Alpha\n\nOne.\n\n## Detail\n\nTwo, see [beta](other.md#beta).\n\n# Gamma\n\n## Detail\n\nThree.\n";
const OTHER: &str = "# Beta\n\nFour.\n";

/// A folder with two documents, and commands that never tell where it is.
struct Desk {
    home: Home,
    /// Settings besides the usual ones.
    settings: Vec<(&'static str, &'static str)>,
}

impl Desk {
    fn new() -> Self {
        let home = Home::new();
        home.write("plan.md", PLAN);
        home.write("other.md", OTHER);
        Self {
            home,
            settings: Vec::new(),
        }
    }

    /// The same, where large deletions ask for a confirmation.
    fn asking(self) -> Self {
        Self {
            settings: vec![("SECTILE_EDITOR__CONFIRM_DELETE_BYTES", "65536")],
            ..self
        }
    }

    /// Runs `sectile edit` with `input` as its standard input.
    fn run(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self
            .home
            .command()
            .arg("edit")
            .args(arguments)
            .envs(self.settings.iter().copied())
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may be gone already.
        let _gone = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let ran = Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        let folder = self.home.path("");
        let real = fs::canonicalize(&folder).unwrap();
        for absolute in [text(&folder), text(&real)] {
            let absolute = absolute.trim_end_matches('/');
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains(absolute), "{arguments:?}: {said}");
        }
        assert!(!ran.stdout.contains('\u{1b}'), "{arguments:?}: {ran:?}");
        ran
    }

    /// The answer of a command that succeeds.
    fn done(&self, arguments: &[&str]) -> Value {
        self.done_with(arguments, "")
    }

    fn done_with(&self, arguments: &[&str], input: &str) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat(), input);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// What a command complains about, when it has to end with `code`.
    fn refused(&self, arguments: &[&str], input: &str, code: i32) -> String {
        let ran = self.run(arguments, input);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        ran.stderr
    }

    fn id_of(&self, document: &str, position: usize) -> String {
        let list = self.done(&["list", document]);
        let id = &list["sections"][position]["section_id"];
        id.as_str().unwrap().to_owned()
    }

    fn headings(&self, document: &str) -> Vec<String> {
        let list = self.done(&["list", document]);
        let sections = list["sections"].as_array().unwrap();
        let heading = |section: &Value| section["heading"].as_str().unwrap().to_owned();
        sections.iter().map(heading).collect()
    }
}

#[test]
fn sections_are_read_by_heading_or_id() {
    let desk = Desk::new();
    let headings = ["Alpha", "Detail", "Gamma", "Detail"];
    assert_eq!(desk.headings("plan.md"), headings);
    let alpha = desk.id_of("plan.md", 0);
    for section in ["Alpha", &alpha] {
        let got = desk.done(&["get", "plan.md", section]);
        assert_eq!(got["content"], "One.", "{section}");
        assert_eq!(got["section_id"], alpha.as_str(), "{section}");
    }
    let got = desk.done(&["get", "plan.md", "Gamma", "--subtree"]);
    assert_eq!(got["content"], "## Detail\n\nThree.");
    let second = desk.id_of("plan.md", 3);
    assert_eq!(desk.done(&["get", "plan.md", &second])["content"], "Three.");
    assert_eq!(desk.home.read("plan.md"), PLAN, "reading changes nothing");
}

#[test]
fn a_heading_that_several_sections_have_lists_them() {
    let desk = Desk::new();
    let ids = [desk.id_of("plan.md", 1), desk.id_of("plan.md", 3)];
    let expected = format!(
        "error: Several sections of \"plan.md\" are called \"Detail\".\n  {}  Detail\n  {}  Detail\n\
         hint: Give one of these ids instead of the heading.\n",
        ids[0], ids[1]
    );
    for arguments in [
        &["get", "plan.md", "Detail"][..],
        &["update", "plan.md", "Detail", "--content", "x"],
        &["delete", "plan.md", "Detail"],
        &["rename", "plan.md", "Detail", "x"],
        &["move", "plan.md", "Detail", "--at", "0"],
        &["move", "plan.md", "Alpha", "--after", "Detail"],
        &[
            "insert",
            "plan.md",
            "x",
            "--before",
            "Detail",
            "--content",
            "",
        ],
        &["history", "plan.md", "--section", "Detail"],
    ] {
        assert_eq!(desk.refused(arguments, "", 1), expected, "{arguments:?}");
    }
    assert_eq!(desk.home.read("plan.md"), PLAN);
    let said = desk.refused(&["get", "plan.md", "Detail", "--json"], "", 1);
    let error: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(error["code"], -32000);
    assert_eq!(
        error["data"]["candidates"][1]["section_id"],
        ids[1].as_str()
    );
}

#[test]
fn sections_are_inserted_wherever_wanted() {
    let end = "# Gamma\n\n## Detail\n\nThree.\n";
    let start = "# Alpha\n\nOne.\n\n## Detail\n\nTwo, see [beta](other.md#beta).\n";
    for (place, expected) in [
        (&["--at", "0"][..], format!("# New\n\nText.\n\n{PLAN}")),
        (
            &["--before", "Gamma"],
            format!("{start}\n# New\n\nText.\n\n{end}"),
        ),
        (
            &["--after", "Alpha"],
            format!("{start}\n# New\n\nText.\n\n{end}"),
        ),
        (
            &["--first-child", "Gamma"],
            format!("{start}\n# Gamma\n\n## New\n\nText.\n\n## Detail\n\nThree.\n"),
        ),
        (
            &["--last-child", "Gamma"],
            format!("{PLAN}\n## New\n\nText.\n"),
        ),
        (&["--level", "1"], format!("{PLAN}\n# New\n\nText.\n")),
        (&[], format!("{PLAN}\n## New\n\nText.\n")),
    ] {
        for (content, input) in [(&["--content", "Text."][..], ""), (&[], "Text.\n")] {
            let desk = Desk::new();
            let arguments = [&["insert", "plan.md", "New"], place, content].concat();
            let inserted = desk.done_with(&arguments, input);
            assert_eq!(inserted["message"], "Section inserted.", "{arguments:?}");
            assert_eq!(desk.home.read("plan.md"), expected, "{arguments:?}");
        }
    }
}

#[test]
fn text_comes_from_the_option_or_from_a_pipe() {
    let desk = Desk::new();
    desk.done(&["update", "plan.md", "Alpha", "--content", "Option."]);
    assert_eq!(desk.home.read("plan.md"), PLAN.replace("One.", "Option."));
    let alpha = desk.id_of("plan.md", 0);
    desk.done_with(&["update", "plan.md", &alpha], "Pipe.\n");
    assert_eq!(desk.home.read("plan.md"), PLAN.replace("One.", "Pipe."));
    desk.done_with(&["update", "plan.md", "Gamma", "--subtree"], "Bare.\n");
    assert_eq!(desk.headings("plan.md"), ["Alpha", "Detail", "Gamma"]);
    let before = desk.home.read("plan.md");
    assert_eq!(
        desk.refused(&["update", "plan.md", "Alpha", "--content", "# Out"], "", 1),
        "error: The content would end its section: its line 1 is a heading of level 1, and the section itself has level 1.\n\
         hint: Leave the section's own heading out of the content; use deeper headings, or `sectile edit insert`.\n"
    );
    // As after a command that failed at the other end of the pipe.
    for nothing in ["", "\n"] {
        assert_eq!(
            desk.refused(&["update", "plan.md", "Alpha"], nothing, 2),
            "error: there is no text on standard input.\nhint: pass --content '' to leave the section empty\n"
        );
    }
    assert_eq!(desk.home.read("plan.md"), before);
    desk.done(&["update", "plan.md", "Alpha", "--content", ""]);
    assert_eq!(desk.done(&["get", "plan.md", "Alpha"])["content"], "");
}

#[test]
fn sections_move_also_into_another_document() {
    let desk = Desk::new();
    desk.done(&["move", "plan.md", "Gamma", "--before", "Alpha"]);
    let headings = ["Gamma", "Detail", "Alpha", "Detail"];
    assert_eq!(desk.headings("plan.md"), headings);
    let gamma = desk.id_of("plan.md", 0);
    let moved = desk.done(&["move", "plan.md", "Gamma", "--into", "other.md"]);
    assert_eq!(moved["section_id"], gamma.as_str());
    let expected = format!("{OTHER}\n# Gamma\n\n## Detail\n\nThree.\n");
    assert_eq!(desk.home.read("other.md"), expected);
    assert_eq!(desk.headings("plan.md"), ["Alpha", "Detail"]);
    desk.done(&[
        "move",
        "other.md",
        "Gamma",
        "--into",
        "plan.md",
        "--first-child",
        "Alpha",
    ]);
    assert_eq!(desk.home.read("other.md"), OTHER);
    let headings = ["Alpha", "Gamma", "Detail", "Detail"];
    assert_eq!(desk.headings("plan.md"), headings);
    desk.done(&["undo", "plan.md"]);
    assert_eq!(desk.home.read("other.md"), expected, "undone in both");
    let said = desk.refused(&["move", "plan.md", "Alpha", "--into", "missing.md"], "", 1);
    assert!(
        said.starts_with("error: Document not found. There is no document at \"missing.md\".\n"),
        "{said}"
    );
}

#[test]
fn a_large_section_is_deleted_only_with_yes_where_a_setting_says_so() {
    let desk = Desk::new();
    desk.done(&["delete", "plan.md", "Alpha"]);
    assert_eq!(
        desk.home.read("plan.md"),
        "# Gamma\n\n## Detail\n\nThree.\n"
    );
    let large = format!("# Small\n\n# Large\n\n{}", "A line.\n".repeat(10_000));
    desk.home.write("large.md", &large);
    desk.done(&["delete", "large.md", "Large"]);
    assert_eq!(desk.home.read("large.md"), "# Small\n");
    desk.done(&["undo", "large.md"]);

    let asked = desk.asking();
    assert_eq!(
        asked.refused(&["delete", "large.md", "Large"], "", 1),
        "error: This deletes 80008 bytes and needs a confirmation.\n\
         hint: If you really mean it, call again with --yes.\n"
    );
    assert_eq!(asked.home.read("large.md"), large);
    asked.done(&["delete", "large.md", "Large", "--yes"]);
    assert_eq!(asked.home.read("large.md"), "# Small\n");
    asked.done(&["undo", "large.md"]);
    assert_eq!(asked.home.read("large.md"), large);
}

#[test]
fn content_may_begin_with_a_hyphen() {
    let desk = Desk::new();
    desk.done(&["update", "plan.md", "Alpha", "--content", "- [ ] task"]);
    assert_eq!(
        desk.home.read("plan.md"),
        PLAN.replace("One.", "- [ ] task")
    );
    desk.done(&[
        "insert",
        "plan.md",
        "List",
        "--content",
        "--flag\n-x",
        "--after",
        "Alpha",
        "--reason",
        "- why",
    ]);
    let section = desk.done(&["get", "plan.md", "List"]);
    assert_eq!(section["content"], "--flag\n-x");
    let history = desk.done(&["history", "plan.md"]);
    assert_eq!(history["history"][0]["details"]["reason"], "- why");
    desk.home.write("minus.md", "# -x\n\n# Last\n");
    desk.done(&[
        "insert",
        "minus.md",
        "Mid",
        "--content",
        "",
        "--after",
        "-x",
    ]);
    assert_eq!(desk.home.read("minus.md"), "# -x\n\n# Mid\n\n# Last\n");
    // What is misspelt among options is still not taken for a heading.
    desk.refused(&["insert", "plan.md", "--dryrun", "--content", "x"], "", 2);
}

#[test]
fn serve_refuses_a_file_that_is_not_markdown_as_edit_does() {
    let desk = Desk::new();
    for name in ["a.png", "notes.txt", "README"] {
        desk.home.write(name, "no document");
        let why = "is not a Markdown document: its name does not end in .md or .markdown.";
        let said = desk.refused(&["list", name], "", 1);
        assert!(said.contains(why), "{name}: {said}");
        let served = desk.home.run(&["serve", "editor", name]);
        assert_eq!(served.code, Some(1), "{name}: {served:?}");
        assert!(served.stderr.contains(why), "{name}: {served:?}");
        assert_eq!(served.stdout, "", "{name}");
        desk.home
            .write("s.toml", &format!("[editor]\nroot = '{name}'\n"));
        let checked = desk.home.run(&["config", "check", "s.toml"]);
        assert_eq!(checked.code, Some(1), "{name}: {checked:?}");
        assert!(checked.stderr.contains(why), "{name}: {checked:?}");
    }
}

#[test]
fn case_is_ignored_for_reading_and_never_for_a_change() {
    let desk = Desk::new();
    assert_eq!(desk.done(&["get", "plan.md", "alpha"])["heading"], "Alpha");
    for command in [
        &["update", "plan.md", "alpha", "--content", "x"][..],
        &["delete", "plan.md", "alpha"],
        &["move", "plan.md", "alpha"],
        &["rename", "plan.md", "alpha", "New"],
        &[
            "insert",
            "plan.md",
            "New",
            "--content",
            "x",
            "--after",
            "alpha",
        ],
    ] {
        let said = desk.refused(command, "", 1);
        assert!(
            said.starts_with("error: Section not found."),
            "{command:?}: {said}"
        );
        assert!(said.contains("Alpha"), "{command:?}: {said}");
    }
    assert_eq!(desk.home.read("plan.md"), PLAN);
    desk.done(&["update", "plan.md", "# Alpha", "--content", "New."]);
    assert_eq!(desk.home.read("plan.md"), PLAN.replace("One.", "New."));
}

#[test]
fn a_control_character_is_refused_in_a_shell_too() {
    let desk = Desk::new();
    let said = desk.refused(&["update", "plan.md", "Alpha"], "one\u{c}two", 1);
    assert!(said.contains("U+000C"), "{said}");
    let said = desk.refused(
        &["insert", "plan.md", "New", "--content", "a\u{1b}[1m"],
        "",
        1,
    );
    assert!(
        said.contains("U+001B") && !said.contains('\u{1b}'),
        "{said}"
    );
    assert_eq!(desk.home.read("plan.md"), PLAN);
}

#[test]
fn a_new_heading_takes_the_links_along() {
    let desk = Desk::new();
    let renamed = desk.done(&["rename", "other.md", "Beta", "Better name"]);
    assert_eq!(renamed["repaired_links"], 1);
    assert_eq!(desk.home.read("other.md"), "# Better name\n\nFour.\n");
    let plan = PLAN.replace("#beta", "#better-name");
    assert_eq!(desk.home.read("plan.md"), plan);
    let renamed = desk.done(&["rename", "other.md", "Better name", "X", "--keep-links"]);
    assert_eq!(desk.home.read("plan.md"), plan);
    assert_eq!(renamed["broken_links"][0]["path"], "plan.md", "{renamed}");
}

#[test]
fn changes_are_undone_redone_and_remembered() {
    let desk = Desk::new();
    let reason = ["--reason", "because"];
    desk.done(
        &[
            &["update", "plan.md", "Alpha", "--content", "A."][..],
            &reason,
        ]
        .concat(),
    );
    desk.done(&["update", "plan.md", "Gamma", "--content", "G."]);
    let both = desk.home.read("plan.md");
    desk.done(&["undo", "plan.md"]);
    desk.done(&["redo", "plan.md"]);
    assert_eq!(desk.home.read("plan.md"), both);
    desk.done(&["undo", "plan.md", "--entry", "1"]);
    assert_eq!(desk.home.read("plan.md"), both.replace("A.", "One."));
    let said = desk.refused(&["undo", "plan.md", "--entry", "1"], "", 1);
    assert_eq!(
        said,
        "error: Entry 1 is already undone.\nhint: Run `sectile edit redo PATH` to reapply the change.\n"
    );

    let history = desk.done(&["history", "plan.md", "--diff"]);
    let lines = history["history"].as_array().unwrap();
    let operations: Vec<&str> = lines
        .iter()
        .map(|line| line["operation"].as_str().unwrap())
        .collect();
    assert_eq!(
        operations,
        ["undo", "redo", "undo", "update_section", "update_section"]
    );
    let first = &lines[4]["details"];
    assert_eq!(first["reason"], "because");
    assert_eq!(
        first["actor"],
        format!("sectile edit {}", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(first["undone"], true);
    assert!(
        first["diff"].as_str().unwrap().contains("-One.\n+A.\n"),
        "{first}"
    );
    let limited = desk.done(&["history", "plan.md", "--limit", "2"]);
    assert_eq!(limited["history"].as_array().unwrap().len(), 2);
    assert!(limited["history"][0]["details"].get("diff").is_none());
}

#[test]
fn the_history_of_a_section_goes_on_when_it_is_gone() {
    let desk = Desk::new();
    let gamma = desk.id_of("plan.md", 2);
    desk.done(&["update", "plan.md", "Alpha", "--content", "A."]);
    desk.done(&["update", "plan.md", "Gamma", "--content", "G."]);
    let count = |section: &str| {
        let history = desk.done(&["history", "plan.md", "--section", section]);
        history["history"].as_array().unwrap().len()
    };
    assert_eq!((count("Gamma"), count(&gamma)), (1, 1));
    desk.done(&["delete", "plan.md", "Gamma"]);
    assert_eq!(count(&gamma), 2);
    let said = desk.refused(&["get", "plan.md", &gamma], "", 1);
    assert!(
        said.contains("3"),
        "the entry that deleted it is named: {said}"
    );
}

#[test]
fn history_is_forgotten_only_when_that_is_really_meant() {
    let desk = Desk::new();
    let secret = "hunter2";
    desk.done(&["update", "plan.md", "Alpha", "--content", secret]);
    let journal = || fs::read(desk.home.path("work/.sectile/journal")).unwrap();
    let is_kept = || String::from_utf8_lossy(&journal()).contains(secret);
    let before = journal();
    for arguments in [
        &["purge"][..],
        &["purge", "plan.md"],
        &["purge", "--containing"],
    ] {
        assert_eq!(
            desk.refused(arguments, secret, 2),
            "error: this permanently deletes history: it can no longer be undone or shown.\n\
             hint: add --yes to confirm\n",
            "{arguments:?}"
        );
    }
    let containing = ["purge", "--containing", "--yes"];
    assert_eq!(
        desk.refused(&containing, "hunter2\n", 1),
        "error: The text is still in \"plan.md\".\nhint: Remove the text from the document first.\n"
    );
    assert_eq!(
        desk.refused(&containing, "\n", 2),
        "error: there is no text on standard input.\n"
    );
    assert_eq!(journal(), before);
    desk.done(&["update", "plan.md", "Alpha", "--content", "A."]);
    desk.done(&["update", "plan.md", "Alpha", "--content", "B."]);
    assert!(is_kept());
    let purged = desk.done_with(&containing, "hunter2\n");
    assert_eq!(
        purged,
        json!({ "message": "History purged.", "entries": 2 })
    );
    assert!(!is_kept());
    desk.done(&["undo", "plan.md"]);
    assert_eq!(desk.home.read("plan.md"), PLAN.replace("One.", "A."));
    desk.done(&["purge", "plan.md", "--yes"]);
    assert_eq!(desk.done(&["history", "plan.md"])["history"], json!([]));
    let said = desk.refused(&["undo", "plan.md"], "", 1);
    assert!(
        said.starts_with("error: There is nothing to undo in \"plan.md\".\n"),
        "{said}"
    );
    assert_eq!(
        desk.headings("plan.md"),
        ["Alpha", "Detail", "Gamma", "Detail"]
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let desk = Desk::new();
    desk.done(&["update", "plan.md", "Alpha", "--content", "A."]);
    desk.done(&["update", "plan.md", "Gamma", "--content", "G."]);
    desk.done(&["undo", "plan.md"]);
    let before = [desk.home.read("plan.md"), desk.home.read("other.md")];
    for arguments in [
        &["insert", "plan.md", "New", "--content", "x"][..],
        &["update", "plan.md", "Alpha", "--content", "x"],
        &["move", "plan.md", "Alpha", "--into", "other.md"],
        &["delete", "plan.md", "Alpha"],
        &["rename", "other.md", "Beta", "Better"],
        &["undo", "plan.md"],
        &["redo", "plan.md"],
    ] {
        let answer = desk.done(&[arguments, &["--dry-run"]].concat());
        let diff = answer["documents"][0]["diff"].as_str().unwrap();
        assert!(diff.contains("\n@@ "), "{arguments:?}: {answer}");
        assert!(answer.get("entry").is_none(), "{arguments:?}: {answer}");
        let after = [desk.home.read("plan.md"), desk.home.read("other.md")];
        assert_eq!(after, before, "{arguments:?}");
    }
    let history = desk.done(&["history", "plan.md"]);
    assert_eq!(history["history"].as_array().unwrap().len(), 3);
}

#[test]
fn the_root_is_the_nearest_folder_with_a_history() {
    let desk = Desk::new();
    let has_history = |folder: &str| {
        desk.home
            .path("work")
            .join(folder)
            .join(".sectile")
            .is_dir()
    };
    desk.home.write("deep/er/note.md", OTHER);
    desk.done(&["list", "deep/er/note.md"]);
    assert!(has_history("deep/er") && !has_history("deep") && !has_history(""));
    fs::remove_dir_all(desk.home.path("work/deep/er/.sectile")).unwrap();
    desk.done(&["list", "plan.md"]);
    assert!(has_history(""));
    assert_eq!(
        desk.done(&["list", "deep/er/note.md"])["path"],
        "deep/er/note.md"
    );
    assert!(!has_history("deep/er"), "the one above counts");

    let given = ["list", "deep/er/note.md", "--root", "deep"];
    assert_eq!(desk.done(&given)["path"], "er/note.md");
    assert!(has_history("deep"));
    assert_eq!(
        desk.done(&["list", "er/note.md", "--root", "deep"])["path"],
        "er/note.md"
    );
    let root = desk.home.path("work/deep");
    let absolute = desk.home.path("work/deep/er/note.md");
    let ran = desk
        .home
        .run(&["edit", "list", text(&absolute), "--root", text(&root)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let next = "hint: give the folder of the documents with --root DIR\n";
    let missing = "the folder cannot be edited: the folder does not exist.";
    for (arguments, message) in [
        (
            &["list", "plan.md", "--root", "deep"][..],
            "plan.md is not inside the root.",
        ),
        (&["list", "plan.md", "--root", "missing"], missing),
        (&["list", "missing/plan.md"], missing),
    ] {
        let said = desk.refused(arguments, "", 1);
        assert_eq!(said, format!("error: {message}\n{next}"), "{arguments:?}");
    }
    let said = desk.refused(&["list", "plan.md", "--root", "plan.md"], "", 2);
    assert_eq!(said, "error: --root must be a folder.\n");
}

#[test]
fn the_exit_code_tells_refused_from_wrongly_called() {
    let desk = Desk::new();
    for (arguments, code) in [
        (&["list", "plan.md"][..], 0),
        (&["list", "missing.md"], 1),
        (&["list", "../outside.md"], 1),
        (&["list", "plan.txt"], 1),
        (&["get", "plan.md", "Missing"], 1),
        (&["undo", "plan.md"], 1),
        (&["redo", "plan.md"], 1),
        (
            &["insert", "plan.md", "x", "--content", "", "--at", "99"],
            1,
        ),
        (&[], 2),
        (&["frobnicate"], 1),
        (&["list"], 2),
        (&["delete", "plan.md"], 2),
        (
            &["insert", "plan.md", "x", "--at", "0", "--before", "Alpha"],
            2,
        ),
        (&["insert", "plan.md", "x", "--level", "7"], 2),
        (&["move", "plan.md", "Alpha", "--at", "-1"], 2),
        (&["history", "plan.md", "--limit", "0"], 2),
    ] {
        let ran = desk.run(arguments, "");
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout.is_empty(), code != 0, "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr.is_empty(), code == 0, "{arguments:?}: {ran:?}");
    }
    assert_eq!(desk.home.read("plan.md"), PLAN);
}

#[test]
fn with_json_a_shell_gets_what_a_client_gets() {
    let home = Home::new();
    let vault = TestVault::empty();
    vault.note("plan.md", PLAN);
    let root = vault.root();
    let shell = |arguments: &[&str]| {
        let all = [&["edit", "--json"], arguments, &["--root", text(&root)]].concat();
        let ran = home.run(&all);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let client = |tool: &str, arguments: Value| {
        let lines = [
            initialize(1),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            Era::Handshake.call(2, tool, arguments),
        ];
        let output = run_with_input(&vault, ["serve", "editor", text(&root)], &lines);
        let said = String::from_utf8(output.stdout).unwrap();
        let answer: Value = serde_json::from_str(said.lines().nth(1).unwrap()).unwrap();
        serde_json::from_str::<Value>(tool_text(&answer)).unwrap()
    };
    let plan = json!({ "path": "plan.md" });
    let list = shell(&["list", "plan.md"]);
    assert_eq!(list, client("list_sections", plan.clone()));
    let alpha = list["sections"][0]["section_id"].as_str().unwrap();
    let named = json!({ "section_id": alpha });
    assert_eq!(
        shell(&["get", "plan.md", "Alpha"]),
        client("get_section", named)
    );

    let update = json!({ "section_id": alpha, "content": "A." });
    let mut answers = [
        shell(&["update", "plan.md", "Alpha", "--content", "A."]),
        shell(&["undo", "plan.md"]),
        client("update_section", update),
        client("undo", plan.clone()),
    ];
    for answer in &mut answers {
        // Numbers that go up with every write.
        answer["entry"].take();
        answer["revision"].take();
        answer["documents"][0]["revision"].take();
    }
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[1], answers[3]);
    let mut history = plan;
    history["limit"] = json!(20);
    assert_eq!(shell(&["history", "plan.md"]), client("history", history));
}

#[test]
fn the_text_of_a_section_goes_through_a_pipe_byte_for_byte() {
    let desk = Desk::new();
    let text = "# Alpha\r\n\r\nOne \u{1b}[31mred\u{1b}[0m.\r\n\r\n\tcode\u{7}\r\n";
    desk.home.write("odd.md", text);
    let output = desk
        .home
        .command()
        .args(["edit", "get", "odd.md", "Alpha"])
        .output()
        .unwrap();
    let piped = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        piped.trim_end(),
        "One \u{1b}[31mred\u{1b}[0m.\r\n\r\n\tcode\u{7}"
    );
    desk.done_with(&["update", "odd.md", "Alpha"], &piped);
    assert_eq!(desk.home.read("odd.md"), text);
}
