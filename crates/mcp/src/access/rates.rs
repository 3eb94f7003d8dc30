//! Rate limits: how many requests a caller, and an address, may send.

use std::{
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::NoOpMiddleware,
    state::keyed::HashMapStateStore,
};

/// Number of requests after which idle callers are forgotten. A sweep visits every caller, so it does not run each
/// time.
const SWEEP_EVERY: u32 = 1024;
/// Number of requests accepted at once even if the limit per minute is small, as long as the limit is at least this.
const LEAST_BURST: u32 = 10;

/// Rate limits by address and by caller.
pub struct RateLimits<C: Clock + Clone = MonotonicClock> {
    callers: Option<KeyedLimiter<String, C>>,
    addresses: Option<KeyedLimiter<IpAddr, C>>,
}

/// One limit, applied to each key separately.
struct KeyedLimiter<K: Hash + Eq + Clone, C: Clock + Clone> {
    limiter: RateLimiter<K, HashMapStateStore<K>, C, NoOpMiddleware<C::Instant>>,
    clock: C,
    asked: AtomicU32,
}

impl RateLimits {
    /// Makes limits of this many requests per minute; zero means no limit.
    #[must_use]
    pub fn new(per_caller: u32, per_address: u32) -> Self {
        Self::by(&MonotonicClock, per_caller, per_address)
    }
}

impl<C: Clock + Clone> RateLimits<C> {
    fn by(clock: &C, per_caller: u32, per_address: u32) -> Self {
        Self {
            callers: KeyedLimiter::new(clock, per_caller),
            addresses: KeyedLimiter::new(clock, per_address),
        }
    }

    /// # Errors
    /// Returns how long to wait before the next request.
    pub fn admit_address(&self, address: IpAddr) -> Result<(), Duration> {
        match &self.addresses {
            Some(limits) => limits.admit(&network(address)),
            None => Ok(()),
        }
    }

    /// # Errors
    /// Returns how long to wait before the next request.
    pub fn admit_caller(&self, caller: &str) -> Result<(), Duration> {
        match &self.callers {
            Some(limits) => limits.admit(&caller.to_owned()),
            None => Ok(()),
        }
    }
}

impl<K: Hash + Eq + Clone, C: Clock + Clone> KeyedLimiter<K, C> {
    /// Returns `None` if there is no limit.
    fn new(clock: &C, per_minute: u32) -> Option<Self> {
        let per_minute = NonZeroU32::new(per_minute)?;
        let burst = burst(per_minute);
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        Some(Self {
            limiter: RateLimiter::hashmap_with_clock(quota, clock.clone()),
            clock: clock.clone(),
            asked: AtomicU32::new(0),
        })
    }

    fn admit(&self, key: &K) -> Result<(), Duration> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        let admitted = self.limiter.check_key(key);
        admitted.map_err(|early| early.wait_time_from(self.clock.now()))
    }
}

/// Returns how many of a minute's requests may come at once.
fn burst(per_minute: NonZeroU32) -> NonZeroU32 {
    let tenth = (per_minute.get() / 10).max(LEAST_BURST);
    NonZeroU32::new(tenth).map_or(per_minute, |tenth| tenth.min(per_minute))
}

/// Returns the network that an address counts as. A host with one IPv6 address usually has a whole network of them.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn rates(
        per_caller: u32,
        per_address: u32,
    ) -> (RateLimits<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (RateLimits::by(&clock, per_caller, per_address), clock)
    }

    #[test]
    fn a_tenth_of_a_minute_may_come_at_once() {
        let table = [
            (1, 1),
            (5, 5),
            (10, 10),
            (60, 10),
            (600, 60),
            (10_000_000, 1_000_000),
        ];
        for (per_minute, expected) in table {
            let burst = burst(NonZeroU32::new(per_minute).unwrap());
            assert_eq!(burst.get(), expected, "{per_minute}");
        }
    }

    #[test]
    fn a_caller_waits_exactly_as_long_as_it_was_told() {
        let (rates, clock) = rates(60, 0);
        for _ in 0..10 {
            assert_eq!(rates.admit_caller("key:ann"), Ok(()));
        }
        let wait = rates.admit_caller("key:ann").unwrap_err();
        assert_eq!(wait, Duration::from_secs(1));
        assert_eq!(rates.admit_caller("key:bob"), Ok(()));
        clock.advance(wait - Duration::from_millis(1));
        assert_eq!(
            rates.admit_caller("key:ann"),
            Err(Duration::from_millis(1)),
            "asking early costs nothing"
        );
        clock.advance(Duration::from_millis(1));
        assert_eq!(rates.admit_caller("key:ann"), Ok(()));
        assert!(rates.admit_caller("key:ann").is_err());
    }

    #[test]
    fn no_more_than_the_minute_has_and_its_burst_come_through() {
        let (rates, clock) = rates(600, 0);
        let mut admitted = 0;
        for _ in 0..60_000 {
            admitted += u32::from(rates.admit_caller("a").is_ok());
            clock.advance(Duration::from_millis(1));
        }
        assert!((600..=660).contains(&admitted), "{admitted}");
    }

    #[test]
    fn zero_is_no_limit() {
        let (rates, _) = rates(0, 0);
        for _ in 0..100_000 {
            assert_eq!(rates.admit_caller("a"), Ok(()));
            assert_eq!(rates.admit_address([127, 0, 0, 1].into()), Ok(()));
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let table = [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
        ];
        for (one, other, same) in table {
            let (rates, _) = rates(0, 1);
            assert_eq!(rates.admit_address(one.parse().unwrap()), Ok(()));
            let second = rates.admit_address(other.parse().unwrap());
            assert_eq!(second.is_err(), same, "{one} {other}");
        }
    }

    #[test]
    fn those_who_went_away_are_forgotten() {
        let (rates, clock) = rates(0, 600);
        let addresses = rates.addresses.as_ref().unwrap();
        let mut most = 0;
        for number in 0..200_000_u32 {
            let address = std::net::Ipv4Addr::from(number);
            assert_eq!(rates.admit_address(address.into()), Ok(()));
            clock.advance(Duration::from_millis(1));
            most = most.max(addresses.limiter.len());
        }
        // One request takes a tenth of a second to be forgotten, and twice that until it makes no difference.
        let bound = 200 + SWEEP_EVERY as usize;
        assert!((SWEEP_EVERY as usize..=bound).contains(&most), "{most}");
        clock.advance(Duration::from_mins(1));
        let last: IpAddr = [10, 0, 0, 1].into();
        let refused = (0..SWEEP_EVERY)
            .filter(|_| rates.admit_address(last).is_err())
            .count();
        assert!(refused > 0);
        assert_eq!(addresses.limiter.len(), 1);
    }

    #[test]
    fn a_sweep_gives_nobody_more() {
        let (rates, _) = rates(0, 60);
        let busy: IpAddr = [10, 0, 0, 1].into();
        let admitted = (0..SWEEP_EVERY * 4)
            .filter(|_| rates.admit_address(busy).is_ok())
            .count();
        assert_eq!(admitted, 10);
    }
}
