//! What an index knows about a note besides its text.

use sectile_markdown::{Digest, LinkForm, NotePath, Span};

use crate::{facts::notebook_facts, left_out::WhyLeftOut, storage::NotebookStamp};

/// A note as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRecord {
    /// Its path below the folder.
    pub path: NotePath,
    /// The state of its file.
    pub stamp: NotebookStamp,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The reason why its text is not searched, if it is not. Then only the path and the stamp are known.
    pub left_out: Option<WhyLeftOut>,
    /// Its title.
    pub title: String,
    /// The date in its front matter, in milliseconds since 1970.
    pub date: Option<i64>,
    /// Its links, in order.
    pub links: Vec<LinkRecord>,
    /// Its headings, in order.
    pub headings: Vec<HeadingRecord>,
    /// The names of its blocks.
    pub blocks: Vec<String>,
    /// About how many tokens its text has.
    pub tokens: u32,
}

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
}

impl NoteRecord {
    /// Creates the record of a note with these bytes.
    pub fn new(path: NotePath, stamp: NotebookStamp, bytes: &[u8]) -> Self {
        let facts = notebook_facts(bytes, &path);
        Self {
            digest: Digest::of(bytes),
            title: facts.title,
            date: facts.date,
            ..Self::left_out(path, stamp, None)
        }
    }

    /// Creates the record of a note whose text is not known.
    pub fn left_out(path: NotePath, stamp: NotebookStamp, why: Option<WhyLeftOut>) -> Self {
        Self {
            title: notebook_facts(b"", &path).title,
            path,
            stamp,
            digest: Digest::of(b""),
            left_out: why,
            date: None,
            links: Vec::new(),
            headings: Vec::new(),
            blocks: Vec::new(),
            tokens: 0,
        }
    }
}

pub(super) fn encode_records(_: &[std::sync::Arc<NoteRecord>]) -> Vec<u8> {
    Vec::new()
}

pub(super) fn decode_records(_: &[u8]) -> Result<Vec<NoteRecord>, ()> {
    Err(())
}
