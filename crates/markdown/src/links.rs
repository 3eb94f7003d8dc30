//! Links between documents: finding them, saying where they lead, and respelling the part that names a heading or a
//! document.
//!
//! [`links`] finds them. [`resolve_path`] says which document a link names, [`Anchors::resolve`] which heading.
//! [`repair_fragment`] and [`repair_path`] give the smallest change that makes a link follow a heading or a document that
//! was renamed. What leads out of the folder of notes, such as `https:` and `mailto:`, is no link here.

use crate::{Span, source::Offsets};

mod aliases;
mod anchors;
mod blocks;
mod comments;
mod destination;
mod find;
mod front_matter;
mod heading_names;
mod html;
mod paths;
mod repair;
mod wiki;

pub use aliases::aliases;
pub(crate) use anchors::AnchorReader;
pub use anchors::{Anchors, MovedAnchor, Resolution, block_key, moved_anchors};
pub use find::{links, links_near};
pub use front_matter::front_matter_keeps_its_shape;
pub use heading_names::github_anchor;
pub use paths::{PathResolution, name_key, repair_path, resolve_path};
pub use repair::{Repair, repair_fragment};

/// One link to a document of the folder, or to a heading in one. Spans are bytes of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// How the link is written.
    pub form: LinkForm,
    /// The whole link. Of a definition, from its label to the end of its title.
    pub span: Span,
    /// What names the document. Empty for a link into its own document; then the span is where a name would stand.
    pub path: LinkPart,
    /// What names the place in the document, without the `#`.
    pub fragment: Option<LinkPart>,
    /// Whether the destination stands in `<` and `>`.
    pub in_angle_brackets: bool,
    /// What the link stands in, which decides how a repair is written.
    pub enclosure: Enclosure,
}

/// What a link stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enclosure {
    /// The Markdown of the document.
    Text,
    /// An attribute of an HTML tag, between these quotes.
    Attribute(Option<char>),
    /// A value of the front matter, between these quotes.
    FrontMatter(Option<char>),
    /// A place where it can be read but not be written, because its characters do not stand there as they read: line
    /// breaks or escapes come between. Its parts have no spans.
    Sealed,
}

/// A part of a link's destination: where it stands, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPart {
    /// Where the part stands, in bytes of the source.
    pub span: Span,
    /// What it says, with backslashes, entities and percent signs decoded. A wiki link has none of these.
    pub text: String,
}

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkForm {
    /// `[text](path#fragment)`.
    Inline,
    /// `![text](path)`.
    Image,
    /// `[label]: path#fragment`, which all links with that label share.
    Definition,
    /// `[[path#fragment|alias]]`.
    Wiki,
    /// `![[path#fragment]]`.
    WikiEmbed,
    /// `<a href="path#fragment">` or `<img src="path">`. Read and written like a CommonMark link.
    Html,
}

impl Link {
    /// What the fragment says; empty without one.
    #[must_use]
    pub fn fragment_text(&self) -> &str {
        self.fragment
            .as_ref()
            .map_or("", |fragment| fragment.text.as_str())
    }

    /// What it names: the document, and the place in it.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.fragment {
            Some(fragment) => format!("{}#{}", self.path.text, fragment.text),
            None => self.path.text.clone(),
        }
    }

    /// `text`, a part of the destination without a border in it, as it must be written where `like` stands.
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

    /// The link where it can be read but not be written: somewhere in `span`.
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

    /// Makes offsets of a decoded text offsets of what it was decoded from.
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
    }

    /// The link when its text stands `by` bytes further on, in another enclosure.
    fn moved(mut self, by: usize, enclosure: Enclosure) -> Self {
        for span in self.spans() {
            *span = Span::new(span.start + by, span.end + by);
        }
        Self { enclosure, ..self }
    }
}

impl LinkForm {
    /// Whether the link stands in double brackets. Such a link names documents and headings as Obsidian does.
    #[must_use]
    pub fn is_wiki(self) -> bool {
        matches!(self, Self::Wiki | Self::WikiEmbed)
    }
}

#[cfg(test)]
mod tests;
