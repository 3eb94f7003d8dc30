//! Handlers that panic, hang or are cancelled.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use sectile_mcp::{
    Access, Answer, CallContext, Failure, FailureKind, JsonObject, Pace, Policy, Resources,
    Surface, SurfaceLimits,
};
use serde_json::json;

use super::{ALPHA, Client, RESOURCES, Shelf, limits, spec, tool, until};
use crate::fixture::{Era, PATIENCE};

/// Both eras, with handlers on threads of their own and on the one that moves messages.
fn ways() -> impl Iterator<Item = (Era, SurfaceLimits)> {
    Era::BOTH.into_iter().flat_map(|era| {
        [false, true].map(|inline| {
            let mut limits = limits();
            limits.inline_when_alone = inline;
            (era, limits)
        })
    })
}

const PANIC_MESSAGE: &str = "what was being worked on";

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_panic_is_an_internal_error_and_the_server_lives() {
    let shelve = || json!({ "name": "shelve", "arguments": { "title": "x" } });
    for (era, limits) in ways() {
        for (part, method, params) in [
            ("tool", "tools/call", shelve()),
            ("reader", "resources/read", json!({ "uri": ALPHA })),
            ("lister", "resources/list", json!({})),
            ("renderer", "prompts/get", json!({ "name": "tidy" })),
        ] {
            let mut world = spec();
            match part {
                "tool" => {
                    world.tools = vec![tool("shelve", Access::Read, |_, _, _| {
                        panic!("{PANIC_MESSAGE}")
                    })];
                    world.tools[0].pace = Pace::Quick;
                }
                "reader" => {
                    let read = |_: &Shelf, _: &str| panic!("{PANIC_MESSAGE}");
                    world.resources = Some(Resources { read, ..RESOURCES });
                }
                "lister" => {
                    let list = |_: &Shelf, _: &CallContext| panic!("{PANIC_MESSAGE}");
                    world.resources = Some(Resources { list, ..RESOURCES });
                }
                _ => world.prompts[1].render = |_, _, _| panic!("{PANIC_MESSAGE}"),
            }
            let surface = Surface::new(world, Shelf::default(), Policy::default(), limits);
            let mut client = Client::connect_to(era, surface).await;
            // More often than there are slots for calls: a panic must release its slot.
            for _ in 0..10 {
                let answer = client.ask(method, params.clone()).await;
                let case = format!("{part}, {era:?}: {answer}");
                assert_eq!(answer["error"]["code"], -32603, "{case}");
                assert_eq!(answer["error"]["data"]["kind"], "internal", "{case}");
                assert!(!answer.to_string().contains(PANIC_MESSAGE), "{case}");
            }
            let answer = client.ask("tools/list", json!({})).await;
            assert!(answer["result"].is_object(), "{part}, {era:?}: {answer}");
        }
    }
}

/// Works until the call is cancelled, or far too long.
fn wait_for_cancellation(
    shelf: &Shelf,
    _: JsonObject,
    context: &CallContext,
) -> Result<Answer, Failure> {
    let started = Instant::now();
    shelf.waiting.store(true, Ordering::SeqCst);
    while started.elapsed() < 2 * PATIENCE {
        if let Err(failure) = context.check() {
            assert!(context.cancelled.is_cancelled());
            assert_eq!(failure.kind, FailureKind::Cancelled);
            shelf.saw_cancellation.store(true, Ordering::SeqCst);
            return Err(failure);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(Failure::new(FailureKind::Internal, "Nobody gave up."))
}

/// A client of a world whose tool waits until it is cancelled, with a call of it in flight.
async fn client_of_waiting_tool(era: Era, limits: SurfaceLimits) -> (Client, Shelf) {
    let shelf = Shelf::default();
    let mut world = spec();
    world.tools = vec![tool("shelve", Access::Write, wait_for_cancellation)];
    let surface = Surface::new(world, shelf.clone(), Policy::default(), limits);
    let mut client = Client::connect_to(era, surface).await;
    let call = era.call(3, "shelve", json!({ "title": "x" }));
    client.send(&call).await;
    let waiting = shelf.waiting.clone();
    until("handler that waits", || waiting.load(Ordering::SeqCst)).await;
    (client, shelf)
}

async fn assert_handler_stopped(shelf: &Shelf, case: &str) {
    let saw = shelf.saw_cancellation.clone();
    until(case, || saw.load(Ordering::SeqCst)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_cancelled_call_tells_its_handler() {
    for (era, limits) in ways() {
        let (mut client, shelf) = client_of_waiting_tool(era, limits).await;
        assert!(!shelf.saw_cancellation.load(Ordering::SeqCst), "too early");
        client
            .send(&json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": { "requestId": 3 },
            }))
            .await;
        assert_handler_stopped(&shelf, "cancellation by the client").await;
        // The next answer is that of the next request: the cancelled call got none.
        let answer = client.ask("prompts/get", json!({ "name": "tidy" })).await;
        assert_eq!(answer["id"], 7, "{era:?}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_call_that_takes_too_long_tells_its_handler() {
    for (era, mut limits) in ways() {
        limits.call_timeout = Duration::from_millis(200);
        let (mut client, shelf) = client_of_waiting_tool(era, limits).await;
        assert_handler_stopped(&shelf, "cancellation by the time limit").await;
        let line = client.receive_line().await;
        assert!(line.contains("timed_out"), "{era:?}: {line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_server_that_stops_tells_its_handlers() {
    for (era, limits) in ways() {
        let (client, shelf) = client_of_waiting_tool(era, limits).await;
        assert!(!shelf.saw_cancellation.load(Ordering::SeqCst), "too early");
        client.shutdown.cancel();
        assert_handler_stopped(&shelf, "cancellation by the end of the server").await;
    }
}
