//! Bad input of every kind: a typed answer, nothing lost, nothing leaked, and the server goes on.

use serde_json::{Value, json};

use super::{NOTES, READ_NOTES};
use crate::fixture::{DeskClient, Era, TestDesk};

/// The code of a refusal; the call must fail with a text that says what to do next.
#[track_caller]
fn code(client: &mut DeskClient<'_>, tool: &str, arguments: Value) -> String {
    let shown: String = arguments.to_string().chars().take(200).collect();
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool} {shown}: {result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.lines().count() >= 2, "{tool} {shown}: {text}");
    assert!(text.len() < 3_000, "{tool} {shown}: {} bytes", text.len());
    text.split(':').next().unwrap().to_owned()
}

/// Ids that name nothing, and some that cannot name anything.
fn malformed_ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "../secret.md",
        "../outside/secret.md",
        "a/../../b.md",
        "projects/../../outside/secret.md",
        "\u{0}",
        "a\u{0}.md",
        "a\u{7}b.md",
        "\u{202e}dm.nalp",
        "#",
        "##",
        "#Budget",
        "[[",
        "[[]]",
        "]]",
        "[[#]]",
        "[[plan",
        "plan.md#",
        "plan.md##",
        "projects/plan.md#/",
        "projects/plan.md#Budget/Nothing",
        "projects/plan.md#^",
        "projects/plan.md#^nothing",
        "//",
        "///a.md",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "~",
        "\\\\host\\a.md",
        "C:\\a.md",
        "c:/a.md",
        "file:///etc/passwd",
        "sectile:///nothing.md",
        "obsidian://open?vault=x",
        "https://example.org/",
        ".sectile",
        ".sectile/journal",
        ".obsidian/app.json",
        ".git/config",
        "projects/.hidden.md",
        "unknown:plan.md",
        "plan.md:",
        "nul",
        "CON.md",
        "projects/nothing.md",
        "nothing-1kebc1",
        "-1kebc1",
        "1kebc1",
        "%2e%2e/secret.md",
        "projects%2Fplan.md",
        "projects%2fplan.md#Budget",
        "projects%5Cplan.md",
        "projects/plan.md%23Budget",
        "projects/plan%00.md",
        "projects/plan.md%0A",
        "%",
        "%zz",
        "\u{feff}",
        "\u{3000}",
        "\u{a0}\u{feff} ",
        "projects/plan.md#Budget/",
        "projects/plan.md#/Budget",
        "projects/plan.md#Budget//Catering",
        "projects/plan.md#Budget/ /Catering",
        "projects/plan.md#Budget#",
        "projects/plan.md#\u{feff}",
        "projects/plan.md/",
        "/projects/plan.md",
        "[[#Budget]]",
        "![[",
        "#^block",
        "\u{440}lan.md",
        "*.md",
        "**",
        "projects/*",
        "\u{200b}",
        "|",
        "[x](projects/plan.md)",
        "{}",
        "null",
        "undefined",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("x".repeat(100_000));
    ids.push("a/".repeat(20_000));
    ids.push("#".repeat(20_000));
    ids.push("[[".repeat(20_000));
    ids.push(format!("projects/plan.md#{}", "Budget/".repeat(5_000)));
    ids
}

#[test]
fn malformed_ids_are_refused_by_every_tool() {
    let desk = TestDesk::new(NOTES);
    let before = desk.all();
    let known = [
        "not_found",
        "malformed_id",
        "invalid_path",
        "invalid_arguments",
    ];
    let mut client = desk.open().until_read();
    for id in malformed_ids() {
        for (tool, arguments) in [
            ("fetch", json!({ "id": id })),
            ("outline", json!({ "id": id })),
            ("links", json!({ "id": id })),
            ("changes", json!({ "id": id })),
            ("edit", json!({ "id": id, "new": "x" })),
            ("edit", json!({ "id": id, "old": "x", "new": "y" })),
            ("edit", json!({ "id": id, "place": "append", "new": "y" })),
            ("set_fields", json!({ "id": id, "set": { "a": 1 } })),
            ("rename", json!({ "id": id, "to": "b.md" })),
            ("delete", json!({ "id": id, "base": "0123456789abcdef" })),
        ] {
            let code = code(&mut client, tool, arguments);
            let shown: String = id.chars().take(60).collect();
            assert!(known.contains(&code.as_str()), "{tool} {shown:?}: {code}");
        }
    }
    for value in [
        json!(7),
        json!(null),
        json!(["a.md"]),
        json!({}),
        json!(true),
    ] {
        for tool in ["fetch", "links", "edit", "set_fields", "rename", "delete"] {
            let arguments = json!({ "id": value, "new": "x", "to": "x", "base": "x", "set": {} });
            let code = code(&mut client, tool, arguments);
            assert_eq!(code, "invalid_arguments", "{tool} {value}");
        }
    }
    assert_eq!(before, desk.all());
    client.text("fetch", json!({ "id": "projects/plan.md" }));
}

#[test]
fn a_filter_without_a_value_and_other_odd_queries_get_an_answer_that_helps() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open().until_read();
    for query in [
        "tag:",
        "path:",
        "before:",
        "after:soon",
        "modified:",
        "modified:7x",
        "is:",
        "is:nothing",
        "sort:",
        "sort:size",
        "before:2026-99-99",
    ] {
        let result = client.call("search", json!({ "query": query }));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(result["isError"], true, "{query}: {result}");
        assert!(text.starts_with("invalid_query: "), "{query}: {text}");
    }
    for query in [
        "",
        " ",
        "\"",
        "\"\"",
        "-",
        ":",
        "::",
        "a:b:c",
        "ratio 3:4",
        "-\"x\"",
        "\u{0}",
        "((((",
        "NOT AND OR",
        "灯塔",
        "https://x.org/a?b=c",
    ] {
        let result = client.call("search", json!({ "query": query }));
        assert_eq!(result["isError"], false, "{query}: {result}");
    }
}

#[test]
fn a_question_of_ten_thousand_words_is_answered_and_the_dropped_words_are_named() {
    let desk = TestDesk::new(READ_NOTES);
    desk.overwrite(
        "many.md",
        (0..12_000).map(|n| format!("word{n} ")).collect::<String>(),
    );
    let mut client = desk.open().until_read();
    let words: String = (0..10_000).map(|n| format!("word{n} ")).collect();
    let answer = client.json(
        "search",
        json!({ "query": format!("{words} ropes and paint") }),
    );
    let dropped = answer["dropped"].as_array().unwrap();
    assert!(!dropped.is_empty(), "{answer}");
    assert!(sectile_markdown::estimate_tokens(&answer.to_string()) <= 1_500);
    assert!(answer["total"].as_u64().unwrap() > 0, "{answer}");
    // Words of a query that fits are all used.
    let answer = client.json("search", json!({ "query": "ropes and paint" }));
    assert!(answer.get("dropped").is_none(), "{answer}");
    let long = "x".repeat(200_000);
    let answer = client.json("search", json!({ "query": long }));
    assert_eq!(answer["total"], 0, "{answer}");
    let tried = answer["try"][0].as_str().unwrap();
    assert!(tried.starts_with("shorter words"), "{answer}");
    assert_eq!(answer["dropped"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn cursors_of_another_state_tool_or_desk_are_refused() {
    let desk = TestDesk::new(&[]);
    for n in 0..80 {
        desk.overwrite(
            &format!("notes/a note with a rather long name {n}.md"),
            format!(
                "# Note {n}\n\nThe lighthouse, see [[a note with a rather long name {}]].\n",
                (n + 1) % 80
            ),
        );
    }
    let mut client = desk.open().until_read();
    for n in 0..30 {
        let id = format!("notes/a note with a rather long name {n}.md");
        client.json(
            "edit",
            json!({ "id": id, "place": "append", "new": "More." }),
        );
    }
    let calls = [
        ("search", json!({ "query": "lighthouse" })),
        ("outline", json!({})),
        ("links", json!({ "id": "." })),
        ("changes", json!({ "limit": 5 })),
    ];
    let mut cursors = Vec::new();
    for (tool, arguments) in &calls {
        let answer = client.json(tool, arguments.clone());
        cursors.push(answer["next"].as_str().unwrap().to_owned());
    }
    let with = |arguments: &Value, cursor: &str| {
        let mut arguments = arguments.clone();
        arguments["cursor"] = json!(cursor);
        arguments
    };
    let refusals = ["cursor_stale", "invalid_cursor"];
    for (index, (tool, arguments)) in calls.iter().enumerate() {
        client.json(tool, with(arguments, &cursors[index]));
        for (other, cursor) in cursors.iter().enumerate() {
            if other != index {
                let code = code(&mut client, tool, with(arguments, cursor));
                assert!(refusals.contains(&code.as_str()), "{tool}: {code}");
            }
        }
        for cursor in [
            "",
            " ",
            "0",
            "-1",
            "x",
            "\u{0}",
            "99999999999999999999999.0123456789",
            "18446744073709551615.0123456789",
            "99999999999.0123456789",
            "1.0123456789abcdef",
        ] {
            let code = code(&mut client, tool, with(arguments, cursor));
            assert!(
                refusals.contains(&code.as_str()),
                "{tool} {cursor:?}: {code}"
            );
        }
        let long = "9".repeat(100_000);
        let code = code(&mut client, tool, with(arguments, &long));
        assert!(refusals.contains(&code.as_str()), "{tool}: {code}");
    }
    // Something changes: what a cursor would go on with is another list.
    desk.overwrite(
        "notes/a first one.md",
        "# First\n\nThe lighthouse lighthouse, see [[nothing]].\n",
    );
    desk.remove("notes/a note with a rather long name 1.md");
    for (index, (tool, arguments)) in calls.iter().enumerate().take(3) {
        let code = code(&mut client, tool, with(arguments, &cursors[index]));
        assert_eq!(code, "cursor_stale", "{tool}");
    }
}

#[test]
fn a_note_of_fifty_megabytes_is_served_like_one_that_is_too_large() {
    let desk = TestDesk::new(READ_NOTES);
    let line = "The giant squid \u{1f991} sleeps in the deep harbour.\n";
    desk.overwrite(
        "giant.md",
        format!("# Giant\n\n{}", line.repeat((50 << 20) / line.len())),
    );
    let mut client = desk.open().until_read();
    // The other notes are found as before.
    let answer = client.json("search", json!({ "query": "budget for ropes and paint" }));
    let first = answer["results"][0]["id"].as_str().unwrap();
    assert!(first.starts_with("projects/plan.md#"), "{answer}");
    let result = client.call("fetch", json!({ "id": "giant.md" }));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(sectile_markdown::estimate_tokens(text) <= 6_000);
    let size = desk.text("giant.md").len();
    let result = client.call(
        "edit",
        json!({ "id": "giant.md", "place": "append", "new": "x" }),
    );
    let after = desk.text("giant.md").len();
    match result["isError"] == true {
        true => assert_eq!(after, size),
        false => assert!(after > size),
    }
    client.call("outline", json!({ "id": "giant.md" }));
    client.json("outline", json!({}));
    // Nobody takes it for a note without links.
    let unknown = |index: &Value| index.as_str().unwrap_or_default().to_owned();
    let links = client.json("links", json!({ "id": "giant.md" }));
    assert_eq!(
        unknown(&links["index"]),
        "giant.md is too large to be indexed, so its own links are not known"
    );
    let links = client.json("links", json!({ "id": "giant.md", "direction": "in" }));
    assert_eq!(unknown(&links["index"]), "", "{links}");
}

/// A program that keeps writing one note, as a syncing folder does: answers are of one state or the other, never a mixture.
#[test]
fn notes_that_flap_are_answered_as_they_are_at_some_time() {
    let desk = TestDesk::new(READ_NOTES);
    let texts = [
        "# Flap\n\nThe heron stands here.\n\n## Low\n\nLow tide.\n",
        "# Flap\n\nThe otter swims here.\n\n## High\n\nHigh tide, a longer text.\n",
    ];
    desk.overwrite("flap.md", texts[0]);
    let mut client = desk.open().until_read();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let writes = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        use std::sync::atomic::Ordering::SeqCst;
        scope.spawn(|| {
            for n in 0..100_000 {
                if stop.load(SeqCst) {
                    break;
                }
                match n % 40 {
                    // Removed for a moment, as some programs do.
                    39 => desk.remove("flap.md"),
                    n => desk.replace("flap.md", texts[n % 2]),
                }
                writes.store(n, SeqCst);
                // A commit of a store takes longer than a rename, and those of others have to fit in between.
                let pause = if desk.is_tenant() { 25 } else { 1 };
                std::thread::sleep(std::time::Duration::from_millis(pause));
            }
            desk.overwrite("flap.md", texts[1]);
        });
        for _ in 0..60 {
            let result = client.call("fetch", json!({ "id": "flap.md" }));
            let text = result["content"][0]["text"].as_str().unwrap();
            let body = text.split_once('\n').unwrap().1;
            assert!(texts.contains(&body) || result["isError"] == true, "{text}");
            for query in ["heron", "\"otter swims\"", "tide"] {
                let answer = client.call("search", json!({ "query": query }));
                assert_eq!(answer["isError"], false, "{answer}");
                for found in answer["structuredContent"]["results"].as_array().unwrap() {
                    let snippet = found["snippet"].as_str().unwrap();
                    let is_of_one = texts
                        .iter()
                        .chain(&[
                            READ_NOTES[0].1,
                            READ_NOTES[1].1,
                            READ_NOTES[2].1,
                            READ_NOTES[3].1,
                        ])
                        .any(|text| text.contains(snippet.trim_matches('…')));
                    assert!(is_of_one, "{answer}");
                }
            }
            client.json(
                "edit",
                json!({ "id": "inbox.md", "place": "append", "new": "Once more." }),
            );
        }
        stop.store(true, SeqCst);
    });
    assert!(writes.into_inner() > 10);
    let answer = client.json("search", json!({ "query": "\"otter swims\"" }));
    assert_eq!(answer["total"], 1, "{answer}");
    let answer = client.json("search", json!({ "query": "\"heron stands\"" }));
    assert_eq!(answer["total"], 0, "{answer}");
    assert_eq!(desk.text("inbox.md").matches("Once more.").count(), 60);
}

#[test]
fn a_root_that_disappears_is_reported_by_every_tool_and_comes_back() {
    let desk = TestDesk::in_folder(NOTES);
    let mut client = desk.open().until_read();
    client.json("search", json!({ "query": "budget" }));
    let root = desk.vault.root();
    let away = desk.vault.outside().join("away");
    let calls = [
        ("search", json!({ "query": "budget" })),
        ("fetch", json!({ "id": "projects/plan.md" })),
        ("outline", json!({})),
        ("links", json!({ "id": "index.md" })),
        ("create", json!({ "path": "new.md", "text": "x" })),
        (
            "edit",
            json!({ "id": "index.md", "old": "See", "new": "Look at" }),
        ),
        ("set_fields", json!({ "id": "index.md", "set": { "a": 1 } })),
        ("rename", json!({ "id": "index.md", "to": "b.md" })),
        (
            "delete",
            json!({ "id": "index.md", "base": "0123456789abcdef" }),
        ),
        ("undo", json!({})),
        ("changes", json!({})),
    ];
    std::fs::rename(&root, &away).unwrap();
    for (tool, arguments) in &calls {
        let code = code(&mut client, tool, arguments.clone());
        assert_eq!(code, "root_gone", "{tool}");
    }
    assert!(!root.exists(), "nothing is made where the root was");
    std::fs::rename(&away, &root).unwrap();
    for (tool, arguments) in &calls[..6] {
        let result = client.call(tool, arguments.clone());
        assert_eq!(result["isError"], false, "{tool}: {result}");
    }
    let found = client.json("search", json!({ "query": "\"Look at\"" }));
    assert_eq!(found["total"], 1, "{found}");
}

/// Where the cache cannot be written, the index is in memory, and the log says so once.
#[test]
fn a_cache_that_cannot_be_written_is_reported_once_and_not_needed() {
    let desk = TestDesk::new(READ_NOTES);
    // A file where the folder should be cannot be written by anybody, root included.
    let place = desk.vault.outside().join("cache");
    std::fs::write(&place, "not a folder").unwrap();
    let mut command = desk.command("");
    command.env("XDG_CACHE_HOME", &place);
    let mut client = DeskClient::connect(&desk, Era::Handshake, command, "test");
    for n in 0..5 {
        let edit =
            json!({ "id": "inbox.md", "place": "append", "new": format!("Oystercatcher {n}.") });
        client.json("edit", edit);
        let answer = client.json("search", json!({ "query": "oystercatcher" }));
        assert!(answer["total"].as_u64().unwrap() > 0, "{answer}");
    }
    client.server.end_input();
    assert!(client.server.wait_for_end().success());
    let log = crate::fixture::wait_for("the log", || {
        let log = client.server.log();
        log.contains("kept in memory").then_some(log)
    });
    let said = log.lines().filter(|line| line.contains("kept in memory"));
    assert_eq!(said.count(), 1, "{log}");
    assert_eq!(std::fs::read_to_string(place).unwrap(), "not a folder");
}
