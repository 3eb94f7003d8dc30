//! Leaves a store alone that has failed several times in a row, and then tries it with one request.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Decides whether the store is asked at all.
pub(super) struct Breaker {
    /// Failures in a row that open it.
    failures: u32,
    /// How long it then stays open.
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Everybody may ask; so many requests in a row have failed.
    Closed(u32),
    /// Nobody may ask until then.
    Open(Instant),
    /// One request is under way to find out.
    Probing,
}

/// Leave to ask once. Dropped without a verdict, as when the caller gives up, it says nothing about the store.
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
    has_ended: bool,
}

impl Breaker {
    pub(super) fn new(failures: u32, pause: Duration) -> Self {
        Self {
            failures: failures.max(1),
            pause,
            state: Mutex::new(State::Closed(0)),
        }
    }

    /// Leave to ask, or `None` while the store is left alone.
    pub(super) fn admit(&self, now: Instant) -> Option<Pass<'_>> {
        let mut state = self.lock();
        let is_probe = match *state {
            State::Closed(_) => false,
            State::Open(until) if now >= until => {
                *state = State::Probing;
                true
            }
            State::Open(_) | State::Probing => return None,
        };
        Some(Pass {
            breaker: self,
            is_probe,
            has_ended: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// The store answered.
    pub(super) fn succeeded(mut self) {
        self.has_ended = true;
        let mut state = self.breaker.lock();
        // A request from before the pause says nothing about the store as it is now.
        if self.is_probe || matches!(*state, State::Closed(_)) {
            *state = State::Closed(0);
        }
    }

    /// The store did not answer.
    pub(super) fn failed(mut self, now: Instant) {
        self.has_ended = true;
        let mut state = self.breaker.lock();
        *state = match *state {
            State::Closed(before) if before + 1 < self.breaker.failures => {
                State::Closed(before + 1)
            }
            State::Closed(_) => State::Open(now + self.breaker.pause),
            State::Probing if self.is_probe => State::Open(now + self.breaker.pause),
            other => other,
        };
    }
}

impl Drop for Pass<'_> {
    /// A probe without a verdict leaves its place to the next one.
    fn drop(&mut self) {
        if self.is_probe && !self.has_ended {
            let mut state = self.breaker.lock();
            if *state == State::Probing {
                *state = State::Closed(self.breaker.failures - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const FAILURES: u32 = 3;
    const PAUSE: u64 = 100;

    /// Plays a story of words: `ask` is let through and `no` is not; the oldest request that is under way ends with
    /// `answer`, `fail` or, without a verdict, `drop`; a number is so many milliseconds.
    fn play(story: &str) {
        let breaker = Breaker::new(FAILURES, Duration::from_millis(PAUSE));
        let mut now = Instant::now();
        let mut under_way = VecDeque::new();
        for (at, word) in story.split(' ').enumerate() {
            let place = format!("word {at} of {story:?}");
            let mut oldest = || under_way.pop_front().expect(&place);
            match word {
                "ask" => under_way.push_back(breaker.admit(now).expect(&place)),
                "no" => assert!(breaker.admit(now).is_none(), "{place}"),
                "answer" => oldest().succeeded(),
                "fail" => oldest().failed(now),
                "drop" => drop(oldest()),
                number => now += Duration::from_millis(number.parse().expect(&place)),
            }
        }
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_probe_through() {
        const OPENED: &str = "ask fail ask fail ask fail";
        for rest in [
            // It stays open for the pause.
            "no 99 no 1 ask",
            // Only one probe at a time.
            "100 ask no 1000 no",
            // A probe that succeeds closes it, and the count starts anew.
            "100 ask answer ask fail ask fail ask",
            // A probe that fails opens it for another pause.
            "100 ask fail no 99 no 1 ask",
            // A probe that nobody waited for leaves its place, and the next failure opens it again.
            "100 ask drop ask fail no",
        ] {
            play(&format!("{OPENED} {rest}"));
        }
        for story in [
            // Fewer failures than that do not open it.
            "ask fail ask fail ask",
            // Nor do more of them with a success between.
            "ask fail ask fail ask answer ask fail ask fail ask",
            // Nor do requests that nobody waited for.
            "ask drop ask drop ask drop ask drop ask",
            // Requests from before neither open it for longer nor close it.
            "ask ask ask ask ask fail fail fail 50 fail no answer no 50 ask",
            // Nor do they decide in place of the probe.
            "ask ask ask ask ask fail fail fail 100 ask fail no answer no answer ask",
        ] {
            play(story);
        }
    }

    #[test]
    fn one_failure_can_be_enough() {
        for failures in [0, 1] {
            let breaker = Breaker::new(failures, Duration::from_millis(PAUSE));
            let now = Instant::now();
            breaker.admit(now).expect("closed").failed(now);
            assert!(breaker.admit(now).is_none());
        }
    }
}
