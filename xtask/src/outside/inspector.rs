//! The Inspector's command line: tool schemas that other clients can use, on both transports and in both eras.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::server::{NOTE, SENTINELS};
use super::{Bench, Row};
use crate::process::{Finished, bounded};

const LIMIT: Duration = Duration::from_secs(60);
const TOOLS: [&str; 4] = [
    "get_document_tree",
    "get_metadata_facets",
    "get_note_outline",
    "get_section_source",
];

enum Transport {
    Stdio,
    Http,
}

pub(super) fn run(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    for (transport, transport_name) in [(Transport::Stdio, "stdio"), (Transport::Http, "http")] {
        for era in ["legacy", "modern"] {
            let mut row = Row::new(format!("inspector, {transport_name}, {era}"));
            let call = |name: &str, args: &[&str]| {
                let log = format!("inspector-{transport_name}-{era}-{name}");
                inspect(bench, &transport, era, &log, args)
            };
            row.record(
                call("list", &["--method", "tools/list", "--strict"])
                    .and_then(|said| check_list(&said)),
            );
            for tool in TOOLS {
                let path = format!("path={NOTE}");
                let args = [
                    "--method",
                    "tools/call",
                    "--tool-name",
                    tool,
                    "--tool-arg",
                    &path,
                ];
                row.record(
                    call(tool, &args)
                        .and_then(|said| check_call(&said))
                        .with_context(|| tool.to_owned()),
                );
            }
            println!("  {}", row.show());
            rows.push(row);
        }
    }
    rows
}

fn inspect(
    bench: &Bench,
    transport: &Transport,
    era: &str,
    log: &str,
    args: &[&str],
) -> Result<Finished> {
    let mut command = bench.node(
        "@modelcontextprotocol/inspector",
        "clients/launcher/build/index.js",
    );
    command.arg("--cli");
    match transport {
        Transport::Stdio => command.args(bench.stdio_server()),
        Transport::Http => command.args([&bench.url, "--transport", "http"]),
    };
    command
        .args(["--protocol-era", era, "--format", "json"])
        .args(args);
    let finished = bounded(&mut command, &bench.log(log), LIMIT)?;
    if !finished.status.success() {
        bail!("{}", finished.tail());
    }
    Ok(finished)
}

fn check_list(said: &Finished) -> Result<()> {
    let answer: Value = serde_json::from_str(&said.stdout).context("the answer is not JSON")?;
    let tools = answer
        .pointer("/tools")
        .or_else(|| answer.pointer("/result/tools"));
    let tools = tools
        .and_then(Value::as_array)
        .context("the answer lists no tools")?;
    let mut names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    names.sort_unstable();
    if names != TOOLS {
        bail!("expected {TOOLS:?}, got {names:?}");
    }
    Ok(())
}

fn check_call(said: &Finished) -> Result<()> {
    if let Some(sentinel) = SENTINELS
        .iter()
        .find(|sentinel| said.stdout.contains(**sentinel))
    {
        bail!("the answer holds `{sentinel}`");
    }
    let answer: Value = serde_json::from_str(&said.stdout).context("the answer is not JSON")?;
    let result = answer.get("result").unwrap_or(&answer);
    if result["isError"] == true {
        bail!("the tool failed: {result}");
    }
    if result["structuredContent"]["path"] != NOTE {
        bail!("the answer is not about {NOTE}: {result}");
    }
    Ok(())
}
