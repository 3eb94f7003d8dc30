//! Documents cut into chunks, made searchable by words and by meaning, in files that are written once.
//!
//! A [`Segment`] holds some documents. A [`Corpus`] is what counts of several of them: documents that were replaced or
//! removed stay in their file, and count in nothing. So a corpus that grew answers like one that was made afresh.

mod records;
mod search;
mod segment;
#[cfg(test)]
mod tests;

pub use self::{
    records::{Candidate, Record, Recorder, record_rules, search_candidates},
    search::{ChunkHit, FUSION, Found},
    segment::{Chunk, Segment, SegmentBuilder},
};
pub(crate) use self::{search::nearness, segment::embedded};
use crate::lexical::{DEAD, Segments};

/// What counts of several segments.
#[derive(Debug)]
pub struct Corpus {
    files: Vec<File>,
    words: Segments,
    /// For each chunk that counts, its file and its number there.
    chunks: Vec<(u32, u32)>,
    /// Where the chunks of each document start; one more for the end.
    starts: Vec<u32>,
}

#[derive(Debug)]
struct File {
    segment: Segment,
    /// From a chunk of the file to its number among those that count, or [`DEAD`].
    numbers: Vec<u32>,
}

/// Which document of which segment counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the segment.
    pub segment: usize,
    /// The number of the document in it.
    pub document: usize,
}

impl Corpus {
    /// The documents that count, in their order, which is the order of equal hits. Those of one segment must be in the order
    /// that they have there. Places that do not exist are passed over, and so is a document that was named before.
    #[must_use]
    pub fn new(segments: Vec<Segment>, documents: &[Place]) -> Self {
        let mut files: Vec<File> = segments
            .into_iter()
            .map(|segment| File {
                numbers: vec![DEAD; segment.chunks()],
                segment,
            })
            .collect();
        let mut chunks = Vec::new();
        let mut starts = Vec::with_capacity(documents.len() + 1);
        for place in documents {
            starts.push(chunks.len() as u32);
            let Some(file) = files.get_mut(place.segment) else {
                continue;
            };
            for chunk in file.segment.chunks_of(place.document) {
                if let Some(number) = file.numbers.get_mut(chunk).filter(|it| **it == DEAD) {
                    *number = chunks.len() as u32;
                    chunks.push((place.segment as u32, chunk as u32));
                }
            }
        }
        starts.push(chunks.len() as u32);
        let words = files
            .iter()
            .map(|file| (file.segment.words(), file.numbers.clone()))
            .collect();
        Self {
            words: Segments::new(words),
            files,
            chunks,
            starts,
        }
    }

    /// How many chunks count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Whether nothing counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Whether a file was found not to be what it was when it was opened. Whatever a search found that was going on then
    /// may be wrong.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.files.iter().any(|file| file.segment.is_damaged())
    }

    /// Whether all files still are what they were when they were opened. Reads them.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(|file| file.segment.is_whole())
    }

    /// A chunk that counts.
    #[must_use]
    pub fn chunk(&self, number: usize) -> Option<Chunk> {
        let (segment, chunk) = self.at(number)?;
        segment.chunk(chunk)
    }

    /// The title of its document and the headings above a chunk that counts, outermost first.
    #[must_use]
    pub fn path(&self, number: usize) -> Option<Vec<String>> {
        let (segment, chunk) = self.at(number)?;
        segment.path(chunk)
    }

    fn at(&self, number: usize) -> Option<(&Segment, usize)> {
        let (file, chunk) = self.chunks.get(number)?;
        let file = self.files.get(*file as usize)?;
        Some((&file.segment, *chunk as usize))
    }

    /// The chunks of a document.
    #[must_use]
    pub fn chunks_of(&self, document: usize) -> std::ops::Range<usize> {
        let start = |at: usize| {
            self.starts
                .get(at)
                .map_or(self.len(), |start| *start as usize)
        };
        start(document)..start(document + 1)
    }

    /// The number of the document that a chunk is in.
    #[must_use]
    pub fn document_of(&self, chunk: usize) -> usize {
        let behind = self
            .starts
            .partition_point(|start| *start as usize <= chunk);
        behind.saturating_sub(1)
    }

    /// The chunks that count whose digests `wanted` says yes to, in order.
    pub fn chunks_where(&self, wanted: impl Fn(&Chunk) -> bool) -> Vec<usize> {
        (0..self.len())
            .filter(|number| self.chunk(*number).is_some_and(|chunk| wanted(&chunk)))
            .collect()
    }
}
