//! State kept between the calls of one client.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use sectile_mcp::{
    Access, Answer, AnswerFacts, CallContext, Connection, Failure, JsonObject, Policy, Surface,
};
use serde_json::{Value, json};

use super::{Client, Shelf, limits, spec, tool, wire::HttpServer};
use crate::fixture::Era;

/// Answers with the title of the previous call.
pub(super) fn remember(
    _: &Shelf,
    arguments: JsonObject,
    context: &CallContext,
) -> Result<Answer, Failure> {
    let kept = |connection: &Arc<Connection>| {
        let before = connection.get("title").unwrap_or_default();
        let title = arguments["title"].as_str().unwrap_or_default();
        connection.set("title", title);
        if title.is_empty() {
            connection.clear("title");
        }
        before
    };
    let title = context.connection.as_ref().map(kept);
    let title = title.unwrap_or_else(|| "no connection".to_owned());
    Answer::new(&json!({ "title": title }), AnswerFacts::default())
}

fn remembering() -> Surface {
    let mut world = spec();
    world.tools = vec![tool("remember", Access::Write, remember)];
    Surface::new(world, Shelf::default(), Policy::default(), limits())
}

pub(super) fn call(title: &str) -> Value {
    json!({ "name": "remember", "arguments": { "title": title } })
}

#[tokio::test]
async fn a_process_is_one_connection() {
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, remembering()).await;
        for (title, before) in [("one", ""), ("two", "one"), ("", "two"), ("x", "")] {
            let answer = client.ask("tools/call", call(title)).await;
            assert_eq!(
                answer["result"]["structuredContent"]["title"], before,
                "{era:?}"
            );
        }
        let mut other = Client::connect_to(era, remembering()).await;
        let answer = other.ask("tools/call", call("y")).await;
        assert_eq!(
            answer["result"]["structuredContent"]["title"], "",
            "{era:?}"
        );
    }
}

#[tokio::test]
async fn requests_without_a_session_have_none() {
    let http = HttpServer::start(remembering()).await;
    for era in Era::BOTH {
        for _ in 0..2 {
            let answer = http.ask(era, "tools/call", call("one")).await;
            assert_eq!(
                answer["result"]["structuredContent"]["title"], "no connection",
                "{era:?}: {answer}"
            );
        }
    }
}

/// Answers how often it was called on this connection, and whether the era knows connections.
fn count(_: &Shelf, _: JsonObject, context: &CallContext) -> Result<Answer, Failure> {
    let counted = |connection: &Arc<Connection>| {
        let count = connection.value(AtomicUsize::default);
        count.fetch_add(1, Ordering::Relaxed)
    };
    let calls = context.connection.as_ref().map(counted);
    let title = format!("{calls:?}, {}", context.is_stateless);
    Answer::new(&json!({ "title": title }), AnswerFacts::default())
}

#[tokio::test]
async fn a_world_keeps_values_of_its_own_types_for_a_connection() {
    for era in Era::BOTH {
        let mut world = spec();
        world.tools = vec![tool("remember", Access::Write, count)];
        let surface = Surface::new(world, Shelf::default(), Policy::default(), limits());
        let mut client = Client::connect_to(era, surface).await;
        for calls in 0..3 {
            let answer = client.ask("tools/call", call("x")).await;
            let expected = format!("Some({calls}), {}", era == Era::Stateless);
            assert_eq!(answer["result"]["structuredContent"]["title"], expected);
        }
    }
}
