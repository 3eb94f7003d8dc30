//! The facts about a note that the index keeps in addition to its text.

mod codec;

use std::{ops::Deref, sync::OnceLock};

use sectile_markdown::{
    AnchorNames, Anchors, Digest, LineIndex, LinkForm, NamedBlock, NamedHeading, NoteFacts,
    NotePath, Properties, Source, Span, estimate_tokens, examine,
};

use self::codec::EncodedDetails;
pub use self::codec::{decode_records, encode_records};
use crate::{
    facts::notebook_facts, indexing::LONGEST_CHUNK, left_out::WhyLeftOut, manual_page::PageFacts,
    storage::NotebookStamp,
};

/// A note as it was when it was read. Its details are read from the cache when they are first needed.
#[derive(Clone, Debug)]
pub struct NoteRecord {
    /// Its path below the folder.
    pub path: NotePath,
    /// The state of its file.
    pub stamp: NotebookStamp,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The reason why its text is not searched, if it is not. Then only the path and the stamp are known.
    pub left_out: Option<WhyLeftOut>,
    encoded: Option<EncodedDetails>,
    // Of most notes in a cache they are never needed.
    details: OnceLock<Box<NoteDetails>>,
}

/// The contents of a note, as far as an index knows them besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteDetails {
    /// Its title.
    pub title: String,
    /// The date in its front matter, in milliseconds since 1970.
    pub date: Option<i64>,
    /// Its fields, tags, aliases and tasks.
    pub properties: Properties,
    /// Its links, in order.
    pub links: Vec<LinkRecord>,
    /// All of its headings, in order, those in quotes and list items included.
    pub headings: Vec<HeadingRecord>,
    /// Its named blocks.
    pub blocks: Vec<NamedBlock>,
    /// The names and ids of HTML elements in it, as links name them.
    pub html_ids: Vec<String>,
    /// About how many tokens its text has.
    pub tokens: u32,
    /// More about it, if it is a page of a manual. Then its links, headings and tasks are not known.
    pub page: Option<Box<PageFacts>>,
}

impl Deref for NoteRecord {
    type Target = NoteDetails;

    fn deref(&self) -> &NoteDetails {
        self.details.get_or_init(|| {
            let encoded = self.encoded.as_ref();
            let details = encoded.and_then(EncodedDetails::decoded);
            debug_assert!(
                details.is_some(),
                "details were checked when they were read"
            );
            Box::new(details.unwrap_or_default())
        })
    }
}

impl PartialEq for NoteRecord {
    fn eq(&self, other: &Self) -> bool {
        let head = |one: &Self| (one.stamp, one.digest, one.left_out);
        self.path == other.path && head(self) == head(other) && **self == **other
    }
}

impl Eq for NoteRecord {}

/// A link in a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// How it is written.
    pub form: LinkForm,
    /// The whole link.
    pub span: Span,
    /// The 1-based line on which it starts.
    pub line: u32,
    /// The part that names a document.
    pub path: String,
    /// The part that names a target in the document, without the `#`.
    pub fragment: String,
    /// The links that use it, if it is a definition.
    pub uses: Vec<Span>,
}

/// A heading of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadingRecord {
    /// Its level, from 1 to 6.
    pub level: u8,
    /// Its text.
    pub text: String,
    /// The offset at which it starts.
    pub start: usize,
    /// Whether it is in a quote or a list item, so that it does not start a section.
    pub is_nested: bool,
    /// Its text as links name it, where that differs.
    pub spelling: Option<Box<HeadingSpelling>>,
}

/// The text of a heading as links name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadingSpelling {
    /// The visible text.
    pub visible: String,
    /// The text as written, with its markup.
    pub raw: String,
}

impl NoteRecord {
    /// Creates the record of a note with these bytes.
    pub fn new(path: NotePath, stamp: NotebookStamp, bytes: &[u8]) -> Self {
        let facts = examine(&Source::new(bytes), LONGEST_CHUNK);
        Self::examined(path, stamp, bytes, &facts)
    }

    /// Creates the record of a note with these bytes, which have been examined.
    pub fn examined(path: NotePath, stamp: NotebookStamp, bytes: &[u8], facts: &NoteFacts) -> Self {
        let metadata = notebook_facts(bytes, &path);
        let lines = (!facts.links.is_empty()).then(|| LineIndex::new(bytes));
        let line_of = |offset: usize| {
            let line = lines
                .as_ref()
                .map_or(1, |lines| lines.position(offset).line);
            u32::try_from(line).unwrap_or(u32::MAX)
        };
        let links = facts.links.iter().map(|link| LinkRecord {
            form: link.form,
            span: link.span,
            line: line_of(link.span.start),
            path: link.path.text.clone(),
            fragment: link.fragment_text().to_owned(),
            uses: link.uses.clone(),
        });
        let sections = facts.chunks.document.sections().iter();
        let headings = sections
            .zip(&facts.anchors.headings)
            .map(|(section, named)| {
                let NamedHeading { text, raw, .. } = named;
                HeadingRecord {
                    level: section.level,
                    start: section.heading.start,
                    is_nested: section.extent.is_none(),
                    spelling: (*text != section.text || *raw != section.text).then(|| {
                        Box::new(HeadingSpelling {
                            visible: text.clone(),
                            raw: raw.clone(),
                        })
                    }),
                    text: section.text.clone(),
                }
            });
        let tokens = estimate_tokens(&String::from_utf8_lossy(bytes));
        let details = NoteDetails {
            title: metadata.title,
            date: metadata.date,
            links: links.collect(),
            headings: headings.collect(),
            blocks: facts.anchors.blocks.clone(),
            html_ids: facts.anchors.html_ids.clone(),
            properties: facts.properties.clone(),
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            page: None,
        };
        Self::detailed(path, stamp, bytes, details)
    }

    /// Creates the record of a note with these bytes and details.
    pub(crate) fn detailed(
        path: NotePath,
        stamp: NotebookStamp,
        bytes: &[u8],
        details: NoteDetails,
    ) -> Self {
        Self {
            path,
            stamp,
            digest: Digest::of(bytes),
            left_out: None,
            encoded: None,
            details: OnceLock::from(Box::new(details)),
        }
    }

    /// Creates the record of a note whose text is not known.
    pub fn left_out(path: NotePath, stamp: NotebookStamp, why: Option<WhyLeftOut>) -> Self {
        let details = NoteDetails {
            title: notebook_facts(b"", &path).title,
            ..NoteDetails::default()
        };
        Self {
            path,
            stamp,
            digest: Digest::of(b""),
            left_out: why,
            encoded: None,
            details: OnceLock::from(Box::new(details)),
        }
    }

    /// Returns the record of a note whose file changed, but not its text.
    pub(super) fn with_stamp(&self, stamp: NotebookStamp) -> Self {
        let mut record = self.clone();
        record.stamp = stamp;
        record
    }

    /// Returns the record with other details.
    #[cfg(test)]
    pub(super) fn with_details(mut self, change: impl FnOnce(&mut NoteDetails)) -> Self {
        let mut details = NoteDetails::clone(&self);
        change(&mut details);
        (self.encoded, self.details) = (None, OnceLock::from(Box::new(details)));
        self
    }

    /// Returns its headings and blocks as links name them.
    pub fn anchors(&self) -> Anchors {
        let heading = |heading: &HeadingRecord| {
            let spelling = heading.spelling.as_deref();
            let visible = spelling.map_or(&heading.text, |spelling| &spelling.visible);
            let raw = spelling.map_or(&heading.text, |spelling| &spelling.raw);
            NamedHeading {
                level: heading.level,
                text: visible.clone(),
                raw: raw.clone(),
            }
        };
        Anchors::of(&AnchorNames {
            headings: self.headings.iter().map(heading).collect(),
            html_ids: self.html_ids.clone(),
            blocks: self.blocks.clone(),
        })
    }

    /// Returns the texts of the headings above the one at `index` and its own, outermost first.
    pub fn heading_path(&self, index: usize) -> Vec<&str> {
        let mut path: Vec<&str> = Vec::new();
        let mut level = u8::MAX;
        for heading in self.headings.get(..=index).unwrap_or_default().iter().rev() {
            let is_own = path.is_empty();
            if is_own || (heading.level < level && !heading.is_nested) {
                level = heading.level;
                path.push(&heading.text);
            }
        }
        path.reverse();
        path
    }

    /// Returns the time that the note is from, in milliseconds since 1970: the date in its front matter, or else the
    /// last change of its file.
    pub fn time(&self) -> i64 {
        self.date.unwrap_or(self.stamp.modified)
    }
}

#[cfg(test)]
mod tests;
