//! Work on other threads, where the system grants them.

use std::thread::{Builder, Scope, scope};

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

/// Starts up to `most` threads that all do the same work. Gives it back if there is not a single one to be had.
pub(crate) fn start_all<'scope, W>(
    scope: &'scope Scope<'scope, '_>,
    most: usize,
    work: W,
) -> Result<(), W>
where
    W: FnOnce() + Clone + Send + 'scope,
{
    let start = |_| Builder::new().spawn_scoped(scope, work.clone()).ok();
    match (0..most).map_while(start).count() {
        0 => Err(work),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn both_are_done() {
        assert_eq!(at_once(|| 1, || 2), (Some(1), 2));
        let (failed, here) = at_once(|| assert_eq!(1, 2), || 3);
        assert_eq!((failed, here), (None, 3));
    }

    #[test]
    fn work_comes_back_where_there_are_no_threads() {
        let done = AtomicUsize::new(0);
        let work = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        let started = scope(|scope| {
            assert!(start_all(scope, 0, work).is_err());
            start_all(scope, 2, work).is_ok()
        });
        assert!(started);
        assert_eq!(done.into_inner(), 2);
    }
}
