//! The contract's versions, fields, transports and ways to sign in.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{
    AUDIENCE, Era, ISSUER, Stdio, TOKEN_SECRET, TestDocuments, claims, initialize, sectile, token,
};

/// A field that the contract names, its type, and whether the schema must require it.
type Field = (&'static str, &'static str, bool);

/// A tool, with the fields of its arguments and of its answer.
type Shape = (&'static str, &'static [Field], &'static [Field]);

/// The fields that the contract names. Where to put a section, and which one is read, can also be said in another way;
/// everything else is required where the contract does not call it optional.
const SHAPES: &[Shape] = &[
    (
        "insert_section",
        &[
            ("heading", "string", true),
            ("content", "string", true),
            ("position", "integer", false),
        ],
        &[("section_id", "string", true), ("message", "string", true)],
    ),
    (
        "delete_section",
        &[
            ("section_id", "string", false),
            ("heading", "string", false),
        ],
        &[("message", "string", true)],
    ),
    (
        "update_section",
        &[("section_id", "string", true), ("content", "string", true)],
        &[("message", "string", true)],
    ),
    (
        "move_section",
        &[
            ("section_id", "string", true),
            ("new_position", "integer", false),
        ],
        &[("message", "string", true)],
    ),
    (
        "get_section",
        &[("section_id", "string", false)],
        &[
            ("heading", "string", true),
            ("content", "string", true),
            ("position", "integer", true),
        ],
    ),
    ("list_sections", &[], &[("sections", "array", true)]),
    ("undo", &[], &[("message", "string", true)]),
    ("redo", &[], &[("message", "string", true)]),
    ("get_document", &[], &[("document", "string", true)]),
];

/// The types that a property may have, null aside.
fn types(property: &Value) -> BTreeSet<&str> {
    let alternatives = property["anyOf"].as_array().into_iter().flatten();
    let all = alternatives.chain([property]);
    let names = all.filter_map(|one| one["type"].as_str());
    names.filter(|name| *name != "null").collect()
}

fn assert_fields(what: &str, schema: &Value, fields: &[Field]) {
    assert_eq!(schema["type"], "object", "{what}");
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, kind, must) in fields {
        let property = &schema["properties"][name];
        assert_eq!(
            types(property),
            BTreeSet::from([*kind]),
            "{what}: {name}: {property}"
        );
        if *must {
            assert!(required.contains(name), "{what}: {name} in {required:?}");
        }
    }
}

#[test]
fn every_tool_has_the_arguments_and_the_answer_of_the_contract() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let listing = editor.ask("tools/list", json!({}));
    let tools = listing["result"]["tools"].as_array().unwrap();
    for (name, arguments, answer) in SHAPES {
        let tool = tools.iter().find(|tool| tool["name"] == *name).unwrap();
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{name}");
        assert_fields(name, &tool["inputSchema"], arguments);
        assert_fields(name, &tool["outputSchema"], answer);
        // Nothing else is required, so that a call as the contract writes it is always complete.
        let named: BTreeSet<&str> = arguments.iter().map(|(name, ..)| *name).collect();
        let required = tool["inputSchema"]["required"].as_array();
        for one in required.into_iter().flatten().filter_map(Value::as_str) {
            assert!(named.contains(one), "{name} wants {one}");
        }
    }
    let list = tools.iter().find(|tool| tool["name"] == "list_sections");
    let schema = &list.unwrap()["outputSchema"];
    let item = schema["properties"]["sections"]["items"]["$ref"]
        .as_str()
        .unwrap();
    let item = schema.pointer(item.trim_start_matches('#')).unwrap();
    let fields = [
        ("section_id", "string", true),
        ("heading", "string", true),
        ("position", "integer", true),
    ];
    assert_fields("a listed section", item, &fields);
}

#[test]
fn an_argument_that_is_null_is_one_that_is_left_out() {
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        let beta = editor.id("Beta");
        let by_id = json!({ "section_id": beta, "heading": null });
        assert_eq!(
            editor.ok("delete_section", by_id)["message"],
            "Section deleted."
        );
        let by_heading = json!({ "section_id": null, "heading": "Gamma" });
        assert_eq!(
            editor.ok("delete_section", by_heading)["message"],
            "Section deleted."
        );
        let neither = json!({ "section_id": null, "heading": null });
        assert_eq!(
            editor.refused("delete_section", neither)["code"],
            INVALID_PARAMS
        );
        let (kept, _) = SAMPLE.split_once("\n## Beta").unwrap();
        assert_eq!(documents.only(), kept);
    }
}

#[test]
fn the_version_of_the_contract_is_negotiated_and_every_call_works_in_it() {
    let documents = TestDocuments::single(SAMPLE);
    let mut server = Stdio::spawn(documents.vault(), documents.command(""));
    let mut hello = initialize(1);
    hello["params"]["protocolVersion"] = json!("2025-06-18");
    // A client may know more than the server does.
    hello["params"]["capabilities"] = json!({ "telepathy": { "range": 5 } });
    let answer = server.exchange(&hello);
    assert_eq!(
        answer["result"]["protocolVersion"], "2025-06-18",
        "{answer}"
    );
    for capability in ["tools", "resources", "prompts"] {
        let declared = &answer["result"]["capabilities"][capability];
        assert!(declared.is_object(), "{capability}: {answer}");
    }
    server
        .send_line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    let mut id = 1;
    let mut call = |tool: &str, arguments: Value| -> Value {
        id += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let answer = server.exchange(&message);
        let result = &answer["result"];
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool}");
        text
    };
    let inserted = call(
        "insert_section",
        json!({ "heading": "N", "content": "n", "position": 0 }),
    );
    let section = &inserted["section_id"];
    call(
        "update_section",
        json!({ "section_id": section, "content": "m" }),
    );
    call(
        "move_section",
        json!({ "section_id": section, "new_position": 5 }),
    );
    let read = call("get_section", json!({ "section_id": section }));
    assert_eq!(read["position"], 5);
    assert_eq!(
        call("list_sections", json!({}))["sections"]
            .as_array()
            .unwrap()
            .len(),
        6
    );
    call("undo", json!({}));
    call("redo", json!({}));
    call("delete_section", json!({ "section_id": section }));
    assert_eq!(call("get_document", json!({}))["document"], SAMPLE);
}

#[test]
fn resources_have_the_fields_of_the_contract_and_no_others() {
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    for era in Era::BOTH {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open_with(era, "");
        let beta = editor.id("Beta");
        editor.ok(
            "update_section",
            json!({ "section_id": beta, "content": "One." }),
        );
        assert_eq!(
            keys(&editor.resource("sectile://editor/document")),
            ["document"]
        );
        let history = editor.resource("sectile://editor/history");
        assert_eq!(keys(&history), ["history"]);
        let entry = &history["history"][0];
        assert_eq!(keys(entry), ["details", "operation", "timestamp"]);
        assert_eq!(entry["operation"], "update_section");
        let metadata = editor.resource("sectile://editor/metadata");
        assert_eq!(keys(&metadata), ["author", "created", "modified", "title"]);
    }
}

#[test]
fn over_http_callers_sign_in_with_an_api_key_or_a_bearer_token() {
    let documents = TestDocuments::single(SAMPLE);
    let beside = |name: &str| documents.vault().outside().with_file_name(name);
    let added = sectile()
        .args([
            "auth", "add-key", "--user", "ada", "--role", "editor", "--file",
        ])
        .arg(beside("keys.toml"))
        .output()
        .unwrap();
    let key = String::from_utf8(added.stdout).unwrap().trim().to_owned();
    fs::write(beside("token-secret"), TOKEN_SECRET).unwrap();
    let settings = format!(
        "[server.auth]\nkeys_file = 'keys.toml'\n[server.auth.tokens]\nsecret_file = 'token-secret'\n\
         issuer = '{ISSUER}'\naudience = ['{AUDIENCE}']\n"
    );
    let http = documents.http(&settings);
    let era = Era::Stateless;
    let example = json!({ "heading": "N", "content": "n", "position": 0 });
    let call = era.call(7, "insert_section", example);
    let refused = http.post(era, &call);
    assert_eq!(refused.status, 401, "{refused:?}");
    let wrong = http.post_with(era, &call, &[("X-Api-Key", "sectile_0000000000000000_x")]);
    assert_eq!(wrong.status, 401, "{wrong:?}");
    assert_eq!(documents.only(), SAMPLE);
    let bearer = format!("Bearer {}", token(&claims("eve", "editor")));
    for header in [
        ("X-Api-Key", key.as_str()),
        ("Authorization", bearer.as_str()),
    ] {
        let answer = http.post_with(era, &call, &[header]).json();
        let inserted = &answer["result"]["structuredContent"];
        assert_eq!(inserted["message"], "Section inserted.", "{answer}");
        let undo = era.call(8, "undo", json!({}));
        http.post_with(era, &undo, &[header]);
        assert_eq!(documents.only(), SAMPLE);
    }
}

#[test]
fn the_same_call_is_answered_alike_on_stdio_and_over_http() {
    let documents = TestDocuments::single(SAMPLE);
    let era = Era::Stateless;
    let mut editor = documents.open_with(era, "");
    let http = documents.http("");
    for (tool, arguments) in [
        ("list_sections", json!({})),
        ("get_document", json!({})),
        ("get_section", json!({ "heading": "Beta" })),
        ("get_section", json!({ "section_id": "abc123" })),
        ("update_section", json!({ "section_id": "abc123" })),
        ("nope", json!({})),
    ] {
        let there = http.post(era, &era.call(9, tool, arguments.clone())).json();
        let here = editor.call(tool, arguments);
        assert_eq!(there["result"], here["result"], "{tool}");
        assert_eq!(there["error"], here["error"], "{tool}");
    }
    let error = editor.refused("get_section", json!({ "section_id": "abc123" }));
    assert_eq!(error["code"], APPLICATION_ERROR);
}
