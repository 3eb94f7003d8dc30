//! Documents split into chunks, searchable by words and by meaning, in immutable files.
//!
//! A [`Segment`] holds some documents. A [`Corpus`] is the live part of several segments: replaced and removed
//! documents stay in their file, but affect nothing. So an updated corpus answers exactly like one built from scratch.

mod records;
mod search;
mod segment;
#[cfg(test)]
mod tests;

pub use self::{
    records::{Candidate, Record, RecordBuilder, record_rules, search_candidates},
    search::{ChunkHit, FUSION, SearchResults},
    segment::{Chunk, Segment, SegmentBuilder},
};
pub(crate) use self::{search::nearness, segment::embedded};
use crate::lexical::{DEAD, Segments};

/// The live chunks of several segments.
#[derive(Debug)]
pub struct Corpus {
    files: Vec<CorpusSegment>,
    words: Segments,
    /// The segment of each live chunk, and its number there.
    chunks: Vec<(u32, u32)>,
    /// First chunk of each document, and one more for the end.
    starts: Vec<u32>,
}

#[derive(Debug)]
struct CorpusSegment {
    segment: Segment,
    /// Maps a chunk of the file to its number among the live ones, or to [`DEAD`].
    numbers: Vec<u32>,
}

/// The location of a live document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLocation {
    /// Number of the segment.
    pub segment: usize,
    /// Number of the document in the segment.
    pub document: usize,
}

impl Corpus {
    /// Creates a corpus of the given live documents; their order breaks ties between hits. Documents of one segment
    /// must be in the order that they have there. Locations that do not exist are skipped, and so are duplicates.
    #[must_use]
    pub fn new(segments: Vec<Segment>, documents: &[DocumentLocation]) -> Self {
        let mut files: Vec<CorpusSegment> = segments
            .into_iter()
            .map(|segment| CorpusSegment {
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

    /// Returns the number of live chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Returns `true` if there are no live chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns whether a read found that a file has changed since it was opened. The results of a search that was
    /// running then may be wrong.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.files.iter().any(|file| file.segment.is_damaged())
    }

    /// Re-reads all files; returns whether they are unchanged since they were opened.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(|file| file.segment.is_whole())
    }

    /// Returns a live chunk.
    #[must_use]
    pub fn chunk(&self, number: usize) -> Option<Chunk> {
        let (segment, chunk) = self.at(number)?;
        segment.chunk(chunk)
    }

    /// Returns the title of its document and the headings above a live chunk, outermost first.
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

    /// Returns the chunks of a document.
    #[must_use]
    pub fn chunks_of(&self, document: usize) -> std::ops::Range<usize> {
        let start = |at: usize| {
            self.starts
                .get(at)
                .map_or(self.len(), |start| *start as usize)
        };
        start(document)..start(document + 1)
    }

    /// Returns the number of the document that contains a chunk.
    #[must_use]
    pub fn document_of(&self, chunk: usize) -> usize {
        let behind = self
            .starts
            .partition_point(|start| *start as usize <= chunk);
        behind.saturating_sub(1)
    }

    /// Returns the live chunks that `wanted` accepts, in order.
    pub fn chunks_where(&self, wanted: impl Fn(&Chunk) -> bool) -> Vec<usize> {
        (0..self.len())
            .filter(|number| self.chunk(*number).is_some_and(|chunk| wanted(&chunk)))
            .collect()
    }
}
