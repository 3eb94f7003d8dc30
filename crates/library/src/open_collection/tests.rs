//! Every hit exists, and changes are found.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    indexing::{Job, folder_of, update},
    left_out::WhyLeftOut,
    open_collection::*,
    testing::{LARGEST, Memory, asked},
};

fn now() -> i64 {
    1_000
}

fn open_collection(storage: &Arc<Memory>, index: Option<PathBuf>) -> Arc<OpenCollection> {
    let models = Models::built_in().unwrap();
    OpenCollection::open(
        storage.library(),
        "lab",
        IndexLocation::Here(index, models, None),
        now,
        &|| false,
    )
    .unwrap()
}

fn ids(open_collection: &OpenCollection, query: &str) -> Vec<String> {
    let found = open_collection
        .search(&asked(query), 10, &|| false)
        .unwrap();
    found.hits.iter().map(|hit| hit.id.to_string()).collect()
}

fn library() -> Arc<Memory> {
    Arc::new(Memory::of(&[
        (
            "lab/a.md",
            "# Apples\n\nApples are red.\n\n## Storage\n\nKeep them cool.\n",
        ),
        (
            "lab/b.md",
            "---\ntitle: Boats\n---\nBoats float on water.\n",
        ),
        ("other/c.md", "# Apples elsewhere\n\nApples too.\n"),
    ]))
}

#[test]
fn hits_say_where_they_are_and_why() {
    let open_collection = open_collection(&library(), None);
    let found = open_collection
        .search(&asked("keep apples cool"), 10, &|| false)
        .unwrap();
    let first = &found.hits[0];
    assert_eq!(first.heading_path, ["a", "Apples", "Storage"]);
    assert_eq!((first.text.as_str(), first.line), ("Keep them cool.", 7));
    assert_eq!(first.matched, ["keep", "apples", "cool"]);
    assert!(!found.state.on_disk && found.state.changed == Some(0));
    assert!(found.hits.iter().all(|hit| hit.id.collection == "lab"));
    assert_eq!(ids(&open_collection, "zzyzx"), [""; 0]);
}

#[test]
fn a_query_that_the_model_cannot_read_is_answered_by_words_and_says_so() {
    let storage = library();
    storage.write(
        "lab",
        "runes.md",
        "# Stone\n\n\u{16a0}\u{16a2}\u{16a6}\n".as_bytes(),
    );
    let open_collection = open_collection(&storage, None);
    let runes = open_collection
        .search(&asked("\u{16a0}\u{16a2}\u{16a6}"), 10, &|| false)
        .unwrap();
    assert_eq!((runes.hits.len(), runes.state.semantic), (1, false));
    let apples = open_collection
        .search(&asked("apples"), 10, &|| false)
        .unwrap();
    assert!(apples.state.semantic);
}

#[test]
fn what_changed_since_is_not_quoted() {
    let storage = library();
    let open_collection = open_collection(&storage, None);
    let before = ids(&open_collection, "apples red");
    // The same length, in the same place.
    storage.write(
        "lab",
        "a.md",
        b"# Apples\n\nApples are RED.\n\n## Storage\n\nKeep them cool.\n",
    );
    let after = open_collection
        .search(&asked("apples red"), 10, &|| false)
        .unwrap();
    assert!(after.hits.iter().all(|hit| hit.id.to_string() != before[0]));
    assert!(after.hits.iter().all(|hit| !hit.text.contains("red")));
    // A passage that only moved is found where it is now.
    storage.write(
        "lab",
        "b.md",
        b"One more line.\n\n# Now\n\nBoats float on water.\n",
    );
    let moved = open_collection
        .search(&asked("boats float"), 1, &|| false)
        .unwrap();
    assert_eq!(moved.hits[0].heading_path, ["b", "Now"]);
    storage.remove("lab", "b.md");
    assert_eq!(ids(&open_collection, "boats"), [""; 0]);
}

#[test]
fn changes_are_found_after_a_while() {
    let storage = library();
    let open_collection = open_collection(&storage, None);
    storage.write("lab", "new.md", b"# Quince\n\nA quince is yellow.\n");
    storage.write("lab", "a.md", b"# Cherries\n\nCherries instead.\n");
    storage.remove("lab", "b.md");
    open_collection.look_again();
    for _ in 0..200 {
        if !ids(&open_collection, "quince").is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ids(&open_collection, "quince").len(), 1);
    assert_eq!(ids(&open_collection, "cherries").len(), 1);
    assert_eq!(ids(&open_collection, "boats"), [""; 0]);
    // As if it had been opened now.
    let afresh = crate::open_collection::tests::open_collection(&storage, None);
    for query in ["quince yellow", "cherries instead", "apples"] {
        assert_eq!(ids(&open_collection, query), ids(&afresh, query), "{query}");
    }
}

#[test]
fn a_collection_that_is_gone_is_not_found() {
    let storage = library();
    let open_collection = open_collection(&storage, None);
    storage.remove("lab", "a.md");
    storage.remove("lab", "b.md");
    let gone = open_collection
        .search(&asked("apples"), 10, &|| false)
        .unwrap_err();
    assert_eq!(gone, LibraryError::CollectionNotFound);
}

#[test]
fn headings_and_lines_are_those_of_the_notebook_as_it_is_now() {
    let storage = library();
    let open_collection = open_collection(&storage, None);
    // As long as before, and the passage is where it was.
    storage.write(
        "lab",
        "a.md",
        b"# Quince\n\nApples are red.\n\n# Cellar  \n\nKeep them cool.\n",
    );
    let found = open_collection
        .search(&asked("keep them cool"), 1, &|| false)
        .unwrap();
    assert_eq!(found.hits[0].heading_path, ["a", "Cellar"]);
    assert_eq!(found.hits[0].line, 7);
}

#[test]
fn passages_that_say_the_same_are_not_found_twice_in_one_place() {
    let storage = library();
    storage.write("lab", "c.md", b"# One\n\nPlums.\n\n# Two\n\nPlums.\n");
    let open_collection = open_collection(&storage, None);
    assert_eq!(ids(&open_collection, "plums").len(), 2);
    storage.write("lab", "c.md", b"# Now\n\nIn between.\n\n# One\n\nPlums.\n");
    assert_eq!(ids(&open_collection, "plums").len(), 1);
}

#[test]
fn a_notebook_that_cannot_be_read_hides_no_other() {
    let storage = library();
    storage.write("lab", "c.md", b"# Apples\n\nApples of another tree.\n");
    let open_collection = open_collection(&storage, None);
    storage.forbid("lab", "a.md");
    let found = ids(&open_collection, "apples");
    assert!(!found.is_empty(), "the rest is found");
    assert!(
        found.iter().all(|id| id.starts_with("lab/c.md@")),
        "{found:?}"
    );
}

fn left_out(open_collection: &OpenCollection) -> Vec<(String, WhyLeftOut)> {
    let state = open_collection
        .search(&asked("apples"), 10, &|| false)
        .unwrap()
        .state;
    let left_out = state.left_out.expect("it is known");
    let pairs = left_out.iter();
    pairs
        .map(|one| (one.notebook.to_string(), one.why))
        .collect()
}

#[test]
fn a_notebook_too_large_to_search_is_reported_with_every_search() {
    let storage = library();
    let large = vec![b'x'; usize::try_from(LARGEST).unwrap() + 1];
    storage.write("lab", "large.md", &large);
    storage.write("lab", "locked.md", b"# Apples\n\nApples behind a door.\n");
    storage.forbid("lab", "locked.md");
    let both = [
        ("large.md".to_owned(), WhyLeftOut::TooLarge),
        ("locked.md".to_owned(), WhyLeftOut::Unreadable),
    ];
    let in_memory = open_collection(&storage, None);
    assert_eq!(left_out(&in_memory), both);
    // From an index on disk as well, before and after it is compared with the library.
    let folder = tempfile::tempdir().unwrap();
    let location = folder_of(folder.path(), "lab");
    let update = || {
        let listed = storage.notebooks("lab", &|| false).unwrap();
        let library = storage.library();
        let job = Job {
            storage: library.as_ref(),
            collection: "lab",
            embedder: Models::built_in().unwrap().first,
            stop: &|| false,
            progress: &|| {},
        };
        update(job, &location, &listed, now).unwrap()
    };
    assert_eq!(update().unreadable, 2);
    let on_disk = open_collection(&storage, Some(location.clone()));
    assert_eq!(left_out(&on_disk), both);
    on_disk.refresh(&|| false).unwrap();
    assert_eq!(left_out(&on_disk), both);
    // A notebook that was unreadable for a while is read again, though it has not changed.
    storage.allow("lab", "locked.md");
    for open_collection in [&in_memory, &on_disk] {
        open_collection.refresh(&|| false).unwrap();
        assert_eq!(left_out(open_collection), both[..1]);
        assert_eq!(ids(open_collection, "door").len(), 1);
    }
    let again = update();
    assert_eq!((again.indexed, again.unreadable), (1, 1));
    // And what is small enough again.
    storage.write("lab", "large.md", b"# Apples\n\nSmall again.\n");
    for open_collection in [&in_memory, &on_disk] {
        open_collection.refresh(&|| false).unwrap();
        assert_eq!(left_out(open_collection), []);
    }
}

#[test]
fn a_notebook_that_grew_too_large_is_reported_though_it_is_indexed() {
    let storage = library();
    let open_collection = open_collection(&storage, None);
    let before = ids(&open_collection, "apples");
    let mut large = vec![b'x'; usize::try_from(LARGEST).unwrap() + 1];
    large[0] = b'#';
    storage.write("lab", "a.md", &large);
    open_collection.refresh(&|| false).unwrap();
    assert_eq!(
        left_out(&open_collection),
        [("a.md".to_owned(), WhyLeftOut::TooLarge)]
    );
    assert!(before.iter().any(|id| id.starts_with("lab/a.md@")));
    assert!(
        ids(&open_collection, "apples")
            .iter()
            .all(|id| !id.starts_with("lab/a.md@"))
    );
}

#[test]
fn a_comparison_that_began_earlier_does_not_undo_a_later_one() {
    let storage = library();
    let place = LocalPlace {
        folder: None,
        mirror: None,
        models: Models::built_in().unwrap(),
        refused: None,
    };
    let index = LocalIndex::open(storage.library(), "lab", place, now, &|| false).unwrap();
    storage.write("lab", "early.md", b"# Early\n\nA quince.\n");
    let (is_listed, may_go_on) = (Barrier::new(2), Barrier::new(2));
    let asked_to_stop = AtomicUsize::new(0);
    let waits_behind_its_list = || {
        // Called first before listing, then before the first notebook is read.
        if asked_to_stop.fetch_add(1, Ordering::Relaxed) == 1 {
            is_listed.wait();
            may_go_on.wait();
        }
        false
    };
    thread::scope(|scope| {
        scope.spawn(|| index.refresh(&waits_behind_its_list).unwrap());
        is_listed.wait();
        storage.write("lab", "late.md", b"# Late\n\nA medlar.\n");
        let later = scope.spawn(|| index.refresh(&|| false).unwrap());
        // Without waiting for the other one, it would finish within this time.
        for _ in 0..50 {
            if later.is_finished() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        may_go_on.wait();
    });
    for query in ["quince", "medlar"] {
        let (found, _) = index.search(&asked(query), 10, &|| false).unwrap();
        assert_eq!(found.hits.len(), 1, "{query}");
    }
}

#[test]
fn edits_of_one_notebook_do_not_make_the_others_be_read_again() {
    let storage = library();
    for number in 0..600 {
        let text = format!("# Note {number}\n\nApples.\n");
        storage.write("lab", &format!("{number}.md"), text.as_bytes());
    }
    let place = LocalPlace {
        folder: None,
        mirror: None,
        models: Models::built_in().unwrap(),
        refused: None,
    };
    let index = LocalIndex::open(storage.library(), "lab", place, now, &|| false).unwrap();
    let read = storage.read_of_notebooks();
    for round in 0..30 {
        let text = format!("# Edited\n\nQuince {round}.\n");
        storage.write("lab", "edited.md", text.as_bytes());
        index.refresh(&|| false).unwrap();
    }
    assert_eq!(storage.read_of_notebooks() - read, 30);
    let (found, _) = index.search(&asked("quince"), 10, &|| false).unwrap();
    assert_eq!(found.hits.len(), 1);
}
