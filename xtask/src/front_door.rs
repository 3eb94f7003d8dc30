//! Checks what newcomers read first: the links of the README and the manual, and the commands in them.
//!
//! The tutorial is run as it is printed, in an empty folder, and its output is compared. Commands that need notes of the
//! reader's own are only parsed by the program. Commands of package managers are not run here, and the remark says so:
//! `cargo xtask dist --check` runs them, with the packages of a release.

mod fences;
mod page_links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, iter};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{self, Repo};
use fences::{Example, commands, examples, inline_code, matches_output};

/// Pages whose commands are run as they are, in order, and whether that is from the root of the repository. Others are
/// run in an empty folder.
const RUN: [(&str, bool); 2] = [
    ("docs/tutorial.md", false),
    ("docs/from-a-docs-site.md", true),
];

/// Pages whose commands are about notes or keys of the reader's own. The program only parses them.
const PARSED: [&str; 5] = [
    "README.md",
    "docs/index.md",
    "docs/install.md",
    "docs/from-obsidian.md",
    "docs/for-a-team.md",
];

/// Programs whose commands are neither run nor parsed: they fetch packages, or build for minutes.
const NOT_RUN: [&str; 9] = [
    "npx", "npm", "uvx", "uv", "brew", "cargo", "dpkg", "winget", "gh",
];

/// Names by which the program finds the folder of the notes, upward from the current one.
const DESK_MARKS: [&str; 3] = [".sectile", ".obsidian", ".git"];

/// Time limit for the commands of a page. The manual is evaluated with a debug build.
const LIMIT: Duration = Duration::from_secs(300);

/// Checks the pages with the built program. Returns the numbers of what was checked.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let links = page_links::check(&repo.root)?;
    let folder = env::temp_dir().join(format!("sectile-front-door-{}", std::process::id()));
    let checked = check_commands(repo, &folder);
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(Some(format!("{links} links; {}", checked?)))
}

/// Runs or parses the commands of all pages, in `folder`. Returns their numbers.
fn check_commands(repo: &Repo, folder: &Path) -> Result<String> {
    outside_of_desks(folder)?;
    let mut ran = 0;
    for (page, at_root) in RUN {
        ran += run_page(repo, folder, page, at_root)?;
    }
    let mut parsed = 0;
    let mut not_run = Vec::new();
    for page in PARSED {
        let text = read(&repo.root, page)?;
        let inline = inline_code(&text).map(ToOwned::to_owned);
        for command in commands(&text).into_iter().chain(inline) {
            match command.split(' ').next().unwrap_or_default() {
                "sectile" => {
                    parse(repo, folder, page, &command)?;
                    parsed += 1;
                }
                program if NOT_RUN.contains(&program) => not_run.push(command),
                _ => {}
            }
        }
    }
    not_run.sort();
    not_run.dedup();
    Ok(format!(
        "{ran} examples run; {parsed} commands parsed; not run: {}",
        not_run.join(", ")
    ))
}

/// Fails if a command without `--root` would find a folder above `folder` and work there: the examples edit, rename and
/// undo. The build folder is inside a repository, so it cannot be used.
fn outside_of_desks(folder: &Path) -> Result<()> {
    let found = folder
        .ancestors()
        .find(|above| DESK_MARKS.iter().any(|mark| above.join(mark).exists()));
    match found {
        Some(desk) => bail!(
            "the commands would work on {}; set TMPDIR to a folder outside of it",
            desk.display()
        ),
        None => Ok(()),
    }
}

fn read(root: &Path, page: &str) -> Result<String> {
    fs::read_to_string(root.join(page)).with_context(|| format!("cannot read {page}"))
}

/// Returns a shell with the program on its path, an empty home, and `folder` for what it leaves behind.
fn shell(repo: &Repo, folder: &Path) -> Result<Command> {
    let program = repo.binary();
    let programs = program.parent().map(Path::to_owned).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(iter::once(programs).chain(env::split_paths(&path)))?;
    let mut shell = process::isolated(Path::new("sh"), folder);
    shell
        .env("PATH", path)
        .env("XDG_CACHE_HOME", folder.join("home/.cache"))
        .env("NO_COLOR", "1");
    Ok(shell)
}

/// Empties `folder`, and makes a home in it.
fn start_empty(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder.join("home"))?;
    Ok(())
}

/// Runs the examples of a page in one shell, so that `cd` lasts, and compares what they print. Returns their number.
fn run_page(repo: &Repo, folder: &Path, page: &str, at_root: bool) -> Result<usize> {
    let examples = examples(&read(&repo.root, page)?);
    ensure!(!examples.is_empty(), "{page} has no commands");
    start_empty(folder)?;
    let out = folder.join("out");
    let work = folder.join("work");
    fs::create_dir_all(&out)?;
    fs::create_dir_all(&work)?;
    let file = |index: usize, extension: &str| out.join(format!("{index}.{extension}"));
    let mut script = String::new();
    for (index, example) in examples.iter().enumerate() {
        let (text, code) = (file(index, "text"), file(index, "code"));
        script += &format!(
            "{{\n{}}} > {} 2>&1\necho $? > {}\n",
            example.commands,
            quoted(&text),
            quoted(&code)
        );
    }
    let mut shell = shell(repo, folder)?;
    shell.arg("-c").arg(script);
    shell.current_dir(if at_root { &repo.root } else { &work });
    process::bounded(&mut shell, &folder.join("shell"), LIMIT)?;
    for (index, example) in examples.iter().enumerate() {
        let text = fs::read_to_string(file(index, "text")).unwrap_or_default();
        let code = fs::read_to_string(file(index, "code")).unwrap_or_default();
        compare(example, &text, code.trim()).with_context(|| format!("{page}:{}", example.line))?;
    }
    Ok(examples.len())
}

/// Quotes a path for the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Compares the output and the exit code of an example with what its page says. An example fails if, and only if, its
/// page shows an error.
fn compare(example: &Example, text: &str, code: &str) -> Result<()> {
    let shows_error = |output: &String| output.lines().any(|line| line.starts_with("error:"));
    let may_fail = example.output.as_ref().is_some_and(shows_error);
    if (code == "0") == may_fail {
        bail!("the exit code is `{code}`, after this output:\n{text}");
    }
    match &example.output {
        Some(output) if !matches_output(output, text) => {
            bail!("the page says:\n{output}\nthe program says:\n{text}")
        }
        _ => Ok(()),
    }
}

/// Lets the program parse a command. With `--help` it does so, and then does nothing.
fn parse(repo: &Repo, folder: &Path, page: &str, command: &str) -> Result<()> {
    let empty: PathBuf = folder.join("parse");
    start_empty(&empty)?;
    let mut shell = shell(repo, &empty)?;
    shell.arg("-c").arg(format!("{command} --help"));
    let output = shell.output().context("cannot start `sh`")?;
    ensure!(
        output.status.success(),
        "{page}: the program does not understand `{command}`:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(output: Option<&str>) -> Example {
        Example {
            line: 1,
            commands: "sectile undo\n".to_owned(),
            output: output.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn an_example_fails_exactly_if_its_page_shows_an_error() {
        let silent = example(None);
        assert!(compare(&silent, "anything", "0").is_ok());
        assert!(compare(&silent, "anything", "1").is_err());
        let refused = example(Some("error: ...\n"));
        assert!(compare(&refused, "error: no\n", "1").is_ok());
        assert!(compare(&refused, "error: no\n", "0").is_err());
        assert!(compare(&example(Some("a\n")), "b\n", "0").is_err());
    }

    #[test]
    fn examples_never_run_inside_a_repository() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(outside_of_desks(&here.join("target/anything")).is_err());
    }

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("a b'c")), r"'a b'\''c'");
    }
}
