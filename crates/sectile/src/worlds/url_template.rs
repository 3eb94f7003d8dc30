//! Templates of addresses, which settings have for documents and sections.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that stay as they are in every part of an address.
pub(super) const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The same for a path, whose segments stay apart.
pub(super) const PATH: &AsciiSet = &PART.remove(b'/');

/// Returns whether `template` is an address with a scheme, and has no names in braces but `placeholders`.
pub(super) fn is_template(template: &str, placeholders: &[&str]) -> bool {
    let mut has_unknown = false;
    let shown = filled(template, |name| {
        has_unknown |= !placeholders.contains(&name);
        Some(String::new())
    });
    let has_scheme = shown.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let is_clean = !shown.chars().any(|c| c.is_control() || c.is_whitespace());
    has_scheme && is_clean && !has_unknown
}

/// Returns `text` with every character percent-encoded that is not in `kept`.
pub(super) fn encoded(text: &str, kept: &'static AsciiSet) -> String {
    utf8_percent_encode(text, kept).to_string()
}

/// Puts values in place of `{name}`. What has no value, or no closing brace, stays as it is.
pub(super) fn filled(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        match after.split_once('}') {
            Some((name, after)) => {
                text += &value(name).unwrap_or_else(|| format!("{{{name}}}"));
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}
