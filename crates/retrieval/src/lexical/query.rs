//! Parses queries.

use std::{cmp::Reverse, collections::HashSet};

use super::Remarks;
use crate::analysis::{Token, has_no_spaces, is_filler, stem, tokens, words};

/// The longest query, in bytes.
pub const MAX_QUERY_BYTES: usize = 2_048;
/// The most words in a query.
pub const MAX_QUERY_WORDS: usize = 32;

/// The most bytes of a long question that are read, and the most of its words whose frequency is looked up: more than
/// anybody asks, and a bound on the work.
const MOST_READ: usize = 1 << 20;
const MOST_WEIGHED: usize = 1_024;

/// The reason why a query is refused, before any work is done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It has more bytes than [`MAX_QUERY_BYTES`].
    #[error("The query is longer than {MAX_QUERY_BYTES} bytes.")]
    TooLong,
    /// It has more words than [`MAX_QUERY_WORDS`].
    #[error("The query has more than {MAX_QUERY_WORDS} words.")]
    TooManyWords,
}

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The items to look for, each once, in the order of the query.
    pub(super) items: Vec<Item>,
    /// Words in quotation marks, which must be adjacent.
    pub(super) phrases: Vec<Vec<String>>,
    /// Pairs of adjacent words.
    pub(super) neighbours: Vec<(String, String)>,
    /// All words in their order, which may be a quotation; empty if some were dropped.
    pub(super) run: Vec<String>,
}

/// An item to look for: a word, or a name with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) term: String,
    pub(super) parts: Vec<String>,
}

/// The words of a query as they were written.
#[derive(Default)]
struct ReadWords {
    /// All words, in order.
    all: Vec<String>,
    /// Names, each with the index of its first word.
    names: Vec<(usize, Item)>,
    /// The words between quotation marks.
    phrases: Vec<Vec<String>>,
}

impl ReadWords {
    fn of(text: &str) -> Self {
        let mut read = Self::default();
        // Every second piece is in quotation marks; an unclosed last one does not count as quoted.
        let pieces: Vec<&str> = text.split(['"', '“', '”', '„']).collect();
        for (number, piece) in pieces.iter().enumerate() {
            let Self {
                all,
                names,
                phrases,
            } = &mut read;
            let first = all.len();
            tokens(piece, |token| match token {
                Token::Word { term, .. } => all.push(term),
                Token::Name { term, at, words } => {
                    let start = first + at as usize;
                    let parts = all.get(start..start + words as usize);
                    if let Some(parts) = parts.filter(|parts| parts.len() > 1) {
                        let parts = parts.to_vec();
                        names.push((start, Item { term, parts }));
                    }
                }
            });
            let is_quoted = number % 2 == 1 && number + 1 < pieces.len();
            if is_quoted && all.len() > first {
                phrases.push(all[first..].to_vec());
            }
        }
        read
    }
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError`] when it is too long.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong);
        }
        let read = ReadWords::of(text);
        if read.all.len() > MAX_QUERY_WORDS {
            return Err(QueryError::TooManyWords);
        }
        Ok(Self::of(read, |_| true))
    }

    /// Parses a query of any length. If it is too long, keeps the words with the lowest `frequency`, and returns the
    /// others too: the most frequent first, then those that do not occur. Quoted words are kept before others.
    pub(crate) fn lenient(text: &str, frequency: impl Fn(&str) -> usize) -> (Self, Vec<String>) {
        if let Ok(query) = Self::parse(text) {
            return (query, Vec::new());
        }
        let mut read = ReadWords::of(beginning(text));
        let mut kept: HashSet<String> = HashSet::new();
        let mut phrases: HashSet<Vec<String>> = HashSet::new();
        read.phrases.retain(|phrase| {
            if phrase.len() > MAX_QUERY_WORDS || phrases.len() == MAX_QUERY_WORDS {
                return false;
            }
            let new: HashSet<&String> =
                phrase.iter().filter(|word| !kept.contains(*word)).collect();
            let fits = kept.len() + new.len() <= MAX_QUERY_WORDS;
            if fits {
                kept.extend(phrase.iter().cloned());
            }
            fits && phrases.insert(phrase.clone())
        });
        let only_fillers = read.all.iter().all(|word| is_filler(word));
        let mut seen = HashSet::new();
        let mut words: Vec<&String> = Vec::new();
        for word in &read.all {
            let is_new = !kept.contains(word) && seen.insert(word);
            if is_new && (only_fillers || !is_filler(word)) {
                words.push(word);
            }
        }
        let unweighed = words.split_off(words.len().min(MOST_WEIGHED));
        let mut words: Vec<(usize, &String)> = words
            .into_iter()
            .map(|word| (frequency(word), word))
            .collect();
        // A word that does not occur is of use only if it can be corrected. Equal words stay in their order.
        words.sort_by_key(|(frequency, _)| (*frequency == 0, *frequency));
        let room = MAX_QUERY_WORDS.saturating_sub(kept.len()).min(words.len());
        let mut dropped = words.split_off(room);
        dropped.sort_by_key(|(frequency, _)| Reverse(*frequency));
        let dropped = dropped.into_iter().map(|(_, word)| word).chain(unweighed);
        let dropped = dropped.cloned().collect();
        kept.extend(words.into_iter().map(|(_, word)| word.clone()));
        (Self::of(read, |word| kept.contains(word)), dropped)
    }

    /// Makes a query of the words that are kept.
    fn of(read: ReadWords, is_kept: impl Fn(&str) -> bool) -> Self {
        let ReadWords {
            all,
            names,
            phrases,
        } = read;
        let mut items: Vec<(usize, Item)> = Vec::new();
        // A name may be written more often than it is looked for.
        let mut in_names: HashSet<usize> = HashSet::new();
        for (start, name) in names {
            let is_known = items.iter().any(|(_, known)| known.term == name.term);
            let has_room = items.len() < MAX_QUERY_WORDS;
            if (is_known || has_room) && name.parts.iter().all(|part| is_kept(part)) {
                in_names.extend(start..start + name.parts.len());
                if !is_known {
                    items.push((start, name));
                }
            }
        }
        let in_phrases: HashSet<&String> = phrases.iter().flatten().collect();
        let only_fillers = all.iter().all(|word| is_filler(word));
        let mut seen: HashSet<&String> = HashSet::new();
        for (at, word) in all.iter().enumerate().filter(|(_, word)| is_kept(word)) {
            let counts = only_fillers || !is_filler(word) || in_phrases.contains(word);
            if counts && !in_names.contains(&at) && seen.insert(word) {
                let parts = Vec::new();
                let term = word.clone();
                items.push((at, Item { term, parts }));
            }
        }
        let mut neighbours: Vec<(String, String)> = all
            .windows(2)
            .filter(|pair| pair.iter().all(|word| is_kept(word)))
            .filter(|pair| pair.iter().any(|word| !is_filler(word)))
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .take(MAX_QUERY_WORDS)
            .collect();
        let is_whole = all.len() <= MAX_QUERY_WORDS && all.iter().all(|word| is_kept(word));
        let run = if is_whole { all.clone() } else { Vec::new() };
        neighbours.sort();
        neighbours.dedup();
        items.sort_by_key(|(at, _)| *at);
        let mut query = Self {
            items: Vec::new(),
            phrases,
            neighbours,
            run,
        };
        for (_, item) in items {
            if !query.items.iter().any(|known| known.term == item.term) {
                query.items.push(item);
            }
        }
        query
    }

    /// Iterates over the words and names that it looks for, folded, in the order of the query.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.term.as_str())
    }

    /// Iterates over the words between quotation marks, folded: those of one phrase must be adjacent.
    pub fn phrases(&self) -> impl Iterator<Item = &[String]> {
        self.phrases.iter().map(Vec::as_slice)
    }

    /// Requires the words of `phrase` side by side; of a very long one, its first words. How passages are ranked stays
    /// the same. Returns `false`, and requires nothing, if positions cannot tell which passages have them.
    pub fn require(&mut self, phrase: &str) -> bool {
        let mut words = words(phrase);
        words.truncate(MAX_QUERY_WORDS);
        // A character of a script without spaces is part of pairs, unless it stands alone.
        let is_part = |word: &String| {
            let mut characters = word.chars();
            characters.next().is_some_and(has_no_spaces) && characters.next().is_none()
        };
        if words.is_empty() || words.iter().any(is_part) {
            return false;
        }
        self.phrases.push(words);
        true
    }

    /// Returns a test for texts that have one of the words. `remarks` are those of a search with this query.
    #[must_use]
    pub fn word_test(&self, remarks: &Remarks) -> WordTest {
        let words = self
            .items
            .iter()
            .flat_map(|item| match item.parts.is_empty() {
                true => std::slice::from_ref(&item.term),
                false => &item.parts,
            });
        let corrected = remarks.corrected.iter();
        let corrected = corrected.flat_map(|corrected| &corrected.used);
        let stems = words.clone().filter_map(|word| stem(word));
        WordTest {
            stems: stems.map(|stem| stem.into_owned()).collect(),
            words: words.chain(corrected).cloned().collect(),
        }
    }

    /// Returns `true` if there are no words in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// Returns the part of a long question that is read. It does not end inside a word, unless that is very long.
fn beginning(text: &str) -> &str {
    let read = &text[..text.floor_char_boundary(MOST_READ)];
    if read.len() == text.len() {
        return read;
    }
    let tail = read.floor_char_boundary(read.len() - MAX_QUERY_BYTES);
    let space = read[tail..].rfind(char::is_whitespace);
    space.map_or(read, |space| &read[..tail + space])
}

/// Finds out whether a text has a word of a query, in the forms in which a search finds it.
#[derive(Clone, Debug)]
pub struct WordTest {
    words: HashSet<String>,
    stems: HashSet<String>,
}

impl WordTest {
    /// Returns whether `text` has one of the words.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let mut is_in = false;
        tokens(text, |token| {
            let (Token::Word { term, .. } | Token::Name { term, .. }) = &token;
            is_in = is_in
                || self.words.contains(term)
                || stem(term).is_some_and(|stem| self.stems.contains(&*stem));
        });
        is_in
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lenient(text: &str) -> (Vec<String>, Vec<String>) {
        // The later in the alphabet, the rarer; words with an x do not occur.
        let frequency = |word: &str| match word.contains('x') {
            true => 0,
            false => 1_000 - usize::from(word.as_bytes()[0]),
        };
        let (query, dropped) = Query::lenient(text, frequency);
        (query.terms().map(str::to_owned).collect(), dropped)
    }

    #[test]
    fn a_short_question_stays_as_it_is() {
        let (terms, dropped) = lenient("where is the x harbour_master");
        assert_eq!(terms, ["x", "harbour_master"]);
        assert!(dropped.is_empty());
    }

    #[test]
    fn the_costliest_words_of_a_long_question_are_dropped_and_named() {
        let many: Vec<String> = (b'a'..=b'z')
            .flat_map(|letter| ["ab", "cd"].map(|rest| format!("{}{rest}", letter as char)))
            .collect();
        let text = format!("{} the \"aab bab\"", many.join(" and "));
        let (terms, dropped) = lenient(&text);
        assert_eq!(terms.len(), MAX_QUERY_WORDS);
        assert!(terms.contains(&"zcd".to_owned()) && terms.contains(&"aab".to_owned()));
        assert_eq!(dropped.first().map(String::as_str), Some("acd"));
        // Those that do not occur come last.
        assert_eq!(&dropped[dropped.len() - 2..], ["xab", "xcd"]);
        assert_eq!(terms.len() + dropped.len(), many.len());
    }

    #[test]
    fn a_phrase_is_required_if_positions_can_tell() {
        let mut query = Query::parse("the red boat").unwrap();
        let before = query.clone();
        assert!(!query.require("->") && !query.require("a 字"));
        assert_eq!(query, before);
        assert!(query.require("The Red, boat") && query.require("漢字"));
        let phrases: Vec<&[String]> = query.phrases().collect();
        assert_eq!(phrases, [&["the", "red", "boat"][..], &["漢字"]]);
        assert_eq!(
            (query.items, query.neighbours),
            (before.items, before.neighbours)
        );
        let mut long = Query::default();
        assert!(long.require(&"word ".repeat(5_000)));
        assert_eq!(
            long.phrases().next().map(<[String]>::len),
            Some(MAX_QUERY_WORDS)
        );
    }

    #[test]
    fn a_word_is_in_a_text_in_any_form() {
        let query = Query::parse("the painting harbour_master").unwrap();
        let test = query.word_test(&Remarks::default());
        for text in [
            "a Paint",
            "painted",
            "- [ ] the harbour",
            "harbour_master",
            "masters",
        ] {
            assert!(test.is_in(text), "{text}");
        }
        for text in ["", "the", "painter", "harbor"] {
            assert!(!test.is_in(text), "{text}");
        }
    }

    #[test]
    fn no_question_is_too_long() {
        let words: Vec<String> = (0..10_000).map(|number| format!("w{number}")).collect();
        let looked_up = std::cell::Cell::new(0);
        let (query, dropped) = Query::lenient(&words.join(" "), |word| {
            looked_up.set(looked_up.get() + 1);
            word.len()
        });
        assert_eq!(looked_up.get(), MOST_WEIGHED);
        assert!(query.terms().count() <= MAX_QUERY_WORDS);
        assert!(query.neighbours.len() <= MAX_QUERY_WORDS);
        assert!(dropped.len() > 9_000);
        let quoted = format!("\"{}\" harbour", "word ".repeat(5_000));
        let (query, dropped) = Query::lenient(&quoted, |_| 1);
        assert_eq!(query.phrases().count(), 0);
        assert_eq!(query.terms().collect::<Vec<_>>(), ["word", "harbour"]);
        assert!(dropped.is_empty());
        let (query, _) = Query::lenient(&"é".repeat(3_000_000), |_| 1);
        assert_eq!(query.terms().count(), 1);
    }

    #[test]
    fn a_long_question_of_any_kind_becomes_a_small_query() {
        let repeated = |text: &str| text.repeat((1 << 20) / text.len() + 1);
        for (text, terms, phrases) in [
            // Only words that say nothing: the rarest of them count, as all of a short one do.
            ("what is the how and why of it with you ", 8..=10, 0..=0),
            ("東京都の天気はどうですか ", 8..=32, 0..=0),
            ("настройка сервера и клиента ", 4..=4, 0..=0),
            ("إعداد الخادم والعميل ", 3..=3, 0..=0),
            ("ตั้งค่าเซิร์ฟเวอร์", 4..=32, 0..=0),
            ("🚢⚓\u{200d}🧭 ", 0..=0, 0..=0),
            ("\u{0} \u{202e}\u{feff}", 0..=0, 0..=0),
            ("\u{301}\u{300}\u{302}", 0..=1, 0..=0),
            // Many phrases of few words, and many names of few parts.
            ("\"a b\" \"b a\" \"a\" \"b\" \"\" ", 2..=2, 4..=4),
            ("\"a\"", 1..=1, 1..=1),
            ("\"", 0..=0, 0..=0),
            ("max_doc_bytes server.tools ", 2..=2, 0..=0),
            (
                "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z ",
                1..=32,
                0..=0,
            ),
            ("x", 1..=1, 0..=0),
            ("-", 0..=0, 0..=0),
        ] {
            let looked_up = std::cell::Cell::new(0);
            let (query, dropped) = Query::lenient(&repeated(text), |word| {
                looked_up.set(looked_up.get() + 1);
                word.len()
            });
            assert!(terms.contains(&query.terms().count()), "{text}: {query:?}");
            assert!(
                phrases.contains(&query.phrases().count()),
                "{text}: {query:?}"
            );
            assert!(looked_up.get() <= MOST_WEIGHED && query.neighbours.len() <= MAX_QUERY_WORDS);
            assert!(dropped.len() <= 200, "{text}: {}", dropped.len());
        }
    }

    #[test]
    fn phrases_of_a_long_question_are_few() {
        let letters = || (b'a'..=b'z').map(char::from);
        let pairs = letters().flat_map(|one| letters().map(move |two| format!("\"{one} {two}\" ")));
        let (query, _) = Query::lenient(&pairs.collect::<String>(), |_| 1);
        assert_eq!(query.phrases().count(), MAX_QUERY_WORDS);
        assert!(query.terms().count() <= MAX_QUERY_WORDS);
    }

    proptest! {
        #[test]
        fn a_long_question_is_bounded_and_takes_the_rarest(
            text in "([a-z]{1,4}[ _.\"-]|漢字|в доке ?|🚢 |the |how ){0,400}",
            seed in 1..50_usize,
        ) {
            let frequency = |word: &str| word.bytes().map(usize::from).sum::<usize>() * seed % 17;
            let (query, dropped) = Query::lenient(&text, frequency);
            prop_assert!(query.items.len() <= 2 * MAX_QUERY_WORDS);
            prop_assert!(query.phrases.len() <= MAX_QUERY_WORDS);
            prop_assert!(query.neighbours.len() <= MAX_QUERY_WORDS);
            prop_assert_eq!(Query::lenient(&text, frequency), (query.clone(), dropped.clone()));
            if Query::parse(&text).is_ok() {
                prop_assert_eq!((query, dropped), (Query::parse(&text).unwrap(), vec![]));
                return Ok(());
            }
            // Nothing that occurs is left out for something more frequent, unless that is quoted.
            let quoted: HashSet<&String> = query.phrases.iter().flatten().collect();
            let words = query.items.iter().flat_map(|item| match item.parts.as_slice() {
                [] => std::slice::from_ref(&item.term),
                parts => parts,
            });
            let words = words.filter(|word| !quoted.contains(word));
            let most = words.map(|word| frequency(word)).max().unwrap_or_default();
            let least = dropped.iter().map(|word| frequency(word)).filter(|one| *one > 0).min();
            prop_assert!(least.is_none_or(|least| least >= most), "{least:?} {most}");
        }
    }
}
