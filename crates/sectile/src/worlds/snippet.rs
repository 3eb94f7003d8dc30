//! The part of a passage that shows why it was found.

use std::ops::Range;

/// Fewest characters of a word that have to agree: words are found by their stems, so only the start may be the same.
const STEM_CHARS: usize = 4;
/// The share of a snippet before the match, as a divisor: readers want what follows more than what precedes.
const LEAD_SHARE: usize = 4;

/// The most bytes that are searched for the best part, from the first match on. More would take longer than the search
/// itself, for a passage that nobody reads in one piece.
const MOST_SEARCHED: usize = 64 << 10;

/// Returns the part of `text` with the most of the `matched` words, at most `most` characters long. It is an exact copy,
/// except that `…` marks an end where text was cut off.
pub(super) fn snippet(text: &str, matched: &[String], most: usize) -> String {
    let all = text.trim();
    let searched = searched(all, matched, most);
    let text = &all[searched.clone()];
    // Offsets of all characters, and of the end.
    let offsets: Vec<usize> = text
        .char_indices()
        .map(|(offset, _)| offset)
        .chain([text.len()])
        .collect();
    let length = offsets.len() - 1;
    if length <= most && text.len() == all.len() {
        return text.to_owned();
    }
    let start = best_start(text, matched, most).min(length - most.min(length));
    let start = word_start(text, &offsets, start, most);
    let is_cut_before = start > 0 || searched.start > 0;
    let room = most
        .saturating_sub(usize::from(is_cut_before))
        .saturating_sub(1);
    let end = (start + room).min(length);
    let is_cut_after = end < length || searched.end < all.len();
    let end = if end < length {
        word_end(text, &offsets, start, end)
    } else {
        end
    };
    let part = text[offsets[start]..offsets[end]].trim();
    let (before, after) = (
        if is_cut_before { "…" } else { "" },
        if is_cut_after { "…" } else { "" },
    );
    format!("{before}{part}{after}")
}

/// Returns the part of the text that is searched for the best snippet: all of it, or of a long one the part from just before
/// the first match.
fn searched(text: &str, matched: &[String], most: usize) -> Range<usize> {
    if text.len() <= MOST_SEARCHED {
        return 0..text.len();
    }
    let stems: Vec<Vec<char>> = matched.iter().map(|word| stem(word)).collect();
    let mut before = ' ';
    let first = text.char_indices().find(|(at, c)| {
        let starts_word = !before.is_alphanumeric() || !c.is_ascii();
        before = *c;
        let fits = |stem: &Vec<char>| {
            let mut rest = text[*at..].chars().map(lowered);
            !stem.is_empty() && stem.iter().all(|c| rest.next() == Some(*c))
        };
        starts_word && stems.iter().any(fits)
    });
    let first = first.map_or(0, |(at, _)| at);
    let start = text.floor_char_boundary(first.saturating_sub(most));
    let end = text.floor_char_boundary(start.saturating_add(MOST_SEARCHED));
    start..end
}

/// Returns the index of the character at which the window with the most different matched words starts.
fn best_start(text: &str, matched: &[String], most: usize) -> usize {
    let lower: Vec<char> = text.chars().map(lowered).collect();
    let stems: Vec<Vec<char>> = matched.iter().map(|word| stem(word)).collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for at in 0..lower.len() {
        let starts_word = at == 0 || !lower[at - 1].is_alphanumeric() || !lower[at].is_ascii();
        if !starts_word {
            continue;
        }
        let fits = |stem: &&Vec<char>| !stem.is_empty() && lower[at..].starts_with(stem);
        let which = stems.iter().position(|stem| fits(&stem));
        found.extend(which.map(|which| (at, which)));
    }
    let reach = most - most / LEAD_SHARE;
    let mut best = (0, 0);
    for (index, (at, _)) in found.iter().enumerate() {
        let within = found[index..]
            .iter()
            .take_while(|(other, _)| *other < at + reach);
        let mut words: Vec<usize> = within.map(|(_, word)| *word).collect();
        words.sort_unstable();
        words.dedup();
        // The first of several equally good windows is taken.
        if words.len() > best.0 {
            best = (words.len(), *at);
        }
    }
    best.1.saturating_sub(most / LEAD_SHARE)
}

/// Returns the start of a word that every form of it has.
fn stem(word: &str) -> Vec<char> {
    let chars: Vec<char> = word.chars().map(lowered).collect();
    let kept = (chars.len() * 2 / 3).max(STEM_CHARS).min(chars.len());
    chars[..kept].to_vec()
}

/// Lowers a character. Where that takes several, the first is enough: both sides are lowered alike.
fn lowered(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    c.to_lowercase().next().unwrap_or(c)
}

/// Moves a start in the middle of a word to the next one, unless that is far away.
fn word_start(text: &str, offsets: &[usize], start: usize, most: usize) -> usize {
    if start == 0 {
        return 0;
    }
    let rest = text[offsets[start - 1]..].chars();
    let to_blank = rest.take(most / LEAD_SHARE).position(char::is_whitespace);
    to_blank.map_or(start, |blank| start + blank)
}

/// Moves an end in the middle of a word to the end of the one before, unless there is none.
fn word_end(text: &str, offsets: &[usize], start: usize, end: usize) -> usize {
    let next = text[offsets[end]..].chars().next();
    if next.is_none_or(char::is_whitespace) {
        return end;
    }
    let part = text[offsets[start]..offsets[end]].chars();
    let back = part.rev().position(char::is_whitespace);
    match back {
        Some(back) if back < (end - start) / LEAD_SHARE => end - back,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_short_passage_is_shown_as_it_is() {
        assert_eq!(snippet("  One\ntwo.\n", &[], 240), "One\ntwo.");
        assert_eq!(snippet("", &words(&["a"]), 240), "");
    }

    #[test]
    fn the_window_is_the_one_with_most_of_the_words() {
        let filler = "nothing to see here at all ".repeat(20);
        let text = format!("harbour {filler} the Harbours budget was approved {filler}");
        let shown = snippet(&text, &words(&["harbour", "budget"]), 80);
        assert!(shown.contains("Harbours budget was approved"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(!shown.contains("othing to see here at all nothing to see here at all nothing"));
    }

    #[test]
    fn a_match_far_into_a_long_passage_is_shown() {
        let filler = "Überall nothing to see. ".repeat(100_000);
        let text = format!("{filler}The harbour and its budget. {filler}");
        let shown = snippet(&text, &words(&["budget", "harbours"]), 80);
        assert!(shown.contains("The harbour and its budget."), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() <= 80, "{shown}");
        // Without a match, and with one in the last words.
        let shown = snippet(&text, &words(&["walrus"]), 80);
        assert!(
            shown.starts_with("Überall") && shown.ends_with('…'),
            "{shown}"
        );
        let text = format!("{filler}At last a walrus. Nothing else is to be seen here.");
        let shown = snippet(&text, &words(&["walrus"]), 80);
        assert!(shown.contains("At last a walrus."), "{shown}");
    }

    #[test]
    fn scripts_without_blanks_are_cut_between_characters() {
        let text = "港口的预算".repeat(100);
        let shown = snippet(&text, &words(&["预算"]), 60);
        assert_eq!(shown.chars().count(), 60, "{shown}");
        assert!(shown.contains("预算"));
    }

    proptest! {
        /// Whatever the text, the snippet is short and every character of it but the marks is a copy.
        #[test]
        fn a_snippet_is_a_copy(text in "[a-zA-Zäß预 \n.]{0,400}", word in "[a-zß预]{0,6}", most in 3..120_usize) {
            let shown = snippet(&text, &[word], most);
            prop_assert!(shown.chars().count() <= most);
            let part = shown.strip_prefix('…').unwrap_or(&shown);
            let part = part.strip_suffix('…').unwrap_or(part);
            prop_assert!(text.contains(part), "{:?} in {:?}", part, text);
        }
    }
}
