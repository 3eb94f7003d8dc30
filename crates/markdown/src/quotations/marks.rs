//! Pairs of quotation marks.

use super::LeafCharacter;
use crate::is_whitespace;

/// Quotation marks that open, and those that close what they open.
const PAIRS: &[(char, &[char])] = &[
    ('"', &['"']),
    ('\u{201c}', &['\u{201d}']),
    ('\u{201d}', &['\u{201d}']),
    ('\u{201e}', &['\u{201c}', '\u{201d}']),
    ('\u{ab}', &['\u{bb}']),
    ('\u{bb}', &['\u{ab}', '\u{bb}']),
    ('\u{2039}', &['\u{203a}']),
    ('\u{203a}', &['\u{2039}']),
    ('\u{300c}', &['\u{300d}']),
    ('\u{300e}', &['\u{300f}']),
    ('\'', &['\'']),
    ('\u{2018}', &['\u{2019}']),
    ('\u{201a}', &['\u{2018}', '\u{2019}']),
];
/// The longest text between two marks, in characters. A mark without a partner does not pair with one pages later.
const MAX_BETWEEN: usize = super::MAX_QUOTATION_BYTES;
/// The most marks of one block whose partner is looked for without success. They bound the cost of a draft full of them.
const MAX_UNPAIRED: usize = 64;

/// Returns the outermost pairs of quotation marks in a block, as indexes of their characters. Marks in code do not count.
pub(super) fn pairs(characters: &[LeafCharacter]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut at, mut unpaired) = (0, 0);
    while at < characters.len() && unpaired < MAX_UNPAIRED {
        let closers = PAIRS.iter().find(|(open, _)| *open == characters[at].c);
        let closers = closers.filter(|_| !characters[at].is_code && opens(characters, at));
        let close = closers.and_then(|(_, closers)| closing(characters, at, closers));
        unpaired += usize::from(closers.is_some() && close.is_none());
        match close {
            Some(close) => {
                pairs.push((at, close));
                at = close + 1;
            }
            None => at += 1,
        }
    }
    pairs
}

/// Returns whether a mark is where a quotation may start.
fn opens(characters: &[LeafCharacter], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| characters[before].c);
    let after = characters.get(at + 1).map(|one| one.c);
    if matches!(
        characters[at].c,
        '\u{201c}' | '\u{201e}' | '\u{ab}' | '\u{2039}' | '\u{300c}' | '\u{300e}'
    ) {
        return true;
    }
    let is_free =
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | ',' | '!' | '?'));
    is_free && after.is_some_and(|c| !is_whitespace(c))
}

/// Returns the mark that closes the quotation that starts at `open`.
fn closing(characters: &[LeafCharacter], open: usize, closers: &[char]) -> Option<usize> {
    let mark = characters[open].c;
    let is_single = matches!(mark, '\'' | '\u{2018}' | '\u{201a}');
    let is_nesting = !closers.contains(&mark);
    let mut depth = 0_usize;
    let end = characters.len().min(open + 1 + MAX_BETWEEN);
    for at in open + 1..end {
        let one = characters[at];
        if one.is_code {
            continue;
        }
        if is_nesting && one.c == mark {
            depth += 1;
        } else if closers.contains(&one.c) {
            let after = characters.get(at + 1).map(|next| next.c);
            // An apostrophe, or the sign for inches.
            let is_inside = after.is_some_and(char::is_alphanumeric) && (is_single || mark == '"');
            if is_inside {
                continue;
            }
            if depth == 0 {
                return Some(at);
            }
            depth -= 1;
        }
    }
    None
}
