//! The instructions that the kernels use.

use pulp::Arch;

#[cfg(test)]
thread_local! {
    /// The instructions of this thread, if a test has chosen some.
    static CHOSEN: std::cell::Cell<Option<Arch>> = const { std::cell::Cell::new(None) };
}

/// Returns the best instructions that this processor has.
pub(super) fn best() -> Arch {
    #[cfg(test)]
    if let Some(chosen) = CHOSEN.get() {
        return chosen;
    }
    Arch::new()
}

/// Does some work in this thread with each set of instructions that this processor has.
#[cfg(test)]
pub(super) fn with_each<T>(mut work: impl FnMut() -> T) -> Vec<T> {
    let mut sets = vec![Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
        sets.extend(pulp::x86::V4::try_new().map(Arch::V4));
    }
    sets.push(Arch::new());
    let done = sets.into_iter().map(|instructions| {
        CHOSEN.set(Some(instructions));
        work()
    });
    let done = done.collect();
    CHOSEN.set(None);
    done
}
