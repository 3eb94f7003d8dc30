//! Everything that reads notes or compares them takes time in proportion to the input, whatever is repeated in it.
//!
//! Hostile Markdown is a short pattern repeated often, so the input is repeated up to a size where growth can be measured.
//! `seeds/parse_time` has patterns to start from.

#![no_main]

use std::hint::black_box;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use rustix::time::{ClockId, clock_gettime};
use sectile_markdown::{
    AnchorStyle, PageFormat, PageSyntax, Source, align, examine, line_changes, links, merge,
    near_text, passages, properties, quotations, word_diff,
};

const SMALL: usize = 16 << 10;
const GROWTH: usize = 4;
/// Linear time gives 4, quadratic time 16.
const MAX_RATIO: u32 = 10;
/// Tolerance for cold caches.
const SLACK: Duration = Duration::from_millis(50);
/// The longest chunk of a note for search, about as in the program.
const CHUNK: usize = 2_000;

/// Something that reads a text, or compares it with one that is almost the same.
type Work = fn(&[u8], &[u8]);

const WORKS: [(&str, Work); 11] = [
    ("parse", |text, _| {
        black_box(Source::new(text).parse());
    }),
    ("front matter", |text, _| {
        black_box(Source::new(text).front_matter_value());
    }),
    ("examine", |text, _| {
        black_box(examine(&Source::new(text), CHUNK));
    }),
    ("links", |text, _| {
        black_box(links(&Source::new(text)));
    }),
    ("properties", |text, _| {
        black_box(properties(&Source::new(text)));
    }),
    ("quotations", |text, _| {
        black_box(quotations(&String::from_utf8_lossy(text)));
    }),
    ("passages", |text, _| {
        let format = PageFormat {
            syntax: PageSyntax::Mdx,
            anchors: AnchorStyle::default(),
        };
        black_box(passages(&Source::new(text), 6, format));
    }),
    ("line changes", |text, other| {
        black_box(line_changes(text, other));
    }),
    ("merge", |text, other| {
        let longer = [text, b"\nend\n"].concat();
        black_box(merge(text, other, &longer)).ok();
    }),
    ("alignment", |text, other| {
        let [text, other] =
            [text, other].map(|text| align::fingerprints(text, &Source::new(text).parse()));
        black_box(align::align(&text, &other));
    }),
    ("words", |text, other| {
        let [text, other] = [text, other].map(String::from_utf8_lossy);
        black_box((word_diff(&text, &other), near_text(&other, &text)));
    }),
];

fuzz_target!(|data: &[u8]| {
    if data.is_empty() || data.len() > SMALL {
        return;
    }
    let small = data.repeat(SMALL.div_ceil(data.len()));
    let large = small.repeat(GROWTH);
    let (small_other, large_other) = (almost(&small), almost(&large));
    for (name, work) in WORKS {
        let took = |text: &[u8], other: &[u8]| {
            let start = processor_time();
            work(text, other);
            processor_time() - start
        };
        if took(&large, &large_other) <= took(&small, &small_other) * MAX_RATIO + SLACK {
            continue;
        }
        // A single slow run may be bad luck: the quickest of three is not.
        let quickest = |text: &[u8], other: &[u8]| {
            let times = (0..3).map(|_| took(text, other));
            times.min().unwrap_or_default()
        };
        let small_took = quickest(&small, &small_other);
        let large_took = quickest(&large, &large_other);
        assert!(
            large_took <= small_took * MAX_RATIO + SLACK,
            "{name}: {} bytes took {small_took:?}, {} bytes took {large_took:?}",
            small.len(),
            large.len(),
        );
    }
});

/// Returns the time that a processor has spent on this thread. A busy machine does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns the text with every seventh line left out and every eleventh changed.
fn almost(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n').enumerate();
    let kept = lines.filter(|(number, _)| number % 7 != 3);
    let changed = kept.map(|(number, line)| match number % 11 {
        5 => [b"changed ", line].concat(),
        _ => line.to_vec(),
    });
    changed.collect::<Vec<_>>().concat()
}
