//! The texts of records. Notes repeat them: a title is a field, a heading and the target of links, and names are made of
//! the same words. So each text is spelled once, and each word of all texts too.
//!
//! First comes the number of texts. A text is the number of its words, and these. A word is the number of an earlier one,
//! plus one; or 0, its length and its bytes. The two lowest bits of that number say what follows the word.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{Reader, number};

/// What may follow a word, by the number that stands for it, less one; 0 stands for nothing.
const SEPARATORS: [u8; 3] = [b' ', b'-', b'/'];
/// The most bytes of all texts: as much as the largest file could spell. A few bytes may stand for a long text.
pub(super) const MOST_TEXT: usize = 512 << 20;

/// Writes texts.
#[derive(Default)]
pub(super) struct TextWriter<'a> {
    texts: HashMap<&'a str, u32, RandomState>,
    words: HashMap<&'a str, u32, RandomState>,
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
                number(&mut self.spelled, separator);
                number(&mut self.spelled, word.len() as u64);
                self.spelled.extend(word.as_bytes());
            } else {
                number(&mut self.spelled, (u64::from(known) + 1) << 2 | separator);
            }
        }
    }

    /// Appends all texts to `out`.
    pub(super) fn finish(self, out: &mut Vec<u8>) {
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
    /// All of them, one behind the other.
    all: String,
    /// The end of each.
    ends: Vec<u32>,
}

impl Texts {
    /// Reads the texts at the start of a file; `None` if they are not texts.
    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        // Spelling a text takes about as many bytes as it has, those of all records included.
        let mut all = String::with_capacity(from.0.len());
        let mut ends = Vec::new();
        // Where each word was spelled.
        let mut words: Vec<(u32, u32)> = Vec::new();
        let length = |all: &String| {
            let length = u32::try_from(all.len()).ok();
            length.filter(|_| all.len() <= MOST_TEXT)
        };
        for _ in 0..from.number()? {
            for _ in 0..from.number()? {
                let word = from.number()?;
                match (word >> 2).checked_sub(1) {
                    Some(known) => {
                        let (start, end) = *words.get(usize::try_from(known).ok()?)?;
                        all.extend_from_within(start as usize..end as usize);
                    }
                    None => {
                        let bytes = from.offset()?;
                        let spelled = std::str::from_utf8(from.take(bytes)?).ok()?;
                        let start = length(&all)?;
                        all.push_str(spelled);
                        words.push((start, length(&all)?));
                    }
                }
                if let Some(at) = (word & 3).checked_sub(1) {
                    all.push(char::from(SEPARATORS[at as usize]));
                }
                length(&all)?;
            }
            ends.push(length(&all)?);
        }
        Some(Self { all, ends })
    }

    /// Returns the text of this number; `None` if there is none.
    pub(super) fn get(&self, number: u64) -> Option<&str> {
        let at = usize::try_from(number).ok()?;
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        self.all.get(start..end)
    }
}
