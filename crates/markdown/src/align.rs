//! Matches the sections of a changed document with those of the old one when the caller does not say which is which.
//!
//! The rule is cautious: equal content first, then equal position, then similarity. Where several candidates are
//! equally good, none is taken, because an id must never come to name a different section from the one it was given
//! for.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
};

use crate::{Digest, Document, Span, edit::content_span, lines::line_at, work};

/// Identifies a section by hashes, so that a whole document's worth of fingerprints is small and holds no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Hash of its heading, as computed by [`heading_key`].
    pub heading: u64,
    /// Hash of the headings above it and its own.
    pub path: u64,
    /// Hash of its own text without the surrounding blank lines, as computed by [`body_key`].
    pub body: u64,
    /// Hashes of the lines of its own text, in order. May be empty when the text is no longer known.
    pub lines: Vec<u64>,
    /// Whether its own text is empty.
    pub is_empty: bool,
}

/// Bodies with fewer lines than this occur too often to identify a section.
const TELLING_LINES: usize = 1;
/// At most this many lines of a section are compared.
const MAX_LINES: usize = 256;
/// Minimum similarity, in percent, for two bodies to count as one that was edited. Half, because below that
/// more was rewritten than kept.
const ALIKE: usize = 50;
/// The same for two sections with the same heading. Lower, because the heading is evidence too.
const ALIKE_WITH_SAME_HEADING: usize = 30;
/// An unmatched section is compared with at most this many old ones between the same neighbours, which bounds the work.
const MAX_CANDIDATES: usize = 32;

/// Returns the fingerprints of the sections with top-level headings, in order.
#[must_use]
pub fn fingerprints(bytes: &[u8], document: &Document) -> Vec<Fingerprint> {
    let mut paths: HashMap<usize, u64> = HashMap::new();
    document
        .top_level()
        .map(|(index, section, extent)| {
            let above = extent
                .parent
                .and_then(|parent| paths.get(&parent).copied())
                .unwrap_or(0);
            let path = hash(above, section.text.as_bytes());
            paths.insert(index, path);
            let content = content_span(bytes, extent.own_body);
            Fingerprint {
                heading: heading_key(&section.text),
                path,
                body: body_key(&Digest::of(content.slice(bytes))),
                lines: line_hashes(content.slice(bytes)),
                is_empty: content.is_empty(),
            }
        })
        .collect()
}

/// Returns the key of a heading in a [`Fingerprint`].
#[must_use]
pub fn heading_key(heading: &str) -> u64 {
    hash(0, heading.as_bytes())
}

/// Returns the key of a section's own text in a [`Fingerprint`]: the first bytes of its digest.
#[must_use]
pub fn body_key(digest: &Digest) -> u64 {
    let bytes = digest.as_bytes().first_chunk().copied();
    u64::from_le_bytes(bytes.unwrap_or_default())
}

/// Returns, for each section of `new`, the index of its counterpart in `old`, or `None` for a new section. No old
/// section is returned twice.
///
/// Takes time linear in the number of sections and, at worst, 32 times the number of their lines, because a section is
/// compared with at most 32 others.
#[must_use]
pub fn align(old: &[Fingerprint], new: &[Fingerprint]) -> Vec<Option<usize>> {
    let mut pairs = Pairs::new(old, new);
    pairs.match_ends();
    pairs.match_by(|one| Some((one.path, one.body)), DuplicatePolicy::InOrder);
    pairs.match_by(
        |one| Some((one.heading, one.body)),
        DuplicatePolicy::WhenAsMany,
    );
    pairs.match_by(
        |one| (one.lines.len() >= TELLING_LINES || !one.is_empty).then_some(one.body),
        DuplicatePolicy::Never,
    );
    pairs.match_alike(|one| one.path, 0);
    pairs.match_alike(|one| one.heading, ALIKE_WITH_SAME_HEADING);
    pairs.match_between_neighbours();
    pairs.of_new
}

/// How to pair several old or new sections with the same key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DuplicatePolicy {
    InOrder,
    WhenAsMany,
    Never,
}

struct Pairs<'a> {
    old: &'a [Fingerprint],
    new: &'a [Fingerprint],
    of_new: Vec<Option<usize>>,
    /// The old sections that are still unmatched.
    free: BTreeSet<usize>,
    /// The sorted lines of the old and new sections compared so far.
    old_lines: Vec<OnceCell<Vec<u64>>>,
    new_lines: Vec<OnceCell<Vec<u64>>>,
}

impl<'a> Pairs<'a> {
    fn new(old: &'a [Fingerprint], new: &'a [Fingerprint]) -> Self {
        Self {
            old,
            new,
            of_new: vec![None; new.len()],
            free: (0..old.len()).collect(),
            old_lines: vec![OnceCell::new(); old.len()],
            new_lines: vec![OnceCell::new(); new.len()],
        }
    }

    fn pair(&mut self, old: usize, new: usize) {
        self.of_new[new] = Some(old);
        self.free.remove(&old);
    }

    /// Returns the similarity of the bodies of an old and a new section, in percent.
    fn likeness(&self, old: usize, new: usize) -> usize {
        let sorted = |lines: &[u64]| {
            let mut lines = lines.to_vec();
            lines.sort_unstable();
            lines
        };
        likeness(
            self.old_lines[old].get_or_init(|| sorted(&self.old[old].lines)),
            self.new_lines[new].get_or_init(|| sorted(&self.new[new].lines)),
        )
    }

    /// Pairs the sections that are identical at the start and at the end of both documents.
    fn match_ends(&mut self) {
        let same = |(old, new): &(&Fingerprint, &Fingerprint)| {
            old.path == new.path && old.body == new.body
        };
        let from_start = self.old.iter().zip(self.new).take_while(same).count();
        (0..from_start).for_each(|at| self.pair(at, at));
        let (old_rest, new_rest) = (&self.old[from_start..], &self.new[from_start..]);
        let from_end = old_rest
            .iter()
            .rev()
            .zip(new_rest.iter().rev())
            .take_while(same)
            .count();
        for back in 1..=from_end {
            self.pair(self.old.len() - back, self.new.len() - back);
        }
    }

    fn free_new(&self) -> impl Iterator<Item = usize> {
        (0..self.new.len()).filter(|at| self.of_new[*at].is_none())
    }

    /// Groups the unmatched sections of both sides by key.
    fn groups<K: std::hash::Hash + Eq>(
        &self,
        key: impl Fn(&Fingerprint) -> Option<K>,
    ) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut order: HashMap<K, usize> = HashMap::new();
        let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        work::count(self.old.len() + self.new.len());
        for at in self.free.iter().copied() {
            if let Some(key) = key(&self.old[at]) {
                let next = groups.len();
                let group = *order.entry(key).or_insert(next);
                if group == next {
                    groups.push((Vec::new(), Vec::new()));
                }
                groups[group].0.push(at);
            }
        }
        for at in self.free_new() {
            if let Some(group) = key(&self.new[at]).and_then(|key| order.get(&key).copied()) {
                groups[group].1.push(at);
            }
        }
        groups
    }

    fn match_by<K: std::hash::Hash + Eq>(
        &mut self,
        key: impl Fn(&Fingerprint) -> Option<K>,
        several: DuplicatePolicy,
    ) {
        for (old, new) in self.groups(key) {
            let clear = match several {
                DuplicatePolicy::InOrder => true,
                DuplicatePolicy::WhenAsMany => old.len() == new.len(),
                DuplicatePolicy::Never => old.len() == 1 && new.len() == 1,
            };
            if clear {
                for (old, new) in old.into_iter().zip(new) {
                    self.pair(old, new);
                }
            }
        }
    }

    /// Pairs sections with the same key: if both sides have equally many, in order, otherwise the most similar ones.
    fn match_alike(&mut self, key: impl Fn(&Fingerprint) -> u64, threshold: usize) {
        for (old, new) in self.groups(|one| Some(key(one))) {
            if old.len() == new.len() && threshold == 0 {
                for (old, new) in old.into_iter().zip(new) {
                    self.pair(old, new);
                }
                continue;
            }
            let mut scored: Vec<(usize, usize, usize)> = Vec::new();
            for new in new.iter().take(MAX_CANDIDATES) {
                for old in old.iter().take(MAX_CANDIDATES) {
                    let score = self.likeness(*old, *new);
                    if score >= threshold.max(ALIKE_WITH_SAME_HEADING) {
                        scored.push((score, *old, *new));
                    }
                }
            }
            self.pair_best(scored);
        }
    }

    /// Pairs what is left between two matched neighbours if it is similar, or if its heading occurs only once there.
    fn match_between_neighbours(&mut self) {
        let mut at = 0;
        let mut last_old = None;
        while at < self.new.len() {
            if let Some(old) = self.of_new[at] {
                last_old = Some(old);
                at += 1;
                continue;
            }
            let end = (at..self.new.len())
                .find(|next| self.of_new[*next].is_some())
                .unwrap_or(self.new.len());
            let from = last_old.map_or(0, |old| old + 1);
            let to = self
                .of_new
                .get(end)
                .copied()
                .flatten()
                .unwrap_or(self.old.len());
            let candidates: Vec<usize> = self
                .free
                .range(from..to.max(from))
                .take(MAX_CANDIDATES)
                .copied()
                .collect();
            // How often each heading occurs among the candidates and among the new sections here.
            let mut headings: HashMap<u64, (usize, usize)> = HashMap::new();
            for old in &candidates {
                headings.entry(self.old[*old].heading).or_default().0 += 1;
            }
            work::count(candidates.len() + end - at);
            for new in &self.new[at..end] {
                if let Some(found) = headings.get_mut(&new.heading) {
                    found.1 += 1;
                }
            }
            let heading_is_telling = |old: usize, new: usize| {
                let heading = self.new[new].heading;
                self.old[old].heading == heading && headings.get(&heading) == Some(&(1, 1))
            };
            let mut scored = Vec::new();
            for new in (at..end).take(MAX_CANDIDATES) {
                for old in &candidates {
                    let score = self.likeness(*old, new);
                    if score >= ALIKE || heading_is_telling(*old, new) {
                        scored.push((score, *old, new));
                    }
                }
            }
            self.pair_best(scored);
            at = end;
        }
    }

    /// Pairs the most similar sections first; of equals, the earlier.
    fn pair_best(&mut self, mut scored: Vec<(usize, usize, usize)>) {
        scored.sort_by_key(|(score, old, new)| (std::cmp::Reverse(*score), *old, *new));
        for (_, old, new) in scored {
            if self.free.contains(&old) && self.of_new[new].is_none() {
                self.pair(old, new);
            }
        }
    }
}

/// Returns the share of lines that two bodies have in common, in percent of the longer one. The lines must be sorted.
fn likeness(old: &[u64], new: &[u64]) -> usize {
    let longer = old.len().max(new.len());
    if longer == 0 {
        return 0;
    }
    work::count(1 + old.len() + new.len());
    let (mut shared, mut rest) = (0, new);
    for line in old {
        let smaller = rest.iter().take_while(|other| *other < line).count();
        rest = &rest[smaller..];
        if let [first, behind @ ..] = rest
            && first == line
        {
            shared += 1;
            rest = behind;
        }
    }
    shared * 100 / longer
}

fn line_hashes(text: &[u8]) -> Vec<u64> {
    let mut hashes = Vec::new();
    let mut at = 0;
    while at < text.len() && hashes.len() < MAX_LINES {
        let line = line_at(text, at);
        let content = Span::new(at, line.content_end).slice(text).trim_ascii();
        if !content.is_empty() {
            hashes.push(hash(0, content));
        }
        at = line.end;
    }
    hashes
}

/// FNV-1a: small, and identical on every machine.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ seed.rotate_left(17);
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Source;

    fn of(text: &str) -> Vec<Fingerprint> {
        fingerprints(text.as_bytes(), &Source::new(text.as_bytes()).parse())
    }

    fn check(old: &str, new: &str, expected: &[Option<usize>]) {
        assert_eq!(align(&of(old), &of(new)), expected, "{old:?} -> {new:?}");
    }

    #[test]
    fn what_stays_what_moves_and_what_is_new() {
        let old = "# T\n\nintro\n\n## A\n\nalpha\n\n## B\n\nbeta\n";
        check(old, old, &[Some(0), Some(1), Some(2)]);
        check(
            old,
            "# T\n\nintro\n\n## B\n\nbeta\n\n## A\n\nalpha\n",
            &[Some(0), Some(2), Some(1)],
        );
        check(
            old,
            "# T\n\nintro\n\n## New\n\nfresh words\n\n## A\n\nalpha\n\n## B\n\nbeta\n",
            &[Some(0), None, Some(1), Some(2)],
        );
        check(old, "# T\n\nintro\n\n## B\n\nbeta\n", &[Some(0), Some(2)]);
    }

    #[test]
    fn a_rename_and_a_rewrite_keep_the_section() {
        let old = "# T\n\n## A\n\none\ntwo\nthree\n\n## B\n\nbeta\n";
        check(
            old,
            "# T\n\n## Other\n\none\ntwo\nthree\n\n## B\n\nbeta\n",
            &[Some(0), Some(1), Some(2)],
        );
        check(
            old,
            "# T\n\n## A\n\nall different\n\n## B\n\nbeta\n",
            &[Some(0), Some(1), Some(2)],
        );
        check(
            old,
            "# T\n\n## Other\n\none\ntwo\n3\n\n## B\n\nbeta\n",
            &[Some(0), Some(1), Some(2)],
        );
    }

    #[test]
    fn a_rewrite_below_a_renamed_heading_keeps_the_section() {
        check(
            "# T\n\nintro\n\n## A\n\nalpha\n\n## B\n\nbeta\n\n## C\n\ngamma\n",
            "# Other\n\nintro\n\n## A\n\nalpha\n\n## B\n\nnew\n\n## C\n\ngamma\n",
            &[Some(0), Some(1), Some(2), Some(3)],
        );
    }

    #[test]
    fn equal_headings_are_told_apart_by_their_text_or_not_at_all() {
        let old = "# G\n\n## A\n\n1\n\n## A\n\n2\n\n## A\n\n3\n";
        check(
            old,
            "# G\n\n## A\n\n2\n\n## A\n\n3\n",
            &[Some(0), Some(2), Some(3)],
        );
        check(
            old,
            "# G\n\n## A\n\nx\n\n## A\n\ny\n",
            &[Some(0), None, None],
        );
        check(
            "# N\n\nold notes\n",
            "# N\n\nnew notes\n\n# N\n\nold notes\n",
            &[None, Some(0)],
        );
    }

    /// Counts the steps of aligning the two documents that `make` returns for this many sections.
    fn steps(make: impl Fn(usize) -> (String, String), sections: usize) -> usize {
        let (old, new) = make(sections);
        let (old, new) = (of(&old), of(&new));
        work::steps_of(|| align(&old, &new))
    }

    fn assert_linear(name: &str, make: impl Fn(usize) -> (String, String)) {
        let (one, two) = (steps(&make, 500), steps(&make, 1000));
        assert!(two <= one * 5 / 2, "{name}: {one} steps, then {two}");
    }

    fn sections(count: usize, mut of: impl FnMut(usize) -> String) -> String {
        (0..count).map(|at| of(at) + "\n\n").collect()
    }

    #[test]
    fn the_work_grows_with_the_sections_and_not_with_their_square() {
        assert_linear("everything is new", |count| {
            let text = |tag: &str| sections(count, |at| format!("# {tag}{at}\n\n{tag} {at}"));
            (text("a"), text("b"))
        });
        assert_linear("one heading for all", |count| {
            let text = |tag: &str| sections(count, |at| format!("# Same\n\n{tag} {at}\nshared"));
            (text("a"), text("b") + "# Same\n\nmore\n")
        });
        assert_linear(
            "the other way round, with something new everywhere",
            |count| {
                let old = |at: usize| format!("# A{at}\n\ntext {at}");
                let new = sections(count, |at| {
                    format!("{}\n\n# New {at}\n\nfresh {at}", old(count - at - 1))
                });
                (sections(count, old), new)
            },
        );
        assert_linear("a gap on both sides of what is the same", |count| {
            let text = |tag: &str| {
                sections(count, |at| match at % 2 {
                    0 => format!("# K{at}\n\nkept {at}"),
                    _ => format!("# {tag}{at}\n\n{tag} {at}"),
                })
            };
            (text("a"), text("b"))
        });
    }

    proptest! {
        #[test]
        fn likeness_is_what_is_shared(
            mut old in proptest::collection::vec(0_u64..6, 0..8),
            mut new in proptest::collection::vec(0_u64..6, 0..8),
        ) {
            let mut left = new.clone();
            let shared = old.iter().filter(|line| {
                let found = left.iter().position(|other| other == *line);
                found.map(|at| left.remove(at)).is_some()
            });
            let expected = shared.count() * 100 / old.len().max(new.len()).max(1);
            old.sort_unstable();
            new.sort_unstable();
            prop_assert_eq!(likeness(&old, &new), expected);
        }

        #[test]
        fn no_section_is_named_twice(
            old in proptest::collection::vec((0_usize..4, 0_usize..4), 0..10),
            new in proptest::collection::vec((0_usize..4, 0_usize..4), 0..10),
        ) {
            let text = |parts: &[(usize, usize)]| -> String {
                parts.iter().map(|(heading, body)| format!("# H{heading}\n\nbody {body}\n\n")).collect()
            };
            let (old, new) = (of(&text(&old)), of(&text(&new)));
            let pairs = align(&old, &new);
            let named: Vec<usize> = pairs.iter().flatten().copied().collect();
            let once: BTreeSet<usize> = named.iter().copied().collect();
            prop_assert_eq!(named.len(), once.len());
            // An unchanged document aligns with itself.
            let same = align(&old, &old);
            prop_assert_eq!(same, (0..old.len()).map(Some).collect::<Vec<_>>());
        }
    }
}
