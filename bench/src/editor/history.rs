//! The effect of a long history on the cost of an edit and an undo.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use sectile_vault::Editor;

use super::{NOTE, Workplace, memory, options};
use crate::{
    Bench,
    measure::{middle, timed},
    report::Report,
};

/// A small document, so that the cost of the history stands out.
const DOCUMENT_BYTES: usize = 10_000;
const EARLY: usize = 10;
const TURN: usize = 5;

/// The measurements at one length of history.
#[derive(Default)]
struct Times {
    edits: Vec<Duration>,
    undos: Vec<Duration>,
    redos: Vec<Duration>,
}

impl Times {
    fn measure(&mut self, workplace: &mut Workplace) -> Result<()> {
        for _ in 0..TURN {
            self.edits.push(timed(|| workplace.edit())?);
        }
        for _ in 0..TURN {
            self.undos.push(timed(|| workplace.undo(false))?);
            self.redos.push(timed(|| workplace.undo(true))?);
        }
        Ok(())
    }
}

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let length = bench.size(10_000, 1_000);
    let place = memory(bench);
    let mut old = Workplace::new(&place, DOCUMENT_BYTES)?;
    let started = Instant::now();
    for _ in 0..length {
        old.edit()?;
    }
    let each = started.elapsed() / u32::try_from(length)?;
    report.seen(
        &format!("{length} edits of a 10 kB note, without a disk"),
        &format!("{each:.1?} each"),
    );
    compare(
        report,
        "in memory",
        &place,
        &mut old,
        length,
        bench.size(40, 10),
    )?;
    open(report, &old, length)?;

    let folder = tempfile::tempdir_in(&bench.target)?;
    std::fs::create_dir(folder.path().join(".sectile"))?;
    for file in [NOTE, ".sectile/journal"] {
        std::fs::copy(old.folder.path().join(file), folder.path().join(file))?;
    }
    let mut on_disk = Workplace::open(folder)?;
    // Continues the numbering, so that the texts are new to the history.
    on_disk.edits = old.edits;
    let rounds = bench.size(20, 4);
    compare(
        report,
        "on disk",
        &bench.target,
        &mut on_disk,
        length,
        rounds,
    )
}

/// Measures an old folder and new ones in turns.
fn compare(
    report: &mut Report,
    medium: &str,
    place: &Path,
    old: &mut Workplace,
    length: usize,
    rounds: usize,
) -> Result<()> {
    let (mut early, mut late) = (Times::default(), Times::default());
    for _ in 0..rounds {
        let mut new = Workplace::new(place, DOCUMENT_BYTES)?;
        for _ in 0..EARLY {
            new.edit()?;
        }
        // Caches are cold after the other side's turn.
        old.edit()?;
        early.measure(&mut new)?;
        late.measure(old)?;
    }
    let pairs = [
        ("edit", late.edits, early.edits),
        ("undo", late.undos, early.undos),
        ("redo", late.redos, early.redos),
    ];
    for (name, late, early) in pairs {
        let what = format!("{name} after {length} edits / after {EARLY}, {medium}");
        report.ratio(&what, middle(late), middle(early), 1.3);
    }
    Ok(())
}

/// Measures what a new process pays for a long history.
fn open(report: &mut Report, old: &Workplace, length: usize) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(timed(|| {
            let editor = Editor::folder(old.folder.path(), options())?;
            editor.view(&old.note)?;
            Ok(())
        })?);
    }
    let bytes = std::fs::metadata(old.journal())?.len();
    let megabytes = bytes >> 20;
    report.seen(
        &format!("opening a folder with {length} edits and more undos, {megabytes} MB of journal"),
        &format!("{:.1?}", middle(times)),
    );
    Ok(())
}
