//! `sectile self-check`: whether the program works on this machine, with nothing of the user's: no settings, no notes, no
//! clients, no network. Those are what `sectile doctor` looks at.

use std::{path::Path, process::Stdio, time::Duration};

use sectile_retrieval::check_built_in;
use serde_json::{Value, json};
use tokio::{process::Command, runtime, time::timeout};

use super::{
    args::SelfCheckArgs,
    demo::{desk_surface, sample_folder},
    line_client::LineClient,
    ui::{CliError, bad, found, good, note, print, visible, warning},
};
use crate::{
    files,
    settings::{cache_folder, overrides},
};

/// How long the server may take to start, answer and end. A slow disk or a virus scanner may have to read the whole program.
const PATIENCE: Duration = Duration::from_secs(60);
/// The document of the sample that is edited, and a question about it.
const DOCUMENT: &str = "projects/harbour/plan.md";
const QUESTION: &str = "ships and concerts at the weekend";
/// Largest document that is read.
const MAX_BYTES: u64 = 1 << 20;

pub(super) fn run(args: &SelfCheckArgs) -> Result<(), CliError> {
    let mut report = CheckReport {
        as_json: args.json,
        lines: Vec::new(),
        problems: 0,
    };
    let version = env!("CARGO_PKG_VERSION");
    let system = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
    report.add(
        "program",
        CheckState::Note,
        &format!("sectile {version} for {system}, {}", c_library()),
    )?;
    for (name, outcome) in check_built_in() {
        let said = match outcome {
            Ok(()) => Ok(format!(
                "the model {name} is intact and understands a sample"
            )),
            Err(error) => Err(CliError::failed(format_args!(
                "the model {name} cannot be used: {error}; install the program again"
            ))),
        };
        report.outcome("model", said)?;
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match sample_folder() {
        Ok(folder) => {
            report.outcome("folder", Ok("a temporary folder can be written".to_owned()))?;
            let edited = runtime.block_on(edit_and_undo(folder.path()));
            report.outcome("desk", edited.map(|()| {
                "a section was found by its meaning, edited and undone; the bytes are the same again"
                    .to_owned()
            }))?;
            let served = runtime.block_on(async {
                match timeout(PATIENCE, serve_and_search(folder.path())).await {
                    Ok(result) => result,
                    Err(_) => Err(CliError::failed(format_args!(
                        "it did not answer within {} seconds",
                        PATIENCE.as_secs()
                    ))),
                }
            });
            report.outcome(
                "server",
                served.map_err(|error| {
                    CliError::failed(format_args!(
                        "a server of its own cannot be used: {}",
                        error.message()
                    ))
                }),
            )?;
        }
        Err(error) => {
            report.outcome("folder", Err(error))?;
            for name in ["desk", "server"] {
                let said = "not checked, because that takes a temporary folder";
                report.add(name, CheckState::Note, said)?;
            }
        }
    }
    let (state, said) = cache();
    report.add("cache", state, &said)?;
    // A server that did not end by itself has nobody to answer to.
    runtime.shutdown_background();
    report.finish(&system)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckState {
    Good,
    Note,
    Warning,
    Problem,
}

/// What was checked, printed line by line, or at the end as one JSON object.
struct CheckReport {
    as_json: bool,
    lines: Vec<Value>,
    problems: usize,
}

impl CheckReport {
    fn outcome(&mut self, name: &str, outcome: Result<String, CliError>) -> Result<(), CliError> {
        match outcome {
            Ok(said) => self.add(name, CheckState::Good, &said),
            Err(error) => {
                let said = visible(&error.message().replace('\n', " "));
                self.add(name, CheckState::Problem, &said)
            }
        }
    }

    fn add(&mut self, name: &str, state: CheckState, said: &str) -> Result<(), CliError> {
        let name_of_state = match state {
            CheckState::Good => "ok",
            CheckState::Note => "note",
            CheckState::Warning => "warning",
            CheckState::Problem => "problem",
        };
        self.problems += usize::from(state == CheckState::Problem);
        self.lines
            .push(json!({ "check": name, "state": name_of_state, "message": said }));
        if self.as_json {
            return Ok(());
        }
        let line = format!("{name}: {said}");
        match state {
            CheckState::Good => good(&line),
            CheckState::Note => note(&line),
            CheckState::Warning => warning(&line),
            CheckState::Problem => bad(&line),
        }
    }

    fn finish(self, system: &str) -> Result<(), CliError> {
        if self.as_json {
            let answer = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "system": system,
                "c_library": c_library(),
                "works": self.problems == 0,
                "checks": self.lines,
            });
            print(format_args!("{answer}\n"))?;
        }
        found(self.problems)
    }
}

/// Returns the C library that the program was built for, and how it is linked.
fn c_library() -> &'static str {
    match (
        cfg!(target_env = "gnu"),
        cfg!(target_env = "musl"),
        cfg!(target_feature = "crt-static"),
    ) {
        (true, _, false) => "with the system's glibc",
        (true, _, true) => "with glibc inside",
        (_, true, false) => "with the system's musl",
        (_, true, true) => "with musl inside, so that it needs no library",
        _ => "with the system's C library",
    }
}

/// Searches, edits and undoes at a desk in this process.
async fn edit_and_undo(root: &Path) -> Result<(), CliError> {
    let document = root.join(DOCUMENT);
    let bytes = || files::read_bytes(&document, MAX_BYTES);
    let before = bytes()?;
    let mut client = LineClient::of_surface(desk_surface(root)?).await?;
    let id = found_id(&client.call("search", question()).await?)?;
    let edit = json!({ "id": id, "old": "Boats at nine", "new": "Boats at ten" });
    client.call("edit", edit).await?;
    if bytes()? == before {
        return Err(CliError::failed("an edit did not reach the disk"));
    }
    client.call("undo", json!({})).await?;
    match bytes()? == before {
        true => Ok(()),
        false => Err(CliError::failed(
            "an edit that was undone left other bytes behind",
        )),
    }
}

fn question() -> Value {
    json!({ "query": QUESTION, "limit": 1 })
}

/// Returns the id of the section that a search must find.
fn found_id(answer: &str) -> Result<String, CliError> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let id = answer["results"][0]["id"].as_str();
    match id.filter(|id| id.starts_with(DOCUMENT)) {
        Some(id) => Ok(id.to_owned()),
        None => Err(CliError::failed(
            "a search did not find the section that it finds elsewhere",
        )),
    }
}

/// Starts a server as a client does, asks it for its tools and for a section, and ends it.
#[expect(
    clippy::disallowed_methods,
    reason = "a person asks whether this program can be started"
)]
async fn serve_and_search(root: &Path) -> Result<String, CliError> {
    let program = std::env::current_exe().map_err(|_| {
        CliError::failed("the system does not say where this program is; on Linux, /proc says so")
    })?;
    let mut command = Command::from(std::process::Command::new(program));
    command.args(["serve", "desk", "--read-only"]).arg(root);
    for (name, _) in overrides() {
        command.env_remove(name);
    }
    let mut server = command
        .env_remove("SECTILE_CONFIG")
        // The index of a folder that will be gone is of no use to anyone.
        .env("XDG_CACHE_HOME", root.join(".cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(CliError::failed("its pipes are missing"));
    };
    let mut client = LineClient::connect(output, input).await?;
    let listed = client.request("tools/list", &json!({})).await?;
    let tools = listed["result"]["tools"].as_array().map_or(0, Vec::len);
    if tools == 0 {
        return Err(CliError::failed("it has no tools"));
    }
    found_id(&client.call("search", question()).await?)?;
    drop(client);
    let status = server.wait().await?;
    match status.success() {
        true => Ok(format!(
            "a server of its own lists {tools} tools, answers a search and ends"
        )),
        false => Err(CliError::failed("it did not end as it should")),
    }
}

/// Looks at the folder for indexes. Nothing fails without it.
fn cache() -> (CheckState, String) {
    let slower =
        "indexes are not kept, so every start takes longer: it reads and indexes all notes again";
    let Some(folder) = cache_folder() else {
        let said = format!("the home folder is unknown; {slower}");
        return (CheckState::Warning, said);
    };
    match files::check_writable(&folder.join("sectile")) {
        Ok(()) => (CheckState::Good, "indexes can be kept".to_owned()),
        Err(error) => {
            let reason = files::reason(error.kind());
            let said = format!("the cache folder cannot be written ({reason}); {slower}");
            (CheckState::Warning, said)
        }
    }
}
