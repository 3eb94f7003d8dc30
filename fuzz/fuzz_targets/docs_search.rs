//! Any document can be cut into sections and searched with any question; every hit is in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::PageFormat;
use sectile_retrieval::{Index, Passage, Query, sections};

fuzz_target!(|data: (&[u8], &str)| {
    let (bytes, question) = data;
    let sections = sections(bytes, "Title", PageFormat::default());
    for section in &sections {
        assert!(section.text.end <= bytes.len() && section.whole.end <= bytes.len());
    }
    let passages = sections.iter().map(|section| Passage {
        heading: &section.heading,
        trail: section.trail.iter().map(String::as_str).collect(),
        body: &section.plain,
    });
    let (Ok(index), Ok(query)) = (Index::new(passages), Query::parse(question)) else {
        return;
    };
    let ranked = index.rank(&query, |passage| passage as u64 % 20);
    let hits = ranked.hits(5);
    assert!(hits.len() <= ranked.remarks.total.min(5));
    for pair in hits.windows(2) {
        assert!(pair[0].score >= pair[1].score);
    }
    for hit in &hits {
        let sum: u64 = hit.matches.iter().map(|one| one.score).sum();
        assert_eq!(hit.score, sum + hit.together + hit.favour);
    }
});
