//! Searching: what is found, in which order, and what an answer says besides.

use serde_json::{Value, json};

use super::library::{Library, SEARCH, text, uris};
use crate::fixture::Era;

#[test]
fn heading_match_ranking() {
    let library = Library::sample("");
    let mut client = library.open();
    let found = client.found("lane");
    assert_eq!(found[0], "sectile://docs/steps#lane-recipe");
    assert_eq!(
        client.found("trust lanes")[0],
        "sectile://docs/why#trust-lanes"
    );
}

#[test]
fn body_match_ranking() {
    let library = Library::sample("");
    let mut client = library.open();
    for (query, expected) in [
        ("max_doc_bytes", "sectile://docs/which#inputs"),
        ("doc bytes", "sectile://docs/which#inputs"),
        ("ToolSpec?", "sectile://docs/which#inputs"),
        ("run id", "sectile://docs/which#inputs-1"),
        ("comparator,", "sectile://docs/names#comparators"),
        ("comparing", "sectile://docs/names#comparators"),
        ("quagga", "sectile://docs/names#comparators"),
        ("zebras", "sectile://docs/why#fences"),
        ("\"verified or asserted\"", "sectile://docs/why#trust-lanes"),
        ("asertted", "sectile://docs/why#trust-lanes"),
    ] {
        assert_eq!(client.found(query)[0], expected, "{query}");
    }
}

#[test]
fn a_hit_says_where_it_stands_and_what_it_says() {
    let library = Library::sample("");
    let mut client = library.open();
    let answer = client.search(json!({ "query": "ToolSpec", "explain": true }));
    let hit = &answer["sections"][0];
    assert_eq!(hit["rank"], 1);
    assert_eq!(hit["doc_id"], "which");
    assert_eq!(hit["doc_title"], "Which tool");
    assert_eq!(hit["doc_role"], "decision");
    assert_eq!(hit["heading"], "Inputs");
    assert_eq!(hit["trail"], json!(["Which tool", "Precheck"]));
    assert_eq!(hit["content"], "Takes max_doc_bytes and a ToolSpec.");
    assert_eq!(hit["truncated"], false);
    let score = &hit["score"];
    let terms = score["terms"].as_array().unwrap().iter();
    let sum: u64 = terms.map(|term| term["score"].as_u64().unwrap()).sum();
    let others = score["together"].as_u64().unwrap() + score["role_bonus"].as_u64().unwrap();
    assert_eq!(score["total"].as_u64(), Some(sum + others));
    assert_eq!(
        answer["docs_covered"],
        json!([{ "doc_id": "which", "doc_title": "Which tool", "doc_role": "decision" }])
    );
    // Line ends are those of the file.
    let answer = client.search(json!({ "query": "lane recipe" }));
    assert_eq!(
        answer["sections"][0]["content"],
        "Build a lane.\r\nThen test it."
    );
}

#[test]
fn empty_sections_and_banners_are_never_found() {
    let library = Library::new(
        &[(
            "a.md",
            "<!--\nPurpose: banner\n-->\n# A\n\n## Empty\n\n### Child\n\nText below.\n",
        )],
        "",
    );
    let mut client = library.open();
    assert_eq!(client.found("empty"), ["sectile://docs/a#child"]);
    assert_eq!(client.found("purpose banner"), [""; 0]);
}

#[test]
fn max_sections_enforcement() {
    let many: String = (0..20)
        .map(|n| format!("## Lane {n}\n\nA lane.\n\n"))
        .collect();
    let library = Library::new(&[("many.md", &many)], "");
    let mut client = library.open();
    assert_eq!(client.found("lane").len(), 3, "the default");
    let ten = client.search(json!({ "query": "lane", "max_sections": 10 }));
    assert_eq!(uris(&ten).len(), 10);
    assert_eq!(ten["total_matches"], 20);
    for wrong in [json!(0), json!(-1), json!(11), json!("3"), json!(2.5)] {
        let answer = client.call(json!({ "query": "lane", "max_sections": wrong }));
        assert_eq!(answer["result"]["isError"], true, "{wrong}: {answer}");
        let error: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(error["code"], "invalid_arguments", "{wrong}: {error}");
    }
    let few = Library::with("max_sections = 2\n");
    let mut client = few.open();
    assert_eq!(client.found("lane").len(), 2);
    let listed = client.ask("tools/list", json!({}));
    let schema = &listed["result"]["tools"][0]["inputSchema"]["properties"]["max_sections"];
    assert_eq!(
        (&schema["minimum"], &schema["maximum"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        client.call(json!({ "query": "lane", "max_sections": 3 }))["result"]["isError"],
        true
    );
}

#[test]
fn empty_query_returns_overview_across_roles() {
    let library = Library::sample("");
    let mut client = library.open();
    for blank in ["", "  \t\n"] {
        let answer = client.search(json!({ "query": blank }));
        let roles: Vec<String> = answer["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| text(&section["doc_role"]))
            .collect();
        assert_eq!(roles, ["reasoning", "decision", "ontology", "pattern"]);
    }
    let two = client.search(json!({ "query": "", "max_sections": 2 }));
    assert_eq!(uris(&two), ["sectile://docs/why", "sectile://docs/which"]);
}

#[test]
fn max_sections_bounds_the_overview_as_well_and_the_schema_says_so() {
    for most in [1, 2, 3, 4, 7] {
        let library = Library::with(&format!("max_sections = {most}\n"));
        let mut client = library.open();
        let roles: Vec<String> = client.search(json!({ "query": "" }))["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| text(&section["doc_role"]))
            .collect();
        let all = ["reasoning", "decision", "ontology", "pattern"];
        assert_eq!(roles, all[..all.len().min(most)], "{most}");
        let listed = client.ask("tools/list", json!({}));
        let schema = &listed["result"]["tools"][0]["inputSchema"]["properties"]["max_sections"];
        assert_eq!(
            schema["description"],
            format!(
                "The most sections to return. Default: {}, and in an overview {}.",
                most.min(3),
                most.min(4)
            )
        );
        assert_eq!(schema["maximum"], most);
        for arguments in [json!({ "query": "lane" }), json!({ "query": "" })] {
            let usual = client.search(arguments.clone());
            let mut wanted = arguments.clone();
            wanted["max_sections"] = json!(most);
            let wanted = client.search(wanted);
            if most < 3 {
                assert_eq!(usual, wanted, "{most} {arguments}");
            }
        }
    }
}

/// What the settings allow decides an answer like an argument does, so the receipt tells it as well.
#[test]
fn equal_receipts_mean_equal_answers_under_other_settings_too() {
    let mut seen = std::collections::BTreeMap::new();
    for most in 1..=5 {
        let library = Library::with(&format!("max_sections = {most}\n"));
        let mut client = library.open();
        for query in ["lane", ""] {
            let answer = client.search(json!({ "query": query }));
            let receipt = answer["receipt"].to_string();
            let known = seen.entry(receipt).or_insert_with(|| answer.clone());
            assert_eq!(*known, answer, "{most} {query:?}");
        }
    }
    assert_eq!(seen.len(), 3 + 4, "one receipt for each number of sections");
}

#[test]
fn followups_name_sections_of_other_roles_for_the_same_question() {
    let library = Library::sample("");
    let mut client = library.open();
    let answer = client.search(json!({ "query": "lane", "max_sections": 1 }));
    let followups: Vec<String> = answer["suggested_followups"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .collect();
    assert_eq!(followups.len(), 2, "{followups:?}");
    assert!(
        followups[0].contains("sectile://docs/why#trust-lanes"),
        "{followups:?}"
    );
    assert!(
        followups[1].contains("sectile://docs/which#precheck"),
        "{followups:?}"
    );
}

#[test]
fn without_a_hit_there_is_help() {
    let library = Library::with("ranking = 'words'\n");
    let mut client = library.open();
    let answer = client.search(json!({ "query": "xylophones comparatrix" }));
    assert_eq!(answer["sections"], json!([]));
    assert_eq!(
        answer["unknown_terms"],
        json!(["xylophones", "comparatrix"])
    );
    let closest = answer["help"]["closest_headings"].as_array().unwrap();
    assert!(
        closest.len() == 5 && closest[0]["uri"].is_string(),
        "{answer}"
    );
    let near = client.search(json!({ "query": "comparitor" }));
    assert_eq!(
        near["corrected"],
        json!([{ "term": "comparitor", "used": ["comparator"] }])
    );
}

#[test]
fn a_good_word_stays_and_a_misspelt_one_is_a_last_resort() {
    let library = Library::new(
        &[(
            "files.md",
            "# Files\n\nThe editor keeps a file locked on disk.\n\n## Configuration\n\nThe configuration has one page.\n",
        )],
        "",
    )
    .and("ranking = 'words'\n");
    let mut client = library.open();
    for word in ["docker", "auditor", "own", "edition"] {
        let answer = client.search(json!({ "query": word }));
        assert_eq!(answer["sections"], json!([]), "{word}");
        assert_eq!(answer["unknown_terms"], json!([word]));
        assert!(answer.get("corrected").is_none(), "{answer}");
    }
    let alone = client.search(json!({ "query": "the confguration" }));
    assert_eq!(uris(&alone), ["sectile://docs/files#configuration"]);
    assert_eq!(
        alone["corrected"],
        json!([{ "term": "confguration", "used": ["configuration"] }])
    );
    let beside = client.search(json!({ "query": "confguration editor" }));
    assert_eq!(uris(&beside), ["sectile://docs/files"]);
    assert_eq!(beside["unknown_terms"], json!(["confguration"]));
    assert_eq!(beside["suggested"], json!(["configuration"]));
    assert!(beside.get("corrected").is_none(), "{beside}");
}

#[test]
fn hostile_queries_are_answered_at_once() {
    let library = Library::sample("");
    let mut client = library.open();
    // A long query is used by the words that say most.
    let words: Vec<String> = (0..400).map(|number| format!("filler{number}")).collect();
    let long = format!("{} comparator quagga", words.join(" the "));
    let answer = client.search(json!({ "query": long }));
    assert_eq!(uris(&answer)[0], "sectile://docs/names#comparators");
    let dropped = answer["dropped_terms"].as_array().unwrap();
    assert_eq!(dropped.len(), 20, "{answer}");
    for query in ["x".repeat(1 << 20), "x ".repeat(10_000), "lane ".repeat(33)] {
        let answer = client.search(json!({ "query": query }));
        assert!(answer["sections"].is_array(), "{answer}");
        assert!(answer.to_string().len() < 20_000, "{answer}");
    }
    for query in [
        "\u{0}\u{1b}[31m",
        "the of and",
        "\"",
        "\"\"",
        "???",
        "\u{202e}\u{200b}",
        "'; DROP TABLE",
    ] {
        let answer = client.search(json!({ "query": query }));
        assert!(answer["sections"].is_array(), "{query:?}: {answer}");
    }
    for arguments in [
        json!({}),
        json!({ "query": 3 }),
        json!({ "query": "x", "extra": 1 }),
    ] {
        assert_eq!(
            client.call(arguments.clone())["result"]["isError"],
            true,
            "{arguments}"
        );
    }
}

#[test]
fn long_sections_are_cut_with_a_mark_and_the_whole_answer_is_bounded() {
    let long: String = (0..12)
        .map(|n| {
            format!(
                "## Lane {n}\n\n{}\n\n",
                "A lane of words, one after another.\n".repeat(400)
            )
        })
        .collect();
    let library = Library::new(&[("long.md", &long)], "");
    let mut client = library.open();
    let answer = client.search(json!({ "query": "lane", "max_sections": 10 }));
    let sections = answer["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 10);
    for section in sections {
        assert_eq!(section["truncated"], true);
        assert!(
            text(&section["content"]).ends_with("more bytes]"),
            "{section}"
        );
        assert!(text(&section["content"]).len() > 400);
    }
    assert!(
        answer.to_string().len() < 32_000,
        "{}",
        answer.to_string().len()
    );
}

#[test]
fn determinism() {
    let mut shuffled = super::library::SAMPLE;
    shuffled.reverse();
    let (one, other) = (Library::sample(""), Library::new(&shuffled, ""));
    let mut turkish = other.command();
    turkish.envs([
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LANG", "tr_TR.UTF-8"),
        ("TOKIO_WORKER_THREADS", "7"),
    ]);
    let mut client = one.open();
    let mut elsewhere = super::library::Client::new(other.vault(), turkish, Era::Handshake);
    let mut seen = std::collections::BTreeMap::new();
    for query in [
        "lane",
        "LANE",
        "trust lanes",
        "",
        "inputs",
        "xylophone",
        "INPUTS id",
    ] {
        for max in [json!(1), json!(3), Value::Null] {
            let mut arguments = json!({ "query": query });
            if !max.is_null() {
                arguments["max_sections"] = max;
            }
            let call = json!({ "name": SEARCH, "arguments": arguments });
            let here = client.bytes("tools/call", call.clone());
            assert_eq!(here, client.bytes("tools/call", call.clone()));
            assert_eq!(here, elsewhere.bytes("tools/call", call));
            let answer: Value = serde_json::from_str(&here).unwrap();
            let receipt = answer["result"]["structuredContent"]["receipt"].to_string();
            assert_eq!(
                seen.insert(receipt, here),
                None,
                "receipts are equal only when answers are"
            );
        }
    }
    let more = Library::new(&[("why.md", "# Why it works\n")], "");
    let receipt = |answer: Value| answer["receipt"]["corpus"].clone();
    let query = json!({ "query": "lane" });
    assert_ne!(
        receipt(client.search(query.clone())),
        receipt(more.open().search(query))
    );
}

#[test]
fn http_answers_what_stdio_answers() {
    let library = Library::sample("");
    let http = library.http();
    for era in Era::BOTH {
        let mut client = library.open_in(era);
        for (method, params) in [
            ("tools/list", json!({})),
            (
                "tools/call",
                json!({ "name": SEARCH, "arguments": { "query": "lane" } }),
            ),
            ("resources/list", json!({})),
            ("resources/read", json!({ "uri": "sectile://docs/why" })),
            (
                "resources/read",
                json!({ "uri": "sectile://docs/why#trust-lanes" }),
            ),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({ "uri": "sectile://docs/nope" })),
        ] {
            let on_stdio: Value =
                serde_json::from_str(&client.bytes(method, params.clone())).unwrap();
            let over_http = http.post(era, &era.request(7, method, params)).json();
            assert_eq!(over_http, on_stdio, "{era:?} {method}");
        }
    }
}

#[test]
fn sse_resources_and_search_behave_identically_to_http() {
    let library = Library::sample("");
    let http = library.http();
    for era in Era::BOTH {
        for (method, params) in [
            (
                "tools/call",
                json!({ "name": SEARCH, "arguments": { "query": "lane" } }),
            ),
            ("resources/list", json!({})),
            ("resources/read", json!({ "uri": "sectile://docs/why" })),
            ("resources/read", json!({ "uri": "sectile://docs/nope" })),
        ] {
            let plain = era.request(7, method, params);
            // Who wants to hear of progress is answered by a stream where there may be some.
            let mut streamed = plain.clone();
            streamed["params"]["_meta"]["progressToken"] = json!("p");
            let (plain, streamed) = (http.post(era, &plain), http.post(era, &streamed));
            assert_eq!(plain.header("content-type"), Some("application/json"));
            let last = match method {
                "tools/call" => {
                    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
                    let mut events = streamed.events();
                    let last = events.pop().unwrap();
                    assert!(!events.is_empty(), "{streamed:?}");
                    for event in events {
                        assert_eq!(event["method"], "notifications/progress", "{event}");
                        assert_eq!(event["params"]["progressToken"], "p", "{event}");
                    }
                    last
                }
                // Nothing happens on the way to these.
                _ => streamed.json(),
            };
            assert_eq!(last, plain.json(), "{era:?} {method}");
            assert_eq!(streamed.status, plain.status, "{era:?} {method}");
        }
    }
}
