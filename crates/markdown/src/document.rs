//! The map of a document: its headings, what belongs to each, and how they nest.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{
    Digest, FrontMatter, Source, Span,
    heading_text::HeadingText,
    lines::{line_at, line_start},
    options,
    source::Offsets,
    whitespace::is_blank,
};

/// The sections of one document. Holds spans and heading texts, never the text of the note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    front_matter: Option<FrontMatter>,
    sections: Vec<Section>,
    len: usize,
}

/// One heading and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// 1 to 6.
    pub level: u8,
    /// Normalised text of the heading; may be empty.
    pub text: String,
    /// 1-based place among all headings of the document.
    pub ordinal: usize,
    /// Index of the nearest heading before this one with a smaller level, nested headings included.
    pub parent: Option<usize>,
    /// The heading's own bytes. At the top level these are whole lines, line end included.
    pub heading: Span,
    /// The bytes the section owns, or `None` for a heading nested in a quote or list item.
    pub extent: Option<Extent>,
    /// Whether a block with substance stands between this heading and the next one of its level or above.
    pub body_available: bool,
}

/// The bytes of a top-level section. The extents of a document tile it together with the preamble.
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
        let mut builder = Builder::default();
        let markdown = &source.text[source.body_start..];
        for (event, range) in options::events(markdown) {
            builder.event(&event, Span::new(range.start, range.end));
        }
        builder.finish(source)
    }

    /// All headings in document order.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The front matter block.
    #[must_use]
    pub fn front_matter(&self) -> Option<FrontMatter> {
        self.front_matter
    }

    /// Everything before the first top-level heading, front matter included.
    #[must_use]
    pub fn preamble(&self) -> Span {
        let end = self
            .top_level()
            .next()
            .map_or(self.len, |(_, section, _)| section.heading.start);
        Span::new(0, end)
    }

    /// The sections that own bytes, with their index and extent. Heading and own body of each, in this order and after
    /// the preamble, are all bytes of the document.
    pub fn top_level(&self) -> impl Iterator<Item = (usize, &Section, Extent)> {
        self.sections
            .iter()
            .enumerate()
            .filter_map(|(index, section)| Some((index, section, section.extent?)))
    }

    /// The texts of the headings above the section at `index` and its own, outermost first.
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

impl Extent {
    /// Hash of the own body as it stands in `source`.
    #[must_use]
    pub fn own_body_digest(&self, source: &[u8]) -> Digest {
        Digest::of(self.own_body.slice(source))
    }

    /// Hash of heading, own body and everything below, as it stands in `source`.
    #[must_use]
    pub fn subtree_digest(&self, source: &[u8]) -> Digest {
        Digest::of(self.subtree.slice(source))
    }
}

/// Collects headings from parser events. Offsets count from the start of the Markdown until [`Builder::finish`].
#[derive(Default)]
struct Builder {
    headings: Vec<Found>,
    heading: Option<(Found, HeadingText)>,
    block: Option<Block>,
    depth: usize,
    /// Headings below this index know the first block with substance behind them.
    settled: usize,
}

struct Found {
    level: u8,
    text: String,
    span: Span,
    nested: bool,
    /// Start of the first top-level block with substance that begins after the heading.
    first_body: Option<usize>,
}

/// The top-level block that is being read.
struct Block {
    start: usize,
    is_heading: bool,
    has_substance: bool,
}

impl Builder {
    fn event(&mut self, event: &Event<'_>, span: Span) {
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
            self.block = Some(Block {
                start: span.start,
                is_heading: heading_level.is_some(),
                has_substance: false,
            });
        }
        match heading_level {
            Some(level) => {
                let found = Found {
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

    /// Tells every heading that ends before `start` and waits for a body. Headings inside the block itself keep waiting.
    fn block_with_substance(&mut self, start: usize) {
        while let Some(found) = self.headings.get_mut(self.settled)
            && found.span.end <= start
        {
            found.first_body = Some(start);
            self.settled += 1;
        }
    }

    fn finish(self, source: &Source<'_>) -> Document {
        let bytes = source.text.as_bytes();
        let base = source.body_start;
        let ends = self.next_of_rank();
        let mut sections = Vec::with_capacity(self.headings.len());
        let mut open = Vec::new();
        for (index, (found, end)) in self.headings.into_iter().zip(ends).enumerate() {
            let body_available = found.first_body.is_some_and(|start| start < end);
            let span = Span::new(base + found.span.start, base + found.span.end);
            sections.push(Section {
                level: found.level,
                text: found.text,
                ordinal: index + 1,
                parent: enclosing(&mut open, index, found.level),
                heading: if found.nested {
                    span
                } else {
                    whole_lines(bytes, base, span)
                },
                extent: (!found.nested).then(|| Extent {
                    own_body: Span::default(),
                    subtree: Span::default(),
                    parent: None,
                }),
                body_available,
            });
        }
        tile(&mut sections, bytes.len());
        let mut document = Document {
            front_matter: source.front_matter(),
            sections,
            len: source.offsets.to_raw(bytes.len()),
        };
        if !source.offsets.is_identity() {
            document
                .sections
                .iter_mut()
                .for_each(|section| to_raw(section, &source.offsets));
        }
        document
    }

    /// For each heading, where the next heading of its level or above starts.
    fn next_of_rank(&self) -> Vec<usize> {
        let mut ends = vec![usize::MAX; self.headings.len()];
        let mut open: Vec<usize> = Vec::new();
        for (index, found) in self.headings.iter().enumerate() {
            while let Some(last) = open.pop_if(|last| self.headings[*last].level >= found.level) {
                ends[last] = found.span.start;
            }
            open.push(index);
        }
        ends
    }
}

/// The heading that encloses heading `index`, given the `open` ones above it, which are brought up to date.
fn enclosing(open: &mut Vec<(usize, u8)>, index: usize, level: u8) -> Option<usize> {
    while open.pop_if(|(_, above)| *above >= level).is_some() {}
    let parent = open.last().map(|(above, _)| *above);
    open.push((index, level));
    parent
}

/// Widens the span of a top-level heading to its lines: indentation before, and the line end behind. A byte order mark
/// before the first line, which ends at `body_start`, stays outside.
fn whole_lines(bytes: &[u8], body_start: usize, span: Span) -> Span {
    let start = line_start(bytes, span.start).max(body_start);
    let text_end = bytes[span.range()]
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(span.start, |last| span.start + last + 1);
    Span::new(start, line_at(bytes, text_end).end)
}

/// Gives the top-level sections their extents: each body runs to the next heading, each subtree to the next of its rank.
fn tile(sections: &mut [Section], end: usize) {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut previous: Option<usize> = None;
    let top_level: Vec<usize> = (0..sections.len())
        .filter(|at| sections[*at].extent.is_some())
        .collect();
    for index in top_level {
        let (start, level) = (sections[index].heading.start, sections[index].level);
        if let Some(previous) = previous {
            close_body(&mut sections[previous], start);
        }
        while let Some((closed, _)) = open.pop_if(|(_, above)| *above >= level) {
            close_subtree(&mut sections[closed], start);
        }
        if let Some(extent) = &mut sections[index].extent {
            extent.parent = open.last().map(|(above, _)| *above);
        }
        open.push((index, level));
        previous = Some(index);
    }
    if let Some(previous) = previous {
        close_body(&mut sections[previous], end);
    }
    for (index, _) in open {
        close_subtree(&mut sections[index], end);
    }
}

fn close_body(section: &mut Section, end: usize) {
    if let Some(extent) = &mut section.extent {
        extent.own_body = Span::new(section.heading.end, end);
    }
}

fn close_subtree(section: &mut Section, end: usize) {
    if let Some(extent) = &mut section.extent {
        extent.subtree = Span::new(section.heading.start, end);
    }
}

fn to_raw(section: &mut Section, offsets: &Offsets) {
    section.heading = offsets.span_to_raw(section.heading);
    if let Some(extent) = &mut section.extent {
        extent.own_body = offsets.span_to_raw(extent.own_body);
        extent.subtree = offsets.span_to_raw(extent.subtree);
    }
}

#[cfg(test)]
mod tests;
