//! Everything that can go wrong with a store, one by one: a typed answer in bounded time, and a server that goes on.

use std::time::Duration;

use sectile_note_store::Fault;
use serde_json::json;

use crate::{
    fixture::{Caller, Era, Gateway, More, TestHosted, error_of},
    vectors::TOOLS,
};

/// Far longer than any test waits.
const FOREVER: Duration = Duration::from_secs(600);

const QUICK: More<'_> = More {
    hosted: "connect_timeout_ms = 2000\ntimeout_ms = 400\nmax_response_bytes = 1048576\nbreaker_failures = 10000\n",
    tables: "",
    environment: &[],
};

/// Every tool, in both eras, gets `expected` for a note with this fault, with one request each.
fn check(hosted: &TestHosted, gateway: &Gateway<'_>, fault: &Fault, expected: &str) {
    let caller = Caller::named("ann");
    hosted.note("default", "ann", "n.md", "# N\n\ntext\n");
    // The fault strikes on a connection that was good before.
    gateway.assert_healthy();
    hosted.store().set_fault_for("n.md", fault.clone());
    assert_eq!(gateway.requests().len(), 1);
    for (era, tool) in Era::BOTH.into_iter().zip(TOOLS) {
        let answer = gateway.call(era, &caller, tool, json!({ "path": "n.md" }));
        assert_eq!(error_of(&answer), expected, "{fault:?}, {tool}");
        let requests = gateway.requests();
        assert_eq!(requests.len(), 1, "{fault:?}, {tool}: {requests:?}");
    }
    gateway.assert_healthy();
    assert_eq!(gateway.requests().len(), 1);
}

macro_rules! faults {
    ($($name:ident: $fault:expr => $expected:literal;)+) => {$(
        #[test]
        fn $name() {
            let hosted = TestHosted::empty();
            let gateway = hosted.serve_with(QUICK);
            check(&hosted, &gateway, &$fault, $expected);
        }
    )+};
}

faults! {
    slow: Fault::Slow(FOREVER) => "Runtime failure";
    drip: Fault::Drip(Duration::from_millis(100)) => "Runtime failure";
    huge: Fault::Huge(64 << 20) => "Runtime failure";
    truncated: Fault::Truncated => "Runtime failure";
    malformed: Fault::Malformed => "Runtime failure";
    gzip_bomb: Fault::GzipBomb => "Runtime failure";
    close_mid_body: Fault::CloseMidBody => "Runtime failure";
    close_before_head: Fault::CloseBeforeHead => "Runtime failure";
    silence: Fault::Silence => "Runtime failure";
    not_http: Fault::NotHttp => "Runtime failure";
    endless_head: Fault::EndlessHead => "Runtime failure";
}

#[test]
fn statuses() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(QUICK);
    for status in [
        300, 304, 307, 400, 401, 403, 404, 409, 418, 429, 500, 502, 503, 504, 599,
    ] {
        check(
            &hosted,
            &gateway,
            &Fault::Status(status),
            &format!("Upstream {status}"),
        );
    }
}

#[test]
fn redirects_are_not_followed() {
    let (hosted, elsewhere) = (TestHosted::empty(), TestHosted::empty());
    let gateway = hosted.serve_with(QUICK);
    let own = format!("{}/api/v1/notes/ready.md", hosted.store().url());
    let other = format!("{}/api/v1/notes/ready.md", elsewhere.store().url());
    for place in [own, other, "/api/v1/notes/ready.md".to_owned()] {
        check(&hosted, &gateway, &Fault::Redirect(place), "Upstream 302");
    }
    assert_eq!(elsewhere.store().connections(), 0);
}

#[test]
fn answers_that_are_no_notes() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(QUICK);
    let deep = format!(
        "{{\"body\":{}{}}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let many = format!("{{\"x\":[{}0]}}", "0,".repeat(200_000));
    for body in [
        "",
        " ",
        "{",
        "{\"body\":",
        "{\"body\":\"\u{1}\"}",
        "undefined",
        "{}{}",
        &deep,
        &many,
    ] {
        let fault = Fault::Canned(200, body.as_bytes().to_vec());
        check(&hosted, &gateway, &fault, "Runtime failure");
    }
    // Any other success is one, as long as there is a note.
    let fault = Fault::Canned(203, br##"{"body":"# A"}"##.to_vec());
    hosted.store().set_fault_for("n.md", fault);
    assert_eq!(
        gateway.view("get_note_outline", "n.md")["headings"][0]["text"],
        "A"
    );
    // Halves of characters, which stores that count in UTF-16 send, do not make a note unreadable.
    let fault = Fault::Canned(200, b"{\"body\":\"# A\\ud83d \xff\"}".to_vec());
    hosted.store().set_fault_for("n.md", fault);
    assert_eq!(
        gateway.view("get_note_outline", "n.md")["headings"][0]["text"],
        "A\u{fffd} \u{fffd}"
    );
}

#[test]
fn a_store_that_hangs_up_is_asked_at_most_once_a_call() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(QUICK);
    hosted.store().set_fault(Fault::HangUp);
    let mut answered = 0;
    for _ in 0..20 {
        let answer = gateway.note("get_note_outline", "ready.md");
        let requests = gateway.requests();
        if answer["result"]["isError"] == false {
            assert_eq!(requests.len(), 1, "{requests:?}");
            answered += 1;
        } else {
            // The store closed in the very moment in which the request was sent.
            assert_eq!(error_of(&answer), "Runtime failure");
            assert!(requests.len() <= 1, "{requests:?}");
        }
    }
    assert!(answered > 0);
    gateway.assert_healthy();
}

#[test]
fn a_store_that_is_not_there() {
    let hosted = TestHosted::empty();
    let gone = TestHosted::empty();
    let url = gone.store().url();
    drop(gone);
    let mut command = hosted.command(QUICK);
    command.env("SECTILE_HOSTED__STORE_URL", &url);
    let http = crate::fixture::Http::spawn(hosted.folder(), command);
    let token = format!("Bearer {}", Caller::named("ann").token());
    for (era, tool) in Era::BOTH.into_iter().zip(TOOLS) {
        let message = era.call(1, tool, json!({ "path": "n.md" }));
        let answer = http
            .post_with(era, &message, &[("Authorization", &token)])
            .json();
        assert_eq!(error_of(&answer), "Runtime failure", "{tool}");
    }
    let written = http.answers().text() + &http.log();
    assert!(
        !written.contains(url.trim_start_matches("http://")),
        "{written}"
    );
}

/// A slow store holds up those who ask for its slow notes, and nobody else.
#[test]
fn a_slow_note_does_not_hold_up_others() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve_with(More {
        hosted: "timeout_ms = 600000\nbreaker_failures = 10000\n",
        tables: "",
        environment: &[("SECTILE_SERVER__LIMITS__CALL_TIMEOUT_MS", "8000")],
    });
    hosted.store().set_fault_for("slow.md", Fault::Silence);
    std::thread::scope(|scope| {
        let slow: Vec<_> = (0..8)
            .map(|_| {
                let gateway = &gateway;
                scope.spawn(move || {
                    let caller = Caller::named("ann");
                    let message = Era::Handshake.call(1, TOOLS[0], json!({ "path": "slow.md" }));
                    gateway.post(Era::Handshake, &caller, &message).json()
                })
            })
            .collect();
        crate::fixture::wait_for("the slow requests", || {
            (hosted.store().requests().len() == 8).then_some(())
        });
        let outline = gateway.view("get_note_outline", "ready.md");
        assert_eq!(outline["headings"][0]["text"], "Ready");
        assert!(
            slow.iter().all(|thread| !thread.is_finished()),
            "the good call came first"
        );
        for thread in slow {
            // The time of the call runs out before that of the request.
            let answer = thread.join().unwrap();
            assert_eq!(answer["error"]["data"]["kind"], "timed_out", "{answer}");
        }
    });
    gateway.assert_healthy();
}
