//! Search in a folder.

use std::{cmp::Reverse, collections::HashMap, ops::Range};

use sectile_markdown::{NotePath, Span};
use sectile_retrieval::{Correction, Form};

use crate::{
    error::LibraryError,
    folder::SettledNote,
    live_folder::{FolderQuery, FolderState, HitOrder, IndexProgress, NoteRecord},
    open_collection::snapshot::unharmed,
};

/// A place in a note that a query found. Its text is in the file, which the caller reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderHit {
    /// The note.
    pub path: NotePath,
    /// The passage, the task, or the whole note.
    pub span: Span,
    /// The title and the headings above the place, outermost first.
    pub heading_path: Vec<String>,
    /// The score in millionths; 0 where there is no order by relevance.
    pub score: u64,
    /// The words of the query that it contains, as spelled in the query.
    pub matched: Vec<String>,
}

/// The results of a search.
#[derive(Clone, Debug)]
pub struct FolderHits {
    /// The hits in the range that was asked for.
    pub hits: Vec<FolderHit>,
    /// Number of places that match at all.
    pub total: usize,
    /// Words of the query that the folder does not contain.
    pub unknown_words: Vec<String>,
    /// Words of the query for which only similarly spelled words were found.
    pub corrected_words: Vec<Correction>,
    /// Words of the query that were not searched for, because there are too many.
    pub dropped_words: Vec<String>,
    /// How far the index had come.
    pub progress: IndexProgress,
}

impl FolderState {
    /// Returns the hits of a query in `range`, best first.
    ///
    /// # Errors
    /// [`LibraryError`] when the caller no longer waits, or the index cannot be used.
    pub fn search(
        &self,
        query: &FolderQuery,
        range: Range<usize>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FolderHits, LibraryError> {
        let mut found = FolderHits {
            hits: Vec::new(),
            total: 0,
            unknown_words: Vec::new(),
            corrected_words: Vec::new(),
            dropped_words: query.dropped_words().to_vec(),
            progress: self.progress(),
        };
        match query.words() {
            Some(_) => self.by_words(query, range, stop, &mut found)?,
            None => self.by_filters(query, range, &mut found),
        }
        Ok(found)
    }

    /// Lists the notes that pass the filters.
    fn by_filters(&self, query: &FolderQuery, range: Range<usize>, found: &mut FolderHits) {
        let notes = self.notes().iter();
        let mut notes: Vec<&NoteRecord> = notes
            .map(AsRef::as_ref)
            .filter(|note| query.matches(note))
            .collect();
        if query.order() == HitOrder::Modified {
            notes.sort_by_key(|note| Reverse(note.stamp.modified));
        }
        found.total = notes.len();
        let notes = notes.into_iter().skip(range.start).take(range.len());
        found.hits = notes
            .map(|note| FolderHit {
                path: note.path.clone(),
                span: Span::new(0, usize::try_from(note.stamp.bytes).unwrap_or(usize::MAX)),
                heading_path: vec![note.title.clone()],
                score: 0,
                matched: Vec::new(),
            })
            .collect();
    }

    fn by_words(
        &self,
        query: &FolderQuery,
        range: Range<usize>,
        stop: &(dyn Fn() -> bool + Sync),
        found: &mut FolderHits,
    ) -> Result<(), LibraryError> {
        let Some(words) = query.words() else {
            return Ok(());
        };
        let corpus = self.snapshot.answering();
        // Every chunk is asked for where hits are dropped afterwards.
        let is_filtered = query.has_filters() || !query.phrases().is_empty();
        let most = match is_filtered {
            true => corpus.len(),
            false => range.end,
        };
        let results = unharmed(|| {
            self.readers.with(self.snapshot.model(), |reader| {
                corpus.search(words.parsed(), words.text(), Some(reader), most)
            })
        });
        let results = results.filter(|_| !corpus.is_damaged());
        let results = results.ok_or(LibraryError::IndexDamaged)?;
        let mut read: HashMap<NotePath, Option<Vec<u8>>> = HashMap::new();
        let mut hits = Vec::new();
        for hit in results.hits {
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            let Some(located) = self.snapshot.located(hit.chunk) else {
                continue;
            };
            let (path, span) = (located.notebook, located.chunk.span);
            if !self.note(&path).is_some_and(|note| query.matches(note)) {
                continue;
            }
            if !query.phrases().is_empty() {
                let bytes = match read.get(&path) {
                    Some(bytes) => bytes,
                    None => {
                        let bytes = match self.storage.read_settled(&path) {
                            SettledNote::Read(bytes, _) => Some(bytes),
                            _ => None,
                        };
                        read.entry(path.clone()).or_insert(bytes)
                    }
                };
                let passage = bytes.as_deref().and_then(|bytes| bytes.get(span.range()));
                let has = |phrase: &String| {
                    passage.is_some_and(|passage| {
                        memchr::memmem::find(passage, phrase.as_bytes()).is_some()
                    })
                };
                if !query.phrases().iter().all(has) {
                    continue;
                }
            }
            let matched = hit.matches.into_iter();
            let matched = matched.filter(|one| one.form != Form::Near);
            hits.push(FolderHit {
                path,
                span,
                heading_path: located.path,
                score: hit.fused,
                matched: matched.map(|one| one.asked).collect(),
            });
        }
        found.total = match is_filtered {
            true => hits.len(),
            false => results.total,
        };
        found.hits = hits
            .into_iter()
            .skip(range.start)
            .take(range.len())
            .collect();
        found.unknown_words = results.remarks.unknown;
        found.corrected_words = results.remarks.corrected;
        Ok(())
    }
}
