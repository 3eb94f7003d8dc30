//! What a handler knows of the call besides its arguments: who waits, and on which connection.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::{Failure, FailureKind, Progress};

/// What a handler knows of the call besides its arguments.
pub struct CallContext {
    /// Fires when the caller no longer waits.
    pub cancelled: CancellationToken,
    /// The connection that the call came on, where there is such a thing: the process on stdio, a session over HTTP.
    pub connection: Option<Arc<Connection>>,
    /// Tells the caller how far the work is.
    pub progress: Progress,
}

impl CallContext {
    /// The context of a call that comes from no client, such as one from the command line.
    #[must_use]
    pub fn without_client() -> Self {
        Self {
            cancelled: CancellationToken::new(),
            connection: None,
            progress: Progress::SILENT,
        }
    }

    /// Stops a handler between two steps of work when nobody waits for it.
    ///
    /// # Errors
    /// [`FailureKind::Cancelled`] once the call is.
    pub fn check(&self) -> Result<(), Failure> {
        if self.cancelled.is_cancelled() {
            return Err(Failure::new(
                FailureKind::Cancelled,
                "The call was cancelled.",
            ));
        }
        Ok(())
    }
}

/// What is kept between the calls of one client: a few texts, each under a name that the world chose.
#[derive(Debug, Default)]
pub struct Connection {
    slots: Mutex<BTreeMap<&'static str, String>>,
}

impl Connection {
    /// What was kept under `name`.
    #[must_use]
    pub fn get(&self, name: &'static str) -> Option<String> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get(name).cloned()
    }

    /// Keeps `value` under `name`, in place of what was there.
    pub fn set(&self, name: &'static str, value: impl Into<String>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.insert(name, value.into());
    }

    /// Forgets what was kept under `name`.
    pub fn clear(&self, name: &'static str) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.remove(name);
    }
}
