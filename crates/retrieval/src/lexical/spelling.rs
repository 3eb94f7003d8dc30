//! Finds words of a dictionary that are spelt almost like one that it does not have.

use std::{cell::Cell, sync::LazyLock};

use fst::{IntoStreamer as _, Map, Streamer as _};
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};

use super::search::MOST_NEAR;

/// Longer words are not corrected.
const LONGEST: usize = 40;
/// The most steps of a walk through a dictionary, and the most words found: more than the largest dictionary needs. A
/// malicious one may be endless.
const MOST_STEPS: usize = 1 << 22;
const MOST_WORDS: usize = 1 << 12;

static ONE_OFF: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_OFF: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

/// An automaton that accepts similar words.
struct NearWordAutomaton {
    words: DFA,
    /// Steps left.
    steps: Cell<usize>,
}

impl fst::Automaton for NearWordAutomaton {
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
pub(super) struct NearWords(DFA);

impl NearWords {
    /// Returns `None` if the word is too short or too long to be corrected. A short word must be more similar than a
    /// long one.
    pub(super) fn of(word: &str) -> Option<Self> {
        let letters = word.chars().count();
        let builder = match letters {
            0..3 => return None,
            3..6 => &ONE_OFF,
            _ if word.len() > LONGEST => return None,
            _ => &TWO_OFF,
        };
        Some(Self(builder.build_dfa(word)))
    }

    /// Returns how far a word is from it; exact if it is similar.
    pub(super) fn eval(&self, text: &[u8]) -> Distance {
        self.0.eval(text)
    }
}

/// Returns the words similar to `word`.
pub(super) fn nearest<D: AsRef<[u8]>>(dictionary: &Map<D>, word: &str) -> Vec<NearWord> {
    let Some(NearWords(words)) = NearWords::of(word) else {
        return Vec::new();
    };
    let near = NearWordAutomaton {
        words,
        steps: Cell::new(MOST_STEPS),
    };
    let mut found = Vec::new();
    let mut stream = dictionary.search(&near).into_stream();
    while let Some((term, number)) = stream.next() {
        let distance = match near.words.eval(term) {
            Distance::Exact(distance) | Distance::AtLeast(distance) => distance,
        };
        if let Ok(term) = std::str::from_utf8(term) {
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
