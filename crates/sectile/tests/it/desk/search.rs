//! `search`: results with ids, snippets from the files, and pages.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::READ_NOTES;
use crate::fixture::{Era, TestDesk};

fn results(answer: &Value) -> Vec<Value> {
    answer["results"].as_array().unwrap().clone()
}

fn ids(answer: &Value) -> Vec<String> {
    let results = results(answer);
    let ids = results.iter().map(|result| result["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[test]
fn results_have_what_the_next_call_needs() {
    let desk = TestDesk::new(READ_NOTES);
    for era in Era::BOTH {
        let mut client = desk.open_with(era, "");
        let answer = client.json("search", json!({ "query": "budget for ropes and paint" }));
        let first = &results(&answer)[0];
        let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "title", "url", "snippet", "tokens", "base"]);
        let id = first["id"].as_str().unwrap();
        assert!(id.starts_with("projects/plan.md#budget-"), "{answer}");
        assert_eq!(first["title"], "Harbour plan > Budget");
        assert_eq!(
            first["snippet"],
            "The budget is 40 euros for ropes and paint."
        );
        assert!(!first["url"].as_str().unwrap().is_empty());
        let text = client.text("fetch", json!({ "id": id }));
        assert!(
            text.contains(&format!(" | {} tokens | ", first["tokens"])),
            "{text}"
        );
        let base = first["base"].as_str().unwrap();
        assert!(text.contains(base.strip_prefix("part-").unwrap()), "{text}");
        // The base of a result is enough to change a passage.
        let edit = json!({ "id": id, "old": "40 euros", "new": "40 euros", "base": base });
        client.json("edit", edit);
    }
}

#[test]
fn a_section_is_one_result_and_a_snippet_is_short() {
    let paragraph = |n: usize| {
        format!(
            "Paragraph {n} tells of the lighthouse keeper. {}\n\n",
            "More words follow here. ".repeat(40)
        )
    };
    let text: String = (0..12).map(paragraph).collect();
    let desk = TestDesk::new(&[("a.md", &format!("# A\n\n{text}## B\n\nThe lighthouse.\n"))]);
    let mut client = desk.open();
    let answer = client.json(
        "search",
        json!({ "query": "lighthouse keeper", "limit": 20 }),
    );
    let found = ids(&answer);
    let different: HashSet<&String> = found.iter().collect();
    assert_eq!(found.len(), different.len(), "{answer}");
    assert_eq!(found.len(), 2, "{answer}");
    for result in results(&answer) {
        let snippet = result["snippet"].as_str().unwrap();
        assert!(snippet.chars().count() <= 240, "{snippet}");
        assert!(snippet.contains("lighthouse"), "{snippet}");
    }
}

/// Many notes, whose names are long where that matters.
fn many(text: impl Fn(usize) -> String) -> TestDesk {
    let desk = TestDesk::new(&[]);
    for n in 0..60 {
        let path = format!("a rather long folder name/another folder/note number {n} of many.md");
        desk.overwrite(&path, text(n));
    }
    desk
}

#[test]
fn an_answer_keeps_to_its_budget_and_pages_have_everything_once() {
    let english = |n| {
        format!(
            "# Note {n}\n\n{}",
            "The lighthouse keeper counts ships and boats. ".repeat(20)
        )
    };
    let chinese = |n| format!("# 笔记 {n}\n\n{}", "灯塔看守人数着船只和小船。".repeat(60));
    for (desk, query) in [(many(english), "lighthouse"), (many(chinese), "灯塔")] {
        let mut client = desk.open();
        let mut seen = HashSet::new();
        let mut arguments = json!({ "query": query });
        for page in 0.. {
            let answer = client.json("search", arguments.clone());
            let tokens = sectile_markdown::estimate_tokens(&answer.to_string());
            assert!(tokens <= 1_500, "{tokens}: {answer}");
            assert!(page < 60, "{answer}");
            for id in ids(&answer) {
                assert!(seen.insert(id), "{answer}");
            }
            assert_eq!(answer["total"], 60);
            match answer.get("next") {
                Some(next) => arguments["cursor"] = next.clone(),
                None => break,
            }
        }
        assert_eq!(seen.len(), 60);
    }
}

#[test]
fn a_cursor_of_another_query_or_state_is_refused() {
    let desk = many(|n| format!("# Note {n}\n\nThe lighthouse keeper.\n"));
    let mut client = desk.open();
    let answer = client.json("search", json!({ "query": "lighthouse" }));
    let next = answer["next"].as_str().unwrap().to_owned();
    let with = |query: &str, cursor: &str| json!({ "query": query, "cursor": cursor });
    client.refused("search", with("keeper", &next), "cursor_stale");
    for bad in ["", "8", "8.x", "x.0123456789", "8-8.0123456789"] {
        client.refused("search", with("lighthouse", bad), "invalid_cursor");
    }
    let first = ids(&answer)[0].split_once('#').unwrap().0.to_owned();
    desk.remove(&first);
    client.refused("search", with("lighthouse", &next), "cursor_stale");
}

#[test]
fn what_changes_on_disk_is_found_and_quoted_as_it_is_now() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    client.json("search", json!({ "query": "oats" }));
    desk.overwrite(
        "projects/Winter feed.md",
        "# Winter feed\n\nOnly carrots and barley now.\n",
    );
    let answer = client.json("search", json!({ "query": "barley" }));
    assert_eq!(
        results(&answer)[0]["snippet"],
        "Only carrots and barley now."
    );
    desk.remove("projects/Winter feed.md");
    let answer = client.json("search", json!({ "query": "barley carrots" }));
    assert!(
        ids(&answer).iter().all(|id| !id.contains("Winter")),
        "{answer}"
    );
}

#[test]
fn bad_arguments_are_refused() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    for arguments in [
        json!({ "query": "x", "limit": 0 }),
        json!({ "query": "x", "limit": 21 }),
        json!({ "q": "x" }),
        json!({ "query": 5 }),
        json!({}),
    ] {
        client.refused("search", arguments, "invalid_arguments");
    }
}

#[test]
fn same_desk_same_query_same_bytes() {
    let desk = TestDesk::new(READ_NOTES);
    let mut one = desk.open();
    let first = one.json("search", json!({ "query": "harbour budget" }));
    assert_eq!(first["tier"], "static");
    for _ in 0..3 {
        let again = one.json("search", json!({ "query": "harbour budget" }));
        assert_eq!(again, first);
    }
    let mut other = desk.open();
    assert_eq!(
        other.json("search", json!({ "query": "harbour budget" })),
        first
    );
}

#[test]
fn filters_list_notes_and_tasks() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let mut found = |query: &str| ids(&client.json("search", json!({ "query": query })));
    assert_eq!(found("tag:harbour"), ["projects/plan.md"]);
    assert_eq!(found("tag:paint"), ["projects/plan.md"]);
    assert_eq!(found("status:open"), ["projects/plan.md"]);
    assert_eq!(found("status:closed"), [""; 0]);
    assert_eq!(
        found("path:projects/ -status:*"),
        ["projects/Winter feed.md"]
    );
    let answer = client.json("search", json!({ "query": "is:task" }));
    let tasks = results(&answer);
    assert_eq!(tasks.len(), 1, "{answer}");
    assert!(
        tasks[0]["id"]
            .as_str()
            .unwrap()
            .starts_with("projects/plan.md#tasks-"),
        "{answer}"
    );
    assert_eq!(
        tasks[0]["snippet"],
        "- [ ] Buy ropes\n- [ ] Paint the quay #paint"
    );
    let done = client.json("search", json!({ "query": "is:done" }));
    assert_eq!(results(&done)[0]["snippet"], "- [x] Ask the mayor");
    let ropes = client.json("search", json!({ "query": "is:task ropes" }));
    assert_eq!(results(&ropes)[0]["snippet"], "- [ ] Buy ropes");
    assert_eq!(ropes["total"], 1, "{ropes}");
    let phrase = client.json("search", json!({ "query": "\"oats for the horses\"" }));
    assert_eq!(ids(&phrase).len(), 1, "{phrase}");
    assert!(
        ids(&phrase)[0].starts_with("projects/Winter feed.md"),
        "{phrase}"
    );
}

#[test]
fn recent_notes_come_first_if_asked_for() {
    let desk = TestDesk::new(&[]);
    for (n, name) in ["old.md", "middle.md", "new.md"].iter().enumerate() {
        desk.overwrite(name, "text\n");
        let time = std::time::SystemTime::UNIX_EPOCH
            + std::time::Duration::from_secs(1_700_000_000 + 86_400 * n as u64);
        let file = std::fs::File::options()
            .write(true)
            .open(desk.location(name))
            .unwrap();
        file.set_modified(time).unwrap();
    }
    let mut client = desk.open();
    let answer = client.json("search", json!({ "query": "sort:modified" }));
    assert_eq!(ids(&answer), ["new.md", "middle.md", "old.md"]);
}

#[test]
fn a_long_question_is_answered_and_says_what_was_dropped() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let words: Vec<String> = (0..10_000).map(|n| format!("word{n}")).collect();
    let query = format!("harbour budget {}", words.join(" "));
    let answer = client.json("search", json!({ "query": query }));
    let dropped = answer["dropped"].as_array().unwrap();
    assert!(!dropped.is_empty(), "{answer}");
    assert!(
        dropped
            .last()
            .unwrap()
            .as_str()
            .unwrap()
            .starts_with("and "),
        "{answer}"
    );
    assert!(sectile_markdown::estimate_tokens(&answer.to_string()) <= 1_500);
}

#[test]
fn nothing_found_says_what_to_try() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let answer = client.json("search", json!({ "query": "status:closed tag:harbour" }));
    assert_eq!(results(&answer), Vec::<Value>::new());
    let advice = answer["try"].to_string();
    assert!(
        advice.contains("fewer filters") && advice.contains("status"),
        "{answer}"
    );
    let found = client.json("search", json!({ "query": "harbour" }));
    assert!(found.get("try").is_none(), "{found}");
}

#[test]
fn a_filter_without_a_value_is_refused() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    for query in [
        "tag:",
        "path:",
        "before:",
        "before:soon",
        "modified:x",
        "is:nothing",
        "sort:up",
    ] {
        let text = client.refused("search", json!({ "query": query }), "invalid_query");
        assert!(text.contains(query.split(':').next().unwrap()), "{text}");
    }
    // A word with a colon that is not a filter is a word.
    client.json(
        "search",
        json!({ "query": "http://example.org nofield:x 12:30" }),
    );
}

/// Notes in six languages, two of each about something similar, and phrases that one of them has.
const NOTES_IN_SIX_LANGUAGES: [(&str, &str, &[&str]); 12] = [
    (
        "de/hafen.md",
        "# Hafen\n\nDas Boot liegt im Hafen, und die Seile sind nass. Morgen streichen wir die Planken mit weißer Farbe.\n",
        &["streichen wir die Planken mit weißer Farbe", "nasse Seile"],
    ),
    (
        "de/werft.md",
        "# Werft\n\nDie Werft streicht Boote mit Farbe, wenn die Planken trocken sind. Seile gibt es im Laden.\n",
        &["wenn die Planken trocken sind"],
    ),
    (
        "fr/port.md",
        "# Port\n\nLe bateau est au port, et l'eau monte déjà. Demain nous peindrons l'échelle du quai en rouge.\n",
        &["nous peindrons l'échelle du quai en rouge", "échelle rouge"],
    ),
    (
        "fr/quai.md",
        "# Quai\n\nLe quai est long. L'eau du port est calme quand le bateau de pêche arrive.\n",
        &["quand le bateau de pêche arrive"],
    ),
    (
        "ru/gavan.md",
        "# Гавань\n\nЛодка стоит в гавани, верёвки мокрые. Завтра мы красим доски белой краской.\n",
        &["Завтра мы красим доски белой краской", "мокрая верёвка"],
    ),
    (
        "ru/verf.md",
        "# Верфь\n\nНа верфи красят лодки, когда доски сухие. Краску продают в магазине у причала.\n",
        &["Краску продают в магазине у причала"],
    ),
    (
        "ja/tsukiji.md",
        "# 市場\n\n築地市場は朝五時に開きます。魚を買う人が多く、道はとても混んでいます。\n",
        &["築地市場", "魚を買う人が多く、道はとても混んで"],
    ),
    (
        "ja/minato.md",
        "# 港\n\n港の市場では船から魚を下ろします。朝の道は静かで、人は少ないです。\n",
        &["船から魚を下ろします"],
    ),
    (
        "zh/gangkou.md",
        "# 港口\n\n渔船停在港口，绳子还是湿的。明天我们把木板漆成白色，然后再出海。\n",
        &["明天我们把木板漆成白色", "绳子"],
    ),
    (
        "zh/shichang.md",
        "# 市场\n\n市场早上五点开门，卖鱼的人很多。木板和油漆在旁边的商店里。\n",
        &["油漆在旁边的商店里"],
    ),
    (
        "ar/mina.md",
        "# الميناء\n\nالقارب في الميناء والحبال مبللة. غدا ندهن الألواح باللون الأبيض قبل الإبحار.\n",
        &["غدا ندهن الألواح باللون الأبيض قبل الإبحار", "حبل مبلل"],
    ),
    (
        "ar/souq.md",
        "# السوق\n\nيفتح السوق في الخامسة صباحا ويبيع الصيادون السمك. الطلاء في متجر قرب الرصيف.\n",
        &["ويبيع الصيادون السمك"],
    ),
];

#[test]
fn notes_in_six_languages_are_found_by_what_they_say() {
    let notes = NOTES_IN_SIX_LANGUAGES.map(|(path, text, _)| (path, text));
    let desk = TestDesk::new(&notes);
    for mut client in [desk.open(), desk.open_with_meaning()] {
        for (path, _, phrases) in NOTES_IN_SIX_LANGUAGES {
            for phrase in phrases {
                let answer = client.json("search", json!({ "query": phrase }));
                assert!(ids(&answer)[0].starts_with(path), "{phrase}: {answer}");
            }
        }
    }
}

/// With `ranking = "static"` the first tier answers even if the vectors of the second are there.
#[test]
fn the_ranking_says_whether_the_second_tier_answers() {
    let desk = TestDesk::new(READ_NOTES);
    let query = json!({ "query": "harbour budget" });
    let second = desk.open_with_meaning().json("search", query.clone());
    assert_eq!(second["tier"], "transformer");
    assert_eq!(desk.open().json("search", query)["tier"], "static");
}
