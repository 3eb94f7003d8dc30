//! Medians, and pairs measured in turns.

use std::{
    alloc::System,
    time::{Duration, Instant},
};

use anyhow::Result;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Returns the number of bytes allocated now.
pub(crate) fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats
        .bytes_allocated
        .saturating_sub(stats.bytes_deallocated)
}

pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// Measures something that may fail.
pub(crate) fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

pub(crate) fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns the given quantile of some times, in thousandths.
pub(crate) fn per_mille(times: &mut [Duration], share: usize) -> Duration {
    times.sort();
    let at = (times.len() * share).div_ceil(1000).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

/// Returns the medians of two functions measured in turns, so that a busy moment of the machine affects both.
pub(crate) fn interleaved(
    rounds: usize,
    mut a: impl FnMut(),
    mut b: impl FnMut(),
) -> (Duration, Duration) {
    let pairs: Vec<(Duration, Duration)> =
        (0..rounds).map(|_| (time(&mut a), time(&mut b))).collect();
    let (first, second) = pairs.into_iter().unzip();
    (middle(first), middle(second))
}
