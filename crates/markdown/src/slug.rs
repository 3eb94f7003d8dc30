//! Slugs, and the ids derived from them.

/// Returns `text` in lower case, with every run of characters outside `a-z 0-9` as one `-`, and none at the ends.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    let mut add = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    };
    for c in text.chars() {
        match c.is_ascii() {
            true => add(c.to_ascii_lowercase()),
            false => c.to_lowercase().for_each(&mut add),
        }
    }
    if slug.ends_with('-') {
        slug.pop();
    }
    slug
}

/// Returns whether `text` is a valid slug: `a-z`, `0-9` and `-`, no `-` at the start, at most `most` bytes.
#[must_use]
pub fn is_slug(text: &str, most: usize) -> bool {
    !text.is_empty()
        && text.len() <= most
        && !text.starts_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Returns the id of a heading: level, slug of its text, and its 1-based position among all headings of the note.
#[must_use]
pub fn heading_id(level: u8, text: &str, ordinal: usize) -> String {
    let slug = slug(text);
    let slug = if slug.is_empty() { "heading" } else { &slug };
    format!("h{level}-{slug}-{ordinal:04}")
}

/// The ids of the sections of one note.
pub struct NoteSectionIds {
    /// The slug of the note's path, and a colon.
    start: String,
}

impl NoteSectionIds {
    /// Prepares the ids of the sections of the note at `path`.
    #[must_use]
    pub fn new(path: &str) -> Self {
        let mut start = slug(path);
        if start.is_empty() {
            start.push_str("note");
        }
        start.push(':');
        Self { start }
    }

    /// Returns the id of a section: the slug of the note's path, then the id of its heading.
    #[must_use]
    pub fn of(&self, heading_id: &str) -> String {
        [&self.start, heading_id].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_a_slug() {
        for (text, expected) in [
            ("a", true),
            ("7-a--b-", true),
            ("", false),
            ("-a", false),
            ("A", false),
            ("a b", false),
            ("é", false),
            ("abcdefg", true),
            ("abcdefgh", false),
        ] {
            assert_eq!(is_slug(text, 7), expected, "{text:?}");
        }
    }

    #[test]
    fn ids_of_headings_and_sections() {
        assert_eq!(heading_id(1, "Example", 1), "h1-example-0001");
        assert_eq!(heading_id(2, "日本", 12345), "h2-heading-12345");
        assert_eq!(
            NoteSectionIds::new("inbox/example.md").of("h1-x-0001"),
            "inbox-example-md:h1-x-0001"
        );
        assert_eq!(
            NoteSectionIds::new("日本/語").of("h1-x-0001"),
            "note:h1-x-0001"
        );
        assert_eq!(heading_id(1, "İ K\u{212a}", 1), "h1-i-kk-0001");
    }
}
