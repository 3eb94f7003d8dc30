//! Search over passages that the caller stores. Knows no files but those of its own index folders, no protocol and no
//! clock.
//!
//! Every number that decides an order is an integer, so the same passages and the same query give the same answer on
//! every machine.

mod analysis;
mod bits;
mod bytes;
mod container;
mod corpus;
mod embedding;
pub mod evaluation;
mod fixed_point;
mod headings;
mod lenient_query;
mod lexical;
mod sections;
mod store;
mod table;
mod varint;

pub use analysis::{fold, words};
pub use bytes::Bytes;
pub use container::FormatError;
pub use corpus::{
    Candidate, Chunk, ChunkDigest, ChunkHit, ChunkScores, Corpus, DocumentLocation, FUSION,
    HitExplanation, NEARNESS, NearChunk, RankedScore, RankingBasis, Record, RecordBuilder,
    SearchExplanation, SearchResults, Segment, SegmentBuilder, VectorRecord, record_rules,
    search_candidates,
};
pub use embedding::{
    Embedder, EmbeddingReader, MeaningWeight, ModelError, PackedVectors, StaticModel,
    TransformerModel, Vector, built_in, check_built_in, transformer,
};
pub use lenient_query::LenientQuery;
pub use lexical::{
    Clue, Correction, Form, Hit, Index, IndexError, Lexicon, Lookup, MAX_PASSAGES, MAX_QUERY_BYTES,
    MAX_QUERY_WORDS, MOST_CORRECTED, Match, Passage, PassageReader, PassageTerm, PassageTerms,
    PassageWords, Query, QueryError, RANKING, RankedPassages, Remarks, Statistics, Suggestion,
    TermExplanation, Vocabulary, WordTest,
};
pub use sections::{DEEPEST_HEADING, Section, sections};
pub use store::{
    CacheFolder, CachedIndex, CopiedState, CopyLock, IndexFile, Manifest, ManifestEntry, OpenIndex,
    SecondTierWriter, SharedVectors, Store, StoreError, VectorCache, VectorKey, Writer,
};
