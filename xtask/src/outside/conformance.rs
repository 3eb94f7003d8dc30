//! The official conformance suite, in every protocol version that is served.
//!
//! Most of its scenarios call tools, prompts and resources that a test server is expected to provide. The program
//! `sectile-conformance-server` provides them on the frame that serves the worlds, and all scenarios run against it. Those
//! that make sense for a real server also run against real worlds. The table names every scenario, so that a new version
//! of the suite cannot add one unnoticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::server::HttpServer;
use super::subject::{Subject, SubjectKind};
use super::{Bench, CheckRow, Job, ScenarioCount, in_parallel};
use crate::process::bounded;

/// The failures that are expected of a server.
struct ExpectedFailures {
    /// The world; none for the one that is made for the suite.
    subject: Option<SubjectKind>,
    file: &'static str,
    /// The text of the file, which gives a reason for each.
    text: &'static str,
}

const FRAME: ExpectedFailures = ExpectedFailures {
    subject: None,
    file: "expected-failures-frame.yml",
    text: include_str!("../../outside/expected-failures-frame.yml"),
};
const EXPECTED: [ExpectedFailures; 3] = [
    FRAME,
    ExpectedFailures {
        subject: Some(SubjectKind::Vault),
        file: "expected-failures-vault.yml",
        text: include_str!("../../outside/expected-failures-vault.yml"),
    },
    ExpectedFailures {
        subject: Some(SubjectKind::EditorFolder),
        file: "expected-failures-editor.yml",
        text: include_str!("../../outside/expected-failures-editor.yml"),
    },
];
const LIMIT: Duration = Duration::from_secs(60);
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// Scenarios that run in each version that they apply to and we serve.
const WANTED: &str = "\
    server-initialize server-session-lifecycle server-stateless logging-set-level ping \
    completion-complete tools-list server-sse-multiple-streams resources-list \
    sep-2164-resource-not-found prompts-list dns-rebinding-protection caching \
    http-header-validation input-required-result-unsupported-methods";

/// Scenarios that call a tool, prompt or resource made for the suite. They run against the world that has them.
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

impl ExpectedFailures {
    /// Returns whether a scenario runs against this server, in the versions that it applies to.
    fn covers(&self, scenario: &str) -> bool {
        let has = |names: &str| names.split(' ').any(|name| name == scenario);
        has(WANTED) || (self.subject.is_none() && has(FIXTURES))
    }

    /// Returns the names in the file.
    fn scenarios(&self) -> impl Iterator<Item = &'static str> {
        let lines = self.text.lines();
        let entries = lines.filter_map(|line| line.trim().strip_prefix("- "));
        entries.map(|entry| {
            entry
                .split_once(':')
                .map_or(entry, |(scenario, _)| scenario)
        })
    }
}

/// Returns the scenarios that are expected to fail although they do not run.
fn unused() -> Vec<&'static str> {
    let unused = |expected: &'static ExpectedFailures| {
        let names = expected.scenarios();
        names.filter(|name| !expected.covers(name))
    };
    EXPECTED.iter().flat_map(unused).collect()
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

/// A run of the suite in one protocol version against one server.
struct Run<'a> {
    bench: &'a Bench,
    /// Name of the server in reports and log files.
    name: &'a str,
    url: &'a str,
    version: &'static str,
    expected: Option<&'static ExpectedFailures>,
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
    let mut frame = HttpServer::start_frame(bench)?;
    let run = |name, url, version, expected| Run {
        bench,
        name,
        url,
        version,
        expected,
        results: results.join(name).join(version),
    };
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for expected in &EXPECTED {
        let (name, url) = match expected.subject {
            Some(kind) => {
                let subject = subjects.iter().find(|subject| subject.kind == kind);
                let subject = subject.context("a world with expected failures is not served")?;
                (subject.name, &subject.url)
            }
            None => ("frame", &frame.url),
        };
        for version in VERSIONS {
            let (run, listed) = (run(name, url, version, Some(expected)), &listed);
            jobs.push(Box::new(move || vec![run.all(expected, listed)]));
        }
    }
    let desks = subjects.iter().filter(|one| one.kind == SubjectKind::Desk);
    for desk in desks {
        for version in VERSIONS {
            let run = run(desk.name, &desk.url, version, None);
            jobs.push(Box::new(move || vec![run.skills()]));
        }
    }
    let mut rows = vec![table];
    rows.extend(in_parallel(jobs));
    let mut alive = CheckRow::new("http server, frame");
    alive.record(frame.check_alive());
    rows.push(alive);
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
    let unused = unused();
    if gone.is_empty() && new.is_empty() && unused.is_empty() {
        return Ok(());
    }
    bail!("missing scenarios: {gone:?}, new: {new:?}, expected to fail but never run: {unused:?}")
}

impl Run<'_> {
    fn all(&self, expected: &ExpectedFailures, listed: &[ScenarioEntry]) -> CheckRow {
        let mut row = CheckRow::new(format!("conformance, {}, {}", self.name, self.version));
        let mut count = ScenarioCount::default();
        for (scenario, versions) in listed {
            if !expected.covers(scenario) || !versions.iter().any(|known| known == self.version) {
                continue;
            }
            let before = row.expected + row.failures.len();
            if let Err(error) = self.one(scenario, &[], &mut row) {
                row.record(Err(error.context(scenario.clone())));
            }
            count.run += 1;
            count.flawless += usize::from(row.expected + row.failures.len() == before);
        }
        row.scenarios = Some(count);
        row
    }

    /// Runs the scenarios about skills. They belong to no version, so they have to be forced into each.
    fn skills(&self) -> CheckRow {
        let name = format!("conformance, {} skills, {}", self.name, self.version);
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
            .args(["server", "--url", self.url])
            .args(["--scenario", scenario, "--spec-version", self.version])
            .args(more)
            .arg("--output-dir")
            .arg(&results);
        if let Some(expected) = self.expected {
            let file = self.bench.scripts.join(expected.file);
            command.arg("--expected-failures").arg(file);
        }
        let log = format!("conformance-{}-{}-{scenario}", self.name, self.version);
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
        for expected in &EXPECTED {
            assert!(expected.scenarios().count() > 0, "{}", expected.file);
        }
        assert_eq!(unused(), Vec::<&str>::new());
    }

    #[test]
    fn every_scenario_without_an_extension_runs_against_the_frame() {
        let extensions = EXTENSIONS.split(' ').chain(SKILLS.map(|(name, ..)| name));
        let extensions: Vec<&str> = extensions.collect();
        for name in known() {
            assert_eq!(FRAME.covers(name), !extensions.contains(&name), "{name}");
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
