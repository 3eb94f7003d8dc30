//! Links between documents: finding them, saying where they lead, and respelling the part that names a heading or a
//! document.
//!
//! [`links`] finds them. [`resolve_path`] says which document a link names, [`Anchors::resolve`] which heading.
//! [`repair_fragment`] and [`repair_path`] give the smallest change that makes a link follow a heading or a document that
//! was renamed. What leads out of the folder of notes, such as `https:` and `mailto:`, is no link here.

use crate::Span;

mod anchors;
mod destination;
mod find;
mod heading_names;
mod paths;
mod repair;
mod wiki;

pub(crate) use anchors::AnchorReader;
pub use anchors::{Anchors, MovedAnchor, Resolution, moved_anchors};
pub use find::{links, links_near};
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
}

impl Link {
    /// What the fragment says; empty without one.
    #[must_use]
    pub fn fragment_text(&self) -> &str {
        self.fragment
            .as_ref()
            .map_or("", |fragment| fragment.text.as_str())
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
