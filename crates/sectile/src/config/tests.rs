//! Settings from every layer, and the messages about bad ones.

use std::path::{Path, PathBuf};

use super::{layers::load_with, *};
use crate::{
    settings::{FilePosition, ValueOrigin},
    worlds::docs::corpus::DocRole,
};

struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sectile.toml");
    crate::files::create_new(&path, text).unwrap();
    File {
        _folder: folder,
        path,
    }
}

fn resolve(text: &str, environment: &[(&str, &str)]) -> Result<Settings, String> {
    let file = file(text);
    let environment: Vec<_> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let loaded =
        load_with(Some(&file.path), &environment, &[]).map_err(|error| error.to_string())?;
    Settings::resolve(&loaded, Path::new("base")).map_err(|error| error.to_string())
}

/// Checks the message about a settings file, but not its position, which [`check_error_at`] does.
#[track_caller]
fn check_error(text: &str, expected: &str) {
    let said = resolve(text, &[]).err().expect("an error");
    let (place, rest) = said.split_once(": ").expect("a place");
    assert!(place.starts_with("sectile.toml, line "), "{said}");
    assert_eq!(format!("sectile.toml: {rest}"), expected);
}

/// Checks the message about a settings file, with its line and column.
#[track_caller]
fn check_error_at(text: &str, (line, column): (usize, usize), expected: &str) {
    let said = resolve(text, &[]).err().expect("an error");
    let place = format!("sectile.toml, line {line}, column {column}");
    assert_eq!(said, format!("{place}: {expected}"));
}

#[test]
fn every_key_can_be_set_and_read_back() {
    for key in keys() {
        let loaded = load_with(None, &[], &[]).unwrap();
        assert_eq!(loaded.value(&key), key.default.to_string(), "{}", key.path);
        assert!(
            !key.description.is_empty(),
            "{} has no description",
            key.path
        );
        let (section, name) = key.path.rsplit_once('.').unwrap();
        let file = file(&format!("[{section}]\n{name} = {}\n", key.default));
        let loaded = load_with(Some(&file.path), &[], &[]).unwrap();
        assert_eq!(
            loaded.origin(&key.path),
            ValueOrigin::File(FilePosition {
                file: "sectile.toml".to_owned(),
                line: 2,
                column: name.chars().count() + " = ".len() + 1,
            }),
            "{}",
            key.path
        );
    }
}

#[test]
fn later_layers_win_and_origins_are_remembered() {
    let file = file("[log]\nlevel = \"warn\"\nformat = \"json\"\n");
    let environment = [("SECTILE_LOG__LEVEL".to_owned(), "debug".to_owned())];
    let flags = [Flag {
        key: "vault.root",
        value: "notes".to_owned(),
        name: "PATH",
    }];
    let loaded = load_with(Some(&file.path), &environment, &flags).unwrap();
    assert_eq!(
        (loaded.raw.log.level, loaded.raw.log.format),
        (LogLevel::Debug, LogFormat::Json)
    );
    assert_eq!(loaded.origin("log.level").to_string(), "SECTILE_LOG__LEVEL");
    assert_eq!(loaded.origin("log.format").to_string(), "sectile.toml");
    assert_eq!(loaded.origin("vault.root").to_string(), "PATH");
    assert_eq!(loaded.origin("vault.max_note_bytes"), ValueOrigin::Default);
}

#[test]
fn a_root_in_a_file_counts_from_the_file() {
    let settings = resolve("[vault]\nroot = \"notes\"\n", &[]).unwrap();
    assert_eq!(
        settings.worlds.vault.root,
        Some(Path::new("base").join("notes"))
    );
    let settings = resolve("", &[("SECTILE_VAULT__ROOT", "notes")]).unwrap();
    assert_eq!(settings.worlds.vault.root, Some(PathBuf::from("notes")));
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    check_error(
        "[server.tools]\nallow_list = []\n",
        "sectile.toml: unknown setting `server.tools.allow_list`. Did you mean `server.tools.allowlist`?",
    );
    check_error(
        "[servr]\nx = 1\n",
        "sectile.toml: unknown setting `servr`. Did you mean `server`?",
    );
    let error = resolve("", &[("SECTILE_LOG__LEVL", "info")])
        .err()
        .expect("an error");
    assert_eq!(
        error,
        "environment: unknown setting `SECTILE_LOG__LEVL`. Did you mean `SECTILE_LOG__LEVEL`?"
    );
}

#[test]
fn unknown_names_in_policies_are_refused_with_a_suggestion() {
    check_error(
        "[server.tools]\ndenylist = [\"get_note_outlines\"]\n",
        "sectile.toml: `server.tools.denylist` names `get_note_outlines`, which no world has. Did you mean \
         `get_note_outline`?",
    );
    check_error(
        "[server.auth]\nallowed_tools = [\"valt/get_note_outline\"]\n",
        "sectile.toml: `server.auth.allowed_tools` names `valt/get_note_outline`, which no world has. Did you mean \
         `vault/get_note_outline`?",
    );
    assert!(
        resolve(
            "[server.tools]\nallowlist = [\"vault/get_note_outline\"]\n",
            &[]
        )
        .is_ok()
    );
}

#[test]
fn wrong_values_are_refused() {
    check_error(
        "[log]\nlevel = \"loud\"\n",
        "sectile.toml: `log.level` must be one of off, error, warn, info, debug.",
    );
    check_error(
        "[server.limits]\nmax_in_flight = 0\n",
        "sectile.toml: `server.limits.max_in_flight` must be a whole number from 1 to 512.",
    );
    check_error(
        "[server.tools]\nallowlist = [1]\n",
        "sectile.toml: `server.tools.allowlist` must be a list of strings.",
    );
    check_error_at(
        "[log\n",
        (1, 5),
        "not valid TOML: unclosed table, expected `]`.",
    );
    let error = resolve("[server.http]\nbind = \"0.0.0.0:80\"\n", &[])
        .err()
        .expect("an error");
    assert!(
        error.starts_with(
            "sectile.toml, line 2, column 8: `server.http.bind` must be a loopback address"
        ),
        "{error}"
    );
}

#[test]
fn shares_follow_from_what_there_is_unless_they_are_named() {
    let limits = |text: &str| {
        let text = format!("[server.limits]\n{text}\n");
        let limits = resolve(&text, &[]).expect("good settings").limits;
        (
            limits.max_in_flight_per_caller,
            limits.max_waiting_per_caller,
        )
    };
    assert_eq!(limits(""), (16, 128));
    assert_eq!(limits("max_in_flight = 1\nmax_waiting = 0"), (1, 0));
    assert_eq!(limits("max_in_flight = 10\nmax_waiting = 10"), (3, 2));
    assert_eq!(limits("max_in_flight_per_caller = 40"), (40, 128));
    assert_eq!(limits("max_in_flight_per_caller = 100"), (64, 128));
    let connections = |text: &str| {
        let text = format!("[server.http]\n{text}\n");
        let front = resolve(&text, &[]).expect("good settings").front;
        front.max_connections_per_address
    };
    assert_eq!(connections(""), 1024);
    assert_eq!(connections("max_connections = 200"), 50);
    assert_eq!(connections("max_connections = 3"), 16);
    assert_eq!(connections("max_connections_per_address = 5"), 5);
    check_error(
        "[server.limits]\nmax_in_flight_per_caller = 513\n",
        "sectile.toml: `server.limits.max_in_flight_per_caller` must be a whole number from 0 to 512.",
    );
}

#[test]
fn documents_are_a_list_of_tables() {
    let settings = resolve(
        "[docs]\nextra_paths = [\"guides\", \"/abs\"]\nnamespace = \"decision-gate\"\n\
         [[docs.documents]]\npath = \"a.md\"\nslug = \"first\"\nrole = \"decision\"\n\
         [[docs.documents]]\npath = \"b.md\"\ntitle = \"B\"\ndescription = \"About b.\"\n",
        &[("SECTILE_DOCS__MAX_DOCS", "7")],
    )
    .unwrap()
    .worlds
    .docs;
    assert_eq!(
        (
            settings.written.max_docs,
            settings.written.namespace.as_str()
        ),
        (7, "decision-gate")
    );
    assert_eq!(
        settings.extra_paths[0].location,
        Path::new("base").join("guides")
    );
    assert_eq!(settings.extra_paths[1].location, Path::new("/abs"));
    let [first, second] = settings.documents.as_slice() else {
        panic!("{settings:?}");
    };
    assert_eq!(first.path.written, "a.md");
    assert_eq!(first.path.location, Path::new("base").join("a.md"));
    assert_eq!(
        (first.slug.as_deref(), first.role, &first.title),
        (Some("first"), DocRole::Decision, &None)
    );
    assert_eq!(
        (second.title.as_deref(), second.description.as_deref()),
        (Some("B"), Some("About b."))
    );
    assert_eq!((&second.slug, second.role), (&None, DocRole::Pattern));
}

#[test]
fn paths_of_documents_from_a_variable_count_from_the_current_folder() {
    let settings = resolve("", &[("SECTILE_DOCS__EXTRA_PATHS", "a, b/c.md")])
        .unwrap()
        .worlds
        .docs;
    let locations: Vec<&Path> = settings
        .extra_paths
        .iter()
        .map(|path| path.location.as_path())
        .collect();
    assert_eq!(locations, [Path::new("a"), Path::new("b/c.md")]);
}

#[test]
fn a_root_moves_the_paths_of_the_settings_file_and_no_others() {
    let text = "[docs]\nroot = \"checkout\"\nextra_paths = [\"guides\", \"/abs\"]\n\
                [[docs.documents]]\npath = \"a.md\"\n";
    let located = |variables: &[(&str, &str)]| {
        let docs = resolve(text, variables).unwrap().worlds.docs;
        let extra = docs.extra_paths.into_iter().map(|path| path.location);
        let listed = docs.documents.into_iter().map(|one| one.path.location);
        extra.chain(listed).collect::<Vec<_>>()
    };
    let paths = |paths: [&str; 3]| paths.map(std::path::PathBuf::from).to_vec();
    assert_eq!(
        located(&[]),
        paths(["base/checkout/guides", "/abs", "base/checkout/a.md"])
    );
    // A path in a variable is relative to the current folder.
    assert_eq!(
        located(&[("SECTILE_DOCS__ROOT", "other")]),
        paths(["other/guides", "/abs", "other/a.md"])
    );
    assert_eq!(
        located(&[("SECTILE_DOCS__EXTRA_PATHS", "x, y")]),
        paths(["x", "y", "base/checkout/a.md"])
    );
}

#[test]
fn wrong_settings_of_docs_are_refused() {
    for (text, expected) in [
        (
            "[docs]\nmax_docz = 5\n",
            "unknown setting `docs.max_docz`. Did you mean `docs.max_docs`?",
        ),
        (
            "[docs]\nmax_sections = 11\n",
            "`docs.max_sections` must be a whole number from 1 to 10.",
        ),
        (
            "[docs]\nextra_paths = [\"\"]\n",
            "`docs.extra_paths` must be a list of at most 64 paths, none of them empty.",
        ),
        (
            "[docs]\ndocuments = [\"a.md\"]\n",
            "`docs.documents` must be a list of tables in the settings file, each headed [[docs.documents]].",
        ),
        (
            "[docs.documents]\npath = \"a.md\"\n",
            "`docs.documents` must be a list of tables in the settings file, each headed [[docs.documents]].",
        ),
        (
            "[[docs.documents]]\npath = \"a.md\"\ntitel = \"A\"\n",
            "unknown setting `docs.documents.titel`. Did you mean `docs.documents.title`?",
        ),
        (
            "[[docs.documents]]\npath = \"a.md\"\n[[docs.documents]]\npath = \"b.md\"\nrole = \"recipe\"\n",
            "`docs.documents.role` must be one of reasoning, decision, ontology, pattern (table 2).",
        ),
        (
            "[[docs.documents]]\npath = 1\n",
            "`docs.documents.path` must be a string in quotes (table 1).",
        ),
        (
            "[[docs.documents]]\nslug = \"a\"\n",
            "`docs.documents.path` must be given, relative to docs.root (table 1).",
        ),
        (
            "[[docs.documents]]\npath = \"a.md\"\nslug = \"A b\"\n",
            "`docs.documents.slug` must be 1 to 64 lower-case letters, digits and hyphens, starting with a letter or a \
             digit (table 1).",
        ),
    ] {
        check_error(text, &format!("sectile.toml: {expected}"));
    }
    let many = vec!["\"a\""; 65].join(",");
    check_error(
        &format!("[docs]\nextra_paths = [{many}]\n"),
        "sectile.toml: `docs.extra_paths` must be a list of at most 64 paths, none of them empty.",
    );
    let error = resolve("", &[("SECTILE_DOCS__DOCUMENTS", "a.md")])
        .err()
        .expect("an error");
    assert_eq!(
        error,
        "SECTILE_DOCS__DOCUMENTS: `docs.documents` must be a list of tables in the settings file, each headed [[docs.documents]]."
    );
}

#[test]
fn a_namespace_is_a_name_that_tools_and_uris_can_carry() {
    for (namespace, right) in [
        ("sectile", true),
        ("decision-gate", true),
        ("d2", true),
        ("abcdefghijklmnopqrstuvwxyz-12345", true),
        ("abcdefghijklmnopqrstuvwxyz-123456", false),
        ("", false),
        ("2d", false),
        ("-a", false),
        ("a-", false),
        ("a--b", false),
        ("a_b", false),
        ("Sectile", false),
        ("é", false),
    ] {
        let settings = resolve(&format!("[docs]\nnamespace = \"{namespace}\"\n"), &[]);
        assert_eq!(settings.is_ok(), right, "{namespace}");
    }
}

#[test]
fn a_missing_file_is_named_without_its_folder() {
    let error = load_with(Some(Path::new("/nowhere/at/all/sectile.toml")), &[], &[])
        .expect_err("there is none");
    assert_eq!(
        error.to_string(),
        "sectile.toml: the settings file does not exist. Create one with `sectile config init`."
    );
}

#[test]
fn the_folder_of_the_notebooks_has_two_names() {
    let root = |text: &str| resolve(text, &[]).unwrap().worlds.notebook.root;
    let expected = Some(Path::new("base").join("x"));
    assert_eq!(root(""), None);
    assert_eq!(root("[notebook]\nroot = \"x\"\n"), expected);
    assert_eq!(
        root("[notebook.notebook_storage]\ntype = \"filesystem\"\npath = \"x\"\n"),
        expected
    );
    assert_eq!(
        root(
            "[notebook]\nroot = \"x\"\n[notebook.notebook_storage]\npath = \"x\"\n\
              [notebook.artifact_storage]\npath = \"x\"\n"
        ),
        expected
    );
}

#[test]
fn wrong_settings_of_notebook_are_refused() {
    for (text, expected) in [
        (
            "[notebook.notebook_storage]\ntype = \"s4\"\n",
            "`notebook.notebook_storage.type` must be filesystem, s3 or supabase.",
        ),
        (
            "[notebook.notebook_storage]\ntype = \"s3\"\npath = \"/x\"\n",
            "`notebook.notebook_storage.path` must be a bucket: `bucket`, or `bucket/folder`.",
        ),
        (
            "[notebook.notebook_storage]\ntype = \"s3\"\npath = \"bucket\"\n",
            "`notebook.notebook_storage.path` must be a usable bucket (there is neither an endpoint nor a region).",
        ),
        (
            "[notebook]\nroot = \"x\"\n[notebook.notebook_storage]\ntype = \"s3\"\npath = \"bucket\"\n",
            "`notebook.root` must be empty when notebook.notebook_storage.type is s3.",
        ),
        (
            "[notebook.vector_storage]\ntype = \"abacus\"\n",
            "`notebook.vector_storage.type` must be embedded, pgvector, s3, pinecone or weaviate.",
        ),
        (
            "[notebook.vector_storage]\ntype = \"pinecone\"\nurl = \"storage.test\"\n",
            "`notebook.vector_storage.url` must be the address of a usable pinecone service (the address is not https://host).",
        ),
        (
            "[notebook.vector_storage]\ntype = \"pinecone\"\nurl = \"https://storage.test\"\n",
            "`notebook.vector_storage.url` must be the address of a usable pinecone service (there is no API key).",
        ),
        (
            "[notebook.vector_storage]\ntype = \"weaviate\"\nurl = \"http://storage.test\"\n",
            "`notebook.vector_storage.url` must be the address of a usable weaviate service (the address is not encrypted, and allow_http is not set).",
        ),
        (
            "[notebook.vector_storage]\ntype = \"weaviate\"\nurl = \"https://storage.test\"\nconnection = \"x\"\n",
            "`notebook.vector_storage.connection` must be empty for weaviate, whose address is in `url`.",
        ),
        (
            "[notebook.vector_storage]\nurl = \"https://storage.test\"\n",
            "`notebook.vector_storage.url` must be empty for embedded, which is not a service.",
        ),
        (
            "[notebook.vector_storage]\ntype = \"s3\"\npath = \"/x\"\n",
            "`notebook.vector_storage.path` must be a bucket: `bucket`, or `bucket/folder`.",
        ),
        (
            "[notebook.vector_storage]\ntype = \"s3\"\npath = \"b\"\nconnection = \"postgres://c/d\"\n",
            "`notebook.vector_storage.connection` must be empty for s3, which needs no database.",
        ),
        (
            "[notebook.vector_storage]\npath = \"b\"\n",
            "`notebook.vector_storage.path` must be empty unless notebook.vector_storage.type is s3.",
        ),
        #[cfg(feature = "backends")]
        (
            "[notebook.vector_storage]\ntype = \"pgvector\"\nconnection = \"postgres://a:b@c/d\"\n",
            "`notebook.vector_storage.connection` must be like postgres://user@host:5432/database, without a password (it has a password).",
        ),
        (
            "[notebook.artifact_storage]\ntype = \"tape\"\n",
            "`notebook.artifact_storage.type` must be filesystem or s3.",
        ),
        (
            "[notebook.vector_storage]\nconnection = \"postgres://\"\n",
            "`notebook.vector_storage.connection` must be empty for embedded vectors, which are stored with the indexes.",
        ),
        (
            "[notebook]\nroot = \"x\"\n[notebook.notebook_storage]\npath = \"y\"\n",
            "`notebook.notebook_storage.path` must be empty when notebook.root is set: both name the folder of the collections.",
        ),
        (
            "[notebook.constraints]\nmax_search_results = 51\n",
            "`notebook.constraints.max_search_results` must be a whole number from 1 to 50.",
        ),
    ] {
        check_error(text, &format!("sectile.toml: {expected}"));
    }
}

#[test]
fn all_mistakes_are_said_at_once_each_with_its_line_and_column() {
    let file = file(
        "foo = 1\n[vault]\nrot = \"x\"\n[editor]\nroot = 5\nexclude = [\"a\", \"[\"]\n[log]\nlevel = \"loud\"\n\
         [server.http]\nbind = \"0.0.0.0:80\"\npublic_url = \"x\"\n[server.tools]\n\
         denylist = [\"get_note_outline\",\n  \"get_note_outlines\", \"é\", \"undoo\"]\n\
         [[docs.documents]]\npath = \"a.md\"\n[[docs.documents]]\npath = 1\ntitel = \"x\"\n\
         [notebook.notebook_storage]\ntype = \"s4\"\n[notebook.vector_storage]\ntype = \"tape\"\n",
    );
    let environment = [("SECTILE_LOG__FORMAT".to_owned(), "xml".to_owned())];
    let loaded = load_with(Some(&file.path), &environment, &[]).unwrap();
    let settings = Settings::resolve(&loaded, Path::new(""));
    let error = settings.err().expect("mistakes");
    let place = |said: &String| said.split(": ").next().unwrap_or_default().to_owned();
    let places: Vec<String> = error.texts().iter().map(place).collect();
    let expected = [
        (1, 1),
        (3, 1),
        (5, 8),
        (6, 17),
        (8, 9),
        (10, 8),
        (11, 14),
        (14, 3),
        (14, 24),
        (14, 29),
        (18, 8),
        (19, 1),
        (21, 8),
        (23, 8),
    ];
    let expected = expected
        .iter()
        .map(|(line, column)| format!("sectile.toml, line {line}, column {column}"))
        .chain(["SECTILE_LOG__FORMAT".to_owned()]);
    assert_eq!(places, expected.collect::<Vec<_>>(), "{error}");
}

#[test]
fn a_mistake_is_not_said_a_second_time_for_what_follows_from_it() {
    check_error_at(
        "[server.http]\nbind = \"0.0.0.0:80\"\n[server.auth]\nkeys_file = 5\n",
        (4, 13),
        "`server.auth.keys_file` must be a string in quotes.",
    );
    check_error_at(
        "[docs]\nnamespace = 5\n",
        (2, 13),
        "`docs.namespace` must be a string in quotes.",
    );
}

#[test]
fn every_line_that_is_not_toml_is_named() {
    let error = resolve("[log]\nlevel = \n\n[vault]\nroot == \"x\"\n", &[]);
    let error = error.err().expect("an error");
    for line in [2, 5] {
        let place = format!("sectile.toml, line {line}, column ");
        assert_eq!(error.matches(&place).count(), 1, "{error}");
    }
}

#[test]
fn more_mistakes_than_anybody_reads_are_counted() {
    let text: String = (0..150).map(|key| format!("key{key} = 1\n")).collect();
    let file = file(&text);
    let error = load(Some(&file.path), &[]).expect_err("nothing is known");
    let texts = error.texts();
    assert_eq!(texts.len(), 101);
    assert_eq!(texts[100], "There are 50 more mistakes.");
}

#[test]
fn unknown_variables_without_two_underscores_are_only_warned_about() {
    let kubernetes = [
        "SECTILE_PORT",
        "SECTILE_PORT_7420_TCP_ADDR",
        "SECTILE_SERVICE_HOST",
        "SECTILE__A_SERVICE_HOST",
        "SECTILE_LOG_LEVEL",
    ];
    let environment: Vec<(String, String)> = kubernetes
        .iter()
        .map(|name| ((*name).to_owned(), "secret".to_owned()))
        .collect();
    let loaded = load_with(None, &environment, &[]).unwrap();
    let settings = Settings::resolve(&loaded, Path::new(""));
    assert!(settings.is_ok());
    let warning = loaded.warning().unwrap();
    assert_eq!(
        warning,
        "variables that are not settings are ignored: SECTILE_PORT, SECTILE_PORT_7420_TCP_ADDR, SECTILE_SERVICE_HOST, \
         SECTILE__A_SERVICE_HOST, SECTILE_LOG_LEVEL (did you mean SECTILE_LOG__LEVEL?)"
    );
    assert_eq!(load_with(None, &[], &[]).unwrap().warning(), None);
}

#[test]
fn a_tilde_in_a_path_is_the_home_folder() {
    let home = home_folder().expect("a home folder");
    let text = "[vault]\nroot = \"~/notes\"\n[editor]\nroot = \"~\"\nkey_file = \"~/key\"\n\
                [docs]\nroot = \"~/checkout\"\nextra_paths = [\"guides\", \"~/more\"]\n\
                [notebook]\nroot = \"~other/x\"\nindex = \"~/index\"\n";
    let settings = resolve(text, &[]).unwrap();
    assert_eq!(settings.worlds.vault.root, Some(home.join("notes")));
    assert_eq!(settings.worlds.editor.root, Some(home.clone()));
    assert_eq!(settings.worlds.editor.key_file, Some(home.join("key")));
    let extra = settings
        .worlds
        .docs
        .extra_paths
        .iter()
        .map(|path| &path.location);
    assert_eq!(
        extra.collect::<Vec<_>>(),
        [&home.join("checkout/guides"), &home.join("more")]
    );
    // No names are known for the others.
    let other = Path::new("base").join("~other/x");
    assert_eq!(settings.worlds.notebook.root, Some(other));
    assert_eq!(settings.worlds.notebook.index, Some(home.join("index")));
    let settings = resolve("", &[("SECTILE_VAULT__ROOT", "~/notes")]).unwrap();
    assert_eq!(settings.worlds.vault.root, Some(home.join("notes")));
}

#[test]
fn a_value_is_shown_as_json_of_its_kind() {
    let file = file(
        "[log]\nlevel = \"warn\"\n[server.tools]\ndenylist = [\"undo\"]\n[docs]\nenabled = false\n",
    );
    let loaded = load_with(Some(&file.path), &[], &[]).unwrap();
    let value = |path: &str| {
        let keys = keys();
        let key = keys.iter().find(|key| key.path == path).unwrap();
        loaded.json_value(key)
    };
    assert_eq!(value("log.level"), "warn");
    assert_eq!(value("server.http.bind"), "127.0.0.1:7420");
    assert_eq!(value("server.tools.denylist"), serde_json::json!(["undo"]));
    assert_eq!(value("docs.enabled"), false);
    assert_eq!(value("server.limits.max_waiting"), 1024);
}

#[test]
fn roots_of_the_desk_have_names_and_rules() {
    let desk = resolve(
        "[desk.roots]\nwork = \"notes/work\"\n[desk.roots.home]\npath = \"/home\"\nread = [\"a/\", \"b/\"]\nwrite = [\"a/\"]\n\
         hide = [\"a/private/\"]\n",
        &[("SECTILE_DESK__CACHE", "cached")],
    )
    .unwrap()
    .worlds
    .desk;
    let [home, work] = desk.roots.as_slice() else {
        panic!("{desk:?}");
    };
    assert_eq!((home.name.as_str(), work.name.as_str()), ("home", "work"));
    assert_eq!(home.location, Path::new("/home"));
    assert_eq!(home.read, ["a/", "b/"]);
    assert_eq!(home.write, ["a/"]);
    assert_eq!(home.hide, ["a/private/"]);
    assert_eq!(work.location, Path::new("base/notes/work"));
    assert!(work.read.is_empty() && work.write.is_empty() && work.hide.is_empty());
    assert_eq!(desk.cache.as_deref(), Some(Path::new("cached")));
    assert_eq!(desk.root, None);
}

#[test]
fn wrong_roots_of_the_desk_are_refused() {
    for (text, position, expected) in [
        (
            "[desk.roots]\nwork = 1\n",
            (2, 8),
            "`desk.roots.work` must be a string in quotes, or a table headed [desk.roots.work].",
        ),
        (
            "[desk.roots]\nwork = \"\"\n",
            (2, 8),
            "`desk.roots.work` must be the path of a folder.",
        ),
        (
            "[desk.roots]\nWork = \"a\"\n",
            (2, 8),
            "`desk.roots.Work` must be named with 1 to 32 lower-case letters, digits, - and _.",
        ),
        (
            "[desk.roots.work]\nhide = [\"a\"]\n",
            (1, 1),
            "`desk.roots.work` must be a table with the path of a folder in `path`.",
        ),
        (
            "[desk.roots.work]\npath = \"a\"\nhide = \"a\"\n",
            (3, 8),
            "`desk.roots.work.hide` must be a list of strings.",
        ),
        (
            "[desk.roots.work]\npath = \"a\"\nhid = [\"a\"]\n",
            (3, 1),
            "unknown setting `desk.roots.work.hid`. Did you mean `hide`?",
        ),
        (
            "[desk.roots.work]\npath = \"a\"\nhide = [\"a\", \"{\"]\n",
            (3, 14),
            "`desk.roots.work.hide` has the pattern `{`, which is not valid. Write it as in a .gitignore file.",
        ),
        (
            "[desk]\nroot = \"a\"\n[desk.roots]\nwork = \"b\"\n",
            (2, 8),
            "`desk.root` must be empty when desk.roots names folders.",
        ),
        (
            "[desk]\nroots = [\"a\"]\n",
            (2, 9),
            "`desk.roots` must be strings or tables, each with a name of your choice in the settings file, in the section \
             [desk.roots].",
        ),
    ] {
        check_error_at(text, position, expected);
    }
    let many: String = (0..33)
        .map(|number| format!("r{number} = \"a\"\n"))
        .collect();
    check_error(
        &format!("[desk.roots]\n{many}"),
        "sectile.toml: `desk.roots` must be at most 32 folders.",
    );
    let said = resolve("", &[("SECTILE_DESK__ROOTS", "a")]).err();
    assert!(said.is_some_and(|said| said.contains("SECTILE_DESK__ROOTS")));
}
