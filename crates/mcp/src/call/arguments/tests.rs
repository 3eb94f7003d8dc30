//! Every keyword that schemas generated from types use, with the message when it is violated.

use schemars::JsonSchema;
use serde_json::json;

use super::*;
use crate::input_schema;

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of it is used")]
struct Params {
    document: String,
    edits: Option<Vec<Edit>>,
    limit: Option<u8>,
    labels: Option<std::collections::BTreeMap<String, i64>>,
    #[schemars(length(min = 2, max = 3))]
    code: Option<String>,
    order: Option<Order>,
    place: Option<Anchor>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of it is used")]
struct Edit {
    section_id: String,
    #[schemars(range(min = 1, max = 6))]
    level: Option<u64>,
    mode: Mode,
    inner: Option<Box<Self>>,
}

/// A choice of words.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only the schema of it is used")]
enum Mode {
    /// Puts something in its place.
    Replace,
    /// Puts something behind it.
    Append,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only the schema of it is used")]
enum Order {
    Up,
    Down,
}

#[derive(JsonSchema)]
#[schemars(tag = "at", rename_all = "lowercase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of it is used")]
enum Anchor {
    Start,
    After { section_id: String },
}

fn check(arguments: Value) -> Result<(), String> {
    let Value::Object(mut arguments) = arguments else {
        panic!("arguments are an object");
    };
    check_arguments(&input_schema::<Params>(), &mut arguments)
        .map_err(|failure| failure.message.replace("Invalid arguments: ", ""))
}

#[test]
fn what_fits_is_accepted() {
    for arguments in [
        json!({ "document": "a" }),
        json!({ "document": "a", "edits": null, "limit": null, "order": null, "place": null }),
        json!({ "document": "", "edits": [], "limit": 255, "labels": { "x": -1 }, "code": "é√" }),
        json!({ "document": "a", "order": "up", "place": { "at": "start" } }),
        json!({ "document": "a", "place": { "at": "after", "section_id": "x" } }),
        json!({ "document": "a", "edits": [
            { "section_id": "x", "mode": "append" },
            { "section_id": "y", "mode": "replace", "level": 6,
              "inner": { "section_id": "z", "mode": "append", "inner": null } },
        ] }),
    ] {
        assert_eq!(check(arguments.clone()), Ok(()), "{arguments}");
    }
}

#[test]
fn what_does_not_fit_is_named_by_its_place() {
    let edit = |edit: Value| json!({ "document": "a", "edits": [{ "section_id": "x", "mode": "append" }, edit] });
    for (arguments, expected) in [
        (json!({}), "document is required."),
        (json!({ "document": 5 }), "document must be a JSON string."),
        (
            json!({ "document": "a", "SENT": 1 }),
            "this tool takes only: document, edits, limit, labels, code, order, place.",
        ),
        (
            json!({ "document": "a", "edits": {} }),
            "edits must be a JSON array.",
        ),
        (edit(json!("SENT")), "edits[1] must be a JSON object."),
        (
            edit(json!({ "mode": "append" })),
            "edits[1].section_id is required.",
        ),
        (
            edit(json!({ "section_id": "SENT", "mode": "SENT" })),
            "edits[1].mode must be one of: replace, append.",
        ),
        (
            edit(json!({ "section_id": "SENT", "mode": "append", "SENT": 1 })),
            "edits[1] takes only: section_id, level, mode, inner.",
        ),
        (
            edit(json!({ "section_id": "SENT", "mode": "append", "level": 0 })),
            "edits[1].level must be at least 1.",
        ),
        (
            edit(json!({ "section_id": "SENT", "mode": "append", "level": 7 })),
            "edits[1].level must be at most 6.",
        ),
        (
            edit(json!({ "section_id": "SENT", "mode": "append", "inner": { "section_id": 5 } })),
            "edits[1].inner.mode is required.",
        ),
        (
            json!({ "document": "a", "limit": 256 }),
            "limit must be at most 255.",
        ),
        (
            json!({ "document": "a", "limit": -1 }),
            "limit must be at least 0.",
        ),
        (
            json!({ "document": "a", "limit": 1.5 }),
            "limit must be a JSON integer.",
        ),
        (
            json!({ "document": "a", "labels": { "SENT": "SENT" } }),
            "labels.* must be a JSON integer.",
        ),
        (
            json!({ "document": "a", "code": "é" }),
            "code must be at least 2 characters long.",
        ),
        (
            json!({ "document": "a", "code": "SENT" }),
            "code must be at most 3 characters long.",
        ),
        (
            json!({ "document": "a", "order": "SENT" }),
            "order must be one of: up, down.",
        ),
        (
            json!({ "document": "a", "place": { "at": "after" } }),
            "place.section_id (after) is required.",
        ),
        (
            json!({ "document": "a", "place": { "at": "after", "section_id": 5 } }),
            "place.section_id (after) must be a JSON string.",
        ),
        (
            json!({ "document": "a", "place": { "at": "after", "section_id": "x", "SENT": 1 } }),
            "place (after) takes only: at, section_id.",
        ),
        (
            json!({ "document": "a", "place": { "at": "SENT" } }),
            "place.at must be one of: start, after.",
        ),
        (
            json!({ "document": "a", "place": { "section_id": "SENT" } }),
            "place.at is required.",
        ),
        (
            json!({ "document": "a", "place": "SENT" }),
            "place must be a JSON object.",
        ),
    ] {
        assert_eq!(
            check(arguments.clone()),
            Err(expected.to_owned()),
            "{arguments}"
        );
    }
}

#[test]
fn a_schema_that_leads_in_circles_ends() {
    let Value::Object(schema) = json!({
        "properties": { "x": { "$ref": "#/$defs/A" } },
        "$defs": { "A": { "$ref": "#/$defs/A" } },
    }) else {
        unreachable!("it is an object")
    };
    for number in [json!(1), json!(1.0)] {
        let mut arguments = JsonObject::from_iter([("x".to_owned(), number)]);
        assert!(check_arguments(&schema, &mut arguments).is_err());
    }
}

#[test]
fn the_argument_that_is_wrong_is_named_unless_the_schema_does_not_know_it() {
    for (arguments, expected) in [
        (json!({}), Some("document")),
        (json!({ "document": "a", "limit": 256 }), Some("limit")),
        (json!({ "document": "a", "edits": [{}] }), Some("edits")),
        (
            json!({ "document": "a", "labels": { "SENT": "x" } }),
            Some("labels"),
        ),
        (json!({ "document": "a", "SENT": 1 }), None),
    ] {
        let mut fields = arguments.as_object().expect("an object").clone();
        let failure = check_arguments(&input_schema::<Params>(), &mut fields);
        let failure = failure.expect_err("it is wrong");
        assert_eq!(failure.argument.as_deref(), expected, "{arguments}");
    }
}

#[test]
fn one_point_zero_is_the_integer_one_where_the_schema_takes_integers() {
    let schema = json!({
        "properties": {
            "limit": { "anyOf": [{ "type": "integer", "maximum": 5 }, { "type": "null" }] },
            "weight": { "type": "number" },
            "either": { "anyOf": [{ "type": "integer" }, { "type": "number" }] },
            "nested": { "anyOf": [{ "$ref": "#/$defs/Edit" }, { "type": "null" }] },
            "counts": { "type": "array", "items": { "type": "integer" } },
            "named": { "type": "object", "additionalProperties": { "type": "integer" } },
            "anything": true,
        },
        "$defs": { "Edit": { "type": "object", "properties": { "level": { "type": "integer" } } } },
    });
    let schema = schema.as_object().expect("an object");
    let settled = |arguments: Value| {
        let mut arguments = arguments.as_object().expect("an object").clone();
        let verdict = check_arguments(schema, &mut arguments);
        verdict.map(|()| Value::Object(arguments).to_string())
    };
    for (given, expected) in [
        (json!({ "limit": 1.0 }), r#"{"limit":1}"#),
        (json!({ "limit": -0.0 }), r#"{"limit":0}"#),
        (json!({ "weight": 1.0 }), r#"{"weight":1.0}"#),
        (json!({ "either": 1.0 }), r#"{"either":1.0}"#),
        (
            json!({ "nested": { "level": 2.0 } }),
            r#"{"nested":{"level":2}}"#,
        ),
        (json!({ "counts": [1, 2.0, 3e0] }), r#"{"counts":[1,2,3]}"#),
        (json!({ "named": { "a": 1e2 } }), r#"{"named":{"a":100}}"#),
        (
            json!({ "anything": [1.0, { "x": 2.0 }] }),
            r#"{"anything":[1.0,{"x":2.0}]}"#,
        ),
    ] {
        assert_eq!(settled(given).as_deref(), Ok(expected));
    }
    for wrong in [
        json!(1.5),
        json!(6.0),
        json!(1e300),
        json!(1e17),
        json!("1.0"),
    ] {
        assert!(settled(json!({ "limit": wrong })).is_err(), "{wrong}");
    }
    assert!(settled(json!({ "counts": [9_007_199_254_740_993.0] })).is_err());
}
