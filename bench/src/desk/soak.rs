//! A desk under mixed calls for a long time, while another program edits: its memory, descriptors, threads and files stay as they
//! are.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{FEW_NOTES, folder::DeskFolder};
use crate::{
    Bench,
    corpus::Dice,
    notebook::prose,
    processes::memory,
    report::{Report, Verdict},
    server::Server,
};

/// How long a run takes unless `--soak` says otherwise.
const USUAL: Duration = Duration::from_secs(60);
/// The number of times that the server is looked at.
const LOOKS: u32 = 40;
/// Notes that calls create, rename and delete.
const PLACES: usize = 50;

/// What a server holds at one moment.
#[derive(Clone, Copy, Default)]
struct Holdings {
    memory: u64,
    descriptors: u64,
    threads: u64,
    /// What is kept beside the notes, in bytes.
    disk: u64,
}

impl Holdings {
    fn of(server: &Server, root: &Path) -> Result<Self> {
        let process = server.process();
        let entries = |name: &str| -> Result<u64> {
            Ok(fs::read_dir(format!("/proc/{process}/{name}"))?.count() as u64)
        };
        Ok(Self {
            memory: memory(process, "VmRSS").context("no memory")?,
            descriptors: entries("fd")?,
            threads: entries("task")?,
            disk: size(&root.join(".sectile"))?,
        })
    }

    fn most(self, other: Self) -> Self {
        Self {
            memory: self.memory.max(other.memory),
            descriptors: self.descriptors.max(other.descriptors),
            threads: self.threads.max(other.threads),
            disk: self.disk.max(other.disk),
        }
    }
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Files come and go while they are counted.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        bytes += match metadata.is_dir() {
            true => size(&entry.path())?,
            false => metadata.len(),
        };
    }
    Ok(bytes)
}

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = DeskFolder::prepare(&bench.target, FEW_NOTES)?;
    let questions = prose::questions(&folder.words, folder.count, 200);
    let mut server = folder.serve(bench)?;
    let mut player = Player {
        dice: Dice::new(77),
        calls: 0,
        refused: 0,
    };
    let time = bench.soak.unwrap_or(USUAL);
    let started = Instant::now();
    let mut looks = Vec::new();
    let mut next = time / LOOKS;
    while started.elapsed() < time {
        player.call(&mut server, &folder, &questions)?;
        if started.elapsed() >= next {
            looks.push(Holdings::of(&server, &folder.root())?);
            next += time / LOOKS;
        }
    }
    server.stop()?;
    report.seen(
        &format!("soak of {} s: calls", time.as_secs()),
        &format!("{}, of which {} were refused", player.calls, player.refused),
    );
    // The first quarter is for caches to fill.
    let (second, last) = (quarter(&looks, 1), quarter(&looks, 3));
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let growth = last.memory as f64 / second.memory.max(1) as f64;
    report.line(
        "most memory in the last quarter / in the second",
        &format!("{growth:.2} (target 1.1; {} MB)", last.memory >> 20),
        Verdict::at_most(growth, 1.1),
    );
    let counts = [
        ("descriptors", second.descriptors, last.descriptors),
        ("threads", second.threads, last.threads),
    ];
    for (what, before, after) in counts {
        report.line(
            &format!("most {what} in the last quarter"),
            &format!("{after} ({before} in the second)"),
            // As many come and go with single calls.
            Verdict::at_most(after, before + 4),
        );
    }
    // The history grows with the edits, up to its limit.
    report.seen(
        "bytes of history and what was replaced",
        &last.disk.to_string(),
    );
    Ok(())
}

fn quarter(looks: &[Holdings], number: usize) -> Holdings {
    let length = looks.len() / 4;
    let looks = looks.iter().skip(number * length).take(length);
    looks.copied().fold(Holdings::default(), Holdings::most)
}

/// Calls all tools, with arguments that are right and some that are not.
struct Player {
    dice: Dice,
    calls: usize,
    refused: usize,
}

impl Player {
    fn call(
        &mut self,
        server: &mut Server,
        folder: &DeskFolder,
        questions: &[String],
    ) -> Result<()> {
        let place = self.dice.roll(PLACES);
        let (here, there) = (format!("soak/{place}.md"), format!("soak/moved-{place}.md"));
        let question = &questions[self.dice.roll(questions.len())];
        let words = format!("{question} {}", self.calls);
        let (tool, arguments) = match self.dice.roll(20) {
            0..=4 => ("search", json!({ "query": question })),
            5 => ("search", json!({ "query": "is:task tag:budget" })),
            6 | 7 => ("fetch", json!({ "id": here })),
            8 => ("outline", json!({ "id": "soak/" })),
            9 => ("links", json!({ "id": here })),
            10 => ("changes", json!({})),
            11 | 12 => (
                "create",
                json!({ "path": here, "text": format!("# Soak\n\n{words}\n\n## Part\n\n{words}\n") }),
            ),
            13 | 14 => (
                "edit",
                json!({ "id": format!("{here}#Part"), "new": words }),
            ),
            15 => ("rename", json!({ "id": here, "to": there })),
            16 => ("delete", json!({ "id": there })),
            17 => ("undo", json!({})),
            18 => (
                "set_fields",
                json!({ "id": here, "set": { "count": self.calls } }),
            ),
            // Nonsense is answered as well.
            _ => (
                "search",
                json!({ "query": "\"".repeat(self.dice.roll(500)), "limit": -1 }),
            ),
        };
        let (_, text) = server.call_text(tool, &arguments)?;
        ensure!(!text.starts_with("internal"), "{tool} {arguments}: {text}");
        self.calls += 1;
        self.refused += usize::from(serde_json::from_str::<Value>(&text).is_err());
        if self.calls.is_multiple_of(100) {
            // Another program writes as well.
            let text = format!("# Outside\n\n{words}\n");
            fs::write(folder.root().join("desk/outside.md"), text)?;
        }
        Ok(())
    }
}
