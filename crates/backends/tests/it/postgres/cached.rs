//! Large collections whose vectors and lists are in memory: the same answers, also after changes by others.

use std::sync::Barrier;

use sectile_backends::Postgres;
use sectile_library::{Change, VectorIndexing as _, VectorSearch as _, tiers::Tier};

use super::fixture::{
    Embedded, Home, Notebooks, Text, ask, fill, found, load, models, notebooks, open, path, put,
    questions, singles, update,
};

/// Opens the index with few candidates, so that collections of some hundred chunks are large.
fn few(home: &Home, cache_bytes: usize) -> Postgres {
    let mut settings = home.settings();
    settings.candidates = 50;
    settings.cache_bytes = cache_bytes;
    open(&settings)
}

const ENOUGH: usize = 64 << 20;

/// Everything about the hits for all questions.
fn answers(postgres: &Postgres) -> Vec<String> {
    let answer = |question: &String| {
        let found = ask(postgres, "docs", question, 10).unwrap();
        format!("{question}: {} {:?}", found.total, found.hits)
    };
    questions().iter().map(answer).collect()
}

/// Checks that the best hits are those of the embedded engine, and returns how many are.
#[track_caller]
fn recall(postgres: &Postgres, embedded: &Embedded) -> String {
    let (mut same, mut asked) = (0, 0);
    for question in questions() {
        let found = found(postgres, "docs", &question);
        let best = embedded.best(&question);
        asked += best.len();
        same += best.iter().filter(|one| found.contains(one)).count();
    }
    assert!(same * 1_000 >= asked * 995, "{same} of {asked}");
    format!("{same} of the {asked} best that the embedded engine finds")
}

#[test]
fn candidates_from_memory_are_those_that_count() {
    let home = Home::new();
    home.prepared();
    let all = singles();
    let postgres = few(&home, ENOUGH);
    load(&postgres, "docs", &all);
    let embedded = Embedded::new(&all);
    println!("static: {}", recall(&postgres, &embedded));
    // The number of chunks that match is that of all chunks, and not of the candidates.
    let found = ask(&postgres, "docs", "day water", 10).unwrap();
    assert!(found.total > 400, "{}", found.total);
    let second = models().second.unwrap();
    let part: Notebooks = notebooks(0..600);
    load(&postgres, "docs", &part);
    assert!(fill(&postgres, "docs", &part, second));
    let state = postgres.state("docs").unwrap();
    assert_eq!((state.tier, state.chunks), (Tier::Transformer, 600));
    let embedded = Embedded::with(&part, second);
    println!("transformer: {}", recall(&postgres, &embedded));
}

#[test]
fn changes_by_another_process_reach_what_is_in_memory() {
    let home = Home::new();
    home.prepared();
    let writer = few(&home, 0);
    let mut all = notebooks(0..360);
    load(&writer, "docs", &all);
    let reader = few(&home, ENOUGH);
    let before = answers(&reader);
    let names: Vec<String> = all.keys().cloned().collect();
    for round in 0..4 {
        let mut changes = Vec::new();
        for name in names.iter().skip(round).step_by(9) {
            let texts = vec![Text::new(
                "Replaced",
                &format!("Round {round} of the water in the trees."),
            )];
            changes.push(put(name, &texts));
            all.insert(name.clone(), texts);
        }
        for name in names.iter().skip(round + 4).step_by(11) {
            changes.push(Change::Remove(path(name)));
            all.remove(name);
        }
        let new = vec![Text::new("", &format!("An unheardof{round} thing."))];
        changes.push(put(&format!("new/{round}.md"), &new));
        all.insert(format!("new/{round}.md"), new);
        // What is removed in the end was also replaced before.
        changes.retain(|change| match change {
            Change::Put { entry, .. } => all.contains_key(entry.notebook.as_str()),
            _ => true,
        });
        update(&writer, "docs", false, changes).unwrap();
        let grown = answers(&reader);
        assert_ne!(grown, before);
        assert_eq!(grown, answers(&few(&home, ENOUGH)), "round {round}");
        let name = format!("new/{round}.md");
        let first = found(&reader, "docs", &format!("unheardof{round}")).remove(0);
        assert_eq!(first, name);
        // The database alone does not offer what was removed either.
        for question in questions() {
            for postgres in [&reader, &writer] {
                let found = found(postgres, "docs", &question);
                assert!(
                    found.iter().all(|name| all.contains_key(name)),
                    "{question}"
                );
            }
        }
    }
    assert_ne!(home.sql("SELECT count(*) FROM sectile.tombstone"), "0");
    // A rebuilt collection has other numbers, and a removed one none.
    load(&writer, "docs", &notebooks(0..360));
    assert_eq!(answers(&reader), before);
    assert_eq!(home.sql("SELECT count(*) FROM sectile.tombstone"), "0");
    writer.remove("docs").unwrap();
    assert!(ask(&reader, "docs", "water", 5).is_err());
}

#[test]
fn many_tombstones_are_compacted() {
    let home = Home::new();
    home.prepared();
    let writer = few(&home, 0);
    let mut all = singles();
    load(&writer, "docs", &all);
    let reader = few(&home, ENOUGH);
    let early = few(&home, ENOUGH);
    answers(&reader);
    answers(&early);
    let listed = || {
        home.sql(
            "SELECT count(*) FROM sectile.posting p CROSS JOIN unnest(p.chunks) AS l (id)
            WHERE NOT EXISTS (SELECT FROM sectile.chunk c WHERE c.collection = p.collection AND c.id = l.id)",
        )
    };
    let names: Vec<String> = all.keys().cloned().collect();
    for (part, is_compact) in [(0..600, false), (600..1_200, true), (1_200..1_300, false)] {
        let gone: Vec<Change> = names[part.clone()]
            .iter()
            .map(|name| Change::Remove(path(name)))
            .collect();
        names[part].iter().for_each(|name| {
            all.remove(name);
        });
        update(&writer, "docs", false, gone).unwrap();
        assert_eq!(
            home.sql("SELECT count(*) = 0 FROM sectile.tombstone") == "t",
            is_compact
        );
        assert_eq!(listed() == "0", is_compact);
        assert_eq!(
            home.sql("SELECT tombstones FROM sectile.collection"),
            home.sql("SELECT count(*) FROM sectile.tombstone")
        );
        assert_eq!(answers(&reader), answers(&few(&home, ENOUGH)));
    }
    // One that has not looked since before the lists were compacted.
    assert_eq!(answers(&early), answers(&few(&home, ENOUGH)));
    let recalled = recall(&early, &Embedded::new(&all));
    println!("after compaction: {recalled}");
}

#[test]
fn memory_is_limited() {
    let home = Home::new();
    home.prepared();
    let mut settings = home.settings();
    settings.candidates = 50;
    settings.exact_below = 300;
    // Vectors take 136 bytes for each of the 360 chunks, and half of the memory is for lists.
    for (cache_bytes, is_exact) in [
        (0, false),
        (360 * 136 * 2 - 2, false),
        (360 * 136 * 2, true),
    ] {
        settings.cache_bytes = cache_bytes;
        let postgres = open(&settings);
        load(&postgres, "docs", &notebooks(0..360));
        assert_eq!(postgres.state("docs").unwrap().is_exact, is_exact);
        let found = ask(&postgres, "docs", "How does water reach the trees?", 5).unwrap();
        assert_eq!((found.hits.len(), found.state.is_exact), (5, is_exact));
        // Another collection takes its place, and it comes back.
        load(&postgres, "others", &notebooks(300..660));
        for name in ["others", "docs", "others"] {
            let found = ask(&postgres, name, "the day of the water", 5).unwrap();
            assert_eq!(found.hits.len(), 5);
        }
    }
}

#[test]
fn searches_that_start_together_agree() {
    let home = Home::new();
    home.prepared();
    load(&few(&home, 0), "docs", &notebooks(0..360));
    let expected = answers(&few(&home, ENOUGH));
    let reader = few(&home, ENOUGH);
    let together = Barrier::new(4);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    answers(&reader)
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    });
}

#[test]
fn damaged_vectors_and_lists_are_reported() {
    let home = Home::new();
    home.prepared();
    let load_again = || load(&few(&home, 0), "docs", &notebooks(0..360));
    for damage in [
        "UPDATE sectile.chunk SET vector = array_fill(0.5, ARRAY[256])::halfvec WHERE id = 100",
        "UPDATE sectile.chunk SET vector = array_fill(8, ARRAY[256])::halfvec WHERE id = 100",
        "UPDATE sectile.posting SET weights = weights || 1::smallint",
        "UPDATE sectile.posting SET chunks = chunks || chunks || chunks || chunks || chunks || chunks || chunks,
            weights = weights || weights || weights || weights || weights || weights || weights",
        "UPDATE sectile.posting SET chunks = array_fill(1, ARRAY[400]), weights = array_fill(1::smallint, ARRAY[400])",
    ] {
        load_again();
        home.sql(damage);
        let error = ask(&few(&home, ENOUGH), "docs", "the day of the water", 5);
        match error {
            Err(error) => assert!(error.to_string().contains("is damaged"), "{damage}: {error}"),
            // Shorter lists with repetitions only shift scores.
            Ok(_) => assert!(damage.contains("chunks || chunks"), "{damage}"),
        }
    }
    // Numbers that no chunk has lead nowhere.
    load_again();
    home.sql("UPDATE sectile.posting SET chunks = chunks || ARRAY[-1, 2147483647], weights = weights || ARRAY[1, -1]::smallint[]");
    assert_eq!(
        ask(&few(&home, ENOUGH), "docs", "the day of the water", 5)
            .unwrap()
            .hits
            .len(),
        5
    );
}
