//! The order in which the folders of a process fill their second tiers: one at a time, the one that was used last first.

use std::{cmp::Reverse, time::Duration, time::Instant};

use parking_lot::Mutex;

/// The folders of this process.
pub(super) static FILL_QUEUE: FillQueue = FillQueue::new();

/// A folder that has not asked for its turn for this long does not hold up the others: its disk may not answer. Embedding a
/// batch takes much less.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// The folders that have something to fill.
#[derive(Debug)]
pub(super) struct FillQueue {
    state: Mutex<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    next: u64,
    waiting: Vec<QueuedFolder>,
}

#[derive(Clone, Copy, Debug)]
struct QueuedFolder {
    number: u64,
    used_at: Instant,
    asked_at: Instant,
}

/// The place of a folder in the queue, which it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct FillTurn<'q> {
    queue: &'q FillQueue,
    number: u64,
}

impl FillQueue {
    pub(super) const fn new() -> Self {
        let state = QueueState {
            next: 0,
            waiting: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Lets a folder take part, which was last used at `used_at`.
    pub(super) fn join(&self, used_at: Instant, now: Instant) -> FillTurn<'_> {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.push(QueuedFolder {
            number,
            used_at,
            asked_at: now,
        });
        FillTurn {
            queue: self,
            number,
        }
    }

    /// Returns the number of folders in the queue.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Returns when one of the folders in the queue was last used.
    #[cfg(test)]
    pub(super) fn newest_use(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.waiting.iter().map(|folder| folder.used_at).max()
    }
}

impl FillTurn<'_> {
    /// Returns whether it is the turn of this folder, which was last used at `used_at`. It has to ask again and again, and
    /// to stop when it is not.
    pub(super) fn is_now(&self, used_at: Instant, now: Instant) -> bool {
        let mut state = self.queue.state.lock();
        // Of those that were used at the same time, the one that came first.
        let rank = |folder: &QueuedFolder| (folder.used_at, Reverse(folder.number));
        let own = (used_at, Reverse(self.number));
        let mut is_first = true;
        for folder in &mut state.waiting {
            if folder.number == self.number {
                (folder.used_at, folder.asked_at) = (used_at, now);
            } else if now.saturating_duration_since(folder.asked_at) < LONGEST_SILENCE {
                is_first &= rank(folder) < own;
            }
        }
        is_first
    }
}

impl Drop for FillTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.waiting.retain(|folder| folder.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_was_used_last_has_its_turn() {
        let queue = FillQueue::new();
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let (one, two) = (queue.join(at(0), at(0)), queue.join(at(0), at(0)));
        assert!(one.is_now(at(0), at(1)) && !two.is_now(at(0), at(1)));
        // A call to the other folder.
        assert!(two.is_now(at(2), at(2)) && !one.is_now(at(0), at(2)));
        assert!(one.is_now(at(3), at(3)) && !two.is_now(at(2), at(3)));
        // One that came later, and was used before.
        let three = queue.join(at(1), at(3));
        assert!(!three.is_now(at(1), at(3)));
        assert_eq!(queue.len(), 3);
        drop(one);
        assert!(two.is_now(at(2), at(4)) && !three.is_now(at(1), at(4)));
        drop(two);
        assert!(three.is_now(at(1), at(4)));
        drop(three);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_folder_that_hangs_does_not_hold_up_the_others() {
        let queue = FillQueue::new();
        let start = Instant::now();
        let (hung, other) = (queue.join(start, start), queue.join(start, start));
        assert!(hung.is_now(start, start) && !other.is_now(start, start));
        let soon = start + LONGEST_SILENCE / 2;
        assert!(!other.is_now(start, soon));
        let late = start + LONGEST_SILENCE;
        assert!(other.is_now(start, late));
        // When it comes back, it has its turn again.
        assert!(hung.is_now(start, late) && !other.is_now(start, late));
    }
}
