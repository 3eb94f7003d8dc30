//! Links between documents: repaired when their targets are renamed, reported when they break, and checked on demand.

mod aliases;
mod check;
mod lineage;
mod scan;
mod snapshot;

use std::collections::{BTreeMap, HashSet};

use sectile_markdown::{Enclosure, LineIndex, Link, Span};

pub use self::check::LinkCheck;
pub(super) use self::check::check;
pub(super) use self::scan::{DocumentFixes, LinkFix, ScanResult, sections_at};
use self::{lineage::Lineage, scan::Scan, snapshot::LinkSnapshot};
use super::{
    CallHooks, EditorError,
    draft::Draft,
    folder::{DocumentFolder, FileVisibility},
};
use crate::journal::FolderMove;

/// A link that leads nowhere, or no longer where it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLink {
    /// The document that contains it.
    pub path: String,
    /// The line that it starts on, from 1.
    pub line: usize,
    /// The target as written, or the start of a long one. Empty for a document that could not be read, whose links are
    /// unknown.
    pub target: String,
    /// The problem with the link.
    pub reason: &'static str,
}

pub mod reason {
    //! Reasons why a link is broken.

    /// No file or folder has the name.
    pub const NO_DOCUMENT: &str = "no such document";
    /// The document has no such heading.
    pub const NO_HEADING: &str = "no such heading";
    /// The document has no such block.
    pub const NO_BLOCK: &str = "no such block";
    /// Several files match the name equally well.
    pub const SEVERAL_DOCUMENTS: &str = "several documents have this name";
    /// No file has the name, and several documents have it as an alias.
    pub const SEVERAL_ALIASES: &str = "several documents have this alias";
    /// The path leads out of the folder.
    pub const OUTSIDE: &str = "outside the folder";
    pub(super) const OTHER_SECTION: &str = "now leads to another section";
    pub(super) const OTHER_DOCUMENT: &str = "now leads to another document";
    pub(super) const LINK_LEFT: &str =
        "the path is a link to this document, which is no longer there";
    pub(super) const UNREADABLE: &str =
        "the document cannot be read, so its links were not checked";
    pub(super) const TOO_LARGE: &str =
        "the document is too large to read, so its links were not checked";
    pub(super) const UNREADABLE_FOLDER: &str =
        "the folder cannot be read, so the links of its documents were not checked";
}

/// Broken links, up to a maximum.
#[derive(Clone, Debug, Default)]
pub(super) struct BrokenLinks {
    pub(super) links: Vec<BrokenLink>,
    /// Number of broken links beyond those listed.
    pub(super) more: usize,
}

/// The link repairs that the operations of a request allow.
#[derive(Debug, Default)]
pub(super) struct Permits {
    /// Links into headings of these documents, by their old paths, are repaired.
    pub(super) headings: HashSet<String>,
    /// Links to these sections are not.
    pub(super) fixed_headings: HashSet<String>,
    /// Whether links that name documents by path are repaired.
    pub(super) paths: bool,
    /// Links from or to these documents, by their old paths, are not.
    pub(super) fixed_paths: HashSet<String>,
    /// Whether the request only restores an earlier state. Links that lead where they led then are correct.
    pub(super) is_undo: bool,
}

/// Number of broken links listed after a write.
const MOST_NAMED: usize = 50;
/// Number of characters shown of a link.
const MOST_SHOWN: usize = 200;

/// Scans the links that the drafts may affect: all links if something lost its name, otherwise only those just written.
///
/// With [`FileVisibility::Everything`], only the documents that are hidden from callers are scanned.
pub(super) fn look_at_links(
    folder: &DocumentFolder,
    (drafts, folder_move): (&BTreeMap<String, Draft>, Option<&FolderMove>),
    permits: &Permits,
    sight: FileVisibility,
    watch: CallHooks<'_>,
) -> Result<ScanResult, EditorError> {
    let world = LinkSnapshot::new(folder, drafts, watch.stop)
        .seeing(sight, folder_move)
        .knowing(watch.names);
    let lineage = Lineage::new(&world);
    let scan = Scan::new(&world, &lineage, permits);
    let concerned: Vec<usize> = (0..world.drafts.len())
        .filter(|index| lineage.changed_names(&world, *index))
        .collect();
    let had_name = |index: &usize| world.drafts[*index].draft.base.is_some();
    let lost_name = folder_move.is_some() || concerned.iter().any(had_name);
    let found = match (lost_name, sight) {
        (true, _) => scan.everywhere(&concerned, watch)?,
        (false, FileVisibility::Visible) => scan.new_links(watch)?,
        (false, FileVisibility::Everything) => ScanResult::default(),
    };
    match world.trouble() {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

impl BrokenLinks {
    pub(super) fn push(&mut self, link: BrokenLink) {
        if self.links.len() < MOST_NAMED {
            self.links.push(link);
        } else {
            self.more += 1;
        }
    }
}

impl BrokenLink {
    fn new(path: &str, bytes: &[u8], link: &Link, lines: &LineIndex, reason: &'static str) -> Self {
        let end = link
            .fragment
            .as_ref()
            .map_or(link.path.span.end, |fragment| fragment.span.end);
        let written = match link.enclosure {
            Enclosure::Sealed => link.target(),
            _ => {
                let written = Span::new(link.path.span.start, end).slice(bytes);
                String::from_utf8_lossy(written).into_owned()
            }
        };
        Self {
            path: path.to_owned(),
            line: lines.position(link.span.start).line,
            target: written.chars().take(MOST_SHOWN).collect(),
            reason,
        }
    }

    /// Describes a document that cannot be read; `None` for one that simply no longer exists.
    fn unread(path: &str, error: &EditorError) -> Option<Self> {
        let reason = match error {
            EditorError::DocumentNotFound | EditorError::RootGone => return None,
            EditorError::TooLarge { .. } => reason::TOO_LARGE,
            _ => reason::UNREADABLE,
        };
        Some(Self::of_whole(path, reason))
    }

    /// Describes a problem with a document or folder as a whole.
    fn of_whole(path: &str, reason: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            line: 1,
            target: String::new(),
            reason,
        }
    }
}
