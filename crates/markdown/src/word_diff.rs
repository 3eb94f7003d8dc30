//! Differences between two short texts word by word, and the part of a long text that comes nearest to a short one.

use std::{collections::HashMap, ops::Range};

use similar::{
    Algorithm, DiffTag,
    algorithms::{Capture, Replace, diff_slices},
};
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    comparison::{has_no_spaces, joins_digits},
    is_whitespace,
};

/// The most words of a quotation that are compared. Comparing takes time quadratic in the number of differences, and a
/// reader of a longer list of differences would not see more.
const MAX_COMPARED_WORDS: usize = 2_000;
/// The fewest words that two texts must share to be alike.
const MIN_SHARED_WORDS: usize = 2;

/// A stretch of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordChange {
    /// Both texts have it.
    Same(String),
    /// Only the old text has it.
    Old(String),
    /// Only the new text has it.
    New(String),
}

/// The passage that comes nearest to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearText {
    /// Where it is, in bytes.
    pub part: Range<usize>,
    /// How much of the wanted text it has, in thousandths of its words, in their order.
    pub likeness: u32,
}

/// A word, a number or a punctuation mark.
struct WordToken {
    place: Range<usize>,
    key: String,
    is_word: bool,
}

/// Compares two texts word by word. Of very long texts, what follows the first 2,000 words counts as different.
#[must_use]
pub fn word_diff(old: &str, new: &str) -> Vec<WordChange> {
    let (old_words, new_words) = (tokens(old), tokens(new));
    let (old_end, new_end) = (
        old_words.len().min(MAX_COMPARED_WORDS),
        new_words.len().min(MAX_COMPARED_WORDS),
    );
    let mut changes = Vec::new();
    let mut add = |change: WordChange| match &change {
        WordChange::Same(text) | WordChange::Old(text) | WordChange::New(text) => {
            if !text.is_empty() {
                changes.push(change);
            }
        }
    };
    for operation in compared(&old_words[..old_end], &new_words[..new_end]) {
        let (tag, old_range, new_range) = operation;
        if tag == DiffTag::Equal {
            add(WordChange::Same(slice(old, &old_words, old_range)));
        } else {
            add(WordChange::Old(slice(old, &old_words, old_range)));
            add(WordChange::New(slice(new, &new_words, new_range)));
        }
    }
    add(WordChange::Old(slice(
        old,
        &old_words,
        old_end..old_words.len(),
    )));
    add(WordChange::New(slice(
        new,
        &new_words,
        new_end..new_words.len(),
    )));
    changes
}

/// Returns the part of `text` that comes nearest to `wanted`; `None` if no part has half of its words.
#[must_use]
pub fn near_text(wanted: &str, text: &str) -> Option<NearText> {
    let mut wanted = tokens(wanted);
    wanted.truncate(MAX_COMPARED_WORDS);
    let text = tokens(text);
    let window = window(&wanted, &text)?;
    let operations = compared(&wanted, &text[window.clone()]).into_iter();
    let equal = operations.filter(|(tag, ..)| *tag == DiffTag::Equal);
    let equal: Vec<(Range<usize>, Range<usize>)> = equal.map(|(_, old, new)| (old, new)).collect();
    let equal = together(&equal);
    let shared: usize = equal
        .iter()
        .flat_map(|(old, _)| &wanted[old.clone()])
        .filter(|token| token.is_word)
        .count();
    let words = wanted.iter().filter(|token| token.is_word).count();
    if shared < MIN_SHARED_WORDS || shared * 2 < words {
        return None;
    }
    // Words before the first that is shared stand for as many of the text.
    let (first_old, first_new) = equal.first()?;
    let (last_old, last_new) = equal.last()?;
    let start = (window.start + first_new.start).saturating_sub(first_old.start);
    let missing = wanted.len() - last_old.end;
    let end = (window.start + last_new.end + missing).min(text.len());
    Some(NearText {
        part: text.get(start)?.place.start..text.get(end.checked_sub(1)?)?.place.end,
        likeness: u32::try_from(shared * 1000 / words.max(1)).unwrap_or(u32::MAX),
    })
}

/// Leaves out equal stretches at both ends that are farther from the others than they are long: a word that happens to be
/// in the sentence before does not belong to the text.
fn together(mut equal: &[(Range<usize>, Range<usize>)]) -> &[(Range<usize>, Range<usize>)] {
    type Stretch = (Range<usize>, Range<usize>);
    let is_apart = |outer: &Stretch, before: &Stretch, after: &Stretch| {
        let added = after.1.start - before.1.end;
        let removed = after.0.start - before.0.end;
        added > removed + outer.0.len()
    };
    while let [first, rest @ ..] = equal
        && let Some(next) = rest.first()
        && is_apart(first, first, next)
    {
        equal = rest;
    }
    while let [rest @ .., last] = equal
        && let Some(previous) = rest.last()
        && is_apart(last, previous, last)
    {
        equal = rest;
    }
    equal
}

/// Returns the first window of the text with the most words of `wanted`, a little longer than that.
fn window(wanted: &[WordToken], text: &[WordToken]) -> Option<Range<usize>> {
    let length = wanted.len() + wanted.len() / 4 + 2;
    let mut room: HashMap<&str, i64> = HashMap::new();
    for token in wanted.iter().filter(|token| token.is_word) {
        *room.entry(&token.key).or_default() += 1;
    }
    let (mut shared, mut best) = (0_usize, (0_usize, 0_usize));
    for (at, token) in text.iter().enumerate() {
        if let Some(left) = room.get_mut(token.key.as_str()) {
            shared += usize::from(*left > 0);
            *left -= 1;
        }
        if let Some(gone) = at.checked_sub(length)
            && let Some(left) = room.get_mut(text[gone].key.as_str())
        {
            *left += 1;
            shared -= usize::from(*left > 0);
        }
        if shared > best.0 {
            best = (shared, at + 1);
        }
    }
    let (shared, end) = best;
    (shared > 0).then(|| {
        // The window ends with the last shared word; what differs may follow it.
        let start = end.saturating_sub(length);
        start..(end + wanted.len() / 4 + 2).min(text.len())
    })
}

type Operation = (DiffTag, Range<usize>, Range<usize>);

fn compared(old: &[WordToken], new: &[WordToken]) -> Vec<Operation> {
    let key = |token: &WordToken| token.key.clone();
    let old: Vec<String> = old.iter().map(key).collect();
    let new: Vec<String> = new.iter().map(key).collect();
    let mut hook = Replace::new(Capture::new());
    let Ok(()) = diff_slices(Algorithm::Myers, &mut hook, &old, &new);
    let operations = hook.into_inner().into_ops();
    let operations = operations.iter();
    operations
        .map(|one| (one.tag(), one.old_range(), one.new_range()))
        .collect()
}

/// Returns the text of some tokens, with what is between them.
fn slice(text: &str, tokens: &[WordToken], range: Range<usize>) -> String {
    let part = tokens.get(range).unwrap_or_default();
    match (part.first(), part.last()) {
        (Some(first), Some(last)) => text[first.place.start..last.place.end].to_owned(),
        _ => String::new(),
    }
}

/// Splits text into words, numbers and punctuation marks. A character of a script without spaces is a word.
fn tokens(text: &str) -> Vec<WordToken> {
    let mut tokens = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((start, c)) = characters.next() {
        if is_whitespace(c) {
            continue;
        }
        let mut end = start + c.len_utf8();
        let is_word = c.is_alphanumeric();
        if is_word && !has_no_spaces(c) {
            let mut last = c;
            while let Some((at, next)) = characters.peek().copied() {
                let after = text[at + next.len_utf8()..].chars().next();
                let is_number =
                    last.is_numeric() && joins_digits(next) && after.is_some_and(char::is_numeric);
                let is_contraction = last.is_alphabetic()
                    && matches!(next, '\'' | '\u{2019}')
                    && after.is_some_and(char::is_alphabetic);
                let is_joint = is_number || is_contraction;
                if !is_joint && !continues_word(next) {
                    break;
                }
                characters.next();
                (last, end) = (next, at + next.len_utf8());
            }
        }
        tokens.push(WordToken {
            key: text[start..end].nfc().collect(),
            place: start..end,
            is_word,
        });
    }
    tokens
}

fn continues_word(c: char) -> bool {
    let is_letter = c.is_alphanumeric() && !has_no_spaces(c);
    is_letter || unicode_normalization::char::is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let changes = word_diff(old, new);
        let changes = changes.iter().map(|change| match change {
            WordChange::Same(text) => text.clone(),
            WordChange::Old(text) => format!("[-{text}-]"),
            WordChange::New(text) => format!("{{+{text}+}}"),
        });
        changes.collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn words_and_numbers_are_compared_whole() {
        for (old, new, diff) in [
            (
                "It costs 4,500 euros.",
                "It costs 4,000 euros.",
                "It costs [-4,500-] {+4,000+} euros.",
            ),
            ("I can go", "I can't go", "I [-can-] {+can't+} go"),
            ("a b c", "a c", "a [-b-] c"),
            ("no end", "no end, yet", "no end {+, yet+}"),
            ("预算四千", "预算五千", "预算 [-四-] {+五+} 千"),
            ("caf\u{e9} noir", "cafe\u{301} noir", "caf\u{e9} noir"),
            ("", "", ""),
        ] {
            assert_eq!(shown(old, new), diff, "{old}");
        }
    }

    #[test]
    fn the_nearest_part_is_the_one_that_was_changed() {
        let text =
            "The budget was agreed in May. The pilot costs 350 a day, food included. Hay is not.";
        for (wanted, near) in [
            (
                "The pilot costs 400 a day",
                Some("The pilot costs 350 a day"),
            ),
            (
                "A pilot costs 350 a day, food included",
                Some("The pilot costs 350 a day, food included"),
            ),
            (
                "The pilot costs 350 a week",
                Some("The pilot costs 350 a day"),
            ),
            (
                "the pilot costs 350 a day",
                Some("The pilot costs 350 a day"),
            ),
            ("something that nobody ever wrote here", None),
            ("day", None),
        ] {
            let found = near_text(wanted, text);
            let found = found.map(|found| &text[found.part]);
            assert_eq!(found, near, "{wanted}");
        }
        assert_eq!(near_text("a", ""), None);
        assert_eq!(near_text("", "a"), None);
    }

    proptest! {
        #[test]
        fn a_diff_has_all_words_of_both(old in "[a-c .,1二]{0,30}", new in "[a-c .,1二]{0,30}") {
            let kept = |text: &str| text.replace(' ', "");
            let (mut before, mut after) = (String::new(), String::new());
            for change in word_diff(&old, &new) {
                match change {
                    WordChange::Same(text) => {
                        before += &text;
                        after += &text;
                    }
                    WordChange::Old(text) => before += &text,
                    WordChange::New(text) => after += &text,
                }
            }
            prop_assert_eq!(kept(&before), kept(&old));
            prop_assert_eq!(kept(&after), kept(&new));
            if let Some(near) = near_text(&old, &new) {
                prop_assert!(new.get(near.part).is_some() && near.likeness <= 1000);
            }
        }
    }
}
