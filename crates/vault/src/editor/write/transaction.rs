//! A request in flight: drafts of the documents it changes, in memory, until they are committed together.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use sectile_markdown::{
    Digest, LetterCase, Source,
    edit::{Edit, EditError, EditOutcome, EditableDocument},
};

use super::{
    DocumentWriter,
    conflict::MOST_BYTES_BACK,
    plan::{PlannedChange, PlannedDocument},
};
use crate::{
    NotePath,
    editor::{
        EditorError, SectionRef,
        draft::{Draft, SectionLocation, snapshot},
        links::BrokenLinks,
        store::DocumentLocks,
    },
    ids,
    journal::FolderMove,
    work,
};

/// All drafts of a request.
pub(super) struct Transaction<'e> {
    pub(super) writer: &'e DocumentWriter,
    locks: DocumentLocks,
    /// Documents that someone else holds. If there are any, the request starts over and waits for them.
    pub(super) missing: BTreeSet<String>,
    pub(super) drafts: BTreeMap<String, Draft>,
    /// The folder that moves with the documents in it.
    pub(super) folder_move: Option<FolderMove>,
    /// Headings of sections that have no id yet.
    pub(super) fresh: Vec<String>,
    /// The ids that a dry run promised them, in order.
    pub(super) promised: Vec<String>,
    pub(super) labels: HashMap<String, String>,
    pub(super) steps: Vec<PendingStep>,
    /// Number of bytes that are deleted.
    pub(super) deleted_bytes: usize,
    pub(super) repaired_links: usize,
    pub(super) broken: BrokenLinks,
    /// Number of bytes of older texts that may still be read.
    pub(super) room_back: Cell<usize>,
}

/// A step whose section may not have its id yet.
#[derive(Clone, Debug)]
pub(super) struct PendingStep {
    pub(super) path: String,
    pub(super) section: Option<String>,
    pub(super) merged: bool,
}

impl<'e> Transaction<'e> {
    pub(super) fn new(writer: &'e DocumentWriter, locks: DocumentLocks) -> Self {
        Self {
            writer,
            locks,
            missing: BTreeSet::new(),
            drafts: BTreeMap::new(),
            folder_move: None,
            fresh: Vec::new(),
            promised: Vec::new(),
            labels: HashMap::new(),
            steps: Vec::new(),
            deleted_bytes: 0,
            repaired_links: 0,
            broken: BrokenLinks::default(),
            room_back: Cell::new(MOST_BYTES_BACK),
        }
    }

    /// Ensures that the document at `path`, a path without links, is locked.
    pub(super) fn hold(&mut self, path: &NotePath) -> Result<(), EditorError> {
        let store = &self.writer.store;
        if store.lock_another(&mut self.locks, path.as_str())? {
            Ok(())
        } else {
            self.missing.insert(path.as_str().to_owned());
            Err(EditorError::Busy)
        }
    }

    /// Returns the draft of the document at `path`, which must exist.
    pub(super) fn draft(&mut self, path: &NotePath) -> Result<&mut Draft, EditorError> {
        self.writer.folder.check_path(path)?;
        let real = self.writer.folder.real_path(path)?;
        // A link may have the name of a document but lead to something else.
        self.writer.folder.check_path(&real)?;
        let key = self.key_of(&real);
        if !self.drafts.contains_key(&key) {
            let draft = self.load(&real)?;
            self.drafts.insert(key.clone(), draft);
        }
        match self.drafts.get_mut(&key) {
            Some(draft) if draft.bytes.is_some() && *draft.final_path() == real => Ok(draft),
            _ => Err(EditorError::DocumentNotFound),
        }
    }

    /// Returns a new draft of the document at `real`, a path without links.
    pub(super) fn load(&mut self, real: &NotePath) -> Result<Draft, EditorError> {
        self.hold(real)?;
        let view = self.writer.reader.settled(real)?;
        if !Source::new(view.bytes()).is_valid_utf8() {
            return Err(EditError::NotUtf8.into());
        }
        Ok(Draft::of(real.clone(), view))
    }

    /// Returns the key for the draft of the document that is now at `path`: the document's original path.
    fn key_of(&self, path: &NotePath) -> String {
        let origin = self.folder_move.as_ref();
        if let Some(origin) = origin.and_then(|folder| folder.origin(path.as_str())) {
            return origin;
        }
        let moved = self
            .drafts
            .iter()
            .filter(|_| self.folder_move.is_none())
            .find(|(_, draft)| draft.moved_to.as_ref() == Some(path));
        moved.map_or_else(|| path.as_str().to_owned(), |(key, _)| key.clone())
    }

    /// Returns a placeholder id for a section that has none yet.
    pub(super) fn fresh_id(&mut self, heading: &str) -> String {
        self.fresh.push(heading.to_owned());
        ids::fresh(self.fresh.len() - 1)
    }

    /// Returns the sections that have no id yet: each one's promised id, if any, and its heading.
    pub(super) fn new_sections(&self) -> impl Iterator<Item = (Option<String>, &str)> {
        let promised = self.promised.iter().cloned().map(Some);
        let promised = promised.chain(std::iter::repeat(None));
        promised.zip(self.fresh.iter().map(String::as_str))
    }

    /// Applies an edit to a draft. Sections that it creates get the ids in `given`, in order, then fresh ones.
    pub(super) fn edit(
        &mut self,
        path: &str,
        edit: &Edit<'_>,
        given: &[String],
    ) -> Result<EditOutcome, EditorError> {
        let draft = self.drafts.get(path).ok_or(EditorError::DocumentNotFound)?;
        let edited = {
            let editable = EditableDocument::new(draft.text(), &draft.document)?;
            editable
                .edit(edit)
                .map_err(|error| explained(draft, error))?
        };
        let limit = self.writer.limits.max_document_bytes;
        if edited.bytes.len() as u64 > limit {
            return Err(EditorError::TooLarge {
                what: "document",
                limit,
            });
        }
        let headings: Vec<String> = edited
            .document
            .top_level()
            .map(|(_, section, _)| section.text.clone())
            .collect();
        let old_ids = draft.ids.clone();
        let mut given = given.iter();
        let ids: Vec<String> = edited
            .lineage
            .iter()
            .zip(&headings)
            .map(|(origin, heading)| match origin {
                Some(old) => old_ids[*old].clone(),
                None => match given.next() {
                    Some(id) => id.clone(),
                    None => self.fresh_id(heading),
                },
            })
            .collect();
        if let Some(draft) = self.drafts.get_mut(path) {
            draft.changes = draft.changes.then(&edited.changes);
            draft.bytes = Some(edited.bytes.clone());
            draft.document = edited.document.clone();
            draft.ids = ids;
        }
        Ok(edited)
    }

    pub(super) fn touch(&mut self, path: &str, id: &str) {
        self.touch_all(path, [id.to_owned()]);
    }

    /// Records sections that the request concerns, each once.
    pub(super) fn touch_all(&mut self, path: &str, ids: impl IntoIterator<Item = String>) {
        if let Some(draft) = self.drafts.get_mut(path) {
            work::count(draft.touched.len());
            let mut known: HashSet<String> = draft.touched.iter().cloned().collect();
            let new = ids.into_iter().filter(|id| known.insert(id.clone()));
            draft.touched.extend(new);
        }
    }

    /// Finds a section by id, label or heading.
    pub(super) fn find(
        &mut self,
        path: Option<&NotePath>,
        section: &SectionRef,
    ) -> Result<SectionLocation, EditorError> {
        let found = match (&section.id, &section.heading) {
            (None, None) => {
                return Err(EditorError::BadReference(
                    "Name the section by section_id or by heading.",
                ));
            }
            (Some(id), _) => self.find_id(path, id)?,
            (None, Some(heading)) => {
                let path = path.ok_or(EditorError::NoDocument)?;
                let draft = self.draft(path)?;
                let view = snapshot(draft);
                let position = view.find_heading(heading, LetterCase::Matters)?;
                SectionLocation {
                    path: draft.path.as_str().to_owned(),
                    position,
                    id: draft.ids[position].clone(),
                }
            }
        };
        if section.id.is_some() && section.heading.is_some() {
            let view = snapshot(&self.drafts[&found.path]);
            let heading = section.heading.as_deref();
            view.check_heading(found.position, heading, LetterCase::Matters)?;
        }
        Ok(found)
    }

    fn find_id(
        &mut self,
        path: Option<&NotePath>,
        id: &str,
    ) -> Result<SectionLocation, EditorError> {
        let id = match id
            .strip_prefix('@')
            .and_then(|label| self.labels.get(label))
        {
            Some(labelled) => labelled.clone(),
            None => id.to_owned(),
        };
        let position_in = |draft: &Draft| draft.ids.iter().position(|known| *known == id);
        let in_drafts = self
            .drafts
            .iter()
            .find_map(|(key, draft)| Some((key.clone(), position_in(draft)?)));
        let (key, position) = match in_drafts {
            Some(found) => found,
            None => {
                if let Some(path) = path {
                    // Viewing the document may reveal its ids.
                    self.draft(path)?;
                }
                if let Some(found) = path.and_then(|path| self.in_draft(path, &id)) {
                    return Ok(found);
                }
                let draft = match self.writer.store.document_of(&id) {
                    Some(known) => self.draft(&known)?,
                    None => return Err(self.unknown(path, &id)),
                };
                match position_in(draft) {
                    Some(position) => (draft.path.as_str().to_owned(), position),
                    None => return Err(self.unknown(path, &id)),
                }
            }
        };
        if let Some(path) = path
            && self.writer.folder.real_path(path)? != *self.drafts[&key].final_path()
        {
            return Err(EditorError::BadReference(
                "The section is not in the document that path names.",
            ));
        }
        Ok(SectionLocation {
            path: key,
            position,
            id,
        })
    }

    /// Finds the section with this id in the draft of the document at `path`.
    fn in_draft(&self, path: &NotePath, id: &str) -> Option<SectionLocation> {
        let key = self.key_of(&self.writer.folder.real_path(path).ok()?);
        let ids = &self.drafts.get(&key)?.ids;
        Some(SectionLocation {
            position: ids.iter().position(|known| known == id)?,
            path: key,
            id: id.to_owned(),
        })
    }

    /// Returns the error for an unknown id.
    fn unknown(&mut self, path: Option<&NotePath>, id: &str) -> EditorError {
        let within = path.and_then(|path| self.draft(path).ok().map(|draft| snapshot(draft)));
        self.writer.reader.unknown_id(id, within.as_ref())
    }

    /// Refuses to change documents that are not writable.
    pub(super) fn check_writable(&self) -> Result<(), EditorError> {
        for draft in self.drafts.values().filter(|draft| draft.is_changed()) {
            for path in std::iter::once(&draft.path).chain(&draft.moved_to) {
                self.writer.folder.check_draft(path, draft.is_silent)?;
            }
            if draft.base.is_some() && (self.folder_move.is_none() || draft.is_rewritten()) {
                let located = self.writer.folder.locate(&draft.path)?;
                let checked = located.check_writable();
                checked?;
            }
        }
        Ok(())
    }

    /// Returns the result of the transaction, for comparison with a plan.
    pub(super) fn planned(&self) -> PlannedChange {
        let changed = self.drafts.values().filter(|draft| draft.is_changed());
        let documents = changed
            .map(|draft| PlannedDocument {
                from: draft.path.as_str().to_owned(),
                path: draft.final_path().as_str().to_owned(),
                before: draft.base.as_ref().map(|base| base.hash().to_string()),
                after: draft
                    .bytes
                    .as_ref()
                    .map(|bytes| Digest::of(bytes).to_string()),
            })
            .collect();
        PlannedChange {
            documents,
            folder: self.folder_move.clone(),
        }
    }
}

/// Converts an error that names sections by position.
fn explained(draft: &Draft, error: EditError) -> EditorError {
    match error {
        EditError::Reparents { section } => match snapshot(draft).candidate(section) {
            Some(section) => EditorError::Reparents { section },
            None => error.into(),
        },
        error => error.into(),
    }
}
