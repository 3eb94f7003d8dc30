//! Checks arguments against a tool's schema before a handler runs.
//!
//! It knows the keywords that schemas generated from types use. A message names the place with words of the schema and
//! positions only, such as `edits[2].section_id`. It never repeats a value that the caller sent, and the name of an
//! unknown argument only in a world that has its own error for it.

use std::{cmp::Ordering, fmt};

use serde_json::{Number, Value};

use crate::{
    ArgumentAlias, ErrorRow, Failure, FailureKind, JsonObject,
    call::error_text::{MAX_OFFERED, nearest, quoted},
};

/// The start of a message about arguments, unless the world's own error says it.
pub(crate) const INVALID: &str = "Invalid arguments: ";

/// Number of references that may lead from one schema to the next without going deeper into the arguments. Guards
/// against schemas that refer to each other.
const MAX_HOPS: usize = 32;

/// Number of forms of a value that are searched for whole numbers. Guards against schemas that refer to each other.
const MAX_FORMS: usize = 256;

/// What a tool accepts as its arguments.
pub(crate) struct ArgumentRules<'a> {
    /// An input schema made by [`crate::input_schema`].
    pub(crate) schema: &'a JsonObject,
    pub(crate) aliases: &'a [ArgumentAlias],
    pub(crate) lenient_scalars: bool,
    /// The world's own error for arguments that do not fit.
    pub(crate) errors: Option<&'static ErrorRow>,
}

impl ArgumentRules<'_> {
    /// Checks `arguments`. Afterwards arguments have the names of the schema, and scalars the types that it requires,
    /// however they were written: whole numbers are integers, for example.
    pub(crate) fn check(&self, arguments: &mut JsonObject) -> Result<(), Failure> {
        let checker = Checker {
            root: self.schema,
            lenient_scalars: self.lenient_scalars,
        };
        let checked = self.resolve_aliases(arguments).and_then(|()| {
            if self.lenient_scalars {
                checker.drop_nulls(self.schema, arguments);
            }
            if self.lenient_scalars || arguments.values().any(has_fractional_form) {
                checker.settle_fields(self.schema, arguments);
            }
            let root = &ArgumentPath::Root;
            checker.fields(self.schema, arguments, root, Others::Refused)
        });
        checked.map_err(|wrong| self.failure(wrong))
    }

    /// Gives arguments the names that they have in the schema. A null counts as not given.
    fn resolve_aliases(&self, arguments: &mut JsonObject) -> CheckResult {
        for ArgumentAlias { alias, name } in self.aliases {
            let Some(value) = arguments.shift_remove(*alias) else {
                continue;
            };
            let is_given = arguments.get(*name).is_some_and(|value| !value.is_null());
            match (is_given, value.is_null()) {
                (false, _) => drop(arguments.insert((*name).to_owned(), value)),
                (true, true) => {}
                (true, false) => {
                    return Err(ArgumentPath::Field(&ArgumentPath::Root, name).wrong(
                        format_args!("is given twice: {alias} is another name for it."),
                    ));
                }
            }
        }
        Ok(())
    }

    fn failure(&self, wrong: ArgumentError) -> Failure {
        let mut failure = match self.errors {
            Some(row) => self.detailed(row, &wrong),
            None => Failure::new(
                FailureKind::InvalidArguments,
                format!("{INVALID}{}", wrong.what),
            ),
        };
        failure.argument = wrong.argument;
        failure
    }

    /// Returns the failure of a world that has its own error for this, with all names that are involved.
    fn detailed(&self, row: &'static ErrorRow, wrong: &ArgumentError) -> Failure {
        let mut facts = JsonObject::new();
        if let Some(argument) = &wrong.argument {
            facts.insert("argument".to_owned(), argument.as_str().into());
        }
        if let Some(missing) = &wrong.missing {
            facts.insert("missing".to_owned(), missing.to_vec().into());
        }
        let Some(unknown) = &wrong.unknown else {
            let failure = row.failure(wrong.what.clone());
            return failure.with_detail(row.code, row.recovery, facts);
        };
        let near = self.nearest_names(unknown);
        let names: Vec<String> = unknown.names.iter().map(|name| quoted(name)).collect();
        facts.insert("unknown".to_owned(), names.clone().into());
        facts.insert("nearest".to_owned(), near.clone().into());
        facts.insert("takes".to_owned(), unknown.known.clone().into());
        let what = match unknown.known.as_slice() {
            [] => format!("{} takes no arguments.", unknown.place),
            known => format!(
                "{} does not take {}. It takes only: {}.",
                unknown.place,
                names.join(", "),
                known.join(", ")
            ),
        };
        row.failure(what)
            .with_detail(row.code, row.recovery, facts)
            .offering("Nearest", near)
    }

    /// Returns the known names that are most similar to the unknown ones. An alias counts as the argument it stands for.
    fn nearest_names(&self, unknown: &UnknownNames) -> Vec<String> {
        let known = unknown
            .known
            .iter()
            .map(|name| (name.as_str(), name.as_str()));
        let aliases = self.aliases.iter().map(|also| (also.alias, also.name));
        let aliases = aliases.filter(|(_, name)| unknown.known.iter().any(|known| known == name));
        let candidates: Vec<(&str, &str)> = known.chain(aliases).collect();
        let mut found: Vec<String> = Vec::new();
        for name in &unknown.names {
            let near = nearest(name, candidates.iter().map(|(written, _)| *written), 1);
            let meant = near
                .first()
                .and_then(|near| candidates.iter().find(|(written, _)| written == near));
            if let Some((_, name)) = meant
                && !found.iter().any(|found| found == name)
            {
                found.push((*name).to_owned());
            }
        }
        found
    }
}

type CheckResult = Result<(), ArgumentError>;

/// A mismatch between an argument and its schema.
#[derive(Clone)]
struct ArgumentError {
    /// The argument that is wrong, if the schema knows it.
    argument: Option<String>,
    /// The end of a sentence that says what is wrong.
    what: String,
    /// The names that the schema does not know, if that is what is wrong.
    unknown: Option<Box<UnknownNames>>,
    /// The required names that are not given, if that is what is wrong.
    missing: Option<Box<[String]>>,
}

/// Names that a schema does not know.
#[derive(Clone)]
struct UnknownNames {
    /// The place where they were given.
    place: String,
    /// The first of them, as the caller wrote them.
    names: Vec<String>,
    /// All names that the schema knows at that place.
    known: Vec<String>,
}

struct Checker<'s> {
    root: &'s JsonObject,
    lenient_scalars: bool,
}

/// The path to a value in the arguments.
enum ArgumentPath<'a> {
    Root,
    Field(&'a Self, &'a str),
    Item(&'a Self, usize),
    /// A field whose name the caller chose.
    Entry(&'a Self),
    /// The same path, with the name of the form that the value has.
    Form(&'a Self, &'a str),
}

impl ArgumentPath<'_> {
    /// Returns an error about the value at this path.
    fn wrong(&self, how: impl fmt::Display) -> ArgumentError {
        ArgumentError {
            argument: self.argument().map(str::to_owned),
            what: match self.form() {
                Some(form) => format!("{self} ({form}) {how}"),
                None => format!("{self} {how}"),
            },
            unknown: None,
            missing: None,
        }
    }

    /// Returns the name of the form that the path is in.
    fn form(&self) -> Option<&str> {
        match self {
            Self::Root => None,
            Self::Form(_, name) => Some(name),
            Self::Field(parent, _) | Self::Item(parent, _) | Self::Entry(parent) => parent.form(),
        }
    }

    /// Returns the argument that the path is in.
    fn argument(&self) -> Option<&str> {
        match self {
            Self::Root | Self::Entry(ArgumentPath::Root) => None,
            Self::Field(ArgumentPath::Root, name) => Some(name),
            Self::Field(parent, _)
            | Self::Item(parent, _)
            | Self::Entry(parent)
            | Self::Form(parent, _) => parent.argument(),
        }
    }
}

impl fmt::Display for ArgumentPath<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => out.write_str("this tool"),
            Self::Field(ArgumentPath::Root, name) => out.write_str(name),
            Self::Field(parent, name) => write!(out, "{parent}.{name}"),
            Self::Item(parent, index) => write!(out, "{parent}[{index}]"),
            Self::Entry(parent) => write!(out, "{parent}.*"),
            Self::Form(place, _) => place.fmt(out),
        }
    }
}

/// The treatment of fields that a schema does not name.
#[derive(Clone, Copy)]
enum Others<'s> {
    Refused,
    Checked(&'s Value),
    Free,
}

impl Checker<'_> {
    fn value(
        &self,
        schema: &Value,
        value: &Value,
        place: &ArgumentPath<'_>,
        hops: usize,
    ) -> CheckResult {
        let Value::Object(schema) = schema else {
            return match schema {
                Value::Bool(false) => Err(place.wrong("is not allowed.")),
                _ => Ok(()),
            };
        };
        if hops > MAX_HOPS {
            return Err(place.wrong("cannot be checked."));
        }
        for (keyword, rule) in schema {
            match keyword.as_str() {
                "type" => has_type(rule, value, place)?,
                "enum" => is_one_of(rule.as_array().map_or(&[], Vec::as_slice), value, place)?,
                "const" => is_one_of(std::slice::from_ref(rule), value, place)?,
                "$ref" => match rule.as_str().and_then(|name| self.definition(name)) {
                    Some(target) => self.value(target, value, place, hops + 1)?,
                    None => return Err(place.wrong("cannot be checked.")),
                },
                "anyOf" | "oneOf" => {
                    let forms = rule.as_array().map_or(&[][..], Vec::as_slice);
                    self.any_form(forms, value, place, hops + 1)?;
                }
                "allOf" => {
                    for form in rule.as_array().into_iter().flatten() {
                        self.value(form, value, place, hops + 1)?;
                    }
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(rule, item, &ArgumentPath::Item(place, index), 0)?;
                    }
                }
                _ => within_bound(keyword, rule, value, place)?,
            }
        }
        match value {
            Value::Object(fields) => {
                let others = match schema.get("additionalProperties") {
                    Some(Value::Bool(false)) => Others::Refused,
                    Some(Value::Bool(true)) | None => Others::Free,
                    Some(schema) => Others::Checked(schema),
                };
                self.fields(schema, fields, place, others)
            }
            _ => Ok(()),
        }
    }

    fn fields(
        &self,
        schema: &JsonObject,
        fields: &JsonObject,
        place: &ArgumentPath<'_>,
        others: Others<'_>,
    ) -> CheckResult {
        let properties = schema.get("properties").and_then(Value::as_object);
        let property = |name: &String| properties?.get_key_value(name);
        let is_unknown = |name: &&String| property(name).is_none();
        if matches!(others, Others::Refused) && fields.keys().any(|name| is_unknown(&name)) {
            let known: Vec<String> = properties
                .into_iter()
                .flat_map(|properties| properties.keys().cloned())
                .collect();
            let mut wrong = match known.as_slice() {
                [] => place.wrong("takes no arguments."),
                known => place.wrong(format_args!("takes only: {}.", known.join(", "))),
            };
            let names = fields.keys().filter(is_unknown).take(MAX_OFFERED);
            wrong.unknown = Some(Box::new(UnknownNames {
                place: place.to_string(),
                names: names.cloned().collect(),
                known,
            }));
            return Err(wrong);
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<&str> = required
            .filter(|name| !fields.contains_key(*name))
            .collect();
        if let Some(name) = missing.first() {
            let mut wrong = ArgumentPath::Field(place, name).wrong("is required.");
            wrong.missing = Some(missing.into_iter().map(str::to_owned).collect());
            return Err(wrong);
        }
        for (name, value) in fields {
            match (property(name), others) {
                (Some((name, schema)), _) => {
                    self.value(schema, value, &ArgumentPath::Field(place, name), 0)?;
                }
                (None, Others::Checked(schema)) => {
                    self.value(schema, value, &ArgumentPath::Entry(place), 0)?;
                }
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Checks that one of several forms fits. If none does, the error is that of the form the caller seems to have
    /// meant.
    fn any_form(
        &self,
        forms: &[Value],
        value: &Value,
        place: &ArgumentPath<'_>,
        hops: usize,
    ) -> CheckResult {
        let tag = self.tag(forms);
        let mut meant = Vec::new();
        for form in forms {
            let name = tag.and_then(|tag| self.fixed(form, tag)?.as_str());
            let named = name.map(|name| ArgumentPath::Form(place, name));
            match self.value(form, value, named.as_ref().unwrap_or(place), hops) {
                Ok(()) => return Ok(()),
                Err(wrong) if self.seems_meant(form, value) => meant.push(wrong),
                Err(_) => {}
            }
        }
        let constants: Option<Vec<&Value>> = forms.iter().map(|form| form.get("const")).collect();
        match (meant.as_slice(), constants, tag) {
            (_, Some(constants), _) => Err(must_be_one_of(constants.into_iter(), place)),
            ([wrong], ..) => Err(wrong.clone()),
            ([], None, Some(tag)) => {
                has_type(&"object".into(), value, place)?;
                let field = ArgumentPath::Field(place, tag);
                let names = forms.iter().filter_map(|form| self.fixed(form, tag));
                Err(match value.get(tag) {
                    Some(_) => must_be_one_of(names, &field),
                    None => field.wrong("is required."),
                })
            }
            _ => Err(place.wrong("matches none of the allowed forms.")),
        }
    }

    /// Returns whether a form is not for `null`, and every field that has one fixed value in the form has that value
    /// here.
    fn seems_meant(&self, form: &Value, value: &Value) -> bool {
        let form = self.target(form);
        form.get("type").and_then(Value::as_str) != Some("null")
            && fixed_fields(form).all(|(name, fixed)| value.get(name) == Some(fixed))
    }

    /// Returns the field that tells the forms apart: each of them has one fixed value for it.
    fn tag<'v>(&'v self, forms: &'v [Value]) -> Option<&'v str> {
        let (first, others) = forms.split_first()?;
        fixed_fields(self.target(first))
            .map(|(name, _)| name)
            .find(|name| others.iter().all(|form| self.fixed(form, name).is_some()))
    }

    /// Returns the fixed value of a field of a form.
    fn fixed<'v>(&'v self, form: &'v Value, name: &str) -> Option<&'v Value> {
        let fixed = fixed_fields(self.target(form)).find(|(field, _)| *field == name);
        fixed.map(|(_, value)| value)
    }

    /// Returns the schema that a reference leads to, or the schema itself.
    fn target<'v>(&'v self, schema: &'v Value) -> &'v Value {
        let name = schema.get("$ref").and_then(Value::as_str);
        name.and_then(|name| self.definition(name))
            .unwrap_or(schema)
    }

    /// Writes whole numbers as integers where the schema accepts integers and no other numbers: JSON does not
    /// distinguish `1.0` from `1`, and some clients write the former. If scalars are lenient, also converts
    /// strings that spell an integer or a boolean where the schema accepts no string.
    fn settle(&self, schemas: &[&Value], value: &mut Value) {
        match value {
            Value::Number(number) => {
                if let Some(integer) = integer(number)
                    && schemas.iter().any(|schema| takes(schema, "integer"))
                    && !schemas.iter().any(|schema| takes(schema, "number"))
                {
                    *value = integer.into();
                }
            }
            Value::String(text) if self.lenient_scalars => {
                let takes_any = |kind: &str| schemas.iter().any(|schema| takes(schema, kind));
                let is_scalar_only = schemas.iter().all(|schema| is_of_other_type(schema));
                let meant = scalar(text, takes_any("integer"), takes_any("boolean"));
                if let Some(meant) = meant.filter(|_| is_scalar_only) {
                    *value = meant;
                }
            }
            Value::Array(items) => {
                let of_items = schemas.iter().filter_map(|schema| schema.get("items"));
                let forms = self.forms(of_items);
                items.iter_mut().for_each(|item| self.settle(&forms, item));
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let of_field = schemas.iter().filter_map(|schema| field(schema, name));
                    self.settle(&self.forms(of_field), value);
                }
            }
            _ => {}
        }
    }

    fn settle_fields(&self, schema: &JsonObject, fields: &mut JsonObject) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            let of_field = properties.and_then(|properties| properties.get(name));
            self.settle(&self.forms(of_field), value);
        }
    }

    /// Removes the nulls of arguments that may be left out.
    fn drop_nulls(&self, schema: &JsonObject, fields: &mut JsonObject) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        fields.retain(|name, value| {
            let is_known = properties.is_some_and(|all| all.contains_key(name));
            let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
            !value.is_null() || !is_known || is_required
        });
    }

    /// Returns the schemas that `of` expand to: those they refer to, and all forms that they allow.
    fn forms<'v>(&'v self, of: impl IntoIterator<Item = &'v Value>) -> Vec<&'v Value> {
        let mut forms: Vec<&Value> = of.into_iter().collect();
        let mut at = 0;
        // Schemas that refer to each other also end here.
        while let Some(form) = forms.get(at).copied().filter(|_| at < MAX_FORMS) {
            let target = form.get("$ref").and_then(Value::as_str);
            forms.extend(target.and_then(|name| self.definition(name)));
            for keyword in ["anyOf", "oneOf", "allOf"] {
                forms.extend(
                    form.get(keyword)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten(),
                );
            }
            at += 1;
        }
        forms
    }

    fn definition(&self, reference: &str) -> Option<&Value> {
        let name = reference.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name)
    }
}

/// Returns the fields that have one fixed value, with that value.
fn fixed_fields(form: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = form.get("properties").and_then(Value::as_object);
    let all = properties.into_iter().flatten();
    all.filter_map(|(name, field)| Some((name.as_str(), field.get("const")?)))
}

/// Returns the schema of the field `name` of an object.
fn field<'v>(schema: &'v Value, name: &str) -> Option<&'v Value> {
    let named = schema.get("properties").and_then(|all| all.get(name));
    named.or_else(|| schema.get("additionalProperties"))
}

/// Returns whether the schema names this type.
fn takes(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(found)) => found == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|found| found == kind),
        _ => false,
    }
}

/// Returns whether a schema is only a reference, a choice of others, or of a type that is not a string.
fn is_of_other_type(schema: &Value) -> bool {
    let is_choice = ["$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|keyword| schema.get(*keyword).is_some());
    match schema.get("type") {
        Some(_) => !takes(schema, "string"),
        None => is_choice,
    }
}

/// Returns the integer or the boolean that `text` spells, if that is one of the types that are accepted.
fn scalar(text: &str, is_integer: bool, is_boolean: bool) -> Option<Value> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "true" | "false" if is_boolean => Some(Value::Bool(text == "true")),
        _ if is_integer && is_digits => text.parse::<u64>().ok().map(Value::from),
        _ => None,
    }
}

/// Returns whether `value` contains a number that is not written as an integer.
fn has_fractional_form(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fractional_form),
        Value::Object(fields) => fields.values().any(has_fractional_form),
        _ => false,
    }
}

/// Returns a number with a fraction of zero as an integer; `None` beyond the integers that a float holds exactly,
/// because it may not be the number that was written.
fn integer(number: &Number) -> Option<i64> {
    const MOST: f64 = 9_007_199_254_740_991.0;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = float.fract() == 0.0 && float.abs() <= MOST;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
    is_whole.then_some(float as i64)
}

fn has_type(rule: &Value, value: &Value, place: &ArgumentPath<'_>) -> CheckResult {
    let Some(expected) = rule.as_str() else {
        return Ok(());
    };
    let fits = match expected {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(place.wrong(format_args!("must be a JSON {expected}."))),
    }
}

fn is_one_of(allowed: &[Value], value: &Value, place: &ArgumentPath<'_>) -> CheckResult {
    match allowed.contains(value) {
        true => Ok(()),
        false => Err(must_be_one_of(allowed.iter(), place)),
    }
}

fn must_be_one_of<'v>(
    allowed: impl Iterator<Item = &'v Value>,
    place: &ArgumentPath<'_>,
) -> ArgumentError {
    let words: Vec<String> = allowed
        .map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    match words.as_slice() {
        [] => place.wrong("is not allowed."),
        words => place.wrong(format_args!("must be one of: {}.", words.join(", "))),
    }
}

fn within_bound(
    keyword: &str,
    rule: &Value,
    value: &Value,
    place: &ArgumentPath<'_>,
) -> CheckResult {
    let Value::Number(bound) = rule else {
        return Ok(());
    };
    let (found, unit) = match (keyword, value) {
        ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(found)) => {
            (found.clone(), "")
        }
        ("minLength" | "maxLength", Value::String(text)) => {
            (Number::from(text.chars().count()), " characters long")
        }
        ("minItems" | "maxItems", Value::Array(items)) => {
            (Number::from(items.len()), " items long")
        }
        _ => return Ok(()),
    };
    let order = compare(&found, bound);
    let (fits, demand) = match keyword {
        "exclusiveMinimum" => (order == Ordering::Greater, "more than"),
        "exclusiveMaximum" => (order == Ordering::Less, "less than"),
        _ if keyword.starts_with("min") => (order != Ordering::Less, "at least"),
        _ => (order != Ordering::Greater, "at most"),
    };
    match fits {
        true => Ok(()),
        false => Err(place.wrong(format_args!("must be {demand} {bound}{unit}."))),
    }
}

fn compare(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64(), right.as_f64());
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
    }
}

#[cfg(test)]
mod tests;
