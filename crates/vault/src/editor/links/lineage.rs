//! Maps headings before a transaction to headings after it, including those in quotes and lists.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use sectile_markdown::{Anchors, Document, Section};

use super::snapshot::{LinkDestination, LinkSnapshot, Side, Target};
use crate::editor::draft::Draft;

/// A heading of a drafted document: the index of the draft, and that of the heading.
type HeadingAt = (usize, usize);

/// For each heading of one document, its index in another.
type Pairs = Rc<[Option<usize>]>;

/// The present location of every heading that the drafts had before.
pub(super) struct Lineage {
    of: Vec<Vec<Option<HeadingAt>>>,
    /// The same, cached for pairs of drafts.
    between: RefCell<HashMap<(usize, usize), Pairs>>,
}

/// The headings of a document, each top-level one with those nested in its text.
struct Headings<'d> {
    document: &'d Document,
    preamble: Vec<usize>,
    sections: Vec<(usize, Vec<usize>)>,
}

impl Lineage {
    pub(super) fn new(world: &LinkSnapshot<'_>) -> Self {
        let drafts: Vec<&Draft> = world.drafts.iter().map(|drafted| drafted.draft).collect();
        let now: Vec<Option<Headings<'_>>> = drafts
            .iter()
            .map(|draft| draft.bytes.as_ref().map(|_| Headings::of(&draft.document)))
            .collect();
        let mut positions: HashMap<&str, HeadingAt> = HashMap::new();
        for (index, draft) in drafts.iter().enumerate() {
            let alive = draft.ids.iter().filter(|_| draft.bytes.is_some());
            positions.extend(
                alive
                    .enumerate()
                    .map(|(position, id)| (id.as_str(), (index, position))),
            );
        }
        let of = drafts.iter().enumerate().map(|(index, draft)| {
            let Some(base) = &draft.base else {
                return Vec::new();
            };
            let was = Headings::of(base.document());
            let mut to = vec![None; base.document().sections().len()];
            if let Some(now) = &now[index] {
                was.pair_nested(&was.preamble, now, &now.preamble, index, &mut to);
            }
            for ((heading, nested), id) in was.sections.iter().zip(base.ids()) {
                let Some((other, position)) = positions.get(id.as_str()) else {
                    continue;
                };
                let Some(now) = &now[*other] else {
                    continue;
                };
                if let Some((heading_now, nested_now)) = now.sections.get(*position) {
                    to[*heading] = Some((*other, *heading_now));
                    was.pair_nested(nested, now, nested_now, *other, &mut to);
                }
            }
            to
        });
        Self {
            of: of.collect(),
            between: RefCell::default(),
        }
    }

    /// Returns where the heading at `place` is now, or `None` if it is gone.
    pub(super) fn now(
        &self,
        world: &LinkSnapshot<'_>,
        place: &LinkDestination,
    ) -> Option<LinkDestination> {
        let Target::Drafted(index) = place.document else {
            return Some(place.clone());
        };
        match place.heading {
            None => world.drafts[index]
                .draft
                .bytes
                .as_ref()
                .map(|_| LinkDestination {
                    document: Target::Drafted(index),
                    heading: None,
                }),
            Some(heading) => {
                let (document, heading) = self.of.get(index)?.get(heading).copied().flatten()?;
                Some(LinkDestination {
                    document: Target::Drafted(document),
                    heading: Some(heading),
                })
            }
        }
    }

    /// Returns, for each heading that the draft `from` had, its index in the draft `to`.
    pub(super) fn between(&self, from: usize, to: usize) -> Pairs {
        let mut known = self.between.borrow_mut();
        let pairs = known.entry((from, to)).or_insert_with(|| {
            let headings = self.of.get(from).map(Vec::as_slice).unwrap_or_default();
            let there = |at: &Option<HeadingAt>| at.filter(|at| at.0 == to).map(|at| at.1);
            headings.iter().map(there).collect()
        });
        Rc::clone(pairs)
    }

    /// Returns whether a link that names the document of the draft `index`, or a heading in it, may now lead elsewhere.
    pub(super) fn changed_names(&self, world: &LinkSnapshot<'_>, index: usize) -> bool {
        let draft = world.drafts[index].draft;
        let (Some(base), Some(bytes), None) = (&draft.base, &draft.bytes, &draft.moved_to) else {
            return true;
        };
        let same_headings = base.ids() == draft.ids
            && base.document().sections().len() == draft.document.sections().len()
            && base
                .document()
                .sections()
                .iter()
                .zip(draft.document.sections())
                .all(|(was, is)| {
                    was.level == is.level
                        && was.heading.slice(base.bytes()) == is.heading.slice(bytes)
                });
        if world.drafts[index].aliases(Side::Before) != world.drafts[index].aliases(Side::After) {
            return true;
        }
        // Links may lead to HTML and to blocks. Most documents have neither and need no second look.
        let may_have_others = may_have_attribute(base.bytes(), &["id", "name"])
            || memchr::memchr(b'^', base.bytes()).is_some();
        if same_headings && !may_have_others {
            return false;
        }
        let (Some(was), Some(is)) = (
            world.anchors(Side::Before, index),
            world.anchors(Side::After, index),
        ) else {
            return true;
        };
        !is.has_html_ids_of(was)
            || !is.has_blocks_of(was)
            || !(0..was.len()).all(|heading| self.keeps_name(index, heading, was, is))
    }

    /// Returns whether a heading has the same names as before and is below the same heading.
    fn keeps_name(&self, index: usize, heading: usize, was: &Anchors, is: &Anchors) -> bool {
        let now = |heading: usize| match self.of.get(index)?.get(heading)? {
            Some((document, now)) if *document == index => Some(*now),
            _ => None,
        };
        now(heading).is_some_and(|here| {
            was.anchor(heading) == is.anchor(here)
                && was.link_text(heading) == is.link_text(here)
                && was.parent(heading).map(now) == is.parent(here).map(Some)
        })
    }
}

/// Returns whether HTML in `bytes` may have an attribute with one of these names.
pub(super) fn may_have_attribute(bytes: &[u8], names: &[&str]) -> bool {
    memchr::memchr_iter(b'=', bytes)
        .map(|at| bytes[..at].trim_ascii_end())
        .any(|before| {
            names.iter().any(|name| {
                let start = before.len().saturating_sub(name.len());
                before[start..].eq_ignore_ascii_case(name.as_bytes())
            })
        })
}

impl<'d> Headings<'d> {
    fn of(document: &'d Document) -> Self {
        let mut headings = Self {
            document,
            preamble: Vec::new(),
            sections: Vec::new(),
        };
        for (index, section) in document.sections().iter().enumerate() {
            match (section.extent, headings.sections.last_mut()) {
                (Some(_), _) => headings.sections.push((index, Vec::new())),
                (None, Some((_, nested))) => nested.push(index),
                (None, None) => headings.preamble.push(index),
            }
        }
        headings
    }

    /// Pairs headings nested in one text with those nested in its successor: first the equal ones from the start and
    /// from the end, then those that are unique on both sides.
    fn pair_nested(
        &self,
        was: &[usize],
        now: &Self,
        is: &[usize],
        document: usize,
        to: &mut [Option<HeadingAt>],
    ) {
        let kind = |headings: &Self, index: usize| -> (u8, String) {
            let section: &Section = &headings.document.sections()[index];
            (section.level, section.text.clone())
        };
        let same = |(was, is): &(&usize, &usize)| kind(self, **was) == kind(now, **is);
        let start = was.iter().zip(is).take_while(same).count();
        let (was_rest, is_rest) = (&was[start..], &is[start..]);
        let end = was_rest
            .iter()
            .rev()
            .zip(is_rest.iter().rev())
            .take_while(same)
            .count();
        let ends = was_rest.iter().rev().zip(is_rest.iter().rev()).take(end);
        for (was, is) in was.iter().zip(is).take(start).chain(ends) {
            to[*was] = Some((document, *is));
        }
        let mut kinds: HashMap<(u8, String), (Vec<usize>, Vec<usize>)> = HashMap::new();
        for was in &was_rest[..was_rest.len() - end] {
            kinds.entry(kind(self, *was)).or_default().0.push(*was);
        }
        for is in &is_rest[..is_rest.len() - end] {
            kinds.entry(kind(now, *is)).or_default().1.push(*is);
        }
        for (was, is) in kinds.into_values() {
            if let ([was], [is]) = (was.as_slice(), is.as_slice()) {
                to[*was] = Some((document, *is));
            }
        }
    }
}
