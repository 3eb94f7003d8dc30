//! Links between documents: finding them, resolving them, and respelling the part that names a heading or a document.
//!
//! [`links`] finds them. [`resolve_path`] returns the document that a link names, [`Anchors::resolve`] the heading.
//! [`repair_fragment`] and [`repair_path`] return the smallest change that makes a link follow a renamed heading or
//! document. Destinations outside the folder of notes, such as `https:` and `mailto:`, do not count as links here.

use crate::{Span, source::Offsets};

mod aliases;
mod anchor_style;
mod anchors;
mod blocks;
mod comments;
mod destination;
mod find;
mod front_matter;
mod heading_attributes;
mod heading_names;
mod html;
mod paths;
mod repair;
mod wiki;

pub use aliases::aliases;
pub(crate) use aliases::aliases_of;
pub use anchor_style::AnchorStyle;
pub(crate) use anchors::AnchorNameReader;
pub(crate) use anchors::AnchorReader;
pub use anchors::{
    AnchorNames, Anchors, FragmentResolution, MovedAnchor, NamedBlock, NamedHeading, block_key,
    moved_anchors,
};
pub(crate) use destination::{decoded_parts, is_external, push_percent_encoded};
pub(crate) use find::{LinkFinder, definitions, marks, wiki_links};
pub use find::{links, links_near};
pub use front_matter::front_matter_keeps_its_shape;
pub(crate) use front_matter::links as front_matter_links;
pub(crate) use heading_attributes::heading_attributes;
pub use heading_names::github_anchor;
pub use paths::{
    LinkNames, PathResolution, TargetResolution, joined_path, name_key, name_keys, repair_path,
    resolve_path, resolve_target,
};
pub use repair::{Repair, repair_fragment};
pub(crate) use wiki::alias;

/// A link to a document in the folder, or to a heading in one. Spans are bytes of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// How the link is written.
    pub form: LinkForm,
    /// The whole link. For a definition, from its label to the end of its title.
    pub span: Span,
    /// The part that names the document. Empty for a link within its own document; the span is then where a name would
    /// go.
    pub path: LinkPart,
    /// The part that names the target within the document, without the `#`.
    pub fragment: Option<LinkPart>,
    /// Whether the destination is enclosed in `<` and `>`.
    pub in_angle_brackets: bool,
    /// The context of the link, which decides how a repair is written.
    pub enclosure: Enclosure,
    /// For a definition, the links and images in the text that use it, in order: `[text][label]`, `[label][]`,
    /// `[label]`. Empty for other links.
    pub uses: Vec<Span>,
}

/// The context of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enclosure {
    /// In the Markdown text of the document.
    Text,
    /// In an attribute of an HTML tag, between these quotes.
    Attribute(Option<char>),
    /// In a value of the front matter, between these quotes.
    FrontMatter(Option<char>),
    /// Somewhere the link can be read but not rewritten, because line breaks or escapes separate what is written from
    /// what is read. Its parts have no spans.
    Sealed,
}

/// A part of a link's destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPart {
    /// The bytes of the source.
    pub span: Span,
    /// The decoded text: backslashes, entities and percent signs resolved. A wiki link has none of these.
    pub text: String,
}

/// The syntax of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkForm {
    /// An inline link, `[text](path#fragment)`.
    Inline,
    /// An image, `![text](path)`.
    Image,
    /// A definition, `[label]: path#fragment`, shared by all links with that label.
    Definition,
    /// A wiki link, `[[path#fragment|alias]]`.
    Wiki,
    /// An embed, `![[path#fragment]]`.
    WikiEmbed,
    /// An HTML attribute, `<a href="path#fragment">` or `<img src="path">`. Read and written like a CommonMark link.
    Html,
}

impl Link {
    /// Returns the text of the fragment, or the empty string without one.
    #[must_use]
    pub fn fragment_text(&self) -> &str {
        self.fragment
            .as_ref()
            .map_or("", |fragment| fragment.text.as_str())
    }

    /// Returns where a reader meets the link: at its uses if it is a definition that has some, or else at its own span.
    #[must_use]
    pub fn places(&self) -> &[Span] {
        if self.uses.is_empty() {
            std::slice::from_ref(&self.span)
        } else {
            &self.uses
        }
    }

    /// Returns the whole destination: the document, and the fragment in it.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.fragment {
            Some(fragment) => format!("{}#{}", self.path.text, fragment.text),
            None => self.path.text.clone(),
        }
    }

    /// Writes `text`, one part of the destination, as it must be spelled in place of `like`.
    fn written(&self, text: &str, like: &[u8]) -> String {
        let destination = if self.form.is_wiki() {
            text.to_owned()
        } else {
            destination::encoded(text, self.in_angle_brackets, like)
        };
        match self.enclosure {
            Enclosure::Attribute(quote) => destination::for_attribute(&destination, quote),
            Enclosure::FrontMatter(Some('\'')) => destination.replace('\'', "''"),
            Enclosure::FrontMatter(Some(_)) => {
                destination.replace('\\', "\\\\").replace('"', "\\\"")
            }
            Enclosure::Text | Enclosure::FrontMatter(None) | Enclosure::Sealed => destination,
        }
    }

    /// Marks the link, which is somewhere in `span`, as readable but not writable.
    fn sealed(self, span: Span) -> Self {
        let at = |offset: usize| Span::new(offset, offset);
        Self {
            span,
            path: LinkPart {
                span: at(span.start),
                ..self.path
            },
            fragment: self.fragment.map(|fragment| LinkPart {
                span: at(span.end),
                ..fragment
            }),
            enclosure: Enclosure::Sealed,
            ..self
        }
    }

    /// Maps offsets in decoded text to offsets in the original.
    fn map_spans(&mut self, offsets: &Offsets) {
        for span in self.spans() {
            *span = offsets.span_to_raw(*span);
        }
    }

    fn spans(&mut self) -> impl Iterator<Item = &mut Span> {
        let fragment = self.fragment.as_mut().map(|fragment| &mut fragment.span);
        [&mut self.span, &mut self.path.span]
            .into_iter()
            .chain(fragment)
            .chain(&mut self.uses)
    }

    /// Returns the link moved by `by` bytes, into another enclosure.
    fn moved(mut self, by: usize, enclosure: Enclosure) -> Self {
        for span in self.spans() {
            *span = Span::new(span.start + by, span.end + by);
        }
        Self { enclosure, ..self }
    }
}

impl LinkForm {
    /// Returns whether the link is in double brackets. Such a link names documents and headings as Obsidian does.
    #[must_use]
    pub fn is_wiki(self) -> bool {
        matches!(self, Self::Wiki | Self::WikiEmbed)
    }
}

#[cfg(test)]
mod tests;
