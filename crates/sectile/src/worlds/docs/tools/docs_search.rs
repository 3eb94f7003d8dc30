//! `docs_search`: finds the sections of the documentation that answer a query.

use schemars::JsonSchema;
use sectile_mcp::{
    AnswerFacts, CallContext, Failure, JsonObject, Tool, input_schema, output_schema,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{
    DocsSection, DocsWorld,
    answer::{DEFAULT_SECTIONS, DocsSearchAnswer},
    corpus::DocRole,
};

pub(super) fn tool(settings: &DocsSection) -> Tool<DocsWorld> {
    let name = format!("{}_docs_search", settings.namespace.replace('-', "_"));
    let most = settings.max_sections.clamp(1, 10);
    // Slow, since the first query of callers who see the same documents indexes them.
    let tool = Tool::read(
        name,
        "Search the documentation",
        "Search the documentation for guidance. Returns the sections that fit the query best, each with its text and URI; an empty query returns an overview. Names of tools, settings and errors, and \"quoted phrases\", are matched exactly.",
    )
    .input(move || input(most));
    match settings.meaning_as_last_resort {
        true => tool.call(handle),
        false => tool.output(output_by_words).call(handle),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DocsSearchParams {
    /// A question or some words; up to 2,048 bytes and 32 words. Empty: an overview, one section for each role, as far as max_sections allows.
    query: String,
    // Its description depends on the settings.
    max_sections: Option<usize>,
    /// Whether to explain each score.
    #[serde(default)]
    explain: bool,
}

/// The schema of the arguments. At most `most` sections may be requested.
fn input(most: usize) -> JsonObject {
    let mut schema = input_schema::<DocsSearchParams>();
    let (usual, of_overview) = (DEFAULT_SECTIONS.min(most), DocRole::ALL.len().min(most));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        // As the contract requires: absent or a number, never null.
        let max_sections = json!({
            "type": "integer",
            "minimum": 1,
            "maximum": most,
            "description": format!(
                "The most sections to return. Default: {usual}, and in an overview {of_overview}."
            ),
        });
        properties.insert("max_sections".to_owned(), max_sections);
    }
    schema
}

/// The schema of answers without search by meaning.
fn output_by_words() -> JsonObject {
    let mut schema = Value::Object(output_schema::<DocsSearchAnswer>());
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
    docs: &DocsWorld,
    params: DocsSearchParams,
    context: &CallContext,
) -> Result<(DocsSearchAnswer, AnswerFacts), Failure> {
    let answered = docs.search(&params.query, params.max_sections, params.explain, context)?;
    let facts = answered.facts();
    Ok((answered, facts))
}
