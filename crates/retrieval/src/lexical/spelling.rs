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
    /// The first bytes of the words' first letters: that of the word, or that of its second letter if the two have
    /// changed places. Without them, most of a dictionary would be walked through for nothing.
    first: [u8; 2],
    /// Steps left.
    steps: Cell<usize>,
}

impl fst::Automaton for NearWordAutomaton<'_> {
    /// A state of the words' automaton, or `None` before the first byte.
    type State = Option<u32>;

    fn start(&self) -> Self::State {
        None
    }

    fn is_match(&self, state: &Self::State) -> bool {
        state.is_some_and(|state| matches!(self.words.distance(state), Distance::Exact(_)))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        *state != Some(SINK_STATE)
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        let steps = self.steps.get().saturating_sub(1);
        self.steps.set(steps);
        let is_possible = steps > 0 && (state.is_some() || self.first.contains(&byte));
        let state = state.unwrap_or_else(|| self.words.initial_state());
        Some(match is_possible {
            true => self.words.transition(state, byte),
            false => SINK_STATE,
        })
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

    /// Returns the first bytes that a similar word may have, as [`Self::distance`] decides.
    fn first_bytes(&self) -> [u8; 2] {
        let first = |at: usize| {
            let letter = self.letters.get(at).copied().unwrap_or_default();
            letter.encode_utf8(&mut [0; 4]).as_bytes()[0]
        };
        [first(0), first(1)]
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
        first: near.first_bytes(),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A walk through a dictionary finds the words that a look at each of them does.
        #[test]
        fn no_similar_word_is_passed_over(
            words in proptest::collection::btree_set("[aeèélñ]{1,2}[a-dèñ]{2,8}", 0..80),
            word in "[aeèélñ]{1,2}[a-dèñ]{2,8}",
        ) {
            let builder = words.iter().map(|word| (word.as_str(), 0));
            let dictionary = Map::from_iter(builder).unwrap();
            let found = nearest(&dictionary, &word).into_iter().map(|near| near.term);
            let found: BTreeSet<String> = found.collect();
            let near = NearWords::of(&word);
            let is_near = |one: &&String| near.as_ref().is_some_and(|near| near.distance(one.as_bytes()).is_some());
            let expected: BTreeSet<String> = words.iter().filter(is_near).cloned().collect();
            prop_assert_eq!(found, expected);
        }
    }
}
