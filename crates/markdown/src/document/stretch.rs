//! Parts of a document that mean the same to the parser whether they are read alone or in their place.

use memchr::memmem;

use crate::{Document, Source, Span, lines::line_at};

/// From a heading, or from where Markdown starts, to a heading, or to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) span: Span,
    /// Index of its first heading.
    pub(crate) first: usize,
    /// Index of the heading that it ends at, or the number of all headings.
    pub(crate) next: usize,
}

impl Stretch {
    /// The smallest stretch of `document`, which is `source`, that has `span` in it: behind its first heading, and
    /// before the heading that follows. `None` when the document must be read as a whole.
    pub(crate) fn around(source: &Source<'_>, document: &Document, span: Span) -> Option<Self> {
        if span.start < source.body_start || !stands_by_itself(source) {
            return None;
        }
        let bytes = source.text.as_bytes();
        let sections = document.sections();
        // A heading in one line starts with number signs. Such a line ends whatever is open before it, and nothing that
        // stands behind it can change what it is.
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

/// Whether a part of the text can be read without the rest: no link in it can need a definition elsewhere.
pub(super) fn stands_by_itself(source: &Source<'_>) -> bool {
    let bytes = source.text.as_bytes();
    source.offsets.is_identity() && memmem::find(bytes, b"]:").is_none()
}

/// Whether a text has nothing that the parser may look for in the rest of the document: the end of a comment, of a
/// declaration or of an instruction.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains("<!") && !text.contains("<?")
}
