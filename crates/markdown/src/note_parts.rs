//! Everything that an index keeps of a note, read in one pass.

use crate::{
    AnchorNames, Document, Link, Properties, Source, Span,
    document::DocumentBuilder,
    links::{AnchorNameReader, read_note},
};

/// The parts of a note: its sections, its links, the names in it, and its properties.
#[derive(Clone, Debug)]
pub struct NoteParts {
    /// The sections.
    pub document: Document,
    /// The links, as [`links`](crate::links) returns them, with the uses of definitions.
    pub links: Vec<Link>,
    /// The names of headings and blocks.
    pub anchors: AnchorNames,
    /// The properties.
    pub properties: Properties,
}

impl NoteParts {
    /// Reads a note.
    #[must_use]
    pub fn new(source: &Source<'_>) -> Self {
        let mut builder = DocumentBuilder::default();
        let mut anchors = AnchorNameReader::new(source);
        let base = source.body_start;
        let (links, marks) = read_note(source, &mut |event, range| {
            builder.event(event, Span::new(base + range.start, base + range.end));
            anchors.event(event, range.clone());
        });
        Self {
            document: builder.finish(source),
            links,
            anchors: anchors.finish(),
            properties: Properties::new(source, marks),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{links, properties, testing::cases};

    #[test]
    fn definitions_know_their_uses() {
        let text = "A [first][Ref  one] and [ref one][] and [Ref One].\n\n%% [ref one] %%\n\n[other]\n\n\
                    [ref one]: x.md\n[other]: https://x.y\n[unused]: y.md\n";
        let parts = NoteParts::new(&Source::new(text.as_bytes()));
        let found: Vec<(&str, Vec<&str>)> = parts
            .links
            .iter()
            .map(|link| {
                let uses = link.uses.iter().map(|span| &text[span.range()]);
                (link.path.text.as_str(), uses.collect())
            })
            .collect();
        assert_eq!(
            found,
            [
                (
                    "x.md",
                    vec!["[first][Ref  one]", "[ref one]", "[Ref One]"]
                ),
                ("y.md", vec![])
            ]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]

        /// One pass finds what each of the separate passes finds.
        #[test]
        fn one_pass_finds_the_same(
            text in "(---\n|a: \\[\\[n\\]\\]\n|# |\n|\n\n|\\[\\[x#y\\]\\]|\\[a\\]|: b.md|\\[a\\]\\(c\\)|#tag|- \\[ \\] t|%%|`|> | \\^b1|<a id=q>|\r|é|\u{0}){0,40}",
        ) {
            let source = Source::new(text.as_bytes());
            let parts = NoteParts::new(&source);
            let mut found = parts.links.clone();
            found.iter_mut().for_each(|link| link.uses.clear());
            prop_assert_eq!(found, links(&source));
            prop_assert_eq!(&parts.document, &source.parse());
            prop_assert_eq!(parts.properties, properties(&source));
            prop_assert_eq!(&parts.anchors, &AnchorNames::new(&source));
            prop_assert_eq!(parts.anchors.headings.len(), parts.document.sections().len());
            for link in &parts.links {
                let has_bounds = |span: &Span| span.end <= text.len();
                prop_assert!(link.uses.iter().all(has_bounds));
            }
        }
    }
}
