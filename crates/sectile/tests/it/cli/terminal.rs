//! What people see on a terminal: `script` lends one.

use super::Home;
use crate::fixture::sectile;

/// What a command prints on a terminal with colours.
fn on_terminal(home: &Home, arguments: &str) -> String {
    let program = sectile().get_program().to_str().unwrap().to_owned();
    let output = std::process::Command::new("script")
        .args(["-qec", &format!("'{program}' {arguments}"), "/dev/null"])
        .current_dir(home.path("work"))
        .env("HOME", home.path("home"))
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
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
            "outline",
            "notes/plan.md  A plan\n  # One\n  ## Two\n  # (empty heading)\n",
        ),
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
        tools.starts_with("vault\n  get_section_source   read "),
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
