//! Progress of indexing: a bar on a terminal, an occasional line elsewhere.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sectile_library::filling::FillProgress;

use super::ui::{tell, visible};

/// The interval between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// Returns a bar on a terminal, and a hidden one elsewhere.
pub(super) fn bar(length: usize, collection: &str) -> ProgressBar {
    drawn(length, collection, "{prefix} [{bar:30}] {pos}/{len} {eta}")
}

fn drawn(length: usize, collection: &str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(visible(collection));
    bar
}

/// The progress of the second tier.
pub(super) struct TierProgressBar {
    bar: ProgressBar,
    collection: String,
    started: Instant,
    /// The time of the last line.
    told: Cell<Instant>,
}

impl TierProgressBar {
    pub(super) fn new(collection: &str) -> Self {
        Self {
            bar: drawn(0, collection, "{prefix} [{bar:30}] {pos}/{len} {msg}"),
            collection: visible(collection),
            started: Instant::now(),
            told: Cell::new(Instant::now()),
        }
    }

    pub(super) fn show(&self, progress: FillProgress) {
        let FillProgress { done, all, .. } = progress;
        let speed = speed(progress, self.started.elapsed());
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(format!("passages{speed}"));
        if self.bar.is_hidden() && self.told.get().elapsed() >= PAUSE {
            self.told.set(Instant::now());
            let collection = &self.collection;
            tell(format_args!("{collection}  {done}/{all} passages{speed}\n"));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Describes the speed and the remaining time, once they can be estimated. Cached vectors took no time.
fn speed(progress: FillProgress, elapsed: Duration) -> String {
    let left = progress.all.saturating_sub(progress.done) as u64;
    let embedded = progress.embedded as u64;
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    if embedded == 0 || elapsed_ms < 1_000 {
        return String::new();
    }
    let rate = embedded * 1_000 / elapsed_ms;
    let seconds = left * elapsed_ms / embedded / 1_000;
    let left = match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    };
    format!(", {rate}/s, {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_that_of_what_was_embedded_now() {
        let progress = |done, embedded| FillProgress {
            done,
            all: 10_000,
            embedded,
        };
        let after = |seconds, progress| speed(progress, Duration::from_secs(seconds));
        assert_eq!(after(10, progress(5_000, 0)), "");
        assert_eq!(after(0, progress(5_000, 10)), "");
        assert_eq!(after(10, progress(9_300, 300)), ", 30/s, 23 s left");
        assert_eq!(after(10, progress(5_300, 300)), ", 30/s, 2 min left");
        assert_eq!(after(100, progress(9_000, 1)), ", 0/s, 27 h left");
    }
}
