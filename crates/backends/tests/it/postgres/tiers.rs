//! The second tier: filled once, whatever happens meanwhile, and used as a whole when it is complete.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use sectile_backends::{BlockingRuntime, Postgres};
use sectile_library::{
    BackendState, Change, LibraryError, VectorIndexing as _, VectorSearch as _,
    filling::{FillJob, FillProgress, FillReport, fill_database},
    indexing::{IndexReport, Job},
    publishing::publish,
    testing::Memory,
    tiers::{Models, Tier},
};
use sectile_markdown::Digest;
use sectile_retrieval::{Embedder, EmbeddingReader, MeaningWeight, Vector};

use super::fixture::{
    DATABASE, Embedded, Home, Notebooks, PASSWORD, Text, ask, fill, found, load, model, models,
    notebooks, open, path, put, puts, questions, singles, update,
};

/// The number of vectors in the database.
const KEPT: &str = "SELECT count(*) FROM sectile.meaning";

/// A quick model of the second tier that counts how often it reads a passage.
struct CountingModel {
    name: &'static str,
    seen: Mutex<BTreeMap<String, usize>>,
    /// How long a passage takes.
    pause: Duration,
}

impl CountingModel {
    fn new(name: &'static str, pause: Duration) -> &'static Self {
        Box::leak(Box::new(Self {
            name,
            seen: Mutex::default(),
            pause,
        }))
    }

    fn quick(name: &'static str) -> &'static Self {
        Self::new(name, Duration::ZERO)
    }

    /// The number of passages read, and how often the one was that was read most.
    fn counts(&self) -> (usize, usize) {
        let seen = self.seen.lock().unwrap();
        (seen.len(), seen.values().copied().max().unwrap_or_default())
    }
}

impl Embedder for CountingModel {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> Digest {
        Digest::of(self.name.as_bytes())
    }

    fn dimensions(&self) -> usize {
        384
    }

    fn weight(&self) -> MeaningWeight {
        MeaningWeight {
            most: 500_000,
            discount: 200_000,
        }
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        Box::new(CountingReader {
            model: self,
            reader: model().reader(),
        })
    }
}

struct CountingReader<'m> {
    model: &'m CountingModel,
    reader: Box<dyn EmbeddingReader + 'm>,
}

impl EmbeddingReader for CountingReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.model
    }

    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        // Questions are given in one part.
        if parts.len() > 1 {
            thread::sleep(self.model.pause);
            let mut seen = self.model.seen.lock().unwrap();
            *seen.entry(parts.join("\n")).or_default() += 1;
        }
        let vector = self.reader.embed(parts)?;
        // Another direction for each model, and for the first tier.
        let turn = self.model.name.len() * 16;
        Some([&vector[turn..], &vector[..turn], &vector[..128]].concat())
    }
}

fn notebook(number: usize) -> String {
    format!(
        "# Apples {number}\n\nApples of tree {number} are red.\n\n## Storage\n\nKeep number {number} cool and dry.\n\n\
         ## Always\n\nThe same everywhere.\n"
    )
}

/// A collection of real notebooks with an index in a database.
struct Case {
    storage: Memory,
    home: Home,
    postgres: Postgres,
    second: &'static CountingModel,
}

impl Case {
    /// This many notebooks of three passages, and two that are alike but for their names.
    fn new(notebooks: usize, second: &'static CountingModel) -> Self {
        let storage = Memory::default();
        for number in 0..notebooks {
            let name = format!("n{number:03}.md");
            storage.write("lab", &name, notebook(number).as_bytes());
        }
        for folder in ["x", "y"] {
            let name = format!("{folder}/same.md");
            storage.write("lab", &name, b"# Boats\n\nBoats float on water.\n");
        }
        let home = Home::new();
        let postgres = with(&home, second);
        let case = Self {
            storage,
            home,
            postgres,
            second,
        };
        case.index();
        case
    }

    fn index(&self) -> IndexReport {
        let listed = self.storage.notebooks("lab", &|| false).unwrap();
        let job = Job {
            storage: &self.storage,
            collection: "lab",
            embedder: model(),
            stop: &|| false,
            progress: &|| {},
        };
        publish(job, &self.postgres, &listed, || 7).unwrap()
    }

    fn try_fill(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        progress: &dyn Fn(FillProgress),
    ) -> Result<FillReport, LibraryError> {
        let job = FillJob {
            storage: &self.storage,
            collection: "lab",
            first: model(),
            second: self.second,
            shared: None,
            threads: 2,
            stop,
            progress,
        };
        fill_database(job, &self.postgres)
    }

    #[track_caller]
    fn fill(&self) -> FillReport {
        let within = |progress: FillProgress| assert!(progress.done <= progress.all);
        self.try_fill(&|| false, &within).unwrap()
    }

    fn state(&self) -> BackendState {
        self.postgres.state("lab").unwrap()
    }

    /// The number of vectors in the database.
    fn kept(&self) -> usize {
        self.home.sql(KEPT).parse().unwrap()
    }
}

fn with(home: &Home, second: &'static CountingModel) -> Postgres {
    let models = Models {
        first: model(),
        second: Some(second),
    };
    let mut settings = home.settings();
    settings.candidates = 100_000;
    Postgres::new(&settings, BlockingRuntime::new().unwrap(), models).unwrap()
}

fn complete(passages: usize, embedded: usize) -> FillReport {
    FillReport {
        passages,
        filled: passages,
        embedded,
        cached: passages - embedded,
        changed: 0,
        complete: true,
    }
}

#[test]
fn answers_of_the_second_tier_are_those_of_the_embedded_engine() {
    let home = Home::new();
    let postgres = home.prepared();
    let notebooks = notebooks(0..120);
    load(&postgres, "docs", &notebooks);
    let second = models().second.unwrap();
    assert!(fill(&postgres, "docs", &notebooks, second));
    let state = postgres.state("docs").unwrap();
    assert_eq!((state.tier, state.chunks), (Tier::Transformer, 120));
    let embedded = Embedded::with(&notebooks, second);
    for question in questions() {
        embedded.compare(&postgres, "docs", &question);
    }
    // With few candidates, most of the best ones are found.
    let mut settings = home.settings();
    settings.candidates = 30;
    let few = open(&settings);
    let (mut same, mut asked) = (0, 0);
    for question in questions() {
        let found = found(&few, "docs", &question);
        let best = embedded.best(&question);
        asked += best.len();
        same += best.iter().filter(|one| found.contains(one)).count();
    }
    assert!(same * 100 >= asked * 90, "{same} of {asked}");
}

#[test]
fn a_tier_is_filled_once_and_answers_when_it_is_complete() {
    let second = CountingModel::quick("quick");
    let case = Case::new(40, second);
    assert_eq!(
        (case.state().tier, case.state().chunks),
        (Tier::Static, 122)
    );
    // It is stopped again and again.
    for wanted in [0, 1, 20, 40, 80] {
        let stop = || second.counts().0 >= wanted;
        let report = case.try_fill(&stop, &|_| {}).unwrap();
        assert!(!report.complete && report.filled < 122, "{report:?}");
        assert_eq!(case.kept(), second.counts().0, "what was embedded is kept");
        assert_eq!(
            (case.state().tier, case.state().model),
            (Tier::Static, model().name())
        );
    }
    let before = second.counts().0;
    assert!(before > 0);
    let report = case.fill();
    assert!(report.complete, "{report:?}");
    let (all, most) = second.counts();
    // Two notebooks of the same name have the same passage.
    assert_eq!((all, most, case.kept()), (121, 1, 121));
    assert_eq!(report, complete(122, all - before));
    assert_eq!(
        (case.state().tier, case.state().model),
        (Tier::Transformer, "quick")
    );
    assert_eq!(case.fill(), complete(122, 0));
    let hits = ask(&case.postgres, "lab", "red apples", 5).unwrap();
    assert_eq!(hits.state, case.state());
    assert_eq!(hits.hits.len(), 5);
}

#[test]
fn after_an_update_the_first_tier_answers_until_the_second_is_complete_again() {
    let second = CountingModel::quick("quick");
    let case = Case::new(10, second);
    assert!(case.fill().complete);
    let embedded = second.counts().0;
    // A new passage, in a notebook that has others.
    let text = notebook(3) + "\n## More\n\nSomething new.\n";
    case.storage.write("lab", "n003.md", text.as_bytes());
    case.index();
    assert_eq!(case.state().tier, Tier::Static);
    assert_eq!(case.fill(), complete(33, 1));
    assert_eq!(case.state().tier, Tier::Transformer);
    // Fewer passages need nothing, and the vectors of those that are gone are removed next time.
    case.storage.remove("lab", "n004.md");
    case.index();
    assert_eq!(case.state().tier, Tier::Transformer);
    assert_eq!(case.kept(), embedded + 1);
    assert_eq!(case.fill(), complete(30, 0));
    assert_eq!(case.kept(), embedded + 1 - 3);
    // What has changed since it was indexed is counted, and the rest is done.
    case.storage.write("lab", "n005.md", b"# One\n\nNew.\n");
    case.storage.write("lab", "n006.md", b"# Two\n\nNew.\n");
    case.index();
    case.storage.write("lab", "n005.md", b"# One\n\nNewer.\n");
    let report = case.fill();
    assert_eq!(
        (report.changed, report.complete, report.embedded),
        (1, false, 1)
    );
    assert_eq!((report.filled, report.passages), (25, 26));
    case.index();
    assert!(case.fill().complete);
    // A collection that is built again keeps the vectors, and the tier if they are all there.
    case.home
        .sql("UPDATE sectile.collection SET rules = 'of another version'");
    let report = case.index();
    assert!(report.remade.is_some());
    assert_eq!(case.state().tier, Tier::Transformer);
    assert_eq!(second.counts().1, 1, "nothing is embedded twice");
    assert_eq!(case.fill(), complete(26, 0));
    case.postgres.remove("lab").unwrap();
    assert_eq!(case.kept(), 0);
}

#[test]
fn a_tier_of_another_model_counts_as_missing_and_answers_those_who_have_it() {
    let second = CountingModel::quick("quick");
    let mut case = Case::new(10, second);
    assert!(case.fill().complete);
    let before = with(&case.home, second);
    case.second = CountingModel::quick("other");
    case.postgres = with(&case.home, case.second);
    assert_eq!(case.state().tier, Tier::Static);
    // A program with the old model goes on with it until the new tier is complete.
    let is_half = || case.second.counts().0 > 8;
    assert!(!case.try_fill(&is_half, &|_| {}).unwrap().complete);
    assert_eq!(case.state().tier, Tier::Static);
    assert_eq!(before.state("lab").unwrap().model, "quick");
    assert_eq!(ask(&before, "lab", "apples", 5).unwrap().hits.len(), 5);
    assert!(case.fill().complete);
    assert_eq!(
        (case.state().tier, case.state().model),
        (Tier::Transformer, "other")
    );
    assert_eq!(before.state("lab").unwrap().tier, Tier::Static);
    assert_eq!(ask(&before, "lab", "apples", 5).unwrap().hits.len(), 5);
    assert_eq!(case.second.counts(), (31, 1));
    assert_eq!(case.kept(), 31);
}

#[test]
fn a_database_that_is_killed_loses_only_what_was_not_committed() {
    let second = CountingModel::new("slow", Duration::from_millis(8));
    let mut case = Case::new(300, second);
    for _ in 0..2 {
        let before = case.kept();
        let server = RefCell::new(&mut case.home.server);
        // What another connection saw when the server was killed, and what this run had embedded by then.
        let killed: Cell<Option<(usize, usize)>> = Cell::new(None);
        let job = FillJob {
            storage: &case.storage,
            collection: "lab",
            first: model(),
            second,
            shared: None,
            threads: 2,
            stop: &|| false,
            progress: &|progress| {
                if killed.get().is_some() {
                    return;
                }
                let seen = server.borrow().sql(DATABASE, KEPT).parse().unwrap();
                if seen > before {
                    server.borrow_mut().kill();
                    killed.set(Some((seen, progress.embedded)));
                }
            },
        };
        let error = fill_database(job, &case.postgres).unwrap_err().to_string();
        assert!(error.contains("PostgreSQL"), "{error}");
        let (seen, embedded) = killed.get().unwrap();
        case.home.server.start_again();
        assert_eq!(case.state().tier, Tier::Static);
        assert_eq!(case.kept(), seen, "what was committed, and nothing else");
        assert!(embedded > seen - before, "all of {embedded} were committed");
    }
    let before = case.kept();
    assert_eq!(case.fill(), complete(902, 901 - before));
    assert_eq!((case.state().tier, case.kept()), (Tier::Transformer, 901));
    let (all, most) = second.counts();
    assert!(all == 901 && most <= 3, "{all}, {most}");
}

#[test]
fn readers_see_one_tier_or_the_other_as_a_whole() {
    let second = CountingModel::quick("quick");
    let home = Home::new();
    home.prepared();
    let states = [notebooks(0..60), notebooks(30..150)];
    let postgres = with(&home, second);
    load(&postgres, "docs", &states[0]);
    let text = "water turns";
    let expected: Vec<(usize, &str, Vec<String>)> = states
        .iter()
        .flat_map(|state| {
            let of = |model: &'static dyn Embedder| {
                let best = Embedded::with(state, model).best(text);
                (state.values().map(Vec::len).sum(), model.name(), best)
            };
            [of(model()), of(second)]
        })
        .collect();
    let is_done = AtomicBool::new(false);
    let seen = Mutex::new(BTreeMap::<usize, usize>::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reader = with(&home, second);
                while !is_done.load(Ordering::Relaxed) {
                    let found = ask(&reader, "docs", text, 10).unwrap();
                    let hits = found.hits.iter();
                    let best = hits.map(|hit| hit.located.notebook.to_string()).collect();
                    let chunks = usize::try_from(found.state.chunks).unwrap();
                    let answer = (chunks, found.state.model, best);
                    let at = expected.iter().position(|one| *one == answer);
                    let at = at.unwrap_or_else(|| panic!("{answer:?}"));
                    *seen.lock().unwrap().entry(at).or_default() += 1;
                }
            });
        }
        let saw = |wanted: usize| {
            let is_seen = (0..500).any(|_| {
                thread::sleep(Duration::from_millis(10));
                seen.lock().unwrap().contains_key(&wanted)
            });
            assert!(is_seen, "{wanted}");
        };
        for round in 0..4 {
            let (from, to) = (&states[round % 2], &states[(round + 1) % 2]);
            assert!(fill(&postgres, "docs", from, second));
            saw(round % 2 * 2 + 1);
            let gone = from.keys().filter(|one| !to.contains_key(*one));
            let mut changes = puts(to);
            changes.extend(gone.map(|one| Change::Remove(path(one))));
            update(&postgres, "docs", false, changes).unwrap();
            saw((round + 1) % 2 * 2);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(seen.lock().unwrap().len(), 4);
}

#[test]
fn a_second_filler_is_told_and_an_update_goes_on() {
    let second = CountingModel::quick("quick");
    let case = Case::new(5, second);
    let filling = case.postgres.fill_tier("lab", second).unwrap();
    let error = case.try_fill(&|| false, &|_| {}).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("Another process is filling"), "{said}");
    case.storage.write("lab", "new.md", b"# New\n\nA note.\n");
    assert_eq!(case.index().indexed, 1);
    // Another collection is not affected.
    load(&case.postgres, "others", &notebooks(0..3));
    assert!(fill(&case.postgres, "others", &notebooks(0..3), second));
    drop(filling);
    // The lock is free at once, again and again.
    for _ in 0..5 {
        drop(case.postgres.fill_tier("lab", second).unwrap());
    }
    assert!(case.fill().complete);
}

/// Takes the database back to the version before there were tiers.
fn downgrade(home: &Home) {
    home.sql(
        "DROP TABLE sectile.meaning, sectile.tombstone;
        ALTER TABLE sectile.collection DROP COLUMN meaning, DROP COLUMN tier, DROP COLUMN tier_graph,
            DROP COLUMN tombstones, DROP COLUMN compacted;
        ALTER TABLE sectile.chunk DROP COLUMN key;
        DELETE FROM sectile.migration WHERE version > 1",
    );
}

#[test]
fn an_older_database_is_migrated_and_its_chunks_are_not_read_twice() {
    let second = CountingModel::quick("quick");
    let case = Case::new(10, second);
    load(&case.postgres, "others", &notebooks(0..3));
    downgrade(&case.home);
    case.home.server.create_role("reader", "pass");
    case.home.sql("GRANT USAGE ON SCHEMA sectile TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA sectile TO reader");
    let error = case.postgres.state("lab").unwrap_err().to_string();
    assert!(error.contains("older than this program"), "{error}");
    assert_eq!(case.index().indexed, 0, "nothing is read again");
    assert_eq!(case.state().tier, Tier::Static);
    assert!(!found(&case.postgres, "lab", "boats").is_empty());
    assert_eq!(case.fill(), complete(32, 31));
    assert_eq!(case.state().tier, Tier::Transformer);
    assert_eq!(
        case.home
            .sql("SELECT count(*) FROM sectile.chunk WHERE key IS NULL"),
        "3"
    );
    // A role that could search still can.
    let mut settings = case.home.settings();
    settings.connection = case.home.server.url("reader", "pass", DATABASE);
    assert!(!settings.connection.contains(PASSWORD));
    settings.candidates = 10;
    let models = Models {
        first: model(),
        second: Some(second),
    };
    let reader = Postgres::new(&settings, BlockingRuntime::new().unwrap(), models).unwrap();
    let answer = ask(&reader, "lab", "red apples", 5).unwrap();
    assert_eq!(
        (answer.state.tier, answer.hits.len()),
        (Tier::Transformer, 5)
    );
    for name in ["one.md", "two.md"] {
        let text = format!("# New\n\nAbout zebras in {name}.\n");
        case.storage.write("lab", name, text.as_bytes());
        assert_eq!(case.index().indexed, 1);
        let answer = ask(&reader, "lab", "zebras", 5).unwrap();
        let found = |hit: &sectile_library::LocatedHit| hit.located.notebook.as_str() == name;
        assert!(answer.hits.iter().any(found), "{name}");
    }
}

#[test]
fn a_large_collection_has_a_graph_of_its_second_tier() {
    const GRAPHS: &str =
        "SELECT count(*) FROM pg_indexes WHERE tablename = 'meaning' AND indexdef LIKE '%hnsw%'";
    const SCANS: &str = "SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes WHERE indexrelname LIKE 'meaning\\_%\\_%\\_%'";
    let second = CountingModel::quick("quick");
    let home = Home::new();
    home.prepared();
    // PostgreSQL would compare this few vectors one by one, graph or not.
    home.sql("ALTER ROLE writer SET enable_sort = off");
    let mut settings = home.settings();
    settings.candidates = 100;
    settings.exact_below = 1_000;
    settings.cache_bytes = 0;
    let both = Models {
        first: model(),
        second: Some(second),
    };
    let postgres = Postgres::new(&settings, BlockingRuntime::new().unwrap(), both).unwrap();
    let all = singles();
    load(&postgres, "docs", &all);
    assert_eq!(home.sql(GRAPHS), "0");
    assert!(fill(&postgres, "docs", &all, second));
    assert_eq!(home.sql(GRAPHS), "1");
    let state = postgres.state("docs").unwrap();
    assert_eq!((state.tier, state.is_exact), (Tier::Transformer, false));
    let embedded = Embedded::with(&all, second);
    let (mut same, mut asked) = (0, 0);
    for question in questions().iter().step_by(2) {
        let found = found(&postgres, "docs", question);
        let best = embedded.best(question);
        asked += best.len();
        same += best.iter().filter(|one| found.contains(one)).count();
    }
    assert!(same * 100 >= asked * 90, "{same} of {asked}");
    thread::sleep(Duration::from_millis(1_100));
    ask(&postgres, "docs", "How does water reach the trees?", 5).unwrap();
    let is_used = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        home.sql(SCANS) != "0"
    });
    assert!(is_used, "the graph was not used");
    // It stays while the tier is filled again.
    let mut more = Notebooks::new();
    more.insert("more.md".to_owned(), vec![Text::new("", "Something new.")]);
    update(&postgres, "docs", false, puts(&more)).unwrap();
    assert_eq!(postgres.state("docs").unwrap().tier, Tier::Static);
    assert_eq!(home.sql(GRAPHS), "1");
    assert!(fill(&postgres, "docs", &more, second));
    assert!(!postgres.state("docs").unwrap().is_exact);
    // A collection that has become small needs none, nor does one that is gone.
    let gone = all.keys().skip(200).map(|one| Change::Remove(path(one)));
    let state = update(&postgres, "docs", false, gone.collect()).unwrap();
    assert_eq!((state.tier, state.is_exact), (Tier::Transformer, true));
    assert_eq!(home.sql(GRAPHS), "0");
    update(&postgres, "docs", false, vec![put("x.md", &[])]).unwrap();
    assert_eq!(postgres.state("docs").unwrap().tier, Tier::Transformer);
}
