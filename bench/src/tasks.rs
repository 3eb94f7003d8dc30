//! The cost of everyday jobs: calls, and the bytes that a model writes and reads, with the desk, with the editor and the
//! notebook together, and with the file system server of the protocol's own project.
//!
//! Each job is the shortest sensible sequence of calls for a model that knows the tools and what it was told, nothing else.
//! Written bytes are the names and arguments of calls; read bytes are the text of answers, which is what a host hands over.
//! A server without a search has to read in order to find.

mod jobs;
mod sample;

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{
    Bench,
    report::{Report, Verdict},
    server::Server,
};

/// The file system server, below `target/outside/node`.
const FILE_SERVER: &str =
    "outside/node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
const NODE: &str = "outside/node/node_modules/node/bin/node";

/// The share of the others' bytes that the desk may take.
const SHARE: f64 = 1.0 / 3.0;

/// What a job took.
#[derive(Clone, Copy, Debug, Default)]
struct JobCost {
    calls: usize,
    written: usize,
    read: usize,
}

impl JobCost {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.written += other.written;
        self.read += other.read;
    }

    fn bytes(&self) -> f64 {
        (self.written + self.read) as f64
    }
}

/// What all jobs took that a party can do.
#[derive(Clone, Copy, Debug, Default)]
struct JobTotals {
    done: JobCost,
    /// What the desk took for the same jobs.
    desk: JobCost,
    impossible: usize,
}

/// A model's view of one or more servers.
struct Party {
    name: &'static str,
    /// Each server with the tools that it lists.
    servers: Vec<(Server, Vec<String>)>,
    /// The bytes of all tool definitions, as a model sees them.
    definitions: usize,
    cost: JobCost,
}

impl Party {
    fn start(name: &'static str, commands: Vec<Command>) -> Result<Self> {
        let mut party = Self {
            name,
            servers: Vec::new(),
            definitions: 0,
            cost: JobCost::default(),
        };
        for mut command in commands {
            let mut server = Server::start(&mut command)?;
            server.initialize()?;
            let listed = server.request("tools/list", &json!({}))?;
            let tools = listed["tools"].as_array().context("no tools")?;
            let seen = tools.iter().map(|tool| {
                let seen = json!({
                    "name": tool["name"],
                    "description": tool["description"],
                    "inputSchema": tool["inputSchema"],
                });
                seen.to_string().len()
            });
            party.definitions += seen.sum::<usize>();
            let names = tools.iter().filter_map(|tool| tool["name"].as_str());
            party
                .servers
                .push((server, names.map(str::to_owned).collect()));
        }
        Ok(party)
    }

    /// Calls a tool and returns the text of the answer.
    fn ask(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let offers = |(_, tools): &&mut (Server, Vec<String>)| tools.iter().any(|one| one == tool);
        let (server, _) = self
            .servers
            .iter_mut()
            .find(offers)
            .with_context(|| format!("{} has no tool {tool}", self.name))?;
        let params = json!({ "name": tool, "arguments": arguments });
        let result = server.request("tools/call", &params)?;
        let content = result["content"].as_array().context("no content")?;
        let text: String = content
            .iter()
            .filter_map(|one| one["text"].as_str())
            .collect();
        ensure!(
            result["isError"] != true,
            "{}: {tool} {arguments} answered {text}",
            self.name
        );
        self.cost.calls += 1;
        self.cost.written += tool.len() + arguments.to_string().len();
        self.cost.read += text.len();
        Ok(text)
    }

    /// Calls a tool and returns the JSON of the answer.
    fn ask_json(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let text = self.ask(tool, arguments)?;
        serde_json::from_str(&text).with_context(|| format!("{tool} answered {text}"))
    }

    fn stop(self) -> Result<()> {
        self.servers
            .into_iter()
            .try_for_each(|(server, _)| server.stop())
    }
}

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir_in(&bench.target)?;
    let place = |name: &str| -> Result<std::path::PathBuf> {
        let root = folder.path().join(name);
        sample::write(&root)?;
        Ok(root)
    };
    let serve = |world: &str, root: &Path| {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["serve", world]).arg(root);
        command.env("XDG_CACHE_HOME", folder.path().join("cache"));
        command
    };
    let (desk, pair, files) = (place("desk")?, place("pair")?, place("files")?);
    let mut parties = vec![
        Party::start("desk", vec![serve("desk", &desk)])?,
        Party::start(
            "editor + notebook",
            vec![serve("editor", &pair), serve("notebook", &pair)],
        )?,
    ];
    let program = bench.target.join(FILE_SERVER);
    if program.is_file() {
        let mut command = Command::new(bench.target.join(NODE));
        command.arg(program).arg(&files);
        parties.push(Party::start("filesystem", vec![command])?);
    } else {
        report.seen(
            "the file system server",
            "not measured: it is not installed",
        );
    }
    let roots = [&desk, &pair, &files];
    let mut totals = vec![JobTotals::default(); parties.len()];
    println!("\n| job | {} |", names(&parties));
    println!("|---|{}", "---|".repeat(parties.len()));
    for job in jobs::JOBS {
        let mut cells = Vec::new();
        let mut desk = JobCost::default();
        for (at, party) in parties.iter_mut().enumerate() {
            party.cost = JobCost::default();
            let work = [job.desk, job.pair, job.files][at];
            let done =
                work(party, roots[at]).with_context(|| format!("{}: {}", party.name, job.name))?;
            if at == 0 {
                desk = party.cost;
            }
            match done {
                jobs::Outcome::Done => {
                    cells.push(party.cost.to_string());
                    totals[at].done.add(party.cost);
                    totals[at].desk.add(desk);
                }
                jobs::Outcome::Impossible => {
                    cells.push("cannot".to_owned());
                    totals[at].impossible += 1;
                }
            }
        }
        println!("| {} | {} |", job.name, cells.join(" | "));
    }
    let sums: Vec<String> = totals.iter().map(|one| one.done.to_string()).collect();
    println!("| all that it can do | {} |", sums.join(" | "));
    let definitions: Vec<String> = parties
        .iter()
        .map(|party| party.definitions.to_string())
        .collect();
    println!(
        "| tool definitions, bytes | {} |\n",
        definitions.join(" | ")
    );
    for (total, party) in totals.iter().zip(&parties).skip(1) {
        let share = total.desk.bytes() / total.done.bytes();
        let what = format!("bytes of the jobs, desk against {}", party.name);
        let figures = format!(
            "{share:.3} (target {SHARE:.3}; without the {} that it cannot do)",
            total.impossible
        );
        report.line(&what, &figures, Verdict::at_most(share, SHARE));
    }
    parties.into_iter().try_for_each(Party::stop)
}

fn names(parties: &[Party]) -> String {
    let names: Vec<&str> = parties.iter().map(|party| party.name).collect();
    names.join(" | ")
}

impl std::fmt::Display for JobCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let (written, read) = (self.written, self.read);
        write!(f, "{} {calls}, {written} + {read}", self.calls)
    }
}
