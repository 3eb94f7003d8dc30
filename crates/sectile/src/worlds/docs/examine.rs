//! Examines the sections of a document: how many there are, and which of them serve a reader badly.

use std::collections::BTreeMap;

use sectile_markdown::{LineIndex, Section, Source};
use sectile_retrieval::DEEPEST_HEADING;

/// Length in bytes above which a section is reported as too long; a search answer shows at most 6,000 of them.
pub(crate) const LONG_SECTION: usize = 8_000;

/// The findings in one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentReport {
    /// Top-level headings of level 1 to 3.
    pub(crate) sections: usize,
    /// Headings that occur more than once, with their lines.
    pub(crate) duplicates: Vec<(String, Vec<usize>)>,
    /// Sections with nothing below their heading.
    pub(crate) empty: Vec<SectionFinding>,
    /// Sections of more than [`LONG_SECTION`] bytes.
    pub(crate) oversized: Vec<SectionFinding>,
}

/// A section and its location in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SectionFinding {
    pub(crate) heading: String,
    /// Line of the heading, from 1.
    pub(crate) line: usize,
    /// Length of heading and text, up to the next section.
    pub(crate) bytes: usize,
}

pub(crate) fn examine(bytes: &[u8]) -> DocumentReport {
    let document = Source::new(bytes).parse();
    let lines = LineIndex::new(bytes);
    let sections: Vec<&Section> = document
        .top_level()
        .filter(|(_, section, _)| section.level <= DEEPEST_HEADING)
        .map(|(_, section, _)| section)
        .collect();
    let ends = sections
        .iter()
        .skip(1)
        .map(|next| next.heading.start)
        .chain([bytes.len()]);
    let mut examined = DocumentReport {
        sections: sections.len(),
        ..DocumentReport::default()
    };
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (section, end) in sections.iter().zip(ends) {
        let found = SectionFinding {
            heading: section.text.clone(),
            line: lines.position(section.heading.start).line,
            bytes: end - section.heading.start,
        };
        places.entry(&section.text).or_default().push(found.line);
        if !section.body_available {
            examined.empty.push(found);
        } else if found.bytes > LONG_SECTION {
            examined.oversized.push(found);
        }
    }
    examined.duplicates = places
        .into_iter()
        .filter(|(_, lines)| lines.len() > 1)
        .map(|(heading, lines)| (heading.to_owned(), lines))
        .collect();
    examined.duplicates.sort_by_key(|(_, lines)| lines[0]);
    examined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(heading: &str, line: usize, bytes: usize) -> SectionFinding {
        SectionFinding {
            heading: heading.to_owned(),
            line,
            bytes,
        }
    }

    #[test]
    fn sections_are_counted_and_bad_ones_named() {
        let long = "word ".repeat(1700);
        let text = format!(
            "---\ntitle: x\n---\n# A\n\ntext\n\n## Empty\n\n## Full\n\n#### Deep\n\nx\n\n## Empty\n\n> # quoted\n\n### Long\n\n{long}\n"
        );
        let examined = examine(text.as_bytes());
        assert_eq!(examined.sections, 5);
        assert_eq!(examined.duplicates, [("Empty".to_owned(), vec![8, 16])]);
        assert_eq!(examined.empty, [found("Empty", 8, 10)]);
        assert_eq!(examined.oversized, [found("Long", 20, 8511)]);
        assert_eq!(examine(b"no heading\n"), DocumentReport::default());
    }
}
