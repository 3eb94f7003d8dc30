//! Checks that look at one file, or count files.

use std::collections::BTreeMap;

use super::{Finding, TextFile, Tree};

const MAX_LINES: usize = 800;
const MAX_README_LINES: usize = 150;

pub(super) fn head_comments(tree: &Tree) -> Vec<Finding> {
    let bare = tree
        .rust_files()
        .filter(|file| !file.text.starts_with("//!"));
    bare.map(|file| Finding::new(file, 1, "the file does not start with a `//!` head comment"))
        .collect()
}

pub(super) fn file_sizes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let most = match file.path.as_str() {
            "README.md" => MAX_README_LINES,
            _ if file.is_rust() => MAX_LINES,
            _ => continue,
        };
        let lines = file.text.lines().count();
        if lines > most {
            let message = format!("{lines} lines, at most {most}");
            findings.push(Finding::new(file, most + 1, message));
        }
    }
    findings
}

/// Finds tests that do not run. Clippy finds other leftovers.
pub(super) fn ignored_tests(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        for (line, text) in file.numbered_lines() {
            if text.trim_start().starts_with("#[ignore") {
                findings.push(Finding::new(file, line, "a test that is not run"));
            }
        }
    }
    findings
}

/// Finds crates with more than one test binary: each of them links everything again.
pub(super) fn one_test_binary(tree: &Tree) -> Vec<Finding> {
    let mut binaries: BTreeMap<&str, Vec<&TextFile>> = BTreeMap::new();
    for file in &tree.files {
        let Some((name, inner)) = file.in_crate() else {
            continue;
        };
        let Some(test) = inner.strip_prefix("tests/").filter(|_| file.is_rust()) else {
            continue;
        };
        if !test.contains('/') || (test.ends_with("/main.rs") && test.matches('/').count() == 1) {
            binaries.entry(name).or_default().push(file);
        }
    }
    let extra = binaries.values().flat_map(|files| files.iter().skip(1));
    extra
        .map(|file| Finding::new(file, 1, "a second integration-test binary in one crate"))
        .collect()
}

/// Finds paths of a developer's machine.
pub(super) fn home_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let is_source = [".rs", ".toml", ".md"]
            .iter()
            .any(|end| file.path.ends_with(end));
        let is_test_data = file.is_test() || file.path.split('/').any(|part| part == "test_data");
        if !is_source || is_test_data {
            continue;
        }
        for (line, text) in file.numbered_lines() {
            if has_home_path(text) {
                let message = "a path of one machine's home folder";
                findings.push(Finding::new(file, line, message));
            }
        }
    }
    findings
}

fn has_home_path(line: &str) -> bool {
    // Assembled here, so that this file does not match itself.
    let root = ["", "root", ""].join("/");
    let homes = [["", "home", ""].join("/"), ["", "Users", ""].join("/")];
    let names_somebody = |rest: &str| {
        let name = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
        name.is_some_and(|end| end > 0 && rest[end..].starts_with('/'))
    };
    line.contains(&root)
        || homes.iter().any(|home| {
            let somebody = line.split_once(home.as_str());
            somebody.is_some_and(|(_, rest)| names_somebody(rest))
        })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const NONE: &[String] = &[];

    #[test]
    fn every_rust_file_says_what_it_is() {
        let files = [
            ("crates/a/src/b.rs", "use x;\n"),
            ("xtask/src/c.rs", "//! C.\n"),
        ];
        assert_eq!(
            found(head_comments, &files),
            ["crates/a/src/b.rs:1: the file does not start with a `//!` head comment"]
        );
    }

    #[test]
    fn files_stay_short() {
        let (fits, long) = ("//\n".repeat(800), "//\n".repeat(801));
        assert_eq!(found(file_sizes, &[("crates/a/src/a.rs", &fits)]), NONE);
        assert_eq!(
            found(file_sizes, &[("crates/a/src/a.rs", &long)]),
            ["crates/a/src/a.rs:801: 801 lines, at most 800"]
        );
        assert_eq!(
            found(file_sizes, &[("README.md", &fits)]),
            ["README.md:151: 800 lines, at most 150"]
        );
        assert_eq!(found(file_sizes, &[("README.md", "# Short\n")]), NONE);
    }

    #[test]
    fn a_test_that_is_not_run_is_found() {
        let text = "//! No #[ignore] here.\n    #[ignore = \"slow\"]\n    fn f() {}\n";
        assert_eq!(
            found(ignored_tests, &[("fuzz/a.rs", text)]),
            ["fuzz/a.rs:2: a test that is not run"]
        );
    }

    #[test]
    fn one_integration_binary_per_crate() {
        let one = [
            ("crates/a/tests/it/main.rs", ""),
            ("crates/a/tests/it/b.rs", ""),
            ("crates/b/tests/it.rs", ""),
        ];
        assert_eq!(found(one_test_binary, &one), NONE);
        let two = [
            ("crates/a/tests/it/main.rs", ""),
            ("crates/a/tests/other.rs", ""),
        ];
        assert_eq!(
            found(one_test_binary, &two),
            ["crates/a/tests/other.rs:1: a second integration-test binary in one crate"]
        );
    }

    #[test]
    fn home_folders_are_found() {
        let ours = ["", "home", "ada", "notes"].join("/");
        assert_eq!(
            found(home_paths, &[("docs/a.md", &format!("x\nsee {ours}\n"))]),
            ["docs/a.md:2: a path of one machine's home folder"]
        );
        assert_eq!(
            found(home_paths, &[("crates/a/tests/it/b.rs", &ours)]),
            NONE
        );
        assert_eq!(
            found(
                home_paths,
                &[("a.md", "the /home page, /Users only, /home/ too")]
            ),
            NONE
        );
    }
}
