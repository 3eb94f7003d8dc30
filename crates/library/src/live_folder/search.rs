//! Search in a folder.

use std::{cell::OnceCell, cmp::Reverse, collections::HashSet, ops::Range, sync::Arc};

use sectile_markdown::{NotePath, Span};
use sectile_retrieval::{
    ChunkHit, Corpus, Correction, Embedder, Form, HitExplanation, RankingBasis, SearchResults,
    WordTest,
};

use crate::{
    error::LibraryError,
    folder::{FolderStorage, SettledNote},
    indexing::CutNotebook,
    live_folder::{FolderQuery, FolderState, HitOrder, IndexProgress, NoteRecord, TaskFilter},
    open_collection::snapshot::unharmed,
    query::SearchQuery,
    storage::NotebookStorage as _,
    tiers::{RankingChoice, Tier},
};

/// The number of extra passages to look at where some may not have the phrases of a query.
const SPARE: usize = 32;
/// The most bytes below the first line of a task that are searched for words. They bound the cost of nested tasks.
const MOST_BELOW: usize = 16 << 10;

/// How a folder is searched.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchOptions {
    /// Whether each hit says why it is where it is. That costs about as much as the search.
    pub explain: bool,
    /// What decides the order of hits by relevance.
    pub ranking: RankingChoice,
}

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
    /// The reasons for its place by relevance in this folder, if they were asked for; `None` where filters alone decide. A
    /// task has those of its passage.
    pub explanation: Option<Box<HitExplanation>>,
    /// The number of its passage in the index, if words led to it.
    passage: Option<usize>,
}

/// The results of a search.
#[derive(Clone, Debug)]
pub struct FolderHits {
    /// The hits in the range that was asked for.
    pub hits: Vec<FolderHit>,
    /// Number of places that match at all. Of those with the words of a phrase side by side, only the ones up to the end
    /// of the range are compared with the file; the others count.
    pub total: usize,
    /// Words of the query that the folder does not contain.
    pub unknown_words: Vec<String>,
    /// Words of the query for which only similarly spelled words were found.
    pub corrected_words: Vec<Correction>,
    /// Words of the query that were not searched for, because there are too many.
    pub dropped_words: Vec<String>,
    /// How far the index had come.
    pub progress: IndexProgress,
    /// The tier whose meanings counted; `None` where words or filters alone decided.
    pub tier: Option<Tier>,
    /// The numbers that the scores of all hits are made with, if explanations were asked for and words led to the hits.
    pub basis: Option<RankingBasis>,
}

/// A search by words that is under way.
struct WordSearch<'s> {
    words: &'s SearchQuery,
    options: SearchOptions,
    stop: &'s (dyn Fn() -> bool + Sync),
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
        self.search_with(query, range, SearchOptions::default(), stop)
    }

    /// Returns the hits of a query in `range`, best first, with another ranking or with explanations.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn search_with(
        &self,
        query: &FolderQuery,
        range: Range<usize>,
        options: SearchOptions,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FolderHits, LibraryError> {
        let mut found = FolderHits {
            hits: Vec::new(),
            total: 0,
            unknown_words: Vec::new(),
            corrected_words: Vec::new(),
            dropped_words: Vec::new(),
            progress: self.progress(),
            tier: None,
            basis: None,
        };
        match query.words(self.snapshot.answering()) {
            Some((words, dropped)) => {
                found.dropped_words = dropped;
                let search = WordSearch {
                    words: &words,
                    options,
                    stop,
                };
                self.by_words(query, &search, range, &mut found)?;
            }
            None if query.is_unsearchable() => {
                found.dropped_words = query.long_words().to_vec();
            }
            None => self.by_filters(query, range, &mut found),
        }
        Ok(found)
    }

    /// Returns notes with the words of `text`, at most `most`, best first, by words alone: whether vectors are there does
    /// not matter. With a phrase, only those that have its words side by side; `None` if the index cannot tell.
    ///
    /// # Errors
    /// [`LibraryError`] when the index cannot be used.
    pub(crate) fn notes_with(
        &self,
        text: &str,
        phrase: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<NotePath>>, LibraryError> {
        let corpus = self.snapshot.answering();
        let (mut words, _) = SearchQuery::lenient(text, corpus);
        if phrase.is_some_and(|phrase| !words.require(phrase)) {
            return Ok(None);
        }
        // Several passages may be of one note.
        let passages = most.saturating_mul(2);
        let results =
            unharmed(|| corpus.search_within(words.parsed(), words.text(), None, passages, None));
        let results = results.filter(|_| !corpus.is_damaged());
        let results = results.ok_or(LibraryError::IndexDamaged)?;
        let mut paths: Vec<NotePath> = Vec::new();
        for hit in &results.hits {
            let note = self.notes().get(corpus.document_of(hit.chunk));
            if let Some(note) = note
                && !paths.contains(&note.path)
                && paths.len() < most
            {
                paths.push(note.path.clone());
            }
        }
        Ok(Some(paths))
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
            explanation: None,
            passage: None,
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
        search: &WordSearch<'_>,
        range: Range<usize>,
        found: &mut FolderHits,
    ) -> Result<(), LibraryError> {
        let WordSearch {
            words,
            options,
            stop,
        } = *search;
        let allowed = query.has_filters().then(|| self.allowed(query));
        let is_allowed = |document: usize| {
            let allowed = allowed.as_ref();
            allowed.is_none_or(|allowed| allowed.get(document).copied().unwrap_or(false))
        };
        let filter = allowed
            .is_some()
            .then_some(&is_allowed as &dyn Fn(usize) -> bool);
        let (corpus, model) = self.ranking(options.ranking);
        // Everything is needed where hits are arranged afterwards; of hits that may be dropped, some more.
        let is_by_relevance = query.order() == HitOrder::Relevance;
        let mut most = match (is_by_relevance, query.needs_tasks(), query.phrases()) {
            (true, false, []) => range.end,
            (true, false, _) => range.end.saturating_mul(2).saturating_add(SPARE),
            _ => corpus.len(),
        };
        let mut reader = PassageReader::new(query, &self.storage);
        loop {
            let results = unharmed(|| match model {
                None => corpus.search_within(words.parsed(), words.text(), None, most, filter),
                Some((_, model)) => self.readers.with(model, |reader| {
                    corpus.search_within(words.parsed(), words.text(), Some(reader), most, filter)
                }),
            });
            let results = results.filter(|_| !corpus.is_damaged());
            let mut results = results.ok_or(LibraryError::IndexDamaged)?;
            let is_all = results.hits.len() < most;
            if !is_by_relevance {
                self.arrange(&mut results.hits, query.order());
            }
            let (hits, total) = match query.tasks() {
                Some(tasks) => {
                    let tasks = (tasks, words.parsed().word_test(&results.remarks));
                    self.tasks_of(tasks, &results.hits, range.end, &mut reader, stop)?
                }
                None => self.verified(&results, range.end, &mut reader, stop)?,
            };
            if hits.len() < range.end && !is_all {
                most = most.saturating_mul(4).max(1);
                continue;
            }
            found.total = total;
            found.hits = hits.into_iter().skip(range.start).collect();
            found.unknown_words = results.remarks.unknown;
            found.corrected_words = results.remarks.corrected;
            found.tier = model.map(|(tier, _)| tier).filter(|_| results.has_meaning);
            return match options.explain {
                true => self.explain(words, options.ranking, (most, filter), found),
                false => Ok(()),
            };
        }
    }

    /// Adds the reasons for the places of hits, which were found by the same words among the `most` best passages of the
    /// notes that `filter` accepts.
    fn explain(
        &self,
        words: &SearchQuery,
        ranking: RankingChoice,
        (most, filter): (usize, Option<&dyn Fn(usize) -> bool>),
        found: &mut FolderHits,
    ) -> Result<(), LibraryError> {
        let (corpus, model) = self.ranking(ranking);
        let (query, text) = (words.parsed(), words.text());
        let passages = found.hits.iter().map(|hit| hit.passage);
        let passages: Vec<usize> = passages.map(|at| at.unwrap_or(usize::MAX)).collect();
        let explained = unharmed(|| match model {
            None => corpus.explain_within(query, (text, None), most, filter, &passages),
            Some((_, model)) => self.readers.with(model, |reader| {
                corpus.explain_within(query, (text, Some(reader)), most, filter, &passages)
            }),
        });
        let explained = explained.filter(|_| !corpus.is_damaged());
        let explained = explained.ok_or(LibraryError::IndexDamaged)?;
        for (hit, explanation) in found.hits.iter_mut().zip(explained.hits) {
            hit.explanation = explanation.map(Box::new);
        }
        found.basis = Some(explained.basis);
        Ok(())
    }

    /// Returns the passages with the vectors of the tier that a ranking uses, and its model; `None` for words alone.
    /// Passages have the same numbers in each tier.
    fn ranking(&self, choice: RankingChoice) -> (&Corpus, Option<(Tier, &'static dyn Embedder)>) {
        let snapshot = &self.snapshot;
        let first = (Tier::Static, snapshot.models.first);
        match choice {
            RankingChoice::Words => (snapshot.answering(), None),
            RankingChoice::Static => (&snapshot.corpus, Some(first)),
            RankingChoice::Full => {
                let tier = match snapshot.has_second_tier() {
                    true => Tier::Transformer,
                    false => Tier::Static,
                };
                (snapshot.answering(), Some((tier, snapshot.model())))
            }
        }
    }

    /// Returns the first `most` passages that have the phrases of a query, and the number of all passages.
    fn verified(
        &self,
        results: &SearchResults,
        most: usize,
        reader: &mut PassageReader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<FolderHit>, usize), LibraryError> {
        let mut hits = Vec::new();
        let mut total = results.total;
        for passage in &results.hits {
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            if hits.len() >= most {
                break;
            }
            let Some((note, span, path)) = self.located(passage) else {
                continue;
            };
            match reader.has_phrases(note, span, &path) {
                true => hits.push(hit(passage, note, span, path)),
                false => total -= 1,
            }
        }
        Ok((hits, total))
    }

    /// Returns the first `most` tasks in passages that have a word of the query themselves and all its phrases, and the
    /// number of all such tasks.
    fn tasks_of(
        &self,
        (wanted, words): (TaskFilter, WordTest),
        passages: &[ChunkHit],
        most: usize,
        reader: &mut PassageReader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<FolderHit>, usize), LibraryError> {
        let mut hits = Vec::new();
        // A task may reach from one passage into the next.
        let mut seen = HashSet::new();
        for passage in passages.iter().filter(|passage| passage.lexical > 0) {
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            let Some((note, span, path)) = self.located(passage) else {
                continue;
            };
            let tasks = note.properties.tasks.iter().filter(|task| {
                let may_reach = task.span.end + MOST_BELOW > span.start;
                wanted.wants(task) && task.span.start < span.end && may_reach
            });
            for task in tasks {
                let key = (&note.path, task.span.start);
                if seen.contains(&key) || !reader.has_in_task(note, task.span, span.start, &words) {
                    continue;
                }
                seen.insert(key);
                if hits.len() < most {
                    let path = match span.start <= task.span.start {
                        true => path.clone(),
                        false => headings_above(note, task.span),
                    };
                    hits.push(hit(passage, note, task.span, path));
                }
            }
        }
        Ok((hits, seen.len()))
    }

    /// Returns the note of a passage, its place there, and the title and headings above it.
    fn located(&self, passage: &ChunkHit) -> Option<(&Arc<NoteRecord>, Span, Vec<String>)> {
        let corpus = self.snapshot.answering();
        let note = self.notes().get(corpus.document_of(passage.chunk))?;
        let chunk = corpus.chunk(passage.chunk)?;
        Some((note, chunk.span, corpus.path(passage.chunk)?))
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

/// Returns the hit at a place in a passage that was found.
fn hit(passage: &ChunkHit, note: &NoteRecord, span: Span, heading_path: Vec<String>) -> FolderHit {
    let matched = passage.matches.iter();
    let matched = matched.filter(|one| one.form != Form::Near);
    FolderHit {
        path: note.path.clone(),
        span,
        heading_path,
        score: passage.fused,
        matched: matched.map(|one| one.asked.clone()).collect(),
        explanation: None,
        passage: Some(passage.chunk),
    }
}

/// Reads notes to find out what their passages and tasks have.
struct PassageReader<'q> {
    query: &'q FolderQuery,
    storage: &'q FolderStorage,
    /// The note that was read last: its bytes, and its chunks if they were needed.
    last: Option<(NotePath, Option<Vec<u8>>, OnceCell<CutNotebook>)>,
}

impl<'q> PassageReader<'q> {
    fn new(query: &'q FolderQuery, storage: &'q FolderStorage) -> Self {
        Self {
            query,
            storage,
            last: None,
        }
    }

    /// Returns a note as it is on disk, and its chunks.
    fn read(&mut self, note: &NoteRecord) -> Option<(&[u8], &OnceCell<CutNotebook>)> {
        let is_last = |(last, ..): &(NotePath, _, _)| *last == note.path;
        if !self.last.as_ref().is_some_and(is_last) {
            let bytes = match self.storage.read_settled(&note.path) {
                SettledNote::Read(bytes, _) => Some(bytes),
                _ => None,
            };
            self.last = Some((note.path.clone(), bytes, OnceCell::new()));
        }
        let (_, bytes, cut) = self.last.as_ref()?;
        Some((bytes.as_deref()?, cut))
    }

    /// Returns whether the file has all phrases at `span`, or the headings above it do.
    fn has_phrases(&mut self, note: &NoteRecord, span: Span, path: &[String]) -> bool {
        let (query, how) = (self.query, self.storage.cut());
        if query.phrases().is_empty() {
            return true;
        }
        let Some((bytes, cut)) = self.read(note) else {
            return false;
        };
        let Some(passage) = bytes.get(span.range()) else {
            return false;
        };
        let headings = path.join("\n");
        let has = |text: &str| query.has_phrases(&format!("{headings}\n{text}"));
        if has(&String::from_utf8_lossy(passage)) {
            return true;
        }
        // Markup may separate words that are adjacent when rendered, as in `**two** words`.
        let cut = cut.get_or_init(|| how.cut(bytes, &note.path));
        let chunk = cut.chunks.chunks.iter().find(|chunk| chunk.span == span);
        chunk.is_some_and(|chunk| has(&chunk.plain))
    }

    /// Returns whether the task with this first line reaches beyond `start`, and has one of the words and all phrases.
    fn has_in_task(
        &mut self,
        note: &NoteRecord,
        task: Span,
        start: usize,
        words: &WordTest,
    ) -> bool {
        let query = self.query;
        let Some((bytes, _)) = self.read(note) else {
            return false;
        };
        let text = &bytes[task.start.min(bytes.len())..task_end(bytes, task)];
        if task.start + text.len() <= start {
            return false;
        }
        let text = String::from_utf8_lossy(text);
        words.is_in(&text) && query.has_phrases(&text)
    }
}

/// Returns the end of a task with the lines below it that belong to it: those that are indented further than its marker,
/// in the same block quotation.
fn task_end(bytes: &[u8], task: Span) -> usize {
    let is_indent = |byte: &u8| matches!(byte, b' ' | b'\t' | b'>');
    // The number of bytes before the text of a line, and of quotation marks among them.
    let depth = |indent: &[u8]| {
        let quotations = indent.iter().filter(|byte| **byte == b'>').count();
        (indent.len(), quotations)
    };
    let (start, mut end) = (task.start.min(bytes.len()), task.end.min(bytes.len()));
    let before = bytes[..start]
        .iter()
        .rev()
        .take_while(|byte| is_indent(byte));
    let (indent, quotations) = depth(&bytes[start - before.count()..start]);
    let mut at = end;
    let below = &bytes[end..bytes.len().min(end + MOST_BELOW)];
    for line in below.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        let text = line.iter().position(|byte| !is_indent(byte));
        let (before, text) = line.split_at(text.unwrap_or(line.len()));
        let (indent_here, quotations_here) = depth(before);
        match text.trim_ascii().is_empty() {
            true => {}
            false if indent_here > indent && quotations_here == quotations => end = at,
            false => break,
        }
    }
    end
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
