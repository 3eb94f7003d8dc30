//! Filters of notes. Letter case never matters; numbers and dates are compared by value.

use sectile_markdown::{Timestamp, name_key, trim};

use super::TaskFilter;
use crate::live_folder::NoteRecord;

/// A filter, and whether it excludes what it describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilterTerm {
    pub(super) filter: Filter,
    pub(super) excludes: bool,
}

/// A condition on a note. Texts are as [`name_key`] returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// It has this tag or one below it; without a name, any tag.
    Tag(Option<String>),
    /// Its path starts like this.
    Path(String),
    /// It has this field, with this value if one is given.
    Field {
        name: String,
        value: Option<FieldValue>,
    },
    /// It is from before this time.
    Before(i64),
    /// It is from this time or later.
    After(i64),
    /// Its file was changed at this time or later.
    Modified(i64),
    /// It has such a task.
    Task(TaskFilter),
}

/// A value as written and as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldValue {
    written: String,
    key: String,
}

/// A filter that a table of notes can answer, by the text that stands for it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::live_folder) enum Facet {
    Tag(String),
    /// A folder that contains the note.
    Folder(String),
    Field(String),
    Value(String),
    Task(&'static str),
}

impl Facet {
    /// The facet of notes with open tasks, or with tasks that are done.
    pub(in crate::live_folder) fn task(is_done: bool) -> Self {
        Self::Task(if is_done { "done" } else { "open" })
    }

    /// The facet of notes in which a field has a value, given as [`value_key`] returns it.
    pub(in crate::live_folder) fn value(name: &str, value: &str) -> Self {
        Self::Value(format!("{name}\0{value}"))
    }
}

impl FilterTerm {
    pub(super) fn matches(&self, note: &NoteRecord) -> bool {
        self.filter.matches(note) != self.excludes
    }
}

impl Filter {
    fn matches(&self, note: &NoteRecord) -> bool {
        let properties = &note.properties;
        match self {
            Self::Tag(None) => !properties.tags.is_empty(),
            Self::Tag(Some(tag)) => properties
                .tags
                .iter()
                .any(|other| is_below(other, tag, b"/")),
            Self::Path(path) => starts_like(note.path.as_str(), path),
            Self::Field { name, value } => properties.fields.iter().any(|field| {
                let has = |value: &FieldValue| field.values.iter().any(|one| value.is(one));
                match value {
                    None => is_below(&field.name, name, b"."),
                    Some(value) => is_same(&field.name, name) && has(value),
                }
            }),
            Self::Before(time) => note.time() < *time,
            Self::After(time) => note.time() >= *time,
            Self::Modified(time) => note.stamp.modified >= *time,
            Self::Task(tasks) => tasks.is_in(note),
        }
    }

    /// Returns the facet that every matching note has.
    pub(super) fn facet(&self) -> Option<Facet> {
        match self {
            Self::Tag(Some(tag)) => Some(Facet::Tag(tag.clone())),
            Self::Path(path) => {
                let (folder, _) = path.rsplit_once('/')?;
                Some(Facet::Folder(folder.to_owned()))
            }
            Self::Field { name, value: None } => Some(Facet::Field(name.clone())),
            Self::Field {
                name,
                value: Some(value),
            } => Some(Facet::value(name, &value.key)),
            Self::Task(TaskFilter::Open) => Some(Facet::task(false)),
            Self::Task(TaskFilter::Done) => Some(Facet::task(true)),
            Self::Tag(None)
            | Self::Task(TaskFilter::Any)
            | Self::Before(_)
            | Self::After(_)
            | Self::Modified(_) => None,
        }
    }

    /// Returns whether the notes that match are exactly those with the facet.
    pub(super) fn is_exact_facet(&self) -> bool {
        match self {
            Self::Path(path) => path.ends_with('/'),
            _ => self.facet().is_some(),
        }
    }
}

impl FieldValue {
    pub(super) fn new(written: &str) -> Self {
        Self {
            written: written.to_owned(),
            key: value_key(written),
        }
    }

    fn is(&self, other: &str) -> bool {
        other.eq_ignore_ascii_case(&self.written) || value_key(other) == self.key
    }
}

/// Returns a key that is equal for values that filters take for the same: equal texts, numbers or dates.
pub(in crate::live_folder) fn value_key(value: &str) -> String {
    let value = trim(value);
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    // A float holds fifteen digits exactly; a longer number is a name.
    let is_exact = value.bytes().filter(u8::is_ascii_digit).count() <= 15;
    let number: Option<f64> = value.parse().ok().filter(|_| is_number && is_exact);
    if let Some(number) = number.filter(|number| number.is_finite()) {
        // Both zeros are one number.
        return format!("{:?}", number + 0.0);
    }
    match Timestamp::new(value) {
        Some(time) => time.to_iso(),
        None => name_key(value),
    }
}

/// Returns whether `text` is `wanted`, which is in one case.
fn is_same(text: &str, wanted: &str) -> bool {
    text.eq_ignore_ascii_case(wanted) || (!text.is_ascii() && name_key(text) == wanted)
}

/// Returns whether `text` starts with `wanted`, which is in one case.
fn starts_like(text: &str, wanted: &str) -> bool {
    match text.get(..wanted.len()) {
        Some(start) if start.eq_ignore_ascii_case(wanted) => true,
        _ => !text.is_ascii() && name_key(text).starts_with(wanted),
    }
}

/// Returns whether `text` is `wanted`, which is in one case, or something below it.
fn is_below(text: &str, wanted: &str, separator: &[u8]) -> bool {
    let is_split = |text: &str| {
        text.len() == wanted.len() || text.as_bytes()[wanted.len()..].starts_with(separator)
    };
    match text.get(..wanted.len()) {
        Some(start) if start.eq_ignore_ascii_case(wanted) => is_split(text),
        _ if text.is_ascii() => false,
        _ => {
            let folded = name_key(text);
            folded.starts_with(wanted) && is_split(&folded)
        }
    }
}
