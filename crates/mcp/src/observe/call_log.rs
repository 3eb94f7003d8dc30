//! The newest calls of tools, in memory, for the console.
//!
//! It has a fixed size and costs a call one short lock. The tokens of an answer take longer to find out, so they are
//! estimated only while someone is looking.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;

/// Number of calls that are kept. A busy agent makes a few hundred in an hour.
const KEPT_CALLS: usize = 1_000;

/// How long after the last look the log counts as watched.
const WATCHED_FOR: Duration = Duration::from_secs(600);

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct LoggedCall {
    /// Its number, from 1.
    pub number: u64,
    /// When it ended.
    pub ended: SystemTime,
    /// The world that was called.
    pub world: &'static str,
    /// The tool, as the caller sees it.
    pub tool: String,
    /// The outcome, as the caller sees it.
    pub outcome: &'static str,
    /// The duration.
    pub elapsed: Duration,
    /// Length of the answer in bytes.
    pub bytes: usize,
    /// Estimated tokens of the answer, if someone was looking.
    pub tokens: Option<usize>,
    /// The name of the client, if it has one.
    pub client: Option<String>,
    /// The name that identifies the caller, if callers are told apart.
    pub caller: Option<String>,
}

/// The newest calls of tools.
pub struct CallLog {
    /// Estimates the tokens of an answer.
    estimate: fn(&str) -> usize,
    clock: fn() -> SystemTime,
    calls: Mutex<RecentCalls>,
    /// Milliseconds since the epoch at which the log was last looked at.
    looked_at: AtomicU64,
}

#[derive(Default)]
struct RecentCalls {
    last: u64,
    calls: VecDeque<LoggedCall>,
}

/// A call that has ended.
pub(crate) struct EndedCall<'a> {
    pub(crate) world: &'static str,
    pub(crate) tool: &'a str,
    pub(crate) outcome: &'static str,
    pub(crate) elapsed: Duration,
    pub(crate) answer: &'a str,
    pub(crate) client: Option<String>,
    pub(crate) caller: Option<&'a str>,
}

impl CallLog {
    /// Makes an empty log that estimates tokens with `estimate`.
    #[must_use]
    pub fn new(estimate: fn(&str) -> usize, clock: fn() -> SystemTime) -> Self {
        Self {
            estimate,
            clock,
            calls: Mutex::default(),
            looked_at: AtomicU64::new(0),
        }
    }

    /// Returns whether someone has looked at the log lately.
    fn is_watched(&self) -> bool {
        let looked_at = self.looked_at.load(Ordering::Relaxed);
        looked_at > 0 && self.now_ms().saturating_sub(looked_at) < millis(WATCHED_FOR)
    }

    /// Notes that someone is looking.
    pub(crate) fn look(&self) {
        self.looked_at
            .store(self.now_ms().max(1), Ordering::Relaxed);
    }

    pub(crate) fn record(&self, call: EndedCall<'_>) {
        let tokens = self.is_watched().then(|| (self.estimate)(call.answer));
        let mut log = self.calls.lock();
        log.last += 1;
        let entry = LoggedCall {
            number: log.last,
            ended: (self.clock)(),
            world: call.world,
            tool: call.tool.to_owned(),
            outcome: call.outcome,
            elapsed: call.elapsed,
            bytes: call.answer.len(),
            tokens,
            client: call.client,
            caller: call.caller.map(str::to_owned),
        };
        if log.calls.len() == KEPT_CALLS {
            log.calls.pop_front();
        }
        log.calls.push_back(entry);
    }

    /// Returns the calls of `caller`, or those of all, newest first.
    pub(crate) fn calls(&self, caller: Option<&str>) -> Vec<LoggedCall> {
        let log = self.calls.lock();
        let is_shown = |call: &&LoggedCall| caller.is_none() || call.caller.as_deref() == caller;
        log.calls.iter().rev().filter(is_shown).cloned().collect()
    }

    fn now_ms(&self) -> u64 {
        let since = (self.clock)().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, millis)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(log: &CallLog, caller: Option<&str>) {
        log.record(EndedCall {
            world: "desk",
            tool: "search",
            outcome: "ok",
            elapsed: Duration::from_millis(3),
            answer: "four words are here",
            client: None,
            caller,
        });
    }

    #[test]
    fn the_log_keeps_the_newest_calls_and_tells_callers_apart() {
        let log = CallLog::new(str::len, SystemTime::now);
        for _ in 0..KEPT_CALLS {
            call(&log, Some("ada"));
        }
        call(&log, Some("ben"));
        let all = log.calls(None);
        assert_eq!(all.len(), KEPT_CALLS);
        assert_eq!(all[0].number, KEPT_CALLS as u64 + 1);
        assert_eq!(all[0].caller.as_deref(), Some("ben"));
        assert_eq!(log.calls(Some("ben")).len(), 1);
        assert_eq!(log.calls(Some("cy")).len(), 0);
    }

    #[test]
    fn tokens_are_counted_only_while_someone_looks() {
        let log = CallLog::new(str::len, SystemTime::now);
        call(&log, None);
        assert!(!log.is_watched());
        log.look();
        call(&log, None);
        let calls = log.calls(None);
        assert_eq!(calls[0].tokens, Some(19));
        assert_eq!((calls[1].tokens, calls[1].bytes), (None, 19));
    }
}
