//! The Python SDK's client, which speaks both eras on both transports.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::server::{NOTE, SENTINELS};
use super::{Bench, Row};
use crate::process::bounded;

const SCRIPT: &str = include_str!("../../outside/client.py");
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    for era in ["modern", "legacy"] {
        for (transport, target) in [
            ("stdio", bench.stdio_server().to_vec()),
            ("http", vec![bench.url.clone()]),
        ] {
            let mut row = Row::new(format!("python client, {transport}, {era}"));
            if let Err(error) = exercise(bench, era, transport, &target, &mut row) {
                row.record(Err(error));
            }
            println!("  {}", row.show());
            rows.push(row);
        }
    }
    rows
}

fn exercise(
    bench: &Bench,
    era: &str,
    transport: &str,
    target: &[String],
    row: &mut Row,
) -> Result<()> {
    let script = bench.folder.join("client.py");
    fs::write(&script, SCRIPT)?;
    let mut command = bench.isolated(bench.folder.join("python/bin/python"));
    command
        .arg(script)
        .args([era, NOTE, &SENTINELS.join(",")])
        .args(target);
    let finished = bounded(
        &mut command,
        &bench.log(&format!("python-{transport}-{era}")),
        LIMIT,
    )?;
    for line in finished.stdout.lines() {
        let check: Value =
            serde_json::from_str(line).with_context(|| format!("not a check: {line}"))?;
        let name = check["check"].as_str().context("a check without a name")?;
        row.record(match check["failed"].as_str() {
            None => Ok(()),
            Some(why) => Err(anyhow::anyhow!("{name}: {why}")),
        });
    }
    // A failed check is recorded above; anything else that ends the script early is not.
    if !finished.status.success() && row.failures.is_empty() {
        bail!("{}", finished.tail());
    }
    if row.passed + row.failures.len() == 0 {
        bail!("the script checked nothing: {}", finished.tail());
    }
    Ok(())
}
