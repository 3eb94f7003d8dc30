//! Checks what newcomers read first: the links of the README and the manual, and the commands in them.
//!
//! The commands in fences are run as they are printed, in an empty folder with the files that a page speaks of, and their output
//! is compared. Calls that the README shows are made with the real server. Commands in the text are only parsed by the program.
//! Those of package managers are not run here, and the remark says so: `cargo xtask dist --check` runs them, with the packages
//! of a release.

mod fences;
mod page_links;
mod transcript;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, iter};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{self, Repo};
use fences::{Example, examples, inline_code, matches_output, settings};

/// A page whose commands are run, in order and in one shell.
struct RunPage {
    path: &'static str,
    /// Whether they are run from the root of the repository, and not in an empty folder.
    at_root: bool,
    /// The files that are there before: below `home`, or below `work`, where the commands are run.
    files: &'static [(&'static str, &'static str)],
    /// The file for the settings that the page shows first.
    settings: Option<&'static str>,
}

/// A page whose commands need nothing but the program.
const fn page(path: &'static str) -> RunPage {
    RunPage {
        path,
        at_root: false,
        files: &[],
        settings: None,
    }
}

/// The note that the README speaks of. The hashes there are those of its section `Budget`.
const PLAN: &str =
    "# Plan\n\n## Budget\n\nThe pilot costs 350 a day.\n\n## Next\n\n- [ ] Ask the harbour\n";
const PLAN_PATH: &str = "projects/plan.md";

const PAGES: [RunPage; 7] = [
    RunPage {
        files: &[
            ("home/notes/projects/plan.md", PLAN),
            ("work/projects/plan.md", PLAN),
            (
                "work/answer.md",
                "Your plan says \"The pilot costs 400 a day\".\n",
            ),
        ],
        ..page("README.md")
    },
    page("docs/index.md"),
    RunPage {
        files: &[("home/notes/projects/plan.md", PLAN)],
        ..page("docs/install.md")
    },
    page("docs/tutorial.md"),
    RunPage {
        files: &[(
            "home/vault/trip.md",
            "---\ntags: [travel]\n---\n# Trip\n\nWe leave on Friday.\n",
        )],
        ..page("docs/from-obsidian.md")
    },
    RunPage {
        at_root: true,
        ..page("docs/from-a-docs-site.md")
    },
    RunPage {
        settings: Some("work/sectile.toml"),
        ..page("docs/for-a-team.md")
    },
];

/// Programs whose commands are not run: they fetch packages, need files of a release, or build for minutes.
const NOT_RUN: [&str; 11] = [
    "npx",
    "npm",
    "uvx",
    "uv",
    "brew",
    "cargo",
    "winget",
    "gh",
    "curl",
    "tar",
    "sha256sum",
];
/// Words that a command may start with, besides `sectile`.
const SHELL_WORDS: [&str; 5] = ["sectile", "mkdir", "cd", "printf", "export"];

/// The address that pages serve at. The checks take a free port.
const SHOWN_ADDRESS: &str = "127.0.0.1:7420";
const FREE_ADDRESS: &str = "127.0.0.1:0";

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
    let (mut ran, mut parsed) = (0, 0);
    let mut not_run = Vec::new();
    for page in &PAGES {
        let text = read(&repo.root, page.path)?;
        ran += run_page(repo, folder, page, &text, &mut not_run)?;
        for command in inline_code(&text) {
            match command.split(' ').next().unwrap_or_default() {
                "sectile" => {
                    parse(repo, folder, page.path, command)?;
                    parsed += 1;
                }
                program if NOT_RUN.contains(&program) => not_run.push(command.to_owned()),
                _ => {}
            }
        }
    }
    start_empty(folder)?;
    let calls = transcript::check(repo, folder, &read(&repo.root, "README.md")?)?;
    not_run.sort();
    not_run.dedup();
    Ok(format!(
        "{ran} examples run, {calls} calls made, {parsed} commands parsed; not run: {}",
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

/// Writes the files that a page speaks of.
fn prepare(folder: &Path, page: &RunPage, text: &str) -> Result<()> {
    start_empty(folder)?;
    fs::create_dir_all(folder.join("work"))?;
    let mut files: Vec<(&str, String)> = page
        .files
        .iter()
        .map(|(path, text)| (*path, (*text).to_owned()))
        .collect();
    if let Some(path) = page.settings {
        let settings = settings(text);
        files.push((
            path,
            settings.with_context(|| format!("{} shows no settings", page.path))?,
        ));
    }
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Runs the examples of a page in one shell, so that `cd` lasts, and compares what they print. Returns their number.
fn run_page(
    repo: &Repo,
    folder: &Path,
    page: &RunPage,
    text: &str,
    not_run: &mut Vec<String>,
) -> Result<usize> {
    let path = page.path;
    prepare(folder, page, text)?;
    let out = folder.join("out");
    fs::create_dir_all(&out)?;
    let file = |index: usize, extension: &str| out.join(format!("{index}.{extension}"));
    let mut script = String::new();
    let mut ran = Vec::new();
    for (index, example) in examples(text).into_iter().enumerate() {
        let mut lines = String::new();
        for line in example.commands.lines().filter(|line| !line.is_empty()) {
            let word = line.split(' ').next().unwrap_or_default();
            if NOT_RUN.contains(&word) || word.starts_with("./") {
                let command = line.split(" #").next().unwrap_or(line);
                not_run.push(command.trim().to_owned());
            } else if SHELL_WORDS.contains(&word) {
                writeln!(lines, "{}", runnable(line, &file(index, "log")))?;
            } else {
                bail!("{path}:{}: is `{word}` to be run?", example.line);
            }
        }
        if !lines.is_empty() {
            let (text, code) = (quoted(&file(index, "text")), quoted(&file(index, "code")));
            write!(script, "{{\n{lines}}} > {text} 2>&1\necho $? > {code}\n")?;
            ran.push((index, example));
        }
    }
    ensure!(!ran.is_empty(), "{path} has no commands");
    let mut shell = shell(repo, folder)?;
    shell.arg("-c").arg(script);
    let work = folder.join("work");
    shell.current_dir(if page.at_root { &repo.root } else { &work });
    process::bounded(&mut shell, &folder.join("shell"), LIMIT)?;
    for (index, example) in &ran {
        let text = fs::read_to_string(file(*index, "text")).unwrap_or_default();
        let code = fs::read_to_string(file(*index, "code")).unwrap_or_default();
        compare(example, &text, code.trim()).with_context(|| format!("{path}:{}", example.line))?;
    }
    Ok(ran.len())
}

/// Returns a line for the shell. A server is told to end as soon as it serves, and has to do so in order.
fn runnable(line: &str, log: &Path) -> String {
    if !line.starts_with("sectile serve ") {
        return line.to_owned();
    }
    let line = line.replace(SHOWN_ADDRESS, FREE_ADDRESS);
    let log = quoted(log);
    format!(
        "{line} 2> {log} & server=$!\n\
         until grep -q serving {log} || ! kill -0 $server; do sleep 0.1; done\n\
         kill $server; wait $server"
    )
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

/// Lets the program parse a command in the text of a page, which may lack arguments. With `--help` it does nothing more.
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
