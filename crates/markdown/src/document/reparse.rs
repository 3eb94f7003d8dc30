//! Incremental parsing after a change: the sections far from the change are reused.

use super::{
    Document, DocumentBuilder, RawHeading, Section,
    section_run::{SectionRun, is_plain, stands_by_itself},
};
use crate::{Changes, Source, Span, options::ParserInput};

impl Source<'_> {
    /// Parses this document, which `changes` made from the document `before` with the sections `known`. The result is
    /// that of [`Source::parse`], in less time.
    #[must_use]
    pub fn parse_after(
        &self,
        before: &Source<'_>,
        known: &Document,
        changes: &Changes,
    ) -> Document {
        match self.parse_changed(before, known, changes) {
            Some(document) => {
                debug_assert_eq!(document, self.parse(), "differs from a full parse");
                document
            }
            None => self.parse(),
        }
    }

    fn parse_changed(
        &self,
        before: &Source<'_>,
        known: &Document,
        changes: &Changes,
    ) -> Option<Document> {
        let changed = Span::new(
            changes.iter().next()?.span.start,
            changes.iter().next_back()?.span.end,
        );
        let same_start =
            self.body_start == before.body_start && self.front_matter() == before.front_matter();
        if !same_start || !stands_by_itself(self) {
            return None;
        }
        let stretch = SectionRun::around(before, known, changed)?;
        let moved = |at: usize| at + self.text.len() - before.text.len();
        let next = known.sections.get(stretch.next);
        let end = next.map_or(self.text.len(), |next| moved(next.heading.end));
        if !is_plain(self.text.get(stretch.span.start..end)?) {
            return None;
        }
        let mut builder = DocumentBuilder::default();
        builder.read(&ParserInput::of(&self.text), stretch.span.start..end);
        let mut read = builder.headings;
        if let Some(next) = next {
            // After an unchanged top-level heading, everything is as it was.
            let last = read.pop()?;
            let lines = last.lines(self.text.as_bytes(), self.body_start);
            let same = !last.nested
                && lines == Span::new(moved(next.heading.start), moved(next.heading.end))
                && last.level == next.level
                && last.text == next.text;
            if !same {
                return None;
            }
        }
        let body_behind = next.and_then(|next| next.first_body).map(moved);
        let body_from_here = builder.first_substance.or(body_behind);
        let mut headings = Vec::with_capacity(known.sections.len() + read.len());
        headings.extend(known.sections[..stretch.first].iter().map(|section| {
            let first_body = section.first_body.filter(|at| *at < stretch.span.start);
            RawHeading::known(section, section.heading, first_body.or(body_from_here))
        }));
        headings.extend(read.into_iter().map(|found| RawHeading {
            first_body: found.first_body.or(body_behind),
            ..found
        }));
        headings.extend(known.sections[stretch.next..].iter().map(|section| {
            let heading = Span::new(moved(section.heading.start), moved(section.heading.end));
            RawHeading::known(section, heading, section.first_body.map(moved))
        }));
        Some(Document::new(self, headings))
    }
}

impl RawHeading {
    fn known(section: &Section, heading: Span, first_body: Option<usize>) -> Self {
        Self {
            level: section.level,
            text: section.text.clone(),
            span: heading,
            nested: section.extent.is_none(),
            first_body,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Change;

    /// Everything that opens, closes, continues or resembles a block.
    const PIECES: [&str; 48] = [
        "# a\n",
        "## b\n",
        "### c #\n",
        "#",
        "# ",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "===\n",
        "---\n",
        "- ",
        "  ",
        "   ",
        "    ",
        "\t",
        "> ",
        "* ",
        "1. ",
        "```\n",
        "~~~~\n",
        "<!--",
        "-->",
        "<div>\n",
        "</div>\n",
        "<pre>",
        "</pre>\n",
        "<?",
        "?>",
        "<![CDATA[",
        "]]>",
        "<!X ",
        ">",
        "[a]",
        "(b)",
        "]:",
        "[",
        "[a]: /b\n",
        "`",
        "``",
        "*",
        "_",
        "text",
        "&amp;",
        "\\",
        "é",
        "\u{feff}",
        "---\na: 1\n---\n",
    ];

    fn soup(most: usize) -> impl Strategy<Value = String> {
        proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..most)
            .prop_map(|pieces| pieces.concat())
    }

    /// Omits some of the pieces that force a full parse, so that the incremental path is taken often enough.
    fn plain_soup(most: usize) -> impl Strategy<Value = String> {
        soup(most).prop_map(|text| {
            text.replace("]:", "]")
                .replace("<!", "<")
                .replace("<?", "<")
        })
    }

    fn changed(text: &str, edits: &[(usize, usize, String)]) -> Option<Changes> {
        let at = |offset: usize| text.floor_char_boundary(offset % (text.len() + 1));
        Changes::new(edits.iter().map(|(start, len, new)| {
            let start = at(*start);
            let end = text.floor_char_boundary((start + len).min(text.len()));
            Change::new(Span::new(start, end), new.as_str())
        }))
    }

    fn check(text: &str, edits: &[(usize, usize, String)]) -> Result<(), TestCaseError> {
        let Some(changes) = changed(text, edits) else {
            return Ok(());
        };
        let new = changes.apply(text.as_bytes()).expect("inside");
        let (before, after) = (Source::new(text.as_bytes()), Source::new(&new));
        let known = before.parse();
        let read = after.parse_changed(&before, &known, &changes);
        if let Some(read) = read {
            prop_assert_eq!(read, after.parse());
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(10_000)))]

        #[test]
        fn a_part_says_what_the_whole_says(
            text in soup(40),
            edits in proptest::collection::vec((0_usize..200, 0_usize..12, soup(4)), 1..3),
        ) {
            check(&text, &edits)?;
        }

        #[test]
        fn a_plain_part_says_what_the_whole_says(
            text in plain_soup(40),
            edits in proptest::collection::vec((0_usize..200, 0_usize..12, plain_soup(4)), 1..3),
        ) {
            check(&text, &edits)?;
        }
    }

    #[test]
    fn only_a_part_of_an_ordinary_document_is_read() {
        let text = "# Title\n\n## Alpha\n\ntext\n\n## Beta\n\nmore\n\n## Gamma\n";
        let read = |old: &str, new: &str| {
            let start = text.find(old).unwrap();
            let change = Change::new(Span::new(start, start + old.len()), new);
            let changes = Changes::new([change]).unwrap();
            let bytes = changes.apply(text.as_bytes()).unwrap();
            let before = Source::new(text.as_bytes());
            let known = before.parse();
            Source::new(&bytes)
                .parse_changed(&before, &known, &changes)
                .map(|document| document.sections().len())
        };
        assert_eq!(read("more", "other"), Some(4));
        assert_eq!(read("more", "### New\n\ntext"), Some(5));
        assert_eq!(read("more\n\n", "- list\n\n  # nested\n\n"), Some(5));
        assert_eq!(read("more", "```\nopen"), None, "it swallows what follows");
        assert_eq!(read("more", "[a]: /b"), None, "links elsewhere may use it");
        assert_eq!(read("more", "<!-- open"), None);
        assert_eq!(read("# Title", "---\na: 1\n---\n"), None);
    }
}
