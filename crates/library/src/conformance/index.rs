//! The rules that all indexes outside this process share, checked against the embedded engine.

use std::{
    collections::BTreeMap,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
};

use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{
    Bytes, Chunk, Corpus, DocumentLocation, Embedder, Passage, Query, RecordBuilder, Segment,
    SegmentBuilder,
};

use crate::{
    query::SearchQuery,
    storage::{
        BackendState, Change, IndexedNotebook, LocatedHits, StorageError, VectorIndexing,
        VectorQuery,
    },
};

/// Names of collections that are easily mangled: quotes, path parts, other scripts, and names that differ in case alone.
const ODD_COLLECTIONS: &[&str] = &[
    ".",
    "'; DROP TABLE sectile.chunk; --",
    "../other",
    "a%2Fb",
    "日本語",
    "Docs",
    "docs ",
    "{\"$ne\":\"docs\"}",
];

/// Questions of every kind: nothing, unknown and misspelt words, names, phrases, other scripts.
const QUESTIONS: &[&str] = &[
    "",
    "the of and",
    "zzzzqqqq",
    "measuring measures measured",
    "calibratng impeler telescop",
    "bilge_pump.limit",
    "maxLoad40 kiln_hours_total",
    "\"main switch\" lever",
    "\"red button\" \"yellow line\"",
    "How do I keep a gate from rusting through the winter?",
    "漢字 naïve",
    "valve pressure",
    "who turns the lever of the pump",
    "gardens",
];

/// Words that the notebooks of the checks are made of.
const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "pump",
    "valve",
    "pressure",
    "lever",
    "main switch",
    "red button",
    "yellow line",
    "measured",
    "measuring",
    "calibrating",
    "impeller",
    "telescope",
    "bilge_pump.limit",
    "maxLoad40",
    "kiln_hours_total",
    "gate",
    "rust",
    "winter",
    "naïve",
    "漢字",
    "garden",
    "gardens",
    "turns",
    "who",
    "keeps",
    "water",
    "salt",
    "roof",
    "ladder",
    "copper",
    "harbour",
    "night",
    "letters",
];

/// The same empty index, opened several times. All have so many candidates that every chunk of the checks is one.
pub struct IndexHandles<'a> {
    /// The index under test.
    pub one: &'a dyn VectorIndexing,
    /// The index as another process has it open.
    pub other: &'a dyn VectorIndexing,
    /// The index as a program with another model has it open.
    pub foreign: &'a dyn VectorIndexing,
    /// The model of the first two.
    pub model: &'static dyn Embedder,
}

/// Checks an empty index against every shared rule.
///
/// # Panics
/// When the index breaks a rule.
pub fn check_index(handles: &IndexHandles<'_>) {
    let check = IndexCheck(handles);
    check.nothing();
    check.answers_of_the_embedded_engine();
    check.changes();
    check.collections_apart();
    check.failed_updates();
    check.one_writer();
    check.old_or_new();
    check.other_rules();
    check.removal();
}

/// A passage of a notebook in the checks.
#[derive(Clone, Debug)]
struct SamplePassage {
    heading: String,
    body: String,
}

/// Notebooks by their paths.
type Notebooks = BTreeMap<String, Vec<SamplePassage>>;

/// Returns notebooks of three passages each, made of [`WORDS`] by a fixed rule from these numbers.
fn notebooks(numbers: std::ops::Range<u64>) -> Notebooks {
    let notebook = |number: u64| {
        let folder = if number.is_multiple_of(2) {
            "A folder"
        } else {
            "b"
        };
        let texts = (0..3).map(|place| text(number * 3 + place)).collect();
        (format!("{folder}/é {number:04}.md"), texts)
    };
    numbers.map(notebook).collect()
}

fn text(seed: u64) -> SamplePassage {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(state >> 33).unwrap_or_default() % WORDS.len();
        WORDS[at]
    };
    let heading = [word(), word()].join(" ");
    let body: Vec<&str> = (0..25).map(|_| word()).collect();
    SamplePassage {
        heading,
        body: format!("{} number{seed}.", body.join(" ")),
    }
}

fn passage<'a>(text: &'a SamplePassage, title: &'a str) -> Passage<'a> {
    Passage {
        heading: &text.heading,
        trail: vec![title],
        body: &text.body,
    }
}

fn chunk(number: usize, text: &SamplePassage) -> Chunk {
    Chunk {
        span: Span::new(number * 10_000, number * 10_000 + text.body.len()),
        digest: Digest::of(text.body.as_bytes()).into(),
        line: number + 1,
    }
}

fn path(path: &str) -> NotePath {
    match NotePath::parse_vault(path) {
        Ok(path) => path,
        Err(error) => panic!("{path:?} is not a path: {error:?}"),
    }
}

fn entry(notebook: &str, texts: &[SamplePassage]) -> IndexedNotebook {
    IndexedNotebook {
        notebook: path(notebook),
        stamp: [1, 2, 3, u64::MAX],
        digest: Digest::of(format!("{texts:?}").as_bytes()),
    }
}

/// The notebooks of a check in the embedded engine.
struct EmbeddedAnswers {
    corpus: Corpus,
    chunks: Vec<(NotePath, Chunk)>,
    model: &'static dyn Embedder,
}

impl EmbeddedAnswers {
    fn new(notebooks: &Notebooks, model: &'static dyn Embedder) -> Self {
        let mut reader = model.reader();
        let mut builder = SegmentBuilder::new(Some((model, &mut *reader)));
        let mut chunks = Vec::new();
        for (notebook, texts) in notebooks {
            builder.document();
            for (number, text) in texts.iter().enumerate() {
                let chunk = chunk(number, text);
                builder.chunk(&chunk, &passage(text, notebook));
                chunks.push((path(notebook), chunk));
            }
        }
        let segment = Segment::open(&Bytes::new(builder.finish()), Some(model));
        let segment = match segment {
            Ok(segment) => segment,
            Err(error) => panic!("the embedded index cannot be read: {error}"),
        };
        let place = |document| DocumentLocation {
            segment: 0,
            document,
        };
        let places: Vec<DocumentLocation> = (0..notebooks.len()).map(place).collect();
        Self {
            corpus: Corpus::new(vec![segment], &places),
            chunks,
            model,
        }
    }

    /// Returns the first difference between this engine's answer to a question and `found`.
    fn difference(&self, found: &LocatedHits, text: &str) -> Option<String> {
        let query = Query::parse(text).ok()?;
        let mut reader = self.model.reader();
        let expected = self.corpus.search(&query, text, Some(&mut *reader), 30);
        let head = (found.total, found.has_meaning, found.hits.len());
        let expected_head = (expected.total, expected.has_meaning, expected.hits.len());
        if head != expected_head {
            return Some(format!("{text:?}: {head:?} instead of {expected_head:?}"));
        }
        if found.remarks != expected.remarks {
            return Some(format!("{text:?}: {:?}", found.remarks));
        }
        found
            .hits
            .iter()
            .zip(&expected.hits)
            .find_map(|(found, expected)| {
                let (notebook, chunk) = &self.chunks[expected.chunk];
                let is_same = found.located.notebook == *notebook
                    && found.located.chunk == *chunk
                    && Some(&found.located.path) == self.corpus.path(expected.chunk).as_ref()
                    && (found.lexical, found.semantic, found.fused)
                        == (expected.lexical, expected.semantic, expected.fused)
                    && found.matches == expected.matches;
                (!is_same).then(|| format!("{text:?}: {found:?} instead of {notebook} {chunk:?}"))
            })
    }
}

/// The checks of one index.
struct IndexCheck<'a>(&'a IndexHandles<'a>);

impl IndexCheck<'_> {
    fn put(&self, notebook: &str, texts: &[SamplePassage]) -> Change {
        let mut recorder = RecordBuilder::new(self.0.model);
        let record = |(number, text): (usize, &SamplePassage)| {
            let digest = Digest::of(text.body.as_bytes());
            recorder.record(&chunk(number, text), digest, &passage(text, notebook))
        };
        Change::Put {
            entry: entry(notebook, texts),
            records: texts.iter().enumerate().map(record).collect(),
        }
    }

    fn puts(&self, notebooks: &Notebooks) -> Vec<Change> {
        let notebooks = notebooks.iter();
        notebooks
            .map(|(notebook, texts)| self.put(notebook, texts))
            .collect()
    }

    #[track_caller]
    fn update(&self, collection: &str, is_new: bool, changes: Vec<Change>) -> BackendState {
        let mut changes = changes.into_iter().map(Ok);
        match self.0.one.update(collection, 42, is_new, &mut changes) {
            Ok(state) => state,
            Err(error) => panic!("{collection:?} cannot be updated: {error}"),
        }
    }

    #[track_caller]
    fn agrees(&self, collection: &str, notebooks: &Notebooks) {
        let embedded = EmbeddedAnswers::new(notebooks, self.0.model);
        for index in [self.0.one, self.0.other] {
            for question in QUESTIONS {
                let found = match ask(index, collection, question) {
                    Ok(found) => found,
                    Err(error) => panic!("{question:?} has no answer: {error}"),
                };
                assert_eq!(embedded.difference(&found, question), None);
                assert_eq!(found.state.unseen, 0, "{question:?}");
            }
            let state = index.state(collection).ok();
            let counts = state.map(|state| (state.notebooks, state.chunks, state.is_exact));
            let chunks = notebooks.values().map(Vec::len).sum::<usize>();
            let expected = (notebooks.len() as u64, chunks as u64, true);
            assert_eq!(counts, Some(expected));
            let entries = index.entries(collection);
            let mut expected: Vec<IndexedNotebook> =
                notebooks.iter().map(|(one, of)| entry(one, of)).collect();
            expected.sort_by(|one, other| one.notebook.cmp(&other.notebook));
            assert_eq!(entries, Ok(expected));
        }
    }

    /// There is nothing in an empty index, and it does not need anything to say so.
    fn nothing(&self) {
        for index in [self.0.one, self.0.other] {
            assert_eq!(index.prepare(), Ok(()));
            assert_eq!(index.prepare(), Ok(()), "again");
            assert_eq!(index.ready(), Ok(()));
            let missing = Some(StorageError::CollectionNotFound);
            assert_eq!(index.state("docs").err(), missing);
            assert_eq!(index.entries("docs").err(), missing);
            assert_eq!(index.chunks_with("docs", "0123456789abcdef").err(), missing);
            assert_eq!(ask(index, "docs", "pump").err(), missing);
            assert_eq!(index.remove("docs"), Ok(()));
        }
        let state = self.update("docs", true, Vec::new());
        assert_eq!((state.notebooks, state.chunks, state.as_of), (0, 0, 42));
        self.agrees("docs", &Notebooks::new());
    }

    fn answers_of_the_embedded_engine(&self) {
        let all = notebooks(0..60);
        let state = self.update("docs", true, self.puts(&all));
        assert_eq!((state.notebooks, state.chunks, state.as_of), (60, 180, 42));
        self.agrees("docs", &all);
        self.chunks_by_digest("docs", &all);
    }

    #[track_caller]
    fn chunks_by_digest(&self, collection: &str, notebooks: &Notebooks) {
        for (notebook, texts) in notebooks.iter().step_by(7) {
            let digest = Digest::of(texts[1].body.as_bytes()).to_string();
            for digits in [&digest[..16], digest.as_str()] {
                let found = self.0.other.chunks_with(collection, digits);
                let found = found.unwrap_or_else(|error| panic!("{digits}: {error}"));
                let [found] = found.as_slice() else {
                    panic!("{digits}: {found:?}");
                };
                assert_eq!(found.notebook.as_str(), notebook);
                assert_eq!(found.chunk, chunk(1, &texts[1]));
                assert_eq!(found.notebook_digest, entry(notebook, texts).digest);
                let expected = [notebook.clone(), texts[1].heading.clone()];
                assert_eq!(found.path, expected);
            }
        }
        for digits in ["ffffffffffffffff", "'; DROP", "xyz", "FFFF", "é"] {
            let found = self.0.other.chunks_with(collection, digits);
            assert_eq!(found, Ok(Vec::new()), "{digits}");
        }
    }

    /// Notebooks are added, replaced, touched and removed, some of them twice in one update.
    fn changes(&self) {
        let mut all = notebooks(0..60);
        let names: Vec<String> = all.keys().cloned().collect();
        let shorter = vec![text(9_001)];
        let longer: Vec<SamplePassage> = (9_100..9_105).map(text).collect();
        let mut touched = entry(&names[3], &all[&names[3]]);
        touched.stamp = [9; 4];
        let changes = vec![
            self.put(&names[0], &shorter),
            self.put(&names[1], &shorter),
            self.put(&names[1], &longer),
            self.put(&names[2], &[]),
            Change::Touch(touched.clone()),
            Change::Remove(path(&names[4])),
            Change::Remove(path("never was.md")),
            self.put(&names[5], &longer),
            Change::Remove(path(&names[5])),
            Change::Remove(path(&names[6])),
            self.put(&names[6], &longer),
            self.put("new.md", &longer),
        ];
        self.update("docs", false, changes);
        let entries = self.0.other.entries("docs").unwrap_or_default();
        let known = entries.iter().find(|one| one.notebook == touched.notebook);
        assert_eq!(known, Some(&touched));
        all.insert(names[0].clone(), shorter);
        all.insert(names[1].clone(), longer.clone());
        all.insert(names[2].clone(), Vec::new());
        all.remove(&names[4]);
        all.remove(&names[5]);
        all.insert(names[6].clone(), longer.clone());
        all.insert("new.md".to_owned(), longer);
        self.update("docs", false, vec![self.put(&names[3], &all[&names[3]])]);
        self.agrees("docs", &all);
        // Nothing of what was there before is left.
        let few = notebooks(57..63);
        self.update("docs", true, self.puts(&few));
        self.agrees("docs", &few);
        self.chunks_by_digest("docs", &few);
    }

    fn collections_apart(&self) {
        let docs = notebooks(57..63);
        for (number, name) in (100..).zip(ODD_COLLECTIONS) {
            let missing = Some(StorageError::CollectionNotFound);
            assert_eq!(self.0.other.state(name).err(), missing, "{name:?}");
            self.update(name, true, self.puts(&notebooks(number..number + 2)));
        }
        for (number, name) in (100..).zip(ODD_COLLECTIONS) {
            self.agrees(name, &notebooks(number..number + 2));
        }
        self.agrees("docs", &docs);
        for name in ODD_COLLECTIONS {
            assert_eq!(self.0.other.remove(name), Ok(()), "{name:?}");
            let missing = Some(StorageError::CollectionNotFound);
            assert_eq!(self.0.one.state(name).err(), missing, "{name:?}");
        }
        self.agrees("docs", &docs);
    }

    fn failed_updates(&self) {
        let docs = notebooks(57..63);
        let error = StorageError::failed("It broke.");
        for is_new in [false, true] {
            let many = self.puts(&notebooks(63..180)).into_iter().map(Ok);
            let mut changes = many.chain([Err(error.clone())]);
            let failed = self.0.one.update("docs", 43, is_new, &mut changes);
            assert_eq!(failed.err().as_ref(), Some(&error));
            self.agrees("docs", &docs);
        }
        let unknown = self
            .0
            .one
            .update("nowhere", 43, true, &mut [Err(error)].into_iter());
        assert!(unknown.is_err());
        let missing = Some(StorageError::CollectionNotFound);
        assert_eq!(self.0.other.state("nowhere").err(), missing);
        // The next update is not confused by what the others left behind.
        self.update("docs", false, self.puts(&notebooks(63..66)));
        self.agrees("docs", &notebooks(57..66));
        self.update("docs", true, self.puts(&docs));
        self.agrees("docs", &docs);
    }

    fn one_writer(&self) {
        let (begun, tried) = (Barrier::new(2), Barrier::new(2));
        let all = notebooks(57..400);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                let mut changes = self.puts(&all).into_iter().enumerate().map(|(at, change)| {
                    if at == 300 {
                        begun.wait();
                        tried.wait();
                    }
                    Ok(change)
                });
                self.0.one.update("docs", 43, false, &mut changes)
            });
            begun.wait();
            let changes = vec![Ok(self.put("x.md", &[]))];
            let second = self
                .0
                .other
                .update("docs", 44, false, &mut changes.into_iter());
            let state = self.0.other.state("docs").map(|state| state.notebooks);
            let changes = vec![Ok(self.put("x.md", &[]))];
            let elsewhere = self
                .0
                .other
                .update("more", 44, true, &mut changes.into_iter());
            tried.wait();
            let first = first.join();
            let message = second.map_err(|error| error.to_string());
            let message = message.err().unwrap_or_default();
            assert!(
                message.starts_with("Another process is writing"),
                "{message}"
            );
            assert_eq!(state, Ok(6), "before the first writer has finished");
            assert!(elsewhere.is_ok(), "{elsewhere:?}");
            assert!(matches!(first, Ok(Ok(_))), "{first:?}");
        });
        self.agrees("docs", &all);
        assert_eq!(self.0.one.remove("more"), Ok(()));
    }

    /// Readers see the state before an update or the one after it.
    fn old_or_new(&self) {
        const QUESTION: &str = "valve pressure";
        let states = [notebooks(0..20), notebooks(20..50)];
        let embedded = [
            EmbeddedAnswers::new(&states[0], self.0.model),
            EmbeddedAnswers::new(&states[1], self.0.model),
        ];
        self.update("docs", true, self.puts(&states[0]));
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut seen = 0;
                while !is_done.load(Ordering::Relaxed) {
                    let found = match ask(self.0.other, "docs", QUESTION) {
                        Ok(found) => found,
                        Err(error) => return Err(error.to_string()),
                    };
                    let of = |one: &EmbeddedAnswers| one.difference(&found, QUESTION);
                    if let (Some(old), Some(new)) = (of(&embedded[0]), of(&embedded[1])) {
                        return Err(format!("neither old ({old}) nor new ({new})"));
                    }
                    seen += 1;
                }
                Ok(seen)
            });
            for round in 0..6 {
                let (from, to) = (&states[round % 2], &states[(round + 1) % 2]);
                let mut changes = self.puts(to);
                if round % 3 != 0 {
                    let gone = from.keys().filter(|one| !to.contains_key(*one));
                    changes.extend(gone.map(|one| Change::Remove(path(one))));
                }
                if !reader.is_finished() {
                    self.update("docs", round % 3 == 0, changes);
                }
            }
            is_done.store(true, Ordering::Relaxed);
            match reader.join() {
                Ok(Ok(seen)) => assert!(seen > 0),
                Ok(Err(problem)) => panic!("{problem}"),
                Err(_) => panic!("the reader panicked"),
            }
        });
    }

    /// An index by another model is neither searched nor added to, but can be rebuilt.
    fn other_rules(&self) {
        let all = notebooks(0..6);
        self.update("docs", true, self.puts(&all));
        let foreign = self.0.foreign;
        let is_refused = |error: Option<StorageError>| match error {
            Some(StorageError::OtherRules { message }) => message.contains("rebuild"),
            _ => false,
        };
        assert!(is_refused(foreign.state("docs").err()));
        assert!(is_refused(foreign.entries("docs").err()));
        assert!(is_refused(ask(foreign, "docs", "pump").err()));
        let added = foreign.update("docs", 43, false, &mut std::iter::empty());
        assert!(is_refused(added.err()));
        self.agrees("docs", &all);
        let rebuilt = foreign.update("docs", 43, true, &mut std::iter::empty());
        assert!(rebuilt.is_ok(), "{rebuilt:?}");
        assert!(is_refused(self.0.one.state("docs").err()));
        self.update("docs", true, self.puts(&all));
        self.agrees("docs", &all);
    }

    fn removal(&self) {
        for _ in 0..2 {
            assert_eq!(self.0.one.remove("docs"), Ok(()));
            let missing = Some(StorageError::CollectionNotFound);
            assert_eq!(self.0.other.state("docs").err(), missing);
            assert_eq!(ask(self.0.other, "docs", "pump").err(), missing);
        }
        let few = notebooks(3..5);
        self.update("docs", true, self.puts(&few));
        self.agrees("docs", &few);
    }
}

fn ask(
    index: &dyn VectorIndexing,
    collection: &str,
    text: &str,
) -> Result<LocatedHits, StorageError> {
    let query = match SearchQuery::parse(text) {
        Ok(query) => query,
        Err(error) => panic!("{text:?} is not a query: {error}"),
    };
    index.search(&VectorQuery {
        collection,
        query: &query,
        most: 30,
        stop: &|| false,
    })
}
