//! Arguments that do not fit a tool.

use serde_json::{Value, json};

use super::{Client, MARKER};
use crate::{fixture::TestVault, vectors::TOOLS};

const MISSING: &str = "Invalid arguments: path is required.";
const NO_STRING: &str = "Invalid arguments: path must be a JSON string.";
const UNKNOWN: &str = "Invalid arguments: this tool takes only: path.";

#[test]
fn arguments_that_do_not_fit_are_named_without_being_repeated() {
    let cases = [
        ("nothing", json!({}), MISSING),
        ("null arguments", Value::Null, MISSING),
        ("null", json!({ "path": null }), NO_STRING),
        ("a number", json!({ "path": 51_515_151 }), NO_STRING),
        ("a fraction", json!({ "path": 0.5 }), NO_STRING),
        ("a boolean", json!({ "path": true }), NO_STRING),
        ("a list", json!({ "path": [MARKER] }), NO_STRING),
        (
            "several paths",
            json!({ "path": ["inbox/one.md", MARKER] }),
            NO_STRING,
        ),
        (
            "an object",
            json!({ "path": { MARKER: MARKER } }),
            NO_STRING,
        ),
        ("only an unknown one", json!({ MARKER: MARKER }), UNKNOWN),
        (
            "an unknown one beside the path",
            json!({ "path": "inbox/one.md", MARKER: MARKER }),
            UNKNOWN,
        ),
        (
            "an unknown one beside a bad path",
            json!({ "path": format!("../{MARKER}"), "body": true }),
            UNKNOWN,
        ),
        ("the wrong case", json!({ "Path": "inbox/one.md" }), UNKNOWN),
        (
            "an empty name",
            json!({ "path": "inbox/one.md", "": 1 }),
            UNKNOWN,
        ),
    ];
    let vault = TestVault::sample();
    for mut client in Client::everywhere(&vault, &[]) {
        for tool in TOOLS {
            for (case, arguments, message) in &cases {
                client.fails(tool, arguments.clone(), message, case);
            }
        }
        client.assert_log_keeps_out(&[MARKER, "51515151"]);
    }
}

/// What the contract rules out by name: bodies, batches, search, filters, providers.
#[test]
fn no_option_of_another_tool_is_taken() {
    let vault = TestVault::sample();
    let mut client = Client::stdio(&vault, &[]);
    for option in [
        "body",
        "include_body",
        "snippet",
        "snippets",
        "paths",
        "query",
        "search",
        "filter",
        "ranking",
        "limit",
        "max_headings",
        "maxHeadings",
        "provider",
        "_meta",
    ] {
        for tool in TOOLS {
            client.fails(
                tool,
                json!({ "path": "inbox/one.md", option: true }),
                UNKNOWN,
                option,
            );
        }
    }
}

#[test]
fn arguments_that_are_no_object_are_invalid_params() {
    let vault = TestVault::sample();
    for mut client in Client::everywhere(&vault, &[]) {
        for arguments in [
            json!(MARKER),
            json!([MARKER]),
            json!([{ "path": "inbox/one.md" }]),
            json!(1),
            json!(true),
        ] {
            let case = format!("{arguments}, {}", client.name());
            let answer = client.call("get_note_outline", arguments);
            assert_eq!(answer["error"]["code"], -32602, "{case}: {answer}");
            assert!(!answer.to_string().contains(MARKER), "{case}: {answer}");
            client.still_answers(&case);
        }
        client.assert_log_keeps_out(&[MARKER]);
    }
}

fn assert_invalid_params(client: &mut Client<'_>, params: Value) {
    let case = format!("{params}, {}", client.name());
    let answer = client.request("tools/call", params);
    assert_eq!(answer["error"]["code"], -32602, "{case}: {answer}");
    assert!(!answer.to_string().contains(MARKER), "{case}: {answer}");
    client.still_answers(&case);
}

#[test]
fn a_call_without_a_usable_name_is_invalid_params() {
    let vault = TestVault::sample();
    for mut client in Client::everywhere(&vault, &[]) {
        for name in [
            json!(null),
            json!(5),
            json!({ MARKER: 1 }),
            json!(MARKER),
            json!("GET_NOTE_OUTLINE"),
        ] {
            let arguments = json!({ "path": "inbox/one.md" });
            assert_invalid_params(&mut client, json!({ "name": name, "arguments": arguments }));
        }
        assert_invalid_params(&mut client, json!({}));
        client.assert_log_keeps_out(&[MARKER]);
    }
    // On HTTP the name also stands in a header, which cannot be empty or end in a blank.
    let mut client = Client::stdio(&vault, &[]);
    for name in ["", " ", "get_note_outline ", "get_note_outline\0"] {
        assert_invalid_params(&mut client, json!({ "name": name }));
    }
}
