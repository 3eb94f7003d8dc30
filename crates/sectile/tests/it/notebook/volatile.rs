//! Answers without what the contract publishes as volatile: the rest is the same for the same question and library.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::Library;
use crate::fixture::Era;

/// The published list: a tool and a path in its answer each.
pub(super) fn published() -> &'static [(String, String)] {
    static LIST: OnceLock<Vec<(String, String)>> = OnceLock::new();
    LIST.get_or_init(|| {
        let library = Library::new();
        let mut client = library.open(Era::Handshake);
        let constraints = client.call("list_constraints", json!({}));
        let fields = constraints["volatile_fields"].as_array().unwrap().iter();
        let fields = fields.map(|field| field.as_str().unwrap().split_once(' ').unwrap());
        let list: Vec<(String, String)> = fields
            .map(|(tool, path)| (tool.to_owned(), path.to_owned()))
            .collect();
        assert!(!list.is_empty());
        list
    })
}

/// An answer of a tool without what is volatile in it.
pub(super) fn stable(tool: &str, answer: &Value) -> Value {
    let mut answer = answer.clone();
    let paths = published().iter().filter(|(of, _)| of == tool);
    for (_, path) in paths {
        take(&mut answer, path);
    }
    answer
}

fn take(value: &mut Value, path: &str) {
    let (step, rest) = match path.split_once('.') {
        Some((step, rest)) => (step, Some(rest)),
        None => (path, None),
    };
    let (name, is_list) = match step.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (step, false),
    };
    let Some(found) = value.get_mut(name) else {
        return;
    };
    match (rest, is_list) {
        (Some(rest), true) => {
            for item in found.as_array_mut().into_iter().flatten() {
                take(item, rest);
            }
        }
        (Some(rest), false) => take(found, rest),
        (None, _) => *found = Value::Null,
    }
}
