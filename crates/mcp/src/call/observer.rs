//! The interface for everything that counts or records calls and refusals.

use std::time::Duration;

/// Is notified of every call and of every request that was refused before it became one.
pub trait Observer: Send + Sync {
    /// Called when a call starts.
    fn began(&self, world: &'static str);
    /// Called when a call ends.
    fn ended(&self, call: &CallRecord<'_>);
    /// Called when a request is turned away before it became a call, for one of a fixed set of reasons.
    fn refused(&self, reason: &'static str);
}

/// One call, as it may be recorded: it contains nothing that a caller wrote.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord<'a> {
    /// The world that was called.
    pub world: &'static str,
    /// The tool, as the caller sees it: `unknown` for one that is hidden.
    pub tool: &'a str,
    /// The outcome, as the caller sees it.
    pub outcome: &'static str,
    /// The tool that was really named, and the real outcome. For the audit log alone.
    pub truth: (&'a str, &'static str),
    /// The class of an upstream store's answer, if one was asked.
    pub upstream: Option<&'static str>,
    /// The duration of the call.
    pub elapsed: Duration,
    /// The name that identifies the caller, if callers are told apart.
    pub caller: Option<&'a str>,
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn began(&self, _: &'static str) {}
    fn ended(&self, _: &CallRecord<'_>) {}
    fn refused(&self, _: &'static str) {}
}
