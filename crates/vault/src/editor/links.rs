//! Links between documents: repaired when what they lead to gets another name, reported when they stop working, and
//! checked on demand.

mod aliases;
mod check;
mod lineage;
mod scan;
mod world;

use std::collections::{BTreeSet, HashMap, HashSet};

use sectile_markdown::{Changes, Digest, Enclosure, LineIndex, Link, Span, edit::Edit};

pub use self::check::LinkCheck;
use self::{
    lineage::Lineage,
    scan::{Fix, Fixes, Found, Scan, sections_at},
    world::World,
};
use super::{
    Editor, EditorError, Operation, RenameDocument, RenameSection, Watch, draft::Transaction,
};
use crate::NotePath;

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
pub(super) struct Broken {
    pub(super) links: Vec<BrokenLink>,
    /// How many there are besides.
    pub(super) more: usize,
}

/// Which links the operations of a request want repaired.
#[derive(Debug, Default)]
struct Permits {
    /// Those into headings of these documents, by their paths before.
    headings: HashSet<String>,
    /// But not those to these sections.
    fixed_headings: HashSet<String>,
    /// Those that name documents by their paths.
    paths: bool,
    /// But not those from or to these documents, by their paths before.
    fixed_paths: HashSet<String>,
    /// Nothing is asked for but to bring back what was. Links that lead where they led then are as they should be.
    is_undo: bool,
}

/// So many broken links are named after a write.
const MOST_NAMED: usize = 50;
/// So much of a link is shown.
const MOST_SHOWN: usize = 200;
/// A repaired wiki link in a heading changes the heading, which other links may name, and so on.
const MOST_ROUNDS: usize = 8;

impl Transaction<'_> {
    /// Repairs the links that operations want repaired, in all documents, and notes those that the transaction breaks.
    ///
    /// Documents with links to repair are locked like all others. Where somebody else holds some, they are noted as
    /// missing, all of them, and the request starts over.
    pub(super) fn settle_links(
        &mut self,
        operations: &[Operation],
        watch: Watch<'_>,
    ) -> Result<(), EditorError> {
        let mut permits = self.permits(operations);
        for _ in 0..MOST_ROUNDS {
            let found = self.look_at_links(&permits, watch)?;
            let again = self.repair(found, &mut permits)?;
            if !again {
                break;
            }
        }
        Ok(())
    }

    fn permits(&self, operations: &[Operation]) -> Permits {
        let mut permits = Permits {
            is_undo: operations.is_empty(),
            ..Permits::default()
        };
        let mut homes: HashMap<&str, &str> = HashMap::new();
        for draft in self.drafts.values() {
            let ids = draft.base.iter().flat_map(|base| base.ids());
            homes.extend(ids.map(|id| (id.as_str(), draft.path.as_str())));
        }
        let mut followed = HashSet::new();
        // Every operation notes one step.
        for (operation, step) in operations.iter().zip(&self.steps) {
            let id = step.section.as_deref().unwrap_or_default();
            match operation {
                Operation::Rename(RenameSection { repair_links, .. }) => {
                    if *repair_links {
                        permits.headings.insert(step.path.clone());
                        followed.insert(id.to_owned());
                    } else {
                        permits.fixed_headings.insert(id.to_owned());
                    }
                }
                Operation::Move(_) => {
                    permits.headings.insert(step.path.clone());
                    let home = homes.get(id).map(|home| (*home).to_owned());
                    permits.headings.extend(home);
                }
                Operation::RenameDocument(RenameDocument { repair_links, .. }) => {
                    if *repair_links {
                        permits.paths = true;
                    } else {
                        permits.fixed_paths.insert(step.path.clone());
                    }
                }
                _ => {}
            }
        }
        permits.fixed_headings.retain(|id| !followed.contains(id));
        permits
    }

    /// Looks at the links that the transaction may concern: all there are when something lost its name, and else those
    /// that were just written.
    fn look_at_links(&self, permits: &Permits, watch: Watch<'_>) -> Result<Found, EditorError> {
        let world = World::new(self.editor, &self.drafts, watch.stop);
        let lineage = Lineage::new(&world);
        let scan = Scan::new(&world, &lineage, permits);
        let concerned: Vec<usize> = (0..world.drafts.len())
            .filter(|index| lineage.changed_names(&world, *index))
            .collect();
        let lost_name = concerned
            .iter()
            .any(|index| world.drafts[*index].draft.base.is_some());
        let found = if lost_name {
            scan.everywhere(&concerned, &|path| self.editor.read(path), watch)?
        } else {
            scan.new_links(watch)?
        };
        match world.trouble() {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    /// Makes the repairs that were found. Answers whether links must be looked at again.
    fn repair(&mut self, found: Found, permits: &mut Permits) -> Result<bool, EditorError> {
        let mut again = false;
        self.broken = found.broken;
        let held: Vec<Result<(), EditorError>> = found
            .fixes
            .values()
            .map(|fixes| self.hold(&fixes.path))
            .collect();
        held.into_iter().collect::<Result<(), EditorError>>()?;
        for (path, fixes) in found.fixes {
            if !self.drafts.contains_key(&path) {
                if !self.editor.may_change(&fixes.path) {
                    // A document that nobody asked to change is not a reason to refuse what was asked for.
                    let broken = fixes.fixes.into_iter().map(|fix| fix.otherwise);
                    broken.for_each(|link| self.broken.push(link));
                    continue;
                }
                match self.draft(&fixes.path) {
                    Ok(draft) if Digest::of(draft.text()) == fixes.digest => {}
                    // Another program just wrote it, or took it away.
                    Ok(_) | Err(EditorError::DocumentNotFound | EditorError::Edit(_)) => {
                        again = true;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            again |= self.respell(&path, fixes, permits)?;
        }
        Ok(again)
    }

    /// Changes the links of one document. Answers whether a heading changed with them.
    fn respell(
        &mut self,
        path: &str,
        fixes: Fixes,
        permits: &mut Permits,
    ) -> Result<bool, EditorError> {
        let headings = |transaction: &Self| -> Vec<Vec<u8>> {
            let draft = &transaction.drafts[path];
            let sections = draft.document.sections().iter();
            let heading = |span: Span| span.slice(draft.text()).to_vec();
            sections.map(|section| heading(section.heading)).collect()
        };
        let before = headings(self);
        // Front matter comes last: it stands above the text, whose offsets would be others behind it.
        let (above, below): (Vec<Fix>, Vec<Fix>) =
            fixes.fixes.into_iter().partition(|fix| fix.in_front_matter);
        let text_changed = self.respell_part(path, below, Edit::WithinLines)?;
        let changed = self.respell_part(path, above, Edit::FrontMatter)? || text_changed;
        if changed {
            permits.headings.insert(path.to_owned());
        }
        Ok(text_changed && before != headings(self))
    }

    /// Changes the links of the text of a document, or those of its front matter. Answers whether that could be done;
    /// otherwise they are noted as broken.
    fn respell_part(
        &mut self,
        path: &str,
        fixes: Vec<Fix>,
        edit: fn(Changes) -> Edit<'static>,
    ) -> Result<bool, EditorError> {
        if fixes.is_empty() {
            return Ok(false);
        }
        let changes = fixes.iter().flat_map(|fix| fix.changes.iter().cloned());
        let edit = edit(Changes::new(changes).unwrap_or_default());
        let at: BTreeSet<usize> = fixes.iter().map(|fix| fix.at).collect();
        let sections = sections_at(&self.drafts[path], &at);
        match self.edit(path, &edit, &[]) {
            Ok(_) => {}
            Err(EditorError::Edit(_) | EditorError::TooLarge { .. }) => {
                let broken = fixes.into_iter().map(|fix| fix.otherwise);
                broken.for_each(|link| self.broken.push(link));
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.touch_all(path, sections);
        self.repaired_links += fixes.len();
        Ok(true)
    }
}

impl Editor {
    /// Whether the document at `path`, which has no links in it, may be changed as far as can be told before.
    fn may_change(&self, path: &NotePath) -> bool {
        let located = self.locate(path);
        located.is_ok_and(|located| located.check_writable().is_ok())
            && self.check_target(path).is_ok()
    }
}

impl Broken {
    fn push(&mut self, link: BrokenLink) {
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
