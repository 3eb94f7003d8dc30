//! Medians, pairs measured in turns, and a report that records whether every target was met.

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

/// A report, printed line by line.
#[derive(Default)]
pub(crate) struct Report {
    missed: usize,
}

impl Report {
    /// Reports a time as a multiple of a baseline, with its target.
    pub(crate) fn ratio(&mut self, what: &str, time: Duration, yardstick: Duration, target: f64) {
        let ratio = time.as_secs_f64() / yardstick.as_secs_f64();
        let figures = format!("{ratio:.2} (target {target:.1}; {time:.1?} / {yardstick:.1?})");
        self.line(what, &figures, ratio <= target);
    }

    /// Reports how many times as long the alternative takes, with the least factor to reach.
    pub(crate) fn faster(&mut self, what: &str, time: Duration, slower: Duration, target: f64) {
        let ratio = slower.as_secs_f64() / time.as_secs_f64();
        let figures =
            format!("{ratio:.0} times (target {target:.0} or more; {slower:.1?} / {time:.1?})");
        self.line(what, &figures, ratio >= target);
    }

    /// Reports a figure without a target.
    pub(crate) fn seen(&mut self, what: &str, figures: &str) {
        println!("       {what}: {figures}");
    }

    /// Reports any other figure that has a target.
    pub(crate) fn line(&mut self, what: &str, figures: &str, met: bool) {
        self.missed += usize::from(!met);
        println!(
            "{} {what}: {figures}",
            if met { "met   " } else { "MISSED" }
        );
    }

    pub(crate) fn all_met(&self) -> bool {
        self.missed == 0
    }
}
