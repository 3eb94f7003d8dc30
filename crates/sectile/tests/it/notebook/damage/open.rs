//! Files of an index that are cut off, changed or replaced while a server has them open, and files that were made to do harm: the
//! server goes on, gives no wrong answer, and uses an index again once there is a sound one.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use super::{super::error_of, Library, file_of, name, stable};
use crate::{
    fixture::{Era, wait_for},
    notebook::{Client, dice::Dice, proof},
};

/// Asked before anything is damaged, so that something of the index is in memory.
const BEFORE: &str = "word7 word300";
const QUERIES: [&str; 4] = [
    "word11 word401 word599",
    "\"common word0\"",
    "word20",
    "wurd77",
];

/// What is put in place of a file, or done to it.
const HARMS: [&str; 10] = [
    "empty", "half", "nearly", "flipped", "removed", "pipe", "link", "folder", "hole", "other",
];

fn do_harm(path: &Path, harm: &str, outside: &Path) {
    let whole = fs::read(path).unwrap();
    let cut = |length: usize| {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(length as u64).unwrap();
    };
    let replaced = || fs::remove_file(path).unwrap();
    match harm {
        "empty" => cut(0),
        "half" => cut(whole.len() / 2),
        "nearly" => cut(whole.len() - 1),
        "flipped" => {
            // In place, as another program would that has it open.
            let flipped: Vec<u8> = whole.iter().map(|byte| byte ^ 0x24).collect();
            fs::write(path, flipped).unwrap();
        }
        "removed" => replaced(),
        "pipe" => {
            replaced();
            let made = Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success());
        }
        "link" => {
            replaced();
            fs::write(outside, whole).unwrap();
            std::os::unix::fs::symlink(outside, path).unwrap();
        }
        "folder" => {
            replaced();
            fs::create_dir(path).unwrap();
        }
        "hole" => cut(1 << 42),
        "other" => fs::write(path, b"SECTILE\n\x01\0\0\0\xff\xff\xff\xff").unwrap(),
        _ => unreachable!("{harm}"),
    }
}

/// A collection whose words fill many blocks of an index.
fn write_collection(library: &Library, collection: &str) {
    let mut dice = Dice::new(11);
    for note in 0..6 {
        let mut text = String::new();
        for section in 0..40 {
            text += &format!(
                "# Section {section} of {note}\n\ncommon word{}",
                section % 3
            );
            for _ in 0..140 {
                text += &format!(" word{}", dice.below(600));
            }
            text += ".\n\n";
        }
        let path = format!("{collection}/n{note}.md");
        library.vault.note(&path, text);
    }
}

fn answers(client: &mut Client<'_>, collection: &str) -> Vec<String> {
    let answers = QUERIES.iter().map(|query| {
        let answer = stable("semantic_search", &client.search(query));
        answer.to_string().replace(collection, "c")
    });
    answers.collect()
}

/// Tells the server that something in a collection may have changed, so that it looks now and not in half a minute.
fn touch(library: &Library, collection: &str) {
    let path = library.vault.root().join(collection).join("touched.txt");
    fs::write(path, "not a notebook").unwrap();
}

#[test]
fn a_file_that_is_damaged_while_it_is_open_gives_no_wrong_answer() {
    let library = Library::new();
    let cases: Vec<(&str, &str)> = ["segment", "manifest"]
        .into_iter()
        .flat_map(|file| HARMS.map(|harm| (file, harm)))
        .collect();
    for number in 0..=cases.len() {
        write_collection(&library, &name(number));
    }
    library.index(&[]);
    let mut client = library.open(Era::Handshake);
    let sound = name(cases.len());
    client.enter(&sound);
    let right = answers(&mut client, &sound);
    let mut in_memory = 0;
    for (number, (file, harm)) in cases.iter().enumerate() {
        let collection = name(number);
        client.enter(&collection);
        let before = client.search(BEFORE);
        assert_eq!(before["metadata"]["index_location"], "disk");
        let outside = library.vault.outside().join(format!("moved-{number}"));
        do_harm(&file_of(&library, &collection, file), harm, &outside);
        assert_eq!(answers(&mut client, &collection), right, "{file} {harm}");
        let after = client.search(BEFORE);
        proof::assert_found(&library.vault.root(), &collection, &after);
        in_memory += usize::from(after["metadata"]["index_location"] == "memory");
    }
    // At least what was changed in the very file that is open.
    assert!(in_memory >= 4, "{in_memory}");
    // Anyone who comes later finds the same.
    let mut later = library.open(Era::Handshake);
    for (number, case) in cases.iter().enumerate() {
        later.enter(&name(number));
        assert_eq!(answers(&mut later, &name(number)), right, "{case:?}");
    }
    drop(later);
    // Once there is a sound index, the same server uses it.
    library.index(&[]);
    for (number, case) in cases.iter().enumerate() {
        let collection = name(number);
        client.enter(&collection);
        wait_for("the new index", || {
            touch(&library, &collection);
            let answer = client.search("word20");
            (answer["metadata"]["index_location"] == "disk").then_some(())
        });
        assert_eq!(answers(&mut client, &collection), right, "{case:?}");
    }
    assert!(client.server.finish().success());
}

#[test]
fn searches_go_on_while_files_are_damaged_again_and_again() {
    const ROUNDS: usize = 40;
    let library = Library::new();
    write_collection(&library, "c");
    library.index(&["c"]);
    let files = ["segment", "manifest"].map(|file| file_of(&library, "c", file));
    let whole = files.each_ref().map(|path| fs::read(path).unwrap());
    let mut client = library.open(Era::Handshake);
    client.enter("c");
    let right = answers(&mut client, "c");
    let is_done = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice::new(3);
            let outside = library.vault.outside().join("moved");
            for _ in 0..ROUNDS {
                let at = dice.below(2);
                let harms = ["empty", "half", "nearly", "flipped", "removed", "other"];
                do_harm(&files[at], dice.pick::<&str>(&harms), &outside);
                std::thread::sleep(std::time::Duration::from_millis(30));
                fs::write(&files[at], &whole[at]).unwrap();
                // So that the server looks at it.
                touch(&library, "c");
            }
            is_done.store(true, Ordering::Release);
        });
        let mut refused = 0;
        while !is_done.load(Ordering::Acquire) {
            for (query, right) in QUERIES.iter().zip(&right) {
                let result = client.result("semantic_search", json!({ "query": query }));
                if result["isError"] == true {
                    assert_eq!(error_of(&result)["type"], "upstream_failure");
                    refused += 1;
                    continue;
                }
                let answer = stable("semantic_search", &result["structuredContent"]);
                assert_eq!(&answer.to_string(), right);
            }
        }
        refused
    });
    assert!(refused < ROUNDS, "{refused}");
    wait_for("the index", || {
        touch(&library, "c");
        let answer = client.search("word20");
        (answer["metadata"]["index_location"] == "disk").then_some(())
    });
    assert_eq!(answers(&mut client, "c"), right);
    assert!(client.server.finish().success());
}

#[test]
fn the_second_tier_can_be_damaged_without_harm() {
    let tier_of = |client: &mut Client<'_>| {
        let said = client.call("describe_world", json!({}));
        said["retrieval"]["active"]["tier"]
            .as_str()
            .map(str::to_owned)
    };
    let fill = |library: &Library| {
        let output = library.tiers_command(&["journal"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let question = |client: &mut Client<'_>| -> Value {
        let answer = client.search("is it safe to walk on the lake");
        stable("semantic_search", &answer)
    };
    let library = Library::new();
    fill(&library);
    let mut sound = library.open(Era::Handshake);
    sound.enter("journal");
    let right = question(&mut sound);
    assert_eq!(tier_of(&mut sound).as_deref(), Some("transformer"));
    for harm in HARMS {
        let outside = library.vault.outside().join("moved");
        do_harm(&file_of(&library, "journal", "meaning-"), harm, &outside);
        // Anyone who has it open has a copy.
        assert_eq!(question(&mut sound), right, "{harm}");
        let mut client = library.open(Era::Handshake);
        client.enter("journal");
        let found = client.search("ice");
        proof::assert_found(&library.vault.root(), "journal", &found);
        assert_eq!(tier_of(&mut client).as_deref(), Some("static"), "{harm}");
        fill(&library);
        wait_for("the second tier", || {
            touch(&library, "journal");
            client.search("ice");
            (tier_of(&mut client).as_deref() == Some("transformer")).then_some(())
        });
        assert_eq!(question(&mut client), right, "{harm}");
        assert!(client.server.finish().success());
    }
}

/// CRC-32, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let crc = crc ^ u32::from(*byte);
        (0..8).fold(crc, |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// Lets `change` have a part of a file, and gives the file the checksums that it has then.
fn forge(path: &Path, part: &str, change: impl Fn(&mut [u8])) {
    let mut file = fs::read(path).unwrap();
    let number = |file: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(file[at..at + 8].try_into().unwrap())).unwrap()
    };
    let rows = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let row = (0..rows).map(|row| 24 + row * 32);
    let row = row
        .into_iter()
        .find(|row| file[*row..*row + 8].starts_with(part.as_bytes()))
        .unwrap();
    let (start, length) = (number(&file, row + 8), number(&file, row + 16));
    change(&mut file[start..start + length]);
    let checksum = u64::from(crc32(&file[start..start + length]));
    file[row + 24..row + 32].copy_from_slice(&checksum.to_le_bytes());
    let table = u64::from(crc32(&file[24..24 + rows * 32]));
    file[16..24].copy_from_slice(&table.to_le_bytes());
    fs::write(path, file).unwrap();
}

#[test]
fn an_index_that_was_made_to_do_harm_stops_nothing_and_makes_nothing_false() {
    let library = Library::new();
    let parts = [
        "words", "names", "stems", "forms", "sums", "sizes", "lists", "places", "lengths",
        "document", "chunks", "headings", "digests", "vectors", "squares",
    ];
    let fills: [fn(usize) -> u8; 4] = [|_| 0, |_| 0xff, |at| at as u8, |at| (at * 167 % 251) as u8];
    for number in 0..parts.len() * fills.len() {
        for (at, text) in ["# Ice\n\nThe ice on the lake.\n", "# Thaw\n\nIt broke.\n"]
            .into_iter()
            .enumerate()
        {
            let path = format!("{}/n{at}.md", name(number));
            library.vault.note(&path, text);
        }
    }
    library.index(&[]);
    let mut client = library.open(Era::Handshake);
    for (number, (part, fill)) in parts
        .iter()
        .flat_map(|part| fills.map(|fill| (*part, fill)))
        .enumerate()
    {
        let collection = name(number);
        forge(&file_of(&library, &collection, "segment"), part, |bytes| {
            let end = bytes.len();
            // The ends of dictionaries say where to begin.
            let is_dictionary = ["words", "names", "stems"].contains(&part);
            let kept = if is_dictionary { end.min(20) } else { 0 };
            for (at, byte) in bytes[..end - kept].iter_mut().enumerate() {
                *byte = fill(at);
            }
        });
        client.enter(&collection);
        for query in ["ice on the lake", "\"the ice\"", "brke", "thawing"] {
            let found = client.search(query);
            let root = library.vault.root();
            for result in found["results"].as_array().unwrap() {
                let id = result["reference_id"].as_str().unwrap();
                assert!(proof::Id::of(id).proven(&root).is_some(), "{part}: {found}");
            }
        }
    }
    assert!(client.server.finish().success());
}
