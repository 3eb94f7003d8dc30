//! A damaged index never gives a wrong answer: the server searches in memory and says so, and the next `sectile notebook
//! index` makes the index anew and says so.

/// The same while a server has it open, and by somebody who means harm.
mod open;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::{Library, dice::Dice, proof, stable};
use crate::fixture::{Era, wait_for};

/// What is done to a file of an index. Places are in thousandths of its length.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Flip(usize),
    Cut(usize),
    Replace(&'static [u8]),
    Remove,
}

const QUERIES: [&str; 4] = [
    "ice on the lake",
    "cold morning",
    "weight of the boat",
    "氷の湖",
];

/// Every damage, to the manifest and to the segment.
fn damages() -> Vec<(&'static str, Damage)> {
    let mut all = Vec::new();
    for file in ["manifest", "segment"] {
        let flips = (0..=1000).step_by(if file == "segment" { 30 } else { 90 });
        all.extend(flips.map(|place| (file, Damage::Flip(place))));
        all.extend([0, 1, 500, 999].map(|place| (file, Damage::Cut(place))));
        all.extend(
            [
                b"" as &[u8],
                b"\n",
                b"SECTILE\n\x01\0\0\0\xff\xff\xff\xff",
                &[0; 4096],
            ]
            .map(|bytes| (file, Damage::Replace(bytes))),
        );
        all.push((file, Damage::Remove));
    }
    all
}

fn name(number: usize) -> String {
    format!("c{number:03}")
}

/// The file of a collection's index whose name begins so.
fn file_of(library: &Library, collection: &str, start: &str) -> PathBuf {
    let folder = library.index_folder(collection);
    let mut names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let found = names.find(|entry| entry.file_name().to_string_lossy().starts_with(start));
    found.unwrap().path()
}

fn harm(library: &Library, collection: &str, file: &str, damage: Damage) {
    let path = file_of(library, collection, file);
    let mut bytes = fs::read(&path).unwrap();
    match damage {
        Damage::Flip(place) => {
            let at = (bytes.len() - 1) * place / 1000;
            bytes[at] ^= 0x41;
        }
        Damage::Cut(place) => bytes.truncate(bytes.len() * place / 1000),
        Damage::Replace(with) => bytes = with.to_vec(),
        Damage::Remove => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

/// The answers to all queries, without the name of the collection.
fn answers(client: &mut super::Client<'_>, collection: &str) -> Vec<String> {
    let answers = QUERIES.iter().map(|query| {
        let answer = stable("semantic_search", &client.search(query));
        answer.to_string().replace(collection, "c")
    });
    answers.collect()
}

#[test]
fn a_damaged_index_gives_no_wrong_answer_and_is_made_anew() {
    let library = Library::new();
    let damages = damages();
    let texts: Vec<String> = {
        let mut dice = Dice::new(7);
        (0..6).map(|_| dice.notebook() + &dice.notebook()).collect()
    };
    for number in 0..=damages.len() {
        for (at, text) in texts.iter().enumerate() {
            library
                .vault
                .note(&format!("{}/n{at}.md", name(number)), text);
        }
    }
    library.index(&[]);
    for (number, (file, damage)) in damages.iter().enumerate() {
        harm(&library, &name(number), file, *damage);
    }
    let mut client = library.open(Era::Handshake);
    let sound = name(damages.len());
    client.enter(&sound);
    let right = answers(&mut client, &sound);
    let mut in_memory = 0;
    for (number, case) in damages.iter().enumerate() {
        let collection = name(number);
        client.enter(&collection);
        let root = library.vault.root();
        for query in QUERIES {
            proof::assert_found(&root, &collection, &client.search(query));
        }
        let checked = wait_for("a look at the index", || {
            let answer = client.search("ice");
            (answer["metadata"]["changed_not_indexed"] == 0).then_some(answer)
        });
        assert_eq!(answers(&mut client, &collection), right, "{case:?}");
        let is_memory = checked["metadata"]["index_location"] == "memory";
        // A byte between two parts is nobody's.
        assert!(is_memory || matches!(case.1, Damage::Flip(_)), "{case:?}");
        in_memory += usize::from(is_memory);
    }
    assert!(
        in_memory * 4 > damages.len() * 3,
        "{in_memory} of {}",
        damages.len()
    );
    drop(client);
    let rows = library.index(&[]);
    let remade = |row: &&Value| row["remade"].is_string();
    let count = rows.iter().filter(remade).count();
    let removed = damages
        .iter()
        .filter(|case| **case == ("manifest", Damage::Remove))
        .count();
    // Without a manifest there was no index.
    assert_eq!(count, in_memory - removed, "{rows:?}");
    assert!(rows.iter().filter(remade).all(|row| row["written"] == true));
    let mut client = library.open(Era::Handshake);
    for number in (0..damages.len()).step_by(5) {
        let collection = name(number);
        client.enter(&collection);
        let first = client.search("ice");
        assert_eq!(
            first["metadata"]["index_location"], "disk",
            "{:?}",
            damages[number]
        );
        assert_eq!(
            answers(&mut client, &collection),
            right,
            "{:?}",
            damages[number]
        );
    }
}

#[test]
fn an_index_of_another_kind_is_not_used_and_what_is_in_the_way_is_told() {
    let library = Library::new();
    library.index(&[]);
    // The indexes of two collections, exchanged: a manifest says whose it is.
    let (one, two) = (
        library.index_folder("journal"),
        library.index_folder("physics"),
    );
    let aside = library.vault.root().join(".sectile/aside");
    for (from, to) in [(&one, &aside), (&two, &one), (&aside, &two)] {
        fs::rename(from, to).unwrap();
    }
    let mut client = library.open(Era::Handshake);
    for collection in ["journal", "physics"] {
        client.enter(collection);
        let found = client.search("ice");
        assert_eq!(found["metadata"]["index_location"], "memory", "{found}");
        proof::assert_found(&library.vault.root(), collection, &found);
        assert_ne!(found["results"], json!([]));
    }
    drop(client);
    let rows = library.index(&[]);
    assert!(rows.iter().all(|row| row["written"] == true), "{rows:?}");
    // A file where the folder should be.
    fs::remove_dir_all(&one).unwrap();
    fs::write(&one, "in the way").unwrap();
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    assert_eq!(client.search("ice")["metadata"]["index_location"], "memory");
    let output = library.index_command(&["journal"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(fs::read(&one).unwrap(), b"in the way");
}
