//! Control characters: new text cannot bring any into a document, and those that are there stay where they are.

use std::collections::BTreeMap;

use sectile_markdown::Value;

use crate::NotePath;
use crate::editor::EditorError;

/// Refuses control characters in `text`, which is about to replace `replaced`. As many as were there are allowed again,
/// so that text can be written back as it was read.
pub(super) fn check_text(
    field: &'static str,
    text: &str,
    replaced: &str,
) -> Result<(), EditorError> {
    if !text.chars().any(is_refused) {
        return Ok(());
    }
    let mut there: BTreeMap<char, usize> = BTreeMap::new();
    for character in replaced.chars().filter(|character| is_refused(*character)) {
        *there.entry(character).or_default() += 1;
    }
    for character in text.chars().filter(|character| is_refused(*character)) {
        match there.get_mut(&character) {
            Some(left) if *left > 0 => *left -= 1,
            _ => return Err(EditorError::ControlCharacter { field, character }),
        }
    }
    Ok(())
}

/// Refuses control characters in a front matter value.
pub(super) fn check_value(value: &Value) -> Result<(), EditorError> {
    match value {
        Value::String(text) => check_text("value", text, ""),
        Value::List(items) => items.iter().try_for_each(check_value),
        Value::Map(fields) => fields.iter().try_for_each(|(key, value)| {
            check_text("value", key, "")?;
            check_value(value)
        }),
        _ => Ok(()),
    }
}

/// Refuses control characters in the path of a new file; there, tabs and line breaks count too.
pub(super) fn check_new_path(path: &NotePath) -> Result<(), EditorError> {
    match path
        .as_str()
        .chars()
        .find(|character| character.is_control())
    {
        Some(character) => Err(EditorError::ControlCharacter {
            field: "path",
            character,
        }),
        None => Ok(()),
    }
}

/// Returns whether a character is refused in text. The form feed is refused: it reads as white space, and ends a line
/// for some programs but not for others.
fn is_refused(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_refused_but_for_tab_and_line_ends() {
        let refused: Vec<u32> = ('\0'..='\u{a0}')
            .filter(|character| check_text("content", &format!("a{character}b"), "").is_err())
            .map(u32::from)
            .collect();
        let expected: Vec<u32> = (0..0x20)
            .chain(0x7f..0xa0)
            .filter(|code| ![0x09, 0x0a, 0x0d].contains(code))
            .collect();
        assert_eq!(refused, expected);
        // These have a meaning: a byte order mark, a joiner, a line separator, a direction.
        for kept in ['\u{feff}', '\u{200d}', '\u{2028}', '\u{202e}'] {
            assert_eq!(check_text("content", &kept.to_string(), ""), Ok(()));
        }
    }

    #[test]
    fn a_text_keeps_as_many_control_characters_as_it_had() {
        let old = "one\u{c}two\u{c}three\u{1}";
        for new in ["", old, "one\u{c}", "\u{1}\u{c}\u{c}", "\u{c} other words"] {
            assert_eq!(check_text("content", new, old), Ok(()), "{new:?}");
        }
        for (new, character) in [
            ("\u{c}\u{c}\u{c}", '\u{c}'),
            ("\u{1}\u{1}", '\u{1}'),
            ("one\u{c}\u{2}", '\u{2}'),
        ] {
            let field = "content";
            let error = EditorError::ControlCharacter { field, character };
            assert_eq!(check_text(field, new, old), Err(error), "{new:?}");
        }
    }
}
