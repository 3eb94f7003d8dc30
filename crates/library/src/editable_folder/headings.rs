//! Sections named by their headings, with those above them where needed: `Budget/Catering`.

use std::{collections::HashMap, ops::Range};

use sectile_markdown::{LetterCase, sections_named};
use sectile_vault::editor::View;

/// The most parts of a heading path. Headings nest six deep; the rest may be slashes in them.
const MOST_PARTS: usize = 16;
/// The most headings that are looked at for one path.
const MOST_STEPS: usize = 10_000;

/// Returns the positions of the sections that `text` names, in order: by heading, or by headings with `/` or `#`
/// between them, each below the one before. The letter case given wins over another, and then a heading that contains the
/// separator over a path.
pub(super) fn sections_at(view: &View, text: &str) -> Vec<usize> {
    let exact = sections_in_case(view, text, LetterCase::Matters);
    match exact.is_empty() {
        true => sections_in_case(view, text, LetterCase::MayDiffer),
        false => exact,
    }
}

fn sections_in_case(view: &View, text: &str, case: LetterCase) -> Vec<usize> {
    let mut cuts: Vec<usize> = text.match_indices(['/', '#']).map(|(at, _)| at).collect();
    if cuts.len() >= MOST_PARTS {
        cuts.clear();
    }
    let sections = view.document().top_level();
    let spans: Vec<Range<usize>> = sections
        .map(|(_, section, extent)| section.heading.start..extent.subtree.end)
        .collect();
    let mut search = PathSearch {
        view,
        text,
        case,
        cuts,
        spans,
        named: HashMap::new(),
        steps: MOST_STEPS,
    };
    let all = 0..search.spans.len();
    let mut found = search.below(0, all);
    found.sort_unstable();
    found.dedup();
    found
}

struct PathSearch<'v> {
    view: &'v View,
    text: &'v str,
    case: LetterCase,
    /// The offsets of the separators.
    cuts: Vec<usize>,
    /// The bytes of each section with its subsections.
    spans: Vec<Range<usize>>,
    /// The sections that a part of the text names.
    named: HashMap<Range<usize>, Vec<usize>>,
    steps: usize,
}

impl PathSearch<'_> {
    /// Returns the sections among those at `within` that the text from `start` on names.
    fn below(&mut self, start: usize, within: Range<usize>) -> Vec<usize> {
        let ends: Vec<usize> = self.cuts.iter().rev().copied().collect();
        let ends = ends.into_iter().filter(|end| *end > start);
        for end in std::iter::once(self.text.len()).chain(ends) {
            let heads = self.named(start..end, &within);
            if heads.is_empty() {
                continue;
            }
            if end == self.text.len() {
                return heads;
            }
            let mut found = Vec::new();
            for head in heads {
                self.steps = self.steps.saturating_sub(1);
                if self.steps == 0 {
                    return Vec::new();
                }
                let behind = self.spans[head].end;
                let last = self.spans.partition_point(|span| span.start < behind);
                found.extend(self.below(end + 1, head + 1..last));
            }
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// Returns the sections among those at `within` that a part of the text names.
    fn named(&mut self, part: Range<usize>, within: &Range<usize>) -> Vec<usize> {
        let given = self.text[part.clone()].trim();
        if given.is_empty() {
            return Vec::new();
        }
        let (view, case) = (self.view, self.case);
        let all = self
            .named
            .entry(part)
            .or_insert_with(|| sections_named(view.bytes(), view.document(), given, case));
        let found = all.iter().filter(|position| within.contains(position));
        found.copied().collect()
    }
}
