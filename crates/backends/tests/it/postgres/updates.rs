//! Changes: all or none, with the same result as if everything had been loaded at once.

use std::sync::{
    Barrier,
    atomic::{AtomicBool, Ordering},
};

use sectile_backends::Postgres;
use sectile_library::{Change, StorageError, VectorIndexing as _, VectorSearch as _};

use super::fixture::{
    Embedded, Home, Text, entry, found, load, notebooks, path, put, puts, questions, update,
};

/// Returns the word counts, without the collection's name.
fn counted(home: &Home, collection: &str) -> String {
    home.sql(&format!(
        "SELECT kind, term, stem, chunks, words FROM sectile.term
        WHERE collection = (SELECT id FROM sectile.collection WHERE name = '{collection}') ORDER BY kind, term"
    ))
}

/// Returns the entries of the lists, by chunk instead of by number.
fn listed(home: &Home, collection: &str) -> String {
    home.sql(&format!(
        "SELECT md5(string_agg(l, ' ' ORDER BY l)), count(*) FROM (
            SELECT p.hash || ':' || c.path || ':' || c.number || ':' || w AS l
            FROM sectile.posting p CROSS JOIN unnest(p.chunks, p.weights) AS x (id, w)
            LEFT JOIN sectile.chunk c ON c.collection = p.collection AND c.id = x.id
            WHERE p.collection = (SELECT id FROM sectile.collection WHERE name = '{collection}')
        ) lists"
    ))
}

/// Returns the number of chunks listed under a block that is not theirs.
fn misplaced(home: &Home) -> String {
    home.sql(
        "SELECT count(*) FROM sectile.posting p CROSS JOIN unnest(p.chunks) AS x (id)
        LEFT JOIN sectile.chunk c ON c.collection = p.collection AND c.id = x.id
        WHERE c.block IS DISTINCT FROM p.block",
    )
}

#[track_caller]
fn same_as_fresh(home: &Home, postgres: &Postgres, notebooks: &super::fixture::Notebooks) {
    let fresh = load(postgres, "fresh", notebooks);
    assert_eq!(postgres.state("grown").unwrap(), fresh);
    assert_eq!(counted(home, "grown"), counted(home, "fresh"));
    assert_eq!(listed(home, "grown"), listed(home, "fresh"));
    assert_eq!(misplaced(home), "0");
    let embedded = Embedded::new(notebooks);
    for question in questions().iter().step_by(3) {
        embedded.compare(postgres, "grown", question);
    }
}

#[test]
fn what_grew_is_like_what_was_loaded_at_once() {
    let home = Home::new();
    let postgres = home.prepared();
    let mut notebooks = notebooks(0..150);
    load(&postgres, "grown", &notebooks);
    // Some are replaced, some removed, some new; a name becomes a word, and a word disappears altogether.
    let replaced: Vec<String> = notebooks.keys().step_by(4).cloned().collect();
    let removed: Vec<String> = notebooks.keys().skip(1).step_by(5).cloned().collect();
    let mut changes = Vec::new();
    for (number, notebook) in replaced.iter().enumerate() {
        let texts = vec![
            Text::new("Replaced", "MaxDoc and unheardof words"),
            Text::new("", &format!("maxdoc number {number}")),
        ];
        changes.push(put(notebook, &texts));
        notebooks.insert(notebook.clone(), texts);
    }
    for notebook in removed.iter().filter(|one| !replaced.contains(one)) {
        changes.push(Change::Remove(path(notebook)));
        notebooks.remove(notebook);
    }
    let more = super::fixture::notebooks(300..330);
    changes.extend(puts(&more));
    notebooks.extend(more);
    update(&postgres, "grown", false, changes).unwrap();
    same_as_fresh(&home, &postgres, &notebooks);
    let gone = replaced.first().unwrap();
    let texts = vec![Text::new("", "MaxDoc")];
    update(&postgres, "grown", false, vec![put(gone, &texts)]).unwrap();
    notebooks.insert(gone.clone(), texts);
    same_as_fresh(&home, &postgres, &notebooks);
    // The same notebook several times in one update: the last one counts.
    let texts = vec![Text::new("Last", "of all")];
    let changes = vec![
        put(gone, &[Text::new("First", "version")]),
        Change::Remove(path(gone)),
        put(gone, &texts),
    ];
    update(&postgres, "grown", false, changes).unwrap();
    notebooks.insert(gone.clone(), texts);
    same_as_fresh(&home, &postgres, &notebooks);
    let all = notebooks
        .keys()
        .map(|one| Change::Remove(path(one)))
        .collect();
    let state = update(&postgres, "grown", false, all).unwrap();
    assert_eq!((state.notebooks, state.chunks), (0, 0));
    assert_eq!(counted(&home, "grown"), "");
    assert_eq!(listed(&home, "grown"), "\t0");
}

#[test]
fn many_batches_are_one_change() {
    let home = Home::new();
    let postgres = home.prepared();
    let notebooks = super::fixture::singles();
    let state = load(&postgres, "grown", &notebooks);
    assert_eq!((state.notebooks, state.chunks), (2_000, 2_000));
    let state = load(&postgres, "grown", &notebooks);
    assert_eq!((state.notebooks, state.chunks), (2_000, 2_000));
    assert_eq!(home.sql("SELECT count(*) FROM sectile.chunk"), "2000");
    // Lists cover four batches.
    let blocks = home.sql("SELECT count(DISTINCT block) FROM sectile.posting");
    assert_eq!((blocks.as_str(), misplaced(&home).as_str()), ("10", "0"));
    let embedded = Embedded::new(&notebooks);
    for question in questions().iter().step_by(2) {
        embedded.compare(&postgres, "grown", question);
    }
}

#[test]
fn a_notebook_comes_again_whether_its_lists_are_written_or_not() {
    let home = Home::new();
    let postgres = home.prepared();
    load(&postgres, "grown", &notebooks(0..9));
    let mut expected = notebooks(0..360);
    let again = expected.keys().next().unwrap().clone();
    let removed = expected.keys().nth(1).unwrap().clone();
    let texts = |number: usize| vec![Text::new("Again", &format!("unheardof number {number}"))];
    let mut changes = Vec::new();
    for (number, (notebook, all)) in expected.iter().enumerate() {
        changes.push(put(notebook, all));
        if [1, 30, 31, 50, 100].contains(&number) {
            changes.push(put(&again, &texts(number)));
        }
        if number == 35 {
            changes.push(Change::Remove(path(&removed)));
        }
    }
    update(&postgres, "grown", false, changes).unwrap();
    expected.insert(again, texts(100));
    expected.remove(&removed);
    same_as_fresh(&home, &postgres, &expected);
}

#[test]
fn a_touched_notebook_has_another_stamp_and_nothing_else() {
    let home = Home::new();
    let postgres = home.prepared();
    let texts = [Text::new("Cats", "Cats sleep.")];
    load(
        &postgres,
        "docs",
        &[("a.md".to_owned(), texts.to_vec())].into(),
    );
    let before = counted(&home, "docs");
    let mut touched = entry("a.md", &texts);
    touched.stamp = [9, 8, 7, 6];
    let unknown = entry("b.md", &texts);
    let changes = vec![Change::Touch(touched.clone()), Change::Touch(unknown)];
    update(&postgres, "docs", false, changes).unwrap();
    assert_eq!(postgres.entries("docs").unwrap(), [touched]);
    assert_eq!(counted(&home, "docs"), before);
    assert_eq!(found(&postgres, "docs", "cats"), ["a.md"]);
}

#[test]
fn a_removed_collection_leaves_nothing() {
    let home = Home::new();
    let postgres = home.prepared();
    load(&postgres, "docs", &notebooks(0..9));
    load(&postgres, "others", &notebooks(9..12));
    postgres.remove("docs").unwrap();
    postgres.remove("docs").unwrap();
    let error = postgres.state("docs").unwrap_err();
    assert_eq!(error, StorageError::CollectionNotFound);
    assert_eq!(postgres.state("others").unwrap().chunks, 3);
    for table in ["chunk", "notebook", "term", "posting"] {
        let left = format!("SELECT count(DISTINCT collection) FROM sectile.{table}");
        assert_eq!(home.sql(&left), "1", "{table}");
    }
}

#[test]
fn what_ends_half_way_changes_nothing() {
    let home = Home::new();
    let postgres = home.prepared();
    let old = notebooks(0..30);
    load(&postgres, "docs", &old);
    let before = (counted(&home, "docs"), listed(&home, "docs"));
    let error = StorageError::failed("It broke.");
    for is_new in [false, true] {
        let many = super::fixture::notebooks(30..1_500);
        let many = puts(&many).into_iter().map(Ok);
        let mut changes = many.chain([Err(error.clone())]);
        let result = postgres.update("docs", 43, is_new, &mut changes);
        assert_eq!(result.unwrap_err(), error);
        let result = postgres.update("docs", 43, is_new, &mut [Err(error.clone())].into_iter());
        assert_eq!(result.unwrap_err(), error);
    }
    assert_eq!(postgres.state("docs").unwrap().as_of, 42);
    assert_eq!((counted(&home, "docs"), listed(&home, "docs")), before);
    Embedded::new(&old).compare(&postgres, "docs", "water turns");
}

#[test]
fn of_two_writers_the_second_is_told() {
    let home = Home::new();
    let (one, other) = (home.prepared(), home.open());
    load(&one, "docs", &notebooks(0..6));
    let (begun, tried) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mut is_first = true;
            // Enough that some are written before the last.
            let changes = puts(&super::fixture::notebooks(0..1_200)).into_iter();
            let mut changes = changes.enumerate().map(|(number, change)| {
                if number == 399 && std::mem::take(&mut is_first) {
                    begun.wait();
                    tried.wait();
                }
                Ok(change)
            });
            one.update("docs", 43, false, &mut changes)
        });
        begun.wait();
        let error = update(&other, "docs", false, vec![put("x.md", &[])]).unwrap_err();
        assert!(
            error.to_string().starts_with("Another process is writing"),
            "{error}"
        );
        // Another collection is not affected, and readers see the old state.
        update(&other, "others", true, vec![put("x.md", &[])]).unwrap();
        assert_eq!(other.state("docs").unwrap().chunks, 6);
        tried.wait();
        assert_eq!(first.join().unwrap().unwrap().chunks, 1_200);
    });
    assert_eq!(other.state("docs").unwrap().chunks, 1_200);
}

#[test]
fn readers_see_the_old_or_the_new_state() {
    let home = Home::new();
    let postgres = home.prepared();
    let states = [notebooks(0..60), notebooks(60..150)];
    load(&postgres, "docs", &states[0]);
    let embedded = [Embedded::new(&states[0]), Embedded::new(&states[1])];
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let reader = home.open();
                    let mut seen = 0;
                    while !is_done.load(Ordering::Relaxed) {
                        let found = found(&reader, "docs", "pod network policy");
                        let is_one = embedded
                            .iter()
                            .any(|one| one.best("pod network policy") == found);
                        assert!(is_one, "{found:?}");
                        seen += 1;
                    }
                    seen
                })
            })
            .collect();
        for round in 0..6 {
            let (from, to) = (&states[round % 2], &states[(round + 1) % 2]);
            let mut changes = puts(to);
            if round % 3 != 0 {
                let gone = from.keys().filter(|one| !to.contains_key(*one));
                changes.extend(gone.map(|one| Change::Remove(path(one))));
            }
            update(&postgres, "docs", round % 3 == 0, changes).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}
