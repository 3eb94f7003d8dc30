//! Words of the index that are spelt almost like one that it does not have.

use std::sync::LazyLock;

use fst::{IntoStreamer as _, Streamer as _};
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};

use super::{Index, index::is_word};

/// Words longer than this are not looked for.
const LONGEST: usize = 40;

static ONE_OFF: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_OFF: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

/// Walks the dictionary along words that are near.
struct Near(DFA);

impl fst::Automaton for Near {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}

impl Index {
    /// At most `most` words that are nearest to `word`: first by the number of letters that are wrong, missing, too many
    /// or swapped, then by the number of passages, then by the alphabet. A short word must be nearer than a long one.
    pub(super) fn nearest(&self, word: &str, most: usize) -> Vec<String> {
        let letters = word.chars().count();
        let builder = match letters {
            0..3 => return Vec::new(),
            3..6 => &ONE_OFF,
            _ if word.len() > LONGEST => return Vec::new(),
            _ => &TWO_OFF,
        };
        let near = Near(builder.build_dfa(word));
        let mut found = Vec::new();
        let mut stream = self.dictionary().search(&near).into_stream();
        while let Some((term, number)) = stream.next() {
            let distance = match near.0.eval(term) {
                Distance::Exact(distance) | Distance::AtLeast(distance) => distance,
            };
            if let Ok(term) = std::str::from_utf8(term)
                && is_word(term)
            {
                let rarity = usize::MAX - self.frequency(number);
                found.push((distance, rarity, term.to_owned()));
            }
        }
        found.sort();
        let nearest = found.first().map_or(0, |first| first.0);
        found
            .into_iter()
            .take_while(|(distance, ..)| *distance == nearest)
            .take(most)
            .map(|(.., term)| term)
            .collect()
    }
}
