//! Reads the text of a query.

use sectile_markdown::name_key;
use sectile_retrieval::MAX_QUERY_BYTES;

use super::{
    Filter, FilterTerm, FolderQuery, HitOrder, QueryWords, TaskFilter, dates::time,
    filter::FieldValue,
};
use crate::query::SearchQuery;

/// An invalid filter. The message names it and says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryMistake {
    /// The filter as written, or the start of a long one.
    pub filter: String,
    /// The sentences to show.
    pub message: String,
}

/// Characters shown of a filter.
const MOST_SHOWN: usize = 60;

/// A part of a query between white space.
struct Token<'t> {
    /// Whether a `-` precedes it.
    excludes: bool,
    /// The part before the first colon, if it has one.
    name: Option<&'t str>,
    /// The part after it, or all.
    value: &'t str,
    /// Whether the value is in quotation marks.
    is_quoted: bool,
    written: &'t str,
}

impl FolderQuery {
    /// Parses a query. `now` is the time in milliseconds since 1970. `is_field` says whether any note has a field of this
    /// name: otherwise what looks like a filter by it is searched as words.
    ///
    /// # Errors
    /// [`QueryMistake`] when a filter has no value, or one that means nothing.
    pub fn parse(
        text: &str,
        now: i64,
        is_field: &dyn Fn(&str) -> bool,
    ) -> Result<Self, QueryMistake> {
        let mut query = Self::empty();
        let mut words: Vec<&str> = Vec::new();
        let mut rest = text;
        while let Some((token, behind)) = next_token(rest) {
            rest = behind;
            if query.take_filter(&token, now, is_field)? {
                continue;
            }
            if token.name.is_none() && token.is_quoted && token.excludes {
                // Only filters exclude. Like any other word after a hyphen, these are searched for, but not required.
                words.push(token.value);
            } else if token.name.is_none() && token.is_quoted {
                let phrase: Vec<&str> = token.value.split_whitespace().collect();
                if !phrase.is_empty() {
                    query.phrases.push(phrase.join(" "));
                    words.push(token.value);
                }
            } else {
                words.push(token.written);
            }
        }
        query.text = words.join(" ");
        (query.words, query.long_words) = searchable(&query.text);
        Ok(query)
    }

    /// Returns the filters of a query as they are written, in order; `sort:` is one of them. The arguments are those of
    /// [`Self::parse`].
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn filters_in(
        text: &str,
        now: i64,
        is_field: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, QueryMistake> {
        let mut query = Self::empty();
        let mut filters = Vec::new();
        let mut rest = text;
        while let Some((token, behind)) = next_token(rest) {
            rest = behind;
            if query.take_filter(&token, now, is_field)? {
                filters.push(token.written.to_owned());
            }
        }
        Ok(filters)
    }

    fn empty() -> Self {
        Self {
            text: String::new(),
            words: QueryWords::None,
            long_words: Vec::new(),
            phrases: Vec::new(),
            terms: Vec::new(),
            tasks: None,
            order: HitOrder::Relevance,
        }
    }

    /// Takes the filter that `token` is, and returns whether it is one.
    fn take_filter(
        &mut self,
        token: &Token<'_>,
        now: i64,
        is_field: &dyn Fn(&str) -> bool,
    ) -> Result<bool, QueryMistake> {
        let Some(name) = token.name else {
            return Ok(false);
        };
        let key = name_key(name);
        let time = || time(token.value, now);
        let filter = match key.as_str() {
            "tag" => {
                let tag = token.given("tag:project")?.trim_start_matches('#');
                let tag = name_key(tag.trim_end_matches('/'));
                if tag.is_empty() {
                    return Err(token.mistake("has no value", "tag:project"));
                }
                Filter::Tag((tag != "*").then_some(tag))
            }
            "path" => {
                let path = token.given("path:projects/")?.replace('\\', "/");
                let path = path.trim_start_matches("./").trim_start_matches('/');
                Filter::Path(name_key(if path == "*" { "" } else { path }))
            }
            "before" | "after" | "modified" => {
                let example = match key.as_str() {
                    "modified" => "modified:7d or modified:2026-01-31",
                    "before" => "before:2026-01-31",
                    _ => "after:2026-01-31",
                };
                token.given(example)?;
                let time = time().ok_or_else(|| token.mistake("is not a date", example))?;
                match key.as_str() {
                    "before" => Filter::Before(time),
                    "after" => Filter::After(time),
                    _ => Filter::Modified(time),
                }
            }
            "is" => {
                const EXAMPLE: &str = "is:task for open tasks or is:done for finished ones";
                let tasks = match name_key(token.given(EXAMPLE)?).as_str() {
                    "task" => TaskFilter::Open,
                    "done" => TaskFilter::Done,
                    _ => return Err(token.mistake("is not a known kind", EXAMPLE)),
                };
                if !token.excludes {
                    let both = self.tasks.is_some_and(|known| known != tasks);
                    self.tasks = Some(if both { TaskFilter::Any } else { tasks });
                    return Ok(true);
                }
                Filter::Task(tasks)
            }
            "sort" => {
                const EXAMPLE: &str = "sort:modified or sort:path";
                let order = match name_key(token.given(EXAMPLE)?).as_str() {
                    "modified" => HitOrder::Modified,
                    "path" => HitOrder::Path,
                    _ => return Err(token.mistake("is not a known order", EXAMPLE)),
                };
                if token.excludes {
                    return Err(token.mistake("cannot be excluded", EXAMPLE));
                }
                self.order = order;
                return Ok(true);
            }
            _ if is_field(name) => {
                let example = format!("{name}:value, or {name}:* for any value");
                let value = token.given(&example)?;
                let is_any = value == "*" && !token.is_quoted;
                Filter::Field {
                    name: key,
                    value: (!is_any).then(|| FieldValue::new(value)),
                }
            }
            _ => return Ok(false),
        };
        self.terms.push(FilterTerm {
            filter,
            excludes: token.excludes,
        });
        Ok(true)
    }
}

impl<'t> Token<'t> {
    /// Returns the value, or the mistake that there is none.
    fn given(&self, example: &str) -> Result<&'t str, QueryMistake> {
        match self.value.trim() {
            "" => Err(self.mistake("has no value", example)),
            _ => Ok(self.value),
        }
    }

    fn mistake(&self, what: &str, example: &str) -> QueryMistake {
        let filter: String = self.written.chars().take(MOST_SHOWN).collect();
        QueryMistake {
            message: format!(
                "The filter `{filter}` {what}. Write {example}, without a space after the colon."
            ),
            filter,
        }
    }
}

/// Returns the words of `text` that can be searched for, and those that are too long, or the start of each.
fn searchable(text: &str) -> (QueryWords, Vec<String>) {
    if let Ok(query) = SearchQuery::parse(text) {
        let is_empty = text.trim().is_empty();
        let words = match is_empty {
            true => QueryWords::None,
            false => QueryWords::Few(query),
        };
        return (words, Vec::new());
    }
    let words = text.split_whitespace();
    let (words, long): (Vec<&str>, Vec<&str>) =
        words.partition(|word| word.len() <= MAX_QUERY_BYTES);
    let shown = long.iter();
    let shown = shown.map(|word| word.chars().take(MOST_SHOWN).collect());
    let text = words.join(" ");
    let words = match SearchQuery::parse(text.as_str()) {
        Ok(_) if words.is_empty() => QueryWords::None,
        Ok(query) => QueryWords::Few(query),
        Err(_) => QueryWords::Many(text),
    };
    (words, shown.collect())
}

/// Returns the first token of `text`, and the text after it.
fn next_token(text: &str) -> Option<(Token<'_>, &str)> {
    let text = text.trim_start();
    if text.is_empty() {
        return None;
    }
    let (excludes, body) = match text.strip_prefix('-') {
        Some(body) if body.starts_with(|c: char| !c.is_whitespace()) => (true, body),
        _ => (false, text),
    };
    let until_space = body.find(char::is_whitespace).unwrap_or(body.len());
    let (name, after_name) = match quoted(body) {
        // A field whose name has spaces: `"due date":2026-01-31`.
        Some((name, behind)) => match behind.strip_prefix(':') {
            Some(value) => (Some(name), value),
            None => (None, body),
        },
        None => match body[..until_space].split_once(':') {
            Some((name, _)) if !name.is_empty() => (Some(name), &body[name.len() + 1..]),
            _ => (None, body),
        },
    };
    let (value, is_quoted, behind) = match quoted(after_name) {
        Some((value, behind)) => (value, true, behind),
        None => {
            let end = after_name.find(char::is_whitespace);
            let (value, behind) = after_name.split_at(end.unwrap_or(after_name.len()));
            (value, false, behind)
        }
    };
    let written = &text[..text.len() - behind.len()];
    let token = Token {
        excludes,
        name,
        value,
        is_quoted,
        written,
    };
    Some((token, behind))
}

/// Returns the text in quotation marks at the start of `text`, and the text after them. A mark without a counterpart is
/// an ordinary character.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let marks = [('"', '"'), ('\u{201c}', '\u{201d}')];
    marks
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.split_once(*close))
}
