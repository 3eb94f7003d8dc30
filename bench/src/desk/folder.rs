//! The folder on disk: generated once, and kept between runs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use sectile_markdown::Digest;

use crate::{
    Bench,
    corpus::{Dice, ordinary_notes},
    notebook::{prose::Note, words::Words},
    server::Server,
};

/// To be increased when the generated notes change.
const VERSION: usize = 1;
/// The note that is edited, and its approximate length in bytes.
pub(super) const EDITED: &str = "desk/edited.md";
const EDITED_BYTES: usize = 10_000;
const STATES: [&str; 4] = ["draft", "open", "agreed", "done"];
const TAGS: [&str; 6] = ["travel", "budget", "work/plan", "idea", "reading", "people"];

pub(super) struct DeskFolder {
    pub(super) words: Words,
    pub(super) count: usize,
    home: PathBuf,
}

impl DeskFolder {
    /// Returns the folder with `count` notes, generating it if it is missing.
    pub(super) fn prepare(target: &Path, count: usize) -> Result<Self> {
        let words = Words::new()?;
        let digest = Digest::of(words.all().as_bytes()).to_string();
        let home = target.join(format!("desk-{VERSION}-{count}-{}", &digest[..8]));
        let folder = Self { words, count, home };
        let stamp = folder.home.join("made");
        if !stamp.is_file() {
            println!(
                "       generating {count} notes, kept in {}",
                folder.home.display()
            );
            if folder.home.is_dir() {
                fs::remove_dir_all(&folder.home)?;
            }
            for root in [folder.root(), folder.editor_root()] {
                folder.make(&root)?;
            }
            fs::write(stamp, "")?;
        }
        for root in [folder.root(), folder.editor_root()] {
            let state = root.join(".sectile");
            if state.is_dir() {
                fs::remove_dir_all(state)?;
            }
            fs::write(root.join(EDITED), edited())?;
        }
        Ok(folder)
    }

    fn make(&self, root: &Path) -> Result<()> {
        for number in 0..self.count {
            let note = self.note(number);
            fs::create_dir_all(root.join(note.folder()))?;
            fs::write(root.join(note.path()), self.text(number))?;
        }
        fs::create_dir_all(root.join("desk"))?;
        Ok(())
    }

    fn note(&self, number: usize) -> Note<'_> {
        Note::new(&self.words, number, self.count)
    }

    /// Returns the text of a note: fields are added to those with front matter, and tasks, tags and links to every fourth.
    pub(super) fn text(&self, number: usize) -> String {
        let mut dice = Dice::new(2_000_000 + number);
        let mut text = self.note(number).ordinary();
        if let Some(rest) = text.strip_prefix("---\n") {
            let state = STATES[dice.roll(STATES.len())];
            let project = self.words.word(900 + dice.roll(40));
            text = format!(
                "---\nstatus: {state}\nproject: {project}\naliases: [alias {number}]\n{rest}"
            );
        }
        if number.is_multiple_of(4) {
            text += "## Open points\n\n";
            for _ in 0..2 + dice.roll(4) {
                let mark = [" ", " ", "x"][dice.roll(3)];
                let tag = TAGS[dice.roll(TAGS.len())];
                let other = self.name(dice.roll(self.count));
                let word = self.words.word(1_000 + dice.roll(9_000));
                text += &format!("- [{mark}] Ask about {word} in [[{other}]] #{tag}\n");
            }
        }
        text
    }

    /// Returns the path of a note.
    pub(super) fn path(&self, number: usize) -> String {
        self.note(number % self.count).path()
    }

    /// Returns the name that wiki links give a note.
    fn name(&self, number: usize) -> String {
        let path = self.path(number);
        let name = path.rsplit('/').next().unwrap_or_default();
        name.trim_end_matches(".md").to_owned()
    }

    /// Returns the folder that the desk serves.
    pub(super) fn root(&self) -> PathBuf {
        self.home.join("desk")
    }

    /// Returns the folder that the editor serves: the same notes again, because two histories in one would slow both down.
    pub(super) fn editor_root(&self) -> PathBuf {
        self.home.join("editor")
    }

    /// Returns the cache folder of the user who runs the desk.
    pub(super) fn cache(&self) -> PathBuf {
        self.home.join("cache")
    }

    pub(super) fn forget_cache(&self) -> Result<()> {
        if self.cache().is_dir() {
            fs::remove_dir_all(self.cache())?;
        }
        Ok(())
    }

    /// Returns the command that serves the desk.
    pub(super) fn serve_command(&self, bench: &Bench) -> Command {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["serve", "desk"]).arg(self.root());
        command.env("XDG_CACHE_HOME", self.cache());
        command
    }

    /// Starts a server whose index is complete.
    pub(super) fn serve(&self, bench: &Bench) -> Result<Server> {
        let mut server = Server::start(&mut self.serve_command(bench))?;
        server.initialize()?;
        super::start::complete(&mut server, "harbour")?;
        Ok(server)
    }

    /// Replaces the text of a note, as another program would; `None` restores it.
    pub(super) fn edit(&self, number: usize, added: Option<&str>) -> Result<()> {
        let text = self.text(number) + added.unwrap_or_default();
        fs::write(self.root().join(self.path(number)), text).context("a note that was made")
    }
}

/// Returns the note to edit.
fn edited() -> String {
    ordinary_notes(1, EDITED_BYTES).remove(0)
}
