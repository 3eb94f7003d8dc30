//! The words of several files, of which some passages count and others do not: an index that can grow.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Posting, Query, Ranked,
    field::{Norms, Totals},
    search::rank,
    segment::Lexical,
    spelling::{nearest, ranked},
    terms::{Counted, List, Places, Terms, add_up},
};

/// A passage that does not count.
pub(crate) const DEAD: u32 = u32::MAX;

/// Words of the passages that count. These are numbered in an order of their own, whatever file they are in.
#[derive(Debug)]
pub(crate) struct Segments {
    files: Vec<File>,
    /// For each passage that counts, the number of its file.
    file_of: Vec<u32>,
    norms: Vec<Norms>,
    /// Long lists that were made before.
    memory: Mutex<Memory>,
}

/// What a list is of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Term(String),
    Stem(String),
}

/// Lists that were made before, those that were used last at the end.
#[derive(Debug, Default)]
struct Memory {
    lists: Vec<(Key, Arc<Vec<Posting>>)>,
    /// How many passages are in them all.
    passages: usize,
}

/// Shorter lists are made as quickly as they are found.
const SHORTEST_REMEMBERED: usize = 512;
/// All lists together have at most so many passages: 8 MiB.
const MOST_REMEMBERED: usize = 1 << 19;

impl Memory {
    fn find(&mut self, key: &Key) -> Option<Arc<Vec<Posting>>> {
        let at = self.lists.iter().position(|(known, _)| known == key)?;
        let found = self.lists.remove(at);
        let list = Arc::clone(&found.1);
        self.lists.push(found);
        Some(list)
    }

    fn keep(&mut self, key: Key, list: &Arc<Vec<Posting>>) {
        self.passages += list.len();
        self.lists.push((key, Arc::clone(list)));
        while self.passages > MOST_REMEMBERED && self.lists.len() > 1 {
            let (_, forgotten) = self.lists.remove(0);
            self.passages -= forgotten.len();
        }
    }
}

#[derive(Debug)]
struct File {
    words: Arc<Lexical>,
    /// From a passage of the file to its number among those that count, or [`DEAD`]. Grows from each that counts to the next.
    numbers: Vec<u32>,
}

impl Segments {
    /// Files, and for each passage of each file its number among those that count.
    pub(crate) fn new(files: Vec<(Arc<Lexical>, Vec<u32>)>) -> Self {
        let files = files.into_iter();
        let files: Vec<File> = files
            .map(|(words, numbers)| File { words, numbers })
            .collect();
        let mut totals = Totals::default();
        let living = |file: &File| {
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

    /// A list from memory, or one that is made.
    fn remembered(&self, key: Key, terms: impl Fn(&Lexical) -> Vec<usize>) -> List<'_> {
        let memory = || self.memory.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The passages that match.
    pub(crate) fn rank<'a, F: Fn(usize) -> u64>(
        &'a self,
        query: &Query,
        favour: F,
    ) -> Ranked<'a, F> {
        rank(self, query, favour)
    }

    /// The passages that have one of the terms with the numbers that `terms` finds in each file.
    fn with(&self, terms: impl Fn(&Lexical) -> Vec<usize>) -> Vec<Posting> {
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

impl File {
    /// Calls `take` for every passage that counts and has the term with this number.
    #[inline]
    fn each(&self, list: usize, mut take: impl FnMut(Counted)) {
        self.words.list(list, |counted| {
            let number = self.numbers.get(counted.passage as usize);
            if let Some(passage) = number.copied().filter(|number| *number != DEAD) {
                take(Counted { passage, ..counted });
            }
        });
    }
}

impl Terms for Segments {
    fn len(&self) -> usize {
        self.norms.len()
    }

    fn with_term(&self, term: &str) -> List<'_> {
        self.remembered(Key::Term(term.to_owned()), |words| words.term(term))
    }

    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>> {
        let is_only = self
            .files
            .iter()
            .all(|file| file.words.has_no_form_but(stem, word));
        let lists = |words: &Lexical| words.stem(stem).into_iter().collect();
        (!is_only).then(|| self.remembered(Key::Stem(stem.to_owned()), lists))
    }

    fn places(&self, posting: &Posting) -> Places<'_> {
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
            // Those that are farther off are not wanted.
            if counting.first().is_some_and(|nearest| nearest.0 < distance) {
                break;
            }
            // A word whose passages do not count any more is none.
            let passages = self.with_term(&term).len();
            if passages > 0 {
                counting.push((distance, passages, term));
            }
        }
        ranked(counting, most)
    }
}
