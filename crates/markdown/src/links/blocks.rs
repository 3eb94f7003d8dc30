//! Block names as Obsidian writes them: `^name` at the end of a line of text.

use std::{collections::HashSet, ops::Range};

use pulldown_cmark::{Event, Tag, TagEnd};

use super::heading_names::folded;

/// Finds the names of blocks while the parser events are read for another purpose.
#[derive(Default)]
pub(crate) struct BlockReader {
    names: HashSet<String>,
    in_code: bool,
}

impl BlockReader {
    /// Reads an event of `text`.
    pub(crate) fn event(&mut self, text: &str, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => self.in_code = true,
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Text(_) if !self.in_code => {
                self.names.extend(name_at_end(text, range).map(folded));
            }
            _ => {}
        }
    }

    /// Returns the names, as [`block_key`](super::block_key) returns them.
    pub(crate) fn finish(self) -> HashSet<String> {
        self.names
    }
}

/// Returns the block name at the end of the line in which the text at `range` ends, if that text is the last on the
/// line.
fn name_at_end<'t>(text: &'t str, range: &Range<usize>) -> Option<&'t str> {
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
