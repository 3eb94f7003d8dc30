//! A validator for the part of JSON Schema that the tools use. It fails on any other keyword, so that nothing is passed
//! over in silence.

use serde_json::{Map, Value, json};

/// Keywords that say nothing about validity.
const ANNOTATIONS: [&str; 5] = ["$defs", "description", "title", "default", "format"];

/// Every schema inside `schema`, itself included.
pub(crate) fn schemas(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    for map in ["properties", "$defs"] {
        let inner = schema.get(map).and_then(Value::as_object);
        found.extend(inner.into_iter().flat_map(Map::values).flat_map(schemas));
    }
    let items = schema.get("items");
    found.extend(items.into_iter().flat_map(schemas));
    for list in ["anyOf", "oneOf", "allOf"] {
        let inner = schema.get(list).and_then(Value::as_array);
        found.extend(inner.into_iter().flatten().flat_map(schemas));
    }
    found
}

/// The schemas inside `schema` that describe objects.
pub(crate) fn objects(schema: &Value) -> Vec<&Value> {
    let is_object =
        |schema: &&Value| schema["type"] == "object" || schema["properties"].is_object();
    schemas(schema).into_iter().filter(is_object).collect()
}

/// What is wrong with `value`, if anything.
pub(crate) fn violation(schema: &Value, value: &Value) -> Option<String> {
    check(schema, schema, value, "$").err()
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().unwrap() {
        let holds = match keyword.as_str() {
            "type" => has_type(value, rule.as_str().unwrap()),
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            // What is no number is no business of these.
            "minimum" => !value.is_number() || value.as_i64() >= rule.as_i64(),
            "maximum" => !value.is_number() || value.as_i64() <= rule.as_i64(),
            "required" => {
                let mut names = rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap());
                names.all(|name| value.get(name).is_some())
            }
            "additionalProperties" if *rule == json!(true) => true,
            "additionalProperties" => {
                assert_eq!(*rule, json!(false), "the only other form in use");
                let known = &schema["properties"];
                let mut names = value.as_object().into_iter().flat_map(Map::keys);
                names.all(|name| known.get(name).is_some())
            }
            "properties" => {
                for (name, property) in rule.as_object().unwrap() {
                    if let Some(inner) = value.get(name) {
                        check(root, property, inner, &format!("{at}.{name}"))?;
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{index}]"))?;
                }
                true
            }
            "anyOf" => {
                let mut options = rule.as_array().unwrap().iter();
                options.any(|option| check(root, option, value, at).is_ok())
            }
            "oneOf" => {
                let options = rule.as_array().unwrap().iter();
                let fit = options.filter(|option| check(root, option, value, at).is_ok());
                fit.count() == 1
            }
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(pointer).unwrap(), value, at)?;
                true
            }
            annotation if ANNOTATIONS.contains(&annotation) => true,
            unknown => panic!("the validator does not know `{unknown}` at {at}"),
        };
        if !holds {
            return Err(format!("{at}: `{keyword}` of {schema} refuses {value}"));
        }
    }
    Ok(())
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        unknown => panic!("the validator does not know the type `{unknown}`"),
    }
}

/// Copies of `value`, each with one thing wrong, and what it is: for every object inside, every field gone, every field
/// of a type that no schema here has, and one field too many.
pub(crate) fn damaged(value: &Value) -> Vec<(String, Value)> {
    let mut copies = Vec::new();
    for pointer in object_pointers(value) {
        let fields = value.pointer(&pointer).unwrap().as_object().unwrap();
        let copy_with = |change: &dyn Fn(&mut Map<String, Value>)| {
            let mut copy = value.clone();
            change(copy.pointer_mut(&pointer).unwrap().as_object_mut().unwrap());
            copy
        };
        for name in fields.keys() {
            let without = copy_with(&|fields| drop(fields.remove(name)));
            copies.push((format!("{pointer} without {name}"), without));
            let wrong = copy_with(&|fields| drop(fields.insert(name.clone(), json!(1.5))));
            copies.push((format!("{pointer} with another {name}"), wrong));
        }
        let more = copy_with(&|fields| drop(fields.insert("extra".to_owned(), json!(null))));
        copies.push((format!("{pointer} with one more field"), more));
    }
    copies
}

fn object_pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, inner)| (name.clone(), inner))
            .collect(),
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered
                .map(|(index, inner)| (index.to_string(), inner))
                .collect()
        }
        _ => Vec::new(),
    };
    let mut pointers: Vec<String> = children
        .into_iter()
        .flat_map(|(name, inner)| {
            let below = object_pointers(inner);
            below
                .into_iter()
                .map(move |pointer| format!("/{name}{pointer}"))
        })
        .collect();
    if value.is_object() {
        pointers.push(String::new());
    }
    pointers
}
