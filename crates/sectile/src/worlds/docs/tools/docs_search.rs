//! `docs_search`: the sections of the manual that answer a question.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{
    Docs, DocsSection,
    answer::{Answered, DEFAULT_SECTIONS},
    corpus::Role,
};
use crate::mcp::{
    Access, CallContext, Facts, Failure, Handler, JsonObject, Pace, Tool, input_schema,
    output_schema, run,
};

pub(super) fn tool(settings: &DocsSection) -> Tool<Docs> {
    Tool {
        name: format!("{}_docs_search", settings.namespace.replace('-', "_")).into(),
        title: "Search the documentation",
        description: "Search the documentation for guidance. Answers the sections that fit the query best, each with its text and its URI; an empty query gives an overview. Names of tools, settings and errors, and \"quoted phrases\", are found as they are.",
        access: Access::Read,
        idempotent: true,
        open_world: false,
        // The first question of callers who see the same documents has these indexed.
        pace: Pace::Slow,
        input: input(settings.max_sections),
        output: if settings.meaning_as_last_resort {
            output_schema::<Answered>
        } else {
            output_by_words
        },
        handler: Handler::Blocking(|docs, arguments, context| {
            run(docs, arguments, context, handle)
        }),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// A question or some words; up to 2,048 bytes and 32 words. Empty: an overview, one section for each role, as far as max_sections allows.
    query: String,
    // What is said of it depends on the settings.
    max_sections: Option<usize>,
    /// Whether to say how each score came about.
    #[serde(default)]
    explain: bool,
}

/// The schema of the arguments, with the most sections that the settings allow.
fn input(max_sections: usize) -> fn() -> JsonObject {
    fn schema<const MOST: usize>() -> JsonObject {
        let mut schema = input_schema::<Params>();
        let (usual, of_overview) = (DEFAULT_SECTIONS.min(MOST), Role::ALL.len().min(MOST));
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            // As the contract has it: left out or a number, never null.
            let max_sections = json!({
                "type": "integer",
                "minimum": 1,
                "maximum": MOST,
                "description": format!(
                    "The most sections to answer. When it is left out: {usual}, and in an overview {of_overview}."
                ),
            });
            properties.insert("max_sections".to_owned(), max_sections);
        }
        schema
    }
    match max_sections {
        0 | 1 => schema::<1>,
        2 => schema::<2>,
        3 => schema::<3>,
        4 => schema::<4>,
        5 => schema::<5>,
        6 => schema::<6>,
        7 => schema::<7>,
        8 => schema::<8>,
        9 => schema::<9>,
        _ => schema::<10>,
    }
}

/// The schema of answers when only words decide.
fn output_by_words() -> JsonObject {
    let mut schema = Value::Object(output_schema::<Answered>());
    for (place, name) in [
        ("/properties", "found_by"),
        ("/$defs/FoundSection/properties", "nearness"),
    ] {
        if let Some(Value::Object(properties)) = schema.pointer_mut(place) {
            properties.retain(|known, _| known != name);
        }
    }
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

fn handle(
    docs: &Docs,
    params: Params,
    context: &CallContext,
) -> Result<(Answered, Facts), Failure> {
    let answered = docs.search(&params.query, params.max_sections, params.explain, context)?;
    let facts = answered.facts();
    Ok((answered, facts))
}
