//! The answer of `fetch`: for each id one head line, then the exact bytes, as many as the budget allows.
//!
//! A head line is in square brackets: the id, the base, the tokens of the whole, what follows and how many bytes that is.
//! The bytes start on the next line and are never escaped, so a reader that counts them is not fooled by text that looks
//! like a head line.

use std::{borrow::Cow, sync::Arc};

use sectile_markdown::{Digest, Span, estimate_tokens, name_key};
use sectile_mcp::visible;
use sectile_vault::editor::{View, part_hash, short_hash};

use super::{
    paging::cursor,
    text_page::{CutPlace, TextPage, text_page},
};

/// Maximum length of a title, in characters.
pub(super) const MAX_TITLE_CHARS: usize = 120;
/// Maximum length of an id in a line, in characters.
const MAX_ID_CHARS: usize = 400;
/// The share of the budget that the list of sections may take, as a divisor.
const SECTIONS_SHARE: usize = 4;
/// Tokens reserved for the numbers and the cursor of a head line.
const HEAD_TOKENS: usize = 64;

/// A document or section that is read.
#[derive(Debug)]
pub(super) struct ReadItem {
    /// Canonical id of its document.
    pub(super) document_id: String,
    /// The document.
    pub(super) view: Arc<View>,
    /// Its position in the document; without one, it is the whole document.
    pub(super) section: Option<usize>,
}

/// One of the things that a call asks for.
#[derive(Debug)]
pub(super) enum ReadEntry {
    /// It can be read.
    Item(ReadItem),
    /// A line that says why it cannot.
    Refused(String),
}

/// The start of a page: an item, and an offset in its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadPosition {
    pub(super) item: usize,
    pub(super) offset: usize,
}

/// The text of an answer.
#[derive(Debug)]
pub(super) struct ReadAnswer {
    pub(super) text: String,
    /// The bytes of the last item's text that are in it.
    pub(super) shown: Span,
    /// The cursor for the rest.
    pub(super) next: Option<String>,
}

impl ReadItem {
    /// Returns its canonical id.
    pub(super) fn id(&self) -> String {
        match self.section {
            Some(position) => self.section_id(position),
            None => self.document_id.clone(),
        }
    }

    fn section_id(&self, position: usize) -> String {
        let id = self.view.ids().get(position).map_or("", String::as_str);
        format!("{}#{id}", self.document_id)
    }

    /// Returns its bytes in the document.
    pub(super) fn span(&self) -> Span {
        let whole = Span::new(0, self.view.bytes().len());
        let section = self
            .section
            .and_then(|at| self.view.document().top_level().nth(at));
        section.map_or(whole, |(_, _, extent)| extent.subtree)
    }

    /// Returns its text. Bytes that are not UTF-8 are replaced.
    pub(super) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.span().slice(self.view.bytes()))
    }

    /// Returns the tokens of the whole.
    pub(super) fn tokens(&self) -> usize {
        estimate_tokens(&self.text())
    }

    /// Returns the base of the whole.
    pub(super) fn base(&self) -> String {
        match self.section.and_then(|at| self.view.section(at)) {
            Some(section) => section.subtree_hash,
            None => short_hash(self.view.hash()),
        }
    }

    /// Returns the positions of its sections with the offsets in its text at which they start.
    fn sections(&self) -> impl Iterator<Item = (usize, usize)> {
        let span = self.span();
        let all = self.view.document().top_level().enumerate();
        all.map(|(position, (_, section, _))| (position, section.heading.start))
            .filter(move |(_, start)| (span.start..span.end).contains(start))
            .map(move |(position, start)| (position, start - span.start))
    }

    /// Returns lines that name the sections below it, as many as fit into `room` tokens.
    fn section_lines(&self, room: usize) -> String {
        let document = self.view.document();
        let top_level: Vec<_> = document.top_level().collect();
        let mut text = String::new();
        let mut left = room;
        for (position, _) in self.sections().filter(|(at, _)| Some(*at) != self.section) {
            let Some((_, section, extent)) = top_level.get(position) else {
                continue;
            };
            let bytes = extent.subtree.slice(self.view.bytes());
            let line = format!(
                "{}- {} ({} tokens)\n",
                "  ".repeat(usize::from(section.level.saturating_sub(1))),
                visible(&self.section_id(position), MAX_ID_CHARS),
                estimate_tokens(&String::from_utf8_lossy(bytes)),
            );
            let taken = estimate_tokens(&line);
            if taken > left {
                text += "- …\n";
                break;
            }
            left -= taken;
            text += &line;
        }
        text
    }
}

/// Writes the answer for `entries` from `start`, of at most `budget` tokens. `state` identifies what is read.
pub(super) fn read_answer(
    entries: &[ReadEntry],
    start: ReadPosition,
    budget: usize,
    state: &Digest,
) -> ReadAnswer {
    let mut answer = AnswerText {
        text: String::new(),
        left: budget,
    };
    let mut shown = Span::default();
    let mut next = None;
    for (index, entry) in entries.iter().enumerate().skip(start.item) {
        let item = match entry {
            ReadEntry::Item(item) => item,
            ReadEntry::Refused(line) => {
                answer.line(line);
                continue;
            }
        };
        let offset = if index == start.item { start.offset } else { 0 };
        let text = item.text();
        let part = ItemPart {
            item,
            text: &text,
            tokens: estimate_tokens(&text),
            offset,
        };
        if budget == 0 {
            answer.line(&part.head(&part_hash(&item.base()), "not shown: the budget is 0"));
            continue;
        }
        let is_first = answer.text.is_empty();
        shown = part.write(&mut answer, |offset| page_cursor(index, offset, state));
        if shown.end < text.len() {
            // A cursor that leads to the same place would be followed forever.
            let is_stuck = is_first && shown.is_empty();
            next = (!is_stuck).then(|| page_cursor(index, shown.end, state));
            break;
        }
    }
    ReadAnswer {
        text: answer.text,
        shown,
        next,
    }
}

fn page_cursor(item: usize, offset: usize, state: &Digest) -> String {
    let positions = [item, offset].map(|number| u64::try_from(number).unwrap_or(u64::MAX));
    cursor(&positions, state)
}

/// An answer that is being written, and the tokens that are left for it.
struct AnswerText {
    text: String,
    left: usize,
}

impl AnswerText {
    /// Adds a line of our own.
    fn line(&mut self, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text += line;
        self.text.push('\n');
        self.left = self.left.saturating_sub(estimate_tokens(line) + 1);
    }

    /// Adds text of a note, as it is.
    fn body(&mut self, text: &str, tokens: usize) {
        self.text += text;
        self.left = self.left.saturating_sub(tokens);
    }
}

/// What is left of an item from an offset on.
struct ItemPart<'a> {
    item: &'a ReadItem,
    text: &'a str,
    tokens: usize,
    offset: usize,
}

impl ItemPart<'_> {
    fn head(&self, base: &str, what: &str) -> String {
        let id = visible(&self.item.id(), MAX_ID_CHARS);
        let is_utf8 = self.text.len() == self.item.span().len();
        let replaced = match is_utf8 {
            true => "",
            false => "; not UTF-8, so some bytes are replaced",
        };
        format!(
            "[{id} | base {base} | {} tokens | {what}{replaced}]",
            self.tokens
        )
    }

    /// Writes as much as there is room for, and returns the bytes that were written. `next` is the cursor for an offset.
    fn write(&self, answer: &mut AnswerText, next: impl Fn(usize) -> String) -> Span {
        let (start, length) = (self.offset.min(self.text.len()), self.text.len());
        let base = self.item.base();
        let head_tokens = estimate_tokens(&self.head(&base, "")) + HEAD_TOKENS;
        let room = answer.left.saturating_sub(head_tokens);
        let starts: Vec<usize> = self.item.sections().map(|(_, start)| start).collect();
        let kind = match self.item.section {
            Some(_) => "section",
            None => "document",
        };
        let page = text_page(self.text, start, &starts, room);
        let Some(cut) = page.cut else {
            // A caller that got here by cursors has read everything before.
            let what = match start {
                0 => format!("the whole {kind}, {length} bytes"),
                start => format!("the rest of the {kind}, bytes {start} to {length}"),
            };
            answer.line(&self.head(&base, &what));
            answer.body(&self.text[start..], page.tokens);
            return Span::new(start, length);
        };
        if page.end == start {
            let what = match answer.text.is_empty() {
                true => "not shown: the budget is too small".to_owned(),
                false => format!("not shown for lack of room: cursor {}", next(start)),
            };
            answer.line(&self.head(&part_hash(&base), &what));
            return Span::new(start, start);
        }
        let lines = match start == 0 && starts.len() > 1 {
            true => self.item.section_lines(room / SECTIONS_SHARE),
            false => String::new(),
        };
        let (page, cut) = match lines.is_empty() {
            true => (page, cut),
            false => {
                let room = room.saturating_sub(estimate_tokens(&lines));
                let page = text_page(self.text, start, &starts, room);
                (page, page.cut.unwrap_or(cut))
            }
        };
        self.write_part(answer, page, cut, (&lines, &next(page.end)));
        Span::new(start, page.end)
    }

    fn write_part(
        &self,
        answer: &mut AnswerText,
        page: TextPage,
        cut: CutPlace,
        (lines, next): (&str, &str),
    ) {
        let (start, end) = (self.offset, page.end);
        let remain = estimate_tokens(&self.text[end..]);
        let (length, cut) = (self.text.len(), cut.name());
        let shown = format!("bytes {start} to {end} of {length}, cut after {cut}");
        let sections = if lines.is_empty() {
            ""
        } else {
            "its sections, then "
        };
        let what = format!("{sections}{shown}; {remain} tokens remain: cursor {next}");
        answer.line(&self.head(&part_hash(&self.item.base()), &what));
        if !lines.is_empty() {
            answer.line(lines.trim_end());
            answer.line("[text]");
        }
        answer.body(&self.text[start..end], page.tokens);
    }
}

/// Returns the position of the section that holds the byte at `offset`.
pub(super) fn section_at(view: &View, offset: usize) -> Option<usize> {
    let sections = view.document().top_level();
    let before = sections.take_while(|(_, section, _)| section.heading.start <= offset);
    before.count().checked_sub(1)
}

/// Returns the title of a note and the headings below it in one line. A title that its first heading repeats is left out.
pub(super) fn title(heading_path: &[String]) -> String {
    let mut parts: Vec<&str> = heading_path.iter().map(String::as_str).collect();
    if let [title, heading, ..] = parts.as_slice()
        && says_the_same(title, heading)
    {
        parts.remove(0);
    }
    parts.dedup();
    visible(&parts.join(" > "), MAX_TITLE_CHARS)
}

/// Returns whether two titles differ at most in letter case, punctuation and white space, as `winter-feed` and
/// `Winter feed` do.
fn says_the_same(one: &str, other: &str) -> bool {
    let words = |title: &str| -> Vec<String> {
        let words = title.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(name_key).collect()
    };
    one == other || (words(one) == words(other) && !words(one).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_said_once() {
        for (path, expected) in [
            (vec!["plan", "Plan", "Budget"], "Plan > Budget"),
            (vec!["winter-feed", "Winter feed"], "Winter feed"),
            (vec!["Plan", "Plan"], "Plan"),
            (vec!["plan", "Harbour plan"], "plan > Harbour plan"),
            (vec!["plan", "Budget", "budget"], "plan > Budget > budget"),
            (vec!["港口", "码头"], "港口 > 码头"),
            (vec!["plan"], "plan"),
            (vec![], ""),
        ] {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            assert_eq!(title(&path), expected);
        }
    }
}
