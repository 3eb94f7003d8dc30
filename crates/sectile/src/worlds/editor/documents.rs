//! Finds the document that a call is about.

use std::cell::Cell;

use sectile_mcp::{CallContext, Failure, MAX_OFFERED, nearest, nearest_paths, quoted};
use sectile_vault::{
    NotePath,
    editor::{Candidate, EditorError},
};
use serde_json::json;

use super::{
    EditorWorld,
    errors::{CallSubject, failure_about},
    failure,
};

/// Most names that an unknown one is compared with, and most folders searched for them: it bounds the cost of a mistake.
const MAX_COMPARED: usize = 10_000;

/// The tool that lists all names. A caller who may not use it is not offered any.
const LIST_DOCUMENTS: &str = "list_documents";
/// Key under which a connection keeps its default document.
const OPEN_DOCUMENT: &str = "document";

impl EditorWorld {
    /// A failure of the editor, as callers of this world get it: with the missing name, and names similar to it.
    pub(super) fn failure(&self, error: &EditorError, about: &CallSubject<'_>) -> Failure {
        match error {
            EditorError::DocumentNotFound => self.no_document(about),
            EditorError::DocumentExists => {
                let is_there = |path: &&NotePath| self.editor.view(path).is_ok();
                match about.all_paths().filter(is_there).last() {
                    Some(path) => failure_about(error, &about.narrowed(path)),
                    None => failure_about(error, about),
                }
            }
            EditorError::SectionNotFound { section_id, near } if near.is_empty() => {
                let near = self.near_sections(section_id.as_deref(), about);
                let section_id = section_id.clone();
                failure_about(&EditorError::SectionNotFound { section_id, near }, about)
            }
            error => failure_about(error, about),
        }
    }

    fn no_document(&self, about: &CallSubject<'_>) -> Failure {
        let error = EditorError::DocumentNotFound;
        let is_missing =
            |path: &&NotePath| matches!(self.editor.view(path), Err(EditorError::DocumentNotFound));
        let missing = about.all_paths().find(is_missing);
        let mut failure = match missing {
            Some(path) => failure_about(&error, &about.narrowed(path)),
            None => failure_about(&error, about),
        };
        let Some(detail) = &mut failure.detail else {
            return failure;
        };
        if self.editor.only().is_some() {
            // With only one document there is no tool that lists documents.
            detail.recovery =
                "Leave path out: only one document is edited here. If its file is missing, ask the operator to restore it."
                    .into();
            return failure;
        }
        let Some(path) = missing.filter(|_| about.may_use(LIST_DOCUMENTS)) else {
            return failure;
        };
        let near = self.near_documents(path);
        if !near.is_empty() {
            detail.data.insert("nearest".to_owned(), json!(near));
        }
        let names = near.iter().map(|name| quoted(name)).collect();
        failure.offering("Nearest", names)
    }

    /// The documents whose paths are most similar to `path`; empty if there are too many to compare.
    fn near_documents(&self, path: &NotePath) -> Vec<String> {
        let folders = Cell::new(0);
        let too_many = || {
            folders.set(folders.get() + 1);
            folders.get() > MAX_COMPARED
        };
        let known = self.editor.documents(&too_many).unwrap_or_default();
        if known.len() > MAX_COMPARED {
            return Vec::new();
        }
        let known = known.iter().map(NotePath::as_str);
        let near = nearest_paths(path.as_str(), known, MAX_OFFERED);
        near.into_iter().map(str::to_owned).collect()
    }

    /// The sections of the document whose ids, or headings, are most similar to the one that was not found.
    fn near_sections(&self, id: Option<&str>, about: &CallSubject<'_>) -> Vec<Candidate> {
        let Some(view) = about
            .all_paths()
            .next()
            .and_then(|path| self.editor.view(path).ok())
        else {
            return Vec::new();
        };
        let count = view.ids().len().min(MAX_COMPARED);
        let heading = |position| view.heading_path(position).pop().unwrap_or_default();
        let names: Vec<String> = match id {
            Some(_) => view.ids()[..count].to_vec(),
            None => (0..count).map(heading).collect(),
        };
        let Some(wanted) = id.or_else(|| about.heading()) else {
            return Vec::new();
        };
        let near = nearest(wanted, names.iter().map(String::as_str), MAX_OFFERED);
        let positions = near
            .iter()
            .filter_map(|name| names.iter().position(|known| known == name));
        positions
            .filter_map(|position| view.candidate(position))
            .collect()
    }

    /// Parses a path given by a caller.
    pub(super) fn path(&self, given: &str) -> Result<NotePath, Failure> {
        NotePath::parse_vault(given).map_err(|_| failure(&EditorError::OutsideRoot))
    }

    /// Returns the document that a call names, or that the connection has open; `None` without either.
    pub(super) fn document(
        &self,
        given: Option<&str>,
        context: &CallContext,
    ) -> Result<Option<NotePath>, Failure> {
        if let Some(given) = given {
            return self.path(given).map(Some);
        }
        if let Some(only) = self.editor.only() {
            return Ok(Some(only.clone()));
        }
        let open = context
            .connection
            .as_ref()
            .and_then(|connection| connection.get(OPEN_DOCUMENT));
        open.map(|open| self.path(&open)).transpose()
    }

    /// Returns the document of a section: the one that a call names, or that the connection has open. An id identifies its
    /// document, so with an id only the document that the call names counts.
    pub(super) fn document_unless_id(
        &self,
        given: Option<&str>,
        id: Option<&str>,
        context: &CallContext,
    ) -> Result<Option<NotePath>, Failure> {
        match (given, id) {
            (None, Some(_)) => Ok(self.editor.only().cloned()),
            _ => self.document(given, context),
        }
    }

    /// Returns the document that a call names, or that the connection has open. It is an error to have neither.
    pub(super) fn named_document(
        &self,
        given: Option<&str>,
        context: &CallContext,
    ) -> Result<NotePath, Failure> {
        self.document(given, context)?
            .ok_or_else(|| failure(&EditorError::NoDocument))
    }

    /// Remembers the default document of a connection. Returns whether there is a connection to remember it for.
    pub(super) fn open_document(&self, path: &NotePath, context: &CallContext) -> bool {
        match &context.connection {
            Some(connection) => {
                connection.set(OPEN_DOCUMENT, path.as_str());
                true
            }
            None => false,
        }
    }
}
