//! Error messages for a model: names quoted and truncated, similar names found, and everything useful in one short
//! string.
//!
//! Many hosts show their model nothing of an error but its message, so the message itself has to name what it is about
//! and say what to do next.

/// Longest message of an error, in characters.
pub const MAX_MESSAGE_CHARS: usize = 400;
/// Longest name in a message, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Longest prefix of a name that is compared, in characters.
const MAX_COMPARED_CHARS: usize = 128;
/// The least similarity of two names, from 0 to 1, for one to be offered for the other.
const ALIKE: f64 = 0.75;
/// The largest distance in similarity to the best name at which another one is still offered with it.
const MARGIN: f64 = 0.1;
/// Largest number of names that a message offers.
pub const MAX_OFFERED: usize = 5;

/// Names that the caller may have meant, as a message offers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameOffer {
    /// The words that introduce them, such as `Nearest`.
    pub lead: &'static str,
    /// The names, best first, each ready for display.
    pub names: Vec<String>,
}

/// Returns a name that others chose in the form for a message: quoted, truncated, and without invisible characters.
#[must_use]
pub fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    let mut room = MAX_NAME_CHARS;
    for c in name.chars() {
        let shown = match c {
            '"' | '\\' => format!("\\{c}"),
            c => shown(c),
        };
        let needed = shown.chars().count();
        if needed > room {
            text.push('…');
            break;
        }
        room -= needed;
        text += &shown;
    }
    text.push('"');
    text
}

/// Returns text without invisible characters, truncated to `most` characters.
#[must_use]
pub fn visible(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most + 1));
    // The rest would be cut off anyway.
    for c in text.chars().take(most + 1) {
        // Nearly all of it is shown as it is, and answers consist of such text.
        match c {
            ' '..='~' => shown.push(c),
            c => shown += &self::shown(c),
        }
    }
    match shown.char_indices().nth(most) {
        None => shown,
        Some(_) => {
            let kept = shown.chars().take(most.saturating_sub(1));
            kept.chain(['…']).take(most).collect()
        }
    }
}

/// Returns a character, or its escape if it is invisible. Combining marks that belong to the letter before them are
/// visible.
fn shown(c: char) -> String {
    match c {
        ' '..='~' => c.to_string(),
        c => {
            let after_a_letter: String = ['a', c].iter().collect();
            after_a_letter.escape_debug().skip(1).collect()
        }
    }
}

/// Returns whether a path that a caller sent may be repeated: one that could be on this machine may not.
#[must_use]
pub fn may_be_repeated(path: &str) -> bool {
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'/' | b'\\');
    let is_address = path.contains(":/") || path.to_ascii_lowercase().starts_with("file:");
    !(path.starts_with(['/', '\\']) || has_drive || is_address)
}

/// Returns those of `known` that are most similar to `name`, best first and at most `most`. The order of `known` does
/// not matter.
#[must_use]
pub fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let wanted = comparable(name);
    ranked(known, most, |candidate| {
        likeness(&wanted, &comparable(candidate))
    })
}

/// Like [`nearest`], for paths: a file name alone, with or without its extension, matches as well as the whole path.
#[must_use]
pub fn nearest_paths<'a>(
    path: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let (wanted, wanted_stem) = (comparable(path), comparable(stem(path)));
    ranked(known, most, |candidate| {
        let whole = likeness(&wanted, &comparable(candidate));
        whole.max(likeness(&wanted_stem, &comparable(stem(candidate))))
    })
}

fn ranked<'a>(
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
    likeness: impl Fn(&str) -> f64,
) -> Vec<&'a str> {
    let mut found: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    let best = found.first().map_or(0.0, |best| best.0);
    found.retain(|(likeness, _)| best - likeness <= MARGIN);
    found.truncate(most);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns the name of the file at `path`, without its extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn comparable(name: &str) -> String {
    let lower = name.chars().flat_map(char::to_lowercase);
    lower.take(MAX_COMPARED_CHARS).collect()
}

fn likeness(a: &str, b: &str) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    strsim::jaro_winkler(a, b)
}

/// Builds one message: what is wrong, as many of the offered names as fit, and what to do next, which is never cut off
/// for them.
#[must_use]
pub fn told(what: &str, offer: &NameOffer, recovery: &str) -> String {
    let recovery = visible(recovery, MAX_MESSAGE_CHARS / 2);
    let room = MAX_MESSAGE_CHARS - recovery.chars().count() - usize::from(!recovery.is_empty());
    let mut text = visible(what, room);
    let mut offered = 0;
    let mut list = String::new();
    for name in &offer.names {
        let before = if offered == 0 { ": " } else { ", " };
        let longer = format!("{list}{before}{name}");
        // A space before the offer and the full stop after it.
        let needed = text.chars().count() + offer.lead.len() + longer.chars().count() + 2;
        if needed > room {
            break;
        }
        list = longer;
        offered += 1;
    }
    if offered > 0 {
        text = format!("{text} {}{list}.", offer.lead);
    }
    match recovery.is_empty() {
        true => text,
        false => format!("{text} {recovery}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_quoted_cut_and_shown_as_they_are() {
        for (name, shown) in [
            ("a.md", "\"a.md\"".to_owned()),
            ("Über uns/日記.md", "\"Über uns/日記.md\"".to_owned()),
            ("it's", "\"it's\"".to_owned()),
            ("e\u{301}t\u{e9}", "\"e\u{301}t\u{e9}\"".to_owned()),
            ("a\"b\\c", "\"a\\\"b\\\\c\"".to_owned()),
            (
                "a\nb\u{1b}[31m\u{202e}",
                "\"a\\nb\\u{1b}[31m\\u{202e}\"".to_owned(),
            ),
            (&"x".repeat(60), format!("\"{}\"", "x".repeat(60))),
            (&"é".repeat(61), format!("\"{}…\"", "é".repeat(60))),
        ] {
            assert_eq!(quoted(name), shown);
        }
    }

    #[test]
    fn paths_of_the_machine_are_not_repeated() {
        for path in [
            "/etc/x.md",
            "C:/x.md",
            "c:\\x",
            "\\\\host\\x",
            "file:///x.md",
            "FILE:x",
            "http://h/x",
        ] {
            assert!(!may_be_repeated(path), "{path}");
        }
        for path in [
            "x.md",
            "a/b.md",
            "",
            "c:x.md",
            "~/x.md",
            "über/x.md",
            "..x.md",
        ] {
            assert!(may_be_repeated(path), "{path}");
        }
    }

    #[test]
    fn the_nearest_names_are_few_and_in_one_order_whatever_that_of_the_known_ones() {
        let known = [
            "Plan", "plans", "Planning", "Budget", "plan", "Plan b", "Plan c", "Plan d",
        ];
        let found = nearest("pln", known, MAX_OFFERED);
        assert_eq!(found[..2], ["Plan", "plan"]);
        assert_eq!(found.len(), MAX_OFFERED);
        let mut backwards = known;
        backwards.reverse();
        assert_eq!(nearest("pln", backwards, MAX_OFFERED), found);
        assert_eq!(nearest("", known, 3), [""; 0]);
        assert_eq!(nearest("zzz", known, 3), [""; 0]);
    }

    #[test]
    fn a_note_is_near_by_the_name_of_its_file() {
        let known = [
            "projects/2026/Harbour plan.md",
            "projects/x.md",
            "notes/other.md",
        ];
        for wanted in ["harbour plan", "Harbour Plan.md", "projects/harbor plan.md"] {
            let found = nearest_paths(wanted, known, 1);
            assert_eq!(found, ["projects/2026/Harbour plan.md"], "{wanted}");
        }
    }

    proptest! {
        /// Whatever it contains, a message is short, visible, and ends with what to do.
        #[test]
        fn a_message_is_short_and_ends_with_what_to_do(
            what in "\\PC{0,40}|.{0,600}",
            names in prop::collection::vec(".{0,200}", 0..8),
            recovery in "[a-z ]{1,199}\\.",
        ) {
            let offer = NameOffer { lead: "Nearest", names: names.iter().map(|name| quoted(name)).collect() };
            let text = told(&what, &offer, &recovery);
            prop_assert!(text.chars().count() <= MAX_MESSAGE_CHARS, "{text}");
            prop_assert!(text.ends_with(&recovery), "{text}");
            prop_assert!(!text.chars().any(char::is_control), "{text:?}");
        }
    }
}
