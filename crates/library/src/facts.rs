//! What a notebook says of itself: title, author, date.

use sectile_markdown::{Mapping, Note, NotePath, Source, Timestamp, Value, trim};

/// Characters kept of an author.
pub const MAX_AUTHOR: usize = 256;
/// Front matter keys for when a notebook was written, in the order they are asked.
const DATES: [&str; 2] = ["date", "created"];

/// What a notebook says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// From the front matter, else made of the file name.
    pub title: String,
    /// From the front matter; several are joined by a comma.
    pub author: Option<String>,
    /// `date`, else `created`, of the front matter, in milliseconds since 1970. Never the time of the file.
    pub date: Option<i64>,
}

/// The facts of the notebook at `path` with these bytes.
pub(crate) fn notebook_facts(bytes: &[u8], path: &NotePath) -> Facts {
    let note = Note::new(path.as_str(), bytes);
    let title = note.title();
    Facts {
        title: title.map_or_else(|| path.file_name().to_owned(), |title| title.text),
        author: author(note.front_matter()),
        date: DATES
            .iter()
            .find_map(|key| moment(note.front_matter().get(key)?)),
    }
}

/// Where the text of a notebook begins, behind its front matter. What is before is told as title, author and date, and never
/// quoted.
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

/// The moment that a value of the front matter names, in milliseconds since 1970.
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

/// The moment that a passage speaks of: a date in the headings above it, the nearest first, else the notebook's.
pub(crate) fn timestamp(heading_path: &[String], facts: &Facts) -> Option<i64> {
    let headings = heading_path.iter().rev();
    headings
        .filter_map(|heading| date_in(heading))
        .next()
        .or(facts.date)
}

/// The first date in a heading, such as 2024-05-06, in milliseconds since 1970.
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
