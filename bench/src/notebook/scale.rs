//! How a search grows with the number of passages, in either tier, and beside another version of the program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use super::{
    asked, enter, indexing::megabytes, library::LIBRARY, prose::Note, settle, words::Words,
};
use crate::{
    Bench,
    corpus::Dice,
    measure::per_mille,
    processes::{finish, memory, on_all_cores},
    report::Report,
    server::Server,
};

/// To be increased when the generated notes change.
const VERSION: usize = 1;
/// Numbers of passages. The last but one has the target.
const PASSAGES: [usize; 5] = [1_000, 10_000, 50_000, 145_000, 500_000];
const TARGET_AT: usize = 145_000;
/// Passages of an ordinary note, on average.
const OF_A_NOTE: usize = 5;
/// Passages of a note that is made of short ones.
const SHORT_OF_A_NOTE: usize = 50;
/// With more passages, embedding them would take an hour.
const MOST_EMBEDDED: usize = 145_000;
/// With more passages, embedding them with an older version would take an hour.
const MOST_EMBEDDED_BY_OTHER: usize = 10_000;
const QUESTIONS: usize = 400;
/// The most that a search may take of the other version's time.
const TARGET: f64 = 0.5;

/// The kind of notes, and the tier that searches them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Notes of some paragraphs, with the instant model.
    Ordinary,
    /// Notes of many sections with one sentence each, so that they are embedded in minutes.
    Short,
}

impl Kind {
    fn tier(self) -> &'static str {
        match self {
            Self::Ordinary => "static",
            Self::Short => "transformer",
        }
    }
}

/// A version of the program, and its copy of the notes.
struct Version {
    program: PathBuf,
    root: PathBuf,
}

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let words = Words::new()?;
    let sizes = &PASSAGES[..bench.size(PASSAGES.len(), 2)];
    for kind in [Kind::Ordinary, Kind::Short] {
        for passages in sizes {
            if kind == Kind::Ordinary || *passages <= MOST_EMBEDDED {
                measure(report, bench, &words, kind, *passages)?;
            }
        }
    }
    Ok(())
}

fn measure(
    report: &mut Report,
    bench: &Bench,
    words: &Words,
    kind: Kind,
    passages: usize,
) -> Result<()> {
    let home = format!("scale-{VERSION}-{}-{passages}", kind.tier());
    let home = bench.target.join(home);
    let ours = Version {
        program: bench.binaries.join("sectile"),
        root: home.join("root"),
    };
    let notes = match kind {
        Kind::Ordinary => passages / OF_A_NOTE,
        Kind::Short => passages / SHORT_OF_A_NOTE,
    };
    make(words, kind, notes, &ours.root)?;
    let other = bench.against.as_ref();
    let other = other.filter(|_| kind == Kind::Ordinary || passages <= MOST_EMBEDDED_BY_OTHER);
    let other = other.map(|program| Version {
        program: program.clone(),
        root: home.join("other"),
    });
    let mut versions = vec![&ours];
    if let Some(other) = &other {
        make(words, kind, notes, &other.root)?;
        versions.push(other);
    }
    let mut found = 0;
    let mut servers = Vec::new();
    for version in &versions {
        found = version.index(kind)?;
        let mut server = Server::start(&mut version.command(&["serve", "notebook"]))?;
        server.initialize()?;
        enter(&mut server, LIBRARY)?;
        servers.push((server, Vec::new()));
    }
    let questions = super::prose::questions(words, notes, QUESTIONS);
    for (server, _) in &mut servers {
        settle(server, &questions)?;
    }
    // By turns, so that both have the same conditions.
    for question in &questions {
        for (server, times) in &mut servers {
            let (elapsed, answer) = server.call("semantic_search", &asked(question))?;
            let tier = &answer["metadata"]["tier"];
            ensure!(*tier == kind.tier(), "the tier {tier} answered");
            times.push(elapsed);
        }
    }
    let mut medians: Vec<Duration> = Vec::new();
    for ((server, mut times), version) in servers.into_iter().zip(&versions) {
        let resident = memory(server.process(), "VmRSS").unwrap_or_default();
        server.stop()?;
        let [half, nearly_all] = [500, 990].map(|share| per_mille(&mut times, share));
        medians.push(half);
        let whose = if medians.len() == 1 {
            ""
        } else {
            ", other version"
        };
        report.seen(
            &format!("search among {found} passages, {} tier{whose}", kind.tier()),
            &format!(
                "p50 {half:.2?}, p99 {nearly_all:.2?}, memory {}, index {}",
                megabytes(resident),
                megabytes(bytes_below(&version.root.join(".sectile"))?)
            ),
        );
    }
    if let [ours, theirs] = medians.as_slice() {
        let what = format!("p50 among {found} passages / other version");
        match passages == TARGET_AT {
            true => report.ratio(&what, *ours, *theirs, TARGET),
            false => {
                let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
                report.seen(&what, &format!("{ratio:.2}"));
            }
        }
    }
    Ok(())
}

impl Version {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg(&self.root);
        // What one version shares, the other must not find.
        command.env("XDG_CACHE_HOME", self.root.with_extension("cache"));
        command
    }

    /// Indexes the notes up to a tier. Returns the number of passages.
    fn index(&self, kind: Kind) -> Result<u64> {
        let mut command = self.command(&["notebook", "index", "--json"]);
        command.args([LIBRARY, "--tier", kind.tier(), "--threads", "2"]);
        let said = finish(&mut on_all_cores(&command))?.output;
        let said: serde_json::Value = serde_json::from_str(&said)?;
        said[0]["chunks"].as_u64().context("no number of passages")
    }
}

/// Writes the notes, unless they are there.
fn make(words: &Words, kind: Kind, notes: usize, root: &Path) -> Result<()> {
    let stamp = root.with_extension("made");
    if stamp.is_file() {
        return Ok(());
    }
    println!(
        "       generating {notes} notes, kept in {}",
        root.display()
    );
    for number in 0..notes {
        let note = Note::new(words, number, notes);
        let folder = root.join(LIBRARY).join(note.folder());
        let path = root.join(LIBRARY).join(note.path());
        fs::create_dir_all(folder)?;
        match kind {
            Kind::Ordinary => fs::write(path, note.ordinary())?,
            Kind::Short => fs::write(path, short(words, number))?,
        }
    }
    fs::write(stamp, "")?;
    Ok(())
}

/// Returns a note of many sections with one sentence each.
fn short(words: &Words, number: usize) -> String {
    let mut dice = Dice::new(number);
    let mut text = String::new();
    for _ in 0..SHORT_OF_A_NOTE {
        let mut some = |count: usize| {
            let words = (0..count).map(|_| words.word(words.any(&mut dice)));
            words.collect::<Vec<_>>().join(" ")
        };
        text += &format!("## {}\n\n{}.\n\n", some(2), some(6));
    }
    text
}

/// Returns the size of all files below a folder.
fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += match about.is_dir() {
            true => bytes_below(&entry.path())?,
            false => about.len(),
        };
    }
    Ok(bytes)
}
