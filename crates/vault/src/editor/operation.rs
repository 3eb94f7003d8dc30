//! What can be done to documents and sections.

use sectile_markdown::{Value, edit::PayloadHeadings};

use super::SectionRef;
use crate::NotePath;

/// One change that a caller asks for.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A new section.
    Insert {
        /// The document; may be left out when the place names a section.
        path: Option<NotePath>,
        /// Its heading.
        heading: String,
        /// Its text.
        content: String,
        /// Where.
        at: At,
        /// Its level, if not the one that the place suggests.
        level: Option<u8>,
        /// What to do with headings in the text.
        headings: PayloadHeadings,
        /// A name by which later operations of the same request can speak of it.
        label: Option<String>,
    },
    /// Another text for a section.
    Update {
        /// Which document, when the section is named by its heading.
        path: Option<NotePath>,
        /// Which section.
        section: SectionRef,
        /// The text.
        content: String,
        /// Its own text, or all below its heading.
        scope: Scope,
        /// What to do with headings in the text.
        headings: PayloadHeadings,
        /// The hash of the text that this is based on.
        expected_hash: Option<String>,
    },
    /// A section goes, with all that is below it.
    Delete {
        /// Which document, when the section is named by its heading.
        path: Option<NotePath>,
        /// Which section.
        section: SectionRef,
        /// The hash of the subtree that this is based on.
        expected_hash: Option<String>,
    },
    /// A section goes elsewhere, with all that is below it. Links to it, and in it, go on leading where they led.
    Move {
        /// Which document, when the section is named by its heading.
        path: Option<NotePath>,
        /// Which section.
        section: SectionRef,
        /// Where.
        at: At,
        /// Into which document, if not the same.
        to: Option<NotePath>,
        /// Its level there, if not the one that the place suggests.
        level: Option<u8>,
        /// The hash of the subtree that this is based on.
        expected_hash: Option<String>,
    },
    /// Another heading for a section.
    Rename {
        /// Which document, when the section is named by its heading.
        path: Option<NotePath>,
        /// Which section.
        section: SectionRef,
        /// The heading.
        heading: String,
        /// Another level, if wanted.
        level: Option<u8>,
        /// Whether links to the section are repaired, in all documents.
        repair_links: bool,
        /// The hash of the text that this is based on.
        expected_hash: Option<String>,
    },
    /// Other words for the same passage.
    EditText {
        /// Which document.
        path: Option<NotePath>,
        /// Which section; without one, the whole document.
        section: Option<SectionRef>,
        /// What is there.
        old_text: String,
        /// What shall be there.
        new_text: String,
        /// How often it must occur.
        expected_count: usize,
        /// Its own text, or all below its heading.
        scope: Scope,
        /// The hash of the text that this is based on; of the document, when no section is named.
        expected_hash: Option<String>,
    },
    /// A key of the front matter.
    SetFrontMatter {
        /// Which document.
        path: Option<NotePath>,
        /// The key.
        key: String,
        /// Its value; without one, the key goes.
        value: Option<Value>,
    },
    /// A new document.
    CreateDocument {
        /// Its path.
        path: NotePath,
        /// Its text.
        content: String,
    },
    /// Another path for a document.
    RenameDocument {
        /// Which document.
        path: NotePath,
        /// Its new path.
        new_path: NotePath,
        /// Whether links to the document, and relative ones in it, are repaired.
        repair_links: bool,
    },
    /// A document goes.
    DeleteDocument {
        /// Which document.
        path: NotePath,
        /// The hash of the document that this is based on.
        expected_hash: Option<String>,
    },
}

impl Operation {
    /// The hash that the caller based the change on.
    #[must_use]
    pub fn expected_hash(&self) -> Option<&str> {
        match self {
            Self::Update { expected_hash, .. }
            | Self::Delete { expected_hash, .. }
            | Self::Move { expected_hash, .. }
            | Self::Rename { expected_hash, .. }
            | Self::EditText { expected_hash, .. }
            | Self::DeleteDocument { expected_hash, .. } => expected_hash.as_deref(),
            Self::Insert { .. }
            | Self::SetFrontMatter { .. }
            | Self::CreateDocument { .. }
            | Self::RenameDocument { .. } => None,
        }
    }
}

/// Where a section goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// At this index of the list of all sections.
    Position(usize),
    /// Next to another section.
    Next {
        /// How.
        relative: Relative,
        /// Which one.
        anchor: SectionRef,
    },
}

/// How a place lies to a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relative {
    /// Before it.
    Before,
    /// After it and all that is below it.
    After,
    /// Its first subsection.
    FirstChild,
    /// Its last subsection.
    LastChild,
}

/// Which text of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Between its heading and the next one.
    #[default]
    Body,
    /// All below its heading, subsections included.
    Subtree,
}
