//! The journal as a file: reading what is new, appending, and rewriting. The id file has the same form.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use cap_std::fs::File;
use sectile_markdown::Digest;

use super::{Header, JournalKey, LineOrigin, Record};
use crate::{fault::step, fs::PrivateFolder};

/// Name of the file that holds the history.
pub(crate) const JOURNAL: &str = "journal";
/// Name of the file that holds the ids of documents that were only read.
pub(crate) const IDS: &str = "ids";
/// Suffix of a file that is being written to replace the other.
pub(crate) const UNFINISHED: &str = ".new";
/// Version of the format that this program writes and reads.
pub(crate) const VERSION: u32 = 1;
const CHECKSUM_DIGITS: usize = 16;

/// A record, and its position in the file.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) origin: LineOrigin,
    pub(crate) record: Record,
}

/// A part of the journal that cannot be read. It is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The offset of the line in bytes.
    pub offset: u64,
    /// The length of the line in bytes.
    pub len: u64,
}

/// The reason the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("the journal was written by a newer version")]
    UnknownVersion,
    #[error("the journal cannot be read or written ({})", .0.kind())]
    Io(#[from] io::Error),
}

/// The journal or the id file, and how far it has been read.
#[derive(Debug)]
pub(crate) struct Journal {
    name: &'static str,
    key: JournalKey,
    header: Option<Header>,
    /// Offset up to which everything is known.
    end: u64,
    /// The first line, and the last bytes before the end. If both are unchanged, it is still the journal that was read.
    first_line: Vec<u8>,
    last_bytes: Vec<u8>,
}

/// Number of bytes that always include the checksum of a short record.
const LAST_BYTES: usize = 96;

/// The result of reading the journal.
pub(crate) enum JournalUpdate {
    /// New lines were appended.
    More(JournalBatch),
    /// It is a different journal than before; these are all its lines.
    Anew(JournalBatch),
}

#[derive(Default)]
pub(crate) struct JournalBatch {
    pub(crate) lines: Vec<Line>,
    pub(crate) damage: Vec<Damage>,
    /// Number of bytes that were read as complete lines.
    pub(crate) complete: u64,
    /// Number of bytes after them.
    pub(crate) torn: u64,
}

/// How durable a line is when [`Journal::append`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The line survives a power cut.
    Flushed,
    /// The line survives the end of the process.
    Written,
}

impl Journal {
    /// Returns the file `name`, of which nothing has been read yet.
    pub(crate) fn new(name: &'static str, key: JournalKey) -> Self {
        Self {
            name,
            key,
            header: None,
            end: 0,
            first_line: Vec::new(),
            last_bytes: Vec::new(),
        }
    }

    /// Starts again at the beginning.
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.name, self.key.clone());
    }

    /// Reads what was appended since the last read.
    pub(crate) fn news(&mut self, folder: &PrivateFolder) -> Result<JournalUpdate, JournalError> {
        let Some(mut file) = folder.open_for_reading(self.name)? else {
            let anew = self.end > 0;
            self.forget();
            return Ok(if anew {
                JournalUpdate::Anew(JournalBatch::default())
            } else {
                JournalUpdate::More(JournalBatch::default())
            });
        };
        let mut bytes = Vec::new();
        if self.is_continued_in(&mut file)? {
            file.read_to_end(&mut bytes)?;
            let read = read_lines(&bytes, self.end, &self.key);
            self.advance(&bytes[..to_index(read.complete)]);
            return Ok(JournalUpdate::More(read));
        }
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        let read = read_lines(&bytes, 0, &self.key);
        let header = match read.lines.first() {
            Some(Line {
                offset: 0,
                record: Record::Header(header),
                ..
            }) => Some(header.clone()),
            _ => None,
        };
        if header
            .as_ref()
            .is_some_and(|header| header.version != VERSION)
        {
            return Err(JournalError::UnknownVersion);
        }
        self.forget();
        self.header = header;
        self.advance(&bytes[..to_index(read.complete)]);
        Ok(JournalUpdate::Anew(read))
    }

    /// Returns whether `file` starts with everything that was read before, and leaves it positioned after that.
    fn is_continued_in(&self, file: &mut File) -> io::Result<bool> {
        if self.end == 0 || file.metadata()?.len() < self.end {
            return Ok(false);
        }
        let mut first_line = vec![0; self.first_line.len()];
        file.read_exact(&mut first_line)?;
        file.seek(SeekFrom::Start(self.end - self.last_bytes.len() as u64))?;
        let mut last_bytes = vec![0; self.last_bytes.len()];
        file.read_exact(&mut last_bytes)?;
        Ok(first_line == self.first_line && last_bytes == self.last_bytes)
    }

    /// Records that these bytes, which are complete lines, are known too.
    fn advance(&mut self, bytes: &[u8]) {
        if self.end == 0 {
            let line = bytes.iter().position(|byte| *byte == b'\n');
            self.first_line = bytes[..line.map_or(0, |at| at + 1)].to_vec();
        }
        self.end += bytes.len() as u64;
        self.last_bytes
            .extend_from_slice(&bytes[bytes.len().saturating_sub(LAST_BYTES)..]);
        let surplus = self.last_bytes.len().saturating_sub(LAST_BYTES);
        self.last_bytes.drain(..surplus);
    }

    /// Appends records. The caller holds the journal's lock and has read all news. A torn line at the end is cut off.
    pub(crate) fn append(
        &mut self,
        folder: &PrivateFolder,
        records: &[Record],
        durability: Durability,
    ) -> Result<Vec<Line>, JournalError> {
        let mut file = step("open_journal", || folder.open_log(self.name, true))?;
        if file.metadata()?.len() != self.end {
            step("cut_journal", || file.set_len(self.end))?;
        }
        let mut bytes = Vec::new();
        let mut lines = Vec::with_capacity(records.len());
        for record in records {
            let written = line(record, LineOrigin::Own, &self.key)?;
            lines.push(Line {
                offset: self.end + bytes.len() as u64,
                len: written.len(),
                origin: LineOrigin::Own,
                record: record.clone(),
            });
            bytes.extend_from_slice(&written);
        }
        let result = step("write_journal", || {
            #[cfg(debug_assertions)]
            if let Some(length) = crate::fault::torn("write_journal", &bytes) {
                file.write_all(&bytes[..length])?;
                std::process::abort();
            }
            file.write_all(&bytes)
        })
        .and_then(|()| match durability {
            Durability::Flushed => step("flush_journal", || file.sync_data()),
            Durability::Written => Ok(()),
        });
        if let Err(error) = result {
            // A partial write is undone; if even that fails, the next writer cuts it off.
            return match file.set_len(self.end) {
                Ok(()) | Err(_) => Err(error.into()),
            };
        }
        if self.end == 0 {
            if durability == Durability::Flushed {
                step("flush_private_folder", || folder.flush())?;
            }
            if let Some(Record::Header(header)) = records.first() {
                self.header = Some(header.clone());
            }
        }
        self.advance(&bytes);
        Ok(lines)
    }

    /// Replaces the journal, if there is one, with `header` and these records. Only our own lines are sealed: rewriting
    /// must not make a foreign line trusted.
    pub(crate) fn rewrite(
        &mut self,
        folder: &PrivateFolder,
        header: Header,
        records: Vec<(LineOrigin, Record)>,
    ) -> Result<Vec<Line>, JournalError> {
        let mut body = Vec::new();
        for (origin, record) in records {
            body.extend_from_slice(&line(&record, origin, &self.key)?);
        }
        let header = Record::Header(Header {
            rewritten_bytes: body.len() as u64,
            ..header
        });
        let mut bytes = line(&header, LineOrigin::Own, &self.key)?;
        bytes.append(&mut body);
        let unfinished = format!("{}{UNFINISHED}", self.name);
        let file = step("write_new_journal", || {
            folder.write_file(&unfinished, &bytes)
        })?;
        step("flush_new_journal", || file.sync_all())?;
        step("place_new_journal", || {
            folder.rename(&unfinished, self.name)
        })?;
        step("flush_private_folder", || folder.flush())?;
        self.forget();
        match self.news(folder)? {
            JournalUpdate::More(read) | JournalUpdate::Anew(read) => Ok(read.lines),
        }
    }

    /// Reads the record at an offset that was read before.
    pub(crate) fn read_at(
        &self,
        folder: &PrivateFolder,
        offset: u64,
        len: usize,
    ) -> Result<Option<Record>, JournalError> {
        let Some(mut file) = folder.open_for_reading(self.name)? else {
            return Ok(None);
        };
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = vec![0; len];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        Ok(parse(line, &self.key).map(|(record, _)| record))
    }

    pub(crate) fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.end
    }
}

/// Converts a length that was read, and so fits into memory.
fn to_index(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

fn line(record: &Record, origin: LineOrigin, key: &JournalKey) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    let json = match origin {
        LineOrigin::Own => key.sealed(json),
        LineOrigin::Foreign => json,
    };
    let mut line = checksum(&json).into_bytes();
    line.push(b' ');
    line.extend_from_slice(&json);
    line.push(b'\n');
    Ok(line)
}

fn checksum(json: &[u8]) -> String {
    let mut digits = Digest::of(json).to_string();
    digits.truncate(CHECKSUM_DIGITS);
    digits
}

fn parse(line: &[u8], key: &JournalKey) -> Option<(Record, LineOrigin)> {
    let (sum, rest) = line.split_at_checked(CHECKSUM_DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    if checksum(json).as_bytes() != sum {
        return None;
    }
    let record: Record = serde_json::from_slice(json).ok()?;
    record.is_plausible().then(|| (record, key.origin(json)))
}

/// Parses the complete lines of `bytes`, which start at `offset` of the journal.
pub(crate) fn read_lines(bytes: &[u8], offset: u64, key: &JournalKey) -> JournalBatch {
    let mut read = JournalBatch::default();
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
        let len = length + 1;
        let place = offset + at as u64;
        match parse(&bytes[at..at + length], key) {
            Some((record, origin)) => read.lines.push(Line {
                offset: place,
                len,
                origin,
                record,
            }),
            None => read.damage.push(Damage {
                offset: place,
                len: len as u64,
            }),
        }
        at += len;
    }
    read.complete = at as u64;
    read.torn = (bytes.len() - at) as u64;
    read
}
