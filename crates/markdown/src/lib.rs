//! The Markdown section model: the only place in Sectile that knows what a heading is.
//!
//! Everything here is pure and total: bytes in, values out. There is no file, clock, protocol or randomness, and no
//! input makes a parse fail. Other crates never scan Markdown themselves; they ask for spans and slice the source.
//!
//! Start with [`Source`]: it decodes bytes and splits off front matter. [`Source::parse`] returns a [`Document`], the
//! structure of its sections, which holds spans and heading texts but never the body of the note.

pub mod align;
mod changes;
mod chunks;
mod comparison;
mod diff;
mod digest;
mod document;
pub mod edit;
mod examine;
mod front_matter;
mod heading_text;
mod html;
mod lines;
mod link_list;
mod links;
mod mdx;
mod merge;
mod naming;
mod note;
mod options;
mod paragraph;
mod path;
mod plain;
mod properties;
mod quotations;
mod sentence;
mod slug;
mod source;
mod span;
#[cfg(test)]
mod testing;
mod tokens;
mod whitespace;
mod word_diff;
mod work;
mod yaml;

pub use changes::{Change, Changes, OffsetMap};
pub use chunks::{Chunk, Chunks, chunks};
pub use comparison::{ComparableText, TextFolding};
pub use diff::{DiffOptions, UnifiedDiff, line_changes, unified_diff};
pub use digest::Digest;
pub use document::{Document, Extent, Section};
pub use examine::{NoteFacts, examine};
pub use front_matter::{FrontMatter, FrontMatterError, remove_key, set_key};
pub use html::{
    HrefResolution, HtmlOptions, LinkTarget, PageTargets, RenderedHtml, escape_html, render_html,
    section_anchor,
};
pub use lines::{LineIndex, Position, dominant_line_end};
pub use link_list::{LinkList, ListedLink, MAX_LISTED_CHARS, MAX_LISTED_LINKS};
pub use links::{
    AnchorNames, AnchorStyle, Anchors, Enclosure, FragmentResolution, Link, LinkForm, LinkNames,
    LinkPart, MovedAnchor, NamedBlock, NamedHeading, PathResolution, Repair, TargetResolution,
    aliases, block_key, front_matter_keeps_its_shape, github_anchor, joined_path, links,
    links_near, moved_anchors, name_key, name_keys, repair_fragment, repair_path, resolve_path,
    resolve_target,
};
pub use merge::{MergeConflict, merge};
pub use naming::{LetterCase, sections_named};
pub use note::{CutText, MAX_TEXT_CHARS, Note, cut_text, scalar_text};
pub use path::{NotePath, PathError};
pub use plain::{PageFormat, PageSyntax, Passages, passages};
pub use properties::{
    Field, MAX_ALIASES, MAX_FIELD_VALUES, MAX_FIELDS, MAX_NAME_CHARS, MAX_TAGS, MAX_TASKS,
    MAX_VALUE_CHARS, Properties, Task, properties,
};
pub use quotations::{
    Citation, CitationForm, MAX_QUOTATION_BYTES, MAX_QUOTATIONS, Quotation, QuotationForm,
    QuotationList, QuotedText, quotations,
};
pub use sentence::{MAX_SENTENCE_CHARS, sentence_around};
pub use slug::{NoteSectionIds, heading_id, is_slug, slug};
pub use source::Source;
pub use span::Span;
pub use tokens::estimate_tokens;
pub use whitespace::{is_whitespace, trim, trim_end};
pub use word_diff::{NearText, WordChange, near_text, word_diff};
pub use yaml::{LocatedYamlError, Mapping, Timestamp, Value, YamlError, parse_ignoring_tags};
