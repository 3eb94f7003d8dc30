//! Everything that an index keeps of a note, read in one pass.

use crate::{
    AnchorNames, Chunks, Link, Properties, Source, Span,
    chunks::Chunker,
    document::DocumentBuilder,
    links::{self, AnchorNameReader, LinkFinder},
    options::ParserInput,
};

/// The facts about a note that an index keeps.
#[derive(Debug)]
#[non_exhaustive]
pub struct NoteFacts {
    /// The sections and the chunks, as [`chunks`](crate::chunks()) returns them.
    pub chunks: Chunks,
    /// The links, as [`links`](crate::links()) returns them.
    pub links: Vec<Link>,
    /// The names of its headings and blocks.
    pub anchors: AnchorNames,
    /// The fields, tags, aliases and tasks, as [`properties`](crate::properties()) returns them.
    pub properties: Properties,
}

/// Reads the sections, chunks, links, names and properties of a note. Parsing it once takes about half the time of
/// the functions that return one of them each.
#[must_use]
pub fn examine(source: &Source<'_>, longest: usize) -> NoteFacts {
    let base = source.body_start;
    let markdown = ParserInput::of(&source.text);
    let mut events = markdown.events(base..source.text.len());
    let definitions = links::definitions(&events);
    let mut finder = LinkFinder::with_marks(&source.text, &markdown, base);
    let mut builder = DocumentBuilder::default();
    let mut chunker = Chunker::new(source, longest);
    let mut anchors = AnchorNameReader::new(source);
    while let Some((event, range)) = events.next() {
        let span = Span::new(base + range.start, base + range.end);
        builder.event(&event, span);
        chunker.event(&event, span);
        anchors.event(&event, range);
        finder.event(&event, span.range(), events.reference_definitions());
    }
    finder.end(definitions);
    let (in_text, marks) = finder.finish(source);
    let mut links = links::front_matter_links(source);
    links.extend(in_text);
    NoteFacts {
        chunks: chunker.finish(source, builder.finish(source)),
        links,
        anchors: anchors.finish(),
        properties: Properties::new(source, marks),
    }
}
