//! Speed of the editor: against the disk, against itself with a long history, against the parser and against the original.

pub(crate) mod durable;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod original;
pub(crate) mod repair;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sectile_markdown::{NotePath, edit::PayloadHeadings};
use sectile_vault::{
    Editor, JournalKey,
    editor::{
        CallHooks, EditorOptions, Operation, Scope, SectionRef, UndoRequest, UpdateSection,
        WriteRequest,
    },
};
use tempfile::TempDir;

use crate::{Bench, corpus};

const NOTE: &str = "note.md";
/// The approximate length of a section in an ordinary note, in bytes.
const SECTION_BYTES: usize = 600;

/// A folder with one note, and an editor that works on one section of it.
struct Workplace {
    folder: TempDir,
    editor: Editor,
    note: NotePath,
    section: String,
    edits: usize,
}

impl Workplace {
    /// Creates a folder below `place` with a note of about `size` bytes.
    fn new(place: &Path, size: usize) -> Result<Self> {
        let folder = tempfile::tempdir_in(place)?;
        std::fs::write(
            folder.path().join(NOTE),
            corpus::ordinary_notes(1, size).remove(0),
        )?;
        Self::open(folder)
    }

    /// Opens a folder that may have a history.
    fn open(folder: TempDir) -> Result<Self> {
        let editor = Editor::folder(folder.path(), options())?;
        let note = NotePath::parse_vault(NOTE)?;
        let view = editor.view(&note)?;
        let section = view.ids().get(view.ids().len() / 2);
        let section = section.context("a note without sections")?.clone();
        Ok(Self {
            folder,
            editor,
            note,
            section,
            edits: 0,
        })
    }

    /// Replaces the text of the section.
    fn edit(&mut self) -> Result<()> {
        self.edits += 1;
        // Always of the same length, so that the document does not grow with its history.
        let line = format!("Edit number {:08} of this section.\n", self.edits);
        let operation = Operation::Update(UpdateSection {
            path: Some(self.note.clone()),
            section: SectionRef {
                id: Some(self.section.clone()),
                heading: None,
            },
            content: line.repeat(SECTION_BYTES / line.len()),
            scope: Scope::Body,
            headings: PayloadHeadings::Inside,
            expected_hash: None,
        });
        let report = self
            .editor
            .write(&request(operation, "update_section"), CallHooks::none())?;
        report.entry.context("an edit that changed nothing")?;
        Ok(())
    }

    /// Undoes the last edit, or redoes it.
    fn undo(&mut self, redo: bool) -> Result<()> {
        let request = UndoRequest {
            path: Some(self.note.clone()),
            entry: None,
            redo,
            actor: "bench".to_owned(),
            reason: None,
            request: None,
            dry_run: false,
        };
        let report = self.editor.undo(&request, CallHooks::none())?;
        report.entry.context("an undo that changed nothing")?;
        Ok(())
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join(".sectile/journal")
    }
}

fn request(operation: Operation, name: &str) -> WriteRequest {
    WriteRequest {
        operations: vec![operation],
        name: name.to_owned(),
        actor: "bench".to_owned(),
        reason: None,
        request: None,
        dry_run: false,
        plan: None,
        confirmed: true,
    }
}

/// Returns the options of all editors in the benchmarks, which share one key.
pub(crate) fn options() -> EditorOptions {
    EditorOptions::new(JournalKey::new(&[7; JournalKey::BYTES]), now)
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Returns a folder in memory, where a flush costs nothing and cannot hide other costs; on disk if there is none.
fn memory(bench: &Bench) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        bench.target.clone()
    }
}
