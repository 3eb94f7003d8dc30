//! The words of generated notes, with a natural frequency: word n is used about 1/n times as often as the first.
//!
//! A third are words that the embedding model knows: English words, which its file lists by frequency. The others are made
//! of syllables and represent names, other languages and misspellings.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::corpus::Dice;

/// The number of word forms.
const FORMS: usize = 60_000;
/// The number of frequent words that are all English; after them, every second one is made of syllables.
const ENGLISH: usize = 1_500;
/// The weight of the first word; that of another is this divided by its number.
const OFTEN: usize = 12_000_000;
/// Added to the number of a word, so that the first few do not dominate.
const FLAT: usize = 3;

const ONSETS: [&str; 24] = [
    "b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pr", "r", "s",
    "st", "t", "tr", "v", "w", "z",
];
const NUCLEI: [&str; 9] = ["a", "e", "i", "o", "u", "ai", "ea", "io", "ou"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "l", "s", "t", "m", "nd"];
const SHORT: [&str; 28] = [
    "a", "of", "to", "in", "is", "on", "at", "by", "an", "as", "or", "it", "be", "he", "we", "if",
    "so", "do", "no", "up", "us", "my", "me", "go", "pm", "am", "ii", "vs",
];

pub(crate) struct Words {
    words: Vec<String>,
    /// The cumulative weights of the words, each including itself.
    sums: Vec<usize>,
}

impl Words {
    pub(crate) fn new() -> Result<Self> {
        let known = english()?;
        let mut made = BTreeSet::new();
        let mut dice = Dice::new(7);
        let mut words: Vec<String> = known.iter().take(ENGLISH).cloned().collect();
        let mut rest = known.iter().skip(ENGLISH);
        let taken: BTreeSet<&String> = known.iter().collect();
        while words.len() < FORMS {
            words.extend(rest.next().cloned());
            let word = syllables(&mut dice);
            if !taken.contains(&word) && made.insert(word.clone()) {
                words.push(word);
            }
        }
        words.truncate(FORMS);
        let mut sum = 0;
        let sums = (0..words.len()).map(|number| {
            sum += OFTEN / (number + FLAT);
            sum
        });
        Ok(Self {
            sums: sums.collect(),
            words,
        })
    }

    /// Returns the word with a number; the first is the most frequent one.
    pub(crate) fn word(&self, number: usize) -> &str {
        &self.words[number % self.words.len()]
    }

    pub(crate) fn all(&self) -> String {
        self.words.join(" ")
    }

    /// Returns the number of a random word, most likely a frequent one.
    pub(super) fn any(&self, dice: &mut Dice) -> usize {
        self.rarer(dice, 0)
    }

    /// The same without the `first` most frequent ones.
    pub(super) fn rarer(&self, dice: &mut Dice, first: usize) -> usize {
        let before = first.checked_sub(1).map_or(0, |at| self.sums[at]);
        let all = self.sums.last().copied().unwrap_or_default();
        let at = before + dice.roll(all - before);
        self.sums.partition_point(|sum| *sum <= at)
    }
}

/// Returns the whole words of the model, the most frequent one first.
fn english() -> Result<Vec<String>> {
    /// The offset of the vocabulary, and the field with its length.
    const START: usize = 64;
    const LENGTH: std::ops::Range<usize> = 36..40;
    /// The number of pieces that are sorted by frequency; later ones were added.
    const IN_ORDER: usize = 29_523;
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../model/static/sectile-static-2.bin");
    let bytes = std::fs::read(file).context("the embedding model")?;
    let length = bytes.get(LENGTH).context("a head")?;
    let length = u32::from_le_bytes(length.try_into()?) as usize;
    let mut rest = bytes
        .get(START..START + length)
        .context("a vocabulary that is longer than the model")?;
    let mut words = Vec::new();
    for _ in 0..IN_ORDER {
        let (length, behind) = rest.split_first().context("more words")?;
        let (word, behind) = behind
            .split_at_checked(usize::from(*length))
            .context("a vocabulary that is cut off")?;
        rest = behind;
        let word = String::from_utf8_lossy(word);
        let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_word && (word.len() > 2 || SHORT.contains(&&*word)) {
            words.push(word.into_owned());
        }
    }
    ensure!(words.len() > 10_000, "a model that knows few words");
    Ok(words)
}

fn syllables(dice: &mut Dice) -> String {
    let mut word = String::new();
    for _ in 0..2 + dice.roll(2) {
        for part in [&ONSETS[..], &NUCLEI[..], &CODAS[..]] {
            word += part[dice.roll(part.len())];
        }
    }
    word
}
