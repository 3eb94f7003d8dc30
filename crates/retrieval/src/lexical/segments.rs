//! The words of several files, of which some passages are live: an index that can grow.

use std::{borrow::Cow, sync::Arc};

use parking_lot::Mutex;

use super::{
    Posting, Query, RankedPassages,
    field::{FIELDS, NormTables, Totals},
    search::{Phrases, rank},
    segment::LexicalSegment,
    spelling::ranked,
    terms::{List, TermCount, TermSource, WordPositions, add_up},
};
use crate::analysis::stem;

/// The words of the live passages of several files. Every passage of every file has a number, whether it is live or
/// not: those of the first file, then those of the next.
#[derive(Debug)]
pub(crate) struct Segments {
    files: Vec<SegmentWords>,
    norms: NormTables,
    /// Number of passages, dead ones included.
    passages: usize,
    /// Cache of long lists.
    memory: Mutex<Memory>,
}

/// The live passages of a file.
#[derive(Clone, Debug)]
pub(crate) struct LivePassages {
    is_live: Vec<bool>,
    totals: Totals,
}

impl LivePassages {
    /// Creates a set for a file with this many passages, all of them dead.
    pub(crate) fn none(passages: usize) -> Self {
        Self {
            is_live: vec![false; passages],
            totals: Totals::default(),
        }
    }

    /// Makes a passage of the file `words` live or dead.
    pub(crate) fn set(&mut self, words: &LexicalSegment, passage: usize, is_live: bool) {
        let Some(known) = self.is_live.get_mut(passage) else {
            return;
        };
        let lengths = words.lengths(passage);
        match (*known, is_live) {
            (false, true) => self.totals.add(&lengths),
            (true, false) => self.totals.remove(&lengths),
            _ => {}
        }
        *known = is_live;
    }

    /// Returns whether a passage is live.
    #[inline]
    pub(crate) fn has(&self, passage: usize) -> bool {
        self.is_live.get(passage).copied().unwrap_or_default()
    }

    /// Returns whether all passages are live.
    pub(crate) fn is_all(&self) -> bool {
        self.totals.passages == self.is_live.len() as u64
    }
}

/// The key of a cached list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ListKey {
    Term(String),
    Stem(String),
}

/// A cache of lists, the most recently used at the end.
#[derive(Debug, Default)]
struct Memory {
    lists: Vec<(ListKey, Arc<Vec<Posting>>)>,
    /// Total number of postings in it.
    passages: usize,
}

/// Shorter lists are built as quickly as they are looked up.
const SHORTEST_REMEMBERED: usize = 512;
/// The most postings in all cached lists together: 8 MiB.
const MOST_REMEMBERED: usize = 1 << 19;

impl Memory {
    fn find(&mut self, key: &ListKey) -> Option<Arc<Vec<Posting>>> {
        let at = self.lists.iter().position(|(known, _)| known == key)?;
        let found = self.lists.remove(at);
        let list = Arc::clone(&found.1);
        self.lists.push(found);
        Some(list)
    }

    fn keep(&mut self, key: ListKey, list: &Arc<Vec<Posting>>) {
        self.passages += list.len();
        self.lists.push((key, Arc::clone(list)));
        while self.passages > MOST_REMEMBERED && self.lists.len() > 1 {
            let (_, forgotten) = self.lists.remove(0);
            self.passages -= forgotten.len();
        }
    }
}

#[derive(Debug)]
struct SegmentWords {
    words: Arc<LexicalSegment>,
    living: Arc<LivePassages>,
    /// The number of its first passage.
    first: u32,
}

impl Segments {
    /// Takes files, with the live passages of each.
    pub(crate) fn new(
        files: impl Iterator<Item = (Arc<LexicalSegment>, Arc<LivePassages>)>,
    ) -> Self {
        let mut totals = Totals::default();
        let mut longest = [0; FIELDS.len()];
        let mut passages = 0;
        let files = files.map(|(words, living)| {
            totals.add_all(&living.totals);
            for (longest, here) in longest.iter_mut().zip(words.longest()) {
                *longest = here.max(*longest);
            }
            let first = u32::try_from(passages).unwrap_or(u32::MAX);
            passages += words.passages();
            SegmentWords {
                words,
                living,
                first,
            }
        });
        Self {
            files: files.collect(),
            norms: NormTables::new(totals, &longest),
            passages,
            memory: Mutex::default(),
        }
    }

    /// Returns the number of live passages that have a word, or, if none has it, about the number of those that have
    /// another form of it. The cache is left alone.
    pub(crate) fn frequency_of(&self, word: &str) -> usize {
        let count = |lists: &dyn Fn(&LexicalSegment) -> Vec<usize>| {
            let mut frequency = 0;
            for file in &self.files {
                for list in lists(&file.words) {
                    file.each(list, |_| frequency += 1);
                }
            }
            frequency
        };
        match count(&|words| words.term(word)) {
            0 => stem(word).map_or(0, |stem| count(&|words| words.stem(&stem))),
            frequency => frequency,
        }
    }

    /// Returns a list from the cache, or builds it.
    fn remembered(&self, key: ListKey, terms: impl Fn(&LexicalSegment) -> Vec<usize>) -> List<'_> {
        let memory = || self.memory.lock();
        if let Some(list) = memory().find(&key) {
            return List::Shared(list);
        }
        let mut list = self.with(terms);
        if list.len() < SHORTEST_REMEMBERED {
            return List::Made(list);
        }
        list.shrink_to_fit();
        let list = Arc::new(list);
        memory().keep(key, &list);
        List::Shared(list)
    }

    /// Ranks the passages that match.
    pub(crate) fn rank<'a, F: Fn(usize) -> u64>(
        &'a self,
        query: &Query,
        phrases: Phrases,
        favour: F,
    ) -> RankedPassages<'a, F> {
        rank(self, query, phrases, favour)
    }

    /// Returns the passages with one of the terms whose numbers `terms` returns for each file.
    fn with(&self, terms: impl Fn(&LexicalSegment) -> Vec<usize>) -> Vec<Posting> {
        // Shorter lists are not worth remembering, and longer ones need not grow from nothing.
        let mut postings = Vec::with_capacity(SHORTEST_REMEMBERED);
        for file in &self.files {
            match terms(&file.words).as_slice() {
                [] => {}
                [one] => file.each(*one, |counted| {
                    postings.push(self.posting(file, &counted));
                }),
                several => {
                    let mut merged = Vec::new();
                    for list in several {
                        file.each(*list, |counted| merged.push(counted));
                    }
                    add_up(&mut merged);
                    postings.extend(merged.iter().map(|counted| self.posting(file, counted)));
                }
            }
        }
        postings
    }

    /// Returns a passage of a file, with its number among all.
    #[inline]
    fn posting(&self, file: &SegmentWords, counted: &TermCount) -> Posting {
        let lengths = file.words.lengths(counted.passage as usize);
        let posting = counted.weighing(self.norms.weight(&lengths, &counted.counts));
        Posting {
            passage: file.first + posting.passage,
            ..posting
        }
    }
}

impl SegmentWords {
    /// Calls `take` for every live passage with the term of this number.
    #[inline]
    fn each(&self, list: usize, mut take: impl FnMut(TermCount)) {
        if self.living.is_all() {
            self.words.list(list, take);
            return;
        }
        self.words.list(list, |counted| {
            if self.living.has(counted.passage as usize) {
                take(counted);
            }
        });
    }
}

impl TermSource for Segments {
    fn len(&self) -> usize {
        self.passages
    }

    fn all(&self) -> usize {
        usize::try_from(self.norms.totals().passages).unwrap_or(usize::MAX)
    }

    fn with_term(&self, term: &str) -> List<'_> {
        self.remembered(ListKey::Term(term.to_owned()), |words| words.term(term))
    }

    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>> {
        let is_only = self
            .files
            .iter()
            .all(|file| file.words.has_no_form_but(stem, word));
        let lists = |words: &LexicalSegment| words.stem(stem);
        (!is_only).then(|| self.remembered(ListKey::Stem(stem.to_owned()), lists))
    }

    fn places(&self, posting: &Posting, word: &str) -> WordPositions<'_> {
        let behind = self
            .files
            .partition_point(|file| file.first <= posting.passage);
        let places = behind.checked_sub(1).map(|at| {
            let file = &self.files[at];
            file.words
                .places(posting, posting.passage - file.first, word)
        });
        Cow::Owned(places.unwrap_or_default())
    }

    fn nearest(&self, word: &str, most: usize) -> Vec<String> {
        let mut found: Vec<(u8, String)> = self
            .files
            .iter()
            .flat_map(|file| file.words.dictionaries())
            .flat_map(|dictionary| dictionary.nearest(word))
            .map(|near| (near.distance, near.term))
            .collect();
        found.sort();
        found.dedup();
        let mut counting: Vec<(u8, usize, String)> = Vec::new();
        for (distance, term) in found {
            // More distant words are not wanted.
            if counting.first().is_some_and(|nearest| nearest.0 < distance) {
                break;
            }
            // A word without live passages does not count.
            let passages = self.with_term(&term).len();
            if passages > 0 {
                counting.push((distance, passages, term));
            }
        }
        ranked(counting, most)
    }
}
