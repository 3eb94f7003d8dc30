//! Completions for prompts and templates.

use std::sync::atomic::Ordering;

use sectile_mcp::{
    CompletionReference, Policy, Surface, WorldSpec,
    policy::{Authorisation, Mode},
};
use serde_json::{Value, json};

use super::{
    Client, Shelf, limits,
    pages::{HIDDEN_TEMPLATE, TEMPLATE, library},
    policies::{names, policy},
    wire::HttpServer,
};
use crate::fixture::{Era, initialize};

fn completing() -> WorldSpec<Shelf> {
    let mut world = library();
    world.complete = Some(|shelf, request, _| {
        shelf.waiting.store(true, Ordering::SeqCst);
        match (&request.reference, request.argument.as_str()) {
            (CompletionReference::Prompt(name), "reader") => {
                assert_eq!(name, "greet");
                let all = (0..250).map(|number| format!("reader {number}"));
                all.filter(|reader| reader.starts_with(&request.value))
                    .collect()
            }
            (CompletionReference::Template(_), "page") => {
                vec![format!("page of {}", request.others["book"])]
            }
            (_, "panic") => panic!("what was being worked on"),
            _ => Vec::new(),
        }
    });
    world
}

fn of_prompt(name: &str, argument: &str, value: &str) -> Value {
    json!({
        "ref": { "type": "ref/prompt", "name": name },
        "argument": { "name": argument, "value": value },
    })
}

fn of_template(uri: &str, argument: &str) -> Value {
    json!({
        "ref": { "type": "ref/resource", "uri": uri },
        "argument": { "name": argument, "value": "" },
        "context": { "arguments": { "book": "Emma" } },
    })
}

const METHOD: &str = "completion/complete";

#[tokio::test]
async fn arguments_and_variables_are_completed() {
    let surface = || Surface::new(completing(), Shelf::default(), Policy::default(), limits());
    let http = HttpServer::start(surface()).await;
    for era in Era::BOTH {
        let mut stdio = Client::connect_to(era, surface()).await;
        for (params, first, shown, total) in [
            (of_prompt("greet", "reader", ""), Some("reader 0"), 100, 250),
            (
                of_prompt("greet", "reader", "reader 24"),
                Some("reader 24"),
                11,
                11,
            ),
            (of_prompt("greet", "reader", "x"), None, 0, 0),
            (of_prompt("greet", "nonsense", ""), None, 0, 0),
            (of_template(TEMPLATE, "page"), Some("page of Emma"), 1, 1),
        ] {
            let over_stdio = stdio.ask(METHOD, params.clone()).await;
            let over_http = http.ask(era, METHOD, params.clone()).await;
            assert_eq!(over_stdio, over_http, "{params}, {era:?}");
            let completion = &over_stdio["result"]["completion"];
            let values = completion["values"].as_array().unwrap();
            assert_eq!(
                values.first().and_then(Value::as_str),
                first,
                "{params}, {era:?}"
            );
            assert_eq!(values.len(), shown, "{params}, {era:?}");
            assert_eq!(completion["total"], total, "{params}, {era:?}");
            assert_eq!(completion["hasMore"], total > shown, "{params}, {era:?}");
        }
        let answer = stdio.ask(METHOD, of_prompt("greet", "panic", "")).await;
        assert_eq!(answer["error"]["code"], -32603, "{era:?}: {answer}");
        for params in [json!({}), json!({ "ref": { "type": "ref/prompt" } })] {
            let answer = stdio.ask(METHOD, params.clone()).await;
            assert_eq!(
                answer["error"]["code"], -32602,
                "{params}, {era:?}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_hidden_completes_like_what_does_not_exist_and_never_runs() {
    let mut hiding = policy(Mode::Filter, &[], &["tidy", HIDDEN_TEMPLATE], &[]);
    for allowed in [&[][..], &["tidy", HIDDEN_TEMPLATE]] {
        hiding.authorisation = Authorisation {
            allowed: names(allowed),
        };
        for era in Era::BOTH {
            let shelf = Shelf::default();
            let surface = Surface::new(completing(), shelf.clone(), hiding.clone(), limits());
            let mut client = Client::connect_to(era, surface).await;
            for (hidden, nonexistent) in [
                (of_prompt("tidy", "x", ""), of_prompt("nope", "x", "")),
                (
                    of_template(HIDDEN_TEMPLATE, "page"),
                    of_template("shelf://nope", "page"),
                ),
            ] {
                let hidden = client.line(METHOD, hidden).await;
                assert!(hidden.contains("-32602"), "{era:?}: {hidden}");
                assert_eq!(hidden, client.line(METHOD, nonexistent).await, "{era:?}");
            }
            assert!(!shelf.waiting.load(Ordering::SeqCst), "it ran");
        }
    }
}

#[tokio::test]
async fn what_a_caller_may_not_use_is_not_completed() {
    let policy = policy(Mode::Filter, &[], &[], &["tidy"]);
    let surface = Surface::new(completing(), Shelf::default(), policy, limits());
    let mut client = Client::connect_to(Era::Handshake, surface).await;
    let answer = client.ask(METHOD, of_prompt("greet", "reader", "")).await;
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
}

#[tokio::test]
async fn a_world_that_completes_nothing_does_not_say_it_does() {
    for (world, completes) in [(completing(), true), (library(), false)] {
        let mut client = Client::connect(Era::Stateless, world, Policy::default()).await;
        let answer = client.ask("server/discover", json!({})).await;
        let capabilities = &answer["result"]["capabilities"];
        assert_eq!(capabilities.get("completions").is_some(), completes);
        client.send(&initialize(7)).await;
        let line = client.receive_line().await;
        assert_eq!(line.contains("\"completions\""), completes, "{line}");
        let answer = client.ask(METHOD, of_prompt("greet", "reader", "")).await;
        assert_eq!(answer["error"]["code"] == -32601, !completes, "{answer}");
    }
}
