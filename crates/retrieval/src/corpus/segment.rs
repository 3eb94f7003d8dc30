//! A file of documents: their chunks, words and vectors.

use std::{ops::Range, sync::Arc};

use sectile_markdown::{Digest, Span};

use crate::{
    bytes::{Bytes, Origin},
    container::{self, Container, FormatError, Name, u32_at},
    embedding::{
        Embedder, EmbeddingReader, Vector,
        vectors::{inverse_length, kept, kept_bytes},
    },
    lexical::{LexicalBuilder, LexicalSegment, Passage, RANKING},
};

/// The version of the format.
const VERSION: u32 = 1;

const RULES: Name = *b"rules   ";
const DOCUMENTS: Name = *b"document";
const CHUNKS: Name = *b"chunks  ";
/// Bytes of a chunk in this part.
const CHUNK: usize = 3 * 4;
const PATH_STARTS: Name = *b"pathstar";
const PATHS: Name = *b"paths   ";
const DIGESTS: Name = *b"digests ";
const VECTORS: Name = *b"vectors ";
const LENGTHS: Name = *b"inverses";

/// A chunk of a document: its location, and the digest of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes in the document.
    pub span: Span,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The 1-based line on which it starts.
    pub line: usize,
}

/// Builds a file of documents.
pub struct SegmentBuilder<'m> {
    words: LexicalBuilder,
    embedder: Option<(Digest, &'m mut dyn EmbeddingReader)>,
    /// The first chunk of each document.
    documents: Vec<u8>,
    chunk_table: Vec<u8>,
    path_starts: Vec<u8>,
    paths: Vec<u8>,
    digests: Vec<u8>,
    vectors: Vec<u8>,
    inverse_lengths: Vec<u8>,
    chunks: u32,
}

impl<'m> SegmentBuilder<'m> {
    /// Starts an empty file. Without a model it holds words only. The reader's cache carries over to the next file.
    #[must_use]
    pub fn new(embedder: Option<(&dyn Embedder, &'m mut dyn EmbeddingReader)>) -> Self {
        Self {
            words: LexicalBuilder::default(),
            embedder: embedder.map(|(embedder, reader)| (embedder.fingerprint(), reader)),
            documents: Vec::new(),
            chunk_table: Vec::new(),
            path_starts: Vec::new(),
            paths: Vec::new(),
            digests: Vec::new(),
            vectors: Vec::new(),
            inverse_lengths: Vec::new(),
            chunks: 0,
        }
    }

    /// Starts the next document.
    pub fn document(&mut self) {
        self.documents.extend_from_slice(&self.chunks.to_le_bytes());
    }

    /// Adds a chunk to the current document.
    pub fn chunk(&mut self, chunk: &Chunk, passage: &Passage<'_>) {
        self.words.add(passage);
        for number in [chunk.span.start, chunk.span.end, chunk.line] {
            self.chunk_table.extend_from_slice(&number_bytes(number));
        }
        self.path_starts
            .extend_from_slice(&number_bytes(self.paths.len()));
        let path = passage
            .trail
            .iter()
            .chain(std::iter::once(&passage.heading));
        for (number, step) in path.filter(|step| !step.is_empty()).enumerate() {
            if number > 0 {
                self.paths.push(b'\n');
            }
            self.paths.extend_from_slice(step.as_bytes());
        }
        self.digests.extend_from_slice(chunk.digest.as_bytes());
        self.chunks += 1;
        if let Some((_, reader)) = &mut self.embedder {
            let vector = kept(&embedded(*reader, passage));
            self.vectors.extend_from_slice(&vector);
            let inverse = inverse_length(&vector);
            self.inverse_lengths
                .extend_from_slice(&inverse.to_le_bytes());
        }
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.documents.extend_from_slice(&self.chunks.to_le_bytes());
        self.path_starts
            .extend_from_slice(&number_bytes(self.paths.len()));
        let fingerprint = self.embedder.as_ref().map(|(fingerprint, _)| *fingerprint);
        let rules = rules(fingerprint.as_ref());
        let words = self.words.finish();
        let mut parts: Vec<(Name, &[u8])> = vec![
            (RULES, rules.as_bytes()),
            (DOCUMENTS, &self.documents),
            (CHUNKS, &self.chunk_table),
            (PATH_STARTS, &self.path_starts),
            (PATHS, &self.paths),
            (DIGESTS, &self.digests),
            (VECTORS, &self.vectors),
            (LENGTHS, &self.inverse_lengths),
        ];
        parts.extend(words.iter().map(|(name, part)| (*name, part.as_slice())));
        container::write(VERSION, &parts)
    }
}

/// Returns the vector of a passage; all zero if the model finds no meaning in it.
pub(crate) fn embedded(reader: &mut dyn EmbeddingReader, passage: &Passage<'_>) -> Vector {
    let vector = reader.embed(&passage.parts());
    vector.unwrap_or_else(|| vec![0; reader.model().dimensions()])
}

fn number_bytes(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

/// Returns whether the numbers of a part never decrease, and end at `end`.
fn is_ascending(part: &Bytes, end: usize) -> bool {
    let (numbers, rest) = part.as_ref().as_chunks::<4>();
    let mut numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
    let last = part.as_ref().last_chunk().copied().map(u32::from_le_bytes);
    rest.is_empty()
        && numbers.by_ref().is_sorted()
        && last.is_some_and(|last| usize::try_from(last) == Ok(end))
}

/// Returns everything except the documents that the contents of a file depend on.
pub(super) fn rules(model: Option<&Digest>) -> String {
    let model = model.map_or_else(|| "none".to_owned(), Digest::to_string);
    format!("words {RANKING}\nmodel {model}\n")
}

/// An open file of documents. Everything was verified against its checksum when it was opened, and everything except
/// the postings and positions is in memory; those are verified again on every read.
#[derive(Clone, Debug)]
pub struct Segment {
    words: Arc<LexicalSegment>,
    documents: Bytes,
    chunk_table: Bytes,
    path_starts: Bytes,
    paths: Bytes,
    digests: Bytes,
    vectors: Bytes,
    inverse_lengths: Bytes,
    chunks: usize,
}

impl Segment {
    /// Opens a file that is in memory.
    ///
    /// # Errors
    /// [`FormatError`] when it is not such a file, is damaged, or was not made with `embedder` and the rules of this
    /// program.
    pub fn open(file: &Bytes, embedder: Option<&dyn Embedder>) -> Result<Self, FormatError> {
        Self::of(&Origin::Memory(file.clone()), embedder)
    }

    pub(crate) fn of(
        origin: &Origin,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Self, FormatError> {
        let container = Container::open(origin, VERSION)?;
        let fingerprint = embedder.map(Embedder::fingerprint);
        if container.part(&RULES)?.as_ref() != rules(fingerprint.as_ref()).as_bytes() {
            return Err(FormatError::OtherModel);
        }
        let words = LexicalSegment::open(&container)?;
        let segment = Self {
            chunks: words.passages(),
            words: Arc::new(words),
            documents: container.part(&DOCUMENTS)?,
            chunk_table: container.part(&CHUNKS)?,
            path_starts: container.part(&PATH_STARTS)?,
            paths: container.part(&PATHS)?,
            digests: container.part(&DIGESTS)?,
            vectors: container.part(&VECTORS)?,
            inverse_lengths: container.part(&LENGTHS)?,
        };
        let dimensions = embedder.map(Embedder::dimensions);
        segment
            .is_consistent(dimensions)
            .then_some(segment)
            .ok_or(FormatError::Damaged)
    }

    /// Returns whether its parts are consistent. A file with valid checksums may still be malicious: documents that
    /// share chunks, or chunks that share headings, would expand to more than the file holds.
    fn is_consistent(&self, dimensions: Option<usize>) -> bool {
        let fits = |part: &Bytes, each: usize| part.as_ref().len() == self.chunks * each;
        fits(&self.chunk_table, CHUNK)
            && fits(&self.digests, 32)
            && fits(&self.vectors, dimensions.map_or(0, kept_bytes))
            && fits(&self.inverse_lengths, dimensions.map_or(0, |_| 4))
            && self.path_starts.as_ref().len() == (self.chunks + 1) * 4
            && is_ascending(&self.path_starts, self.paths.as_ref().len())
            && is_ascending(&self.documents, self.chunks)
    }

    /// Returns whether a read found that its file has changed.
    pub(super) fn is_damaged(&self) -> bool {
        self.words.is_damaged()
    }

    /// Re-reads its file; returns whether it is unchanged.
    pub(super) fn is_whole(&self) -> bool {
        self.words.is_whole()
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn documents(&self) -> usize {
        (self.documents.as_ref().len() / 4).saturating_sub(1)
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Returns the chunks of a document.
    #[must_use]
    pub fn chunks_of(&self, document: usize) -> Range<usize> {
        let start = |at: usize| u32_at(self.documents.as_ref(), at).map(|start| start as usize);
        match start(document).zip(start(document + 1)) {
            Some((start, end)) => start..end.min(self.chunks),
            None => 0..0,
        }
    }

    /// Returns the document that contains a chunk.
    pub(super) fn document_of(&self, chunk: usize) -> Option<usize> {
        let (starts, _) = self.documents.as_ref().as_chunks::<4>();
        let behind = starts.partition_point(|start| u32::from_le_bytes(*start) as usize <= chunk);
        behind.checked_sub(1)
    }

    pub(super) fn chunk(&self, number: usize) -> Option<Chunk> {
        let table = self.chunk_table.as_ref();
        let at = |field: usize| u32_at(table, number * (CHUNK / 4) + field).map(|at| at as usize);
        let (digests, _) = self.digests.as_ref().as_chunks::<32>();
        Some(Chunk {
            span: Span::new(at(0)?, at(1)?),
            digest: Digest::from_bytes(*digests.get(number)?),
            line: at(2)?,
        })
    }

    /// Returns the title of the document and the headings above a chunk.
    pub(super) fn path(&self, number: usize) -> Option<Vec<String>> {
        let start = |at: usize| u32_at(self.path_starts.as_ref(), at).map(|start| start as usize);
        let path = self
            .paths
            .as_ref()
            .get(start(number)?..start(number + 1)?)?;
        let path = std::str::from_utf8(path).ok()?;
        Some(path.lines().map(str::to_owned).collect())
    }

    /// Returns a copy with other vectors.
    pub(crate) fn with_vectors(&self, vectors: Bytes, inverse_lengths: Bytes) -> Self {
        Self {
            vectors,
            inverse_lengths,
            ..self.clone()
        }
    }

    pub(super) fn words(&self) -> Arc<LexicalSegment> {
        Arc::clone(&self.words)
    }

    /// Returns the vectors of some chunks and the reciprocals of their lengths; empty if there are none.
    pub(crate) fn vectors_of(&self, chunks: Range<usize>) -> (&[u8], &[u8]) {
        let part = |all: &'_ Bytes| all.as_ref().len() / self.chunks.max(1);
        let of = |all: &'_ Bytes| chunks.start * part(all)..chunks.end * part(all);
        let vectors = self.vectors.as_ref().get(of(&self.vectors));
        let inverse_lengths = self.inverse_lengths.as_ref().get(of(&self.inverse_lengths));
        (
            vectors.unwrap_or_default(),
            inverse_lengths.unwrap_or_default(),
        )
    }
}
