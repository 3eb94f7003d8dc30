//! The known settings as a table, derived from the types in `raw`.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::raw::RawConfig;
use crate::settings::variable_name;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigKey {
    /// Dotted path: `server.tools.mode`.
    pub(crate) path: String,
    pub(crate) description: String,
    pub(crate) kind: ValueKind,
    /// The value if the setting is not set.
    pub(crate) default: Value,
}

impl ConfigKey {
    /// Returns the table that contains the setting: `server.tools`.
    pub(crate) fn table(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Returns the environment variable that overrides the setting, if one can.
    pub(crate) fn variable(&self) -> Option<String> {
        let has_tables = matches!(self.kind, ValueKind::Tables(_) | ValueKind::Named(_));
        // A key in a list of tables has no value of its own, and so no default.
        let is_in_list = self.default.is_null();
        (!has_tables && !is_in_list).then(|| variable_name(&self.path))
    }
}

/// The type and range of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Text,
    OneOf(Vec<String>),
    Integer {
        min: i64,
        max: i64,
    },
    Texts,
    Switch,
    /// A list of tables with these keys, whose paths start with that of the list.
    Tables(Vec<ConfigKey>),
    /// Values under names that the user chooses: each a string, or a table with these keys.
    Named(Vec<ConfigKey>),
}

impl ValueKind {
    /// Describes the kind in words, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Text => "a string in quotes".to_owned(),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Texts => "a list of strings".to_owned(),
            Self::Switch => "true or false".to_owned(),
            Self::Tables(_) => "a list of tables".to_owned(),
            Self::Named(_) => "strings or tables, each with a name of your choice".to_owned(),
        }
    }
}

/// Returns every setting, in the order of the fields in `raw`.
pub(crate) fn keys() -> Vec<ConfigKey> {
    let defaults = serde_json::to_value(RawConfig::default()).unwrap_or_default();
    let mut keys = Vec::new();
    if let Some(properties) = schema().get("properties").and_then(Value::as_object) {
        collect("", properties, &defaults, &mut keys);
    }
    keys
}

/// Returns the JSON Schema of the settings file, for editors.
pub(crate) fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<RawConfig>()
        .to_value()
}

fn collect(
    prefix: &str,
    properties: &Map<String, Value>,
    defaults: &Value,
    keys: &mut Vec<ConfigKey>,
) {
    for (name, property) in properties {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match property.get("properties").and_then(Value::as_object) {
            Some(inner) => collect(&path, inner, &defaults[name], keys),
            None => keys.push(ConfigKey {
                description: text(property, "description").replace('\n', " "),
                kind: kind(property, &path),
                path,
                default: defaults[name].clone(),
            }),
        }
    }
}

fn text(schema: &Value, key: &str) -> String {
    schema
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn kind(property: &Value, path: &str) -> ValueKind {
    let bound = |key: &str, default| property.get(key).and_then(Value::as_i64).unwrap_or(default);
    match property.get("type").and_then(Value::as_str) {
        Some("integer") => ValueKind::Integer {
            min: bound("minimum", 0),
            max: bound("maximum", i64::MAX),
        },
        Some("array") => match property["items"]
            .get("properties")
            .and_then(Value::as_object)
        {
            Some(inner) => {
                let mut keys = Vec::new();
                collect(path, inner, &Value::Null, &mut keys);
                ValueKind::Tables(keys)
            }
            None => ValueKind::Texts,
        },
        Some("boolean") => ValueKind::Switch,
        Some("object") => ValueKind::Named(keys_of_named(property, path)),
        Some("string") if property.get("enum").is_none() => ValueKind::Text,
        _ => ValueKind::OneOf(words(property)),
    }
}

/// Returns the keys of the tables under names that the user chooses. A value may be a string instead.
fn keys_of_named(property: &Value, path: &str) -> Vec<ConfigKey> {
    let forms = property["additionalProperties"]["anyOf"].as_array();
    let mut tables = forms.into_iter().flatten();
    let inner = tables.find_map(|form| form.get("properties").and_then(Value::as_object));
    let mut keys = Vec::new();
    if let Some(inner) = inner {
        collect(path, inner, &Value::Null, &mut keys);
    }
    keys
}

/// Returns the words of an enumeration, whether or not its variants carry descriptions.
fn words(property: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let plain = property.get("enum").map(list).unwrap_or_default();
    let described = property.get("oneOf").map(list).unwrap_or_default();
    let constants = described.iter().flat_map(|variant| {
        variant
            .get("const")
            .cloned()
            .into_iter()
            .chain(variant.get("enum").map(list).unwrap_or_default())
    });
    plain
        .iter()
        .cloned()
        .chain(constants)
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect()
}
