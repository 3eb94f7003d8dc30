//! Many processes on one document, and a program that knows nothing about them. Nothing that was reported as done is
//! lost, nothing is done that was not reported, and every conflict is reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::*;
use crate::journal::EntryKind;

/// The child's task, folder and number, separated by bars.
const CHILD: &str = "SECTILE_TEST_RACE";
/// Prefix of a child's report of an edit: the entry, and the words that it wrote.
const SAID: &str = "made:";
const DOCUMENT: &str = "a.md";
/// The outside writer ends when this file exists.
const STOP: &str = "stop";
/// Workers make their last edit when this file exists.
const QUIET: &str = "quiet";

/// A race, which its name describes.
#[derive(Clone, Copy, Debug)]
struct Race {
    processes: usize,
    edits: usize,
    max_journal_bytes: u64,
    with_outside_writer: bool,
}

impl Race {
    fn named(name: &str) -> Self {
        let numbers: Vec<u64> = name.split('-').map(|part| part.parse().unwrap()).collect();
        Self {
            processes: usize::try_from(numbers[0]).unwrap(),
            edits: usize::try_from(numbers[1]).unwrap(),
            max_journal_bytes: numbers[2],
            with_outside_writer: numbers[3] == 1,
        }
    }

    fn name(self) -> String {
        format!(
            "{}-{}-{}-{}",
            self.processes,
            self.edits,
            self.max_journal_bytes,
            u8::from(self.with_outside_writer)
        )
    }

    fn open(self, folder: &Path) -> Editor {
        let limits = EditorLimits {
            max_journal_bytes: self.max_journal_bytes,
            // Waiting is not a failure here, however slow the machine is.
            lock_timeout: Duration::from_secs(300),
            ..EditorLimits::default()
        };
        open_within(folder, limits)
    }

    fn text(self) -> String {
        let own = (0..self.processes).map(|worker| format!("## Own {worker}\n\nstart\n\n"));
        let own: String = own.collect();
        format!("# T\n\n{own}## Shared\n\nstart\n\n## Outside\n\ncount 0\n")
    }
}

#[test]
fn sixteen_processes_lose_nothing() {
    let race = Race {
        processes: 16,
        edits: 50,
        max_journal_bytes: 64 << 20,
        with_outside_writer: false,
    };
    let (folder, made) = run(race);
    check_made(race, folder.path(), &made);
    check_history(race, folder.path(), &made);
}

#[test]
fn a_journal_that_is_shortened_under_way_loses_nothing() {
    let race = Race {
        processes: 6,
        edits: 30,
        max_journal_bytes: 12_000,
        with_outside_writer: false,
    };
    let (folder, made) = run(race);
    check_made(race, folder.path(), &made);
}

#[test]
fn an_outside_writer_is_never_overwritten() {
    let race = Race {
        processes: 8,
        edits: 40,
        max_journal_bytes: 64 << 20,
        with_outside_writer: true,
    };
    let (folder, made) = run(race);
    check_made(race, folder.path(), &made);
    check_history(race, folder.path(), &made);
}

/// The reported edits, by entry: the worker, and the text it wrote.
type MadeEdits = BTreeMap<u64, (usize, String)>;

fn spawn(job: &str, race: Race, folder: &Path, worker: usize) -> Child {
    let folder = folder.to_str().unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "editor::tests::races::child", "--nocapture"])
        .env(CHILD, format!("{job}|{}|{folder}|{worker}", race.name()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(child: Child, what: &str) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {text}{errors}");
    text
}

/// Runs all processes to their end.
fn run(race: Race) -> (TempDir, MadeEdits) {
    let folder = scratch();
    fs::write(folder.path().join(DOCUMENT), race.text()).unwrap();
    let ids = race.open(folder.path()).view(&note(DOCUMENT)).unwrap();
    let outside = race
        .with_outside_writer
        .then(|| spawn("outside", race, folder.path(), 0));
    if outside.is_none() {
        fs::write(folder.path().join(QUIET), "").unwrap();
    }
    let workers: Vec<Child> = (0..race.processes)
        .map(|worker| spawn("work", race, folder.path(), worker))
        .collect();
    if let Some(outside) = outside {
        let is_ready = |worker: usize| folder.path().join(format!("ready-{worker}")).exists();
        while !(0..race.processes).all(is_ready) {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(folder.path().join(STOP), "").unwrap();
        println!("{}", finish(outside, "outside").trim());
        fs::write(folder.path().join(QUIET), "").unwrap();
    }
    let mut made = MadeEdits::new();
    for (worker, child) in workers.into_iter().enumerate() {
        for line in finish(child, &format!("worker {worker}")).lines() {
            if let Some((_, said)) = line.split_once(SAID) {
                let (entry, words) = said.split_once(' ').unwrap();
                let edit = (worker, words.to_owned());
                let other = made.insert(entry.parse().unwrap(), edit);
                assert!(other.is_none(), "entry {entry} was reported twice");
            }
        }
    }
    assert_eq!(made.len(), race.processes * (race.edits + 1));
    let view = race.open(folder.path()).view(&note(DOCUMENT)).unwrap();
    assert_eq!(view.ids(), ids.ids(), "all sections have kept their ids");
    (folder, made)
}

/// Checks that the last state holds the newest text of each worker, and the shared section every reported line, once.
fn check_made(race: Race, folder: &Path, made: &MadeEdits) {
    let editor = race.open(folder);
    let view = editor.view(&note(DOCUMENT)).unwrap();
    let content = |heading: &str| {
        let position = view.find_heading(heading, LetterCase::Matters).unwrap();
        view.content(position, false).unwrap()
    };
    for worker in 0..race.processes {
        let newest = made.values().rev().find(|(who, _)| *who == worker).unwrap();
        assert_eq!(content(&format!("Own {worker}")), newest.1);
    }
    if !race.with_outside_writer {
        let lines: Vec<String> = content("Shared").lines().map(str::to_owned).collect();
        let mut expected: Vec<String> = vec!["start".to_owned()];
        let shared = made
            .values()
            .filter(|(_, words)| words.starts_with("shared"));
        expected.extend(shared.map(|(_, words)| words.clone()));
        // In the order of the entries: history is a line.
        assert_eq!(lines, expected);
    }
    if race.with_outside_writer {
        let count: u64 = content("Outside")
            .strip_prefix("count ")
            .unwrap()
            .parse()
            .unwrap();
        assert!(count > 0, "the outside writer's section");
    }
    assert!(editor.damage().is_empty());
    assert!(editor.store.state().ledger.pending(None).is_empty());
    let left = fs::read_dir(folder.join(".sectile/tmp")).unwrap().count();
    assert_eq!(left, 0, "temporary files are left");
}

/// Checks that every reported edit is in the history, with what it wrote, and no other is. Each entry starts where the
/// one before ended.
fn check_history(race: Race, folder: &Path, made: &MadeEdits) {
    let editor = race.open(folder);
    let cards: Vec<_> = {
        let state = editor.store.state();
        state.ledger.entries().cloned().collect()
    };
    let ours = cards.iter().filter(|card| card.kind == EntryKind::Edit);
    let ours: BTreeSet<u64> = ours.map(|card| card.number).collect();
    assert_eq!(ours, made.keys().copied().collect());
    for pair in cards.windows(2) {
        assert_eq!(pair[0].steps[0].after, pair[1].steps[0].before);
    }
    for (number, (_, words)) in made {
        let entry = editor.store.entry(*number).unwrap();
        let changes = entry.steps[0].changes().unwrap();
        let mut texts = changes
            .iter()
            .map(|change| String::from_utf8_lossy(&change.text));
        let last_word = words.rsplit(' ').next().unwrap();
        assert!(
            texts.any(|text| text.contains(last_word)),
            "{number}: {words}"
        );
    }
    println!("{} entries, {} of them ours", cards.len(), ours.len());
}

/// Not a test itself: one of the processes. Without a parent it does nothing.
#[test]
fn child() {
    let Ok(job) = std::env::var(CHILD) else {
        return;
    };
    let [job, race, folder, worker] = job.split('|').collect::<Vec<_>>()[..] else {
        panic!("{job}")
    };
    let (race, folder) = (Race::named(race), Path::new(folder));
    match job {
        "work" => work(race, folder, worker.parse().unwrap()),
        _ => write_outside(folder),
    }
}

/// Edits its own section and the shared one in turn.
fn work(race: Race, folder: &Path, worker: usize) {
    let editor = race.open(folder);
    let own = format!("Own {worker}");
    for round in 0..race.edits {
        // Now and then someone else gets the lock.
        if (round + worker).is_multiple_of(3) {
            std::thread::sleep(Duration::from_millis(2));
        }
        if round % 2 == 0 || race.with_outside_writer {
            edit_own(&editor, &own, &format!("own {worker}x{round}"));
        } else {
            add_to_shared(&editor, &format!("shared {worker}x{round}"));
        }
    }
    fs::write(folder.join(format!("ready-{worker}")), "").unwrap();
    while !folder.join(QUIET).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    edit_own(&editor, &own, &format!("own {worker}xlast"));
}

fn edit_own(editor: &Editor, own: &str, words: &str) {
    loop {
        match write(editor, vec![update(DOCUMENT, by_heading(own), words)]) {
            Ok(report) => {
                // Another program may have put back an old text that is just this one.
                if let Some(entry) = report.entry {
                    println!("{SAID}{entry} {words}");
                    return;
                }
            }
            // Another program is writing all the time.
            Err(EditorError::KeepsChanging | EditorError::SectionNotFound { .. }) => {}
            Err(error) => panic!("{words}: {error:?}"),
        }
    }
}

fn add_to_shared(editor: &Editor, words: &str) {
    loop {
        let view = editor.view(&note(DOCUMENT)).unwrap();
        let position = view.find_heading("Shared", LetterCase::Matters).unwrap();
        let section = view.section(position).unwrap();
        let text = view.content(position, false).unwrap();
        let operation = update(DOCUMENT, by_id(&section.id), &format!("{text}\n{words}"));
        match write(editor, vec![with_hash(operation, &section.hash)]) {
            Ok(report) => {
                println!("{SAID}{} {words}", report.entry.unwrap());
                return;
            }
            Err(EditorError::Conflict(conflict)) => {
                assert!(!conflict.theirs.contains(words), "it was written after all");
            }
            Err(error) => panic!("{words}: {error:?}"),
        }
    }
}

/// Reads a file until it holds `wanted`. For a moment, while a late edit is rolled back, it may not.
fn read_until(file: &Path, wanted: &str) -> String {
    const MOST_LOOKS: usize = 2_000;
    for _ in 0..MOST_LOOKS {
        let text = fs::read_to_string(file).unwrap();
        if text.contains(wanted) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{wanted} is lost")
}

/// Counts in a section of its own, in place and by rename in turn, and checks that no count was ever reverted.
fn write_outside(folder: &Path) {
    let file = folder.join(DOCUMENT);
    let mut count = 0_u64;
    let mut random = 88_172_645_463_325_252_u64;
    while !folder.join(STOP).exists() {
        for shift in [13_i32, -7, 17] {
            random ^= if shift > 0 {
                random << shift
            } else {
                random >> -shift
            };
        }
        std::thread::sleep(Duration::from_micros(random % 20_000));
        let mine = format!("count {count}\n");
        let text = read_until(&file, &mine);
        count += 1;
        let text = text.replace(&mine, &format!("count {count}\n"));
        if random.is_multiple_of(2) {
            fs::write(&file, text).unwrap();
        } else {
            let beside = folder.join("beside");
            fs::write(&beside, text).unwrap();
            fs::rename(beside, &file).unwrap();
        }
    }
    read_until(&file, &format!("count {count}\n"));
    println!("counted to {count}");
}
