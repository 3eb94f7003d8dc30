//! Speed and memory in a folder of generated notes.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::client::{Client, Reply};
use super::notes::{self, Dice, HEADINGS, Workspace};
use super::programs::SectionAddress;
use super::safety::Trial;

const SEARCHES: usize = 30;
const READS: usize = 30;
const EDITS: usize = 20;
/// Time in which a program may read the folder.
const INDEXING: Duration = Duration::from_secs(240);

/// Measures in a folder with `count` notes.
pub(super) fn measure(trial: &Trial<'_>, count: usize) -> Result<Value> {
    let program = trial.program;
    let workspace = Workspace::create(trial.folder)?;
    notes::generate(&workspace, count)?;
    let start = Instant::now();
    program.index(trial.tools, &workspace)?;
    let mut client = trial.start(&workspace)?;
    let first = FirstQuestion::new(&workspace, count);
    first.ask(trial, &mut client)?;
    // Until the note that was written last is found.
    let last = format!("note-{}", count - 1);
    let complete = loop {
        let found = program.search(&mut client, &notes::mark(count - 1))?;
        if matches!(found, Reply::Cannot) {
            break Value::Null;
        }
        if client.last.to_string().contains(&last) {
            break json!(round(start.elapsed().as_secs_f64()));
        }
        if start.elapsed() > INDEXING {
            let memory = client.peak_memory();
            return Ok(json!({ "unfinished_s": INDEXING.as_secs(), "memory_mib": memory }));
        }
        thread::sleep(Duration::from_millis(100));
    };
    drop(client);

    let start = Instant::now();
    let mut client = trial.start(&workspace)?;
    first.ask(trial, &mut client)?;
    let started = start.elapsed();
    let mut dice = Dice::new(7);
    let search = median(SEARCHES, || {
        let words = format!("{} {}", dice.word(), dice.word());
        program.search(&mut client, &words)
    })?;
    let mut dice = Dice::new(8);
    let read = median(READS, || {
        let note = notes::name(dice.roll(count));
        program.read(&mut client, &section(&workspace, &note, 1))
    })?;
    let edit = median(EDITS, || {
        let note = notes::name(dice.roll(count));
        program.append(
            &mut client,
            &section(&workspace, &note, 2),
            "One more line.",
        )
    })?;
    let nothing = median(SEARCHES, || program.nothing(&mut client))?;
    Ok(json!({
        "complete_s": complete,
        "start_ms": round(started.as_secs_f64() * 1e3),
        "search_ms": search,
        "read_ms": read,
        "edit_ms": edit,
        "call_ms": nothing,
        "memory_mib": client.peak_memory(),
    }))
}

/// The first question to a program: a search if it has one, else a section.
struct FirstQuestion<'a> {
    workspace: &'a Workspace,
    note: String,
}

impl<'a> FirstQuestion<'a> {
    fn new(workspace: &'a Workspace, count: usize) -> Self {
        Self {
            workspace,
            note: notes::name(count / 2),
        }
    }

    fn ask(&self, trial: &Trial<'_>, client: &mut Client) -> Result<()> {
        let mut reply = trial.program.search(client, "harbour budget")?;
        if matches!(reply, Reply::Cannot) {
            reply = trial
                .program
                .read(client, &section(self.workspace, &self.note, 1))?;
        }
        if matches!(reply, Reply::Cannot) {
            reply = trial.program.nothing(client)?;
        }
        ensure!(
            reply.is_done(),
            "the first question was refused: {}",
            super::short(reply.text())
        );
        Ok(())
    }
}

fn section<'a>(workspace: &'a Workspace, note: &'a str, heading: usize) -> SectionAddress<'a> {
    SectionAddress {
        workspace,
        note,
        heading: HEADINGS[heading],
    }
}

/// Returns the median time of a call in milliseconds, or null if the program has no such call.
fn median(rounds: usize, mut call: impl FnMut() -> Result<Reply>) -> Result<Value> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let reply = call()?;
        let elapsed = start.elapsed();
        match reply {
            Reply::Cannot => return Ok(Value::Null),
            Reply::Done(_) => times.push(elapsed),
            // Quick refusals are not fast answers.
            Reply::Refused(text) => println!("  refused: {}", super::short(&text)),
        }
    }
    ensure!(times.len() * 2 > rounds, "most calls were refused");
    times.sort();
    Ok(json!(round(times[times.len() / 2].as_secs_f64() * 1e3)))
}

/// Rounds to what such figures are good for: whole numbers from ten on, else two decimal places.
fn round(value: f64) -> f64 {
    let digits = if value >= 10.0 { 1.0 } else { 100.0 };
    (value * digits).round() / digits
}
