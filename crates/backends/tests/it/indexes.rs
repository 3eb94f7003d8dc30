//! Indexes in a bucket: who wins, what readers see, and what is removed.

mod cleaning;
mod copies;
mod faults;

use std::{path::Path, sync::Arc, time::Duration};

use sectile_backends::{
    BlockingRuntime, BucketIndexes, IndexBucketSettings, S3Credentials, S3Settings,
};
use sectile_library::{
    SearchQuery, StorageError,
    filling::{FillJob, fill},
    indexing::{self, Job},
    library::Library,
    mirror::{IndexMirror, IndexPublishing as _, Publication},
    open_collections::{IndexStorage, OpenCollections},
    testing::Memory,
    tiers::Models,
};
use sectile_test_corpus::MANUAL;
use sectile_test_servers::MemoryS3;
use tempfile::TempDir;

const BUCKET: &str = "bucket-of-the-tests";
const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;
/// Longer than the period of grace.
const LATER: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// A server with a bucket, and notebooks.
struct Home {
    s3: MemoryS3,
    notes: Memory,
}

/// A machine, with copies of indexes of its own.
struct Machine {
    indexes: Arc<BucketIndexes>,
    cache: TempDir,
}

impl Home {
    /// Creates notebooks of the manual in the collection `lab`.
    fn new() -> Self {
        let home = Self {
            s3: MemoryS3::start(),
            notes: Memory::default(),
        };
        home.s3.bucket(BUCKET);
        for (name, text) in MANUAL {
            home.notes.write("lab", name, text.as_bytes());
        }
        home
    }

    /// Creates two short notebooks.
    fn small() -> Self {
        let home = Self {
            s3: MemoryS3::start(),
            notes: Memory::of(&[
                ("lab/a.md", "# Apples\n\nApples are red.\n"),
                ("lab/b.md", "# Pears\n\nPears are green.\n"),
            ]),
        };
        home.s3.bucket(BUCKET);
        home
    }

    fn settings(&self, cache: &Path) -> IndexBucketSettings {
        let mut bucket = S3Settings::new(self.s3.endpoint(), BUCKET);
        bucket.allow_http = true;
        bucket.prefix = "in/here".to_owned();
        bucket.credentials = Some(S3Credentials {
            access_key: self.s3.access_key().to_owned(),
            secret: self.s3.secret_key().to_owned(),
            session_token: None,
        });
        IndexBucketSettings::new(bucket, cache.to_owned())
    }

    fn machine(&self) -> Machine {
        self.machine_with(|_| {})
    }

    /// A machine whose requests are not repeated.
    fn hasty(&self) -> Machine {
        self.machine_with(|settings| settings.bucket.retries = 0)
    }

    fn machine_with(&self, change: impl Fn(&mut IndexBucketSettings)) -> Machine {
        let cache = tempfile::tempdir().unwrap();
        let mut settings = self.settings(cache.path());
        change(&mut settings);
        Machine {
            indexes: indexes(&settings),
            cache,
        }
    }

    /// Returns what is in the bucket, without the prefix of all indexes.
    fn keys(&self) -> Vec<String> {
        let keys = self.s3.keys(BUCKET).into_iter();
        keys.map(|key| {
            let rest = key.strip_prefix("in/here/.sectile-index/");
            rest.unwrap_or_else(|| panic!("{key}")).to_owned()
        })
        .collect()
    }

    /// Returns the key of the state of the collection `lab`.
    fn state_key(&self) -> String {
        let keys = self.s3.keys(BUCKET).into_iter();
        let mut states = keys.filter(|key| key.ends_with("/manifest"));
        states.next().unwrap()
    }

    /// Returns what a machine without the bucket finds.
    fn expected(&self) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let location = indexing::folder_of(folder.path(), "lab");
        self.update(&location, "lab").unwrap();
        let indexes = IndexStorage::Folder(Some(folder.path().to_owned()));
        found(&self.notes.library(), indexes).unwrap()
    }

    fn update(&self, folder: &Path, collection: &str) -> Result<bool, StorageError> {
        let library = self.notes.library();
        let listed = library.notebooks(collection, NEVER).unwrap();
        let report = indexing::update(job(&library, collection), folder, &listed, || 7);
        report
            .map(|report| report.written)
            .map_err(|error| StorageError::failed(format!("{error:?}")))
    }

    /// Builds and publishes the index of `lab`.
    fn build(&self, machine: &Machine) -> Result<Publication, StorageError> {
        self.build_of(machine, "lab")
    }

    fn build_of(&self, machine: &Machine, collection: &str) -> Result<Publication, StorageError> {
        let mut build = machine.indexes.begin(collection, NEVER)?;
        self.update(build.folder(), collection)?;
        build.publish(NEVER)
    }

    /// Returns what a machine finds in its copy.
    fn found(&self, machine: &Machine) -> Result<Vec<String>, String> {
        let mirror: Arc<dyn IndexMirror> = machine.indexes.clone();
        found(&self.notes.library(), IndexStorage::Mirrored(mirror))
    }
}

fn indexes(settings: &IndexBucketSettings) -> Arc<BucketIndexes> {
    Arc::new(BucketIndexes::new(settings, BlockingRuntime::new().unwrap()).unwrap())
}

fn job<'a>(library: &'a Library, collection: &'a str) -> Job<'a> {
    Job {
        storage: library,
        collection,
        embedder: Models::built_in().unwrap().first,
        stop: NEVER,
        progress: &|| {},
    }
}

const QUESTIONS: [&str; 5] = [
    "settings",
    "how do I search the notes",
    "apples",
    "credentials refused",
    "pears AND green",
];

/// Returns the answers to some questions, complete, apart from where the index is.
fn found(library: &Arc<Library>, indexes: IndexStorage) -> Result<Vec<String>, String> {
    let open = OpenCollections::new(Arc::clone(library), indexes, || 9);
    let mut answers = Vec::new();
    for question in QUESTIONS {
        let query = SearchQuery::parse(question).unwrap();
        let results = open.search("lab", &query, 10, NEVER);
        let mut results = results.map_err(|error| error.to_string())?;
        results.state.backend = None;
        // The comparison with the notebooks runs in the background.
        results.state.changed = None;
        answers.push(format!("{results:#?}"));
    }
    Ok(answers)
}

#[test]
fn a_copy_answers_with_the_bytes_of_the_index_itself() {
    let home = Home::new();
    let builder = home.machine();
    assert_eq!(home.build(&builder), Ok(Publication::Published));
    let expected = home.expected();
    assert!(expected.iter().any(|answer| answer.contains("SourceId")));
    let reader = home.machine();
    assert_eq!(home.found(&reader).unwrap(), expected);
    assert_eq!(home.found(&builder).unwrap(), expected);
    // The files are the same, too.
    let folder = tempfile::tempdir().unwrap();
    let location = indexing::folder_of(folder.path(), "lab");
    home.update(&location, "lab").unwrap();
    let copy = reader.indexes.folder("lab");
    let mut names = 0;
    for entry in std::fs::read_dir(&location).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "lock" {
            let (one, other) = (location.join(&name), copy.join(&name));
            assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
            names += 1;
        }
    }
    assert!(names >= 2);
    // Nothing new is nothing written.
    let before = home.keys();
    assert_eq!(home.build(&builder), Ok(Publication::Unchanged));
    assert_eq!(home.keys(), before);
    // A change costs the segments that changed.
    home.notes
        .write("lab", "new.md", b"# Quince\n\nA quince is yellow.\n");
    assert_eq!(home.build(&home.machine()), Ok(Publication::Published));
    let after = home.keys();
    let kept = before.iter().filter(|key| after.contains(key)).count();
    assert!(kept >= before.len() - 1, "{before:?} {after:?}");
    assert_eq!(home.found(&reader).unwrap(), home.expected());
}

#[test]
fn an_unchanged_index_costs_a_reader_one_request() {
    let home = Home::small();
    home.build(&home.machine()).unwrap();
    let reader = home.machine();
    reader.indexes.fetch("lab", NEVER).unwrap();
    home.s3.heal();
    for requests in 1..4 {
        reader.indexes.fetch("lab", NEVER).unwrap();
        assert_eq!(home.s3.requests(), requests);
    }
    assert_eq!(reader.indexes.ready(), Ok(()));
}

#[test]
fn of_two_builds_one_is_published_and_the_other_starts_from_it() {
    let home = Home::small();
    let (one, other) = (home.machine(), home.machine());
    for round in 0..3 {
        let mut first = one.indexes.begin("lab", NEVER).unwrap();
        let mut second = other.indexes.begin("lab", NEVER).unwrap();
        home.update(first.folder(), "lab").unwrap();
        let path = format!("{round}.md");
        home.notes
            .write("lab", &path, b"# Plums\n\nPlums are blue.\n");
        home.update(second.folder(), "lab").unwrap();
        assert_eq!(second.publish(NEVER), Ok(Publication::Published));
        let reader = home.machine();
        assert_eq!(home.found(&reader).unwrap(), home.expected());
        home.notes
            .write("lab", &path, b"# Plums\n\nPlums are red.\n");
        home.update(first.folder(), "lab").unwrap();
        assert_eq!(first.publish(NEVER), Ok(Publication::Superseded));
        drop(first);
        drop(second);
        // The winner's state is what is there, and the loser goes on from it.
        assert_eq!(home.build(&one), Ok(Publication::Published));
        assert_eq!(home.build(&other), Ok(Publication::Unchanged));
        assert_eq!(home.found(&reader).unwrap(), home.expected());
    }
}

#[test]
fn many_builds_at_once_end_in_one_state() {
    let home = Home::small();
    let machines: Vec<Machine> = (0..4).map(|_| home.machine()).collect();
    let outcomes = std::thread::scope(|scope| {
        let builds: Vec<_> = machines
            .iter()
            .map(|machine| scope.spawn(|| home.build(machine).unwrap()))
            .collect();
        let done = builds.into_iter().map(|build| build.join().unwrap());
        done.collect::<Vec<_>>()
    });
    let published = outcomes
        .iter()
        .filter(|one| **one == Publication::Published);
    assert_eq!(published.count(), 1, "{outcomes:?}");
    let listed = machines[0].indexes.published(NEVER).unwrap();
    assert_eq!((listed.len(), listed[0].generation), (1, 0));
    assert_eq!(home.found(&machines[3]).unwrap(), home.expected());
}

#[test]
fn one_machine_builds_an_index_once_at_a_time() {
    let home = Home::small();
    let machine = home.machine();
    let build = machine.indexes.begin("lab", NEVER).unwrap();
    let refused = machine.indexes.begin("lab", NEVER).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "Another process on this machine is building this index. Wait until it has finished."
    );
    drop(build);
    assert_eq!(home.build(&machine), Ok(Publication::Published));
}

#[test]
fn the_second_tier_travels_along() {
    let home = Home::small();
    let builder = home.machine();
    let models = Models::built_in().unwrap();
    let second = models.second.expect("there is a second tier");
    let library = home.notes.library();
    let fill_in = |folder: &Path| {
        let job = FillJob {
            storage: &library,
            collection: "lab",
            first: models.first,
            second,
            shared: None,
            threads: 1,
            stop: NEVER,
            progress: &|_| {},
        };
        fill(job, folder).unwrap().complete
    };
    let mut build = builder.indexes.begin("lab", NEVER).unwrap();
    home.update(build.folder(), "lab").unwrap();
    assert_eq!(build.publish(NEVER), Ok(Publication::Published));
    assert!(fill_in(build.folder()));
    assert_eq!(build.publish(NEVER), Ok(Publication::Published));
    drop(build);
    let reader = home.machine();
    let answers = home.found(&reader).unwrap();
    assert!(answers.iter().all(|answer| answer.contains("Transformer")));
    let folder = tempfile::tempdir().unwrap();
    let location = indexing::folder_of(folder.path(), "lab");
    home.update(&location, "lab").unwrap();
    assert!(fill_in(&location));
    let embedded = IndexStorage::Folder(Some(folder.path().to_owned()));
    assert_eq!(answers, found(&library, embedded).unwrap());
}
