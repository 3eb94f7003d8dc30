//! Where all chunks are candidates, results equal those of the embedded engine.

use sectile_library::{StorageError, VectorSearch as _};
use sectile_markdown::{Digest, Span};

use super::fixture::{Embedded, Home, ask, load, notebooks, open, path, put, questions, update};

#[test]
fn answers_are_those_of_the_embedded_engine() {
    let home = Home::new();
    let postgres = home.prepared();
    let notebooks = notebooks(0..360);
    let state = load(&postgres, "docs", &notebooks);
    assert_eq!((state.notebooks, state.chunks, state.as_of), (120, 360, 42));
    assert!(state.is_exact);
    assert_eq!(postgres.state("docs").unwrap(), state);
    let embedded = Embedded::new(&notebooks);
    for question in questions() {
        embedded.compare(&postgres, "docs", &question);
    }
}

/// Words, names and phrases lead to all chunks that contain them, so the results agree where few chunks do.
#[test]
fn few_candidates_find_what_many_find() {
    let home = Home::new();
    let notebooks = notebooks(0..360);
    let all = home.prepared();
    load(&all, "docs", &notebooks);
    let mut settings = home.settings();
    settings.candidates = 60;
    let few = open(&settings);
    let (mut same, mut asked) = (0, 0);
    for question in questions() {
        let best = |postgres| {
            let found = ask(postgres, "docs", &question, 5).unwrap();
            let hits = found.hits.into_iter();
            hits.map(|hit| (hit.located, hit.fused)).collect::<Vec<_>>()
        };
        let (few, all) = (best(&few), best(&all));
        asked += all.len();
        same += all.iter().filter(|hit| few.contains(hit)).count();
    }
    assert!(same * 100 >= asked * 97, "{same} of {asked}");
}

#[test]
fn phrases_come_first_among_candidates() {
    let home = Home::new();
    let postgres = home.prepared();
    let mut notebooks = notebooks(0..60);
    let body = format!("{} wooden astrolabe", "filling words ".repeat(400));
    let text = super::fixture::Text::new("", &body);
    notebooks.insert("zz.md".to_owned(), vec![text]);
    load(&postgres, "docs", &notebooks);
    let mut settings = home.settings();
    settings.candidates = 1;
    let found = ask(
        &open(&settings),
        "docs",
        "\"wooden astrolabe\" day water",
        5,
    )
    .unwrap();
    assert_eq!(found.hits[0].located.notebook.as_str(), "zz.md");
}

#[test]
fn chunks_are_found_by_their_digests() {
    let home = Home::new();
    let postgres = home.prepared();
    let notebooks = notebooks(0..30);
    load(&postgres, "docs", &notebooks);
    let notebook = path(notebooks.keys().nth(3).unwrap());
    let texts = &notebooks[notebook.as_str()];
    let span = Span::new(10_000, 10_000 + texts[1].body.len());
    let digest = Digest::of(texts[1].body.as_bytes());
    let found = postgres.chunks_with("docs", &digest.to_string()).unwrap();
    let found = found.into_iter().next().unwrap();
    assert_eq!((&found.notebook, found.chunk.span), (&notebook, span));
    assert_eq!(
        found.path.first().map(String::as_str),
        Some(notebook.as_str())
    );
    let digits = digest.to_string();
    assert!(digits.starts_with(&found.chunk.digest.to_string()));
    for length in [12, 13, 64] {
        let with = postgres.chunks_with("docs", &digits[..length]).unwrap();
        assert_eq!(with, std::slice::from_ref(&found));
    }
    assert_eq!(postgres.chunks_with("docs", "x' OR true").unwrap(), []);
    assert!(!postgres.chunks_with("docs", "").unwrap().is_empty());
    let entries = postgres.entries("docs").unwrap();
    let expected: Vec<_> = notebooks
        .iter()
        .map(|(notebook, texts)| super::fixture::entry(notebook, texts))
        .collect();
    assert_eq!(entries, expected);
}

#[test]
fn a_collection_that_is_not_there() {
    let home = Home::new();
    let postgres = home.prepared();
    update(&postgres, "docs", true, vec![put("a.md", &[])]).unwrap();
    let missing = StorageError::CollectionNotFound;
    assert_eq!(postgres.state("other").unwrap_err(), missing);
    assert_eq!(ask(&postgres, "other", "a", 5).unwrap_err(), missing);
    assert_eq!(postgres.entries("other").unwrap_err(), missing);
    assert_eq!(postgres.chunks_with("other", "0").unwrap_err(), missing);
    assert_eq!(ask(&postgres, "docs", "a question", 5).unwrap().total, 0);
}
