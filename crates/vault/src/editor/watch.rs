//! Hooks through which a caller follows a long call, and ends it.

use std::fmt;

use super::EditorError;

/// Callbacks that a call uses while it runs.
#[derive(Clone, Copy)]
pub struct CallHooks<'a> {
    /// Returns whether the caller has given up.
    pub stop: &'a dyn Fn() -> bool,
    /// Takes the number of documents processed, and the total if it is known.
    pub progress: &'a dyn Fn(u64, Option<u64>),
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
