//! Splits a document into chunks: short enough to be found and quoted, and never split where that would change the
//! meaning.
//!
//! A chunk is the content under one heading, up to the next heading of any level. Long content becomes several chunks,
//! which start and end at block boundaries: paragraphs, items of a top-level list, code, tables. No block is split.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{
    Document, Source, Span, document::DocumentBuilder, lines::line_start, options::ParserInput,
    plain::PlainTextBuilder,
};

/// A document and its chunks, in order.
#[derive(Debug)]
pub struct Chunks {
    /// The sections of the document.
    pub document: Document,
    /// The chunks. They do not overlap.
    pub chunks: Vec<Chunk>,
}

/// A chunk of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Index of the section whose own body this is part of, or `None` before the first heading.
    pub section: Option<usize>,
    /// Its bytes in the original, without the surrounding blank lines. They are valid UTF-8.
    pub span: Span,
    /// Its text without markup.
    pub plain: String,
}

impl Chunk {
    /// Returns a chunk with this text, outside the sections of a document.
    #[must_use]
    pub fn new(span: Span, plain: String) -> Self {
        Self {
            section: None,
            span,
            plain,
        }
    }
}

/// Splits a document into chunks. Blocks are combined up to about `longest` bytes; a longer block stays whole. A block
/// without text, such as a comment, is not a chunk; a heading with nothing under it is.
#[must_use]
pub fn chunks(source: &Source<'_>, longest: usize) -> Chunks {
    let base = source.body_start;
    let mut builder = DocumentBuilder::default();
    let mut chunker = Chunker::new(source, longest);
    for (event, range) in ParserInput::of(&source.text).events(base..source.text.len()) {
        let span = Span::new(base + range.start, base + range.end);
        builder.event(&event, span);
        chunker.event(&event, span);
    }
    chunker.finish(source, builder.finish(source))
}

/// Adds a chunk for each heading that has neither text nor subsections under it; it could not be found otherwise.
fn add_bare_headings(document: &Document, source: &Source<'_>, chunks: &mut Vec<Chunk>) {
    // Where bytes were replaced, a heading's may have been among them.
    if !source.offsets.is_identity() {
        return;
    }
    let mut said = chunks.iter().filter_map(|chunk| chunk.section).peekable();
    let bare: Vec<Chunk> = document
        .top_level()
        .filter(|(index, section, extent)| {
            while said.next_if(|said| said < index).is_some() {}
            let has_children = extent.own_body.end < extent.subtree.end;
            said.peek() != Some(index) && !has_children && !section.text.is_empty()
        })
        .map(|(index, section, _)| Chunk {
            section: Some(index),
            span: trimmed(&source.text, section.heading),
            plain: String::new(),
        })
        .collect();
    if !bare.is_empty() {
        chunks.extend(bare);
        chunks.sort_by_key(|chunk| chunk.span.start);
    }
}

/// Reads parser events and combines blocks into chunks.
pub(crate) struct Chunker<'t> {
    text: &'t str,
    body_start: usize,
    longest: usize,
    /// Headings seen so far, including nested ones: the index of the next.
    headings: usize,
    section: Option<usize>,
    /// The chunk being assembled.
    open: Option<Chunk>,
    /// The block being read, and its text so far.
    block: Option<(Span, PlainTextBuilder)>,
    depth: usize,
    chunks: Vec<Chunk>,
}

impl<'t> Chunker<'t> {
    pub(crate) fn new(source: &'t Source<'_>, longest: usize) -> Self {
        Self {
            text: &source.text,
            body_start: source.body_start,
            longest,
            headings: 0,
            section: None,
            open: None,
            block: None,
            depth: 0,
            chunks: Vec::new(),
        }
    }

    /// Returns the chunks of the document that was read.
    pub(crate) fn finish(mut self, source: &Source<'_>, document: Document) -> Chunks {
        self.close();
        let mut chunks = self.chunks;
        if !source.offsets.is_identity() {
            for chunk in &mut chunks {
                chunk.span = source.offsets.span_to_raw(chunk.span);
            }
            // A passage that was not UTF-8 cannot be quoted: its bytes are not those of the replacement character.
            chunks.retain(|chunk| !chunk.plain.contains(char::REPLACEMENT_CHARACTER));
        }
        add_bare_headings(&document, source, &mut chunks);
        Chunks { document, chunks }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, span: Span) {
        match event {
            Event::Start(Tag::Heading { .. }) if self.depth == 0 => {
                self.close();
                self.section = Some(self.headings);
                self.headings += 1;
                self.depth += 1;
                return;
            }
            Event::Start(Tag::Heading { .. }) => self.headings += 1,
            // The items of a top-level list are blocks of their own.
            Event::Start(Tag::List(_)) if self.depth == 0 => return,
            Event::End(TagEnd::List(_)) if self.depth == 0 => return,
            Event::Rule if self.depth == 0 => {
                self.add(span, String::new());
                return;
            }
            _ => {}
        }
        if let Event::Start(_) = event {
            if self.depth == 0 {
                self.block = Some((span, PlainTextBuilder::default()));
            }
            self.depth += 1;
        }
        if let Some((_, plain)) = &mut self.block {
            plain.event(event);
        }
        if let Event::End(_) = event {
            self.depth -= 1;
            if self.depth == 0
                && let Some((span, plain)) = self.block.take()
            {
                self.add(span, plain.text);
            }
        }
    }

    /// Adds a block to the current chunk, or starts another one.
    fn add(&mut self, span: Span, plain: String) {
        let start = line_start(self.text.as_bytes(), span.start).max(self.body_start);
        let span = trimmed(self.text, Span::new(start, span.end));
        if span.start >= span.end {
            return;
        }
        match &mut self.open {
            Some(open) if span.end - open.span.start <= self.longest => {
                open.span.end = open.span.end.max(span.end);
                open.plain.push_str(&plain);
            }
            _ => {
                self.close();
                self.open = Some(Chunk {
                    section: self.section,
                    span,
                    plain,
                });
            }
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && !open.plain.trim().is_empty()
        {
            self.chunks.push(open);
        }
    }
}

/// Trims surrounding white space, but keeps the indentation of the first line.
fn trimmed(text: &str, span: Span) -> Span {
    let text = &text[span.range()];
    let end = text.trim_end().len();
    let blank = text.len() - text.trim_start().len();
    let start = text[..blank.min(end)]
        .rfind(['\n', '\r'])
        .map_or(0, |at| at + 1);
    Span::new(span.start + start, span.start + end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, longest: usize) -> Vec<String> {
        let source = Source::new(text.as_bytes());
        let chunks = chunks(&source, longest);
        let shown = chunks.chunks.iter().map(|chunk| {
            let heading = chunk
                .section
                .map_or("", |index| chunks.document.sections()[index].text.as_str());
            format!("{heading}: {}", &text[chunk.span.range()])
        });
        shown.collect()
    }

    #[test]
    fn a_section_is_a_chunk() {
        let text = "---\na: b\n---\nBefore.\n\n# One\n\nFirst.\n\n- a\n- b\n\n## Two\n\nSecond.\n\n> # Quoted\n\n### Three\n\nlast\n";
        assert_eq!(
            cut(text, 1000),
            [
                ": Before.",
                "One: First.\n\n- a\n- b",
                "Two: Second.\n\n> # Quoted",
                "Three: last",
            ]
        );
    }

    #[test]
    fn long_sections_are_cut_between_blocks_only() {
        let fence = "```\nx\n\n## y\n```";
        let table = "| a | b |\n|---|---|\n| 1 | 2 |";
        let text = format!(
            "# T\n\nparagraph one\n\n{fence}\n\n{table}\n\n* item\n\n  more of it\n* item two\n    1. deep\n"
        );
        assert_eq!(
            cut(&text, 16),
            [
                "T: paragraph one".to_owned(),
                format!("T: {fence}"),
                format!("T: {table}"),
                "T: * item\n\n  more of it".to_owned(),
                "T: * item two\n    1. deep".to_owned(),
            ]
        );
        assert_eq!(cut(&text, 20_000).len(), 1);
    }

    #[test]
    fn what_says_nothing_is_no_chunk() {
        assert_eq!(
            cut("# A\n\n<!-- hidden -->\n\n---\n\n# B\n\nsaid\n", 100),
            ["A: # A", "B: said"]
        );
        assert_eq!(
            cut("# A\n\n## B\n\nx\n\n## Bare\n", 100),
            ["B: x", "Bare: ## Bare"]
        );
        assert_eq!(cut("", 100), [""; 0]);
        assert_eq!(cut("[a]: b\n", 100), [""; 0]);
    }

    #[test]
    fn code_keeps_its_indentation() {
        assert_eq!(
            cut("# A\n\n    code\n      more\n", 100),
            ["A:     code\n      more"]
        );
    }

    proptest! {
        #[test]
        fn chunks_are_apart_in_order_and_text(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..80),
                "([#>*`| -]{0,3}[a\u{e9}\n]{0,3}){0,20}".prop_map(String::into_bytes),
            ],
            longest in 0..40_usize,
        ) {
            let source = Source::new(&bytes);
            let cut = chunks(&source, longest);
            let mut last = 0;
            for chunk in &cut.chunks {
                prop_assert!(chunk.span.start >= last && chunk.span.start < chunk.span.end, "{:?}", cut);
                last = chunk.span.end;
                prop_assert!(std::str::from_utf8(&bytes[chunk.span.range()]).is_ok());
                if let Some(index) = chunk.section {
                    let section = &cut.document.sections()[index];
                    prop_assert!(section.extent.is_some());
                    prop_assert!(chunk.span.start >= section.heading.start);
                }
            }
            // Same result as reading the document on its own.
            prop_assert_eq!(cut.document, source.parse());
        }
    }
}
