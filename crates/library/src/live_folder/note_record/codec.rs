//! Records as bytes, for the cache. The bytes are untrusted: they are decoded or refused, in time and memory
//! proportional to their length.
//!
//! A file is a mark, a version, the texts of all records ([`texts`]), and the records one after another. Numbers are
//! varints, seven bits a byte, the lowest first; lists are preceded by their length, and positions are distances from
//! the one before. The details of a record are preceded by their length too: they are checked at once, and read when
//! they are needed, because most searches need those of a few notes.

mod check;
mod texts;

use std::{ops::Range, sync::Arc};

use sectile_markdown::{Digest, Field, LinkForm, NamedBlock, NotePath, Properties, Span, Task};
use sectile_retrieval::FormatError;

use self::{
    check::DetailsCheck,
    texts::{TextWriter, Texts},
};
use super::{HeadingRecord, HeadingSpelling, LinkRecord, NoteDetails, NoteRecord};
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
/// Bits of the byte before a link, above its form: whether it has a fragment, and uses.
const HAS_FRAGMENT: u8 = 8;
const HAS_USES: u8 = 16;

/// Returns `records` as bytes.
pub fn encode_records(records: &[Arc<NoteRecord>]) -> Vec<u8> {
    let mut writer = Writer::default();
    let mut all = Vec::new();
    for record in records {
        writer.details(record);
        let details = std::mem::take(&mut writer.out);
        writer.head(record);
        writer.number(details.len() as u64);
        all.append(&mut writer.out);
        all.extend_from_slice(&details);
        // Its room is used again.
        writer.out = details;
        writer.out.clear();
    }
    let mut out = MARK.to_vec();
    out.extend(VERSION.to_le_bytes());
    writer.texts.finish(&mut out);
    out.extend(all);
    out
}

/// Returns the records in bytes that [`encode_records`] made.
///
/// # Errors
/// [`FormatError`] when the bytes are anything else.
pub fn decode_records(bytes: &[u8]) -> Result<Vec<NoteRecord>, FormatError> {
    let rest = bytes.strip_prefix(MARK).ok_or(FormatError::Strange)?;
    let rest = rest
        .strip_prefix(&VERSION.to_le_bytes())
        .ok_or(FormatError::OtherVersion)?;
    decoded(rest).ok_or(FormatError::Damaged)
}

fn decoded(rest: &[u8]) -> Option<Vec<NoteRecord>> {
    let mut reader = Reader(rest);
    let texts = Texts::read(&mut reader)?;
    let file = Arc::new(RecordFile {
        texts,
        bytes: reader.0.to_vec(),
    });
    let mut records = Vec::new();
    let length = file.bytes.len();
    let mut reader = Reader(&file.bytes);
    let mut check = DetailsCheck::new(&file.texts);
    while !reader.0.is_empty() {
        let mut record = reader.head(&file.texts)?;
        check.takes(record.path.as_str().len())?;
        let details = reader.offset()?;
        let start = length - reader.0.len();
        let range = start..start + details;
        check.details(&mut Reader(reader.take(details)?))?;
        let file = Arc::clone(&file);
        record.encoded = Some(EncodedDetails { file, range });
        records.push(record);
    }
    Some(records)
}

/// The bytes of records that were read.
#[derive(Debug)]
struct RecordFile {
    texts: Texts,
    bytes: Vec<u8>,
}

/// The details of a record, which are read when they are needed.
#[derive(Clone, Debug)]
pub(super) struct EncodedDetails {
    file: Arc<RecordFile>,
    range: Range<usize>,
}

impl EncodedDetails {
    /// Returns the details; `None` if they are damaged, which was checked when the records were read.
    pub(super) fn decoded(&self) -> Option<NoteDetails> {
        let RecordFile { texts, bytes } = &*self.file;
        let mut reader = Reader(bytes.get(self.range.clone())?);
        reader.details(texts).filter(|_| reader.0.is_empty())
    }
}

/// Writes records.
#[derive(Default)]
struct Writer<'a> {
    out: Vec<u8>,
    texts: TextWriter<'a>,
}

impl<'a> Writer<'a> {
    fn head(&mut self, record: &'a NoteRecord) {
        self.text(record.path.as_str());
        self.stamp(&record.stamp);
        self.out.extend(record.digest.as_bytes());
        self.out.push(match record.left_out {
            None => 0,
            Some(WhyLeftOut::TooLarge) => 1,
            Some(WhyLeftOut::Unreadable) => 2,
        });
    }

    fn details(&mut self, details: &'a NoteDetails) {
        let NoteDetails {
            title,
            date,
            properties,
            links,
            headings,
            blocks,
            html_ids,
            tokens,
            page,
        } = details;
        self.text(title);
        self.out.push(u8::from(date.is_some()));
        if let Some(date) = date {
            self.signed(*date);
        }
        self.number(u64::from(*tokens));
        self.properties(properties);
        self.links(links);
        let mut last = 0;
        self.list(headings, |writer, heading| {
            let spelled = u8::from(heading.spelling.is_some());
            let nested = u8::from(heading.is_nested) << 1;
            writer.out.push(heading.level << 2 | nested | spelled);
            writer.position(heading.start as u64, &mut last);
            writer.text(&heading.text);
            if let Some(spelling) = &heading.spelling {
                writer.text(&spelling.visible);
                writer.text(&spelling.raw);
            }
        });
        self.list(blocks, |writer, block| {
            writer.text(&block.name);
            writer.number(block.start as u64);
        });
        self.list(html_ids, |writer, id| writer.text(id));
        self.out.push(u8::from(page.is_some()));
        if let Some(page) = page {
            self.text(&page.summary);
            self.out.push(u8::from(page.has_invalid_front_matter));
            self.out.push(match page.problem {
                None => 0,
                Some(PageProblem::NotUtf8) => 1,
                Some(PageProblem::Empty) => 2,
            });
        }
    }

    fn properties(&mut self, properties: &'a Properties) {
        let Properties {
            fields,
            tags,
            aliases,
            tasks,
        } = properties;
        self.list(fields, |writer, field| {
            writer.text(&field.name);
            writer.list(&field.values, |writer, value| writer.text(value));
        });
        self.list(tags, |writer, tag| writer.text(tag));
        self.list(aliases, |writer, alias| writer.text(alias));
        let mut last = 0;
        self.list(tasks, |writer, task| {
            writer.span(task.span, &mut last);
            writer.out.push(u8::from(task.is_done));
        });
    }

    fn links(&mut self, links: &'a [LinkRecord]) {
        let (mut last, mut last_line) = (0, 0);
        self.list(links, |writer, link| {
            let form = FORMS.iter().position(|form| *form == link.form);
            let has_fragment = !link.fragment.is_empty();
            let has_uses = !link.uses.is_empty();
            writer.out.push(
                form.unwrap_or_default() as u8
                    | if has_fragment { HAS_FRAGMENT } else { 0 }
                    | if has_uses { HAS_USES } else { 0 },
            );
            writer.span(link.span, &mut last);
            writer.position(u64::from(link.line), &mut last_line);
            writer.text(&link.path);
            if has_fragment {
                writer.text(&link.fragment);
            }
            if has_uses {
                let mut last = 0;
                writer.list(&link.uses, |writer, one| writer.span(*one, &mut last));
            }
        });
    }

    fn number(&mut self, one: u64) {
        number(&mut self.out, one);
    }

    /// Writes a number of either sign; small ones are short.
    fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Writes a position as the distance from the last one.
    fn position(&mut self, at: u64, last: &mut u64) {
        self.signed(at.wrapping_sub(*last).cast_signed());
        *last = at;
    }

    fn text(&mut self, text: &'a str) {
        let text = self.texts.number_of(text);
        self.number(u64::from(text));
    }

    /// Writes a span, whose start is a position.
    fn span(&mut self, span: Span, last: &mut u64) {
        self.position(span.start as u64, last);
        self.number(span.len() as u64);
    }

    /// Writes a stamp: its state, and the rest where that does not follow from it.
    fn stamp(&mut self, stamp: &NotebookStamp) {
        let [length, modified, changed, file] = stamp.state;
        let is_usual = *stamp == NotebookStamp::of_file(stamp.state);
        self.out.push(u8::from(is_usual));
        self.number(length);
        self.out.extend(modified.to_le_bytes());
        self.signed(changed.wrapping_sub(modified).cast_signed());
        self.number(file);
        if !is_usual {
            self.number(stamp.bytes);
            self.signed(stamp.modified);
            self.out.extend(stamp.changed.to_le_bytes());
        }
    }

    fn list<T>(&mut self, items: &'a [T], mut write: impl FnMut(&mut Self, &'a T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }
}

fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The byte before a heading.
struct HeadingShape {
    level: u8,
    is_nested: bool,
    has_spelling: bool,
}

/// Reads bytes that may be anything.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads a record up to its details, which are empty.
    fn head(&mut self, texts: &Texts) -> Option<NoteRecord> {
        let path = texts.get(self.number()?)?;
        let path = NotePath::parse_vault(&path)
            .ok()
            .filter(|parsed| *parsed.as_str() == *path)?;
        let stamp = self.stamp()?;
        let digest = Digest::from_bytes(*self.take(32)?.first_chunk()?);
        let left_out = match self.byte()? {
            0 => None,
            1 => Some(WhyLeftOut::TooLarge),
            2 => Some(WhyLeftOut::Unreadable),
            _ => return None,
        };
        Some(NoteRecord {
            path,
            stamp,
            digest,
            left_out,
            encoded: None,
            details: std::sync::OnceLock::new(),
        })
    }

    fn details(&mut self, texts: &Texts) -> Option<NoteDetails> {
        Some(NoteDetails {
            title: self.text(texts)?,
            date: match self.flag()? {
                false => None,
                true => Some(self.signed()?),
            },
            tokens: self.small()?,
            properties: self.properties(texts)?,
            links: {
                let mut last = (0, 0);
                self.list(|reader| reader.link(texts, &mut last))?
            },
            headings: {
                let mut last = 0;
                self.list(|reader| reader.heading(texts, &mut last))?
            },
            blocks: self.list(|reader| reader.block(texts))?,
            html_ids: self.list(|reader| reader.text(texts))?,
            page: match self.flag()? {
                false => None,
                true => Some(Box::new(PageFacts {
                    summary: self.text(texts)?,
                    has_invalid_front_matter: self.flag()?,
                    problem: self.page_problem()?,
                })),
            },
        })
    }

    fn properties(&mut self, texts: &Texts) -> Option<Properties> {
        Some(Properties {
            fields: self.list(|reader| reader.field(texts))?,
            tags: self.list(|reader| reader.text(texts))?,
            aliases: self.list(|reader| reader.text(texts))?,
            tasks: {
                let mut last = 0;
                self.list(|reader| reader.task(&mut last))?
            },
        })
    }

    fn page_problem(&mut self) -> Option<Option<PageProblem>> {
        match self.byte()? {
            0 => Some(None),
            1 => Some(Some(PageProblem::NotUtf8)),
            2 => Some(Some(PageProblem::Empty)),
            _ => None,
        }
    }

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

    fn position(&mut self, last: &mut u64) -> Option<u64> {
        *last = last.wrapping_add(self.signed()?.cast_unsigned());
        Some(*last)
    }

    fn place(&mut self, last: &mut u64) -> Option<usize> {
        usize::try_from(self.position(last)?).ok()
    }

    fn line(&mut self, last: &mut u64) -> Option<u32> {
        u32::try_from(self.position(last)?).ok()
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn offset(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn text(&mut self, texts: &Texts) -> Option<String> {
        texts.get(self.number()?)
    }

    fn span(&mut self, last: &mut u64) -> Option<Span> {
        let start = self.place(last)?;
        let length = self.offset()?;
        Some(Span::new(start, start.checked_add(length)?))
    }

    fn eight(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    fn stamp(&mut self) -> Option<NotebookStamp> {
        let is_usual = self.flag()?;
        let (length, modified) = (self.number()?, self.eight()?);
        let changed = modified.wrapping_add(self.signed()?.cast_unsigned());
        let state = [length, modified, changed, self.number()?];
        Some(match is_usual {
            true => NotebookStamp::of_file(state),
            false => NotebookStamp {
                bytes: self.number()?,
                modified: self.signed()?,
                changed: self.eight()?,
                state,
            },
        })
    }

    /// Reads the length of a list. Every item takes at least a byte, so a length beyond the rest is invalid.
    fn length(&mut self) -> Option<usize> {
        self.offset().filter(|length| *length <= self.0.len())
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        /// Most lists are shorter; a longer one grows as it is read.
        const USUAL: usize = 32;
        let length = self.length()?;
        let mut items = Vec::with_capacity(length.min(USUAL));
        for _ in 0..length {
            items.push(read(self)?);
        }
        Some(items)
    }

    fn field(&mut self, texts: &Texts) -> Option<Field> {
        Some(Field {
            name: self.text(texts)?,
            values: self.list(|reader| reader.text(texts))?,
        })
    }

    fn task(&mut self, last: &mut u64) -> Option<Task> {
        Some(Task {
            span: self.span(last)?,
            is_done: self.flag()?,
        })
    }

    fn link(&mut self, texts: &Texts, last: &mut (u64, u64)) -> Option<LinkRecord> {
        let shape = self.byte()?;
        let form = shape & !(HAS_FRAGMENT | HAS_USES);
        let has = |part: u8| shape & part != 0;
        Some(LinkRecord {
            form: *FORMS.get(usize::from(form))?,
            span: self.span(&mut last.0)?,
            line: self.line(&mut last.1)?,
            path: self.text(texts)?,
            fragment: match has(HAS_FRAGMENT) {
                true => self.text(texts)?,
                false => String::new(),
            },
            uses: match has(HAS_USES) {
                true => {
                    let mut last = 0;
                    self.list(|reader| reader.span(&mut last))?
                }
                false => Vec::new(),
            },
        })
    }

    fn heading(&mut self, texts: &Texts, last: &mut u64) -> Option<HeadingRecord> {
        let HeadingShape {
            level,
            is_nested,
            has_spelling,
        } = self.heading_shape()?;
        Some(HeadingRecord {
            level,
            is_nested,
            start: self.place(last)?,
            text: self.text(texts)?,
            spelling: match has_spelling {
                false => None,
                true => Some(Box::new(HeadingSpelling {
                    visible: self.text(texts)?,
                    raw: self.text(texts)?,
                })),
            },
        })
    }

    fn heading_shape(&mut self) -> Option<HeadingShape> {
        let shape = self.byte()?;
        let level = shape >> 2;
        (1..=6).contains(&level).then_some(HeadingShape {
            level,
            is_nested: shape & 2 != 0,
            has_spelling: shape & 1 != 0,
        })
    }

    fn block(&mut self, texts: &Texts) -> Option<NamedBlock> {
        Some(NamedBlock {
            name: self.text(texts)?,
            start: self.offset()?,
        })
    }
}
