//! The official conformance suite, in every protocol version that is served.
//!
//! Most of its scenarios call tools, prompts and resources that a server under test is asked to carry. We carry none of
//! them: what runs here is what can be asked of a real server. The table names every scenario, so that a new version of
//! the suite cannot bring one that nobody looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::subject::{Kind, Subject};
use super::{Bench, Job, Row, in_parallel};
use crate::process::bounded;

/// The subjects it is run against, and their expected failures, each with its reason.
const EXPECTED: [(Kind, &str); 2] = [
    (
        Kind::Vault,
        include_str!("../../outside/expected-failures-vault.yml"),
    ),
    (
        Kind::EditorFolder,
        include_str!("../../outside/expected-failures-editor.yml"),
    ),
];
const LIMIT: Duration = Duration::from_secs(60);
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    /// Run in each of our versions that the scenario knows.
    Wanted,
    /// Calls a tool, prompt or resource made for the suite.
    Fixture,
    /// About an extension that we do not declare.
    Extension,
}

use Use::{Extension, Fixture, Wanted};

const SCENARIOS: &[(&str, Use)] = &[
    ("server-initialize", Wanted),
    ("server-session-lifecycle", Wanted),
    ("server-stateless", Wanted),
    ("logging-set-level", Wanted),
    ("ping", Wanted),
    ("completion-complete", Wanted),
    ("tools-list", Wanted),
    ("tools-call-simple-text", Fixture),
    ("tools-call-image", Fixture),
    ("tools-call-audio", Fixture),
    ("tools-call-embedded-resource", Fixture),
    ("tools-call-mixed-content", Fixture),
    ("tools-call-with-logging", Fixture),
    ("tools-call-error", Fixture),
    ("tools-call-with-progress", Fixture),
    ("tools-call-sampling", Fixture),
    ("tools-call-elicitation", Fixture),
    ("json-schema-2020-12", Fixture),
    ("elicitation-sep1034-defaults", Fixture),
    ("server-sse-polling", Fixture),
    ("server-sse-multiple-streams", Wanted),
    ("elicitation-sep1330-enums", Fixture),
    ("resources-list", Wanted),
    ("resources-read-text", Fixture),
    ("resources-read-binary", Fixture),
    ("resources-templates-read", Fixture),
    ("resources-subscribe", Fixture),
    ("resources-unsubscribe", Fixture),
    ("sep-2164-resource-not-found", Wanted),
    ("sep-2640-skills-directory", Extension),
    ("sep-2640-skills-enumeration", Extension),
    ("sep-2640-skills-manifest", Extension),
    ("prompts-list", Wanted),
    ("prompts-get-simple", Fixture),
    ("prompts-get-with-args", Fixture),
    ("prompts-get-embedded-resource", Fixture),
    ("prompts-get-with-image", Fixture),
    ("dns-rebinding-protection", Wanted),
    ("caching", Wanted),
    ("http-header-validation", Wanted),
    ("http-custom-header-server-validation", Fixture),
    ("tasks-lifecycle", Extension),
    ("tasks-capability-negotiation", Extension),
    ("tasks-wire-fields", Extension),
    ("tasks-request-state-removal", Extension),
    ("tasks-mrtr-input", Extension),
    ("tasks-request-headers", Extension),
    ("tasks-dispatch-and-envelope", Extension),
    ("tasks-status-notifications", Extension),
    ("tasks-required-task-error", Extension),
    ("tasks-mrtr-composition", Extension),
    ("input-required-result-basic-elicitation", Fixture),
    ("input-required-result-basic-sampling", Fixture),
    ("input-required-result-basic-list-roots", Fixture),
    ("input-required-result-request-state", Fixture),
    ("input-required-result-multiple-input-requests", Fixture),
    ("input-required-result-multi-round", Fixture),
    ("input-required-result-missing-input-response", Fixture),
    ("input-required-result-non-tool-request", Fixture),
    ("input-required-result-result-type", Fixture),
    ("input-required-result-unsupported-methods", Wanted),
    ("input-required-result-tampered-state", Fixture),
    ("input-required-result-capability-check", Fixture),
    ("input-required-result-ignore-extra-params", Fixture),
    ("input-required-result-validate-input", Fixture),
];

/// A scenario's name, and the versions it knows.
type Listed = (String, Vec<String>);

/// One version of the suite against one subject.
struct Run<'a> {
    bench: &'a Bench,
    subject: &'a Subject,
    version: &'static str,
    /// The file with the expected failures.
    expected: PathBuf,
    results: PathBuf,
}

pub(super) fn run(bench: &Bench, subjects: &[Subject]) -> Result<Vec<Row>> {
    let results = bench.folder.join("conformance");
    if results.is_dir() {
        fs::remove_dir_all(&results)?;
    }
    let listed = listed(bench)?;
    let mut table = Row::new("conformance, table of scenarios");
    table.record(check_table(&listed));
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for subject in subjects {
        let Some((_, text)) = EXPECTED.iter().find(|(kind, _)| *kind == subject.kind) else {
            continue;
        };
        let expected = format!("expected-failures-{}.yml", subject.name);
        let expected = bench.folder.join(expected);
        fs::write(&expected, text)?;
        for version in VERSIONS {
            let run = Run {
                bench,
                subject,
                version,
                expected: expected.clone(),
                results: results.join(subject.name).join(version),
            };
            let listed = &listed;
            jobs.push(Box::new(move || vec![run.all(listed)]));
        }
    }
    let mut rows = vec![table];
    rows.extend(in_parallel(jobs));
    Ok(rows)
}

/// Scenarios that the suite knows, with their versions.
fn listed(bench: &Bench) -> Result<Vec<Listed>> {
    let mut command = bench.node("@modelcontextprotocol/conformance", "dist/index.js");
    let finished = bounded(
        command.args(["list", "--server"]),
        &bench.log("conformance-list"),
        LIMIT,
    )?;
    let scenarios = parse_list(&finished.stdout);
    if !finished.status.success() || scenarios.is_empty() {
        bail!("the suite lists no scenarios: {}", finished.tail());
    }
    Ok(scenarios)
}

fn parse_list(text: &str) -> Vec<Listed> {
    let scenario = |line: &str| {
        let (name, versions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        let versions = versions
            .trim_end_matches(']')
            .split(',')
            .map(str::to_owned)
            .collect();
        Some((name.to_owned(), versions))
    };
    text.lines().filter_map(scenario).collect()
}

fn check_table(listed: &[Listed]) -> Result<()> {
    let ours = SCENARIOS.iter().map(|(name, _)| *name);
    let gone: Vec<&str> = ours
        .filter(|name| !listed.iter().any(|(known, _)| known == name))
        .collect();
    let is_new = |name: &&str| !SCENARIOS.iter().any(|(known, _)| known == name);
    let new: Vec<&str> = listed
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(is_new)
        .collect();
    let unused: Vec<&str> = expected_scenarios()
        .filter(|name| !SCENARIOS.contains(&(name, Wanted)))
        .collect();
    if gone.is_empty() && new.is_empty() && unused.is_empty() {
        return Ok(());
    }
    bail!(
        "scenarios that are gone: {gone:?}, new: {new:?}, expected to fail but never run: {unused:?}"
    )
}

/// Names in the files of expected failures.
fn expected_scenarios() -> impl Iterator<Item = &'static str> {
    let entries = EXPECTED
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.trim().strip_prefix("- "));
    entries.map(|entry| {
        entry
            .split_once(':')
            .map_or(entry, |(scenario, _)| scenario)
    })
}

impl Run<'_> {
    fn all(&self, listed: &[Listed]) -> Row {
        let mut row = Row::new(format!(
            "conformance, {}, {}",
            self.subject.name, self.version
        ));
        for (scenario, versions) in listed {
            let is_wanted = SCENARIOS.contains(&(scenario.as_str(), Wanted))
                && versions.iter().any(|known| known == self.version);
            if is_wanted && let Err(error) = self.one(scenario, &mut row) {
                row.record(Err(error.context(scenario.clone())));
            }
        }
        row
    }

    fn one(&self, scenario: &str, row: &mut Row) -> Result<()> {
        let results = self.results.join(scenario);
        let mut command = self
            .bench
            .node("@modelcontextprotocol/conformance", "dist/index.js");
        command
            .args(["server", "--url", &self.subject.url])
            .args(["--scenario", scenario, "--spec-version", self.version])
            .arg("--expected-failures")
            .arg(&self.expected)
            .arg("--output-dir")
            .arg(&results);
        let log = format!(
            "conformance-{}-{}-{scenario}",
            self.subject.name, self.version
        );
        let finished = bounded(&mut command, &self.bench.log(&log), LIMIT)?;
        let statuses = statuses(&results)?;
        let count = |wanted: &[&str]| {
            statuses
                .iter()
                .filter(|status| wanted.contains(&status.as_str()))
                .count()
        };
        row.passed += count(&["SUCCESS"]);
        if !finished.status.success() {
            bail!("{}", finished.tail());
        }
        // The suite itself says whether every failure is one that we expect, and whether one of those is gone.
        row.expected += count(&["FAILURE", "WARNING"]);
        Ok(())
    }
}

/// The status of each check that a run wrote down.
fn statuses(results: &Path) -> Result<Vec<String>> {
    let mut statuses = Vec::new();
    for run in fs::read_dir(results).context("the suite wrote no results")? {
        let checks: Value = serde_json::from_slice(&fs::read(run?.path().join("checks.json"))?)?;
        let checks = checks.as_array().context("the results are no list")?;
        statuses.extend(
            checks
                .iter()
                .filter_map(|check| check["status"].as_str())
                .map(str::to_owned),
        );
    }
    if statuses.is_empty() {
        bail!("the scenario checked nothing");
    }
    Ok(statuses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_scenarios_is_read() {
        let text = "Server scenarios (test against a server):\n  - ping [2025-06-18,2025-11-25]\n  - x [extension]\n";
        let found = parse_list(text);
        assert_eq!(
            found[0],
            (
                "ping".to_owned(),
                vec!["2025-06-18".to_owned(), "2025-11-25".to_owned()]
            )
        );
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn only_scenarios_that_run_are_expected_to_fail() {
        assert!(expected_scenarios().count() > 0);
        for scenario in expected_scenarios() {
            assert!(SCENARIOS.contains(&(scenario, Wanted)), "{scenario}");
        }
    }

    #[test]
    fn the_requirements_of_every_served_version_run() {
        let served = include_str!("../../../crates/mcp/src/server.rs");
        let (_, versions) = served
            .split_once("VERSIONS: ")
            .expect("the list of versions");
        let (_, versions) = versions.split_once("= [").expect("the list of versions");
        let (versions, _) = versions.split_once(']').expect("the list of versions");
        for version in versions
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty())
        {
            let (_, version) = version.split_once("V_").expect("a version");
            let version = version.replace('_', "-");
            assert!(VERSIONS.contains(&version.as_str()), "{version}");
        }
        assert_eq!(versions.matches("V_").count(), VERSIONS.len());
    }

    #[test]
    fn scenarios_are_named_once() {
        for (index, (name, _)) in SCENARIOS.iter().enumerate() {
            assert!(
                SCENARIOS[index + 1..]
                    .iter()
                    .all(|(other, _)| other != name),
                "{name}"
            );
        }
    }
}
