//! Meaning as the last resort: off unless the settings say otherwise, and only where words find nothing at all.

use serde_json::{Value, json};

use super::library::{Client, Library, SEARCH, text, uris};
use crate::{contract::schema::violation, fixture::Era};

const ON: &str = "ranking = 'words'\nmeaning_as_last_resort = true\n";
const OFF: &str = "ranking = 'words'\n";

/// Documents with a role each, so that there is something to ask next.
const DOCUMENTS: [(&str, &str); 3] = [
    (
        "cars.md",
        "---\nrole: pattern\n---\n# Cars\n\nAll about cars.\n\n## Repair\n\nFixing an automobile: replace the engine, the brakes and the tyres.\n\n## Paint\n\nWhich colour a car may have.\n",
    ),
    (
        "kitchen.md",
        "---\nrole: decision\n---\n# Kitchen\n\nWhat is cooked.\n\n## Apple cake\n\nFlour, sugar, butter and apples, baked in the oven.\n",
    ),
    (
        "health.md",
        "---\nrole: reasoning\n---\n# Health\n\nStaying well.\n\n## Physicians\n\nA physician treats the sick in a hospital.\n",
    ),
];

/// Queries of which no document has a word, in any form or spelling.
const WORDLESS: [&str; 4] = [
    "mechanic garage vehicles",
    "dessert pastry",
    "\"doctors nurses\"",
    "clinic",
];

fn library(documents: &[(&str, &str)], docs: &str) -> Library {
    Library::new(documents, "").and(docs)
}

fn bytes(client: &mut Client<'_>, query: &str, explain: bool) -> String {
    let arguments = json!({ "query": query, "explain": explain });
    client.bytes(
        "tools/call",
        json!({ "name": SEARCH, "arguments": arguments }),
    )
}

#[test]
fn what_no_section_has_the_words_of_is_found_by_meaning() {
    let library = library(&DOCUMENTS, ON);
    let mut client = library.open_in(Era::Stateless);
    let listed = client.ask("tools/list", json!({}));
    let schema = listed["result"]["tools"][0]["outputSchema"].clone();
    for (query, expected) in [
        (WORDLESS[0], "sectile://docs/cars#repair"),
        (WORDLESS[1], "sectile://docs/kitchen#apple-cake"),
        (WORDLESS[2], "sectile://docs/health#physicians"),
        (WORDLESS[3], "sectile://docs/health#physicians"),
    ] {
        let answer = client.search(json!({ "query": query, "explain": true }));
        assert_eq!(uris(&answer)[0], expected, "{query}: {answer}");
        assert_eq!(answer["found_by"], "meaning");
        assert_eq!(violation(&schema, &answer), None, "{answer}");
        assert_eq!(answer.get("help"), None);
        assert!(answer["unknown_terms"].is_array(), "{answer}");
        let sections = answer["sections"].as_array().unwrap();
        assert!(answer["total_matches"].as_u64().unwrap() >= sections.len() as u64);
        let near: Vec<u64> = sections
            .iter()
            .map(|section| section["nearness"].as_u64().unwrap())
            .collect();
        assert!(near.is_sorted_by(|one, next| one >= next), "{near:?}");
        assert!(near.iter().all(|near| (220_000..=1_000_000).contains(near)));
        assert_eq!(sections[0].get("score"), None);
        let one = client.search(json!({ "query": query, "max_sections": 1 }));
        assert_eq!(uris(&one), [expected]);
        assert_eq!(one["sections"][0].get("nearness"), None);
        assert_eq!(one["total_matches"], answer["total_matches"]);
    }
}

/// Without it every byte is as it was; with it those are that words decide about, and those that nothing is found for.
#[test]
fn words_come_first_and_decide_alone() {
    let (with, without) = (library(&DOCUMENTS, ON), library(&DOCUMENTS, OFF));
    let off = library(
        &DOCUMENTS,
        "ranking = 'words'\nmeaning_as_last_resort = false\n",
    );
    let (mut with, mut without, mut off) = (with.open(), without.open(), off.open());
    for query in [
        "",
        "???",
        "cake",
        "physican",
        "doctors nurses hospital",
        "\"hospital sick\"",
        "\"doctors hospital\"",
        "the of and",
        "qwrtzpsdfg",
    ] {
        for explain in [false, true] {
            let plain = bytes(&mut without, query, explain);
            assert_eq!(bytes(&mut with, query, explain), plain, "{query}");
            assert_eq!(bytes(&mut off, query, explain), plain, "{query}");
        }
    }
    for query in WORDLESS {
        let plain = bytes(&mut without, query, true);
        assert_eq!(bytes(&mut off, query, true), plain);
        assert!(!plain.contains("found_by") && plain.contains("closest_headings"));
    }
    let listed = |client: &mut Client<'_>| client.bytes("tools/list", json!({}));
    let (here, there) = (listed(&mut with), listed(&mut without));
    assert!(here.contains("found_by") && here.contains("nearness"));
    assert!(!there.contains("found_by") && !there.contains("nearness"));
    assert_eq!(listed(&mut off), there);
}

#[test]
fn its_receipt_is_its_own_and_the_same_state_gives_the_same_bytes() {
    let mut shuffled = DOCUMENTS;
    shuffled.reverse();
    let (with, without) = (library(&DOCUMENTS, ON), library(&DOCUMENTS, OFF));
    let other = library(&shuffled, ON);
    let mut elsewhere = other.command();
    elsewhere.env("TOKIO_WORKER_THREADS", "7");
    let mut elsewhere = Client::new(other.vault(), elsewhere, Era::Handshake);
    let (mut with, mut without) = (with.open(), without.open());
    let receipt = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["result"]["structuredContent"]["receipt"].clone()
    };
    for query in WORDLESS {
        let here = bytes(&mut with, query, true);
        assert_eq!(bytes(&mut with, query, true), here);
        assert_eq!(bytes(&mut elsewhere, query, true), here);
        let (near, words) = (receipt(&here), receipt(&bytes(&mut without, query, true)));
        assert_eq!(near["corpus"], words["corpus"]);
        assert_eq!(near["arguments"], words["arguments"]);
        let own = text(&near["ranking"]);
        let model = own.strip_prefix(&format!("{}+sectile-meaning-1-", text(&words["ranking"])));
        assert!(model.is_some_and(|digest| digest.len() == 64), "{own}");
    }
    let by_words = receipt(&bytes(&mut with, "cake", false));
    assert_eq!(by_words, receipt(&bytes(&mut without, "cake", false)));
}

#[test]
fn a_hidden_document_is_near_to_nothing() {
    let hiding = Library::new(
        &DOCUMENTS,
        "[server.tools]\ndenylist = ['sectile://docs/health']\n",
    )
    .and(ON);
    let without = library(&DOCUMENTS[..2], ON);
    let mut nobody = without.open();
    let mut client = hiding.open();
    for query in WORDLESS {
        let hidden = bytes(&mut client, query, true);
        assert_eq!(hidden, bytes(&mut nobody, query, true), "{query}");
        assert!(!hidden.contains("docs/health"), "{hidden}");
    }
    // What another caller may see does not come into it either.
    let some = Library::new(
        &DOCUMENTS,
        "[server.auth]\nallowed_tools = ['sectile_docs_search', 'sectile://docs/cars', 'sectile://docs/kitchen']\n",
    )
    .and(ON);
    let mut client = some.open();
    for query in WORDLESS {
        assert_eq!(
            bytes(&mut client, query, true),
            bytes(&mut nobody, query, true)
        );
    }
}

#[test]
fn both_transports_and_the_shell_say_the_same() {
    let library = library(&DOCUMENTS, ON);
    let http = library.http();
    let call = json!({ "name": SEARCH, "arguments": { "query": WORDLESS[0], "explain": true } });
    let mut structured = Value::Null;
    for era in Era::BOTH {
        let mut client = library.open_in(era);
        let on_stdio: Value =
            serde_json::from_str(&client.bytes("tools/call", call.clone())).unwrap();
        let message = era.request(7, "tools/call", call.clone());
        assert_eq!(http.post(era, &message).json(), on_stdio);
        structured = on_stdio["result"]["structuredContent"].clone();
    }
    let settings = format!("[docs]\ninclude_default_docs = false\nextra_paths = ['docs']\n{ON}");
    let desk = super::Desk::new(&[("sectile.toml", &settings)]);
    for (path, text) in DOCUMENTS {
        desk.write(&format!("docs/{path}"), text.as_bytes());
    }
    let search = ["docs", "search", "--config", "sectile.toml", "--explain"];
    let ran = desk.run(&[&search[..], &["--json", WORDLESS[0]]].concat());
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(printed, structured, "{ran:?}");
}
