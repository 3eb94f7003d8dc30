//! Every format: what is added, what is kept, what is refused.

use super::*;

const JSON: ClientFormat = ClientFormat::Json("mcpServers");
const TOML: ClientFormat = ClientFormat::Toml("mcp_servers");
const GOOSE: ClientFormat = ClientFormat::Goose;
const CONTINUE: ClientFormat = ClientFormat::Continue;
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
        (JSON, "{\"a\": 1\n\"b\": 2}", syntax("JSON", Some(1))),
        (JSON, "{\na: 1}", syntax("JSON", Some(2))),
        (JSON, "[1]", ClientFileError::NotSettings),
        (
            JSON,
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            ClientFileError::NotPlaceable,
        ),
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
        (GOOSE, "a: 1\nb: 'x\n", syntax("YAML", Some(2))),
        (GOOSE, "a: 1\na: 2\n", syntax("YAML", Some(2))),
        (GOOSE, "- a\n", ClientFileError::NotSettings),
        (CONTINUE, "a: 1\nb: 'x\n", syntax("YAML", Some(2))),
        (
            CONTINUE,
            "mcpServers:\n  - name: a\n  - name: b\n",
            ClientFileError::NotPlaceable,
        ),
        (
            CONTINUE,
            "mcpServers:\n  - name: a\nmodels: []\n",
            ClientFileError::NotPlaceable,
        ),
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

#[test]
fn a_file_of_continue_with_more_than_one_server_is_not_removed() {
    let two = "mcpServers:\n  - name: a\n  - name: b\n";
    assert_eq!(
        CONTINUE.remove(two, "a"),
        Err(ClientFileError::NotPlaceable)
    );
}

#[test]
fn a_file_with_nothing_but_a_comment_or_a_byte_order_mark_is_filled() {
    for (format, text) in [
        (JSON, "// mine\n"),
        (TOML, "# mine\n"),
        (GOOSE, "# mine\n"),
        (JSON, "\u{feff}"),
        (TOML, "\u{feff}# mine\r\n"),
        (GOOSE, "\u{feff}# mine\r\n"),
        (GOOSE, "extensions:\n"),
    ] {
        let after = format.insert(text, NAME, &fields()).unwrap();
        assert!(
            after.contains(text.trim_start_matches('\u{feff}')),
            "{after:?}"
        );
        assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        assert_eq!(format.entries(&after).unwrap().len(), 1, "{after:?}");
    }
}

/// Entries to which people have added fields of their own and comments.
const OWN_FIELDS: [(ClientFormat, &str); 4] = [
    (
        JSON,
        "{\"mcpServers\": {\"sectile-notes\": {\n  \"command\": \"/old\", // mine\n  \"args\": [\n    \"serve\", \"desk\", \"/n\"\n  ],\n  \"env\": {\"THEIRS\": \"1\"},\n  \"disabled\": true\n}}}\n",
    ),
    (
        TOML,
        "[mcp_servers.sectile-notes] # mine\ncommand = \"/old\" # mine\nargs = [\n  \"serve\", \"desk\", \"/n\"\n]\nstartup_timeout_sec = 20\n\n[mcp_servers.sectile-notes.env]\nTHEIRS = \"1\"\n",
    ),
    (
        GOOSE,
        "extensions:\n  sectile-notes:\n    command: /new\n    args: [serve, desk, /n] # mine\n    bundled: false\n",
    ),
    (
        CONTINUE,
        "# mine\nname: x\nmcpServers:\n  - command: /new\n    args: [serve, desk, /n]\n    cwd: /\n",
    ),
];

#[test]
fn what_people_have_added_to_the_entry_stays() {
    let arguments = ["serve", "desk", "/n"].map(str::to_owned).to_vec();
    let fields: EntryFields = vec![
        ("command".to_owned(), FieldValue::Text("/new".to_owned())),
        ("args".to_owned(), FieldValue::List(arguments)),
    ];
    for (format, before) in OWN_FIELDS {
        let after = format.insert(before, NAME, &fields).unwrap();
        assert_eq!(after, before.replace("/old", "/new"));
        let again = format.insert(&after, NAME, &fields).unwrap();
        assert_eq!(again, after, "a second time changes nothing");
    }
}

#[test]
fn an_entry_of_another_form_is_replaced_as_a_whole() {
    let url = |name: &str| (name.to_owned(), FieldValue::Text("https://x".to_owned()));
    for (format, text) in [
        (JSON, OWN_FIELDS[0].1),
        (TOML, OWN_FIELDS[1].1),
        (GOOSE, OWN_FIELDS[2].1),
    ] {
        let after = format.insert(text, NAME, &vec![url("url")]).unwrap();
        for field in ["command", "args", "THEIRS"] {
            assert!(!after.contains(field), "{field} is left in {after}");
        }
    }
}

#[test]
fn a_key_in_the_file_does_not_outlive_the_change_to_a_variable() {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let header = vec![("Authorization".to_owned(), text("Bearer k-1"))];
    let with_key = vec![
        ("url".to_owned(), text("https://x")),
        ("http_headers".to_owned(), FieldValue::Map(header)),
    ];
    let with_variable = vec![
        ("url".to_owned(), text("https://x")),
        ("bearer_token_env_var".to_owned(), text("KEY")),
    ];
    let first = TOML.insert("", NAME, &with_key).unwrap();
    let second = TOML.insert(&first, NAME, &with_variable).unwrap();
    assert!(!second.contains("k-1"), "{second}");
    let third = TOML.insert(&second, NAME, &with_key).unwrap();
    assert_eq!(third, first);
}
