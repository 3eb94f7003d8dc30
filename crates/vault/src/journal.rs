//! The journal: every change to every document, appended before it is made.
//!
//! Each line is a record: a checksum, a space, and a JSON object whose last field is the seal of the user who wrote it.
//! An incomplete line at the end of the file was being written when the power failed; the next writer cuts it off. A
//! line that is complete but wrong is damage: it is skipped, reported and left alone. A line without our seal came with
//! the folder: it is read, but never acted on.

mod file;
mod record;
mod seal;

pub use self::{file::Damage, seal::JournalKey};
pub(crate) use self::{
    file::{
        Durability, IDS, JOURNAL, Journal, JournalBatch, JournalError, JournalUpdate, Line,
        UNFINISHED, VERSION,
    },
    record::{
        Adoption, Bytes, Checkpoint, Entry, EntryKind, FolderMove, Header, Mark, Prints, Record,
        Request, Sighting, Splice, Step, written,
    },
    seal::LineOrigin,
};
use crate::fs::TouchedPaths;

/// Returns the paths that the lines of a journal are about: those of documents, and of folders that were moved.
pub(crate) fn touched_paths(bytes: &[u8], key: &JournalKey) -> TouchedPaths {
    let mut touched = TouchedPaths::default();
    for line in file::read_lines(bytes, 0, key).lines {
        match line.record {
            Record::Intent(entry) | Record::Done(entry) => {
                for step in entry.steps {
                    touched.files.insert(step.path);
                    touched.files.extend(step.moved_to);
                }
                if let Some(folder) = entry.folder {
                    touched.folders.extend([folder.from, folder.to]);
                }
            }
            _ => {}
        }
    }
    touched
}

/// Parses journal bytes without acting on them, for the fuzzer: no input may panic.
#[doc(hidden)]
#[must_use]
pub fn replay_for_fuzzing(bytes: &[u8]) -> (usize, usize) {
    let mut ledger = crate::ledger::Ledger::default();
    let read = file::read_lines(bytes, 0, &JournalKey::new(&[0; JournalKey::BYTES]));
    let lines = read.lines.len();
    ledger.take_in(read);
    (lines, ledger.damage().len())
}
