//! A circuit breaker for a store that does not answer: for one tenant whose requests fail, or for all if it is gone.
//!
//! The notes of one tenant may be slow where those of others are not, so a request without an answer counts against its tenant:
//! after several in a row the store is not asked for that tenant, and then probed with one request. It counts against the
//! store only once per tenant, and only until any tenant gets an answer. A connection that cannot be made has nothing to do
//! with the tenant, and counts against the store alone.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use sectile_mcp::access::Identity;

/// The breaker opens for all only if at least this many tenants had no answer, so that one or two cannot lock out others.
const LEAST_TENANTS: usize = 3;
/// Most tenants with failures that are remembered, to bound memory; the one with the oldest last failure makes room.
const MAX_TENANTS: usize = 10_000;
/// Time after which the failures of a tenant who does not ask again are forgotten: the longest pause that can be set.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// A caller in a vault, whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Tenant {
    caller: String,
    vault: String,
}

impl Tenant {
    pub(super) fn of(identity: &Identity) -> Self {
        Self {
            caller: identity.key.clone(),
            vault: identity.vault.clone(),
        }
    }
}

/// Decides whether the store is asked at all.
pub(super) struct Breaker {
    /// Failures in a row that open it.
    failures: u32,
    /// Time for which it then stays open.
    pause: Duration,
    known: Mutex<BreakerState>,
}

/// The state of the store and of its tenants.
#[derive(Default)]
struct BreakerState {
    /// Tenants with failures, and the time of the last change.
    tenants: HashMap<Tenant, (TenantState, Instant)>,
    /// Time until which nobody may ask, if the breaker is open for all.
    left_alone_until: Option<Instant>,
    /// Consecutive connections that could not be made.
    unreachable: u32,
    /// Tenants without an answer since any tenant last got one.
    unanswered: HashSet<Tenant>,
}

/// The state of the breaker for one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TenantState {
    /// Requests are sent; this many in a row have failed.
    Closed(u32),
    /// No request is sent until then.
    Open(Instant),
    /// One request is in flight to probe the store.
    Probing,
}

/// Permission for one request. Dropped without a verdict, as when the caller gives up, it says nothing about the store.
pub(super) struct BreakerPass<'a> {
    breaker: &'a Breaker,
    tenant: Tenant,
    is_probe: bool,
    has_ended: bool,
}

impl Breaker {
    pub(super) fn new(failures: u32, pause: Duration) -> Self {
        Self {
            failures: failures.max(1),
            pause,
            known: Mutex::default(),
        }
    }

    /// Permits one request for `tenant`, or returns `None` while the breaker is open.
    pub(super) fn admit(&self, tenant: Tenant, now: Instant) -> Option<BreakerPass<'_>> {
        let mut known = self.lock();
        match known.left_alone_until {
            Some(until) if now < until => return None,
            Some(_) => {
                // Everybody may probe: a single prober could be the one tenant whose notes are slow.
                known.left_alone_until = None;
                known.unreachable = self.failures - 1;
            }
            None => {}
        }
        let is_probe = match known.tenants.get_mut(&tenant) {
            None | Some((TenantState::Closed(_), _)) => false,
            Some((TenantState::Open(until), _)) if now < *until => return None,
            Some((TenantState::Probing, _)) => return None,
            Some((state, _)) => {
                *state = TenantState::Probing;
                true
            }
        };
        Some(BreakerPass {
            breaker: self,
            tenant,
            is_probe,
            has_ended: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, BreakerState> {
        self.known.lock()
    }
}

impl BreakerState {
    fn state(&self, tenant: &Tenant) -> TenantState {
        let state = self.tenants.get(tenant).map(|(state, _)| *state);
        state.unwrap_or(TenantState::Closed(0))
    }

    fn set(&mut self, tenant: &Tenant, state: TenantState, now: Instant) {
        if state == TenantState::Closed(0) {
            self.tenants.remove(tenant);
            return;
        }
        if self.tenants.len() >= MAX_TENANTS && !self.tenants.contains_key(tenant) {
            self.make_room(now);
        }
        self.tenants.insert(tenant.clone(), (state, now));
    }

    fn make_room(&mut self, now: Instant) {
        self.tenants
            .retain(|_, (_, since)| now.duration_since(*since) < FORGOTTEN_AFTER);
        if self.tenants.len() < MAX_TENANTS {
            return;
        }
        let oldest = self
            .tenants
            .iter()
            .min_by_key(|(tenant, (_, since))| (*since, *tenant));
        if let Some(oldest) = oldest.map(|(tenant, _)| tenant.clone()) {
            self.tenants.remove(&oldest);
        }
    }

    /// Opens the breaker for all tenants.
    fn leave_alone(&mut self, until: Instant) {
        self.left_alone_until = Some(until);
        self.unanswered.clear();
    }
}

impl BreakerPass<'_> {
    /// Records that the store answered.
    pub(super) fn answered(mut self, now: Instant) {
        self.has_ended = true;
        let mut known = self.breaker.lock();
        // A request from before a pause says nothing about the store as it is now.
        if known.left_alone_until.is_none() {
            known.unreachable = 0;
            known.unanswered.clear();
        }
        let state = known.state(&self.tenant);
        if self.is_probe || matches!(state, TenantState::Closed(_)) {
            known.set(&self.tenant, TenantState::Closed(0), now);
        }
    }

    /// Records that the store was reached but did not answer.
    pub(super) fn unanswered(mut self, now: Instant) {
        self.has_ended = true;
        let Breaker {
            failures, pause, ..
        } = *self.breaker;
        let mut known = self.breaker.lock();
        let state = match known.state(&self.tenant) {
            TenantState::Closed(before) if before + 1 < failures => TenantState::Closed(before + 1),
            TenantState::Closed(_) => TenantState::Open(now + pause),
            TenantState::Probing if self.is_probe => TenantState::Open(now + pause),
            other => other,
        };
        known.set(&self.tenant, state, now);
        if known.left_alone_until.is_none() {
            known.unreachable = 0;
            known.unanswered.insert(self.tenant.clone());
            if known.unanswered.len() >= LEAST_TENANTS.max(failures as usize) {
                known.leave_alone(now + pause);
            }
        }
    }

    /// Records that no connection to the store could be made.
    pub(super) fn unreachable(mut self, now: Instant) {
        let mut known = self.breaker.lock();
        if known.left_alone_until.is_none() {
            known.unreachable += 1;
            if known.unreachable >= self.breaker.failures {
                known.leave_alone(now + self.breaker.pause);
            }
        }
        self.give_back(&mut known, now);
    }

    /// Lets the next request be the probe if this one ended without a verdict.
    fn give_back(&mut self, known: &mut BreakerState, now: Instant) {
        if self.is_probe && !self.has_ended && known.state(&self.tenant) == TenantState::Probing {
            known.set(
                &self.tenant,
                TenantState::Closed(self.breaker.failures - 1),
                now,
            );
        }
        self.has_ended = true;
    }
}

impl Drop for BreakerPass<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let breaker = self.breaker;
        self.give_back(&mut breaker.lock(), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const FAILURES: u32 = 3;
    const PAUSE: u64 = 100;

    fn tenant(name: &str) -> Tenant {
        Tenant {
            caller: name.to_owned(),
            vault: "default".to_owned(),
        }
    }

    /// Plays a story of words: `ask` is let through and `no` is not; the oldest request in flight ends with `answer`,
    /// `fail`, `lost` (no connection) or, without a verdict, `drop`; a number waits that many milliseconds. The tenant
    /// comes before a colon, if it matters.
    fn play(story: &str) {
        let breaker = Breaker::new(FAILURES, Duration::from_millis(PAUSE));
        let mut now = Instant::now();
        let mut under_way = VecDeque::new();
        for (at, word) in story.split(' ').enumerate() {
            let place = format!("word {at} of {story:?}");
            let (who, word) = word.split_once(':').unwrap_or(("somebody", word));
            let mut oldest = || under_way.pop_front().expect(&place);
            match word {
                "ask" => under_way.push_back(breaker.admit(tenant(who), now).expect(&place)),
                "no" => assert!(breaker.admit(tenant(who), now).is_none(), "{place}"),
                "answer" => oldest().answered(now),
                "fail" => oldest().unanswered(now),
                "lost" => oldest().unreachable(now),
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
            // A probe that succeeds closes it, and the count starts again.
            "100 ask answer ask fail ask fail ask",
            // A probe that fails opens it for another pause.
            "100 ask fail no 99 no 1 ask",
            // A probe that nobody waited for makes way for another, and the next failure opens it again.
            "100 ask drop ask fail no",
            // So does one that could not be sent.
            "100 ask lost ask fail no",
        ] {
            play(&format!("{OPENED} {rest}"));
        }
        for story in [
            // Fewer failures than that do not open it.
            "ask fail ask fail ask",
            // Nor do more of them with a success in between.
            "ask fail ask fail ask answer ask fail ask fail ask",
            // Nor do requests that nobody waited for.
            "ask drop ask drop ask drop ask drop ask",
            // Earlier requests neither extend the pause nor close it.
            "ask ask ask ask ask fail fail fail 50 fail no answer no 50 ask",
            // Nor do they decide in place of the probe.
            "ask ask ask ask ask fail fail fail 100 ask fail no answer no answer ask",
        ] {
            play(story);
        }
    }

    #[test]
    fn the_failures_of_one_tenant_are_nothing_to_the_others() {
        for story in [
            "eve:ask fail eve:ask fail eve:ask fail eve:no ada:ask answer ada:ask eve:no",
            // Not even if nobody else asks for a long time, and she keeps asking.
            "eve:ask fail eve:ask fail eve:ask fail 100 eve:ask fail 100 eve:ask fail 100 eve:ask fail ada:ask",
            // Her probe delays nobody else.
            "eve:ask fail eve:ask fail eve:ask fail 100 eve:ask eve:no ada:ask",
            // Nor do two tenants together.
            "eve:ask fail eve:ask fail eve:ask fail mallory:ask fail mallory:ask fail mallory:ask fail ada:ask",
            // An answer to any tenant clears the store.
            "eve:ask fail mallory:ask fail ada:ask answer trudy:ask fail ada:ask",
        ] {
            play(story);
        }
    }

    #[test]
    fn a_store_that_answers_nobody_is_left_alone_for_all() {
        for story in [
            // Three tenants, and then any other.
            "a:ask fail b:ask fail c:ask fail d:no a:no 99 d:no 1 d:ask a:ask",
            // After the pause it takes as many again.
            "a:ask fail b:ask fail c:ask fail 100 a:ask fail b:ask fail d:ask",
            // A tenant counts once.
            "a:ask fail a:ask fail b:ask fail b:ask fail c:ask",
            // Earlier requests neither extend the pause nor close it.
            "a:ask b:ask c:ask d:ask e:ask fail fail fail 50 fail d:no answer d:no 50 d:ask",
        ] {
            play(story);
        }
    }

    #[test]
    fn a_store_that_cannot_be_reached_is_left_alone_for_all() {
        for story in [
            "a:ask lost a:ask lost a:ask lost a:no b:no 99 b:no 1 b:ask a:ask",
            // After the pause the first failure is enough.
            "a:ask lost b:ask lost a:ask lost 100 b:ask lost a:no 100 a:ask answer a:ask lost a:ask lost b:ask",
            // A connection that was made shows that it is there.
            "a:ask lost a:ask lost eve:ask fail a:ask lost a:ask lost a:ask",
            "a:ask lost a:ask lost b:ask answer a:ask lost a:ask lost a:ask",
            // It does not count against the tenants.
            "a:ask lost a:ask lost a:ask lost 100 a:ask answer a:ask fail a:ask fail a:ask",
        ] {
            play(story);
        }
    }

    #[test]
    fn one_failure_can_be_enough() {
        for failures in [0, 1] {
            let breaker = Breaker::new(failures, Duration::from_millis(PAUSE));
            let now = Instant::now();
            let admit = |who| breaker.admit(tenant(who), now);
            admit("eve").expect("closed").unanswered(now);
            assert!(admit("eve").is_none());
            admit("ada").expect("of another tenant").unreachable(now);
            assert!(admit("ada").is_none() && admit("bob").is_none());
        }
    }

    #[test]
    fn so_many_tenants_are_remembered_and_no_more() {
        // A threshold so high that the breaker never opens for all.
        let failures = u32::try_from(MAX_TENANTS).unwrap() * 2;
        let breaker = Breaker::new(failures, Duration::from_secs(3600));
        let start = Instant::now();
        let fail = |who: usize, now| {
            let pass = breaker.admit(tenant(&who.to_string()), now);
            pass.expect("closed").unanswered(now);
        };
        let remembered = || breaker.lock().tenants.len();
        for who in 0..MAX_TENANTS + 10 {
            fail(who, start + Duration::from_millis(who as u64));
        }
        assert_eq!(remembered(), MAX_TENANTS);
        // The oldest are forgotten.
        let state = |who: usize| breaker.lock().state(&tenant(&who.to_string()));
        assert_eq!(state(9), TenantState::Closed(0));
        assert_eq!(state(10), TenantState::Closed(1));
        // After a while all of them are forgotten.
        fail(usize::MAX, start + FORGOTTEN_AFTER * 2);
        assert_eq!(remembered(), 1);
        let pass = breaker.admit(tenant(&usize::MAX.to_string()), start);
        pass.expect("closed").answered(start);
        assert_eq!(remembered(), 0);
    }
}
