//! Link repairs: made in drafts of their own, together with the change that requires them.

use std::collections::{BTreeSet, HashMap, HashSet};

use sectile_markdown::{Changes, Digest, Span, edit::Edit};

use super::{
    operation::{Operation, RenameDocument, RenameSection},
    transaction::Transaction,
};
use crate::editor::{
    CallHooks, EditorError,
    folder::FileVisibility,
    links::{DocumentFixes, LinkFix, Permits, ScanResult, look_at_links, sections_at},
};

/// Most rounds of repairs: a repaired wiki link in a heading changes the heading, which other links may name.
const MOST_ROUNDS: usize = 8;

impl Transaction<'_> {
    /// Repairs the links that operations want repaired, in all documents, and records those that the transaction
    /// breaks.
    ///
    /// Documents with links to repair are locked like all others. If someone else holds some, all of these are recorded
    /// as missing, and the request starts over.
    pub(super) fn settle_links(
        &mut self,
        operations: &[Operation],
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        let mut permits = self.permits(operations);
        for _ in 0..MOST_ROUNDS {
            let look = |transaction: &Self, permits: &Permits, sight| {
                let drafts = (&transaction.drafts, transaction.folder_move.as_ref());
                look_at_links(&transaction.writer.folder, drafts, permits, sight, watch)
            };
            let mut found = look(self, &permits, FileVisibility::Visible)?;
            self.broken = std::mem::take(&mut found.broken);
            let mut again = self.repair(found, &mut permits, FileVisibility::Visible)?;
            if self.writer.folder.hides_something() {
                // Documents that the caller does not see keep their links too, and the report does not mention it.
                let hidden = look(self, &permits, FileVisibility::Everything)?;
                again |= self.repair(hidden, &mut permits, FileVisibility::Everything)?;
            }
            if !again {
                break;
            }
        }
        Ok(())
    }

    fn permits(&self, operations: &[Operation]) -> Permits {
        // A folder that moves back takes along what was written in it since, and links to that follow.
        let mut permits = Permits {
            is_undo: operations.is_empty() && self.folder_move.is_none(),
            paths: self.folder_move.is_some(),
            ..Permits::default()
        };
        let mut homes: HashMap<&str, &str> = HashMap::new();
        for draft in self.drafts.values() {
            let ids = draft.base.iter().flat_map(|base| base.ids());
            homes.extend(ids.map(|id| (id.as_str(), draft.path.as_str())));
        }
        let mut followed = HashSet::new();
        // Every operation records one step.
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

    /// Applies the repairs that were found. Returns whether links must be scanned again.
    fn repair(
        &mut self,
        found: ScanResult,
        permits: &mut Permits,
        sight: FileVisibility,
    ) -> Result<bool, EditorError> {
        let is_silent = sight == FileVisibility::Everything;
        let mut again = false;
        let held: Vec<Result<(), EditorError>> = found
            .fixes
            .values()
            .map(|fixes| self.hold(&fixes.path))
            .collect();
        held.into_iter().collect::<Result<(), EditorError>>()?;
        for (path, fixes) in found.fixes {
            if !self.drafts.contains_key(&path) {
                if !self.writer.folder.may_change(&fixes.path, is_silent) {
                    // A document that nobody asked to change is not a reason to refuse the request.
                    self.leave_broken(fixes.fixes, is_silent);
                    continue;
                }
                match self.load(&fixes.path) {
                    Ok(mut draft) if Digest::of(draft.text()) == fixes.digest => {
                        draft.is_silent = is_silent;
                        self.drafts.insert(path.clone(), draft);
                    }
                    // Another program just wrote or removed it.
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

    /// Changes the links of one document. Returns whether a heading changed with them.
    fn respell(
        &mut self,
        path: &str,
        fixes: DocumentFixes,
        permits: &mut Permits,
    ) -> Result<bool, EditorError> {
        let headings = |transaction: &Self| -> Vec<Vec<u8>> {
            let draft = &transaction.drafts[path];
            let sections = draft.document.sections().iter();
            let heading = |span: Span| span.slice(draft.text()).to_vec();
            sections.map(|section| heading(section.heading)).collect()
        };
        let before = headings(self);
        // Front matter comes last: it is above the text, whose offsets would shift otherwise.
        let (above, below): (Vec<LinkFix>, Vec<LinkFix>) =
            fixes.fixes.into_iter().partition(|fix| fix.in_front_matter);
        let text_changed = self.respell_part(path, below, Edit::WithinLines)?;
        let changed = self.respell_part(path, above, Edit::FrontMatter)? || text_changed;
        if changed {
            permits.headings.insert(path.to_owned());
        }
        Ok(text_changed && before != headings(self))
    }

    /// Changes the links in the text of a document, or those in its front matter. Returns whether that was possible;
    /// otherwise they are recorded as broken.
    fn respell_part(
        &mut self,
        path: &str,
        fixes: Vec<LinkFix>,
        edit: fn(Changes) -> Edit<'static>,
    ) -> Result<bool, EditorError> {
        if fixes.is_empty() {
            return Ok(false);
        }
        let changes = fixes.iter().flat_map(|fix| fix.changes.iter().cloned());
        let edit = edit(Changes::new(changes).unwrap_or_default());
        let is_silent = self.drafts[path].is_silent;
        let at: BTreeSet<usize> = fixes.iter().map(|fix| fix.at).collect();
        let sections = sections_at(&self.drafts[path], &at);
        match self.edit(path, &edit, &[]) {
            Ok(_) => {}
            Err(EditorError::Edit(_) | EditorError::TooLarge { .. }) => {
                self.leave_broken(fixes, is_silent);
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.touch_all(path, sections);
        if !is_silent {
            self.repaired_links += fixes.len();
        }
        Ok(true)
    }

    /// Records links that cannot be repaired, unless the caller does not see their document.
    fn leave_broken(&mut self, fixes: Vec<LinkFix>, is_silent: bool) {
        let broken = fixes.into_iter().map(|fix| fix.otherwise);
        broken
            .filter(|_| !is_silent)
            .for_each(|link| self.broken.push(link));
    }
}
