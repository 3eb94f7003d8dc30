//! `links`: edges in both directions, each with its sentence.

use serde_json::{Value, json};

use super::READ_NOTES;
use crate::fixture::{Era, TestDesk};

fn links(answer: &Value) -> Vec<Value> {
    answer["links"].as_array().unwrap().clone()
}

/// From, to and sentence of each link, the number in a lasting id left out.
fn rows(answer: &Value) -> Vec<(String, String, String)> {
    let short = |value: &Value| {
        let text = value.as_str().unwrap();
        match text.split_once('#') {
            Some((path, section)) => {
                let words = section.rsplit_once('-').map_or(section, |(words, _)| words);
                format!("{path}#{words}")
            }
            None => text.to_owned(),
        }
    };
    let row = |link: &Value| {
        let text = link["text"].as_str().unwrap().to_owned();
        (short(&link["from"]), short(&link["to"]), text)
    };
    links(answer).iter().map(row).collect()
}

fn row(from: &str, to: &str, text: &str) -> (String, String, String) {
    (from.to_owned(), to.to_owned(), text.to_owned())
}

#[test]
fn links_lead_in_and_out_with_their_sentences() {
    let desk = TestDesk::new(READ_NOTES);
    let out = row(
        "projects/plan.md#catering",
        "projects/Winter feed.md",
        "Soup for everyone, as [[Winter feed]] says.",
    );
    let into = row(
        "projects/Winter feed.md#winter-feed",
        "projects/plan.md#budget",
        "See [the budget](plan.md#budget).",
    );
    for era in Era::BOTH {
        let mut client = desk.open_with(era, "");
        let mut with = |arguments: Value| rows(&client.json("links", arguments));
        let plan = "projects/plan.md";
        assert_eq!(with(json!({ "id": plan })), [out.clone(), into.clone()]);
        assert_eq!(
            with(json!({ "id": plan, "direction": "out" })),
            std::slice::from_ref(&out)
        );
        assert_eq!(
            with(json!({ "path": plan, "direction": "in" })),
            std::slice::from_ref(&into)
        );
        assert_eq!(with(json!({ "id": "projects/plan.md#Tasks" })), []);
        assert_eq!(
            with(json!({ "id": "projects/plan.md#Budget" })),
            [out.clone(), into.clone()]
        );
        assert_eq!(
            with(json!({ "id": "projects/plan.md#Catering" })),
            std::slice::from_ref(&out)
        );
        let mut all = with(json!({ "id": "." }));
        all.sort();
        assert_eq!(all, [into.clone(), out.clone()]);
        assert_eq!(with(json!({ "id": "projects/" })).len(), 2);
        assert_eq!(with(json!({ "id": ".", "broken": true })), []);
    }
}

#[test]
fn broken_and_ambiguous_links_are_marked() {
    let desk = TestDesk::new(&[
        (
            "a.md",
            "# A\n\nSee [[nowhere]] and [x](gone.md). Then [[twin]], [up](../../out.md).\n\n[[b#No such heading]]\n",
        ),
        ("b.md", "# B\n\n[[a]] and ![[picture.png]]\n"),
        ("one/twin.md", "# Twin\n"),
        ("two/twin.md", "# Twin\n"),
        ("picture.png", "not a note"),
    ]);
    let mut client = desk.open();
    let answer = client.json("links", json!({ "id": ".", "broken": true }));
    let found = links(&answer);
    assert!(
        found.iter().all(|link| link["broken"].is_string()),
        "{answer}"
    );
    let to: Vec<&str> = found
        .iter()
        .map(|link| link["to"].as_str().unwrap())
        .collect();
    for expected in [
        "nowhere",
        "gone.md",
        "twin",
        "../../out.md",
        "b#No such heading",
    ] {
        assert!(to.contains(&expected), "{expected}: {answer}");
    }
    assert!(!to.iter().any(|to| to.contains("picture")), "{answer}");
    let twin = found.iter().find(|link| link["to"] == "twin").unwrap();
    assert_eq!(twin["candidates"], json!(["one/twin.md", "two/twin.md"]));
    assert_eq!(twin["text"], "Then [[twin]], [up](../../out.md).");
    let fine = client.json("links", json!({ "id": "b.md", "direction": "out" }));
    assert!(
        links(&fine).iter().all(|link| link.get("broken").is_none()),
        "{fine}"
    );
    // What other programs do is seen at once.
    desk.overwrite("nowhere.md", "# Here\n");
    let answer = client.json("links", json!({ "id": "a.md", "broken": true }));
    assert!(
        links(&answer).iter().all(|link| link["to"] != "nowhere"),
        "{answer}"
    );
}

#[test]
fn links_come_in_pages() {
    let many: String = (0..200)
        .map(|n| format!("Sentence {n} names [[b]] once.\n\n"))
        .collect();
    let desk = TestDesk::new(&[("a.md", &many), ("b.md", "# B\n")]);
    let mut client = desk.open();
    let mut texts = Vec::new();
    let mut arguments = json!({ "id": "b.md" });
    loop {
        let answer = client.json("links", arguments.clone());
        assert!(sectile_markdown::estimate_tokens(&answer.to_string()) <= 1_500);
        assert_eq!(answer["total"], 200);
        texts.extend(rows(&answer).into_iter().map(|(_, _, text)| text));
        match answer.get("next") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    let expected: Vec<String> = (0..200)
        .map(|n| format!("Sentence {n} names [[b]] once."))
        .collect();
    assert_eq!(texts, expected);
    let stale = json!({ "id": "b.md", "direction": "in", "cursor": arguments["cursor"] });
    client.refused("links", stale, "cursor_stale");
    client.refused(
        "links",
        json!({ "id": "b.md", "cursor": "1" }),
        "invalid_cursor",
    );
    client.refused(
        "links",
        json!({ "id": "b.md", "direction": "up" }),
        "invalid_arguments",
    );
    client.refused("links", json!({ "id": "c.md" }), "not_found");
    client.refused("links", json!({}), "invalid_arguments");
    desk.overwrite("a.md", "Nothing.");
    client.refused("links", arguments, "cursor_stale");
}
