//! The citations of a draft, and which of them belong to a quotation.

use pulldown_cmark::{Event, Tag};

use super::{
    Citation, CitationForm, DraftBlock, DraftBlocks, LeafText, MAX_AROUND_CITATION, QuotationForm,
};
use crate::{LinkForm, Source, Span, is_whitespace, links, options::ParserInput, trim};

/// The longest attribution, in characters. A longer line after a dash is speech.
const MAX_ATTRIBUTION: usize = 200;

/// All citations of a draft, by their places.
pub(super) struct CitationFinder {
    all: Vec<Citation>,
}

/// Returns whether a line starts with a dash, as attributions do.
pub(super) fn is_dash(line: &str) -> bool {
    line.starts_with(['\u{2013}', '\u{2014}', '\u{2015}']) || line.starts_with("--")
}

impl CitationFinder {
    pub(super) fn new(source: &Source<'_>, blocks: &DraftBlocks) -> Self {
        let mut all: Vec<Citation> = Vec::new();
        for link in links(source) {
            let form = match link.form {
                LinkForm::Image | LinkForm::WikiEmbed => continue,
                LinkForm::Wiki => CitationForm::Wiki,
                _ => CitationForm::Link,
            };
            let target = link.target();
            for span in link
                .places()
                .iter()
                .filter(|span| span.start >= source.body_start)
            {
                let (span, target) = (*span, target.clone());
                all.push(Citation { span, target, form });
            }
        }
        let base = source.body_start;
        for (event, range) in ParserInput::of(&source.text).events(base..source.text.len()) {
            if let Event::Start(Tag::Link { dest_url, .. }) = event
                && has_scheme(&dest_url)
            {
                all.push(Citation {
                    span: Span::new(range.start + base, range.end + base),
                    target: dest_url.to_string(),
                    form: CitationForm::Address,
                });
            }
        }
        let mut written = Vec::new();
        for block in &blocks.0 {
            let leaves = match block {
                DraftBlock::Leaf(leaf) => std::slice::from_ref(leaf),
                DraftBlock::Quotation { leaves, .. } => leaves.as_slice(),
            };
            leaves
                .iter()
                .for_each(|leaf| written_ids(leaf, &mut written));
        }
        all.sort_by_key(|one| (one.span.start, one.span.end));
        let is_in_link = |one: &Citation| {
            let until = all.partition_point(|link| link.span.start <= one.span.start);
            let link = until.checked_sub(1).map(|at| all[at].span);
            link.is_some_and(|link| link.contains(one.span))
        };
        written.retain(|one| !is_in_link(one));
        all.extend(written);
        all.sort_by_key(|one| (one.span.start, one.span.end));
        Self { all }
    }

    /// Returns the citations in a part of the draft.
    fn within(&self, span: Span) -> &[Citation] {
        let start = self.all.partition_point(|one| one.span.start < span.start);
        let end = self.all.partition_point(|one| one.span.start < span.end);
        &self.all[start..end.max(start)]
    }

    /// Returns whether a text at `span` consists of citations and a few words.
    pub(super) fn says_nothing_else(&self, span: Span, text: &str) -> bool {
        // Brackets and targets of links are not among the text, but around it.
        let cited = self.within(span);
        let Some((first, last)) = cited.first().zip(cited.last()) else {
            return false;
        };
        let before = first.span.start.saturating_sub(span.start);
        let after = span.end.saturating_sub(last.span.end);
        let is_short = text.chars().count() <= MAX_ATTRIBUTION;
        is_short && cited.len() <= 3 && before + after <= MAX_AROUND_CITATION
    }

    /// Returns the citations of an attribution: its links, or else all of it after the dash and the ids in it.
    pub(super) fn attributed(&self, span: Span, text: &str) -> Vec<Citation> {
        let cited = self.within(span);
        if cited.iter().any(|one| one.form != CitationForm::Id) {
            return cited.to_vec();
        }
        let target = trim(text).trim_start_matches(|c| is_dash_character(c) || is_whitespace(c));
        if target.is_empty() || target.chars().count() > MAX_ATTRIBUTION {
            return cited.to_vec();
        }
        let target = trim(target);
        // A heading may have several words.
        let form = match is_document_id(target) {
            true => CitationForm::Id,
            false => CitationForm::Attribution,
        };
        let whole = Citation {
            span,
            target: target.to_owned(),
            form,
        };
        let ids = cited.iter().filter(|one| one.target != whole.target);
        let mut all: Vec<Citation> = ids.cloned().collect();
        all.insert(0, whole);
        all
    }

    /// Returns the citations of the block quotation at `at`: those of a paragraph after it that only cites, or else those
    /// of a paragraph that introduces it.
    pub(super) fn around(&self, blocks: &DraftBlocks, at: usize) -> Vec<Citation> {
        let leaf = |at: usize| match blocks.0.get(at) {
            Some(DraftBlock::Leaf(leaf)) if !leaf.is_heading => Some(leaf),
            _ => None,
        };
        if let Some(after) = leaf(at + 1) {
            let text = after.read(0..after.characters.len());
            let span = after.span();
            if is_dash(trim(&text)) {
                return self.attributed(span, &text);
            }
            if self.says_nothing_else(span, &text) {
                return self.within(span).to_vec();
            }
        }
        let before = at.checked_sub(1).and_then(leaf);
        let introduces = |leaf: &&LeafText| {
            let last = leaf
                .characters
                .iter()
                .rev()
                .find(|one| !is_whitespace(one.c));
            last.is_some_and(|last| matches!(last.c, ':' | '\u{ff1a}'))
        };
        let before = before.filter(introduces);
        before.map_or_else(Vec::new, |leaf| {
            // A link may end the paragraph: its target is behind the last character.
            self.within(leaf.span()).to_vec()
        })
    }

    /// Returns the citations of the quotation `index` among those of one block: around it, after it and before the next, or
    /// before it and after the last; or else all of the block.
    pub(super) fn near(&self, block: Span, quotations: &[Span], index: usize) -> Vec<Citation> {
        let here = quotations[index];
        let is_quoted = |one: &&Citation| {
            let inside = |quotation: &Span| quotation.contains(one.span);
            !quotations.iter().any(inside)
        };
        let around = self.all.iter().filter(|one| one.span.contains(here));
        let around: Vec<Citation> = around.cloned().collect();
        if !around.is_empty() {
            return around;
        }
        let next = quotations
            .get(index + 1)
            .map_or(block.end, |next| next.start);
        let last = index
            .checked_sub(1)
            .map_or(block.start, |at| quotations[at].end);
        let block = Span::new(block.start.min(here.start), block.end.max(here.end));
        for part in [
            Span::new(here.end, next.max(here.end)),
            Span::new(last.min(here.start), here.start),
            block,
        ] {
            let found: Vec<Citation> = self
                .within(part)
                .iter()
                .filter(is_quoted)
                .cloned()
                .collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }
}

impl QuotationForm {
    /// Returns the form in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Marks => "marks",
            Self::Paragraph => "paragraph",
        }
    }
}

fn is_dash_character(c: char) -> bool {
    matches!(c, '-' | '\u{2013}' | '\u{2014}' | '\u{2015}')
}

/// Returns whether a destination is an address.
fn has_scheme(destination: &str) -> bool {
    let scheme = destination.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.len() > 1 && scheme.chars().all(is_usual) && !scheme.ends_with(".md")
    })
}

/// Adds the ids and addresses that are written in a block as they are, or in code.
fn written_ids(leaf: &LeafText, found: &mut Vec<Citation>) {
    let characters = &leaf.characters;
    let is_border = |at: usize| {
        let one = characters[at];
        let is_code = at.checked_sub(1).map(|before| characters[before].is_code);
        (is_whitespace(one.c) && !one.is_code)
            || is_code.is_some_and(|before| before != one.is_code)
    };
    let mut start = 0;
    for at in 1..=characters.len() {
        if at < characters.len() && !is_border(at) {
            continue;
        }
        let (mut first, mut end) = (start, at);
        start = at;
        let is_around = |c: char| {
            is_whitespace(c) || "()[]{}<>,;:.!?\"'\u{201c}\u{201d}\u{2014}\u{2013}".contains(c)
        };
        while first < end && is_around(characters[first].c) {
            first += 1;
        }
        while end > first && is_around(characters[end - 1].c) {
            end -= 1;
        }
        if first == end {
            continue;
        }
        let text = leaf.read(first..end);
        let form = match text.as_str() {
            text if text.starts_with("sectile:") || text.starts_with("obsidian:") => {
                CitationForm::Address
            }
            text if is_document_id(text) => CitationForm::Id,
            _ => continue,
        };
        found.push(Citation {
            span: Span::new(characters[first].start, characters[end - 1].end),
            target: text,
            form,
        });
    }
}

/// Returns whether a string is the path of a document, with or without a section after it.
fn is_document_id(text: &str) -> bool {
    let path = text.split_once('#').map_or(text, |(path, _)| path);
    let lower = path.to_ascii_lowercase();
    let is_document = lower.ends_with(".md") || lower.ends_with(".markdown");
    is_document && path.chars().count() > 3 && !path.contains("://") && !path.starts_with('*')
}
