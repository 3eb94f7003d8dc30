//! White space as the contract defines it, which is ECMAScript's: unlike Rust's, it includes U+FEFF and excludes
//! U+0085.

/// Returns whether `c` is white space in heading texts, titles and blank checks.
#[must_use]
pub fn is_whitespace(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202f}'
                | '\u{205f}'
                | '\u{3000}'
                | '\u{feff}'
    )
}

/// Trims white space from both ends of `text`.
#[must_use]
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_whitespace)
}

/// Trims white space from the end of `text`.
#[must_use]
pub fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_whitespace)
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differs_from_rust_where_ecmascript_does() {
        assert!(is_whitespace('\u{feff}') && !'\u{feff}'.is_whitespace());
        assert!(!is_whitespace('\u{85}') && '\u{85}'.is_whitespace());
        assert!(!is_whitespace('\u{200b}'));
        assert_eq!(trim("\u{feff}\u{a0} a \t\u{3000}"), "a");
    }
}
