//! The quotations of a draft: block quotations and text in quotation marks, each with the citations near it.

mod citations;
mod marks;

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use self::citations::{CitationFinder, is_dash};
use crate::{
    Source, Span,
    comparison::{ReadText, TextPiece, has_no_spaces},
    options::ParserInput,
    trim,
};

/// The most quotations that are read from one draft.
pub const MAX_QUOTATIONS: usize = 500;
/// The longest quotation that is read, in bytes. A longer one is a copy of a document, not a quotation from it.
pub const MAX_QUOTATION_BYTES: usize = 32 << 10;
/// The fewest words of text in quotation marks that count as a quotation: fewer are mostly names and titles.
const MIN_WORDS: usize = 3;
/// The same for scripts without spaces, in characters.
const MIN_CHARACTERS: usize = 12;
/// The longest text around the citations of a paragraph that has nothing else to say, such as `Source: plan.md`.
const MAX_AROUND_CITATION: usize = 16;

/// The quotations of a draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotationList {
    /// The quotations, in order.
    pub quotations: Vec<Quotation>,
    /// Number of quotations beyond [`MAX_QUOTATIONS`].
    pub left_out: usize,
    /// Number of quotations longer than [`MAX_QUOTATION_BYTES`].
    pub too_long: usize,
}

/// A passage that a draft quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotation {
    /// Its bytes in the draft, with the marks around it.
    pub span: Span,
    /// How it is marked as a quotation.
    pub form: QuotationForm,
    /// What is quoted.
    pub quoted: QuotedText,
    /// The same with the line that looks like an attribution, if there is one: in a dialogue it may be part of what is
    /// quoted.
    pub with_attribution: Option<QuotedText>,
    /// The places that the draft says it is from.
    pub citations: Vec<Citation>,
}

/// How a passage is marked as a quotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotationForm {
    /// As a block quotation.
    Block,
    /// With quotation marks.
    Marks,
    /// Not at all: it is a paragraph of a draft without any other quotation.
    Paragraph,
}

/// Quoted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotedText {
    /// As it is written, without the `>` of block quotations.
    pub written: String,
    /// As it is read, without markup. Blocks are on lines of their own.
    pub read: String,
}

/// A place that a quotation is said to be from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Its bytes in the draft.
    pub span: Span,
    /// The place.
    pub target: String,
    /// How it is written.
    pub form: CitationForm,
}

/// How a citation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CitationForm {
    /// As a link, which counts from the folder of the draft.
    Link,
    /// As a wiki link.
    Wiki,
    /// As the path of a document, with or without a section.
    Id,
    /// As an address with a scheme.
    Address,
    /// In an attribution after a dash, which may name a document or a person.
    Attribution,
}

/// Returns the quotations of a draft: block quotations, and text in quotation marks of at least three words, or twelve
/// characters of a script without spaces. Code does not count. A draft without any is taken for quotations, paragraph by
/// paragraph.
#[must_use]
pub fn quotations(draft: &str) -> QuotationList {
    // Offsets count in bytes of the draft.
    let draft = draft.replace('\0', " ");
    let source = Source::new(draft.as_bytes());
    let blocks = DraftBlocks::read(&source);
    let citations = CitationFinder::new(&source, &blocks);
    let mut list = QuotationList::default();
    for at in 0..blocks.0.len() {
        match &blocks.0[at] {
            DraftBlock::Quotation { leaves, span } => {
                list.add(block(&source, &citations, &blocks, at, leaves, *span));
            }
            DraftBlock::Leaf(leaf) => marked(&source, &citations, leaf, &mut list),
        }
    }
    if list.quotations.is_empty() && list.left_out + list.too_long == 0 {
        for at in 0..blocks.0.len() {
            if let DraftBlock::Leaf(leaf) = &blocks.0[at] {
                let leaves = std::slice::from_ref(leaf);
                let found = block(&source, &citations, &blocks, at, leaves, leaf.span());
                list.add(found.map(|found| Quotation {
                    form: QuotationForm::Paragraph,
                    ..found
                }));
            }
        }
    }
    list
}

impl QuotationList {
    fn add(&mut self, found: Option<Quotation>) {
        match found {
            None => {}
            Some(found) if found.quoted.written.len() > MAX_QUOTATION_BYTES => self.too_long += 1,
            Some(_) if self.quotations.len() >= MAX_QUOTATIONS => self.left_out += 1,
            Some(found) => self.quotations.push(found),
        }
    }
}

/// A block of a draft.
enum DraftBlock {
    /// A paragraph, a heading, or an item of a list.
    Leaf(LeafText),
    /// A block quotation, with the blocks in it.
    Quotation { leaves: Vec<LeafText>, span: Span },
}

/// The text of one block, character by character.
#[derive(Default)]
struct LeafText {
    characters: Vec<LeafCharacter>,
    is_heading: bool,
}

#[derive(Clone, Copy)]
struct LeafCharacter {
    c: char,
    start: usize,
    end: usize,
    is_code: bool,
}

impl LeafText {
    fn span(&self) -> Span {
        match (self.characters.first(), self.characters.last()) {
            (Some(first), Some(last)) => Span::new(first.start, last.end.max(first.start)),
            _ => Span::new(0, 0),
        }
    }

    fn read(&self, part: Range<usize>) -> String {
        self.characters[part].iter().map(|one| one.c).collect()
    }

    /// Returns the index of the first character of the last line.
    fn last_line(&self) -> usize {
        let line_end = self.characters.iter().rposition(|one| one.c == '\n');
        line_end.map_or(0, |at| at + 1)
    }
}

/// The blocks of a draft, in order.
struct DraftBlocks(Vec<DraftBlock>);

impl DraftBlocks {
    fn read(source: &Source<'_>) -> Self {
        let base = source.body_start;
        let mut reader = BlockReader {
            text: &source.text,
            blocks: Vec::new(),
            leaf: LeafText::default(),
            quotation: None,
            depth: 0,
            is_literal: false,
        };
        let mut text = ReadText::new(source);
        for (event, range) in ParserInput::of(&source.text).events(base..source.text.len()) {
            let range = range.start + base..range.end + base;
            reader.before(&event, &range);
            text.event(&event, range.clone(), &mut |piece| reader.piece(piece));
            reader.after(&event);
        }
        reader.end_leaf();
        Self(reader.blocks)
    }
}

struct BlockReader<'t> {
    text: &'t str,
    blocks: Vec<DraftBlock>,
    leaf: LeafText,
    /// The leaves and the place of the block quotation being read.
    quotation: Option<(Vec<LeafText>, Span)>,
    /// Number of block quotations inside it.
    depth: usize,
    /// Whether this is code or HTML.
    is_literal: bool,
}

impl BlockReader<'_> {
    fn before(&mut self, event: &Event<'_>, range: &Range<usize>) {
        let is_inline = matches!(
            event,
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. })
                | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image)
        );
        if matches!(event, Event::Start(_) | Event::End(_) | Event::Rule) && !is_inline {
            self.leaf.is_heading = matches!(event, Event::End(TagEnd::Heading(_)));
            self.end_leaf();
        }
        match event {
            Event::Start(Tag::BlockQuote(_)) if self.quotation.is_some() => self.depth += 1,
            Event::Start(Tag::BlockQuote(_)) if !is_callout(&self.text[range.clone()]) => {
                let span = Span::new(range.start, range.end);
                self.quotation = Some((Vec::new(), span));
            }
            Event::End(TagEnd::BlockQuote(_)) if self.depth > 0 => self.depth -= 1,
            Event::End(TagEnd::BlockQuote(_)) => {
                if let Some((leaves, span)) = self.quotation.take() {
                    self.blocks.push(DraftBlock::Quotation { leaves, span });
                }
            }
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => self.is_literal = true,
            _ => {}
        }
    }

    fn after(&mut self, event: &Event<'_>) {
        if matches!(event, Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock)) {
            self.is_literal = false;
        }
    }

    fn piece(&mut self, piece: TextPiece<'_>) {
        // Code is quoted in a block quotation only.
        if self.is_literal && self.quotation.is_none() {
            return;
        }
        match piece {
            TextPiece::Words {
                text,
                place,
                is_code,
            } => {
                let is_same = text.len() == place.len();
                let characters = text.char_indices().map(|(at, c)| {
                    let start = place.start + if is_same { at } else { 0 };
                    let end = if is_same {
                        start + c.len_utf8()
                    } else {
                        place.end
                    };
                    LeafCharacter {
                        c,
                        start,
                        end,
                        is_code,
                    }
                });
                self.leaf.characters.extend(characters);
            }
            TextPiece::Break(at) if !self.leaf.characters.is_empty() => {
                self.leaf.characters.push(LeafCharacter {
                    c: '\n',
                    start: at,
                    end: at,
                    is_code: false,
                });
            }
            TextPiece::Break(_) => {}
        }
    }

    fn end_leaf(&mut self) {
        let mut leaf = std::mem::take(&mut self.leaf);
        while leaf.characters.last().is_some_and(|one| one.c == '\n') {
            leaf.characters.pop();
        }
        if leaf.characters.is_empty() {
            return;
        }
        match &mut self.quotation {
            Some((leaves, _)) => leaves.push(leaf),
            None => self.blocks.push(DraftBlock::Leaf(leaf)),
        }
    }
}

/// Returns whether a block quotation is a box with a remark, as in `> [!note]`. One for quotations is not.
fn is_callout(block: &str) -> bool {
    let kind = unquoted(block.lines().next().unwrap_or_default());
    let kind = trim(&kind).strip_prefix("[!").map(str::to_ascii_lowercase);
    kind.is_some_and(|kind| !kind.starts_with("quote") && !kind.starts_with("cite"))
}

/// Returns the lines of a block quotation, whose place the parser found, without the marks in front of them.
fn unquoted(block: &str) -> String {
    let lines = block.split_inclusive('\n').map(|line| {
        let mut rest = line.trim_start_matches([' ', '\t']);
        if !rest.starts_with('>') {
            return line;
        }
        while let Some(inner) = rest.strip_prefix('>') {
            rest = inner.strip_prefix(' ').unwrap_or(inner);
        }
        rest
    });
    lines.collect()
}

/// Returns the block quotation at `at`, or a paragraph as one.
fn block(
    source: &Source<'_>,
    citations: &CitationFinder,
    blocks: &DraftBlocks,
    at: usize,
    leaves: &[LeafText],
    span: Span,
) -> Option<Quotation> {
    let leaves = match leaves {
        // The head of a box for quotations.
        [first, rest @ ..] if first.read(0..first.characters.len()).starts_with("[!") => {
            let lines = first.characters.iter().position(|one| one.c == '\n');
            match lines {
                Some(_) => leaves,
                None => rest,
            }
        }
        leaves => leaves,
    };
    let is_paragraph = matches!(blocks.0[at], DraftBlock::Leaf(_));
    let body_start = leaves.first()?.span().start.max(span.start);
    let read = |leaves: &[LeafText], last_end: usize| {
        let count = leaves.len();
        let texts = leaves.iter().enumerate().map(|(index, leaf)| {
            let end = if index + 1 == count {
                last_end
            } else {
                leaf.characters.len()
            };
            leaf.read(0..end)
        });
        texts.collect::<Vec<String>>().join("\n")
    };
    let text = |leaves: &[LeafText], last_end: usize, end: usize| {
        let written = &source.text[body_start..end.max(body_start)];
        QuotedText {
            written: trim(&unquoted(written)).to_owned(),
            read: trim(&without_box(&read(leaves, last_end))).to_owned(),
        }
    };
    let last = leaves.last()?;
    let whole = text(leaves, last.characters.len(), span.end);
    let line = last.last_line();
    let line_text = last.read(line..last.characters.len());
    let inside = last
        .characters
        .get(line)
        .map(|first| Span::new(first.start, last.span().end));
    let is_attribution = inside.is_some_and(|inside| {
        let starts_with_dash = is_dash(trim(&line_text));
        starts_with_dash || citations.says_nothing_else(inside, &line_text)
    });
    let (quoted, attribution) = match (is_attribution, line, leaves.len()) {
        (true, 0, 1) => return None,
        (true, 0, count) => {
            let rest = &leaves[..count - 1];
            let before = rest.last()?;
            (
                text(rest, before.characters.len(), before.span().end),
                inside,
            )
        }
        (true, line, _) => (text(leaves, line, last.characters[line - 1].start), inside),
        (false, ..) => (whole.clone(), None),
    };
    let has_words = quoted.read.chars().any(char::is_alphanumeric);
    let cited = match attribution {
        Some(inside) => citations.attributed(inside, &line_text),
        None => citations.around(blocks, at),
    };
    has_words.then(|| Quotation {
        span,
        form: QuotationForm::Block,
        with_attribution: attribution
            .filter(|_| !is_paragraph || line > 0)
            .map(|_| whole),
        quoted,
        citations: cited,
    })
}

/// Returns text without the head of a box for quotations.
fn without_box(text: &str) -> String {
    match text
        .strip_prefix("[!")
        .and_then(|rest| rest.split_once('\n'))
    {
        Some((_, rest)) => rest.to_owned(),
        None => text.to_owned(),
    }
}

/// Adds the text in quotation marks of one block.
fn marked(
    source: &Source<'_>,
    citations: &CitationFinder,
    leaf: &LeafText,
    list: &mut QuotationList,
) {
    let characters = &leaf.characters;
    let pairs: Vec<(usize, usize)> = marks::pairs(characters)
        .into_iter()
        .filter(|(open, close)| is_long_enough(&leaf.read(open + 1..*close)))
        .collect();
    let spans: Vec<Span> = pairs
        .iter()
        .map(|(open, close)| Span::new(characters[*open].start, characters[*close].end))
        .collect();
    for (index, (open, close)) in pairs.iter().enumerate() {
        let written = &source.text[characters[*open].end..characters[*close].start];
        let quoted = QuotedText {
            written: trim(&unquoted(written)).to_owned(),
            read: trim(&leaf.read(open + 1..*close)).to_owned(),
        };
        list.add(Some(Quotation {
            span: spans[index],
            form: QuotationForm::Marks,
            with_attribution: None,
            quoted,
            citations: citations.near(leaf.span(), &spans, index),
        }));
    }
}

fn is_long_enough(text: &str) -> bool {
    let words = text.split(crate::is_whitespace);
    let words = words.filter(|word| word.contains(char::is_alphanumeric));
    words.count() >= MIN_WORDS
        || text.chars().filter(|c| has_no_spaces(*c)).count() >= MIN_CHARACTERS
}

impl QuotedText {
    /// Returns the parts of the text between ellipses, which say that something was left out: `…`, `...`, with or without
    /// brackets.
    #[must_use]
    pub fn parts(text: &str) -> Vec<&str> {
        let mut parts = Vec::new();
        let mut start = 0;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let length = ellipsis_at(&text[at..]);
            if length > 0 {
                parts.push(&text[start..at]);
                start = at + length;
                at = start;
            } else {
                at += c.len_utf8();
            }
        }
        parts.push(&text[start..]);
        let parts = parts.into_iter().map(trim);
        parts
            .filter(|part| part.contains(char::is_alphanumeric))
            .collect()
    }
}

/// Returns the length of the ellipsis that a text starts with, or 0.
fn ellipsis_at(text: &str) -> usize {
    const FORMS: [&str; 9] = [
        "[\u{2026}]",
        "(\u{2026})",
        "[...]",
        "(...)",
        "\\[...\\]",
        "\\[\u{2026}\\]",
        ". . .",
        "...",
        "\u{2026}",
    ];
    let form = FORMS.iter().find(|form| text.starts_with(**form));
    form.map_or(0, |form| {
        let rest = &text[form.len()..];
        form.len() + (rest.len() - rest.trim_start_matches('.').len())
    })
}

#[cfg(test)]
mod tests;
