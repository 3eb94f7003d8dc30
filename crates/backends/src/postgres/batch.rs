//! Preparation of changes, some thousand chunks at a time, while earlier ones are being written.

use std::collections::HashSet;

use pgvector::HalfVector;
use sectile_library::{Change, IndexedNotebook};
use sectile_retrieval::Record;
use tokio_postgres::types::ToSql;

use super::{failure::PostgresFailure, rows, search, terms::TermChanges};

/// The number of batches whose lists are written together. A word has one row in each group, so larger groups make fewer
/// rows; but an edit rewrites the lists of a frequent word, and until they are written they take some 2 kB a chunk.
const LISTED: usize = 4;

pub(super) const TOO_MANY: &str =
    "The chunk numbers of this collection are used up. Rebuild its index.";

/// Changes that are written together. No notebook is in a batch twice.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) put: Vec<IndexedNotebook>,
    pub(super) touched: Vec<IndexedNotebook>,
    pub(super) removed: Vec<String>,
    /// Notebooks whose chunks are removed.
    pub(super) emptied: Vec<String>,
    /// Chunks that are added.
    pub(super) chunks: ChunkColumns,
    /// The number of words in the added chunks.
    pub(super) words: [i64; 3],
    /// The lists of these chunks and of those from earlier batches.
    pub(super) lists: Option<FlatPostings>,
}

impl Batch {
    /// Returns the number of notebooks in the batch.
    fn changes(&self) -> usize {
        self.put.len() + self.touched.len() + self.removed.len()
    }

    /// Renumbers the chunks, which are numbered from 0, to start at `first`, the first free number.
    pub(super) fn number_from(&mut self, first: i32) -> Result<(), PostgresFailure> {
        let listed = self.lists.iter_mut().flat_map(|lists| &mut lists.chunks);
        for number in self.chunks.id.iter_mut().chain(listed) {
            *number = number
                .checked_add(first)
                .ok_or_else(|| PostgresFailure::other(TOO_MANY))?;
        }
        Ok(())
    }
}

/// Collects changes into batches.
pub(super) struct BatchBuilder {
    /// The number of chunks, or notebooks, in a batch.
    size: usize,
    batch: Batch,
    lists: Postings,
    /// Notebooks with chunks whose lists have not been written yet.
    notebooks: HashSet<String>,
    /// The number of chunks so far, and of those whose lists have been written.
    chunks: usize,
    listed: usize,
    terms: TermChanges,
}

impl BatchBuilder {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size: size.max(1),
            batch: Batch::default(),
            lists: Postings::default(),
            notebooks: HashSet::new(),
            chunks: 0,
            listed: 0,
            terms: TermChanges::default(),
        }
    }

    /// Adds a change. A returned batch must be written before anything that comes later.
    pub(super) fn push(&mut self, change: Change) -> Result<Option<Batch>, PostgresFailure> {
        let is_twice = self.notebooks.contains(path_of(&change));
        let is_full = self.batch.chunks.id.len().max(self.batch.changes()) >= self.size;
        let before = (is_twice || is_full).then(|| self.take(is_twice));
        self.notebooks.insert(path_of(&change).to_owned());
        match change {
            Change::Put { entry, records } => {
                for (number, record) in (0..).zip(records) {
                    self.add(number, &entry, record)?;
                }
                self.batch.emptied.push(entry.notebook.as_str().to_owned());
                self.batch.put.push(entry);
            }
            Change::Touch(entry) => self.batch.touched.push(entry),
            Change::Remove(notebook) => {
                self.batch.emptied.push(notebook.as_str().to_owned());
                self.batch.removed.push(notebook.as_str().to_owned());
            }
        }
        Ok(before)
    }

    /// Returns the last batch, and the change of the word counts by everything added.
    pub(super) fn finish(mut self) -> (Batch, TermChanges) {
        (self.take(true), self.terms)
    }

    fn add(
        &mut self,
        number: i32,
        entry: &IndexedNotebook,
        record: Record,
    ) -> Result<(), PostgresFailure> {
        let id = i32::try_from(self.chunks).map_err(|_| PostgresFailure::other(TOO_MANY))?;
        self.chunks += 1;
        let words = &record.words;
        self.terms
            .count(&words.lengths, &words.encoded, 1, |hash, weight| {
                self.lists.0.push((hash, id, weight));
            });
        for (all, length) in self.batch.words.iter_mut().zip(words.lengths) {
            *all += i64::from(length);
        }
        self.batch.chunks.push(id, number, entry, record);
        Ok(())
    }

    /// Takes the current batch. It has lists only if enough have been collected, or `with_lists` is set.
    fn take(&mut self, with_lists: bool) -> Batch {
        let not_listed = (self.chunks - self.listed).max(self.notebooks.len());
        let is_much = not_listed >= self.size.saturating_mul(LISTED);
        if with_lists || is_much {
            let has_lists = self.chunks > self.listed;
            self.batch.lists = has_lists.then(|| self.lists.flat());
            self.listed = self.chunks;
            self.notebooks.clear();
        }
        std::mem::take(&mut self.batch)
    }
}

fn path_of(change: &Change) -> &str {
    match change {
        Change::Put { entry, .. } | Change::Touch(entry) => entry.notebook.as_str(),
        Change::Remove(notebook) => notebook.as_str(),
    }
}

/// Rows of chunks, column by column.
#[derive(Default)]
pub(super) struct ChunkColumns {
    pub(super) id: Vec<i32>,
    path: Vec<String>,
    number: Vec<i32>,
    span_start: Vec<i64>,
    span_end: Vec<i64>,
    line: Vec<i64>,
    digest: Vec<Vec<u8>>,
    notebook_digest: Vec<Vec<u8>>,
    headings: Vec<Vec<u8>>,
    lengths: [Vec<i32>; 3],
    square: Vec<i32>,
    vector: Vec<HalfVector>,
    words: Vec<Vec<u8>>,
    key: Vec<Vec<u8>>,
}

impl ChunkColumns {
    fn push(&mut self, id: i32, number: i32, entry: &IndexedNotebook, record: Record) {
        let long = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.id.push(id);
        self.path.push(entry.notebook.as_str().to_owned());
        self.number.push(number);
        self.span_start.push(long(record.chunk.span.start));
        self.span_end.push(long(record.chunk.span.end));
        self.line.push(long(record.chunk.line));
        self.digest.push(record.digest.as_bytes().to_vec());
        self.notebook_digest.push(entry.digest.as_bytes().to_vec());
        self.headings.push(rows::headings(&record.path));
        for (column, length) in self.lengths.iter_mut().zip(record.words.lengths) {
            column.push(i32::try_from(length).unwrap_or(i32::MAX));
        }
        self.square
            .push(i32::try_from(record.square()).unwrap_or(i32::MAX));
        self.vector.push(search::half(&record.vector));
        self.words.push(record.words.encoded);
        self.key.push(record.key.as_bytes().to_vec());
    }

    pub(super) fn parameters<'a>(
        &'a self,
        collection: &'a i64,
        block: &'a i32,
    ) -> [&'a (dyn ToSql + Sync); 18] {
        let [heading, trail, body] = &self.lengths;
        [
            collection,
            block,
            &self.id,
            &self.path,
            &self.number,
            &self.span_start,
            &self.span_end,
            &self.line,
            &self.digest,
            &self.notebook_digest,
            &self.headings,
            heading,
            trail,
            body,
            &self.square,
            &self.vector,
            &self.words,
            &self.key,
        ]
    }
}

/// The entries of the lists: hash, chunk, and approximate weight.
#[derive(Default)]
struct Postings(Vec<(i64, i32, i16)>);

impl Postings {
    fn flat(&mut self) -> FlatPostings {
        // A stable sort: if two words of a chunk have the same hash, the first one counts.
        self.0.sort_by_key(|(hash, chunk, _)| (*hash, *chunk));
        self.0.dedup_by_key(|(hash, chunk, _)| (*hash, *chunk));
        let mut flat = FlatPostings::default();
        let place = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
        for list in self.0.chunk_by(|one, next| one.0 == next.0) {
            flat.hashes.push(list[0].0);
            flat.first.push(place(flat.chunks.len() + 1));
            flat.last.push(place(flat.chunks.len() + list.len()));
            flat.chunks.extend(list.iter().map(|(_, chunk, _)| *chunk));
            flat.weights.extend(list.iter().map(|(.., weight)| *weight));
        }
        self.0.clear();
        flat
    }
}

/// Lists, concatenated. Positions start at 1.
#[derive(Default)]
pub(super) struct FlatPostings {
    hashes: Vec<i64>,
    first: Vec<i32>,
    last: Vec<i32>,
    chunks: Vec<i32>,
    weights: Vec<i16>,
}

impl FlatPostings {
    pub(super) fn parameters<'a>(
        &'a self,
        collection: &'a i64,
        block: &'a i32,
    ) -> [&'a (dyn ToSql + Sync); 7] {
        [
            collection,
            block,
            &self.hashes,
            &self.first,
            &self.last,
            &self.chunks,
            &self.weights,
        ]
    }
}
