//! The newest calls of tools, in memory, for the console.
//!
//! It has a fixed size and costs a call one short lock. The tokens of an answer take longer to find out, so they are
//! estimated only while someone is looking. A server without a console keeps nothing: it passes calls on to the console of
//! the same desk, if someone is looking there.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;

use super::call_relay::CallRelay;

/// Number of calls that are kept. A busy agent makes a few hundred in an hour.
const KEPT_CALLS: usize = 1_000;

/// How long after the last look the log counts as watched.
pub(super) const WATCHED_FOR: Duration = Duration::from_secs(600);

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
    pub tool: Cow<'static, str>,
    /// The outcome, as the caller sees it.
    pub outcome: Cow<'static, str>,
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
    /// The name of the group that the caller belongs to, if callers are served in groups that do not know of each other.
    pub group: Option<String>,
}

/// The calls that someone may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallFilter<'a> {
    /// All of them.
    All,
    /// Those of the callers of a group, or of callers without one.
    Group(Option<&'a str>),
    /// Those of one caller.
    Caller(&'a str),
}

impl CallFilter<'_> {
    fn shows(self, call: &LoggedCall) -> bool {
        match self {
            Self::All => true,
            Self::Group(group) => call.group.as_deref() == group,
            Self::Caller(caller) => call.caller.as_deref() == Some(caller),
        }
    }
}

/// The newest calls of tools.
pub struct CallLog {
    /// Estimates the tokens of an answer.
    estimate: fn(&str) -> usize,
    clock: fn() -> SystemTime,
    /// The way to the console, or from servers without one.
    relay: Option<CallRelay>,
    /// The calls themselves; `None` where they are only passed on.
    kept: Option<KeptCalls>,
}

/// The calls that a console shows.
#[derive(Default)]
struct KeptCalls {
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
    pub(crate) group: Option<String>,
}

impl CallLog {
    /// Makes the log of a server with a console, which also shows the calls that come through `relay`. It estimates
    /// tokens with `estimate`.
    #[must_use]
    pub fn new(
        estimate: fn(&str) -> usize,
        clock: fn() -> SystemTime,
        relay: Option<CallRelay>,
    ) -> Self {
        Self {
            estimate,
            clock,
            relay,
            kept: Some(KeptCalls::default()),
        }
    }

    /// Makes the log of a server without a console, which passes calls on through `relay` while someone is looking.
    #[must_use]
    pub fn passed_on(
        estimate: fn(&str) -> usize,
        clock: fn() -> SystemTime,
        relay: CallRelay,
    ) -> Self {
        Self {
            estimate,
            clock,
            relay: Some(relay),
            kept: None,
        }
    }

    /// Returns whether calls are recorded now.
    pub(crate) fn is_recording(&self) -> bool {
        self.kept.is_some() || self.relay.as_ref().is_some_and(CallRelay::is_watched)
    }

    /// Returns whether someone has looked at the log lately.
    fn is_watched(&self) -> bool {
        match &self.kept {
            None => true,
            Some(kept) => {
                let looked_at = kept.looked_at.load(Ordering::Relaxed);
                looked_at > 0 && self.now_ms().saturating_sub(looked_at) < millis(WATCHED_FOR)
            }
        }
    }

    pub(crate) fn record(&self, call: EndedCall<'_>) {
        let tokens = self.is_watched().then(|| (self.estimate)(call.answer));
        let call = LoggedCall {
            number: 0,
            ended: (self.clock)(),
            world: call.world,
            tool: Cow::Owned(call.tool.to_owned()),
            outcome: Cow::Borrowed(call.outcome),
            elapsed: call.elapsed,
            bytes: call.answer.len(),
            tokens,
            client: call.client,
            caller: call.caller.map(str::to_owned),
            group: call.group,
        };
        match (&self.kept, &self.relay) {
            (Some(kept), _) => kept.add(call),
            (None, Some(relay)) => {
                if let Err(error) = relay.send(&call) {
                    tracing::debug!(kind = ?error.kind(), "a call is not passed on to the console");
                }
            }
            (None, None) => {}
        }
    }

    /// Returns the calls that `filter` shows, newest first, to someone who is looking. The calls of other servers count
    /// as those of `world`.
    pub(crate) fn look(&self, filter: CallFilter<'_>, world: &'static str) -> Vec<LoggedCall> {
        let Some(kept) = &self.kept else {
            return Vec::new();
        };
        kept.looked_at
            .store(self.now_ms().max(1), Ordering::Relaxed);
        if let Some(relay) = &self.relay {
            if let Err(error) = relay.watch() {
                tracing::debug!(kind = ?error.kind(), "calls of other servers are not shown");
            }
            relay
                .receive(world)
                .into_iter()
                .for_each(|call| kept.add(call));
        }
        let log = kept.calls.lock();
        let newest = log.calls.iter().rev();
        newest.filter(|call| filter.shows(call)).cloned().collect()
    }

    fn now_ms(&self) -> u64 {
        let since = (self.clock)().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, millis)
    }
}

impl KeptCalls {
    /// Adds a call with the next number.
    fn add(&self, call: LoggedCall) {
        let mut log = self.calls.lock();
        log.last += 1;
        let call = LoggedCall {
            number: log.last,
            ..call
        };
        if log.calls.len() == KEPT_CALLS {
            log.calls.pop_front();
        }
        log.calls.push_back(call);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(log: &CallLog, caller: Option<&str>) {
        call_of(log, caller, None);
    }

    fn call_of(log: &CallLog, caller: Option<&str>, group: Option<&str>) {
        log.record(EndedCall {
            world: "desk",
            tool: "search",
            outcome: "ok",
            elapsed: Duration::from_millis(3),
            answer: "four words are here",
            client: None,
            caller,
            group: group.map(str::to_owned),
        });
    }

    fn log() -> CallLog {
        CallLog::new(str::len, SystemTime::now, None)
    }

    #[test]
    fn the_log_keeps_the_newest_calls_and_tells_callers_apart() {
        let log = log();
        for _ in 0..KEPT_CALLS {
            call(&log, Some("ada"));
        }
        call(&log, Some("ben"));
        let all = log.look(CallFilter::All, "desk");
        assert_eq!(all.len(), KEPT_CALLS);
        assert_eq!(all[0].number, KEPT_CALLS as u64 + 1);
        assert_eq!(all[0].caller.as_deref(), Some("ben"));
        assert_eq!(log.look(CallFilter::Caller("ben"), "desk").len(), 1);
        assert_eq!(log.look(CallFilter::Caller("cy"), "desk").len(), 0);
    }

    #[test]
    fn groups_do_not_see_each_others_calls() {
        let log = log();
        call_of(&log, Some("ada"), Some("acme"));
        call_of(&log, Some("ben"), Some("globex"));
        call(&log, Some("cy"));
        let callers = |filter| {
            let shown = log.look(filter, "desk").into_iter();
            shown.filter_map(|call| call.caller).collect::<Vec<_>>()
        };
        assert_eq!(callers(CallFilter::All), ["cy", "ben", "ada"]);
        assert_eq!(callers(CallFilter::Group(Some("acme"))), ["ada"]);
        assert_eq!(callers(CallFilter::Group(None)), ["cy"]);
    }

    #[test]
    fn tokens_are_counted_only_while_someone_looks() {
        let log = log();
        call(&log, None);
        let before = log.look(CallFilter::All, "desk");
        assert_eq!((before[0].tokens, before[0].bytes), (None, 19));
        call(&log, None);
        assert_eq!(log.look(CallFilter::All, "desk")[0].tokens, Some(19));
    }

    #[test]
    fn a_server_without_a_console_keeps_nothing_and_passes_calls_on_to_one_that_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let relay = || CallRelay::new(folder.path(), "a");
        let server = CallLog::passed_on(str::len, SystemTime::now, relay());
        assert!(!server.is_recording());
        let console = CallLog::new(str::len, SystemTime::now, Some(relay()));
        assert!(console.look(CallFilter::All, "desk").is_empty());
        // A server that has not looked for the sign yet.
        let server = CallLog::passed_on(str::len, SystemTime::now, relay());
        assert!(server.is_recording());
        call(&server, None);
        call(&console, None);
        let shown = console.look(CallFilter::All, "desk");
        assert_eq!(
            shown.iter().map(|call| call.number).collect::<Vec<_>>(),
            [2, 1]
        );
        assert_eq!(shown[0].tokens, Some(19));
        assert!(server.look(CallFilter::All, "desk").is_empty());
    }
}
