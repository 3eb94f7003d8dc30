//! The metadata of a notebook: title, author, date.

use sectile_markdown::{Mapping, Note, NotePath, Source, Timestamp, Value, trim};

/// The most characters kept of an author.
pub const MAX_AUTHOR: usize = 256;
/// The front matter keys for the date of a notebook, in order of precedence.
const DATES: [&str; 2] = ["date", "created"];

/// The metadata of a notebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotebookFacts {
    /// The title from the front matter, or else derived from the file name.
    pub title: String,
    /// The author from the front matter; several are joined by commas.
    pub author: Option<String>,
    /// `date`, or else `created`, from the front matter, in milliseconds since 1970. The file's own times are never
    /// used.
    pub date: Option<i64>,
}

/// Returns the metadata of the notebook at `path` with these bytes.
pub(crate) fn notebook_facts(bytes: &[u8], path: &NotePath) -> NotebookFacts {
    let note = Note::new(path.as_str(), bytes);
    let title = note.title();
    NotebookFacts {
        title: title.map_or_else(|| path.file_name().to_owned(), |title| title.text),
        author: author(note.front_matter()),
        date: DATES
            .iter()
            .find_map(|key| moment(note.front_matter().get(key)?)),
    }
}

/// Returns the offset of a notebook's text, after its front matter. The front matter is only shown as title, author and
/// date, never quoted.
pub(crate) fn body_start(bytes: &[u8]) -> usize {
    let front_matter = Source::new(bytes).front_matter();
    front_matter.map_or(0, |front_matter| front_matter.block.end)
}

fn author(front_matter: &Mapping) -> Option<String> {
    let value = front_matter
        .get("author")
        .or_else(|| front_matter.get("authors"))?;
    let names = match value {
        Value::List(items) => items.iter().filter_map(name).collect::<Vec<_>>().join(", "),
        value => name(value)?.to_owned(),
    };
    let names: String = names.chars().take(MAX_AUTHOR).collect();
    (!names.is_empty()).then_some(names)
}

fn name(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(trim(text)).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Parses the date or time in a front matter value, in milliseconds since 1970.
fn moment(value: &Value) -> Option<i64> {
    let written;
    let timestamp = match value {
        Value::Timestamp(timestamp) => timestamp,
        Value::String(text) => {
            written = Timestamp::new(trim(text))?;
            &written
        }
        _ => return None,
    };
    let instant: jiff::Timestamp = timestamp.to_iso().parse().ok()?;
    Some(instant.as_millisecond())
}

/// Returns the time that a passage is about: a date in the headings above it, the nearest first, or else the
/// notebook's.
pub(crate) fn timestamp(heading_path: &[String], facts: &NotebookFacts) -> Option<i64> {
    let headings = heading_path.iter().rev();
    headings
        .filter_map(|heading| date_in(heading))
        .next()
        .or(facts.date)
}

/// Returns the first date in a heading, such as 2024-05-06, in milliseconds since 1970.
fn date_in(heading: &str) -> Option<i64> {
    const LENGTH: usize = "2024-05-06".len();
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = heading.as_bytes();
    (0..bytes.len().saturating_sub(LENGTH - 1)).find_map(|at| {
        let stands_alone = !is_word(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && !is_word(bytes.get(at + LENGTH));
        let written = heading.get(at..at + LENGTH).filter(|_| stands_alone)?;
        let date: jiff::civil::Date = written.parse().ok()?;
        let start = date.at(0, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(start.timestamp().as_millisecond())
    })
}

#[cfg(test)]
mod tests {
    use crate::facts::*;

    fn facts(text: &str) -> (String, Option<String>, Option<i64>) {
        let path = NotePath::parse_vault("a/my-notes.md").unwrap();
        let facts = notebook_facts(text.as_bytes(), &path);
        (facts.title, facts.author, facts.date)
    }

    #[test]
    fn front_matter_speaks_and_the_file_name_gives_the_title() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(facts("# Heading\n"), ("my notes".to_owned(), None, None));
        assert_eq!(
            facts("---\ntitle: T\nauthor: ' Ada '\ndate: 2024-05-06\n---\n"),
            ("T".to_owned(), some("Ada"), Some(1_714_953_600_000))
        );
        assert_eq!(
            facts("---\nauthors: [Ada, 3, Bo]\ndate: soon\ncreated: '1970-01-01T00:00:01Z'\n---\n"),
            ("my notes".to_owned(), some("Ada, Bo"), Some(1000))
        );
        assert_eq!(
            facts("---\nauthor: {a: b}\ndate: 2024\n---\n"),
            ("my notes".to_owned(), None, None)
        );
        assert_eq!(
            facts("---\ntitle: [broken\n"),
            ("my notes".to_owned(), None, None)
        );
    }

    #[test]
    fn dates_in_headings() {
        assert_eq!(date_in("2024-05-06"), Some(1_714_953_600_000));
        assert_eq!(
            date_in("Meeting, 2024-05-06: notes"),
            Some(1_714_953_600_000)
        );
        assert_eq!(date_in("12024-05-06"), None);
        assert_eq!(date_in("2024-13-06"), None);
        assert_eq!(date_in("é2024-5-6 漢"), None);
    }
}
