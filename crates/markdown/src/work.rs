//! Counts the steps of loops that must not grow with the square of a document. Only tests look at the count; elsewhere
//! nothing is counted.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Notes that this many steps are made.
#[cfg(test)]
pub(crate) fn count(steps: usize) {
    STEPS.with(|all| all.set(all.get() + steps));
}

/// Notes nothing.
#[cfg(not(test))]
#[inline]
pub(crate) fn count(_: usize) {}

/// How many steps `work` makes on this thread.
#[cfg(test)]
pub(crate) fn steps_of<T>(work: impl FnOnce() -> T) -> usize {
    let before = STEPS.with(std::cell::Cell::get);
    drop(work());
    STEPS.with(std::cell::Cell::get) - before
}
