//! Input schemas as short as they can be: every conversation pays for them.

use sectile_mcp::{JsonObject, Tool};
use serde_json::Value;

/// Returns the tool with a schema of its arguments that leaves out what models do not need: that an argument may be null,
/// which the frame accepts anyway, and defaults, which the descriptions give where they matter.
pub(super) fn with_short_schema<S: 'static>(mut tool: Tool<S>) -> Tool<S> {
    let schema = tool.input;
    tool.input = Box::new(move || shortened(schema()));
    tool
}

fn shortened(mut schema: JsonObject) -> JsonObject {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            if let Value::Object(property) = property {
                shorten(property);
            }
        }
    }
    schema
}

fn shorten(property: &mut JsonObject) {
    for key in ["default", "title"] {
        property.shift_remove(key);
    }
    let is_null = |form: &Value| form.is_null() || form.get("type") == Some(&Value::from("null"));
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !is_null(word));
    }
    let Some(Value::Array(mut forms)) = property.shift_remove("anyOf") else {
        return;
    };
    forms.retain(|form| !is_null(form));
    match forms.as_mut_slice() {
        [Value::Object(only)] => {
            let mut only = std::mem::take(only);
            shorten(&mut only);
            // The description of the argument says more than that of its type.
            for (key, value) in only {
                property.entry(key).or_insert(value);
            }
        }
        _ => {
            property.insert("anyOf".to_owned(), Value::Array(forms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use sectile_mcp::input_schema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of it is used")]
    struct Params {
        id: String,
        /// A word
        word: Option<Word>,
        count: Option<u8>,
        #[schemars(default)]
        deep: bool,
    }

    #[derive(JsonSchema)]
    #[schemars(inline, rename_all = "lowercase")]
    #[expect(dead_code, reason = "only the schema of it is used")]
    enum Word {
        One,
        Two,
    }

    #[test]
    fn an_argument_that_may_be_left_out_has_the_schema_of_one_that_may_not() {
        let schema = Value::Object(shortened(input_schema::<Params>()));
        let properties = &schema["properties"];
        assert_eq!(
            properties["word"],
            json!({ "type": "string", "enum": ["one", "two"], "description": "A word" })
        );
        assert_eq!(
            properties["count"],
            json!({ "type": "integer", "minimum": 0, "maximum": 255 })
        );
        assert_eq!(properties["deep"], json!({ "type": "boolean" }));
        assert_eq!(schema["required"], json!(["id"]));
    }
}
