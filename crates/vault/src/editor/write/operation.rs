//! What can be done to documents and sections.

use sectile_markdown::{Value, edit::PayloadHeadings};

use crate::{NotePath, editor::SectionRef};

/// One change that a caller asks for.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A new section.
    Insert(InsertSection),
    /// Another text for a section.
    Update(UpdateSection),
    /// A section goes, with all that is below it.
    Delete(DeleteSection),
    /// A section goes elsewhere, with all that is below it. Links to it, and in it, go on leading where they led.
    Move(MoveSection),
    /// Another heading for a section.
    Rename(RenameSection),
    /// Other words for the same passage.
    EditText(EditText),
    /// A key of the front matter.
    SetFrontMatter(SetFrontMatter),
    /// A new document.
    CreateDocument(CreateDocument),
    /// Another path for a document.
    RenameDocument(RenameDocument),
    /// A document goes.
    DeleteDocument(DeleteDocument),
}

/// A new section.
#[derive(Clone, Debug)]
pub struct InsertSection {
    /// The document; may be left out when the place names a section.
    pub path: Option<NotePath>,
    /// Its heading.
    pub heading: String,
    /// Its text.
    pub content: String,
    /// Where.
    pub at: Placement,
    /// Its level, if not the one that the place suggests.
    pub level: Option<u8>,
    /// What to do with headings in the text.
    pub headings: PayloadHeadings,
    /// A name by which later operations of the same request can speak of it.
    pub label: Option<String>,
}

/// Another text for a section.
#[derive(Clone, Debug)]
pub struct UpdateSection {
    /// Which document, when the section is named by its heading.
    pub path: Option<NotePath>,
    /// Which section.
    pub section: SectionRef,
    /// The text.
    pub content: String,
    /// Its own text, or all below its heading.
    pub scope: Scope,
    /// What to do with headings in the text.
    pub headings: PayloadHeadings,
    /// The hash of the text that this is based on.
    pub expected_hash: Option<String>,
}

/// A section goes, with all that is below it.
#[derive(Clone, Debug)]
pub struct DeleteSection {
    /// Which document, when the section is named by its heading.
    pub path: Option<NotePath>,
    /// Which section.
    pub section: SectionRef,
    /// The hash of the subtree that this is based on.
    pub expected_hash: Option<String>,
}

/// A section goes elsewhere, with all that is below it. Links to it, and in it, go on leading where they led.
#[derive(Clone, Debug)]
pub struct MoveSection {
    /// Which document, when the section is named by its heading.
    pub path: Option<NotePath>,
    /// Which section.
    pub section: SectionRef,
    /// Where.
    pub at: Placement,
    /// Into which document, if not the same.
    pub to: Option<NotePath>,
    /// Its level there, if not the one that the place suggests.
    pub level: Option<u8>,
    /// The hash of the subtree that this is based on.
    pub expected_hash: Option<String>,
}

/// Another heading for a section.
#[derive(Clone, Debug)]
pub struct RenameSection {
    /// Which document, when the section is named by its heading.
    pub path: Option<NotePath>,
    /// Which section.
    pub section: SectionRef,
    /// The heading.
    pub heading: String,
    /// Another level, if wanted.
    pub level: Option<u8>,
    /// Whether links to the section are repaired, in all documents.
    pub repair_links: bool,
    /// The hash of the text that this is based on.
    pub expected_hash: Option<String>,
}

/// Other words for the same passage.
#[derive(Clone, Debug)]
pub struct EditText {
    /// Which document.
    pub path: Option<NotePath>,
    /// Which section; without one, the whole document.
    pub section: Option<SectionRef>,
    /// What is there.
    pub old_text: String,
    /// What shall be there.
    pub new_text: String,
    /// How often it must occur.
    pub expected_count: usize,
    /// Its own text, or all below its heading.
    pub scope: Scope,
    /// The hash of the text that this is based on; of the document, when no section is named.
    pub expected_hash: Option<String>,
}

/// A key of the front matter.
#[derive(Clone, Debug)]
pub struct SetFrontMatter {
    /// Which document.
    pub path: Option<NotePath>,
    /// The key.
    pub key: String,
    /// Its value; without one, the key goes.
    pub value: Option<Value>,
}

/// A new document.
#[derive(Clone, Debug)]
pub struct CreateDocument {
    /// Its path.
    pub path: NotePath,
    /// Its text.
    pub content: String,
}

/// Another path for a document.
#[derive(Clone, Debug)]
pub struct RenameDocument {
    /// Which document.
    pub path: NotePath,
    /// Its new path.
    pub new_path: NotePath,
    /// Whether links to the document, and relative ones in it, are repaired.
    pub repair_links: bool,
}

/// A document goes.
#[derive(Clone, Debug)]
pub struct DeleteDocument {
    /// Which document.
    pub path: NotePath,
    /// The hash of the document that this is based on.
    pub expected_hash: Option<String>,
}

impl Operation {
    /// The paths and section ids that it names.
    pub(super) fn names(&self) -> (Vec<&NotePath>, Vec<&str>) {
        fn id(section: &SectionRef) -> Option<&str> {
            section.id.as_deref()
        }
        fn anchor(at: &Placement) -> Option<&str> {
            match at {
                Placement::Position(_) => None,
                Placement::Next { anchor, .. } => id(anchor),
            }
        }
        match self {
            Self::Insert(InsertSection { path, at, .. }) => {
                (path.iter().collect(), anchor(at).into_iter().collect())
            }
            Self::Update(UpdateSection { path, section, .. })
            | Self::Delete(DeleteSection { path, section, .. })
            | Self::Rename(RenameSection { path, section, .. }) => {
                (path.iter().collect(), id(section).into_iter().collect())
            }
            Self::Move(MoveSection {
                path,
                section,
                at,
                to,
                ..
            }) => (
                path.iter().chain(to).collect(),
                id(section).into_iter().chain(anchor(at)).collect(),
            ),
            Self::EditText(EditText { path, section, .. }) => (
                path.iter().collect(),
                section.as_ref().and_then(id).into_iter().collect(),
            ),
            Self::SetFrontMatter(SetFrontMatter { path, .. }) => {
                (path.iter().collect(), Vec::new())
            }
            Self::CreateDocument(CreateDocument { path, .. })
            | Self::DeleteDocument(DeleteDocument { path, .. }) => (vec![path], Vec::new()),
            Self::RenameDocument(RenameDocument { path, new_path, .. }) => {
                (vec![path, new_path], Vec::new())
            }
        }
    }

    /// The hash that the caller based the change on.
    #[must_use]
    pub fn expected_hash(&self) -> Option<&str> {
        match self {
            Self::Update(UpdateSection { expected_hash, .. })
            | Self::Delete(DeleteSection { expected_hash, .. })
            | Self::Move(MoveSection { expected_hash, .. })
            | Self::Rename(RenameSection { expected_hash, .. })
            | Self::EditText(EditText { expected_hash, .. })
            | Self::DeleteDocument(DeleteDocument { expected_hash, .. }) => {
                expected_hash.as_deref()
            }
            Self::Insert(_)
            | Self::SetFrontMatter(_)
            | Self::CreateDocument(_)
            | Self::RenameDocument(_) => None,
        }
    }
}

/// Where a section goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At this index of the list of all sections.
    Position(usize),
    /// Next to another section.
    Next {
        /// How.
        relative: RelativePlacement,
        /// Which one.
        anchor: SectionRef,
    },
}

/// How a place lies to a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativePlacement {
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
