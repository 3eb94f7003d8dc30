//! What a document says of itself, and what its file does. What neither says stays unknown.

use schemars::JsonSchema;
use sectile_markdown::{Source, Value};
use sectile_vault::{NotePath, editor::View};
use serde::Serialize;

use super::{EditorWorld, timestamp};

/// Metadata of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Metadata {
    title: Option<String>,
    author: Option<String>,
    created: Option<String>,
    modified: Option<String>,
}

impl Metadata {
    pub(super) fn of(world: &EditorWorld, path: &NotePath, view: &View) -> Self {
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
        let times = world.editor.root().times(path);
        Self {
            title: said(&["title"]).or_else(first_heading),
            author: said(&["author", "authors"]),
            created: said(&["created", "date"])
                .or_else(|| world.editor.created(view.path()).map(timestamp)),
            modified: said(&["modified", "updated", "lastmod"])
                .or_else(|| times.modified.map(timestamp)),
        }
    }
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
