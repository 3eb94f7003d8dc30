//! The second tier is filled once, whatever happens meanwhile, and answers when it is complete.
#![expect(clippy::disallowed_methods, reason = "files are damaged here")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use sectile_retrieval::{CacheFolder, StoreError, built_in};

use crate::{
    filling::*,
    indexing::{IndexReport, Job, update},
    open_collection::{IndexLocation, OpenCollection, VerifiedResults},
    testing::{Memory, SecondTierModel, asked},
    tiers::{Models, Tier},
};

const QUERIES: [&str; 4] = [
    "keep apples cool",
    "boats",
    "yellow fruit",
    "where it is dry",
];

/// A collection with an index in a folder.
struct Case {
    storage: Memory,
    folder: tempfile::TempDir,
    shared: Option<SharedVectors>,
}

fn notebook(number: usize) -> String {
    format!(
        "# Apples {number}\n\nApples of tree {number} are red.\n\n## Storage\n\nKeep number {number} cool and dry.\n\n\
         ## Always\n\nThe same everywhere.\n"
    )
}

impl Case {
    /// So many notebooks of three passages, and one of one.
    fn new(notebooks: usize) -> Self {
        let storage = Memory::default();
        for number in 0..notebooks {
            let name = format!("n{number:03}.md");
            storage.write("lab", &name, notebook(number).as_bytes());
        }
        storage.write("lab", "z.md", b"Boats float on water.\n");
        Self {
            storage,
            folder: tempfile::tempdir().unwrap(),
            shared: None,
        }
    }

    /// The same, with vectors that are shared through a cache folder.
    fn sharing(notebooks: usize, cache: &Path) -> Self {
        Self {
            shared: Some(CacheFolder::new(cache).shared_vectors(1 << 30)),
            ..Self::new(notebooks)
        }
    }

    fn index(&self) -> IndexReport {
        let listed = self.storage.notebooks("lab", &|| false).unwrap();
        let job = Job {
            storage: &self.storage,
            collection: "lab",
            embedder: built_in().unwrap(),
            stop: &|| false,
            progress: &|| {},
        };
        update(job, self.folder.path(), &listed, || 7).unwrap()
    }

    fn try_fill(
        &self,
        second: &SecondTierModel,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FillReport, IndexingError> {
        let job = FillJob {
            storage: &self.storage,
            collection: "lab",
            first: built_in().unwrap(),
            second,
            shared: self.shared.as_ref(),
            threads,
            stop,
            progress: &|progress| assert!(progress.done <= progress.all, "{progress:?}"),
        };
        fill(job, self.folder.path())
    }

    fn fill(&self, second: &SecondTierModel) -> FillReport {
        self.try_fill(second, 2, &|| false).unwrap()
    }

    fn open_collection(&self, second: Option<&'static SecondTierModel>) -> Arc<OpenCollection> {
        let models = Models {
            first: built_in().unwrap(),
            second: second.map(|second| second as &'static dyn Embedder),
        };
        let place = IndexLocation::Here(Some(self.folder.path().to_owned()), models, None);
        let open_collection =
            OpenCollection::open(self.storage.library(), "lab", place, || 1_000, &|| false)
                .unwrap();
        open_collection.refresh(&|| false).unwrap();
        open_collection
    }

    /// The files of the second tier.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.contains("meaning-"))
            .map(|name| (name.clone(), std::fs::read(self.path(&name)).unwrap()))
            .collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Which tier answers, and the digest of all answers.
fn answers(open_collection: &OpenCollection) -> (Tier, Digest) {
    let found = QUERIES.map(|query| {
        open_collection
            .search(&asked(query), 10, &|| false)
            .unwrap()
    });
    let tier = found[0].state.tier;
    assert!(found.iter().all(|found| found.state.tier == tier));
    let hits: Vec<_> = found
        .iter()
        .map(|VerifiedResults { hits, .. }| hits)
        .collect();
    (tier, Digest::of(format!("{hits:?}").as_bytes()))
}

/// Asks to stop after this many calls.
fn after(looks: usize) -> impl Fn() -> bool + Sync {
    let left = AtomicUsize::new(looks);
    move || {
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        taken.is_err()
    }
}

#[test]
fn a_collection_switches_over_when_everything_is_there() {
    let second = SecondTierModel::new("one");
    let case = Case::new(20);
    case.index();
    let without = answers(&case.open_collection(None));
    assert_eq!(without.0, Tier::Static);
    let open_collection = case.open_collection(Some(second));
    assert_eq!(answers(&open_collection), without);
    let stopped = case.try_fill(second, 1, &after(25)).unwrap();
    assert!(!stopped.complete && stopped.filled > 0, "{stopped:?}");
    open_collection.refresh(&|| false).unwrap();
    assert_eq!(answers(&open_collection), without);
    let filled = case.fill(second);
    assert!(filled.complete, "{filled:?}");
    assert_eq!((filled.passages, filled.filled), (61, 61));
    assert_eq!(filled.embedded + filled.cached, 61);
    open_collection.refresh(&|| false).unwrap();
    let second_tier = answers(&open_collection);
    assert_eq!(second_tier.0, Tier::Transformer);
    assert_ne!(second_tier.1, without.1);
    assert_eq!(open_collection.state().model, "one");
    assert_eq!(
        answers(&case.open_collection(Some(second))),
        second_tier,
        "opened afresh"
    );
    assert_eq!(
        answers(&case.open_collection(None)),
        without,
        "the first tier is as it was"
    );
    assert_eq!(case.fill(second).embedded, 0);
}

#[test]
fn files_do_not_depend_on_threads_or_interruptions() {
    let second = SecondTierModel::new("one");
    let cases = [(1, usize::MAX), (3, usize::MAX), (1, 9), (2, 16)].map(|(threads, looks)| {
        let case = Case::new(12);
        case.index();
        let mut runs = 0;
        while !case
            .try_fill(second, threads, &after(looks + runs))
            .unwrap()
            .complete
        {
            runs += 1;
        }
        assert!(runs > 0 || looks == usize::MAX);
        (case.files(), answers(&case.open_collection(Some(second))))
    });
    assert_eq!(cases[0].0.len(), 1, "{:?}", cases[0].0.keys());
    for case in &cases[1..] {
        assert_eq!(*case, cases[0]);
    }
}

#[test]
fn only_what_changed_is_embedded_again_wherever_it_goes() {
    let second = SecondTierModel::new("one");
    let case = Case::new(20);
    case.index();
    // Text that all notebooks share is embedded once for each title.
    case.fill(second);
    assert_eq!(second.embedded(), 61);
    // The same model, counted apart: an open collection embeds a few changes itself.
    let beside = SecondTierModel::new("one");
    let open_collection = case.open_collection(Some(beside));
    // Until small segments are made one.
    for round in 0..10 {
        let text = notebook(round).replace("red", "green");
        case.storage
            .write("lab", &format!("n{round:03}.md"), text.as_bytes());
        case.index();
        let filled = case.fill(second);
        assert_eq!(
            (filled.embedded, second.embedded()),
            (1, 1),
            "{round}: {filled:?}"
        );
        assert!(filled.complete && filled.cached == 60, "{filled:?}");
        open_collection.refresh(&|| false).unwrap();
        assert_eq!(open_collection.state().tier, Tier::Transformer, "{round}");
        let segments = Store::at(case.folder.path()).unwrap().unwrap();
        let stored = segments.read(Some(built_in().unwrap())).unwrap().unwrap();
        assert_eq!(case.files().len(), stored.segments.len(), "{round}");
    }
    // Rebuilt, as if made in one run.
    let afresh = Case::new(0);
    for number in 0..20 {
        let name = format!("n{number:03}.md");
        let path = NotePath::parse_vault(&name).unwrap();
        let bytes = case.storage.read("lab", &path).unwrap().unwrap();
        afresh.storage.write("lab", &name, &bytes);
    }
    afresh.index();
    afresh.fill(second);
    assert_eq!(
        answers(&open_collection),
        answers(&afresh.open_collection(Some(second)))
    );
}

#[test]
fn collections_with_equal_passages_embed_them_once() {
    let second = SecondTierModel::new("one");
    let cache = tempfile::tempdir().unwrap();
    let alone = Case::new(20);
    alone.index();
    alone.fill(second);
    assert_eq!(second.embedded(), 61);
    let first = Case::sharing(20, cache.path());
    first.index();
    let filled = first.fill(second);
    assert_eq!((filled.embedded, filled.cached), (61, 0));
    assert_eq!(second.embedded(), 61);
    // A copy elsewhere, with a notebook more.
    let copy = Case::sharing(20, cache.path());
    copy.index();
    copy.storage
        .write("lab", "new.md", b"# Quince\n\nYellow.\n");
    copy.index();
    let filled = copy.fill(second);
    assert!(filled.complete, "{filled:?}");
    assert_eq!((filled.embedded, filled.cached, filled.filled), (1, 61, 62));
    assert_eq!(second.embedded(), 1);
    // Where a vector came from makes no difference to a byte, nor to an answer.
    let same = Case::sharing(20, cache.path());
    same.index();
    assert_eq!(same.fill(second).embedded, 0);
    assert_eq!(same.files(), alone.files());
    assert_eq!(same.files(), first.files());
    let answer = |case: &Case| answers(&case.open_collection(Some(second)));
    assert_eq!(answer(&same), answer(&alone));
    second.embedded();
    // Another model has nothing to take.
    let other = SecondTierModel::new("two");
    assert_eq!(same.fill(other).embedded, 61);
    // Without the cache, everything is as it was before there was one.
    std::fs::remove_dir_all(cache.path()).unwrap();
    std::fs::write(cache.path(), "not a folder").unwrap();
    let without = Case::sharing(20, cache.path());
    without.index();
    assert_eq!(without.fill(second).embedded, 61);
    assert_eq!(without.files(), alone.files());
    std::fs::remove_file(cache.path()).unwrap();
}

#[test]
fn a_run_that_was_stopped_shares_what_it_has_however_it_ended() {
    let second = SecondTierModel::new("one");
    let cache = tempfile::tempdir().unwrap();
    let case = Case::sharing(20, cache.path());
    case.index();
    let stopped = case.try_fill(second, 1, &after(26)).unwrap();
    assert!(!stopped.complete && stopped.embedded > 0, "{stopped:?}");
    let copy = Case::sharing(20, cache.path());
    copy.index();
    let filled = copy.fill(second);
    assert_eq!(filled.embedded + stopped.embedded, 61, "{stopped:?}");
    // A killed one leaves parts, which the next run shares.
    let (killed, cache) = (Case::new(20), tempfile::tempdir().unwrap());
    killed.index();
    let stopped = killed.try_fill(second, 1, &after(26)).unwrap();
    assert!(!killed.files().is_empty() && stopped.embedded > 0);
    let shared = Some(CacheFolder::new(cache.path()).shared_vectors(1 << 30));
    let killed = Case { shared, ..killed };
    let filled = killed.fill(second);
    assert_eq!(filled.embedded + stopped.embedded, 61);
    let copy = Case::sharing(20, cache.path());
    copy.index();
    assert_eq!(copy.fill(second).embedded, 0);
    assert_eq!(copy.files(), killed.files());
}

#[test]
fn an_index_made_anew_is_filled_where_documents_count_again() {
    let second = SecondTierModel::new("one");
    let case = Case::new(3);
    case.index();
    // A passage that no longer counts when the tier is filled.
    case.storage.write("lab", "z.md", b"Trains.\n");
    case.index();
    case.fill(second);
    case.storage
        .write("lab", "z.md", b"Boats float on water.\n");
    // The same segment as the first.
    std::fs::remove_file(case.path("manifest")).unwrap();
    case.index();
    assert_eq!(answers(&case.open_collection(Some(second))).0, Tier::Static);
    assert_eq!(second.embedded(), 10);
    let filled = case.fill(second);
    assert!(filled.complete && filled.embedded == 1, "{filled:?}");
    assert_eq!(
        answers(&case.open_collection(Some(second))).0,
        Tier::Transformer
    );
}

#[test]
fn damaged_and_foreign_files_are_as_good_as_missing() {
    let second = SecondTierModel::new("one");
    let case = Case::new(6);
    case.index();
    let without = answers(&case.open_collection(None));
    case.fill(second);
    let second_tier = answers(&case.open_collection(Some(second)));
    let whole = case.files();
    let (name, bytes) = whole.first_key_value().unwrap();
    let mut harmed = 0;
    for at in (0..bytes.len()).step_by(61) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        std::fs::write(case.path(name), &damaged).unwrap();
        let open_collection = case.open_collection(Some(second));
        let now = answers(&open_collection);
        // A byte between two parts is nobody's.
        assert!(
            now == without || (now == second_tier && bytes[at] == 0),
            "{at}"
        );
        harmed += usize::from(now == without);
        second.embedded();
        assert!(case.fill(second).complete);
        open_collection.refresh(&|| false).unwrap();
        assert_eq!(answers(&open_collection), second_tier, "{at}");
    }
    assert!(harmed > 10);
    for other in [&b""[..], b"x", &bytes[..bytes.len() / 2]] {
        std::fs::write(case.path(name), other).unwrap();
        assert_eq!(answers(&case.open_collection(Some(second))), without);
        assert!(case.fill(second).complete);
        assert_eq!(case.files(), whole);
    }
}

#[test]
fn another_model_begins_anew_and_takes_the_place_of_the_old_one() {
    let (one, two) = (SecondTierModel::new("one"), SecondTierModel::new("two"));
    let case = Case::new(4);
    case.index();
    case.fill(one);
    let old = case.files();
    let without = answers(&case.open_collection(None));
    assert_eq!(answers(&case.open_collection(Some(two))), without);
    let filled = case.fill(two);
    assert_eq!((filled.embedded, filled.cached), (13, 0));
    assert_eq!(
        answers(&case.open_collection(Some(two))).0,
        Tier::Transformer
    );
    assert_eq!(answers(&case.open_collection(Some(one))), without);
    assert!(case.files().keys().all(|name| !old.contains_key(name)));
}

#[test]
fn there_is_one_filler_at_a_time_and_the_index_can_be_written_meanwhile() {
    let second = SecondTierModel::new("one");
    let case = Case::new(8);
    case.index();
    let (busy, updated) = (AtomicBool::new(false), AtomicBool::new(false));
    let looks = AtomicUsize::new(0);
    let filled = case.try_fill(second, 1, &|| {
        // In the middle of the work.
        if looks.fetch_add(1, Ordering::Relaxed) == 10 {
            let error = case.try_fill(second, 1, &|| false).unwrap_err();
            let is_busy = matches!(error, IndexingError::Store(StoreError::Busy));
            busy.store(is_busy, Ordering::Relaxed);
            case.storage
                .write("lab", "new.md", b"# Quince\n\nYellow.\n");
            updated.store(case.index().written, Ordering::Relaxed);
        }
        false
    });
    let filled = filled.unwrap();
    assert!(busy.into_inner() && updated.into_inner());
    // It went round again.
    assert!(filled.complete && filled.passages == 26, "{filled:?}");
    assert_eq!(
        answers(&case.open_collection(Some(second))).0,
        Tier::Transformer
    );
}

#[test]
fn notebooks_that_change_during_the_work_are_left_and_said() {
    let second = SecondTierModel::new("one");
    let case = Case::new(8);
    case.index();
    case.storage.write("lab", "n003.md", b"# Other\n\nOther.\n");
    case.storage.remove("lab", "n004.md");
    let filled = case.fill(second);
    assert!(!filled.complete, "{filled:?}");
    assert_eq!(
        (filled.changed, filled.filled, filled.passages),
        (2, 19, 25)
    );
    assert_eq!(second.embedded(), 19);
    assert_eq!(
        case.open_collection(Some(second)).state().tier,
        Tier::Static
    );
    case.index();
    let filled = case.fill(second);
    assert!(filled.complete && filled.embedded == 1, "{filled:?}");
    assert!(case.files().keys().all(|name| !name.contains("part")));
}

#[test]
fn a_few_changes_in_memory_are_embedded_beside_and_many_are_not() {
    let second = SecondTierModel::new("one");
    let case = Case::new(4);
    case.index();
    case.fill(second);
    second.embedded();
    let open_collection = case.open_collection(Some(second));
    let tier = |wanted: Tier, query: &str, count: usize| {
        for _ in 0..500 {
            let found = open_collection
                .search(&asked(query), 50, &|| false)
                .unwrap();
            let is_fresh = found
                .hits
                .iter()
                .filter(|hit| hit.text.contains("quince"))
                .count()
                == count;
            if is_fresh && found.state.tier == wanted && found.state.changed == Some(0) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{query}: {:?}", open_collection.state());
    };
    case.storage
        .write("lab", "new.md", b"# Fruit\n\nA quince is yellow.\n");
    open_collection.look_again();
    tier(Tier::Transformer, "quince", 1);
    assert_eq!(second.embedded(), 1);
    // The unchanged passages of an edited notebook are taken from the disk.
    let edited = notebook(2) + "\n## More\n\nAnother quince.\n";
    case.storage.write("lab", "n002.md", edited.as_bytes());
    open_collection.look_again();
    tier(Tier::Transformer, "quince", 2);
    assert_eq!(second.embedded(), 1);
    // The same as one that was filled.
    let now = answers(&open_collection);
    let copy = Case::new(4);
    copy.storage
        .write("lab", "new.md", b"# Fruit\n\nA quince is yellow.\n");
    copy.storage.write("lab", "n002.md", edited.as_bytes());
    copy.index();
    copy.fill(second);
    assert_eq!(now, answers(&copy.open_collection(Some(second))));
    let many: String = (0..300)
        .map(|at| format!("# {at}\n\nOne quince more.\n\n"))
        .collect();
    case.storage.write("lab", "many.md", many.as_bytes());
    open_collection.look_again();
    tier(Tier::Static, "quince", 50);
}
