//! The folders that the programs work on, generated the same every time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Words that notes are made of.
const WORDS: [&str; 48] = [
    "anchor", "autumn", "bakery", "barrel", "bridge", "budget", "candle", "carpet", "cellar",
    "chapter", "copper", "courier", "design", "dinner", "engine", "fabric", "ferry", "garden",
    "harbour", "insurer", "kitchen", "ladder", "lantern", "letter", "market", "meeting", "mirror",
    "museum", "needle", "orchard", "parcel", "pencil", "permit", "pilot", "quarry", "recipe",
    "regatta", "river", "saddle", "signal", "stable", "storm", "ticket", "timber", "valley",
    "vessel", "window", "winter",
];
/// Headings of every generated note.
pub(super) const HEADINGS: [&str; 3] = ["Summary", "Details", "Next steps"];
/// The number of notes in a folder.
const IN_A_FOLDER: usize = 100;

/// A folder of notes and the state that programs keep about it.
pub(super) struct Workspace {
    pub(super) root: PathBuf,
    /// The home of the programs: their settings, caches and databases.
    pub(super) home: PathBuf,
}

impl Workspace {
    /// Makes an empty workspace in `folder`, removing what was there.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        if folder.is_dir() {
            fs::remove_dir_all(folder)?;
        }
        let workspace = Self {
            root: folder.join("notes"),
            home: folder.join("home"),
        };
        fs::create_dir_all(&workspace.root)?;
        fs::create_dir_all(&workspace.home)?;
        Ok(workspace)
    }

    /// Returns the path of a note; one that is absolute stays as it is.
    pub(super) fn path(&self, note: &str) -> PathBuf {
        self.root.join(note)
    }

    pub(super) fn write(&self, note: &str, text: &str) -> Result<()> {
        let path = self.path(note);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        Ok(fs::write(path, text)?)
    }

    pub(super) fn read(&self, note: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.path(note))?).into_owned())
    }
}

/// A small pseudo-random number generator, so that every run sees the same notes.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: usize) -> Self {
        Self((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }

    pub(super) fn word(&mut self) -> &'static str {
        WORDS[self.roll(WORDS.len())]
    }
}

/// Returns the path of the generated note with this number.
pub(super) fn name(number: usize) -> String {
    format!("area-{}/note-{number}.md", number / IN_A_FOLDER)
}

/// Returns the word that only the generated note with this number has.
pub(super) fn mark(number: usize) -> String {
    // Letters, because some programs leave numbers out of their index.
    let digits = number.to_string();
    let letters = digits.bytes().map(|digit| char::from(digit - b'0' + b'k'));
    // The last letter, because some programs search for the beginnings of words.
    format!("mark{}z", letters.collect::<String>())
}

/// Writes `count` notes of about 1.5 KB each.
pub(super) fn generate(workspace: &Workspace, count: usize) -> Result<()> {
    for number in 0..count {
        let mut dice = Dice::new(number);
        let mut text = format!("# Note {number}\n\nKnown as {}.\n", mark(number));
        for heading in HEADINGS {
            text += &format!("\n## {heading}\n");
            for _ in 0..3 {
                let words: Vec<&str> = (0..20).map(|_| dice.word()).collect();
                text += &format!(
                    "\nThe {} of {}.\n",
                    words[..8].join(" "),
                    words[8..].join(" ")
                );
            }
        }
        workspace.write(&name(number), &text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_belongs_to_one_note() {
        assert_eq!(mark(0), "markkz");
        assert_eq!(mark(105), "marklkpz");
        assert_eq!(name(105), "area-1/note-105.md");
    }
}
