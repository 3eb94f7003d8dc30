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

/// Checks by the rules of a world that asks for nothing special.
fn check_arguments(schema: &JsonObject, arguments: &mut JsonObject) -> Result<(), Failure> {
    rules(schema).check(arguments)
}

fn rules(schema: &JsonObject) -> ArgumentRules<'_> {
    ArgumentRules {
        schema,
        aliases: &[],
        lenient_scalars: false,
        errors: None,
    }
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

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of it is used")]
struct FetchParams {
    id: String,
    budget: Option<u32>,
    is_deep: Option<bool>,
    either: Option<Either>,
    fields: Option<JsonObject>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the schema of it is used")]
enum Either {
    Number(u32),
    Text(String),
}

const ALIASES: [ArgumentAlias; 2] = [
    ArgumentAlias {
        alias: "path",
        name: "id",
    },
    ArgumentAlias {
        alias: "uri",
        name: "id",
    },
];

const ROW: ErrorRow = ErrorRow::of_kind(
    FailureKind::InvalidArguments,
    "The arguments do not fit.",
    "Compare them with the schema.",
);

/// Checks by the rules of a world that asks for everything.
fn check_kindly(arguments: Value) -> Result<Value, Failure> {
    let schema = input_schema::<FetchParams>();
    let rules = ArgumentRules {
        aliases: &ALIASES,
        lenient_scalars: true,
        errors: Some(&ROW),
        ..rules(&schema)
    };
    let mut arguments = arguments.as_object().expect("an object").clone();
    rules.check(&mut arguments)?;
    Ok(Value::Object(arguments))
}

#[test]
fn an_alias_stands_for_its_argument() {
    let listed = Value::Object(input_schema::<FetchParams>()).to_string();
    assert!(!listed.contains("path") && !listed.contains("uri"));
    for given in [
        json!({ "id": "a" }),
        json!({ "path": "a" }),
        json!({ "uri": "a" }),
        json!({ "path": "a", "id": null }),
        json!({ "path": null, "id": "a" }),
    ] {
        assert_eq!(
            check_kindly(given.clone()),
            Ok(json!({ "id": "a" })),
            "{given}"
        );
    }
    for given in [
        json!({ "path": "a", "id": "a" }),
        json!({ "path": "a", "uri": "b" }),
    ] {
        let failure = check_kindly(given.clone()).expect_err("two names");
        assert_eq!(failure.argument.as_deref(), Some("id"), "{given}");
        assert!(failure.message.contains("id is given twice: "), "{given}");
        assert_eq!(failure.name(), "invalid_arguments");
    }
    // The types of the argument hold for its other names.
    let failure = check_kindly(json!({ "path": ["a"] })).expect_err("not a string");
    assert!(failure.message.ends_with("id must be a JSON string."));
}

#[test]
fn scalars_written_as_strings_are_accepted_where_a_string_is_not() {
    for (given, expected) in [
        (json!({ "budget": "600" }), json!({ "budget": 600 })),
        (json!({ "budget": 600.0 }), json!({ "budget": 600 })),
        (json!({ "is_deep": "true" }), json!({ "is_deep": true })),
        (json!({ "is_deep": "false" }), json!({ "is_deep": false })),
        // These can mean something else.
        (json!({ "either": "600" }), json!({ "either": "600" })),
        (
            json!({ "fields": { "n": "600", "b": "true" } }),
            json!({ "fields": { "n": "600", "b": "true" } }),
        ),
    ] {
        let mut given = given.as_object().expect("an object").clone();
        given.insert("id".to_owned(), json!("7"));
        let mut expected = expected;
        expected["id"] = json!("7");
        assert_eq!(check_kindly(Value::Object(given)), Ok(expected));
    }
    for wrong in [
        json!({ "budget": "" }),
        json!({ "budget": "6e2" }),
        json!({ "budget": "-1" }),
        json!({ "budget": " 6" }),
        json!({ "budget": "٦" }),
        json!({ "budget": "99999999999999999999999" }),
        json!({ "budget": "true" }),
        json!({ "is_deep": "True" }),
        json!({ "is_deep": "1" }),
        json!({ "is_deep": "yes" }),
    ] {
        let mut arguments = wrong.as_object().expect("an object").clone();
        arguments.insert("id".to_owned(), json!("a"));
        assert!(check_kindly(Value::Object(arguments)).is_err(), "{wrong}");
    }
    // Other worlds take them literally.
    let schema = input_schema::<FetchParams>();
    for given in [
        json!({ "id": "a", "budget": "6" }),
        json!({ "id": "a", "is_deep": "true" }),
    ] {
        let mut arguments = given.as_object().expect("an object").clone();
        assert!(check_arguments(&schema, &mut arguments).is_err(), "{given}");
    }
}

#[test]
fn a_world_with_its_own_error_names_what_is_unknown_missing_or_wrong() {
    let said = |arguments: Value| {
        let failure = check_kindly(arguments).expect_err("it is wrong");
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert_eq!(failure.name(), "invalid_arguments");
        let facts = failure.detail.as_ref().expect("a detail").data.clone();
        (failure.told(), Value::Object(facts))
    };
    let takes = json!(["id", "budget", "is_deep", "either", "fields"]);
    assert_eq!(
        said(json!({ "id": "a", "budgets": 5 })),
        (
            "this tool does not take \"budgets\". It takes only: id, budget, is_deep, either, \
             fields. Nearest: budget. Compare them with the schema."
                .to_owned(),
            json!({ "unknown": ["\"budgets\""], "nearest": ["budget"], "takes": takes }),
        )
    );
    // A name near an alias is near the argument that it stands for; one that resembles nothing gets no offer.
    let (told, facts) = said(json!({ "paths": "a", "zzz\n": 1 }));
    assert!(
        told.contains(r#"does not take "paths", "zzz\n". It"#),
        "{told}"
    );
    assert_eq!(facts["nearest"], json!(["id"]));
    assert_eq!(
        said(json!({})),
        (
            "id is required. Compare them with the schema.".to_owned(),
            json!({ "argument": "id", "missing": ["id"] }),
        )
    );
    assert_eq!(
        said(json!({ "id": "a", "budget": [] })),
        (
            "budget must be a JSON integer. Compare them with the schema.".to_owned(),
            json!({ "argument": "budget" }),
        )
    );
    // Any number of names of any length makes a short message.
    let many = (0..1000).map(|n| (format!("{n}{}", "x".repeat(1000)), json!(1)));
    let (told, facts) = said(Value::Object(many.collect()));
    assert!(told.chars().count() <= crate::MAX_MESSAGE_CHARS, "{told}");
    assert!(facts.to_string().len() < 1000, "{facts}");
}
