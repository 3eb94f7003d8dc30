//! Documents split into chunks, searchable by words and by meaning, in immutable files.
//!
//! A [`Segment`] holds some documents. A [`Corpus`] is the live part of several segments: replaced and removed
//! documents stay in their file, but affect nothing. So an updated corpus answers exactly like one built from scratch.
//!
//! Inside, every chunk of every file has a slot, whether it is live or not: those of the first file, then those of the
//! next. Slots never change when documents do. The numbers that callers see follow the order of the documents, and are
//! computed from slots when they are needed.

mod documents;
mod explanation;
mod records;
mod search;
mod segment;
mod selection;
#[cfg(test)]
mod tests;

use std::{ops::Range, sync::Arc};

use self::documents::Documents;
pub use self::{
    documents::DocumentLocation,
    explanation::{HitExplanation, RankedScore, RankingBasis, SearchExplanation},
    records::{Candidate, Record, RecordBuilder, VectorRecord, record_rules, search_candidates},
    search::{ChunkHit, FUSION, NEARNESS, NearChunk, SearchResults},
    segment::{Chunk, ChunkDigest, Segment, SegmentBuilder},
    selection::ChunkScores,
};
use crate::lexical::{LivePassages, Query, Segments};

/// The live chunks of several segments.
#[derive(Debug)]
pub struct Corpus {
    files: Vec<CorpusSegment>,
    words: Segments,
    documents: Documents,
}

#[derive(Clone, Debug)]
struct CorpusSegment {
    segment: Segment,
    living: Arc<LivePassages>,
    /// The slot of its first chunk.
    first_slot: usize,
}

impl Corpus {
    /// Creates a corpus of the given live documents; their order breaks ties between hits. Locations that do not exist
    /// have no chunks, and neither do duplicates.
    #[must_use]
    pub fn new(segments: Vec<Segment>, documents: &[DocumentLocation]) -> Self {
        let empty = Self {
            files: Vec::new(),
            words: Segments::new(std::iter::empty()),
            documents: Documents::default(),
        };
        empty.with_changes(&[], segments, documents)
    }

    /// Returns a corpus with `added` after the segments of this one, without those whose numbers are in `dropped`, and
    /// with these live documents. Its cost grows with the number of documents and the length of those that changed, not
    /// with the number of chunks.
    #[must_use]
    pub fn with_changes(
        &self,
        dropped: &[usize],
        added: Vec<Segment>,
        documents: &[DocumentLocation],
    ) -> Self {
        let kept = self.files.iter().enumerate();
        let kept = kept.filter(|(number, _)| !dropped.contains(number));
        let kept = kept.map(|(number, file)| (Some(number), file.clone()));
        let added = added.into_iter().map(|segment| {
            let living = Arc::new(LivePassages::none(segment.chunks()));
            let file = CorpusSegment {
                living,
                first_slot: 0,
                segment,
            };
            (None, file)
        });
        let (origins, mut files): (Vec<Option<usize>>, Vec<CorpusSegment>) =
            kept.chain(added).unzip();
        let mut first_slot = 0;
        for file in &mut files {
            file.first_slot = first_slot;
            first_slot = file.slots().end;
        }
        let documents = Documents::new(&files, documents);
        for (number, file) in files.iter_mut().enumerate() {
            for (document, is_live) in documents.changes(number, (&self.documents, origins[number]))
            {
                let words = file.segment.words();
                let living = Arc::make_mut(&mut file.living);
                for chunk in file.segment.chunks_of(document) {
                    living.set(&words, chunk, is_live);
                }
            }
        }
        let words = files
            .iter()
            .map(|file| (file.segment.words(), Arc::clone(&file.living)));
        Self {
            words: Segments::new(words),
            files,
            documents,
        }
    }

    /// Returns the number of live chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.chunks()
    }

    /// Returns `true` if there are no live chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over its segments. A [`DocumentLocation`] refers to them by their index.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &Segment> {
        self.files.iter().map(|file| &file.segment)
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
        let document = self.document_of(number);
        let inside = number - self.chunks_of(document).start;
        let place = self.documents.place(document)?;
        let segment = &self.files.get(place.segment)?.segment;
        let chunk = segment.chunks_of(place.document).nth(inside)?;
        Some((segment, chunk))
    }

    /// Returns the chunks of a document.
    #[must_use]
    pub fn chunks_of(&self, document: usize) -> Range<usize> {
        self.documents.chunks_of(document)
    }

    /// Returns the number of the document that contains a chunk.
    #[must_use]
    pub fn document_of(&self, chunk: usize) -> usize {
        self.documents.document_of(chunk)
    }

    /// Returns the live chunks that `wanted` accepts, in order.
    pub fn chunks_where(&self, wanted: impl Fn(&Chunk) -> bool) -> Vec<usize> {
        let is_wanted = |segment: &Segment, chunk| {
            let chunk = segment.chunk(chunk);
            chunk.is_some_and(|chunk| wanted(&chunk))
        };
        let mut found = Vec::new();
        for document in 0..self.documents.len() {
            let slots = self.slots_of(document);
            let Some(file) = self.file_of(slots.start) else {
                continue;
            };
            let first = self.chunks_of(document).start;
            let slots = slots.enumerate();
            let here = slots.filter(|(_, slot)| is_wanted(&file.segment, slot - file.first_slot));
            found.extend(here.map(|(inside, _)| first + inside));
        }
        found
    }

    /// Returns the file that a slot belongs to.
    fn file_of(&self, slot: usize) -> Option<&CorpusSegment> {
        let behind = self.files.partition_point(|file| file.first_slot <= slot);
        // Files without chunks share their first slot with the next.
        let file = self.files.get(behind.checked_sub(1)?)?;
        file.slots().contains(&slot).then_some(file)
    }

    /// Returns the slots of a document's chunks; empty if it has none.
    fn slots_of(&self, document: usize) -> Range<usize> {
        let chunks = self.chunks_of(document).len();
        let place = self.documents.place(document).filter(|_| chunks > 0);
        let start = place.and_then(|place| {
            let file = self.files.get(place.segment)?;
            Some(file.first_slot + file.segment.chunks_of(place.document).start)
        });
        start.map_or(0..0, |start| start..start + chunks)
    }

    /// Returns the slot of a live chunk.
    fn slot_of(&self, number: usize) -> Option<usize> {
        let document = self.document_of(number);
        let inside = number.checked_sub(self.chunks_of(document).start)?;
        self.slots_of(document).nth(inside)
    }

    /// Returns the number of the live chunk in a slot.
    fn number_of(&self, slot: usize) -> usize {
        let number = || {
            let behind = self.files.partition_point(|file| file.first_slot <= slot);
            let at = behind.checked_sub(1)?;
            let segment = &self.files.get(at)?.segment;
            let chunk = slot - self.files[at].first_slot;
            let document = segment.document_of(chunk)?;
            let inside = chunk - segment.chunks_of(document).start;
            let number = self.documents.number(at, document)?;
            Some(self.chunks_of(number).start + inside)
        };
        number().unwrap_or(usize::MAX)
    }

    /// Parses a question of any length. If it exceeds the limits of [`Query::parse`], the words that most chunks have
    /// are dropped, because they cost most and say least; returns them too, the costliest first.
    #[must_use]
    pub fn lenient_query(&self, text: &str) -> (Query, Vec<String>) {
        Query::lenient(text, |word| self.words.frequency_of(word))
    }
}

impl CorpusSegment {
    fn slots(&self) -> Range<usize> {
        self.first_slot..self.first_slot + self.segment.chunks()
    }
}
