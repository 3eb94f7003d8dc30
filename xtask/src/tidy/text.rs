//! Checks that look at one file, or count files.

use std::collections::BTreeMap;

use super::source::{code_only, line_of, without_tests};
use super::{Finding, TextFile, Tree};

const MAX_LINES: usize = 800;
/// Files that may be longer, by path: tables whose rows belong together.
const LONG_FILES: &[&str] = &[];

const MAX_README_LINES: usize = 150;

/// Invented home folders, as pairs of file and fragment.
const FICTIONAL_HOMES: &[(&str, &str)] = &[];

pub(super) fn head_comments(tree: &Tree) -> Vec<Finding> {
    let bare = tree
        .rust_files()
        .filter(|file| !file.text.starts_with("//!"));
    bare.map(|file| Finding::new(file, 1, "the file does not start with a `//!` head comment"))
        .collect()
}

pub(super) fn file_sizes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .rust_files()
        .filter(|file| !LONG_FILES.contains(&file.path.as_str()))
    {
        let lines = file.text.lines().count();
        if lines > MAX_LINES {
            findings.push(Finding::new(
                file,
                MAX_LINES + 1,
                format!("{lines} lines, at most {MAX_LINES}"),
            ));
        }
    }
    findings
}

pub(super) fn readme_size(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path == "README.md") {
        let lines = file.text.lines().count();
        if lines > MAX_README_LINES {
            let message = format!("{lines} lines, at most {MAX_README_LINES}");
            findings.push(Finding::new(file, MAX_README_LINES + 1, message));
        }
    }
    findings
}

/// Tests that do not run, and code that is not finished.
pub(super) fn leftovers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let code = code_only(&file.text);
        for leftover in ["#[ignore", "todo!(", "unimplemented!(", "dbg!("] {
            for (at, _) in code.match_indices(leftover) {
                let is_longer_word = leftover.starts_with(char::is_alphabetic)
                    && code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if !is_longer_word {
                    findings.push(Finding::new(
                        file,
                        line_of(&code, at),
                        format!("`{leftover}` is left over"),
                    ));
                }
            }
        }
    }
    findings
}

/// Results thrown away without a word: no compiler lint sees `.ok();`.
pub(super) fn silent_discards(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.product_files() {
        let code = without_tests(&code_only(&file.text));
        for (at, _) in code.match_indices(".ok();") {
            if is_bare_statement(&code[..at]) {
                findings.push(Finding::new(
                    file,
                    line_of(&code, at),
                    "`.ok();` hides an error",
                ));
            }
        }
        for discard in ["let _ =", "let _:"] {
            for (at, _) in code.match_indices(discard) {
                findings.push(Finding::new(
                    file,
                    line_of(&code, at),
                    format!("`{discard}` hides a result"),
                ));
            }
        }
    }
    findings
}

/// Whether the statement that `before` ends in binds, returns or passes on nothing.
fn is_bare_statement(before: &str) -> bool {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut after = '.';
    for (at, c) in before.char_indices().rev() {
        match c {
            // A block ends the statement before, unless its value is used.
            '}' if depth == 0 && !matches!(after, '.' | '?' | ')' | ',') => {
                start = at + 1;
                break;
            }
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' if depth == 0 => {
                start = at + 1;
                break;
            }
            '(' | '[' | '{' => depth -= 1,
            ';' if depth == 0 => {
                start = at + 1;
                break;
            }
            _ => {}
        }
        if !c.is_whitespace() {
            after = c;
        }
    }
    let statement = before[start..].trim_start();
    let is_used = ["let ", "return ", "break ", "const ", "static "]
        .iter()
        .any(|word| statement.starts_with(word));
    !is_used && !has_assignment(statement)
}

fn has_assignment(statement: &str) -> bool {
    let mut depth = 0_usize;
    let chars: Vec<char> = statement.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => {
                let before = at.checked_sub(1).map(|before| chars[before]);
                let is_comparison = chars
                    .get(at + 1)
                    .is_some_and(|next| matches!(next, '=' | '>'))
                    || matches!(before, Some('=' | '!' | '<' | '>'));
                if !is_comparison {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Each test binary links everything once more: one per crate is enough.
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

/// Paths of somebody's machine.
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
            let is_fictional = |found: &str| {
                let known = |(path, fragment): &(&str, &str)| {
                    *path == file.path && found.starts_with(fragment)
                };
                FICTIONAL_HOMES.iter().any(known)
            };
            if home_path(text).is_some_and(|found| !is_fictional(found)) {
                findings.push(Finding::new(
                    file,
                    line,
                    "a path of one machine's home folder",
                ));
            }
        }
    }
    findings
}

/// The rest of `line` from the first home folder on.
fn home_path(line: &str) -> Option<&str> {
    // Put together here, so that this file does not find itself.
    let (root, homes) = (
        ["", "root", ""].join("/"),
        [["", "home", ""].join("/"), ["", "Users", ""].join("/")],
    );
    if let Some(at) = line.find(&root) {
        return Some(&line[at..]);
    }
    homes.iter().find_map(|home| {
        let at = line.find(home)?;
        let rest = &line[at + home.len()..];
        let name = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)))?;
        (name > 0 && rest[name..].starts_with('/')).then(|| &line[at..])
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
            ("examples/d.rs", ""),
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
            found(readme_size, &[("README.md", &fits)]),
            ["README.md:151: 800 lines, at most 150"]
        );
        assert_eq!(found(readme_size, &[("README.md", "# Short\n")]), NONE);
    }

    #[test]
    fn leftovers_are_found_in_code_only() {
        let text =
            "//! No todo!( here.\n#[ignore = \"slow\"]\nfn f() { todo!(\"dbg!(\") }\nfn my_dbg!(\n";
        assert_eq!(
            found(leftovers, &[("fuzz/a.rs", text)]),
            [
                "fuzz/a.rs:2: `#[ignore` is left over",
                "fuzz/a.rs:3: `todo!(` is left over"
            ]
        );
    }

    fn check_discard(statements: &str, is_found: bool) {
        let text = format!("fn f() {{\n    {statements}\n}}\n");
        let findings = found(silent_discards, &[("crates/a/src/a.rs", &text)]);
        assert_eq!(!findings.is_empty(), is_found, "{statements}: {findings:?}");
    }

    #[test]
    fn a_dropped_result_is_found() {
        check_discard("send(x).ok();", true);
        check_discard("if a == b { c } send(x)\n        .ok();", true);
        check_discard("x.map(|y| { y = 2; }).ok();", true);
        check_discard("let _ = send(x);", true);
        check_discard("let _: Result<(), E> = send(x);", true);
    }

    #[test]
    fn a_used_result_is_fine() {
        check_discard("let x = parse(y).ok();", false);
        check_discard("let x = a.map(|b| { c(b) }).ok();", false);
        check_discard("x = parse(y).ok();", false);
        check_discard("return parse(y).ok();", false);
        check_discard("let _guard = lock();", false);
        check_discard("let (_, x) = pair; // send().ok();", false);
    }

    #[test]
    fn tests_may_discard() {
        let text =
            "//! A.\n#[cfg(test)]\nmod tests {\n    fn f() {\n        let _ = g();\n    }\n}\n";
        assert_eq!(found(silent_discards, &[("crates/a/src/a.rs", text)]), NONE);
        assert_eq!(
            found(
                silent_discards,
                &[("crates/a/tests/it/main.rs", "let _ = g();")]
            ),
            NONE
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
