//! A half-open byte range that can be copied, unlike `std::ops::Range`.

use std::ops::Range;

/// Bytes `start..end` of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Creates the span `start..end`. An inverted pair gives the empty span at `start`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }

    /// Returns the span as a range, for slicing.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the bytes of `source` inside the span; anything beyond the source is left out.
    #[must_use]
    pub fn slice(self, source: &[u8]) -> &[u8] {
        let end = self.end.min(source.len());
        &source[self.start.min(end)..end]
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Returns `true` if the span covers no bytes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns whether `inner` is wholly inside this span.
    #[must_use]
    pub fn contains(self, inner: Self) -> bool {
        self.start <= inner.start && inner.end <= self.end
    }
}
