//! Finds the links of a document in the parser events.

use std::{collections::HashMap, ops::Range};

use memchr::memmem;
use pulldown_cmark::{Event, LinkType, OffsetIter, RefDefs, Tag, TagEnd};

use super::{
    Enclosure, Link, LinkForm,
    comments::{CommentReader, is_inside},
    destination::{self, Destination, Escapes},
    front_matter, html, wiki,
};
use crate::{
    Document, Source, Span,
    document::SectionRun,
    options::ParserInput,
    properties::{MarkReader, Marks},
};

/// Returns all links of a document that stay inside the folder, in document order: those of its text, those in strings
/// of its front matter, and `href` and `src` in HTML. Links in code and `%%comments%%` do not count.
#[must_use]
pub fn links(source: &Source<'_>) -> Vec<Link> {
    let mut found = front_matter::links(source);
    let body = source.body_start..source.text.len();
    found.extend(links_in(source, body, CommentLinks::Skip));
    found
}

/// Returns all links of the document `source`, with the sections `document`, that touch `span`, and perhaps more. Text
/// far from there is not read, so it is unknown where comments start, and links that may be in one count.
#[must_use]
pub fn links_near(source: &Source<'_>, document: &Document, span: Span) -> Vec<Link> {
    match SectionRun::around(source, document, span) {
        Some(stretch) => links_in(source, stretch.span.range(), CommentLinks::Read),
        None => links(source),
    }
}

/// Returns the wiki links and embeds in the text of a document, in order and in offsets of the decoded text.
pub(crate) fn wiki_links(source: &Source<'_>) -> Vec<Link> {
    let body = source.body_start..source.text.len();
    // Most notes of other programs have none, and need not be parsed for it.
    if memmem::find(&source.text.as_bytes()[body.clone()], b"[[").is_none() {
        return Vec::new();
    }
    let markdown = ParserInput::of(&source.text);
    let mut finder = LinkFinder::new(&source.text, &markdown);
    finder.read(body, Definitions::Count);
    let mut links = finder.finish_in_text().0;
    links.retain(|link| link.form.is_wiki());
    links
}

/// Returns the tags and tasks of the text of a document.
pub(crate) fn marks(source: &Source<'_>) -> Marks {
    let markdown = ParserInput::of(&source.text);
    let body = source.body_start..source.text.len();
    let mut finder = LinkFinder::with_marks(&source.text, &markdown, body.start);
    finder.read(body, Definitions::Count);
    finder.finish(source).1
}

fn links_in(source: &Source<'_>, part: Range<usize>, comments: CommentLinks) -> Vec<Link> {
    let markdown = ParserInput::of(&source.text);
    let mut finder = LinkFinder::new(&source.text, &markdown);
    finder.read(part, Definitions::Count);
    if comments == CommentLinks::Read {
        finder.comments = CommentReader::default();
    }
    finder.finish(source).0
}

/// Returns the links in a string that is not a document.
pub(super) fn links_in_text(text: &str) -> Vec<Link> {
    let markdown = ParserInput::of(text);
    let mut finder = LinkFinder::new(text, &markdown);
    finder.read(0..text.len(), Definitions::Ignore);
    let mut links = finder.links;
    links.sort_by_key(|link| (link.span, link.path.span));
    links
}

/// Maps offsets in the decoded text to offsets in the bytes.
pub(super) fn to_raw(source: &Source<'_>, links: &mut [Link]) {
    if source.offsets.is_identity() {
        return;
    }
    links
        .iter_mut()
        .for_each(|link| link.map_spans(&source.offsets));
}

/// Whether link reference definitions count as links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Definitions {
    Count,
    Ignore,
}

/// Whether links in comments count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommentLinks {
    Skip,
    Read,
}

/// The link reference definitions of a text: where each is, and the destination that the parser reports.
pub(crate) type DefinitionList = Vec<(Range<usize>, String)>;

/// Returns the definitions that the parser found before the first event.
pub(crate) fn definitions(events: &OffsetIter<'_>) -> DefinitionList {
    let definitions = events.reference_definitions().iter();
    definitions
        .map(|(_, definition)| (definition.span.clone(), definition.dest.to_string()))
        .collect()
}

/// Collects links. All offsets are into the whole decoded text.
pub(crate) struct LinkFinder<'t> {
    text: &'t str,
    markdown: &'t ParserInput<'t>,
    /// Start of the Markdown being read.
    base: usize,
    /// Links and images that have started and not ended.
    open: Vec<OpenLink>,
    /// A part of one line that may contain a wiki link.
    run: Option<wiki::Run>,
    in_literal_block: bool,
    /// The lines of the HTML block being read.
    html: Vec<Range<usize>>,
    comments: CommentReader,
    links: Vec<Link>,
    /// The links that use a definition, by the start of the definition.
    uses: HashMap<usize, Vec<Span>>,
    /// The reader of tags and tasks, where they are wanted.
    marks: Option<MarkReader>,
}

/// A link or image whose text is being read.
struct OpenLink {
    /// The destination that the parser reported; `None` where it is not written after the text.
    destination: Option<String>,
    /// End of the text read so far.
    text_end: usize,
    /// Whether the text is itself the address.
    is_autolink: bool,
}

impl<'t> LinkFinder<'t> {
    fn new(text: &'t str, markdown: &'t ParserInput<'t>) -> Self {
        Self {
            text,
            markdown,
            base: 0,
            open: Vec::new(),
            run: None,
            in_literal_block: false,
            html: Vec::new(),
            comments: CommentReader::default(),
            links: Vec::new(),
            uses: HashMap::new(),
            marks: None,
        }
    }

    /// Creates a finder for the events of the text from `base` on, which also reads tags and tasks.
    pub(crate) fn with_marks(text: &'t str, markdown: &'t ParserInput<'t>, base: usize) -> Self {
        Self {
            base,
            marks: Some(MarkReader::default()),
            ..Self::new(text, markdown)
        }
    }

    fn read(&mut self, range: Range<usize>, wanted: Definitions) {
        self.base = range.start;
        let mut events = self.markdown.events(range);
        let found = match wanted {
            Definitions::Count => definitions(&events),
            Definitions::Ignore => Vec::new(),
        };
        let base = self.base;
        while let Some((event, range)) = events.next() {
            let range = range.start + base..range.end + base;
            self.event(&event, range, events.reference_definitions());
        }
        self.end(found);
    }

    /// Ends the reading of the events, and reads the definitions, whose places count from the first event.
    pub(crate) fn end(&mut self, definitions: DefinitionList) {
        self.end_run();
        let base = self.base;
        for (range, dest) in definitions {
            self.definition(range.start + base..range.end + base, &dest);
        }
    }

    /// Returns the links, in document order and in bytes of the source, with the tags and tasks, in offsets of the text.
    /// Those in comments do not count.
    pub(crate) fn finish(self, source: &Source<'_>) -> (Vec<Link>, Marks) {
        let (mut links, marks) = self.finish_in_text();
        to_raw(source, &mut links);
        (links, marks)
    }

    /// Returns what [`Self::finish`] does, with all offsets in the decoded text.
    fn finish_in_text(mut self) -> (Vec<Link>, Marks) {
        let comments = self.comments.finish();
        self.links
            .retain(|link| !is_inside(&comments, link.span.start));
        self.links.sort_by_key(|link| (link.span, link.path.span));
        let wiki = self.links.iter().filter(|link| link.form.is_wiki());
        let wiki: Vec<Range<usize>> = wiki.map(|link| link.span.range()).collect();
        // The brackets of a wiki link are those of a shortcut link too, if its name is a label.
        let is_hidden = |at: usize| is_inside(&comments, at) || is_inside(&wiki, at);
        for link in &mut self.links {
            link.uses.retain(|place| !is_hidden(place.start));
        }
        let marks = self.marks.map(|marks| marks.finish(self.text, is_hidden));
        (self.links, marks.unwrap_or_default())
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, range: Range<usize>, known: &RefDefs<'_>) {
        if let Some(marks) = &mut self.marks {
            marks.event(self.text, event, &range);
        }
        if let Event::End(TagEnd::Link | TagEnd::Image) = event {
            self.close(range);
            return;
        }
        let mut is_address = false;
        if let Some(open) = self.open.last_mut() {
            open.text_end = open.text_end.max(range.end);
            is_address = open.is_autolink;
        }
        match event {
            Event::Text(_) if self.in_literal_block || is_address => {}
            Event::Text(_) => {
                self.comments.text(self.text, range.clone());
                if let Some(marks) = &mut self.marks
                    && self.open.is_empty()
                {
                    marks.text(self.text, &range);
                }
                self.extend_run(range);
            }
            Event::Code(_) => self.pass_literal(range),
            Event::InlineHtml(tag) => {
                self.inline_html(tag, range.clone());
                self.pass_literal(range);
            }
            Event::Html(_) => self.html.push(range),
            Event::Start(
                Tag::Link {
                    link_type,
                    dest_url,
                    id,
                    ..
                }
                | Tag::Image {
                    link_type,
                    dest_url,
                    id,
                    ..
                },
            ) => {
                let is_inline = *link_type == LinkType::Inline;
                let is_autolink = matches!(link_type, LinkType::Autolink | LinkType::Email);
                // The brackets of `[[Note]]` around a defined label form a link, which must not end the run.
                if is_inline || is_autolink {
                    self.end_run();
                } else if let Some(definition) = known.get(id) {
                    // The parser leaves the brackets of `[label][]` out.
                    let is_short = *link_type == LinkType::Collapsed
                        && self.text[range.end..].starts_with("[]");
                    let end = range.end + 2 * usize::from(is_short);
                    let uses = self.uses.entry(self.base + definition.span.start);
                    uses.or_default().push(Span::new(range.start, end));
                }
                let is_image = matches!(event, Event::Start(Tag::Image { .. }));
                self.open.push(OpenLink {
                    destination: is_inline.then(|| dest_url.to_string()),
                    text_end: range.start + 1 + usize::from(is_image),
                    is_autolink,
                });
            }
            Event::Start(Tag::Emphasis | Tag::Strong)
            | Event::End(TagEnd::Emphasis | TagEnd::Strong) => {}
            _ => {
                self.end_run();
                if !matches!(event, Event::SoftBreak | Event::HardBreak) {
                    self.comments.border();
                }
                match event {
                    Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                        self.in_literal_block = true;
                    }
                    Event::End(TagEnd::CodeBlock) => self.in_literal_block = false,
                    Event::End(TagEnd::HtmlBlock) => {
                        self.in_literal_block = false;
                        self.html_block();
                    }
                    _ => {}
                }
            }
        }
    }

    /// Ends the link or image at `range`.
    fn close(&mut self, range: Range<usize>) {
        let open = self.open.pop();
        if let Some(outer) = self.open.last_mut() {
            outer.text_end = outer.text_end.max(range.end);
        }
        let Some((dest, text_end)) =
            open.and_then(|open| Some((open.destination?, open.text_end.min(range.end))))
        else {
            return;
        };
        self.end_run();
        let form = if self.text[range.clone()].starts_with('!') {
            LinkForm::Image
        } else {
            LinkForm::Inline
        };
        // Between the last node of the text and its bracket there can only be white space.
        let behind = self.text[text_end..range.end]
            .find("](")
            .map(|at| text_end + at + 2);
        if let Some(destination) = behind
            .and_then(|start| Destination::locate(self.text, start..range.end, &dest))
            .filter(|_| !destination::is_external(&dest))
        {
            self.links.extend(destination.link(self.text, form, range));
        }
    }

    /// Reads the link reference definition at `range`, or what looks like one.
    fn definition(&mut self, range: Range<usize>, dest: &str) {
        let Some(start) = after_label(self.text, &range) else {
            return;
        };
        let Some(destination) = Destination::locate(self.text, start..range.end, dest) else {
            return;
        };
        // Footnotes, and wiki links after a label, are text to their readers; to plain CommonMark they are definitions.
        let is_footnote = self.text[range.start..].starts_with("[^");
        if is_footnote || dest.starts_with('[') {
            let text_start = destination.span.start - usize::from(destination.in_angle_brackets);
            self.read(text_start..range.end, Definitions::Ignore);
        } else if !destination::is_external(dest) {
            let uses = self.uses.remove(&range.start).unwrap_or_default();
            let link = destination.link(self.text, LinkForm::Definition, range);
            self.links.extend(link.map(|link| Link { uses, ..link }));
        }
    }

    /// Reads an inline HTML tag.
    fn inline_html(&mut self, tag: &str, range: Range<usize>) {
        if self.text[range.clone()] == *tag {
            self.html_lines(&[range]);
            return;
        }
        // Markers of the quotes that contain the tag come between its lines.
        let mut from = range.start;
        for address in html::addresses(tag) {
            let found = self.text[from..range.end].find(&tag[address.span.clone()]);
            let Some(start) = found.map(|at| from + at) else {
                continue;
            };
            from = start + address.span.len();
            self.address(start..from, address.quote, range.clone());
        }
    }

    /// Reads an HTML block, whose lines were collected.
    fn html_block(&mut self) {
        let lines = std::mem::take(&mut self.html);
        self.html_lines(&lines);
    }

    /// Reads the addresses in the HTML of `lines`. Quote and list markers may come between the lines.
    fn html_lines(&mut self, lines: &[Range<usize>]) {
        let mut html = String::new();
        let mut starts = Vec::with_capacity(lines.len());
        for line in lines {
            starts.push(html.len());
            html.push_str(&self.text[line.clone()]);
        }
        for address in html::addresses(&html) {
            let number = starts.partition_point(|start| *start <= address.span.start);
            let Some(number) = number.checked_sub(1) else {
                continue;
            };
            let (line, start) = (lines[number].clone(), starts[number]);
            let at = |offset: usize| line.start + offset - start;
            // An address that continues on the next line is not usable by any reader.
            if at(address.span.end) <= line.end {
                let span = at(address.span.start)..at(address.span.end);
                self.address(span.clone(), address.quote, span);
            }
        }
    }

    /// Adds the address at `span` in an HTML tag that covers `range` or more.
    fn address(&mut self, span: Range<usize>, quote: Option<char>, range: Range<usize>) {
        let destination = Destination {
            span,
            in_angle_brackets: false,
            escapes: Escapes::Html,
        };
        if !destination::is_external(&destination.unescaped(self.text)) {
            let link = destination.link(self.text, LinkForm::Html, range);
            let enclosure = Enclosure::Attribute(quote);
            self.links
                .extend(link.map(|link| Link { enclosure, ..link }));
        }
    }

    fn extend_run(&mut self, range: Range<usize>) {
        if let Some(run) = &mut self.run {
            run.end = run.end.max(range.end);
            return;
        }
        // The event of an escaped character starts after its backslash.
        let is_escaped = range.start > self.base && self.text[..range.start].ends_with('\\');
        self.run = Some(wiki::Run {
            start: range.start - usize::from(is_escaped),
            end: range.end,
            literals: Vec::new(),
        });
    }

    /// Passes over a code span or an HTML tag. Its brackets are not syntax; a wiki link that starts before it may end
    /// after it.
    fn pass_literal(&mut self, range: Range<usize>) {
        if self.text[range.clone()].contains(['\n', '\r']) {
            self.end_run();
        } else if let Some(run) = &mut self.run {
            run.end = run.end.max(range.end);
            run.literals.push(range);
        }
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            wiki::scan(self.text, &run, &mut self.links);
        }
    }
}

/// Returns the start of the text after the label and the colon of a definition.
fn after_label(text: &str, range: &Range<usize>) -> Option<usize> {
    let bytes = &text.as_bytes()[..range.end];
    let mut at = range.start + 1;
    while *bytes.get(at)? != b']' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (*bytes.get(at + 1)? == b':').then_some(at + 2)
}

impl Destination {
    /// Creates the link to this destination, or `None` if it is empty.
    fn link(&self, text: &str, form: LinkForm, range: Range<usize>) -> Option<Link> {
        let (path, fragment) = self.parts(text);
        (!path.text.is_empty() || fragment.is_some()).then(|| Link {
            form,
            span: Span::new(range.start, range.end),
            path,
            fragment,
            in_angle_brackets: self.in_angle_brackets,
            enclosure: Enclosure::Text,
            uses: Vec::new(),
        })
    }
}
