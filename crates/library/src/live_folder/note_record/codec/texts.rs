//! The texts of records. Notes repeat them: a title is a field, a heading and the target of links, and names are made of
//! the same words. So each text is spelled once, and each word of all texts too.
//!
//! First come the number of words, their lengths and their bytes, one after another; then the number of texts. Each text is
//! the number of its words, and these: the number of the word, times four, plus a number that stands for what follows it.
//! Texts are put together when they are needed.

use std::{collections::HashMap, ops::Range};

use foldhash::fast::RandomState;

use super::{Reader, number};

/// What may follow a word, by the number that stands for it, less one; 0 stands for nothing.
const SEPARATORS: [u8; 3] = [b' ', b'-', b'/'];
/// The most bytes of all texts, and of all texts that are named: as much as the largest file could spell. A few bytes may
/// stand for a long text.
pub(super) const MOST_TEXT: usize = 512 << 20;

/// Writes texts.
#[derive(Default)]
pub(super) struct TextWriter<'a> {
    texts: HashMap<&'a str, u32, RandomState>,
    words: HashMap<&'a str, u32, RandomState>,
    /// The lengths of the words, and the words.
    lengths: Vec<u8>,
    letters: Vec<u8>,
    spelled: Vec<u8>,
}

impl<'a> TextWriter<'a> {
    /// Returns the number of a text.
    pub(super) fn number_of(&mut self, text: &'a str) -> u32 {
        let next = next_number(&self.texts);
        let known = *self.texts.entry(text).or_insert(next);
        if known == next {
            self.spell(text);
        }
        known
    }

    fn spell(&mut self, text: &'a str) {
        number(&mut self.spelled, words(text).count() as u64);
        for (word, separator) in words(text) {
            let next = next_number(&self.words);
            let known = *self.words.entry(word).or_insert(next);
            if known == next {
                number(&mut self.lengths, word.len() as u64);
                self.letters.extend(word.as_bytes());
            }
            number(&mut self.spelled, u64::from(known) << 2 | separator);
        }
    }

    /// Appends all texts to `out`.
    pub(super) fn finish(self, out: &mut Vec<u8>) {
        number(out, self.words.len() as u64);
        out.extend(self.lengths);
        out.extend(self.letters);
        number(out, self.texts.len() as u64);
        out.extend(self.spelled);
    }
}

fn next_number(known: &HashMap<&str, u32, RandomState>) -> u32 {
    u32::try_from(known.len()).unwrap_or(u32::MAX)
}

/// Returns the words of a text, each with the number of what follows it.
fn words(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let [space, hyphen, slash] = SEPARATORS;
        let Some(end) = memchr::memchr3(space, hyphen, slash, rest.as_bytes()) else {
            return Some((std::mem::take(&mut rest), 0));
        };
        let word = &rest[..end];
        let is_it = |separator: &u8| *separator == rest.as_bytes()[end];
        let separator = SEPARATORS.iter().position(is_it);
        // Separators are single bytes.
        rest = &rest[end + 1..];
        Some((word, separator.map_or(0, |at| at as u64 + 1)))
    })
}

/// The texts of a file.
#[derive(Debug)]
pub(super) struct Texts {
    /// All words, one after another.
    letters: String,
    /// The start of each word, and the end of the last.
    bounds: Vec<u32>,
    spelled: Vec<u8>,
    /// Where each text is spelled, and its length.
    texts: Vec<(u32, u32)>,
}

impl Texts {
    /// Reads the texts at the start of a file; `None` if they are not texts.
    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut bounds = vec![0];
        let mut end = 0_u32;
        for _ in 0..from.length()? {
            end = end.checked_add(from.small()?)?;
            bounds.push(end);
        }
        let letters = std::str::from_utf8(from.take(end as usize)?).ok()?;
        let is_boundary = |end: &u32| letters.is_char_boundary(*end as usize);
        if !bounds.iter().all(is_boundary) {
            return None;
        }
        let count = from.length()?;
        let all = from.0;
        let mut texts = Vec::with_capacity(count);
        let mut room = MOST_TEXT;
        for _ in 0..count {
            let start = u32::try_from(all.len() - from.0.len()).ok()?;
            let mut length = 0;
            for _ in 0..from.number()? {
                let (range, separator) = word(&bounds, from.number()?)?;
                length += range.len() + usize::from(separator.is_some());
            }
            room = room.checked_sub(length)?;
            texts.push((start, u32::try_from(length).ok()?));
        }
        Some(Self {
            letters: letters.to_owned(),
            bounds,
            spelled: all[..all.len() - from.0.len()].to_vec(),
            texts,
        })
    }

    /// Returns the length of the text of this number; `None` if there is none.
    pub(super) fn length(&self, number: u64) -> Option<usize> {
        let (_, length) = self.texts.get(usize::try_from(number).ok()?)?;
        Some(*length as usize)
    }

    /// Returns the text of this number; `None` if there is none.
    pub(super) fn get(&self, number: u64) -> Option<String> {
        let (start, length) = *self.texts.get(usize::try_from(number).ok()?)?;
        let mut text = String::with_capacity(length as usize);
        let mut spelled = Reader(self.spelled.get(start as usize..)?);
        for _ in 0..spelled.number()? {
            let (range, separator) = word(&self.bounds, spelled.number()?)?;
            text.push_str(self.letters.get(range)?);
            text.extend(separator);
        }
        Some(text)
    }
}

/// Returns the range of a word among the letters, and the separator after it.
#[inline]
fn word(bounds: &[u32], spelled: u64) -> Option<(Range<usize>, Option<char>)> {
    let number = usize::try_from(spelled >> 2).ok()?;
    let end = *bounds.get(number.checked_add(1)?)?;
    let separator = (spelled & 3).checked_sub(1);
    let separator = separator.map(|at| char::from(SEPARATORS[at as usize]));
    Some((bounds[number] as usize..end as usize, separator))
}
