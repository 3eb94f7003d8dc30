//! Every format: what is added, what is kept, what is refused.

use super::*;

const JSON: ClientFormat = ClientFormat::Json("mcpServers");
const TOML: ClientFormat = ClientFormat::Toml("mcp_servers");
const GOOSE: ClientFormat = ClientFormat::Goose;
const NAME: &str = "sectile-notes";

fn fields() -> EntryFields {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let arguments = ["serve", "desk", "/n \"q\""].map(str::to_owned).to_vec();
    vec![
        ("cmd".to_owned(), text("/opt/sectile")),
        ("args".to_owned(), FieldValue::List(arguments)),
        (
            "env".to_owned(),
            FieldValue::Map(vec![("SECTILE_A__B".to_owned(), text("x"))]),
        ),
    ]
}

#[test]
fn an_empty_file_becomes_a_whole_one() {
    insta::assert_snapshot!(JSON.insert("", NAME, &fields()).unwrap(), @r#"
    {
      "mcpServers": {
        "sectile-notes": {
          "cmd": "/opt/sectile",
          "args": ["serve", "desk", "/n \"q\""],
          "env": {
            "SECTILE_A__B": "x"
          }
        }
      }
    }
    "#);
    insta::assert_snapshot!(TOML.insert("", NAME, &fields()).unwrap(), @r#"
    [mcp_servers.sectile-notes]
    cmd = "/opt/sectile"
    args = ["serve", "desk", '/n "q"']
    env = { SECTILE_A__B = "x" }
    "#);
    insta::assert_snapshot!(GOOSE.insert("", NAME, &fields()).unwrap(), @r#"
    extensions:
      sectile-notes:
        cmd: "/opt/sectile"
        args:
          - "serve"
          - "desk"
          - "/n \"q\""
        env:
          SECTILE_A__B: "x"
    "#);
}

/// Files as people keep them, with every kind of comment.
const KEPT: [(ClientFormat, &str); 5] = [
    (
        JSON,
        "// mine\n{\n    \"theme\": \"x\", // dark\n    \"mcpServers\": {\n        \"other\": {\"command\": \"o\"},\n    },\n}\n",
    ),
    (
        TOML,
        "# mine\nmodel = \"x\" # fast\n\n[mcp_servers.other] # theirs\ncommand = \"o\"\n",
    ),
    (
        GOOSE,
        "# mine\nGOOSE_MODEL: x # fast\nextensions: # all\n    # theirs\n    other:\n        cmd: o\n        args: []\n\n# the rest\nlast: 1\n",
    ),
    (GOOSE, "extensions: {}\nlast: 1\n"),
    (GOOSE, "model: x"),
];

#[test]
fn adding_keeps_every_line_and_removing_brings_back_every_byte() {
    for (format, before) in KEPT {
        for before in [before.to_owned(), before.replace('\n', "\r\n")] {
            let after = format.insert(&before, NAME, &fields()).unwrap();
            for line in before.lines().filter(|line| *line != "extensions: {}") {
                let line = line.trim_end_matches(',');
                assert!(after.contains(line), "{line:?} is lost in {after}");
            }
            let ends = after.matches('\n').count();
            let windows = after.matches("\r\n").count();
            assert_eq!(windows, if before.contains('\r') { ends } else { 0 });
            let again = format.insert(&after, NAME, &fields()).unwrap();
            assert_eq!(again, after, "a second time changes nothing");
            let removed = format.remove(&after, NAME).unwrap();
            let left = format.entries(&removed).unwrap();
            assert!(left.iter().all(|(name, _)| name != NAME), "{removed}");
            if before.contains("other") {
                assert_eq!(removed.trim_end(), before.trim_end());
            }
        }
    }
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    let syntax = |format, line| ClientFileError::Syntax { format, line };
    for (format, text, error) in [
        (JSON, "{\n  \"a\": 1,\n  ]\n}", syntax("JSON", Some(3))),
        (JSON, "[1]", ClientFileError::NotServers("mcpServers")),
        (
            JSON,
            "{\"mcpServers\": 1}",
            ClientFileError::NotServers("mcpServers"),
        ),
        (TOML, "a = 1\nb = ", syntax("TOML", Some(2))),
        (
            TOML,
            "mcp_servers = 1\n",
            ClientFileError::NotServers("mcp_servers"),
        ),
        (GOOSE, "a: [1\nb: 2\n", syntax("YAML", None)),
        (GOOSE, "- a\n", syntax("YAML", None)),
    ] {
        assert_eq!(format.insert(text, NAME, &fields()), Err(error), "{text}");
    }
}

#[test]
fn yaml_that_cannot_be_edited_safely_is_refused() {
    for text in [
        "extensions: {other: {cmd: o}}\n",
        "extensions:\n  {other: {cmd: o}}\n",
        "extensions: 1\n",
        "extensions:\n  - a\n",
        "\"extensions\":\n  other:\n    cmd: o\n",
        "extensions: &all\n  other:\n    cmd: o\n",
        "extensions:\n  sectile-notes: {cmd: o}\n",
    ] {
        let refused = GOOSE.insert(text, NAME, &fields());
        assert!(refused.is_err(), "{text}: {refused:?}");
    }
}

#[test]
fn another_extension_whose_name_is_longer_is_not_removed() {
    let before = "extensions:\n  sectile-notes-2:\n    cmd: o\n    args: []\n";
    let after = GOOSE.insert(before, NAME, &fields()).unwrap();
    assert_eq!(GOOSE.remove(&after, NAME).unwrap(), before);
}
