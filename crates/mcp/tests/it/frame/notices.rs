//! Notices about resources: which clients get them, and which must not.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use sectile_mcp::{
    Policy, ResourceNotice, Resources, Surface, WorldSpec,
    policy::{Authorisation, Mode},
};
use serde_json::{Value, json};

use super::{
    ALPHA, BETA, Client, RESOURCES, Shelf, limits,
    policies::{names, policy},
    spec,
    wire::{Answer, HttpServer},
};
use crate::fixture::{Era, PATIENCE, initialize};

pub(super) fn watched() -> WorldSpec<Shelf> {
    let mut world = spec();
    world.resources = Some(Resources {
        changes: Some(|shelf| shelf.changes.0.subscribe()),
        ..RESOURCES
    });
    world
}

fn surface(shelf: &Shelf, policy: Policy) -> Surface {
    Surface::new(watched(), shelf.clone(), policy, limits())
}

pub(super) fn updated(uri: &str) -> ResourceNotice {
    ResourceNotice::Updated(uri.to_owned())
}

impl Shelf {
    pub(super) fn tell(&self, notices: &[ResourceNotice]) {
        for notice in notices {
            self.changes.0.send(notice.clone()).unwrap();
        }
    }
}

/// Returns a short form of a notice.
pub(super) fn said(message: &Value) -> String {
    let uri = message["params"]["uri"].as_str().unwrap_or_default();
    format!("{} {uri}", message["method"].as_str().unwrap_or("answer"))
}

pub(super) const UPDATED_ALPHA: &str = "notifications/resources/updated shelf://alpha";
pub(super) const LIST_CHANGED: &str = "notifications/resources/list_changed ";

async fn subscriber(shelf: &Shelf, policy: Policy) -> Client {
    let mut client = Client::connect_to(Era::Handshake, surface(shelf, policy)).await;
    let answer = client
        .ask("resources/subscribe", json!({ "uri": ALPHA }))
        .await;
    assert!(answer["result"].is_object(), "{answer}");
    client
}

#[tokio::test]
async fn a_subscriber_hears_of_what_it_watches_until_it_does_not() {
    let shelf = Shelf::default();
    let mut client = subscriber(&shelf, Policy::default()).await;
    shelf.tell(&[updated(BETA), updated(ALPHA), ResourceNotice::ListChanged]);
    assert_eq!(said(&client.receive().await), UPDATED_ALPHA);
    assert_eq!(said(&client.receive().await), LIST_CHANGED);
    for uri in [ALPHA, "shelf://nope"] {
        let answer = client
            .ask("resources/unsubscribe", json!({ "uri": uri }))
            .await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    shelf.tell(&[updated(ALPHA), ResourceNotice::ListChanged]);
    assert_eq!(said(&client.receive().await), LIST_CHANGED);
}

#[tokio::test]
async fn a_client_hears_of_the_listing_without_subscribing() {
    let shelf = Shelf::default();
    let surface = surface(&shelf, Policy::default());
    let mut client = Client::connect_to(Era::Handshake, surface).await;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.send(&initialized).await;
    super::until("receiver", || shelf.changes.0.receiver_count() == 1).await;
    shelf.tell(&[updated(ALPHA), ResourceNotice::ListChanged]);
    assert_eq!(said(&client.receive().await), LIST_CHANGED);
}

#[tokio::test]
async fn what_was_missed_is_told_as_changed() {
    let shelf = Shelf::default();
    let mut client = subscriber(&shelf, Policy::default()).await;
    let many = vec![updated(BETA); 100];
    shelf.tell(&many);
    assert_eq!(said(&client.receive().await), UPDATED_ALPHA);
    assert_eq!(said(&client.receive().await), LIST_CHANGED);
}

#[tokio::test]
async fn a_hidden_resource_is_watched_like_one_that_does_not_exist_and_gives_no_notice() {
    let hidden = policy(Mode::Filter, &[], &[BETA], &[]);
    let shelf = Shelf::default();
    let mut client = subscriber(&shelf, hidden).await;
    let line = client
        .line("resources/subscribe", json!({ "uri": BETA }))
        .await;
    assert!(line.contains("unknown_resource"), "{line}");
    let params = json!({ "uri": "shelf://nope" });
    assert_eq!(line, client.line("resources/subscribe", params).await);
    // The visible listing has not changed, whatever has happened to the rest.
    shelf.tell(&[updated(BETA), ResourceNotice::ListChanged, updated(ALPHA)]);
    assert_eq!(said(&client.receive().await), UPDATED_ALPHA);
}

#[tokio::test]
async fn what_a_caller_may_not_use_it_cannot_watch() {
    let policy = Policy {
        authorisation: Authorisation {
            allowed: names(&[ALPHA]),
        },
        ..Policy::default()
    };
    let shelf = Shelf::default();
    let mut client = subscriber(&shelf, policy).await;
    let params = json!({ "uri": BETA });
    let answer = client.ask("resources/subscribe", params).await;
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
}

#[tokio::test]
async fn a_connection_watches_only_so_much() {
    static READ: AtomicUsize = AtomicUsize::new(0);
    let mut world = watched();
    world.resources.as_mut().unwrap().read = |shelf, _| {
        READ.fetch_add(1, Ordering::Relaxed);
        super::read(shelf, ALPHA)
    };
    let surface = Surface::new(world, Shelf::default(), Policy::default(), limits());
    let mut client = Client::connect_to(Era::Handshake, surface).await;
    for number in 0..=1000 {
        let params = json!({ "uri": format!("shelf://{number}") });
        let answer = client.ask("resources/subscribe", params).await;
        assert_eq!(answer["result"].is_object(), number < 1000, "{answer}");
    }
    assert_eq!(READ.load(Ordering::Relaxed), 1001);
}

fn listen(id: u64, filter: Value) -> Value {
    let params = json!({ "notifications": filter });
    Era::Stateless.request(id, "subscriptions/listen", params)
}

fn both_and_more() -> Value {
    json!({
        "resourceSubscriptions": [ALPHA, BETA, "shelf://nope"],
        "resourcesListChanged": true,
        "toolsListChanged": true,
    })
}

async fn next(answer: &mut Answer) -> Value {
    answer.event().await.expect("the stream goes on")
}

fn assert_acknowledged(message: &Value) {
    assert_eq!(
        message["method"], "notifications/subscriptions/acknowledged",
        "{message}"
    );
    assert_eq!(
        message["params"]["notifications"],
        json!({
            "resourceSubscriptions": [ALPHA, BETA, "shelf://nope"],
            "resourcesListChanged": true,
        })
    );
}

#[tokio::test]
async fn a_listener_hears_what_it_asked_for_and_nothing_hidden() {
    let hidden = || policy(Mode::Filter, &[], &[BETA], &[]);
    let shelf = Shelf::default();
    let mut stdio = Client::connect_to(Era::Stateless, surface(&shelf, hidden())).await;
    stdio.send(&listen(7, both_and_more())).await;
    assert_acknowledged(&stdio.receive().await);
    let http = HttpServer::start(surface(&shelf, hidden())).await;
    let message = listen(7, both_and_more());
    let mut over_http = http.post(Era::Stateless, &message, &[]).await;
    assert_eq!(over_http.status, 200);
    assert_acknowledged(&next(&mut over_http).await);
    shelf.tell(&[updated(BETA), ResourceNotice::ListChanged, updated(ALPHA)]);
    for notice in [stdio.receive().await, next(&mut over_http).await] {
        assert_eq!(said(&notice), UPDATED_ALPHA);
        let meta = &notice["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/subscriptionId"], 7,
            "{notice}"
        );
    }
    // Only what was asked for.
    let quiet = listen(8, json!({ "resourceSubscriptions": [BETA] }));
    let mut quiet = http.post(Era::Stateless, &quiet, &[]).await;
    next(&mut quiet).await;
    shelf.tell(&[updated(ALPHA), ResourceNotice::ListChanged]);
    http.stop();
    let end = next(&mut quiet).await;
    assert_eq!(end["id"], 8, "{end}");
}

#[tokio::test]
async fn listeners_end_in_order_when_the_server_or_the_client_does() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf, Policy::default())).await;
    let mut answer = http
        .post(Era::Stateless, &listen(7, both_and_more()), &[])
        .await;
    next(&mut answer).await;
    let started = Instant::now();
    http.stop();
    assert_eq!(next(&mut answer).await["result"]["resultType"], "complete");
    assert_eq!(answer.event().await, None);
    http.ended().await;
    assert!(started.elapsed() < PATIENCE / 4, "it had to be cut off");

    let surface = surface(&shelf, Policy::default());
    let mut stdio = Client::connect_to(Era::Stateless, surface).await;
    stdio.send(&listen(7, both_and_more())).await;
    stdio.receive().await;
    stdio.close().await;
    assert_eq!(stdio.receive().await["result"]["resultType"], "complete");
    assert_eq!(stdio.receive_line().await, "", "the output ends");
    super::until("end of all receivers", || {
        shelf.changes.0.receiver_count() == 0
    })
    .await;
}

#[tokio::test]
async fn a_listener_that_hangs_up_is_forgotten() {
    let shelf = Shelf::default();
    let http = HttpServer::start(surface(&shelf, Policy::default())).await;
    let mut open = Vec::new();
    for id in 0..64 {
        let message = listen(id, both_and_more());
        let mut answer = http.post(Era::Stateless, &message, &[]).await;
        next(&mut answer).await;
        open.push(answer);
    }
    let message = listen(64, both_and_more());
    let mut refused = http.post(Era::Stateless, &message, &[]).await;
    next(&mut refused).await;
    let answer = next(&mut refused).await;
    assert_eq!(answer["error"]["data"]["kind"], "busy", "{answer}");
    drop(open);
    super::until("free places", || shelf.changes.0.receiver_count() == 0).await;
    let mut answer = http.post(Era::Stateless, &message, &[]).await;
    next(&mut answer).await;
    shelf.tell(&[updated(ALPHA)]);
    assert_eq!(said(&next(&mut answer).await), UPDATED_ALPHA);
}

#[tokio::test]
async fn notices_are_promised_only_where_they_can_arrive() {
    let shelf = Shelf::default();
    let world = || surface(&shelf, Policy::default());
    let promised = json!({ "subscribe": true, "listChanged": true });
    let http = HttpServer::start(world()).await;
    let over_http = http.post(Era::Handshake, &initialize(7), &[]).await;
    let over_http = over_http.json().await;
    assert_eq!(over_http["result"]["capabilities"]["resources"], json!({}));
    let params = json!({ "uri": ALPHA });
    let answer = http
        .ask(Era::Handshake, "resources/subscribe", params)
        .await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let answer = http.ask(Era::Stateless, "server/discover", json!({})).await;
    assert_eq!(answer["result"]["capabilities"]["resources"], promised);
    let mut stdio = Client::connect_to(Era::Stateless, world()).await;
    stdio.send(&initialize(7)).await;
    let answer = stdio.receive().await;
    assert_eq!(answer["result"]["capabilities"]["resources"], promised);

    // A world without notices has none of these methods.
    for era in Era::BOTH {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        for (method, params) in [
            ("resources/subscribe", json!({ "uri": ALPHA })),
            ("resources/unsubscribe", json!({ "uri": ALPHA })),
            ("subscriptions/listen", json!({ "notifications": {} })),
        ] {
            let answer = client.ask(method, params).await;
            assert_eq!(
                answer["error"]["code"], -32601,
                "{method}, {era:?}: {answer}"
            );
        }
    }
    // Each era has its own method.
    for (era, method, params, code) in [
        (
            Era::Handshake,
            "subscriptions/listen",
            json!({ "notifications": {} }),
            -32601,
        ),
        (
            Era::Handshake,
            "resources/subscribe",
            json!({ "uri": 5 }),
            -32602,
        ),
        (
            Era::Stateless,
            "resources/subscribe",
            json!({ "uri": ALPHA }),
            -32601,
        ),
        (
            Era::Stateless,
            "resources/subscribe",
            json!({ "uri": 5 }),
            -32601,
        ),
        (
            Era::Stateless,
            "subscriptions/listen",
            json!({ "notifications": 5 }),
            -32602,
        ),
    ] {
        let mut client = Client::connect_to(era, world()).await;
        let answer = client.ask(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}, {era:?}: {answer}");
    }
}
