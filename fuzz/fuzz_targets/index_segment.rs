//! A segment of an index may hold anything: it is refused, or it can be searched. Damage to a real one never does harm, and
//! is noticed when the file is opened.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{Digest, Span};
use sectile_retrieval::{
    Bytes, Chunk, Corpus, DocumentLocation, Passage, Query, Segment, SegmentBuilder,
};

/// Opens a file and makes every possible query to it.
fn use_up(file: Vec<u8>, question: &str) -> Option<Segment> {
    let segment = Segment::open(&Bytes::new(file), None).ok()?;
    let documents = segment.documents().min(64);
    let places: Vec<DocumentLocation> = (0..documents + 1)
        .map(|document| DocumentLocation {
            segment: document / 60,
            document,
        })
        .collect();
    let corpus = Corpus::new(vec![segment.clone()], &places);
    let (query, dropped) = corpus.lenient_query(question);
    if let Ok(parsed) = Query::parse(question) {
        assert!(parsed == query && dropped.is_empty());
    }
    let found = corpus.search(&query, question, None, 10);
    assert!(found.hits.len() <= 10);
    for hit in &found.hits {
        assert!(corpus.document_of(hit.chunk) < places.len());
        let _ = (corpus.chunk(hit.chunk), corpus.path(hit.chunk));
    }
    Some(segment)
}

fn real(texts: &[&str]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(None);
    for text in texts {
        builder.document();
        let span = Span::new(0, text.len());
        let chunk = Chunk {
            span,
            digest: Digest::of(text.as_bytes()).into(),
            line: 1,
        };
        let passage = Passage {
            heading: text.lines().next().unwrap_or_default(),
            body: text,
            ..Passage::default()
        };
        builder.chunk(&chunk, &passage);
    }
    builder.finish()
}

fuzz_target!(|data: (&[u8], Vec<&str>, Vec<(u32, u8)>, &str)| {
    let (bytes, texts, damages, question) = data;
    use_up(bytes.to_vec(), question);
    let whole = real(&texts);
    assert!(use_up(whole.clone(), question).is_some());
    let mut damaged = whole.clone();
    for (at, flip) in damages {
        let at = at as usize % damaged.len();
        damaged[at] ^= flip;
    }
    if use_up(damaged.clone(), question).is_some() {
        // Only bytes between the parts can differ; every query has the same result.
        assert_eq!(damaged.len(), whole.len());
    }
    damaged.truncate(damaged.len() / 2);
    use_up(damaged, question);
});
