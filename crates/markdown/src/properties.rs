//! The properties of a note: the fields of its front matter, its tags, aliases and tasks.
//!
//! The text is read once, together with its links, because both follow the same rules: what is code, HTML, a comment or
//! a destination contains neither links nor tags. Every number and length is bounded, whatever the note contains.

mod fields;
mod marks;

pub(crate) use self::marks::{MarkReader, Marks};

use std::collections::HashSet;

use crate::{Mapping, Source, Span, Value, links};

/// The most fields of a note. Later ones are left out.
pub const MAX_FIELDS: usize = 256;
/// The most values of one field. Later ones are left out.
pub const MAX_FIELD_VALUES: usize = 256;
/// The most characters of a value, which is cut there. Long enough for a sentence; nobody filters by a paragraph.
pub const MAX_VALUE_CHARS: usize = 512;
/// The most characters of the name of a field or of a tag. A longer one is left out, because a part of it would name
/// something else.
pub const MAX_NAME_CHARS: usize = 128;
/// The most tags of a note. Later ones are left out.
pub const MAX_TAGS: usize = 256;
/// The most aliases of a note.
pub const MAX_ALIASES: usize = 256;
/// The most tasks of a note. Later ones are left out.
pub const MAX_TASKS: usize = 10_000;

/// The properties of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// The fields of the front matter, in the order in which they are written. Empty if the front matter is not a
    /// mapping, is not YAML or is longer than a mebibyte.
    pub fields: Vec<Field>,
    /// The tags without `#`: those of the front matter, then those of the text. Each is listed once, whatever its
    /// letter case, as it is spelled first.
    pub tags: Vec<String>,
    /// The other names of the note, as [`aliases`](crate::aliases) returns them.
    pub aliases: Vec<String>,
    /// The list items with a box, in document order.
    pub tasks: Vec<Task>,
}

/// A field of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key. A key inside another is written with a dot between them: `outer.inner`.
    pub name: String,
    /// The values: one of a scalar, several of a list, none of a key without a value. Numbers and dates are spelled as
    /// they are written.
    pub values: Vec<String>,
}

/// A list item with a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The first line of the item, from its marker to the end of the line, in bytes of the source.
    pub span: Span,
    /// Whether the box is ticked (`[x]`, `[X]`) or crossed out (`[-]`).
    pub is_done: bool,
}

/// Returns the properties of a note.
///
/// A tag is `#` followed by letters, digits, `_`, `-` and `/`, and not by digits alone. It is at the start of a line, or
/// behind white space or an opening quotation mark or parenthesis. A task is a list item that starts with a box: `[ ]`,
/// `[x]`, `[X]`, or another sign as in `[-]` and `[/]`. Neither is found in code, HTML, comments and links.
#[must_use]
pub fn properties(source: &Source<'_>) -> Properties {
    Properties::new(source, links::marks(source))
}

impl Properties {
    /// Returns the properties that the front matter gives, without those in the text.
    #[must_use]
    pub fn of_front_matter(source: &Source<'_>) -> Self {
        Self::new(source, Marks::default())
    }

    /// Combines the properties of the front matter with those of the text.
    pub(crate) fn new(source: &Source<'_>, marks: Marks) -> Self {
        let front_matter = front_matter(source);
        let in_text = marks.tags.iter().map(|span| &source.text[span.range()]);
        let mut tasks = marks.tasks;
        for task in &mut tasks {
            task.span = source.offsets.span_to_raw(task.span);
        }
        Self {
            fields: fields::fields(&front_matter),
            tags: unique_tags(
                fields::tags(&front_matter)
                    .iter()
                    .map(String::as_str)
                    .chain(in_text),
            ),
            aliases: links::aliases_of(&front_matter),
            tasks,
        }
    }
}

/// Returns the front matter; empty if there is none, or none that can be read.
fn front_matter(source: &Source<'_>) -> Mapping {
    match source.front_matter_as_written() {
        Some(Value::Map(mapping)) => mapping,
        _ => Mapping::default(),
    }
}

/// Returns the first spelling of each tag.
fn unique_tags<'t>(tags: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut seen = HashSet::new();
    tags.filter(|tag| tag.chars().nth(MAX_NAME_CHARS).is_none())
        .filter(|tag| seen.insert(tag.to_lowercase()))
        .take(MAX_TAGS)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests;
