//! Requests that have no answer yet, by id.
//!
//! A client may reuse the id of a cancelled request at once, while rmcp still works on the old one and would take its
//! late answer for that of the new one. So rmcp knows every request by a number of ours, which is never reused, and
//! nothing has to be kept about a request that was cancelled.

use std::collections::HashMap;

use parking_lot::Mutex;
use rmcp::model::RequestId;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct InFlightRequests {
    state: Mutex<InFlightState>,
    finished: Notify,
}

#[derive(Default)]
struct InFlightState {
    /// The client's ids, with rmcp's numbers of the requests.
    running: HashMap<RequestId, i64>,
    /// The reverse mapping.
    given: HashMap<i64, RequestId>,
    last: i64,
}

impl InFlightRequests {
    /// Adds a new request and returns its id for rmcp, or `None` if the client's id is in use.
    pub(crate) fn start(&self, id: &RequestId) -> Option<RequestId> {
        let mut state = self.state.lock();
        if state.running.contains_key(id) {
            return None;
        }
        state.last += 1;
        let number = state.last;
        state.running.insert(id.clone(), number);
        state.given.insert(number, id.clone());
        Some(RequestId::Number(number))
    }

    /// Returns whether no request waits for its answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().running.is_empty()
    }

    /// Records that the answer is no longer wanted, and returns rmcp's id of the request.
    pub(crate) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut state = self.state.lock();
        let number = state.running.remove(id)?;
        state.given.remove(&number);
        self.finished.notify_waiters();
        Some(RequestId::Number(number))
    }

    /// Records that a request has its answer, and returns the client's id for it unless it was cancelled.
    pub(crate) fn finish(&self, known_by: &RequestId) -> Option<RequestId> {
        let mut state = self.state.lock();
        let id = state.given.remove(&number(known_by)?)?;
        state.running.remove(&id);
        self.finished.notify_waiters();
        Some(id)
    }

    /// Returns the client's id of a request that has no answer yet.
    pub(crate) fn given(&self, known_by: &RequestId) -> Option<RequestId> {
        self.state.lock().given.get(&number(known_by)?).cloned()
    }

    /// Releases memory left over from a busier time.
    pub(crate) fn shrink(&self) {
        let mut state = self.state.lock();
        state.running.shrink_to_fit();
        state.given.shrink_to_fit();
    }

    /// Waits until every request has its answer.
    pub(crate) async fn drained(&self) {
        loop {
            let finished = self.finished.notified();
            if self.state.lock().running.is_empty() {
                return;
            }
            finished.await;
        }
    }
}

/// Returns the number in rmcp's id of a request.
fn number(known_by: &RequestId) -> Option<i64> {
    match known_by {
        RequestId::Number(number) => Some(*number),
        RequestId::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_used_again_after_its_answer_or_its_cancellation() {
        let in_flight = InFlightRequests::default();
        let seven = RequestId::Number(7);
        let first = in_flight.start(&seven).expect("free");
        assert_eq!(in_flight.start(&seven), None, "in use");
        assert_eq!(in_flight.given(&first), Some(seven.clone()));
        assert_eq!(in_flight.finish(&first), Some(seven.clone()));
        let second = in_flight.start(&seven).expect("free again");
        assert_eq!(in_flight.cancel(&seven), Some(second.clone()));
        let third = in_flight.start(&seven).expect("free again");
        assert!(first != second && second != third && first != third);
        assert_eq!(
            in_flight.finish(&second),
            None,
            "the late answer of the cancelled request"
        );
        assert_eq!(in_flight.given(&second), None);
        assert_eq!(in_flight.finish(&third), Some(seven.clone()));
        assert_eq!(in_flight.finish(&third), None);
        assert_eq!(in_flight.cancel(&seven), None, "nothing runs");
    }

    #[test]
    fn nothing_is_kept_of_requests_that_have_ended() {
        let in_flight = InFlightRequests::default();
        for round in 0..1000 {
            let id = RequestId::String(format!("{round}").into());
            let known_by = in_flight.start(&id).expect("free");
            if round % 2 == 0 {
                assert!(in_flight.cancel(&id).is_some());
            } else {
                assert!(in_flight.finish(&known_by).is_some());
            }
            // The late answer of a cancelled request makes no difference.
            in_flight.finish(&known_by);
        }
        let state = in_flight.state.lock();
        assert!(state.running.is_empty() && state.given.is_empty());
        // No more capacity is held than the few concurrent requests took.
        assert!(state.running.capacity() < 16 && state.given.capacity() < 16);
    }
}
