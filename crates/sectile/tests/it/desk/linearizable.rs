//! What sixteen clients and another program saw, at the same time in the same documents, could have happened one after the
//! other: no answer is stale, no edit is lost, and none is refused without a reason.
//!
//! `SECTILE_CASES=2000` makes as many calls.

mod checker;
#[cfg(feature = "backends")]
mod servers;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use serde_json::{Value, json};

use self::checker::{Action, State, Step, order};
use super::protocol::over_http;
use crate::{
    fixture::{Era, Http, TestDesk},
    notebook::dice::Dice,
};

const SEED: u64 = 0x11ea_12ab;
const DOCUMENTS: usize = 4;
/// The sections of each document: two registers and a list.
const REGISTERS: usize = 2;
const LIST: usize = REGISTERS;
/// Clients on stdio, each with a process of its own, and as many of one server over HTTP.
const CLIENTS: usize = 8;

fn calls() -> usize {
    let asked = std::env::var("SECTILE_CASES").ok();
    asked.and_then(|calls| calls.parse().ok()).unwrap_or(480)
}

fn path(document: usize) -> String {
    format!("note-{document}.md")
}

/// A document with these texts. Lines start with `zz`, so that they are found in an answer.
fn text(state: &State) -> String {
    let mut text = "# Note\n".to_owned();
    for (section, lines) in state.iter().enumerate() {
        text += &format!("\n## Part {section}\n\n{}\n", lines.join("\n\n"));
    }
    text
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with("zz"));
    lines.map(str::to_owned).collect()
}

/// The clock, the histories of all documents, and how calls ended.
#[derive(Default)]
struct Recorder {
    clock: AtomicU64,
    histories: [Mutex<Vec<Step>>; DOCUMENTS],
    busy: AtomicU64,
}

impl Recorder {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Does something, and records when and with which outcome; without one, nothing happened.
    fn record(&self, document: usize, act: impl FnOnce() -> Option<Action>) {
        let began = self.tick();
        let action = act();
        let ended = self.tick();
        match action {
            Some(action) => self.histories[document].lock().unwrap().push(Step {
                began,
                ended,
                action,
            }),
            None => {
                self.busy.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// One client: what it asks is up to its dice.
struct Caller<'a> {
    name: String,
    dice: Dice,
    words: usize,
    recorder: &'a Recorder,
    ask: &'a mut dyn FnMut(&str, Value) -> Value,
}

impl Caller<'_> {
    fn word(&mut self) -> String {
        self.words += 1;
        format!("zz{}w{}", self.name, self.words)
    }

    /// Reads a section, and returns its lines and the base to write with.
    fn read(&mut self, document: usize, section: usize) -> (Vec<String>, String) {
        let mut answer = String::new();
        let id = format!("{}#Part {section}", path(document));
        let Self { recorder, ask, .. } = self;
        recorder.record(document, || {
            let result = ask("fetch", json!({ "id": id }));
            assert_eq!(result["isError"], false, "{result}");
            result["content"][0]["text"]
                .as_str()
                .unwrap()
                .clone_into(&mut answer);
            let lines = lines(&answer);
            Some(Action::Read { section, lines })
        });
        let base = answer.split(" | base ").nth(1).unwrap();
        let base = base.split([' ', '\n']).next().unwrap();
        (lines(&answer), base.to_owned())
    }

    /// Calls `edit`; it succeeds, or is refused for one of the reasons, or it is busy.
    fn edit(&mut self, arguments: Value, refusals: &[&str]) -> Option<bool> {
        let result = (self.ask)("edit", arguments);
        if result["isError"] == false {
            return Some(true);
        }
        let text = result["content"][0]["text"].as_str().unwrap();
        let (code, _) = text.split_once(": ").unwrap();
        if code == "busy" {
            return None;
        }
        assert!(refusals.contains(&code), "{text}");
        Some(false)
    }

    fn swap(&mut self, document: usize, section: usize) {
        let (held, base) = self.read(document, section);
        let new = self.word();
        let [old] = &held[..] else {
            panic!("a register holds {held:?}")
        };
        let old = old.clone();
        let id = format!("{}#Part {section}", path(document));
        // The same is meant in two ways: by the text that is replaced, and by the base of what was read.
        let by_text = self.dice.one_in(2);
        let (arguments, refusal) = match by_text {
            true => (
                json!({ "id": id, "old": old, "new": new }),
                "text_not_found",
            ),
            false => (json!({ "id": id, "new": new, "base": base }), "conflict"),
        };
        let recorder = self.recorder;
        recorder.record(document, || {
            let done = self.edit(arguments, &[refusal])?;
            Some(Action::Swap {
                section,
                old,
                new,
                done,
            })
        });
    }

    fn append(&mut self, document: usize) {
        let line = self.word();
        let id = format!("{}#Part {LIST}", path(document));
        let arguments = json!({ "id": id, "new": line, "place": "append" });
        let recorder = self.recorder;
        recorder.record(document, || {
            self.edit(arguments, &[])?;
            Some(Action::Append {
                section: LIST,
                line,
            })
        });
    }

    fn play(&mut self, calls: usize) {
        for _ in 0..calls {
            let document = self.dice.below(DOCUMENTS);
            match self.dice.below(5) {
                0 => drop(self.read(document, LIST)),
                1 => self.append(document),
                _ => {
                    let section = self.dice.below(REGISTERS);
                    self.swap(document, section);
                }
            }
        }
    }
}

fn start(document: usize) -> State {
    let line = |section| vec![format!("zzstart{document}s{section}")];
    (0..=LIST).map(line).collect()
}

/// Replaces one document after the other, as programs do that write a file beside it and rename that.
fn outside_program(desk: &TestDesk, recorder: &Recorder, writes: usize) {
    for number in 0..writes {
        // It has the last documents for itself: what is in the others only clients of the desk have written.
        let document = DOCUMENTS - 1 - number % 2;
        let state: State = (0..=LIST)
            .map(|section| vec![format!("zzoutside{number}s{section}")])
            .collect();
        let beside = desk.location(&format!(".{}.new", path(document)));
        std::fs::write(&beside, text(&state)).unwrap();
        recorder.record(document, || {
            std::fs::rename(&beside, desk.location(&path(document))).unwrap();
            Some(Action::Overwrite { state })
        });
        thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Fails unless there is an order that fits all that was seen. In the end, the documents have these texts. Returns the numbers
/// of steps, refused edits, and calls that were not carried out.
fn judge(recorder: Recorder, final_text: &dyn Fn(usize) -> String) -> (usize, usize, u64) {
    let (mut steps, mut refused) = (0, 0);
    for (document, history) in recorder.histories.into_iter().enumerate() {
        let mut history = history.into_inner().unwrap();
        let end = recorder.clock.fetch_add(1, Ordering::SeqCst);
        // In the end, the file holds what the last step left.
        for section in 0..=LIST {
            let text = final_text(document);
            let part = text.split("\n## Part ").nth(section + 1).unwrap();
            history.push(Step {
                began: end,
                ended: end + 1,
                action: Action::Read {
                    section,
                    lines: lines(part),
                },
            });
        }
        history.sort_by_key(|step| step.began);
        steps += history.len();
        let is_refused = |step: &&Step| matches!(step.action, Action::Swap { done: false, .. });
        refused += history.iter().filter(is_refused).count();
        if let Err(longest) = order(&start(document), &history) {
            let left = (0..history.len()).filter(|at| !longest.contains(at));
            let left: Vec<_> = left.map(|at| &history[at]).take(12).collect();
            panic!(
                "{}: after {} of {} steps nothing fits: {left:#?}",
                path(document),
                longest.len(),
                history.len()
            );
        }
    }
    (steps, refused, recorder.busy.into_inner())
}

#[test]
fn sixteen_clients_and_another_program_see_one_order_of_all_edits() {
    println!("seed {SEED:#x}, {} calls", calls());
    let desk = TestDesk::new(&[]);
    for document in 0..DOCUMENTS {
        desk.overwrite(&path(document), text(&start(document)));
    }
    let recorder = Recorder::default();
    let server = Http::spawn(&desk.vault, desk.command(""));
    let each = calls() / (2 * CLIENTS);
    let ready = Barrier::new(2 * CLIENTS + 1);
    thread::scope(|scope| {
        for client in 0..2 * CLIENTS {
            let (desk, server, recorder, ready) = (&desk, &server, &recorder, &ready);
            scope.spawn(move || {
                let era = Era::BOTH[client / 2 % 2];
                let mut over_stdio = (client % 2 == 0).then(|| desk.open_with(era, ""));
                let mut over_http = over_http(server, era);
                let mut ask = |tool: &str, arguments: Value| match &mut over_stdio {
                    Some(client) => client.call(tool, arguments),
                    None => over_http(tool, arguments),
                };
                let mut caller = Caller {
                    name: client.to_string(),
                    dice: Dice::new(SEED + client as u64),
                    words: 0,
                    recorder,
                    ask: &mut ask,
                };
                ready.wait();
                caller.play(each);
            });
        }
        ready.wait();
        outside_program(&desk, &recorder, each);
    });
    let (steps, refused, busy) = judge(recorder, &|document| desk.text(&path(document)));
    println!("{steps} steps, {refused} refused, {busy} busy");
    // Clients got in each other's way, or nothing was tested.
    assert!(refused > 0 && busy * 10 < steps as u64, "{refused} {busy}");
}
