//! Slots that callers share: a limit in all and a limit for each caller, with waiting callers admitted in turn.
//!
//! A caller with many calls has one turn like another with few, so a queue is only as long for a caller as there are
//! callers in it.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Identifies a caller. If callers do not sign in, all of them are the same one, and it may take every slot.
type CallerKey = Option<String>;

/// Limits on the number of slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerSlotBounds {
    /// Slots in all.
    pub(crate) max: usize,
    /// Slots of one signed-in caller.
    pub(crate) per_caller: usize,
    /// Calls that may wait for a slot, in all.
    pub(crate) waiting: usize,
    /// Waiting calls of one signed-in caller.
    pub(crate) waiting_per_caller: usize,
}

/// Slots that callers share.
pub(crate) struct CallerSlots {
    bounds: CallerSlotBounds,
    state: Mutex<CallerSlotState>,
}

/// There is no slot, and no room to wait for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoFreeSlot;

#[derive(Default)]
struct CallerSlotState {
    taken: usize,
    waiting: usize,
    /// Callers that have a slot or wait for one, and no others.
    callers: HashMap<CallerKey, CallerQueue>,
    /// Callers that wait and may have one more slot, in the order of their turns. Each appears once.
    turns: VecDeque<CallerKey>,
    tickets: u64,
}

#[derive(Default)]
struct CallerQueue {
    taken: usize,
    /// Waiting calls, in the order in which they came.
    queue: BTreeMap<u64, oneshot::Sender<CallerSlot>>,
    has_turn: bool,
}

/// A slot that is taken, released when dropped.
pub(crate) struct CallerSlot {
    shares: Arc<CallerSlots>,
    caller: CallerKey,
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        let mut state = self.shares.state.lock();
        state.taken -= 1;
        if let Some(caller_role) = state.callers.get_mut(&self.caller) {
            caller_role.taken -= 1;
        }
        self.shares.give_turn(&mut state, &self.caller);
        let unwanted = self.shares.let_in(&mut state);
        state.forget(&self.caller);
        drop(state);
        drop(unwanted);
    }
}

/// A waiting call; leaves the queue when dropped.
struct SlotWaiter {
    shares: Arc<CallerSlots>,
    caller: CallerKey,
    ticket: u64,
    place: oneshot::Receiver<CallerSlot>,
}

impl Drop for SlotWaiter {
    fn drop(&mut self) {
        let mut state = self.shares.state.lock();
        let caller_role = state.callers.get_mut(&self.caller);
        if caller_role.is_some_and(|caller_role| caller_role.queue.remove(&self.ticket).is_some()) {
            state.waiting -= 1;
            state.forget(&self.caller);
        }
    }
}

impl CallerSlots {
    pub(crate) fn new(bounds: CallerSlotBounds) -> Self {
        Self {
            bounds,
            state: Mutex::default(),
        }
    }

    /// Takes a slot for `caller`, now or when it is its turn.
    pub(crate) async fn take(
        self: &Arc<Self>,
        caller: CallerKey,
    ) -> Result<CallerSlot, NoFreeSlot> {
        let mut waiter = {
            let mut state = self.state.lock();
            // Everyone who waits has been admitted as far as possible, so no one is overtaken.
            let own = state.callers.get(&caller).map_or(0, |own| own.taken);
            if state.taken < self.bounds.max && own < self.most(&caller) {
                return Ok(self.share(&mut state, caller));
            }
            self.queue_up(&mut state, caller)?
        };
        (&mut waiter.place).await.map_err(|_| NoFreeSlot)
    }

    /// Returns whether exactly one slot is taken.
    pub(crate) fn is_one_taken(&self) -> bool {
        self.state.lock().taken == 1
    }

    fn queue_up(
        self: &Arc<Self>,
        state: &mut CallerSlotState,
        caller: CallerKey,
    ) -> Result<SlotWaiter, NoFreeSlot> {
        let own = state.callers.get(&caller).map_or(0, |own| own.queue.len());
        let most = match caller {
            Some(_) => self.bounds.waiting_per_caller,
            None => self.bounds.waiting,
        };
        if state.waiting >= self.bounds.waiting || own >= most {
            return Err(NoFreeSlot);
        }
        let (sender, place) = oneshot::channel();
        state.tickets += 1;
        state.waiting += 1;
        let ticket = state.tickets;
        let caller_role = state.callers.entry(caller.clone()).or_default();
        caller_role.queue.insert(ticket, sender);
        self.give_turn(state, &caller);
        Ok(SlotWaiter {
            shares: Arc::clone(self),
            caller,
            ticket,
            place,
        })
    }

    /// Puts `caller` at the end of the turns if it waits and may have one more slot.
    fn give_turn(&self, state: &mut CallerSlotState, caller: &CallerKey) {
        let most = self.most(caller);
        if let Some(caller_role) = state.callers.get_mut(caller)
            && !caller_role.has_turn
            && !caller_role.queue.is_empty()
            && caller_role.taken < most
        {
            caller_role.has_turn = true;
            state.turns.push_back(caller.clone());
        }
    }

    /// Admits callers in turn as long as there are slots. Returns the slots that were not accepted, which must not be
    /// dropped before the state is unlocked.
    fn let_in(self: &Arc<Self>, state: &mut CallerSlotState) -> Vec<CallerSlot> {
        let mut unwanted = Vec::new();
        while state.taken < self.bounds.max {
            let Some(caller) = state.turns.pop_front() else {
                break;
            };
            let first = state.callers.get_mut(&caller).and_then(|caller_role| {
                caller_role.has_turn = false;
                caller_role.queue.pop_first()
            });
            if let Some((_, sender)) = first {
                state.waiting -= 1;
                let share = self.share(state, caller.clone());
                unwanted.extend(sender.send(share).err());
            }
            self.give_turn(state, &caller);
        }
        unwanted
    }

    fn share(self: &Arc<Self>, state: &mut CallerSlotState, caller: CallerKey) -> CallerSlot {
        state.taken += 1;
        state.callers.entry(caller.clone()).or_default().taken += 1;
        CallerSlot {
            shares: Arc::clone(self),
            caller,
        }
    }

    fn most(&self, caller: &CallerKey) -> usize {
        match caller {
            Some(_) => self.bounds.per_caller,
            None => self.bounds.max,
        }
    }
}

impl CallerSlotState {
    /// Forgets a caller that neither has a slot nor waits for one.
    fn forget(&mut self, caller: &CallerKey) {
        let Some(caller_role) = self.callers.get_mut(caller) else {
            return;
        };
        if caller_role.queue.is_empty() && std::mem::take(&mut caller_role.has_turn) {
            self.turns.retain(|other| other != caller);
        }
        if caller_role.taken == 0 && caller_role.queue.is_empty() {
            self.callers.remove(caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn shares(max: usize, per_caller: usize, waiting: usize) -> Arc<CallerSlots> {
        Arc::new(CallerSlots::new(CallerSlotBounds {
            max,
            per_caller,
            waiting,
            waiting_per_caller: waiting.min(3),
        }))
    }

    fn caller(name: &str) -> CallerKey {
        Some(name.to_owned())
    }

    /// Takes a slot that must be available at once.
    fn now(shares: &Arc<CallerSlots>, name: &str) -> Option<CallerSlot> {
        shares.take(caller(name)).now_or_never()?.ok()
    }

    #[tokio::test]
    async fn one_caller_never_has_more_than_its_share() {
        let shares = shares(4, 2, 0);
        let held = [now(&shares, "eve"), now(&shares, "eve")];
        assert!(held.iter().all(Option::is_some));
        assert!(now(&shares, "eve").is_none());
        let ada = now(&shares, "ada");
        assert!(ada.is_some());
        assert!(!shares.is_one_taken());
        drop(held);
        assert!(shares.is_one_taken());
        let more = now(&shares, "eve");
        assert!(more.is_some());
        drop((ada, more));
        assert!(shares.state.lock().callers.is_empty(), "nobody is kept");
    }

    #[tokio::test]
    async fn where_nobody_signs_in_the_one_caller_has_every_place() {
        let shares = shares(4, 1, 8);
        let held: Vec<_> = (0..4)
            .map(|_| shares.take(None).now_or_never().expect("at once"))
            .collect();
        assert!(held.iter().all(Result::is_ok));
        let waiting: Vec<_> = (0..8).map(|_| Box::pin(shares.take(None))).collect();
        let mut waiting = futures::future::join_all(waiting);
        assert!((&mut waiting).now_or_never().is_none());
        assert!(shares.take(None).now_or_never().expect("at once").is_err());
    }

    #[tokio::test]
    async fn those_who_wait_are_let_in_by_turns() {
        let shares = shares(1, 1, 100);
        let first = now(&shares, "eve").expect("a place");
        let (order, mut let_in) = tokio::sync::mpsc::unbounded_channel();
        let mut waiting = Vec::new();
        for (name, count) in [("eve", 3), ("mal", 3), ("ada", 1)] {
            for number in 0..count {
                let (shares, order) = (Arc::clone(&shares), order.clone());
                waiting.push(tokio::spawn(async move {
                    let share = shares.take(caller(name)).await.expect("a place");
                    order.send(format!("{name} {number}")).expect("heard");
                    drop(share);
                }));
                tokio::task::yield_now().await;
            }
        }
        drop((first, order));
        futures::future::join_all(waiting).await;
        let mut seen = Vec::new();
        while let Some(name) = let_in.recv().await {
            seen.push(name);
        }
        let expected = [
            "mal 0", "ada 0", "eve 0", "mal 1", "eve 1", "mal 2", "eve 2",
        ];
        assert_eq!(seen, expected);
        assert!(shares.state.lock().callers.is_empty());
        assert!(shares.state.lock().turns.is_empty());
    }

    #[tokio::test]
    async fn a_queue_is_bounded_for_each_and_those_who_leave_it_leave_nothing() {
        let shares = shares(1, 1, 4);
        let held = now(&shares, "eve").expect("a place");
        for _ in 0..100 {
            let mut queue: Vec<_> = (0..3)
                .map(|_| Box::pin(shares.take(caller("eve"))))
                .collect();
            for waiter in &mut queue {
                assert!(waiter.as_mut().now_or_never().is_none());
            }
            let fourth = shares.take(caller("eve")).now_or_never();
            assert!(fourth.is_some_and(|place| place.is_err()), "three may wait");
            let mut other = Box::pin(shares.take(caller("ada")));
            assert!(other.as_mut().now_or_never().is_none());
            let too_many = shares.take(caller("bob")).now_or_never();
            assert!(too_many.is_some_and(|place| place.is_err()), "four in all");
        }
        let state = shares.state.lock();
        assert_eq!((state.waiting, state.taken), (0, 1));
        assert_eq!(state.callers.len(), 1);
        assert!(state.turns.is_empty());
        drop(state);
        drop(held);
        assert!(now(&shares, "ada").is_some());
    }

    #[tokio::test]
    async fn a_place_given_to_somebody_who_left_is_not_lost() {
        let shares = shares(1, 1, 4);
        let held = now(&shares, "eve").expect("a place");
        let mut ada = Box::pin(shares.take(caller("ada")));
        assert!(ada.as_mut().now_or_never().is_none());
        drop(held);
        // It has its slot by now, but has not looked.
        drop(ada);
        assert!(now(&shares, "bob").is_some());
    }
}
