//! Bytes that somebody else keeps, in memory or in a mapped file, and slices of them that can be kept.

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

/// Somebody who keeps bytes, and always gives the same.
pub(crate) trait Keeper: AsRef<[u8]> + Send + Sync {
    /// Gives memory back that these bytes take, if they can be had again.
    fn release(&self, _: Range<usize>) {}

    /// Some of the bytes, or `None` when there are not so many.
    fn read(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        self.as_ref().get(range).map(Cow::Borrowed)
    }
}

impl Keeper for Vec<u8> {}

/// Shared bytes.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn Keeper>,
    range: Range<usize>,
}

impl Bytes {
    /// These bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self::kept(bytes)
    }

    /// All bytes of `owner`.
    pub(crate) fn kept(owner: impl Keeper + 'static) -> Self {
        let range = 0..owner.as_ref().len();
        let owner = Arc::new(owner);
        Self { owner, range }
    }

    /// Gives memory back that they take, if they can be had again.
    pub(crate) fn release(&self) {
        self.owner.release(self.range.clone());
    }

    /// Some of them, in memory only as long as they are needed, or `None` when there are not so many.
    pub(crate) fn read(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        let end = self.range.start.checked_add(range.end)?;
        if end > self.range.end {
            return None;
        }
        self.owner.read(self.range.start + range.start..end)
    }

    /// Some of them, or `None` when there are not so many.
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
        // An owner that breaks its word has nothing.
        (*self.owner)
            .as_ref()
            .get(self.range.clone())
            .unwrap_or_default()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.range.len())
    }
}
