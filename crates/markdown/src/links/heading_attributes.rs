//! Attributes that an author writes after a heading's text: `{#id}`, `{ #id .class }`, `{: #id }`.

use super::AnchorStyle;

/// The attributes of a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeadingAttributes {
    /// The offset in the heading at which its text ends.
    pub(crate) text_end: usize,
    /// The id.
    pub(crate) id: Option<String>,
}

/// Returns the attributes at the end of a heading, given as it is written.
///
/// Braces around words that are not attributes are text, although some of the programs drop them: `/users/{id}`.
pub(crate) fn heading_attributes(heading: &str, style: AnchorStyle) -> Option<HeadingAttributes> {
    if !style.has_heading_ids() {
        return None;
    }
    let line = content(heading, style);
    let inner = line.strip_suffix('}')?;
    let start = inner.rfind('{')?;
    let before = &line[..start];
    let (written, can_be_escaped) = (
        &inner[start + 1..],
        matches!(style, AnchorStyle::MkDocs | AnchorStyle::VitePress),
    );
    if can_be_escaped && before.ends_with('\\') {
        return None;
    }
    let id = match style {
        AnchorStyle::Docusaurus => Some(docusaurus_id(written)?),
        AnchorStyle::MkDocs if !before.ends_with(' ') => return None,
        _ => listed_id(written, style)?,
    };
    let text = before.trim_end();
    // These two look for the closing sequence once more.
    let text = match style {
        AnchorStyle::MdBook | AnchorStyle::MkDocs => text.trim_end_matches('#').trim_end(),
        _ => text,
    };
    Some(HeadingAttributes {
        text_end: text.len(),
        id,
    })
}

/// Returns the id in a list of attributes, or `None` if it is not such a list.
fn listed_id(written: &str, style: AnchorStyle) -> Option<Option<String>> {
    let list = written.strip_prefix(':').unwrap_or(written);
    let is_attribute = |word: &str| match word.as_bytes() {
        [b'#' | b'.', _, ..] => true,
        _ => word.split_once('=').is_some_and(|(key, _)| !key.is_empty()),
    };
    let mut words = list.split_ascii_whitespace().peekable();
    if words.peek().is_none() || !words.clone().all(is_attribute) {
        return None;
    }
    let mut ids = words.filter_map(|word| word.strip_prefix('#'));
    let id = match style {
        AnchorStyle::VitePress => ids.next(),
        _ => ids.next_back(),
    };
    Some(id.map(str::to_owned))
}

/// Returns the id in the braces of Docusaurus, which may be a comment in a program: `{#id}`, `{/* #id */}`.
fn docusaurus_id(written: &str) -> Option<String> {
    let comment = written
        .strip_prefix("/*")
        .and_then(|rest| rest.strip_suffix("*/"));
    // Docusaurus takes all of `{#id .class}`, but such a fragment could not be linked to.
    let word = comment.unwrap_or(written).split_ascii_whitespace().next()?;
    let id = word.strip_prefix('#')?;
    (!id.is_empty()).then(|| id.to_owned())
}

/// Returns a heading without what closes it: the underline, or the closing sequence.
fn content(heading: &str, style: AnchorStyle) -> &str {
    let heading = heading.trim_end();
    if !heading.starts_with('#') {
        let text = heading.rsplit_once('\n').map_or("", |(text, _)| text);
        return text.trim_end();
    }
    let open = heading.trim_end_matches('#');
    // mdBook takes attributes only at the very end.
    match open.ends_with([' ', '\t']) && style != AnchorStyle::MdBook {
        true => open.trim_end(),
        false => heading,
    }
}
