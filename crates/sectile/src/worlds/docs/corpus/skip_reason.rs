//! The reasons why a document is not loaded, and what to do about them.

use std::{fmt, io};

use super::{DocsDocument, description::slug_of_file, file_name};

/// A document or a folder that is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkippedDoc {
    /// Name for people: never an absolute path.
    pub(crate) label: String,
    /// Name for clients, without the location of its folder.
    pub(crate) name: String,
    /// The slug that it would have by its list entry or its name, so that policies can refer to it.
    pub(crate) slug: String,
    pub(crate) reason: SkipReason,
}

impl SkippedDoc {
    pub(in crate::worlds::docs) fn new(
        label: String,
        name: &str,
        listed: Option<&DocsDocument>,
        reason: SkipReason,
    ) -> Self {
        let slug = listed.and_then(|listed| listed.slug.clone());
        Self {
            slug: slug.unwrap_or_else(|| slug_of_file(file_name(name.trim_end_matches('/')))),
            name: name.to_owned(),
            label,
            reason,
        }
    }
}

/// The reason why a document is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipReason {
    Missing,
    NotMarkdown,
    FolderInList,
    /// A pipe, a device or a socket.
    NotAFile,
    /// A link found inside a folder. A link that is named itself is followed.
    Link,
    OddName,
    /// The name starts with a dot.
    Hidden,
    /// An ignore file leaves it out.
    Ignored,
    /// The table of contents of a book.
    Navigation,
    Unreadable(io::ErrorKind),
    NotUtf8,
    Empty,
    TooLarge {
        limit: u64,
    },
    TooMany {
        limit: usize,
    },
    OverTotal {
        limit: u64,
    },
    TooManyFolders {
        limit: usize,
    },
}

impl SkipReason {
    /// A stable code for programs.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotMarkdown => "not_markdown",
            Self::FolderInList => "folder",
            Self::NotAFile => "not_a_file",
            Self::Link => "link",
            Self::OddName => "odd_name",
            Self::Hidden => "hidden",
            Self::Ignored => "ignored",
            Self::Navigation => "navigation",
            Self::Unreadable(_) => "unreadable",
            Self::NotUtf8 => "not_utf8",
            Self::Empty => "empty",
            Self::TooLarge { .. } => "max_doc_bytes",
            Self::TooMany { .. } => "max_docs",
            Self::OverTotal { .. } => "max_total_bytes",
            Self::TooManyFolders { .. } => "too_many_folders",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => {
                f.write_str("does not exist; correct the path, or remove it from the settings")
            }
            Self::NotMarkdown => f.write_str("is not an `.md` file; rename it, or leave it out"),
            Self::FolderInList => {
                f.write_str("is a folder; put it under `docs.extra_paths` instead")
            }
            Self::NotAFile => {
                f.write_str("is not a regular file; replace it with one, or remove it")
            }
            Self::Link => f.write_str(
                "is a link inside a folder, which is not followed; list its target explicitly",
            ),
            Self::OddName => f.write_str(
                "has a name that cannot be used; rename it in UTF-8, without backslashes",
            ),
            Self::Hidden => {
                f.write_str("is hidden; rename it without the dot, or list it explicitly")
            }
            Self::Ignored => f.write_str(
                "is excluded by a `.gitignore` or `.ignore` file; list it explicitly to load it",
            ),
            Self::Navigation => {
                f.write_str("is the table of contents, whose pages are served; list it explicitly to load it too")
            }
            Self::Unreadable(kind) => write!(f, "cannot be read ({kind}); check its permissions"),
            Self::NotUtf8 => f.write_str("is not UTF-8; save it as UTF-8"),
            Self::Empty => f.write_str("is empty; write something into it, or remove it"),
            Self::TooLarge { limit } => {
                write!(
                    f,
                    "is larger than {limit} bytes; split it, or raise `docs.max_doc_bytes`"
                )
            }
            Self::TooMany { limit } => {
                write!(
                    f,
                    "comes after {limit} others; leave some out, or raise `docs.max_docs`"
                )
            }
            Self::OverTotal { limit } => write!(
                f,
                "does not fit into {limit} bytes with those before it; leave some out, or raise `docs.max_total_bytes`"
            ),
            Self::TooManyFolders { limit } => {
                write!(
                    f,
                    "has more than {limit} folders below it; name a folder further down"
                )
            }
        }
    }
}

impl fmt::Display for SkippedDoc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}.", self.label, self.reason)
    }
}
