//! Hooks through which a caller follows a long call, and ends it.

use std::fmt;

use super::EditorError;
use crate::NotePath;

/// An index of names and links, which saves the editor from reading every document. Everything it returns is
/// read and checked; what it leaves out is not looked at, so it must know a document as it is now, or return it. `all` are
/// the documents that the editor has found itself.
pub trait NameSource {
    /// Returns the documents that may have this alias, in whatever letter case, or `None` if that is unknown.
    fn documents_with_alias(&self, alias: &str, all: &[NotePath]) -> Option<Vec<NotePath>>;

    /// Returns the documents that may have a link with one of `names`, or `None` if that is unknown. A link counts if its
    /// path, or the last part of it, is one of them as [`name_key`](sectile_markdown::name_key) returns it, whether or not
    /// it leads to anything: after a change it may. A document whose links are unknown counts too.
    fn documents_with_links(&self, names: &[String], all: &[NotePath]) -> Option<Vec<NotePath>>;
}

/// Callbacks that a call uses while it runs.
#[derive(Clone, Copy)]
pub struct CallHooks<'a> {
    /// Returns whether the caller has given up.
    pub stop: &'a dyn Fn() -> bool,
    /// Takes the number of documents processed, and the total if it is known.
    pub progress: &'a dyn Fn(u64, Option<u64>),
    /// An index of names and links, if there is one.
    pub names: Option<&'a dyn NameSource>,
}

impl<'a> CallHooks<'a> {
    /// Hooks of a caller that neither follows nor stops the call.
    #[must_use]
    pub fn none() -> Self {
        Self::until(&|| false)
    }

    /// Hooks of a call that runs until `stop` says that the caller has given up.
    #[must_use]
    pub fn until(stop: &'a dyn Fn() -> bool) -> Self {
        Self {
            stop,
            progress: &|_, _| {},
            names: None,
        }
    }

    /// Ends a call that nobody is waiting for any more.
    pub(super) fn check(&self) -> Result<(), EditorError> {
        if self.is_stopped() {
            return Err(EditorError::Cancelled);
        }
        Ok(())
    }

    pub(super) fn is_stopped(&self) -> bool {
        (self.stop)()
    }
}

impl fmt::Debug for CallHooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHooks").finish_non_exhaustive()
    }
}
