//! A repository like those of people who write notes: edits, merges of two branches and renames, the same every time.

use std::{fmt::Write as _, io::Write as _, path::Path, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use sectile_markdown::merge;
use tempfile::TempDir;

use super::git::git;
use crate::corpus::{Dice, ordinary_notes};

/// The number of commits that `cargo xtask replay` generates, besides those on branches.
pub(super) const COMMITS: usize = 1_000;
const NOTES: usize = 12;
const NOTE_BYTES: usize = 6_000;

/// Notes with their names, and the commits made of them as input of `git fast-import`.
struct Writer {
    dice: Dice,
    notes: Vec<(String, String)>,
    stream: String,
    marks: usize,
}

/// Makes a repository in a new folder below `place`.
pub(super) fn repository(place: &Path, commits: usize) -> Result<TempDir> {
    let folder = tempfile::tempdir_in(place)?;
    let is_made = git(folder.path())
        .args(["init", "--quiet", "--initial-branch=main"])
        .status()?;
    ensure!(is_made.success(), "git init failed");
    let stream = Writer::new().write(commits)?;
    let mut import = git(folder.path())
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()?;
    import
        .stdin
        .take()
        .context("no input")?
        .write_all(stream.as_bytes())?;
    ensure!(import.wait()?.success(), "git fast-import failed");
    Ok(folder)
}

impl Writer {
    fn new() -> Self {
        let notes = ordinary_notes(NOTES, NOTE_BYTES).into_iter().enumerate();
        let notes = notes.map(|(number, text)| {
            let (next, other) = ((number + 1) % NOTES, (number + 5) % NOTES);
            let links = format!("\nSee [the next](note-{next}.md) and [[note-{other}]].\n");
            (format!("note-{number}"), text + &links)
        });
        Self {
            dice: Dice::new(24),
            notes: notes.collect(),
            stream: String::new(),
            marks: 0,
        }
    }

    fn write(mut self, commits: usize) -> Result<String> {
        let all: Vec<usize> = (0..NOTES).collect();
        let mut head = self.commit(&[], &all, None)?;
        for number in 0..commits {
            head = match self.dice.roll(10) {
                0 => self.rename(head, number)?,
                1 | 2 => self.branch_and_merge(head)?,
                _ => {
                    let note = self.dice.roll(NOTES);
                    for _ in 0..=self.dice.roll(3) {
                        self.notes[note].1 = edited(&mut self.dice, &self.notes[note].1);
                    }
                    self.commit(&[head], &[note], None)?
                }
            };
        }
        Ok(self.stream)
    }

    /// Writes a commit of these notes as they are now. The second parent is that of a merge.
    fn commit(
        &mut self,
        parents: &[usize],
        notes: &[usize],
        renamed: Option<(&str, &str)>,
    ) -> Result<usize> {
        self.marks += 1;
        let mark = self.marks;
        writeln!(self.stream, "commit refs/heads/main\nmark :{mark}")?;
        writeln!(
            self.stream,
            "committer Bench <bench@example.com> {} +0000",
            1_700_000_000 + mark
        )?;
        writeln!(self.stream, "data 2\nx")?;
        for (at, parent) in parents.iter().enumerate() {
            writeln!(self.stream, "{} :{parent}", ["from", "merge"][at.min(1)])?;
        }
        if let Some((old, new)) = renamed {
            writeln!(self.stream, "R {old}.md {new}.md")?;
        }
        for note in notes {
            let (name, text) = &self.notes[*note];
            writeln!(
                self.stream,
                "M 100644 inline {name}.md\ndata {}\n{text}",
                text.len()
            )?;
        }
        Ok(mark)
    }

    /// Two people edit the same note; somebody merges what they did, or takes one side.
    fn branch_and_merge(&mut self, head: usize) -> Result<usize> {
        let note = self.dice.roll(NOTES);
        let base = self.notes[note].1.clone();
        let side = |writer: &mut Self| {
            writer.notes[note].1 = edited(&mut writer.dice, &base);
            let mark = writer.commit(&[head], &[note], None)?;
            Ok::<_, anyhow::Error>((mark, writer.notes[note].1.clone()))
        };
        let (ours, our_text) = side(self)?;
        let (theirs, their_text) = side(self)?;
        let merged = merge(base.as_bytes(), our_text.as_bytes(), their_text.as_bytes());
        self.notes[note].1 = match merged {
            Ok(merged) => String::from_utf8(merged)?,
            Err(_) => our_text,
        };
        self.commit(&[ours, theirs], &[note], None)
    }

    /// Gives a note another name, and changes the links to it, as people do with a search over all files.
    fn rename(&mut self, head: usize, number: usize) -> Result<usize> {
        let note = self.dice.roll(NOTES);
        let old = std::mem::replace(&mut self.notes[note].0, format!("renamed-{number}"));
        let new = self.notes[note].0.clone();
        for (_, text) in &mut self.notes {
            *text = text.replace(&format!("({old}.md)"), &format!("({new}.md)"));
            *text = text.replace(&format!("[[{old}]]"), &format!("[[{new}]]"));
        }
        let all: Vec<usize> = (0..NOTES).collect();
        self.commit(&[head], &all, Some((&old, &new)))
    }
}

/// Changes, adds or removes something at a random line.
fn edited(dice: &mut Dice, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // Links stay: a rename looks for them.
    let last = lines.len().saturating_sub(2).max(1);
    let at = dice.roll(last);
    let word = format!("word{}", dice.roll(1_000));
    match dice.roll(6) {
        0 => lines.insert(at, format!("An added line with {word}.")),
        1 => drop(lines.remove(at)),
        2 => lines.insert(at, format!("\n## About {word}\n\nA new section.\n")),
        _ => lines[at] += &format!(" {word}"),
    }
    lines.join("\n") + "\n"
}
