//! Links in front matter: in its strings, and in the brackets of `up: [[Note]]`, which are two nested lists to YAML.

use super::{Enclosure, Link, find};
use crate::{
    Changes, Source, Span,
    lines::line_at,
    source::MAX_FRONT_MATTER_BYTES,
    yaml::{Node, Text, texts},
};

/// Returns the links in the front matter of a document, in order.
pub(crate) fn links(source: &Source<'_>) -> Vec<Link> {
    let mut found = Vec::new();
    let Some(span) = source.yaml() else {
        return found;
    };
    let yaml = &source.text[span.range()];
    // A link contains one of these, unless it is written with escapes.
    if !["]]", "](", "=", "\\"]
        .iter()
        .any(|mark| yaml.contains(mark))
    {
        return found;
    }
    // The links of longer front matter are found, but not repaired.
    let read = (yaml.len() <= MAX_FRONT_MATTER_BYTES).then(|| texts(yaml));
    let read = read.flatten();
    match read {
        Some((texts, _)) => {
            for text in &texts {
                of_text(yaml, text, &mut found);
            }
        }
        None => of_lines(yaml, &mut found),
    }
    let mut found: Vec<Link> = found
        .into_iter()
        .map(|link| {
            let enclosure = link.enclosure;
            link.moved(span.start, enclosure)
        })
        .collect();
    found.sort_by_key(|link| (link.span, link.path.span));
    find::to_raw(source, &mut found);
    found
}

/// Returns whether `changes` of the front matter of the document `bytes` only change the words of some strings: the
/// keys, the other values and the number of links stay the same.
#[must_use]
pub fn front_matter_keeps_its_shape(bytes: &[u8], changes: &Changes) -> bool {
    let Some(after) = changes.apply(bytes) else {
        return false;
    };
    let (before, after) = (Source::new(bytes), Source::new(&after));
    let (Some(was), Some(is)) = (before.front_matter(), after.front_matter()) else {
        return false;
    };
    let inside = changes
        .iter()
        .all(|change| was.yaml.start <= change.span.start && change.span.end <= was.yaml.end);
    let (Some(old_yaml), Some(new_yaml)) = (before.yaml(), after.yaml()) else {
        return false;
    };
    let (Some((_, old)), Some((_, new))) = (
        texts(&before.text[old_yaml.range()]),
        texts(&after.text[new_yaml.range()]),
    ) else {
        return false;
    };
    let is_same = |(old, new): (&Node, &Node)| {
        old == new || matches!((old, new), (Node::Text(_), Node::Text(_)))
    };
    let differing = old.iter().zip(&new).filter(|(old, new)| old != new).count();
    inside
        && was.block.len() - was.yaml.len() == is.block.len() - is.yaml.len()
        && old.len() == new.len()
        && old.iter().zip(&new).all(is_same)
        && differing <= changes.iter().len()
        && links(&before).len() == links(&after).len()
}

/// Adds the links of one string, in offsets of the block.
fn of_text(yaml: &str, text: &Text, found: &mut Vec<Link>) {
    let enclosure = Enclosure::FrontMatter(text.quote);
    let whole = Span::new(text.start, text.end);
    let in_brackets = text.quote.is_none()
        && yaml[..text.start].ends_with("[[")
        && yaml[text.end..].starts_with("]]");
    if in_brackets {
        let start = text.start - 2;
        let links = find::links_in_text(&yaml[start..text.end + 2]).into_iter();
        let plain = links.filter(|link| link.enclosure == Enclosure::Text);
        found.extend(plain.map(|link| link.moved(start, enclosure)));
        return;
    }
    let mut links = find::links_in_text(&text.value);
    if links.is_empty() {
        return;
    }
    if let Some(offsets) = text.offsets(yaml) {
        links.iter_mut().for_each(|link| link.map_spans(&offsets));
        found.extend(links.into_iter().map(|link| match link.enclosure {
            Enclosure::Text => link.moved(text.start, enclosure),
            _ => link.sealed(whole),
        }));
        return;
    }
    // In a multi-line string, a link may still be written exactly as it reads.
    let written = &yaml[whole.range()];
    let (mut read, mut at) = (0, Some(0));
    for link in links {
        let shift = if link.span.start < read {
            None
        } else {
            let spelled = &text.value[link.span.range()];
            let place = at.and_then(|at| Some(at + written[at..].find(spelled)?));
            at = place.map(|place| place + spelled.len());
            read = link.span.end;
            place.and_then(|place| place.checked_sub(link.span.start))
        };
        found.push(match shift {
            Some(shift) if link.enclosure == Enclosure::Text => {
                link.moved(text.start + shift, enclosure)
            }
            _ => link.sealed(whole),
        });
    }
}

/// Adds the links in the lines of a block that is too long or not YAML: they are found, but cannot be repaired.
fn of_lines(yaml: &str, found: &mut Vec<Link>) {
    let mut start = 0;
    while start < yaml.len() {
        let line = line_at(yaml.as_bytes(), start);
        let links = find::links_in_text(&yaml[start..line.content_end]);
        let span = Span::new(start, line.content_end);
        found.extend(links.into_iter().map(|link| link.sealed(span)));
        start = line.end;
    }
}
