//! `sectile notebook index`, killed at many moments: the index that is there is the old one or the new one, whole, and the
//! next run completes and leaves nothing unfinished.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio as Pipe},
    time::{Duration, Instant},
};

use sectile_retrieval::{Manifest, Store, built_in};
use serde_json::Value;

use super::{Library, dice::Dice, proof};
use crate::fixture::sectile;

const KILLS: usize = 48;
const NOTEBOOKS: usize = 24;

/// The names of the files of an index that nobody finished.
pub(super) fn unfinished(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("new-")).collect()
}

/// What is on disk, which must be whole.
pub(super) fn opened(folder: &Path) -> Option<Manifest> {
    let store = Store::at(folder).unwrap()?;
    let stored = store.read(Some(built_in().unwrap())).unwrap()?;
    Some(stored.manifest)
}

/// Whether an index is that of the files of a collection as they are.
pub(super) fn is_of(manifest: &Manifest, collection: &Path) -> bool {
    let root = collection.parent().unwrap();
    let name = collection.file_name().unwrap().to_str().unwrap();
    let indexed = manifest.entries.iter();
    let indexed = indexed.map(|entry| (entry.name.clone(), entry.digest.to_string()));
    indexed.eq(proof::notebooks(root, name)
        .into_iter()
        .map(|(name, bytes)| (name, proof::sha256(&bytes))))
}

fn is_of_today(manifest: &Manifest, library: &Library) -> bool {
    is_of(manifest, &library.vault.root().join("lab"))
}

fn start(library: &Library) -> Child {
    let mut command = library.index_command(&["lab"]);
    command
        .stdout(Pipe::null())
        .stderr(Pipe::null())
        .spawn()
        .unwrap()
}

/// Waits for a moment while a file is being written, or for the end.
fn wait_for_writing(child: &mut Child, folder: &Path) {
    while unfinished(folder).is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn an_index_that_was_killed_is_the_old_one_or_the_new_one() {
    let library = Library::new();
    let mut dice = Dice::new(11);
    for number in 0..NOTEBOOKS {
        library.vault.note(
            &format!("lab/n{number}.md"),
            dice.notebook() + &dice.notebook(),
        );
    }
    let folder = library.index_folder("lab");
    let started = Instant::now();
    library.index(&["lab"]);
    let whole = started.elapsed();
    fs::remove_dir_all(&folder).unwrap();
    let (mut before, mut new_states, mut while_writing) = (None, 0, 0);
    for kill in 0..KILLS {
        // Everything is another one, so that much is written.
        for number in 0..NOTEBOOKS {
            library.vault.note(
                &format!("lab/n{number}.md"),
                format!("# Kill {kill}\n\n{}", dice.notebook()),
            );
        }
        let mut child = start(&library);
        if kill % 2 == 0 {
            let share = u32::try_from(kill).unwrap();
            std::thread::sleep(whole * share / u32::try_from(KILLS).unwrap());
        } else {
            wait_for_writing(&mut child, &folder);
            std::thread::sleep(Duration::from_micros(40 * (kill as u64 / 2)));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        while_writing += usize::from(!unfinished(&folder).is_empty());
        let now = opened(&folder);
        if now != before {
            let manifest = now.as_ref().expect("an index that was there is there");
            assert!(
                is_of_today(manifest, &library),
                "kill {kill}: neither old nor new"
            );
            new_states += 1;
        }
        before = now;
        if kill % 12 == 11 {
            assert_searched(&library, kill, before.is_some());
        }
    }
    println!("{new_states} of {KILLS} came to an end, {while_writing} left something unfinished");
    assert!(
        while_writing > 0,
        "no kill came while something was written"
    );
    let rows = library.index(&["lab"]);
    assert_eq!(rows[0]["notebooks"], NOTEBOOKS, "{rows:?}");
    assert!(is_of_today(&opened(&folder).unwrap(), &library));
    assert_eq!(unfinished(&folder), [""; 0]);
    assert_nothing_else(&folder);
}

/// There is nothing in the folder of an index but the index.
fn assert_nothing_else(folder: &Path) {
    let segments = opened(folder).unwrap().segments;
    let mut expected = [vec!["lock".to_owned(), "manifest".to_owned()], segments].concat();
    expected.sort();
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, expected);
}

#[test]
fn what_was_left_between_the_end_and_the_cleaning_goes_though_nothing_changed() {
    let library = Library::new();
    library.index(&["journal"]);
    let folder = library.index_folder("journal");
    fs::write(folder.join(format!("segment-{}", "0".repeat(32))), "old").unwrap();
    fs::write(folder.join("new-manifest"), "half").unwrap();
    let rows = library.index(&["journal"]);
    assert_eq!(rows[0]["written"], false, "{rows:?}");
    assert_nothing_else(&folder);
}

/// A search on what a kill left finds what there is now.
fn assert_searched(library: &Library, kill: usize, has_index: bool) {
    let mut command = sectile();
    command
        .args(["notebook", "search"])
        .arg(library.vault.root());
    let output = command
        .args(["lab", "ice", "snow", "--json"])
        .output()
        .unwrap();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(found["index_on_disk"], has_index, "kill {kill}: {found}");
    for result in found["results"].as_array().unwrap() {
        let id = proof::Id::of(result["reference_id"].as_str().unwrap());
        let bytes = id
            .proven(&library.vault.root())
            .expect("what is found is there");
        let text = std::str::from_utf8(&bytes[id.start..id.end]).unwrap();
        assert_eq!(result["text"], text, "kill {kill}");
    }
}

#[test]
fn two_who_index_at_the_same_time_do_not_get_into_each_others_way() {
    let library = Library::new();
    library.index(&[]);
    for round in 0..3 {
        library.vault.note(
            "journal/one.md",
            format!("# Round {round}\n\nThe ice again.\n"),
        );
        let mut children = [
            start_all(&library),
            start_all(&library),
            start_all(&library),
        ];
        let codes: Vec<Option<i32>> = children
            .iter_mut()
            .map(|child| child.wait().unwrap().code())
            .collect();
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert!(
            codes.iter().all(|code| [Some(0), Some(1)].contains(code)),
            "{codes:?}"
        );
        let folder = library.index_folder("journal");
        assert!(opened(&folder).is_some());
        assert_eq!(unfinished(&folder), [""; 0]);
    }
}

fn start_all(library: &Library) -> Child {
    let mut command = library.index_command(&[]);
    command
        .stdout(Pipe::null())
        .stderr(Pipe::null())
        .spawn()
        .unwrap()
}
