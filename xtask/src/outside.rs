//! Runs third-party tools against the real binary: a second opinion on the protocol.
//!
//! Everything they need is installed under `target/outside/`. The servers listen on loopback only, every process has a
//! time limit, and none outlives the run.

mod conformance;
mod hosted;
mod inspector;
mod python;
mod server;
mod subject;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::{env, iter, thread};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;

use crate::install;
use crate::process::{self, Repo};
use server::HttpServer;
use subject::{SENTINELS, Subject};

#[derive(clap::Args, Default)]
pub(crate) struct OutsideArgs {
    /// Run only this tool; may be given more than once.
    #[arg(long, value_name = "TOOL")]
    only: Vec<Tool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Tool {
    /// The Inspector's command line.
    Inspector,
    /// The Python SDK's client.
    Python,
    /// The official conformance suite.
    Conformance,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Inspector => "inspector",
            Self::Python => "python client",
            Self::Conformance => "conformance",
        }
    }
}

/// The folders and programs that the tools work with.
struct Bench {
    /// Folder for the installed tools and the logs.
    folder: PathBuf,
    binary: PathBuf,
    /// Our own scripts for the tools, and lists of expected failures.
    scripts: PathBuf,
}

impl Bench {
    fn node(&self, package: &str, script: &str) -> Command {
        let modules = self.folder.join("node/node_modules");
        let mut command = self.isolated(modules.join("node/bin/node"));
        command.arg(modules.join(package).join(script));
        command
    }

    /// Returns a command that can neither see nor change the user's own settings.
    fn isolated(&self, program: PathBuf) -> Command {
        process::isolated(&program, &self.folder)
    }

    /// Returns the path of another program that was built with the binary.
    fn beside(&self, name: &str) -> PathBuf {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        self.binary.with_file_name(file)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(name)
    }
}

/// The outcome of one outside check, which may consist of many.
#[derive(Default)]
struct CheckRow {
    name: String,
    passed: usize,
    /// Failures that are listed with their reasons.
    expected: usize,
    /// The scenarios that these are part of, if they are.
    scenarios: Option<ScenarioCount>,
    failures: Vec<String>,
    skipped: Option<String>,
}

/// Number of scenarios of the conformance suite.
#[derive(Clone, Copy, Default)]
struct ScenarioCount {
    run: usize,
    /// Those in which nothing failed, not even what was expected to.
    flawless: usize,
}

impl CheckRow {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds the outcome of one attempt.
    fn record(&mut self, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(error) => self.failures.push(format!("{error:#}")),
        }
    }

    fn show(&self) -> String {
        if let Some(why) = &self.skipped {
            return format!("SKIPPED  {}: {why}", self.name);
        }
        let word = if self.failures.is_empty() {
            "passed "
        } else {
            "FAILED "
        };
        let mut line = format!("{word}  {}: ", self.name);
        if let Some(ScenarioCount { run, flawless }) = self.scenarios {
            line += &format!("{flawless} of {run} scenarios without a failure, checks: ");
        }
        line += &format!("{} passed", self.passed);
        if self.expected > 0 {
            line += &format!(", {} expected failures", self.expected);
        }
        if !self.failures.is_empty() {
            line += &format!(", {} failed", self.failures.len());
        }
        line
    }
}

/// A job that produces rows one after the other, on one thread.
type Job<'a> = Box<dyn FnOnce() -> Vec<CheckRow> + Send + 'a>;

/// Runs the jobs, one per core at a time, and prints each row as soon as it is known.
fn in_parallel(jobs: Vec<Job<'_>>) -> Vec<CheckRow> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let next = || jobs.lock().ok().and_then(|mut jobs| jobs.next());
    let work = || -> Vec<(usize, Vec<CheckRow>)> {
        iter::from_fn(next)
            .map(|(index, job)| {
                let rows = job();
                for row in &rows {
                    println!("  {}", row.show());
                }
                (index, rows)
            })
            .collect()
    };
    let mut done: Vec<(usize, Vec<CheckRow>)> = thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running
            .into_iter()
            .flat_map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| vec![(0, vec![panicked()])])
            })
            .collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, rows)| rows).collect()
}

fn panicked() -> CheckRow {
    let mut row = CheckRow::new("xtask");
    row.record(Err(anyhow!("a check panicked")));
    row
}

/// Runs the outside checks. Returns a remark if something was skipped.
pub(crate) fn run(repo: &Repo, args: &OutsideArgs) -> Result<Option<String>> {
    let wanted = |tool: Tool| args.only.is_empty() || args.only.contains(&tool);
    let binary = repo.binary();
    if !binary.is_file() {
        bail!(
            "there is no binary to check; run `cargo build -p sectile -p sectile-note-store -p sectile-conformance-server \
             --features backends` first"
        );
    }
    let folder = repo.target.join("outside");
    let bench = Bench {
        folder,
        binary,
        scripts: repo.root.join("xtask/outside"),
    };
    let mut subjects = subject::all(&bench)?;
    let mut servers = Vec::new();
    for subject in &mut subjects {
        let server = HttpServer::start(&bench, subject)?;
        subject.url.clone_from(&server.url);
        servers.push(server);
    }

    let mut rows = Vec::new();
    for tool in Tool::value_variants()
        .iter()
        .copied()
        .filter(|tool| wanted(*tool))
    {
        println!("\n{}", tool.name());
        let missing = match tool {
            Tool::Inspector | Tool::Conformance => install::node(&bench.folder)?,
            Tool::Python => install::PYTHON_CLIENT.install(&bench.folder)?,
        };
        if let Some(why) = missing {
            rows.push(CheckRow {
                skipped: Some(why),
                ..CheckRow::new(tool.name())
            });
            continue;
        }
        rows.extend(match tool {
            Tool::Inspector => inspector::run(&bench, &subjects),
            Tool::Python => python::run(&bench, &subjects),
            Tool::Conformance => conformance::run(&bench, &subjects)?,
        });
    }
    for (subject, server) in subjects.iter().zip(&mut servers) {
        rows.push(check_server(subject, server)?);
    }
    drop(servers);
    conclude(&rows)
}

/// Checks that the server is still running and that its log does not contain the text of a note.
fn check_server(subject: &Subject, server: &mut HttpServer) -> Result<CheckRow> {
    let mut row = CheckRow::new(format!("http server, {}", subject.name));
    row.record(server.check_alive());
    let log = server.log()?;
    row.record(
        match SENTINELS.iter().find(|sentinel| log.contains(**sentinel)) {
            Some(sentinel) => Err(anyhow!("the log contains `{sentinel}`")),
            None => Ok(()),
        },
    );
    Ok(row)
}

fn conclude(rows: &[CheckRow]) -> Result<Option<String>> {
    for failure in rows
        .iter()
        .flat_map(|row| row.failures.iter().map(move |text| (row, text)))
    {
        println!("\nFAILED  {}: {}", failure.0.name, failure.1);
    }
    println!();
    for row in rows {
        println!("{}", row.show());
    }
    let failed = rows.iter().filter(|row| !row.failures.is_empty()).count();
    let skipped: Vec<&str> = rows
        .iter()
        .filter(|row| row.skipped.is_some())
        .map(|row| row.name.as_str())
        .collect();
    if failed > 0 {
        bail!("{failed} outside checks failed");
    }
    if skipped.is_empty() {
        return Ok(None);
    }
    process::not_checked(&skipped.join(", "))
}
