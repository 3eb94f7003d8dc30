//! Finds the sections that a heading names, given as listings show it or as it is written.

use unicode_normalization::UnicodeNormalization;

use crate::{
    Document, Source, Span, edit::heading::written_text, heading_text::collapse_whitespace,
};

/// Whether headings that differ only in case are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterCase {
    /// They are different.
    Matters,
    /// They are the same if no heading has exactly the case given.
    MayDiffer,
}

/// A heading given by a caller, in all the forms it is compared in.
struct GivenHeading {
    /// As a listing would show it.
    shown: String,
    /// Without marks, but with its markup.
    written: String,
    /// As a listing would show it if it were written like this.
    rendered: String,
    /// The level that its marks indicate, if it has any.
    level: Option<u8>,
}

/// Returns the positions of the sections that `given` names, among those with top-level headings.
///
/// A heading is given as listings show it (the text of [`Section`](crate::Section)) or as it is written, with its
/// markup and with or without its marks. The displayed form takes precedence: if any heading is displayed as `given`,
/// only those count. The level that marks indicate distinguishes equal headings; if none has that level, it is ignored.
/// Equivalent Unicode forms and runs of white space never make a difference.
#[must_use]
pub fn sections_named(
    bytes: &[u8],
    document: &Document,
    given: &str,
    case: LetterCase,
) -> Vec<usize> {
    let given = GivenHeading::read(given);
    let shown = |same: &dyn Fn(&str) -> bool| -> Vec<(usize, u8)> {
        let all = document.top_level().enumerate();
        all.filter(|(_, (_, section, _))| same(&section.text))
            .map(|(position, (_, section, _))| (position, section.level))
            .collect()
    };
    let found = shown(&|text| text == given.shown);
    if !found.is_empty() {
        return found.into_iter().map(|(position, _)| position).collect();
    }
    let written = |text: &Span| normalised(&String::from_utf8_lossy(text.slice(bytes)));
    let mut found: Vec<(usize, u8)> = document
        .top_level()
        .enumerate()
        .filter(|(_, (_, section, _))| {
            written(&written_text(bytes, section.heading)) == given.written
        })
        .map(|(position, (_, section, _))| (position, section.level))
        .collect();
    if found.is_empty() {
        found = shown(&|text| text == given.rendered);
    }
    if found.is_empty() && case == LetterCase::MayDiffer {
        let wanted = [given.shown.to_lowercase(), given.rendered.to_lowercase()];
        found = shown(&|text| wanted.contains(&text.to_lowercase()));
    }
    let has_level = |(_, level): &(usize, u8)| Some(*level) == given.level;
    if found.iter().any(has_level) {
        found.retain(has_level);
    }
    found.into_iter().map(|(position, _)| position).collect()
}

impl GivenHeading {
    fn read(given: &str) -> Self {
        let text = crate::trim(given);
        let shown = normalised(text);
        if let Some((level, rendered)) = heading_of(text) {
            let content = written_text(text.as_bytes(), Span::new(0, text.len()));
            return Self {
                written: normalised(&text[content.range()]),
                shown,
                rendered,
                level: Some(level),
            };
        }
        let rendered = heading_of(&format!("# {shown}"));
        Self {
            written: shown.clone(),
            rendered: rendered.map_or_else(|| shown.clone(), |(_, rendered)| rendered),
            shown,
            level: None,
        }
    }
}

/// Returns the level and the text if `markdown` is exactly one heading.
fn heading_of(markdown: &str) -> Option<(u8, String)> {
    let document = Source::fragment(markdown).parse();
    match document.sections() {
        [only] if only.heading == Span::new(0, markdown.len()) => {
            Some((only.level, only.text.clone()))
        }
        _ => None,
    }
}

/// Normalises `text` so that strings that look the same compare equal.
fn normalised(text: &str) -> String {
    collapse_whitespace(text.nfc(), text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::cases;

    fn named(text: &str, given: &str, case: LetterCase) -> Vec<usize> {
        let bytes = text.as_bytes();
        sections_named(bytes, &Source::new(bytes).parse(), given, case)
    }

    #[test]
    fn a_heading_is_found_as_it_is_shown_and_as_it_is_written() {
        for (written, given) in [
            ("## Use `run` now", "Use run now"),
            ("## Use `run` now", "Use `run` now"),
            ("## Use `run` now", "## Use `run` now"),
            ("## *Very* **good**", "Very good"),
            ("## *Very* **good**", "*Very* **good**"),
            ("## *Very* good", "_Very_ good"),
            ("## Closed ##", "## Closed ##"),
            ("## Closed ##", "Closed"),
            ("## Closed ##", "# Closed"),
            ("Title\n=====", "Title"),
            ("Title\n=====", "Title\n====="),
            ("Two\nlines\n---", "Two lines"),
            ("# Caf\u{e9}", "Cafe\u{301}"),
            ("# Cafe\u{301}", "Caf\u{e9}"),
            ("# Cafe\u{301}", "# Cafe\u{301}"),
            ("#   Much    room ", "Much room"),
            ("# See [the list]\n\n[the list]: #x", "See [the list]"),
            ("# See [the list]\n\n[the list]: #x", "See the list"),
            ("# A [link](x.md)", "A [link](x.md)"),
            ("# #1 of all", "#1 of all"),
            ("# \\# mark", "# mark"),
            ("# C\\#", "C#"),
            ("# 1 &lt; 2", "1 &lt; 2"),
            ("# 1 &lt; 2", "1 < 2"),
        ] {
            let text = format!("# Other\n\n{written}\n\ntext\n");
            assert_eq!(
                named(&text, given, LetterCase::Matters),
                [1],
                "{given:?} in {written:?}"
            );
        }
    }

    #[test]
    fn what_is_shown_comes_before_what_is_written() {
        let text = "# A\n\n# \\# A\n\n# *B*\n\n# \\*B\\*\n";
        assert_eq!(named(text, "# A", LetterCase::Matters), [1]);
        assert_eq!(named(text, "A", LetterCase::Matters), [0]);
        assert_eq!(named(text, "*B*", LetterCase::Matters), [3]);
        assert_eq!(named(text, "B", LetterCase::Matters), [2]);
    }

    #[test]
    fn markup_and_marks_tell_equal_headings_apart() {
        let text = "# Run\n\n## Run\n\n## `Run`\n";
        assert_eq!(named(text, "Run", LetterCase::Matters), [0, 1, 2]);
        assert_eq!(named(text, "`Run`", LetterCase::Matters), [2]);
        assert_eq!(named(text, "# Run", LetterCase::Matters), [0]);
        assert_eq!(named(text, "## Run", LetterCase::Matters), [1]);
        // No heading has this level, so it is ignored.
        assert_eq!(named(text, "### Run", LetterCase::Matters), [0, 1]);
    }

    #[test]
    fn case_differs_only_where_it_may() {
        let text = "# Tasks\n\n# tasks\n\n# \u{c4}rger\n";
        assert_eq!(named(text, "TASKS", LetterCase::Matters), [0; 0]);
        assert_eq!(named(text, "TASKS", LetterCase::MayDiffer), [0, 1]);
        assert_eq!(named(text, "tasks", LetterCase::MayDiffer), [1]);
        assert_eq!(named(text, "a\u{308}rger", LetterCase::Matters), [0; 0]);
        assert_eq!(named(text, "# a\u{308}rger", LetterCase::MayDiffer), [2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(512)))]

        /// Every heading of a listing names all sections displayed like it, and no others.
        #[test]
        fn a_listing_names_its_sections(text in "([#>=*_`A-Cä\\\\\\[\\]()&; -]|\n|# |\n# |\n## |\u{301}){0,40}") {
            let document = Source::new(text.as_bytes()).parse();
            for (_, section, _) in document.top_level() {
                let expected: Vec<usize> = document
                    .top_level()
                    .enumerate()
                    .filter(|(_, (_, other, _))| other.text == section.text)
                    .map(|(position, _)| position)
                    .collect();
                let found = named(&text, &section.text, LetterCase::Matters);
                prop_assert_eq!(found, expected, "{:?} in {:?}", section.text, text);
            }
        }

        /// Every heading as it is written names its section, unless another one is displayed that way.
        #[test]
        fn a_document_names_its_sections(text in "([#>=*_`A-Cä\\\\\\[\\]()&; -]|\n|# |\n# |\n## |\u{301}){0,40}") {
            let document = Source::new(text.as_bytes()).parse();
            for (position, (_, section, _)) in document.top_level().enumerate() {
                let written = &text[section.heading.range()];
                let found = named(&text, written, LetterCase::Matters);
                let is_shown = |text: &str| text == normalised(written);
                let shown = document.top_level().any(|(_, other, _)| is_shown(&other.text));
                prop_assert!(shown || found.contains(&position), "{:?} in {:?}", written, text);
            }
        }
    }
}
