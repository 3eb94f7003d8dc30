//! Tokenization: what counts as a word, and which words count as the same.
//!
//! Text is split at Unicode word boundaries, and again where identifiers join words: `max_doc_bytes`, `ToolSpec` and
//! `server.tools` are found whole and by each of their parts. Scripts without spaces between words are split into pairs
//! of characters. Case is ignored, as are the accents of Latin and Greek letters.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};
use unicode_script::{Script, UnicodeScript as _};
use unicode_segmentation::UnicodeSegmentation as _;

/// Longer names are found by their parts only.
const LONGEST_NAME: usize = 64;
/// Longer words, such as encoded data, are truncated.
pub(crate) const LONGEST_WORD: usize = 48;

/// The most letters after the apostrophe of an English contraction.
const LONGEST_CONTRACTION: usize = 2;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word at its position.
    Word { term: String, at: u32 },
    /// A name made of the words from this position on.
    Name { term: String, at: u32, words: u32 },
}

/// A consumer of words and names.
pub(crate) trait TokenSink {
    /// Takes a Unicode word as written, whose first part is at `at`. Returns the number of parts.
    fn written(&mut self, written: &str, at: u32) -> u32;
    /// Takes a word.
    fn word(&mut self, term: &str, at: u32);
    /// Takes a name as written, made of `words` words from `at` on. Names come after their words.
    fn name(&mut self, written: &str, at: u32, words: u32);
}

/// Calls `take` for every word and every name of `text`. Returns the number of words.
pub(crate) fn tokens(text: &str, take: impl FnMut(Token)) -> u32 {
    struct Tokens<F>(F);
    impl<F: FnMut(Token)> TokenSink for Tokens<F> {
        fn written(&mut self, written: &str, mut at: u32) -> u32 {
            let first = at;
            for term in parts(written) {
                (self.0)(Token::Word { term, at });
                at += 1;
            }
            at - first
        }

        fn word(&mut self, term: &str, at: u32) {
            let term = term.to_owned();
            (self.0)(Token::Word { term, at });
        }

        fn name(&mut self, written: &str, at: u32, words: u32) {
            let term = fold(written);
            (self.0)(Token::Name { term, at, words });
        }
    }
    read(text, 0, &mut Tokens(take))
}

/// Tokenizes `text`, numbering the words from `first`. Returns the number after the last.
pub(crate) fn read(text: &str, first: u32, reader: &mut impl TokenSink) -> u32 {
    let mut scan = Scan {
        text,
        at: first,
        chain: WordChain::default(),
        run: String::new(),
        last_end: 0,
    };
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let (mut end, mut kinds) = (start, 0);
        while let Some(kind) = bytes.get(end).map(|byte| KINDS[usize::from(*byte)])
            && kind != SPACE
        {
            kinds |= kind;
            end += 1;
        }
        match kinds {
            NOTHING => {}
            // Most words are already in the form in which they are compared.
            SMALL if end - start <= LONGEST_WORD => scan.small(start, end, reader),
            _ => scan.chunk(start, end, reader),
        }
        start = end + 1;
    }
    scan.end(reader)
}

/// The class of each byte: white space, a lower-case letter, or something else.
const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_whitespace() {
            kinds[byte as usize] = SPACE;
        } else if byte.is_ascii_lowercase() {
            kinds[byte as usize] = SMALL;
        }
        byte += 1;
    }
    kinds
};
const NOTHING: u8 = 0;
const SMALL: u8 = 1;
const OTHER: u8 = 2;
const SPACE: u8 = 4;

/// The state of the tokenizer.
struct Scan<'t> {
    text: &'t str,
    /// Number of the next word.
    at: u32,
    chain: WordChain,
    /// Characters of a script without spaces.
    run: String,
    last_end: usize,
}

impl Scan<'_> {
    /// Reads a lower-case word between white space.
    fn small(&mut self, start: usize, end: usize, reader: &mut impl TokenSink) {
        self.last_end = end;
        self.at = pairs(&mut self.run, self.at, reader);
        self.chain.end(self.text, self.at, reader);
        self.chain.add(start, end, self.at);
        reader.word(&self.text[start..end], self.at);
        self.at += 1;
    }

    /// Reads the text between white space. Most of it is one word, perhaps with punctuation around it, which is found
    /// without tables.
    fn chunk(&mut self, mut start: usize, mut end: usize, reader: &mut impl TokenSink) {
        // The underscore is part of words.
        let is_around = |byte: u8| byte.is_ascii_punctuation() && byte != b'_';
        let bytes = self.text.as_bytes();
        while start < end && is_around(bytes[start]) {
            start += 1;
        }
        while start < end && is_around(bytes[end - 1]) {
            end -= 1;
        }
        if bytes[start..end].iter().all(u8::is_ascii_alphanumeric) {
            if start < end {
                self.word(start, end, reader);
            }
            return;
        }
        for (at, word) in self.text[start..end].unicode_word_indices() {
            self.word(start + at, start + at + word.len(), reader);
        }
    }

    /// Reads a Unicode word.
    fn word(&mut self, start: usize, end: usize, reader: &mut impl TokenSink) {
        let word = &self.text[start..end];
        if let Some((before, after)) = elided(word) {
            self.word(start, start + before, reader);
            return self.word(start + after, end, reader);
        }
        let gap = &self.text[self.last_end..start];
        self.last_end = end;
        let is_unspaced = word.chars().all(has_no_spaces);
        if !gap.is_empty() || !is_unspaced {
            self.at = pairs(&mut self.run, self.at, reader);
        }
        if is_unspaced {
            self.chain.end(self.text, self.at, reader);
            self.run.push_str(word);
            return;
        }
        if !is_joint(gap) {
            self.chain.end(self.text, self.at, reader);
        }
        self.chain.add(start, end, self.at);
        self.at += reader.written(word, self.at);
    }

    /// Returns the number after the last word.
    fn end(mut self, reader: &mut impl TokenSink) -> u32 {
        self.at = pairs(&mut self.run, self.at, reader);
        self.chain.end(self.text, self.at, reader);
        self.at
    }
}

/// Returns the words of `text`, in the form in which they are compared.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    tokens(text, |token| {
        if let Token::Word { term, .. } = token {
            words.push(term);
        }
    });
    words
}

/// Words written without a space between them, as in `resources/list`.
#[derive(Default)]
struct WordChain {
    start: usize,
    end: usize,
    first: u32,
    is_open: bool,
}

impl WordChain {
    fn add(&mut self, start: usize, end: usize, at: u32) {
        if !self.is_open {
            (self.start, self.first, self.is_open) = (start, at, true);
        }
        self.end = end;
    }

    /// Emits the chain as a name if it has more than one word. The next word is at `at`.
    fn end(&mut self, text: &str, at: u32, reader: &mut impl TokenSink) {
        let words = at - self.first;
        if self.is_open && words > 1 && self.end - self.start <= LONGEST_NAME {
            reader.name(&text[self.start..self.end], self.first, words);
        }
        self.is_open = false;
    }
}

/// Returns whether the text between two words joins them into one name.
fn is_joint(gap: &str) -> bool {
    matches!(gap, "-" | "/" | "." | "::" | ":" | "@" | "#" | "->")
}

/// Splits a run of characters without spaces into pairs. Each character is also a name, so that a single one can be
/// found.
fn pairs(run: &mut String, mut at: u32, reader: &mut impl TokenSink) -> u32 {
    if run.is_empty() {
        return at;
    }
    let characters: Vec<char> = fold(run).chars().collect();
    run.clear();
    if let [one] = characters.as_slice() {
        reader.word(one.encode_utf8(&mut [0; 4]), at);
        return at + 1;
    }
    for pair in characters.windows(2) {
        reader.word(&pair.iter().collect::<String>(), at);
        at += 1;
    }
    let first = at.saturating_sub(u32::try_from(characters.len()).unwrap_or_default());
    for one in &characters {
        reader.name(one.encode_utf8(&mut [0; 4]), first, 1);
    }
    at
}

/// Returns whether a character is of a script that does not separate words by spaces.
pub(crate) fn has_no_spaces(character: char) -> bool {
    !character.is_ascii()
        && matches!(
            character.script(),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        )
}

fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '’')
}

/// Returns the end of the first and the start of the second of two words that an elision joins, as in `l'eau`. What follows
/// in a contraction, as in `we'll`, is shorter.
fn elided(word: &str) -> Option<(usize, usize)> {
    let (at, mark) = word.char_indices().find(|(_, one)| is_apostrophe(*one))?;
    let after = at + mark.len_utf8();
    let follow = word[after..].chars().take_while(|one| one.is_alphabetic());
    (at > 0 && follow.count() > LONGEST_CONTRACTION).then_some((at, after))
}

/// Returns the folded words within a Unicode word.
pub(crate) fn parts(word: &str) -> Vec<String> {
    let word = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut end = |part: &mut String| {
        if !part.is_empty() {
            let mut folded = fold(part);
            folded.truncate(folded.floor_char_boundary(LONGEST_WORD));
            parts.push(folded);
            part.clear();
        }
    };
    let mut characters = word.chars().peekable();
    let mut last: Option<char> = None;
    while let Some(character) = characters.next() {
        if is_apostrophe(character) {
            continue;
        }
        if !character.is_alphanumeric() && !is_combining_mark(character) {
            end(&mut part);
            last = None;
            continue;
        }
        let next_is_small = characters.peek().is_some_and(|next| next.is_lowercase());
        let is_border = last.is_some_and(|last| {
            let starts_word = character.is_uppercase()
                && (last.is_lowercase() || (last.is_uppercase() && next_is_small));
            starts_word || (last.is_numeric() != character.is_numeric() && part.is_ascii())
        });
        if is_border {
            end(&mut part);
        }
        part.push(character);
        last = Some(character);
    }
    end(&mut part);
    parts
}

/// Folds text for comparison: to lower case, without the accents of Latin and Greek letters.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut takes_accents = false;
    for character in text.nfkd().flat_map(char::to_lowercase) {
        if is_combining_mark(character) {
            if takes_accents && ('\u{300}'..='\u{36f}').contains(&character) {
                continue;
            }
        } else {
            takes_accents = matches!(character.script(), Script::Latin | Script::Greek);
        }
        folded.push(character);
    }
    folded.nfc().collect()
}

/// Returns the stem shared by the forms of a word, or `None` for a word whose forms are not known.
///
/// A word in Latin letters counts as English, because letters do not tell its language. Those of Cyrillic words are mostly
/// Russian, and those of Arabic words Arabic: nDCG@10 rises by 6 and by 5 on the headings of a manual in these languages
/// (`handbook-ru` and `handbook-mixed` of `cargo xtask sets`).
pub(crate) fn stem(word: &str) -> Option<Cow<'_, str>> {
    if word.is_ascii() {
        let is_english = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        return is_english.then(|| match is_own_stem(word) {
            true => Cow::Borrowed(word),
            false => Stemmer::create(Algorithm::English).stem(word),
        });
    }
    let script = word.chars().next()?.script();
    let algorithm = match script {
        Script::Cyrillic => Algorithm::Russian,
        Script::Arabic => Algorithm::Arabic,
        _ => return None,
    };
    let is_word = || {
        word.chars()
            .all(|letter| letter.is_alphabetic() && letter.script() == script)
    };
    (word.chars().count() > 2 && is_word()).then(|| Stemmer::create(algorithm).stem(word))
}

/// Returns whether a lower-case word has no ending that English stemming removes. Stemming such a word would be slow.
fn is_own_stem(word: &str) -> bool {
    !matches!(
        word.as_bytes(),
        [.., b'e' | b'i' | b's' | b'y']
            | [.., b'a' | b'l' | b'u', b'l']
            | [.., b'e', b'd']
            | [.., b'e' | b'o', b'r']
            | [.., b'i', b'c']
            | [.., b'n', b'g' | b't']
            | [.., b'o', b'n']
            | [.., b's', b'm' | b't']
    )
}

/// Returns whether a word says so little that it counts only if a query has no others.
pub(crate) fn is_filler(word: &str) -> bool {
    const FILLERS: [&str; 91] = [
        "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
        "can", "could", "d", "did", "do", "does", "doing", "for", "from", "had", "has", "have",
        "having", "he", "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its",
        "just", "ll", "m", "may", "me", "might", "must", "my", "need", "of", "on", "or", "our",
        "s", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
        "them", "then", "there", "these", "they", "this", "those", "to", "us", "ve", "want", "was",
        "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will",
        "with", "would", "you", "your", "please",
    ];
    FILLERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let mut shown = Vec::new();
        tokens(text, |token| {
            shown.push(match token {
                Token::Word { term, at } => format!("{at}:{term}"),
                Token::Name { term, at, words } => format!("{at}+{words}:{term}"),
            });
        });
        shown
    }

    #[test]
    fn identifiers_whole_and_in_parts() {
        for (text, expected) in [
            ("comparator,", vec!["0:comparator"]),
            ("\"trust lanes\"", vec!["0:trust", "1:lanes"]),
            (
                "max_doc_bytes",
                vec!["0:max", "1:doc", "2:bytes", "0+3:max_doc_bytes"],
            ),
            (
                "a ToolSpec",
                vec!["0:a", "1:tool", "2:spec", "1+2:toolspec"],
            ),
            (
                "server.tools",
                vec!["0:server", "1:tools", "0+2:server.tools"],
            ),
            (
                "resources/list;",
                vec!["0:resources", "1:list", "0+2:resources/list"],
            ),
            (
                "docs-search.",
                vec!["0:docs", "1:search", "0+2:docs-search"],
            ),
            (
                "HTTPServer2",
                vec!["0:http", "1:server", "2:2", "0+3:httpserver2"],
            ),
            ("the section's end", vec!["0:the", "1:section", "2:end"]),
            ("don't", vec!["0:dont"]),
            ("we’ll", vec!["0:well"]),
            ("l'administration", vec!["0:l", "1:administration"]),
            ("O’Reilly's", vec!["0:o", "1:reilly"]),
            ("-32602", vec!["0:32602"]),
            ("e.g. x", vec!["0:e", "1:g", "0+2:e.g", "2:x"]),
            ("", vec![]),
            ("???", vec![]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn any_script() {
        for (text, expected) in [
            ("Überprüfung", vec!["0:uberprufung"]),
            ("naïve", vec!["0:naive"]),
            ("Ἀθῆναι", vec!["0:αθηναι"]),
            ("Йод", vec!["0:йод"]),
            ("हिन्दी", vec!["0:हिन्दी"]),
            (
                "東京都",
                vec!["0:東京", "1:京都", "0+1:東", "0+1:京", "0+1:都"],
            ),
            ("漢", vec!["0:漢"]),
            ("ﬁle", vec!["0:file"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert_eq!(words("API東京docs"), ["api", "東京", "docs"]);
    }

    #[test]
    fn stems_are_for_languages_that_letters_tell() {
        assert_eq!(stem("running").as_deref(), Some("run"));
        assert_eq!(stem("bytes").as_deref(), Some("byte"));
        assert_eq!(stem("byte").as_deref(), Some("byte"));
        assert_eq!(stem("настройки"), stem("настройка"));
        assert_eq!(stem("الخادم"), stem("خادم"));
        assert_eq!(stem("αθηναι"), None);
        assert_eq!(stem("дом2"), None);
        assert_eq!(stem("x2"), None);
    }

    proptest! {
        #[test]
        fn words_that_keep_their_ending_are_their_own_stems(
            word in "(y|sk|[a-z]{0,6})[aeiouybstlx]{0,3}(at|iz|fl|tion|is|us|li|og|abl|bil)?[a-z]{1,3}",
        ) {
            prop_assume!(word.len() > 2);
            prop_assert_eq!(stem(&word).unwrap(), Stemmer::create(Algorithm::English).stem(&word));
        }

        #[test]
        fn any_word_has_a_stem_or_none(word in "[а-яёіїґѐ]{0,30}|[\u{620}-\u{64a}\u{671}-\u{6d3}]{0,30}|\\PC{0,12}") {
            let word = fold(&word);
            prop_assert!(stem(&word).is_none_or(|stem| stem.len() <= 2 * word.len()));
        }

        #[test]
        fn positions_grow_by_one(text in "\\PC{0,60}") {
            let mut next = 0;
            let count = tokens(&text, |token| match token {
                Token::Word { at, .. } => {
                    assert_eq!(at, next);
                    next += 1;
                }
                Token::Name { at, words, .. } => assert!(at + words <= next + 1 || words == 1),
            });
            prop_assert_eq!(count, next);
        }

        #[test]
        fn folding_twice_changes_nothing(text in "\\PC{0,40}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
