//! Performance tier: what a call costs, counted, not timed.

use serde_json::json;

use crate::{
    fixture::{Caller, Era, TestHosted},
    vectors::TOOLS,
};

const CALLS: usize = 60;

#[test]
fn the_other_notes_do_not_matter() {
    let hosted = TestHosted::sample();
    for other in 0..500 {
        hosted.note(
            "default",
            "ann",
            &format!("inbox/other-{other}.md"),
            "# Other\n",
        );
    }
    let gateway = hosted.serve();
    for tool in TOOLS {
        gateway.view(tool, "inbox/one.md");
        let requests = gateway.requests();
        assert_eq!(requests.len(), 1, "{tool}");
        assert_eq!(requests[0].target, "/api/v1/notes/inbox%2Fone.md", "{tool}");
    }
}

#[test]
fn connections_to_the_store_are_used_again() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    let caller = Caller::named("ann");
    for turn in 0..CALLS {
        let path = ["inbox/one.md", "none.md", "ready.md"][turn % 3];
        gateway.call(
            Era::BOTH[turn % 2],
            &caller,
            TOOLS[turn % 4],
            json!({ "path": path }),
        );
    }
    assert_eq!(gateway.requests().len(), CALLS);
    // One after the other they need one; another may be opened while the first is being given back.
    let connections = hosted.store().connections();
    assert!(
        connections < 10,
        "{connections} connections for {CALLS} calls"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_started_and_nothing_stays_open() {
    fn handles(process: u32) -> usize {
        std::fs::read_dir(format!("/proc/{process}/fd"))
            .unwrap()
            .count()
    }
    fn children(process: u32) -> String {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let children = tasks.map(|task| task.unwrap().path().join("children"));
        children
            .filter_map(|file| std::fs::read_to_string(file).ok())
            .collect()
    }
    let hosted = TestHosted::sample();
    let mut gateway = hosted.serve();
    let process = gateway.http.child().id();
    let call = |count: usize| {
        for turn in 0..count {
            gateway.note(
                TOOLS[turn % 4],
                ["inbox/one.md", "none.md", "../x.md"][turn % 3],
            );
        }
        handles(process)
    };
    let early = call(12);
    let late = call(CALLS);
    assert!(late < early + 10, "{early} handles, then {late}");
    assert_eq!(children(process).trim(), "");
}
