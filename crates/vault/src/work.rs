//! Counts the steps of loops that must not be quadratic in the size of a document. Only tests look at the count;
//! elsewhere nothing is counted.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds to the number of steps taken.
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
