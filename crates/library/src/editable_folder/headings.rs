//! Sections named by their headings, with those above them where needed: `Budget/Catering`.

use std::{collections::HashMap, ops::Range};

use sectile_markdown::{LetterCase, sections_named, trim};
use sectile_vault::editor::View;

use super::find::{NearName, near_document, near_section};

/// Maximum number of parts of a heading path. Headings nest six levels deep; the rest may be slashes in them.
const MAX_PARTS: usize = 16;
/// Maximum number of headings that are examined for one path.
const MAX_STEPS: usize = 10_000;
/// Maximum number of sections that are offered for a heading that does not exist.
const MAX_OFFERED: usize = 5;
/// Maximum number of headings that a heading that does not exist is compared with.
const MAX_COMPARED: usize = 10_000;
/// Maximum number of characters of a heading that are compared.
const MAX_COMPARED_CHARS: usize = 128;

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

/// Returns the sections of a document whose headings are most similar to the last one in `text`, a heading or a path of
/// headings that the document does not have; or the document itself if it has no sections.
pub(super) fn nearest_sections(view: &View, text: &str) -> Vec<NearName> {
    let wanted = trim(text.rsplit(['/', '#']).next().unwrap_or(text));
    let wanted = comparable(wanted);
    let shares_word = |heading: &str| {
        let mut words = heading.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word.len() > 1 && wanted.split(' ').any(|other| other == word))
    };
    let sections = view.document().top_level().take(MAX_COMPARED).enumerate();
    let mut ranked: Vec<(u32, usize)> = sections
        .map(|(position, (_, section, _))| {
            let heading = comparable(&section.text);
            let similarity = match shares_word(&heading) {
                true => 100,
                false => similarity(&wanted, &heading),
            };
            (100_u32.saturating_sub(similarity), position)
        })
        .collect();
    ranked.sort_unstable();
    let ranked = ranked.iter().take(MAX_OFFERED);
    let near: Vec<NearName> = ranked
        .filter_map(|(_, position)| near_section(view, *position))
        .collect();
    match near.is_empty() {
        true => vec![near_document(view)],
        false => near,
    }
}

/// Returns the start of a heading in the form in which headings are compared.
fn comparable(heading: &str) -> String {
    let lower = heading.chars().flat_map(char::to_lowercase);
    lower.take(MAX_COMPARED_CHARS).collect()
}

/// Returns how similar two texts are, in hundredths.
fn similarity(one: &str, other: &str) -> u32 {
    let longest = one.chars().count().max(other.chars().count()).max(1);
    let different = strsim::damerau_levenshtein(one, other).min(longest);
    u32::try_from(100 * (longest - different) / longest).unwrap_or_default()
}

fn sections_in_case(view: &View, text: &str, case: LetterCase) -> Vec<usize> {
    let mut cuts: Vec<usize> = text.match_indices(['/', '#']).map(|(at, _)| at).collect();
    if cuts.len() >= MAX_PARTS {
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
        steps: MAX_STEPS,
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
