//! The texts of the memory tool, word for word as its documentation gives them, so that a model reads what it expects.

/// Maximum length of a view of a file, in bytes. A longer one is cut after a line, with a note.
const MAX_VIEW_BYTES: usize = 64 << 10;
/// Maximum number of lines that a view can number.
const MAX_LINES: usize = 999_999;
/// Number of lines shown before and after an edit.
const AROUND_EDIT: usize = 4;
/// Maximum length of a caller's text that a message repeats, in characters.
const MAX_REPEATED: usize = 200;

/// Returns the lines of a text. A line end at the end does not start another line.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
        .into_iter()
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect()
}

/// Returns lines with their numbers, of which the first is `first`.
pub(super) fn numbered(lines: &[&str], first: usize) -> String {
    let numbered = lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{:>6}\t{line}", first + index));
    numbered.collect::<Vec<_>>().join("\n")
}

/// Returns the view of a file: all lines, or those from the first to the last of `range`.
pub(super) fn file_view(
    path: &str,
    text: &str,
    range: Option<(usize, usize)>,
) -> Result<String, String> {
    let all = lines(text);
    if all.len() > MAX_LINES {
        return Err(format!(
            "File {path} exceeds maximum line limit of 999,999 lines."
        ));
    }
    let (first, last) = range.unwrap_or((1, all.len()));
    let last = last.min(all.len());
    let chosen = all.get(first.saturating_sub(1)..last).unwrap_or_default();
    let mut room = MAX_VIEW_BYTES;
    let fitting = chosen.iter().take_while(|line| {
        let needed = line.len() + 8;
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    // A line that is longer than a view is shown anyway: it could not be seen otherwise.
    let shown = fitting.count().max(1).min(chosen.len());
    let mut view = format!(
        "Here's the content of {path} with line numbers:\n{}",
        numbered(&chosen[..shown], first)
    );
    if shown < chosen.len() {
        let next = first + shown;
        view += &format!(
            "\n[cut after line {}: view the rest with view_range [{next}, -1]]",
            next - 1
        );
    }
    Ok(view)
}

/// Returns the lines around the bytes `start..end` of an edited text, with their numbers.
pub(super) fn edited_lines(text: &str, start: usize, end: usize) -> String {
    let line_of = |offset: usize| {
        text.as_bytes()[..offset.min(text.len())]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    };
    let all = lines(text);
    let first = line_of(start).saturating_sub(AROUND_EDIT).min(all.len());
    let last = (line_of(end) + AROUND_EDIT + 1).min(all.len());
    numbered(&all[first..last], first + 1)
}

/// Returns the numbers of the lines in which `part` starts.
pub(super) fn lines_with(text: &str, part: &str) -> Vec<usize> {
    let mut line = 1;
    let mut at = 0;
    let mut found: Vec<usize> = Vec::new();
    for (offset, _) in text.match_indices(part) {
        line += text[at..offset].matches('\n').count();
        at = offset;
        found.push(line);
    }
    found.dedup();
    found
}

/// Returns the bytes to replace and to put there so that `inserted` comes after line `after` of `text`; 0 is before the
/// first.
pub(super) fn insertion(text: &str, after: usize, inserted: &str) -> (usize, String) {
    let at = match after {
        0 => 0,
        _ => text
            .match_indices('\n')
            .nth(after - 1)
            .map_or(text.len(), |(end, _)| end + 1),
    };
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new = inserted.to_owned();
    if at == text.len() && !text.is_empty() && !text.ends_with('\n') {
        new.insert_str(0, line_end);
    } else if !new.ends_with('\n') {
        new += line_end;
    }
    (at, new)
}

/// Returns the start and the end of the smallest run of lines around the byte `at` that occurs once in `text`.
pub(super) fn unique_passage(text: &str, at: usize) -> (usize, usize) {
    let (mut start, mut end) = (at, at);
    loop {
        start = text[..start]
            .trim_end_matches('\n')
            .rfind('\n')
            .map_or(0, |line_end| line_end + 1);
        let is_unique = |start: usize, end: usize| {
            let passage = &text[start..end];
            !passage.is_empty() && text.find(passage) == text.rfind(passage)
        };
        if is_unique(start, end) || (start == 0 && end == text.len()) {
            return (start, end);
        }
        end = text[end..]
            .find('\n')
            .map_or(text.len(), |line_end| end + line_end + 1);
        if is_unique(start, end) {
            return (start, end);
        }
    }
}

/// Returns a size for people.
pub(super) fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    // In tenths, rounded up: nothing that holds a byte has size 0.
    let tenths = |unit: u64| (bytes.saturating_mul(10)).div_ceil(unit);
    let (tenths, unit) = match bytes < MIB {
        true => (tenths(KIB), 'K'),
        false => (tenths(MIB), 'M'),
    };
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

/// Returns text of a caller for a message, cut if it is long.
pub(super) fn repeated(text: &str) -> String {
    match text.char_indices().nth(MAX_REPEATED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_in_six_columns() {
        let view = file_view("/memories/a.md", "one\r\n\ntwo\n", None).unwrap();
        assert_eq!(
            view,
            "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\t\n     3\ttwo"
        );
        let part = file_view("/memories/a.md", "one\n\ntwo\n", Some((3, 9))).unwrap();
        assert!(part.ends_with(":\n     3\ttwo"), "{part}");
        assert!(file_view("/m", "", None).unwrap().ends_with(":\n"));
    }

    #[test]
    fn a_long_file_is_cut_with_a_note() {
        let view = file_view(
            "/m",
            &"x".repeat(99).replace('x', "line of text\n").repeat(99),
            None,
        )
        .unwrap();
        assert!(view.len() < MAX_VIEW_BYTES + 200);
        assert!(
            view.contains("[cut after line "),
            "{}",
            &view[view.len() - 80..]
        );
        let long = file_view("/m", &"x".repeat(MAX_VIEW_BYTES * 2), None).unwrap();
        assert!(long.len() > MAX_VIEW_BYTES);
    }

    #[test]
    fn an_insertion_is_a_line_of_its_own() {
        for (text, after, inserted, result) in [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
            ("a\nb\n", 2, "x", "a\nb\nx\n"),
            ("a\nb", 2, "x", "a\nb\nx"),
            ("a\r\nb\r\n", 1, "x", "a\r\nx\r\nb\r\n"),
            ("", 0, "x", "x\n"),
        ] {
            let (at, new) = insertion(text, after, inserted);
            let edited = format!("{}{new}{}", &text[..at], &text[at..]);
            assert_eq!(edited, result, "{text:?} {after}");
        }
    }

    #[test]
    fn the_lines_of_all_occurrences_are_known() {
        assert_eq!(lines_with("a b\na\n\na a\n", "a"), [1, 2, 4]);
        assert_eq!(lines_with("one", "two"), [0; 0]);
        let text = (1..=20).map(|n| format!("l{n}\n")).collect::<String>();
        let at = text.find("l10").unwrap();
        let shown = edited_lines(&text, at, at + 3);
        assert!(
            shown.starts_with("     6\tl6\n") && shown.ends_with("    14\tl14"),
            "{shown}"
        );
    }

    #[test]
    fn a_passage_around_a_place_is_unique() {
        for text in [
            "a\nb\nc\n",
            "a\na\na\na\n",
            "\n\n\n",
            "x",
            "a\nb\na\nb\na\nb",
            "\na",
        ] {
            for at in (0..=text.len()).filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n') {
                let (start, end) = unique_passage(text, at);
                assert!((start..=end).contains(&at), "{text:?} {at}");
                assert_eq!(text.matches(&text[start..end]).count(), 1, "{text:?} {at}");
            }
        }
    }

    #[test]
    fn sizes_are_rounded_up() {
        for (bytes, shown) in [
            (0, "0.0K"),
            (1, "0.1K"),
            (1024, "1.0K"),
            (1536, "1.5K"),
            (5 << 20, "5.0M"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
