//! Rewording of text that names tools, for callers that cannot see all of those tools.
//!
//! Instructions, descriptions and recoveries are written once, for a caller that sees everything. The text a caller
//! gets names only tools that it can see: the others are left out of lists of tools, and a clause or a sentence that
//! would mean nothing without such a tool is dropped as a whole. So the text needs no markup. A name that is also an
//! ordinary word, such as `undo`, counts as the name of a tool in backticks and after "call".
//!
//! Only the program's own text passes through here, never what a caller or a document wrote: the result would tell a
//! hidden name from one that does not exist.

use std::borrow::Cow;

use serde_json::Value;

use crate::{JsonObject, WorldCard};

/// The recovery that is given when nothing of the original one is left.
const ADVICE: &str = "Call tools/list to see which tools are available.";

/// The tools that text may name.
#[derive(Debug, Default)]
pub(crate) struct Naming<'s> {
    seen: Vec<&'s str>,
    unseen: Vec<&'s str>,
}

impl<'s> Naming<'s> {
    /// For a caller that sees the tools `seen`, but not those named `unseen`.
    pub(crate) fn new(seen: Vec<&'s str>, unseen: Vec<&'s str>) -> Self {
        Self { seen, unseen }
    }

    /// Returns whether all text stays as it is.
    pub(crate) fn is_plain(&self) -> bool {
        self.unseen.is_empty()
    }

    /// Returns `text` without the parts that name a tool the caller cannot see; empty if nothing is left.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.names_unseen(text) {
            return Cow::Borrowed(text);
        }
        let paragraphs = text.split("\n\n").filter_map(|text| self.paragraph(text));
        Cow::Owned(paragraphs.collect::<Vec<_>>().join("\n\n"))
    }

    /// Does the same for a recovery, which is never left empty.
    pub(crate) fn advice<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let left = self.text(text);
        if left.is_empty() {
            return Cow::Borrowed(ADVICE);
        }
        left
    }

    /// Returns a schema whose descriptions and choices name only what the caller can see.
    pub(crate) fn schema<'v>(&self, schema: &'v JsonObject) -> Cow<'v, JsonObject> {
        if self.is_plain() {
            return Cow::Borrowed(schema);
        }
        let mut schema = schema.clone();
        self.reword(&mut schema);
        Cow::Owned(schema)
    }

    /// Returns a schema for checking arguments, without the choices that name a tool the caller cannot see.
    pub(crate) fn choices<'v>(&self, schema: &'v JsonObject) -> Cow<'v, JsonObject> {
        if schema.values().any(|value| self.has_unseen_choice(value)) {
            return self.schema(schema);
        }
        Cow::Borrowed(schema)
    }

    fn names_unseen(&self, text: &str) -> bool {
        let mut unseen = self.unseen.iter();
        unseen.any(|name| mentions(text, name).next().is_some())
    }

    /// Rewords a paragraph, which may be a list: an entry of a list starts with a dash or a number.
    fn paragraph(&self, text: &str) -> Option<String> {
        let mut blocks: Vec<String> = Vec::new();
        for line in text.split('\n') {
            match blocks.last_mut() {
                Some(block) if marker(line).is_empty() => {
                    block.push('\n');
                    block.push_str(line);
                }
                _ => blocks.push(line.to_owned()),
            }
        }
        let kept: Vec<String> = blocks
            .iter()
            .filter_map(|block| self.block(block))
            .collect();
        (!kept.is_empty()).then(|| kept.join("\n"))
    }

    fn block(&self, block: &str) -> Option<String> {
        let marker = marker(block);
        let mut kept = String::new();
        for (index, sentence) in sentences(&block[marker.len()..]).into_iter().enumerate() {
            let text = sentence.trim_end();
            match self.sentence(text) {
                Some(said) => {
                    kept.push_str(&said);
                    kept.push_str(&sentence[text.len()..]);
                }
                // The rest of a list entry is about its first sentence.
                None if index == 0 && !marker.is_empty() => return None,
                None => {}
            }
        }
        let kept = kept.trim_end();
        (!kept.is_empty()).then(|| format!("{marker}{kept}"))
    }

    fn sentence(&self, sentence: &str) -> Option<String> {
        if !self.names_unseen(sentence) {
            return Some(sentence.to_owned());
        }
        let end = sentence.len() - sentence.trim_end_matches(is_end).len();
        let (body, end) = sentence.split_at(sentence.len() - end);
        let clauses: Vec<&str> = body.split(';').collect();
        let said = clauses
            .iter()
            .map(|clause| self.clause(clause))
            .collect::<Vec<_>>();
        let begins_otherwise = said.first().is_some_and(Option::is_none);
        let said: Vec<String> = said.into_iter().flatten().collect();
        let joined = said.join(";");
        let joined = joined.trim();
        if joined.is_empty() {
            return None;
        }
        let joined = match begins_otherwise {
            true => self.beginning(joined),
            false => joined.to_owned(),
        };
        Some(joined + end)
    }

    /// Turns the middle of a sentence into the start of one.
    fn beginning(&self, text: &str) -> String {
        let text = ["or ", "and "]
            .iter()
            .find_map(|word| text.strip_prefix(word))
            .unwrap_or(text);
        let is_name = self
            .seen
            .iter()
            .any(|name| mentions(text, name).any(|(start, _)| start == 0));
        let mut rest = text.chars();
        match rest.next() {
            Some(first) if !is_name => first.to_uppercase().chain(rest).collect(),
            _ => text.to_owned(),
        }
    }

    fn clause(&self, clause: &str) -> Option<String> {
        if !self.names_unseen(clause) {
            return Some(clause.to_owned());
        }
        let clause = self.without_unseen_items(clause);
        let clause = self.without_tail(&clause);
        (!self.names_unseen(clause)).then(|| clause.to_owned())
    }

    /// Returns a clause whose lists leave out the names that the caller cannot see. A list that would be empty stays.
    fn without_unseen_items(&self, clause: &str) -> String {
        let mut said = String::new();
        let mut done = 0;
        for list in self.lists(clause) {
            let kept: Vec<&ListedName> = list.iter().filter(|item| item.is_seen).collect();
            let ([first, .., last], [kept_first, others @ ..]) = (&list[..], &kept[..]) else {
                continue;
            };
            if kept.len() == list.len() {
                continue;
            }
            said.push_str(&clause[done..first.start]);
            said.push_str(&clause[kept_first.start..kept_first.end]);
            for (index, item) in others.iter().enumerate() {
                let is_last = index + 1 == others.len();
                let before = if is_last { last } else { *item };
                said.push_str(&clause[before.separator..before.start]);
                said.push_str(&clause[item.start..item.end]);
            }
            done = last.end;
        }
        said.push_str(&clause[done..]);
        said
    }

    /// Returns the names in a clause that are items of a list, grouped by list.
    fn lists(&self, clause: &str) -> Vec<Vec<ListedName>> {
        let of = |names: &[&str], is_seen: bool| -> Vec<ListedName> {
            let found = names.iter().flat_map(|name| mentions(clause, name));
            let item = |(start, end): (usize, usize)| ListedName {
                separator: start,
                start,
                end: end + remark(&clause[end..]),
                is_seen,
            };
            found.map(item).collect()
        };
        let mut items = of(&self.seen, true);
        items.extend(of(&self.unseen, false));
        items.sort_by_key(|item| item.start);
        let mut lists: Vec<Vec<ListedName>> = Vec::new();
        for mut item in items {
            let before = lists.last().and_then(|list| list.last());
            match before.map(|before| before.end) {
                Some(end) if end <= item.start && separates(&clause[end..item.start]) => {
                    item.separator = end;
                    if let Some(list) = lists.last_mut() {
                        list.push(item);
                    }
                }
                _ => lists.push(vec![item]),
            }
        }
        lists
    }

    /// Returns a clause without an ending that only says where a value comes from or goes to.
    fn without_tail<'c>(&self, clause: &'c str) -> &'c str {
        let last = self.unseen.iter().flat_map(|name| mentions(clause, name));
        let tail = last
            .filter(|(_, end)| clause[*end..].trim_end_matches(is_end).is_empty())
            .map(|(start, _)| &clause[..start])
            .find_map(|before| {
                let before = ["from ", "for "]
                    .iter()
                    .find_map(|word| before.strip_suffix(word))?;
                Some(before.trim_end().trim_end_matches(','))
            });
        tail.filter(|before| !before.trim().is_empty())
            .unwrap_or(clause)
    }

    fn reword(&self, schema: &mut JsonObject) {
        if let Some(Value::String(text)) = schema.get("description") {
            let said = self.text(text).into_owned();
            match said.is_empty() {
                true => drop(schema.shift_remove("description")),
                false => drop(schema.insert("description".to_owned(), said.into())),
            }
        }
        for (keyword, rule) in schema.iter_mut() {
            match (keyword.as_str(), rule) {
                ("enum", Value::Array(values)) => values.retain(|value| !self.is_unseen(value)),
                ("oneOf" | "anyOf" | "allOf", Value::Array(forms)) => {
                    forms.retain(|form| !self.is_unseen_form(form));
                    forms.iter_mut().for_each(|form| self.reword_value(form));
                }
                ("properties" | "$defs", Value::Object(named)) => {
                    named.values_mut().for_each(|form| self.reword_value(form));
                }
                ("items" | "additionalProperties", form) => self.reword_value(form),
                _ => {}
            }
        }
        // JSON Schema does not allow an empty list of forms, but it allows an empty list of values.
        let is_empty = |forms: &Value| forms.as_array().is_some_and(Vec::is_empty);
        if schema.get("oneOf").is_some_and(is_empty) {
            schema.shift_remove("oneOf");
            schema.insert("enum".to_owned(), Value::Array(Vec::new()));
        }
    }

    fn reword_value(&self, schema: &mut Value) {
        if let Value::Object(schema) = schema {
            self.reword(schema);
        }
    }

    fn is_unseen(&self, value: &Value) -> bool {
        value
            .as_str()
            .is_some_and(|value| self.unseen.contains(&value))
    }

    /// Returns whether a form is that of a tool which the caller cannot see.
    fn is_unseen_form(&self, form: &Value) -> bool {
        let is_unseen = |form: &Value| form.get("const").is_some_and(|value| self.is_unseen(value));
        let properties = form.get("properties").and_then(Value::as_object);
        is_unseen(form) || properties.is_some_and(|all| all.values().any(is_unseen))
    }

    fn has_unseen_choice(&self, schema: &Value) -> bool {
        match schema {
            Value::Object(fields) => {
                let choices = fields.get("enum").and_then(Value::as_array);
                choices.is_some_and(|values| values.iter().any(|value| self.is_unseen(value)))
                    || self.is_unseen_form(schema)
                    || fields.values().any(|value| self.has_unseen_choice(value))
            }
            Value::Array(values) => values.iter().any(|value| self.has_unseen_choice(value)),
            _ => false,
        }
    }
}

/// A name in a list of names.
struct ListedName {
    /// Start of the separator between it and the item before it.
    separator: usize,
    start: usize,
    /// End of the name and of the remark in parentheses that follows it.
    end: usize,
    is_seen: bool,
}

/// Returns the ranges in `text` that name the tool `name`, backticks included.
fn mentions<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = (usize, usize)> + 't {
    let found = text.match_indices(name);
    found.filter_map(move |(start, _)| {
        let end = start + name.len();
        let (before, after) = (
            text[..start].chars().next_back(),
            text[end..].chars().next(),
        );
        if (before, after) == (Some('`'), Some('`')) {
            return Some((start - 1, end + 1));
        }
        let is_part = |c: Option<char>| c.is_some_and(|c| c == '_' || c.is_alphanumeric());
        let is_word = !is_part(before) && !is_part(after);
        let is_called = || text[..start].ends_with("all ");
        (is_word && (name.contains('_') || is_called())).then_some((start, end))
    })
}

/// Returns the length of a remark in parentheses at the start of `text`.
fn remark(text: &str) -> usize {
    let inside = text.strip_prefix(" (");
    let end = inside.and_then(|inside| inside.find(')'));
    end.map_or(0, |end| end + " (".len() + ")".len())
}

/// Returns whether this text separates two items of a list.
fn separates(between: &str) -> bool {
    let words: Vec<&str> = between.split_whitespace().collect();
    matches!(
        words[..],
        [","] | ["and" | "or"] | [",", "and" | "or" | "then"]
    ) && between.ends_with(char::is_whitespace)
}

/// Returns the marker that a list entry starts with; empty for any other line.
fn marker(line: &str) -> &str {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = match &line[digits..] {
        rest if digits == 0 && rest.starts_with("- ") => 2,
        rest if digits > 0 && rest.starts_with(". ") => digits + 2,
        _ => 0,
    };
    &line[..length]
}

/// Returns whether a sentence can end with this character.
fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ')')
}

/// Splits text into sentences, each with the blanks after it.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(['.', '!', '?']) {
        let after = text[at + 1..].trim_start_matches([')', '"', '`']);
        let blanks = after.len() - after.trim_start().len();
        let is_short_form = ["e.g", "i.e"].iter().any(|word| text[..at].ends_with(word));
        if blanks > 0 && !is_short_form {
            let end = text.len() - after.len() + blanks;
            found.push(&text[start..end]);
            start = end;
        }
    }
    found.push(&text[start..]);
    found
}

/// Returns all text of a world that a caller can read who may use all its tools except `hidden`. For the tests of
/// worlds: none of it names that tool.
#[must_use]
pub fn texts_without(card: &WorldCard, hidden: &str) -> Vec<String> {
    let names = card.tools.iter().map(|tool| tool.name.as_str());
    let naming = Naming::new(names.filter(|name| *name != hidden).collect(), vec![hidden]);
    let mut said = Vec::new();
    for tool in card.tools.iter().filter(|tool| tool.name != hidden) {
        said.push(naming.text(tool.description).into_owned());
        for schema in [&tool.input].into_iter().chain(&tool.output) {
            let schema = Value::Object(naming.schema(schema).into_owned());
            descriptions(&schema, &mut said);
        }
    }
    for error in (card.errors)().codes {
        said.push(naming.advice(error.meaning).into_owned());
        said.push(naming.advice(error.recovery).into_owned());
    }
    said.push(naming.text(card.instructions).into_owned());
    said
}

/// Returns whether `text` names the tool `name`. A name that is an ordinary word counts only where it is used as a
/// name.
#[must_use]
pub fn names_tool(text: &str, name: &str) -> bool {
    let is_word = !name.contains('_');
    mentions(text, name).next().is_some() || (!is_word && text.contains(name))
}

/// Collects the descriptions and choices of a schema.
fn descriptions(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for keyword in ["description", "const", "enum"] {
                found.extend(fields.get(keyword).map(Value::to_string));
            }
            fields.values().for_each(|value| descriptions(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| descriptions(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
