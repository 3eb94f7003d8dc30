//! The official conformance suite, in every protocol version that is served.
//!
//! Most of its scenarios call tools, prompts and resources that a test server is expected to provide. We provide none of
//! them, so only scenarios that make sense for a real server run here. The table names every scenario, so that a new
//! version of the suite cannot add one unnoticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::subject::{Subject, SubjectKind};
use super::{Bench, CheckRow, Job, in_parallel};
use crate::process::bounded;

/// The subjects, with the file of their expected failures and its text, which gives a reason for each.
const EXPECTED: [(SubjectKind, &str, &str); 2] = [
    (
        SubjectKind::Vault,
        "expected-failures-vault.yml",
        include_str!("../../outside/expected-failures-vault.yml"),
    ),
    (
        SubjectKind::EditorFolder,
        "expected-failures-editor.yml",
        include_str!("../../outside/expected-failures-editor.yml"),
    ),
];
const LIMIT: Duration = Duration::from_secs(60);
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// Scenarios that run in each version that they apply to and we serve.
const WANTED: &str = "\
    server-initialize server-session-lifecycle server-stateless logging-set-level ping \
    completion-complete tools-list server-sse-multiple-streams resources-list \
    sep-2164-resource-not-found prompts-list dns-rebinding-protection caching \
    http-header-validation input-required-result-unsupported-methods";

/// Scenarios that call a tool, prompt or resource made for the suite.
const FIXTURES: &str = "\
    tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource \
    tools-call-mixed-content tools-call-with-logging tools-call-error \
    tools-call-with-progress tools-call-sampling tools-call-elicitation json-schema-2020-12 \
    elicitation-sep1034-defaults server-sse-polling elicitation-sep1330-enums \
    resources-read-text resources-read-binary resources-templates-read resources-subscribe \
    resources-unsubscribe prompts-get-simple prompts-get-with-args \
    prompts-get-embedded-resource prompts-get-with-image \
    http-custom-header-server-validation input-required-result-basic-elicitation \
    input-required-result-basic-sampling input-required-result-basic-list-roots \
    input-required-result-request-state input-required-result-multiple-input-requests \
    input-required-result-multi-round input-required-result-missing-input-response \
    input-required-result-non-tool-request input-required-result-result-type \
    input-required-result-tampered-state input-required-result-capability-check \
    input-required-result-ignore-extra-params input-required-result-validate-input";

/// Scenarios about skills, which only the desk has, with the checks that must pass in the stateless version and in those
/// before it. A check that is skipped is missing here, so that none can be skipped unnoticed.
const SKILLS: [(&str, usize, usize); 3] = [
    ("sep-2640-skills-directory", 7, 7),
    // Two checks are about caching, which the earlier versions do not have.
    ("sep-2640-skills-enumeration", 32, 30),
    ("sep-2640-skills-manifest", 6, 6),
];

/// Scenarios about extensions that we do not declare.
const EXTENSIONS: &str = "\
    tasks-lifecycle tasks-capability-negotiation tasks-wire-fields \
    tasks-request-state-removal tasks-mrtr-input tasks-request-headers \
    tasks-dispatch-and-envelope tasks-status-notifications tasks-required-task-error \
    tasks-mrtr-composition";

fn is_wanted(scenario: &str) -> bool {
    WANTED.split(' ').any(|wanted| wanted == scenario)
}

/// Returns every scenario that has been reviewed.
fn known() -> impl Iterator<Item = &'static str> {
    [WANTED, FIXTURES, EXTENSIONS]
        .into_iter()
        .flat_map(|names| names.split(' '))
        .chain(SKILLS.map(|(name, ..)| name))
}

/// A scenario's name, and the versions it applies to.
type ScenarioEntry = (String, Vec<String>);

/// A run of the suite in one protocol version against one subject.
struct Run<'a> {
    bench: &'a Bench,
    subject: &'a Subject,
    version: &'static str,
    /// The file with the expected failures, if there is one.
    expected: Option<PathBuf>,
    results: PathBuf,
}

pub(super) fn run(bench: &Bench, subjects: &[Subject]) -> Result<Vec<CheckRow>> {
    let results = bench.folder.join("conformance");
    if results.is_dir() {
        fs::remove_dir_all(&results)?;
    }
    let listed = listed(bench)?;
    let mut table = CheckRow::new("conformance, table of scenarios");
    table.record(check_table(&listed));
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for subject in subjects {
        let expected = EXPECTED.iter().find(|(kind, ..)| *kind == subject.kind);
        let has_skills = subject.kind == SubjectKind::Desk;
        if expected.is_none() && !has_skills {
            continue;
        }
        for version in VERSIONS {
            let run = Run {
                bench,
                subject,
                version,
                expected: expected.map(|(_, expected, _)| bench.scripts.join(expected)),
                results: results.join(subject.name).join(version),
            };
            let listed = &listed;
            jobs.push(match has_skills {
                true => Box::new(move || vec![run.skills()]),
                false => Box::new(move || vec![run.all(listed)]),
            });
        }
    }
    let mut rows = vec![table];
    rows.extend(in_parallel(jobs));
    Ok(rows)
}

/// Returns the scenarios of the suite, with their versions.
fn listed(bench: &Bench) -> Result<Vec<ScenarioEntry>> {
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

fn parse_list(text: &str) -> Vec<ScenarioEntry> {
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

fn check_table(listed: &[ScenarioEntry]) -> Result<()> {
    let gone: Vec<&str> = known()
        .filter(|name| !listed.iter().any(|(known, _)| known == name))
        .collect();
    let is_new = |name: &&str| !known().any(|known| known == *name);
    let new: Vec<&str> = listed
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(is_new)
        .collect();
    let unused: Vec<&str> = expected_scenarios()
        .filter(|name| !is_wanted(name))
        .collect();
    if gone.is_empty() && new.is_empty() && unused.is_empty() {
        return Ok(());
    }
    bail!("missing scenarios: {gone:?}, new: {new:?}, expected to fail but never run: {unused:?}")
}

/// Returns the names in the files of expected failures.
fn expected_scenarios() -> impl Iterator<Item = &'static str> {
    let entries = EXPECTED
        .iter()
        .flat_map(|(_, _, text)| text.lines())
        .filter_map(|line| line.trim().strip_prefix("- "));
    entries.map(|entry| {
        entry
            .split_once(':')
            .map_or(entry, |(scenario, _)| scenario)
    })
}

impl Run<'_> {
    fn all(&self, listed: &[ScenarioEntry]) -> CheckRow {
        let mut row = CheckRow::new(format!(
            "conformance, {}, {}",
            self.subject.name, self.version
        ));
        for (scenario, versions) in listed {
            let runs = is_wanted(scenario) && versions.iter().any(|known| known == self.version);
            if runs && let Err(error) = self.one(scenario, &[], &mut row) {
                row.record(Err(error.context(scenario.clone())));
            }
        }
        row
    }

    /// Runs the scenarios about skills. They belong to no version, so they have to be forced into each.
    fn skills(&self) -> CheckRow {
        let name = format!(
            "conformance, {} skills, {}",
            self.subject.name, self.version
        );
        let mut row = CheckRow::new(name);
        let is_stateless = Some(&self.version) == VERSIONS.last();
        for (scenario, stateless, earlier) in SKILLS {
            let wanted = if is_stateless { stateless } else { earlier };
            let before = row.passed;
            let outcome = self.one(scenario, &["--force"], &mut row);
            let passed = row.passed - before;
            let outcome = outcome.and_then(|()| match passed == wanted {
                true => Ok(()),
                false => bail!("{passed} checks passed, not {wanted}"),
            });
            if let Err(error) = outcome {
                row.record(Err(error.context(scenario)));
            }
        }
        row
    }

    fn one(&self, scenario: &str, more: &[&str], row: &mut CheckRow) -> Result<()> {
        let results = self.results.join(scenario);
        let mut command = self
            .bench
            .node("@modelcontextprotocol/conformance", "dist/index.js");
        command
            .args(["server", "--url", &self.subject.url])
            .args(["--scenario", scenario, "--spec-version", self.version])
            .args(more)
            .arg("--output-dir")
            .arg(&results);
        if let Some(expected) = &self.expected {
            command.arg("--expected-failures").arg(expected);
        }
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
        // The suite itself reports unexpected failures, and expected ones that no longer occur.
        row.expected += count(&["FAILURE", "WARNING"]);
        Ok(())
    }
}

/// Returns the status of each check that a run recorded.
fn statuses(results: &Path) -> Result<Vec<String>> {
    let mut statuses = Vec::new();
    for run in fs::read_dir(results).context("the suite wrote no results")? {
        let checks: Value = serde_json::from_slice(&fs::read(run?.path().join("checks.json"))?)?;
        let checks = checks.as_array().context("the results are not a list")?;
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
            assert!(is_wanted(scenario), "{scenario}");
        }
    }

    #[test]
    fn the_requirements_of_every_served_version_run() {
        let served = include_str!("../../../crates/mcp/src/transport/server.rs");
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
        for name in known() {
            assert_eq!(known().filter(|other| *other == name).count(), 1, "{name}");
        }
    }
}
