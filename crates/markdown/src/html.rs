//! Notes as HTML, for a page that shows them to people.
//!
//! A note is data. Whatever is in it, the result has only the elements and attributes listed in `writer`, all tags are
//! balanced, and every other character is escaped. HTML in a note is shown as it is written, comments included, so that
//! people see what an agent reads. Images are named, never loaded, and a link leads to `http`, `https` or `mailto`, or
//! to where the page itself says.
//!
//! Time and memory are linear in the size of the note, and the result has a limit. Some browsers look up the hosts of
//! links before anyone follows them; a page that must not cause this is served with `X-DNS-Prefetch-Control: off`.

mod address;
#[cfg(test)]
mod check;
mod footnotes;
mod image;
mod render;
mod section_ids;
#[cfg(test)]
mod tests;
mod writer;

use crate::{Document, LinkForm, Source};

pub use self::writer::escape_html;

/// Finds the targets of a note's links and the ids of its sections, for the page that shows the note.
pub trait PageTargets {
    /// Returns the id of the section at `index` in [`Document::sections`]. The heading's `id` attribute is then
    /// [`section_anchor`] of it. An id that is empty or has white space in it is left out.
    fn section_id(&self, index: usize) -> Option<&str>;
    /// Returns where a link to a document, or within one, leads.
    fn href(&self, link: &LinkTarget<'_>) -> HrefResolution;
}

/// The target of a link as the note names it, for [`resolve_target`](crate::resolve_target). Either `path` is not
/// empty, or there is a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTarget<'a> {
    /// How the link is written. A link that uses a definition counts as inline.
    pub form: LinkForm,
    /// The part that names the document, decoded. Empty for a link within its own document.
    pub path: &'a str,
    /// The part after `#`, decoded.
    pub fragment: Option<&'a str>,
}

/// The address that a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HrefResolution {
    /// This address on the server of the page: it starts with `/`, `?` or `#`. Any other is not written.
    Href(String),
    /// Nothing that exists.
    Broken,
    /// Several targets that match equally well.
    Ambiguous,
}

/// The limits and the layout of a rendered note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtmlOptions {
    /// How many levels headings are moved down, because the page has headings of its own. Beyond `h6`, the attribute
    /// `aria-level` has the level.
    pub heading_shift: u8,
    /// The most bytes of HTML.
    pub max_bytes: usize,
}

impl Default for HtmlOptions {
    /// The title of the page is its only heading above those of the note. A note of 1 MB that is dense in markup becomes
    /// 3 MB of HTML, which a browser shows without delay; a longer one is for a program, not for a reader.
    fn default() -> Self {
        Self {
            heading_shift: 1,
            max_bytes: 4 << 20,
        }
    }
}

/// A note as HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedHtml {
    /// Elements to be put inside an element of a page, such as `main`.
    pub html: String,
    /// Whether the note is longer than what is shown.
    pub is_truncated: bool,
}

/// Renders the Markdown of `source`, whose sections are `document`, without its front matter.
#[must_use]
pub fn render_html(
    source: &Source<'_>,
    document: &Document,
    targets: &dyn PageTargets,
    options: HtmlOptions,
) -> RenderedHtml {
    render::render(source, document, targets, options)
}

/// Returns the `id` attribute of the section with this id. The prefix keeps names that the page uses out of the hands of
/// a note.
#[must_use]
pub fn section_anchor(id: &str) -> String {
    format!("section-{id}")
}
