//! Facts about a passage that was to be replaced but does not occur exactly once: where it occurs, or what comes nearest.

use sectile_mcp::{nearest, visible};
use sectile_vault::editor::{EditText, Scope, View};

use super::{
    errors::{OfferedId, listed},
    roots::{DeskRoot, VisibleRoots},
};

/// Maximum number of occurrences that are shown.
const MAX_SHOWN: usize = 5;
/// Maximum length of a line that is shown, in characters.
const MAX_LINE_CHARS: usize = 160;
/// Maximum number of lines that are compared with the passage, to bound the cost of a mistake.
const MAX_COMPARED_LINES: usize = 20_000;
/// Maximum number of lines shown of the text that differs from the passage only in white space.
const MAX_SHOWN_LINES: usize = 12;

impl VisibleRoots<'_> {
    /// Returns the facts about a passage that does not occur exactly once where `edit` looks for it.
    pub(super) fn passage_facts(&self, root: &DeskRoot, edit: &EditText) -> String {
        let view = edit.path.as_ref().and_then(|path| {
            let view = root.folder.editor.view(path);
            view.ok()
        });
        let Some(view) = view else {
            return String::new();
        };
        let id = edit
            .section
            .as_ref()
            .and_then(|section| section.id.as_ref());
        let position = id.and_then(|id| view.position_of(id));
        let region = match position {
            Some(position) => {
                let is_subtree = edit.scope == Scope::Subtree;
                view.content(position, is_subtree).unwrap_or_default()
            }
            None => String::from_utf8_lossy(view.bytes()).into_owned(),
        };
        let (region, old) = (with_line_feeds(&region), with_line_feeds(&edit.old_text));
        if old.is_empty() {
            return String::new();
        }
        let found: Vec<usize> = region.match_indices(&old).map(|(at, _)| at).collect();
        if !found.is_empty() {
            return occurrences(&region, &found);
        }
        let elsewhere = match position {
            Some(_) => self.sections_with(root, &view, &old),
            None => Vec::new(),
        };
        if !elsewhere.is_empty() {
            return format!("It occurs here:\n{}", listed(&elsewhere));
        }
        similar(&region, &old).unwrap_or_default()
    }

    /// Returns the sections of a document that hold `old` in their own text.
    fn sections_with(&self, root: &DeskRoot, view: &View, old: &str) -> Vec<OfferedId> {
        let holds = |position: &usize| {
            let text = view.content(*position, false).unwrap_or_default();
            with_line_feeds(&text).contains(old)
        };
        let positions = (0..view.ids().len()).filter(holds).take(MAX_SHOWN);
        let offered = |position: usize| {
            let section = view.section(position)?;
            Some(OfferedId {
                id: self.id_of(root, view.path().as_str(), Some(&section.id)),
                title: section.heading,
                place: String::new(),
            })
        };
        positions.filter_map(offered).collect()
    }
}

fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The lines that the passage occurs in.
fn occurrences(region: &str, found: &[usize]) -> String {
    let line = |at: &usize| {
        let start = region[..*at].rfind('\n').map_or(0, |end| end + 1);
        let number = region[..start].matches('\n').count() + 1;
        let line = region[start..].lines().next().unwrap_or_default();
        format!(
            "- line {number} of it: {}",
            visible(line.trim(), MAX_LINE_CHARS)
        )
    };
    let mut lines: Vec<String> = found.iter().take(MAX_SHOWN).map(line).collect();
    if let Some(more @ 1..) = found.len().checked_sub(MAX_SHOWN) {
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

/// The text that comes nearest to `old`: the same with other white space, or else the most similar line.
fn similar(region: &str, old: &str) -> Option<String> {
    if let Some(same) = same_but_for_blanks(region, old) {
        let lines: Vec<&str> = same.lines().take(MAX_SHOWN_LINES).collect();
        let shown = lines.join("\n");
        return Some(format!(
            "Only white space differs. The text there is:\n{shown}"
        ));
    }
    let first = old.lines().find(|line| !line.trim().is_empty())?;
    let lines = region.lines().take(MAX_COMPARED_LINES).map(str::trim);
    let near = nearest(first.trim(), lines.filter(|line| !line.is_empty()), 1);
    let line = near.first()?;
    Some(format!("Nearest line:\n{}", visible(line, MAX_LINE_CHARS)))
}

/// Returns the passage of `region` that has the same words as `old`, separated by other white space.
fn same_but_for_blanks<'t>(region: &'t str, old: &str) -> Option<&'t str> {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().concat();
    let wanted = squeezed(old);
    if wanted.is_empty() {
        return None;
    }
    // The letters without blanks, and where each of them is.
    let letters = region.char_indices().filter(|(_, c)| !c.is_whitespace());
    let mut text = String::new();
    let mut places = Vec::new();
    for (at, c) in letters {
        places.extend(std::iter::repeat_n(at, c.len_utf8()));
        text.push(c);
    }
    let at = text.find(&wanted)?;
    let last = places.get(at + wanted.len() - 1)?;
    let end = last + region[*last..].chars().next()?.len_utf8();
    region.get(*places.get(at)?..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_with_other_white_space_is_shown_as_it_is_written() {
        let region = "One  two\n\tthree, four.\n";
        assert_eq!(
            same_but_for_blanks(region, "two three,"),
            Some("two\n\tthree,")
        );
        assert_eq!(
            same_but_for_blanks("für  dich", "für dich"),
            Some("für  dich")
        );
        assert_eq!(same_but_for_blanks(region, "two four"), None);
        assert_eq!(same_but_for_blanks(region, " \n"), None);
        let shown = similar(region, "two three,").unwrap();
        assert!(shown.contains("Only white space differs"), "{shown}");
    }

    #[test]
    fn the_most_similar_line_is_shown() {
        let region = "# Plan\n\nThe budget is 40 euros.\n\nNothing else.\n";
        let shown = similar(region, "The budget is 45 euros.").unwrap();
        assert_eq!(shown, "Nearest line:\nThe budget is 40 euros.");
        assert_eq!(similar(region, "zzz"), None);
    }

    #[test]
    fn occurrences_are_shown_with_their_lines() {
        let region = "a\nb a\na\n";
        let found: Vec<usize> = region.match_indices('a').map(|(at, _)| at).collect();
        assert_eq!(
            occurrences(region, &found),
            "- line 1 of it: a\n- line 2 of it: b a\n- line 3 of it: a"
        );
    }
}
