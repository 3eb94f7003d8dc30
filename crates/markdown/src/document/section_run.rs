//! Parts of a document that parse the same alone as in context.

use memchr::memmem;

use crate::{Document, Source, Span, lines::line_at};

/// A part from a heading, or from the start of the Markdown, to a heading, or to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionRun {
    pub(crate) span: Span,
    /// Index of its first heading.
    pub(crate) first: usize,
    /// Index of the heading at which it ends, or the number of headings.
    pub(crate) next: usize,
}

impl SectionRun {
    /// Returns the smallest stretch of `document`, parsed from `source`, that contains `span` after its first heading
    /// and before the heading that follows. Returns `None` if the document must be parsed as a whole.
    pub(crate) fn around(source: &Source<'_>, document: &Document, span: Span) -> Option<Self> {
        if span.start < source.body_start || !stands_by_itself(source) {
            return None;
        }
        let bytes = source.text.as_bytes();
        let sections = document.sections();
        // A one-line heading starts with number signs. Such a line closes every open block before it, and nothing after
        // it can change its meaning.
        let is_border = |index: &usize| {
            let section = &sections[*index];
            let line = line_at(bytes, section.heading.start);
            section.extent.is_some()
                && line.end == section.heading.end
                && line.content_end < line.end
        };
        let behind = sections.partition_point(|section| section.heading.end <= span.start);
        let ahead = sections.partition_point(|section| section.heading.start < span.end);
        let first = (0..behind).rev().find(is_border);
        let next = (ahead..sections.len()).find(is_border);
        let start = first.map_or(source.body_start, |index| sections[index].heading.start);
        let end = next.map_or(bytes.len(), |index| sections[index].heading.start);
        let stretch = Self {
            span: Span::new(start, end),
            first: first.unwrap_or(0),
            next: next.unwrap_or(sections.len()),
        };
        is_plain(&source.text[stretch.span.range()]).then_some(stretch)
    }
}

/// Returns whether a part of the text can be parsed without the rest: no link in it can need a definition elsewhere.
pub(super) fn stands_by_itself(source: &Source<'_>) -> bool {
    let bytes = source.text.as_bytes();
    source.offsets.is_identity() && memmem::find(bytes, b"]:").is_none()
}

/// Returns whether a part contains nothing whose end the parser may look for in the rest of the document: a comment, a
/// declaration or a processing instruction.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains("<!") && !text.contains("<?")
}
