//! Templates of addresses, which settings have for documents and sections.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

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

/// Returns `text` with its percent-encoded characters decoded.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the values that were put in place of `{name}` to make `url`; `None` if it was not made from the template.
pub(super) fn values<'t>(template: &'t str, url: &str) -> Option<Vec<(&'t str, String)>> {
    let mut values = Vec::new();
    let (mut template, mut url) = (template, url);
    while let Some((before, (name, after))) = template
        .split_once('{')
        .and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        url = url.strip_prefix(before)?;
        let next = after.split('{').next().unwrap_or_default();
        let end = match next {
            "" => url.len(),
            next => url.find(next)?,
        };
        values.push((name, decoded(&url[..end])));
        (template, url) = (after, &url[end..]);
    }
    (template == url).then_some(values)
}
