//! JSON schemas of tools: generated from types, and cleaned up for strict clients.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// A JSON object with its keys in order.
pub type JsonObject = Map<String, Value>;

/// Returns the schema of arguments of type `T`.
#[must_use]
pub fn input_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = root_schema::<T>(SchemaSettings::draft2020_12());
    // Present even if there are no arguments: clients look for it.
    let properties = schema.entry("properties");
    properties.or_insert_with(|| Value::Object(JsonObject::new()));
    schema
}

/// Returns the schema of an answer of type `T`: every field is always present, and there are no others.
#[must_use]
pub fn output_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = Value::Object(root_schema::<T>(
        SchemaSettings::draft2020_12().for_serialize(),
    ));
    close(&mut schema);
    into_object(schema)
}

/// Returns a schema of arguments in which those that are not required are never null: leaving them out says the same.
pub(crate) fn without_nulls(mut schema: JsonObject) -> JsonObject {
    let required: Vec<Value> = match schema.get("required") {
        Some(Value::Array(required)) => required.clone(),
        _ => Vec::new(),
    };
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, argument) in properties.into_iter().flatten() {
        if !required.iter().any(|required| required == name)
            && let Value::Object(argument) = argument
        {
            remove_null(argument);
        }
    }
    schema
}

fn remove_null(argument: &mut JsonObject) {
    if argument.get("default").is_some_and(Value::is_null) {
        argument.shift_remove("default");
    }
    if let Some(Value::Array(words)) = argument.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let Some(Value::Array(forms)) = argument.get_mut("anyOf") else {
        return;
    };
    forms.retain(|form| *form != json!({ "type": "null" }));
    if let [Value::Object(form)] = forms.as_mut_slice() {
        // Whatever is said about the argument holds for its only form.
        let mut only = std::mem::take(form);
        argument.shift_remove("anyOf");
        only.append(argument);
        *argument = only;
    }
}

fn root_schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    clean(&mut schema);
    let mut object = into_object(schema);
    // The dialect is the protocol's default, and the tool itself has a title and a description.
    for key in ["$schema", "title", "description"] {
        object.shift_remove(key);
    }
    object
}

fn into_object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Declares that no object has other fields.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            object.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Removes what makes validators warn: number formats that JSON Schema does not know, and lists of types.
fn clean(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let is_number_format = |format: &Value| {
                format
                    .as_str()
                    .is_some_and(|name| name.starts_with("uint") || name.starts_with("int"))
            };
            if object.get("format").is_some_and(is_number_format) {
                object.shift_remove("format");
            }
            if let Some(Value::Array(types)) = object.get("type") {
                let any_of: Vec<Value> = types.iter().map(|name| json!({ "type": name })).collect();
                object.shift_remove("type");
                object.insert("anyOf".to_owned(), Value::Array(any_of));
            }
            object.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema of it is used")]
    struct Params {
        /// Required, and may be null.
        given: Option<String>,
        /// A number.
        #[schemars(range(min = 1, max = 20))]
        limit: Option<u32>,
        /// A word.
        #[serde(default)]
        place: Option<Place>,
        /// One of two.
        either: Option<Either>,
        /// Not optional, but with a default.
        #[serde(default)]
        depth: u8,
    }

    #[derive(JsonSchema)]
    #[schemars(inline, rename_all = "lowercase")]
    #[expect(dead_code, reason = "only the schema of it is used")]
    enum Place {
        Before,
        After,
    }

    #[derive(JsonSchema)]
    #[schemars(inline, untagged)]
    #[expect(dead_code, reason = "only the schema of it is used")]
    enum Either {
        Number(u8),
        Text(String),
    }

    #[test]
    fn arguments_that_may_be_left_out_are_not_listed_as_null() {
        let mut schema = input_schema::<Params>();
        schema.insert("required".to_owned(), json!(["given"]));
        let before = schema["properties"]["given"].clone();
        assert!(before.to_string().contains("null"), "{before}");
        let schema = without_nulls(schema);
        let properties = &schema["properties"];
        assert_eq!(properties["given"], before);
        assert_eq!(
            properties["limit"],
            json!({ "type": "integer", "description": "A number.", "minimum": 1, "maximum": 20 })
        );
        assert_eq!(
            properties["place"],
            json!({ "type": "string", "description": "A word.", "enum": ["before", "after"] })
        );
        let forms = properties["either"]["anyOf"].as_array().expect("forms");
        assert_eq!(forms.len(), 2, "{forms:?}");
        for name in ["limit", "place", "either", "depth"] {
            let text = properties[name].to_string();
            assert!(!text.contains("null"), "{name}: {text}");
        }
        assert_eq!(properties["depth"]["default"], 0);
    }
}
