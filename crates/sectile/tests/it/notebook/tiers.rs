//! `sectile notebook index` fills the second tier, whatever happens meanwhile, and servers use it when it is complete.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio as Pipe},
    sync::mpsc,
    time::Duration,
};

use sectile_retrieval::{Embedder as _, built_in, transformer};
use serde_json::{Value, json};

use super::{Client, Library, dice::Dice, stable};
use crate::fixture::{Era, sectile, wait_for, wait_for_exit};

const QUERIES: [&str; 3] = ["ice on the lake", "is it safe to walk on", "winter"];

/// The files of the second tier, but for what is in the way of finishing.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.contains("meaning-"))
        .filter_map(|name| Some((name.clone(), fs::read(folder.join(&name)).ok()?)))
        .collect()
}

fn parts(folder: &Path) -> usize {
    let files = files(folder);
    let parts = files
        .keys()
        .filter(|name| name.starts_with("meaning-part-"));
    parts.count()
}

fn rows(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn answers(client: &mut Client<'_>) -> Vec<Value> {
    let answers = QUERIES.iter().map(|query| client.search(query));
    answers
        .map(|answer| {
            // Which tier answers may change, and is what is looked at here.
            let mut stable = stable("semantic_search", &answer);
            stable["metadata"]["tier"] = answer["metadata"]["tier"].clone();
            stable
        })
        .collect()
}

fn signal(child: &Child, name: &str) {
    let mut command = Command::new("kill");
    let status = command.args([name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// A library with a collection of so many notebooks of three passages, which takes a while to fill.
fn larger(notebooks: usize) -> Library {
    let library = Library::new();
    let mut dice = Dice::new(5);
    for number in 0..notebooks {
        let text: String = (0..3)
            .map(|at| format!("## {at}\n\n{}.\n\n", dice.words(60)))
            .collect();
        library.vault.note(&format!("lab/n{number:03}.md"), text);
    }
    library
}

fn start(library: &Library, more: &[&str]) -> Child {
    let mut command = library.tiers_command(&["lab", "--threads", "1"]);
    command
        .args(more)
        .stdout(Pipe::piped())
        .stderr(Pipe::piped());
    command.spawn().unwrap()
}

#[test]
fn a_server_switches_over_when_the_tier_is_complete_and_says_which_answers() {
    let library = Library::new();
    library.index(&[]);
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    let first = answers(&mut client);
    assert!(
        first
            .iter()
            .all(|answer| answer["metadata"]["tier"] == "static")
    );
    let active = client.call("describe_world", json!({}))["retrieval"]["active"].clone();
    assert_eq!(active["tier"], "static", "{active}");
    assert_eq!(active["model"], built_in().unwrap().name(), "{active}");
    let told = rows(&library.tiers_command(&[]).output().unwrap());
    assert_eq!(told[0]["collection_id"], "journal");
    assert_eq!(told[0]["written"], false, "the first tier was there");
    let complete = |embedded: usize, cached: usize| {
        json!({
            "passages": 3, "filled": 3, "embedded": embedded, "cached": cached, "changed": 0, "complete": true,
        })
    };
    assert_eq!(told[0]["transformer"], complete(3, 0));
    // Something happens in the folder of the collection, so that the server looks.
    fs::write(library.vault.root().join("journal/.look"), "").unwrap();
    let switched = wait_for("the second tier", || {
        let answers = answers(&mut client);
        (answers[0]["metadata"]["tier"] == "transformer").then_some(answers)
    });
    assert_ne!(switched[0]["results"], first[0]["results"]);
    let active = client.call("describe_world", json!({}))["retrieval"]["active"].clone();
    assert_eq!(active["tier"], "transformer", "{active}");
    assert_eq!(active["model"], transformer().unwrap().name(), "{active}");
    // One that starts now has it at once, and answers the same.
    let mut other = library.open(Era::Handshake);
    other.enter("journal");
    assert_eq!(answers(&mut other), switched);
    drop(other);
    let told = rows(&library.tiers_command(&["journal"]).output().unwrap());
    assert_eq!(told[0]["transformer"], complete(0, 3));
    // Only what changed is embedded again, here by the server itself.
    library.vault.note(
        "journal/deep/two.md",
        "# Thaw\n\nThe ice broke. So did a boat.\n",
    );
    wait_for("what changed, in the second tier", || {
        let answer = client.search("a boat broke");
        let is_new = answer["results"][0]["preview_snippet"]
            .as_str()
            .is_some_and(|text| text.contains("boat"));
        (is_new && answer["metadata"]["tier"] == "transformer").then_some(())
    });
    let told = rows(&library.tiers_command(&["journal"]).output().unwrap());
    assert_eq!(told[0]["transformer"], complete(1, 2));
    // Without the second tier, the answers of the first.
    for name in files(&library.index_folder("physics")).keys() {
        fs::remove_file(library.index_folder("physics").join(name)).unwrap();
    }
    client.enter("physics");
    assert_eq!(client.search("water")["metadata"]["tier"], "static");
}

#[test]
fn a_filling_that_was_killed_goes_on_and_comes_to_the_same_bytes() {
    let library = larger(8);
    let folder = library.index_folder("lab");
    library.index(&["lab"]);
    // At some moments, whatever is being done.
    for moment in 1..=4 {
        let mut child = start(&library, &[]);
        std::thread::sleep(Duration::from_millis(60 * moment));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut kills = 0;
    loop {
        let mut child = start(&library, &[]);
        let before = parts(&folder);
        // When something was just put on disk, or is being put there, or a while later.
        let ended = wait_for("something on disk", || {
            let is_more = parts(&folder) > before;
            let is_writing =
                kills % 3 == 1 && files(&folder).keys().any(|name| name.starts_with("new-"));
            let ended = child.try_wait().unwrap();
            (is_more || is_writing || ended.is_some()).then_some(ended)
        });
        if let Some(status) = ended {
            assert!(status.success());
            break;
        }
        if kills % 3 == 2 {
            std::thread::sleep(Duration::from_millis(300));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let files = files(&folder);
        let mut whole = files.keys().filter(|name| name.starts_with("meaning-"));
        let is_complete = whole.any(|name| !name.starts_with("meaning-part-"));
        let tier = if is_complete { "transformer" } else { "static" };
        assert_eq!(searched(&library)["tier"], tier);
    }
    println!("{kills} kills while something was put on disk");
    let filled = files(&folder);
    let other_cache = library.vault.outside().join("cache");
    // Another user embeds everything, and another index of the same user takes the vectors that it finds.
    for (index, cache, embedded) in [
        ("alone", &other_cache, 24),
        ("shared", &library.vault.cache(), 0),
    ] {
        let elsewhere = library.vault.outside().join(index);
        let mut command = library.tiers_command(&["lab", "--threads", "2", "--index"]);
        command.arg(&elsewhere).env("XDG_CACHE_HOME", cache);
        let told = rows(&command.output().unwrap());
        let report = &told[0]["transformer"];
        assert_eq!(report["embedded"], embedded, "{index}: {report}");
        assert_eq!(report["cached"], 24 - embedded, "{index}: {report}");
        let whole = files(&elsewhere.join(folder.file_name().unwrap()));
        assert!(!whole.is_empty());
        assert!(
            filled == whole,
            "{index}: {:?} and {:?}",
            filled.keys(),
            whole.keys()
        );
    }
    assert_eq!(searched(&library)["tier"], "transformer");
}

fn searched(library: &Library) -> Value {
    let mut command = sectile();
    command
        .args(["notebook", "search"])
        .arg(library.vault.root());
    let output = command.args(["lab", "ice", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_second_filler_is_told_and_an_interrupted_one_says_how_to_go_on() {
    let library = larger(100);
    let folder = library.index_folder("lab");
    let mut child = start(&library, &[]);
    wait_for("the first passages", || (parts(&folder) > 0).then_some(()));
    let second = library.tiers_command(&["lab"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "{second:?}");
    let told = String::from_utf8_lossy(&second.stderr);
    assert!(
        told.contains("another process is filling the transformer tier"),
        "{told}"
    );
    // The first tier can be written meanwhile.
    assert_eq!(library.index(&["lab"])[0]["transformer"], Value::Null);
    signal(&child, "-INT");
    let status = wait_for_exit(&mut child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("of 300 passages of `lab` in the transformer tier"),
        "{told}"
    );
    assert!(told.contains("run the same command again"), "{told}");
    // What was begun with is known, and the rest would take too long here.
    for number in 4..100 {
        let name = format!("lab/n{number:03}.md");
        fs::remove_file(library.vault.root().join(name)).unwrap();
    }
    let told = rows(&library.tiers_command(&["lab"]).output().unwrap());
    let filled = &told[0]["transformer"];
    assert_eq!(filled["complete"], true, "{filled}");
    assert!(filled["cached"].as_u64().unwrap() >= 8, "{filled}");
    assert_eq!(parts(&folder), 0);
}

#[test]
fn watching_follows_changes_until_it_is_stopped() {
    let library = Library::new();
    let mut command = library.tiers_command(&["--watch"]);
    let mut child = command
        .stdout(Pipe::piped())
        .stderr(Pipe::null())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in output.lines() {
            let rows: Vec<Value> = serde_json::from_str(&line.unwrap()).unwrap();
            sender.send(rows).unwrap();
        }
    });
    let next = || lines.recv_timeout(crate::fixture::PATIENCE).unwrap();
    let first = next();
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(
        first
            .iter()
            .all(|row| row["transformer"]["complete"] == true)
    );
    library
        .vault
        .note("physics/steam.md", "# Steam\n\nSteam is hot.\n");
    let second = next();
    assert_eq!(second.len(), 1, "{second:?}");
    assert_eq!(second[0]["collection_id"], "physics");
    assert_eq!(
        (&second[0]["notebooks"], &second[0]["indexed"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(second[0]["transformer"]["embedded"], 1, "{second:?}");
    assert_eq!(second[0]["transformer"]["complete"], true, "{second:?}");
    // While it rests, others may write.
    library.index(&[]);
    signal(&child, "-TERM");
    assert!(wait_for_exit(&mut child).success());
    reader.join().unwrap();
}
