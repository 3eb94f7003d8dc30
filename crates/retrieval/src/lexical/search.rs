//! Ranks passages for a query.
//!
//! Each query item counts once for a passage: in its own form, or in a looser one that counts less. Its score is its
//! rarity times its weight in that passage. The sums decide; ties keep the order of the passages. So the order is
//! total, and the same everywhere.

mod explanation;

use std::{borrow::Cow, cmp::Reverse};

pub use self::explanation::TermExplanation;
use super::{
    Index, Posting, Query,
    field::MOST_WEIGHT,
    query::Item,
    terms::{List, TermKey, TermSource, WordPositions},
};
use crate::{
    analysis::{is_filler, stem},
    fixed_point::ONE,
};

/// The name of these ranking rules and of the analysis. It changes whenever an answer may.
pub const RANKING: &str = "sectile-bm25f-5";

/// The form in which a query item was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Exactly as in the query.
    Exact,
    /// As another form of the word.
    Stem,
    /// As a word of a name.
    Part,
    /// As a word spelt almost the same.
    Near,
}

impl Form {
    /// Returns its score, in percent of the exact form.
    pub(super) fn percent(self) -> u64 {
        match self {
            Self::Exact => 100,
            Self::Stem => 90,
            Self::Part => 40,
            Self::Near => 50,
        }
    }

    /// Returns its name in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Stem => "stem",
            Self::Part => "part",
            Self::Near => "near",
        }
    }
}

/// Remarks about a search, in addition to its hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Number of passages that matched.
    pub total: usize,
    /// Query items that no passage has in any form, and that were not replaced.
    pub unknown: Vec<String>,
    /// Query items that were replaced by similar spellings, because no passage has any of the items.
    pub corrected: Vec<Correction>,
    /// Unknown items that may be misspelt. They were not replaced, because passages have other items.
    pub suggested: Vec<Suggestion>,
    /// Whether no passage has the quoted words together, so that they were looked for separately.
    pub phrases_ignored: bool,
}

/// A passage found by a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its number.
    pub passage: usize,
    /// Its total score, in 1024ths.
    pub score: u64,
    /// The part of the score for adjacent words.
    pub together: u64,
    /// The part of the score for the caller's boost.
    pub favour: u64,
    /// The score of each query item in it.
    pub matches: Vec<Match>,
}

/// A query item found in a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The query item.
    pub asked: String,
    /// The form in which it was found.
    pub form: Form,
    /// Whether it is in the heading.
    pub in_heading: bool,
    /// Its score, in 1024ths.
    pub score: u64,
}

/// A misspelt word and its replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The word in the query.
    pub asked: String,
    /// The words that were looked for instead.
    pub used: Vec<String>,
}

/// A word that may be misspelt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The word in the query.
    pub asked: String,
    /// Words with almost the same spelling, the most likely first.
    pub candidates: Vec<String>,
}

/// The most similar spellings looked for in place of one word.
pub(super) const MOST_NEAR: usize = 3;
/// The most unknown words of a query that are corrected or have suggestions. Each costs a walk through the dictionary.
pub const MOST_CORRECTED: usize = 8;
/// Adjacent query words are looked for in this many of the best passages.
const MOST_COMPARED: usize = 64;
/// Score of two adjacent query words that are adjacent in the passage, in percent of their rarity.
const TOGETHER_PERCENT: u64 = 30;
/// The fewest words of a query that are a quotation if a passage has them in this order, and the fewest of these that say
/// something. Fewer are mostly a heading or a term that many passages have: with 3 of 3, answers become worse.
const LEAST_QUOTED: usize = 5;
const LEAST_TELLING: usize = 3;
/// The most passages with the rarest word of a query that are compared with it word by word.
const MOST_QUOTING: usize = 4_096;

/// The treatment of passages without the quoted words of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phrases {
    /// They do not match, unless no passage has the quoted words together.
    Preferred,
    /// They never match.
    Required,
}

/// Posting lists, each fetched once.
struct PostingListCache<'a> {
    index: &'a dyn TermSource,
    terms: Vec<FetchedList<'a>>,
}

/// A posting list, and the number of passages in all that have its key.
struct FetchedList<'a> {
    key: TermKey,
    list: List<'a>,
    frequency: usize,
}

impl<'a> PostingListCache<'a> {
    /// Returns the number of the list of `key`, or `None` if no passage has it.
    fn fetch(&mut self, key: TermKey) -> Option<usize> {
        let known = self.terms.iter().position(|known| known.key == key);
        let number = known.unwrap_or_else(|| {
            let list = match &key {
                TermKey::Term(term) => Some(self.index.with_term(term)),
                TermKey::Stem(stem, word) => self.index.with_stem(stem, word),
            };
            let at_hand = list.as_ref().map(|list| list.len());
            self.terms.push(FetchedList {
                frequency: at_hand.map_or(0, |at_hand| self.index.frequency(&key, at_hand)),
                list: list.unwrap_or(List::Kept(&[])),
                key,
            });
            self.terms.len() - 1
        });
        (self.terms[number].frequency > 0).then_some(number)
    }

    fn of(&self, number: usize) -> &[Posting] {
        &self.terms[number].list
    }

    /// Returns the positions of the word of a list in one of its passages.
    fn places(&self, number: usize, posting: &Posting) -> WordPositions<'a> {
        match &self.terms[number].key {
            TermKey::Term(term) => self.index.places(posting, term),
            TermKey::Stem(..) => Cow::Borrowed(&[]),
        }
    }

    fn rarity(&self, number: usize) -> u64 {
        self.index.rarity(self.terms[number].frequency)
    }
}

/// A query item and its alternative forms, of which the best counts.
struct QueryTerm {
    asked: String,
    alternatives: Vec<Alternative>,
}

/// A form of an item, the number of its list, and the factor for its weight in a passage.
struct Alternative {
    form: Form,
    list: usize,
    factor: u64,
}

/// A form of an item in a passage; the greatest counts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FoundForm {
    score: u64,
    form: Reverse<Form>,
    in_heading: bool,
    list: Reverse<usize>,
}

/// Two adjacent words of the query, and the score if they are adjacent in a passage.
struct Neighbours {
    one: usize,
    next: usize,
    score: u64,
}

/// The passages that match a query, with their scores.
pub struct RankedPassages<'a, F> {
    lists: PostingListCache<'a>,
    wanted: Vec<QueryTerm>,
    neighbours: Vec<Neighbours>,
    /// The score of the query items for each passage; 0 for those that do not match. Even the score of the longest query
    /// is far below what 32 bits hold, and every search goes through all of them.
    scores: Vec<u32>,
    /// The score of a passage that has every query item as often as counts.
    reachable: u64,
    /// The passages that have the quoted words, in order, if only these match.
    required: Option<Vec<usize>>,
    /// The passages that have all words of the query side by side, as it has them, in order.
    verbatim: Vec<usize>,
    favour: F,
    /// Remarks about the search.
    pub remarks: Remarks,
}

impl<F: Fn(usize) -> u64> RankedPassages<'_, F> {
    /// Returns the caller's boost of a passage with this score.
    pub(crate) fn favour(&self, passage: usize, score: u64) -> u64 {
        score * (self.favour)(passage) / 100
    }

    /// Returns the `most` best passages, best first.
    #[must_use]
    pub fn hits(&self, most: usize) -> Vec<Hit> {
        let mut passages = self.passages();
        keep_best(&mut passages, MOST_COMPARED.max(most), |passage| {
            self.plain(passage)
        });
        let mut hits: Vec<Hit> = passages
            .into_iter()
            .map(|passage| {
                let together = self.together(passage);
                let sum = u64::from(self.scores[passage]) + together;
                let favour = self.favour(passage, sum);
                Hit {
                    passage,
                    score: sum + favour,
                    together,
                    favour,
                    matches: Vec::new(),
                }
            })
            .collect();
        hits.sort_by_key(|hit| (Reverse(hit.score), hit.passage));
        hits.truncate(most);
        for hit in &mut hits {
            hit.matches = self.matches(hit.passage);
        }
        hits
    }

    /// Returns the best passage that `wanted` accepts, by its words alone.
    #[must_use]
    pub fn best(&self, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let passages = self
            .passages()
            .into_iter()
            .filter(|passage| wanted(*passage));
        passages.max_by_key(|passage| (self.plain(*passage), Reverse(*passage)))
    }

    /// Returns the score of the query items for each passage; 0 for those that do not match.
    pub(crate) fn scores(&self) -> &[u32] {
        &self.scores
    }

    /// Returns the score of a passage that has every query item as often as counts, those that no passage has included.
    pub(crate) fn reachable(&self) -> u64 {
        self.reachable
    }

    /// Returns the passages that have the quoted words, in order, if only these match.
    pub(crate) fn required(&self) -> Option<&[usize]> {
        self.required.as_deref()
    }

    /// Returns the passages that have all words of the query side by side, as it has them, in order.
    pub(crate) fn verbatim(&self) -> &[usize] {
        &self.verbatim
    }

    fn passages(&self) -> Vec<usize> {
        (0..self.scores.len())
            .filter(|passage| self.scores[*passage] > 0)
            .collect()
    }

    fn plain(&self, passage: usize) -> u64 {
        u64::from(self.scores[passage]) * (100 + (self.favour)(passage)) / 100
    }

    /// Returns the score of adjacent query words that are adjacent in the passage.
    pub(crate) fn together(&self, passage: usize) -> u64 {
        let posting_in = |list: usize| posting_of(self.lists.of(list), passage);
        self.neighbours
            .iter()
            .filter_map(|pair| {
                // Most passages have only one of the words, and positions have to be read.
                let (one, next) = (posting_in(pair.one)?, posting_in(pair.next)?);
                let first = self.lists.places(pair.one, one);
                let second = self.lists.places(pair.next, next);
                let mut places = first.iter();
                let follows = places.any(|place| second.binary_search(&(place + 1)).is_ok());
                follows.then_some(pair.score)
            })
            .sum()
    }

    /// Returns the score of each query item in a passage.
    pub(crate) fn matches(&self, passage: usize) -> Vec<Match> {
        let found = self.wanted.iter().filter_map(|one| {
            let best = self.best_form(one, passage)?;
            Some(Match {
                asked: one.asked.clone(),
                form: best.form.0,
                in_heading: best.in_heading,
                score: best.score,
            })
        });
        found.collect()
    }

    /// Returns the form of a query item that counts in a passage.
    fn best_form(&self, one: &QueryTerm, passage: usize) -> Option<FoundForm> {
        let alternatives = one.alternatives.iter().filter_map(|alternative| {
            let posting = posting_of(self.lists.of(alternative.list), passage)?;
            Some(FoundForm {
                score: value(alternative.factor, posting),
                form: Reverse(alternative.form),
                in_heading: posting.in_heading(),
                list: Reverse(alternative.list),
            })
        });
        alternatives.max()
    }
}

impl Index {
    /// Ranks the passages that match. `favour` returns the boost of a passage in percent; it never adds a passage.
    pub fn rank<'a, F: Fn(usize) -> u64>(
        &'a self,
        query: &Query,
        favour: F,
    ) -> RankedPassages<'a, F> {
        rank(self, query, Phrases::Preferred, favour)
    }

    /// Returns the number of passages.
    #[must_use]
    pub fn len(&self) -> usize {
        TermSource::len(self)
    }

    /// Returns `true` if there are no passages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Ranks the passages of an index that match.
pub(super) fn rank<'a, F: Fn(usize) -> u64>(
    index: &'a dyn TermSource,
    query: &Query,
    phrases: Phrases,
    favour: F,
) -> RankedPassages<'a, F> {
    let mut remarks = Remarks::default();
    let mut lists = PostingListCache {
        index,
        terms: Vec::new(),
    };
    let wanted = wanted(&mut lists, query, &mut remarks);
    let reachable = reachable(index, &wanted, &remarks);
    let mut scores = vec![0_u32; index.len()];
    let mut best = Vec::new();
    for one in &wanted {
        add_up(one, &lists, &mut best, &mut scores);
    }
    let mut required = None;
    if let Some(with) = with_phrases(&mut lists, &query.phrases) {
        let mut only = vec![0; index.len()];
        with.iter()
            .for_each(|passage| only[*passage] = scores[*passage]);
        let is_found = only.iter().any(|score| *score > 0);
        if !is_found {
            remarks.phrases_ignored =
                phrases == Phrases::Preferred && scores.iter().any(|score| *score > 0);
        }
        if is_found || phrases == Phrases::Required {
            scores = only;
        }
        required = (phrases == Phrases::Required).then_some(with);
    }
    remarks.total = scores.iter().filter(|score| **score > 0).count();
    let neighbours = query.neighbours.iter().filter_map(|(one, next)| {
        let one = lists.fetch(TermKey::Term(one.clone()))?;
        let next = lists.fetch(TermKey::Term(next.clone()))?;
        let score = (lists.rarity(one) + lists.rarity(next)) * TOGETHER_PERCENT / 100;
        Some(Neighbours { one, next, score })
    });
    let neighbours = neighbours.collect();
    let mut verbatim = verbatim(&mut lists, &query.run);
    verbatim.retain(|passage| scores[*passage] > 0);
    RankedPassages {
        verbatim,
        lists,
        wanted,
        neighbours,
        scores,
        reachable,
        required,
        favour,
        remarks,
    }
}

/// Returns the alternatives for each query item. Items that do not occur at all are noted in `remarks`. They are corrected
/// only if nothing else would be found: what was meant may just not be there.
fn wanted(
    lists: &mut PostingListCache<'_>,
    query: &Query,
    remarks: &mut Remarks,
) -> Vec<QueryTerm> {
    let mut wanted: Vec<QueryTerm> = Vec::new();
    let mut missing: Vec<&String> = Vec::new();
    for item in &query.items {
        let whole = alternative(lists, TermKey::Term(item.term.clone()), Form::Exact);
        if let Some(whole) = whole.filter(|_| !item.parts.is_empty()) {
            let parts = item.parts.iter();
            let parts = parts
                .filter_map(|part| alternative(lists, TermKey::Term(part.clone()), Form::Part));
            wanted.push(QueryTerm {
                asked: item.term.clone(),
                alternatives: [whole].into_iter().chain(parts).collect(),
            });
            continue;
        }
        for word in words_of(item) {
            if wanted.iter().any(|known| known.asked == *word) {
                continue;
            }
            let stemmed = stem(word).map(Cow::into_owned);
            let stemmed = stemmed
                .and_then(|stem| alternative(lists, TermKey::Stem(stem, word.clone()), Form::Stem));
            let exact = alternative(lists, TermKey::Term(word.clone()), Form::Exact);
            let alternatives: Vec<Alternative> = exact.into_iter().chain(stemmed).collect();
            if !alternatives.is_empty() {
                wanted.push(QueryTerm {
                    asked: word.clone(),
                    alternatives,
                });
            } else if !missing.contains(&word) {
                missing.push(word);
            }
        }
    }
    let is_last_resort = wanted.is_empty();
    for (number, word) in missing.into_iter().enumerate() {
        let candidates = match number < MOST_CORRECTED {
            true => lists.index.nearest(word, MOST_NEAR),
            false => Vec::new(),
        };
        let asked = word.clone();
        if candidates.is_empty() {
            remarks.unknown.push(asked);
        } else if is_last_resort {
            wanted.extend(corrected(lists, word, &candidates));
            let used = candidates;
            remarks.corrected.push(Correction { asked, used });
        } else {
            remarks.unknown.push(asked.clone());
            remarks.suggested.push(Suggestion { asked, candidates });
        }
    }
    wanted
}

/// Returns the score of a passage that has every query item as often as counts. Words that no passage has count half: they
/// may be misspelt, or other words for something that is there.
fn reachable(index: &dyn TermSource, wanted: &[QueryTerm], remarks: &Remarks) -> u64 {
    let most = |one: &QueryTerm| {
        let factors = one
            .alternatives
            .iter()
            .map(|alternative| alternative.factor);
        factors.max().unwrap_or_default()
    };
    let known: u64 = wanted.iter().map(most).sum();
    let unknown = remarks.unknown.len() as u64 * index.rarity(0) / 2;
    (known + unknown) * MOST_WEIGHT / ONE
}

fn alternative(lists: &mut PostingListCache<'_>, key: TermKey, form: Form) -> Option<Alternative> {
    let list = lists.fetch(key)?;
    Some(Alternative {
        form,
        list,
        factor: lists.rarity(list) * form.percent() / 100,
    })
}

/// Returns a word that does not occur, with others spelt almost the same as its alternatives.
fn corrected(
    lists: &mut PostingListCache<'_>,
    word: &str,
    candidates: &[String],
) -> Option<QueryTerm> {
    let alternatives = candidates
        .iter()
        .filter_map(|term| alternative(lists, TermKey::Term(term.clone()), Form::Near));
    let alternatives: Vec<Alternative> = alternatives.collect();
    (!alternatives.is_empty()).then(|| QueryTerm {
        asked: word.to_owned(),
        alternatives,
    })
}

/// Returns the passages that have all phrases, or `None` without phrases.
fn with_phrases(lists: &mut PostingListCache<'_>, phrases: &[Vec<String>]) -> Option<Vec<usize>> {
    let mut with: Option<Vec<usize>> = None;
    for phrase in phrases {
        let here = with_phrase(lists, phrase);
        with = Some(match with {
            None => here,
            Some(with) => with
                .into_iter()
                .filter(|one| here.binary_search(one).is_ok())
                .collect(),
        });
    }
    with
}

fn with_phrase(lists: &mut PostingListCache<'_>, phrase: &[String]) -> Vec<usize> {
    let numbers: Option<Vec<usize>> = phrase
        .iter()
        .map(|word| lists.fetch(TermKey::Term(word.clone())))
        .collect();
    let Some(numbers) = numbers else {
        return Vec::new();
    };
    let mut words: Vec<&[Posting]> = numbers.iter().map(|number| lists.of(*number)).collect();
    let mut places: Vec<WordPositions<'_>> = Vec::with_capacity(words.len());
    let mut with = Vec::new();
    // All lists are in the order of passages, so each is traversed once.
    while let Some(passage) = words
        .iter()
        .map(|word| word.first().map(|one| one.passage))
        .max()
        .flatten()
    {
        let mut is_in_all = true;
        for word in &mut words {
            let behind = word.iter().take_while(|one| one.passage < passage).count();
            *word = &word[behind..];
            match word.first() {
                None => return with,
                Some(first) => is_in_all &= first.passage == passage,
            }
        }
        if is_in_all {
            places.clear();
            let here = numbers.iter().zip(&words);
            places.extend(here.map(|(number, word)| lists.places(*number, &word[0])));
            if stand_together(&places) {
                with.push(passage as usize);
            }
            for word in &mut words {
                *word = &word[1..];
            }
            if words.iter().any(|word| word.is_empty()) {
                break;
            }
        }
    }
    with
}

/// Returns the passages that have all words of a query side by side, in its order: somebody copied it from there.
fn verbatim(lists: &mut PostingListCache<'_>, run: &[String]) -> Vec<usize> {
    if run.len() < LEAST_QUOTED {
        return Vec::new();
    }
    // Words that say little are in most passages, so their long lists are read only if all others are there.
    let (fillers, telling): (Vec<_>, Vec<_>) = (0..run.len()).partition(|at| is_filler(&run[*at]));
    if telling.len() < LEAST_TELLING {
        return Vec::new();
    }
    let telling = telling.into_iter().map(|at| {
        let list = lists.fetch(TermKey::Term(run[at].clone()))?;
        Some((at, list))
    });
    let Some(mut telling) = telling.collect::<Option<Vec<(usize, usize)>>>() else {
        return Vec::new();
    };
    telling.sort_by_key(|(_, list)| lists.of(*list).len());
    let mut found = in_this_order(lists, &telling);
    for at in fillers {
        if found.is_empty() {
            break;
        }
        match lists.fetch(TermKey::Term(run[at].clone())) {
            Some(list) => found.retain_mut(|(passage, starts)| {
                keep_starts(lists, *passage, (at, list), starts);
                !starts.is_empty()
            }),
            None => found.clear(),
        }
    }
    found.into_iter().map(|(passage, _)| passage).collect()
}

/// Returns the passages that have words at these distances from a common start, with the starts. Words are given by their
/// distance and the number of their list, the rarest first.
fn in_this_order(lists: &PostingListCache<'_>, words: &[(usize, usize)]) -> Vec<(usize, Vec<u32>)> {
    let Some(((distance, rarest), others)) = words.split_first() else {
        return Vec::new();
    };
    let passages = lists.of(*rarest).iter().take(MOST_QUOTING);
    let with_starts = passages.filter_map(|posting| {
        let passage = posting.passage as usize;
        let is_in_all = others
            .iter()
            .all(|(_, list)| posting_of(lists.of(*list), passage).is_some());
        if !is_in_all {
            return None;
        }
        let places = lists.places(*rarest, posting);
        let distance = u32::try_from(*distance).ok()?;
        let starts = places
            .iter()
            .filter_map(|place| place.checked_sub(distance));
        let mut starts: Vec<u32> = starts.collect();
        for word in others {
            keep_starts(lists, passage, *word, &mut starts);
        }
        (!starts.is_empty()).then_some((passage, starts))
    });
    with_starts.collect()
}

/// Keeps the starts from which a word is at its distance in a passage.
fn keep_starts(
    lists: &PostingListCache<'_>,
    passage: usize,
    (distance, list): (usize, usize),
    starts: &mut Vec<u32>,
) {
    let Some(posting) = posting_of(lists.of(list), passage) else {
        return starts.clear();
    };
    let places = lists.places(list, posting);
    let is_at = |start: &u32| {
        let place = u32::try_from(distance).map(|distance| start.saturating_add(distance));
        place.is_ok_and(|place| places.binary_search(&place).is_ok())
    };
    starts.retain(is_at);
}

/// Adds the best alternative of each passage to its score.
fn add_up(
    wanted: &QueryTerm,
    lists: &PostingListCache<'_>,
    best: &mut Vec<u32>,
    scores: &mut [u32],
) {
    if let [only] = wanted.alternatives.as_slice() {
        for posting in lists.of(only.list) {
            let score = &mut scores[posting.passage as usize];
            *score = score.saturating_add(small_value(only.factor, posting));
        }
        return;
    }
    best.resize(scores.len(), 0);
    for alternative in &wanted.alternatives {
        for posting in lists.of(alternative.list) {
            // Only what exceeds the best score so far is added.
            let score = small_value(alternative.factor, posting);
            let best = &mut best[posting.passage as usize];
            if score > *best {
                let sum = &mut scores[posting.passage as usize];
                *sum = sum.saturating_add(score - *best);
                *best = score;
            }
        }
    }
    for alternative in &wanted.alternatives {
        for posting in lists.of(alternative.list) {
            best[posting.passage as usize] = 0;
        }
    }
}

/// Returns whether words with these positions are adjacent somewhere.
fn stand_together(places: &[WordPositions<'_>]) -> bool {
    let Some((first, rest)) = places.split_first() else {
        return false;
    };
    first.iter().any(|start| {
        rest.iter()
            .zip(start + 1..)
            .all(|(places, place)| places.binary_search(&place).is_ok())
    })
}

fn words_of(item: &Item) -> &[String] {
    if item.parts.is_empty() {
        std::slice::from_ref(&item.term)
    } else {
        &item.parts
    }
}

fn value(factor: u64, posting: &Posting) -> u64 {
    // A match never scores zero.
    (factor * u64::from(posting.weight) / ONE).max(1)
}

fn small_value(factor: u64, posting: &Posting) -> u32 {
    u32::try_from(value(factor, posting)).unwrap_or(u32::MAX)
}

fn posting_of(postings: &[Posting], passage: usize) -> Option<&Posting> {
    let at = postings.binary_search_by_key(&passage, |posting| posting.passage as usize);
    at.ok().map(|at| &postings[at])
}

/// Keeps the `most` passages with the highest scores, in no particular order.
fn keep_best(passages: &mut Vec<usize>, most: usize, score: impl Fn(usize) -> u64) {
    if passages.len() > most {
        let key = |passage: &usize| (Reverse(score(*passage)), *passage);
        passages.select_nth_unstable_by_key(most, key);
        passages.truncate(most);
    }
}
