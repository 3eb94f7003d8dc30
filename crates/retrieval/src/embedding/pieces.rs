//! WordPiece tokenization, as the vocabulary was made for: without case and accents, longest matching piece first.
//! Punctuation is ignored.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// Longer words are not looked up.
const LONGEST_WORD: usize = 100;
/// The prefix of a piece that continues a word.
const CONTINUES: &[u8] = b"##";

/// Maps pieces to numbers.
pub(super) struct PieceVocabulary {
    starts: HashMap<&'static [u8], u32, RandomState>,
    rest: HashMap<&'static [u8], u32, RandomState>,
    /// Length in bytes of the longest piece that starts a word, and of the longest that continues one.
    longest: [usize; 2],
    /// The piece for unknown words. Without one, such words are ignored, and so is punctuation.
    unknown: Option<u32>,
}

impl PieceVocabulary {
    /// Builds the vocabulary; `words` holds each piece after its length.
    pub(super) fn new(words: &'static [u8], pieces: usize) -> Self {
        let mut vocabulary = Self {
            starts: HashMap::with_capacity_and_hasher(pieces, RandomState::default()),
            rest: HashMap::with_capacity_and_hasher(pieces / 4, RandomState::default()),
            longest: [0; 2],
            unknown: None,
        };
        let mut words = words;
        let mut number = 0;
        while let Some((length, behind)) = words.split_first()
            && let Some((piece, behind)) = behind.split_at_checked(usize::from(*length))
        {
            words = behind;
            let (known, longest, piece) = match piece.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => (&mut vocabulary.rest, 1, rest),
                _ => (&mut vocabulary.starts, 0, piece),
            };
            known.insert(piece, number);
            vocabulary.longest[longest] = vocabulary.longest[longest].max(piece.len());
            number += 1;
        }
        vocabulary
    }

    /// Adds a piece for unknown words. Punctuation then counts, each character as a word of its own.
    pub(super) fn with_unknown(mut self, piece: u32) -> Self {
        self.unknown = Some(piece);
        self
    }

    /// Returns whether a word, in lower case, is a piece by itself.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.starts.contains_key(word.as_bytes())
    }

    /// Adds the pieces of `text`, punctuation included, until there are `most` or more.
    pub(super) fn tokens(&self, text: &str, pieces: &mut Vec<u32>, most: usize) {
        let mut rest = text;
        while !rest.is_empty() && pieces.len() < most {
            let border = rest.bytes().position(|byte| IS_BORDER[usize::from(byte)]);
            let (run, behind) = rest.split_at(border.unwrap_or(rest.len()));
            if !run.is_empty() {
                self.split(run, pieces);
            }
            // All separators are single bytes.
            let (border, behind) = behind.split_at(behind.len().min(1));
            if border.bytes().any(|byte| byte.is_ascii_punctuation()) {
                self.word(border, pieces);
            }
            rest = behind;
        }
    }

    /// Adds the pieces of a run of letters.
    pub(super) fn split(&self, run: &str, pieces: &mut Vec<u32>) {
        if run.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            self.word(&run.to_ascii_lowercase(), pieces);
            return;
        }
        let mut word = String::new();
        let mut characters: Vec<char> = Vec::new();
        for character in run.chars() {
            match kind(character) {
                CharacterKind::Nothing => {}
                CharacterKind::Space => self.end(&mut characters, &mut word, pieces),
                CharacterKind::Alone => {
                    self.end(&mut characters, &mut word, pieces);
                    characters.push(character);
                    self.end(&mut characters, &mut word, pieces);
                }
                CharacterKind::Letter => characters.push(character),
            }
        }
        self.end(&mut characters, &mut word, pieces);
    }

    /// Ends a word: removes case and accents, and splits it at punctuation.
    fn end(&self, characters: &mut Vec<char>, word: &mut String, pieces: &mut Vec<u32>) {
        let plain = characters
            .drain(..)
            .nfd()
            .filter(|character| character.general_category() != GeneralCategory::NonspacingMark)
            .flat_map(char::to_lowercase);
        for character in plain {
            if is_punctuation(character) {
                self.word(word, pieces);
                word.clear();
                if self.unknown.is_some() {
                    self.word(character.encode_utf8(&mut [0; 4]), pieces);
                }
            } else {
                word.push(character);
            }
        }
        self.word(word, pieces);
        word.clear();
    }

    /// Splits a word, longest matching piece first. A word that no sequence of pieces matches has none, or is unknown.
    fn word(&self, word: &str, pieces: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        if word.chars().count() > LONGEST_WORD {
            pieces.extend(self.unknown);
            return;
        }
        let first = pieces.len();
        let mut start = 0;
        while start < word.len() {
            let (known, longest) = match start {
                0 => (&self.starts, self.longest[0]),
                _ => (&self.rest, self.longest[1]),
            };
            let rest = &word[start..];
            let longest = rest.len().min(longest);
            let found = (1..=longest)
                .rev()
                .filter(|end| rest.is_char_boundary(*end))
                .find_map(|end| Some((end, *known.get(&rest.as_bytes()[..end])?)));
            let Some((length, piece)) = found else {
                pieces.truncate(first);
                pieces.extend(self.unknown);
                return;
            };
            pieces.push(piece);
            start += length;
        }
    }
}

/// Iterates over the text between ASCII white space and punctuation. All other separators are found when a run is
/// split.
pub(super) fn runs(text: &str) -> impl Iterator<Item = &str> {
    let is_border = |byte: u8| IS_BORDER[usize::from(byte)];
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(|byte| !is_border(*byte))?;
        let length = bytes[start..].iter().position(|byte| is_border(*byte));
        at = length.map_or(bytes.len(), |length| start + length);
        Some(&text[start..at])
    })
}

const IS_BORDER: [bool; 256] = {
    let mut is_border = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is_border[byte as usize] =
            matches!(byte, b' ' | b'\t' | b'\n' | b'\r') || byte.is_ascii_punctuation();
        byte += 1;
    }
    is_border
};

enum CharacterKind {
    Nothing,
    Space,
    /// A word of its own.
    Alone,
    Letter,
}

fn kind(character: char) -> CharacterKind {
    if matches!(character, '\t' | '\n' | '\r') {
        return CharacterKind::Space;
    }
    match character.general_category() {
        GeneralCategory::SpaceSeparator
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => CharacterKind::Space,
        GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse => {
            CharacterKind::Nothing
        }
        _ if character == char::REPLACEMENT_CHARACTER => CharacterKind::Nothing,
        _ if is_ideograph(character) => CharacterKind::Alone,
        _ => CharacterKind::Letter,
    }
}

fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation()
        || character.general_category_group() == GeneralCategoryGroup::Punctuation
}

fn is_ideograph(character: char) -> bool {
    matches!(
        character,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b73f}'
            | '\u{2b740}'..='\u{2b81f}'
            | '\u{2b820}'..='\u{2ceaf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}
