//! The structure of a document: its headings, the bytes that belong to each, and how they nest.

mod reparse;
mod section_run;

use std::ops::Range;

pub(crate) use self::section_run::SectionRun;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{
    Digest, FrontMatter, Source, Span,
    heading_text::HeadingText,
    lines::{line_at, line_start},
    options::ParserInput,
    source::Offsets,
    whitespace::is_blank,
};

/// The sections of one document. Holds spans and heading texts, never the body of the note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    front_matter: Option<FrontMatter>,
    sections: Vec<Section>,
    len: usize,
}

/// One heading and the content that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// Heading level, 1 to 6.
    pub level: u8,
    /// Normalised text of the heading; may be empty.
    pub text: String,
    /// 1-based position among all headings of the document.
    pub ordinal: usize,
    /// Index of the nearest preceding heading with a smaller level, nested headings included.
    pub parent: Option<usize>,
    /// The heading's own bytes. For a top-level heading these are whole lines, including the line ending.
    pub heading: Span,
    /// The bytes the section owns, or `None` for a heading nested in a quote or list item.
    pub extent: Option<Extent>,
    /// Whether there is a block with content between this heading and the next one of its level or above.
    pub body_available: bool,
    /// Start of the first top-level block with content after the heading, wherever that is.
    first_body: Option<usize>,
}

/// The bytes of a top-level section. Together with the preamble, the extents tile the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// From the end of the heading to the next top-level heading of any level.
    pub own_body: Span,
    /// From the start of the heading to the next top-level heading of the same or a higher rank.
    pub subtree: Span,
    /// Index of the enclosing top-level section.
    pub parent: Option<usize>,
}

impl Document {
    pub(crate) fn parse(source: &Source<'_>) -> Self {
        let mut builder = DocumentBuilder::default();
        builder.read(
            &ParserInput::of(&source.text),
            source.body_start..source.text.len(),
        );
        builder.finish(source)
    }

    /// Builds the document of `source` from all of its headings.
    fn new(source: &Source<'_>, headings: Vec<RawHeading>) -> Self {
        let bytes = source.text.as_bytes();
        let spans: Vec<Span> = headings
            .iter()
            .map(|found| found.lines(bytes, source.body_start))
            .collect();
        let ends = ends(&headings, &spans, bytes.len());
        let (mut open, mut open_top_level) = (Vec::new(), Vec::new());
        let mut document = Self {
            front_matter: source.front_matter(),
            sections: Vec::with_capacity(headings.len()),
            len: source.offsets.to_raw(bytes.len()),
        };
        for (index, ((found, heading), ends)) in
            headings.into_iter().zip(spans).zip(ends).enumerate()
        {
            document.sections.push(Section {
                level: found.level,
                text: found.text,
                ordinal: index + 1,
                parent: enclosing(&mut open, index, found.level),
                heading,
                extent: (!found.nested).then(|| Extent {
                    own_body: Span::new(heading.end, ends.own_body),
                    subtree: Span::new(heading.start, ends.subtree),
                    parent: enclosing(&mut open_top_level, index, found.level),
                }),
                body_available: found.first_body.is_some_and(|start| start < ends.body),
                first_body: found.first_body,
            });
        }
        if !source.offsets.is_identity() {
            document
                .sections
                .iter_mut()
                .for_each(|section| to_raw(section, &source.offsets));
        }
        document
    }

    /// Returns all headings in document order.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the front matter block.
    #[must_use]
    pub fn front_matter(&self) -> Option<FrontMatter> {
        self.front_matter
    }

    /// Returns everything before the first top-level heading, front matter included.
    #[must_use]
    pub fn preamble(&self) -> Span {
        let end = self
            .top_level()
            .next()
            .map_or(self.len, |(_, section, _)| section.heading.start);
        Span::new(0, end)
    }

    /// Iterates over the sections that own bytes, with their index and extent. The preamble followed by the heading and
    /// own body of each section is the whole document.
    pub fn top_level(&self) -> impl Iterator<Item = (usize, &Section, Extent)> {
        self.sections
            .iter()
            .enumerate()
            .filter_map(|(index, section)| Some((index, section, section.extent?)))
    }

    /// Returns the texts of the headings above the section at `index` and its own, outermost first.
    #[must_use]
    pub fn heading_path(&self, index: usize) -> Vec<&str> {
        let mut path: Vec<&str> =
            std::iter::successors(Some(index), |at| self.sections[*at].parent)
                .map(|at| self.sections[at].text.as_str())
                .collect();
        path.reverse();
        path
    }
}

impl Section {
    /// Returns the section with all its offsets mapped by `to`.
    pub(crate) fn moved(&self, to: impl Fn(usize) -> Option<usize>) -> Option<Self> {
        let span = |span: Span| Some(Span::new(to(span.start)?, to(span.end)?));
        let extent = match self.extent {
            Some(extent) => Some(Extent {
                own_body: span(extent.own_body)?,
                subtree: span(extent.subtree)?,
                ..extent
            }),
            None => None,
        };
        let first_body = match self.first_body {
            Some(start) => Some(to(start)?),
            None => None,
        };
        Some(Self {
            heading: span(self.heading)?,
            extent,
            first_body,
            ..self.clone()
        })
    }
}

impl Extent {
    /// Hashes the own body as it is in `source`.
    #[must_use]
    pub fn own_body_digest(&self, source: &[u8]) -> Digest {
        Digest::of(self.own_body.slice(source))
    }

    /// Hashes the heading, the own body and all subsections, as they are in `source`.
    #[must_use]
    pub fn subtree_digest(&self, source: &[u8]) -> Digest {
        Digest::of(self.subtree.slice(source))
    }
}

/// Collects headings from parser events.
#[derive(Default)]
pub(crate) struct DocumentBuilder {
    headings: Vec<RawHeading>,
    /// Start of the first top-level block with content.
    first_substance: Option<usize>,
    heading: Option<(RawHeading, HeadingText)>,
    block: Option<OpenBlock>,
    depth: usize,
    /// Headings below this index already know the first block with content after them.
    settled: usize,
}

struct RawHeading {
    level: u8,
    text: String,
    span: Span,
    nested: bool,
    /// Start of the first top-level block with content that starts after the heading.
    first_body: Option<usize>,
}

/// The top-level block being read.
struct OpenBlock {
    start: usize,
    is_heading: bool,
    has_substance: bool,
}

impl DocumentBuilder {
    /// Reads a part of the text that can be parsed on its own.
    fn read(&mut self, text: &ParserInput<'_>, part: Range<usize>) {
        let base = part.start;
        for (event, range) in text.events(part) {
            self.event(&event, Span::new(base + range.start, base + range.end));
        }
    }

    /// Returns `true` if no block is open.
    pub(crate) fn is_at_top(&self) -> bool {
        self.depth == 0
    }

    /// Returns the document that was read.
    pub(crate) fn finish(self, source: &Source<'_>) -> Document {
        Document::new(source, self.headings)
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, span: Span) {
        match event {
            Event::Start(tag) => self.start(tag, event, span),
            Event::End(tag) => self.end(*tag, event),
            Event::Rule => {
                if self.depth == 0 {
                    self.block_with_substance(span.start);
                } else {
                    self.add_substance();
                }
            }
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                if self
                    .block
                    .as_ref()
                    .is_some_and(|block| !block.has_substance)
                    && !is_blank(text)
                {
                    self.add_substance();
                }
                self.inline(event);
            }
            _ => self.inline(event),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, event: &Event<'_>, span: Span) {
        let heading_level = match tag {
            Tag::Heading { level, .. } => Some(*level as u8),
            _ => None,
        };
        if self.depth == 0 {
            self.block = Some(OpenBlock {
                start: span.start,
                is_heading: heading_level.is_some(),
                has_substance: false,
            });
        }
        match heading_level {
            Some(level) => {
                let found = RawHeading {
                    level,
                    text: String::new(),
                    span,
                    nested: self.depth > 0,
                    first_body: None,
                };
                self.heading = Some((found, HeadingText::default()));
            }
            None => self.inline(event),
        }
        self.depth += 1;
    }

    fn end(&mut self, tag: TagEnd, event: &Event<'_>) {
        self.depth -= 1;
        match tag {
            TagEnd::Heading(_) => {
                if let Some((mut found, text)) = self.heading.take() {
                    found.text = text.finish();
                    self.headings.push(found);
                }
            }
            _ => self.inline(event),
        }
        if self.depth == 0
            && let Some(block) = self.block.take()
            && block.has_substance
            && !block.is_heading
        {
            self.block_with_substance(block.start);
        }
    }

    fn inline(&mut self, event: &Event<'_>) {
        if let Some((_, text)) = &mut self.heading {
            text.push(event);
        }
    }

    fn add_substance(&mut self) {
        if let Some(block) = &mut self.block {
            block.has_substance = true;
        }
    }

    /// Records the start of a block with content for every heading that ends before it and has none yet. Headings
    /// inside the block itself keep waiting.
    fn block_with_substance(&mut self, start: usize) {
        self.first_substance.get_or_insert(start);
        while let Some(found) = self.headings.get_mut(self.settled)
            && found.span.end <= start
        {
            found.first_body = Some(start);
            self.settled += 1;
        }
    }
}

impl RawHeading {
    /// Returns the bytes of the heading; for a top-level heading, whole lines.
    fn lines(&self, bytes: &[u8], body_start: usize) -> Span {
        if self.nested {
            self.span
        } else {
            whole_lines(bytes, body_start, self.span)
        }
    }
}

/// Finds where the content of each heading ends, from the last heading to the first.
fn ends(headings: &[RawHeading], spans: &[Span], document_end: usize) -> Vec<Ends> {
    let (mut any, mut top_level) = (NextStart::new(document_end), NextStart::new(document_end));
    let mut ends: Vec<Ends> = headings
        .iter()
        .zip(spans)
        .rev()
        .map(|(found, span)| {
            let ends = Ends {
                body: any.of_rank(found.level),
                own_body: top_level.of_rank(LOWEST_RANK),
                subtree: top_level.of_rank(found.level),
            };
            any.meet(found.level, span.start);
            if !found.nested {
                top_level.meet(found.level, span.start);
            }
            ends
        })
        .collect();
    ends.reverse();
    ends
}

/// The level that every heading reaches.
const LOWEST_RANK: u8 = 6;

struct Ends {
    /// End of what counts as its body: the next heading of its rank, nested or not.
    body: usize,
    /// End of its own body: the next top-level heading.
    own_body: usize,
    /// End of its subtree: the next top-level heading of its rank.
    subtree: usize,
}

/// The start of the next heading of each rank, while reading a document from its end to its start.
struct NextStart([usize; LOWEST_RANK as usize]);

impl NextStart {
    fn new(document_end: usize) -> Self {
        Self([document_end; LOWEST_RANK as usize])
    }

    /// Returns the start of the next heading of `level` or above.
    fn of_rank(&self, level: u8) -> usize {
        self.0[usize::from(level) - 1]
    }

    fn meet(&mut self, level: u8, start: usize) {
        self.0[usize::from(level) - 1..].fill(start);
    }
}

/// Returns the heading that encloses heading `index`, and updates `open`, the headings above it.
fn enclosing(open: &mut Vec<(usize, u8)>, index: usize, level: u8) -> Option<usize> {
    while open.pop_if(|(_, above)| *above >= level).is_some() {}
    let parent = open.last().map(|(above, _)| *above);
    open.push((index, level));
    parent
}

/// Widens the span of a top-level heading to whole lines: the indentation before it and the line ending after it. A
/// byte order mark before the first line, which ends at `body_start`, stays outside.
fn whole_lines(bytes: &[u8], body_start: usize, span: Span) -> Span {
    let start = line_start(bytes, span.start).max(body_start);
    let text_end = bytes[span.range()]
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(span.start, |last| span.start + last + 1);
    Span::new(start, line_at(bytes, text_end).end)
}

fn to_raw(section: &mut Section, offsets: &Offsets) {
    section.heading = offsets.span_to_raw(section.heading);
    if let Some(extent) = &mut section.extent {
        extent.own_body = offsets.span_to_raw(extent.own_body);
        extent.subtree = offsets.span_to_raw(extent.subtree);
    }
    section.first_body = section.first_body.map(|start| offsets.to_raw(start));
}

#[cfg(test)]
mod tests;
