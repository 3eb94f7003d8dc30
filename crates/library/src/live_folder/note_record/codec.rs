//! Records as bytes, for the cache. The bytes are untrusted: they are decoded or refused, in time and memory
//! proportional to their length.
//!
//! A file is a mark, a version, and the records one after another. Numbers are varints, seven bits a byte, the lowest
//! first; strings and lists are preceded by their length.

use std::sync::Arc;

use sectile_markdown::{Digest, Field, LinkForm, NamedBlock, NotePath, Properties, Span, Task};
use sectile_retrieval::FormatError;

use super::{HeadingRecord, HeadingSpelling, LinkRecord, NoteRecord};
use crate::{
    left_out::WhyLeftOut,
    manual_page::{PageFacts, PageProblem},
    storage::NotebookStamp,
};

const MARK: &[u8; 8] = b"SECTREC\n";
const VERSION: u32 = 2;
/// The forms of links, by the number that stands for them.
const FORMS: [LinkForm; 6] = [
    LinkForm::Inline,
    LinkForm::Image,
    LinkForm::Definition,
    LinkForm::Wiki,
    LinkForm::WikiEmbed,
    LinkForm::Html,
];

/// Returns `records` as bytes.
pub fn encode_records(records: &[Arc<NoteRecord>]) -> Vec<u8> {
    let mut out = MARK.to_vec();
    out.extend(VERSION.to_le_bytes());
    for record in records {
        record.encode(&mut out);
    }
    out
}

/// Returns the records in bytes that [`encode_records`] made.
///
/// # Errors
/// [`FormatError`] when they are anything else.
pub fn decode_records(bytes: &[u8]) -> Result<Vec<NoteRecord>, FormatError> {
    let rest = bytes.strip_prefix(MARK).ok_or(FormatError::Strange)?;
    let rest = rest
        .strip_prefix(&VERSION.to_le_bytes())
        .ok_or(FormatError::OtherVersion)?;
    let mut reader = Reader(rest);
    let mut records = Vec::new();
    while !reader.0.is_empty() {
        records.push(NoteRecord::read(&mut reader).ok_or(FormatError::Damaged)?);
    }
    Ok(records)
}

impl NoteRecord {
    /// Appends the record to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        text(out, self.path.as_str());
        stamp(out, &self.stamp);
        out.extend(self.digest.as_bytes());
        out.push(match self.left_out {
            None => 0,
            Some(WhyLeftOut::TooLarge) => 1,
            Some(WhyLeftOut::Unreadable) => 2,
        });
        text(out, &self.title);
        match self.date {
            None => out.push(0),
            Some(date) => {
                out.push(1);
                signed(out, date);
            }
        }
        number(out, u64::from(self.tokens));
        let Properties {
            fields,
            tags,
            aliases,
            tasks,
        } = &self.properties;
        list(out, fields, |out, field| {
            text(out, &field.name);
            list(out, &field.values, |out, value| text(out, value));
        });
        list(out, tags, |out, tag| text(out, tag));
        list(out, aliases, |out, alias| text(out, alias));
        list(out, tasks, |out, task| {
            span(out, task.span);
            out.push(u8::from(task.is_done));
        });
        list(out, &self.links, |out, link| {
            let form = FORMS.iter().position(|form| *form == link.form);
            out.push(form.unwrap_or_default() as u8);
            span(out, link.span);
            number(out, u64::from(link.line));
            text(out, &link.path);
            text(out, &link.fragment);
            list(out, &link.uses, |out, one| span(out, *one));
        });
        list(out, &self.headings, |out, heading| {
            let spelled = u8::from(heading.spelling.is_some());
            out.push(heading.level << 2 | u8::from(heading.is_nested) << 1 | spelled);
            number(out, heading.start as u64);
            text(out, &heading.text);
            if let Some(spelling) = &heading.spelling {
                text(out, &spelling.visible);
                text(out, &spelling.raw);
            }
        });
        list(out, &self.blocks, |out, block| {
            text(out, &block.name);
            number(out, block.start as u64);
        });
        list(out, &self.html_ids, |out, id| text(out, id));
        out.push(u8::from(self.page.is_some()));
        if let Some(page) = &self.page {
            text(out, &page.summary);
            out.push(u8::from(page.has_invalid_front_matter));
            out.push(match page.problem {
                None => 0,
                Some(PageProblem::NotUtf8) => 1,
                Some(PageProblem::Empty) => 2,
            });
        }
    }

    /// Returns the record at the start of `bytes`, and the bytes after it; `None` if they are not a record.
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = Reader(bytes);
        let record = Self::read(&mut reader)?;
        Some((record, reader.0))
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let path = from.text()?;
        let path = NotePath::parse_vault(&path)
            .ok()
            .filter(|parsed| parsed.as_str() == path)?;
        Some(Self {
            path,
            stamp: from.stamp()?,
            digest: Digest::from_bytes(*from.take(32)?.first_chunk()?),
            left_out: match from.byte()? {
                0 => None,
                1 => Some(WhyLeftOut::TooLarge),
                2 => Some(WhyLeftOut::Unreadable),
                _ => return None,
            },
            title: from.text()?,
            date: match from.flag()? {
                false => None,
                true => Some(from.signed()?),
            },
            tokens: from.small()?,
            properties: Properties {
                fields: from.list(Reader::field)?,
                tags: from.list(Reader::text)?,
                aliases: from.list(Reader::text)?,
                tasks: from.list(Reader::task)?,
            },
            links: from.list(Reader::link)?,
            headings: from.list(Reader::heading)?,
            blocks: from.list(Reader::block)?,
            html_ids: from.list(Reader::text)?,
            page: match from.flag()? {
                false => None,
                true => Some(Box::new(PageFacts {
                    summary: from.text()?,
                    has_invalid_front_matter: from.flag()?,
                    problem: match from.byte()? {
                        0 => None,
                        1 => Some(PageProblem::NotUtf8),
                        2 => Some(PageProblem::Empty),
                        _ => return None,
                    },
                })),
            },
        })
    }
}

fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a number of either sign; small ones are short.
fn signed(out: &mut Vec<u8>, value: i64) {
    number(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn span(out: &mut Vec<u8>, span: Span) {
    number(out, span.start as u64);
    number(out, span.len() as u64);
}

fn stamp(out: &mut Vec<u8>, stamp: &NotebookStamp) {
    number(out, stamp.bytes);
    signed(out, stamp.modified);
    out.extend(stamp.changed.to_le_bytes());
    for word in stamp.state {
        out.extend(word.to_le_bytes());
    }
}

fn list<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    number(out, items.len() as u64);
    items.iter().for_each(|item| write(out, item));
}

/// Reads bytes that may be anything.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // Bits that do not fit would be lost.
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn offset(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = self.offset()?;
        let bytes = self.take(length)?;
        Some(std::str::from_utf8(bytes).ok()?.to_owned())
    }

    fn span(&mut self) -> Option<Span> {
        let start = self.offset()?;
        let length = self.offset()?;
        Some(Span::new(start, start.checked_add(length)?))
    }

    fn eight(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    fn stamp(&mut self) -> Option<NotebookStamp> {
        Some(NotebookStamp {
            bytes: self.number()?,
            modified: self.signed()?,
            changed: self.eight()?,
            state: [self.eight()?, self.eight()?, self.eight()?, self.eight()?],
        })
    }

    /// Reads a list. Every item takes at least a byte, so a length beyond the rest is invalid.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        /// Most lists are shorter; a longer one grows as it is read.
        const USUAL: usize = 32;
        let length = self.offset()?;
        if length > self.0.len() {
            return None;
        }
        let mut items = Vec::with_capacity(length.min(USUAL));
        for _ in 0..length {
            items.push(read(self)?);
        }
        Some(items)
    }

    fn field(&mut self) -> Option<Field> {
        Some(Field {
            name: self.text()?,
            values: self.list(Self::text)?,
        })
    }

    fn task(&mut self) -> Option<Task> {
        Some(Task {
            span: self.span()?,
            is_done: self.flag()?,
        })
    }

    fn link(&mut self) -> Option<LinkRecord> {
        Some(LinkRecord {
            form: *FORMS.get(usize::from(self.byte()?))?,
            span: self.span()?,
            line: self.small()?,
            path: self.text()?,
            fragment: self.text()?,
            uses: self.list(Self::span)?,
        })
    }

    fn heading(&mut self) -> Option<HeadingRecord> {
        let shape = self.byte()?;
        let level = shape >> 2;
        if !(1..=6).contains(&level) {
            return None;
        }
        Some(HeadingRecord {
            level,
            is_nested: shape & 2 != 0,
            start: self.offset()?,
            text: self.text()?,
            spelling: match shape & 1 {
                0 => None,
                _ => Some(Box::new(HeadingSpelling {
                    visible: self.text()?,
                    raw: self.text()?,
                })),
            },
        })
    }

    fn block(&mut self) -> Option<NamedBlock> {
        Some(NamedBlock {
            name: self.text()?,
            start: self.offset()?,
        })
    }
}
