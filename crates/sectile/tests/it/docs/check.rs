//! `sectile docs check`: what loads, what is skipped, and how it ends.

use serde_json::{Value, json};

use super::{Desk, Ran};

const SETTINGS: &str = "\
[docs]
include_default_docs = false
extra_paths = [\"guides\", \"missing.md\"]
namespace = \"decision-gate\"
max_doc_bytes = 9000
enable_search = false

[[docs.documents]]
path = \"guides/flow.md\"
slug = \"evidence-flow\"
title = \"Evidence flow\"
role = \"reasoning\"
description = \"How evidence flows.\"
";

fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {ran:?}"))
}

/// The values of `key` in a list of objects.
fn each<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[key].as_str().unwrap())
        .collect()
}

const CHECK: [&str; 5] = ["docs", "check", "--json", "--config", "conf/sectile.toml"];

#[test]
fn without_settings_the_manual_is_what_there_is() {
    let desk = Desk::new(&[]);
    let ran = desk.run(&["docs", "check", "--strict", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let report = report(&ran);
    assert!(each(&report["documents"], "slug").contains(&"editor"));
    for document in report["documents"].as_array().unwrap() {
        assert_eq!(document["origin"], "manual", "{document}");
        let uri = format!("sectile://docs/{}", document["slug"].as_str().unwrap());
        assert_eq!(document["uri"], json!(uri));
        assert_ne!(document["title"], "", "{document}");
        assert_ne!(document["description"], "", "{document}");
        assert_eq!(document["duplicate_headings"], json!([]), "{document}");
        assert_eq!(document["empty_sections"], json!([]), "{document}");
        assert_eq!(document["oversized_sections"], json!([]), "{document}");
    }
    assert_eq!(
        report["limits"],
        json!({ "max_docs": 32, "max_doc_bytes": 262_144, "max_total_bytes": 1_048_576, "max_sections": 10 })
    );
    assert_eq!(
        (&report["search"], &report["resources"]),
        (&json!(true), &json!(true))
    );
}

/// A settings file and documents of every kind.
fn guides() -> Desk {
    let desk = Desk::new(&[
        ("conf/sectile.toml", SETTINGS),
        ("conf/guides/flow.md", "# Flow\n\nText.\n"),
        (
            "conf/guides/b.md",
            "# B\n\nFirst sentence. Second.\n\n## Same\n\nx\n\n## Same\n\n### Nothing\n",
        ),
        (
            "conf/guides/long.md",
            &format!("# Long\n\n{}\n", "word ".repeat(1700)),
        ),
        ("conf/guides/large.md", &"x".repeat(9001)),
        (
            "conf/guides/a/flow.md",
            "---\nrole: recipe\nslug: evidence-flow\n---\nx\n",
        ),
    ]);
    desk.write("conf/guides/latin.md", b"caf\xe9\n");
    desk
}

#[test]
fn settings_say_what_loads_and_the_rest_is_skipped_with_a_reason() {
    let desk = guides();
    let ran = desk.run(&CHECK);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("error: `missing.md` does not exist.\nhint: "),
        "{ran:?}"
    );
    let found = report(&ran);
    assert_eq!(
        found["documents"][0],
        json!({
            "slug": "evidence-flow",
            "uri": "decision-gate://docs/evidence-flow",
            "title": "Evidence flow",
            "role": "reasoning",
            "description": "How evidence flows.",
            "origin": "extra",
            "path": "guides/flow.md",
            "bytes": 14,
            "sections": 1,
            "duplicate_headings": [],
            "empty_sections": [],
            "oversized_sections": [],
        })
    );
    assert_eq!(
        each(&found["documents"], "slug"),
        ["evidence-flow", "evidence-flow-2", "b", "long"]
    );
    let b = &found["documents"][2];
    assert_eq!(
        (&b["description"], &b["sections"]),
        (&json!("First sentence."), &json!(4))
    );
    assert_eq!(
        b["duplicate_headings"],
        json!([{ "heading": "Same", "lines": [5, 9] }])
    );
    assert_eq!(
        b["empty_sections"],
        json!([{ "heading": "Same", "line": 9 }, { "heading": "Nothing", "line": 11 }])
    );
    assert_eq!(
        found["documents"][3]["oversized_sections"],
        json!([{ "heading": "Long", "line": 1, "bytes": 8509 }])
    );
    assert_eq!(
        found["skipped"],
        json!([
            {
                "path": "guides/large.md",
                "reason": "max_doc_bytes",
                "message": "`guides/large.md` is larger than 9000 bytes; split it, or raise `docs.max_doc_bytes`.",
            },
            {
                "path": "guides/latin.md",
                "reason": "not_utf8",
                "message": "`guides/latin.md` is not UTF-8; save it as UTF-8.",
            },
            {
                "path": "missing.md",
                "reason": "missing",
                "message": "`missing.md` does not exist; correct the path, or remove it from the settings.",
            },
        ])
    );
    assert_eq!(
        found["notes"],
        json!([
            "`guides/a/flow.md`: `role` in the front matter must be one of reasoning, decision, ontology, pattern, so it is not used. Correct it.",
            "`guides/a/flow.md`: the slug `evidence-flow` is taken, so `evidence-flow-2` is used. Give the document a `slug` of its own.",
        ])
    );
    assert_eq!(found["totals"]["documents"], 4);
    assert_eq!(
        (&found["search"], &found["resources"]),
        (&json!(false), &json!(true))
    );

    let strict = desk.run(&[&CHECK[..], &["--strict"]].concat());
    assert_eq!(strict.code, Some(1), "{strict:?}");
    assert_eq!(strict.stdout, ran.stdout);
}

#[test]
fn a_strict_check_fails_when_something_is_skipped() {
    let desk = guides();
    let all_there = SETTINGS.replace(", \"missing.md\"", "");
    desk.write("conf/all-there.toml", all_there.as_bytes());
    let arguments = ["docs", "check", "--config", "conf/all-there.toml"];
    let ran = desk.run(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let strict = desk.run(&[&arguments[..], &["--strict"]].concat());
    assert_eq!(strict.code, Some(1), "{strict:?}");
    assert_eq!(strict.stdout, ran.stdout);
    assert!(
        strict
            .stderr
            .starts_with("error: 2 documents are skipped, 2 notes.\nhint: "),
        "{strict:?}"
    );
}

#[test]
fn paths_on_the_command_line_are_added_and_count_from_here() {
    let desk = Desk::new(&[
        (
            "conf/sectile.toml",
            "[docs]\ninclude_default_docs = false\nextra_paths = [\"a.md\"]\n",
        ),
        ("conf/a.md", "# A\n"),
        ("more/b.md", "# B\n\n## C\n\n## C\n"),
        ("c.md", "# C\n\nx\n"),
    ]);
    let absolute = desk.path("more");
    let ran = desk.run(&[
        "docs",
        "check",
        "c.md",
        absolute.to_str().unwrap(),
        "--config",
        "conf/sectile.toml",
        "--strict",
        "--json",
    ]);
    // Headings that are empty or repeated are worth a word, and no failure.
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = report(&ran);
    assert_eq!(
        each(&found["documents"], "path"),
        ["a.md", "c.md", "more/b.md"]
    );

    let ran = desk.run(&["docs", "check", "nowhere", "--strict", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(each(&report(&ran)["skipped"], "path"), ["nowhere"]);
    assert_eq!(desk.run(&["docs", "check", "nowhere"]).code, Some(1));
}

#[test]
fn wrong_settings_are_refused_before_anything_is_read() {
    let desk = Desk::new(&[
        (
            "unknown.toml",
            "[[docs.documents]]\npath = \"a.md\"\nrol = \"pattern\"\n",
        ),
        ("range.toml", "[docs]\nmax_docs = 100001\n"),
    ]);
    for (arguments, expected) in [
        (
            &["docs", "check", "--config", "unknown.toml"][..],
            "unknown.toml, line 3, column 1: unknown setting `docs.documents.rol`. Did you mean `docs.documents.role`?",
        ),
        (
            &["docs", "check", "--config", "range.toml"],
            "range.toml, line 2, column 12: `docs.max_docs` must be a whole number from 1 to 100000.",
        ),
        (
            &["config", "check", "unknown.toml"],
            "unknown.toml, line 3, column 1: unknown setting `docs.documents.rol`. Did you mean `docs.documents.role`?",
        ),
    ] {
        let ran = desk.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert_eq!(ran.stderr, format!("error: {expected}\n"));
    }
}

#[test]
fn the_list_of_documents_is_shown_and_described_like_every_setting() {
    let desk = Desk::new(&[(
        "sectile.toml",
        "[[docs.documents]]\npath = \"a.md\"\nrole = \"decision\"\n\n[[docs.documents]]\npath = \"b.md\"\n",
    )]);
    let ran = desk.run(&["config", "show", "--config", "sectile.toml", "--json"]);
    let rows = report(&ran);
    let row = rows.as_array().unwrap().iter();
    let row = row.clone().find(|row| row["key"] == "docs.documents");
    let row = row.unwrap_or_else(|| panic!("{rows}"));
    assert_eq!(row["origin"], "sectile.toml");
    assert_eq!(
        row["value"],
        json!([{ "path": "a.md", "role": "decision" }, { "path": "b.md" }])
    );
    let schema = report(&desk.run(&["config", "schema"]));
    let docs = &schema["properties"]["docs"]["properties"];
    assert_eq!(docs["extra_paths"]["maxItems"], 64);
    let document = &docs["documents"]["items"];
    assert_eq!(document["required"], json!(["path"]));
    assert_eq!(document["additionalProperties"], false);
    assert_eq!(desk.run(&["config", "check"]).code, Some(0));
}

/// Needs a system where a device can be named.
#[cfg(target_os = "linux")]
#[test]
fn devices_pipes_and_links_neither_block_nor_fail() {
    let desk = Desk::new(&[("g/a.md", "# A\n")]);
    let made = std::process::Command::new("mkfifo")
        .arg(desk.path("g/pipe.md"))
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("..", desk.path("g/up")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", desk.path("g/zero.md")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", desk.path("zero.md")).unwrap();
    let ran = desk.run(&[
        "docs",
        "check",
        "--json",
        "g",
        "g/pipe.md",
        "zero.md",
        "/dev/zero",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = report(&ran);
    assert_eq!(
        each(&found["skipped"], "path"),
        [
            "g/pipe.md",
            "g/up",
            "g/zero.md",
            "g/pipe.md",
            "zero.md",
            "zero"
        ]
    );
    assert_eq!(
        each(&found["skipped"], "reason"),
        [
            "not_a_file",
            "link",
            "link",
            "not_a_file",
            "not_a_file",
            "not_a_file"
        ]
    );
}
