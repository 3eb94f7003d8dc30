//! Requests that have no answer yet, by id.
//!
//! A client may use the id of a cancelled request again at once, while rmcp still works on the old one and would take
//! its late answer for the new one's. A request that comes under such an id is therefore known to rmcp by another.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    finished: Notify,
}

#[derive(Default)]
struct State {
    /// The client's ids, with those that rmcp knows the requests by.
    running: HashMap<RequestId, RequestId>,
    /// The way back, where the two differ.
    aliases: HashMap<RequestId, RequestId>,
    /// Ids of requests that were cancelled while they ran.
    cancelled: HashSet<RequestId>,
    aliases_made: u64,
}

impl InFlight {
    /// Notes a new request and gives the id that rmcp shall know it by, or `None` when the client's is in use.
    pub(super) fn start(&self, id: &RequestId) -> Option<RequestId> {
        let mut state = self.state();
        if state.running.contains_key(id) {
            return None;
        }
        let known_by = if state.cancelled.contains(id) {
            state.alias(id)
        } else {
            id.clone()
        };
        state.running.insert(id.clone(), known_by.clone());
        Some(known_by)
    }

    /// Whether no request waits for its answer.
    pub(super) fn is_empty(&self) -> bool {
        self.state().running.is_empty()
    }

    /// Notes that nobody waits for the answer any more, and gives the id that rmcp knows the request by.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut state = self.state();
        let known_by = state.running.remove(id)?;
        state.aliases.remove(&known_by);
        state.cancelled.insert(id.clone());
        self.finished.notify_waiters();
        Some(known_by)
    }

    /// Notes that a request has its answer, and gives the client's id for it unless nobody waits.
    pub(super) fn finish(&self, known_by: &RequestId) -> Option<RequestId> {
        let mut state = self.state();
        let id = state
            .aliases
            .remove(known_by)
            .unwrap_or_else(|| known_by.clone());
        let wanted = state.running.get(&id) == Some(known_by);
        if wanted {
            state.running.remove(&id);
            self.finished.notify_waiters();
        }
        wanted.then_some(id)
    }

    /// Waits until every request has its answer.
    pub(super) async fn drained(&self) {
        loop {
            let finished = self.finished.notified();
            if self.state().running.is_empty() {
                return;
            }
            finished.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn alias(&mut self, id: &RequestId) -> RequestId {
        self.aliases_made += 1;
        // No client can send this one: ids with control characters do not come from counters or UUIDs.
        let alias = RequestId::String(format!("\u{1}{}", self.aliases_made).into());
        self.aliases.insert(alias.clone(), id.clone());
        alias
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_used_again_after_its_answer_or_its_cancellation() {
        let in_flight = InFlight::default();
        let seven = RequestId::Number(7);
        assert_eq!(in_flight.start(&seven), Some(seven.clone()));
        assert_eq!(in_flight.start(&seven), None, "in use");
        assert_eq!(in_flight.finish(&seven), Some(seven.clone()));
        assert_eq!(in_flight.start(&seven), Some(seven.clone()));
        assert_eq!(in_flight.cancel(&seven), Some(seven.clone()));
        let alias = in_flight.start(&seven).expect("free again");
        assert_ne!(alias, seven);
        assert_eq!(
            in_flight.finish(&seven),
            None,
            "the late answer of the cancelled request"
        );
        assert_eq!(in_flight.finish(&alias), Some(seven.clone()));
        assert_eq!(in_flight.finish(&alias), None);
        assert_eq!(in_flight.cancel(&seven), None, "nothing runs");
    }
}
