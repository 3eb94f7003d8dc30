//! The Python SDK's client, which speaks both eras on both transports.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::subject::{NOTE, SENTINELS, Subject, SubjectKind};
use super::{Bench, CheckRow, Job, in_parallel};
use crate::process::bounded;

const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(bench: &Bench, subjects: &[Subject]) -> Vec<CheckRow> {
    // One after the other on each subject: a script undoes its changes, and expects no other edits in between.
    let jobs = subjects
        .iter()
        .map(|subject| -> Job<'_> { Box::new(move || exercise_all(bench, subject)) })
        .collect();
    in_parallel(jobs)
}

fn exercise_all(bench: &Bench, subject: &Subject) -> Vec<CheckRow> {
    let mut rows = Vec::new();
    for era in ["modern", "legacy"] {
        for (transport, target) in [
            ("stdio", subject.command_line(bench)),
            ("http", vec![subject.url.clone()]),
        ] {
            if transport == "stdio" && !subject.is_on_stdio() {
                continue;
            }
            let mut row = CheckRow::new(format!(
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
    row: &mut CheckRow,
) -> Result<()> {
    let note = match subject.kind {
        SubjectKind::EditorDocument => "",
        SubjectKind::Notebook => &subject.location.to_string_lossy(),
        _ => NOTE,
    };
    let mut command = bench.isolated(bench.folder.join("python/bin/python"));
    command
        .env("PROGRAM", &bench.binary)
        .env("AUTHORIZATION", subject.authorization())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(bench.scripts.join("client.py"))
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
