//! The names by which links refer to a heading: GitHub's anchors, and heading texts as Obsidian compares them.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::is_whitespace;

/// Returns the anchor that GitHub generates from a heading's text, before it is made unique: lower case, with letters,
/// marks, digits, `-` and `_` kept, spaces as `-`, and everything else dropped.
#[must_use]
pub fn github_anchor(text: &str) -> String {
    text.to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            _ => is_kept_in_anchor(c).then_some(c),
        })
        .collect()
}

fn is_kept_in_anchor(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    }
    let is_connector = matches!(
        c,
        '\u{203f}' | '\u{2040}' | '\u{2054}' | '\u{fe33}' | '\u{fe34}' | '\u{fe4d}'
            ..='\u{fe4f}' | '\u{ff3f}'
    );
    c.is_alphabetic()
        || is_combining_mark(c)
        || is_connector
        || (c.is_numeric() && !is_number_without_place_value(c))
}

/// Numbers that are not decimal digits, such as `²`, `½` and `①`; those of the basic plane.
fn is_number_without_place_value(c: char) -> bool {
    matches!(c,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{bc}'..='\u{be}' | '\u{9f4}'..='\u{9f9}'
        | '\u{b72}'..='\u{b77}' | '\u{bf0}'..='\u{bf2}' | '\u{c78}'..='\u{c7e}'
        | '\u{d58}'..='\u{d5e}' | '\u{d70}'..='\u{d78}' | '\u{f2a}'..='\u{f33}'
        | '\u{1369}'..='\u{137c}' | '\u{17f0}'..='\u{17f9}' | '\u{19da}' | '\u{2070}'
        | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}' | '\u{2150}'..='\u{215f}' | '\u{2189}'
        | '\u{2460}'..='\u{249b}' | '\u{24ea}'..='\u{24ff}' | '\u{2776}'..='\u{2793}' | '\u{2cfd}'
        | '\u{3192}'..='\u{3195}' | '\u{3220}'..='\u{3229}' | '\u{3248}'..='\u{324f}'
        | '\u{3251}'..='\u{325f}' | '\u{3280}'..='\u{3289}' | '\u{32b1}'..='\u{32bf}'
        | '\u{a830}'..='\u{a835}'
    )
}

/// Returns a heading's text as it can be written in a wiki link: characters that would end or split the link become
/// spaces.
pub(super) fn text_for_link(text: &str) -> String {
    with_spaces_for(&text.replace("%%", " "), |c| {
        matches!(
            c,
            ':' | '#' | '|' | '^' | '\\' | '[' | ']' | '`' | '<' | '>'
        )
    })
}

/// Returns a key that is equal for texts that differ only in case and in characters that a wiki link cannot contain.
pub(super) fn strict_key(text: &str) -> String {
    folded(&text_for_link(text))
}

/// Returns a key that is equal for texts that Obsidian takes for the same heading: it ignores ASCII punctuation, except
/// `-`, `_` and `'`.
pub(super) fn loose_key(text: &str) -> String {
    folded(&with_spaces_for(text, |c| {
        c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '\'')
    }))
}

/// Folds `text` to one case and one normal form.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfc().collect::<String>().to_lowercase()
    }
}

/// Replaces `dropped` characters with spaces, collapses white space and trims the ends.
fn with_spaces_for(text: &str, dropped: impl Fn(char) -> bool) -> String {
    let mut result = String::with_capacity(text.len());
    for word in text
        .split(|c| is_whitespace(c) || c.is_control() || dropped(c))
        .filter(|word| !word.is_empty())
    {
        if !result.is_empty() {
            result.push(' ');
        }
        result.push_str(word);
    }
    result
}

/// Splits a heading's text from the id that some tools allow after it, `{#id}`.
pub(super) fn split_id(text: &str) -> (&str, Option<&str>) {
    let split = text
        .trim_end()
        .strip_suffix('}')
        .and_then(|text| text.rsplit_once("{#"));
    match split {
        Some((text, attributes)) if !attributes.contains(['{', '}']) => {
            let id = attributes.split_whitespace().next();
            (text.trim_end(), id)
        }
        _ => (text, None),
    }
}

/// Iterates over the values of `id` and `name` in a piece of HTML.
pub(super) fn html_ids(html: &str) -> impl Iterator<Item = &str> {
    html.match_indices('=').filter_map(|(at, _)| {
        let before = html[..at].trim_end();
        let before_name = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let name = &before[before_name.len()..];
        let is_known = ["id", "name"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        if !is_known || !before_name.ends_with(char::is_whitespace) {
            return None;
        }
        let value = html[at + 1..].trim_start();
        match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split_once(quote).map(|(value, _)| value),
            _ => value.split(|c: char| c == '>' || c.is_whitespace()).next(),
        }
    })
}
