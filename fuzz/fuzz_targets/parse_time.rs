//! Parsing takes time in proportion to the input, whatever is repeated in it.
//!
//! Hostile Markdown is a short pattern repeated often, so the input is repeated up to a size where growth can be measured.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use sectile_markdown::Source;

const SMALL: usize = 16 << 10;
const GROWTH: usize = 4;
/// Linear time gives 4, quadratic time 16.
const MAX_RATIO: u32 = 10;
/// Tolerance for a busy machine.
const SLACK: Duration = Duration::from_millis(50);

fuzz_target!(|data: &[u8]| {
    if data.is_empty() || data.len() > SMALL {
        return;
    }
    let small = data.repeat(SMALL.div_ceil(data.len()));
    let large = small.repeat(GROWTH);
    if took(&large) <= took(&small) * MAX_RATIO + SLACK {
        return;
    }
    // A single slow run may be bad luck: the quickest of three is not.
    let quickest = |bytes: &[u8]| (0..3).map(|_| took(bytes)).min().unwrap_or_default();
    let (small_took, large_took) = (quickest(&small), quickest(&large));
    assert!(
        large_took <= small_took * MAX_RATIO + SLACK,
        "{} bytes took {small_took:?}, {} bytes took {large_took:?}",
        small.len(),
        large.len(),
    );
});

fn took(bytes: &[u8]) -> Duration {
    let start = Instant::now();
    let source = Source::new(bytes);
    std::hint::black_box((source.parse(), source.front_matter_value().is_some()));
    start.elapsed()
}
