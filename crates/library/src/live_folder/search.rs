//! Search in a folder.

use std::{cell::OnceCell, cmp::Reverse, ops::Range, sync::Arc};

use sectile_markdown::{NotePath, Span};
use sectile_retrieval::{ChunkHit, Correction, Form, SearchResults};

use crate::{
    error::LibraryError,
    folder::{FolderStorage, SettledNote},
    indexing::CutNotebook,
    live_folder::{FolderQuery, FolderState, HitOrder, IndexProgress, NoteRecord, TaskFilter},
    open_collection::snapshot::unharmed,
};

/// The number of extra passages to look at where some may not have the phrases of a query.
const SPARE: usize = 32;

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

    /// Lists the notes that pass the filters, or their tasks.
    fn by_filters(&self, query: &FolderQuery, range: Range<usize>, found: &mut FolderHits) {
        let mut notes: Vec<&Arc<NoteRecord>> = match query.has_filters() {
            true => self.facets().select(query, self.notes()),
            false => self.notes().iter().collect(),
        };
        if query.order() == HitOrder::Modified {
            let needed = match query.tasks() {
                Some(_) => notes.len(),
                None => range.end,
            };
            newest_first(&mut notes, needed);
        }
        let hit = |note: &NoteRecord, span: Span| FolderHit {
            path: note.path.clone(),
            span,
            heading_path: headings_above(note, span),
            score: 0,
            matched: Vec::new(),
        };
        let Some(tasks) = query.tasks() else {
            found.total = notes.len();
            let notes = notes.into_iter().skip(range.start).take(range.len());
            found.hits = notes.map(|note| hit(note, whole(note))).collect();
            return;
        };
        for note in notes {
            for span in tasks_in(note, tasks, whole(note)) {
                if range.contains(&found.total) {
                    found.hits.push(hit(note, span));
                }
                found.total += 1;
            }
        }
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
        let allowed = query.has_filters().then(|| self.allowed(query));
        let is_allowed = |document: usize| {
            let allowed = allowed.as_ref();
            allowed.is_none_or(|allowed| allowed.get(document).copied().unwrap_or(false))
        };
        let filter = allowed
            .is_some()
            .then_some(&is_allowed as &dyn Fn(usize) -> bool);
        let corpus = self.snapshot.answering();
        // Everything is needed where hits are arranged afterwards; of hits that may be dropped, some more.
        let is_by_relevance = query.order() == HitOrder::Relevance;
        let mut most = match (is_by_relevance, query.needs_tasks(), query.phrases()) {
            (true, false, []) => range.end,
            (true, false, _) => range.end.saturating_mul(2).saturating_add(SPARE),
            _ => corpus.len(),
        };
        let mut reader = PhraseReader::new(query, &self.storage);
        loop {
            let results = unharmed(|| {
                self.readers.with(self.snapshot.model(), |reader| {
                    corpus.search_within(words.parsed(), words.text(), Some(reader), most, filter)
                })
            });
            let results = results.filter(|_| !corpus.is_damaged());
            let mut results = results.ok_or(LibraryError::IndexDamaged)?;
            let is_all = results.hits.len() < most;
            if !is_by_relevance {
                self.arrange(&mut results.hits, query.order());
            }
            let (hits, total) = self.verified(query, &results, range.end, &mut reader, stop)?;
            if hits.len() < range.end && !is_all {
                most = most.saturating_mul(4).max(1);
                continue;
            }
            found.total = total;
            found.hits = hits.into_iter().skip(range.start).collect();
            found.unknown_words = results.remarks.unknown;
            found.corrected_words = results.remarks.corrected;
            return Ok(());
        }
    }

    /// Returns the first `most` places of passages that have the phrases of a query, and the number of all places.
    fn verified(
        &self,
        query: &FolderQuery,
        results: &SearchResults,
        most: usize,
        reader: &mut PhraseReader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<FolderHit>, usize), LibraryError> {
        let corpus = self.snapshot.answering();
        let mut hits = Vec::new();
        let (mut total, mut tasks_found) = (results.total, 0);
        for passage in &results.hits {
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            if hits.len() >= most && !query.needs_tasks() {
                break;
            }
            let note = self.notes().get(corpus.document_of(passage.chunk));
            let chunk = corpus.chunk(passage.chunk).zip(corpus.path(passage.chunk));
            let Some((note, (chunk, path))) = note.zip(chunk) else {
                continue;
            };
            if !reader.has_phrases(note, chunk.span, &path) {
                total -= 1;
                continue;
            }
            let places: Vec<Span> = match query.tasks() {
                Some(tasks) => tasks_in(note, tasks, chunk.span).collect(),
                None => vec![chunk.span],
            };
            tasks_found += places.len();
            let matched = passage.matches.iter();
            let matched: Vec<String> = matched
                .filter(|one| one.form != Form::Near)
                .map(|one| one.asked.clone())
                .collect();
            for span in places {
                if hits.len() < most {
                    hits.push(FolderHit {
                        path: note.path.clone(),
                        span,
                        heading_path: path.clone(),
                        score: passage.fused,
                        matched: matched.clone(),
                    });
                }
            }
        }
        if query.needs_tasks() {
            total = tasks_found;
        }
        Ok((hits, total))
    }

    /// Returns which notes pass the filters, by their numbers.
    fn allowed(&self, query: &FolderQuery) -> Vec<bool> {
        let notes = self.notes();
        let Some(candidates) = self.facets().candidates(query) else {
            return notes.iter().map(|note| query.matches(note)).collect();
        };
        let mut allowed = vec![false; notes.len()];
        for note in candidates.iter().filter(|note| query.matches(note)) {
            if let Ok(at) = notes.binary_search_by(|known| known.path.cmp(&note.path)) {
                allowed[at] = true;
            }
        }
        allowed
    }

    /// Arranges passages by the order of their notes. Those of one note stay by relevance.
    fn arrange(&self, passages: &mut [ChunkHit], order: HitOrder) {
        let corpus = self.snapshot.answering();
        passages.sort_by_key(|passage| {
            let document = corpus.document_of(passage.chunk);
            let note = self.notes().get(document);
            let modified = note.map_or(0, |note| note.stamp.modified);
            match order {
                HitOrder::Modified => (Reverse(modified), document),
                HitOrder::Path | HitOrder::Relevance => (Reverse(0), document),
            }
        });
    }
}

/// Reads notes to find out whether passages have the phrases of a query.
struct PhraseReader<'q> {
    query: &'q FolderQuery,
    storage: &'q FolderStorage,
    /// The note that was read last: its bytes, and its chunks if they were needed.
    last: Option<(NotePath, Option<Vec<u8>>, OnceCell<CutNotebook>)>,
}

impl<'q> PhraseReader<'q> {
    fn new(query: &'q FolderQuery, storage: &'q FolderStorage) -> Self {
        Self {
            query,
            storage,
            last: None,
        }
    }

    /// Returns whether the file has all phrases at `span`, or the headings above it do.
    fn has_phrases(&mut self, note: &NoteRecord, span: Span, path: &[String]) -> bool {
        if self.query.phrases().is_empty() {
            return true;
        }
        if self
            .last
            .as_ref()
            .is_none_or(|(last, ..)| *last != note.path)
        {
            let bytes = match self.storage.read_settled(&note.path) {
                SettledNote::Read(bytes, _) => Some(bytes),
                _ => None,
            };
            self.last = Some((note.path.clone(), bytes, OnceCell::new()));
        }
        let Some((_, Some(bytes), cut)) = &self.last else {
            return false;
        };
        let Some(passage) = bytes.get(span.range()) else {
            return false;
        };
        let headings = path.join("\n");
        let has = |text: &str| self.query.has_phrases(&format!("{headings}\n{text}"));
        if has(&String::from_utf8_lossy(passage)) {
            return true;
        }
        // Markup may separate words that are adjacent when rendered, as in `**two** words`.
        let cut = cut.get_or_init(|| CutNotebook::new(bytes, &note.path));
        let chunk = cut.chunks.chunks.iter().find(|chunk| chunk.span == span);
        chunk.is_some_and(|chunk| has(&chunk.plain))
    }
}

/// Puts the `needed` newest notes first, in order; those of one time stay in the order of their paths.
fn newest_first(notes: &mut Vec<&Arc<NoteRecord>>, needed: usize) {
    let keys = notes.iter().enumerate();
    let mut keys: Vec<_> = keys
        .map(|(at, note)| (Reverse(note.stamp.modified), at))
        .collect();
    let needed = needed.min(keys.len());
    if needed < keys.len() {
        keys.select_nth_unstable(needed);
    }
    keys[..needed].sort_unstable();
    *notes = keys.into_iter().map(|(_, at)| notes[at]).collect();
}

/// Returns the span of a whole note.
fn whole(note: &NoteRecord) -> Span {
    Span::new(0, usize::try_from(note.stamp.bytes).unwrap_or(usize::MAX))
}

/// Returns the tasks of a note in a span.
fn tasks_in(note: &NoteRecord, wanted: TaskFilter, span: Span) -> impl Iterator<Item = Span> {
    let tasks = note.properties.tasks.iter();
    let tasks = tasks.filter(move |task| wanted.wants(task));
    let tasks = tasks.map(|task| task.span);
    tasks.filter(move |task| span.start <= task.start && task.start < span.end)
}

/// Returns the title of a note and the headings above a place in it, outermost first.
fn headings_above(note: &NoteRecord, span: Span) -> Vec<String> {
    let behind = note
        .headings
        .partition_point(|heading| heading.start <= span.start);
    let headings = match behind.checked_sub(1) {
        Some(at) if span.start > 0 => note.heading_path(at),
        _ => Vec::new(),
    };
    let title = Some(note.title.as_str()).filter(|title| headings.first() != Some(title));
    title
        .into_iter()
        .chain(headings)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live_folder::testing::note;

    #[test]
    fn the_newest_notes_come_first_however_many_are_needed() {
        let times = [3, 1, 7, 7, 0, 5, 7, 2];
        let notes = times.iter().enumerate().map(|(at, time)| {
            let mut note = NoteRecord::clone(&note(&format!("{at}.md"), "text"));
            note.stamp.modified = *time;
            Arc::new(note)
        });
        let notes: Vec<Arc<NoteRecord>> = notes.collect();
        let mut all: Vec<&Arc<NoteRecord>> = notes.iter().collect();
        all.sort_by_key(|note| Reverse(note.stamp.modified));
        for needed in 0..=notes.len() + 1 {
            let mut some: Vec<&Arc<NoteRecord>> = notes.iter().collect();
            newest_first(&mut some, needed);
            assert_eq!(some.len(), notes.len());
            let needed = needed.min(notes.len());
            assert_eq!(some[..needed], all[..needed], "{needed}");
        }
    }
}
