//! Whatever happens to the files between two calls, nothing is called verified that is not there, nothing from outside the
//! collection is said, nothing crashes, and every error has its type.
//!
//! Choices come from the printed seed. `SECTILE_CASES=10000` runs as many rounds.

mod library;

use std::path::PathBuf;

use serde_json::{Value, json};

use self::library::{COLLECTION, Library, NAMES};
use super::{Client, dice::Dice, error_of, proof};
use crate::fixture::{Backends, Era, IndexHome, SECRET, Stdio, Where, initialize};

const SEED: u64 = 0x5ec7_11e5;

/// Rounds in all.
fn rounds() -> usize {
    let asked = std::env::var("SECTILE_CASES").ok();
    asked
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(2_000)
}

#[test]
fn nothing_false_is_verified_without_an_index_on_disk() {
    println!("seed {SEED:#x}, {} rounds", rounds() / 2);
    let counts = Game::play(
        SEED,
        Era::Handshake,
        false,
        rounds() / 2,
        Where::new(false, IndexHome::Folder),
    );
    println!("{counts:?}");
}

#[test]
fn nothing_false_is_verified_with_an_index_on_disk_that_is_made_anew_meanwhile() {
    println!("seed {:#x}, {} rounds", SEED + 1, rounds() / 2);
    let counts = Game::play(
        SEED + 1,
        Era::Stateless,
        true,
        rounds() / 2,
        Where::new(false, IndexHome::Folder),
    );
    println!("{counts:?}");
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_in_a_bucket() {
    println!("seed {:#x}, {} rounds", SEED + 2, rounds() / 8);
    let counts = Game::play(
        SEED + 2,
        Era::Handshake,
        false,
        rounds() / 8,
        Where::new(true, IndexHome::Folder),
    );
    println!("{counts:?}");
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_with_an_index_in_a_database() {
    println!("seed {:#x}, {} rounds", SEED + 3, rounds() / 8);
    let counts = Game::play(
        SEED + 3,
        Era::Stateless,
        true,
        rounds() / 8,
        Where::new(false, IndexHome::Postgres),
    );
    println!("{counts:?}");
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_in_a_bucket_with_an_index_in_a_database() {
    println!("seed {:#x}, {} rounds", SEED + 4, rounds() / 8);
    let counts = Game::play(
        SEED + 4,
        Era::Handshake,
        true,
        rounds() / 8,
        Where::new(true, IndexHome::Postgres),
    );
    println!("{counts:?}");
}

#[cfg(feature = "backends")]
#[test]
fn nothing_false_is_verified_with_an_index_in_a_bucket() {
    println!("seed {:#x}, {} rounds", SEED + 5, rounds() / 4);
    for (at, in_bucket) in [false, true].into_iter().enumerate() {
        let counts = Game::play(
            SEED + 5 + at as u64,
            Era::BOTH[at],
            true,
            rounds() / 8,
            Where::new(in_bucket, IndexHome::Bucket),
        );
        println!("{counts:?}");
    }
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
}

/// One library, one server, one caller.
struct Game<'a> {
    library: &'a Library,
    backends: &'a Backends,
    client: Client<'a>,
    root: PathBuf,
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

impl Game<'_> {
    fn play(seed: u64, era: Era, with_index: bool, rounds: usize, place: Where) -> Counts {
        let mut dice = Dice::new(seed);
        let library = Library::new(&mut dice, place.in_bucket);
        let backends = Backends::start(place, &library.vault);
        let mut server = Stdio::spawn(&library.vault, backends.server(&library.vault, ""));
        if era == Era::Handshake {
            server.exchange(&initialize(0));
            server.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        let client = Client {
            era,
            server,
            handle: None,
        };
        let mut game = Game {
            root: library.root(),
            library: &library,
            backends: &backends,
            client,
            dice,
            counts: Counts::default(),
            ids: Vec::new(),
            given: None,
            stream: None,
            last: Vec::new(),
        };
        if with_index {
            game.index();
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
        }
        game.finish(rounds)
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
        let output = command.output().unwrap();
        let done = output.status.code();
        assert!([Some(0), Some(1)].contains(&done), "{output:?}");
        assert_eq!(done == Some(0), self.library.is_there(), "{output:?}");
        self.counts.indexed += usize::from(done == Some(0));
    }

    /// The game was really played, and the server ends in order.
    fn finish(self, rounds: usize) -> Counts {
        let Counts {
            hits,
            fetched,
            delivered,
            chains,
            artifacts,
            gone,
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
