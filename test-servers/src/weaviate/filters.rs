//! The filters of searches and deletions, checked against the definition of a class.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{definition, each_token, strings};

/// A filter of objects.
pub(super) enum ObjectFilter {
    Everything,
    And(Vec<Self>),
    Or(Vec<Self>),
    Number {
        property: String,
        is: fn(f64, f64) -> bool,
        operand: f64,
    },
    Text {
        property: String,
        definition: Value,
        wanted: HashSet<String>,
        needs_all: bool,
    },
}

impl ObjectFilter {
    /// Returns the filter, or why it is invalid.
    pub(super) fn new(class: &Value, filter: &Value) -> Result<Self, String> {
        if filter.is_null() {
            return Ok(Self::Everything);
        }
        let operator = filter["operator"].as_str().unwrap_or_default();
        if let "And" | "Or" = operator {
            let operands = filter["operands"].as_array();
            let operands = operands.ok_or("operands are missing")?.iter();
            let operands = operands.map(|operand| Self::new(class, operand));
            let operands = operands.collect::<Result<Vec<Self>, String>>()?;
            return Ok(match operator {
                "And" => Self::And(operands),
                _ => Self::Or(operands),
            });
        }
        let path = strings(&filter["path"]);
        let [property] = path.as_slice() else {
            return Err("path must have one part".to_owned());
        };
        let definition = definition(class, property);
        if definition.is_null() {
            return Err(format!("no such prop with name {property:?}"));
        }
        if definition["indexFilterable"] == json!(false) {
            return Err(format!("property {property:?} is not filterable"));
        }
        let number = |is: fn(f64, f64) -> bool| {
            let operand = filter["valueNumber"].as_f64();
            let operand = operand.or(filter["valueInt"].as_f64());
            let operand = operand.ok_or_else(|| format!("{operator} needs valueNumber"))?;
            Ok(Self::Number {
                property: property.clone(),
                is,
                operand,
            })
        };
        let is_number = definition["dataType"][0] != json!("text");
        match operator {
            "GreaterThan" => number(|a, b| a > b),
            "GreaterThanEqual" => number(|a, b| a >= b),
            "LessThan" => number(|a, b| a < b),
            "LessThanEqual" => number(|a, b| a <= b),
            "Equal" if is_number => number(|a, b| a == b),
            "Equal" | "ContainsAny" | "ContainsAll" => {
                // A search takes a list as `valueText`, a deletion as `valueTextArray`.
                let lists = [&filter["valueText"], &filter["valueTextArray"]];
                let lists = lists.into_iter().filter_map(Value::as_array).flatten();
                let texts = lists.chain([&filter["valueText"]]);
                let mut wanted = HashSet::new();
                for text in texts.filter_map(Value::as_str) {
                    each_token(definition, text, |token| {
                        wanted.insert(token.to_owned());
                    });
                }
                Ok(Self::Text {
                    property: property.clone(),
                    definition: definition.clone(),
                    wanted,
                    needs_all: operator != "ContainsAny",
                })
            }
            other => Err(format!("operator {other:?} is not emulated")),
        }
    }

    /// Returns whether an object with these properties passes.
    pub(super) fn passes(&self, properties: &Map<String, Value>) -> bool {
        match self {
            Self::Everything => true,
            Self::And(operands) => operands.iter().all(|one| one.passes(properties)),
            Self::Or(operands) => operands.iter().any(|one| one.passes(properties)),
            Self::Number {
                property,
                is,
                operand,
            } => {
                let value = properties.get(property).and_then(Value::as_f64);
                value.is_some_and(|value| is(value, *operand))
            }
            Self::Text {
                property,
                definition,
                wanted,
                needs_all,
            } => {
                let text = properties.get(property).and_then(Value::as_str);
                let mut found = HashSet::new();
                each_token(definition, text.unwrap_or_default(), |token| {
                    if let Some(known) = wanted.get(token) {
                        found.insert(known.as_str());
                    }
                });
                match needs_all {
                    true => found.len() == wanted.len(),
                    false => !found.is_empty(),
                }
            }
        }
    }
}
