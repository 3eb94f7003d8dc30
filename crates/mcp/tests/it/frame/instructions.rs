//! Instructions that are made when a client connects, from the state of the world and for the caller.

use std::sync::atomic::{AtomicUsize, Ordering};

use sectile_mcp::{
    Describer,
    policy::{NameSet, Visibility},
};
use tokio::sync::Mutex;

use super::{wire::HttpServer, *};

const STATIC: &str = "Call shelve_title or read_title.";

/// A world that can be described.
#[derive(Clone, Default)]
struct Library {
    /// Held by the test to make descriptions wait.
    busy: Arc<Mutex<()>>,
    /// Number of descriptions that were begun.
    begun: Arc<AtomicUsize>,
    saw_cancellation: Arc<AtomicBool>,
}

impl Library {
    fn surface(&self, describe: Describer<Self>) -> Surface {
        let envelope: Envelope = |failure| ErrorResponse::Text(failure.told());
        let tool = |name| {
            let handle = |_: &Self, params: ShelveParams, _: &CallContext| {
                Ok::<_, Failure>((params.title, AnswerFacts::default()))
            };
            Tool::read(name, "Title", "Take a title.").call_text(handle)
        };
        let spec = WorldSpec {
            tools: vec![tool("shelve_title"), tool("read_title")],
            describe: Some(describe),
            ..WorldSpec::new("library", STATIC, envelope, ErrorList::default)
        };
        let policy = Policy {
            visibility: Visibility {
                deny: NameSet::new(["shelve_title".to_owned()]),
                ..Visibility::default()
            },
            ..Policy::default()
        };
        Surface::new(spec, self.clone(), policy, limits())
    }
}

fn counts(library: &Library, context: &CallContext) -> String {
    library.begun.fetch_add(1, Ordering::SeqCst);
    let hint = context.for_caller("Read with read_title. Shelve with shelve_title.");
    let client = context.client.as_deref().unwrap_or("nobody");
    format!("3 books, for {client}.\n{hint}\n")
}

fn waits(library: &Library, context: &CallContext) -> String {
    library.begun.fetch_add(1, Ordering::SeqCst);
    drop(library.busy.blocking_lock());
    let is_over = context.check().is_err();
    library.saw_cancellation.store(is_over, Ordering::SeqCst);
    "Late.".to_owned()
}

/// The instructions that a client of this era gets when it connects.
async fn instructions(era: Era, surface: Surface) -> String {
    let mut client = Client::connect_to(Era::Stateless, surface).await;
    client.send(&greeting(era)).await;
    told(&client.receive().await)
}

fn greeting(era: Era) -> Value {
    match era {
        Era::Handshake => initialize(7),
        Era::Stateless => era.request(7, "server/discover", json!({})),
    }
}

fn told(answer: &Value) -> String {
    let told = answer["result"]["instructions"].as_str();
    told.unwrap_or_else(|| panic!("no instructions: {answer}"))
        .to_owned()
}

#[tokio::test]
async fn a_description_follows_the_instructions_and_names_no_hidden_tool() {
    let library = Library::default();
    for era in Era::BOTH {
        let expected = "Call read_title.\n\n3 books, for test 1.\nRead with read_title.";
        let said = instructions(era, library.surface(counts)).await;
        assert_eq!(said, expected, "{era:?}");
        let http = HttpServer::start(library.surface(counts)).await;
        let answer = http.post(era, &greeting(era), &[]).await;
        assert_eq!(told(&answer.json().await), expected, "{era:?}");
    }
    assert_eq!(library.begun.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_description_is_cut_at_a_line() {
    let long: Describer<Library> = |_, _| "a line of the description\n".repeat(1000);
    for era in Era::BOTH {
        let said = instructions(era, Library::default().surface(long)).await;
        assert!(said.len() <= 2000, "{}", said.len());
        assert!(said.ends_with("\na line of the description"), "{said}");
    }
}

#[tokio::test]
async fn a_description_that_fails_or_takes_too_long_is_left_out() {
    let broken: Describer<Library> = |_, _| panic!("a defect");
    for era in Era::BOTH {
        let said = instructions(era, Library::default().surface(broken)).await;
        assert_eq!(said, "Call read_title.", "{era:?}");
        let library = Library::default();
        let held = library.busy.lock().await;
        let said = instructions(era, library.surface(waits)).await;
        assert_eq!(said, "Call read_title.", "{era:?}");
        assert_eq!(library.begun.load(Ordering::SeqCst), 1);
        drop(held);
        let saw = || library.saw_cancellation.load(Ordering::SeqCst);
        until("cancellation", saw).await;
    }
}

#[tokio::test]
async fn descriptions_that_hang_keep_no_call_waiting_and_do_not_pile_up() {
    let library = Library::default();
    let held = library.busy.lock().await;
    let mut client = Client::connect_to(Era::Stateless, library.surface(waits)).await;
    // rmcp answers the first request before it reads the next.
    client.ask("tools/list", json!({})).await;
    for id in 100..140 {
        let discover = Era::Stateless.request(id, "server/discover", json!({}));
        client.send(&discover).await;
    }
    let arguments = json!({ "title": "x" });
    client
        .send(&Era::Stateless.call(7, "read_title", arguments))
        .await;
    let first = client.receive().await;
    assert_eq!(first["id"], 7, "{first}");
    for _ in 0..40 {
        assert_eq!(told(&client.receive().await), "Call read_title.");
    }
    assert_eq!(library.begun.load(Ordering::SeqCst), 4);
    drop(held);
}
