//! `sectile config`: making, checking, showing and describing settings.

use serde_json::{Value, json};

use super::{Home, text};

#[test]
fn init_writes_a_file_that_changes_nothing_and_never_overwrites_one() {
    let home = Home::new();
    let ran = home.run(&["config", "init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("sectile config check sectile.toml"),
        "{ran:?}"
    );
    let written = home.read("sectile.toml");
    for line in written.lines() {
        assert!(
            line.is_empty() || line.starts_with('#') || line.starts_with('['),
            "{line}"
        );
    }
    assert_eq!(home.run(&["config", "check"]).code, Some(0));
    let shown = home.run(&["config", "show", "--config", "sectile.toml"]);
    assert_eq!(shown.stdout, home.run(&["config", "show"]).stdout);

    home.write("sectile.toml", "[log]\n");
    let ran = home.run(&["config", "init"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("exists already; nothing was changed"),
        "{ran:?}"
    );
    assert_eq!(home.read("sectile.toml"), "[log]\n");

    assert_eq!(home.run(&["config", "init", "other.toml"]).code, Some(0));
    assert_eq!(home.read("other.toml"), written);
    let ran = home.run(&["config", "init", "missing/sectile.toml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn every_default_that_init_shows_can_be_uncommented() {
    let home = Home::new();
    home.run(&["config", "init"]);
    let mut uncommented = 0;
    let mut file = String::new();
    for line in home.read("sectile.toml").lines() {
        let assignment = line.strip_prefix("# ").filter(|rest| {
            let name = rest.split(" = ").next().unwrap_or_default();
            rest.contains(" = ") && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        });
        uncommented += usize::from(assignment.is_some());
        file += &format!("{}\n", assignment.unwrap_or(line));
    }
    home.write("sectile.toml", &file);
    let ran = home.run(&["config", "check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows = rows(
        &home
            .run(&["config", "show", "--json", "--config", "sectile.toml"])
            .stdout,
    );
    assert_eq!(rows.len(), uncommented);
    for row in rows {
        assert_eq!(row["origin"], "sectile.toml", "{row}");
    }
}

fn rows(shown: &str) -> Vec<Value> {
    let rows: Vec<Value> = serde_json::from_str(shown).unwrap();
    assert!(rows.len() > 10, "{shown}");
    rows
}

/// Settings files that are wrong, and what is said of them.
const BAD: [(&str, &str); 10] = [
    (
        "[server.tools]\nallow_list = []\n",
        "sectile.toml, line 2, column 1: unknown setting `server.tools.allow_list`. Did you mean `server.tools.allowlist`?",
    ),
    (
        "[servr.tools]\nmode = 'filter'\n",
        "sectile.toml, line 1, column 2: unknown setting `servr`. Did you mean `server`?",
    ),
    (
        "[valt]\nroot = '.'\n",
        "sectile.toml, line 1, column 2: unknown setting `valt`. Did you mean `vault`?",
    ),
    (
        "zzzz = 1\n",
        "sectile.toml, line 1, column 1: unknown setting `zzzz`.",
    ),
    (
        "[log]\nlevel = 'loud'\n\nformat = 3\n",
        "sectile.toml, line 2, column 9: `log.level` must be one of off, error, warn, info, debug.\n\
         error: sectile.toml, line 4, column 10: `log.format` must be one of text, json.\n",
    ),
    (
        "[log]\nlevel = 'loud'\n",
        "sectile.toml, line 2, column 9: `log.level` must be one of off, error, warn, info, debug.",
    ),
    (
        "[server.limits]\nmax_in_flight = 0\n",
        "sectile.toml, line 2, column 17: `server.limits.max_in_flight` must be a whole number from 1 to 512.",
    ),
    (
        "[log]\n\nlevel = \n",
        "sectile.toml, line 3, column 9: not valid TOML: ",
    ),
    (
        "[server.http]\nbind = '0.0.0.0:80'\n",
        "sectile.toml, line 2, column 8: `server.http.bind` must be a loopback address with a port",
    ),
    (
        "[server.tools]\ndenylist = ['get_note_outlines']\n",
        "sectile.toml, line 2, column 13: `server.tools.denylist` names `get_note_outlines`, which no world has. \
         Did you mean `get_note_outline`?",
    ),
];

#[test]
fn check_says_what_is_wrong_and_what_was_meant() {
    let home = Home::new();
    for (settings, message) in BAD {
        home.write("sectile.toml", settings);
        let ran = home.run(&["config", "check"]);
        assert_eq!(ran.code, Some(1), "{settings}");
        let expected = format!("error: {message}");
        assert!(ran.stderr.starts_with(&expected), "{settings}: {ran:?}");
        assert_eq!(ran.stdout, "", "{settings}");
    }
    home.write("notes/one.md", "");
    for (root, code) in [("notes", 0), ("missing", 1), ("notes/one.md", 1)] {
        home.write("sectile.toml", &format!("[vault]\nroot = '{root}'\n"));
        let ran = home.run(&["config", "check"]);
        assert_eq!(ran.code, Some(code), "{root}: {ran:?}");
    }
    for (root, code) in [("notes", 0), ("notes/one.md", 0), ("missing", 1)] {
        home.write("sectile.toml", &format!("[editor]\nroot = '{root}'\n"));
        let ran = home.run(&["config", "check"]);
        assert_eq!(ran.code, Some(code), "{root}: {ran:?}");
        let said = ran.stderr.starts_with(
            "error: sectile.toml, line 2, column 8: `editor.root` (`missing`) cannot be used: ",
        );
        assert_eq!(said, code == 1, "{root}: {ran:?}");
    }
}

#[test]
fn a_section_that_is_no_table_is_not_called_unknown() {
    let home = Home::new();
    for (settings, section) in [
        ("vault = 3\n", "vault"),
        ("[server]\ntools = []\n", "server.tools"),
    ] {
        home.write("sectile.toml", settings);
        let ran = home.run(&["config", "check"]);
        assert_eq!(ran.code, Some(1), "{settings}");
        assert!(
            ran.stderr.contains(&format!("`{section}`")),
            "{settings}: {ran:?}"
        );
        assert!(
            !ran.stderr.contains("unknown setting"),
            "{settings}: {ran:?}"
        );
    }
}

#[test]
fn no_settings_error_prints_an_absolute_path() {
    let home = Home::new();
    let file = home.write("deep/folder/sectile.toml", "");
    let file = text(&file);
    let folder = home.path("");
    let assert_refused = |arguments: &[&str], environment: &[(&str, &str)], settings: &str| {
        let ran = home.run_with(arguments, environment);
        let case = format!("{arguments:?}, {settings:?}: {ran:?}");
        assert_eq!(ran.code, Some(1), "{case}");
        assert!(!ran.stdout.contains(text(&folder)), "{case}");
        assert!(!ran.stderr.contains(text(&folder)), "{case}");
    };
    let settings = BAD.iter().map(|(settings, _)| *settings);
    for settings in settings.chain(["\u{0}", "no file at all"]) {
        home.write("deep/folder/sectile.toml", settings);
        if settings == "no file at all" {
            std::fs::remove_file(file).unwrap();
        }
        for arguments in [
            &["config", "check", file][..],
            &["config", "show", "--config", file],
            &["serve", "vault", "--config", file],
            &["doctor", "--config", file],
        ] {
            assert_refused(arguments, &[], settings);
        }
        for arguments in [&["config", "show"][..], &["outline", "a.md"], &["doctor"]] {
            assert_refused(arguments, &[("SECTILE_CONFIG", file)], settings);
        }
    }
    let settings = "[vault]\nroot = 'missing'\n";
    home.write("deep/folder/sectile.toml", settings);
    for arguments in [
        &["config", "check", file][..],
        &["serve", "vault", "--config", file],
        &["doctor", "--config", file],
    ] {
        assert_refused(arguments, &[], settings);
    }
}

#[test]
fn show_tells_every_value_and_where_it_comes_from() {
    let home = Home::new();
    home.write(
        "sectile.toml",
        "[log]\nlevel = 'warn'\nformat = 'json'\n[server.tools]\ndenylist = ['get_note_outline']\n",
    );
    let environment = [
        ("SECTILE_LOG__LEVEL", "debug"),
        ("SECTILE_SERVER__LIMITS__MAX_WAITING", "7"),
        (
            "SECTILE_SERVER__AUTH__ALLOWED_TOOLS",
            "get_document_tree, get_section_source",
        ),
    ];
    let expected = [
        ("log.level", json!("debug"), "SECTILE_LOG__LEVEL"),
        ("log.format", json!("json"), "sectile.toml"),
        (
            "server.tools.denylist",
            json!(["get_note_outline"]),
            "sectile.toml",
        ),
        ("server.tools.mode", json!("filter"), "default"),
        (
            "server.limits.max_waiting",
            json!(7),
            "SECTILE_SERVER__LIMITS__MAX_WAITING",
        ),
        (
            "server.auth.allowed_tools",
            json!(["get_document_tree", "get_section_source"]),
            "SECTILE_SERVER__AUTH__ALLOWED_TOOLS",
        ),
        ("vault.max_note_bytes", json!(8_388_608), "default"),
    ];
    let by_flag = home.run_with(
        &["config", "show", "--json", "--config", "sectile.toml"],
        &environment,
    );
    let named = [&environment[..], &[("SECTILE_CONFIG", "sectile.toml")]].concat();
    let by_variable = home.run_with(&["config", "show", "--json"], &named);
    assert_eq!(by_flag.stdout, by_variable.stdout);
    let rows = rows(&by_flag.stdout);
    for (key, value, origin) in expected {
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        assert_eq!(row["value"], value, "{key}");
        assert_eq!(row["origin"], origin, "{key}");
        assert!(!row["description"].as_str().unwrap().is_empty(), "{key}");
    }
}

#[test]
fn a_variable_that_is_no_setting_is_refused() {
    let home = Home::new();
    for (name, message) in [
        ("SECTILE_LOG__LEVL", "Did you mean `SECTILE_LOG__LEVEL`?"),
        (
            "SECTILE_LOG__LEVEL",
            "must be one of off, error, warn, info, debug",
        ),
    ] {
        let ran = home.run_with(&["config", "show"], &[(name, "loud")]);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        assert!(
            ran.stderr.contains(name) && ran.stderr.contains(message),
            "{ran:?}"
        );
    }
}

#[test]
fn the_schema_describes_every_setting() {
    let home = Home::new();
    let schema: Value = serde_json::from_str(&home.run(&["config", "schema"]).stdout).unwrap();
    for row in rows(&home.run(&["config", "show", "--json"]).stdout) {
        let key = row["key"].as_str().unwrap();
        let pointer = format!("/properties/{}", key.replace('.', "/properties/"));
        let property = schema.pointer(&pointer);
        let property = property.unwrap_or_else(|| panic!("{key} is not in the schema"));
        assert!(property["description"].is_string(), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn unknown_variables_without_two_underscores_are_only_warned_about() {
    let home = Home::new();
    home.write("notes/a.md", "# A\n");
    let environment = [
        ("SECTILE_SERVICE_HOST", "10.0.0.7"),
        ("SECTILE_PORT", "tcp://10.0.0.7:7420"),
        ("SECTILE_LOG_LEVEL", "debug"),
    ];
    for arguments in [
        &["serve", "vault", "notes"][..],
        &["outline", "notes/a.md"],
        &["edit", "list", "notes/a.md"],
        &["config", "show"],
        &["doctor"],
    ] {
        let ran = home.run_with(arguments, &environment);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let warning = "variables that are not settings are ignored: SECTILE_LOG_LEVEL (did you mean SECTILE_LOG__LEVEL?), \
                       SECTILE_PORT, SECTILE_SERVICE_HOST";
        assert!(said.contains(warning), "{arguments:?}: {ran:?}");
        assert!(!said.contains("10.0.0.7"), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_tilde_is_expanded_in_settings_and_in_arguments() {
    let home = Home::new();
    std::fs::create_dir(home.path("home/notes")).unwrap();
    std::fs::write(home.path("home/notes/a.md"), "# A\n").unwrap();
    std::fs::write(home.path("home/set.toml"), "[vault]\nroot = '~/notes'\n").unwrap();
    for arguments in [
        &["config", "check", "~/set.toml"][..],
        &["config", "show", "--config=~/set.toml"],
        &["outline", "a.md", "--root=~/notes"],
        &["edit", "list", "a.md", "--root=~/notes"],
        &["edit", "list", "~/notes/a.md"],
        &["doctor", "--root=~/notes"],
        &["connect", "zed", "--root=~/notes"],
        &["serve", "vault", "~/notes"],
        &["serve", "vault", "--config=~/set.toml"],
        &["docs", "check", "--strict", "~/notes"],
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    }
    let named = [("SECTILE_CONFIG", "~/set.toml")];
    let ran = home.run_with(&["config", "show"], &named);
    assert!(ran.stdout.contains("# set.toml"), "{ran:?}");
    let ran = home.run(&["connect", "zed", "--root=~/notes"]);
    assert!(ran.stdout.contains("home/notes\""), "{ran:?}");
    std::fs::remove_dir_all(home.path("home/notes")).unwrap();
    let ran = home.run(&["config", "check", "~/set.toml"]);
    assert_eq!(
        ran.stderr,
        "error: set.toml, line 2, column 8: `vault.root` (`~/notes`) cannot be used: the folder does not exist.\n"
    );
    // Only a path is: text is taken as it is.
    home.write("b.md", "# B\n");
    let update = ["edit", "update", "b.md", "B", "--content=~/x"];
    assert_eq!(home.run(&update).code, Some(0));
    assert_eq!(home.read("b.md"), "# B\n\n~/x\n");
}

#[test]
fn a_file_that_settings_name_and_that_is_missing_is_said_in_plain_words() {
    let home = Home::new();
    home.write("sectile.toml", "[server.auth]\nkeys_file = 'keys.toml'\n");
    let ran = home.run(&["config", "check"]);
    assert_eq!(
        ran.stderr,
        "error: sectile.toml, line 2, column 13: `server.auth.keys_file` must be a readable file (it does not exist).\n"
    );
}

#[test]
fn the_folders_of_all_worlds_are_checked_at_once() {
    let home = Home::new();
    home.write(
        "sectile.toml",
        "[vault]\nroot = 'a'\n[editor]\nroot = 'b'\n[notebook]\nroot = 'c'\n",
    );
    let ran = home.run(&["config", "check"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for (line, said) in [
        (2, "`vault.root` (`a`)"),
        (4, "`editor.root` (`b`)"),
        (6, "`notebook.root` (`c`)"),
    ] {
        let expected =
            format!("error: sectile.toml, line {line}, column 8: {said} cannot be used: ");
        assert!(ran.stderr.contains(&expected), "{ran:?}");
    }
}

#[test]
fn a_path_in_the_file_that_a_variable_names_counts_from_that_file() {
    let home = Home::new();
    home.write("notes/a.md", "# A\n\nx\n");
    home.write("etc/sectile.toml", "[editor]\nkey_file = 'key'\n");
    let environment = [("SECTILE_CONFIG", "etc/sectile.toml")];
    let update = ["edit", "update", "notes/a.md", "A", "--content", "y"];
    assert_eq!(home.run_with(&update, &environment).code, Some(0));
    assert!(home.path("work/etc/key").is_file());
    assert!(!home.path("work/key").exists());
}

#[test]
fn settings_with_line_ends_of_windows_are_read_and_their_mistakes_have_the_right_line() {
    let home = Home::new();
    home.write("notes/plan.md", "# Plan\n\nboat\n");
    let settings = "# mine\r\n[desk]\r\nroot = \"notes\"\r\n\r\n[log]\r\nlevel = \"warn\"\r\n";
    home.write("sectile.toml", settings);
    let ran = home.run(&["config", "check", "sectile.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = home.run_with(&["search", "boat"], &[("SECTILE_CONFIG", "sectile.toml")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("plan.md"), "{ran:?}");
    home.write("sectile.toml", &settings.replace("warn", "loud"));
    let ran = home.run(&["config", "check", "sectile.toml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("sectile.toml, line 6, column 9"),
        "{ran:?}"
    );
}
