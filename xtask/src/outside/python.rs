//! The Python SDK's client, which speaks both eras on both transports.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::subject::{Kind, NOTE, SENTINELS, Subject};
use super::{Bench, Job, Row, in_parallel};
use crate::process::bounded;

/// The scripts; the first one is run.
const SCRIPTS: [(&str, &str); 7] = [
    ("client.py", include_str!("../../outside/client.py")),
    ("checks.py", include_str!("../../outside/checks.py")),
    (
        "vault_checks.py",
        include_str!("../../outside/vault_checks.py"),
    ),
    (
        "editor_checks.py",
        include_str!("../../outside/editor_checks.py"),
    ),
    (
        "hosted_checks.py",
        include_str!("../../outside/hosted_checks.py"),
    ),
    (
        "docs_checks.py",
        include_str!("../../outside/docs_checks.py"),
    ),
    (
        "notebook_checks.py",
        include_str!("../../outside/notebook_checks.py"),
    ),
];
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(bench: &Bench, subjects: &[Subject]) -> Result<Vec<Row>> {
    for (name, script) in SCRIPTS {
        fs::write(bench.folder.join(name), script)?;
    }
    // One after the other on one subject: each undoes what it did, and expects nobody else to edit in between.
    let jobs = subjects
        .iter()
        .map(|subject| -> Job<'_> { Box::new(move || exercise_all(bench, subject)) })
        .collect();
    Ok(in_parallel(jobs))
}

fn exercise_all(bench: &Bench, subject: &Subject) -> Vec<Row> {
    let mut rows = Vec::new();
    for era in ["modern", "legacy"] {
        for (transport, target) in [
            ("stdio", subject.command_line(bench)),
            ("http", vec![subject.url.clone()]),
        ] {
            if transport == "stdio" && !subject.is_on_stdio() {
                continue;
            }
            let mut row = Row::new(format!(
                "python client, {}, {transport}, {era}",
                subject.name
            ));
            if let Err(error) = exercise(bench, subject, era, &target, &mut row) {
                row.record(Err(error));
            }
            rows.push(row);
        }
    }
    rows
}

fn exercise(
    bench: &Bench,
    subject: &Subject,
    era: &str,
    target: &[String],
    row: &mut Row,
) -> Result<()> {
    let note = match subject.kind {
        Kind::EditorDocument => "",
        Kind::Notebook => &subject.location.to_string_lossy(),
        _ => NOTE,
    };
    let mut command = bench.isolated(bench.folder.join("python/bin/python"));
    command
        .env("PROGRAM", &bench.binary)
        .env("AUTHORIZATION", subject.authorization())
        .arg(bench.folder.join(SCRIPTS[0].0))
        .args([subject.world, era, note, &SENTINELS.join(",")])
        .args(target);
    let log = bench.log(&row.name.replace(", ", "-").replace(' ', "-"));
    let finished = bounded(&mut command, &log, LIMIT)?;
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
