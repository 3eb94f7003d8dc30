//! Reading while others write: every read is a whole state that existed at some time during the call. `SECTILE_CASES=20000`
//! sets the number of writes.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use sectile_library::{NotebookStorage, StorageError};

use super::{Server, open, path};

const FILES: usize = 4;
const READERS: usize = 3;

fn writes() -> u64 {
    let asked = std::env::var("SECTILE_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(600)
}

/// Returns the bytes of a version: its length is unique, and every line names the version.
fn version(file: usize, number: u64) -> String {
    let line = format!("{file}-{number}\n");
    let lines = 1 + (number * 37) % 4000;
    line.repeat(usize::try_from(lines).unwrap())
}

/// Returns the next pseudo-random number of a fixed sequence.
fn next(state: &AtomicU64) -> u64 {
    let step = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    let mixed = (step ^ (step >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The states of a file, in order: a version, or nothing.
struct History {
    /// Recorded before the write.
    states: Vec<Option<u64>>,
    /// The index of the last state whose write has finished.
    done: usize,
}

#[test]
fn every_read_is_a_whole_version_of_its_time() {
    let server = Server::start();
    let mut settings = server.settings();
    settings.max_note_bytes = 1 << 20;
    let storage = open(&settings);
    server.put("a/stays.md", "here");
    let histories: [Mutex<History>; FILES] = std::array::from_fn(|_| {
        let states = vec![None];
        Mutex::new(History { states, done: 0 })
    });
    let is_over = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|reader| {
                let (storage, histories, is_over, reads) = (&storage, &histories, &is_over, &reads);
                scope.spawn(move || {
                    let random = AtomicU64::new(reader as u64);
                    while !is_over.load(Ordering::SeqCst) {
                        let file = usize::try_from(next(&random) % FILES as u64).unwrap();
                        // A call may read the last state before it, and all states until its end.
                        let from = histories[file].lock().unwrap().done;
                        let read = storage.read("a", &path(&format!("{file}.md"))).unwrap();
                        let possible = histories[file].lock().unwrap().states[from..].to_vec();
                        let text = read.map(|bytes| String::from_utf8(bytes).unwrap());
                        let is_whole = possible
                            .iter()
                            .any(|one| one.map(|number| version(file, number)) == text);
                        assert!(is_whole, "no version of {file} since {from}");
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                match storage.notebooks("a", &|| false) {
                    Ok(listed) => {
                        assert!(listed.is_sorted_by(|a, b| a.notebook < b.notebook));
                        let stays = |one: &&str| *one == "stays.md";
                        let names = listed.iter().map(|one| one.notebook.as_str());
                        assert_eq!(names.filter(|name| stays(name)).count(), 1);
                    }
                    // This server fails if a file is removed while it lists.
                    Err(error) => assert!(
                        matches!(&error, StorageError::Failed { message } if message.contains("is failing")),
                        "{error}"
                    ),
                }
            }
        });
        let random = AtomicU64::new(99);
        for number in 1..=writes() {
            let choice = next(&random);
            let file = usize::try_from(choice % FILES as u64).unwrap();
            let key = format!("a/{file}.md");
            let state = (!choice.is_multiple_of(5)).then_some(number);
            histories[file].lock().unwrap().states.push(state);
            match state {
                Some(number) => server.put(&key, version(file, number)),
                None => server.delete(&key),
            }
            histories[file].lock().unwrap().done += 1;
            if number % 10 == 0 {
                thread::yield_now();
            }
        }
        // A reader that ends before it is told to has failed.
        let have_failed = || readers.iter().any(|reader| reader.is_finished());
        while reads.load(Ordering::Relaxed) < 200 && !have_failed() {
            thread::yield_now();
        }
        is_over.store(true, Ordering::SeqCst);
    });
    for (file, history) in histories.iter().enumerate() {
        let last = history.lock().unwrap().states.pop();
        let expected = last
            .flatten()
            .map(|number| version(file, number).into_bytes());
        let read = storage.read("a", &path(&format!("{file}.md"))).unwrap();
        assert!(read == expected, "the last state of {file}");
    }
}
