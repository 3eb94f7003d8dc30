//! A document during a request: as it was, and as it will be.

use std::sync::Arc;

use sectile_markdown::{Changes, Digest, Document};

use super::View;
use crate::NotePath;

/// A document during a request.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: NotePath,
    /// The document before the request, or `None` if it did not exist.
    pub(super) base: Option<Arc<View>>,
    /// The bytes after the request, or `None` if the document will not exist.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) document: Document,
    pub(super) ids: Vec<String>,
    pub(super) changes: Changes,
    pub(super) touched: Vec<String>,
    pub(super) moved_to: Option<NotePath>,
    /// The document's number, if it is a deleted one that is being restored.
    pub(super) number: Option<u64>,
    /// Whether the document is hidden from the caller, and only its links are repaired.
    pub(super) is_silent: bool,
}

/// The location of a section that was found.
pub(super) struct SectionLocation {
    pub(super) path: String,
    pub(super) position: usize,
    pub(super) id: String,
}

impl Draft {
    /// Returns a draft of an existing document, without changes.
    pub(super) fn of(path: NotePath, view: Arc<View>) -> Self {
        Self {
            path,
            bytes: Some(view.bytes().to_vec()),
            document: view.document().clone(),
            ids: view.ids().to_vec(),
            changes: Changes::default(),
            touched: Vec::new(),
            moved_to: None,
            number: None,
            is_silent: false,
            base: Some(view),
        }
    }

    /// Returns whether the bytes of the document change.
    pub(super) fn is_rewritten(&self) -> bool {
        self.old() != self.bytes.as_deref()
    }

    pub(super) fn is_changed(&self) -> bool {
        match (&self.base, &self.bytes) {
            (Some(base), Some(bytes)) => {
                self.moved_to.is_some() || base.bytes() != bytes || base.ids() != self.ids
            }
            (None, None) => false,
            _ => true,
        }
    }

    /// Returns the document's bytes before the request, if it existed.
    pub(super) fn old(&self) -> Option<&[u8]> {
        self.base.as_ref().map(|base| base.bytes())
    }

    pub(super) fn text(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// Returns the path of the document after the request.
    pub(super) fn final_path(&self) -> &NotePath {
        self.moved_to.as_ref().unwrap_or(&self.path)
    }
}

/// Returns a draft as a view, for looking things up in it.
pub(super) fn snapshot(draft: &Draft) -> View {
    View::new(
        draft.path.clone(),
        draft.text().to_vec(),
        Digest::of(b""),
        draft.document.clone(),
        draft.ids.clone(),
        0,
    )
}
