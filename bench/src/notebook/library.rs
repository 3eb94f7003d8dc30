//! The library on disk: generated once, and kept between runs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use sectile_markdown::Digest;

use super::{prose::Note, words::Words};
use crate::Bench;

/// To be increased when the generated notes change.
const VERSION: usize = 1;
/// The collection with all the notes.
pub(super) const LIBRARY: &str = "notes";
/// The collection with one large note.
pub(super) const LARGE: &str = "large";
pub(super) const LARGE_NOTE: &str = "large.md";
const LARGE_BYTES: usize = 1_000_000;
/// The number of notes that are edited.
const EDITED: usize = 40;

pub(super) struct NotebookLibrary {
    pub(super) words: Words,
    pub(super) count: usize,
    /// The folder of the collections.
    pub(super) root: PathBuf,
    /// A folder beside it for everything else.
    pub(super) scratch: PathBuf,
}

impl NotebookLibrary {
    /// Returns the library with `count` notes, generating it if it is missing and restoring edited notes.
    pub(super) fn prepare(target: &Path, count: usize) -> Result<Self> {
        let words = Words::new()?;
        let digest = Digest::of(words.all().as_bytes()).to_string();
        let home = target.join(format!("notebook-{VERSION}-{count}-{}", &digest[..8]));
        let library = Self {
            words,
            count,
            root: home.join("root"),
            scratch: home.join("scratch"),
        };
        let stamp = home.join("made");
        if !stamp.is_file() {
            println!(
                "       generating {count} notes, kept in {}",
                home.display()
            );
            if home.is_dir() {
                fs::remove_dir_all(&home)?;
            }
            library.make()?;
            fs::write(stamp, "")?;
        }
        fs::create_dir_all(&library.scratch)?;
        for at in 0..EDITED {
            library.restore(at)?;
        }
        Ok(library)
    }

    fn make(&self) -> Result<()> {
        for number in 0..self.count {
            let note = self.note(number);
            fs::create_dir_all(self.collection().join(note.folder()))?;
            fs::write(self.collection().join(note.path()), note.ordinary())?;
        }
        fs::create_dir_all(self.root.join(LARGE))?;
        let text = self.note(self.count).long(LARGE_BYTES);
        fs::write(self.root.join(LARGE).join(LARGE_NOTE), text)?;
        Ok(())
    }

    fn note(&self, number: usize) -> Note<'_> {
        Note::new(&self.words, number, self.count)
    }

    /// Returns the folder with all the notes.
    pub(super) fn collection(&self) -> PathBuf {
        self.root.join(LIBRARY)
    }

    /// Returns the folder of the indexes, unless another one is given.
    pub(super) fn index(&self) -> PathBuf {
        self.root.join(".sectile/notebook")
    }

    /// Returns one of the notes that may be edited, spread over all folders.
    fn editable(&self, at: usize) -> Note<'_> {
        self.note((at % EDITED) * (self.count / EDITED) + at % EDITED)
    }

    /// Replaces the text of a note.
    pub(super) fn edit(&self, at: usize, time: usize) -> Result<()> {
        let path = self.collection().join(self.editable(at).path());
        let mut text = self.editable(at).ordinary();
        let another = Note::new(&self.words, self.count + 1 + time, self.count).ordinary();
        text += &format!("## Edit {time}\n\n{another}");
        fs::write(path, text)?;
        Ok(())
    }

    pub(super) fn edit_all(&self, time: usize) -> Result<()> {
        (0..EDITED).try_for_each(|at| self.edit(at, time + at))
    }

    /// Restores the original text of a note.
    pub(super) fn restore(&self, at: usize) -> Result<()> {
        let path = self.collection().join(self.editable(at).path());
        let text = self.editable(at).ordinary();
        let found = fs::read_to_string(&path).context("a note that was made")?;
        if found != text {
            fs::write(path, text)?;
        }
        Ok(())
    }

    pub(super) fn restore_all(&self) -> Result<()> {
        (0..EDITED).try_for_each(|at| self.restore(at))
    }

    /// Returns the command that indexes one of the collections.
    pub(super) fn index_command(&self, bench: &Bench, collection: &str) -> Command {
        let mut command = self.whole_index_command(bench, collection);
        command.args(["--tier", "static"]);
        command
    }

    /// Returns the folder of the vectors that runs of that command share.
    pub(super) fn cache(&self) -> PathBuf {
        self.scratch.join("cache")
    }

    /// The same with all tiers, unless added arguments say otherwise.
    pub(super) fn whole_index_command(&self, bench: &Bench, collection: &str) -> Command {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.env("XDG_CACHE_HOME", self.cache());
        command.args(["notebook", "index", "--json"]);
        command.arg(&self.root).arg(collection);
        command
    }

    /// Returns the command that serves the library.
    pub(super) fn serve_command(&self, bench: &Bench) -> Command {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["serve", "notebook"]).arg(&self.root);
        command
    }
}
