//! Project rules that no other tool checks.
//!
//! A check is a function from the repository's files to findings, so that its tests need no disk. Exemptions are listed in
//! a table next to the check, never in the exempted file.

mod layers;
mod origin;
mod text;
mod types;
mod versions;

use std::fmt;
use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{self, Repo};

const CHECKS: &[fn(&Tree) -> Vec<Finding>] = &[
    text::head_comments,
    text::file_sizes,
    text::ignored_tests,
    text::one_test_binary,
    text::home_paths,
    versions::one_version,
    origin::only_ours,
    origin::rows_of_origin_are_needed,
    layers::crate_edges,
    types::unique_types,
];

pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let tree = Tree::read(repo)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    println!(
        "{} files, {} checks, {} findings",
        tree.files.len(),
        CHECKS.len(),
        findings.len()
    );
    layers::linked_clients(repo)?;
    if findings.is_empty() {
        return Ok(None);
    }
    bail!("{} findings", findings.len())
}

/// A violation of a rule, and its position.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(file: &TextFile, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: file.path.clone(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A text file of the repository; the path is relative, with forward slashes.
#[derive(Debug)]
struct TextFile {
    path: String,
    text: String,
}

impl TextFile {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns whether the whole file is test code.
    fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs")
            || self.path.ends_with("/testing.rs")
            || self
                .path
                .split('/')
                .any(|part| part == "tests" || part == "benches")
    }

    /// Returns the path inside `crates/<name>/`, with that name.
    fn in_crate(&self) -> Option<(&str, &str)> {
        self.path.strip_prefix("crates/")?.split_once('/')
    }

    fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// All files that are or would be committed.
#[derive(Debug, Default)]
struct Tree {
    files: Vec<TextFile>,
    /// Paths of the files that are not text.
    not_text: Vec<String>,
}

impl Tree {
    fn read(repo: &Repo) -> Result<Self> {
        let mut git = Command::new("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(&repo.root);
        let mut files = Vec::new();
        let mut not_text = Vec::new();
        for path in process::stdout_of(&mut git)?.split_terminator('\0') {
            // A link is another name of a file that is read as itself.
            if repo.root.join(path).is_symlink() {
                continue;
            }
            // Deleted but not yet committed, or a submodule: nothing to read.
            let Ok(bytes) = fs::read(repo.root.join(path)) else {
                continue;
            };
            let path = path.to_owned();
            match String::from_utf8(bytes) {
                Ok(text) => files.push(TextFile { path, text }),
                Err(_) => not_text.push(path),
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Self { files, not_text })
    }

    fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.is_rust())
    }
}

/// Runs one check over files given as pairs of path and text, and returns its findings as text.
#[cfg(test)]
fn found(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| TextFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    let tree = Tree {
        files: files.iter().map(file).collect(),
        not_text: Vec::new(),
    };
    check(&tree).iter().map(ToString::to_string).collect()
}

/// Runs one check over files that are not text, and returns its findings as text.
#[cfg(test)]
fn found_beside(check: fn(&Tree) -> Vec<Finding>, paths: &[&str]) -> Vec<String> {
    let tree = Tree {
        files: Vec::new(),
        not_text: paths.iter().map(ToString::to_string).collect(),
    };
    check(&tree).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_can_be_clicked() {
        let finding = Finding {
            path: "a/b.rs".to_owned(),
            line: 3,
            message: "no".to_owned(),
        };
        assert_eq!(finding.to_string(), "a/b.rs:3: no");
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        let is_test = |path: &str| {
            TextFile {
                path: path.to_owned(),
                text: String::new(),
            }
            .is_test()
        };
        assert!(is_test("crates/a/src/b/tests.rs"));
        assert!(is_test("crates/a/tests/it/main.rs"));
        assert!(!is_test("crates/a/src/tests_of_time.rs"));
    }
}
