//! Just enough understanding of Rust source for a scan by words.

/// `text` with comments and the contents of string and character literals blanked out; lines and columns stay.
pub(super) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped_end(&chars, at);
        if end > at {
            code.extend(
                chars[at..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        } else {
            code.push(chars[at]);
            at += 1;
        }
    }
    code
}

/// The end of the comment or literal that starts at `at`, or `at`.
fn skipped_end(chars: &[char], at: usize) -> usize {
    let next = |offset: usize| chars.get(at + offset).copied();
    match chars[at] {
        '/' if next(1) == Some('/') => line_end(chars, at),
        '/' if next(1) == Some('*') => block_comment_end(chars, at),
        '"' => string_end(chars, at + 1),
        'r' if !is_word_before(chars, at) => raw_string_end(chars, at),
        'b' | 'c' if next(1) == Some('r') && !is_word_before(chars, at) => {
            match raw_string_end(chars, at + 1) {
                end if end > at + 1 => end,
                _ => at,
            }
        }
        // `'a` is a lifetime unless a quote follows the one character.
        '\'' if next(1) == Some('\\') => closing_quote(chars, at + 3),
        '\'' if next(2) == Some('\'') => at + 3,
        _ => at,
    }
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..]
        .iter()
        .position(|c| *c == '\n')
        .map_or(chars.len(), |length| at + length)
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    break;
                }
            }
            _ => at += 1,
        }
    }
    at.min(chars.len())
}

fn string_end(chars: &[char], start: usize) -> usize {
    let mut at = start;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn closing_quote(chars: &[char], start: usize) -> usize {
    let from = start.min(chars.len());
    chars[from..]
        .iter()
        .position(|c| *c == '\'')
        .map_or(chars.len(), |length| from + length + 1)
}

/// The end of `r"…"` or `r#"…"#` at `at`, or `at` when it is no raw string.
fn raw_string_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let closes = |quote: &usize| {
        chars[*quote] == '"'
            && chars[quote + 1..].iter().take_while(|c| **c == '#').count() >= hashes
    };
    (open + 1..chars.len())
        .find(closes)
        .map_or(chars.len(), |quote| quote + 1 + hashes)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_word_before(chars: &[char], at: usize) -> bool {
    at > 0 && is_word(chars[at - 1])
}

/// `code` with inline `#[cfg(test)] mod … { … }` blanked out.
///
/// The end is the brace in the column of `mod`, which the formatter guarantees.
pub(super) fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut after_attribute = false;
    let mut closing: Option<String> = None;
    for line in code.lines() {
        if let Some(end) = &closing {
            if line == end {
                closing = None;
            }
        } else if after_attribute && is_inline_module(line) {
            let indent = &line[..line.len() - line.trim_start().len()];
            closing = Some(format!("{indent}}}"));
        } else {
            kept.push_str(line);
        }
        after_attribute =
            line.trim() == "#[cfg(test)]" || (after_attribute && line.trim().starts_with("#["));
        kept.push('\n');
    }
    kept
}

fn is_inline_module(line: &str) -> bool {
    let line = line.trim();
    line.ends_with('{') && (line.starts_with("mod ") || line.contains(" mod "))
}

/// Positions of `word` in `code` where it stands alone.
pub(super) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = code[..*at].chars().next_back();
            let after = code[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
}

/// Every path in `code` that starts with `root::`, as its line and the segments after the root.
///
/// Groups are unfolded: `root::{a::b, c}` gives `[a, b]` and `[c]`.
pub(super) fn paths_from(code: &str, root: &str) -> Vec<(usize, Vec<String>)> {
    let mut paths = Vec::new();
    for at in words(code, root) {
        // `self::root` and `other::root` are other paths.
        if code[..at].ends_with("::") {
            continue;
        }
        let start = at + root.len();
        if code[start..].starts_with("::") {
            unfold(code, start + 2, &mut Vec::new(), &mut |at, path| {
                paths.push((line_of(code, at), path.to_vec()));
            });
        }
    }
    paths
}

/// Walks the path or group at `at` with what stood before it; gives where it ends.
fn unfold(
    code: &str,
    at: usize,
    before: &mut Vec<String>,
    found: &mut impl FnMut(usize, &[String]),
) -> usize {
    let rest = &code[at..];
    if let Some(group) = rest.strip_prefix('{') {
        // Only braces that belong to this group can occur in it.
        let mut next = code.len() - group.len();
        loop {
            next = skip(code, next, |c| c.is_whitespace() || c == ',');
            if next == code.len() || code[next..].starts_with('}') {
                return (next + 1).min(code.len());
            }
            // A member may be followed by `as name`.
            next = skip(code, unfold(code, next, before, found), |c| {
                c != ',' && c != '}'
            });
        }
    }
    let end = skip(code, at, is_word);
    if end == at {
        // A glob, or type arguments.
        found(at, before);
        return at;
    }
    before.push(code[at..end].to_owned());
    let end = if code[end..].starts_with("::") {
        unfold(code, end + 2, before, found)
    } else {
        found(at, before);
        end
    };
    before.pop();
    end
}

fn skip(code: &str, from: usize, unwanted: impl Fn(char) -> bool) -> usize {
    code[from..]
        .find(|c| !unwanted(c))
        .map_or(code.len(), |length| from + length)
}

pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_code(text: &str, expected: &str) {
        let code = code_only(text);
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>().join(" "),
            expected,
            "{text}"
        );
        assert_eq!(code.lines().count(), text.lines().count(), "{text}");
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        check_code("a // todo!(\nb", "a b");
        check_code("a /* x /* y */ z */ b", "a b");
        check_code(
            r#"f("todo!( \" x", 'x', '\'', '\u{1f}', b"y")"#,
            "f( , , , , b )",
        );
        check_code("f(r#\"a \" b\"#, br\"c\", r)", "f( , , r)");
        check_code(
            "fn f<'a>(x: &'a str) -> char { '\"' }",
            "fn f<'a>(x: &'a str) -> char { }",
        );
        check_code("\"unclosed", "");
    }

    #[test]
    fn test_modules_can_be_left_out() {
        let code = "a\n#[cfg(test)]\nmod tests {\n    b\n}\nc\n";
        assert_eq!(
            without_tests(code).split_whitespace().collect::<Vec<_>>(),
            ["a", "#[cfg(test)]", "c"]
        );
        assert_eq!(without_tests(code).lines().count(), 6);
        let file = "#[cfg(test)]\nmod tests;\nc\n";
        assert_eq!(without_tests(file), file);
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(
            words("rmcp my_rmcp rmcps (rmcp)", "rmcp").collect::<Vec<_>>(),
            [0, 20]
        );
    }

    fn check_paths(code: &str, expected: &[&str]) {
        let found: Vec<String> = paths_from(code, "crate")
            .into_iter()
            .map(|(line, path)| format!("{line}:{}", path.join(".")))
            .collect();
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn paths_are_found_inline_and_in_groups() {
        check_paths(
            "use crate::a::B;\nlet x = crate::c::d(crate::e);",
            &["1:a.B", "2:c.d", "2:e"],
        );
        check_paths(
            "use crate::{a, b::{c, D as E}, f::*};",
            &["1:a", "1:b.c", "1:b.D", "1:f"],
        );
        check_paths("use crate::{\n    a::X,\n    b,\n};", &["2:a.X", "3:b"]);
        check_paths("crate::a::f::<crate::b>(x)", &["1:a.f", "1:b"]);
        check_paths("use crate::{a", &["1:a"]);
        check_paths("pub(crate) fn f() {} mycrate::x; other::crate::y", &[]);
    }
}
