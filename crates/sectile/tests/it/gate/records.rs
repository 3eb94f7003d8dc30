//! Records of calls, and figures: what happened, and nothing that anybody wrote.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::{file, good_call, post_as, token_of, with_tokens};
use crate::fixture::{Era, Http, SECRET, TestVault, wait_for};

fn lines(vault: &TestVault) -> Vec<Value> {
    let text = fs::read_to_string(file(vault, "audit.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn only_the_record_tells_why_something_does_not_exist() {
    let vault = TestVault::sample();
    let server = with_tokens(
        &vault,
        "[server.audit]\nfile = 'audit.jsonl'\n[server.tools]\ndenylist = ['get_document_tree']\n\
         [server.auth.roles]\nviewer = ['get_note_outline', 'get_document_tree']\n",
    );
    let era = Era::Stateless;
    // No hash can look like these.
    let (ursula, xavier) = (token_of("ursula", "viewer"), token_of("xavier", "editor"));
    let named = |name: &str| era.call(7, name, json!({ "path": "inbox/one.md" }));
    post_as(&server, era, &ursula, &good_call(era));
    post_as(&server, era, &ursula, &named("get_document_tree"));
    post_as(&server, era, &ursula, &named("get_section_source"));
    post_as(&server, era, &ursula, &named(SECRET));
    post_as(&server, era, &xavier, &named("get_section_source"));
    post_as(&server, era, "Bearer x", &named("get_section_source"));
    let recorded = wait_for("a line for each call", || {
        let lines = lines(&vault);
        (lines.len() >= 5).then_some(lines)
    });
    let facts: Vec<(&str, &str)> = recorded
        .iter()
        .map(|line| {
            (
                line["tool"].as_str().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("get_note_outline", "ok"),
            ("get_document_tree", "hidden"),
            ("get_section_source", "hidden_from_role"),
            ("unknown", "unknown_tool"),
            ("get_section_source", "ok"),
        ]
    );
    for line in &recorded {
        let mut keys: Vec<&str> = line
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "caller",
                "elapsed_us",
                "outcome",
                "request",
                "time",
                "tool",
                "world"
            ]
        );
        assert_eq!(line["world"], "vault");
    }
    assert_eq!(
        recorded[0]["caller"], recorded[1]["caller"],
        "the same caller"
    );
    assert_ne!(recorded[0]["caller"], recorded[4]["caller"], "another one");
    let text = fs::read_to_string(file(&vault, "audit.jsonl")).unwrap();
    for secret in ["ursula", "xavier", "inbox", "eyJ", SECRET] {
        assert!(!text.contains(secret), "{secret} is recorded: {text}");
    }
    let log = server.log();
    assert!(!log.contains("hidden"), "the log tells: {log}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(file(&vault, "audit.jsonl"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn nothing_is_recorded_unless_it_is_asked_for() {
    let vault = TestVault::sample();
    let before = vault.contents().len();
    let server = with_tokens(&vault, "");
    post_as(
        &server,
        Era::Stateless,
        &token_of("ada", "viewer"),
        &good_call(Era::Stateless),
    );
    drop(server);
    // The secret and the settings.
    assert_eq!(vault.contents().len(), before + 2);
}

/// The address of the figures, which is in the log.
fn figures(server: &Http<'_>) -> String {
    let address = wait_for("the address of the figures", || {
        let log = server.log();
        let (_, rest) = log
            .split_once("/metrics")
            .map(|(before, _)| before)
            .and_then(|before| before.rsplit_once("http://"))?;
        Some(rest.to_owned())
    });
    let mut stream = TcpStream::connect(&address).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn figures_count_calls_and_refusals_and_name_nobody() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "[server.metrics]\nbind = '127.0.0.1:0'\n");
    let era = Era::Stateless;
    let ursula = token_of("ursula", "viewer");
    for _ in 0..3 {
        post_as(&server, era, &ursula, &good_call(era));
    }
    post_as(
        &server,
        era,
        &ursula,
        &era.call(7, SECRET, json!({ "path": SECRET })),
    );
    post_as(&server, era, &format!("Bearer {SECRET}"), &good_call(era));
    let text = figures(&server);
    let has = |parts: &[&str]| {
        let found = text
            .lines()
            .any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "{parts:?} is not in {text}");
    };
    has(&[
        "sectile_calls_total{",
        "world=\"vault\"",
        "tool=\"get_note_outline\"",
        "outcome=\"ok\"",
        " 3",
    ]);
    has(&[
        "sectile_calls_total{",
        "tool=\"unknown\"",
        "outcome=\"unknown_tool\"",
        " 1",
    ]);
    has(&["sectile_refusals_total{", "reason=\"malformed\"", " 1"]);
    has(&["sectile_calls_in_flight", " 0"]);
    has(&["sectile_call_seconds_bucket"]);
    for name in ["ursula", SECRET, "inbox"] {
        assert!(!text.contains(name), "{name} is in {text}");
    }
}
