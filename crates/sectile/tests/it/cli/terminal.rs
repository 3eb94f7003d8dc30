//! What people see on a terminal: `script` lends one.

use super::Home;
use crate::fixture::sectile;

/// What a command prints on a terminal with colours.
fn on_terminal(home: &Home, arguments: &str) -> String {
    on_terminal_with(home, arguments, &[])
}

fn on_terminal_with(home: &Home, arguments: &str, environment: &[(&str, &str)]) -> String {
    let program = sectile().get_program().to_str().unwrap().to_owned();
    let output = std::process::Command::new("script")
        .args(["-qec", &format!("'{program}' {arguments}"), "/dev/null"])
        .current_dir(home.path("work"))
        .env("HOME", home.path("home"))
        .env("TERM", "xterm")
        .env("TMPDIR", home.path("tmp"))
        .env_remove("NO_COLOR")
        .env_remove("VISUAL")
        .envs(environment.iter().copied())
        .stdin(std::process::Stdio::null())
        .output()
        .expect("`script` runs");
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// `text` without colours and carriage returns.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\u{1b}');
    plain += parts.next().unwrap_or_default();
    for part in parts {
        plain += part.split_once('m').map_or(part, |(_, rest)| rest);
    }
    plain.replace('\r', "")
}

const NOTE: &str = "---\ntitle: A plan\ntags: [a, b c]\n---\n# One\n\ntext\n\n## Two\n\n#\n";

#[test]
fn people_get_lines_instead_of_json() {
    let home = Home::new();
    home.write("notes/plan.md", NOTE);
    for (command, expected) in [
        (
            "tree",
            "notes/plan.md  A plan\n  # One\n    ## Two\n  # (empty heading)\n",
        ),
        (
            "sections",
            "notes/plan.md  A plan\n  # One  h1-one-0001\n    ## Two  h2-two-0002, no body\n  \
             # (empty heading)  h1-heading-0003, no body\n",
        ),
        (
            "facets",
            "notes/plan.md\n  project          -\n  tags             a, b-c\n",
        ),
    ] {
        let shown = on_terminal(&home, &format!("{command} notes/plan.md"));
        assert!(shown.contains('\u{1b}'), "{command} has colours: {shown:?}");
        let shown = plain(&shown);
        assert!(shown.starts_with(expected), "{command}: {shown}");
        let json = on_terminal(&home, &format!("{command} notes/plan.md --json"));
        assert!(json.starts_with("{\"schema\":"), "{command}: {json}");
    }
    let tools = plain(&on_terminal(&home, "tools"));
    assert!(
        tools.starts_with("desk\n  search ")
            && tools.contains("\nvault\n  get_section_source   read "),
        "{tools}"
    );
    let settings = plain(&on_terminal(&home, "config show"));
    assert!(
        settings.starts_with("server.http.bind = \"127.0.0.1:7420\" "),
        "{settings}"
    );
}

#[test]
fn a_note_cannot_control_the_terminal() {
    let home = Home::new();
    home.write("heading.md", "# a\u{1b}[2Jb\u{7}\n");
    home.write(
        "title.md",
        "---\ntitle: \"a\\e[2Jb\\a\"\ndate: \"\\e[2J\"\n---\n# x\n",
    );
    for note in ["heading.md", "title.md"] {
        for command in ["outline", "tree", "sections", "facets"] {
            let shown = on_terminal(&home, &format!("{command} {note}"));
            for control in ["\u{1b}[2J", "\u{7}"] {
                assert!(!shown.contains(control), "{command} {note}: {shown:?}");
            }
        }
    }
}

#[test]
fn edits_are_shown_as_lines_and_diffs() {
    let home = Home::new();
    home.write("plan.md", "# One\n\ntext\n\n## Two\n\nmore\n");
    let cases = [
        (
            "edit list plan.md",
            "plan.md  revision 0\n   0  # One     one-",
        ),
        ("edit get plan.md Two", "more\n"),
        (
            "edit update plan.md Two --content less",
            "--- a/plan.md\n+++ b/plan.md\n@@ -4,4 +4,4 @@\n \n ## Two\n \n-more\n+less\nSection updated. two-",
        ),
        (
            "edit delete plan.md Two --dry-run",
            "--- a/plan.md\n+++ b/plan.md\n@@ -1,7 +1,3 @@\n # One\n \n text\n-\n-## Two\n-\n-less\nDry run: nothing was written.",
        ),
        ("edit history plan.md", "    1 "),
        ("edit undo plan.md", "--- a/plan.md\n"),
        ("edit purge --yes", "History purged. 2 entries\n"),
        ("edit history plan.md", "No history yet.\n"),
    ];
    for (command, expected) in cases {
        let shown = on_terminal(&home, command);
        let has_colours = shown.contains('\u{1b}');
        assert_eq!(
            has_colours,
            !command.contains(" get "),
            "{command}: {shown:?}"
        );
        let shown = plain(&shown);
        assert!(shown.starts_with(expected), "{command}: {shown}");
    }
    let json = on_terminal(&home, "edit list plan.md --json");
    assert!(json.starts_with("{\"sections\":"), "{json}");
}

#[test]
fn without_a_text_the_editor_of_the_person_is_asked() {
    let home = Home::new();
    home.write("plan.md", "# One\n\ntext\n");
    // It sees the text that is there, and adds a line.
    home.write(
        "append.sh",
        "grep -q text \"$2\" || exit 3\necho \"$1\" >> \"$2\"\n",
    );
    home.write("write.sh", "echo written > \"$1\"\n");
    home.write("fail.sh", "echo lost > \"$1\"\nexit 1\n");
    let update = "edit update plan.md One";
    on_terminal_with(&home, update, &[("EDITOR", "sh append.sh added")]);
    assert_eq!(home.read("plan.md"), "# One\n\ntext\nadded\n");
    let shown = on_terminal_with(&home, update, &[("EDITOR", "true")]);
    assert_eq!(plain(&shown), "Nothing to change.\n");
    let insert = "edit insert plan.md Two";
    let both = [("VISUAL", "sh write.sh"), ("EDITOR", "sh fail.sh")];
    on_terminal_with(&home, insert, &both);
    let expected = "# One\n\ntext\nadded\n\n# Two\n\nwritten\n";
    assert_eq!(home.read("plan.md"), expected);
    for (editor, message) in [
        (
            "sh fail.sh",
            "the editor exited with an error; nothing was changed.",
        ),
        ("", "no text is given, and no editor is set."),
    ] {
        let shown = on_terminal_with(&home, &format!("{update} || true"), &[("EDITOR", editor)]);
        assert!(plain(&shown).contains(message), "{editor}: {shown}");
        assert_eq!(home.read("plan.md"), expected, "{editor}");
    }
    let left = std::fs::read_dir(home.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "no text is left behind");
}

#[test]
fn an_edited_document_cannot_control_the_terminal() {
    let home = Home::new();
    home.write(
        "plan.md",
        "# a\u{1b}[2Jb\u{7}\n\nx\u{1b}[2Jy\u{7}\n\n# Two\n",
    );
    for command in [
        "edit list plan.md",
        "edit insert plan.md Three --at 1 --content z --reason \"$(printf '\\033[2J')\"",
        "edit history plan.md --diff",
        "edit move plan.md Two --at 2",
        "edit get plan.md \"$(head -n 1 plan.md | cut -c 3-)\"",
    ] {
        let shown = on_terminal(&home, command);
        for control in ["\u{1b}[2J", "\u{7}"] {
            assert!(!shown.contains(control), "{command}: {shown:?}");
        }
    }
}

#[test]
fn the_check_of_documents_is_a_table_with_remarks() {
    let home = Home::new();
    home.write("g/a.md", "# A\u{7}b\n\nx\n\n## S\u{7}\n\n## S\u{7}\n\ny\n");
    home.write("g/longer-name.md", "---\nrole: no\n---\nx\n");
    home.write("g/none.md", "");
    home.write(
        "sectile.toml",
        "[docs]\ninclude_default_docs = false\nenable_resources = false\n",
    );
    let shown = on_terminal(&home, "docs check g --config sectile.toml");
    assert!(!shown.contains('\u{7}'), "{shown:?}");
    assert_eq!(
        plain(&shown),
        "\
a            pattern         26 bytes    3 sections  A b
  lines 5, 7: the same heading `S\u{fffd}`
  line 5: nothing below `S\u{fffd}`
longer-name  pattern         19 bytes    0 sections  longer-name
skipped `g/none.md` is empty; write something into it, or remove it.
note    `g/longer-name.md`: `role` in the front matter must be one of reasoning, decision, ontology, pattern, so it \
is not used. Correct it.
total   2 of 100000 documents, 45 of 1073741824 bytes, 3 sections
`docs.enable_resources` is false
"
    );
    let json = on_terminal(&home, "docs check g --json");
    assert!(json.starts_with("{\"documents\":"), "{json}");
}

#[test]
fn people_are_told_that_sections_were_found_by_meaning() {
    let home = Home::new();
    home.write(
        "g/cars.md",
        "# Cars\n\n## Repair\n\nFixing an automobile.\n",
    );
    home.write(
        "sectile.toml",
        "[docs]\ninclude_default_docs = false\nranking = 'words'\nmeaning_as_last_resort = true\n",
    );
    let search = "docs search --config sectile.toml --path g --explain 'vehicle mechanic'";
    let shown = plain(&on_terminal(&home, search));
    let (section, remarks) = shown.split_once("  near in meaning\n").unwrap();
    assert!(
        section
            .starts_with("Cars > Repair\nsectile://docs/cars#repair\n\nFixing an automobile.\n\n"),
        "{shown}"
    );
    assert_eq!(
        remarks,
        "Not in the documents: vehicle, mechanic.\n\
         No section has these words; these sections are the nearest in meaning.\n"
    );
}
