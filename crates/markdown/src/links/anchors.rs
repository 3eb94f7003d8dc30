//! Resolves fragments to headings, and finds the anchors that an edit moved.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use pulldown_cmark::{Event, Tag, TagEnd};

use super::{
    AnchorStyle, LinkForm,
    anchor_style::UniqueAnchors,
    blocks,
    heading_names::{folded, html_ids, loose_key, split_id, strict_key, text_for_link},
};
use crate::{Source, Span, options::ParserInput, trim};

/// The headings of one document as links name them. Indices are those of
/// [`Document::sections`](crate::Document::sections).
#[derive(Clone, Debug, Default)]
pub struct Anchors {
    headings: Vec<Heading>,
    by_anchor: HashMap<String, usize>,
    by_id: HashMap<String, usize>,
    by_strict_text: HeadingNames,
    by_loose_text: HeadingNames,
    html_ids: HashSet<String>,
    /// The start of each named block.
    blocks: HashMap<String, usize>,
}

/// The names of a document's parts that [`Anchors`] are made of, for keeping without the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnchorNames {
    /// All headings, in order.
    pub headings: Vec<NamedHeading>,
    /// The names and ids of HTML elements, as they are compared.
    pub html_ids: Vec<String>,
    /// The named blocks.
    pub blocks: Vec<NamedBlock>,
}

/// A heading as links name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHeading {
    /// Its level, 1 to 6.
    pub level: u8,
    /// The visible text: text and code, but not HTML or the alternative text of images.
    pub text: String,
    /// The text as written, with its markup.
    pub raw: String,
}

/// A block as links name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedBlock {
    /// Its name, as [`block_key`] returns it.
    pub name: String,
    /// The start of the text that the name ends, in bytes of the source.
    pub start: usize,
}

/// The target of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentResolution {
    /// The heading with this index.
    Heading(usize),
    /// The document as a whole: there is no fragment, or it is `top`.
    TopOfDocument,
    /// A block, `^name`.
    Block,
    /// A block that does not exist.
    MissingBlock,
    /// An HTML element with that name or id. It is not a heading, so renaming a heading does not affect it.
    Html,
    /// Nothing.
    Missing,
}

/// An anchor that no longer leads to its heading after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedAnchor {
    /// The anchor before the edit.
    pub anchor: String,
    /// The heading that had it, by its index before the edit.
    pub heading: usize,
    /// The anchor and index of that heading after the edit, or `None` if it was deleted.
    pub now: Option<(String, usize)>,
    /// The heading that has the old anchor now, by its index after the edit.
    pub taken_by: Option<usize>,
}

#[derive(Clone, Debug)]
struct Heading {
    level: usize,
    parent: Option<usize>,
    text: String,
    anchor: String,
    id: Option<String>,
}

/// How a fragment names its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// By the anchor generated from its text.
    Anchor,
    /// By the id written after its text.
    Id,
    /// By its text.
    Text,
}

/// A fragment that leads to a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FragmentMatch {
    pub(super) spelling: Spelling,
    /// The heading that each part of the fragment names. Never empty; the last is the target.
    pub(super) headings: Vec<usize>,
}

impl FragmentMatch {
    pub(super) fn target(&self) -> Option<usize> {
        self.headings.last().copied()
    }
}

/// Generates the anchors of headings while the parser events are read for another purpose.
pub(crate) struct AnchorReader {
    style: AnchorStyle,
    headings: HeadingReader,
    found: Vec<HeadingName>,
}

/// What the anchor of a heading comes from.
enum HeadingName {
    /// The id that its author gave it.
    Id(String),
    /// Its visible text.
    Text(String),
}

impl AnchorReader {
    pub(crate) fn new(style: AnchorStyle) -> Self {
        Self {
            style,
            headings: HeadingReader::new(style),
            found: Vec::new(),
        }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, span: Span) {
        if let Some(heading) = self.headings.event(event, span) {
            self.found.push(HeadingName::Text(heading.text));
        }
    }

    /// Gives the last heading this id.
    pub(crate) fn set_id(&mut self, id: String) {
        if let Some(name) = self.found.last_mut() {
            *name = HeadingName::Id(id);
        }
    }

    /// Returns the anchor of each heading.
    ///
    /// Some sites let an id occur twice, and links lead to its first heading. Here the second gets a number that no other
    /// anchor has, because each is the address of one section.
    pub(crate) fn finish(self) -> Vec<String> {
        let mut anchors = self.site_anchors();
        let mut unique = UniqueAnchors::new(self.style);
        anchors.iter().for_each(|anchor| unique.reserve(anchor));
        let mut seen = HashSet::with_capacity(anchors.len());
        for anchor in &mut anchors {
            if !seen.insert(anchor.clone()) {
                *anchor = unique.free(std::mem::take(anchor));
            }
        }
        anchors
    }

    /// Returns the anchors as the site makes them.
    fn site_anchors(&self) -> Vec<String> {
        let mut unique = UniqueAnchors::new(self.style);
        let ids = self.found.iter().filter_map(|name| match name {
            HeadingName::Id(id) => Some(id.as_str()),
            HeadingName::Text(_) => None,
        });
        // MkDocs knows all ids before it makes an anchor, VitePress those above, and the others none.
        if self.style == AnchorStyle::MkDocs {
            ids.for_each(|id| unique.reserve(id));
        }
        let anchor = |name: &HeadingName| match name {
            HeadingName::Text(text) => unique.next(text),
            HeadingName::Id(id) => {
                if self.style == AnchorStyle::VitePress {
                    unique.reserve(id);
                }
                id.clone()
            }
        };
        self.found.iter().map(anchor).collect()
    }
}

/// Finds headings among parser events.
#[derive(Default)]
struct HeadingReader {
    style: AnchorStyle,
    reading: Option<OpenHeading>,
    image_depth: usize,
}

impl HeadingReader {
    fn new(style: AnchorStyle) -> Self {
        Self {
            style,
            ..Self::default()
        }
    }

    /// Returns the heading that ends with this event.
    fn event(&mut self, event: &Event<'_>, span: Span) -> Option<OpenHeading> {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.reading = Some(OpenHeading::new(*level as usize));
                return None;
            }
            Event::End(TagEnd::Heading(_)) => return self.reading.take(),
            Event::Start(Tag::Image { .. }) => self.image_depth += 1,
            Event::End(TagEnd::Image) => self.image_depth = self.image_depth.saturating_sub(1),
            _ => {}
        }
        if let Some(heading) = &mut self.reading {
            heading.event(event, span, self.image_depth > 0, self.style);
        }
        None
    }
}

impl Anchors {
    /// Reads the headings of `source`.
    ///
    /// The texts of [`Section`](crate::Section) would not do: anchors are generated from the visible text, without the
    /// spaces that are put around markup there.
    #[must_use]
    pub fn new(source: &Source<'_>) -> Self {
        Self::of(&AnchorNames::new(source))
    }

    /// Arranges the names of a document for resolving fragments.
    #[must_use]
    pub fn of(names: &AnchorNames) -> Self {
        let mut anchors = Self::default();
        let (mut unique, mut open) = (UniqueAnchors::default(), Vec::new());
        for heading in &names.headings {
            anchors.push(heading, &mut unique, &mut open);
        }
        anchors.html_ids.extend(names.html_ids.iter().cloned());
        for block in &names.blocks {
            let name = block.name.clone();
            anchors.blocks.entry(name).or_insert(block.start);
        }
        anchors
    }

    /// Returns the number of headings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.headings.len()
    }

    /// Returns `true` if there are no headings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headings.is_empty()
    }

    /// Returns the GitHub anchor of the heading at `index`, distinguished from equal ones before it by `-1`, `-2` and
    /// so on.
    #[must_use]
    pub fn anchor(&self, index: usize) -> Option<&str> {
        Some(&self.headings.get(index)?.anchor)
    }

    /// Returns the parent of the heading at `index`.
    #[must_use]
    pub fn parent(&self, index: usize) -> Option<usize> {
        self.headings.get(index)?.parent
    }

    /// Returns whether every HTML id of `old` exists here too.
    #[must_use]
    pub fn has_html_ids_of(&self, old: &Self) -> bool {
        old.html_ids.is_subset(&self.html_ids)
    }

    /// Returns whether every named block of `old` exists here too.
    #[must_use]
    pub fn has_blocks_of(&self, old: &Self) -> bool {
        old.blocks.keys().all(|name| self.blocks.contains_key(name))
    }

    /// Iterates over the names of the blocks, as [`block_key`] returns them.
    pub fn blocks(&self) -> impl Iterator<Item = &str> {
        self.blocks.keys().map(String::as_str)
    }

    /// Returns whether the block that `fragment` names exists.
    #[must_use]
    pub fn has_block(&self, fragment: &str) -> bool {
        self.block_start(fragment).is_some()
    }

    /// Returns the offset of the block that `fragment` names, in bytes of the source.
    #[must_use]
    pub fn block_start(&self, fragment: &str) -> Option<usize> {
        self.blocks.get(&block_key(fragment)?).copied()
    }

    /// Returns the text of the heading at `index` as a wiki link can name it.
    #[must_use]
    pub fn link_text(&self, index: usize) -> Option<String> {
        Some(text_for_link(split_id(&self.headings.get(index)?.text).0))
    }

    /// Resolves `fragment` in a link of the given form. It must be decoded and without `#`, as returned by
    /// [`Link::fragment_text`](super::Link::fragment_text).
    ///
    /// A CommonMark link is tried as an anchor first and as a heading's text second; a wiki link the other way round.
    /// Case is ignored. A text that several headings share leads to the first, and `A#B` to the first `B` below an `A`.
    #[must_use]
    pub fn resolve(&self, form: LinkForm, fragment: &str) -> FragmentResolution {
        let fragment = trim(fragment);
        if fragment.is_empty() {
            return FragmentResolution::TopOfDocument;
        }
        if block_key(fragment).is_some() {
            return match self.has_block(fragment) {
                true => FragmentResolution::Block,
                false => FragmentResolution::MissingBlock,
            };
        }
        if let Some(target) = self.trace(form, fragment).and_then(|trace| trace.target()) {
            return FragmentResolution::Heading(target);
        }
        if self.html_ids.contains(&folded(fragment)) {
            return FragmentResolution::Html;
        }
        if fragment.eq_ignore_ascii_case("top") {
            return FragmentResolution::TopOfDocument;
        }
        FragmentResolution::Missing
    }

    /// Returns how `fragment` leads to a heading, if it does.
    pub(super) fn trace(&self, form: LinkForm, fragment: &str) -> Option<FragmentMatch> {
        let fragment = trim(fragment);
        if form.is_wiki() {
            self.trace_text(fragment)
                .or_else(|| self.trace_anchor(fragment))
        } else {
            self.trace_anchor(fragment)
                .or_else(|| self.trace_text(fragment))
        }
    }

    fn trace_anchor(&self, fragment: &str) -> Option<FragmentMatch> {
        let key = folded(fragment);
        let (index, spelling) = match self.by_id.get(&key) {
            Some(index) => (*index, Spelling::Id),
            None => {
                let index = *self.by_anchor.get(&key)?;
                // `#Setup` could be either. Tools that generate anchors generate them in lower case.
                let is_text =
                    fragment != self.headings[index].anchor && self.is_named(index, fragment);
                let spelling = if is_text {
                    Spelling::Text
                } else {
                    Spelling::Anchor
                };
                (index, spelling)
            }
        };
        Some(FragmentMatch {
            spelling,
            headings: vec![index],
        })
    }

    fn trace_text(&self, fragment: &str) -> Option<FragmentMatch> {
        let mut headings = Vec::new();
        let (mut from, mut above) = (0, 0);
        for part in parts(fragment) {
            let next = self
                .by_strict_text
                .next(&strict_key(part), from, above)
                .or_else(|| self.by_loose_text.next(&loose_key(part), from, above))?;
            headings.push(next);
            from = next + 1;
            above = self.headings[next].level;
        }
        (!headings.is_empty()).then_some(FragmentMatch {
            spelling: Spelling::Text,
            headings,
        })
    }

    /// Returns whether the heading at `index` can be called `text`.
    pub(super) fn is_named(&self, index: usize, text: &str) -> bool {
        self.by_strict_text.has(&strict_key(text), index)
            || self.by_loose_text.has(&loose_key(text), index)
    }

    /// Returns the id written after the text of the heading at `index`.
    pub(super) fn id(&self, index: usize) -> Option<&str> {
        self.headings.get(index)?.id.as_deref()
    }

    fn push(&mut self, heading: &NamedHeading, unique: &mut UniqueAnchors, open: &mut Vec<usize>) {
        let NamedHeading { level, text, raw } = heading;
        let (level, index) = (usize::from(*level), self.headings.len());
        while open
            .pop_if(|above| self.headings[*above].level >= level)
            .is_some()
        {}
        let (text_before_id, id) = split_id(text);
        let other_names = [text_before_id, raw.as_str()]
            .into_iter()
            .filter(|name| name != text);
        for name in other_names.chain([text.as_str()]) {
            self.by_strict_text.add(strict_key(name), index, level);
            self.by_loose_text.add(loose_key(name), index, level);
        }
        let anchor = unique.next(text);
        self.by_anchor.entry(folded(&anchor)).or_insert(index);
        if let Some(id) = id {
            self.by_id.entry(folded(id)).or_insert(index);
        }
        self.headings.push(Heading {
            level,
            parent: open.last().copied(),
            id: id.map(str::to_owned),
            anchor,
            text: text.clone(),
        });
        open.push(index);
    }
}

impl AnchorNames {
    /// Reads the names in `source`.
    #[must_use]
    pub fn new(source: &Source<'_>) -> Self {
        let mut reader = AnchorNameReader::new(source);
        let markdown = ParserInput::of(&source.text);
        for (event, range) in markdown.events(source.body_start..source.text.len()) {
            reader.event(&event, range);
        }
        reader.finish()
    }
}

/// Collects the names of headings, HTML elements and blocks from parser events.
pub(crate) struct AnchorNameReader<'s> {
    source: &'s Source<'s>,
    markdown: &'s str,
    headings: HeadingReader,
    in_code: bool,
    names: AnchorNames,
}

impl<'s> AnchorNameReader<'s> {
    pub(crate) fn new(source: &'s Source<'s>) -> Self {
        Self {
            source,
            markdown: &source.text[source.body_start..],
            headings: HeadingReader::default(),
            in_code: false,
            names: AnchorNames::default(),
        }
    }

    /// Takes an event of the body, with its range counted from the start of the body.
    pub(crate) fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => self.in_code = true,
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Text(_) if !self.in_code => {
                if let Some(name) = blocks::name_at_end(self.markdown, &range) {
                    let start = self.source.body_start + range.start;
                    self.names.blocks.push(NamedBlock {
                        name: folded(name),
                        start: self.source.offsets.to_raw(start),
                    });
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                self.names.html_ids.extend(html_ids(html).map(folded));
            }
            _ => {}
        }
        let span = Span::new(range.start, range.end);
        if let Some(OpenHeading { level, text, raw }) = self.headings.event(event, span) {
            let raw = raw.map_or("", |raw| &self.markdown[raw.range()]);
            self.names.headings.push(NamedHeading {
                level: u8::try_from(level).unwrap_or(u8::MAX),
                text,
                raw: raw.to_owned(),
            });
        }
    }

    pub(crate) fn finish(mut self) -> AnchorNames {
        self.names.html_ids.sort_unstable();
        self.names.html_ids.dedup();
        self.names
    }
}

/// Returns the anchors of a document that lead elsewhere after an edit. `lineage` maps each heading's old index to its
/// new one, or to `None` if it was deleted.
#[must_use]
pub fn moved_anchors(old: &Anchors, new: &Anchors, lineage: &[Option<usize>]) -> Vec<MovedAnchor> {
    let moved = old
        .headings
        .iter()
        .enumerate()
        .filter_map(|(index, heading)| {
            let now = lineage.get(index).copied().flatten();
            let now = now.and_then(|now| Some((new.anchor(now)?.to_owned(), now)));
            let stays = now
                .as_ref()
                .is_some_and(|(anchor, _)| *anchor == heading.anchor);
            (!stays).then(|| MovedAnchor {
                anchor: heading.anchor.clone(),
                heading: index,
                now,
                taken_by: new.by_anchor.get(&folded(&heading.anchor)).copied(),
            })
        });
    moved.collect()
}

/// Returns a key that is equal for fragments that name the same block, `^name` or `A#^name`; `None` for others.
#[must_use]
pub fn block_key(fragment: &str) -> Option<String> {
    parts(fragment).last()?.strip_prefix('^').map(folded)
}

/// Splits a fragment that names nested headings, `A#B`, into its parts.
pub(super) fn parts(fragment: &str) -> impl Iterator<Item = &str> {
    fragment
        .split('#')
        .map(trim)
        .filter(|part| !part.is_empty())
}

/// A heading whose inline nodes are being read.
struct OpenHeading {
    level: usize,
    /// The visible text: text and code, but not HTML or the alternative text of images.
    text: String,
    /// The span as written, with its markup.
    raw: Option<Span>,
}

impl OpenHeading {
    fn new(level: usize) -> Self {
        Self {
            level,
            text: String::new(),
            raw: None,
        }
    }

    fn event(&mut self, event: &Event<'_>, span: Span, in_image: bool, style: AnchorStyle) {
        let raw = self.raw.get_or_insert(span);
        raw.end = raw.end.max(span.end);
        match event {
            // Of all sites, only Docusaurus takes the alternative text of an image.
            Event::Text(_) | Event::Code(_) if in_image && style != AnchorStyle::Docusaurus => {}
            Event::Text(text) if style == AnchorStyle::MdBook => {
                push_without_dashes(text, &mut self.text);
            }
            Event::Text(text) | Event::Code(text) => self.text.push_str(text),
            Event::SoftBreak | Event::HardBreak => match style {
                AnchorStyle::Docusaurus | AnchorStyle::VitePress => {}
                _ => self.text.push(' '),
            },
            _ => {}
        }
    }
}

/// Appends `text` without two or more hyphens in a row, which smart punctuation makes dashes.
fn push_without_dashes(text: &str, to: &mut String) {
    let mut rest = text;
    while let Some(start) = rest.find("--") {
        to.push_str(&rest[..start]);
        rest = rest[start..].trim_start_matches('-');
    }
    to.push_str(rest);
}

/// Headings by text and level.
#[derive(Clone, Debug, Default)]
struct HeadingNames(HashMap<String, [Vec<usize>; LEVELS]>);

const LEVELS: usize = 6;

impl HeadingNames {
    /// Adds the heading at `index`, the last one so far.
    fn add(&mut self, key: String, index: usize, level: usize) {
        if !key.is_empty()
            && let Some(indices) = self.0.entry(key).or_default().get_mut(level - 1)
            && indices.last() != Some(&index)
        {
            indices.push(index);
        }
    }

    /// Returns the first heading called `key` at or after index `from`, deeper than level `above`.
    fn next(&self, key: &str, from: usize, above: usize) -> Option<usize> {
        let levels = self.0.get(key)?.get(above..)?;
        levels
            .iter()
            .filter_map(|indices| indices.get(indices.partition_point(|index| *index < from)))
            .min()
            .copied()
    }

    fn has(&self, key: &str, index: usize) -> bool {
        self.0.get(key).is_some_and(|levels| {
            levels
                .iter()
                .any(|indices| indices.binary_search(&index).is_ok())
        })
    }
}
