//! Links between documents: repaired when what they lead to gets another name, reported when they stop working, and
//! checked on demand.

mod aliases;
mod check;
mod lineage;
mod scan;
mod world;

use std::collections::{BTreeMap, HashSet};

use sectile_markdown::{Enclosure, LineIndex, Link, Span};

pub use self::check::LinkCheck;
pub(super) use self::check::check;
pub(super) use self::scan::{DocumentFixes, LinkFix, ScanResult, sections_at};
use self::{lineage::Lineage, scan::Scan, world::LinkSnapshot};
use super::{CallHooks, EditorError, draft::Draft, folder::DocumentFolder};

/// A link that leads nowhere, or not where it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLink {
    /// The document that has it.
    pub path: String,
    /// The line it starts in, from 1.
    pub line: usize,
    /// What it names, as written; the start of it when it is long. Empty for a document that could not be read, whose
    /// links are not known.
    pub target: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

mod reason {
    //! What can be wrong with a link.

    pub(super) const NO_DOCUMENT: &str = "no such document";
    pub(super) const NO_HEADING: &str = "no such heading";
    pub(super) const NO_BLOCK: &str = "no such block";
    pub(super) const SEVERAL_DOCUMENTS: &str = "several documents have this name";
    pub(super) const SEVERAL_ALIASES: &str = "several documents have this alias";
    pub(super) const OUTSIDE: &str = "outside of the folder";
    pub(super) const OTHER_SECTION: &str = "leads to another section now";
    pub(super) const OTHER_DOCUMENT: &str = "leads to another document now";
    pub(super) const LINK_LEFT: &str =
        "the path is a link to this document, which is not there any more";
    pub(super) const UNREADABLE: &str =
        "the document cannot be read, so its links were not looked at";
    pub(super) const TOO_LARGE: &str =
        "the document is too large to be read, so its links were not looked at";
    pub(super) const UNREADABLE_FOLDER: &str =
        "the folder cannot be read, so the links of its documents were not looked at";
}

/// Broken links, up to a number.
#[derive(Clone, Debug, Default)]
pub(super) struct BrokenLinks {
    pub(super) links: Vec<BrokenLink>,
    /// How many there are besides.
    pub(super) more: usize,
}

/// Which links the operations of a request want repaired.
#[derive(Debug, Default)]
pub(super) struct Permits {
    /// Those into headings of these documents, by their paths before.
    pub(super) headings: HashSet<String>,
    /// But not those to these sections.
    pub(super) fixed_headings: HashSet<String>,
    /// Those that name documents by their paths.
    pub(super) paths: bool,
    /// But not those from or to these documents, by their paths before.
    pub(super) fixed_paths: HashSet<String>,
    /// Nothing is asked for but to bring back what was. Links that lead where they led then are as they should be.
    pub(super) is_undo: bool,
}

/// So many broken links are named after a write.
const MOST_NAMED: usize = 50;
/// So much of a link is shown.
const MOST_SHOWN: usize = 200;

/// Looks at the links that drafts may concern: all there are when something lost its name, and else those that were just
/// written.
pub(super) fn look_at_links(
    folder: &DocumentFolder,
    drafts: &BTreeMap<String, Draft>,
    permits: &Permits,
    watch: CallHooks<'_>,
) -> Result<ScanResult, EditorError> {
    let world = LinkSnapshot::new(folder, drafts, watch.stop);
    let lineage = Lineage::new(&world);
    let scan = Scan::new(&world, &lineage, permits);
    let concerned: Vec<usize> = (0..world.drafts.len())
        .filter(|index| lineage.changed_names(&world, *index))
        .collect();
    let lost_name = concerned
        .iter()
        .any(|index| world.drafts[*index].draft.base.is_some());
    let found = if lost_name {
        scan.everywhere(&concerned, watch)?
    } else {
        scan.new_links(watch)?
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

    /// What is said of a document that cannot be read; `None` for one that is just not there any more.
    fn unread(path: &str, error: &EditorError) -> Option<Self> {
        let reason = match error {
            EditorError::DocumentNotFound | EditorError::RootGone => return None,
            EditorError::TooLarge { .. } => reason::TOO_LARGE,
            _ => reason::UNREADABLE,
        };
        Some(Self::of_whole(path, reason))
    }

    /// What is said of a document, or a folder, as a whole.
    fn of_whole(path: &str, reason: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            line: 1,
            target: String::new(),
            reason,
        }
    }
}
