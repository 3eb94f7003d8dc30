//! Observing calls: metrics for Prometheus, the audit log, and the newest calls for the console.

mod append;
mod audit;
mod call_log;
mod call_relay;
mod metrics;

use std::sync::Arc;

pub(crate) use self::call_log::{CallFilter, EndedCall};
pub use self::{
    audit::AuditLog,
    call_log::{CallLog, LoggedCall},
    call_relay::CallRelay,
    metrics::Metrics,
};

use crate::{CallRecord, Observer};

/// Counts every call, and writes it to the audit log if there is one.
pub struct CallWatch {
    metrics: Arc<Metrics>,
    audit: Option<AuditLog>,
}

impl CallWatch {
    /// Makes an observer that counts calls in `metrics` and writes them to `audit`, if there is one.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, audit: Option<AuditLog>) -> Self {
        if let Some(audit) = &audit {
            metrics.show_lost_records(audit.lost());
        }
        Self { metrics, audit }
    }

    /// Waits until every call that has ended is in the audit log.
    pub fn flush(&self) {
        if let Some(audit) = &self.audit {
            audit.flush();
        }
    }
}

impl Observer for CallWatch {
    fn began(&self, world: &'static str) {
        self.metrics.began(world);
    }

    fn ended(&self, call: &CallRecord<'_>) {
        self.metrics.ended(call);
        if let Some(audit) = &self.audit {
            audit.record(call);
        }
    }

    fn refused(&self, reason: &'static str) {
        self.metrics.refused(reason);
    }
}
