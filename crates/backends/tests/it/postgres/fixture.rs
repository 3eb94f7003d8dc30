//! A database for each test, notebooks made from the test corpus, and the same notebooks in the embedded engine.

use std::collections::BTreeMap;

use sectile_backends::{BlockingRuntime, Postgres, PostgresSettings};
use sectile_library::{
    BackendState, Change, IndexedNotebook, LocatedHits, SearchQuery, StorageError,
    VectorIndexing as _, VectorQuery, VectorSearch as _, tiers::Models,
};
use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{
    Bytes, Chunk, Corpus, DocumentLocation, Embedder, Passage, Query, RecordBuilder, Segment,
    SegmentBuilder, StaticModel, VectorKey, VectorRecord,
};
use sectile_test_corpus::{Passage as Prose, Queries, passages};
use sectile_test_servers::Postgres as Server;

pub(crate) const ROLE: &str = "writer";
pub(crate) const PASSWORD: &str = "secret'word";
pub(crate) const DATABASE: &str = "library";

pub(crate) fn model() -> &'static StaticModel {
    sectile_retrieval::built_in().unwrap()
}

/// The models of both tiers.
pub(crate) fn models() -> Models {
    Models::built_in().unwrap()
}

/// A server with an empty database, where a role works that may only create a schema.
pub(crate) struct Home {
    pub(crate) server: Server,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::of(Server::start())
    }

    pub(crate) fn of(server: Server) -> Self {
        server.create_role(ROLE, PASSWORD);
        server.create_database(DATABASE);
        let home = Self { server };
        home.sql("GRANT CREATE ON DATABASE library TO writer; CREATE EXTENSION vector");
        home
    }

    /// Runs statements as the superuser, whom no policy binds.
    #[track_caller]
    pub(crate) fn sql(&self, statements: &str) -> String {
        self.server.sql(DATABASE, statements)
    }

    /// Returns settings with batches so small that most tests write several.
    pub(crate) fn settings(&self) -> PostgresSettings {
        PostgresSettings {
            batch: 50,
            ..PostgresSettings::new(self.server.url(ROLE, PASSWORD, DATABASE))
        }
    }

    /// Opens the index with all chunks as candidates, unless a test wants otherwise.
    pub(crate) fn open(&self) -> Postgres {
        let mut settings = self.settings();
        settings.candidates = 100_000;
        open(&settings)
    }

    /// Opens and prepares the index.
    #[track_caller]
    pub(crate) fn prepared(&self) -> Postgres {
        let postgres = self.open();
        postgres.prepare().unwrap();
        postgres
    }
}

#[track_caller]
pub(crate) fn open(settings: &PostgresSettings) -> Postgres {
    Postgres::new(settings, BlockingRuntime::new().unwrap(), models()).unwrap()
}

/// A chunk of a notebook before it is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) heading: String,
    pub(crate) body: String,
}

impl Text {
    pub(crate) fn new(heading: &str, body: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn passage<'a>(&'a self, title: &'a str) -> Passage<'a> {
        Passage {
            heading: &self.heading,
            trail: vec![title],
            body: &self.body,
        }
    }
}

/// Notebooks by their paths.
pub(crate) type Notebooks = BTreeMap<String, Vec<Text>>;

/// Returns every passage of the corpus as a notebook of one chunk, named by its number.
pub(crate) fn singles() -> Notebooks {
    let single = |one: &Prose| (format!("{}.md", one.id), vec![Text::new("", &one.text)]);
    passages().iter().map(single).collect()
}

/// Returns some passages as notebooks of three chunks each, with the first words of a passage as its heading.
pub(crate) fn notebooks(texts: std::ops::Range<usize>) -> Notebooks {
    let start = texts.start / 3;
    let of = |(number, texts): (usize, &[Prose])| {
        let text = |one: &Prose| {
            let heading: Vec<&str> = one.text.split(' ').take(4).collect();
            Text::new(&heading.join(" "), &one.text)
        };
        let folder = if number % 2 == 0 { "A folder" } else { "b" };
        let path = format!("{folder}/{:04}.md", number + start);
        (path, texts.iter().map(text).collect())
    };
    passages()[texts].chunks(3).enumerate().map(of).collect()
}

pub(crate) fn path(path: &str) -> NotePath {
    NotePath::parse_vault(path).unwrap()
}

fn chunk(number: usize, text: &Text) -> Chunk {
    Chunk {
        span: Span::new(number * 10_000, number * 10_000 + text.body.len()),
        digest: Digest::of(text.body.as_bytes()).into(),
        line: number + 1,
    }
}

pub(crate) fn entry(notebook: &str, texts: &[Text]) -> IndexedNotebook {
    IndexedNotebook {
        notebook: path(notebook),
        stamp: [1, 2, 3, u64::MAX],
        digest: Digest::of(format!("{texts:?}").as_bytes()),
    }
}

pub(crate) fn put(notebook: &str, texts: &[Text]) -> Change {
    let mut recorder = RecordBuilder::new(model());
    let record = |(number, text): (usize, &Text)| {
        let digest = Digest::of(text.body.as_bytes());
        recorder.record(&chunk(number, text), digest, &text.passage(notebook))
    };
    Change::Put {
        entry: entry(notebook, texts),
        records: texts.iter().enumerate().map(record).collect(),
    }
}

pub(crate) fn puts(notebooks: &Notebooks) -> Vec<Change> {
    let notebooks = notebooks.iter();
    notebooks
        .map(|(notebook, texts)| put(notebook, texts))
        .collect()
}

#[track_caller]
pub(crate) fn load(postgres: &Postgres, collection: &str, notebooks: &Notebooks) -> BackendState {
    update(postgres, collection, true, puts(notebooks)).unwrap()
}

pub(crate) fn update(
    postgres: &Postgres,
    collection: &str,
    is_new: bool,
    changes: Vec<Change>,
) -> Result<BackendState, StorageError> {
    postgres.update(collection, 42, is_new, &mut changes.into_iter().map(Ok))
}

/// Fills the second tier of a collection with these notebooks, all at once. Returns whether it answers.
#[track_caller]
pub(crate) fn fill(
    postgres: &Postgres,
    collection: &str,
    notebooks: &Notebooks,
    model: &dyn Embedder,
) -> bool {
    let mut filling = postgres.fill_tier(collection, model).unwrap();
    let gaps = filling.gaps().unwrap();
    let mut reader = model.reader();
    let mut vectors = Vec::new();
    for gap in &gaps.notebooks {
        let title = gap.notebook.as_str();
        for text in &notebooks[title] {
            let passage = text.passage(title);
            let vector = reader.embed(&passage.parts());
            let key = VectorKey::of(&passage.parts());
            vectors.push(VectorRecord::new(model, key, vector.as_deref()));
        }
    }
    filling.keep(&vectors).unwrap();
    filling.finish(&|| false).unwrap()
}

pub(crate) fn ask(
    postgres: &Postgres,
    collection: &str,
    text: &str,
    most: usize,
) -> Result<LocatedHits, StorageError> {
    postgres.search(&VectorQuery {
        collection,
        query: &SearchQuery::parse(text).unwrap(),
        most,
        stop: &|| false,
    })
}

/// Returns the notebooks that are found, best first.
#[track_caller]
pub(crate) fn found(postgres: &Postgres, collection: &str, text: &str) -> Vec<String> {
    let found = ask(postgres, collection, text, 10).unwrap();
    let hits = found.hits.iter();
    hits.map(|hit| hit.located.notebook.to_string()).collect()
}

/// The same notebooks in the embedded engine.
pub(crate) struct Embedded {
    corpus: Corpus,
    chunks: Vec<(NotePath, Chunk)>,
    model: &'static dyn Embedder,
}

impl Embedded {
    pub(crate) fn new(notebooks: &Notebooks) -> Self {
        Self::with(notebooks, model())
    }

    /// Embeds them with a model.
    pub(crate) fn with(notebooks: &Notebooks, model: &'static dyn Embedder) -> Self {
        let mut reader = model.reader();
        let mut builder = SegmentBuilder::new(Some((model, &mut *reader)));
        let mut chunks = Vec::new();
        for (notebook, texts) in notebooks {
            builder.document();
            for (number, text) in texts.iter().enumerate() {
                let chunk = chunk(number, text);
                builder.chunk(&chunk, &text.passage(notebook));
                chunks.push((path(notebook), chunk));
            }
        }
        let segment = Segment::open(&Bytes::new(builder.finish()), Some(model)).unwrap();
        let place = |document| DocumentLocation {
            segment: 0,
            document,
        };
        let places: Vec<DocumentLocation> = (0..notebooks.len()).map(place).collect();
        let corpus = Corpus::new(vec![segment], &places);
        Self {
            corpus,
            chunks,
            model,
        }
    }

    /// Compares both results for a question.
    #[track_caller]
    pub(crate) fn compare(&self, postgres: &Postgres, collection: &str, text: &str) {
        let query = Query::parse(text).unwrap();
        let mut reader = self.model.reader();
        let expected = self.corpus.search(&query, text, Some(&mut *reader), 30);
        let found = ask(postgres, collection, text, 30).unwrap();
        assert_eq!(found.total, expected.total, "{text}");
        assert_eq!(found.has_meaning, expected.has_meaning, "{text}");
        assert_eq!(found.state.model, self.model.name(), "{text}");
        assert_eq!(found.remarks, expected.remarks, "{text}");
        assert_eq!(found.hits.len(), expected.hits.len(), "{text}");
        for (found, expected) in found.hits.iter().zip(&expected.hits) {
            let (notebook, chunk) = &self.chunks[expected.chunk];
            assert_eq!(&found.located.notebook, notebook, "{text}");
            assert_eq!(&found.located.chunk, chunk, "{text}");
            assert_eq!(
                Some(&found.located.path),
                self.corpus.path(expected.chunk).as_ref()
            );
            let scores = (found.lexical, found.semantic, found.fused);
            let expected_scores = (expected.lexical, expected.semantic, expected.fused);
            assert_eq!(scores, expected_scores, "{text}");
            assert_eq!(found.matches, expected.matches, "{text}");
        }
    }

    /// Returns the numbers of the best notebooks.
    pub(crate) fn best(&self, text: &str) -> Vec<String> {
        let query = Query::parse(text).unwrap();
        let mut reader = self.model.reader();
        let found = self.corpus.search(&query, text, Some(&mut *reader), 10);
        let hits = found.hits.iter();
        hits.map(|hit| self.chunks[hit.chunk].0.to_string())
            .collect()
    }
}

/// Returns questions of every kind.
pub(crate) fn questions() -> Vec<String> {
    let mut questions: Vec<String> = [
        "",
        "the of and",
        "zzzzqqqq",
        "measuring measures measured",
        "calibratng impeler telescop",
        "bilge_pump.limit",
        "yard status --thing tide_gauge --since 30d",
        "\"main switch\" lever",
        "\"red button\" \"yellow line\"",
        "maxLoad40 kiln_hours_total",
        "How do I keep a gate from rusting through the winter?",
        "漢字 naïve",
        "'; DROP TABLE sectile.chunk; --",
        "day",
    ]
    .map(str::to_owned)
    .into();
    for kind in [Queries::Path, Queries::Question] {
        let queries = sectile_test_corpus::queries(kind).into_iter();
        questions.extend(queries.step_by(17).take(15).map(|query| query.text));
    }
    questions
}
