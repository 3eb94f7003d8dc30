//! Several servers over one library, and clients that go to any of them.
//!
//! What is shown of handles, streams and restarts does not depend on the storages: it is a function of a settings text, which
//! says where the library of [`Library::rich`] is and names a secret of [`SECRETS`].

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

#[cfg(feature = "backends")]
use sectile_test_servers::Fault;
use serde_json::{Value, json};

use super::{Library, error_of, stable};
#[cfg(feature = "backends")]
use crate::fixture::{Backends, IndexHome, Where};
use crate::{
    fixture::{
        AUDIENCE, Era, Http, HttpAnswer, ISSUER, PATIENCE, TOKEN_SECRET, claims, parse, sectile,
        token, wait_for, wait_for_exit,
    },
    protocol::terminate,
};

const COLLECTION: &str = "lab";

/// Files with secrets, beside the settings file.
const SECRETS: [(&str, &str); 2] = [
    ("outside/secret-one", "0123456789abcdef0123456789abcdef"),
    ("outside/secret-two", "fedcba9876543210fedcba9876543210"),
];

/// Settings for a library in a folder, with a secret from [`SECRETS`].
fn in_a_folder(secret: usize) -> String {
    let (file, _) = SECRETS[secret];
    format!("[notebook]\nroot = \"vault\"\nshared_secret_file = \"{file}\"\n")
}

/// Starts a replica with these settings, at a place of its own.
fn start<'a>(library: &'a Library, settings: &str) -> Http<'a> {
    start_at(library, settings, SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn start_at<'a>(library: &'a Library, settings: &str, place: SocketAddr) -> Http<'a> {
    let config = library.vault.config(settings);
    for (file, secret) in SECRETS {
        fs::write(config.with_file_name(file), secret).unwrap();
    }
    let mut command = sectile();
    command.args(["serve", "notebook", "--config"]).arg(config);
    Http::spawn_at(&library.vault, command, place)
}

/// The result of a call of the stateless era.
fn result(replica: &Http<'_>, tool: &str, arguments: Value) -> Value {
    let answer = replica.post(Era::Stateless, &Era::Stateless.call(1, tool, arguments));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

/// What a call answers, which must be no error.
fn call(replica: &Http<'_>, tool: &str, arguments: Value) -> Value {
    let result = result(replica, tool, arguments);
    assert_ne!(result["isError"], true, "{tool}: {result}");
    result["structuredContent"].clone()
}

fn enter(replica: &Http<'_>, collection: &str) -> String {
    let entered = call(
        replica,
        "enter_collection",
        json!({ "collection_id": collection }),
    );
    entered["context_handle"].as_str().unwrap().to_owned()
}

/// The calls of a client that has entered [`COLLECTION`], with what they answer apart from what is volatile.
fn expected(replica: &Http<'_>) -> Vec<(&'static str, Value, Value)> {
    let handle = enter(replica, COLLECTION);
    let search = json!({ "query": "ice on the lake", "k": 3 });
    let mut asked = search.clone();
    asked["context_handle"] = json!(handle);
    let found = call(replica, "semantic_search", asked);
    let id = &found["results"][0]["reference_id"];
    let calls = [
        ("semantic_search", search),
        ("fetch_passage", json!({ "source_id": id })),
        ("list_artifact_sets", json!({})),
    ];
    let calls = calls.map(|(tool, arguments)| {
        let mut asked = arguments.clone();
        asked["context_handle"] = json!(handle);
        let answer = call(replica, tool, asked);
        match tool {
            "fetch_passage" => {
                let text = answer.to_string();
                assert!(text.contains("The ice on the lake was measured."), "{text}");
            }
            "list_artifact_sets" => {
                assert_eq!(answer["artifact_sets"].as_array().map(Vec::len), Some(3));
            }
            _ => assert_eq!(answer["results"].as_array().map(Vec::len), Some(3)),
        }
        (tool, arguments, stable(tool, &answer))
    });
    calls.into()
}

/// A library in a bucket with its index in a database, and the settings of a replica of it.
#[cfg(feature = "backends")]
fn in_servers(library: &Library) -> (Backends, String) {
    let backends = Backends::start(Where::new(true, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let settings = backends.settings();
    let settings = settings.replacen(
        "[notebook]\n",
        &in_a_folder(0).replace("root = \"vault\"\n", ""),
        1,
    );
    (backends, settings)
}

#[cfg(feature = "backends")]
#[test]
fn replicas_of_a_bucket_and_a_database_serve_interleaved_calls() {
    let library = Library::rich();
    let (_backends, settings) = in_servers(&library);
    interleaved_calls(&library, &settings);
    stream_tokens(&library, &settings);
}

#[cfg(feature = "backends")]
#[test]
fn a_rolling_restart_over_a_bucket_and_a_database_loses_no_call() {
    let library = Library::rich();
    let (_backends, settings) = in_servers(&library);
    rolling_restart(&library, &settings);
}

#[cfg(feature = "backends")]
#[test]
fn a_replica_is_not_ready_while_a_server_behind_it_is_gone() {
    let library = Library::rich();
    let (backends, settings) = in_servers(&library);
    let replica = start(&library, &settings);
    assert_eq!(probe(&replica).0, 200);
    for proxy in [
        &backends.bucket.as_ref().unwrap().1,
        &backends.database.as_ref().unwrap().1,
    ] {
        proxy.set(Fault::Refuse);
        wait_for("not ready", || (probe(&replica).0 == 503).then_some(()));
        proxy.set(Fault::Pass);
        wait_for("ready", || (probe(&replica).0 == 200).then_some(()));
    }
}

#[test]
fn one_handle_is_good_on_both_replicas() {
    let library = Library::rich();
    interleaved_calls(&library, &in_a_folder(0));
}

/// A client goes from one replica to the other with each call.
pub(super) fn interleaved_calls(library: &Library, settings: &str) {
    let replicas = [start(library, settings), start(library, settings)];
    let calls = expected(&replicas[0]);
    for (turn, entered) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let handle = enter(&replicas[entered], COLLECTION);
        for (number, (tool, arguments, answer)) in calls.iter().enumerate() {
            let mut arguments = arguments.clone();
            arguments["context_handle"] = json!(handle);
            let replica = &replicas[(turn + number) % 2];
            assert_eq!(stable(tool, &call(replica, tool, arguments)), *answer);
        }
    }
    let handle = enter(&replicas[0], COLLECTION);
    let elsewhere = enter(&replicas[1], "physics");
    for replica in &replicas {
        let listed = |handle: &str| {
            let listed = call(
                replica,
                "list_artifact_sets",
                json!({ "context_handle": handle }),
            );
            listed["collection_id"].clone()
        };
        assert_eq!(listed(&handle), COLLECTION);
        assert_eq!(listed(&elsewhere), "physics");
    }
}

/// What a call with this handle answers.
fn answer_to(replica: &Http<'_>, handle: &str) -> HttpAnswer {
    let arguments = json!({ "context_handle": handle });
    let message = Era::Stateless.call(1, "list_artifact_sets", arguments);
    replica.post(Era::Stateless, &message)
}

#[test]
fn a_handle_of_another_secret_or_a_changed_one_answers_like_any_unknown_one() {
    let library = Library::new();
    let ours = start(&library, &in_a_folder(0));
    let strange = start(&library, &in_a_folder(1));
    let handle = enter(&ours, "journal");
    let unknown = answer_to(&ours, "x");
    let error = error_of(&unknown.json()["result"]);
    assert_eq!(error["type"], "no_collection_context");
    assert_eq!(
        error["context"]["reason"],
        "context_handle_unknown_or_expired"
    );
    let recovery = error["recovery"].as_str().unwrap();
    assert!(recovery.contains("24 hours"), "{recovery}");
    let mut changed = handle.clone().into_bytes();
    changed[20] ^= 1;
    let changed = String::from_utf8(changed).unwrap();
    let uuid = "00000000-0000-4000-8000-000000000000";
    let of_another = enter(&strange, "journal");
    for given in ["", uuid, &changed, &handle[1..], &of_another] {
        assert_eq!(answer_to(&ours, given), unknown, "{given}");
    }
    assert_eq!(answer_to(&strange, &handle), unknown);
    assert_eq!(answer_to(&ours, &handle).json()["result"]["isError"], false);
}

#[test]
fn a_handle_is_good_for_its_caller_only_on_every_replica() {
    let library = Library::new();
    let settings = format!(
        "{}[server.auth.tokens]\nsecret_file = \"outside/tokens\"\nissuer = '{ISSUER}'\naudience = ['{AUDIENCE}']\n",
        in_a_folder(0)
    );
    fs::write(library.vault.outside().join("tokens"), TOKEN_SECRET).unwrap();
    let replicas = [start(&library, &settings), start(&library, &settings)];
    let as_user = |replica: &Http<'_>, user: &str, tool: &str, arguments: Value| {
        let token = format!("Bearer {}", token(&claims(user, "viewer")));
        let message = Era::Stateless.call(1, tool, arguments);
        replica.post_with(Era::Stateless, &message, &[("Authorization", &token)])
    };
    let entered = json!({ "collection_id": "journal" });
    let entered = as_user(&replicas[0], "ada", "enter_collection", entered).json();
    let handle = &entered["result"]["structuredContent"]["context_handle"];
    for replica in &replicas {
        let list = |user: &str, handle: &Value| {
            let arguments = json!({ "context_handle": handle });
            as_user(replica, user, "list_artifact_sets", arguments)
        };
        let of_ada = list("ada", handle).json();
        assert_eq!(
            of_ada["result"]["structuredContent"]["collection_id"], "journal",
            "{of_ada}"
        );
        assert_eq!(list("eve", handle), list("eve", &json!("x")));
        let error = error_of(&list("eve", handle).json()["result"]);
        assert_eq!(error["type"], "no_collection_context");
    }
}

#[test]
fn a_collection_that_is_gone_is_not_found_with_its_handle() {
    let library = Library::new();
    let (one, two) = (
        start(&library, &in_a_folder(0)),
        start(&library, &in_a_folder(0)),
    );
    let handle = enter(&one, "journal");
    fs::remove_dir_all(library.vault.root().join("journal")).unwrap();
    for replica in [&one, &two] {
        let answer = result(
            replica,
            "semantic_search",
            json!({ "query": "ice", "context_handle": handle }),
        );
        assert_eq!(error_of(&answer)["type"], "collection_not_found");
    }
}

#[test]
fn a_stream_belongs_to_the_replica_that_began_it() {
    let library = Library::rich();
    stream_tokens(&library, &in_a_folder(0));
}

/// A stream is read where it was begun, and nowhere else.
pub(super) fn stream_tokens(library: &Library, settings: &str) {
    let (one, two) = (start(library, settings), start(library, settings));
    let handle = enter(&one, COLLECTION);
    let begun = call(
        &one,
        "begin_result_stream",
        json!({ "query": "ice", "context_handle": handle }),
    );
    let next = |token: &Value| json!({ "stream_token": token, "context_handle": handle });
    let token = &begun["stream_token"];
    let error = error_of(&result(&two, "next_stream_chunk", next(token)));
    assert_eq!(error["type"], "stream_token_invalid");
    assert_eq!(error["context"]["reason"], "unknown");
    let unknown = json!("00000000-0000-4000-8000-000000000000");
    let as_unknown = error_of(&result(&two, "next_stream_chunk", next(&unknown)));
    assert_eq!(error, as_unknown);
    call(&one, "next_stream_chunk", next(token));
}

#[test]
fn constraints_say_how_long_a_handle_is_good() {
    let library = Library::new();
    let shared = start(&library, &in_a_folder(0));
    let alone = start(&library, "[notebook]\nroot = \"vault\"\n");
    let limits = |replica| call(replica, "list_constraints", json!({}))["limits"].clone();
    assert_eq!(limits(&shared)["context_handle_valid_s"], 86_400);
    assert_eq!(limits(&alone).get("context_handle_valid_s"), None);
    assert_eq!(enter(&alone, "journal").len(), 36);
}

#[test]
fn a_secret_that_is_too_short_or_missing_is_refused() {
    let library = Library::new();
    fs::write(library.vault.outside().join("short"), "x".repeat(31)).unwrap();
    for file in ["outside/short", "outside/missing"] {
        let settings = format!("[notebook]\nroot = \"vault\"\nshared_secret_file = \"{file}\"\n");
        let config = library.vault.config(&settings);
        let mut command = sectile();
        command.args(["serve", "notebook", "--config"]).arg(config);
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("notebook.shared_secret_file"), "{text}");
        assert!(!text.contains("xxx"), "{text}");
    }
}

fn probe(replica: &Http<'_>) -> (u16, String) {
    let answer = replica.request("GET", "/readyz", &[], b"");
    (answer.status, answer.body)
}

#[test]
fn a_library_that_is_gone_is_not_ready_and_the_log_says_it_once() {
    let library = Library::new();
    let replica = start(&library, &in_a_folder(0));
    assert_eq!(probe(&replica), (200, "ready\n".to_owned()));
    fs::remove_dir_all(library.vault.root()).unwrap();
    let not_ready = (503, "not ready\nnotebook\n".to_owned());
    wait_for("the server not to be ready", || {
        (probe(&replica) == not_ready).then_some(())
    });
    // It was asked again after a second.
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(probe(&replica), not_ready);
    assert_eq!(replica.log().matches("not ready").count(), 1);
    let alive = replica.request("GET", "/healthz", &[], b"");
    assert_eq!((alive.status, alive.body.as_str()), (200, "ok\n"));
}

#[test]
fn a_replica_gives_notice_before_it_takes_no_more() {
    let library = Library::new();
    let settings = format!("{}[server.http]\nstop_notice_ms = 4000\n", in_a_folder(0));
    let mut replica = start(&library, &settings);
    let handle = enter(&replica, "journal");
    terminate(replica.child().id());
    let stopping = (503, "not ready\nstopping\n".to_owned());
    wait_for("the notice", || (probe(&replica) == stopping).then_some(()));
    let sets = call(
        &replica,
        "list_artifact_sets",
        json!({ "context_handle": handle }),
    );
    assert_eq!(sets["collection_id"], "journal");
    assert_eq!(wait_for_exit(replica.child()).code(), Some(0));
    assert!(TcpStream::connect(replica.address()).is_err());
}

#[test]
fn a_rolling_restart_under_load_loses_no_call() {
    let library = Library::rich();
    rolling_restart(&library, &in_a_folder(0));
}

/// Clients at the same time.
const CLIENTS: usize = 4;
/// How often every replica is restarted.
const ROUNDS: usize = 2;
/// Calls that are answered between two restarts.
const BETWEEN: usize = 40;

/// Both replicas are stopped and started again, one after the other, while clients go on.
pub(super) fn rolling_restart(library: &Library, settings: &str) {
    let places = [free_place(0), free_place(1)];
    let mut replicas = places.map(|place| Some(start_at(library, settings, place)));
    let calls = replicas[0].as_ref().map(expected).unwrap();
    let load = Load {
        places,
        calls,
        answered: AtomicUsize::new(0),
        retried: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let _over = Over(&load.is_over);
        for client in 0..CLIENTS {
            let load = &load;
            scope.spawn(move || load.run(client));
        }
        for _ in 0..ROUNDS {
            for (replica, place) in replicas.iter_mut().zip(places) {
                load.goes_on();
                let mut old = replica.take().unwrap();
                terminate(old.child().id());
                assert_eq!(wait_for_exit(old.child()).code(), Some(0));
                drop(old);
                load.goes_on();
                let new = replica.insert(start_at(library, settings, place));
                wait_for("the replica to be ready", || {
                    (probe(new).0 == 200).then_some(())
                });
            }
        }
        load.goes_on();
    });
    // While one replica was down, every second call was sent to it first.
    assert!(load.retried.load(Ordering::SeqCst) >= ROUNDS * BETWEEN / 2);
}

/// A port of this machine that nobody listens on. None of those that the system hands out by itself: such a one could be
/// somebody else's while its replica is down.
fn free_place(number: u32) -> SocketAddr {
    let first = std::process::id() * 2 + number;
    let ports = (first..first + 1000).step_by(2);
    let ports = ports.map(|port| 16_000 + u16::try_from(port % 16_000).unwrap());
    let mut places = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    places
        .find(|place| TcpListener::bind(place).is_ok())
        .unwrap()
}

/// What the clients of a rolling restart do.
struct Load {
    places: [SocketAddr; 2],
    calls: Vec<(&'static str, Value, Value)>,
    answered: AtomicUsize,
    retried: AtomicUsize,
    is_over: AtomicBool,
}

/// Ends the clients, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Load {
    /// One client: it enters the collection, and then goes from one replica to the other with each call.
    fn run(&self, client: usize) {
        let mut turn = client;
        let _over = Over(&self.is_over);
        while !self.is_over.load(Ordering::SeqCst) {
            let entered = json!({ "collection_id": COLLECTION });
            let entered = self.call(turn, "enter_collection", &entered);
            let handle = entered["context_handle"].as_str().unwrap().to_owned();
            for _ in 0..20 {
                for (tool, arguments, answer) in &self.calls {
                    turn += 1;
                    let mut arguments = arguments.clone();
                    arguments["context_handle"] = json!(handle);
                    assert_eq!(stable(tool, &self.call(turn, tool, &arguments)), *answer);
                }
                if self.is_over.load(Ordering::SeqCst) {
                    return;
                }
            }
        }
    }

    /// Waits until more calls were answered.
    fn goes_on(&self) {
        let before = self.answered.load(Ordering::SeqCst);
        wait_for("calls to be answered", || {
            assert!(!self.is_over.load(Ordering::SeqCst), "a client has failed");
            (self.answered.load(Ordering::SeqCst) >= before + BETWEEN).then_some(())
        });
    }

    /// What a call answers. One that was not answered, or that the replica was too busy for, goes to the other one.
    fn call(&self, turn: usize, tool: &str, arguments: &Value) -> Value {
        let message = Era::Stateless.call(1, tool, arguments.clone()).to_string();
        for turn in turn..turn + 100 {
            let place = self.places[turn % 2];
            let answer = attempt(place, tool, &message).filter(|answer| answer.status != 503);
            let Some(answer) = answer else {
                self.retried.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(5));
                continue;
            };
            assert_eq!(answer.status, 200, "{tool}: {answer:?}");
            let result = &answer.json()["result"];
            assert_eq!(result["isError"], false, "{tool}: {result}");
            self.answered.fetch_add(1, Ordering::SeqCst);
            return result["structuredContent"].clone();
        }
        panic!("no replica answered {tool}");
    }
}

/// Sends a call. `None` when no whole answer came.
fn attempt(place: SocketAddr, tool: &str, message: &str) -> Option<HttpAnswer> {
    let mut stream = TcpStream::connect(place).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let version = Era::Stateless.version();
    let length = message.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {version}\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {tool}\r\nContent-Length: {length}\r\n\r\n{message}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let (head, body) = split(&bytes)?;
    let wanted = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let is_whole = wanted.is_none_or(|wanted| wanted == body.len());
    is_whole.then(|| parse(&bytes))
}

/// The head and the body of what came, if the head is whole.
fn split(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    Some((head, &bytes[end + 4..]))
}
