//! Metadata of a document, from its front matter or else its file. What neither gives stays unknown.

use schemars::JsonSchema;
use sectile_markdown::{Source, Value};
use sectile_vault::editor::View;
use serde::Serialize;

use super::EditorWorld;
use crate::worlds::timestamp;

/// Metadata of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Metadata")]
pub(super) struct DocumentMetadata {
    title: Option<String>,
    author: Option<String>,
    /// Date or time of creation in ISO 8601, from the front matter or else from the file.
    created: Option<String>,
    /// Time of the last change of its text, in ISO 8601.
    modified: Option<String>,
}

impl DocumentMetadata {
    pub(super) fn of(world: &EditorWorld, view: &View) -> Self {
        let source = Source::new(view.bytes());
        let front = match source.front_matter_value() {
            Some(Ok(Value::Map(map))) => Some(map),
            _ => None,
        };
        let said = |keys: &[&str]| {
            let front = front.as_ref()?;
            keys.iter().find_map(|key| text(front.get(key)?))
        };
        let first_heading = || {
            let mut sections = view.document().sections().iter();
            let first = sections.find(|section| section.level == 1)?;
            Some(first.text.clone())
        };
        Self {
            title: said(&["title"]).or_else(first_heading),
            author: said(&["author", "authors"]),
            created: ["created", "date"]
                .iter()
                .find_map(|key| iso_8601(&said(&[key])?))
                .or_else(|| world.editor.created(view.path()).map(timestamp)),
            // A date in the front matter does not follow edits.
            modified: world.editor.modified(view).map(timestamp),
        }
    }
}

/// Converts a written date or time to ISO 8601; `None` if it is neither.
fn iso_8601(written: &str) -> Option<String> {
    if let Ok(moment) = written.parse::<jiff::Timestamp>() {
        return Some(moment.to_string());
    }
    let local: jiff::civil::DateTime = written.parse().ok()?;
    Some(match written.contains(':') {
        true => local.to_string(),
        false => local.date().to_string(),
    })
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Timestamp(time) => Some(time.as_written().to_owned()),
        Value::List(items) => {
            let names: Vec<String> = items.iter().filter_map(text).collect();
            (!names.is_empty()).then(|| names.join(", "))
        }
        _ => None,
    }
}
