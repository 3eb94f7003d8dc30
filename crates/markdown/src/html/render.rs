//! Turns the events of the parser into elements.

use std::ops::Range;

use memchr::memchr;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Tag, TagEnd};

use super::{
    HrefResolution, HtmlOptions, LinkTarget, PageTargets, RenderedHtml,
    address::{LinkAddress, is_on_page_server},
    footnotes::Footnotes,
    image::ImageText,
    section_ids::SectionIds,
    writer::{Attribute, AttributeList, DIR_AUTO, Element, HtmlWriter},
};
use crate::{
    Document, Link, LinkForm, Source,
    links::{alias, decoded_parts, wiki_links},
    note::cut_text,
    options::ParserInput,
};

/// How deep quotes, lists and emphasis may nest. Deeper ones are flattened: browsers compute layout recursively, and
/// nobody reads such a note. Paragraphs, code and tables, which cannot contain themselves, add at most ten levels.
const MAX_DEPTH: usize = 64;
/// The longest name of a language or a callout that becomes a class.
const MAX_CLASS_CHARS: usize = 32;
/// The relation of links to other servers. They learn nothing about the page.
const EXTERNAL: (Attribute, &str) = (Attribute::Rel, "noopener noreferrer nofollow");

/// Renders the Markdown of `source`.
pub(super) fn render(
    source: &Source<'_>,
    document: &Document,
    targets: &dyn PageTargets,
    options: HtmlOptions,
) -> RenderedHtml {
    let base = source.body_start;
    let markdown = ParserInput::of(&source.text);
    let mut renderer = HtmlRenderer {
        text: &source.text,
        targets,
        heading_shift: options.heading_shift,
        writer: HtmlWriter::new(options.max_bytes, source.text.len() - base),
        open: Vec::new(),
        block_ends: Vec::new(),
        wiki: wiki_links(source),
        next_wiki: 0,
        passed: 0..0,
        image: None,
        footnotes: Footnotes::default(),
        sections: SectionIds::new(document.sections(), targets),
        literal: None,
        table: TableState::default(),
    };
    for (event, range) in markdown.display_events(base..source.text.len()) {
        let range = base + range.start..base + range.end;
        if renderer.open.is_empty() && matches!(event, Event::Start(_) | Event::Rule) {
            renderer.missed_sections(source.offsets.to_raw(range.start));
        }
        if let Event::Start(Tag::Heading { level, .. }) = event {
            let id = renderer
                .sections
                .heading(source.offsets.to_raw(range.start));
            renderer.heading(level, id.as_deref(), range);
        } else {
            renderer.event(event, range);
        }
        if renderer.writer.is_truncated() {
            break;
        }
    }
    renderer.missed_sections(usize::MAX);
    let (html, is_truncated) = renderer.writer.finish();
    RenderedHtml { html, is_truncated }
}

/// Writes the elements of one note. All offsets are into the whole decoded text.
struct HtmlRenderer<'a> {
    text: &'a str,
    targets: &'a dyn PageTargets,
    heading_shift: u8,
    writer: HtmlWriter,
    /// What has started and not ended, outermost first.
    open: Vec<OpenConstruct>,
    /// The ends of those that are blocks.
    block_ends: Vec<usize>,
    /// The wiki links, in order.
    wiki: Vec<Link>,
    next_wiki: usize,
    /// The wiki link that was written last. Inline events inside it are not.
    passed: Range<usize>,
    image: Option<ImageText>,
    footnotes: Footnotes,
    sections: SectionIds<'a>,
    literal: Option<LiteralBlock>,
    table: TableState,
}

/// A construct of Markdown, which is any number of elements.
struct OpenConstruct {
    /// Number of elements that were open before it.
    depth: usize,
    is_block: bool,
    /// Whether it is too deep to be shown as what it is.
    is_flat: bool,
    /// A remark on a link, to follow its text.
    remark: Option<&'static str>,
}

/// A block whose text is not Markdown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LiteralBlock {
    Shown,
    /// An HTML block that was shown as something else.
    Replaced,
}

/// The table being written. Tables do not nest.
#[derive(Default)]
struct TableState {
    alignments: Vec<Alignment>,
    column: usize,
    is_head: bool,
}

impl HtmlRenderer<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        if let Some(image) = &mut self.image {
            if image.event(&event)
                && let Some(image) = self.image.take()
            {
                self.end_image(image);
            }
            return;
        }
        let is_passed = self.passed.start <= range.start && range.end <= self.passed.end;
        if is_passed && !self.passed.is_empty() && is_inline(&event) {
            return;
        }
        match event {
            Event::Text(text) if self.literal.is_some() => self.literal_text(&text),
            Event::Html(text) => self.literal_text(&text),
            Event::Text(text) => self.inline_text(&text, range),
            Event::Code(text) => self.writer.element(Element::Code, &[], &text),
            Event::InlineHtml(text) if is_line_break(&text) => {
                self.writer.void(Element::LineBreak, &[]);
            }
            Event::InlineHtml(text) => {
                let class = [(Attribute::Class, "raw-html")];
                self.writer.element(Element::Code, &class, &text);
            }
            Event::SoftBreak => self.writer.text("\n"),
            Event::HardBreak => {
                self.writer.void(Element::LineBreak, &[]);
                self.writer.text("\n");
            }
            Event::Rule => self.writer.void(Element::HorizontalRule, &[]),
            Event::TaskListMarker(is_done) => self.check_box(is_done),
            Event::FootnoteReference(label) => self.footnote_reference(&label),
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            // The parser is not asked for these.
            Event::InlineMath(text) | Event::DisplayMath(text) => self.writer.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let block = Some(range.end);
        match tag {
            Tag::Paragraph => self.leaf(block, Element::Paragraph, &[DIR_AUTO]),
            Tag::BlockQuote(_) => {
                let class = callout_class(&self.text[range.start..]);
                let class = class.as_deref().map(|class| (Attribute::Class, class));
                let attributes: Vec<_> = class.into_iter().chain([DIR_AUTO]).collect();
                self.nested(block, Element::BlockQuote, &attributes);
            }
            Tag::CodeBlock(kind) => {
                self.leaf(block, Element::Preformatted, &[(Attribute::Dir, "ltr")]);
                let class = language_class(&kind);
                let class = class.as_deref().map(|class| (Attribute::Class, class));
                self.writer.open(Element::Code, class.as_slice());
                self.literal = Some(LiteralBlock::Shown);
            }
            Tag::HtmlBlock => self.html_block(range),
            Tag::List(first) => self.list(block, first),
            Tag::Item => self.item(block),
            Tag::FootnoteDefinition(label) => self.footnote_definition(block, &label),
            Tag::Table(alignments) => {
                self.table.alignments = alignments;
                let region = [
                    (Attribute::Class, "table"),
                    (Attribute::Role, "region"),
                    (Attribute::TabIndex, "0"),
                    (Attribute::AriaLabel, "Table"),
                ];
                self.leaf(block, Element::Division, &region);
                self.writer.open(Element::Table, &[]);
            }
            Tag::TableHead => {
                self.table.is_head = true;
                self.table.column = 0;
                self.leaf(block, Element::TableHead, &[]);
                self.writer.open(Element::TableRow, &[]);
            }
            Tag::TableRow => {
                self.table.column = 0;
                self.leaf(block, Element::TableRow, &[]);
            }
            Tag::TableCell => self.table_cell(block),
            Tag::Emphasis => self.nested(None, Element::Emphasis, &[]),
            Tag::Strong => self.nested(None, Element::Strong, &[]),
            Tag::Strikethrough => self.nested(None, Element::Deletion, &[]),
            Tag::Link {
                link_type,
                dest_url,
                title,
                ..
            } => self.link(link_type, &dest_url, &title),
            Tag::Image { dest_url, .. } => self.image = Some(ImageText::new(&dest_url)),
            // Headings come with their ids; the parser is not asked for the others.
            Tag::Heading { .. }
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => self.construct(block),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        let Some(ended) = self.open.pop() else {
            return;
        };
        if let Some(remark) = ended.remark {
            let class = [(Attribute::Class, "link-remark")];
            self.writer.element(Element::Span, &class, remark);
        }
        self.writer.close_to(ended.depth);
        match tag {
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.literal = None,
            TagEnd::TableHead => {
                self.table.is_head = false;
                self.writer.open(Element::TableBody, &[]);
            }
            _ => {}
        }
        if ended.is_block {
            self.block_ends.pop();
            self.writer.text("\n");
        }
    }

    /// Starts a construct, and writes nothing.
    fn construct(&mut self, block_end: Option<usize>) {
        self.block_ends.extend(block_end);
        self.open.push(OpenConstruct {
            depth: self.writer.depth(),
            is_block: block_end.is_some(),
            is_flat: false,
            remark: None,
        });
    }

    /// Starts a construct that cannot contain itself.
    fn leaf(&mut self, block_end: Option<usize>, element: Element, attributes: AttributeList<'_>) {
        self.construct(block_end);
        self.writer.open(element, attributes);
    }

    /// Starts a construct that can contain itself, if it is not too deep.
    fn nested(&mut self, block: Option<usize>, element: Element, attributes: AttributeList<'_>) {
        self.construct(block);
        if self.writer.depth() < MAX_DEPTH {
            self.writer.open(element, attributes);
        }
    }

    fn heading(&mut self, level: HeadingLevel, id: Option<&str>, range: Range<usize>) {
        const ELEMENTS: [Element; 6] = [
            Element::Heading1,
            Element::Heading2,
            Element::Heading3,
            Element::Heading4,
            Element::Heading5,
            Element::Heading6,
        ];
        let level = usize::from(level as u8) + usize::from(self.heading_shift);
        let deep = (level > ELEMENTS.len()).then(|| level.to_string());
        let deep = deep.as_deref().map(|level| (Attribute::AriaLevel, level));
        let id = id.map(|id| (Attribute::Id, id));
        let attributes: Vec<_> = id.into_iter().chain(deep).chain([DIR_AUTO]).collect();
        let element = ELEMENTS[level.min(ELEMENTS.len()) - 1];
        self.leaf(Some(range.end), element, &attributes);
    }

    /// Writes the anchors of sections before `offset` of the bytes, whose headings are not on the page.
    fn missed_sections(&mut self, offset: usize) {
        for id in self.sections.missed_before(offset) {
            self.writer
                .element(Element::Span, &[(Attribute::Id, &id)], "");
        }
    }

    fn list(&mut self, block: Option<usize>, first: Option<u64>) {
        self.construct(block);
        // Room for its items, too: a list contains nothing else.
        let is_flat = self.writer.depth() + 2 > MAX_DEPTH;
        if let Some(open) = self.open.last_mut() {
            open.is_flat = is_flat;
        }
        if is_flat {
            return;
        }
        match first {
            None => self.writer.open(Element::UnorderedList, &[]),
            Some(1) => self.writer.open(Element::OrderedList, &[]),
            Some(first) => {
                let start = [(Attribute::Start, first.to_string())];
                let start = start
                    .each_ref()
                    .map(|(name, value)| (*name, value.as_str()));
                self.writer.open(Element::OrderedList, &start);
            }
        }
    }

    fn item(&mut self, block: Option<usize>) {
        let is_flat = self.open.last().is_some_and(|list| list.is_flat);
        self.construct(block);
        if is_flat {
            self.writer.void(Element::LineBreak, &[]);
        } else {
            self.writer.open(Element::ListItem, &[DIR_AUTO]);
        }
    }

    fn check_box(&mut self, is_done: bool) {
        let label = if is_done { "Done" } else { "Not done" };
        let checked = is_done.then_some((Attribute::Checked, ""));
        let attributes: Vec<_> = [
            (Attribute::Type, "checkbox"),
            (Attribute::Disabled, ""),
            (Attribute::AriaLabel, label),
        ]
        .into_iter()
        .chain(checked)
        .collect();
        self.writer.void(Element::Input, &attributes);
        self.writer.text(" ");
    }

    fn table_cell(&mut self, block: Option<usize>) {
        let alignment = self.table.alignments.get(self.table.column);
        self.table.column += 1;
        let class = match alignment {
            Some(Alignment::Left) => Some("align-left"),
            Some(Alignment::Center) => Some("align-center"),
            Some(Alignment::Right) => Some("align-right"),
            Some(Alignment::None) | None => None,
        };
        let class = class.map(|class| (Attribute::Class, class));
        let (element, scope) = if self.table.is_head {
            (Element::TableHeader, Some((Attribute::Scope, "col")))
        } else {
            (Element::TableCell, None)
        };
        let attributes: Vec<_> = scope.into_iter().chain(class).chain([DIR_AUTO]).collect();
        self.leaf(block, element, &attributes);
    }

    fn html_block(&mut self, range: Range<usize>) {
        if is_line_break(self.text[range.clone()].trim_ascii()) {
            self.construct(Some(range.end));
            self.writer.void(Element::LineBreak, &[]);
            self.literal = Some(LiteralBlock::Replaced);
            return;
        }
        let attributes = [(Attribute::Class, "raw-html"), (Attribute::Dir, "ltr")];
        self.leaf(Some(range.end), Element::Preformatted, &attributes);
        self.writer.open(Element::Code, &[]);
        self.literal = Some(LiteralBlock::Shown);
    }

    /// Writes text that is not Markdown. Its lines may end in CRLF.
    fn literal_text(&mut self, text: &str) {
        if self.literal != Some(LiteralBlock::Replaced) {
            text.split('\r').for_each(|part| self.writer.text(part));
        }
    }

    fn footnote_reference(&mut self, label: &str) {
        let anchors = self.footnotes.refer(label);
        let depth = self.writer.depth();
        self.writer
            .open(Element::Superscript, &[(Attribute::Id, &anchors.reference)]);
        if self.writer.is_open(Element::Anchor) {
            self.writer.text(&anchors.number);
        } else {
            let attributes = [
                (Attribute::Href, format!("#{}", anchors.definition)),
                (Attribute::AriaLabel, format!("Footnote {}", anchors.number)),
            ];
            let attributes = attributes
                .each_ref()
                .map(|(name, value)| (*name, value.as_str()));
            self.writer
                .element(Element::Anchor, &attributes, &anchors.number);
        }
        self.writer.close_to(depth);
    }

    fn footnote_definition(&mut self, block: Option<usize>, label: &str) {
        let anchors = self.footnotes.define(label);
        let id = (!anchors.is_defined).then_some((Attribute::Id, anchors.definition.as_str()));
        let attributes: Vec<_> = [(Attribute::Class, "footnote"), (Attribute::Role, "note")]
            .into_iter()
            .chain(id)
            .collect();
        self.nested(block, Element::Division, &attributes);
        let depth = self.writer.depth();
        self.writer.open(Element::Superscript, &[]);
        if anchors.is_referenced {
            let label = format!("Footnote {}, back to the text", anchors.number);
            let href = format!("#{}", anchors.reference);
            let attributes = [
                (Attribute::Href, href.as_str()),
                (Attribute::AriaLabel, label.as_str()),
            ];
            self.writer
                .element(Element::Anchor, &attributes, &anchors.number);
        } else {
            self.writer.text(&anchors.number);
        }
        self.writer.close_to(depth);
        self.writer.text(" ");
    }

    fn end_image(&mut self, image: ImageText) {
        let (text, destination) = image.finish();
        let label = match text.trim() {
            "" => "Image".to_owned(),
            text => format!("Image: {text}"),
        };
        let depth = self.writer.depth();
        let attributes = [
            (Attribute::Class, "image"),
            (Attribute::Role, "img"),
            (Attribute::AriaLabel, label.as_str()),
        ];
        self.writer.open(Element::Span, &attributes);
        self.writer.text(&text);
        if !text.is_empty() {
            self.writer.text(" ");
        }
        let class = [(Attribute::Class, "image-source")];
        self.writer
            .element(Element::Span, &class, &shortened(&destination));
        self.writer.close_to(depth);
    }

    fn link(&mut self, link_type: LinkType, destination: &str, title: &str) {
        self.construct(None);
        // HTML has no links in links; CommonMark has, where the inner one is written between angle brackets.
        if self.writer.is_open(Element::Anchor) {
            return;
        }
        let mailbox = (link_type == LinkType::Email).then(|| format!("mailto:{destination}"));
        let destination = mailbox.as_deref().unwrap_or(destination);
        match LinkAddress::of(destination) {
            LinkAddress::Web(address) => {
                let title = Some((Attribute::Title, title)).filter(|(_, title)| !title.is_empty());
                let attributes: Vec<_> = [(Attribute::Href, address.as_ref()), EXTERNAL]
                    .into_iter()
                    .chain(title)
                    .collect();
                self.writer.open(Element::Anchor, &attributes);
            }
            LinkAddress::Inside => {
                let (path, fragment) = decoded_parts(destination);
                if path.is_empty() && fragment.is_none() {
                    return;
                }
                let target = LinkTarget {
                    form: LinkForm::Inline,
                    path: &path,
                    fragment: fragment.as_deref(),
                };
                let remark = self.open_target(&target);
                if let Some(open) = self.open.last_mut() {
                    open.remark = remark;
                }
            }
            LinkAddress::Refused => self.open_refused(destination),
        }
    }

    /// Opens the element of a link to `target`. Returns the remark that follows its text.
    fn open_target(&mut self, target: &LinkTarget<'_>) -> Option<&'static str> {
        let name = match target.fragment {
            Some(fragment) => format!("{}#{fragment}", target.path),
            None => target.path.to_owned(),
        };
        let (class, title, remark) = match self.targets.href(target) {
            HrefResolution::Href(href) if is_on_page_server(&href) => {
                let class = match target.form {
                    LinkForm::WikiEmbed => "note-link embed",
                    _ => "note-link",
                };
                let attributes = [(Attribute::Href, href.as_str()), (Attribute::Class, class)];
                self.writer.open(Element::Anchor, &attributes);
                return None;
            }
            HrefResolution::Href(_) => {
                self.open_refused(&name);
                return None;
            }
            HrefResolution::Broken => ("broken-link", "Not found:", " (broken link)"),
            HrefResolution::Ambiguous => {
                ("ambiguous-link", "Several matches:", " (ambiguous link)")
            }
        };
        let title = format!("{title} {}", shortened(&name));
        let attributes = [
            (Attribute::Class, class),
            (Attribute::Title, title.as_str()),
        ];
        self.writer.open(Element::Span, &attributes);
        Some(remark)
    }

    /// Opens the element of a link that leads nowhere because of its destination.
    fn open_refused(&mut self, destination: &str) {
        let title = format!("Not followed: {}", shortened(destination));
        let attributes = [
            (Attribute::Class, "refused-link"),
            (Attribute::Title, title.as_str()),
        ];
        self.writer.open(Element::Span, &attributes);
    }

    /// Writes text in which there may be wiki links.
    fn inline_text(&mut self, text: &str, range: Range<usize>) {
        let is_behind_link = self.passed.start <= range.start && range.start < self.passed.end;
        if !is_behind_link && self.next_wiki_link(&range).is_none() {
            self.writer.text(text);
            return;
        }
        // An entity or an escaped character is not part of two things.
        if self.text.get(range.clone()) != Some(text) {
            if !is_behind_link {
                self.writer.text(text);
            }
            return;
        }
        let text = self.text;
        let mut rest = range;
        if is_behind_link {
            rest.start = self.passed.end.min(rest.end);
        }
        while let Some(link) = self.next_wiki_link(&rest) {
            self.next_wiki += 1;
            if self.may_write(&link) {
                self.writer.text(&text[rest.start..link.start]);
                self.wiki_link(self.next_wiki - 1);
                rest.start = link.end.min(rest.end);
                self.passed = link;
            }
        }
        self.writer.text(&text[rest]);
    }

    /// Returns where the next wiki link is, if it starts in `range`.
    fn next_wiki_link(&mut self, range: &Range<usize>) -> Option<Range<usize>> {
        while let Some(link) = self.wiki.get(self.next_wiki)
            && link.span.start < range.start
        {
            self.next_wiki += 1;
        }
        let link = self.wiki.get(self.next_wiki)?;
        (link.span.start < range.end).then(|| link.span.range())
    }

    /// Returns whether a wiki link can be written here: not in another link, and not beyond the end of the block, such as
    /// a cell of a table.
    fn may_write(&self, link: &Range<usize>) -> bool {
        let block_end = self.block_ends.last();
        block_end.is_none_or(|end| link.end <= *end) && !self.writer.is_open(Element::Anchor)
    }

    fn wiki_link(&mut self, index: usize) {
        let Some(link) = self.wiki.get(index) else {
            return;
        };
        // In an embed, it is a size.
        let alias = alias(self.text, link).filter(|_| link.form == LinkForm::Wiki);
        let name = alias.map_or_else(|| link.target(), str::to_owned);
        let (form, path, fragment) = (link.form, link.path.text.clone(), link.fragment.clone());
        let target = LinkTarget {
            form,
            path: &path,
            fragment: fragment.as_ref().map(|fragment| fragment.text.as_str()),
        };
        let depth = self.writer.depth();
        let remark = self.open_target(&target);
        self.writer.text(&name);
        if let Some(remark) = remark {
            let class = [(Attribute::Class, "link-remark")];
            self.writer.element(Element::Span, &class, remark);
        }
        self.writer.close_to(depth);
    }
}

/// Returns whether an event is part of a line of text.
fn is_inline(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ),
        Event::End(tag) => matches!(
            tag,
            TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Link
                | TagEnd::Image
        ),
        Event::Text(_) | Event::Code(_) | Event::InlineHtml(_) | Event::FootnoteReference(_) => {
            true
        }
        _ => false,
    }
}

/// Returns whether HTML is a line break without attributes.
fn is_line_break(html: &str) -> bool {
    let name = html
        .strip_prefix('<')
        .and_then(|html| html.strip_suffix('>'));
    name.map(|name| name.trim_end_matches([' ', '/']))
        .is_some_and(|name| name.eq_ignore_ascii_case("br"))
}

/// Returns the class for the language of a code block.
fn language_class(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else {
        return None;
    };
    let language = info.split([' ', '\t', ',']).next()?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-');
    let is_class = (1..=MAX_CLASS_CHARS).contains(&language.len()) && language.bytes().all(is_name);
    is_class.then(|| format!("language-{language}"))
}

/// Returns the class of the quote at the start of `text` if its first line starts with `[!kind]`, as callouts do.
fn callout_class(text: &str) -> Option<String> {
    let bytes = text.as_bytes().strip_prefix(b">")?;
    let first = bytes.strip_prefix(b" ").unwrap_or(bytes);
    let kind = first.strip_prefix(b"[!")?;
    let end = memchr(b']', &kind[..kind.len().min(MAX_CLASS_CHARS + 1)])?;
    let kind = str::from_utf8(&kind[..end]).ok()?;
    let is_kind = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-';
    let is_class = !kind.is_empty() && kind.bytes().all(is_kind);
    is_class.then(|| format!("callout callout-{}", kind.to_ascii_lowercase()))
}

/// Returns the part of a destination that is shown to people.
fn shortened(destination: &str) -> String {
    let cut = cut_text(destination);
    if cut.truncated {
        cut.text + "…"
    } else {
        cut.text
    }
}
