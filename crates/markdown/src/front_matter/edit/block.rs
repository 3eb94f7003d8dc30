//! Finds the bytes of a block that an edit replaces. Offsets count from the start of the YAML.

use super::{
    FrontMatterError, NewValue,
    emit::{self, DateStyle, reads_as},
    entry_line,
    yaml::{self, Entry, Layout, Shape, properties, skip_to_content},
};
use crate::{
    Change, FrontMatter, Span, Value,
    lines::{dominant_line_end, line_at, line_start},
};

/// The text between the delimiter lines.
pub(super) struct YamlBlock<'a> {
    yaml: &'a str,
    line_end: &'static str,
}

/// An entry, and the offset by which it must end.
struct LocatedEntry {
    entry: Entry,
    limit: usize,
}

impl<'a> YamlBlock<'a> {
    /// Takes the block `found` in `text`.
    pub(super) fn new(text: &'a str, found: FrontMatter) -> Self {
        Self {
            yaml: &text[found.yaml.range()],
            line_end: dominant_line_end(found.block.slice(text.as_bytes())),
        }
    }

    /// Replaces `old`, the value of `key`.
    pub(super) fn set(
        &self,
        key: &str,
        old: Option<&Value>,
        new: NewValue<'_>,
    ) -> Result<Vec<Change>, FrontMatterError> {
        let (entries, end) = match yaml::layout(self.yaml) {
            Some(Layout::Empty) => (Vec::new(), self.yaml.len()),
            Some(Layout::BlockMapping { entries, end }) => (entries, end),
            other => return Err(refusal(other.as_ref())),
        };
        match old {
            None => Ok(vec![self.append(entries.first(), key, new)]),
            Some(old) => self.replace(&self.find(entries, end, key)?, old, new),
        }
    }

    /// Removes the lines of `key`, which must exist.
    pub(super) fn remove(&self, key: &str) -> Result<Change, FrontMatterError> {
        let (entries, end) = match yaml::layout(self.yaml) {
            Some(Layout::BlockMapping { entries, end }) => (entries, end),
            other => return Err(refusal(other.as_ref())),
        };
        let found = self.find(entries, end, key)?;
        let start = line_start(self.yaml.as_bytes(), found.entry.key_start);
        if !is_blank(&self.yaml[start..found.entry.key_start]) {
            return Err(FrontMatterError::Unsafe);
        }
        Ok(Change::new(Span::new(start, self.lines_end(&found)?), ""))
    }

    fn find(
        &self,
        entries: Vec<Entry>,
        end: usize,
        key: &str,
    ) -> Result<LocatedEntry, FrontMatterError> {
        let mut entries = entries.into_iter();
        // The key exists, so without an entry it comes from a merge or an alias.
        let entry = entries
            .find(|entry| entry.key.as_deref() == Some(key))
            .filter(|entry| !entry.is_used_elsewhere)
            .ok_or(FrontMatterError::UsesAnchors)?;
        let limit = entries
            .next()
            .map_or(end, |next| line_start(self.yaml.as_bytes(), next.key_start));
        Ok(LocatedEntry { entry, limit })
    }

    fn append(&self, first: Option<&Entry>, key: &str, new: NewValue<'_>) -> Change {
        let indent = first.map_or("", |first| {
            let start = line_start(self.yaml.as_bytes(), first.key_start);
            Some(&self.yaml[start..first.key_start])
                .filter(|before| is_blank(before))
                .unwrap_or("")
        });
        let end = self.yaml.len();
        let line = format!("{indent}{}{}", entry_line(key, new), self.line_end);
        Change::new(Span::new(end, end), line)
    }

    fn replace(
        &self,
        found: &LocatedEntry,
        old: &Value,
        new: NewValue<'_>,
    ) -> Result<Vec<Change>, FrontMatterError> {
        let after_colon = self.after_colon(&found.entry)?;
        let start = skip_to_content(self.yaml, after_colon);
        match found.entry.shape {
            Shape::Nothing => Ok(vec![self.insert_value(after_colon, new)]),
            Shape::Inline => Ok(vec![Change::new(
                Span::new(start, found.entry.value_end),
                new.text(),
            )]),
            Shape::BlockScalar => {
                let header_end = self.header_end(start);
                let lines = Span::new(self.line_end_after(header_end), self.lines_end(found)?);
                Ok(vec![
                    Change::new(Span::new(start, header_end), new.text()),
                    Change::new(lines, ""),
                ])
            }
            Shape::BlockList | Shape::BlockMap => match (old, new.value) {
                (Value::List(old), Value::List(items))
                    if !items.is_empty() && old.iter().chain(items).all(is_scalar) =>
                {
                    self.replace_items(found, old, items)
                }
                _ => self.replace_collection(found, new),
            },
        }
    }

    /// Inserts a value on the line of a key that has none.
    fn insert_value(&self, after_colon: usize, new: NewValue<'_>) -> Change {
        let line = line_at(self.yaml.as_bytes(), after_colon);
        let rest = &self.yaml[after_colon..line.content_end];
        let (at, space) = if !rest.is_empty() && is_blank(rest) {
            (line.content_end, "")
        } else {
            (after_colon, " ")
        };
        Change::new(Span::new(at, at), format!("{space}{}", new.text()))
    }

    /// Replaces a list or mapping on lines of its own with a value on the key's line.
    fn replace_collection(
        &self,
        found: &LocatedEntry,
        new: NewValue<'_>,
    ) -> Result<Vec<Change>, FrontMatterError> {
        let after_colon = self.after_colon(&found.entry)?;
        let start = skip_to_content(self.yaml, after_colon);
        let (properties_end, content) = properties(self.yaml, start);
        let value = match properties_end {
            Some(end) => Change::new(Span::new(start, end), new.text()),
            None => self.insert_value(after_colon, new),
        };
        let lines = Span::new(
            line_start(self.yaml.as_bytes(), content),
            self.lines_end(found)?,
        );
        Ok(vec![value, Change::new(lines, "")])
    }

    /// Replaces the items of a block list. Unchanged items at its start and end keep their bytes.
    fn replace_items(
        &self,
        found: &LocatedEntry,
        old: &[Value],
        items: &[Value],
    ) -> Result<Vec<Change>, FrontMatterError> {
        let same = |(old, item): &(&Value, &Value)| reads_as(item, old, DateStyle::AsDates);
        let list = self.list_lines(found)?;
        let (mut before, mut after) = (0, 0);
        if list.starts.len() == old.len() && found.entry.item_ends.len() == old.len() {
            before = old.iter().zip(items).take_while(same).count();
            let ends = old[before..].iter().rev().zip(items[before..].iter().rev());
            after = ends.take_while(same).count();
        }
        let item_end = |index: usize| {
            self.line_end_after(found.entry.item_ends[index].max(list.starts[index]))
        };
        let replaced = match (before, old.len() - after) {
            (0, end) if end == old.len() => list.lines,
            (start, end) if start < end => Span::new(list.starts[start], item_end(end - 1)),
            (0, _) => Span::new(list.lines.start, list.lines.start),
            (start, _) => Span::new(item_end(start - 1), item_end(start - 1)),
        };
        let lines: String = items[before..items.len() - after]
            .iter()
            .map(|item| {
                let text = emit::value(item);
                format!("{}{text}{}", list.prefix, self.line_end)
            })
            .collect();
        Ok(vec![Change::new(replaced, lines)])
    }

    fn list_lines(&self, found: &LocatedEntry) -> Result<ListLines, FrontMatterError> {
        let bytes = self.yaml.as_bytes();
        let start = skip_to_content(self.yaml, self.after_colon(&found.entry)?);
        let (_, dash) = properties(self.yaml, start);
        let lines = Span::new(line_start(bytes, dash), self.lines_end(found)?);
        let indent = &self.yaml[lines.start..dash.min(self.yaml.len())];
        if !is_blank(indent) || bytes.get(dash) != Some(&b'-') {
            return Err(FrontMatterError::Unsafe);
        }
        let mut starts = Vec::new();
        let mut at = lines.start;
        while at < lines.end {
            let line = line_at(bytes, at);
            let behind = self.yaml[at..line.content_end]
                .strip_prefix(indent)
                .and_then(|rest| rest.strip_prefix('-'));
            if behind.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) {
                starts.push(at);
            }
            at = line.end;
        }
        let first = line_at(bytes, dash);
        let item = self.yaml[dash + 1..first.content_end].trim_start_matches([' ', '\t']);
        let prefix = if item.is_empty() || item.starts_with('#') {
            format!("{indent}- ")
        } else {
            self.yaml[lines.start..first.content_end - item.len()].to_owned()
        };
        Ok(ListLines {
            lines,
            starts,
            prefix,
        })
    }

    /// Returns the offset after the colon of an entry, which must be on the line of the key.
    fn after_colon(&self, entry: &Entry) -> Result<usize, FrontMatterError> {
        let behind = &self.yaml[entry.key_end..];
        let colon = behind.trim_start_matches([' ', '\t']);
        if colon.starts_with(':') {
            Ok(self.yaml.len() - colon.len() + 1)
        } else {
            Err(FrontMatterError::Unsafe)
        }
    }

    /// Returns the end of the `|` or `>` of a block scalar, including its indicators.
    fn header_end(&self, start: usize) -> usize {
        let (_, header) = properties(self.yaml, start);
        self.yaml[header..]
            .find([' ', '\t', '\n', '\r'])
            .map_or(self.yaml.len(), |length| header + length)
    }

    /// Returns the end of the last line of an entry. Comments and blank lines after its value are not part of it.
    fn lines_end(&self, found: &LocatedEntry) -> Result<usize, FrontMatterError> {
        let after_colon = self.after_colon(&found.entry)?;
        let certain = match found.entry.shape {
            Shape::BlockScalar => self.header_end(skip_to_content(self.yaml, after_colon)),
            _ => after_colon,
        };
        let certain = self.line_end_after(certain.max(found.entry.value_end));
        match found.entry.shape {
            Shape::BlockList | Shape::BlockMap => Ok(self.last_content_end(certain, found.limit)),
            _ => Ok(certain),
        }
    }

    /// Returns the end of the last line from `start` to `limit` that is neither blank nor a comment, or `start`.
    fn last_content_end(&self, start: usize, limit: usize) -> usize {
        let bytes = self.yaml.as_bytes();
        let mut end = start;
        let mut at = start;
        while at < limit {
            let line = line_at(bytes, at);
            let content = self.yaml[at..line.content_end].trim_start_matches([' ', '\t']);
            if !content.is_empty() && !content.starts_with('#') {
                end = line.end;
            }
            at = line.end;
        }
        end
    }

    fn line_end_after(&self, offset: usize) -> usize {
        line_at(self.yaml.as_bytes(), offset).end
    }
}

/// The lines of a block list.
struct ListLines {
    lines: Span,
    /// Start of the line of each dash.
    starts: Vec<usize>,
    /// The indentation and dash before an item.
    prefix: String,
}

fn refusal(layout: Option<&Layout>) -> FrontMatterError {
    match layout {
        Some(Layout::FlowMapping) => FrontMatterError::FlowRoot,
        Some(_) => FrontMatterError::NotAMapping,
        None => FrontMatterError::Broken,
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Map(_))
}

fn is_blank(text: &str) -> bool {
    text.trim_matches([' ', '\t']).is_empty()
}
