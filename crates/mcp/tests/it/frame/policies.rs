//! Visibility and authorisation over resources and prompts.

use std::{
    io,
    sync::{Arc, Mutex},
};

use sectile_mcp::{
    Policy,
    policy::{Authorisation, Mode, NameSet, Visibility},
};
use serde_json::{Value, json};

use super::{ALPHA, BETA, Client, spec};
use crate::fixture::Era;

pub(super) fn names(list: &[&str]) -> NameSet {
    NameSet::new(list.iter().map(|name| (*name).to_owned()))
}

/// Makes a policy with the given allowlist, denylist and list of what callers may use.
pub(super) fn policy(mode: Mode, allow: &[&str], deny: &[&str], callable: &[&str]) -> Policy {
    Policy {
        visibility: Visibility {
            mode,
            allow: names(allow),
            deny: names(deny),
        },
        authorisation: Authorisation {
            allowed: names(callable),
        },
        ..Policy::default()
    }
}

/// Policies that hide the resource [`BETA`] and the prompt `tidy`, and nothing else.
fn hiding() -> Vec<(&'static str, Policy)> {
    let both = [BETA, "tidy"];
    let qualified = ["shelf/shelf://beta", "shelf/tidy"];
    let others = ["shelve", ALPHA, "greet"];
    let all = ["shelve", ALPHA, "greet", BETA, "tidy"];
    use Mode::{Filter, Passthrough};
    vec![
        ("denied", policy(Filter, &[], &both, &[])),
        ("denied as world/name", policy(Filter, &[], &qualified, &[])),
        ("not allowed", policy(Filter, &others, &[], &[])),
        ("allowed and denied", policy(Filter, &all, &both, &[])),
        ("denied, listed", policy(Passthrough, &[], &both, &[])),
        (
            "denied, others callable",
            policy(Filter, &[], &both, &others),
        ),
        ("denied, all callable", policy(Filter, &[], &both, &all)),
        (
            "not allowed, others callable",
            policy(Filter, &others, &[], &others),
        ),
        (
            "denied, listed, others callable",
            policy(Passthrough, &[], &both, &others),
        ),
    ]
}

#[tokio::test]
async fn a_hidden_resource_answers_byte_for_byte_like_one_that_does_not_exist() {
    for (case, policy) in hiding() {
        for era in Era::BOTH {
            let mut client = Client::connect(era, spec(), policy.clone()).await;
            let hidden = client.line("resources/read", json!({ "uri": BETA })).await;
            assert!(
                hidden.contains("unknown_resource"),
                "{case}, {era:?}: {hidden}"
            );
            assert!(!hidden.contains(BETA), "{case}, {era:?}: {hidden}");
            for uri in [
                "shelf://bet",
                "shelf://nope",
                "other://beta",
                "shelf/shelf://beta",
            ] {
                let nonexistent = client.line("resources/read", json!({ "uri": uri })).await;
                assert_eq!(hidden, nonexistent, "{case}, {era:?}, {uri}");
            }
            let visible = client.ask("resources/read", json!({ "uri": ALPHA })).await;
            assert!(visible["result"].is_object(), "{case}, {era:?}: {visible}");
        }
    }
}

#[tokio::test]
async fn a_hidden_prompt_answers_byte_for_byte_like_one_that_does_not_exist() {
    for (case, policy) in hiding() {
        for era in Era::BOTH {
            let mut client = Client::connect(era, spec(), policy.clone()).await;
            for arguments in [json!({}), json!({ "reader": "Ada" })] {
                let params = |name: &str| json!({ "name": name, "arguments": arguments });
                let hidden = client.line("prompts/get", params("tidy")).await;
                assert!(
                    hidden.contains("unknown_prompt"),
                    "{case}, {era:?}: {hidden}"
                );
                assert!(!hidden.contains("tidy"), "{case}, {era:?}: {hidden}");
                for name in ["tidi", "nope", "shelf/tidy"] {
                    let nonexistent = client.line("prompts/get", params(name)).await;
                    assert_eq!(hidden, nonexistent, "{case}, {era:?}, {name}");
                }
            }
            let params = json!({ "name": "greet", "arguments": { "reader": "Ada" } });
            let visible = client.ask("prompts/get", params).await;
            assert!(visible["result"].is_object(), "{case}, {era:?}: {visible}");
        }
    }
}

#[tokio::test]
async fn listings_leave_hidden_things_out_unless_the_mode_is_passthrough() {
    for (case, policy) in hiding() {
        let shows_all = policy.visibility.mode == Mode::Passthrough;
        for era in Era::BOTH {
            let mut client = Client::connect(era, spec(), policy.clone()).await;
            let resources = client.listed("resources/list", "resources", "uri").await;
            let prompts = client.listed("prompts/list", "prompts", "name").await;
            let tools = client.listed("tools/list", "tools", "name").await;
            if shows_all {
                assert_eq!(resources, [ALPHA, BETA], "{case}, {era:?}");
                assert_eq!(prompts, ["greet", "tidy"], "{case}, {era:?}");
            } else {
                assert_eq!(resources, [ALPHA], "{case}, {era:?}");
                assert_eq!(prompts, ["greet"], "{case}, {era:?}");
            }
            assert_eq!(tools, ["shelve"], "{case}, {era:?}");
        }
    }
}

#[tokio::test]
async fn what_a_caller_may_not_use_is_listed_and_refused_in_one_way() {
    let mut refusals: Vec<String> = Vec::new();
    for era in Era::BOTH {
        let policy = policy(Mode::Filter, &[], &[], &["shelve", ALPHA, "shelf/greet"]);
        let mut client = Client::connect(era, spec(), policy).await;
        let resources = client.listed("resources/list", "resources", "uri").await;
        assert_eq!(resources, [ALPHA, BETA], "{era:?}");
        let prompts = client.listed("prompts/list", "prompts", "name").await;
        assert_eq!(prompts, ["greet", "tidy"], "{era:?}");
        for (method, params) in [
            ("resources/read", json!({ "uri": BETA })),
            ("prompts/get", json!({ "name": "tidy" })),
        ] {
            let line = client.line(method, params).await;
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(answer["error"]["code"], -32003, "{method}, {era:?}: {line}");
            assert_eq!(answer["error"]["data"]["kind"], "forbidden", "{method}");
            refusals.push(line);
        }
        for (method, params) in [
            ("resources/read", json!({ "uri": ALPHA })),
            (
                "prompts/get",
                json!({ "name": "greet", "arguments": { "reader": "Ada" } }),
            ),
        ] {
            let answer = client.ask(method, params).await;
            assert!(answer["result"].is_object(), "{method}, {era:?}: {answer}");
        }
    }
    assert!(
        refusals.iter().all(|line| *line == refusals[0]),
        "{refusals:?}"
    );
}

#[tokio::test]
async fn what_does_not_exist_is_unknown_whatever_a_caller_may_use() {
    for era in Era::BOTH {
        let policy = policy(Mode::Filter, &[], &[], &["shelve", ALPHA]);
        let mut client = Client::connect(era, spec(), policy).await;
        for (method, params, kind) in [
            ("tools/call", json!({ "name": "nope" }), "unknown_tool"),
            ("prompts/get", json!({ "name": "nope" }), "unknown_prompt"),
            (
                "resources/read",
                json!({ "uri": "shelf://nope" }),
                "unknown_resource",
            ),
        ] {
            let answer = client.ask(method, params).await;
            assert_eq!(answer["error"]["data"]["kind"], kind, "{method}, {era:?}");
        }
    }
}

/// Log lines of this thread, as JSON.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Captures what this thread logs, until the guard is dropped.
    pub(super) fn record(&self) -> tracing::subscriber::DefaultGuard {
        // Without a subscriber on every thread, one that has none can switch an event off for all of them.
        let everywhere = tracing_subscriber::fmt().with_writer(io::sink).finish();
        drop(tracing::subscriber::set_global_default(everywhere));
        let writer = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    /// Returns our own lines, which are the only ones that the program writes.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines()
            .filter(|line| line.contains(r#""target":"sectile"#))
            .flat_map(|line| [line, "\n"])
            .collect()
    }

    pub(super) fn outcomes(&self) -> Vec<String> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["target"] == "sectile::call")
            .map(|line| line["outcome"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[tokio::test]
async fn the_log_cannot_tell_hidden_and_unknown_apart() {
    let log = Log::default();
    let _logging = log.record();
    let policy = policy(
        Mode::Filter,
        &[],
        &[BETA, "tidy"],
        &[BETA, "tidy", "shelf://nope"],
    );
    let mut client = Client::connect(Era::Handshake, spec(), policy).await;
    for (method, params) in [
        ("prompts/get", json!({ "name": "tidy" })),
        ("prompts/get", json!({ "name": "greet" })),
        ("prompts/get", json!({ "name": "nope" })),
        ("resources/read", json!({ "uri": BETA })),
        ("resources/read", json!({ "uri": ALPHA })),
        ("resources/read", json!({ "uri": "shelf://nope" })),
    ] {
        client.line(method, params).await;
    }
    assert_eq!(
        log.outcomes(),
        [
            "unknown_prompt",
            "forbidden",
            "unknown_prompt",
            "unknown_resource",
            "forbidden",
            "unknown_resource",
        ]
    );
}
