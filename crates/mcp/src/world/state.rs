//! The state of a world, as its calls find it.

use std::sync::Arc;

use crate::{Access, CallContext, Failure, FailureKind};

/// The source of a state that is made for each call: a view of a store, for example, as its caller sees it at that moment.
pub trait CallState<S>: Send + Sync + 'static {
    /// Calls `work` with the state of a call, and returns once the store has what `work` changed. If the store refused the
    /// change because of another one, `work` may be called again; only its last run counts.
    ///
    /// # Errors
    /// The failure of a call for which there is no state, or whose change the store did not take.
    fn with_state(
        &self,
        context: &CallContext,
        access: Access,
        work: &mut dyn FnMut(&S),
    ) -> Result<(), Failure>;

    /// Checks whether the store is usable now. It may block, but not for long.
    ///
    /// # Errors
    /// A sentence for the log.
    fn ready(&self) -> Result<(), String>;
}

/// The state that the parts of a surface are bound to.
pub(crate) enum WorldState<S: 'static> {
    /// One value for all calls.
    Kept(Arc<S>),
    /// One for each call.
    PerCall(Arc<dyn CallState<S>>),
}

impl<S> Clone for WorldState<S> {
    fn clone(&self) -> Self {
        match self {
            Self::Kept(state) => Self::Kept(Arc::clone(state)),
            Self::PerCall(source) => Self::PerCall(Arc::clone(source)),
        }
    }
}

impl<S> WorldState<S> {
    /// Calls `work` with the state of a call.
    pub(crate) fn with<T>(
        &self,
        context: &CallContext,
        access: Access,
        mut work: impl FnMut(&S) -> T,
    ) -> Result<T, Failure> {
        match self {
            Self::Kept(state) => Ok(work(state)),
            Self::PerCall(source) => {
                let mut done = None;
                source.with_state(context, access, &mut |state| done = Some(work(state)))?;
                done.ok_or_else(no_state)
            }
        }
    }

    /// Returns the state that all calls share.
    pub(crate) fn kept(&self) -> Result<&Arc<S>, Failure> {
        match self {
            Self::Kept(state) => Ok(state),
            Self::PerCall(_) => Err(no_state()),
        }
    }
}

/// The failure of work that found no state: a defect of the source, or a part of a world that needs a state that lasts.
fn no_state() -> Failure {
    Failure::new(FailureKind::Internal, "The world has no state for this.")
}
