//! The live documents of a corpus, in order.

use std::ops::Range;

use super::CorpusSegment;

/// Marks a document that is not live.
const DEAD: u32 = u32::MAX;

/// The location of a live document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLocation {
    /// Number of the segment.
    pub segment: usize,
    /// Number of the document in the segment.
    pub document: usize,
}

/// The live documents, and how their chunks are numbered.
#[derive(Debug, Default)]
pub(super) struct Documents {
    places: Vec<DocumentLocation>,
    /// First chunk of each document, and one more for the end.
    starts: Vec<u32>,
    /// For each segment, the numbers of its documents, or [`DEAD`].
    numbers: Vec<Vec<u32>>,
}

impl Documents {
    pub(super) fn new(files: &[CorpusSegment], places: &[DocumentLocation]) -> Self {
        let numbers = files
            .iter()
            .map(|file| vec![DEAD; file.segment.documents()]);
        let mut numbers: Vec<Vec<u32>> = numbers.collect();
        let mut starts = Vec::with_capacity(places.len() + 1);
        let mut chunks = 0;
        starts.push(0);
        for (number, place) in (0..).zip(places) {
            let seats = numbers.get_mut(place.segment);
            let seat = seats.and_then(|seats| seats.get_mut(place.document));
            if let Some(seat) = seat.filter(|seat| **seat == DEAD) {
                *seat = number;
                let segment = &files[place.segment].segment;
                chunks += segment.chunks_of(place.document).len() as u32;
            }
            starts.push(chunks);
        }
        Self {
            places: places.to_vec(),
            starts,
            numbers,
        }
    }

    /// Returns the documents of a segment that are live and were not before, or the other way round. The segment had
    /// another number then, or was not there.
    pub(super) fn changes(
        &self,
        segment: usize,
        (before, then): (&Self, Option<usize>),
    ) -> impl Iterator<Item = (usize, bool)> {
        let now = self.numbers.get(segment).map_or(&[][..], |now| now);
        let old = then.and_then(|then| before.numbers.get(then));
        let old = old.map_or(&[][..], |old| old);
        now.iter().enumerate().filter_map(|(document, number)| {
            let was_live = old.get(document).is_some_and(|number| *number != DEAD);
            let is_live = *number != DEAD;
            (is_live != was_live).then_some((document, is_live))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of chunks.
    pub(super) fn chunks(&self) -> usize {
        self.starts.last().map_or(0, |end| *end as usize)
    }

    pub(super) fn place(&self, number: usize) -> Option<DocumentLocation> {
        self.places.get(number).copied()
    }

    pub(super) fn chunks_of(&self, number: usize) -> Range<usize> {
        let start = |at: usize| {
            let start = self.starts.get(at);
            start.map_or(self.chunks(), |start| *start as usize)
        };
        start(number)..start(number + 1)
    }

    /// Returns the number of the document that contains a chunk.
    pub(super) fn document_of(&self, chunk: usize) -> usize {
        let behind = self
            .starts
            .partition_point(|start| *start as usize <= chunk);
        behind.saturating_sub(1)
    }

    /// Returns the number of a document of a segment, if it is live.
    pub(super) fn number(&self, segment: usize, document: usize) -> Option<usize> {
        let number = self.numbers.get(segment)?.get(document).copied();
        number
            .filter(|number| *number != DEAD)
            .map(|number| number as usize)
    }
}
