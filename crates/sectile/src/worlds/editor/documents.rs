//! Which document a call is about.

use sectile_vault::{NotePath, editor::EditorError};

use super::{EditorWorld, failure, params::WriteOptions};
use crate::mcp::{CallContext, Failure};

/// Where a connection keeps its default document.
const OPEN_DOCUMENT: &str = "document";

impl EditorWorld {
    /// A failure of the editor, as callers of this world get it.
    pub(super) fn failure(&self, error: &EditorError) -> Failure {
        let mut failure = failure(error);
        // There is no list where only one document is edited.
        if *error == EditorError::DocumentNotFound
            && self.editor.only().is_some()
            && let Some(detail) = &mut failure.detail
        {
            detail.recovery =
                "Leave path out: only one document is edited here. If its file is gone, ask the operator to bring it back."
                    .into();
        }
        failure
    }

    /// A path as a caller gives it.
    pub(super) fn path(&self, given: &str) -> Result<NotePath, Failure> {
        NotePath::parse_vault(given).map_err(|_| failure(&EditorError::OutsideRoot))
    }

    /// The document that a call names, or that the connection has open; `None` without either.
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

    /// The document of a section: the one that a call names, or that the connection has open. An id finds its document
    /// by itself, so there only what the call names counts.
    pub(super) fn document_unless_id(
        &self,
        options: &WriteOptions,
        id: Option<&str>,
        context: &CallContext,
    ) -> Result<Option<NotePath>, Failure> {
        match (&options.path, id) {
            (None, Some(_)) => Ok(self.editor.only().cloned()),
            (given, _) => self.document(given.as_deref(), context),
        }
    }

    /// The document that a call names, or that the connection has open.
    pub(super) fn named_document(
        &self,
        given: Option<&str>,
        context: &CallContext,
    ) -> Result<NotePath, Failure> {
        self.document(given, context)?
            .ok_or_else(|| failure(&EditorError::NoDocument))
    }

    /// Remembers the default document of a connection. Whether there is a connection to remember it for.
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
