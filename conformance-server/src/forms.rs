//! The tools that ask the person something.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, FailureKind, Form, FormReply, JsonObject, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    FixtureWorld,
    tools::{Outcome, object, plain, said},
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageParams {
    /// The message to show the user.
    message: String,
}

/// All of them, in listing order.
pub(crate) fn table() -> Vec<Tool<FixtureWorld>> {
    vec![
        Tool::read(
            "test_elicitation",
            "Elicitation",
            "Asks for a name and an address.",
        )
        .call_text(|_: &FixtureWorld, params: MessageParams, context| {
            let fields = json!({
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            });
            completed(
                context,
                form("user", &params.message, fields, &["username", "email"]),
            )
        }),
        plain(
            "test_elicitation_sep1034_defaults",
            "Asks with a default for each kind of field.",
            |context| {
                completed(
                    context,
                    form("defaults", "Check the values.", defaults(), &[]),
                )
            },
        ),
        plain(
            "test_elicitation_sep1330_enums",
            "Asks with each kind of choice.",
            |context| completed(context, form("choices", "Choose.", choices(), &[])),
        ),
        plain(
            "test_streaming_elicitation",
            "Asks for a name.",
            |context| completed(context, text_form("user_name", NAME, "name")),
        ),
        plain(
            "test_input_required_result_elicitation",
            "Greets by a name that it asks for.",
            |context| {
                let name = asked_for(context, &text_form("user_name", NAME, "name"))?;
                said(format!("Hello, {name}!"))
            },
        ),
        plain(
            "test_input_required_result_request_state",
            "Asks for a confirmation.",
            confirmed,
        ),
        plain(
            "test_input_required_result_tampered_state",
            "Asks for a confirmation.",
            confirmed,
        ),
        plain(
            "test_input_required_result_multi_round",
            "Asks for a name, and then for a colour.",
            |context| {
                let step = "Step 1: What is your name?";
                let name = asked_for(context, &text_form("step1", step, "name"))?;
                let step = "Step 2: What is your favorite color?";
                let color = asked_for(context, &text_form("step2", step, "color"))?;
                said(format!("{name} likes {color}."))
            },
        ),
    ]
}

const NAME: &str = "What is your name?";

/// Asks for a text, the only field of the form.
pub(crate) fn asked_for(context: &CallContext, form: &Form) -> Result<String, Failure> {
    match context.ask(form) {
        FormReply::Submitted(fields) => {
            let text = fields.into_iter().next().map(|(_, value)| value);
            Ok(text
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned())
        }
        FormReply::Declined => Err(Failure::new(FailureKind::Conflict, "Nothing was entered.")),
        FormReply::Unsupported => Err(no_form()),
    }
}

/// Makes a form with one text field.
pub(crate) fn text_form(name: &'static str, question: &str, field: &str) -> Form {
    form(
        name,
        question,
        json!({ field: { "type": "string" } }),
        &[field],
    )
}

fn form(name: &'static str, question: &str, fields: Value, required: &[&str]) -> Form {
    let schema = json!({ "type": "object", "properties": fields, "required": required });
    Form {
        name,
        question: question.to_owned(),
        schema: object(schema),
    }
}

fn confirmed(context: &CallContext) -> Outcome<String> {
    let fields = json!({ "ok": { "type": "boolean" } });
    match context.ask(&form("confirm", "Please confirm", fields, &["ok"])) {
        FormReply::Submitted(_) => said("state-ok"),
        FormReply::Declined => said("Not confirmed."),
        FormReply::Unsupported => Err(no_form()),
    }
}

/// Asks, and answers with what was entered.
fn completed(context: &CallContext, form: Form) -> Outcome<String> {
    let (action, content) = match context.ask(&form) {
        FormReply::Submitted(fields) => ("accept", fields),
        FormReply::Declined => ("decline", JsonObject::new()),
        FormReply::Unsupported => return Err(no_form()),
    };
    let content = Value::Object(content);
    said(format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

fn no_form() -> Failure {
    Failure::new(FailureKind::Unavailable, "The client shows no forms.")
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let titled = |noun: &str| {
        json!([
            { "const": "value1", "title": format!("First {noun}") },
            { "const": "value2", "title": format!("Second {noun}") },
            { "const": "value3", "title": format!("Third {noun}") },
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}
