//! A store that has gone away is left alone for a while, and tried again with one request.

use sectile_note_store::Fault;

use serde_json::json;

use crate::fixture::{Caller, Era, Gateway, More, TestHosted, error_of, wait_for};

const TOOL: &str = "get_note_outline";

#[test]
fn after_failures_in_a_row_nobody_is_asked_until_a_probe_succeeds() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(More {
        hosted: "breaker_failures = 3\nbreaker_pause_ms = 1500\n",
        ..More::default()
    });
    // A success between two failures starts the count anew.
    for _ in 0..2 {
        hosted.store().set_fault(Fault::CloseBeforeHead);
        for _ in 0..2 {
            assert_eq!(gateway.error(TOOL, "ready.md"), "Runtime failure");
        }
        gateway.assert_healthy();
    }
    assert_eq!(gateway.requests().len(), 6);
    hosted.store().set_fault(Fault::CloseBeforeHead);
    for _ in 0..3 {
        assert_eq!(gateway.error(TOOL, "ready.md"), "Runtime failure");
    }
    assert_eq!(gateway.requests().len(), 3);
    let first = gateway.error(TOOL, "ready.md");
    // On a machine that stood still for the whole pause, this was the probe.
    if first == "Upstream unavailable" {
        assert_eq!(gateway.requests(), []);
    }
    // An unsafe path is one whether or not the store is there.
    assert_eq!(gateway.error(TOOL, "../x.md"), "Invalid path");
    hosted.store().clear_faults();
    let answer = wait_for("the store to be tried again", || {
        let answer = gateway.note(TOOL, "ready.md");
        if answer["result"]["isError"] == false {
            return Some(answer);
        }
        assert_eq!(error_of(&answer), "Upstream unavailable");
        None
    });
    assert!(answer.to_string().contains("Ready"), "{answer}");
    gateway.assert_healthy();
}

/// What is wrong with one user's notes must not shut out the others.
#[test]
fn answers_that_cannot_be_used_do_not_count() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(More {
        hosted: "breaker_failures = 1\nbreaker_pause_ms = 600000\nmax_response_bytes = 65536\n",
        ..More::default()
    });
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(401),
        Fault::Malformed,
        Fault::Huge(1 << 20),
        Fault::GzipBomb,
        Fault::Redirect("/".to_owned()),
        Fault::Canned(200, b"{".to_vec()),
    ] {
        hosted.store().set_fault_for("n.md", fault.clone());
        for _ in 0..3 {
            let error = gateway.error(TOOL, "n.md");
            assert!(error != "Upstream unavailable", "{fault:?}");
        }
        gateway.assert_healthy();
    }
    // This does.
    hosted.store().set_fault_for("n.md", Fault::CloseBeforeHead);
    assert_eq!(gateway.error(TOOL, "n.md"), "Runtime failure");
    assert_eq!(gateway.error(TOOL, "n.md"), "Upstream unavailable");
    assert_eq!(gateway.error(TOOL, "ready.md"), "Upstream unavailable");
}

/// What `user` gets for a note: nothing, or what is wrong.
fn asked(gateway: &Gateway<'_>, user: &str, vault: &str, path: &str) -> Option<String> {
    let caller = Caller::named(user).in_vault(vault);
    let answer = gateway.call(Era::Handshake, &caller, TOOL, json!({ "path": path }));
    (answer["result"]["isError"] != false).then(|| error_of(&answer))
}

const GONE: Option<&str> = Some("Upstream unavailable");
const FAILED: Option<&str> = Some("Runtime failure");

/// One user's slow notes shut out nobody else, nor that user in another vault.
#[test]
fn the_failures_of_one_user_are_nothing_to_the_others() {
    let hosted = TestHosted::empty();
    for user in ["ada", "eve"] {
        for vault in ["default", "work"] {
            hosted.note(vault, user, "good.md", "# Good\n");
        }
    }
    let gateway = hosted.serve_with(More {
        hosted: "breaker_failures = 2\nbreaker_pause_ms = 600000\ntimeout_ms = 300\n",
        ..More::default()
    });
    hosted.store().set_fault_for("slow.md", Fault::Silence);
    for _ in 0..2 {
        assert_eq!(
            asked(&gateway, "eve", "default", "slow.md").as_deref(),
            FAILED
        );
    }
    for path in ["slow.md", "good.md"] {
        assert_eq!(asked(&gateway, "eve", "default", path).as_deref(), GONE);
    }
    assert_eq!(asked(&gateway, "eve", "work", "good.md"), None);
    for vault in ["default", "work"] {
        assert_eq!(asked(&gateway, "ada", vault, "good.md"), None);
    }
    assert_eq!(
        asked(&gateway, "eve", "default", "good.md").as_deref(),
        GONE
    );
}

/// A store that answers nobody is left alone by all, after as many users as there may be failures.
#[test]
fn a_store_that_answers_nobody_is_left_alone_by_all() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(More {
        hosted: "breaker_failures = 4\nbreaker_pause_ms = 600000\n",
        ..More::default()
    });
    hosted.store().set_fault(Fault::CloseBeforeHead);
    for user in ["a", "b", "a", "c", "b", "d"] {
        assert_eq!(
            asked(&gateway, user, "default", "n.md").as_deref(),
            FAILED,
            "{user}"
        );
    }
    assert_eq!(gateway.requests().len(), 6);
    for user in ["a", "d", "e"] {
        assert_eq!(
            asked(&gateway, user, "default", "n.md").as_deref(),
            GONE,
            "{user}"
        );
    }
    assert_eq!(gateway.requests(), []);
}

/// Whether a connection can be made does not depend on who asks.
#[test]
fn a_store_that_cannot_be_reached_is_left_alone_by_all() {
    let (hosted, gone) = (TestHosted::empty(), TestHosted::empty());
    let url = gone.store().url();
    drop(gone);
    let gateway = hosted.serve_with(More {
        hosted: "breaker_failures = 3\nbreaker_pause_ms = 600000\n",
        environment: &[("SECTILE_HOSTED__STORE_URL", &url)],
        ..More::default()
    });
    for _ in 0..3 {
        assert_eq!(asked(&gateway, "eve", "default", "n.md").as_deref(), FAILED);
    }
    for user in ["eve", "ada"] {
        assert_eq!(asked(&gateway, user, "default", "n.md").as_deref(), GONE);
    }
}
