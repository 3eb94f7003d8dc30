//! Makes a link follow the heading it leads to.

use std::ops::Range;

use super::{
    Enclosure, FragmentResolution, Link, LinkForm, LinkPart,
    anchors::{Anchors, FragmentMatch, Spelling, parts},
    destination::{Escapes, pieces},
};
use crate::{Change, Span, trim};

/// The change needed so that a link still leads to its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// None: it still does, or it led nowhere before.
    NotNeeded,
    /// This change of the document that contains the link.
    Change(Change),
    /// The target was deleted, or no spelling of the link leads there.
    Impossible,
}

/// Makes `link` lead to the heading that it led to before an edit.
///
/// `source` is the document that contains the link. `old` and `new` are the anchors of the document it leads to, before
/// and after; `lineage` maps each heading's old index to its new one, or to `None` if it was deleted. For a heading
/// that moved to another document, `new` are the anchors of that document.
///
/// A link by anchor stays one by anchor, and a link by text one by text; of `A#B` only the part whose heading changed is
/// rewritten. Where that would be ambiguous because several headings share the text, parent headings are put before it,
/// or, outside wiki links, an anchor takes its place.
#[must_use]
pub fn repair_fragment(
    link: &Link,
    source: &[u8],
    old: &Anchors,
    new: &Anchors,
    lineage: &[Option<usize>],
) -> Repair {
    let Some(fragment) = &link.fragment else {
        return Repair::NotNeeded;
    };
    let FragmentResolution::Heading(before) = old.resolve(link.form, &fragment.text) else {
        return Repair::NotNeeded;
    };
    let Some(trace) = old.trace(link.form, &fragment.text) else {
        return Repair::NotNeeded;
    };
    let after = |index: usize| lineage.get(index).copied().flatten();
    let Some(target) = after(before).filter(|target| *target < new.len()) else {
        return Repair::Impossible;
    };
    let leads_there =
        |spelled: &str| new.resolve(link.form, spelled) == FragmentResolution::Heading(target);
    if leads_there(&fragment.text) {
        return Repair::NotNeeded;
    }
    if link.enclosure == Enclosure::Sealed {
        return Repair::Impossible;
    }
    if let Some(parts) = renamed_parts(&trace, &fragment.text, new, after)
        && leads_there(&parts.join())
    {
        return Repair::Change(parts.change(link, fragment, source));
    }
    spellings(link, trace.spelling, new, target)
        .find(|spelled| leads_there(spelled))
        .map_or(Repair::Impossible, |spelled| {
            let written = written(link, &spelled, fragment.span.slice(source));
            Repair::Change(Change::new(fragment.span, written))
        })
}

/// Returns the ways to name the heading at `target`, best first.
fn spellings(
    link: &Link,
    spelling: Spelling,
    new: &Anchors,
    target: usize,
) -> impl Iterator<Item = String> {
    let id = new.id(target).filter(|_| spelling == Spelling::Id);
    let anchor = new.anchor(target);
    let by_anchor: Vec<String> = id.into_iter().chain(anchor).map(str::to_owned).collect();
    let (first, last) = match spelling {
        Spelling::Anchor | Spelling::Id => (by_anchor, Vec::new()),
        Spelling::Text if link.form.is_wiki() => (Vec::new(), Vec::new()),
        Spelling::Text => (Vec::new(), by_anchor),
    };
    first.into_iter().chain(text_paths(new, target)).chain(last)
}

/// Iterates over the heading's text, then with its parent's text before it, and so on.
fn text_paths(new: &Anchors, target: usize) -> impl Iterator<Item = String> {
    let mut path = String::new();
    std::iter::successors(Some(target), |at| new.parent(*at)).filter_map(move |at| {
        let text = new.link_text(at).filter(|text| !text.is_empty())?;
        path = if path.is_empty() {
            text
        } else {
            format!("{text}#{path}")
        };
        Some(path.clone())
    })
}

/// The parts of a fragment, each with its new text if it changes.
struct FragmentParts<'a>(Vec<(&'a str, Option<String>)>);

/// Splits a fragment that names headings by their text, with new texts for the renamed ones.
fn renamed_parts<'a>(
    trace: &FragmentMatch,
    fragment: &'a str,
    new: &Anchors,
    after: impl Fn(usize) -> Option<usize>,
) -> Option<FragmentParts<'a>> {
    if trace.spelling != Spelling::Text {
        return None;
    }
    let parts = parts(fragment).zip(&trace.headings).map(|(part, heading)| {
        let now = after(*heading)?;
        if new.is_named(now, part) {
            return Some((part, None));
        }
        let text = new.link_text(now).filter(|text| !text.is_empty())?;
        Some((part, Some(text)))
    });
    Some(FragmentParts(parts.collect::<Option<_>>()?))
}

impl FragmentParts<'_> {
    fn join(&self) -> String {
        let parts: Vec<&str> = self
            .0
            .iter()
            .map(|(old, new)| new.as_deref().unwrap_or(old))
            .collect();
        parts.join("#")
    }

    /// Replaces from the first renamed part to the last, or the whole fragment if its parts cannot be located.
    fn change(&self, link: &Link, fragment: &LinkPart, source: &[u8]) -> Change {
        let raw = fragment.span.slice(source);
        let places = std::str::from_utf8(raw)
            // Between quotes in front matter, it may contain YAML escapes.
            .ok()
            .filter(|raw| {
                let in_quotes = matches!(link.enclosure, Enclosure::FrontMatter(Some(_)));
                !in_quotes || !raw.contains(['\\', '\''])
            })
            .map(|raw| places_of_parts(raw, link.form))
            .unwrap_or_default();
        let renamed = |(_, new): &(&str, Option<String>)| new.is_some();
        let (first, last) = (
            self.0.iter().position(renamed),
            self.0.iter().rposition(renamed),
        );
        let (Some(first), Some(last), true) = (first, last, places.len() == self.0.len()) else {
            return Change::new(fragment.span, written(link, &self.join(), raw));
        };
        let mut text = Vec::new();
        let mut at = places[first].start;
        for ((_, new), place) in self.0.iter().zip(&places).take(last + 1).skip(first) {
            text.extend_from_slice(&raw[at..place.start]);
            match new {
                Some(new) => text.extend(written(link, new, &raw[place.clone()]).bytes()),
                None => text.extend_from_slice(&raw[place.clone()]),
            }
            at = place.end;
        }
        let start = fragment.span.start;
        Change::new(Span::new(start + places[first].start, start + at), text)
    }
}

/// Returns the ranges of the parts of a fragment, as written.
fn places_of_parts(raw: &str, form: LinkForm) -> Vec<Range<usize>> {
    let mut borders: Vec<Range<usize>> = if form.is_wiki() {
        raw.match_indices('#').map(|(at, _)| at..at + 1).collect()
    } else {
        let hashes = pieces(raw, Escapes::of(form)).filter(|(_, piece)| piece == "#");
        hashes.map(|(range, _)| range).collect()
    };
    borders.push(raw.len()..raw.len());
    let mut start = 0;
    let places = borders.into_iter().filter_map(|border| {
        let place = &raw[start..border.start];
        let kept = trim(place);
        let kept_start = start + place.find(kept).unwrap_or(0);
        start = border.end;
        (!kept.is_empty()).then(|| kept_start..kept_start + kept.len())
    });
    places.collect()
}

/// Writes a fragment for `link`, in place of `raw`.
fn written(link: &Link, fragment: &str, raw: &[u8]) -> String {
    let parts: Vec<String> = fragment
        .split('#')
        .map(|part| link.written(part, raw))
        .collect();
    parts.join("#")
}
