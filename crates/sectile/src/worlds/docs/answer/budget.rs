//! How much of each section fits into an answer.

use sectile_markdown::estimate_tokens;

use crate::worlds::snippet::snippet;

/// Longest text of one section in an answer, in bytes.
const MOST_CONTENT: usize = 6_000;
/// Longest text of all sections in an answer together, in bytes. Each gets at least `LEAST_CONTENT`.
const MOST_CONTENTS: usize = 24_000;
const LEAST_CONTENT: usize = 600;

/// The text budget left for the sections of an answer.
pub(super) struct Budget {
    bytes: usize,
    /// Tokens, if they count: then a section is whole, or it is a snippet.
    pub(super) tokens: Option<usize>,
    sections: usize,
}

/// About how many tokens an answer takes beside its sections, and each section beside its text.
const TOKENS_BESIDE: usize = 160;
const TOKENS_OF_SECTION: usize = 110;
/// A section with more bytes than this for each token that is left does not fit. Text has four or five, and tables of blanks
/// and dashes up to thirty.
const MOST_BYTES_OF_TOKEN: usize = 64;
/// The most characters of a snippet, where a section does not fit.
const MOST_SNIPPET: usize = 600;

impl Budget {
    pub(super) fn new(sections: usize, tokens: Option<usize>) -> Self {
        let beside = TOKENS_BESIDE + sections * TOKENS_OF_SECTION;
        Self {
            bytes: MOST_CONTENTS,
            tokens: tokens.map(|tokens| tokens.saturating_sub(beside)),
            sections,
        }
    }

    /// Returns what is shown of the next section, and whether it is only a part.
    pub(super) fn shown(&mut self, text: &str, matched: &[String]) -> (String, bool) {
        self.sections = self.sections.saturating_sub(1);
        let Some(left) = &mut self.tokens else {
            return cut(text, self.take(text.len()));
        };
        // A fair share stays for each section after it.
        let share = *left / (self.sections + 1);
        let kept = share.min(MOST_SNIPPET / 3) * self.sections;
        let room = left.saturating_sub(kept);
        // What is far too long need not be counted.
        if text.len() / MOST_BYTES_OF_TOKEN <= room {
            let whole = estimate_tokens(text);
            if whole <= room {
                *left -= whole;
                return (text.to_owned(), false);
            }
        }
        // About three characters to a token, so that the snippet fits in any script but the densest.
        let most = MOST_SNIPPET.min((share * 3).max(1));
        let mut part = snippet(text, matched, most);
        while estimate_tokens(&part) > share && !part.is_empty() {
            let half = part.chars().count() / 2;
            part = if half < 8 {
                String::new()
            } else {
                snippet(text, matched, half)
            };
        }
        *left = left.saturating_sub(estimate_tokens(&part));
        (part, true)
    }

    /// Takes the share of the next section, in bytes, leaving `LEAST_CONTENT` for each section after it.
    fn take(&mut self, wanted: usize) -> usize {
        let kept = self.sections * LEAST_CONTENT;
        let share = wanted
            .min(MOST_CONTENT)
            .min(self.bytes.saturating_sub(kept));
        self.bytes -= share;
        share
    }
}

/// The start of a text, cut at a line break if possible, with a note on how much was cut.
fn cut(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let end = text.floor_char_boundary(most);
    let end = text[..end].rfind('\n').unwrap_or(end);
    let shown = text[..end].trim_end();
    (
        format!("{shown}\n\n[cut: {} more bytes]", text.len() - shown.len()),
        true,
    )
}
