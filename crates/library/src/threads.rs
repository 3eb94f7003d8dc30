//! Work on a second thread, where the system grants one.

use std::thread::{Builder, scope};

use parking_lot::Mutex;

/// Does both at once, or one after the other if there is no thread to be had. Returns `None` for `other` if it panicked.
pub(crate) fn at_once<A: Send, B>(
    other: impl FnOnce() -> A + Send,
    here: impl FnOnce() -> B,
) -> (Option<A>, B) {
    // A closure that is handed to a thread is lost if there is none, so it is only lent.
    let other = Mutex::new(Some(other));
    let take_over = || {
        let other = other.lock().take();
        other.map(|other| other())
    };
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, take_over);
        let here = here();
        let other = match thread {
            Ok(thread) => thread.join().ok().flatten(),
            Err(_) => take_over(),
        };
        (other, here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done() {
        assert_eq!(at_once(|| 1, || 2), (Some(1), 2));
        let (failed, here) = at_once(|| assert_eq!(1, 2), || 3);
        assert_eq!((failed, here), (None, 3));
    }
}
