//! Tools that we did not write, run against the real binary: a second opinion on the protocol.
//!
//! Everything they need is installed under `target/outside/`. The servers listen on loopback only, every process has a
//! time limit, and none outlives the run.

mod conformance;
mod inspector;
pub(crate) mod install;
mod python;
mod server;

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;

use crate::process::{Repo, strict_environment};
use server::{HttpServer, SENTINELS};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
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

/// What the tools work with.
struct Bench {
    /// Where tools are installed and logs lie.
    folder: PathBuf,
    binary: PathBuf,
    vault: PathBuf,
    url: String,
}

impl Bench {
    /// Arguments that make the binary serve the test vault on stdio.
    fn stdio_server(&self) -> [String; 4] {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        [
            path(&self.binary),
            "serve".to_owned(),
            "vault".to_owned(),
            path(&self.vault),
        ]
    }

    fn node(&self, package: &str, script: &str) -> Command {
        let modules = self.folder.join("node/node_modules");
        let mut command = self.isolated(modules.join("node/bin/node"));
        command.arg(modules.join(package).join(script));
        command
    }

    /// A command that cannot see or change the settings of whoever runs it.
    fn isolated(&self, program: PathBuf) -> Command {
        let home = self.folder.join("home");
        let mut command = Command::new(program);
        for (name, _) in
            env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SECTILE_"))
        {
            command.env_remove(name);
        }
        command
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .current_dir(&self.folder);
        command
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(name)
    }
}

/// The outcome of one outside check, which may be made of many.
#[derive(Default)]
struct Row {
    name: String,
    passed: usize,
    /// Failures that are listed with their reasons.
    expected: usize,
    failures: Vec<String>,
    skipped: Option<String>,
}

impl Row {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds the outcome of one thing that was tried.
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
        let mut line = format!("{word}  {}: {} passed", self.name, self.passed);
        if self.expected > 0 {
            line += &format!(", {} expected failures", self.expected);
        }
        if !self.failures.is_empty() {
            line += &format!(", {} failed", self.failures.len());
        }
        line
    }
}

/// Gives a remark when something was skipped.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<Option<String>> {
    let wanted = |tool: Tool| args.only.is_empty() || args.only.contains(&tool);
    let binary = repo
        .target
        .join("debug")
        .join(format!("sectile{}", env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        bail!("there is no binary to check; run `cargo build -p sectile` first");
    }
    let folder = repo.target.join("outside");
    let vault = server::write_vault(&folder)?;
    let mut bench = Bench {
        folder,
        binary,
        vault,
        url: String::new(),
    };
    let mut server = HttpServer::start(&bench)?;
    bench.url.clone_from(&server.url);

    let mut rows = Vec::new();
    for tool in Tool::value_variants()
        .iter()
        .copied()
        .filter(|tool| wanted(*tool))
    {
        println!("\n{}", tool.name());
        let missing = match tool {
            Tool::Inspector | Tool::Conformance => install::node(&bench.folder)?,
            Tool::Python => install::python(&bench.folder)?,
        };
        if let Some(why) = missing {
            rows.push(Row {
                skipped: Some(why),
                ..Row::new(tool.name())
            });
            continue;
        }
        rows.extend(match tool {
            Tool::Inspector => inspector::run(&bench),
            Tool::Python => python::run(&bench),
            Tool::Conformance => conformance::run(&bench)?,
        });
    }
    rows.push(check_server(&mut server)?);
    drop(server);
    conclude(&rows)
}

/// The server must have lived through it all, and what it logs must not carry a note's text either.
fn check_server(server: &mut HttpServer) -> Result<Row> {
    let mut row = Row::new("http server");
    row.record(server.check_alive());
    let log = server.log()?;
    row.record(
        match SENTINELS.iter().find(|sentinel| log.contains(**sentinel)) {
            Some(sentinel) => Err(anyhow!("the log holds `{sentinel}`")),
            None => Ok(()),
        },
    );
    Ok(row)
}

fn conclude(rows: &[Row]) -> Result<Option<String>> {
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
    let remark = format!("NOT CHECKED: {}", skipped.join(", "));
    if strict_environment() {
        bail!("{remark}")
    } else {
        Ok(Some(remark))
    }
}
