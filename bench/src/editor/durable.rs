//! A durable edit against the flushes and the rename that any durable edit needs, on the same disk in the same minute.

use std::{
    fs::{File, OpenOptions},
    hint::black_box,
    io::Write as _,
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use sectile_markdown::Source;

use super::{NOTE, Workplace, memory};
use crate::{
    Bench,
    measure::{middle, time, timed},
    report::Report,
};

const DOCUMENT_BYTES: usize = 100_000;
/// The number of runs before the other side's turn. Pending disk writes of one side slow down only the first run of the
/// other, which a median ignores.
const TURN: usize = 5;

/// The disk operations of a commit: intent to the journal, new bytes to a temporary file, swap, commit to the journal.
const FLUSHES: &str = "4 flushes (journal, file, folder, journal) and 1 rename";

/// Performs the disk operations of a commit, and nothing else.
struct BareDisk {
    folder: PathBuf,
    journal: File,
    intent: Vec<u8>,
    document: Vec<u8>,
    commit: Vec<u8>,
}

impl BareDisk {
    /// Writes as many bytes as the last edit at `workplace` did.
    fn like(workplace: &Workplace) -> Result<Self> {
        let journal = std::fs::read(workplace.journal())?;
        let mut lines = journal.split_inclusive(|byte| *byte == b'\n').rev();
        let commit = lines.next().context("no commit")?.to_vec();
        let intent = lines.next().context("no intent")?.to_vec();
        let folder = workplace.folder.path().join("bare");
        std::fs::create_dir(&folder)?;
        let document = std::fs::read(workplace.folder.path().join(NOTE))?;
        std::fs::write(folder.join(NOTE), &document)?;
        let journal = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("journal"))?;
        Ok(Self {
            folder,
            journal,
            intent,
            document,
            commit,
        })
    }

    fn edit(&mut self) -> Result<()> {
        self.journal.write_all(&self.intent)?;
        self.journal.sync_data()?;
        let temporary = self.folder.join("temporary");
        let mut file = File::create(&temporary)?;
        file.write_all(&self.document)?;
        file.sync_all()?;
        std::fs::rename(temporary, self.folder.join(NOTE))?;
        File::open(&self.folder)?.sync_all()?;
        self.journal.write_all(&self.commit)?;
        self.journal.sync_data()?;
        Ok(())
    }
}

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let mut workplace = Workplace::new(&bench.target, DOCUMENT_BYTES)?;
    for _ in 0..TURN {
        workplace.edit()?;
    }
    let mut bare = BareDisk::like(&workplace)?;
    let mut in_memory = Workplace::new(&memory(bench), DOCUMENT_BYTES)?;
    let (mut edits, mut yardstick) = (Vec::new(), Vec::new());
    let (mut without_disk, mut parses) = (Vec::new(), Vec::new());
    for _ in 0..bench.size(60, 10) {
        for _ in 0..TURN {
            edits.push(timed(|| workplace.edit())?);
        }
        for _ in 0..TURN {
            yardstick.push(timed(|| bare.edit())?);
        }
        for _ in 0..TURN {
            without_disk.push(timed(|| in_memory.edit())?);
        }
        parses.push(time(|| {
            black_box(Source::new(&bare.document).parse());
        }));
    }
    let what = format!("durable edit of one section, 100 kB note / {FLUSHES} on that disk");
    report.ratio(&what, middle(edits), middle(yardstick), 2.0);
    let figures = format!(
        "{:.1?}; to parse the note once {:.1?}",
        middle(without_disk),
        middle(parses)
    );
    report.seen("the same edit without a disk", &figures);
    Ok(())
}
