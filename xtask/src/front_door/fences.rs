//! The commands of a page: in fences marked `sh`, and in code between backticks.

/// What stands for anything: alone on a line for any number of lines, else for any part of a line.
const ANYTHING: &str = "...";

/// A fence with commands, and the output that the page shows after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Example {
    /// Line of the fence in its page, from 1.
    pub(super) line: usize,
    /// The commands, each line with its end.
    pub(super) commands: String,
    /// The text of the next fence, if that is marked `text`.
    pub(super) output: Option<String>,
}

/// A fenced code block.
struct Fence<'t> {
    line: usize,
    /// The word after the opening backticks.
    info: &'t str,
    text: String,
}

fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for (number, line) in (1..).zip(page.lines()) {
        open = match (open, line.strip_prefix("```")) {
            (None, Some(info)) => Some(Fence {
                line: number,
                info: info.trim(),
                text: String::new(),
            }),
            (Some(fence), Some("")) => {
                fences.push(fence);
                None
            }
            (Some(mut fence), _) => {
                fence.text += line;
                fence.text.push('\n');
                Some(fence)
            }
            (None, None) => None,
        };
    }
    fences
}

/// Returns the examples of a page, in order.
pub(super) fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut follows_commands = false;
    for fence in fences(page) {
        match (fence.info, examples.last_mut()) {
            ("sh", _) => examples.push(Example {
                line: fence.line,
                commands: fence.text,
                output: None,
            }),
            ("text", Some(example)) if follows_commands => example.output = Some(fence.text),
            _ => {}
        }
        follows_commands = fence.info == "sh";
    }
    examples
}

/// Returns the settings that a page shows first.
pub(super) fn settings(page: &str) -> Option<String> {
    let mut fences = fences(page).into_iter();
    fences
        .find(|fence| fence.info == "toml")
        .map(|fence| fence.text)
}

/// Returns the calls that a page shows: fences without a word whose first line starts with an arrow.
pub(super) fn transcripts(page: &str) -> Vec<String> {
    let calls = |fence: &Fence<'_>| fence.info.is_empty() && fence.text.starts_with("-> ");
    let fences = fences(page).into_iter();
    fences.filter(calls).map(|fence| fence.text).collect()
}

/// Returns the code between single backticks in the text of a page, outside of fences.
pub(super) fn inline_code(page: &str) -> impl Iterator<Item = &str> {
    let mut in_fence = false;
    let text = page.lines().filter(move |line| {
        let is_mark = line.starts_with("```");
        in_fence ^= is_mark;
        !in_fence && !is_mark
    });
    text.flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Returns whether `actual` is what a page shows.
pub(super) fn matches_output(shown: &str, actual: &str) -> bool {
    let shown: Vec<&str> = shown.lines().collect();
    let actual: Vec<&str> = actual.lines().collect();
    matches_parts(
        &shown,
        &actual,
        |line| *line == ANYTHING,
        |shown, actual| matches_line(shown, actual),
    )
}

pub(super) fn matches_line(shown: &str, actual: &str) -> bool {
    let mut parts = shown.split(ANYTHING);
    let Some(mut rest) = actual.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(start) = rest.find(part) else {
            return false;
        };
        rest = &rest[start + part.len()..];
    }
    rest.ends_with(last)
}

/// Compares lists, where an item that is a wildcard stands for any number of items.
fn matches_parts<T>(
    shown: &[T],
    actual: &[T],
    is_wildcard: fn(&T) -> bool,
    is_same: fn(&T, &T) -> bool,
) -> bool {
    let Some((first, rest)) = shown.split_first() else {
        return actual.is_empty();
    };
    if is_wildcard(first) {
        return (0..=actual.len())
            .any(|skipped| matches_parts(rest, &actual[skipped..], is_wildcard, is_same));
    }
    actual.split_first().is_some_and(|(one, others)| {
        is_same(first, one) && matches_parts(rest, others, is_wildcard, is_same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\nRun `sectile open`, or `b`.\n\n```sh\none 'a#b'   # why\n\ntwo\n```\n\n```text\nout\n```\n\n\
                        ```sh\nthree\n```\n\n```toml\n[`x`]\n```\n\n```text\nnot its output\n```\n";

    #[test]
    fn an_example_has_the_output_right_after_it() {
        let found = examples(PAGE);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].line, 5);
        assert_eq!(found[0].output.as_deref(), Some("out\n"));
        assert_eq!(found[1].commands, "three\n");
        assert_eq!(found[1].output, None);
    }

    #[test]
    fn settings_and_calls_are_found() {
        assert_eq!(settings(PAGE).as_deref(), Some("[`x`]\n"));
        assert_eq!(settings("# A\n"), None);
        let page = "```\n-> undo {}\n<- {}\n```\n\n```\nother\n```\n";
        assert_eq!(transcripts(page), ["-> undo {}\n<- {}\n"]);
    }

    #[test]
    fn code_in_the_text_is_found_and_code_in_fences_is_not() {
        assert_eq!(inline_code(PAGE).collect::<Vec<_>>(), ["sectile open", "b"]);
    }

    #[test]
    fn dots_stand_for_anything() {
        for (shown, actual, same) in [
            ("a\nb\n", "a\nb\n", true),
            ("a\n", "a\nb\n", false),
            ("a\n...\n", "a\nb\nc\n", true),
            ("...\nc\n", "a\nb\nc\n", true),
            ("...\nd\n", "a\nb\nc\n", false),
            ("...\n", "", true),
            ("id-..., line 9\n", "id-16mk, line 9\n", true),
            ("id-..., line 9\n", "id-16mk, line 8\n", false),
            ("a ... b ... c\n", "a 1 b 2 c\n", true),
            ("a...a\n", "a\n", false),
            ("", "a\n", false),
        ] {
            assert_eq!(matches_output(shown, actual), same, "{shown:?} {actual:?}");
        }
    }
}
