//! What is told of calls and refusals to whoever counts or records them.

use std::time::Duration;

/// Hears of every call and of every request that was refused before it became one.
pub trait Observer: Send + Sync {
    /// A call has begun.
    fn began(&self, world: &'static str);
    /// A call that had begun has ended.
    fn ended(&self, call: &CallRecord<'_>);
    /// A request was turned away before it became a call, for one of a fixed set of reasons.
    fn refused(&self, reason: &'static str);
}

/// One call, as it may be recorded: nothing that a caller wrote is in it.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord<'a> {
    /// The world that was called.
    pub world: &'static str,
    /// The tool, as the caller could tell: `unknown` for one that is hidden.
    pub tool: &'a str,
    /// What came of it, as the caller could tell.
    pub outcome: &'static str,
    /// The tool that was really named, and what really came of it. For the audit stream alone.
    pub truth: (&'a str, &'static str),
    /// The class of what an upstream store answered, where one was asked.
    pub upstream: Option<&'static str>,
    /// How long it took.
    pub elapsed: Duration,
    /// What the caller is known by, where callers are told apart.
    pub caller: Option<&'a str>,
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn began(&self, _: &'static str) {}
    fn ended(&self, _: &CallRecord<'_>) {}
    fn refused(&self, _: &'static str) {}
}
