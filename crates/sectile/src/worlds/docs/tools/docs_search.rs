//! `docs_search`: finds the sections of the documentation that answer a query.

use schemars::JsonSchema;
use sectile_mcp::{
    Answer, CallContext, Failure, JsonObject, Tool, decode, input_schema, output_schema,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{
    DocsRanking, DocsSearch, DocsSection, DocsWorld,
    answer::{DEFAULT_SECTIONS, DocsSearchAnswer},
    corpus::DocRole,
};

/// The properties of a section, in the schema of answers.
const SECTION: &str = "/$defs/FoundSection/properties";
/// The range of a budget, in tokens. Less holds nothing but addresses.
const LEAST_BUDGET: usize = 200;
const MOST_BUDGET: usize = 100_000;

pub(super) fn tool(settings: &DocsSection) -> Tool<DocsWorld> {
    let name = format!("{}_docs_search", settings.namespace.replace('-', "_"));
    let most = settings.max_sections.clamp(1, 10);
    // Slow, since the first query of callers who see the same documents indexes them.
    let tool = Tool::read(
        name,
        "Search the documentation",
        "Search the documentation for guidance. Returns the sections that fit the query best, each with its text and URI; an empty query returns an overview. Names of tools, settings and errors, and \"quoted phrases\", are matched exactly.",
    )
    .input({
        let budget = settings.budget;
        move || input(most, budget)
    });
    // Answers do not have what the settings exclude.
    let is_by_words = settings.ranking == DocsRanking::Words;
    let mut absent = Vec::new();
    if !is_by_words || !settings.meaning_as_last_resort {
        absent.push(("/properties", "found_by"));
    }
    if is_by_words && !settings.meaning_as_last_resort {
        absent.push((SECTION, "nearness"));
    }
    if settings.url_template.is_empty() {
        absent.push((SECTION, "url"));
    }
    let tool = tool.output(move || output(&absent));
    tool.call_raw::<DocsSearchParams, DocsSearchAnswer>(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DocsSearchParams {
    /// A question or some words. Empty: an overview, one section for each role.
    query: String,
    // Its description depends on the settings.
    max_sections: Option<usize>,
    // Its description depends on the settings.
    budget: Option<usize>,
    /// Whether to explain each score.
    #[serde(default)]
    explain: bool,
}

/// The schema of the arguments. At most `most` sections may be requested.
fn input(most: usize, budget: usize) -> JsonObject {
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
        let usual = match budget {
            0 => "no limit".to_owned(),
            tokens => tokens.to_string(),
        };
        let budget = json!({
            "type": "integer",
            "minimum": LEAST_BUDGET,
            "maximum": MOST_BUDGET,
            "description": format!(
                "The most tokens: whole sections while they fit, then the part around the match. Default: {usual}."
            ),
        });
        properties.insert("budget".to_owned(), budget);
    }
    schema
}

/// The schema of answers without these properties.
fn output(absent: &[(&str, &str)]) -> JsonObject {
    let mut schema = Value::Object(output_schema::<DocsSearchAnswer>());
    for (place, name) in absent {
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
    arguments: JsonObject,
    context: &CallContext,
) -> Result<Answer, Failure> {
    let params: DocsSearchParams = decode(arguments)?;
    let search = DocsSearch {
        query: &params.query,
        max_sections: params.max_sections,
        budget: params.budget,
        explain: params.explain,
    };
    let answered = docs.search(&search, context)?;
    let meta = answered.meta(&docs.settings.namespace);
    Ok(Answer::new(&answered, answered.facts())?.with_meta(meta))
}
