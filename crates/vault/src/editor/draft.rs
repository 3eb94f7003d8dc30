//! A document while a request is under way: as it was, and as it will be.

use std::sync::Arc;

use sectile_markdown::{Changes, Digest, Document};

use super::View;
use crate::NotePath;

/// A document while a request is under way.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: NotePath,
    /// As it was, or `None` when it did not exist.
    pub(super) base: Option<Arc<View>>,
    /// As it will be, or `None` when it will not exist.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) document: Document,
    pub(super) ids: Vec<String>,
    pub(super) changes: Changes,
    pub(super) touched: Vec<String>,
    pub(super) moved_to: Option<NotePath>,
    /// The document's number, when it is one that was deleted and comes back.
    pub(super) number: Option<u64>,
}

/// A section that is found.
pub(super) struct SectionLocation {
    pub(super) path: String,
    pub(super) position: usize,
    pub(super) id: String,
}

impl Draft {
    pub(super) fn is_changed(&self) -> bool {
        match (&self.base, &self.bytes) {
            (Some(base), Some(bytes)) => {
                self.moved_to.is_some() || base.bytes() != bytes || base.ids() != self.ids
            }
            (None, None) => false,
            _ => true,
        }
    }

    /// Its bytes as they were, if it existed.
    pub(super) fn old(&self) -> Option<&[u8]> {
        self.base.as_ref().map(|base| base.bytes())
    }

    pub(super) fn text(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// Where the document will be.
    pub(super) fn final_path(&self) -> &NotePath {
        self.moved_to.as_ref().unwrap_or(&self.path)
    }
}

/// A draft as a view, to look things up in it.
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
