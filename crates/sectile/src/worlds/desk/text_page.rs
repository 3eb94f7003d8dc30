//! Cuts long text where a reader would: between sections, else between paragraphs, else between lines.

use sectile_markdown::estimate_tokens;

/// The kind of place where text was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutPlace {
    /// Before a section.
    Section,
    /// After a blank line.
    Paragraph,
    /// After a line.
    Line,
    /// Within a line that is longer than the whole page.
    Character,
}

impl CutPlace {
    /// Returns the words for it in a head line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Section => "a section",
            Self::Paragraph => "a paragraph",
            Self::Line => "a line",
            Self::Character => "a character",
        }
    }
}

/// A part of a text that fits into a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPage {
    /// Offset after its last byte.
    pub(super) end: usize,
    /// Its tokens.
    pub(super) tokens: usize,
    /// Where it ends, unless that is the end of the text.
    pub(super) cut: Option<CutPlace>,
}

/// Returns the part of `text` that starts at the byte `start` and takes at most `room` tokens. `sections` are the offsets at
/// which sections start, in order. The part is empty only if `room` is too small for anything.
pub(super) fn text_page(text: &str, start: usize, sections: &[usize], room: usize) -> TextPage {
    let rest = text.get(start..).unwrap_or_default();
    let mut ends = PageEnds::default();
    let (mut end, mut tokens) = (start, 0);
    let mut after_blank = false;
    for line in rest.split_inclusive('\n') {
        if end > start {
            let here = (end, tokens);
            ends.line = Some(here);
            if after_blank {
                ends.paragraph = Some(here);
            }
            if sections.binary_search(&end).is_ok() {
                ends.section = Some(here);
            }
        }
        let taken = estimate_tokens(line);
        if tokens + taken > room {
            return ends.cut(start).unwrap_or_else(|| {
                let end = start + character_cut(line, room);
                TextPage {
                    end,
                    tokens: estimate_tokens(&text[start..end]),
                    cut: Some(CutPlace::Character),
                }
            });
        }
        tokens += taken;
        end += line.len();
        after_blank = line.trim().is_empty();
    }
    TextPage {
        end,
        tokens,
        cut: None,
    }
}

/// The last places of each kind at which a page could end, with the tokens before them.
#[derive(Default)]
struct PageEnds {
    section: Option<(usize, usize)>,
    paragraph: Option<(usize, usize)>,
    line: Option<(usize, usize)>,
}

impl PageEnds {
    /// Chooses a place: the best kind that does not waste more than half of the page.
    fn cut(self, start: usize) -> Option<TextPage> {
        let (line, _) = self.line?;
        let kinds = [
            (CutPlace::Section, self.section),
            (CutPlace::Paragraph, self.paragraph),
            (CutPlace::Line, self.line),
        ];
        kinds.into_iter().find_map(|(cut, place)| {
            let (end, tokens) = place?;
            let is_enough = (end - start) * 2 >= line - start;
            is_enough.then_some(TextPage {
                end,
                tokens,
                cut: Some(cut),
            })
        })
    }
}

/// Returns the length of the longest start of `line` that takes at most `room` tokens.
fn character_cut(line: &str, room: usize) -> usize {
    let offsets: Vec<usize> = line.char_indices().map(|(offset, _)| offset).collect();
    let fitting = offsets.partition_point(|end| estimate_tokens(&line[..*end]) <= room);
    match room {
        0 => 0,
        _ => offsets.get(fitting.saturating_sub(1)).copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text cut into pages of at most `room` tokens.
    fn pages(text: &str, sections: &[usize], room: usize) -> Vec<(String, Option<CutPlace>)> {
        let mut all = Vec::new();
        let mut start = 0;
        loop {
            let page = text_page(text, start, sections, room);
            all.push((text[start..page.end].to_owned(), page.cut));
            if page.cut.is_none() || page.end == start {
                return all;
            }
            start = page.end;
        }
    }

    #[test]
    fn text_that_fits_is_one_page() {
        let page = text_page("One.\n\nTwo.\n", 0, &[], 100);
        assert_eq!((page.end, page.cut), (11, None));
        assert_eq!(text_page("", 0, &[], 0).cut, None);
        assert_eq!(text_page("x", 5, &[], 10).end, 5);
    }

    #[test]
    fn nothing_fits_into_nothing() {
        let page = text_page("One.\n", 0, &[], 0);
        assert_eq!((page.end, page.tokens), (0, 0));
    }

    #[test]
    fn a_page_ends_at_the_best_place_that_does_not_waste_it() {
        let paragraph = "Some words about boats and the harbour.\n";
        let room = estimate_tokens(paragraph) * 5;
        let cut = |text: &str| {
            let sections: Vec<usize> = text.match_indices("# ").map(|(start, _)| start).collect();
            text_page(text, 0, &sections, room).cut
        };
        let (two, nine) = (paragraph.repeat(2), paragraph.repeat(9));
        let sections = format!("# A\n\n{two}\n{two}\n# B\n\n{nine}");
        assert_eq!(cut(&sections), Some(CutPlace::Section));
        let paragraphs = format!("# A\n\n{two}\n{two}\n{nine}");
        assert_eq!(cut(&paragraphs), Some(CutPlace::Paragraph));
        let lines = format!("# A\n\n{nine}");
        assert_eq!(cut(&lines), Some(CutPlace::Line));
        assert_eq!(cut(&"word ".repeat(1000)), Some(CutPlace::Character));
    }

    proptest! {
        /// Pages put together are the text, and each keeps to its room.
        #[test]
        fn pages_put_together_are_the_text(text in "([a-zé预 ]{0,40}\n){0,20}[a-z ]{0,200}", room in 4..60_usize) {
            let all = pages(&text, &[], room);
            prop_assert_eq!(all.iter().map(|(part, _)| part.as_str()).collect::<String>(), text);
            for (part, cut) in &all {
                let tokens: usize = match cut {
                    Some(CutPlace::Character) => estimate_tokens(part),
                    _ => part.split_inclusive('\n').map(estimate_tokens).sum(),
                };
                prop_assert!(tokens <= room, "{} > {}: {:?}", tokens, room, part);
            }
        }
    }
}
