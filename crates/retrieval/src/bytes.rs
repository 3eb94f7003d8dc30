//! Bytes of index files: shared in memory, or read from a file on demand.
//!
//! Files on disk are not trusted to stay unchanged. Data kept in memory is a private copy. Data too large for that is
//! read when needed, and every block is verified against the checksum that it had when the file was opened.

use std::{
    borrow::Cow,
    fmt, io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;

use crate::container::FormatError;

/// Bytes of a file covered by one checksum.
const BLOCK: usize = 4096;
/// Recently read blocks cached per stretch: a reader of a small range often reads its neighbours too.
const MOST_RECENT: usize = 8;
/// Blocks read at once when a whole stretch is read.
const TOGETHER: usize = 64;

/// Shared immutable bytes in memory.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Bytes {
    /// Takes ownership of `bytes`.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        let owner = Arc::new(bytes);
        Self { owner, range }
    }

    /// Returns a sub-range, or `None` if it is out of bounds.
    #[must_use]
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<Self> {
        self.as_ref().get(range.clone())?;
        Some(Self {
            owner: Arc::clone(&self.owner),
            range: self.range.start + range.start..self.range.start + range.end,
        })
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.owner.get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.range.len())
    }
}

/// A file that supports reads at any offset. Its contents may change at any moment.
pub(crate) trait ReadAt: Send + Sync {
    /// Fills `buffer` with the bytes from `at` on.
    ///
    /// # Errors
    /// When there are not that many bytes, or the system refuses.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
}

/// The source of the parts of a file.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Memory(Bytes),
    Disk(Arc<DiskFile>),
}

/// An open file of an index folder.
pub(crate) struct DiskFile {
    file: Box<dyn ReadAt>,
    length: u64,
    /// Whether a read returned bytes that differ from those when the file was opened.
    is_damaged: AtomicBool,
}

impl fmt::Debug for DiskFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a file of {} bytes", self.length)
    }
}

impl DiskFile {
    pub(crate) fn new(file: impl ReadAt + 'static, length: u64) -> Self {
        Self {
            file: Box::new(file),
            length,
            is_damaged: AtomicBool::new(false),
        }
    }

    fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let length = range.end.checked_sub(range.start)?;
        if range.end > self.length {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, range.start).ok()?;
        Some(bytes)
    }
}

impl Origin {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.as_ref().len() as u64,
            Self::Disk(file) => file.length,
        }
    }

    /// Reads a range into memory; `None` if it is out of bounds.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Option<Bytes> {
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(range.start).ok()?;
                bytes.slice(start..usize::try_from(range.end).ok()?)
            }
            Self::Disk(file) => file.read(range).map(Bytes::new),
        }
    }

    /// Returns a range that stays on disk, provided that it matches this checksum now.
    pub(crate) fn stretch(
        &self,
        range: Range<u64>,
        checksum: u64,
    ) -> Result<LazyBytes, FormatError> {
        let file = match self {
            Self::Memory(_) => {
                let bytes = self.bytes(range).ok_or(FormatError::Damaged)?;
                let is_whole = u64::from(crc32fast::hash(bytes.as_ref())) == checksum;
                return is_whole
                    .then_some(LazyBytes::Memory(bytes))
                    .ok_or(FormatError::Damaged);
            }
            Self::Disk(file) => file,
        };
        let length = range.end.checked_sub(range.start);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let length = length
            .filter(|_| range.end <= file.length)
            .ok_or(FormatError::Damaged)?;
        let mut whole = crc32fast::Hasher::new();
        let mut sums = Vec::with_capacity(length.div_ceil(BLOCK));
        let mut buffer = vec![0; length.min(BLOCK * TOGETHER)];
        let mut at = 0;
        while at < length {
            let count = buffer.len().min(length - at);
            let bytes = &mut buffer[..count];
            file.file
                .read_exact_at(bytes, range.start + at as u64)
                .map_err(|_| FormatError::Damaged)?;
            whole.update(bytes);
            sums.extend(bytes.chunks(BLOCK).map(crc32fast::hash));
            at += count;
        }
        (u64::from(whole.finalize()) == checksum)
            .then(|| {
                LazyBytes::Disk(Arc::new(DiskBytes {
                    file: Arc::clone(file),
                    start: range.start,
                    length,
                    sums,
                    recent: Mutex::default(),
                }))
            })
            .ok_or(FormatError::Damaged)
    }
}

/// Bytes that are not kept in memory if they come from a disk.
#[derive(Clone, Debug)]
pub(crate) enum LazyBytes {
    Memory(Bytes),
    Disk(Arc<DiskBytes>),
}

#[derive(Debug)]
pub(crate) struct DiskBytes {
    file: Arc<DiskFile>,
    start: u64,
    length: usize,
    /// The checksum of each block when the file was opened.
    sums: Vec<u32>,
    /// The blocks read last, the newest at the end.
    recent: Mutex<Vec<(usize, Arc<Vec<u8>>)>>,
}

impl LazyBytes {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.as_ref().len(),
            Self::Disk(stretch) => stretch.length,
        }
    }

    /// Returns a range of the bytes; `None` if it is out of bounds, or if the bytes have changed, in which case
    /// [`Self::is_damaged`] returns `true`.
    pub(crate) fn read(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Memory(bytes) => bytes.as_ref().get(range).map(Cow::Borrowed),
            Self::Disk(stretch) => stretch.read(range).map(Cow::Owned),
        }
    }

    /// Reads all of the bytes into memory.
    pub(crate) fn whole(&self) -> Option<Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes.clone()),
            Self::Disk(stretch) => stretch.read(0..stretch.length).map(Bytes::new),
        }
    }

    /// Returns whether a read found that the file has changed.
    pub(crate) fn is_damaged(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(stretch) => stretch.file.is_damaged.load(Ordering::Acquire),
        }
    }

    /// Re-reads all of the bytes; returns whether they are unchanged.
    pub(crate) fn is_whole(&self) -> bool {
        let Self::Disk(stretch) = self else {
            return true;
        };
        let blocks = stretch.sums.len();
        let mut starts = (0..blocks).step_by(TOGETHER);
        starts.all(|start| {
            let end = blocks.min(start + TOGETHER);
            stretch.blocks(start..end).is_some()
        })
    }
}

impl DiskBytes {
    fn read(&self, range: Range<usize>) -> Option<Vec<u8>> {
        if range.start > range.end || range.end > self.length {
            return None;
        }
        let first = range.start / BLOCK;
        let start = first * BLOCK;
        let last = range.end.div_ceil(BLOCK);
        if range.len() <= BLOCK {
            let mut bytes = Vec::with_capacity(range.len());
            for block in first..last {
                let block_start = block * BLOCK;
                let from = range.start.max(block_start) - block_start;
                let to = range.end - block_start;
                let block = self.block(block)?;
                bytes.extend_from_slice(block.get(from..to.min(block.len()))?);
            }
            return Some(bytes);
        }
        let mut bytes = self.blocks(first..last)?;
        bytes.truncate(range.end - start);
        bytes.drain(..range.start - start);
        Some(bytes)
    }

    /// Returns one block, from the cache if it was read recently.
    fn block(&self, number: usize) -> Option<Arc<Vec<u8>>> {
        let recent = || self.recent.lock();
        if let Some((_, block)) = recent().iter().find(|(known, _)| *known == number) {
            return Some(Arc::clone(block));
        }
        let block = Arc::new(self.blocks(number..number + 1)?);
        let mut recent = recent();
        if recent.len() >= MOST_RECENT {
            recent.remove(0);
        }
        recent.push((number, Arc::clone(&block)));
        Some(block)
    }

    /// Reads blocks from the file, provided that they are unchanged.
    fn blocks(&self, numbers: Range<usize>) -> Option<Vec<u8>> {
        let (start, end) = (numbers.start * BLOCK, self.length.min(numbers.end * BLOCK));
        let read = self
            .file
            .read(self.start + start as u64..self.start + end as u64);
        let read = read.filter(|bytes| {
            let sums = self.sums.iter().skip(numbers.start);
            let mut blocks = bytes.chunks(BLOCK).zip(sums);
            blocks.all(|(block, sum)| crc32fast::hash(block) == *sum)
        });
        if read.is_none() {
            self.file.is_damaged.store(true, Ordering::Release);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    /// A file that somebody else changes.
    #[derive(Clone, Default)]
    struct Changing(Arc<Mutex<Vec<u8>>>);

    impl ReadAt for Changing {
        fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
            let bytes = self.0.lock().unwrap();
            let start = usize::try_from(at).unwrap();
            let there = bytes.get(start..start + buffer.len());
            buffer.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 % 251) as u8).collect()
    }

    fn stretch(file: &Changing, range: Range<u64>) -> Result<LazyBytes, FormatError> {
        let bytes = file.0.lock().unwrap().clone();
        let range_of = range.start as usize..range.end as usize;
        let checksum = u64::from(crc32fast::hash(&bytes[range_of]));
        let file = DiskFile::new(file.clone(), bytes.len() as u64);
        Origin::Disk(Arc::new(file)).stretch(range, checksum)
    }

    #[test]
    fn a_stretch_that_does_not_have_its_checksum_is_refused() {
        let file = Changing(Arc::new(Mutex::new(bytes(9_000))));
        let origin = Origin::Disk(Arc::new(DiskFile::new(file, 9_000)));
        assert!(origin.stretch(0..9_000, 1).is_err());
        assert!(origin.stretch(0..9_001, 1).is_err());
        assert!(origin.bytes(8_999..9_001).is_none());
        assert_eq!(origin.bytes(10..20).unwrap().as_ref(), &bytes(20)[10..]);
    }

    proptest! {
        #[test]
        fn what_changed_is_never_handed_out(
            length in 1..30_000_usize,
            from in 0..1_000_u64,
            places in proptest::collection::vec((0..30_000_usize, 0..9_000_usize), 1..8),
            changed in 0..30_000_usize,
            cut in proptest::option::of(0..30_000_usize),
        ) {
            let from = from.min(length as u64);
            let file = Changing(Arc::new(Mutex::new(bytes(length))));
            let stretch = stretch(&file, from..length as u64).unwrap();
            let all = &bytes(length)[from as usize..];
            let whole = stretch.whole().unwrap();
            prop_assert_eq!(whole.as_ref(), all);
            for (start, count) in &places {
                let there = stretch.read(*start..start + count);
                prop_assert_eq!(there.as_deref(), all.get(*start..start + count));
            }
            prop_assert!(!stretch.is_damaged() && stretch.is_whole());
            let changed = changed % length;
            {
                let mut bytes = file.0.lock().unwrap();
                bytes[changed] ^= 0x20;
                if let Some(cut) = cut {
                    bytes.truncate(cut);
                }
            }
            for (start, count) in &places {
                if let Some(there) = stretch.read(*start..start + count) {
                    prop_assert_eq!(Some(there.as_ref()), all.get(*start..start + count));
                }
            }
            let is_inside = changed >= from as usize || cut.is_some_and(|cut| cut < length);
            prop_assert_eq!(stretch.is_whole(), !is_inside || all.is_empty());
            prop_assert_eq!(stretch.is_damaged(), is_inside && !all.is_empty());
        }
    }
}
