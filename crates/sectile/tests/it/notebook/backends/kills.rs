//! `sectile notebook index --to` every storage, killed at many moments: the index that is there is the old one or the new one,
//! whole, and the next run completes and leaves nothing behind. `SECTILE_CASES=10000` makes it 80 kills.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio as Pipe},
    thread::{sleep, yield_now},
    time::{Duration, Instant},
};

use sectile_test_servers::{PineconeEmulator, WeaviateEmulator};
use serde_json::{Value, json};

use crate::{
    fixture::{Backends, IndexHome, Where, sectile},
    notebook::{
        Library,
        dice::Dice,
        kills::{is_of, opened, unfinished},
        mutation::rounds,
    },
};

const NOTEBOOKS: usize = 24;
/// The kills that are spread over one run.
const TURN: usize = 16;
/// The requests of a run that are near its end.
const LAST: usize = 14;
const QUERY: &str = "ice lake thin snow river measured depth";
/// The manifests that a service keeps for readers that are behind.
const MANIFESTS: usize = 6;

#[test]
fn a_run_that_was_killed_leaves_the_old_or_the_new_state_in_postgres() {
    KilledRuns::play(IndexHome::Postgres);
}

#[test]
fn a_run_that_was_killed_leaves_the_old_or_the_new_state_in_a_bucket() {
    KilledRuns::play(IndexHome::Bucket);
}

#[test]
fn a_run_that_was_killed_leaves_the_old_or_the_new_state_in_pinecone() {
    KilledRuns::play(IndexHome::Pinecone);
}

#[test]
fn a_run_that_was_killed_leaves_the_old_or_the_new_state_in_weaviate() {
    KilledRuns::play(IndexHome::Weaviate);
}

fn kills() -> usize {
    rounds() / 125
}

/// What a run that was not killed did, to spread kills over it.
struct WholeRun {
    time: Duration,
    requests: usize,
}

/// A library whose index is updated by runs that are killed.
struct KilledRuns {
    library: Library,
    backends: Backends,
    dice: Dice,
    killed: usize,
    new_states: usize,
    /// Chunks of the collections that were indexed, as the last run of each said.
    chunks: Vec<(String, u64)>,
}

impl KilledRuns {
    #[expect(clippy::print_stdout, reason = "the counts of a test")]
    fn play(index: IndexHome) {
        let library = Library::new();
        let backends = Backends::start(Where::new(false, index), &library.vault);
        let mut runs = Self {
            library,
            backends,
            dice: Dice::new(17),
            killed: 0,
            new_states: 0,
            chunks: Vec::new(),
        };
        runs.write_notes("first");
        runs.requests();
        let started = Instant::now();
        runs.completed("first");
        let first = WholeRun {
            time: started.elapsed(),
            requests: runs.requests(),
        };
        runs.write_notes("lab");
        runs.completed("lab");
        runs.change_notes("lab");
        runs.requests();
        let started = Instant::now();
        runs.completed("lab");
        let update = WholeRun {
            time: started.elapsed(),
            requests: runs.requests(),
        };
        for kill in 0..kills() {
            if kill % 4 == 3 {
                runs.kill_first(kill, &first);
            } else {
                runs.kill_update(kill, &update);
            }
        }
        runs.assert_cleaned();
        let (killed, new_states) = (runs.killed, runs.new_states);
        println!(
            "{index:?}: {killed} of {} runs were killed before their end, {new_states} left the new state; a whole run \
             made {} requests, and {} for a new collection",
            kills(),
            update.requests,
            first.requests
        );
        assert!(killed * 4 >= kills(), "{killed}");
        assert!(new_states < kills(), "every run came to its end");
    }

    /// Kills a run that would add a collection: it is not there, or it is there as a whole.
    fn kill_first(&mut self, kill: usize, whole: &WholeRun) {
        let collection = format!("fresh-{kill}");
        self.write_notes(&collection);
        self.kill(&collection, kill, whole);
        if self.backends.index == IndexHome::Bucket {
            let published = self.published(&collection);
            if let Some(folder) = published {
                let root = self.library.vault.root();
                let manifest = opened(&folder).unwrap();
                assert!(is_of(&manifest, &root.join(&collection)), "kill {kill}");
                self.new_states += 1;
            }
        } else {
            match self.found(&collection) {
                Ok(found) => {
                    assert_eq!(found, self.expected(&collection), "kill {kill}");
                    self.new_states += 1;
                }
                Err(said) => {
                    let is_told = ["does not have this collection", "does not have the class"];
                    assert!(is_told.iter().any(|told| said.contains(told)), "{said}");
                }
            }
        }
        self.completed(&collection);
        // It has not changed since, but the runs before may have been killed while they cleaned up.
        self.completed("lab");
        self.assert_nothing_is_left();
    }

    /// Kills a run that would change a collection: it is as before, or as it should be.
    fn kill_update(&mut self, kill: usize, whole: &WholeRun) {
        let lab = self.library.vault.root().join("lab");
        let old = self.library.vault.outside().join("old");
        copy(&lab, &old);
        self.change_notes("lab");
        self.kill("lab", kill, whole);
        let of_new = self.is_as_found("lab", &lab);
        let new = self.library.vault.outside().join("new");
        // The same files in the same folder: only then they are what was indexed.
        fs::rename(&lab, &new).unwrap();
        fs::rename(&old, &lab).unwrap();
        let of_old = self.is_as_found("lab", &lab);
        assert!(of_old != of_new, "kill {kill}: old {of_old}, new {of_new}");
        self.new_states += usize::from(of_new);
        // Some runs come after one that was killed, and others after several.
        let is_completed = kill % 4 == 1;
        if of_new || is_completed {
            fs::remove_dir_all(&lab).unwrap();
            fs::rename(&new, &lab).unwrap();
        } else {
            fs::remove_dir_all(&new).unwrap();
        }
        if is_completed {
            self.completed("lab");
            self.assert_nothing_is_left();
            assert!(self.is_as_found("lab", &lab), "kill {kill}");
        }
    }

    /// Starts a run, and kills it at a moment that depends on the number of the kill.
    fn kill(&mut self, collection: &str, kill: usize, whole: &WholeRun) {
        self.backends.end_leases();
        self.requests();
        let mut command = self.backends.index(&self.library.vault);
        command.arg(collection);
        let mut run = command
            .stdout(Pipe::null())
            .stderr(Pipe::null())
            .spawn()
            .unwrap();
        self.wait(&mut run, kill, whole);
        run.kill().unwrap();
        let status = run.wait().unwrap();
        self.killed += usize::from(status.signal().is_some());
    }

    /// Waits until a run has made a share of the usual requests, or for a share of the usual time in a database.
    fn wait(&self, run: &mut Child, kill: usize, whole: &WholeRun) {
        let turn = kill % TURN;
        if self.backends.index == IndexHome::Postgres {
            let share = u32::try_from(turn + 1).unwrap();
            return sleep(whole.time * share / u32::try_from(TURN + 1).unwrap());
        }
        // Half of the kills come near the end, where a run commits and cleans up.
        let wanted = match (turn / 4) % 2 {
            0 => 1 + whole.requests * turn / TURN,
            _ => whole.requests.saturating_sub(LAST * (TURN - turn) / TURN),
        };
        let mut seen = 0;
        while seen < wanted && run.try_wait().unwrap().is_none() {
            seen += self.requests();
            yield_now();
        }
    }

    /// The number of requests since the last call.
    fn requests(&self) -> usize {
        let pinecone = self.backends.pinecone.iter();
        let pinecone = pinecone.map(|pinecone| PineconeEmulator::requests(pinecone).len());
        let weaviate = self.backends.weaviate.iter();
        let weaviate = weaviate.map(|weaviate| WeaviateEmulator::requests(weaviate).len());
        let bucket = self.backends.indexes.iter();
        let bucket = bucket.map(|(_, proxy)| proxy.take_requests().len());
        pinecone.chain(weaviate).chain(bucket).sum()
    }

    /// Runs what comes after a kill to its end.
    fn completed(&mut self, collection: &str) {
        let mut command = self.backends.index(&self.library.vault);
        command.arg(collection);
        let output = self.backends.after_kill(command);
        assert!(output.status.success(), "{output:?}");
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let chunks = rows[0]["chunks"].as_u64().unwrap();
        self.chunks.retain(|(name, _)| name != collection);
        self.chunks.push((collection.to_owned(), chunks));
    }

    /// There is nothing but what is needed.
    fn assert_nothing_is_left(&self) {
        let all: u64 = self.chunks.iter().map(|(_, chunks)| chunks).sum();
        match self.backends.index {
            IndexHome::Folder => unreachable!("a folder has a test of its own"),
            IndexHome::Postgres => {
                let kept = self.backends.sql("SELECT count(*) FROM sectile.chunk");
                assert_eq!(kept.trim(), all.to_string());
            }
            IndexHome::Bucket => {
                let builds = self.library.vault.outside().join("copies/builds");
                for entry in fs::read_dir(builds).unwrap() {
                    assert_eq!(unfinished(&entry.unwrap().path()), [""; 0]);
                }
            }
            IndexHome::Pinecone | IndexHome::Weaviate => self.assert_records(all),
        }
    }

    /// A service has the records of the current generations, some manifests, and nothing else.
    fn assert_records(&self, chunks: u64) {
        let mut records = self.backends.records();
        let total = records.len();
        records.retain(|id| !id.contains("/c/"));
        records.sort();
        let of = |kind: &str| records.iter().filter(|id| id.contains(kind)).count();
        assert_eq!((total - records.len()) as u64, chunks, "{records:#?}");
        let (collections, manifests) = (self.chunks.len(), of("m/"));
        for kind in ["/t/", "/n/", "head"] {
            assert_eq!(of(kind), collections, "{kind}: {records:#?}");
        }
        let is_few = (collections..=collections * MANIFESTS).contains(&manifests);
        let known = 3 * collections + manifests;
        assert!(is_few && records.len() == known, "{records:#?}");
    }

    /// What was left in a bucket is recent, and goes a day later.
    fn assert_cleaned(&self) {
        let Some((server, _)) = &self.backends.indexes else {
            return;
        };
        let clean = |collection: &str| -> Value {
            let settings = self.library.vault.config(&self.backends.settings());
            let mut command = sectile();
            command.args(["notebook", "bucket", "clean", "--json"]);
            let output = command.arg(settings).arg(collection).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let (mut needed, mut recent, mut removed) = (0, 0, 0);
        for is_later in [false, true] {
            for (collection, _) in &self.chunks {
                let cleaned = clean(collection);
                let number = |name: &str| cleaned[name].as_u64().unwrap();
                match is_later {
                    false => {
                        assert_eq!(number("removed"), 0, "{cleaned}");
                        recent += number("recent");
                    }
                    true => {
                        assert_eq!(number("recent"), 0, "{cleaned}");
                        removed += number("removed");
                        // What it needs, and its state.
                        needed += number("needed") + 1;
                    }
                }
            }
            server.advance_clock(Duration::from_secs(2 * 24 * 3600));
        }
        // Objects that tell the time of the storage were left too.
        assert!(removed >= recent, "{removed} of {recent}");
        assert_eq!(server.keys("indexes").len() as u64, needed);
        let lab = self.library.vault.root().join("lab");
        assert!(self.is_as_found("lab", &lab));
    }

    /// Whether the index is that of the notes as they are now.
    fn is_as_found(&self, collection: &str, notes: &Path) -> bool {
        let found = self.found(collection).unwrap();
        let expected = self.expected(collection);
        if self.backends.index != IndexHome::Bucket {
            return found == expected;
        }
        // A copy is brought up to date in memory, so a search finds what there is now, whatever was published.
        assert_eq!(found, expected);
        let published = self.published(collection).expect("an index was published");
        is_of(&opened(&published).unwrap(), notes)
    }

    /// The folder to which what was published is exported, if something was.
    fn published(&self, collection: &str) -> Option<PathBuf> {
        let folder = self.library.vault.outside().join("export");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        let mut command = sectile();
        command.args(["notebook", "bucket", "export"]);
        command.arg(self.library.vault.config(&self.backends.settings()));
        let output = command.arg(collection).arg(&folder).output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("has no index of this collection"), "{said}");
            return None;
        }
        let mut folders = fs::read_dir(&folder).unwrap();
        Some(folders.next().unwrap().unwrap().path())
    }

    /// What a search finds in the index of the collection, or what it says instead.
    fn found(&self, collection: &str) -> Result<Value, String> {
        let mut command = sectile();
        command.args(["notebook", "search"]);
        command.arg(self.library.vault.config(&self.backends.settings()));
        answer(command, collection)
    }

    /// What a search finds in an index of the same notes in a folder.
    fn expected(&self, collection: &str) -> Value {
        let folder = self.library.vault.outside().join("expected");
        let folder = folder.to_str().unwrap();
        self.library.index(&[collection, "--index", folder]);
        let mut command = sectile();
        command.args(["notebook", "search", "--index", folder]);
        command.arg(self.library.vault.root());
        answer(command, collection).unwrap()
    }

    fn write_notes(&mut self, collection: &str) {
        for number in 0..NOTEBOOKS {
            self.write_note(collection, number);
        }
    }

    fn write_note(&mut self, collection: &str, number: usize) {
        let text = self.dice.notebook() + &self.dice.notebook();
        let name = format!("{collection}/n{number}.md");
        self.library.vault.note(&name, text);
    }

    /// Changes most notebooks, removes one and adds another.
    fn change_notes(&mut self, collection: &str) {
        let folder = self.library.vault.root().join(collection);
        let mut names = fs::read_dir(&folder).unwrap();
        fs::remove_file(names.next().unwrap().unwrap().path()).unwrap();
        let kept = self.dice.below(NOTEBOOKS);
        for number in (0..=NOTEBOOKS).filter(|number| *number != kept) {
            self.write_note(collection, number);
        }
    }
}

/// Moves what is in a folder to another, and copies it back: the files that were indexed are those in the other one.
fn copy(folder: &Path, other: &Path) {
    fs::rename(folder, other).unwrap();
    fs::create_dir(folder).unwrap();
    for entry in fs::read_dir(other).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
}

fn answer(mut command: Command, collection: &str) -> Result<Value, String> {
    command.args([collection, QUERY, "--json", "--most", "50"]);
    let output = command.output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["total_matches"].is_u64(), "{found}");
    Ok(json!([found["total_matches"], found["results"]]))
}
