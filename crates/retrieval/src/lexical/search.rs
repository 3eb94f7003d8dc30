//! Ranking: which passages answer a question best.
//!
//! Each thing that is asked for counts once for a passage: by its own form, or by a looser one that counts less. What it
//! counts is its rarity times the weight that the index gives it there. Sums are compared; equal ones keep the order of the
//! passages. So the order is total, and the same everywhere.

use super::{
    Index, Query,
    index::{Posting, stem_term},
    query::Item,
};
use crate::{analysis::stem, fixed::ONE};

/// The name of the rules here and of the analysis. It changes whenever an answer may.
pub const RANKING: &str = "sectile-bm25f-1";

/// How a thing that was asked for was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As it was asked for.
    Exact,
    /// In another form of the word.
    Stem,
    /// A word of a name.
    Part,
    /// A word that is spelt almost the same.
    Near,
}

impl Form {
    /// What it counts, in percent of the exact form.
    fn percent(self) -> u64 {
        match self {
            Self::Exact => 100,
            Self::Stem => 80,
            Self::Part => 40,
            Self::Near => 50,
        }
    }

    /// As it is written in answers.
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

/// What there is to say of a search besides its hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// How many passages matched.
    pub total: usize,
    /// Things that no passage has, not even in another form.
    pub unknown: Vec<String>,
    /// Things that only almost the same words were found for.
    pub corrected: Vec<Correction>,
    /// Whether no passage has the words in quotation marks together, so that they were looked for apart.
    pub phrases_ignored: bool,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its number.
    pub passage: usize,
    /// What it comes to, in 1024ths.
    pub score: u64,
    /// What words that stand together count in it.
    pub together: u64,
    /// What the caller's favour counts in it.
    pub favour: u64,
    /// What each thing counts in it.
    pub matches: Vec<Match>,
}

/// One thing that was asked for, in a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The thing.
    pub asked: String,
    /// How it was found.
    pub form: Form,
    /// Whether the heading has it.
    pub in_heading: bool,
    /// What it counts, in 1024ths.
    pub score: u64,
}

/// A word that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The word that was asked for.
    pub asked: String,
    /// The words that were looked for instead.
    pub used: Vec<String>,
}

/// Words that are almost the same are looked for so many of.
const MOST_NEAR: usize = 3;
/// So many unknown words are corrected. Each costs a walk through the dictionary.
const MOST_CORRECTED: usize = 8;
/// Words that stand together are looked for in so many of the best passages.
const MOST_COMPARED: usize = 64;
/// What two neighbours of the question that are neighbours in the passage count, in percent of their rarity.
const TOGETHER_PERCENT: u64 = 40;

/// What is looked for in one go: alternatives, of which the best counts.
struct Wanted<'a> {
    asked: String,
    alternatives: Vec<Alternative<'a>>,
}

/// A form of a thing, where it is, and what its weight in a passage is multiplied by.
struct Alternative<'a> {
    form: Form,
    postings: &'a [Posting],
    factor: u64,
}

/// Two words that follow each other in the question, and what it counts when they do so in a passage.
struct Neighbours<'a> {
    one: &'a [Posting],
    next: &'a [Posting],
    score: u64,
}

/// Passages that match a question, with what they come to.
pub struct Ranked<'a, F> {
    index: &'a Index,
    wanted: Vec<Wanted<'a>>,
    neighbours: Vec<Neighbours<'a>>,
    /// What the things that were asked for come to, for each passage; nothing for those that do not match.
    scores: Vec<u64>,
    favour: F,
    /// What there is to say besides.
    pub remarks: Remarks,
}

impl<F: Fn(usize) -> u64> Ranked<'_, F> {
    /// The `most` best passages, best first.
    #[must_use]
    pub fn hits(&self, most: usize) -> Vec<Hit> {
        let mut passages = self.passages();
        keep_best(&mut passages, MOST_COMPARED.max(most), |passage| {
            self.plain(passage)
        });
        let mut hits: Vec<Hit> = passages
            .into_iter()
            .map(|passage| {
                let together = self.index.together(&self.neighbours, passage);
                let sum = self.scores[passage] + together;
                let favour = sum * (self.favour)(passage) / 100;
                Hit {
                    passage,
                    score: sum + favour,
                    together,
                    favour,
                    matches: Vec::new(),
                }
            })
            .collect();
        hits.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.passage));
        hits.truncate(most);
        for hit in &mut hits {
            hit.matches = matches(&self.wanted, hit.passage);
        }
        hits
    }

    /// The best passage of those that `wanted` allows, by its words alone.
    #[must_use]
    pub fn best(&self, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let passages = self
            .passages()
            .into_iter()
            .filter(|passage| wanted(*passage));
        passages.max_by_key(|passage| (self.plain(*passage), std::cmp::Reverse(*passage)))
    }

    fn passages(&self) -> Vec<usize> {
        (0..self.scores.len())
            .filter(|passage| self.scores[*passage] > 0)
            .collect()
    }

    fn plain(&self, passage: usize) -> u64 {
        self.scores[passage] * (100 + (self.favour)(passage)) / 100
    }
}

impl Index {
    /// The passages that match. `favour` says how many percent a passage counts besides; it lets no passage in.
    pub fn rank<'a, F: Fn(usize) -> u64>(&'a self, query: &'a Query, favour: F) -> Ranked<'a, F> {
        let mut remarks = Remarks::default();
        let wanted = self.wanted(query, &mut remarks);
        let mut scores = vec![0_u64; self.len()];
        let mut best = vec![0_u64; self.len()];
        let mut touched = Vec::new();
        for one in &wanted {
            add_up(one, &mut best, &mut touched);
            for passage in touched.drain(..) {
                scores[passage] += best[passage];
                best[passage] = 0;
            }
        }
        if let Some(with) = self.with_phrases(&query.phrases) {
            let mut only = vec![0; self.len()];
            with.iter()
                .for_each(|passage| only[*passage] = scores[*passage]);
            if only.iter().any(|score| *score > 0) {
                scores = only;
            } else {
                remarks.phrases_ignored = scores.iter().any(|score| *score > 0);
            }
        }
        remarks.total = scores.iter().filter(|score| **score > 0).count();
        let neighbours = query.neighbours.iter().filter_map(|(one, next)| {
            let (one, next) = (self.postings(one), self.postings(next));
            let rarity = self.rarity(one.len()) + self.rarity(next.len());
            let are_there = !one.is_empty() && !next.is_empty();
            are_there.then_some(Neighbours {
                one,
                next,
                score: rarity * TOGETHER_PERCENT / 100,
            })
        });
        Ranked {
            index: self,
            wanted,
            neighbours: neighbours.collect(),
            scores,
            favour,
            remarks,
        }
    }

    /// The alternatives for each thing. Things that are not there at all are noted.
    fn wanted(&self, query: &Query, remarks: &mut Remarks) -> Vec<Wanted<'_>> {
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        for item in &query.items {
            let whole = self.alternative(&item.term, Form::Exact);
            if let Some(whole) = whole.filter(|_| !item.parts.is_empty()) {
                let parts = item.parts.iter();
                let parts = parts.filter_map(|part| self.alternative(part, Form::Part));
                wanted.push(Wanted {
                    asked: item.term.clone(),
                    alternatives: [whole].into_iter().chain(parts).collect(),
                });
                continue;
            }
            for word in words_of(item) {
                if wanted.iter().any(|known| known.asked == *word) {
                    continue;
                }
                let stemmed = stem(word).map(|stem| stem_term(&stem));
                let stemmed = stemmed.and_then(|stem| self.alternative(&stem, Form::Stem));
                let exact = self.alternative(word, Form::Exact);
                let mut alternatives: Vec<Alternative<'_>> =
                    exact.into_iter().chain(stemmed).collect();
                if alternatives.is_empty() {
                    alternatives = self.corrected(word, remarks);
                }
                if !alternatives.is_empty() {
                    wanted.push(Wanted {
                        asked: word.clone(),
                        alternatives,
                    });
                }
            }
        }
        wanted
    }

    fn alternative(&self, term: &str, form: Form) -> Option<Alternative<'_>> {
        let postings = self.postings(term);
        (!postings.is_empty()).then(|| Alternative {
            form,
            postings,
            factor: self.rarity(postings.len()) * form.percent() / 100,
        })
    }

    /// Words that are spelt almost like one that is not there.
    fn corrected(&self, word: &str, remarks: &mut Remarks) -> Vec<Alternative<'_>> {
        let few = remarks.corrected.len() + remarks.unknown.len() < MOST_CORRECTED;
        let used = if few {
            self.nearest(word, MOST_NEAR)
        } else {
            Vec::new()
        };
        let found = used
            .iter()
            .filter_map(|term| self.alternative(term, Form::Near));
        let found = found.collect();
        if used.is_empty() {
            remarks.unknown.push(word.to_owned());
        } else {
            let asked = word.to_owned();
            remarks.corrected.push(Correction { asked, used });
        }
        found
    }

    /// The passages that have all phrases, or `None` without phrases.
    fn with_phrases(&self, phrases: &[Vec<String>]) -> Option<Vec<usize>> {
        let mut with: Option<Vec<usize>> = None;
        for phrase in phrases {
            let here = self.with_phrase(phrase);
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

    fn with_phrase(&self, phrase: &[String]) -> Vec<usize> {
        let mut words: Vec<&[Posting]> = phrase.iter().map(|word| self.postings(word)).collect();
        let mut places: Vec<&[u32]> = Vec::with_capacity(words.len());
        let mut with = Vec::new();
        // All lists are in the order of passages, so each is gone through once.
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
                places.extend(words.iter().map(|word| self.places(&word[0])));
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

    /// What neighbours of the question that are neighbours in the passage count.
    fn together(&self, neighbours: &[Neighbours<'_>], passage: usize) -> u64 {
        neighbours
            .iter()
            .filter_map(|pair| {
                let first = self.places(posting_of(pair.one, passage)?);
                let second = self.places(posting_of(pair.next, passage)?);
                let mut places = first.iter();
                let follows = places.any(|place| second.binary_search(&(place + 1)).is_ok());
                follows.then_some(pair.score)
            })
            .sum()
    }
}

fn add_up(wanted: &Wanted<'_>, best: &mut [u64], touched: &mut Vec<usize>) {
    for alternative in &wanted.alternatives {
        for posting in alternative.postings {
            let passage = posting.passage as usize;
            let score = value(alternative.factor, posting);
            if best[passage] == 0 {
                touched.push(passage);
            }
            best[passage] = best[passage].max(score);
        }
    }
}

/// What each thing counts in a passage.
fn matches(wanted: &[Wanted<'_>], passage: usize) -> Vec<Match> {
    let found = wanted.iter().filter_map(|one| {
        let alternatives = one.alternatives.iter().filter_map(|alternative| {
            let posting = posting_of(alternative.postings, passage)?;
            Some((
                value(alternative.factor, posting),
                std::cmp::Reverse(alternative.form),
                posting.in_heading,
            ))
        });
        alternatives.max().map(|(score, form, in_heading)| Match {
            asked: one.asked.clone(),
            form: form.0,
            in_heading,
            score,
        })
    });
    found.collect()
}

/// Whether words with these places stand one after the other somewhere.
fn stand_together(places: &[&[u32]]) -> bool {
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
    // Something that is there never counts nothing.
    (factor * u64::from(posting.weight) / ONE).max(1)
}

fn posting_of(postings: &[Posting], passage: usize) -> Option<&Posting> {
    let at = postings.binary_search_by_key(&passage, |posting| posting.passage as usize);
    at.ok().map(|at| &postings[at])
}

/// Keeps the `most` passages that come first, in no particular order.
fn keep_best(passages: &mut Vec<usize>, most: usize, score: impl Fn(usize) -> u64) {
    if passages.len() > most {
        let key = |passage: &usize| (std::cmp::Reverse(score(*passage)), *passage);
        passages.select_nth_unstable_by_key(most, key);
        passages.truncate(most);
    }
}
