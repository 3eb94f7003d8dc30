//! Stress tier: large notes and answers stay bounded, repeated calls give the same bytes.

use serde_json::{Value, json};

use crate::{
    fixture::{Caller, Era, More, TestHosted, tool_text},
    vectors::TOOLS,
};

const HEADING_TOOLS: [&str; 3] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
];

#[test]
fn at_most_500_headings_are_shown() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    for (count, shown, truncated) in [(500, 500, false), (501, 500, true), (20_000, 500, true)] {
        hosted.note("default", "ann", "many.md", "# H\n".repeat(count));
        let source = gateway.view(HEADING_TOOLS[0], "many.md");
        let outline = gateway.view(HEADING_TOOLS[1], "many.md");
        let tree = gateway.view(HEADING_TOOLS[2], "many.md");
        for (view, list) in [
            (&source, &source["sections"]),
            (&outline, &outline["headings"]),
            (&tree, &tree["root"]["children"]),
        ] {
            assert_eq!(list.as_array().unwrap().len(), shown, "{count}");
            assert_eq!(view["truncated"], truncated, "{count}");
        }
    }
}

#[test]
fn input_beyond_the_cap_is_a_failure_without_a_word_of_it() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    hosted.note("default", "ann", "text.md", "word ".repeat(400_000));
    for tool in HEADING_TOOLS {
        assert_eq!(gateway.error(tool, "text.md"), "Runtime failure", "{tool}");
    }
    // Facets look at no text.
    gateway.view("get_metadata_facets", "text.md");
    gateway.assert_healthy();
}

#[test]
fn the_largest_answers_are_bounded() {
    let hosted = TestHosted::empty();
    let wide = "🚀".repeat(300);
    let tags = vec!["t".repeat(400); 300].join(",");
    let mut note = format!("---\ntitle: {wide}\ntags: [{tags}]\n---\n");
    for level in 1..=5 {
        note += &format!("{} {wide}\n", "#".repeat(level));
    }
    note += &format!("###### {wide}\n").repeat(495);
    hosted.note("default", "ann", "worst.md", note);
    let gateway = hosted.serve();
    for (tool, bound) in TOOLS.into_iter().zip([4_500_000, 600_000, 600_000, 40_000]) {
        let answer = gateway.note(tool, "worst.md");
        let text = tool_text(&answer);
        assert!(text.len() < bound, "{tool}: {} bytes", text.len());
        let view: Value = serde_json::from_str(text).unwrap();
        assert_eq!(view["truncated"], true, "{tool}");
    }
}

#[test]
fn repeated_calls_give_the_same_bytes() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    let caller = Caller::named("ann");
    for era in Era::BOTH {
        for tool in TOOLS {
            let call = || {
                gateway.post(
                    era,
                    &caller,
                    &era.call(1, tool, json!({ "path": "inbox/one.md" })),
                )
            };
            let first = call();
            assert_eq!(first.status, 200, "{first:?}");
            for turn in 0..25 {
                assert_eq!(call(), first, "{tool}, turn {turn}");
            }
        }
    }
}

/// More calls than may run at the same time: they wait for each other, and all are answered.
#[test]
fn more_calls_than_places_are_all_answered() {
    const THREADS: usize = 12;
    let hosted = TestHosted::empty();
    for thread in 0..THREADS {
        hosted.note(
            "default",
            "ann",
            &format!("t{thread}.md"),
            format!("# Thread {thread}\n"),
        );
    }
    let gateway = hosted.serve_with(More {
        tables: "",
        environment: &[("SECTILE_SERVER__LIMITS__MAX_IN_FLIGHT", "3")],
        ..More::default()
    });
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let gateway = &gateway;
            scope.spawn(move || {
                for turn in 0..20 {
                    let tool = HEADING_TOOLS[turn % 3];
                    let view = gateway.view(tool, &format!("t{thread}.md")).to_string();
                    assert!(view.contains(&format!("Thread {thread}\"")), "{view}");
                }
            });
        }
    });
    assert_eq!(gateway.requests().len(), THREADS * 20);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_calls() {
    fn resident_kb(process: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
    let hosted = TestHosted::empty();
    let section = format!("# Heading\n\n{}\n\n", "word ".repeat(5000));
    hosted.note(
        "default",
        "ann",
        "large.md",
        section.repeat(800_000 / section.len()),
    );
    let mut gateway = hosted.serve();
    let process = gateway.http.child().id();
    let call = |count: usize| {
        for turn in 0..count {
            gateway.view(TOOLS[turn % 4], "large.md");
        }
        resident_kb(process)
    };
    let early = call(20);
    let late = call(60);
    // One copy of the note kept per call would be 60 times 800 kB.
    assert!(late < early + 32_000, "{early} kB, then {late} kB");
}
