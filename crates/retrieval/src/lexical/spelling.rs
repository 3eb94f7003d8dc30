//! Finds words of a dictionary that are spelt almost like one that it does not have.
//!
//! A correction must not turn a good word into another one. So words of the language, short words and numbers are never
//! corrected, and a similar word has the same first letter.

use std::{cell::Cell, sync::LazyLock};

use fst::{IntoStreamer as _, Map, Streamer as _};
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};

use super::search::MOST_NEAR;
use crate::{
    analysis::{is_filler, stem},
    built_in,
};

/// Words with more bytes are not corrected.
const LONGEST: usize = 40;
/// Words with fewer letters are not corrected: too many others are almost the same.
const SHORTEST: usize = 4;
/// Words with fewer letters are corrected only if two letters changed places.
const SHORT: usize = 5;
/// Two letters of a word with at least this many may be wrong, one of a shorter word.
const LONG: usize = 8;
/// The most steps of a walk through a dictionary, and the most words found: more than the largest dictionary needs. A
/// malicious one may be endless.
const MOST_STEPS: usize = 1 << 22;
const MOST_WORDS: usize = 1 << 12;

static ONE_OFF: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_OFF: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

/// An automaton that accepts similar words.
struct NearWordAutomaton<'a> {
    words: &'a DFA,
    /// Steps left.
    steps: Cell<usize>,
}

impl fst::Automaton for NearWordAutomaton<'_> {
    type State = u32;

    fn start(&self) -> u32 {
        self.words.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.words.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        let steps = self.steps.get().saturating_sub(1);
        self.steps.set(steps);
        match steps {
            0 => SINK_STATE,
            _ => self.words.transition(*state, byte),
        }
    }
}

/// A similar word of the dictionary.
pub(super) struct NearWord {
    /// Number of letters wrong, missing, superfluous or swapped.
    pub(super) distance: u8,
    pub(super) term: String,
    /// Its value in the dictionary.
    pub(super) number: u64,
}

/// The words similar to one.
pub(super) struct NearWords {
    letters: Vec<char>,
    words: DFA,
}

impl NearWords {
    /// Returns `None` if the word is not corrected. A short word must be more similar than a long one.
    pub(super) fn of(word: &str) -> Option<Self> {
        let letters: Vec<char> = word.chars().collect();
        let is_number = |letter: &char| letter.is_numeric();
        if letters.len() < SHORTEST
            || word.len() > LONGEST
            || letters.iter().any(is_number)
            || is_in_language(word)
        {
            return None;
        }
        let builder = match letters.len() {
            LONG.. => &TWO_OFF,
            _ => &ONE_OFF,
        };
        let words = builder.build_dfa(word);
        Some(Self { letters, words })
    }

    /// Returns how far a word of a dictionary is from it, or `None` if that is another word.
    pub(super) fn distance(&self, term: &[u8]) -> Option<u8> {
        let Distance::Exact(distance) = self.words.eval(term) else {
            return None;
        };
        let term: Vec<char> = std::str::from_utf8(term).ok()?.chars().collect();
        if term.iter().any(|letter| letter.is_numeric()) {
            return None;
        }
        let swapped_at = swapped(&self.letters, &term);
        let is_similar = match self.letters.len() < SHORT {
            true => swapped_at.is_some(),
            false => self.letters.first() == term.first() || swapped_at == Some(0),
        };
        is_similar.then_some(distance)
    }
}

/// Returns where two adjacent letters of `one` have changed places in `other`, if nothing else is different.
fn swapped(one: &[char], other: &[char]) -> Option<usize> {
    let at = one
        .iter()
        .zip(other)
        .position(|(one, other)| one != other)?;
    let (one, other) = (&one[at..], &other[at..]);
    let is_swapped = matches!(
        (one, other),
        ([a, b, rest @ ..], [c, d, behind @ ..]) if a == d && b == c && rest == behind
    );
    is_swapped.then_some(at)
}

/// Returns whether a word is one of the language, and so not misspelt: the vocabulary of the built-in model has the
/// frequent ones, and the names of well-known tools.
fn is_in_language(word: &str) -> bool {
    let has = |word: &str| built_in().is_ok_and(|model| model.has_word(word));
    is_filler(word) || has(word) || stem(word).is_some_and(|stem| has(&stem))
}

/// Returns the words similar to `word`.
pub(super) fn nearest<D: AsRef<[u8]>>(dictionary: &Map<D>, word: &str) -> Vec<NearWord> {
    let Some(near) = NearWords::of(word) else {
        return Vec::new();
    };
    let automaton = NearWordAutomaton {
        words: &near.words,
        steps: Cell::new(MOST_STEPS),
    };
    let mut found = Vec::new();
    let mut stream = dictionary.search(&automaton).into_stream();
    while let Some((term, number)) = stream.next() {
        if let Some(distance) = near.distance(term)
            && let Ok(term) = std::str::from_utf8(term)
        {
            let term = term.to_owned();
            found.push(NearWord {
                distance,
                term,
                number,
            });
        }
        if found.len() == MOST_WORDS {
            break;
        }
    }
    found
}

/// All words of an external store, each with the number of passages that have it.
#[derive(Debug)]
pub struct Vocabulary(Map<Vec<u8>>);

impl Vocabulary {
    /// Builds the vocabulary from words in ascending byte order; others are skipped.
    #[must_use]
    pub fn new(words: impl Iterator<Item = (String, u64)>) -> Self {
        let mut builder = fst::MapBuilder::memory();
        for (word, passages) in words {
            // Only a word out of order is refused.
            if builder.insert(&word, passages).is_err() {
                continue;
            }
        }
        Self(builder.into_map())
    }

    /// Returns the words nearest to one that does not occur, nearest first; few, and often none.
    #[must_use]
    pub fn nearest(&self, word: &str) -> Vec<String> {
        let found = nearest(&self.0, word).into_iter().map(|near| {
            let passages = usize::try_from(near.number).unwrap_or(usize::MAX);
            (near.distance, passages, near.term)
        });
        ranked(found.collect(), MOST_NEAR)
    }
}

/// Returns the `most` nearest of words, given with their distance and the number of passages that have them.
pub(super) fn ranked(mut found: Vec<(u8, usize, String)>, most: usize) -> Vec<String> {
    found.sort_by(|one, other| {
        let by_passages = other.1.cmp(&one.1);
        one.0
            .cmp(&other.0)
            .then(by_passages)
            .then_with(|| one.2.cmp(&other.2))
    });
    let nearest = found.first().map_or(0, |first| first.0);
    found
        .into_iter()
        .take_while(|(distance, ..)| *distance == nearest)
        .take(most)
        .map(|(.., term)| term)
        .collect()
}
