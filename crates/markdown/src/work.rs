//! Counts the steps of loops that must not take quadratic time. Only tests look at the count; other builds do not
//! count.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds to the count of steps.
#[cfg(test)]
pub(crate) fn count(steps: usize) {
    STEPS.with(|all| all.set(all.get() + steps));
}

/// Does nothing.
#[cfg(not(test))]
#[inline]
pub(crate) fn count(_: usize) {}

/// Returns the number of steps that `work` takes on this thread.
#[cfg(test)]
pub(crate) fn steps_of<T>(work: impl FnOnce() -> T) -> usize {
    let before = STEPS.with(std::cell::Cell::get);
    drop(work());
    STEPS.with(std::cell::Cell::get) - before
}
