//! Diffs that fit into an answer: which documents moved, and the changed lines.

use sectile_markdown::estimate_tokens;

/// Maximum length of the start of a line that does not fit, in characters.
const CUT_LINE_CHARS: usize = 80;

/// The length that a diff may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiffRoom {
    pub(super) tokens: usize,
    pub(super) lines: usize,
    /// Whether its reader made the change and needs no more than the changed lines.
    pub(super) is_brief: bool,
}

/// The changed text of one document.
#[derive(Clone, Debug, Default)]
pub(super) struct DocumentDiff {
    /// Id of the document now.
    pub(super) id: String,
    /// A unified diff; empty if only the path changed.
    pub(super) text: String,
    /// Whether lines are missing at its end.
    pub(super) is_cut: bool,
}

/// An id before and after.
pub(super) type Moved = (String, String);

impl DiffRoom {
    /// Takes the room of a line, or returns `false` if there is not enough.
    fn take(&mut self, line: &str) -> bool {
        // A quotation mark or a line end is two characters in JSON.
        let needed = estimate_tokens(line) + 1;
        let fits = self.lines > 0 && needed <= self.tokens;
        if fits {
            self.lines -= 1;
            self.tokens -= needed;
        }
        fits
    }

    /// Returns half of the room, rounded up.
    fn half(self) -> Self {
        Self {
            tokens: self.tokens.div_ceil(2),
            lines: self.lines.div_ceil(2),
            is_brief: self.is_brief,
        }
    }
}

/// Returns what moved and the changed lines as far as there is room, and whether something was left out. Documents are
/// named only if there are several. Lines around the changed ones are shown for one document, unless the diff is brief.
pub(super) fn short_diff(
    moved: &[Moved],
    documents: &[DocumentDiff],
    mut room: DiffRoom,
) -> (String, bool) {
    let edited: Vec<&DocumentDiff> = documents
        .iter()
        .filter(|document| document.text.lines().any(|line| line.starts_with("@@")))
        .collect();
    let folder = moved_folder(moved).filter(|_| room.is_brief);
    let moved = folder.as_ref().map_or(moved, std::slice::from_ref);
    let mut lines = Vec::new();
    let for_moves = match edited.is_empty() {
        true => room,
        false => room.half(),
    };
    let mut is_cut = write_moves(&mut lines, moved, for_moves);
    for line in &lines {
        room.take(line);
    }
    let has_several = moved.len() + edited.len() > 1;
    for document in &edited {
        let name = has_several.then(|| format!("{}:", document.id));
        let is_name = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
        let has_context = edited.len() == 1 && !room.is_brief;
        let is_shown = |line: &&str| has_context || line.starts_with(['+', '-']);
        let changed = document.text.lines().skip_while(is_name).filter(is_shown);
        for line in name.iter().map(String::as_str).chain(changed) {
            if !room.take(line) {
                let length = CUT_LINE_CHARS.min(room.tokens);
                let start: String = line.chars().take(length).collect();
                lines.push(format!("{start}…"));
                return (lines.join("\n"), true);
            }
            lines.push(line.to_owned());
        }
        if document.is_cut {
            lines.push("…".to_owned());
            is_cut = true;
        }
    }
    (lines.join("\n"), is_cut)
}

/// Returns the folder that several documents moved from and the one that they moved to, if that is all that happened to
/// their paths.
fn moved_folder(moved: &[Moved]) -> Option<Moved> {
    let [(first_from, first_to), _, ..] = moved else {
        return None;
    };
    let common = |one: &str, other: &str| {
        let pairs = one.bytes().zip(other.bytes());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let shared = moved.iter().map(|(from, _)| common(first_from, from));
    let shared = &first_from.as_bytes()[..shared.min()?];
    let end = shared.iter().rposition(|byte| *byte == b'/')?;
    let from = &first_from[..=end];
    let to = first_to.strip_suffix(&first_from[from.len()..])?;
    let moved_so = |(old, new): &Moved| new.strip_prefix(to) == old.strip_prefix(from);
    (to.ends_with('/') && moved.iter().all(moved_so)).then(|| (from.to_owned(), to.to_owned()))
}

/// Writes a line for each thing that moved, or says how many more there are. Returns whether there are more.
fn write_moves(lines: &mut Vec<String>, moved: &[Moved], mut room: DiffRoom) -> bool {
    for (index, (from, to)) in moved.iter().enumerate() {
        let line = format!("{from} -> {to}");
        // The last line is for the number of those that follow.
        let is_last = index + 1 == moved.len();
        if (room.lines < 2 && !is_last && index > 0) || !room.take(&line) {
            lines.push(format!("… {} more moved", moved.len() - index));
            return true;
        }
        lines.push(line);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: DiffRoom = DiffRoom {
        tokens: 300,
        lines: 24,
        is_brief: false,
    };
    const BRIEF: DiffRoom = DiffRoom {
        is_brief: true,
        ..ROOM
    };

    fn document(id: &str, text: &str) -> DocumentDiff {
        DocumentDiff {
            id: id.to_owned(),
            text: text.to_owned(),
            is_cut: false,
        }
    }

    fn moved(count: usize) -> Vec<Moved> {
        (0..count)
            .map(|n| (format!("a/{n}.md"), format!("b/{n}.md")))
            .collect()
    }

    #[test]
    fn one_document_has_context_and_no_name() {
        let text = "--- a/x.md\n+++ b/x.md\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
        let (diff, is_cut) = short_diff(&[], &[document("x.md", text)], ROOM);
        assert_eq!(diff, "@@ -1,2 +1,2 @@\n same\n-old\n+new");
        assert!(!is_cut);
    }

    #[test]
    fn a_brief_diff_has_only_what_changed() {
        let text = "--- a/x.md\n+++ b/x.md\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-a\n";
        let (diff, is_cut) = short_diff(&[], &[document("x.md", text)], BRIEF);
        assert_eq!(diff, "-old\n+new\n-a");
        assert!(!is_cut);
    }

    #[test]
    fn a_folder_that_moved_is_named_once_in_a_brief_diff() {
        let brief = |pairs: &[(&str, &str)]| {
            let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
            let moved: Vec<Moved> = pairs.iter().map(owned).collect();
            short_diff(&moved, &[], BRIEF).0
        };
        let moved = [("p/h/a.md", "q/h/a.md"), ("p/h/x/b.md", "q/h/x/b.md")];
        assert_eq!(brief(&moved), "p/h/ -> q/h/");
        assert_eq!(brief(&moved[..1]), "p/h/a.md -> q/h/a.md");
        // Names with a common start are not in a common folder.
        assert_eq!(
            brief(&[("ab.md", "x/ab.md"), ("ac.md", "x/ac.md")]),
            "ab.md -> x/ab.md\nac.md -> x/ac.md"
        );
        for other in [("p/h/c.md", "q/c.md"), ("p/h/c.md", "q/h/d.md")] {
            assert_eq!(brief(&[moved[0], other]).lines().count(), 2, "{other:?}");
        }
    }

    #[test]
    fn what_moved_comes_before_the_lines_that_changed() {
        let text = "--- a\n+++ b\n@@ -1 +1 @@\n same\n-[[a/0]]\n+[[b/0]]\n";
        let edited = [document("i.md", text), document("j.md", text)];
        let (diff, _) = short_diff(&moved(2), &edited, ROOM);
        assert_eq!(
            diff,
            "a/0.md -> b/0.md\na/1.md -> b/1.md\ni.md:\n-[[a/0]]\n+[[b/0]]\nj.md:\n-[[a/0]]\n+[[b/0]]"
        );
    }

    #[test]
    fn many_moves_leave_room_for_lines_and_are_counted() {
        let text = "--- a\n+++ b\n@@ -1 +1 @@\n-[[a/0]]\n+[[b/0]]\n";
        let (diff, is_cut) = short_diff(&moved(100), &[document("i.md", text)], ROOM);
        assert!(is_cut && diff.contains("more moved\ni.md:"), "{diff}");
        assert!(diff.ends_with("-[[a/0]]\n+[[b/0]]"), "{diff}");
        let (diff, is_cut) = short_diff(&moved(100), &[], ROOM);
        let named = diff.lines().count() - 1;
        assert!(is_cut && named <= 24, "{diff}");
        assert!(
            diff.ends_with(&format!("… {} more moved", 100 - named)),
            "{diff}"
        );
        assert!(estimate_tokens(&diff) <= 320, "{diff}");
    }

    #[test]
    fn a_line_that_does_not_fit_is_cut() {
        let text = format!("@@ -1 +1 @@\n+{}\n", "word ".repeat(2_000));
        let (diff, is_cut) = short_diff(&[], &[document("i.md", &text)], ROOM);
        assert!(is_cut && diff.ends_with('…') && diff.len() < 200, "{diff}");
    }
}
