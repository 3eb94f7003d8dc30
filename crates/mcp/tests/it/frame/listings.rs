//! Listings, reads and prompts of a world with tools, resources and prompts.

use sectile_mcp::{Access, Policy};
use serde_json::{Value, json};

use super::{ALPHA, BETA, Client, RESOURCES, call_shelve, spec, tool};
use crate::fixture::{Era, initialize};

#[tokio::test]
async fn capabilities_are_declared_for_what_there_is_and_for_nothing_else() {
    for (with_resources, with_prompts) in
        [(true, true), (true, false), (false, true), (false, false)]
    {
        let world = || {
            let mut spec = spec();
            spec.resources = with_resources.then_some(RESOURCES);
            spec.prompts.truncate(if with_prompts { 2 } else { 0 });
            spec
        };
        let mut expected = vec!["tools"];
        expected.extend(with_prompts.then_some("prompts"));
        expected.extend(with_resources.then_some("resources"));
        for era in Era::BOTH {
            let mut client = Client::connect(Era::Stateless, world(), Policy::default()).await;
            let answer = match era {
                Era::Stateless => client.ask("server/discover", json!({})).await,
                Era::Handshake => {
                    client.send(&initialize(7)).await;
                    serde_json::from_str(&client.receive_line().await).unwrap()
                }
            };
            let declared = answer["result"]["capabilities"].as_object().unwrap();
            let mut declared: Vec<&String> = declared.keys().collect();
            declared.sort();
            expected.sort_unstable();
            assert_eq!(declared, expected, "{era:?}");

            let mut client = Client::connect(era, world(), Policy::default()).await;
            for (method, exists) in [
                ("resources/list", with_resources),
                ("resources/templates/list", with_resources),
                ("prompts/list", with_prompts),
            ] {
                let answer = client.ask(method, json!({})).await;
                let code = &answer["error"]["code"];
                let case = format!("{method}, {era:?}, {expected:?}: {answer}");
                assert_eq!(answer["result"].is_object(), exists, "{case}");
                assert_eq!(*code == -32601, !exists, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        let answer = client.ask("resources/list", json!({})).await;
        let result = &answer["result"];
        assert_eq!(
            result["resources"],
            json!([
                {
                    "uri": ALPHA,
                    "name": "alpha",
                    "title": "Book alpha",
                    "description": "The book called alpha.",
                    "mimeType": "text/markdown",
                    "size": 7,
                },
                {
                    "uri": BETA,
                    "name": "beta",
                    "title": "Book beta",
                    "description": "The book called beta.",
                    "mimeType": "text/markdown",
                    "size": 7,
                },
            ]),
            "{era:?}"
        );
        assert_eq!(result["ttlMs"], 300_000, "{era:?}");
        assert_eq!(result["cacheScope"], "public", "{era:?}");
        for (uri, text) in [(ALPHA, "# Alpha"), (BETA, "# Beta\n")] {
            let answer = client.ask("resources/read", json!({ "uri": uri })).await;
            assert_eq!(
                answer["result"]["contents"],
                json!([{ "uri": uri, "mimeType": "text/markdown", "text": text }]),
                "{era:?}"
            );
        }
        let answer = client.ask("resources/templates/list", json!({})).await;
        assert_eq!(answer["result"]["resourceTemplates"], json!([]), "{era:?}");
    }
}

#[tokio::test]
async fn every_stateless_listing_and_reading_says_how_long_it_holds() {
    let mut client = Client::connect(Era::Stateless, spec(), Policy::default()).await;
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": ALPHA })),
        ("prompts/list", json!({})),
        ("server/discover", json!({})),
    ] {
        let result = client.ask(method, params).await["result"].clone();
        assert!(result["ttlMs"].is_u64(), "{method}: {result}");
        assert!(
            ["public", "private"].contains(&result["cacheScope"].as_str().unwrap_or("")),
            "{method}: {result}"
        );
        assert_eq!(result["resultType"], "complete", "{method}");
    }
}

#[tokio::test]
async fn no_listing_takes_a_cursor() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        for method in [
            "tools/list",
            "resources/list",
            "resources/templates/list",
            "prompts/list",
        ] {
            let answer = client.ask(method, json!({ "cursor": "x" })).await;
            assert_eq!(answer["error"]["code"], -32602, "{method}, {era:?}");
        }
    }
}

#[tokio::test]
async fn a_resource_that_does_not_exist_has_the_code_of_its_era() {
    for (era, code) in [(Era::Handshake, -32002), (Era::Stateless, -32602)] {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        for uri in [
            "shelf://gamma",
            "shelf://alpha/",
            "",
            "../alpha",
            "not a uri",
        ] {
            let answer = client.ask("resources/read", json!({ "uri": uri })).await;
            let error = &answer["error"];
            assert_eq!(error["code"], code, "{uri:?}, {era:?}: {answer}");
            assert_eq!(error["data"]["kind"], "unknown_resource", "{uri:?}");
        }
        for params in [json!({}), json!({ "uri": 5 }), json!({ "uri": null })] {
            let answer = client.ask("resources/read", params.clone()).await;
            assert_eq!(
                answer["error"]["code"], -32602,
                "{params}, {era:?}: {answer}"
            );
        }
        let answer = client
            .ask("resources/read", json!({ "uri": "shelf://locked" }))
            .await;
        assert_eq!(answer["error"]["message"], "The book is locked.", "{era:?}");
    }
}

#[tokio::test]
async fn prompts_are_listed_and_filled() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        let answer = client.ask("prompts/list", json!({})).await;
        let greet = &answer["result"]["prompts"][0];
        assert_eq!(
            *greet,
            json!({
                "name": "greet",
                "title": "Greet",
                "description": "Greets a reader.",
                "arguments": [
                    { "name": "reader", "description": "Who is greeted.", "required": true },
                    { "name": "tone", "description": "How.", "required": false },
                ],
            }),
            "{era:?}"
        );
        assert_eq!(answer["result"]["prompts"][1]["name"], "tidy", "{era:?}");
        assert_eq!(answer["result"]["ttlMs"], 300_000, "{era:?}");
        for (name, arguments, text) in [
            ("tidy", Value::Null, "Tidy the shelf."),
            ("greet", json!({ "reader": "Ada" }), "Greet Ada kindly."),
            (
                "greet",
                json!({ "reader": "Ada", "tone": "loudly" }),
                "Greet Ada loudly.",
            ),
        ] {
            let mut params = json!({ "name": name });
            if !arguments.is_null() {
                params["arguments"] = arguments;
            }
            let answer = client.ask("prompts/get", params).await;
            assert_eq!(
                answer["result"]["messages"],
                json!([{ "role": "user", "content": { "type": "text", "text": text } }]),
                "{era:?}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn prompts_that_cannot_be_filled_are_refused() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        let answer = client.ask("prompts/get", json!({ "name": "greet" })).await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32602, "{era:?}: {answer}");
        assert_eq!(error["message"], "Invalid arguments: reader is required.");
        let answer = client.ask("prompts/get", json!({ "name": "nope" })).await;
        assert_eq!(answer["error"]["code"], -32602, "{era:?}: {answer}");
        assert_eq!(answer["error"]["data"]["kind"], "unknown_prompt", "{era:?}");
        for params in [
            json!({}),
            json!({ "name": 5 }),
            json!({ "name": "tidy", "arguments": [] }),
        ] {
            let answer = client.ask("prompts/get", params.clone()).await;
            assert_eq!(
                answer["error"]["code"], -32602,
                "{params}, {era:?}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn hints_follow_from_what_a_tool_may_change() {
    let mut spec = spec();
    spec.tools = [
        ("look", Access::Read),
        ("shelve", Access::Write),
        ("burn", Access::Destructive),
    ]
    .map(|(name, access)| tool(name, access, call_shelve))
    .into();
    let mut client = Client::connect(Era::Handshake, spec, Policy::default()).await;
    let answer = client.ask("tools/list", json!({})).await;
    for (index, name, reads, destroys) in [
        (0, "look", true, false),
        (1, "shelve", false, false),
        (2, "burn", false, true),
    ] {
        let tool = &answer["result"]["tools"][index];
        assert_eq!(tool["name"], name);
        assert_eq!(
            tool["annotations"],
            json!({
                "title": "Shelve",
                "readOnlyHint": reads,
                "destructiveHint": destroys,
                "idempotentHint": false,
                "openWorldHint": true,
            }),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_world_has_its_own_code_for_unknown_tools_and_its_own_words_for_failures() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        let answer = client.ask("tools/call", json!({ "name": "nope" })).await;
        assert_eq!(answer["error"]["code"], -32601, "{era:?}: {answer}");
        assert_eq!(answer["error"]["data"]["kind"], "unknown_tool", "{era:?}");
        for (arguments, problem) in [
            (json!({ "title": "" }), "Nothing to shelve."),
            (json!({}), "Invalid arguments: title is required."),
            (
                json!({ "title": 5 }),
                "Invalid arguments: title must be a JSON string.",
            ),
            (
                json!({ "title": "x", "colour": "red" }),
                "Invalid arguments: this tool takes only: title.",
            ),
        ] {
            let params = json!({ "name": "shelve", "arguments": arguments });
            let answer = client.ask("tools/call", params).await;
            assert_eq!(answer["result"]["isError"], true, "{arguments}: {answer}");
            assert_eq!(
                answer["result"]["content"][0]["text"],
                json!({ "problem": problem }).to_string(),
                "{arguments}"
            );
        }
        let params = json!({ "name": "shelve", "arguments": { "title": "Emma" } });
        let answer = client.ask("tools/call", params).await;
        assert_eq!(
            answer["result"]["structuredContent"],
            json!({ "title": "Emma" }),
            "{era:?}"
        );
    }
}
