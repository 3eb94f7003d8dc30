//! Same question, same notebooks, same bytes: whoever asks at the same time, and however the index came about.
//!
//! `SECTILE_CASES=1000` asks as many questions; what is volatile is taken out by the published list.

use std::fs;

use serde_json::{Value, json};

use super::{Library, dice::Dice, proof::sha256, stable};
use crate::fixture::{Era, Http, initialize};

const NOTEBOOKS: usize = 24;

/// What is asked: a tool with its arguments.
fn questions() -> Vec<String> {
    let asked = std::env::var("SECTILE_CASES").ok();
    let count = asked
        .and_then(|count| count.parse().ok())
        .unwrap_or(300)
        .min(1_000);
    let mut dice = Dice::new(23);
    (0..count).map(|_| dice.words(5)).collect()
}

fn texts() -> Vec<(String, String)> {
    let mut dice = Dice::new(5);
    let named = (0..NOTEBOOKS).map(|number| {
        let folder = dice.pick(&["", "deep/", "deep/down/"]);
        (
            format!("lab/{folder}n{number}.md"),
            dice.notebook() + &dice.notebook(),
        )
    });
    named.collect()
}

/// A library with the same notebooks each time.
fn library() -> Library {
    let library = Library::new();
    for (name, text) in texts() {
        library.vault.note(&name, text);
    }
    library
}

/// A session of the handshake era over HTTP that has entered the collection.
fn session(http: &Http<'_>) -> String {
    let answer = http.post(Era::Handshake, &initialize(0));
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    ask(
        http,
        &id,
        "enter_collection",
        json!({ "collection_id": "lab" }),
    );
    id
}

fn ask(http: &Http<'_>, session: &str, tool: &str, arguments: Value) -> Value {
    let call = Era::Handshake.call(1, tool, arguments);
    let answer = http.post_with(Era::Handshake, &call, &[("Mcp-Session-Id", session)]);
    let result = answer.events().pop().unwrap()["result"].clone();
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

/// The digest of all answers, in the order of the questions, asked by so many at the same time. Every tenth question is
/// followed by the first passage and its provenance.
fn digest(http: &Http<'_>, clients: usize, questions: &[String]) -> String {
    let answers = std::thread::scope(|scope| {
        let each = (0..clients).map(|client| {
            scope.spawn(move || {
                let session = session(http);
                let own = questions.iter().enumerate().skip(client).step_by(clients);
                own.map(|(at, question)| (at, answers(http, &session, at, question)))
                    .collect::<Vec<_>>()
            })
        });
        let each: Vec<_> = each.collect();
        let mut all: Vec<(usize, String)> = each
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect();
        all.sort_unstable();
        all
    });
    assert_eq!(answers.len(), questions.len());
    let lines: Vec<String> = answers.into_iter().map(|(_, answer)| answer).collect();
    sha256(lines.join("\n").as_bytes())
}

fn answers(http: &Http<'_>, session: &str, at: usize, question: &str) -> String {
    let answer = ask(
        http,
        session,
        "semantic_search",
        json!({ "query": question }),
    );
    let mut said = stable("semantic_search", &answer).to_string();
    let first = &answer["results"][0]["reference_id"];
    if at.is_multiple_of(10) && first.is_string() {
        let fetched = ask(
            http,
            session,
            "fetch_passage",
            json!({ "source_id": first }),
        );
        said += &stable("fetch_passage", &fetched).to_string();
        let explained = ask(
            http,
            session,
            "explain_provenance",
            json!({ "id": first, "id_type": "source" }),
        );
        said += &stable("explain_provenance", &explained).to_string();
    }
    said
}

#[test]
fn one_two_and_eight_clients_get_the_same_bytes_from_two_indexes_and_from_memory() {
    let made_at_once = library();
    made_at_once.index(&["lab"]);
    let grown = grown();
    let in_memory = library();
    let questions = questions();
    let http = made_at_once.http("");
    let one = digest(&http, 1, &questions);
    let some = digest(&http, 1, &questions[..20]);
    for clients in [2, 8] {
        assert_eq!(digest(&http, clients, &questions), one, "{clients} clients");
    }
    for (library, location) in [(&grown, "disk"), (&in_memory, "memory")] {
        let http = library.http("");
        assert_eq!(digest(&http, 2, &questions), one, "from {location}");
        assert_eq!(location_of(&http), location);
    }
    assert_eq!(location_of(&http), "disk");
    drop(http);
    // The digest does depend on what is answered.
    made_at_once
        .vault
        .note("lab/n-more.md", "# Ice\n\nThe ice of the lake.\n");
    made_at_once.index(&["lab"]);
    let other = digest(&made_at_once.http(""), 2, &questions[..20]);
    assert_ne!(other, some);
}

/// Where the index is that a server uses.
fn location_of(http: &Http<'_>) -> String {
    let answer = ask(
        http,
        &session(http),
        "semantic_search",
        json!({ "query": "ice" }),
    );
    answer["metadata"]["index_location"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A library whose index came about by many edits, additions and deletions.
fn grown() -> Library {
    let library = Library::new();
    let mut dice = Dice::new(99);
    let texts = texts();
    for round in 0..4 {
        for (at, (name, text)) in texts.iter().enumerate() {
            // Each is wrong at first, and right from some round on.
            let is_right = at % 4 <= round;
            let text = if is_right {
                text.clone()
            } else {
                dice.notebook()
            };
            if round > 0 || at % 2 == 0 {
                library.vault.note(name, text);
            }
        }
        library
            .vault
            .note(&format!("lab/gone{round}.md"), dice.notebook());
        library.index(&["lab"]);
        fs::remove_file(library.vault.root().join(format!("lab/gone{round}.md"))).unwrap();
    }
    let rows = library.index(&["lab"]);
    assert_eq!(rows[0]["notebooks"], NOTEBOOKS, "{rows:?}");
    let segments = fs::read_dir(library.index_folder("lab")).unwrap();
    let segments = segments.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("segment-")
    });
    assert!(segments.count() > 1, "the index did not grow");
    library
}
