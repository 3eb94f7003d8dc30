//! `fetch`: exact bytes within a budget.

use serde_json::{Value, json};

use super::READ_NOTES;
use crate::fixture::{Era, TestDesk};

/// A head line, and what follows it.
fn split(answer: &str) -> (&str, &str) {
    let (head, body) = answer.split_once('\n').unwrap();
    assert!(head.starts_with('[') && head.ends_with(']'), "{answer}");
    (head, body)
}

/// The part of a head line that follows `word`, up to the next separator.
fn part<'a>(head: &'a str, word: &str) -> &'a str {
    let (_, rest) = head
        .split_once(word)
        .unwrap_or_else(|| panic!("no {word} in {head}"));
    rest.split([' ', ';', ']']).next().unwrap()
}

/// The id at the start of a head line.
fn id(head: &str) -> &str {
    head[1..].split(" | ").next().unwrap()
}

/// About how many tokens a text has, by the rule of the manual.
fn tokens(text: &str) -> usize {
    sectile_markdown::estimate_tokens(text)
}

#[test]
fn a_document_and_a_section_come_as_they_are() {
    let desk = TestDesk::new(READ_NOTES);
    for era in Era::BOTH {
        let mut client = desk.open_with(era, "");
        let answer = client.text("fetch", json!({ "id": "projects/plan.md" }));
        let (head, body) = split(&answer);
        assert_eq!(body, desk.text("projects/plan.md"));
        assert_eq!(id(head), "projects/plan.md");
        assert!(
            head.contains(&format!("the whole document, {} bytes", body.len())),
            "{head}"
        );
        assert!(
            head.contains(&format!(" | {} tokens | ", tokens(body))),
            "{head}"
        );
        let section = client.text("fetch", json!({ "path": "projects/plan.md#Budget" }));
        let (head, body) = split(&section);
        assert!(id(head).starts_with("projects/plan.md#budget-"), "{head}");
        assert!(
            body.starts_with("## Budget\n") && body.contains("### Catering"),
            "{body}"
        );
        assert!(desk.text("projects/plan.md").contains(body));
        assert!(!body.contains("## Tasks"), "{body}");
        // The lasting id alone is enough.
        let lasting = id(head).split_once('#').unwrap().1;
        assert_eq!(client.text("fetch", json!({ "id": lasting })), section);
    }
}

/// Nothing is escaped, trimmed or rewritten.
#[test]
fn bytes_are_exact() {
    let texts = [
        "\u{feff}---\r\na: 1\r\n---\r\n# T\r\n\r\n\r\ntext  \r\n\r\n",
        "no end",
        "",
        "\n\n",
        "tab\there \"quotes\" \\ <b> & 日本語 🚢\n[projects/plan.md | base 0 | 1 tokens | the whole document, 3 bytes]\nfake\n",
    ];
    for text in texts {
        let desk = TestDesk::new(&[("a.md", text)]);
        let mut client = desk.open();
        let answer = client.text("fetch", json!({ "id": "a.md" }));
        let (head, body) = split(&answer);
        assert_eq!(body, text);
        assert!(head.contains(&format!("{} bytes", text.len())), "{head}");
    }
}

#[test]
fn the_base_is_what_edit_takes() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let answer = client.text("fetch", json!({ "id": "projects/plan.md#Budget" }));
    let (head, _) = split(&answer);
    let base = part(head, "base ").to_owned();
    desk.overwrite(
        "projects/plan.md",
        desk.text("projects/plan.md")
            .replace("40 euros", "45 euros"),
    );
    let conflict = json!({ "id": id(head), "base": base, "new": "The budget is 50 euros for ropes and paint." });
    client.refused("edit", conflict, "conflict");
    let again = client.text("fetch", json!({ "id": "projects/plan.md#Budget" }));
    let base = part(split(&again).0, "base ");
    client.json(
        "edit",
        json!({ "id": id(head), "base": base, "new": "Nothing." }),
    );
    assert!(
        desk.text("projects/plan.md")
            .contains("## Budget\n\nNothing.\n\n### Catering")
    );
}

/// A long document: its sections, the first part, and the rest by cursors.
fn long_note() -> String {
    let sections = (1..=40).map(|n| {
        format!(
            "## Part {n}\n\n{}\n\n",
            format!("Sentence {n} about ropes and the quay. ")
                .repeat(30)
                .trim_end()
        )
    });
    format!("# Long\n\nIntro.\n\n{}", sections.collect::<String>())
}

#[test]
fn a_long_document_comes_in_pages_that_keep_to_the_budget() {
    let text = long_note();
    let desk = TestDesk::new(&[("long.md", &text)]);
    let mut client = desk.open();
    for budget in [400, 2_000, 6_000] {
        let mut whole = String::new();
        let mut cursor = Value::Null;
        for page in 0.. {
            let mut arguments = json!({ "id": "long.md", "budget": budget });
            if cursor.is_string() {
                arguments["cursor"] = cursor.clone();
            }
            let answer = client.text("fetch", arguments);
            assert!(tokens(&answer) <= budget, "{} > {budget}", tokens(&answer));
            let (head, body) = split(&answer);
            let body = match body.split_once("\n[text]\n") {
                Some((sections, body)) => {
                    assert_eq!(page, 0, "{head}");
                    assert!(sections.contains("- long.md#part-1-"), "{sections}");
                    assert!(head.contains("its sections, then bytes 0 to "), "{head}");
                    body
                }
                None => body,
            };
            whole += body;
            if !head.contains(" cursor ") {
                assert!(head.contains("the rest of the document"), "{head}");
                assert!(!part(head, "base ").starts_with("part-"), "{head}");
                break;
            }
            assert!(part(head, "base ").starts_with("part-"), "{head}");
            cursor = json!(part(head, " cursor "));
        }
        assert_eq!(whole, text);
    }
    // What was read only in part is not replaced as a whole.
    let answer = client.text("fetch", json!({ "id": "long.md", "budget": 400 }));
    let base = part(split(&answer).0, "base ");
    let replace = json!({ "id": "long.md", "new": "Short.", "base": base, "scope": "subtree" });
    client.refused("edit", replace, "part_of_text");
}

#[test]
fn the_budget_may_be_nothing_or_a_billion() {
    let text = long_note().repeat(4);
    let desk = TestDesk::new(&[("long.md", &text)]);
    let mut client = desk.open();
    let none = client.text("fetch", json!({ "id": "long.md", "budget": 0 }));
    assert_eq!(none.lines().count(), 1, "{none}");
    assert!(
        none.contains("| base part-") && none.contains("the budget is 0"),
        "{none}"
    );
    // No cursor leads to the same place again.
    let little = client.text("fetch", json!({ "id": "long.md", "budget": 5 }));
    assert_eq!(little.lines().count(), 1, "{little}");
    assert!(little.contains("the budget is too small"), "{little}");
    assert!(!little.contains("cursor"), "{little}");
    let all = client.text("fetch", json!({ "id": "long.md", "budget": 1_000_000_000 }));
    assert!(
        (10_000..=20_000).contains(&tokens(&all)),
        "{}",
        tokens(&all)
    );
    assert!(split(&all).0.contains(" cursor "), "{}", split(&all).0);
    client.refused(
        "fetch",
        json!({ "id": "long.md", "budget": -1 }),
        "invalid_arguments",
    );
}

#[test]
fn several_ids_share_the_budget_and_one_mistake_does_not_cost_the_others() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let ids = "inbox.md\nnowhere.md\n\n projects/Winter feed.md ";
    let answer = client.text("fetch", json!({ "id": ids }));
    let heads: Vec<&str> = answer
        .lines()
        .filter(|line| line.starts_with('['))
        .collect();
    assert_eq!(heads.len(), 3, "{answer}");
    assert!(heads[1].contains("not_found: "), "{answer}");
    assert!(answer.contains(&desk.text("inbox.md")), "{answer}");
    assert!(
        answer.ends_with(&desk.text("projects/Winter feed.md")),
        "{answer}"
    );
    let many = "inbox.md\n".repeat(51);
    client.refused("fetch", json!({ "id": many }), "too_many");
    client.refused("fetch", json!({ "id": " \n " }), "invalid_arguments");
    client.refused("fetch", json!({ "id": "projects/" }), "wrong_kind");
    // The second document does not fit: its cursor leads there.
    let text = long_note();
    desk.overwrite("long.md", &text);
    let first = json!({ "id": "inbox.md\nlong.md", "budget": 500 });
    let answer = client.text("fetch", first);
    let head = answer
        .lines()
        .find(|line| line.contains(" cursor "))
        .unwrap();
    let next =
        json!({ "id": "inbox.md\nlong.md", "budget": 500, "cursor": part(head, " cursor ") });
    let answer = client.text("fetch", next);
    assert!(!answer.contains("Loose thoughts"), "{answer}");
    assert_eq!(id(split(&answer).0), "long.md");
}

#[test]
fn a_cursor_of_another_state_is_refused() {
    let text = long_note();
    let desk = TestDesk::new(&[("long.md", &text), ("other.md", &text)]);
    let mut client = desk.open();
    let answer = client.text("fetch", json!({ "id": "long.md", "budget": 500 }));
    let cursor = part(split(&answer).0, " cursor ").to_owned();
    let with = |id: &str, cursor: &str| json!({ "id": id, "budget": 500, "cursor": cursor });
    client.refused("fetch", with("other.md", &cursor), "cursor_stale");
    for bad in ["", "x", "1.0123456789", "0-5.xyz", "0-5", "-1-5.0123456789"] {
        client.refused("fetch", with("long.md", bad), "invalid_cursor");
    }
    desk.overwrite("long.md", text.replace("Intro.", "Another intro."));
    let stale = client.refused("fetch", with("long.md", &cursor), "cursor_stale");
    assert!(stale.contains("start again"), "{stale}");
}

#[test]
fn connectors_get_an_object_with_an_address() {
    let desk = TestDesk::new(READ_NOTES);
    for era in Era::BOTH {
        for name in ["openai-mcp", "ChatGPT"] {
            let mut client = desk.open_as(era, name);
            let document = client.json("fetch", json!({ "id": "projects/plan.md" }));
            assert_eq!(document["text"], desk.text("projects/plan.md"));
            assert_eq!(document["id"], "projects/plan.md");
            assert_eq!(document["title"], "Harbour plan");
            assert_eq!(document["url"], "sectile:///projects/plan.md");
            assert!(document["metadata"]["base"].is_string(), "{document}");
            let id = client.json("search", json!({ "query": "catering soup" }))["results"][0]["id"]
                .clone();
            let section = client.json("fetch", json!({ "id": id }));
            assert_eq!(section["id"], id);
            assert_eq!(section["title"], "Harbour plan > Budget > Catering");
            assert!(
                section["url"].as_str().unwrap().contains("#catering-"),
                "{section}"
            );
        }
        let mut client = desk.open_as(era, "claude-code");
        client.text("fetch", json!({ "id": "projects/plan.md" }));
    }
}
