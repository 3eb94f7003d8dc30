//! Streams over a library in memory.

use std::cell::RefCell;

use sectile_library::{
    GoneReason,
    artifacts::{ArtifactLink, ArtifactType, Staleness, Status},
    left_out::{LeftOutNotebook, WhyLeftOut},
    open_collection::IndexState,
    quote::Quote,
    testing::{Memory, sidecar},
};
use serde_json::Value;

use super::*;

const NOTE: &str = "# One\n\nalpha beta\n\nalpha gamma\n\n# Two\n\nalpha delta\n";

fn hit(text: &str, passage: &str, fused: u32) -> VerifiedHit {
    let start = text.find(passage).expect("the passage is there");
    let span = Span::new(start, start + passage.len());
    let notebook = NotePath::parse_vault("n.md").expect("a path");
    VerifiedHit {
        id: SourceId::new("a", &notebook, span, &Digest::of(passage.as_bytes())),
        scores: Scores {
            lexical: fused,
            semantic: 0,
            fused,
        },
        matched: vec!["alpha".to_owned()],
        heading_path: Vec::new(),
        line: 1,
        timestamp: None,
        text: passage.to_owned(),
        verified_at: 0,
    }
}

fn found(hits: Vec<VerifiedHit>) -> VerifiedResults {
    VerifiedResults {
        total: hits.len() + 7,
        hits,
        state: IndexState {
            as_of: 0,
            on_disk: false,
            backend: None,
            changed: Some(0),
            unseen: 0,
            left_out: Some(Arc::default()),
            semantic: false,
            tier: Tier::Static,
            model: "none",
        },
        unknown_words: vec!["zeta".to_owned()],
        corrected_words: Vec::new(),
    }
}

/// Three hits, two of them in the first section.
fn three() -> VerifiedResults {
    found(vec![
        hit(NOTE, "alpha delta", 900_000),
        hit(NOTE, "alpha beta", 500_000),
        hit(NOTE, "alpha gamma", 250_000),
    ])
}

fn stream(found: VerifiedResults, page: usize, token: &str) -> Stream {
    let storage = Memory::shared(&[("a", "n.md", NOTE)]);
    let beginning = StreamStart {
        token: token.to_owned(),
        query: "alpha zeta",
        collection: "a",
        expires_at: 300,
        page,
        tier_before: None,
    };
    Stream::new(beginning, found, storage.as_ref(), &|| false).expect("a stream")
}

/// Quotes from the text of one notebook.
fn quoted(text: &str, id: &SourceId) -> Result<Quote, NotebookError> {
    let bytes = id.span.slice(text.as_bytes());
    let digest = Digest::of(bytes);
    if !id.is_of(&digest) {
        return Err(NotebookError::SourceNotFound {
            source_id: id.to_string(),
            reason: GoneReason::Changed,
            new_source_id: None,
        });
    }
    Ok(Quote {
        id: id.clone(),
        text: String::from_utf8(bytes.to_vec()).expect("text"),
        before: String::new(),
        after: String::new(),
        digest,
        notebook_digest: Digest::of(text.as_bytes()),
        notebook_title: "N".to_owned(),
        heading_path: vec!["One".to_owned()],
        line: 3,
        timestamp: None,
        author: None,
        verified_at: 42,
    })
}

/// Pulls everything while the notebook holds `text`.
fn pull_all(mut stream: Stream, text: &str) -> Vec<Value> {
    let reading = StreamReader {
        quote: &|id| quoted(text, id),
        linked: &|_, _| panic!("what is linked was found at the beginning"),
        links: &|notebooks, ids| {
            assert_eq!(notebooks.len(), 1, "each notebook is asked for once");
            assert!(!ids.is_empty(), "no request is empty");
            let link = |id: &String| ArtifactLink {
                artifact_id: id.clone(),
                artifact_set_id: "s".to_owned(),
                artifact_type: ArtifactType::Summary,
                status: Status::Offered,
                staleness_indicator: Staleness::Fresh,
                matching_sources: vec!["n.md".to_owned()],
            };
            Ok(ids.iter().map(link).collect())
        },
    };
    let mut all = Vec::new();
    loop {
        let chunk = stream.pull(&reading).expect("a chunk");
        let is_last = chunk.is_completion();
        all.push(serde_json::to_value(chunk).expect("JSON"));
        if is_last {
            return all;
        }
    }
}

fn types(chunks: &[Value]) -> Vec<&str> {
    let types = chunks.iter();
    types
        .filter_map(|chunk| chunk["chunk_type"].as_str())
        .collect()
}

#[test]
fn the_four_steps_deliver_their_payload_and_then_the_totals() {
    let stream = stream(three(), 2, "t");
    assert_eq!(stream.chunks(), 6);
    let chunks = pull_all(stream, NOTE);
    assert_eq!(
        types(&chunks),
        [
            "reference_identifiers",
            "reference_identifiers",
            "passages",
            "passages",
            "dense_sections",
            "artifact_links",
            "stream_complete",
        ]
    );
    for (index, chunk) in chunks[..6].iter().enumerate() {
        assert_eq!(chunk["chunk_index"], index);
        assert_eq!(chunk["continuation"]["has_more"], true);
        assert_eq!(chunk["continuation"]["estimated_remaining"], 5 - index);
        assert_eq!(chunk["continuation"]["next_chunk_available"], index < 5);
        let progress = &chunk["stream_metadata"]["progress"];
        assert_eq!(progress["current_step"], chunk["chunk_type"]);
        let steps = |key: &str| progress[key].as_array().map_or(0, Vec::len);
        assert_eq!(steps("completed_steps") + steps("remaining_steps"), 3);
    }
    assert_eq!(chunks[0]["payload"]["items"][0]["relevance_score"], 0.9);
    assert_eq!(chunks[2]["payload"]["items"][1]["exact_text"], "alpha beta");
    assert_eq!(chunks[3]["payload"]["items"][0]["verified"], true);
    let section = &chunks[4]["payload"]["items"][0];
    assert_eq!(
        section["exact_text"],
        "# One\n\nalpha beta\n\nalpha gamma\n\n"
    );
    assert_eq!(section["hits"], 2);
    assert_eq!(section["bytes"], 32);
    assert_eq!(section["hits_per_1000_bytes"], 62.5);
    assert_eq!(chunks[5]["payload"]["total_links"], 0);
    let end = &chunks[6];
    assert_eq!(end["summary"]["total_chunks"], 6);
    assert_eq!(end["summary"]["total_references"], 3);
    assert_eq!(end["summary"]["query"], "alpha zeta");
    assert_eq!(end["continuation"]["has_more"], false);
    assert_eq!(end["continuation"]["stream_closed"], true);
}

#[test]
fn every_chunk_says_what_it_adds_and_the_measured_fact_why() {
    let chunks = pull_all(stream(three(), 2, "t"), NOTE);
    let said = |index: usize| {
        let metadata: &Value = &chunks[index]["stream_metadata"];
        let text = |key: &str| metadata[key].as_str().expect("a text").to_owned();
        (text("what_changed"), text("why"))
    };
    assert_eq!(
        said(0),
        (
            "Added 2 references: 1 to 2 of 3.".to_owned(),
            "Ranked by fused score, here from 0.900000 to 0.500000; 2 of 2 contain words of the query (alpha). \
             10 passages match; the best 3 are disclosed. Words that no searched notebook contains: zeta."
                .to_owned()
        )
    );
    assert_eq!(said(3).0, "Added 1 passage: 3 to 3 of 3.");
    assert_eq!(
        said(4).1,
        "References are close together here: 2 hits in 32 bytes, 62.5 per 1,000."
    );
    assert_eq!(
        said(5).1,
        "Notebooks that contain references: 1. Artifacts that record one of them as a source: 0."
    );
}

#[test]
fn a_step_without_anything_says_so_in_one_chunk() {
    let chunks = pull_all(stream(found(Vec::new()), 10, "t"), NOTE);
    assert_eq!(types(&chunks).len(), 5);
    for (chunk, key) in chunks.iter().zip(["items", "items", "items", "links"]) {
        assert_eq!(chunk["payload"][key], Value::Array(Vec::new()), "{chunk}");
        let what = chunk["stream_metadata"]["what_changed"].as_str();
        assert!(what.is_some_and(|what| what.starts_with("Added no ")));
    }
    assert_eq!(chunks[4]["summary"]["total_chunks"], 4);
    assert_eq!(chunks[4]["summary"]["total_references"], 0);
}

#[test]
fn what_changed_since_the_search_is_reported_and_never_quoted() {
    let changed = NOTE.replace("alpha gamma", "alpha GAMMA");
    let chunks = pull_all(stream(three(), 10, "t"), &changed);
    let passage = &chunks[1]["payload"]["items"][2];
    assert_eq!(passage["verified"], false);
    assert_eq!(passage["exact_text"], Value::Null);
    assert_eq!(passage["gone"]["reason"], "changed");
    assert_eq!(chunks[0]["payload"]["items"][2]["verified"], false);
    let section = &chunks[2]["payload"]["items"][0];
    assert_eq!(section["exact_text"], Value::Null);
    assert_eq!(section["gone"]["reason"], "changed");
    let text = serde_json::to_string(&chunks).expect("JSON");
    assert!(!text.contains("gamma") && !text.contains("GAMMA"), "{text}");
}

#[test]
fn a_long_section_is_cut_with_a_mark() {
    let note = format!("# One\n\nalpha beta\n\nalpha gamma\n\n{}", "é".repeat(9000));
    let hits = vec![hit(&note, "alpha beta", 2), hit(&note, "alpha gamma", 1)];
    let storage = Memory::shared(&[("a", "n.md", &note)]);
    let beginning = StreamStart {
        token: "t".to_owned(),
        query: "alpha",
        collection: "a",
        expires_at: 300,
        page: 10,
        tier_before: None,
    };
    let stream =
        Stream::new(beginning, found(hits), storage.as_ref(), &|| false).expect("a stream");
    let chunks = pull_all(stream, &note);
    let section = &chunks[2]["payload"]["items"][0];
    assert_eq!(section["truncated"], true);
    let text = section["exact_text"].as_str().expect("a text");
    assert_eq!(text.chars().count(), 8000);
    assert!(note.starts_with(text));
}

#[test]
fn a_chunk_that_could_not_be_made_can_be_pulled_again() {
    let mut stream = stream(three(), 10, "t");
    let fails = RefCell::new(true);
    let reading = StreamReader {
        quote: &|id| match fails.replace(false) {
            true => Err(NotebookError::of_server("No.")),
            false => quoted(NOTE, id),
        },
        linked: &|_, _| Ok(LinkedArtifacts::default()),
        links: &|_, _| Ok(Vec::new()),
    };
    assert!(stream.pull(&reading).is_err());
    let chunk = serde_json::to_value(stream.pull(&reading).expect("a chunk")).expect("JSON");
    assert_eq!(chunk["chunk_index"], 0);
}

fn reason(streams: &mut Streams, token: &str, now: i64) -> Option<NotebookError> {
    streams.find(token, now).err()
}

fn invalid(reason: &'static str) -> Option<NotebookError> {
    Some(NotebookError::StreamTokenInvalid { reason })
}

#[test]
fn expired_finished_dropped_and_unknown_tokens_are_told_apart() {
    let mut streams = Streams::default();
    for token in ["a", "b"] {
        streams.begin(stream(three(), 10, token), 0);
    }
    assert_eq!(reason(&mut streams, "a", 299), None);
    assert_eq!(reason(&mut streams, "x", 0), invalid("unknown"));
    streams.end("a", StreamEnd::Finished);
    assert_eq!(reason(&mut streams, "a", 0), invalid("finished"));
    assert_eq!(
        reason(&mut streams, "b", 300),
        Some(NotebookError::StreamTokenExpired)
    );
    // Still so later, and the reported end does not change.
    streams.end_all(StreamEnd::CollectionChanged, 400);
    assert_eq!(
        reason(&mut streams, "b", 400),
        Some(NotebookError::StreamTokenExpired)
    );
    assert_eq!(reason(&mut streams, "a", 400), invalid("finished"));
    let mut late = stream(three(), 10, "c");
    late.expires_at = 700;
    streams.begin(late, 400);
    streams.end_all(StreamEnd::CollectionChanged, 400);
    assert_eq!(
        reason(&mut streams, "c", 400),
        invalid("collection_changed")
    );
}

#[test]
fn the_oldest_stream_makes_room_and_few_ended_ones_are_remembered() {
    let mut streams = Streams::default();
    for number in 0..=MOST_STREAMS {
        streams.begin(stream(three(), 10, &number.to_string()), 0);
    }
    assert_eq!(reason(&mut streams, "0", 0), invalid("displaced"));
    assert_eq!(reason(&mut streams, "1", 0), None);
    for number in 0..200 {
        streams.begin(stream(three(), 10, &format!("n{number}")), 0);
    }
    assert_eq!(streams.running.len(), MOST_STREAMS);
    assert_eq!(streams.ended.len(), MOST_ENDED);
    assert_eq!(reason(&mut streams, "0", 0), invalid("unknown"));
}

#[test]
fn why_names_what_was_not_searched_and_claims_nothing_of_it() {
    let mut found = three();
    let left_out = LeftOutNotebook {
        notebook: NotePath::parse_vault("big.md").expect("a path"),
        why: WhyLeftOut::TooLarge,
    };
    found.state.left_out = Some(Arc::new(vec![left_out]));
    let why = |found: VerifiedResults| {
        let chunks = pull_all(stream(found, 2, "t"), NOTE);
        let why = |chunk: &Value| chunk["stream_metadata"]["why"].as_str().map(str::to_owned);
        (
            why(&chunks[0]).expect("a text"),
            why(&chunks[1]).expect("a text"),
        )
    };
    let (first, second) = why(found);
    assert!(
        first.ends_with(
            " Words that no searched notebook contains: zeta. \
             Nothing is known about 1 notebook that could not be searched: big.md (too large)."
        ),
        "{first}"
    );
    assert!(!second.contains("big.md"), "it is said once: {second}");
    let mut unknown = found_nothing();
    unknown.state.left_out = None;
    let (first, _) = why(unknown);
    assert!(first.starts_with("The search found 0 passages in the notebooks that were searched."));
    assert!(
        first.ends_with("Words that no searched notebook contains: zeta."),
        "{first}"
    );
}

fn found_nothing() -> VerifiedResults {
    found(Vec::new())
}

#[test]
fn why_says_that_another_tier_answered_than_before() {
    let storage = Memory::shared(&[("a", "n.md", NOTE)]);
    for (before, is_said) in [
        (None, false),
        (Some(Tier::Static), false),
        (Some(Tier::Transformer), true),
    ] {
        let beginning = StreamStart {
            token: "t".to_owned(),
            query: "alpha",
            collection: "a",
            expires_at: 300,
            page: 10,
            tier_before: before,
        };
        let stream = Stream::new(beginning, three(), storage.as_ref(), &|| false);
        let chunks = pull_all(stream.expect("a stream"), NOTE);
        let why = chunks[0]["stream_metadata"]["why"]
            .as_str()
            .expect("a text");
        let said = why.contains("The tier changed from transformer to static");
        assert_eq!(said, is_said, "{why}");
    }
}

#[test]
fn stream_chunk_size_bounds_every_kind_of_chunk() {
    let storage = Memory::of(&[("a/n.md", NOTE)]);
    let files: Vec<String> = (0..7).map(|number| format!("{number}.md")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for file in &files {
        storage.write("a", &format!("_artifacts/s/{file}"), file.as_bytes());
    }
    sidecar(&storage, "a", "s", &["n.md"], &files);
    for page in [1, 2, 3, 10] {
        let beginning = StreamStart {
            token: "t".to_owned(),
            query: "alpha",
            collection: "a",
            expires_at: 300,
            page,
            tier_before: None,
        };
        let stream = Stream::new(beginning, three(), &storage, &|| false).expect("a stream");
        let announced = stream.chunks();
        let chunks = pull_all(stream, NOTE);
        assert_eq!(chunks.len(), announced + 1, "what was announced is exact");
        let mut links = Vec::new();
        for chunk in &chunks[..announced] {
            let entries = ["items", "links"].map(|key| chunk["payload"][key].as_array());
            let entries = entries.into_iter().flatten().next().expect("entries");
            assert!(entries.len() <= page, "{page}: {chunk}");
            if chunk["chunk_type"] == "artifact_links" {
                assert_eq!(chunk["payload"]["total_links"], 7);
                links.extend(entries.iter().map(|link| link["artifact_id"].clone()));
            }
        }
        let all: Vec<String> = files.iter().map(|file| format!("s/{file}")).collect();
        assert_eq!(links, all, "{page}: every link once, in order");
    }
}

#[test]
fn artifacts_whose_records_could_not_be_read_are_looked_for_again_when_they_are_due() {
    let mut stream = stream(three(), 10, "t");
    stream.linked = None;
    let ids: Vec<String> = (0..12).map(|number| format!("s/{number}.md")).collect();
    let fails = RefCell::new(true);
    let reading = StreamReader {
        quote: &|id| quoted(NOTE, id),
        linked: &|_, most| match fails.replace(false) {
            true => Err(NotebookError::of_server("No.")),
            false => Ok(LinkedArtifacts {
                ids: ids.iter().take(most).cloned().collect(),
                total: ids.len(),
                is_complete: true,
            }),
        },
        links: &|_, _| Ok(Vec::new()),
    };
    for _ in 0..3 {
        stream.pull(&reading).expect("a chunk");
    }
    assert!(stream.pull(&reading).is_err());
    let mut said = Vec::new();
    loop {
        let chunk = stream.pull(&reading).expect("a chunk");
        if chunk.is_completion() {
            break;
        }
        said.push(serde_json::to_value(chunk).expect("JSON"));
    }
    assert_eq!(said.len(), 2);
    let what = said[0]["stream_metadata"]["what_changed"].as_str();
    assert_eq!(
        what,
        Some(
            "Added 10 artifact links: 1 to 10 of 12. 10 of them were removed since the stream began."
        )
    );
}
