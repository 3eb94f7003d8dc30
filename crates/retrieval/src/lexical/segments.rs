//! The words of several files, of which some passages are live: an index that can grow.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::{
    Posting, Query, RankedPassages,
    field::{FIELDS, Lengths, NormTables, Totals},
    search::{Phrases, TermExplanation, rank},
    segment::LexicalSegment,
    spelling::ranked,
    terms::{List, TermCount, TermKey, TermSource, WordPositions, add_up},
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ListKey {
    Term(String),
    Stem(String),
}

/// The lists of a term or a stem: the index of a file and the number of the list there, in the order of the files.
type ListNumbers = Arc<[(usize, usize)]>;

/// A cache of lists, the most recently used at the end, and of where lists are.
#[derive(Debug, Default)]
struct Memory {
    lists: Vec<(ListKey, Arc<Vec<Posting>>)>,
    /// Total number of postings in it.
    passages: usize,
    numbers: HashMap<ListKey, ListNumbers>,
}

/// Shorter lists are built as quickly as they are looked up.
const SHORTEST_REMEMBERED: usize = 512;
/// The most postings in all cached lists together: 8 MiB.
const MOST_REMEMBERED: usize = 1 << 19;
/// The most terms and stems whose lists need not be looked up in every file again.
const MOST_NUMBERED: usize = 1_024;

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

    /// Returns where the lists of a term or a stem are. Every file has dictionaries of its own, so that a look-up costs
    /// more than a short list.
    fn numbers(&self, key: &ListKey) -> ListNumbers {
        if let Some(known) = self.memory.lock().numbers.get(key) {
            return Arc::clone(known);
        }
        let files = self.files.iter().enumerate();
        let numbers = files.flat_map(|(at, file)| {
            let numbers = match key {
                ListKey::Term(term) => file.words.term(term),
                ListKey::Stem(stem) => file.words.stem(stem),
            };
            numbers.into_iter().map(move |number| (at, number))
        });
        let numbers: ListNumbers = numbers.collect();
        let mut memory = self.memory.lock();
        if memory.numbers.len() >= MOST_NUMBERED {
            memory.numbers.clear();
        }
        memory.numbers.insert(key.clone(), Arc::clone(&numbers));
        numbers
    }

    /// Returns a list from the cache, or builds it.
    fn remembered(&self, key: ListKey) -> List<'_> {
        let memory = || self.memory.lock();
        if let Some(list) = memory().find(&key) {
            return List::Shared(list);
        }
        let mut list = self.with(&self.numbers(&key));
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

    /// Returns the query items in each of these passages, which are sorted.
    pub(crate) fn explained<F: Fn(usize) -> u64>(
        &self,
        ranked: &RankedPassages<'_, F>,
        passages: &[usize],
    ) -> Vec<Vec<TermExplanation>> {
        ranked.explained(passages, |key, passages| self.counts(key, passages))
    }

    /// Returns how often each field of each of these passages, which are sorted, has a term.
    fn counts(&self, key: &TermKey, passages: &[usize]) -> Vec<Lengths> {
        let key = match key {
            TermKey::Term(term) => ListKey::Term(term.clone()),
            TermKey::Stem(stem, _) => ListKey::Stem(stem.clone()),
        };
        let mut counts = vec![Lengths::default(); passages.len()];
        for (file, list) in self.numbers(&key).iter() {
            let file = &self.files[*file];
            file.each(*list, |counted| {
                let passage = (file.first + counted.passage) as usize;
                if let Ok(at) = passages.binary_search(&passage) {
                    for (sum, more) in counts[at].iter_mut().zip(counted.counts) {
                        *sum = sum.saturating_add(more);
                    }
                }
            });
        }
        counts
    }

    /// Returns the passages that are in one of these lists.
    fn with(&self, numbers: &[(usize, usize)]) -> Vec<Posting> {
        // Shorter lists are not worth remembering, and longer ones need not grow from nothing.
        let mut postings = Vec::with_capacity(SHORTEST_REMEMBERED);
        for in_file in numbers.chunk_by(|(one, _), (next, _)| one == next) {
            match in_file {
                [] => {}
                [(file, number)] => {
                    let file = &self.files[*file];
                    file.each(*number, |counted| {
                        postings.push(self.posting(file, &counted));
                    });
                }
                [(file, _), ..] => {
                    let file = &self.files[*file];
                    let mut merged = Vec::new();
                    for (_, number) in in_file {
                        file.each(*number, |counted| merged.push(counted));
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
        self.remembered(ListKey::Term(term.to_owned()))
    }

    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>> {
        let key = ListKey::Stem(stem.to_owned());
        let forms = self.numbers(&key);
        let word = self.numbers(&ListKey::Term(word.to_owned()));
        // Whether `word` is the only word with this stem in each file that has one, and not also a name there.
        let is_only = forms
            .chunk_by(|(one, _), (next, _)| one == next)
            .all(|forms| {
                let in_file = word.iter().filter(|(file, _)| *file == forms[0].0);
                forms.len() == 1 && in_file.eq(forms)
            });
        (!is_only).then(|| self.remembered(key))
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
