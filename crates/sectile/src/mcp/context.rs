//! What a handler knows of the call besides its arguments.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Connection, Failure, FailureKind, Progress};

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
