//! The journal: every change of every document, appended before it is made.
//!
//! One record a line: a checksum, a blank, a JSON object whose last field is the seal of the user who wrote it. A line that is not complete at the end of the file was being
//! written when the power went; it is cut off by the next writer. A line that is complete but wrong is damage: it is
//! skipped, reported and left alone. A line without our seal came with the folder: it is read, and never acted on.

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
        Adoption, Bytes, Checkpoint, Entry, EntryKind, Header, Mark, Prints, Record, Request,
        Sighting, Splice, Step, written,
    },
    seal::LineOrigin,
};

/// Reads journal bytes and does nothing with them, for the fuzzer: no input may panic.
#[doc(hidden)]
#[must_use]
pub fn replay_for_fuzzing(bytes: &[u8]) -> (usize, usize) {
    let mut ledger = crate::ledger::Ledger::default();
    let read = file::read_lines(bytes, 0, &JournalKey::new(&[0; JournalKey::BYTES]));
    let lines = read.lines.len();
    ledger.take_in(read);
    (lines, ledger.damage().len())
}
