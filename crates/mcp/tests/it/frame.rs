//! The frame, with worlds made for the test.

/// Pages that hosts show beside the calls of a tool.
mod apps;
/// Completions for prompts and templates.
mod completions;
/// State kept between the calls of one client.
mod connections;
/// Answers, prompts and resources that are more than text.
mod contents;
/// Encodings of failed calls.
mod errors;
/// Handlers that panic, hang or are cancelled.
mod faults;
/// Handlers that ask the user to fill in a form.
mod forms;
/// Arguments that clients repeat in headers.
mod headers;
/// Instructions that are made when a client connects.
mod instructions;
mod listings;
/// Notices about resources.
mod notices;
/// Long listings, templates, and how long a client may cache an answer.
mod pages;
mod policies;
/// Handlers that report progress.
mod progress;
/// Handlers that ask the user.
mod questions;
/// Readiness of a world, as probes see it.
mod readiness;
/// Callers that are bound to roots.
mod roots;
/// Sessions of the handshake eras over HTTP.
mod sessions;
/// Skills, in both eras.
mod skills;
/// A state that is made for each call.
mod states;
/// Answers and errors that are text.
mod texts;
/// The same server over HTTP, without the binary around it.
mod wire;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use schemars::JsonSchema;
use sectile_mcp::{
    Access, Answer, AnswerFacts, CacheHint, CallContext, Envelope, ErrorList, ErrorResponse,
    Failure, FailureKind, JsonObject, Policy, Prompt, PromptArgument, Resource, ResourceContent,
    ResourceListing, ResourceNotice, Resources, Surface, SurfaceLimits, Tool, UnknownTool,
    WorldSpec, decode, stdio::serve_streams,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
        duplex, split,
    },
    sync::broadcast,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Era, PATIENCE, initialize};

const MAX_LINE_BYTES: usize = 1 << 20;

/// The two resources.
const ALPHA: &str = "shelf://alpha";
const BETA: &str = "shelf://beta";

/// State of the test's world.
#[derive(Clone, Default)]
struct Shelf {
    /// Set by a handler that has started to wait.
    waiting: Arc<AtomicBool>,
    /// Set by a handler that saw its caller give up.
    saw_cancellation: Arc<AtomicBool>,
    changes: Changes,
}

/// Sends the test's notices that something on the shelf has changed.
#[derive(Clone)]
struct Changes(broadcast::Sender<ResourceNotice>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(16))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShelveParams {
    /// The text to put on the shelf.
    title: String,
}

#[derive(Serialize, JsonSchema)]
struct Shelved {
    /// The text that is on the shelf now.
    title: String,
}

type Handle = fn(&Shelf, JsonObject, &CallContext) -> Result<Answer, Failure>;

fn tool(name: &'static str, access: Access, handle: Handle) -> Tool<Shelf> {
    let start = match access {
        Access::Read => Tool::read,
        Access::Write => Tool::write,
        Access::Destructive => Tool::destructive,
    };
    start(name, "Shelve", "Put a title on the shelf.")
        .idempotent(false)
        .open_world()
        .call_raw::<ShelveParams, Shelved>(handle)
}

fn shelve(
    _: &Shelf,
    params: ShelveParams,
    _: &CallContext,
) -> Result<(Shelved, AnswerFacts), Failure> {
    match params.title.as_str() {
        "" => Err(Failure::new(FailureKind::NotFound, "Nothing to shelve.")),
        _ => Ok((
            Shelved {
                title: params.title,
            },
            AnswerFacts::default(),
        )),
    }
}

fn call_shelve(
    shelf: &Shelf,
    arguments: JsonObject,
    context: &CallContext,
) -> Result<Answer, Failure> {
    let (output, facts) = shelve(shelf, decode(arguments)?, context)?;
    Answer::new(&output, facts)
}

fn list(_: &Shelf, _: &CallContext) -> Result<ResourceListing, Failure> {
    let resources = [(ALPHA, "alpha"), (BETA, "beta")]
        .map(|(uri, name)| Resource {
            uri: uri.to_owned(),
            name: name.to_owned(),
            title: format!("Book {name}"),
            description: format!("The book called {name}."),
            mime_type: "text/markdown",
            size: Some(7),
            last_modified: None,
        })
        .to_vec();
    Ok(resources.into())
}

fn read(_: &Shelf, uri: &str) -> Result<Option<ResourceContent>, Failure> {
    let text = match uri {
        ALPHA => "# Alpha",
        BETA => "# Beta\n",
        "shelf://locked" => {
            return Err(Failure::new(FailureKind::Unreadable, "The book is locked."));
        }
        _ => return Ok(None),
    };
    Ok(Some(ResourceContent::text(
        "text/markdown",
        text.to_owned(),
        CacheHint::LIVE,
    )))
}

/// The resources of the shelf.
const RESOURCES: Resources<Shelf> = Resources {
    list,
    read,
    templates: std::borrow::Cow::Borrowed(&[]),
    cache: CacheHint::TABLE,
    changes: None,
};

const GREET: Prompt<Shelf> = Prompt {
    name: "greet",
    title: "Greet",
    description: "Greets a reader.",
    arguments: &[
        PromptArgument {
            name: "reader",
            description: "Who is greeted.",
            required: true,
        },
        PromptArgument {
            name: "tone",
            description: "How.",
            required: false,
        },
    ],
    render: |_, arguments, _| {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
        let reader = argument("reader").ok_or(Failure::new(
            FailureKind::InvalidArguments,
            "Invalid arguments: reader is required.",
        ))?;
        let tone = argument("tone").unwrap_or("kindly");
        Ok(vec![format!("Greet {reader} {tone}.").into()])
    },
};

const TIDY: Prompt<Shelf> = Prompt {
    name: "tidy",
    title: "Tidy up",
    description: "Asks for order.",
    arguments: &[],
    render: |_, _, _| Ok(vec!["Tidy the shelf.".to_owned().into()]),
};

/// A world with a tool, two resources and two prompts.
fn spec() -> WorldSpec<Shelf> {
    let envelope: Envelope = |failure| ErrorResponse::Result(json!({ "problem": failure.message }));
    WorldSpec {
        tools: vec![tool("shelve", Access::Write, call_shelve)],
        resources: Some(RESOURCES),
        prompts: vec![GREET, TIDY],
        unknown_tool: UnknownTool::Code(-32601),
        ..WorldSpec::new("shelf", "A shelf for tests.", envelope, ErrorList::default)
    }
}

fn limits() -> SurfaceLimits {
    SurfaceLimits {
        max_in_flight: 4,
        max_in_flight_per_caller: 4,
        max_waiting: 4,
        max_waiting_per_caller: 4,
        call_timeout: PATIENCE,
        inline_when_alone: false,
    }
}

/// A client on a pair of pipes in memory.
struct Client {
    era: Era,
    to_server: WriteHalf<DuplexStream>,
    from_server: BufReader<ReadHalf<DuplexStream>>,
    shutdown: CancellationToken,
}

impl Client {
    async fn connect(era: Era, spec: WorldSpec<Shelf>, policy: Policy) -> Self {
        let surface = Surface::new(spec, Shelf::default(), policy, limits());
        Self::connect_to(era, surface).await
    }

    async fn connect_to(era: Era, surface: Surface) -> Self {
        let (ours, theirs) = duplex(MAX_LINE_BYTES);
        let (reader, writer) = split(theirs);
        let shutdown = CancellationToken::new();
        tokio::spawn(serve_streams(
            Arc::new(surface),
            reader,
            writer,
            MAX_LINE_BYTES,
            shutdown.clone(),
        ));
        let (from_server, to_server) = split(ours);
        let mut client = Self {
            era,
            to_server,
            from_server: BufReader::new(from_server),
            shutdown,
        };
        if era == Era::Handshake {
            client.send(&initialize(0)).await;
            client.receive_line().await;
        }
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.to_server.write_all(line.as_bytes()).await.unwrap();
    }

    /// Closes the client's output; it can still read.
    async fn close(&mut self) {
        self.to_server.shutdown().await.unwrap();
    }

    async fn receive_line(&mut self) -> String {
        let mut line = String::new();
        let reading = self.from_server.read_line(&mut line);
        timeout(PATIENCE, reading).await.unwrap().unwrap();
        line
    }

    /// Returns the whole line that answers a request. The id is always the same, so that answers can be compared.
    async fn line(&mut self, method: &str, params: Value) -> String {
        self.send(&self.era.request(7, method, params)).await;
        self.receive_line().await
    }

    async fn receive(&mut self) -> Value {
        let line = self.receive_line().await;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let line = self.line(method, params).await;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
    }

    /// Returns a list from a result, by the given key of each entry.
    async fn listed(&mut self, method: &str, list: &str, key: &str) -> Vec<String> {
        let answer = self.ask(method, json!({})).await;
        let entries = answer["result"][list].as_array().unwrap();
        entries
            .iter()
            .map(|entry| entry[key].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Waits for something that happens on another thread.
async fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let wait = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(timeout(PATIENCE, wait).await.is_ok(), "no {what}");
}
