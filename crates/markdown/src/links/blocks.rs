//! Block names as Obsidian writes them: `^name` at the end of a line of text.

use std::ops::Range;

/// Returns the block name at the end of the line in which the text at `range` ends, if that text is the last on the
/// line.
pub(super) fn name_at_end<'t>(text: &'t str, range: &Range<usize>) -> Option<&'t str> {
    let rest = text[range.end..].trim_start_matches([' ', '\t']);
    if !rest.is_empty() && !rest.starts_with(['\n', '\r']) {
        return None;
    }
    let line = text[range.clone()].trim_end_matches([' ', '\t']);
    let before = line.trim_end_matches(is_in_name);
    let name = &line[before.len()..];
    let before = before.strip_suffix('^').filter(|_| !name.is_empty())?;
    // The text before it may be another node.
    let before = &text[..range.start + before.len()];
    (before.is_empty() || before.ends_with(char::is_whitespace)).then_some(name)
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}
