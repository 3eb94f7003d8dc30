//! Stress tier: large notes and answers stay bounded, repeated calls give the same bytes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    fixture::{Era, Http, Stdio, TestVault, tool_error, tool_text},
    vectors::TOOLS,
};

const ERA: Era = Era::Handshake;
const HEADING_TOOLS: [&str; 3] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
];

fn view(server: &mut Stdio<'_>, tool: &str, path: &str) -> Value {
    let answer = server.call(ERA, tool, json!({ "path": path }));
    serde_json::from_str(tool_text(&answer)).unwrap()
}

/// Number of headings in a view, whichever tool gave it.
fn heading_count(view: &Value) -> usize {
    fn nodes(list: &[Value]) -> usize {
        list.iter()
            .map(|node| 1 + node["children"].as_array().map_or(0, |below| nodes(below)))
            .sum()
    }
    let list = ["sections", "headings"]
        .iter()
        .find_map(|key| view[key].as_array())
        .or_else(|| view["root"]["children"].as_array());
    nodes(list.unwrap())
}

#[test]
fn at_most_500_headings_are_shown() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, ERA);
    for (count, shown, truncated) in [
        (499, 499, false),
        (500, 500, false),
        (501, 500, true),
        (20_000, 500, true),
    ] {
        for line in ["# H\n", "###### Six\n", "> # Quoted\n\n"] {
            vault.note("many.md", line.repeat(count));
            for tool in HEADING_TOOLS {
                let view = view(&mut server, tool, "many.md");
                assert_eq!(heading_count(&view), shown, "{tool}, {count} of {line:?}");
                assert_eq!(view["truncated"], truncated, "{tool}, {count} of {line:?}");
            }
        }
    }
    assert!(server.finish().success());
}

#[test]
fn input_beyond_the_cap_is_refused() {
    let vault = TestVault::empty();
    vault.note("headings.md", "# H\n".repeat(300_000));
    vault.note("text.md", "word ".repeat(400_000));
    let mut server = Stdio::ready(&vault, ERA);
    for path in ["headings.md", "text.md"] {
        for tool in HEADING_TOOLS {
            let answer = server.call(ERA, tool, json!({ "path": path }));
            assert_eq!(
                tool_error(&answer)["error"],
                "Note outline input exceeds 1000000 characters; refusing to parse unbounded Markdown.",
                "{tool}, {path}"
            );
        }
        view(&mut server, "get_metadata_facets", path);
    }
    assert!(server.finish().success());
}

/// The worst a note can do: long texts of wide characters at all levels, repeated in every heading path below.
#[test]
fn the_largest_answers_are_bounded() {
    let vault = TestVault::empty();
    let wide = "🚀".repeat(300);
    let mut note = format!(
        "---\ntitle: {wide}\ntags: [{}]\n---\n",
        vec!["t".repeat(400); 300].join(",")
    );
    for level in 1..=5 {
        note += &format!("{} {wide}\n", "#".repeat(level));
    }
    note += &format!("###### {wide}\n").repeat(495);
    vault.note("worst.md", note);
    let mut server = Stdio::ready(&vault, ERA);
    for (tool, bound) in [
        ("get_section_source", 4_500_000),
        ("get_note_outline", 600_000),
        ("get_document_tree", 600_000),
        ("get_metadata_facets", 40_000),
    ] {
        let answer = server.call(ERA, tool, json!({ "path": "worst.md" }));
        let text = tool_text(&answer);
        assert!(text.len() < bound, "{tool}: {} bytes", text.len());
        let view: Value = serde_json::from_str(text).unwrap();
        assert_eq!(view["truncated"], true, "{tool}");
    }
    let source = view(&mut server, "get_section_source", "worst.md");
    for section in source["sections"].as_array().unwrap() {
        for text in section["heading_path"].as_array().unwrap() {
            assert_eq!(text.as_str().unwrap().chars().count(), 256);
        }
    }
    assert!(server.finish().success());
}

#[test]
fn repeated_calls_give_the_same_bytes() {
    let vault = TestVault::sample();
    let mut server = Stdio::ready(&vault, ERA);
    let call = |server: &mut Stdio<'_>, tool: &str| {
        // The same id each time, so that whole lines can be compared.
        server.send_line(
            &ERA.call(1, tool, json!({ "path": "inbox/one.md" }))
                .to_string(),
        );
        server.receive_line()
    };
    for tool in TOOLS {
        let first = call(&mut server, tool);
        assert!(first.contains("inbox/one.md"), "{first}");
        for turn in 0..200 {
            assert_eq!(call(&mut server, tool), first, "{tool}, turn {turn}");
        }
    }
    assert!(server.finish().success());
}

#[test]
fn pipelined_calls_are_all_answered_with_their_ids() {
    const CALLS: u64 = 500;
    let vault = TestVault::sample();
    for note in 0..10 {
        vault.note(&format!("n{note}.md"), format!("# Heading {note}\n"));
    }
    let mut server = Stdio::ready(&vault, ERA);
    let lines: String = (1..=CALLS)
        .map(|id| {
            let path = format!("n{}.md", id % 10);
            format!(
                "{}\n",
                ERA.call(id, HEADING_TOOLS[id as usize % 3], json!({ "path": path }))
            )
        })
        .collect();
    server.send_bytes(lines.as_bytes());
    let mut answered = BTreeSet::new();
    for _ in 0..CALLS {
        let answer = server.receive();
        let id = answer["id"].as_u64().unwrap();
        let view: Value = serde_json::from_str(tool_text(&answer)).unwrap();
        assert_eq!(view["path"], format!("n{}.md", id % 10), "{answer}");
        let schema = ["section_source/v0", "note_outline/v1", "document_tree/v0"][id as usize % 3];
        assert_eq!(view["schema"], format!("knowtation.{schema}"), "{answer}");
        assert!(
            view.to_string().contains(&format!("Heading {}", id % 10)),
            "{answer}"
        );
        assert!(answered.insert(id), "{id} is answered twice");
    }
    assert_eq!(answered, (1..=CALLS).collect());
    assert!(server.finish().success());
}

#[test]
fn many_http_clients_each_get_their_own_answers() {
    const THREADS: u64 = 8;
    const CALLS: u64 = 50;
    let vault = TestVault::empty();
    for thread in 0..THREADS {
        vault.note(&format!("t{thread}.md"), format!("# Thread {thread}\n"));
    }
    let server = Http::start(&vault);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let server = &server;
            scope.spawn(move || {
                let era = Era::BOTH[(thread % 2) as usize];
                let path = format!("t{thread}.md");
                for id in 0..CALLS {
                    let tool = HEADING_TOOLS[(id % 3) as usize];
                    let answer = server.post(era, &era.call(id, tool, json!({ "path": path })));
                    assert_eq!(answer.status, 200, "{answer:?}");
                    let answer = answer.json();
                    assert_eq!(answer["id"], id, "{answer}");
                    let view: Value = serde_json::from_str(tool_text(&answer)).unwrap();
                    assert_eq!(view["path"], path, "{answer}");
                    assert!(
                        view.to_string().contains(&format!("Thread {thread}\"")),
                        "{answer}"
                    );
                }
            });
        }
    });
}

/// Resident memory of a process in kB.
#[cfg(target_os = "linux")]
fn resident_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_calls() {
    let vault = TestVault::empty();
    let paragraph = format!("{}\n\n", "word ".repeat(500));
    let section = format!("# Heading\n\n{}", paragraph.repeat(10));
    let note = section.repeat(900_000 / section.len());
    assert!(note.len() > 850_000);
    vault.note("large.md", &note);
    let mut server = Stdio::ready(&vault, ERA);
    let mut call = |count: usize| {
        for turn in 0..count {
            let answer = server.call(ERA, TOOLS[turn % 4], json!({ "path": "large.md" }));
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
        resident_kb(server.process_id())
    };
    let early = call(50);
    let late = call(150);
    assert!(late < 200_000, "{late} kB after 200 calls");
    // One copy of the note kept per call would be 150 times 850 kB.
    assert!(
        late < early + 64_000,
        "{early} kB after 50 calls, {late} kB after 200"
    );
}
