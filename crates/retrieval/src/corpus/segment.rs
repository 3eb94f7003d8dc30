//! A file of documents: their chunks, words and vectors.

use std::{fmt, ops::Range, sync::Arc};

use sectile_markdown::{Digest, Span};

use crate::{
    bytes::{Bytes, Origin},
    container::{self, Container, FormatError, Name},
    embedding::{
        Embedder, EmbeddingReader, Vector,
        vectors::{coarse, inverse_lengths, kept, kept_bytes, square},
    },
    headings::{HeadingBuilder, Headings},
    lexical::{LexicalBuilder, LexicalSegment, Passage, RANKING},
    varint::{self, Numbers},
};

/// The version of the format.
const VERSION: u32 = 2;

const RULES: Name = *b"rules   ";
/// The number of chunks of each document.
const DOCUMENTS: Name = *b"document";
/// For each chunk, its distance from the one before, its length, and the number of lines between their starts.
const CHUNKS: Name = *b"chunks  ";
const HEADINGS: Name = *b"headings";
const DIGESTS: Name = *b"digests ";
const VECTORS: Name = *b"vectors ";
/// The squared length of each vector, in two bytes.
const SQUARES: Name = *b"squares ";

/// A chunk of a document: its location, and the digest of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes in the document.
    pub span: Span,
    /// The start of the digest of its bytes.
    pub digest: ChunkDigest,
    /// The 1-based line on which it starts.
    pub line: usize,
}

/// The first 64 bits of the digest of a chunk's bytes: enough to tell the chunks of a collection apart, and as many as
/// the ids of passages have. Displays as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkDigest([u8; 8]);

impl ChunkDigest {
    /// Computes the digest of a chunk's bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Digest::of(bytes).into()
    }

    /// Takes the first 8 of these bytes; `None` if there are fewer.
    #[must_use]
    pub fn from_start(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }

    /// Returns its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl From<Digest> for ChunkDigest {
    fn from(digest: Digest) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        Self([a, b, c, d, e, f, g, h])
    }
}

impl From<&Digest> for ChunkDigest {
    fn from(digest: &Digest) -> Self {
        Self::from(*digest)
    }
}

impl From<&Self> for ChunkDigest {
    fn from(digest: &Self) -> Self {
        *digest
    }
}

impl fmt::Display for ChunkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChunkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Builds a file of documents.
pub struct SegmentBuilder<'m> {
    words: LexicalBuilder,
    embedder: Option<(Digest, &'m mut dyn EmbeddingReader)>,
    documents: Vec<u8>,
    chunk_table: Vec<u8>,
    headings: HeadingBuilder,
    digests: Vec<u8>,
    vectors: Vec<u8>,
    squares: Vec<u8>,
    /// Number of chunks of the current document, if there is one.
    chunks: Option<u32>,
    /// The end and the line of its last chunk.
    last: (usize, usize),
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
            headings: HeadingBuilder::default(),
            digests: Vec::new(),
            vectors: Vec::new(),
            squares: Vec::new(),
            chunks: None,
            last: (0, 0),
        }
    }

    /// Starts the next document.
    pub fn document(&mut self) {
        self.end_document();
        self.chunks = Some(0);
        self.last = (0, 0);
        self.headings.document();
    }

    fn end_document(&mut self) {
        if let Some(chunks) = self.chunks.take() {
            varint::write(&mut self.documents, chunks);
        }
    }

    /// Adds a chunk to the current document.
    pub fn chunk(&mut self, chunk: &Chunk, passage: &Passage<'_>) {
        self.words.add(passage);
        let Span { start, end } = chunk.span;
        let (last_end, last_line) = std::mem::replace(&mut self.last, (end, chunk.line));
        let table = &mut self.chunk_table;
        varint::write_distance(table, last_end, start);
        varint::write_distance(table, start, end);
        varint::write_distance(table, last_line, chunk.line);
        self.headings.add(passage);
        self.digests.extend_from_slice(chunk.digest.as_bytes());
        self.chunks = Some(self.chunks.unwrap_or_default() + 1);
        if let Some((_, reader)) = &mut self.embedder {
            let vector = kept(&embedded(*reader, passage));
            let square = u16::try_from(square(&coarse(&vector))).unwrap_or(u16::MAX);
            self.vectors.extend_from_slice(&vector);
            self.squares.extend_from_slice(&square.to_le_bytes());
        }
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.end_document();
        let fingerprint = self.embedder.as_ref().map(|(fingerprint, _)| *fingerprint);
        let rules = rules(fingerprint.as_ref());
        let words = self.words.finish();
        let mut parts: Vec<(Name, &[u8])> = vec![
            (RULES, rules.as_bytes()),
            (DOCUMENTS, &self.documents),
            (CHUNKS, &self.chunk_table),
            (HEADINGS, &self.headings.bytes),
            (DIGESTS, &self.digests),
            (VECTORS, &self.vectors),
            (SQUARES, &self.squares),
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
    headings: Arc<Headings>,
    table: Arc<ChunkTable>,
    digests: Bytes,
    vectors: Bytes,
    inverse_lengths: Bytes,
}

/// The chunks of a file.
#[derive(Debug)]
struct ChunkTable {
    /// The first chunk of each document, and one more for the end.
    documents: Vec<u32>,
    /// The span and the line of each chunk.
    chunks: Vec<(u32, u32, u32)>,
}

impl ChunkTable {
    fn open(container: &Container) -> Result<Self, FormatError> {
        let (documents, chunks) = (container.part(&DOCUMENTS)?, container.part(&CHUNKS)?);
        let (documents, chunks) = (documents.as_ref(), chunks.as_ref());
        Self::read(documents, chunks).ok_or(FormatError::Damaged)
    }

    fn read(documents: &[u8], chunks: &[u8]) -> Option<Self> {
        let mut table = Self {
            documents: vec![0],
            chunks: Vec::with_capacity(chunks.len() / 4),
        };
        let mut counts = Numbers::new(documents);
        let mut numbers = Numbers::new(chunks);
        while !counts.is_at_end() {
            let (mut end, mut line) = (0, 0);
            for _ in 0..counts.next()? {
                let start = numbers.next_after(end)?;
                end = numbers.next_after(start)?;
                line = numbers.next_after(line)?;
                table.chunks.push((start, end, line));
            }
            table
                .documents
                .push(u32::try_from(table.chunks.len()).ok()?);
        }
        numbers.is_at_end().then_some(table)
    }
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
        let table = ChunkTable::open(&container)?;
        let chunks = table.chunks.len();
        let headings = Headings::open(container.part(&HEADINGS)?, chunks);
        let headings = Arc::new(headings.ok_or(FormatError::Damaged)?);
        let words = LexicalSegment::open(&container, Arc::clone(&headings))?;
        let dimensions = embedder.map(Embedder::dimensions);
        let squares = container.part(&SQUARES)?;
        let segment = Self {
            words: Arc::new(words),
            headings,
            table: Arc::new(table),
            digests: container.part(&DIGESTS)?,
            vectors: container.part(&VECTORS)?,
            inverse_lengths: Bytes::new(inverse_lengths(squares.as_ref())),
        };
        let fits = |part: &Bytes, each: usize| part.as_ref().len() == chunks * each;
        let is_consistent = segment.words.passages() == chunks
            && fits(&segment.digests, 8)
            && fits(&segment.vectors, dimensions.map_or(0, kept_bytes))
            && fits(&squares, dimensions.map_or(0, |_| 2));
        is_consistent.then_some(segment).ok_or(FormatError::Damaged)
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
        self.table.documents.len() - 1
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.table.chunks.len()
    }

    /// Returns the chunks of a document.
    #[must_use]
    pub fn chunks_of(&self, document: usize) -> Range<usize> {
        let start = |at: usize| self.table.documents.get(at).map(|start| *start as usize);
        match start(document).zip(start(document + 1)) {
            Some((start, end)) => start..end,
            None => 0..0,
        }
    }

    /// Returns the document that contains a chunk.
    pub(super) fn document_of(&self, chunk: usize) -> Option<usize> {
        let starts = &self.table.documents;
        let behind = starts.partition_point(|start| *start as usize <= chunk);
        behind.checked_sub(1)
    }

    pub(super) fn chunk(&self, number: usize) -> Option<Chunk> {
        let (start, end, line) = *self.table.chunks.get(number)?;
        let (digests, _) = self.digests.as_ref().as_chunks::<8>();
        Some(Chunk {
            span: Span::new(start as usize, end as usize),
            digest: ChunkDigest(*digests.get(number)?),
            line: line as usize,
        })
    }

    /// Returns the title of the document and the headings above a chunk.
    pub(super) fn path(&self, number: usize) -> Option<Vec<String>> {
        let path = self.headings.path(number)?;
        Some(path.into_iter().map(str::to_owned).collect())
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
        let part = |all: &Bytes| all.as_ref().len() / self.chunks().max(1);
        let of = |all: &Bytes| chunks.start * part(all)..chunks.end * part(all);
        let vectors = self.vectors.as_ref().get(of(&self.vectors));
        let inverse_lengths = self.inverse_lengths.as_ref().get(of(&self.inverse_lengths));
        (
            vectors.unwrap_or_default(),
            inverse_lengths.unwrap_or_default(),
        )
    }
}
