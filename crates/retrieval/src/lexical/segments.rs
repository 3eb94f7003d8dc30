//! The words of several files, of which some passages are live: an index that can grow.

use std::{borrow::Cow, sync::Arc};

use parking_lot::Mutex;

use super::{
    Posting, Query, RankedPassages,
    field::{Norms, Totals},
    search::rank,
    segment::LexicalSegment,
    spelling::{nearest, ranked},
    terms::{List, TermCount, TermSource, WordPositions, add_up},
};

/// Marks a deleted passage.
pub(crate) const DEAD: u32 = u32::MAX;

/// The words of the live passages, which are numbered in an order of their own, whatever file they are in.
#[derive(Debug)]
pub(crate) struct Segments {
    files: Vec<SegmentWords>,
    /// The file of each live passage.
    file_of: Vec<u32>,
    norms: Vec<Norms>,
    /// Cache of long lists.
    memory: Mutex<Memory>,
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
    /// Maps a passage of the file to its number among the live ones, or to [`DEAD`]. Live numbers are ascending.
    numbers: Vec<u32>,
}

impl Segments {
    /// Takes files, with the live number of each of their passages.
    pub(crate) fn new(files: Vec<(Arc<LexicalSegment>, Vec<u32>)>) -> Self {
        let files = files.into_iter();
        let files: Vec<SegmentWords> = files
            .map(|(words, numbers)| SegmentWords { words, numbers })
            .collect();
        let mut totals = Totals::default();
        let living = |file: &SegmentWords| {
            let numbers = file.numbers.iter().copied().enumerate();
            let living = numbers.filter(|(_, number)| *number != DEAD);
            living.collect::<Vec<(usize, u32)>>()
        };
        let living: Vec<Vec<(usize, u32)>> = files.iter().map(living).collect();
        for (file, living) in files.iter().zip(&living) {
            for (local, _) in living {
                totals.add(&file.words.lengths(*local));
            }
        }
        let passages = usize::try_from(totals.passages).unwrap_or_default();
        let mut norms = vec![Norms::default(); passages];
        let mut file_of = vec![0; passages];
        for (number, (file, living)) in (0..).zip(files.iter().zip(&living)) {
            for (local, passage) in living {
                if let Some(norms) = norms.get_mut(*passage as usize) {
                    *norms = totals.norms(&file.words.lengths(*local));
                    file_of[*passage as usize] = number;
                }
            }
        }
        Self {
            files,
            file_of,
            norms,
            memory: Mutex::default(),
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
        favour: F,
    ) -> RankedPassages<'a, F> {
        rank(self, query, favour)
    }

    /// Returns the passages with one of the terms whose numbers `terms` returns for each file.
    fn with(&self, terms: impl Fn(&LexicalSegment) -> Vec<usize>) -> Vec<Posting> {
        let mut postings = Vec::new();
        for file in &self.files {
            match terms(&file.words).as_slice() {
                [] => {}
                [one] => file.each(*one, |counted| {
                    postings.push(counted.posting(&self.norms));
                }),
                several => {
                    let mut merged = Vec::new();
                    for list in several {
                        file.each(*list, |counted| merged.push(counted));
                    }
                    add_up(&mut merged);
                    postings.extend(merged.iter().map(|counted| counted.posting(&self.norms)));
                }
            }
        }
        if !postings.is_sorted_by_key(|posting| posting.passage) {
            postings.sort_unstable_by_key(|posting| posting.passage);
        }
        postings
    }
}

impl SegmentWords {
    /// Calls `take` for every live passage with the term of this number.
    #[inline]
    fn each(&self, list: usize, mut take: impl FnMut(TermCount)) {
        self.words.list(list, |counted| {
            let number = self.numbers.get(counted.passage as usize);
            if let Some(passage) = number.copied().filter(|number| *number != DEAD) {
                take(TermCount { passage, ..counted });
            }
        });
    }
}

impl TermSource for Segments {
    fn len(&self) -> usize {
        self.norms.len()
    }

    fn with_term(&self, term: &str) -> List<'_> {
        self.remembered(ListKey::Term(term.to_owned()), |words| words.term(term))
    }

    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>> {
        let is_only = self
            .files
            .iter()
            .all(|file| file.words.has_no_form_but(stem, word));
        let lists = |words: &LexicalSegment| words.stem(stem).into_iter().collect();
        (!is_only).then(|| self.remembered(ListKey::Stem(stem.to_owned()), lists))
    }

    fn places(&self, posting: &Posting) -> WordPositions<'_> {
        let file = self
            .file_of
            .get(posting.passage as usize)
            .and_then(|file| self.files.get(*file as usize));
        let places = file.map(|file| file.words.places(posting.first_place));
        Cow::Owned(places.unwrap_or_default())
    }

    fn nearest(&self, word: &str, most: usize) -> Vec<String> {
        let mut found: Vec<(u8, String)> = self
            .files
            .iter()
            .flat_map(|file| file.words.dictionaries())
            .flat_map(|dictionary| nearest(dictionary, word))
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
