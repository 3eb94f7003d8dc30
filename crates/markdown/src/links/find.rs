//! Finds the links of a document in the events of the parser.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::{
    Link, LinkForm,
    destination::{self, Destination},
    wiki,
};
use crate::{Document, Source, Span, document::Stretch, options};

/// All links of a document that stay inside the folder, in document order.
///
/// Links that wiki brackets make are looked for in text only, never in code, HTML or front matter.
#[must_use]
pub fn links(source: &Source<'_>) -> Vec<Link> {
    links_in(source, source.body_start..source.text.len())
}

/// All links that touch `span`, and perhaps more, of the document `source`, whose sections are `document`. What is far
/// from there need not be read.
#[must_use]
pub fn links_near(source: &Source<'_>, document: &Document, span: Span) -> Vec<Link> {
    match Stretch::around(source, document, span) {
        Some(stretch) => links_in(source, stretch.span.range()),
        None => links(source),
    }
}

fn links_in(source: &Source<'_>, part: Range<usize>) -> Vec<Link> {
    let mut finder = Finder::new(&source.text, part.start);
    finder.read(part, Definitions::Count);
    let mut links = finder.links;
    links.sort_by_key(|link| (link.span, link.path.span));
    if !source.offsets.is_identity() {
        for link in &mut links {
            let fragment = link.fragment.as_mut().map(|fragment| &mut fragment.span);
            for span in [&mut link.span, &mut link.path.span]
                .into_iter()
                .chain(fragment)
            {
                *span = source.offsets.span_to_raw(*span);
            }
        }
    }
    links
}

/// Whether the link reference definitions of a text are links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Definitions {
    Count,
    Ignore,
}

/// Collects links. All offsets are into the whole decoded text.
struct Finder<'t> {
    text: &'t str,
    /// Where the Markdown that is being read starts.
    base: usize,
    /// Links and images that have started and not ended.
    open: Vec<Open>,
    /// A stretch of one line in which a wiki link may stand.
    run: Option<wiki::Run>,
    in_literal_block: bool,
    links: Vec<Link>,
}

/// A link or image whose text is being read.
struct Open {
    /// What the parser says the destination is; `None` where it does not stand behind the text.
    destination: Option<String>,
    /// Where the text ends, as far as it was read.
    text_end: usize,
    /// Whether the text is an address.
    is_autolink: bool,
}

impl<'t> Finder<'t> {
    fn new(text: &'t str, base: usize) -> Self {
        Self {
            text,
            base,
            open: Vec::new(),
            run: None,
            in_literal_block: false,
            links: Vec::new(),
        }
    }

    fn read(&mut self, range: Range<usize>, definitions: Definitions) {
        self.base = range.start;
        let events = options::events(&self.text[range]);
        let found: Vec<(Range<usize>, String)> = match definitions {
            Definitions::Count => events
                .reference_definitions()
                .iter()
                .map(|(_, definition)| (definition.span.clone(), definition.dest.to_string()))
                .collect(),
            Definitions::Ignore => Vec::new(),
        };
        let base = self.base;
        for (event, range) in events {
            self.event(&event, range.start + base..range.end + base);
        }
        self.end_run();
        for (range, dest) in found {
            self.definition(range.start + base..range.end + base, &dest);
        }
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
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
            Event::Text(_) => self.extend_run(range),
            Event::Code(_) | Event::InlineHtml(_) => self.pass_literal(range),
            Event::Start(
                Tag::Link {
                    link_type,
                    dest_url,
                    ..
                }
                | Tag::Image {
                    link_type,
                    dest_url,
                    ..
                },
            ) => {
                let is_inline = *link_type == LinkType::Inline;
                let is_autolink = matches!(link_type, LinkType::Autolink | LinkType::Email);
                // The brackets of `[[Note]]` around a label that is defined make a link, which must not end the run.
                if is_inline || is_autolink {
                    self.end_run();
                }
                let is_image = matches!(event, Event::Start(Tag::Image { .. }));
                self.open.push(Open {
                    destination: is_inline.then(|| dest_url.to_string()),
                    text_end: range.start + 1 + usize::from(is_image),
                    is_autolink,
                });
            }
            Event::Start(Tag::Emphasis | Tag::Strong)
            | Event::End(TagEnd::Emphasis | TagEnd::Strong) => {}
            _ => {
                self.end_run();
                match event {
                    Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                        self.in_literal_block = true;
                    }
                    Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock) => {
                        self.in_literal_block = false;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Ends a link or image that takes up `range`.
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
        // Between the last node of the text and its bracket only white space can stand.
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

    /// A link reference definition that takes up `range`, or what looks like one.
    fn definition(&mut self, range: Range<usize>, dest: &str) {
        let Some(start) = after_label(self.text, &range) else {
            return;
        };
        let Some(destination) = Destination::locate(self.text, start..range.end, dest) else {
            return;
        };
        // Footnotes, and wiki links behind a label, are text to their readers; to plain CommonMark they are definitions.
        let is_footnote = self.text[range.start..].starts_with("[^");
        if is_footnote || dest.starts_with('[') {
            let text_start = destination.span.start - usize::from(destination.in_angle_brackets);
            self.read(text_start..range.end, Definitions::Ignore);
        } else if !destination::is_external(dest) {
            self.links
                .extend(destination.link(self.text, LinkForm::Definition, range));
        }
    }

    fn extend_run(&mut self, range: Range<usize>) {
        if let Some(run) = &mut self.run {
            run.end = run.end.max(range.end);
            return;
        }
        // An escaped character starts behind its backslash.
        let is_escaped = range.start > self.base && self.text[..range.start].ends_with('\\');
        self.run = Some(wiki::Run {
            start: range.start - usize::from(is_escaped),
            end: range.end,
            literals: Vec::new(),
        });
    }

    /// A code span or an HTML tag. Its brackets say nothing; a wiki link that starts before it may end behind it.
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

/// Where the text behind the label and the colon of a definition starts.
fn after_label(text: &str, range: &Range<usize>) -> Option<usize> {
    let bytes = &text.as_bytes()[..range.end];
    let mut at = range.start + 1;
    while *bytes.get(at)? != b']' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (*bytes.get(at + 1)? == b':').then_some(at + 2)
}

impl Destination {
    /// The link with this destination, or `None` when it says nothing.
    fn link(&self, text: &str, form: LinkForm, range: Range<usize>) -> Option<Link> {
        let (path, fragment) = self.parts(text);
        (!path.text.is_empty() || fragment.is_some()).then(|| Link {
            form,
            span: Span::new(range.start, range.end),
            path,
            fragment,
            in_angle_brackets: self.in_angle_brackets,
        })
    }
}
