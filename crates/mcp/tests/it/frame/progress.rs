//! Handlers that report progress.

use std::{
    thread,
    time::{Duration, Instant},
};

use sectile_mcp::{
    Access, Answer, AnswerFacts, CallContext, Failure, JsonObject, Pace, Policy, Surface,
};
use serde_json::{Value, json};

use super::{Client, Shelf, limits, spec, tool, wire::HttpServer};
use crate::fixture::Era;

/// Milliseconds that are less than the interval between two reports.
const SHORT_BURST: u64 = 50;

/// Reports far too often, also backwards, and once after a while.
fn work(_: &Shelf, _: JsonObject, context: &CallContext) -> Result<Answer, Failure> {
    let progress = &context.progress;
    let begun = Instant::now();
    progress.report(1, Some(100), "begun");
    for step in 0..50 {
        progress.report(step, Some(100), "too soon");
    }
    let burst = u64::try_from(begun.elapsed().as_millis()).unwrap();
    thread::sleep(Duration::from_millis(300));
    progress.report(1, Some(100), "not forward");
    progress.report(60, Some(100), "");
    progress.report(100, Some(100), "done");
    progress.report(100, Some(100), "again");
    Answer::new(
        &json!({ "title": "x", "burst": burst }),
        AnswerFacts::default(),
    )
}

fn surface(pace: Pace) -> Surface {
    let mut world = spec();
    world.tools = vec![tool("work", Access::Read, work)];
    world.tools[0].pace = pace;
    Surface::new(world, Shelf::default(), Policy::default(), limits())
}

fn call(era: Era, token: Option<Value>) -> Value {
    let mut call = era.call(7, "work", json!({ "title": "x" }));
    if let Some(token) = token {
        call["params"]["_meta"]["progressToken"] = token;
    }
    call
}

fn assert_reports(messages: &[Value], token: &Value, case: &str) {
    let [reports @ .., answer] = messages else {
        panic!("no message: {case}");
    };
    assert_eq!(answer["id"], 7, "{case}: {answer}");
    assert_eq!(answer["result"]["isError"], false, "{case}: {answer}");
    let said: Vec<Value> = reports
        .iter()
        .map(|report| {
            assert_eq!(report["method"], "notifications/progress", "{case}");
            let mut params = report["params"].clone();
            let found = params.as_object_mut().unwrap().remove("progressToken");
            assert_eq!(found.as_ref(), Some(token), "{case}");
            params
        })
        .collect();
    let expected = [
        json!({ "progress": 1.0, "total": 100.0, "message": "begun" }),
        json!({ "progress": 60.0, "total": 100.0 }),
        json!({ "progress": 100.0, "total": 100.0, "message": "done" }),
    ];
    // If the machine stalled in between, a report meant to be too soon was not, and the next one may be.
    if answer["result"]["structuredContent"]["burst"]
        .as_u64()
        .unwrap()
        < SHORT_BURST
    {
        assert_eq!(said, expected, "{case}");
    } else {
        assert_eq!(
            (said.first(), said.last()),
            (expected.first(), expected.last()),
            "{case}"
        );
        let forward = |pair: &[Value]| pair[0]["progress"].as_f64() < pair[1]["progress"].as_f64();
        assert!(said.windows(2).all(forward), "{case}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn reports_come_before_the_answer_when_they_are_wanted() {
    for token in [json!("abc"), json!(5)] {
        for era in Era::BOTH {
            let mut client = Client::connect_to(era, surface(Pace::Slow)).await;
            client.send(&call(era, Some(token.clone()))).await;
            let mut messages = Vec::new();
            while messages.last().is_none_or(|last: &Value| last["id"] != 7) {
                messages.push(client.receive().await);
            }
            assert_reports(&messages, &token, &format!("stdio, {era:?}"));

            let http = HttpServer::start(surface(Pace::Slow)).await;
            let message = call(era, Some(token.clone()));
            let mut answer = http.post(era, &message, &[]).await;
            assert_eq!(answer.header("content-type"), Some("text/event-stream"));
            let mut messages = Vec::new();
            while let Some(message) = answer.event().await {
                messages.push(message);
            }
            assert_reports(&messages, &token, &format!("HTTP, {era:?}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn nobody_hears_of_it_who_did_not_ask_and_quick_tools_say_nothing() {
    for (pace, token) in [(Pace::Slow, None), (Pace::Quick, Some(json!(5)))] {
        for era in Era::BOTH {
            let mut client = Client::connect_to(era, surface(pace)).await;
            client.send(&call(era, token.clone())).await;
            assert_eq!(client.receive().await["id"], 7, "{era:?}");
            let http = HttpServer::start(surface(pace)).await;
            let answer = http.post(era, &call(era, token.clone()), &[]).await;
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(answer.json().await["id"], 7, "{era:?}");
        }
    }
}
