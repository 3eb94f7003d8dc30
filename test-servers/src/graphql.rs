//! A reader of the GraphQL queries that Weaviate answers: nested fields with arguments, no variables and no fragments.

use serde_json::{Map, Value};

/// A field of a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryField {
    pub(crate) name: String,
    /// Enumeration values are strings.
    pub(crate) arguments: Map<String, Value>,
    pub(crate) fields: Vec<Self>,
}

/// Parses a query, and returns its fields.
pub(crate) fn parse(query: &str) -> Result<Vec<QueryField>, String> {
    let mut reader = QueryReader {
        rest: query.trim_start(),
    };
    if reader.rest.starts_with("query") {
        reader.name()?;
    }
    let fields = reader.fields()?;
    match reader.rest {
        "" => Ok(fields),
        rest => Err(format!("Syntax Error: unexpected {rest:?}")),
    }
}

struct QueryReader<'a> {
    rest: &'a str,
}

impl QueryReader<'_> {
    /// Skips white space and commas, which mean nothing.
    fn skip(&mut self, bytes: usize) {
        let is_blank = |c: char| c.is_whitespace() || c == ',';
        self.rest = self.rest[bytes..].trim_start_matches(is_blank);
    }

    fn take(&mut self, c: char) -> bool {
        let is_next = self.rest.starts_with(c);
        if is_next {
            self.skip(c.len_utf8());
        }
        is_next
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        match self.take(c) {
            true => Ok(()),
            false => Err(format!(
                "Syntax Error: expected {c}, found {:.20}",
                self.rest
            )),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        if length == 0 {
            return Err(format!(
                "Syntax Error: expected a name, found {:.20}",
                self.rest
            ));
        }
        let name = self.rest[..length].to_owned();
        self.skip(length);
        Ok(name)
    }

    fn fields(&mut self) -> Result<Vec<QueryField>, String> {
        self.expect('{')?;
        let mut fields = Vec::new();
        while !self.take('}') {
            let name = self.name()?;
            let mut arguments = Map::new();
            if self.take('(') {
                while !self.take(')') {
                    let (name, value) = self.pair()?;
                    arguments.insert(name, value);
                }
            }
            let fields_of = match self.rest.starts_with('{') {
                true => self.fields()?,
                false => Vec::new(),
            };
            fields.push(QueryField {
                name,
                arguments,
                fields: fields_of,
            });
        }
        Ok(fields)
    }

    fn pair(&mut self) -> Result<(String, Value), String> {
        let name = self.name()?;
        self.expect(':')?;
        Ok((name, self.value()?))
    }

    fn value(&mut self) -> Result<Value, String> {
        if self.take('{') {
            let mut object = Map::new();
            while !self.take('}') {
                let (name, value) = self.pair()?;
                object.insert(name, value);
            }
            return Ok(Value::Object(object));
        }
        if self.take('[') {
            let mut list = Vec::new();
            while !self.take(']') {
                list.push(self.value()?);
            }
            return Ok(Value::Array(list));
        }
        let is_name = self
            .rest
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name {
            return Ok(match self.name()?.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                name => Value::String(name.to_owned()),
            });
        }
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
        let value = values.next();
        let length = values.byte_offset();
        match value {
            Some(Ok(value)) => {
                self.skip(length);
                Ok(value)
            }
            _ => Err(format!("Syntax Error: unexpected {:.20}", self.rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queries_are_read() {
        let query = r#"{ Get { Thing(tenant: "a\"b", limit: 3, where: {operator: And, operands: [
            {path: ["x"], operator: Equal, valueNumber: 1.5}, {path: ["y"], valueText: ["a", "b"]}]})
            { name _additional { id } } } }"#;
        let fields = parse(query).unwrap();
        let thing = &fields[0].fields[0];
        assert_eq!(thing.arguments["tenant"], json!("a\"b"));
        assert_eq!(thing.arguments["limit"], json!(3));
        let operands = &thing.arguments["where"]["operands"];
        assert_eq!(operands[0]["operator"], json!("Equal"));
        assert_eq!(operands[1]["valueText"], json!(["a", "b"]));
        assert_eq!(thing.fields[1].fields[0].name, "id");
        for bad in ["", "{", "{ a(b: ) }", "{ a } }", "{ a(b: \"x) }"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
