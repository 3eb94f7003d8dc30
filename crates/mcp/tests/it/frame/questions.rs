//! Handlers that ask the user.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use sectile_mcp::{
    Access, Answer as ToolAnswer, AnswerFacts, CallContext, Confirmation, Failure, JsonObject,
    Pace, Policy, Surface, SurfaceLimits, policy::Mode,
};
use serde_json::{Value, json};

use super::{
    Client, Shelf, limits,
    policies::{Log, policy},
    spec, tool, until,
    wire::{Answer, HttpServer},
};
use crate::fixture::{Era, PATIENCE, initialize};

const QUESTION: &str = "Burn the book?";

/// Answers with what the user said, and records whether it burnt the book.
fn burn(shelf: &Shelf, _: JsonObject, context: &CallContext) -> Result<ToolAnswer, Failure> {
    let heard = context.confirm(QUESTION);
    if heard == Confirmation::Accepted {
        shelf.waiting.store(true, Ordering::SeqCst);
    }
    shelf
        .saw_cancellation
        .store(context.cancelled.is_cancelled(), Ordering::SeqCst);
    ToolAnswer::new(
        &json!({ "title": format!("{heard:?}") }),
        AnswerFacts::default(),
    )
}

fn surface_with(shelf: &Shelf, policy: Policy, limits: SurfaceLimits) -> Surface {
    let mut world = spec();
    world.sessions = true;
    world.tools = vec![
        tool("burn", Access::Destructive, burn),
        tool("burn_quickly", Access::Destructive, burn),
    ];
    world.tools[1].pace = Pace::Quick;
    Surface::new(world, shelf.clone(), policy, limits)
}

fn surface(shelf: &Shelf) -> Surface {
    surface_with(shelf, Policy::default(), limits())
}

fn initialize_with(capabilities: Value) -> Value {
    let mut message = initialize(0);
    message["params"]["capabilities"] = capabilities;
    message
}

/// A client of the handshake era on stdio that declares its capabilities.
async fn client_with(capabilities: Value, surface: Surface) -> Client {
    let mut client = Client::connect_to(Era::Stateless, surface).await;
    client.era = Era::Handshake;
    client.send(&initialize_with(capabilities)).await;
    client.receive().await;
    client
}

fn call(era: Era, tool: &str, title: &str, capabilities: Value) -> Value {
    let mut call = era.call(7, tool, json!({ "title": title }));
    if era == Era::Stateless {
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    }
    call
}

fn heard(answer: &Value) -> &str {
    assert_eq!(answer["id"], 7, "{answer}");
    let title = &answer["result"]["structuredContent"]["title"];
    title.as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn assert_asks(params: &Value) {
    assert_eq!(params["message"], QUESTION);
    assert_eq!(params["mode"], "form");
    let schema = &params["requestedSchema"];
    assert_eq!(
        schema["properties"],
        json!({ "confirm": { "type": "boolean" } })
    );
    assert_eq!(schema["required"], json!(["confirm"]));
}

fn answer_to(question: &Value, result: &Value) -> Value {
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_asks(&question["params"]);
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "confirm": true } })
}

fn answers() -> [(Value, &'static str); 4] {
    let unticked = json!({ "action": "accept", "content": { "confirm": false } });
    [
        (yes(), "Accepted"),
        (unticked, "Declined"),
        (json!({ "action": "decline" }), "Declined"),
        (json!({ "action": "cancel" }), "Declined"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_person_is_asked_while_the_call_waits() {
    for capability in [
        json!({}),
        json!({ "form": {} }),
        json!({ "form": {}, "url": {} }),
    ] {
        for (result, expected) in answers() {
            let shelf = Shelf::default();
            let capabilities = json!({ "elicitation": capability });
            let mut client = client_with(capabilities, surface(&shelf)).await;
            client
                .send(&call(Era::Handshake, "burn", "x", json!({})))
                .await;
            let question = client.receive().await;
            assert!(!shelf.waiting.load(Ordering::SeqCst), "too early");
            client.send(&answer_to(&question, &result)).await;
            assert_eq!(heard(&client.receive().await), expected, "{result}");
            assert_eq!(shelf.waiting.load(Ordering::SeqCst), expected == "Accepted");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_time_of_the_person_is_not_that_of_the_call() {
    let mut limits = limits();
    limits.call_timeout = Duration::from_millis(200);
    let surface = surface_with(&Shelf::default(), Policy::default(), limits);
    let mut client = client_with(json!({ "elicitation": {} }), surface).await;
    client
        .send(&call(Era::Handshake, "burn", "x", json!({})))
        .await;
    let question = client.receive().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    client.send(&answer_to(&question, &yes())).await;
    assert_eq!(heard(&client.receive().await), "Accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let shelf = Shelf::default();
    let mut client = client_with(json!({ "elicitation": {} }), surface(&shelf)).await;
    client
        .send(&call(Era::Handshake, "burn", "x", json!({})))
        .await;
    let question = client.receive().await;
    let cancel = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": 7 },
    });
    client.send(&cancel).await;
    let withdrawn = client.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let saw = shelf.saw_cancellation.clone();
    until("end of the handler", || saw.load(Ordering::SeqCst)).await;
    client.send(&answer_to(&question, &yes())).await;
    let answer = client.ask("tools/list", json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
    assert!(!shelf.waiting.load(Ordering::SeqCst), "too late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn nobody_is_waited_for_who_has_gone() {
    let mut client = client_with(json!({ "elicitation": {} }), surface(&Shelf::default())).await;
    client
        .send(&call(Era::Handshake, "burn", "x", json!({})))
        .await;
    client.receive().await;
    let started = Instant::now();
    client.close().await;
    loop {
        let line = client.receive_line().await;
        if line.is_empty() {
            break;
        }
    }
    assert!(started.elapsed() < PATIENCE / 4, "it had to be cut off");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_session_asks_on_the_stream_of_the_call() {
    for (result, expected) in answers() {
        let http = HttpServer::start(surface(&Shelf::default())).await;
        let message = initialize_with(json!({ "elicitation": {} }));
        let opened = http.post(Era::Handshake, &message, &[]).await;
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        let session = [("Mcp-Session-Id", id.as_str())];
        let call = call(Era::Handshake, "burn", "x", json!({}));
        let mut stream = http.post(Era::Handshake, &call, &session).await;
        let question = stream.event().await.unwrap();
        let answer = answer_to(&question, &result);
        let accepted = http.post(Era::Handshake, &answer, &session).await;
        assert_eq!(accepted.status, 202);
        assert_eq!(heard(&stream.event().await.unwrap()), expected, "{result}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_server_that_stops_does_not_wait_for_a_person() {
    let http = HttpServer::start(surface(&Shelf::default())).await;
    let message = initialize_with(json!({ "elicitation": {} }));
    let opened = http.post(Era::Handshake, &message, &[]).await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let call = call(Era::Handshake, "burn", "x", json!({}));
    let session = [("Mcp-Session-Id", id.as_str())];
    let mut stream = http.post(Era::Handshake, &call, &session).await;
    assert_eq!(
        stream.event().await.unwrap()["method"],
        "elicitation/create"
    );
    let started = Instant::now();
    http.stop();
    loop {
        let message = stream.event().await.expect("an answer");
        if message["id"] == 7 {
            assert_eq!(heard(&message), "Declined");
            break;
        }
    }
    http.ended().await;
    assert!(started.elapsed() < PATIENCE / 4, "it had to be cut off");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_cannot_be_asked_is_not() {
    let with_forms = || json!({ "elicitation": {} });
    for (capabilities, tool) in [
        (json!({}), "burn"),
        (json!({ "elicitation": { "url": {} } }), "burn"),
        (with_forms(), "burn_quickly"),
    ] {
        for era in Era::BOTH {
            let shelf = Shelf::default();
            let mut stdio = match era {
                Era::Handshake => client_with(capabilities.clone(), surface(&shelf)).await,
                Era::Stateless => Client::connect_to(era, surface(&shelf)).await,
            };
            let call = call(era, tool, "x", capabilities.clone());
            stdio.send(&call).await;
            let case = format!("{era:?}, {tool}, {capabilities}");
            assert_eq!(heard(&stdio.receive().await), "Unsupported", "{case}");
        }
    }
    // Over HTTP without sessions, nothing could carry the answer in the handshake eras.
    let mut world = spec();
    world.tools = vec![tool("burn", Access::Destructive, burn)];
    let surface = Surface::new(world, Shelf::default(), Policy::default(), limits());
    let http = HttpServer::start(surface).await;
    let call = call(Era::Handshake, "burn", "x", json!({}));
    let answer = http.post(Era::Handshake, &call, &[]).await.json().await;
    assert_eq!(heard(&answer), "Unsupported");
}

/// Both ways to make a call of the stateless era.
enum Wire {
    Stdio(Box<Client>),
    Http(HttpServer),
}

impl Wire {
    async fn both(shelf: &Shelf, policy: &Policy) -> [Self; 2] {
        let surface = || surface_with(shelf, policy.clone(), limits());
        let client = Client::connect_to(Era::Stateless, surface()).await;
        [
            Self::Stdio(Box::new(client)),
            Self::Http(HttpServer::start(surface()).await),
        ]
    }

    async fn ask(&mut self, message: &Value) -> Value {
        match self {
            Self::Stdio(client) => {
                client.send(message).await;
                client.receive().await
            }
            Self::Http(http) => {
                let answer: Answer = http.post(Era::Stateless, message, &[]).await;
                answer.json().await
            }
        }
    }
}

fn stateless_call(title: &str) -> Value {
    call(Era::Stateless, "burn", title, json!({ "elicitation": {} }))
}

/// Repeats the call with the answer to its question.
fn again(mut call: Value, asked: &Value, response: &Value) -> Value {
    call["params"]["requestState"] = asked["result"]["requestState"].clone();
    call["params"]["inputResponses"] = json!({ "confirm": response });
    call
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn without_a_handshake_the_call_is_made_again_with_the_answer() {
    for (result, expected) in answers() {
        let shelf = Shelf::default();
        for mut wire in Wire::both(&shelf, &Policy::default()).await {
            shelf.waiting.store(false, Ordering::SeqCst);
            let asked = wire.ask(&stateless_call("x")).await;
            assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
            assert!(asked["result"].get("content").is_none(), "{asked}");
            let request = &asked["result"]["inputRequests"]["confirm"];
            assert_eq!(request["method"], "elicitation/create", "{asked}");
            assert_asks(&request["params"]);
            assert!(!shelf.waiting.load(Ordering::SeqCst), "too early");
            let answer = wire.ask(&again(stateless_call("x"), &asked, &result)).await;
            assert_eq!(heard(&answer), expected, "{result}");
            assert_eq!(shelf.waiting.load(Ordering::SeqCst), expected == "Accepted");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_answer_counts_only_for_the_call_it_was_given_for() {
    let shelf = Shelf::default();
    for mut wire in Wire::both(&shelf, &Policy::default()).await {
        let asked = wire.ask(&stateless_call("x")).await;
        let mut forged = asked.clone();
        forged["result"]["requestState"] = json!("forged");
        let quick = call(
            Era::Stateless,
            "burn_quickly",
            "x",
            json!({ "elicitation": {} }),
        );
        for message in [
            again(stateless_call("another"), &asked, &yes()),
            again(quick, &asked, &yes()),
            again(stateless_call("x"), &forged, &yes()),
        ] {
            let answer = wire.ask(&message).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            assert_eq!(answer["error"]["data"]["kind"], "strange_state", "{answer}");
        }
        // An answer without its request state does not count.
        let mut bare = again(stateless_call("x"), &asked, &yes());
        bare["params"]
            .as_object_mut()
            .unwrap()
            .remove("requestState");
        let answer = wire.ask(&bare).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
        assert!(!shelf.waiting.load(Ordering::SeqCst), "burnt");
    }
}

#[tokio::test]
async fn a_hidden_tool_does_not_look_at_answers() {
    let hidden = policy(Mode::Filter, &[], &["burn"], &[]);
    for mut wire in Wire::both(&Shelf::default(), &hidden).await {
        let asked = json!({ "result": { "requestState": "forged" } });
        let hidden = wire.ask(&again(stateless_call("x"), &asked, &yes())).await;
        let mut nonexistent = again(stateless_call("x"), &asked, &yes());
        nonexistent["params"]["name"] = json!("nope");
        assert_eq!(hidden, wire.ask(&nonexistent).await);
        assert_eq!(hidden["error"]["data"]["kind"], "unknown_tool", "{hidden}");
    }
}

#[tokio::test]
async fn the_log_says_that_a_question_was_asked_and_not_which() {
    let log = Log::default();
    let _logging = log.record();
    let mut client = Client::connect_to(Era::Stateless, surface(&Shelf::default())).await;
    client.send(&stateless_call("x")).await;
    client.receive().await;
    assert_eq!(log.outcomes(), ["input_required"]);
    assert!(!log.text().contains(QUESTION), "{}", log.text());
}
