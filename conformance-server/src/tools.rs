//! The tools that the suite calls, except for those that ask the person something.

use std::{thread, time::Duration};

use schemars::JsonSchema;
use sectile_mcp::{
    AnswerBody, AnswerFacts, CallContext, ContentPart, Failure, FailureKind, JsonObject, Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    FixtureWorld,
    resources::{media, picture, sound},
};

/// Longer than the shortest time between two reports of progress.
const STEP: Duration = Duration::from_millis(300);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RegionParams {
    /// Any text.
    region: String,
}

/// The answer of a handler.
pub(crate) type Outcome<B> = Result<(B, AnswerFacts), Failure>;

/// All tools, in listing order. The suite calls the first one without arguments.
pub(crate) fn table() -> Vec<Tool<FixtureWorld>> {
    vec![
        plain("test_simple_text", "Answers with a text.", |_| {
            said("This is a simple text response for testing.")
        }),
        plain("test_image_content", "Answers with a picture.", |_| {
            shown(vec![ContentPart::Image(picture())])
        }),
        plain("test_audio_content", "Answers with a sound.", |_| {
            shown(vec![ContentPart::Audio(sound())])
        }),
        plain("test_embedded_resource", "Answers with a resource.", |_| {
            let content = media("text/plain", b"This is an embedded resource content.");
            let uri = "test://embedded-resource".to_owned();
            shown(vec![ContentPart::Resource { uri, content }])
        }),
        plain(
            "test_multiple_content_types",
            "Answers with a text, a picture and a resource.",
            |_| {
                let data = br#"{"test":"data","value":123}"#;
                shown(vec![
                    "Multiple content types test:".to_owned().into(),
                    ContentPart::Image(picture()),
                    ContentPart::Resource {
                        uri: "test://mixed-content-resource".to_owned(),
                        content: media("application/json", data),
                    },
                ])
            },
        ),
        plain::<String>("test_error_handling", "Always fails.", |_| {
            let message = "This tool intentionally returns an error for testing";
            Err(Failure::new(FailureKind::Unavailable, message))
        }),
        plain("test_tool_with_progress", "Reports progress.", |context| {
            context.progress.report(0, Some(100), "");
            for done in [50, 100] {
                thread::sleep(STEP);
                context.progress.report(done, Some(100), "");
            }
            said("Done.")
        }),
        plain("test_logging_tool", "Logs nothing to its client.", |_| {
            said("Logs are for the operator.")
        }),
        plain("test_reconnection", "Answers on its stream.", |_| {
            said("The stream stayed open.")
        }),
        Tool::read(
            "test_custom_header",
            "Custom header",
            "Has an argument that clients repeat in a header.",
        )
        .mirror("region", "Region")
        .call_text(|_: &FixtureWorld, params: RegionParams, _: &CallContext| said(params.region)),
        Tool::read(
            "json_schema_2020_12_tool",
            "JSON Schema",
            "Has a schema with keywords of JSON Schema 2020-12.",
        )
        .input(schema_2020_12)
        .call_text(|_: &FixtureWorld, _: NoParams, _| said("The schema is what matters.")),
    ]
}

/// Makes a tool without arguments.
pub(crate) fn plain<B: Into<AnswerBody> + 'static>(
    name: &'static str,
    description: &'static str,
    handle: fn(&CallContext) -> Outcome<B>,
) -> Tool<FixtureWorld> {
    let call = move |_: &FixtureWorld, _: NoParams, context: &CallContext| handle(context);
    Tool::read(name, name, description).call_text(call)
}

/// Answers with a text.
pub(crate) fn said(text: impl Into<String>) -> Outcome<String> {
    Ok((text.into(), AnswerFacts::default()))
}

fn shown(parts: Vec<ContentPart>) -> Outcome<Vec<ContentPart>> {
    Ok((parts, AnswerFacts::default()))
}

/// Returns the schema that the suite wants to see unchanged.
fn schema_2020_12() -> JsonObject {
    object(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    }))
}

/// Returns the fields of a JSON object.
pub(crate) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}
