//! Applies operations to drafts.

use sectile_markdown::{
    Change, Changes, Digest, Source, Span,
    edit::{Edit, EditError, EditScope, Escape, SectionPlacement, TextPlacement},
    remove_key, set_key,
};

use super::{
    characters::{check_new_path, check_text, check_value},
    conflict::HashScope,
    operation::{
        CreateDocument, DeleteDocument, DeleteSection, EditText, InsertSection, MoveSection,
        Operation, PlaceText, Placement, RelativePlacement, RenameDocument, RenameSection, Scope,
        SetFrontMatter, TextPlace, UpdateSection,
    },
    transaction::{PendingStep, Transaction},
};
use crate::{
    NotePath,
    editor::{
        CallHooks, EditorError,
        draft::{Draft, SectionLocation},
        read::{
            part::{check_whole, hash_matches},
            section::parts_of,
        },
    },
};

impl Transaction<'_> {
    /// Applies all operations, in order, and repairs links.
    pub(super) fn perform_all(
        &mut self,
        operations: &[Operation],
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        for operation in operations {
            self.perform(operation, watch)?;
            watch.check()?;
        }
        self.settle_links(operations, watch)
    }

    /// Applies one operation.
    fn perform(&mut self, operation: &Operation, watch: CallHooks<'_>) -> Result<(), EditorError> {
        match operation {
            Operation::Insert(insert) => self.insert(insert),
            Operation::Update(update) => self.update(update),
            Operation::Delete(delete) => self.delete(delete),
            Operation::Move(relocation) => self.relocate(relocation),
            Operation::Rename(rename) => self.rename(rename),
            Operation::EditText(edit) => self.edit_text(edit),
            Operation::SetFrontMatter(set) => self.set_front_matter(set),
            Operation::CreateDocument(create) => self.create(create),
            Operation::RenameDocument(rename) => self.rename_document(rename),
            Operation::DeleteDocument(delete) => self.delete_document(delete),
            Operation::PlaceText(place) => self.place_text(place),
            Operation::RenameFolder(rename) => self.rename_folder(rename, watch),
        }
    }

    fn check_payload(&self, text: &str) -> Result<(), EditorError> {
        self.check_length(text.len())
    }

    fn check_length(&self, length: usize) -> Result<(), EditorError> {
        let limit = self.writer.limits.max_payload_bytes;
        if length > limit {
            return Err(EditorError::TooLarge {
                what: "content",
                limit: limit as u64,
            });
        }
        Ok(())
    }

    /// Records the result of a step.
    pub(super) fn done(&mut self, path: &str, section: Option<String>, merged: bool) {
        if let Some(id) = &section {
            self.touch(path, id);
        }
        self.steps.push(PendingStep {
            path: path.to_owned(),
            section,
            merged,
        });
    }

    /// Finds the document and the position that `at` names.
    fn place(
        &mut self,
        path: Option<&NotePath>,
        at: &Placement,
    ) -> Result<(String, SectionPlacement), EditorError> {
        match at {
            Placement::Position(position) => {
                let path = path.ok_or(EditorError::NoDocument)?;
                let key = self.draft(path)?.path.as_str().to_owned();
                Ok((key, SectionPlacement::Position(*position)))
            }
            Placement::Next { relative, anchor } => {
                let found = self.find(path, anchor)?;
                let place = match relative {
                    RelativePlacement::Before => SectionPlacement::Before(found.position),
                    RelativePlacement::After => SectionPlacement::After(found.position),
                    RelativePlacement::FirstChild => SectionPlacement::FirstChild(found.position),
                    RelativePlacement::LastChild => SectionPlacement::LastChild(found.position),
                };
                Ok((found.path, place))
            }
        }
    }

    fn insert(&mut self, insert: &InsertSection) -> Result<(), EditorError> {
        let InsertSection {
            path,
            heading,
            content,
            at,
            level,
            headings,
            label,
        } = insert;
        self.check_payload(content)?;
        check_text("heading", heading, "")?;
        check_text("content", content, "")?;
        let (key, place) = self.place(path.as_ref(), at)?;
        let edit = Edit::Insert {
            place,
            level: *level,
            heading,
            body: content,
            headings: *headings,
        };
        let edited = self.edit(&key, &edit, &[])?;
        let id = edited
            .focus
            .and_then(|position| self.drafts[&key].ids.get(position).cloned());
        if let (Some(label), Some(id)) = (label, &id) {
            self.labels.insert(label.clone(), id.clone());
        }
        self.done(&key, id, false);
        Ok(())
    }

    fn update(&mut self, update: &UpdateSection) -> Result<(), EditorError> {
        let UpdateSection {
            path,
            section,
            content,
            scope,
            headings,
            expected_hash,
        } = update;
        let found = self.find(path.as_ref(), section)?;
        let expected = expected_hash.as_deref();
        let present = self.present(&found, *scope);
        // Text that is there already may be written back, however long it is.
        if content.len() > present.len() {
            self.check_payload(content)?;
        }
        check_whole(
            &present,
            content,
            expected,
            self.writer.limits.max_shown_bytes,
        )?;
        let hashed = match scope {
            Scope::Body => HashScope::Own,
            Scope::Subtree => HashScope::Subtree,
        };
        let current = self.is_current(&found, expected, hashed)?;
        let merged = match expected {
            Some(expected) if !current => {
                Some(self.merged(&found, expected, hashed, *scope, content)?)
            }
            _ => None,
        };
        let body = merged.as_deref().unwrap_or(content);
        check_text("content", body, &present)?;
        let edit = match scope {
            Scope::Body => Edit::ReplaceBody {
                section: found.position,
                body,
                headings: *headings,
            },
            Scope::Subtree => Edit::ReplaceSubtree {
                section: found.position,
                body,
                headings: *headings,
            },
        };
        self.edit(&found.path, &edit, &[])?;
        self.done(&found.path, Some(found.id), merged.is_some());
        Ok(())
    }

    fn delete(&mut self, delete: &DeleteSection) -> Result<(), EditorError> {
        let found = self.find(delete.path.as_ref(), &delete.section)?;
        if !self.is_current(&found, delete.expected_hash.as_deref(), HashScope::Subtree)? {
            let theirs = self.subtree_text(&found);
            return Err(self.conflict(&found, HashScope::Subtree, None, None, &theirs));
        }
        let subtree = self.subtree_ids(&found);
        self.deleted_bytes += self.subtree_text(&found).len();
        let edit = Edit::Delete {
            section: found.position,
        };
        self.edit(&found.path, &edit, &[])?;
        self.touch_all(&found.path, subtree);
        self.done(&found.path, None, false);
        Ok(())
    }

    /// Returns the lines of a section's heading.
    fn written_heading(&self, found: &SectionLocation) -> String {
        let draft = &self.drafts[&found.path];
        let section = draft.document.top_level().nth(found.position);
        let heading = section.map(|(_, section, _)| section.heading.slice(draft.text()));
        String::from_utf8_lossy(heading.unwrap_or_default()).into_owned()
    }

    /// Returns the ids of a section and everything below it.
    fn subtree_ids(&self, found: &SectionLocation) -> Vec<String> {
        let draft = &self.drafts[&found.path];
        let end = subtree_end(draft, found.position);
        draft.ids[found.position..end].to_vec()
    }

    fn relocate(&mut self, relocation: &MoveSection) -> Result<(), EditorError> {
        let MoveSection {
            path,
            section,
            at,
            to,
            level,
            expected_hash,
        } = relocation;
        let found = self.find(path.as_ref(), section)?;
        // A text that changed meanwhile is moved as it is now.
        let merged = !self.is_current(&found, expected_hash.as_deref(), HashScope::Subtree)?;
        let target = match (to, at) {
            (Some(to), _) => Some(to.clone()),
            (None, Placement::Position(_)) => Some(self.drafts[&found.path].final_path().clone()),
            (None, Placement::Next { anchor, .. }) if anchor.id.is_some() => None,
            (None, Placement::Next { .. }) => Some(self.drafts[&found.path].final_path().clone()),
        };
        let (key, place) = self.place(target.as_ref(), at)?;
        if key == found.path {
            let edit = Edit::Move {
                section: found.position,
                place,
                level: *level,
            };
            self.edit(&key, &edit, &[])?;
            self.done(&key, Some(found.id), merged);
            return Ok(());
        }
        let subtree = self.subtree_ids(&found);
        let text = String::from_utf8_lossy(&self.subtree_text(&found)).into_owned();
        let graft = Edit::Graft {
            place,
            level: *level,
            subtree: &text,
        };
        let grafted = self.edit(&key, &graft, &subtree)?;
        let made = grafted.lineage.iter().filter(|origin| origin.is_none());
        if made.count() != subtree.len() {
            // With the other document's line endings, the text has different headings.
            return Err(EditError::Escapes(Escape::Structure).into());
        }
        let gone = Edit::Delete {
            section: found.position,
        };
        self.edit(&found.path, &gone, &[])?;
        self.touch(&found.path, &found.id);
        self.done(&key, Some(found.id), merged);
        Ok(())
    }

    fn rename(&mut self, rename: &RenameSection) -> Result<(), EditorError> {
        let RenameSection {
            path,
            section,
            heading,
            level,
            expected_hash,
            ..
        } = rename;
        self.check_payload(heading)?;
        let found = self.find(path.as_ref(), section)?;
        check_text("heading", heading, &self.written_heading(&found))?;
        let merged = !self.is_current(&found, expected_hash.as_deref(), HashScope::Own)?;
        let edit = Edit::Rename {
            section: found.position,
            heading,
        };
        self.edit(&found.path, &edit, &[])?;
        if let Some(level) = level {
            let edit = Edit::SetLevel {
                section: found.position,
                level: *level,
            };
            self.edit(&found.path, &edit, &[])?;
        }
        self.done(&found.path, Some(found.id), merged);
        Ok(())
    }

    fn edit_text(&mut self, edit_text: &EditText) -> Result<(), EditorError> {
        let EditText {
            path,
            section,
            old_text,
            new_text,
            expected_count,
            scope,
            expected_hash,
        } = edit_text;
        self.check_payload(new_text)?;
        check_text("new_text", new_text, old_text)?;
        let Some(section) = section else {
            let path = path.as_ref().ok_or(EditorError::NoDocument)?;
            let require = self.writer.limits.require_hash;
            let draft = self.draft(path)?;
            check_document(draft, expected_hash.as_deref(), require)?;
            let key = draft.path.as_str().to_owned();
            let edit = Edit::ReplaceText {
                within: EditScope::Document,
                old: old_text,
                new: new_text,
                expected: *expected_count,
            };
            self.edit(&key, &edit, &[])?;
            self.done(&key, None, false);
            return Ok(());
        };
        let found = self.find(path.as_ref(), section)?;
        let (hashed, within) = match scope {
            Scope::Body => (HashScope::Own, EditScope::Body(found.position)),
            Scope::Subtree => (HashScope::Subtree, EditScope::Subtree(found.position)),
        };
        // The passage itself is compared, so changes elsewhere in the text do not matter.
        let merged = !self.is_current(&found, expected_hash.as_deref(), hashed)?;
        let edit = Edit::ReplaceText {
            within,
            old: old_text,
            new: new_text,
            expected: *expected_count,
        };
        self.edit(&found.path, &edit, &[])?;
        self.done(&found.path, Some(found.id), merged);
        Ok(())
    }

    fn place_text(&mut self, place_text: &PlaceText) -> Result<(), EditorError> {
        let PlaceText {
            path,
            section,
            place,
            scope,
            text,
            headings,
            expected_hash,
        } = place_text;
        self.check_payload(text)?;
        check_text("text", text, "")?;
        let expected = expected_hash.as_deref();
        // Nothing is replaced, so changes elsewhere in the text do not matter.
        let (key, id, within, merged) = match section {
            None => {
                let path = path.as_ref().ok_or(EditorError::NoDocument)?;
                let require = self.writer.limits.require_hash;
                let draft = self.draft(path)?;
                let merged = match check_document(draft, expected, require) {
                    Err(EditorError::DocumentChanged) => true,
                    checked => checked.map(|()| false)?,
                };
                let key = draft.path.as_str().to_owned();
                let within = match place {
                    TextPlace::Append | TextPlace::After => TextPlacement::End(EditScope::Document),
                    TextPlace::Prepend | TextPlace::Before => {
                        TextPlacement::Start(EditScope::Document)
                    }
                };
                (key, None, within, merged)
            }
            Some(section) => {
                let found = self.find(path.as_ref(), section)?;
                let (hashed, part) = match scope {
                    Scope::Body => (HashScope::Own, EditScope::Body(found.position)),
                    Scope::Subtree => (HashScope::Subtree, EditScope::Subtree(found.position)),
                };
                let merged = !self.is_current(&found, expected, hashed)?;
                let within = match place {
                    TextPlace::Append => TextPlacement::End(part),
                    TextPlace::Prepend => TextPlacement::Start(part),
                    TextPlace::Before => TextPlacement::Before(found.position),
                    TextPlace::After => TextPlacement::After(found.position),
                };
                (found.path, Some(found.id), within, merged)
            }
        };
        let edit = Edit::InsertText {
            place: within,
            text,
            headings: *headings,
        };
        self.edit(&key, &edit, &[])?;
        self.done(&key, id, merged);
        Ok(())
    }

    fn set_front_matter(&mut self, set: &SetFrontMatter) -> Result<(), EditorError> {
        let SetFrontMatter {
            path,
            key,
            value,
            expected_hash,
        } = set;
        let path = path.as_ref().ok_or(EditorError::NoDocument)?;
        if let Some(value) = value {
            check_text("key", key, "")?;
            check_value(value)?;
        }
        let draft = self.draft(path)?;
        check_document(draft, expected_hash.as_deref(), false)?;
        let changes = match value {
            Some(value) => set_key(draft.text(), key, value),
            None => remove_key(draft.text(), key),
        }
        .map_err(|error| EditorError::FrontMatter(error.to_string()))?;
        let at = draft.path.as_str().to_owned();
        self.check_length(changes.iter().map(|change| change.text.len()).sum())?;
        self.edit(&at, &Edit::FrontMatter(changes), &[])?;
        self.done(&at, None, false);
        Ok(())
    }

    fn create(&mut self, create: &CreateDocument) -> Result<(), EditorError> {
        let CreateDocument { path, content } = create;
        self.writer.folder.check_new_path(path)?;
        check_new_path(path)?;
        self.check_payload(content)?;
        check_text("content", content, "")?;
        let real = self.free_path(path)?;
        let bytes = content.as_bytes().to_vec();
        let document = Source::new(&bytes).parse();
        let headings: Vec<String> = document
            .top_level()
            .map(|(_, section, _)| section.text.clone())
            .collect();
        let ids: Vec<String> = headings
            .iter()
            .map(|heading| self.fresh_id(heading))
            .collect();
        let key = real.as_str().to_owned();
        let whole = Change::new(Span::new(0, 0), bytes.clone());
        let draft = Draft {
            path: real,
            base: None,
            document,
            touched: Vec::new(),
            ids,
            changes: Changes::new([whole]).unwrap_or_default(),
            bytes: Some(bytes),
            moved_to: None,
            number: None,
            is_silent: false,
        };
        self.drafts.insert(key.clone(), draft);
        self.done(&key, None, false);
        Ok(())
    }

    /// Checks that `path` is free, and resolves its links. The folders above it are created with the document.
    fn free_path(&mut self, path: &NotePath) -> Result<NotePath, EditorError> {
        let real = match self.writer.folder.real_path(path) {
            // The path is a dangling link.
            Err(EditorError::DocumentNotFound) if self.writer.folder.root.is_occupied(path) => {
                return Err(EditorError::DocumentExists);
            }
            real => real?,
        };
        self.writer.folder.check_new_path(&real)?;
        self.hold(&real)?;
        self.writer.store.finish_pending(real.as_str())?;
        let taken = self
            .drafts
            .values()
            .any(|draft| draft.bytes.is_some() && *draft.final_path() == real);
        if taken || self.writer.folder.root.is_occupied(&real) {
            Err(EditorError::DocumentExists)
        } else {
            Ok(real)
        }
    }

    fn rename_document(&mut self, rename: &RenameDocument) -> Result<(), EditorError> {
        let RenameDocument { path, new_path, .. } = rename;
        if self.writer.folder.only.is_some() {
            return Err(EditorError::OutsideRoot);
        }
        self.writer.folder.check_new_path(new_path)?;
        check_new_path(new_path)?;
        self.writer.folder.refuse_link(path)?;
        let key = self.draft(path)?.path.as_str().to_owned();
        let free = self.free_path(new_path)?;
        let key = self.rekeyed(key, free);
        self.done(&key, None, false);
        Ok(())
    }

    /// Records that a draft moves to another path, and returns its new key. A draft that is not on disk yet simply gets
    /// that path.
    fn rekeyed(&mut self, key: String, path: NotePath) -> String {
        match self.drafts.remove(&key) {
            Some(mut draft) if draft.base.is_none() => {
                let new_key = path.as_str().to_owned();
                for step in self.steps.iter_mut().filter(|step| step.path == key) {
                    step.path.clone_from(&new_key);
                }
                draft.path = path;
                self.drafts.insert(new_key.clone(), draft);
                new_key
            }
            Some(mut draft) => {
                draft.moved_to = Some(path);
                self.drafts.insert(key.clone(), draft);
                key
            }
            None => key,
        }
    }

    fn delete_document(&mut self, delete: &DeleteDocument) -> Result<(), EditorError> {
        let DeleteDocument {
            path,
            expected_hash,
        } = delete;
        if self.writer.folder.only.is_some() {
            return Err(EditorError::OutsideRoot);
        }
        self.writer.folder.refuse_link(path)?;
        let require = self.writer.limits.require_hash;
        let draft = self.draft(path)?;
        let key = draft.path.as_str().to_owned();
        draft.moved_to = None;
        check_document(draft, expected_hash.as_deref(), require)?;
        let size = draft.text().len();
        let ids = draft.ids.clone();
        let text = draft.base.as_ref().map_or(0, |base| base.bytes().len());
        draft.changes =
            Changes::new([Change::new(Span::new(0, text), Vec::new())]).unwrap_or_default();
        draft.bytes = None;
        draft.ids = Vec::new();
        draft.touched = ids;
        self.deleted_bytes += size;
        self.done(&key, None, false);
        Ok(())
    }
}

/// Refuses to change a whole document that is no longer the one the caller based the change on.
fn check_document(draft: &Draft, expected: Option<&str>, require: bool) -> Result<(), EditorError> {
    match (expected, &draft.base) {
        // Earlier operations of the same request may have changed it; the caller could not know the result.
        (Some(expected), Some(base)) if hash_matches(expected, base.hash()) => Ok(()),
        (Some(expected), _) if hash_matches(expected, &Digest::of(draft.text())) => Ok(()),
        (Some(_), _) => Err(EditorError::DocumentChanged),
        // A document that the same request creates has no hash yet.
        (None, Some(_)) if require => Err(EditorError::HashRequired),
        (None, _) => Ok(()),
    }
}

/// Returns the position after the last section below the one at `position`.
fn subtree_end(draft: &Draft, position: usize) -> usize {
    let Some(parts) = parts_of(draft.text(), &draft.document, position) else {
        return position;
    };
    draft
        .document
        .top_level()
        .take_while(|(_, section, _)| section.heading.start < parts.whole.end)
        .count()
}
