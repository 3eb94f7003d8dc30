//! Pictures for the documentation, made from the real program: a recording of `sectile demo`, and the pages of the console.
//!
//! The text of the recording is the program's own output. Its pace is invented, long lines are broken, some scenes are left
//! out, and ids that are random in every run are replaced, so that the same program makes the same bytes.

mod animation;
mod terminal;

use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};

use crate::console;
use crate::process::{self, Repo};
use terminal::StyledLine;

#[derive(clap::Args, Default)]
pub(crate) struct PictureArgs {
    /// Write nothing; fail if the recording differs from the one in the repository.
    #[arg(long)]
    check: bool,
}

const FOLDER: &str = "docs/pictures";
const DEMO: &str = "docs/pictures/demo.svg";
const TITLE: &str = "A recording of `sectile demo`";
const DESCRIPTION: &str = "An agent searches a folder of notes, reads one section, changes a passage, is told about a \
                           conflict, renames a heading whose link follows, and undoes it.";

/// The scenes that are shown, by the start of their headings. The others show the other worlds.
const SCENES: [&str; 8] = [
    "A folder of notes",
    "An agent searches",
    "It reads that section",
    "It changes one passage",
    "Another agent still has the old text",
    "A heading gets a new name",
    "Undo, all of it",
    "Your turn",
];

/// Stand-ins for the random part of ids, in the order in which the ids appear. As short as those of a settled folder.
const STAND_INS: [&str; 4] = ["1kebc1", "2m4xq7", "0dn3yw", "5rt8ha"];

/// The size in bytes that the recording does not exceed: it is loaded with every view of the README.
const MAX_BYTES: usize = 40_000;

/// Builds the program and makes the pictures. Returns a remark if some could not be made.
pub(crate) fn run(repo: &Repo, args: &PictureArgs) -> Result<Option<String>> {
    repo.run_cargo("build --locked --package sectile")?;
    if args.check {
        return check(repo);
    }
    let picture = demo(repo)?;
    fs::create_dir_all(repo.root.join(FOLDER))?;
    fs::write(repo.root.join(DEMO), &picture).with_context(|| format!("cannot write {DEMO}"))?;
    println!("wrote {DEMO}, {} bytes", picture.len());
    console::screenshots(repo, &repo.root.join(FOLDER))
}

/// Checks that the recording in the repository shows what the built program prints. Pages of the console are not compared:
/// their pixels depend on the fonts of a machine.
pub(crate) fn check(repo: &Repo) -> Result<Option<String>> {
    let committed =
        fs::read_to_string(repo.root.join(DEMO)).with_context(|| format!("cannot read {DEMO}"))?;
    ensure!(
        committed == demo(repo)?,
        "{DEMO} does not show what the program prints; run `cargo xtask pictures`"
    );
    Ok(None)
}

/// Records the demo.
fn demo(repo: &Repo) -> Result<String> {
    let folder = repo.target.join("outside");
    fs::create_dir_all(&folder)?;
    let mut program = process::isolated(&repo.binary(), &folder);
    program.arg("demo").env("CLICOLOR_FORCE", "1");
    program.env_remove("NO_COLOR");
    let output = with_stand_ins(&process::stdout_of(&mut program)?)?;
    check_leaks(&output)?;
    let lines = scenes(&terminal::lines(&output)?)?;
    let picture = animation::svg(TITLE, DESCRIPTION, &lines);
    ensure!(
        picture.len() <= MAX_BYTES,
        "the recording has {} bytes, at most {MAX_BYTES}; leave out a scene",
        picture.len()
    );
    Ok(picture)
}

/// Returns the lines of the scenes to show, after the command line that printed them.
fn scenes(lines: &[StyledLine]) -> Result<Vec<StyledLine>> {
    let mut shown = vec![StyledLine::plain("$ sectile demo")];
    for scene in SCENES {
        let start = lines
            .iter()
            .position(|line| line.is_heading() && line.text().starts_with(scene))
            .with_context(|| format!("the demo has no scene `{scene}`"))?;
        let rest = lines[start + 1..].iter();
        let scene = rest.take_while(|line| !line.is_heading());
        let mut scene: Vec<&StyledLine> = lines[start..=start].iter().chain(scene).collect();
        while scene.last().is_some_and(|line| line.is_blank()) {
            scene.pop();
        }
        shown.push(StyledLine::default());
        shown.extend(
            scene
                .iter()
                .flat_map(|line| line.wrapped(animation::COLUMNS)),
        );
    }
    Ok(shown)
}

/// Replaces the random part of every lasting id, `note.md#heading-RANDOM`.
fn with_stand_ins(output: &str) -> Result<String> {
    const MARK: &str = ".md#";
    let mut parts = output.split(MARK);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    let mut known: Vec<&str> = Vec::new();
    for part in parts {
        let is_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let end = part.find(|c| !is_id(c)).unwrap_or(part.len());
        let (id, rest) = part.split_at(end);
        let (name, random) = id
            .rsplit_once('-')
            .with_context(|| format!("`{id}` is not an id with a random part"))?;
        let index = known.iter().position(|seen| *seen == random);
        let index = index.unwrap_or_else(|| {
            known.push(random);
            known.len() - 1
        });
        let stand_in = STAND_INS.get(index).context("more ids than stand-ins")?;
        replaced += &format!("{MARK}{name}-{stand_in}{rest}");
    }
    Ok(replaced)
}

/// Fails if the output shows a path of this machine.
fn check_leaks(output: &str) -> Result<()> {
    let here = [
        Some(env::temp_dir()),
        env::current_dir().ok(),
        env::home_dir(),
    ];
    for folder in here.into_iter().flatten() {
        let folder = folder.to_string_lossy();
        if folder.len() > 1 && output.contains(&*folder) {
            bail!("the output shows a path of this machine: {folder}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_look_the_same() {
        let run = |a: &str, b: &str| {
            let output = format!(
                "x.md#sun-{a} {{\"id\":\"x.md#sun-{a}\",\"n\":\"y.md#a-list-{b}\"}} plan#Sun x.md"
            );
            with_stand_ins(&output).unwrap()
        };
        let first = run("pqgvgl4biwhu", "2u23imraual8g");
        assert_eq!(first, run("8c52ep0ww1ky", "2jxt0h6zgphc0"));
        assert_eq!(
            first,
            "x.md#sun-1kebc1 {\"id\":\"x.md#sun-1kebc1\",\"n\":\"y.md#a-list-2m4xq7\"} plan#Sun x.md"
        );
    }

    #[test]
    fn a_path_of_this_machine_is_refused() {
        let path = env::temp_dir().join("notes/plan.md");
        assert!(check_leaks(&format!("cannot read {}", path.display())).is_err());
        assert!(check_leaks("cannot read notes/plan.md").is_ok());
    }

    #[test]
    fn a_scene_that_is_not_there_is_an_error() {
        let lines = terminal::lines("\u{1b}[1mA folder of notes\u{1b}[0m\n  x\n").unwrap();
        let error = scenes(&lines).unwrap_err().to_string();
        assert_eq!(error, "the demo has no scene `An agent searches`");
    }
}
