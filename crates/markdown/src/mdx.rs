//! Finds what is a program in MDX: `import` and `export`, tags and expressions. The rest is prose in Markdown.
//!
//! The text that the parser gets has the same length, with other characters in place of the program. So every span that
//! comes of it is one of the page.

use std::{borrow::Cow, ops::Range};

use memchr::{memchr, memchr2};

use crate::{lines::line_at, work};

/// Stands for a byte of a program in a line that also has prose. It is neither white space nor punctuation, so what is
/// around it is parsed as it would be around a word.
pub(crate) const FILLER: char = '\u{1}';

/// How many times the length of the page may be read in vain, in search of ends that are not there.
const READS_IN_VAIN: usize = 8;

/// Returns the text with its programs replaced, from byte `start` on. What never ends is text.
pub(crate) fn without_programs(text: &str, start: usize) -> Cow<'_, str> {
    let mut reader = ProgramReader {
        text,
        at: start,
        budget: READS_IN_VAIN * text.len(),
        line_content: start,
        is_block: true,
        last_comment_end: text.rfind("*/").unwrap_or(0),
        found: Vec::new(),
    };
    reader.read();
    if reader.found.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(masked(text, &reader.found))
}

/// Replaces the ranges, which are in order: with blanks in lines that have nothing else, and with fillers in others.
fn masked(text: &str, programs: &[Range<usize>]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut programs = programs.iter().cloned().peekable();
    let mut at = 0;
    while at < text.len() {
        let line = line_at(text.as_bytes(), at);
        let content = at..line.content_end;
        let mut inside = Vec::new();
        while let Some(next) = programs.peek_mut()
            && next.start < line.end
        {
            let part = next.start.max(content.start)..next.end.min(content.end);
            if !part.is_empty() {
                inside.push(part);
            }
            if next.end > line.end {
                next.start = line.end;
                break;
            }
            programs.next();
        }
        let mut kept = content.start;
        let mut has_prose = false;
        for part in &inside {
            has_prose |= !text[kept..part.start].trim().is_empty();
            kept = part.end;
        }
        has_prose |= !text[kept..content.end].trim().is_empty();
        let filler = if has_prose { FILLER } else { ' ' };
        let mut kept = content.start;
        for part in inside {
            result.push_str(&text[kept..part.start]);
            result.extend(std::iter::repeat_n(filler, part.len()));
            kept = part.end;
        }
        result.push_str(&text[kept..line.end]);
        at = line.end;
    }
    result
}

struct ProgramReader<'t> {
    text: &'t str,
    at: usize,
    /// The bytes that may still be read in vain.
    budget: usize,
    /// The offset at which the content of the line starts, inside quotes and list items.
    line_content: usize,
    /// Whether the program that is being read is at the start of its line, and so may have blank lines.
    is_block: bool,
    /// The offset after which no comment ends.
    last_comment_end: usize,
    found: Vec<Range<usize>>,
}

/// The end of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgramEnd {
    /// The brace that closes the one before.
    Brace,
    /// A blank line, or the end of the text, outside all brackets.
    BlankLine,
}

impl ProgramReader<'_> {
    /// Reads the page line by line, and each line up to its end or that of the program in it.
    fn read(&mut self) {
        // A statement starts a block.
        let mut is_after_blank = true;
        while self.at < self.text.len() {
            let line = line_at(self.text.as_bytes(), self.at);
            let content = &self.text[self.at..line.content_end];
            if is_after_blank && is_statement(content) && self.take_statement() {
                continue;
            }
            is_after_blank = content.trim().is_empty();
            if let Some(fence) = Fence::opened_by(content) {
                self.at = line.end;
                self.skip_fenced(&fence);
                is_after_blank = true;
                continue;
            }
            self.line_content = line.content_end - inner(content).len();
            self.read_line(line.content_end);
            self.at = self.at.max(line.end);
            // A program may have ended inside a line.
            if self.at > line.end {
                self.read_rest_of_line();
            }
        }
    }

    fn read_rest_of_line(&mut self) {
        loop {
            let end = line_at(self.text.as_bytes(), self.at);
            self.line_content = end.end;
            self.read_line(end.content_end);
            if self.at <= end.end {
                self.at = end.end;
                return;
            }
        }
    }

    /// Reads up to `end`, or beyond where a program, code or a comment ends later.
    fn read_line(&mut self, end: usize) {
        let bytes = self.text.as_bytes();
        while self.at < end {
            match bytes[self.at] {
                b'\\' => {
                    self.at += 1 + usize::from(bytes.get(self.at + 1).is_some_and(u8::is_ascii))
                }
                b'`' => self.skip_code(),
                b'<' if self.text[self.at..].starts_with("<!--") => self.skip_comment(),
                b'<' => self.take(|reader, start| reader.tag_end(start)),
                b'{' if !self.is_attribute_list(self.at) => {
                    self.take(|reader, start| reader.program_end(start + 1, ProgramEnd::Brace));
                }
                _ => self.at += 1,
            }
        }
    }

    /// Takes what starts here for a program, if it has an end.
    fn take(&mut self, end: impl Fn(&mut Self, usize) -> Option<usize>) {
        let start = self.at;
        self.is_block = start == self.line_content;
        match end(self, start) {
            Some(end) => {
                self.found.push(start..end);
                self.at = end;
            }
            None => self.at = start + 1,
        }
    }

    /// Takes a statement, up to the first blank line that is outside all brackets.
    fn take_statement(&mut self) -> bool {
        let start = self.at;
        self.is_block = true;
        let Some(end) = self.program_end(start, ProgramEnd::BlankLine) else {
            return false;
        };
        self.found.push(start..end);
        self.at = end;
        true
    }

    /// Returns whether the brace at `at` starts the attributes of a heading: `{#id}`, `{ .class }`, `{/* #id */}`.
    fn is_attribute_list(&self, at: usize) -> bool {
        let inside = &self.text[at + 1..];
        let inside = inside.strip_prefix("/*").unwrap_or(inside);
        self.text[self.line_content..].starts_with('#')
            && inside
                .trim_start_matches([' ', ':'])
                .starts_with(['#', '.'])
            && !inside.starts_with("...")
    }

    /// Skips code between backticks, which ends in its paragraph, or else the backticks.
    fn skip_code(&mut self) {
        let rest = &self.text[self.at..];
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        self.at += ticks;
        if self.budget == 0 {
            return;
        }
        let mut at = self.at;
        while let Some(found) = memchr2(b'`', b'\n', &self.text.as_bytes()[at..]) {
            let here = at + found;
            if self.text.as_bytes()[here] == b'\n' {
                if self.is_before_blank_line(here) {
                    at = here;
                    break;
                }
                at = here + 1;
                continue;
            }
            let run = &self.text[here..];
            let length = run.len() - run.trim_start_matches('`').len();
            at = here + length;
            if length == ticks {
                self.at = at;
                return;
            }
        }
        self.spend(at.saturating_sub(self.at));
    }

    fn skip_comment(&mut self) {
        let end = self.text[self.at..].find("-->");
        match end {
            Some(end) => self.at += end + 3,
            None => self.at = self.text.len(),
        }
    }

    fn skip_fenced(&mut self, fence: &Fence) {
        while self.at < self.text.len() {
            let line = line_at(self.text.as_bytes(), self.at);
            let closes = fence.is_closed_by(&self.text[self.at..line.content_end]);
            self.at = line.end;
            if closes {
                break;
            }
        }
    }

    /// Counts what was read in vain.
    fn spend(&mut self, bytes: usize) {
        work::count(bytes);
        self.budget = self.budget.saturating_sub(bytes);
    }

    /// Returns whether the line after the line end at `at` is blank.
    fn is_before_blank_line(&self, at: usize) -> bool {
        let next = line_at(self.text.as_bytes(), at + 1);
        self.text[at + 1..next.content_end].trim().is_empty()
    }

    /// Returns the end of the tag at `start`.
    fn tag_end(&mut self, start: usize) -> Option<usize> {
        let end = self.find_tag_end(start);
        if let Err(read_to) = end {
            self.spend(read_to - start);
        }
        end.ok()
    }

    /// Returns the end of a tag, or how far it was read when it turned out not to be one.
    fn find_tag_end(&mut self, start: usize) -> Result<usize, usize> {
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        at += usize::from(bytes.get(at) == Some(&b'/'));
        let is_name = |byte: &u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b':' | b'-')
        };
        let starts_name = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
        if bytes.get(at) == Some(&b'>') {
            return Ok(at + 1);
        }
        if !bytes.get(at).is_some_and(starts_name) {
            return Err(at);
        }
        at += bytes[at..].iter().take_while(|byte| is_name(byte)).count();
        while self.budget > at - start {
            match bytes.get(at) {
                Some(b'>') => return Ok(at + 1),
                Some(b'/') if bytes.get(at + 1) == Some(&b'>') => return Ok(at + 2),
                Some(b'\n') if !self.is_block && self.is_before_blank_line(at) => return Err(at),
                Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
                Some(b'{') => at = self.program_end(at + 1, ProgramEnd::Brace).ok_or(at)?,
                Some(quote @ (b'"' | b'\'')) if bytes[at - 1] == b'=' => {
                    let value = memchr(*quote, &bytes[at + 1..]).ok_or(bytes.len())?;
                    at += value + 2;
                }
                Some(b'=') => at += 1,
                Some(byte) if is_name(byte) => at += 1,
                _ => return Err(at),
            }
        }
        Err(at)
    }

    /// Returns the end of a program that starts at `start`. A statement whose brackets are never closed ends at the first
    /// blank line.
    fn program_end(&mut self, start: usize, end: ProgramEnd) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = start;
        let mut open: Vec<u8> = Vec::new();
        if end == ProgramEnd::Brace {
            open.push(b'}');
        }
        let limit = start.saturating_add(self.budget).min(bytes.len());
        let mut first_blank = None;
        while at < limit {
            let byte = bytes[at];
            let in_template = open.last() == Some(&b'`');
            match byte {
                b'\\' => at += 1,
                b'`' if in_template => drop(open.pop()),
                b'$' if in_template && bytes.get(at + 1) == Some(&b'{') => {
                    open.push(b'}');
                    at += 1;
                }
                _ if in_template => {}
                b'`' => open.push(b'`'),
                b'"' | b'\'' => at = self.string_end(at),
                b'/' if bytes.get(at + 1) == Some(&b'*') => at = self.comment_end(at),
                b'/' if bytes.get(at + 1) == Some(&b'/')
                    && !matches!(bytes.get(at.wrapping_sub(1)), Some(b':')) =>
                {
                    at = line_at(bytes, at).content_end.max(at + 1) - 1;
                }
                b'{' => open.push(b'}'),
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'}' | b')' | b']' if open.last() == Some(&byte) => {
                    open.pop();
                    if open.is_empty() && end == ProgramEnd::Brace {
                        return Some(at + 1);
                    }
                }
                b'\n'
                    if (!self.is_block || end == ProgramEnd::BlankLine)
                        && self.is_before_blank_line(at) =>
                {
                    match end {
                        ProgramEnd::BlankLine if open.is_empty() => return Some(at + 1),
                        ProgramEnd::BlankLine => first_blank = first_blank.or(Some(at + 1)),
                        ProgramEnd::Brace => {
                            self.spend(at - start);
                            return None;
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
        if end == ProgramEnd::BlankLine && open.is_empty() && limit == bytes.len() {
            return Some(bytes.len());
        }
        self.spend(limit - start);
        first_blank
    }

    /// Returns the offset of the quote that ends a string, or of its first where it does not end in its line.
    fn string_end(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => break,
                b'\\' => at += 1,
                _ if *byte == bytes[start] => return at,
                _ => {}
            }
            at += 1;
        }
        start
    }

    /// Returns the offset of the last byte of a comment, or of its first where it does not end.
    fn comment_end(&self, start: usize) -> usize {
        if start + 2 > self.last_comment_end {
            return start;
        }
        let rest = &self.text[start + 2..];
        rest.find("*/").map_or(start, |end| start + 2 + end + 1)
    }
}

/// Returns whether a line starts a statement, which is never indented.
fn is_statement(line: &str) -> bool {
    ["import", "export"].iter().any(|keyword| {
        let rest = line.strip_prefix(keyword);
        rest.is_some_and(|rest| rest.starts_with([' ', '\t', '{', '*', '"', '\'']))
    })
}

/// The line of backticks or tildes that opens a block of code.
struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let rest = inner(line);
        let mark = rest
            .bytes()
            .next()
            .filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = rest.bytes().take_while(|byte| *byte == mark).count();
        let can_be = mark == b'~' || !rest[length..].contains('`');
        (length >= 3 && can_be).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let rest = inner(line).trim_end();
        rest.len() >= self.length && rest.bytes().all(|byte| byte == self.mark)
    }
}

/// Returns what is in a line inside quotes and list items.
fn inner(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let after = rest
            .strip_prefix('>')
            .or_else(|| {
                ["- ", "* ", "+ "]
                    .iter()
                    .find_map(|mark| rest.strip_prefix(mark))
            })
            .or_else(|| {
                let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                let is_number = digits.len() < rest.len();
                let marks = [". ", ") "]
                    .iter()
                    .find_map(|mark| digits.strip_prefix(mark));
                marks.filter(|_| is_number)
            });
        match after {
            Some(after) => rest = after.trim_start(),
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests;
