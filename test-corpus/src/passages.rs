//! Passages and the queries about them, the same every time.

use std::sync::LazyLock;

use crate::words::{ASPECTS, Aspect, THINGS, Topic};

const DAYS: [&str; 5] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Saturday"];

/// Ends of some passages: names, numbers, other scripts, text that looks like code.
const TAILS: [&str; 12] = [
    "The label on the old crate still says „Größe 3“.",
    "Żaneta from the café draws a naïve picture of it for every jubilee.",
    "A spare came from 東京 in a box of cedar wood.",
    "In the settings file this is `{key}.limit = {n}`.",
    "The panel shows {key}_state and, one line below, {key}_hours_total.",
    "Run `yard status --thing {key} --since {n}d` to see the last entries.",
    "See https://example.org/yard/{key}?page={n} for a drawing.",
    "The field is called maxLoad{n} in the tables, for reasons that nobody recalls.",
    "Version 2.{n}.1 of the plan added this paragraph.",
    "Ångström and Dvořák are the names of its two motors.",
    "| day | load |\n|---|---|\n| {day} | {n} kg |",
    "1. look\n2. think\n3. act, on {day} at the latest",
];

/// Parts of surnames: they make a large vocabulary of rare words, many of which are similar.
const FIRST: [&str; 32] = [
    "Ash", "Birk", "Brack", "Cald", "Carn", "Dun", "Ell", "Fair", "Fen", "Garth", "Glen", "Hart",
    "Hazel", "Holm", "Ing", "Kel", "Lang", "Lin", "Mar", "Mell", "Nor", "Oaken", "Pend", "Quill",
    "Raven", "Sel", "Stan", "Thorn", "Ul", "Wend", "Wick", "Yar",
];
const SECOND: [&str; 32] = [
    "bank", "beck", "borne", "bury", "by", "cliffe", "combe", "croft", "dale", "den", "fell",
    "field", "ford", "garth", "gill", "grave", "ham", "hurst", "ley", "low", "mere", "moor",
    "ness", "over", "ridge", "shaw", "stead", "thorpe", "ton", "wick", "worth", "yard",
];

/// A text about one aspect of one thing.
#[derive(Debug)]
pub struct Passage {
    /// Its name in the set: a number.
    pub id: String,
    /// The area and the thing that it is about.
    pub trail: [&'static str; 2],
    /// The topic. The text may express it in other words.
    pub heading: String,
    /// The text, without its heading.
    pub text: String,
    /// A question that it answers, in different words.
    pub question: String,
}

/// A kind of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// Area, thing and heading: 500.
    Path,
    /// The heading: 315.
    Heading,
    /// A question in other words: 240.
    Question,
}

/// A query, and the only passage that answers it.
#[derive(Debug)]
pub struct Query {
    /// Its name in the set.
    pub id: String,
    /// The text of the query.
    pub text: String,
    /// The name of the passage.
    pub answer: String,
}

impl Queries {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Path, Self::Heading, Self::Question];

    /// Returns the names of the files of queries and of judgements.
    #[must_use]
    pub fn files(self) -> (&'static str, &'static str) {
        match self {
            Self::Path => ("queries.jsonl", "qrels.tsv"),
            Self::Heading => ("queries-heading.jsonl", "qrels-heading.tsv"),
            Self::Question => ("questions.jsonl", "qrels-questions.tsv"),
        }
    }

    /// Returns the number of queries, the distance between the passages that they ask for, and the first of those.
    fn drawn(self) -> (usize, usize, usize) {
        // Each distance is coprime with the number of passages, so that no passage is asked for twice.
        match self {
            Self::Path => (500, 7, 0),
            Self::Heading => (315, 13, 3),
            Self::Question => (240, 17, 5),
        }
    }
}

/// Returns all passages: every aspect of every thing.
#[must_use]
pub fn passages() -> &'static [Passage] {
    static ALL: LazyLock<Vec<Passage>> = LazyLock::new(|| {
        let count = THINGS.len() * ASPECTS.len();
        (0..count).map(passage).collect()
    });
    &ALL
}

/// Returns the queries of a kind.
#[must_use]
pub fn queries(kind: Queries) -> Vec<Query> {
    let (count, apart, first) = kind.drawn();
    let passages = passages();
    let query = |number: usize| {
        let passage = &passages[(first + number * apart) % passages.len()];
        let [area, thing] = passage.trail;
        Query {
            id: format!("q{}", passage.id),
            text: match kind {
                Queries::Path => format!("{area} {} {}", capital(thing), passage.heading),
                Queries::Heading => passage.heading.clone(),
                Queries::Question => passage.question.clone(),
            },
            answer: passage.id.clone(),
        }
    };
    (0..count).map(query).collect()
}

fn passage(number: usize) -> Passage {
    let at = number % THINGS.len();
    let thing = &THINGS[at];
    // Neighbours differ in both.
    let aspect = &ASPECTS[(number / THINGS.len() + at * 7) % ASPECTS.len()];
    let mut dice = Dice::new(number);
    let heading = filled(aspect.heading, thing, &mut dice);
    Passage {
        id: number.to_string(),
        trail: [thing.area, thing.name],
        text: text(thing, aspect, &heading, &mut dice),
        question: aspect.question.replace("{plain}", thing.plain),
        heading,
    }
}

fn text(thing: &Topic, aspect: &Aspect, heading: &str, dice: &mut Dice) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let name = thing.name;
    let opening = match dice.roll(8) {
        0 => format!("This is about {}.", uncapital(heading)),
        1 => format!("{heading} comes down to a few habits."),
        2 => format!("Little has been written about {}.", uncapital(heading)),
        3 => format!("You find the {name} by going to {}.", thing.place),
        4 => format!("The {name} has been at {} for years.", thing.place),
        5 => format!("Everybody here knows {}.", thing.place),
        6 => format!("Ask three people about the {name}, and you get four answers."),
        _ => format!("A word to those who work with the {name}."),
    };
    sentences.push(opening);
    sentences.push(aspect.gist.to_owned());
    let is_long = dice.roll(9) == 0;
    let count = if is_long { 6 } else { 3 + dice.roll(3) };
    for sentence in dice.some(&aspect.sentences, count) {
        let sentence = match sentence.strip_prefix("It ") {
            Some(rest) if dice.roll(2) == 0 => format!("The {name} {rest}"),
            _ => sentence.to_owned(),
        };
        sentences.push(capital(&filled(&sentence, thing, dice)));
    }
    let facts = 1 + dice.roll(thing.facts.len());
    sentences.extend(
        dice.some(&thing.facts, facts)
            .into_iter()
            .map(str::to_owned),
    );
    if dice.roll(2) == 0 {
        let other = THINGS[dice.roll(THINGS.len())].name;
        sentences.push(match dice.roll(3) {
            0 => format!("For the {other} other rules apply."),
            1 => format!("The same was once tried with the {other}, without success."),
            _ => format!("Do not confuse this with what is said of the {other}."),
        });
    }
    if is_long {
        for _ in 0..4 {
            let aspect = &ASPECTS[dice.roll(ASPECTS.len())];
            let sentence = aspect.sentences[dice.roll(aspect.sentences.len())];
            sentences.push(capital(&filled(sentence, thing, dice)));
        }
    }
    if dice.roll(3) > 0 {
        let name = format!("{}{}", FIRST[dice.roll(32)], SECOND[dice.roll(32)]);
        sentences.push(match dice.roll(3) {
            0 => format!("Noted by {name} in 19{}.", 12 + dice.roll(80)),
            1 => format!(
                "Drawing {}{} by {name} shows it.",
                &name[..2],
                dice.roll(900)
            ),
            _ => format!("{name} was the first to say so."),
        });
    }
    if dice.roll(3) == 0 {
        sentences.push(filled(TAILS[dice.roll(TAILS.len())], thing, dice));
    }
    let is_table = |text: &String| text.contains('\n');
    let blocks: Vec<String> = sentences
        .iter()
        .filter(|one| is_table(one))
        .cloned()
        .collect();
    sentences.retain(|one| !is_table(one));
    let mut text = sentences.join(" ");
    for block in blocks {
        text = format!("{text}\n\n{block}");
    }
    text
}

/// Returns a sentence with its fields filled in.
fn filled(sentence: &str, thing: &Topic, dice: &mut Dice) -> String {
    let mut text = sentence.to_owned();
    for (field, value) in thing.fields {
        text = text.replace(&format!("{{{field}}}"), value);
    }
    text = text.replace("{key}", &thing.name.replace(' ', "_"));
    while text.contains("{n}") {
        text = text.replacen("{n}", &(12 + dice.roll(80)).to_string(), 1);
    }
    text.replace("{day}", DAYS[dice.roll(DAYS.len())])
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
}

fn uncapital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

/// Pseudo-random numbers that depend on a seed and on nothing else.
struct Dice(u64);

impl Dice {
    fn new(seed: usize) -> Self {
        Self((seed as u64).wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// Returns a number below `sides`, by SplitMix64.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap_or_default() % sides
    }

    /// Returns `count` of `all`, in any order.
    fn some<'a>(&mut self, all: &[&'a str], count: usize) -> Vec<&'a str> {
        let mut left = all.to_vec();
        let count = count.min(left.len());
        (0..count)
            .map(|_| left.remove(self.roll(left.len())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_set_is_as_large_and_as_varied_as_tests_rely_on() {
        let passages = passages();
        assert_eq!(passages.len(), 2_000);
        let texts: HashSet<&str> = passages.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts.len(), 2_000);
        let words: HashSet<&str> = passages
            .iter()
            .flat_map(|one| one.text.split(|c: char| !c.is_alphanumeric()))
            .collect();
        assert!(words.len() > 2_500, "{}", words.len());
        let with = |wanted: &str| {
            passages
                .iter()
                .filter(|one| one.text.contains(wanted))
                .count()
        };
        for wanted in ["|---|", "1. look", "東京", "Größe", "`", "_hours_total"] {
            assert!(with(wanted) > 20, "{wanted}: {}", with(wanted));
        }
        assert!(passages.iter().all(|one| !one.text.contains(['{', '}'])));
        let long = |one: &&Passage| one.text.split_whitespace().count() > 120;
        assert!(passages.iter().filter(long).count() > 100);
    }

    #[test]
    fn a_query_has_one_answer_and_no_passage_is_asked_for_twice() {
        for (kind, count) in [
            (Queries::Path, 500),
            (Queries::Heading, 315),
            (Queries::Question, 240),
        ] {
            let queries = queries(kind);
            assert_eq!(queries.len(), count);
            let answers: HashSet<&str> = queries.iter().map(|one| one.answer.as_str()).collect();
            let texts: HashSet<&str> = queries.iter().map(|one| one.text.as_str()).collect();
            assert_eq!((answers.len(), texts.len()), (count, count), "{kind:?}");
            assert!(queries.iter().all(|one| !one.text.contains(['{', '}'])));
        }
    }

    /// The vectors in `model/agreement-transformer-1.i8` belong to these texts.
    #[test]
    fn texts_are_the_same_on_every_machine() {
        // FNV-1a, so that this crate needs no library for it.
        let digest = passages()
            .iter()
            .flat_map(|one| one.text.bytes())
            .fold(0xCBF2_9CE4_8422_2325_u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
        assert_eq!(digest, 0x36BE_EE83_6384_4627, "{digest:#x}");
    }
}
