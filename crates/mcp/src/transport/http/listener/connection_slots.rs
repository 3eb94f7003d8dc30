//! Slots for connections, and the choice of the one that is closed when there is no slot for another.
//!
//! A connection without a request in flight owes no answer: it has not sent anything yet, or is kept for later. When
//! all slots are taken, the one that has been idle the longest makes room, first among those that never brought a
//! request, and from the address that has the most. So one address cannot shut out the others, nor can silent
//! connections shut out those of the same address that have something to ask.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::access::network;

/// Limits on the number of connections.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) max: usize,
    pub(super) per_address: usize,
    /// Addresses that represent many clients, and have no share of their own.
    pub(super) proxies: Vec<IpAddr>,
}

/// The open connections.
pub(super) struct ConnectionSlots {
    bounds: Bounds,
    state: Mutex<ConnectionTable>,
}

#[derive(Default)]
struct ConnectionTable {
    open: usize,
    /// Addresses that have connections, and no others.
    addresses: HashMap<IpAddr, Address>,
    /// Addresses with a connection that can be closed, by how many they have.
    yielding: BTreeSet<(usize, IpAddr)>,
    /// Logical clock that orders events.
    moments: u64,
}

#[derive(Default)]
struct Address {
    open: usize,
    /// Connections without a request in flight: those that never had one first, then the longest idle.
    idle: BTreeMap<Idle, CancellationToken>,
}

/// Whether a connection ever brought a request, and since when it has none.
type Idle = (bool, u64);

/// The slot of one connection, released when dropped.
pub(super) struct ConnectionSlot {
    places: Arc<ConnectionSlots>,
    address: IpAddr,
    /// Fires when the connection has to close.
    given_up: CancellationToken,
    doing: Mutex<ConnectionActivity>,
}

/// The activity of a connection.
#[derive(Default)]
struct ConnectionActivity {
    /// Requests in flight.
    asking: usize,
    /// Its key among the idle connections, while it has no request in flight.
    idle: Option<Idle>,
}

/// A request in flight; its connection stays open until this is dropped.
pub(super) struct RequestGuard(Arc<ConnectionSlot>);

impl ConnectionSlots {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            state: Mutex::default(),
        }
    }

    /// Takes a slot for a connection from `peer`, if one is free or another connection can be closed for it.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Arc<ConnectionSlot>> {
        let is_proxy = self.bounds.proxies.contains(&peer.to_canonical());
        let address = network(peer);
        let mut state = self.state.lock();
        let own = state.addresses.get(&address).map_or(0, |known| known.open);
        if !is_proxy && own >= self.bounds.per_address {
            state.give_up_one_of(address)?;
        } else if state.open >= self.bounds.max {
            let (most, crowded) = state.yielding.last().copied()?;
            // No address loses a connection to one that has more.
            if !is_proxy && most < own {
                return None;
            }
            state.give_up_one_of(crowded)?;
        }
        let given_up = CancellationToken::new();
        state.open += 1;
        let idle = state.moment(false);
        state.change(address, |known| {
            known.open += 1;
            known.idle.insert(idle, given_up.clone());
        });
        Some(Arc::new(ConnectionSlot {
            places: Arc::clone(self),
            address,
            given_up,
            doing: Mutex::new(ConnectionActivity {
                asking: 0,
                idle: Some(idle),
            }),
        }))
    }
}

impl ConnectionTable {
    fn moment(&mut self, has_asked: bool) -> Idle {
        self.moments += 1;
        (has_asked, self.moments)
    }

    /// Closes the most expendable connection of `address`.
    fn give_up_one_of(&mut self, address: IpAddr) -> Option<()> {
        let given_up = self.change(address, |known| {
            let (_, given_up) = known.idle.pop_first()?;
            // Its slot is free now, although closing it can take a moment.
            known.open -= 1;
            Some(given_up)
        })?;
        self.open -= 1;
        given_up.cancel();
        Some(())
    }

    /// Changes the state of an address, and keeps the order of those that can be closed.
    fn change<T>(&mut self, address: IpAddr, change: impl FnOnce(&mut Address) -> T) -> T {
        let known = self.addresses.entry(address).or_default();
        self.yielding.remove(&(known.open, address));
        let result = change(known);
        if !known.idle.is_empty() {
            self.yielding.insert((known.open, address));
        }
        if known.open == 0 {
            self.addresses.remove(&address);
        }
        result
    }
}

impl ConnectionSlot {
    /// Records that a request has come; `None` if the connection has to close.
    pub(super) fn asks(self: &Arc<Self>) -> Option<RequestGuard> {
        let mut doing = self.doing.lock();
        if let Some(since) = doing.idle.take() {
            let mut state = self.places.state.lock();
            state.change(self.address, |known| known.idle.remove(&since))?;
        }
        doing.asking += 1;
        Some(RequestGuard(Arc::clone(self)))
    }

    /// Waits until the connection has to make room for another.
    pub(super) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let place = &self.0;
        let mut doing = place.doing.lock();
        doing.asking -= 1;
        if doing.asking > 0 {
            return;
        }
        let mut state = place.places.state.lock();
        let since = state.moment(true);
        let given_up = place.given_up.clone();
        state.change(place.address, |known| known.idle.insert(since, given_up));
        doing.idle = Some(since);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let since = self.doing.lock().idle.take();
        let mut state = self.places.state.lock();
        // A connection that made room no longer has a slot.
        if self.given_up.is_cancelled() {
            return;
        }
        state.open -= 1;
        state.change(self.address, |known| {
            known.open -= 1;
            since.map(|since| known.idle.remove(&since))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: u8 = 99;

    fn places(max: usize, per_address: usize) -> Arc<ConnectionSlots> {
        Arc::new(ConnectionSlots::new(Bounds {
            max,
            per_address,
            proxies: vec![address(PROXY)],
        }))
    }

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn is_given_up(place: &ConnectionSlot) -> bool {
        place.given_up.is_cancelled()
    }

    #[test]
    fn silent_connections_give_way_then_those_that_rest_never_those_that_ask() {
        let places = places(3, 3);
        let take = || places.take(address(1));
        let (rests, silent, asks) = (take().unwrap(), take().unwrap(), take().unwrap());
        drop(rests.asks());
        let asking = asks.asks();
        assert!(asking.is_some());
        let fourth = take().expect("the silent one makes room");
        assert!(is_given_up(&silent) && !is_given_up(&rests) && !is_given_up(&asks));
        assert!(silent.asks().is_none(), "it comes too late");
        let busy = fourth.asks();
        let fifth = take().expect("the one that rests makes room");
        assert!(is_given_up(&rests) && !is_given_up(&fourth) && !is_given_up(&asks));
        let last = fifth.asks();
        assert!(take().is_none(), "all of them ask");
        drop((silent, rests));
        assert_eq!(places.state.lock().open, 3);
        drop((asking, busy, last));
        drop((asks, fourth, fifth));
        let state = places.state.lock();
        assert!(state.open == 0 && state.addresses.is_empty() && state.yielding.is_empty());
    }

    #[test]
    fn the_longest_idle_of_the_address_with_the_most_gives_way() {
        let places = places(4, 4);
        let ada = places.take(address(1)).unwrap();
        let eve: Vec<_> = (0..3).map(|_| places.take(address(2)).unwrap()).collect();
        drop(eve[0].asks());
        drop(eve[1].asks());
        drop(eve[2].asks());
        let bob = places.take(address(3)).expect("eve makes room");
        assert!(is_given_up(&eve[0]) && !is_given_up(&eve[1]) && !is_given_up(&ada));
        // Eve has two left, the others one each: she can only replace her own.
        let more = places.take(address(2)).expect("her own makes room");
        assert!(is_given_up(&eve[1]) && !is_given_up(&ada) && !is_given_up(&bob));
        let busy = (eve[2].asks(), more.asks());
        assert!(places.take(address(2)).is_none(), "others have fewer");
        let cy = places.take(address(4));
        assert!(cy.is_some() && (is_given_up(&ada) || is_given_up(&bob)));
        drop(busy);
    }

    #[test]
    fn an_address_has_only_its_share_and_a_proxy_stands_for_many() {
        let places = places(10, 2);
        let held: Vec<_> = (0..2).map(|_| places.take(address(1)).unwrap()).collect();
        let asking: Vec<_> = held.iter().map(ConnectionSlot::asks).collect();
        assert!(places.take(address(1)).is_none());
        drop(asking);
        assert!(places.take(address(1)).is_some());
        assert!(is_given_up(&held[0]));
        let proxy: Vec<_> = (0..6).map(|_| places.take(address(PROXY))).collect();
        assert!(proxy.iter().all(Option::is_some));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let places = places(10, 1);
        let take = |text: &str| places.take(text.parse().unwrap());
        let one = take("2001:db8::1").unwrap();
        let _asking = one.asks();
        assert!(take("2001:db8::2").is_none());
        assert!(take("2001:db8:0:1::1").is_some());
    }

    #[test]
    fn nothing_is_kept_of_those_who_left() {
        let places = places(8, 8);
        for round in 0..1000_u32 {
            let place = places.take(std::net::Ipv4Addr::from(round).into()).unwrap();
            if round % 3 == 0 {
                drop(place.asks());
            }
        }
        let state = places.state.lock();
        assert!(state.open == 0 && state.addresses.is_empty() && state.yielding.is_empty());
    }
}
