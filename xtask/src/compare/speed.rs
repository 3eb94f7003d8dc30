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
/// Notes that have to be found before a folder counts as read.
const SAMPLES: usize = 12;
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
    let complete = match wait_until_complete(trial, &mut client, count, start)? {
        Completeness::NoSearch => Value::Null,
        Completeness::After(time) => json!(round(time.as_secs_f64())),
        Completeness::Unfinished => {
            let memory = client.peak_memory();
            return Ok(json!({ "unfinished_s": INDEXING.as_secs(), "memory_mib": memory }));
        }
    };
    drop(client);

    let start = Instant::now();
    let mut client = trial.start(&workspace)?;
    first.ask(trial, &mut client)?;
    let started = start.elapsed();
    // A large folder may be read again after the first answer.
    wait_until_complete(trial, &mut client, count, start)?;
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

/// Whether the whole folder can be searched.
enum Completeness {
    NoSearch,
    After(Duration),
    Unfinished,
}

/// Waits until notes from all over the folder are found: programs read it in different orders.
fn wait_until_complete(
    trial: &Trial<'_>,
    client: &mut Client,
    count: usize,
    start: Instant,
) -> Result<Completeness> {
    // Moment of the last look that failed: those that succeed take time, too, and not the same for all programs.
    let mut complete = start.elapsed();
    for sample in 0..SAMPLES {
        let number = (count - 1) * sample / (SAMPLES - 1);
        loop {
            let found = trial.program.search(client, &notes::mark(number))?;
            if matches!(found, Reply::Cannot) {
                return Ok(Completeness::NoSearch);
            }
            // Sectile says when it is still reading.
            let is_reading = !client.last["result"]["structuredContent"]["index"].is_null();
            if !is_reading && names_note(&client.last, number) {
                break;
            }
            if start.elapsed() > INDEXING {
                return Ok(Completeness::Unfinished);
            }
            thread::sleep(Duration::from_millis(50));
            complete = start.elapsed();
        }
    }
    Ok(Completeness::After(complete))
}

/// Returns whether an answer names a note, and not one whose number only begins like it.
fn names_note(answer: &Value, number: usize) -> bool {
    let (answer, name) = (answer.to_string(), format!("note-{number}"));
    let mut rest = answer.split(&name).skip(1);
    rest.any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_not_taken_for_one_with_a_longer_number() {
        let answer = json!({ "text": "area-0/note-12.md and note-3" });
        assert!(names_note(&answer, 12) && names_note(&answer, 3));
        assert!(!names_note(&answer, 1));
    }
}
