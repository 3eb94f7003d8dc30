//! Who made a call, and the way back to them while it runs.
//!
//! A handler works on a thread of its own and may not wait for the protocol, so what it wants sent goes as an errand to
//! the task that awaits it. Calls of quick tools run no errands: a channel would cost more than it brings.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{CallContext, Connection, Pace};

/// The least time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// The caller, as a transport hands it to the pipeline.
pub(super) struct Caller {
    pub(super) request: RequestContext<RoleServer>,
    pub(super) connection: Option<Arc<Connection>>,
}

/// What a handler wants done for it.
enum Errand {
    Report(ProgressNotificationParam),
}

/// Where the errands of one call arrive.
pub(super) struct Desk {
    request: RequestContext<RoleServer>,
    errands: Option<mpsc::UnboundedReceiver<Errand>>,
}

impl Caller {
    pub(super) fn cancelled(&self) -> CancellationToken {
        self.request.ct.clone()
    }

    /// What the handler gets, and where its errands arrive.
    pub(super) fn into_parts(self, pace: Pace) -> (CallContext, Desk) {
        let cancelled = self.cancelled();
        let Self {
            request,
            connection,
        } = self;
        let (sender, errands) = match pace {
            Pace::Quick => (None, None),
            Pace::Slow => {
                let (sender, receiver) = mpsc::unbounded_channel();
                (Some(sender), Some(receiver))
            }
        };
        let progress = Progress::new(&request, sender);
        let context = CallContext {
            cancelled,
            connection,
            progress,
        };
        (context, Desk { request, errands })
    }
}

impl Desk {
    /// Runs errands as they come.
    pub(super) async fn serve(&mut self) -> Infallible {
        while let Some(errand) = self.next().await {
            self.run(errand).await;
        }
        std::future::pending().await
    }

    /// Runs the errands that a handler which has ended left behind.
    pub(super) async fn clear(&mut self) {
        while let Some(Ok(errand)) = self.errands.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            self.run(errand).await;
        }
    }

    async fn next(&mut self) -> Option<Errand> {
        self.errands.as_mut()?.recv().await
    }

    async fn run(&self, errand: Errand) {
        match errand {
            Errand::Report(report) => {
                if self.request.peer.notify_progress(report).await.is_err() {
                    tracing::debug!("progress could not be reported");
                }
            }
        }
    }
}

/// How a handler says how far it is. Says nothing unless the caller wants to hear it, or for a tool of [`Pace::Quick`].
pub struct Progress(Option<Reporter>);

struct Reporter {
    token: ProgressToken,
    errands: mpsc::UnboundedSender<Errand>,
    last: Mutex<Option<(u64, Instant)>>,
}

impl Progress {
    pub(super) const SILENT: Self = Self(None);

    fn new(
        request: &RequestContext<RoleServer>,
        errands: Option<mpsc::UnboundedSender<Errand>>,
    ) -> Self {
        let reporter = errands.and_then(|errands| {
            Some(Reporter {
                token: request.meta.get_progress_token()?,
                errands,
                last: Mutex::new(None),
            })
        });
        Self(reporter)
    }

    /// Says that `done` of `total` is done. Cheap, so it may be called after every step: what does not go forward, or
    /// comes too soon after the last report and is not the end, is left out.
    pub fn report(&self, done: u64, total: Option<u64>, message: &str) {
        let Some(reporter) = &self.0 else {
            return;
        };
        let now = Instant::now();
        let mut last = reporter.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|(reported, at)| {
            let is_end = total.is_some_and(|total| done >= total);
            done > reported && (is_end || now.duration_since(at) >= REPORT_INTERVAL)
        });
        if !is_due {
            return;
        }
        *last = Some((done, now));
        let mut report = ProgressNotificationParam::new(reporter.token.clone(), as_number(done));
        report.total = total.map(as_number);
        report.message = (!message.is_empty()).then(|| message.to_owned());
        // Nobody is at the desk when the call has ended without its handler.
        reporter.errands.send(Errand::Report(report)).ok();
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the protocol counts in floating point"
)]
fn as_number(count: u64) -> f64 {
    count as f64
}
