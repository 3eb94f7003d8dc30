//! Whatever happens to the files between two calls, and whatever is killed, nothing is called verified that is not there,
//! nothing from outside the collection is said, nothing crashes, and every error has its type.
//!
//! Choices come from the printed seed; how far a run had come when it was killed depends on the machine too.
//! `SECTILE_CASES=10000` runs as many rounds.

mod library;

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::Stdio as Pipe,
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use self::library::{COLLECTION, Library, NAMES};
use super::{Client, dice::Dice, error_of, proof};
use crate::fixture::{Backends, Era, IndexHome, SECRET, Where};

const SEED: u64 = 0x5ec7_11e5;
/// One round in this many ends with a kill.
const KILLED: usize = 12;

/// Rounds in all.
pub(super) fn rounds() -> usize {
    let asked = std::env::var("SECTILE_CASES").ok();
    asked
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(2_000)
}

/// Plays a game of its own seed, and prints what was counted.
#[expect(clippy::print_stdout, reason = "the counts of a test")]
fn play(number: u64, era: Era, with_index: bool, rounds: usize, place: Where) {
    let seed = SEED + number;
    println!("seed {seed:#x}, {rounds} rounds, {place:?}");
    println!("{:?}", Game::play(seed, era, with_index, rounds, place));
}

#[test]
fn nothing_false_is_verified_without_an_index_on_disk() {
    let place = Where::new(false, IndexHome::Folder);
    play(0, Era::Handshake, false, rounds() / 2, place);
}

#[test]
fn nothing_false_is_verified_with_an_index_on_disk_that_is_made_anew_meanwhile() {
    let place = Where::new(false, IndexHome::Folder);
    play(1, Era::Stateless, true, rounds() / 2, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_in_a_bucket() {
    let place = Where::new(true, IndexHome::Folder);
    play(2, Era::Handshake, false, rounds() / 8, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_with_an_index_in_a_database() {
    let place = Where::new(false, IndexHome::Postgres);
    play(3, Era::Stateless, true, rounds() / 8, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_in_a_bucket_with_an_index_in_a_database() {
    let place = Where::new(true, IndexHome::Postgres);
    play(4, Era::Handshake, true, rounds() / 8, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_with_an_index_in_a_bucket() {
    let place = Where::new(false, IndexHome::Bucket);
    play(5, Era::Handshake, true, rounds() / 8, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_in_a_bucket_with_an_index_in_another() {
    let place = Where::new(true, IndexHome::Bucket);
    play(6, Era::Stateless, true, rounds() / 8, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_with_an_index_in_pinecone() {
    let place = Where::new(false, IndexHome::Pinecone);
    play(7, Era::Handshake, true, rounds() / 4, place);
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_with_an_index_in_weaviate() {
    let place = Where::new(false, IndexHome::Weaviate);
    play(8, Era::Stateless, true, rounds() / 4, place);
}

/// What was counted, to see that the game was played at all.
#[derive(Debug, Default)]
struct Counts {
    changes: usize,
    calls: usize,
    hits: usize,
    fetched: usize,
    delivered: usize,
    chains: usize,
    artifacts: usize,
    gone: usize,
    moved: usize,
    other_errors: usize,
    indexed: usize,
    servers_killed: usize,
    /// Runs that were to be killed, those of them that had not ended before, and those that left their lease in a service.
    runs_begun: usize,
    runs_killed: usize,
    leases_left: usize,
}

/// One library, one server at a time, one caller.
struct Game<'a> {
    library: &'a Library,
    backends: &'a Backends,
    client: Client<'a>,
    root: PathBuf,
    with_index: bool,
    /// The time that a whole run took.
    run_time: Duration,
    dice: Dice,
    counts: Counts,
    /// Ids that were true at some time. Which ones depends on the seed alone.
    ids: Vec<String>,
    /// The id that the server gave out last.
    given: Option<String>,
    stream: Option<String>,
    /// What happened last, for a message.
    last: Vec<String>,
}

impl<'a> Game<'a> {
    fn play(seed: u64, era: Era, with_index: bool, rounds: usize, place: Where) -> Counts {
        let mut dice = Dice::new(seed);
        let library = Library::new(&mut dice, place.in_bucket);
        let backends = Backends::start(place, &library.vault);
        let command = backends.server(&library.vault, "");
        let mut game = Game {
            root: library.root(),
            library: &library,
            backends: &backends,
            client: Client::start(&library.vault, command, era),
            with_index,
            run_time: Duration::ZERO,
            dice,
            counts: Counts::default(),
            ids: Vec::new(),
            given: None,
            stream: None,
            last: Vec::new(),
        };
        if with_index {
            let started = Instant::now();
            game.index();
            game.run_time = started.elapsed();
        }
        game.client.enter(COLLECTION);
        for round in 0..rounds {
            if with_index && round % 250 == 249 {
                game.index();
            }
            if round % 100 == 99 {
                library.restore();
            }
            game.round();
            if game.dice.one_in(KILLED) {
                match with_index && game.dice.one_in(2) {
                    true => game.kill_run(),
                    false => game.kill_server(),
                }
            }
        }
        game.finish(rounds)
    }

    /// Kills the server, perhaps in the middle of a call, and starts another.
    fn kill_server(&mut self) {
        if self.dice.one_in(2) {
            let mut arguments = json!({ "query": self.dice.words(3) });
            if let Some(handle) = &self.client.handle {
                arguments["context_handle"] = json!(handle);
            }
            let call = self.client.era.call(1, "semantic_search", arguments);
            self.client.server.send_line(&call.to_string());
            let after = self.dice.below(8_000);
            sleep(Duration::from_micros(after as u64));
        }
        self.client.server.kill();
        self.counts.servers_killed += 1;
        self.note("server killed".to_owned());
        let library: &'a Library = self.library;
        let command = self.backends.server(&library.vault, "");
        self.client = Client::start(&library.vault, command, self.client.era);
        self.stream = None;
        // Only a collection that is there can be entered.
        if !library.is_there() {
            library.restore();
        }
        self.client.enter(COLLECTION);
    }

    /// Starts a run that indexes, perhaps goes on meanwhile, and kills the run.
    fn kill_run(&mut self) {
        let mut command = self.backends.index(&self.library.vault);
        command.arg(COLLECTION);
        command.stdout(Pipe::null()).stderr(Pipe::null());
        self.backends.end_leases();
        let mut run = command.spawn().unwrap();
        if self.dice.one_in(2) {
            self.round();
        }
        let share = u32::try_from(self.dice.below(100)).unwrap();
        sleep(self.run_time * share / 100);
        run.kill().unwrap();
        let is_killed = run.wait().unwrap().signal().is_some();
        self.counts.runs_begun += 1;
        self.counts.runs_killed += usize::from(is_killed);
        let has_lease = self.backends.records().iter().any(|id| id == "lease");
        self.counts.leases_left += usize::from(has_lease);
        self.note(format!("run killed after {share} %: {is_killed}"));
        if self.dice.one_in(2) {
            self.index();
        }
    }

    /// Some changes, then a call that is held against the disk.
    fn round(&mut self) {
        for _ in 0..self.dice.below(3) {
            let change = self.library.change(&mut self.dice);
            self.counts.changes += usize::from(change != "nothing");
            self.note(change.to_owned());
        }
        self.remember();
        self.counts.calls += 1;
        match self.dice.below(10) {
            0..=2 => self.search(),
            3..=5 => self.fetch(),
            6..=7 => self.pull(),
            8 => self.explain(),
            _ => self.artifact(),
        }
    }

    fn note(&mut self, what: String) {
        self.last.push(what);
        if self.last.len() > 12 {
            self.last.remove(0);
        }
    }

    /// Keeps the id of a passage that is there now.
    fn remember(&mut self) {
        let name = *self.dice.pick(&NAMES);
        let Some(bytes) = self.library.read(name).filter(|bytes| !bytes.is_empty()) else {
            return;
        };
        let (start, end) = match self.dice.one_in(2) {
            true => {
                let start = self.dice.below(bytes.len());
                (start, start + 1 + self.dice.below(bytes.len() - start))
            }
            false => paragraph(&bytes, self.dice.below(bytes.len())),
        };
        let id = proof::id_of(&format!("{COLLECTION}/{name}"), &bytes, start, end);
        self.ids.push(id);
    }

    /// An id that was true at some time, mostly not long ago. The dice are thrown alike whatever the server said.
    fn some_id(&mut self) -> String {
        let recent = self.ids.len().saturating_sub(20);
        let from = if self.dice.one_in(4) { 0 } else { recent };
        let own = match &self.ids[from..] {
            [] => format!("{COLLECTION}/a.md@0-1:0123456789abcdef"),
            ids => self.dice.pick(ids).clone(),
        };
        let is_own = !self.dice.one_in(5);
        self.given.clone().filter(|_| !is_own).unwrap_or(own)
    }

    /// What a call answers, or its error.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        self.note(format!("{tool} {arguments}"));
        let result = self.client.result(tool, arguments);
        let text = result.to_string();
        assert!(!text.contains(SECRET), "{:?}: {text}", self.last);
        if result["isError"] != true {
            return Ok(result["structuredContent"].clone());
        }
        let error = error_of(&result);
        let kind = error["type"].as_str().unwrap();
        let is_expected = [
            "collection_not_found",
            "source_not_found",
            "artifact_not_found",
            "stream_token_invalid",
            "upstream_failure",
        ];
        assert!(is_expected.contains(&kind), "{:?}: {error}", self.last);
        Err(error)
    }

    /// An error that only a collection that is not there excuses.
    fn excuse(&mut self, error: &Value) {
        let is_there = self.library.is_there();
        assert_eq!(
            error["type"], "collection_not_found",
            "{:?}: {error}",
            self.last
        );
        assert!(
            !is_there,
            "the collection is there: {:?}: {error}",
            self.last
        );
        self.counts.other_errors += 1;
    }

    fn search(&mut self) {
        let arguments = json!({ "query": self.dice.words(3), "k": 1 + self.dice.below(10) });
        match self.call("semantic_search", arguments) {
            Ok(answer) => {
                proof::assert_found(&self.root, COLLECTION, &answer);
                let unseen = &answer["metadata"]["passages_not_seen"];
                assert!(
                    unseen.is_null() || *unseen == 0,
                    "{:?}: {answer}",
                    self.last
                );
                let results = answer["results"].as_array().unwrap();
                self.counts.hits += results.len();
                if let Some(id) = results.first() {
                    self.given = id["reference_id"].as_str().map(str::to_owned);
                }
            }
            Err(error) => self.excuse(&error),
        }
    }

    fn fetch(&mut self) {
        let id = self.some_id();
        let is_true = proof::Id::of(&id).proven(&self.root).is_some();
        match self.call("fetch_passage", json!({ "source_id": id })) {
            Ok(answer) => {
                assert_eq!(answer["source_id"], id);
                proof::assert_fetched(&self.root, &answer);
                self.counts.fetched += 1;
            }
            Err(error) => self.refused(&id, is_true, &error),
        }
    }

    /// A passage is refused only when it is not there, and for the true reason.
    fn refused(&mut self, id: &str, is_true: bool, error: &Value) {
        assert!(
            !is_true,
            "a passage that is there is refused: {:?}: {error}",
            self.last
        );
        if error["type"] != "source_not_found" {
            return self.excuse(error);
        }
        proof::assert_gone(&self.root, id, &error["context"]);
        self.counts.gone += 1;
        if let Some(new) = error["context"]["new_source_id"].as_str() {
            self.counts.moved += 1;
            self.given = Some(new.to_owned());
        }
    }

    fn pull(&mut self) {
        let arguments = json!({ "query": self.dice.words(2) });
        let Some(token) = self.stream.take() else {
            match self.call("begin_result_stream", arguments) {
                Ok(begun) => self.stream = begun["stream_token"].as_str().map(str::to_owned),
                Err(error) => self.excuse(&error),
            }
            return;
        };
        match self.call("next_stream_chunk", json!({ "stream_token": token })) {
            Ok(chunk) => {
                proof::assert_delivered(&self.root, COLLECTION, &chunk);
                self.counts.delivered += 1;
                for link in chunk["payload"]["links"].as_array().into_iter().flatten() {
                    let fresh = proof::staleness(&self.root, COLLECTION, &self.library.sources);
                    let is_recorded = self.library.has_record();
                    assert!(
                        !is_recorded || link["staleness_indicator"] == fresh,
                        "{link}"
                    );
                }
                let has_more = chunk["continuation"]["has_more"] == true;
                self.stream = has_more.then_some(token);
            }
            Err(error) => {
                self.excuse(&error);
                self.stream = Some(token).filter(|_| error["type"] != "stream_token_invalid");
            }
        }
    }

    fn explain(&mut self) {
        let id = self.some_id();
        let is_true = proof::Id::of(&id).proven(&self.root).is_some();
        match self.call(
            "explain_provenance",
            json!({ "id": id, "id_type": "source" }),
        ) {
            Ok(answer) => {
                proof::assert_chain(&self.root, COLLECTION, &answer);
                self.counts.chains += 1;
            }
            Err(error) => self.refused(&id, is_true, &error),
        }
    }

    fn artifact(&mut self) {
        let id = "sum/summary.md";
        let explain = self.dice.one_in(2);
        let answer = if explain {
            self.call(
                "explain_provenance",
                json!({ "id": id, "id_type": "artifact" }),
            )
        } else {
            self.call("retrieve_artifact", json!({ "artifact_id": id }))
        };
        // One bit of the record may be another now, so the record is what it says today.
        match answer {
            Ok(answer) if explain => {
                proof::assert_chain(&self.root, COLLECTION, &answer);
                self.counts.artifacts += 1;
            }
            Ok(answer) if self.library.has_record() => {
                let sources = &self.library.sources;
                proof::assert_artifact(&self.root, COLLECTION, sources, &answer);
                self.counts.artifacts += 1;
            }
            Ok(answer) => assert_eq!(answer["integrity"]["verified"], true),
            Err(error) if error["type"] == "collection_not_found" => self.excuse(&error),
            Err(error) => {
                let is_sound = self.library.has_sound_artifact();
                assert!(
                    !is_sound,
                    "a sound artifact is refused: {:?}: {error}",
                    self.last
                );
                self.counts.other_errors += 1;
            }
        }
    }

    fn index(&mut self) {
        let mut command = self.backends.index(&self.library.vault);
        command.arg(COLLECTION);
        let output = self.backends.after_kill(command);
        let done = output.status.code();
        assert!([Some(0), Some(1)].contains(&done), "{output:?}");
        assert_eq!(done == Some(0), self.library.is_there(), "{output:?}");
        self.counts.indexed += usize::from(done == Some(0));
    }

    /// The game was really played, and the last server ends in order.
    fn finish(self, rounds: usize) -> Counts {
        let Counts {
            hits,
            fetched,
            delivered,
            chains,
            artifacts,
            gone,
            servers_killed,
            runs_killed,
            leases_left,
            ..
        } = self.counts;
        for (what, count) in [
            ("hits", hits),
            ("fetched", fetched),
            ("delivered", delivered),
            ("chains", chains),
            ("artifacts", artifacts),
            ("gone", gone),
        ] {
            assert!(count * 100 >= rounds, "{what}: {count} of {rounds} rounds");
        }
        // Far fewer than the dice give: many runs end before they are killed, and few are killed while they have a lease.
        let is_service = !self.backends.records().is_empty();
        for (what, count, rare) in [
            ("servers killed", servers_killed, Some(8)),
            ("runs killed", runs_killed, self.with_index.then_some(16)),
            ("leases left", leases_left, is_service.then_some(32)),
        ] {
            let is_enough = rare.is_none_or(|rare| count * KILLED * rare >= rounds);
            assert!(is_enough, "{what}: {count} in {rounds} rounds");
        }
        assert!(self.client.server.finish().success());
        self.counts
    }
}

/// The lines around a byte, up to the nearest empty ones: what a notebook is cut into.
fn paragraph(bytes: &[u8], at: usize) -> (usize, usize) {
    let empty = |bytes: &[u8]| bytes == b"\n\n";
    let before = bytes[..at].windows(2).rposition(empty);
    let after = bytes[at..].windows(2).position(empty);
    let start = before.map_or(0, |before| before + 2);
    (
        start,
        after.map_or(bytes.len(), |after| at + after).max(start + 1),
    )
}
