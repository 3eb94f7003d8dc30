//! The desk from a shell: the same words as its tools, for people, for `grep` and for scripts.

use serde_json::Value;

use super::{Home, text};

const PLAN: &str = "---\nstatus: draft\n---\n# Plan\n\nSee [[Winter feed]].\n\n## Budget\n\nThe pilot costs 350 a day.\n\n\
                    - [ ] Ask the insurer\n";
const FEED: &str = "# Winter feed\n\nHay, see [[plan#Budget]].\n";

/// A vault of Obsidian in the working folder.
fn vault() -> Home {
    let home = Home::new();
    std::fs::create_dir(home.path("work/.obsidian")).unwrap();
    home.write("projects/plan.md", PLAN);
    home.write("Winter feed.md", FEED);
    home
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let ran = home.run(&[arguments, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_day_at_the_desk() {
    let home = vault();
    let ran = home.run(&["search", "what", "does", "the", "pilot", "cost"]);
    let line = ran.stdout.lines().next().unwrap();
    assert!(line.starts_with("projects/plan.md#budget-"), "{ran:?}");
    assert!(line.contains("350 a day"), "{ran:?}");
    let ran = home.run(&["search", "is:task", "path:projects/"]);
    assert!(ran.stdout.contains("Ask the insurer"), "{ran:?}");
    let ran = home.run(&["edit", "plan#Budget", "--old", "350", "--new", "400"]);
    assert!(
        ran.stdout.contains("+The pilot costs 400 a day.\n"),
        "{ran:?}"
    );
    let ran = home.run(&["rename", "plan#Budget", "Costs"]);
    assert!(ran.stdout.contains("1 link repaired"), "{ran:?}");
    assert!(home.read("Winter feed.md").contains("[[plan#Costs]]"));
    let ran = home.run(&["links", "plan"]);
    assert!(ran.stdout.contains("Winter feed.md#"), "{ran:?}");
    let ran = home.run(&["rename", "projects/", "archive/old/"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(home.read("archive/old/plan.md").contains("400"));
    let ran = home.run(&["undo"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(home.read("projects/plan.md").contains("## Costs"));
    let changes = json(&home, &["changes"]);
    assert_eq!(changes["changes"].as_array().unwrap().len(), 4, "{changes}");
    let ran = home.run(&[
        "set",
        "plan",
        "status=agreed",
        "tags=[a, b]",
        "due=2026-12-01",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let plan = home.read("projects/plan.md");
    for line in ["status: agreed\n", "due: 2026-12-01\n"] {
        assert!(plan.contains(line), "{plan}");
    }
    let ran = home.run(&[
        "create",
        "inbox/new.md",
        "--text",
        "# New\n",
        "--field",
        "status=draft",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        home.read("inbox/new.md"),
        "---\nstatus: draft\n---\n\n# New\n"
    );
    let ran = home.run(&["delete", "inbox/new.md"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!home.path("work/inbox/new.md").exists());
}

/// Relative, absolute and `~` paths, names and links lead to the same section, in every folder.
#[test]
fn ids_are_what_people_type() {
    let home = vault();
    let absolute = home.path("work/projects/plan.md");
    let expected = home.run(&["fetch", "projects/plan.md#Budget"]);
    assert!(
        expected.stdout.contains("The pilot costs 350 a day."),
        "{expected:?}"
    );
    for id in [
        "./projects/plan.md#Budget",
        &format!("{}#Budget", text(&absolute)),
        "plan#Budget",
        "[[Plan#budget]]",
        "PLAN#Budget",
    ] {
        let ran = home.run(&["fetch", id]);
        assert_eq!(ran.stdout, expected.stdout, "{id}: {ran:?}");
    }
    let below = home
        .command()
        .current_dir(home.path("work/projects"))
        .args(["fetch", "plan.md#Budget"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(below.stdout).unwrap(), expected.stdout);
    let ran = home.run(&["edit", "get", "Winter feed"]);
    assert_eq!(ran.stdout, FEED, "{ran:?}");
    let ran = home.run(&["edit", "get", "plan#Budget"]);
    assert!(ran.stdout.starts_with("The pilot"), "{ran:?}");
    let ran = home.run(&["fetch", "Winter fed"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("Winter feed.md"), "{ran:?}");
}

/// A whole home folder is read only if it is named.
#[test]
fn a_note_in_the_home_folder_does_not_make_all_of_it_a_desk() {
    let home = Home::new();
    let note = home.path("home/todo.md");
    std::fs::write(&note, "# Todo\n").unwrap();
    let ran = home.run(&["fetch", text(&note)]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("your whole home folder"), "{ran:?}");
    let ran = home.run(&["fetch", "todo", "--root", text(&home.path("home"))]);
    assert!(ran.stdout.contains("# Todo"), "{ran:?}");
}

/// The folder of a file that is not a note does not become a desk.
#[test]
fn a_file_that_is_not_a_note_is_not_in_a_desk() {
    let home = vault();
    let elsewhere = home.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("passwords"), "secret").unwrap();
    let ran = home.run(&["fetch", text(&elsewhere.join("passwords"))]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("is not inside the root"), "{ran:?}");
    let inside: Vec<_> = std::fs::read_dir(&elsewhere).unwrap().collect();
    assert_eq!(inside.len(), 1, "{inside:?}");
}

#[test]
fn numbers_out_of_range_are_refused() {
    let home = vault();
    for arguments in [
        ["search", "hay", "--limit", "0"],
        ["search", "hay", "--limit", "21"],
        ["outline", "plan", "--depth", "0"],
        ["outline", "plan", "--depth", "10"],
        ["changes", "plan", "--limit", "0"],
        ["changes", "plan", "--limit", "101"],
    ] {
        let ran = home.run(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_script_gets_the_code_of_an_error() {
    let home = vault();
    let ran = home.run(&["fetch", "nothing like this", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["code"], "not_found");
    let ran = home.run(&["fetch", "../outside.md"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is not inside the root"), "{ran:?}");
}

/// What a filter excludes starts with a hyphen, like a flag.
#[test]
fn filters_that_exclude_are_words_of_the_query() {
    let home = vault();
    for arguments in [
        &["search", "-status:draft"][..],
        &["search", "--limit", "5", "-status:draft"],
        &["search", "-status:draft", "--limit", "5"],
        &["search", "-status:draft", "-tag:x", "hay"],
        &["search", "hay", "-status:draft", "--json"],
        &["search", "--", "-status:draft"],
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert!(
            ran.stdout.contains("Winter feed.md"),
            "{arguments:?}: {ran:?}"
        );
        assert!(!ran.stdout.contains("plan.md#"), "{arguments:?}: {ran:?}");
    }
    let ran = home.run(&["search", "hay", "-x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = home.run(&["search", "--help"]);
    assert!(ran.stdout.contains("--limit"), "{ran:?}");
}

/// A person types commands and flags, so hints name those.
#[test]
fn hints_name_what_a_person_types() {
    let home = vault();
    for (arguments, hint) in [
        (
            &["fetch", "zebra"][..],
            "`sectile search` or `sectile outline`",
        ),
        (&["fetch", "projects/"], "`sectile outline` lists"),
        (
            &["edit", "plan#Budget", "--old", "zebra", "--new", "x"],
            "Copy `--old` exactly",
        ),
        (&["undo", "99"], "from `sectile changes`"),
        (&["undo"], "with `sectile changes`"),
        (&["set", "plan"], "`NAME=VALUE` or `--unset`"),
        (&["outline", "--cursor", "x"], "`--cursor` is not"),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(hint), "{arguments:?}: {ran:?}");
    }
    // Scripts get the text of the tools.
    let ran = home.run(&["fetch", "zebra", "--json"]);
    assert!(ran.stderr.contains("`search` or `outline`"), "{ran:?}");
}

#[test]
fn an_index_is_kept_in_the_cache_and_can_be_cleared() {
    let home = vault();
    let cache = home.path("cache");
    let cache = [("XDG_CACHE_HOME", text(&cache))];
    let listed = || {
        let ran = home.run_with(&["cache", "--json"], &cache);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    assert_eq!(home.run_with(&["search", "hay"], &cache).code, Some(0));
    assert!(!home.path("work/.sectile/notebook").exists());
    let before = listed();
    assert_eq!(before["indexes"].as_array().unwrap().len(), 1, "{before}");
    assert!(before["bytes"].as_u64().unwrap() > 1000, "{before}");
    let ran = home.run_with(&["cache", "--clear", "--all"], &cache);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let after = listed();
    assert_eq!(after["indexes"], serde_json::json!([]), "{after}");
    assert_eq!(home.run(&["cache", "--clear"]).code, Some(2));
}

/// A passage is embedded once, whatever index it is in.
#[test]
fn indexes_share_their_vectors_and_they_can_be_cleared() {
    let home = Home::new();
    for library in ["library", "copy"] {
        let note = format!("{library}/lab/barn.md");
        home.write(&note, "# Barn\n\nThe barn is full of hay.\n");
    }
    let vectors = || {
        let ran = home.run(&["cache", "--json"]);
        let answer = serde_json::from_str::<Value>(&ran.stdout).unwrap();
        let (bytes, all) = (&answer["vectors"]["bytes"], &answer["bytes"]);
        assert!(bytes.as_u64() <= all.as_u64(), "{answer}");
        bytes.as_u64().unwrap()
    };
    let embedded = |library: &str| {
        let ran = home.run(&["notebook", "index", library, "--json"]);
        let rows = serde_json::from_str::<Value>(&ran.stdout).unwrap();
        rows[0]["transformer"]["embedded"].as_u64().unwrap()
    };
    assert_eq!((vectors(), embedded("library")), (0, 1));
    assert!(vectors() > 200);
    assert_eq!(embedded("copy"), 0);
    let pages = |folder: &str| {
        let ran = home.run(&["docs", "index", "--path", folder, "--json"]);
        let rows = serde_json::from_str::<Value>(&ran.stdout).unwrap();
        rows[0]["transformer"]["embedded"].as_u64().unwrap()
    };
    let first = pages("library");
    assert_eq!(pages("copy"), 0, "the first embedded {first}");
    let shown = home.run(&["cache"]);
    assert!(
        shown.stdout.contains("vectors shared by all indexes"),
        "{shown:?}"
    );
    let ran = home.run(&["cache", "--clear", "--vectors"]);
    assert_eq!(ran.stdout, "0 indexes and the shared vectors removed.\n");
    assert_eq!(vectors(), 0);
    // The indexes have their own.
    assert_eq!((embedded("copy"), pages("copy")), (0, 0));
    std::fs::remove_dir_all(home.path("work/copy/.sectile")).unwrap();
    assert_eq!(embedded("copy"), 1);
    assert!(vectors() > 200);
    let ran = home.run(&["cache", "--clear", "--all", "--json"]);
    let answer = serde_json::from_str::<Value>(&ran.stdout).unwrap();
    assert_eq!(answer["vectors_removed"], true, "{answer}");
    assert_eq!(vectors(), 0);
}

/// A process that writes the cache, or hangs while it does, does not hold up anybody.
#[test]
fn a_command_answers_and_ends_while_another_process_holds_the_cache() {
    let home = vault();
    let hay = |text: &str| {
        home.write("Winter feed.md", &format!("# Winter feed\n\n{text}\n"));
        let ran = home.run(&["search", "feed"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains(text), "{ran:?}");
    };
    hay("Hay from the harbour.");
    let caches = std::fs::read_dir(home.path("home/cache/sectile")).unwrap();
    let caches: Vec<_> = caches.map(|entry| entry.unwrap().path()).collect();
    let [cache] = caches.as_slice() else {
        panic!("one cache: {caches:?}");
    };
    let manifest = || std::fs::read(cache.join("manifest")).unwrap();
    let before = manifest();
    let lock = std::fs::File::options()
        .write(true)
        .open(cache.join("lock"))
        .unwrap();
    lock.lock().unwrap();
    hay("Straw from the hills.");
    let ran = home.run(&["edit", "Winter feed", "--old", "Straw", "--new", "Beet"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(manifest() == before);
    drop(lock);
    hay("Clover from the meadow.");
    assert!(manifest() != before);
}

/// A disk that is full costs the cache, and nothing else.
#[cfg(target_os = "linux")]
#[test]
fn a_command_answers_where_the_cache_does_not_fit() {
    let home = vault();
    let words: Vec<String> = (0..4_000).map(|number| format!("word{number}")).collect();
    home.write("long.md", &words.join(" "));
    let cache = home.path("home/cache");
    let command = home.command();
    let mut limited = std::process::Command::new("sh");
    limited
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 8; exec \"$0\" search word3999")
        .arg(command.get_program())
        .current_dir(home.path("work"));
    for (name, value) in command.get_envs() {
        limited.envs(value.map(|value| (name, value)));
    }
    for _ in 0..2 {
        let ran = limited.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let stdout = String::from_utf8(ran.stdout).unwrap();
        assert!(stdout.contains("long.md"), "{stdout}");
    }
    let bytes = |home: &Home| {
        let ran = home.run(&["cache", "--json"]);
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        listed["bytes"].as_u64().unwrap()
    };
    assert!(cache.is_dir());
    assert!(bytes(&home) < 20_000);
    let ran = home.run(&["search", "word3999"]);
    assert!(ran.stdout.contains("long.md"), "{ran:?}");
    assert!(bytes(&home) > 20_000);
}

#[test]
fn a_note_has_an_address_to_open() {
    let home = vault();
    let ran = home.run(&["open", "plan", "--app", "--print"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("obsidian://open?"), "{ran:?}");
}

#[test]
fn numbers_beyond_their_range_are_refused_before_anything_is_read() {
    let home = vault();
    for arguments in [
        &["outline", "--depth", "0"][..],
        &["outline", "--depth", "10"],
        &["search", "hay", "--limit", "0"],
        &["search", "hay", "--limit", "18446744073709551615"],
        &["changes", "--limit", "18446744073709551615"],
    ] {
        let ran = home.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
    assert_eq!(home.run(&["outline", "--depth", "9"]).code, Some(0));
}

#[test]
fn a_field_is_written_as_it_was_given_or_refused() {
    let home = vault();
    let note = home.path("work/fields.md");
    std::fs::write(&note, "# Fields\n").unwrap();
    for value in [
        "n=1e19",
        "n=9007199254740993",
        "n=[1, 9007199254740993]",
        "n=.inf",
        "n=Issue #12",
        "n=#12",
        "n='a' # b",
    ] {
        let ran = home.run(&["set", "fields.md", value]);
        assert_eq!(ran.code, Some(2), "{value}: {ran:?}");
        assert!(ran.stderr.contains("in quotes"), "{value}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "# Fields\n");
    for (value, expected) in [
        ("n=\"Issue #12\"", "Issue #12"),
        ("n=C#", "C#"),
        ("n=two\nlines", "two"),
        ("n=two\nlines", "lines"),
        ("n='9007199254740993'", "9007199254740993"),
        ("n=9007199254740991", "9007199254740991"),
    ] {
        let ran = home.run(&["set", "fields.md", value]);
        assert_eq!(ran.code, Some(0), "{value}: {ran:?}");
        let written = std::fs::read_to_string(&note).unwrap();
        assert!(written.contains(expected), "{value}: {written}");
    }
}

#[test]
fn the_index_of_the_folder_that_is_named_is_cleared_even_if_it_is_gone() {
    let home = vault();
    let cache = home.path("cache");
    let cache = [("XDG_CACHE_HOME", text(&cache))];
    let projects = home.path("work/projects");
    for root in ["work", "work/projects"] {
        let root = home.path(root);
        let ran = home.run_with(&["search", "hay", "--root", text(&root)], &cache);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let listed = || {
        let ran = home.run_with(&["cache", "--json"], &cache);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let indexes = answer["indexes"].as_array().unwrap().iter();
        let folders = indexes.map(|index| index["folder"].as_str().unwrap().to_owned());
        folders.collect::<Vec<String>>()
    };
    assert_eq!(listed().len(), 2);
    std::fs::remove_dir_all(&projects).unwrap();
    let ran = home.run_with(&["cache", "--clear", text(&projects)], &cache);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let left = listed();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!left[0].ends_with("projects"), "{left:?}");
}
