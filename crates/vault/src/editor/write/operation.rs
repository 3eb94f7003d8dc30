//! The operations on documents and sections.

use sectile_markdown::{Value, edit::PayloadHeadings};

use crate::{NotePath, editor::SectionRef};

/// One change that a caller asks for.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Inserts a section.
    Insert(InsertSection),
    /// Replaces the text of a section.
    Update(UpdateSection),
    /// Deletes a section with everything below it.
    Delete(DeleteSection),
    /// Moves a section with everything below it. Links to it, and in it, keep their targets.
    Move(MoveSection),
    /// Changes the heading of a section.
    Rename(RenameSection),
    /// Replaces a passage.
    EditText(EditText),
    /// Sets or removes a key of the front matter.
    SetFrontMatter(SetFrontMatter),
    /// Creates a document.
    CreateDocument(CreateDocument),
    /// Changes the path of a document.
    RenameDocument(RenameDocument),
    /// Deletes a document.
    DeleteDocument(DeleteDocument),
    /// Adds text to a section or a document without replacing any.
    PlaceText(PlaceText),
    /// Changes the path of a folder with everything in it.
    RenameFolder(RenameFolder),
}

/// Inserts a section.
#[derive(Clone, Debug)]
pub struct InsertSection {
    /// The document; may be omitted if `at` names a section.
    pub path: Option<NotePath>,
    /// The heading of the new section.
    pub heading: String,
    /// The text of the new section.
    pub content: String,
    /// The place for the new section.
    pub at: Placement,
    /// Its level, if not the one that its place implies.
    pub level: Option<u8>,
    /// How to treat headings in the text.
    pub headings: PayloadHeadings,
    /// A label by which later operations of the same request can refer to it.
    pub label: Option<String>,
}

/// Replaces the text of a section.
#[derive(Clone, Debug)]
pub struct UpdateSection {
    /// The document, if the section is named by its heading.
    pub path: Option<NotePath>,
    /// The section.
    pub section: SectionRef,
    /// The new text.
    pub content: String,
    /// Whether to replace the section's own text, or everything below its heading.
    pub scope: Scope,
    /// How to treat headings in the text.
    pub headings: PayloadHeadings,
    /// The hash of the text that this is based on.
    pub expected_hash: Option<String>,
}

/// Deletes a section with everything below it.
#[derive(Clone, Debug)]
pub struct DeleteSection {
    /// The document, if the section is named by its heading.
    pub path: Option<NotePath>,
    /// The section.
    pub section: SectionRef,
    /// The hash of the subtree that this is based on.
    pub expected_hash: Option<String>,
}

/// Moves a section with everything below it. Links to it, and in it, keep their targets.
#[derive(Clone, Debug)]
pub struct MoveSection {
    /// The document, if the section is named by its heading.
    pub path: Option<NotePath>,
    /// The section.
    pub section: SectionRef,
    /// The new place.
    pub at: Placement,
    /// The document to move it to, if not the same.
    pub to: Option<NotePath>,
    /// Its level there, if not the one that its place implies.
    pub level: Option<u8>,
    /// The hash of the subtree that this is based on.
    pub expected_hash: Option<String>,
}

/// Changes the heading of a section.
#[derive(Clone, Debug)]
pub struct RenameSection {
    /// The document, if the section is named by its heading.
    pub path: Option<NotePath>,
    /// The section.
    pub section: SectionRef,
    /// The new heading.
    pub heading: String,
    /// The new level, if it changes.
    pub level: Option<u8>,
    /// Whether links to the section are repaired in all documents.
    pub repair_links: bool,
    /// The hash of the text that this is based on.
    pub expected_hash: Option<String>,
}

/// Replaces a passage.
#[derive(Clone, Debug)]
pub struct EditText {
    /// The document.
    pub path: Option<NotePath>,
    /// The section; without one, the whole document.
    pub section: Option<SectionRef>,
    /// The passage to replace.
    pub old_text: String,
    /// The passage to put there.
    pub new_text: String,
    /// Number of times that the passage must occur.
    pub expected_count: usize,
    /// Whether to search the section's own text, or everything below its heading.
    pub scope: Scope,
    /// The hash of the text that this is based on; of the document if no section is named.
    pub expected_hash: Option<String>,
}

/// Sets or removes a key of the front matter.
#[derive(Clone, Debug)]
pub struct SetFrontMatter {
    /// The document.
    pub path: Option<NotePath>,
    /// The key.
    pub key: String,
    /// Its value; without one, the key is removed.
    pub value: Option<Value>,
    /// The hash of the document that this is based on.
    pub expected_hash: Option<String>,
}

/// Creates a document.
#[derive(Clone, Debug)]
pub struct CreateDocument {
    /// The path of the new document.
    pub path: NotePath,
    /// The text of the new document.
    pub content: String,
}

/// Changes the path of a document.
#[derive(Clone, Debug)]
pub struct RenameDocument {
    /// The document.
    pub path: NotePath,
    /// The new path.
    pub new_path: NotePath,
    /// Whether links to the document, and relative links in it, are repaired.
    pub repair_links: bool,
}

/// Deletes a document.
#[derive(Clone, Debug)]
pub struct DeleteDocument {
    /// The document.
    pub path: NotePath,
    /// The hash of the document that this is based on.
    pub expected_hash: Option<String>,
}

/// Adds text to a section or a document without replacing any. Blank lines that separate it from what is there are
/// added as needed.
#[derive(Clone, Debug)]
pub struct PlaceText {
    /// The document, if the section is named by its heading or none is named.
    pub path: Option<NotePath>,
    /// The section; without one, the whole document.
    pub section: Option<SectionRef>,
    /// The place of the text.
    pub place: TextPlace,
    /// Whether to append to the section's own text, or to everything below its heading.
    pub scope: Scope,
    /// The text to add.
    pub text: String,
    /// How to treat headings in the text.
    pub headings: PayloadHeadings,
    /// The hash of the text that this is based on; of the document if no section is named.
    pub expected_hash: Option<String>,
}

/// The place of added text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextPlace {
    /// At the end of the section or the document.
    #[default]
    Append,
    /// At its start, below the heading or the front matter.
    Prepend,
    /// Before the heading of the section; for a document, at its start.
    Before,
    /// After the section with everything below it; for a document, at its end.
    After,
}

/// Changes the path of a folder with everything in it. Links to its documents and files, and relative links in them,
/// are repaired.
#[derive(Clone, Debug)]
pub struct RenameFolder {
    /// The folder.
    pub path: NotePath,
    /// The new path.
    pub new_path: NotePath,
}

impl Operation {
    /// Returns the paths and section ids that the operation names.
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
            Self::EditText(EditText { path, section, .. })
            | Self::PlaceText(PlaceText { path, section, .. }) => (
                path.iter().collect(),
                section.as_ref().and_then(id).into_iter().collect(),
            ),
            Self::SetFrontMatter(SetFrontMatter { path, .. }) => {
                (path.iter().collect(), Vec::new())
            }
            Self::CreateDocument(CreateDocument { path, .. })
            | Self::DeleteDocument(DeleteDocument { path, .. }) => (vec![path], Vec::new()),
            Self::RenameDocument(RenameDocument { path, new_path, .. })
            | Self::RenameFolder(RenameFolder { path, new_path }) => {
                (vec![path, new_path], Vec::new())
            }
        }
    }

    /// Returns the hash that the caller based the change on.
    #[must_use]
    pub fn expected_hash(&self) -> Option<&str> {
        match self {
            Self::Update(UpdateSection { expected_hash, .. })
            | Self::Delete(DeleteSection { expected_hash, .. })
            | Self::Move(MoveSection { expected_hash, .. })
            | Self::Rename(RenameSection { expected_hash, .. })
            | Self::EditText(EditText { expected_hash, .. })
            | Self::SetFrontMatter(SetFrontMatter { expected_hash, .. })
            | Self::PlaceText(PlaceText { expected_hash, .. })
            | Self::DeleteDocument(DeleteDocument { expected_hash, .. }) => {
                expected_hash.as_deref()
            }
            Self::Insert(_)
            | Self::CreateDocument(_)
            | Self::RenameDocument(_)
            | Self::RenameFolder(_) => None,
        }
    }
}

/// The place of a section in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// This index in the list of all sections.
    Position(usize),
    /// A place relative to another section.
    Next {
        /// The relation to that section.
        relative: RelativePlacement,
        /// The other section.
        anchor: SectionRef,
    },
}

/// A place relative to a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativePlacement {
    /// Before the section.
    Before,
    /// After the section and everything below it.
    After,
    /// As its first subsection.
    FirstChild,
    /// As its last subsection.
    LastChild,
}

/// The part of a section that is read or replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The text between its heading and the next one.
    #[default]
    Body,
    /// Everything below its heading, including subsections.
    Subtree,
}
