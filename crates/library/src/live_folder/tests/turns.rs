//! Folders of one process fill their second tiers one after the other, and share their vectors.

use sectile_retrieval::{Embedder, EmbeddingReader, MeaningWeight, Vector};

use super::*;
use crate::{filling::usual_threads, live_folder::turns::FillQueue};

/// A model that writes down for which folder it embeds a passage, and can be held up.
struct LoggedModel {
    folder: &'static str,
    model: &'static SecondTierModel,
    log: &'static Mutex<Vec<&'static str>>,
    is_held: &'static AtomicBool,
}

impl Embedder for LoggedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn fingerprint(&self) -> Digest {
        self.model.fingerprint()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn weight(&self) -> MeaningWeight {
        self.model.weight()
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        let reader = self.model.reader();
        Box::new(LoggedReader {
            model: self,
            reader,
        })
    }
}

struct LoggedReader<'m> {
    model: &'m LoggedModel,
    reader: Box<dyn EmbeddingReader + 'm>,
}

impl EmbeddingReader for LoggedReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.model
    }

    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        self.model.log.lock().push(self.model.folder);
        while self.model.is_held.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.reader.embed(parts)
    }
}

/// Folders that take turns with each other, and with nobody else.
struct TurnCase {
    queue: &'static FillQueue,
    model: &'static SecondTierModel,
    log: &'static Mutex<Vec<&'static str>>,
    is_held: &'static AtomicBool,
    cache: TempDir,
}

impl TurnCase {
    fn new() -> Self {
        Self {
            queue: Box::leak(Box::new(FillQueue::new())),
            model: SecondTierModel::new("turns"),
            log: Box::leak(Box::default()),
            is_held: Box::leak(Box::default()),
            cache: tempfile::tempdir().unwrap(),
        }
    }

    fn open(&self, name: &'static str, folder: &Path) -> Arc<LiveFolder> {
        let model = Box::leak(Box::new(LoggedModel {
            folder: name,
            model: self.model,
            log: self.log,
            is_held: self.is_held,
        }));
        let models = Models {
            second: Some(model),
            ..Models::built_in().unwrap()
        };
        let options = LiveFolderOptions {
            second_tier: SecondTierUse::Filled,
            shared_vectors: Some(CacheFolder::new(self.cache.path()).shared_vectors(1 << 30)),
            ..options(folder, Some(&self.cache.path().join(name)))
        };
        let limits = LiveFolderLimits {
            fill_queue: self.queue,
            ..LIMITS
        };
        let live = LiveFolder::open_with(options, models, limits).unwrap();
        live.settle(&|| false).unwrap();
        live
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..4_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}");
}

fn notes(name: &str, count: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..count {
        let text = format!("Note {number} of {name}.\n");
        write(folder.path(), &format!("{number}.md"), &text);
    }
    folder
}

#[test]
fn the_folder_that_was_used_last_is_filled_first() {
    let case = TurnCase::new();
    // Several batches for every thread.
    let count = usual_threads() * 8 * 4;
    // Nobody has a turn until everybody waits for one.
    let late = Instant::now() + Duration::from_secs(3_600);
    let mine = case.queue.join(late, Instant::now());
    let names = ["a", "b", "c"];
    let folders = names.map(|name| notes(name, count));
    let [a, b, c] = [0, 1, 2].map(|at| case.open(names[at], folders[at].path()));
    wait_until("all three wait", || {
        assert!(mine.is_now(late, Instant::now()));
        case.queue.len() == 4
    });
    for live in [&a, &c, &b] {
        std::thread::sleep(Duration::from_millis(5));
        live.current(&|| false).unwrap();
    }
    assert!(case.log.lock().is_empty());
    case.is_held.store(true, Ordering::Relaxed);
    drop(mine);
    // Another call, in the middle of the work.
    wait_until("it begins", || !case.log.lock().is_empty());
    a.current(&|| false).unwrap();
    wait_until("it asks for its turn", || {
        case.queue.newest_use() == Some(a.used_at())
    });
    case.is_held.store(false, Ordering::Relaxed);
    for live in [&a, &b, &c] {
        wait_until("the second tier is complete", || {
            live.now().progress().tier == Tier::Transformer
        });
    }
    let log = case.log.lock().clone();
    let of = |name: &str| {
        let places = log.iter().enumerate().filter(|(_, of)| **of == name);
        places.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let [a, b, c] = names.map(of);
    // Nothing is embedded twice, although the work was put off.
    assert_eq!([a.len(), b.len(), c.len()], [count; 3]);
    assert!(b[0] < a[0], "{log:?}");
    assert!(a[count - 1] < b[count - 1], "{log:?}");
    assert!(b[count - 1] < c[0], "{log:?}");
}

#[test]
fn a_copy_of_a_folder_embeds_nothing() {
    let case = TurnCase::new();
    let is_complete = |live: &LiveFolder| live.now().progress().tier == Tier::Transformer;
    let folders = ["same", "same"].map(|name| notes(name, 20));
    let one = case.open("one", folders[0].path());
    wait_until("the first is filled", || is_complete(&one));
    assert_eq!(case.model.embedded(), 20);
    let two = case.open("two", folders[1].path());
    wait_until("the second is filled", || is_complete(&two));
    assert_eq!(case.model.embedded(), 0);
    // Files of the second tier are the same, byte for byte.
    let files = |name: &str| {
        let entries = std::fs::read_dir(case.cache.path().join(name)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.starts_with("meaning-"));
        let mut files: Vec<(String, Vec<u8>)> = names
            .map(|file| {
                let path = case.cache.path().join(name).join(&file);
                (file, std::fs::read(path).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    assert!(!files("one").is_empty());
    assert_eq!(files("one"), files("two"));
}
