//! Text as quotations are compared with it: white space, markup, typography and normal forms even, letters, digits and
//! words untouched, and every character with the way back to the bytes it came from.

use std::ops::Range;

use memchr::memmem;
use pulldown_cmark::{Event, Tag, TagEnd};
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use crate::{LinkForm, Source, Span, is_whitespace, links, options::ParserInput, source::Offsets};

/// The most places of one text that are passed over because a quotation would begin or end inside a word there. They
/// bound the cost of text that repeats itself.
const MAX_PASSED_OVER: usize = 1_000;

/// The differences that do not count in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextFolding {
    /// Kind and number of white space characters, line breaks, and characters that only say where a line may break.
    /// Chinese and Japanese characters have no space between them.
    pub white_space: bool,
    /// The kind of quotation marks, apostrophes and dashes, and an ellipsis written with three dots.
    pub typography: bool,
    /// The Unicode normal form.
    pub normal_form: bool,
}

impl TextFolding {
    /// Nothing counts but letters, digits, punctuation and words.
    pub const ALL: Self = Self {
        white_space: true,
        typography: true,
        normal_form: true,
    };
    /// Everything counts.
    pub const NONE: Self = Self {
        white_space: false,
        typography: false,
        normal_form: false,
    };
}

/// Text for comparing, and where each part of it comes from.
#[derive(Clone, Debug)]
pub struct ComparableText {
    text: String,
    runs: Vec<TextRun>,
    /// The way from the decoded text to the original bytes.
    offsets: Offsets,
}

/// A part of comparable text and the source it comes from.
#[derive(Clone, Copy, Debug)]
struct TextRun {
    /// Where it starts in the comparable text.
    at: usize,
    /// Its source.
    source: Span,
    /// Whether both have the same bytes.
    is_same: bool,
}

impl ComparableText {
    /// Folds text as it is written.
    #[must_use]
    pub fn of_text(text: &str, folding: TextFolding) -> Self {
        let mut folder = TextFolder::new(folding);
        folder.text(text, 0..text.len());
        folder.finish()
    }

    /// Folds a whole document as it is written, front matter and markup included. Spans are bytes of the original.
    #[must_use]
    pub fn as_written(source: &Source<'_>, folding: TextFolding) -> Self {
        Self::of_text(&source.text, folding).in_bytes_of(source)
    }

    /// Folds the text of a document without its markup: what a reader sees. Spans are bytes of the original.
    #[must_use]
    pub fn as_read(source: &Source<'_>, folding: TextFolding) -> Self {
        let base = source.body_start;
        let mut folder = TextFolder::new(folding);
        let mut reader = ReadText::new(source);
        for (event, range) in ParserInput::of(&source.text).events(base..source.text.len()) {
            let range = range.start + base..range.end + base;
            reader.event(&event, range, &mut |piece| match piece {
                TextPiece::Words { text, place, .. } => folder.text(text, place),
                TextPiece::Break(at) => folder.text("\n", at..at),
            });
        }
        folder.finish().in_bytes_of(source)
    }

    fn in_bytes_of(mut self, source: &Source<'_>) -> Self {
        self.offsets = source.offsets.clone();
        self
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the bytes that a part of the text comes from.
    #[must_use]
    pub fn source_of(&self, part: Range<usize>) -> Span {
        let run = |at: usize| {
            let after = self.runs.partition_point(|run| run.at <= at);
            after.checked_sub(1).map(|last| self.runs[last])
        };
        let (Some(first), Some(last)) = (run(part.start), run(part.end.saturating_sub(1))) else {
            return Span::new(0, 0);
        };
        let start = match first.is_same {
            true => first.source.start + (part.start - first.at),
            false => first.source.start,
        };
        let end = match last.is_same {
            true => last.source.start + (part.end - last.at),
            false => last.source.end,
        };
        self.offsets.span_to_raw(Span::new(start, end.max(start)))
    }

    /// Returns the text that comes from some bytes. Only for text whose bytes are in order.
    #[must_use]
    pub fn within(&self, span: Span) -> &str {
        let raw = |at: usize| self.offsets.to_raw(at);
        let first = self
            .runs
            .partition_point(|run| raw(run.source.end) <= span.start);
        let Some(run) = self.runs.get(first) else {
            return "";
        };
        let inside = |run: &TextRun, at: usize| match run.is_same {
            true => {
                run.at
                    + at.saturating_sub(raw(run.source.start))
                        .min(run.source.len())
            }
            false => run.at,
        };
        let start = inside(run, span.start);
        let after = self
            .runs
            .partition_point(|run| raw(run.source.start) < span.end);
        let next = self.runs.get(after).map_or(self.text.len(), |run| run.at);
        let end = match after.checked_sub(1).map(|last| self.runs[last]) {
            Some(last) if last.is_same => inside(&last, span.end).min(next),
            _ => next,
        };
        self.text.get(start..end.max(start)).unwrap_or_default()
    }

    /// Returns the parts that equal `wanted` from the offset `from` on, and neither begin nor end inside a word, a number
    /// or a character. Parts that overlap count once.
    pub fn find<'t>(
        &'t self,
        wanted: &str,
        from: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<'t> {
        let finder = memmem::Finder::new(wanted.as_bytes()).into_owned();
        let (length, mut from, mut passed_over) = (wanted.len(), from, 0);
        std::iter::from_fn(move || {
            while length > 0 && passed_over < MAX_PASSED_OVER {
                let rest = self.text.as_bytes().get(from..)?;
                let start = from + finder.find(rest)?;
                let end = start + length;
                if self.is_whole(start..end) {
                    from = end;
                    return Some(start..end);
                }
                from = start + 1;
                passed_over += 1;
            }
            None
        })
    }

    /// Returns whether a part neither begins nor ends inside a word, a number or a character.
    fn is_whole(&self, part: Range<usize>) -> bool {
        let (Some(before), Some(inside), Some(after)) = (
            self.text.get(..part.start),
            self.text.get(part.clone()),
            self.text.get(part.end..),
        ) else {
            return false;
        };
        let (Some(first), Some(last)) = (inside.chars().next(), inside.chars().next_back()) else {
            return false;
        };
        let mut backwards = before.chars().rev();
        let mut forwards = after.chars();
        !begins_inside(backwards.next(), backwards.next(), first)
            && !ends_inside(last, forwards.next(), forwards.next())
    }
}

/// Returns whether a quotation that starts with `first` would start inside something.
fn begins_inside(before: Option<char>, earlier: Option<char>, first: char) -> bool {
    let Some(before) = before else {
        return false;
    };
    if canonical_combining_class(first) != 0 || is_one_word(before, first) {
        return true;
    }
    let is_number = |c: Option<char>| c.is_some_and(char::is_numeric);
    let is_sign = before == '-' && !earlier.is_some_and(|c| c.is_alphanumeric() || c == '-');
    first.is_numeric() && (is_sign || (joins_digits(before) && is_number(earlier)))
}

/// Returns whether a quotation that ends with `last` would end inside something.
fn ends_inside(last: char, after: Option<char>, later: Option<char>) -> bool {
    let Some(after) = after else {
        return false;
    };
    if canonical_combining_class(after) != 0 || is_one_word(last, after) {
        return true;
    }
    let is_number = last.is_numeric() && joins_digits(after) && later.is_some_and(char::is_numeric);
    // "I can" is not what "I can't" says.
    let is_contraction = last.is_alphabetic()
        && matches!(after, '\'' | '\u{2019}')
        && later.is_some_and(char::is_alphabetic);
    is_number || is_contraction
}

/// Returns whether two characters side by side are in one word or number.
fn is_one_word(one: char, next: char) -> bool {
    one.is_alphanumeric() && next.is_alphanumeric() && !has_no_spaces(one) && !has_no_spaces(next)
}

/// Returns whether a character between digits is part of a number, a time or a version.
pub(crate) fn joins_digits(c: char) -> bool {
    matches!(c, '.' | ',' | ':' | '\'' | '\u{2019}')
}

/// Returns whether a character is written without a space to its neighbours: Chinese, Japanese, their punctuation.
pub(crate) fn is_east_asian(c: char) -> bool {
    matches!(
        c,
        '\u{2e80}'..='\u{2fdf}'
            | '\u{3001}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe4f}'
            | '\u{ff01}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns whether a character is of a script that does not separate words by spaces.
pub(crate) fn has_no_spaces(c: char) -> bool {
    // Thai and Lao, Myanmar, Khmer.
    let is_south_east_asian = matches!(
        c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
    );
    is_south_east_asian || is_east_asian(c)
}

/// Returns whether a character only says where a line may or may not break.
fn is_break_mark(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Returns the plain form of a quotation mark, an apostrophe or a dash.
fn plain_form(c: char) -> char {
    match c {
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2018}'..='\u{201b}' | '\u{2039}' | '\u{203a}' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        c => c,
    }
}

/// Folds text.
struct TextFolder {
    folding: TextFolding,
    folded: ComparableText,
    /// White space that counts if something follows.
    space: Option<Span>,
    /// Combining characters whose order is not settled, with their classes.
    marks: Vec<(u8, char, Span)>,
    last: Option<char>,
}

impl TextFolder {
    fn new(folding: TextFolding) -> Self {
        Self {
            folding,
            folded: ComparableText {
                text: String::new(),
                runs: Vec::new(),
                offsets: Offsets::default(),
            },
            space: None,
            marks: Vec::new(),
            last: None,
        }
    }

    /// Takes text that comes from `place`, character by character if both have the same length.
    fn text(&mut self, text: &str, place: Range<usize>) {
        let is_same = text.len() == place.len();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let (shown, length) = match self.folding.typography {
                true => self.typography(&text[at..], c),
                false => (c, c.len_utf8()),
            };
            let source = match is_same {
                true => Span::new(place.start + at, place.start + at + length),
                false => Span::new(place.start, place.end),
            };
            at += length;
            self.character(
                shown,
                source,
                is_same && shown == c && length == c.len_utf8(),
            );
        }
    }

    /// Returns the character that stands for the start of `rest`, and the length of what it stands for.
    fn typography(&self, rest: &str, first: char) -> (char, usize) {
        // Rows of more than three are neither.
        let same = rest.chars().take(4).take_while(|c| *c == first).count();
        match first {
            '.' if same == 3 => ('\u{2026}', same),
            '-' if same == 2 || same == 3 => {
                // Before a word, as in `--force`, hyphens are not a dash.
                let is_behind_word = self.last.is_some() && self.space.is_none();
                let next = rest[same..].chars().next();
                let is_flag = !is_behind_word && next.is_some_and(char::is_alphanumeric);
                ('-', if is_flag { 1 } else { same })
            }
            c => (plain_form(c), c.len_utf8()),
        }
    }

    fn character(&mut self, c: char, source: Span, is_same: bool) {
        if self.folding.white_space && is_break_mark(c) {
            return;
        }
        if self.folding.white_space && is_whitespace(c) {
            self.space = self.space.or(Some(source));
            return;
        }
        if self.folding.normal_form && !c.is_ascii() {
            let mut decomposed = Vec::new();
            decompose_canonical(c, |part| decomposed.push(part));
            let is_same = is_same && decomposed == [c];
            for part in decomposed {
                self.part(part, source, is_same);
            }
            return;
        }
        self.settle_marks();
        self.put(c, source, is_same);
    }

    /// Takes a character of the decomposed form.
    fn part(&mut self, c: char, source: Span, is_same: bool) {
        let class = canonical_combining_class(c);
        if class != 0 && self.last.is_some() && self.space.is_none() {
            self.marks.push((class, c, source));
            return;
        }
        self.settle_marks();
        self.put(c, source, is_same);
    }

    fn settle_marks(&mut self) {
        if self.marks.is_empty() {
            return;
        }
        let mut marks = std::mem::take(&mut self.marks);
        marks.sort_by_key(|(class, ..)| *class);
        for (_, c, source) in marks {
            self.push(c, source, false);
        }
    }

    fn put(&mut self, c: char, source: Span, is_same: bool) {
        if let Some(space) = self.space.take()
            && let Some(last) = self.last
            && !is_east_asian(last)
            && !is_east_asian(c)
        {
            self.push(' ', space, false);
        }
        self.push(c, source, is_same);
    }

    fn push(&mut self, c: char, source: Span, is_same: bool) {
        let at = self.folded.text.len();
        self.folded.text.push(c);
        self.last = Some(c);
        match self.folded.runs.last_mut() {
            Some(run) if is_same && run.is_same && run.source.end == source.start => {
                run.source.end = source.end;
            }
            _ => self.folded.runs.push(TextRun {
                at,
                source,
                is_same,
            }),
        }
    }

    fn finish(mut self) -> ComparableText {
        self.settle_marks();
        self.folded
    }
}

/// A piece of the text that a reader of a document sees.
pub(crate) enum TextPiece<'e> {
    /// Some text, and the source that it comes from.
    Words {
        text: &'e str,
        place: Range<usize>,
        is_code: bool,
    },
    /// The end of a line or block.
    Break(usize),
}

/// Reads the text that a reader sees from parser events: without markup, brackets of wiki links and HTML tags.
pub(crate) struct ReadText<'s> {
    text: &'s str,
    /// The parts of wiki links that are not shown, in order.
    unseen: Vec<Range<usize>>,
    is_code_block: bool,
}

impl<'s> ReadText<'s> {
    pub(crate) fn new(source: &'s Source<'_>) -> Self {
        let has_wiki_links = memmem::find(source.text.as_bytes(), b"[[").is_some();
        let unseen = match has_wiki_links && source.offsets.is_identity() {
            true => unseen_parts(source),
            false => Vec::new(),
        };
        Self {
            text: &source.text,
            unseen,
            is_code_block: false,
        }
    }

    /// Reads an event; its range counts from the start of the text.
    pub(crate) fn event(
        &mut self,
        event: &Event<'_>,
        range: Range<usize>,
        take: &mut dyn FnMut(TextPiece<'_>),
    ) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => self.is_code_block = true,
            Event::End(TagEnd::CodeBlock) => self.is_code_block = false,
            _ => {}
        }
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) => {
                let is_code = self.is_code_block || !matches!(event, Event::Text(_));
                self.words(text, range, is_code, take);
            }
            Event::InlineHtml(tag) => {
                let start = tag.get(..3).unwrap_or_default();
                if start.eq_ignore_ascii_case("<br") {
                    take(TextPiece::Break(range.start));
                }
            }
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. })
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image) => {}
            Event::End(_) => take(TextPiece::Break(range.end)),
            _ => take(TextPiece::Break(range.start)),
        }
    }

    fn words(
        &self,
        text: &str,
        range: Range<usize>,
        is_code: bool,
        take: &mut dyn FnMut(TextPiece<'_>),
    ) {
        // Text that is not written as it is read, such as a character reference, is one piece.
        let Some(within) = self.text[range.clone()].find(text) else {
            take(TextPiece::Words {
                text,
                place: range,
                is_code,
            });
            return;
        };
        let place = range.start + within..range.start + within + text.len();
        let mut at = place.start;
        let first = self.unseen.partition_point(|part| part.end <= place.start);
        for unseen in &self.unseen[first..] {
            if unseen.start >= place.end || is_code {
                break;
            }
            if unseen.start > at {
                take(self.seen(at..unseen.start));
            }
            at = at.max(unseen.end.min(place.end));
        }
        if at < place.end {
            let text = &text[at - place.start..];
            let place = at..place.end;
            take(TextPiece::Words {
                text,
                place,
                is_code,
            });
        }
    }

    fn seen(&self, place: Range<usize>) -> TextPiece<'s> {
        TextPiece::Words {
            text: &self.text[place.clone()],
            place,
            is_code: false,
        }
    }
}

/// Returns the brackets of the wiki links of a document, and the targets of those that show another text.
fn unseen_parts(source: &Source<'_>) -> Vec<Range<usize>> {
    let found = links(source);
    let wiki = found.iter().filter(|link| link.form == LinkForm::Wiki);
    let mut unseen: Vec<Range<usize>> = wiki
        .filter(|link| link.span.start >= source.body_start && link.span.len() >= 4)
        .flat_map(|link| {
            let Span { start, end } = link.span;
            let bar = source.text[start..end].find('|');
            let shown = bar.map_or(start + 2, |bar| start + bar + 1);
            [start..shown, end - 2..end]
        })
        .collect();
    unseen.sort_by_key(|part| part.start);
    unseen
}

#[cfg(test)]
mod tests;
