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
struct Wanted {
    asked: String,
    alternatives: Vec<(String, Form)>,
}

/// Passages that match a question, with what they come to.
pub struct Ranked<'a, F> {
    index: &'a Index,
    query: &'a Query,
    wanted: Vec<Wanted>,
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
                let together = self.index.together(self.query, passage);
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
            hit.matches = self.index.matches(&self.wanted, hit.passage);
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
            self.add_up(one, &mut best, &mut touched);
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
        Ranked {
            index: self,
            query,
            wanted,
            scores,
            favour,
            remarks,
        }
    }

    /// The alternatives for each thing. Things that are not there at all are noted.
    fn wanted(&self, query: &Query, remarks: &mut Remarks) -> Vec<Wanted> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let is_there = |term: &str| !self.postings(term).is_empty();
        for item in &query.items {
            if is_there(&item.term) && !item.parts.is_empty() {
                let parts = item.parts.iter().map(|part| (part.clone(), Form::Part));
                let whole = (item.term.clone(), Form::Exact);
                wanted.push(Wanted {
                    asked: item.term.clone(),
                    alternatives: [whole].into_iter().chain(parts).collect(),
                });
                continue;
            }
            for word in words_of(item) {
                let stemmed = stem(word).map(|stem| (stem_term(&stem), Form::Stem));
                let mut alternatives: Vec<(String, Form)> = [(word.clone(), Form::Exact)]
                    .into_iter()
                    .chain(stemmed)
                    .filter(|(term, _)| is_there(term))
                    .collect();
                if alternatives.is_empty() {
                    let few = remarks.corrected.len() < MOST_CORRECTED;
                    let used = if few {
                        self.nearest(word, MOST_NEAR)
                    } else {
                        Vec::new()
                    };
                    if used.is_empty() {
                        remarks.unknown.push(word.clone());
                        continue;
                    }
                    alternatives = used.iter().map(|term| (term.clone(), Form::Near)).collect();
                    remarks.corrected.push(Correction {
                        asked: word.clone(),
                        used,
                    });
                }
                if !wanted.iter().any(|known| known.asked == *word) {
                    wanted.push(Wanted {
                        asked: word.clone(),
                        alternatives,
                    });
                }
            }
        }
        wanted
    }

    fn add_up(&self, wanted: &Wanted, best: &mut [u64], touched: &mut Vec<usize>) {
        for (term, form) in &wanted.alternatives {
            let postings = self.postings(term);
            let factor = self.rarity(postings.len()) * form.percent();
            for posting in postings {
                let passage = posting.passage as usize;
                let score = value(factor, posting);
                if best[passage] == 0 {
                    touched.push(passage);
                }
                best[passage] = best[passage].max(score);
            }
        }
    }

    /// What each thing counts in a passage.
    fn matches(&self, wanted: &[Wanted], passage: usize) -> Vec<Match> {
        wanted
            .iter()
            .filter_map(|one| {
                let alternatives = one.alternatives.iter().filter_map(|(term, form)| {
                    let postings = self.postings(term);
                    let posting = posting_of(postings, passage)?;
                    let factor = self.rarity(postings.len()) * form.percent();
                    Some((
                        value(factor, posting),
                        std::cmp::Reverse(*form),
                        posting.in_heading,
                    ))
                });
                alternatives.max().map(|(score, form, in_heading)| Match {
                    asked: one.asked.clone(),
                    form: form.0,
                    in_heading,
                    score,
                })
            })
            .collect()
    }

    /// The passages that have all phrases, or `None` without phrases.
    fn with_phrases(&self, phrases: &[Vec<String>]) -> Option<Vec<usize>> {
        let mut with: Option<Vec<usize>> = None;
        for phrase in phrases {
            let here = self.with_phrase(phrase);
            with = Some(match with {
                None => here,
                Some(with) => with.into_iter().filter(|one| here.contains(one)).collect(),
            });
        }
        with
    }

    fn with_phrase(&self, phrase: &[String]) -> Vec<usize> {
        let rarest = phrase.iter().min_by_key(|word| self.postings(word).len());
        let Some(rarest) = rarest else {
            return Vec::new();
        };
        self.postings(rarest)
            .iter()
            .map(|posting| posting.passage as usize)
            .filter(|passage| self.has_phrase(phrase, *passage))
            .collect()
    }

    fn has_phrase(&self, phrase: &[String], passage: usize) -> bool {
        let places: Option<Vec<&[u32]>> = phrase
            .iter()
            .map(|word| {
                posting_of(self.postings(word), passage).map(|posting| self.places(posting))
            })
            .collect();
        let Some(places) = places else {
            return false;
        };
        let Some((first, rest)) = places.split_first() else {
            return false;
        };
        first.iter().any(|start| {
            rest.iter()
                .zip(start + 1..)
                .all(|(places, place)| places.binary_search(&place).is_ok())
        })
    }

    /// What neighbours of the question that are neighbours in the passage count.
    fn together(&self, query: &Query, passage: usize) -> u64 {
        query
            .neighbours
            .iter()
            .filter_map(|(one, next)| {
                let (ones, nexts) = (self.postings(one), self.postings(next));
                let first = self.places(posting_of(ones, passage)?);
                let second = self.places(posting_of(nexts, passage)?);
                let follows = first
                    .iter()
                    .any(|place| second.binary_search(&(place + 1)).is_ok());
                let rarity = self.rarity(ones.len()) + self.rarity(nexts.len());
                follows.then_some(rarity * TOGETHER_PERCENT / 100)
            })
            .sum()
    }
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
    (factor * u64::from(posting.weight) / (100 * ONE)).max(1)
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
