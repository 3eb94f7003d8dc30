//! Sessions of the handshake eras over HTTP.

use std::{
    collections::BTreeSet,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use sectile_mcp::{
    Access, Answer as ToolAnswer, AnswerFacts, CallContext, Failure, JsonObject, Policy,
    ResourceNotice, Surface, WorldSpec, http::HttpSettings,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    ALPHA, Shelf, connections, limits,
    notices::{self, LIST_CHANGED, UPDATED_ALPHA, said},
    tool, until,
    wire::{Answer, HttpServer, http_settings},
};
use crate::fixture::{Era, PATIENCE, initialize};

const STREAM: (&str, &str) = ("Accept", "text/event-stream");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-11-25");

/// Works until it is cancelled or the test lets it go.
fn hold(shelf: &Shelf, _: JsonObject, context: &CallContext) -> Result<ToolAnswer, Failure> {
    let started = Instant::now();
    while !shelf.waiting.load(Ordering::SeqCst) && started.elapsed() < PATIENCE {
        if let Err(failure) = context.check() {
            shelf.saw_cancellation.store(true, Ordering::SeqCst);
            return Err(failure);
        }
        context.progress.report(1, None, "holding");
        thread::sleep(Duration::from_millis(1));
    }
    ToolAnswer::new(&json!({ "title": "held" }), AnswerFacts::default())
}

fn world() -> WorldSpec<Shelf> {
    let mut world = notices::watched();
    world.sessions = true;
    world.tools = vec![
        tool("remember", Access::Write, connections::remember),
        tool("hold", Access::Read, hold),
        tool("panic", Access::Read, |_, _, _| {
            panic!("what was being worked on")
        }),
    ];
    world
}

fn surface(shelf: &Shelf) -> Surface {
    Surface::new(world(), shelf.clone(), Policy::default(), limits())
}

/// A client with a session.
struct Session<'a> {
    http: &'a HttpServer,
    id: String,
}

impl<'a> Session<'a> {
    async fn open(http: &'a HttpServer) -> Self {
        let mut answer = http.post(Era::Handshake, &initialize(0), &[]).await;
        assert_eq!(answer.status, 200);
        let id = answer
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let result = answer.event().await.unwrap()["result"].clone();
        let promised = json!({ "subscribe": true, "listChanged": true });
        assert_eq!(result["capabilities"]["resources"], promised);
        assert_eq!(answer.event().await, None);
        Self { http, id }
    }

    async fn post(&self, message: &Value) -> Answer {
        let header = ("Mcp-Session-Id", self.id.as_str());
        self.http.post(Era::Handshake, message, &[header]).await
    }

    async fn ask(&self, message: &Value) -> Value {
        let mut answer = self.post(message).await;
        assert_eq!(answer.status, 200, "{message}");
        let message = answer.event().await.expect("an answer");
        assert_eq!(answer.event().await, None, "nothing comes after it");
        message
    }

    async fn remember(&self, title: &str) -> Value {
        let call = Era::Handshake.request(7, "tools/call", connections::call(title));
        self.ask(&call).await["result"]["structuredContent"]["title"].clone()
    }

    async fn send(&self, method: &str) -> Answer {
        let headers = [STREAM, VERSION, ("Mcp-Session-Id", self.id.as_str())];
        self.http.send(method, &headers, "").await
    }
}

async fn assert_refused(answer: Answer, status: u16, id: Option<u64>) {
    assert_eq!(answer.status, status);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json().await;
    assert_eq!(body["error"]["code"], -32600, "{body}");
    assert_eq!(body.get("id").and_then(Value::as_u64), id, "{body}");
}

#[tokio::test]
async fn a_session_keeps_what_belongs_to_its_client() {
    let http = HttpServer::start(surface(&Shelf::default())).await;
    let (one, two) = (Session::open(&http).await, Session::open(&http).await);
    assert_ne!(one.id, two.id);
    assert!(one.id.len() >= 32, "{}", one.id);
    assert_eq!(one.remember("a").await, "");
    assert_eq!(two.remember("b").await, "");
    assert_eq!(one.remember("c").await, "a");
    assert_eq!(two.remember("d").await, "b");
    // The stateless era has no sessions, whatever a header says.
    for id in [one.id.as_str(), "nonsense"] {
        let call = Era::Stateless.request(7, "tools/call", connections::call("e"));
        let header = ("Mcp-Session-Id", id);
        let answer = http
            .post(Era::Stateless, &call, &[header])
            .await
            .json()
            .await;
        let title = &answer["result"]["structuredContent"]["title"];
        assert_eq!(title, "no connection", "{answer}");
    }
}

#[tokio::test]
async fn requests_without_an_open_session_are_refused() {
    let http = HttpServer::start(surface(&Shelf::default())).await;
    let session = Session::open(&http).await;
    let list = Era::Handshake.request(7, "tools/list", json!({}));
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let unknown = [("Mcp-Session-Id", "00000000-0000-4000-8000-000000000000")];
    for (message, id) in [(&list, Some(7)), (&initialized, None)] {
        let answer = http.post(Era::Handshake, message, &[]).await;
        assert_refused(answer, 400, id).await;
        let answer = http.post(Era::Handshake, message, &unknown).await;
        assert_refused(answer, 404, id).await;
    }
    assert_eq!(session.post(&initialized).await.status, 202);
    for method in ["GET", "DELETE"] {
        let answer = http.send(method, &[STREAM, VERSION], "").await;
        assert_refused(answer, 400, None).await;
        let headers = [STREAM, VERSION, unknown[0]];
        assert_refused(http.send(method, &headers, "").await, 404, None).await;
        let headers = [STREAM, ("MCP-Protocol-Version", "2026-07-28")];
        assert_refused(http.send(method, &headers, "").await, 405, None).await;
    }
    assert_refused(http.send("PUT", &[STREAM], "").await, 405, None).await;
    assert_eq!(session.send("DELETE").await.status, 204);
    assert_refused(session.post(&list).await, 404, Some(7)).await;
    assert_refused(session.send("GET").await, 404, None).await;
    assert_refused(session.send("DELETE").await, 404, None).await;
}

#[tokio::test]
async fn older_handshakes_have_sessions_too() {
    let http = HttpServer::start(surface(&Shelf::default())).await;
    let mut message = initialize(0);
    message["params"]["protocolVersion"] = json!("2025-06-18");
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let mut answer = http.send("POST", &headers, &message.to_string()).await;
    assert!(answer.header("mcp-session-id").is_some());
    let result = &answer.event().await.unwrap()["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let http = HttpServer::start(surface(&Shelf::default())).await;
    let mut open = Vec::new();
    for _ in 0..http_settings().sessions.max {
        open.push(Session::open(&http).await);
    }
    let answer = http.post(Era::Handshake, &initialize(9), &[]).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("mcp-session-id"), None);
    let body = answer.json().await;
    assert_eq!(body["id"], 9, "{body}");
    assert_eq!(body["error"]["code"], -32072, "{body}");
    assert_eq!(body["error"]["data"]["kind"], "too_many_sessions", "{body}");
    assert_eq!(open[0].remember("x").await, "", "the others go on");
    assert_eq!(open.remove(0).send("DELETE").await.status, 204);
    Session::open(&http).await;
}

#[tokio::test]
async fn an_idle_session_ends_and_leaves_its_place() {
    let mut settings = http_settings();
    settings.sessions.idle = Duration::from_millis(100);
    settings.sessions.max = 1;
    let shelf = Shelf::default();
    let http = HttpServer::start_with(surface(&shelf), settings).await;
    for _ in 0..2 {
        let session = Session::open(&http).await;
        let list = Era::Handshake.request(7, "tools/list", json!({}));
        let started = Instant::now();
        while session.post(&list).await.status == 200 {
            assert!(started.elapsed() < PATIENCE, "it never ends");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert_refused(session.post(&list).await, 404, Some(7)).await;
    }
}

#[tokio::test]
async fn a_session_that_its_client_never_comes_back_to_ends_soon() {
    let mut settings = http_settings();
    settings.sessions.confirm_within = Duration::from_millis(100);
    settings.sessions.max = 2;
    let http = HttpServer::start_with(surface(&Shelf::default()), settings).await;
    let kept = Session::open(&http).await;
    assert_eq!(kept.remember("a").await, "");
    for _ in 0..3 {
        let started = Instant::now();
        // There is room for one more, again and again, though no client ends any.
        while http.post(Era::Handshake, &initialize(9), &[]).await.status != 200 {
            assert!(started.elapsed() < PATIENCE, "it never ends");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert_eq!(kept.remember("b").await, "a", "one that is used stays");
}

#[tokio::test]
async fn a_session_has_only_so_many_streams() {
    let http = HttpServer::start(surface(&Shelf::default())).await;
    let session = Session::open(&http).await;
    let mut streams = Vec::new();
    let refused = loop {
        let stream = session.send("GET").await;
        if stream.status != 200 {
            break stream;
        }
        streams.push(stream);
        assert!(streams.len() < 100, "there is no end to them");
    };
    assert_eq!((streams.len(), refused.status), (8, 503));
    assert_eq!(refused.json().await["error"]["data"]["kind"], "busy");
    streams.pop();
    let started = Instant::now();
    while session.send("GET").await.status != 200 {
        assert!(started.elapsed() < PATIENCE, "its place is never free");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_session_hears_of_changes_on_its_stream() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf)).await;
    let session = Session::open(&http).await;
    let mut stream = session.send("GET").await;
    assert_eq!(stream.status, 200);
    let subscribe = Era::Handshake.request(7, "resources/subscribe", json!({ "uri": ALPHA }));
    assert!(session.ask(&subscribe).await["result"].is_object());
    shelf.tell(&[
        notices::updated("shelf://beta"),
        notices::updated(ALPHA),
        ResourceNotice::ListChanged,
    ]);
    assert_eq!(said(&stream.event().await.unwrap()), UPDATED_ALPHA);
    assert_eq!(said(&stream.event().await.unwrap()), LIST_CHANGED);
    assert_eq!(session.send("DELETE").await.status, 204);
    assert_eq!(stream.event().await, None);
    until("end of the receiver", || {
        shelf.changes.0.receiver_count() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_id_that_is_in_use_is_refused_and_nobody_waits_in_vain() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf)).await;
    let session = Session::open(&http).await;
    let call = Era::Handshake.call(7, "hold", json!({ "title": "x" }));
    let mut held = session.post(&call).await;
    for _ in 0..12 {
        let answer = session.ask(&call).await;
        assert_eq!(answer["id"], 7, "{answer}");
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
    shelf.waiting.store(true, Ordering::SeqCst);
    let answer = held.event().await.unwrap();
    assert_eq!(answer["result"]["structuredContent"]["title"], "held");
    assert_eq!(session.ask(&call).await["id"], 7, "free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_cancelled_request_stops_and_its_id_can_be_used_again() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf)).await;
    let session = Session::open(&http).await;
    let call = Era::Handshake.call(7, "hold", json!({ "title": "x" }));
    let mut held = session.post(&call).await;
    let cancel = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": 7 },
    });
    assert_eq!(session.post(&cancel).await.status, 202);
    assert_eq!(
        held.event().await,
        None,
        "the stream ends without an answer"
    );
    let saw = shelf.saw_cancellation.clone();
    until("cancellation", || saw.load(Ordering::SeqCst)).await;
    let list = Era::Handshake.request(7, "tools/list", json!({}));
    assert_eq!(session.ask(&list).await["id"], 7);
    let remember = Era::Handshake.request(7, "tools/call", connections::call("x"));
    assert_eq!(session.ask(&remember).await["id"], 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn panics_and_progress_in_a_session() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf)).await;
    let session = Session::open(&http).await;
    for _ in 0..10 {
        let call = Era::Handshake.call(7, "panic", json!({ "title": "x" }));
        assert_eq!(session.ask(&call).await["error"]["code"], -32603);
    }
    let mut call = Era::Handshake.call(7, "hold", json!({ "title": "x" }));
    call["params"]["_meta"]["progressToken"] = json!("p");
    let mut answer = session.post(&call).await;
    let report = answer.event().await.unwrap();
    assert_eq!(report["params"]["progressToken"], "p", "{report}");
    shelf.waiting.store(true, Ordering::SeqCst);
    assert_eq!(answer.event().await.unwrap()["id"], 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_server_that_stops_ends_streams_and_finishes_calls() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf)).await;
    let session = Session::open(&http).await;
    let mut stream = session.send("GET").await;
    let call = Era::Handshake.call(7, "hold", json!({ "title": "x" }));
    let mut held = session.post(&call).await;
    let started = Instant::now();
    http.stop();
    assert_eq!(stream.event().await, None);
    shelf.waiting.store(true, Ordering::SeqCst);
    assert_eq!(held.event().await.unwrap()["id"], 7);
    http.ended().await;
    assert!(started.elapsed() < PATIENCE / 4, "it had to be cut off");
}

#[tokio::test]
async fn session_ids_are_all_different() {
    let mut settings = http_settings();
    settings.sessions.max = 100;
    let http = HttpServer::start_with(surface(&Shelf::default()), settings).await;
    let mut ids = BTreeSet::new();
    for _ in 0..50 {
        ids.insert(Session::open(&http).await.id);
    }
    assert_eq!(ids.len(), 50);
}

/// Settings with which a session rests almost at once.
fn restless() -> HttpSettings {
    let mut settings = http_settings();
    settings.sessions.rest_after = Duration::from_millis(20);
    settings
}

/// Long enough for a session to be put to rest several times over. If it is not, that is not a failure: it just stays
/// awake.
const NAP: Duration = Duration::from_millis(120);

#[tokio::test]
async fn a_session_that_rested_goes_on_as_if_nothing_had_been() {
    let http = HttpServer::start_with(surface(&Shelf::default()), restless()).await;
    let session = Session::open(&http).await;
    let mut before = String::new();
    for title in ["a", "b", "c", "d", "e"] {
        assert_eq!(
            session.remember(title).await,
            before,
            "what was kept is there"
        );
        before = title.to_owned();
        tokio::time::sleep(NAP).await;
    }
    let other = Session::open(&http).await;
    assert_eq!(other.remember("x").await, "", "another session has its own");
    tokio::time::sleep(NAP).await;
    assert_eq!(session.send("DELETE").await.status, 204);
    assert_refused(
        session
            .post(&Era::Handshake.request(7, "tools/list", json!({})))
            .await,
        404,
        Some(7),
    )
    .await;
    assert_eq!(other.remember("y").await, "x", "and keeps it");
}

#[tokio::test]
async fn sessions_that_rest_while_others_call_lose_no_answer() {
    let http = HttpServer::start_with(surface(&Shelf::default()), restless()).await;
    let session = Session::open(&http).await;
    // At about the pace at which it is put to rest, so that the two race.
    for round in 0..60_u64 {
        tokio::time::sleep(Duration::from_millis(15 + round % 12)).await;
        let list = Era::Handshake.request(round, "tools/list", json!({}));
        let answer = session.ask(&list).await;
        assert!(
            answer["result"]["tools"].is_array(),
            "round {round}: {answer}"
        );
    }
}

#[tokio::test]
async fn an_open_stream_keeps_its_session_awake_and_a_new_one_hears_what_was_missed() {
    let shelf = Shelf::default();
    let http = HttpServer::start_with(surface(&shelf), restless()).await;
    let session = Session::open(&http).await;
    session
        .post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    let watch = Era::Handshake.request(1, "resources/subscribe", json!({ "uri": ALPHA }));
    assert!(session.ask(&watch).await["result"].is_object());
    let mut stream = session.send("GET").await;
    tokio::time::sleep(NAP).await;
    shelf
        .changes
        .0
        .send(ResourceNotice::Updated(ALPHA.to_owned()))
        .unwrap();
    let heard = loop {
        let event = timeout(PATIENCE, stream.event()).await.unwrap().unwrap();
        if event["method"] == "notifications/resources/updated" {
            break event;
        }
    };
    assert_eq!(heard["params"]["uri"], ALPHA);
    assert_eq!(shelf.changes.0.receiver_count(), 1, "it is awake");
    drop(stream);
    until("rest, in which nobody is told anything", || {
        shelf.changes.0.receiver_count() == 0
    })
    .await;
    let mut stream = session.send("GET").await;
    let heard = timeout(PATIENCE, stream.event()).await.unwrap().unwrap();
    let method = heard["method"].as_str().unwrap();
    assert!(method.starts_with("notifications/resources/"), "{heard}");
}
