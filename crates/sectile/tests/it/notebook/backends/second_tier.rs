//! The second tier in every storage and index: the same answers, and a fill that goes on after a kill.

use std::{
    fs,
    process::{Output, Stdio as Pipe},
};

use sectile_retrieval::{Embedder as _, transformer};
use serde_json::{Value, json};

use super::{client, comparable};
use crate::{
    fixture::{Backends, Era, IndexHome, Where, sectile, wait_for},
    notebook::{Client, Library, dice::Dice},
};

fn rows(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A library with this many notebooks of three passages in `lab`.
fn larger(notebooks: usize) -> (Library, Dice) {
    let library = Library::new();
    let mut dice = Dice::new(7);
    for number in 0..notebooks {
        let text: String = (0..3)
            .map(|at| format!("## {at}\n\n{}.\n\n", dice.words(40)))
            .collect();
        library.vault.note(&format!("lab/n{number:03}.md"), text);
    }
    (library, dice)
}

fn tier_of(client: &mut Client<'_>) -> Value {
    client.search("water")["metadata"]["tier"].clone()
}

/// Evaluates questions of more words than a server takes, each with one right answer.
fn evaluated(library: &Library, backends: &Backends) -> Value {
    let (mut queries, mut judgements) = (String::new(), "query\tdocument\tscore\n".to_owned());
    for number in 0..4 {
        let name = format!("n{number:03}.md");
        let text = fs::read_to_string(library.vault.root().join("lab").join(&name)).unwrap();
        let words: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let words = words.join(" ").repeat(2);
        assert!(words.split_whitespace().count() > 32);
        queries += &format!("{}\n", json!({ "_id": number.to_string(), "text": words }));
        judgements += &format!("{number}\t{name}\t1\n");
    }
    let folder = library.vault.outside().join("questions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("queries.jsonl"), queries).unwrap();
    fs::write(folder.join("qrels.tsv"), judgements).unwrap();
    let mut command = sectile();
    command.args(["notebook", "eval", "--json", "--collection", "lab"]);
    command.arg(&folder).arg("--library");
    command.arg(library.vault.config(&backends.settings()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_storage_and_index_has_the_second_tier_and_answers_alike() {
    let (library, mut dice) = larger(6);
    let questions: Vec<String> = (0..12).map(|_| dice.words(5)).collect();
    let mut expected: Option<Vec<Value>> = None;
    // Vector services have the first tier only.
    for place in Where::all().filter(|place| !place.index.is_service()) {
        let backends = Backends::start(place, &library.vault);
        let told = rows(&backends.index_tiers(&library.vault).output().unwrap());
        let lab = told.iter().find(|row| row["collection_id"] == "lab");
        let filled = &lab.unwrap()["transformer"];
        assert_eq!(filled["complete"], true, "{place:?}: {filled}");
        assert_eq!(filled["filled"], filled["passages"], "{place:?}: {filled}");
        let mut client = client(&library, &backends, Era::Handshake);
        client.enter("lab");
        let answers: Vec<Value> = questions
            .iter()
            .map(|question| {
                let asked = json!({ "query": question, "k": 20 });
                let result = client.result("semantic_search", asked);
                let tier = &result["structuredContent"]["metadata"]["tier"];
                assert_eq!(tier, "transformer", "{place:?}");
                comparable("semantic_search", &result)
            })
            .collect();
        let active = client.call("describe_world", json!({}))["retrieval"]["active"].clone();
        assert_eq!(active["tier"], "transformer", "{place:?}: {active}");
        assert_eq!(active["model"], transformer().unwrap().name(), "{active}");
        let report = evaluated(&library, &backends);
        assert_eq!(report["tier"], "transformer", "{place:?}: {report}");
        assert_eq!(report["queries"], 4, "{place:?}: {report}");
        let first = &report["words_and_meaning"]["mrr_at_10"];
        assert_eq!(first, 100.0, "{place:?}: {report}");
        let expected = expected.get_or_insert_with(|| answers.clone());
        for (question, (one, other)) in questions.iter().zip(answers.iter().zip(expected)) {
            assert_eq!(one, other, "{place:?}: {question}");
        }
    }
}

#[test]
fn an_index_in_a_database_goes_on_filling_after_a_kill_and_servers_switch_over() {
    let (library, _) = larger(200);
    let backends = Backends::start(Where::new(true, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let mut client = client(&library, &backends, Era::Handshake);
    client.enter("lab");
    assert_eq!(tier_of(&mut client), "static");
    let kept = || -> u64 {
        let kept = backends.sql("SELECT count(*) FROM sectile.meaning");
        kept.parse().unwrap()
    };
    let mut before = 0;
    for _ in 0..2 {
        let mut command = backends.index_tiers(&library.vault);
        command.args(["lab", "--threads", "1"]);
        let mut child = command
            .stdout(Pipe::piped())
            .stderr(Pipe::piped())
            .spawn()
            .unwrap();
        wait_for("the first vectors", || (kept() > before).then_some(()));
        child.kill().unwrap();
        child.wait().unwrap();
        before = kept();
        assert_eq!(tier_of(&mut client), "static");
    }
    // The database notices that the process is gone when it next hears from the connection.
    let told = wait_for("the lock", || {
        let mut command = backends.index_tiers(&library.vault);
        let output = command.arg("lab").output().unwrap();
        output.status.success().then(|| rows(&output))
    });
    let filled = &told[0]["transformer"];
    assert_eq!(filled["complete"], true, "{filled}");
    assert_eq!(filled["cached"], before, "{filled}");
    assert_eq!(filled["embedded"].as_u64().unwrap() + before, kept());
    let answer = client.search("water");
    assert_eq!(answer["metadata"]["tier"], "transformer");
    assert_ne!(answer["metadata"]["tier_change"], Value::Null, "{answer}");
    // An edit goes back to the static tier, and costs the passages that it changed.
    library
        .vault
        .note("lab/new.md", "# Quince\n\nA quince is yellow.\n");
    backends.fill(&library.vault);
    assert_eq!(tier_of(&mut client), "static");
    let told = rows(
        &backends
            .index_tiers(&library.vault)
            .arg("lab")
            .output()
            .unwrap(),
    );
    assert_eq!(told[0]["transformer"]["embedded"], 1, "{told:?}");
    assert_eq!(tier_of(&mut client), "transformer");
}
