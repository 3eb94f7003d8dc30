//! Large collections: a graph of vectors that the database uses and that costs almost no quality.

use sectile_backends::Postgres;
use sectile_library::{Change, VectorIndexing as _, VectorSearch as _};
use sectile_test_corpus::{Queries, queries};

use super::fixture::{Embedded, Home, ask, load, open, path, singles, update};

const GRAPHS: &str = "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%hnsw%'";

/// Returns nDCG@10 in percent, where each question has one right answer.
fn quality(kind: Queries, best: impl Fn(&str) -> Vec<String>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    // All of them take minutes without optimisation.
    let step = if cfg!(debug_assertions) { 4 } else { 1 };
    for query in queries(kind).iter().step_by(step) {
        let best = best(&query.text);
        let place = best
            .iter()
            .position(|path| path.strip_suffix(".md") == Some(&query.answer));
        sum += place.map_or(0.0, |place| 1.0 / (place as f64 + 2.0).log2());
        count += 1.0;
    }
    sum / count * 100.0
}

fn best(postgres: &Postgres, text: &str) -> Vec<String> {
    let found = ask(postgres, "docs", text, 10).unwrap();
    assert!(!found.state.is_exact);
    let hits = found.hits.iter();
    hits.map(|hit| hit.located.notebook.to_string()).collect()
}

#[test]
fn a_graph_costs_less_than_a_point_of_quality() {
    let home = Home::new();
    home.prepared();
    // PostgreSQL would compare this few vectors one by one, graph or not.
    home.sql("ALTER ROLE writer SET enable_sort = off");
    let mut settings = home.settings();
    settings.candidates = 100;
    settings.exact_below = 1_000;
    settings.cache_bytes = 0;
    let postgres = open(&settings);
    let notebooks = singles();
    assert!(!load(&postgres, "docs", &notebooks).is_exact);
    let embedded = Embedded::new(&notebooks);
    for kind in Queries::ALL {
        let exact = quality(kind, |text| embedded.best(text));
        let graph = quality(kind, |text| best(&postgres, text));
        println!("{kind:?}: nDCG@10 {exact:.2} exact, {graph:.2} with 100 candidates and a graph");
        assert!(graph >= exact - 1.0, "{kind:?}: {graph} instead of {exact}");
    }
    assert!(scans(&home) > 0, "the graph was not used");
}

/// Returns how often graphs were used, as far as sessions have reported it.
fn scans(home: &Home) -> i64 {
    let scans = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE 'vector_%'";
    home.sql(scans).parse().unwrap()
}

#[test]
fn graphs_come_and_go_with_the_size() {
    let home = Home::new();
    home.prepared();
    let mut settings = home.settings();
    settings.candidates = 50;
    settings.exact_below = 300;
    settings.cache_bytes = 0;
    let postgres = open(&settings);
    let notebooks = super::fixture::notebooks(0..297);
    assert!(load(&postgres, "docs", &notebooks).is_exact);
    assert_eq!(home.sql(GRAPHS), "0");
    let more = super::fixture::notebooks(297..360);
    let state = update(&postgres, "docs", false, super::fixture::puts(&more)).unwrap();
    assert!(!state.is_exact);
    assert!(!postgres.state("docs").unwrap().is_exact);
    assert_eq!(home.sql(GRAPHS), "1");
    // Other collections have graphs of their own, and a rebuilt collection gets a new one.
    load(&postgres, "others", &super::fixture::notebooks(0..330));
    load(&postgres, "small", &super::fixture::notebooks(0..30));
    assert_eq!(home.sql(GRAPHS), "2");
    load(&postgres, "others", &super::fixture::notebooks(0..330));
    assert_eq!(home.sql(GRAPHS), "2");
    assert!(!best(&postgres, "hydraulic leg").is_empty());
    let gone = more.keys().map(|one| Change::Remove(path(one))).collect();
    let state = update(&postgres, "docs", false, gone).unwrap();
    assert!(state.is_exact);
    assert_eq!(home.sql(GRAPHS), "1");
    postgres.remove("others").unwrap();
    assert_eq!(home.sql(GRAPHS), "0");
}

/// The database itself counts how often an index is used.
#[test]
fn the_database_uses_the_graph() {
    let home = Home::new();
    home.prepared();
    let mut settings = home.settings();
    settings.candidates = 50;
    settings.exact_below = 300;
    settings.cache_bytes = 0;
    let postgres = open(&settings);
    load(&postgres, "docs", &super::fixture::notebooks(0..1_500));
    load(&postgres, "small", &super::fixture::notebooks(0..150));
    let used = || scans(&home);
    let wait_for = |least: i64| {
        // Sessions report their statistics within a second.
        let is_told = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            used() >= least
        });
        assert!(is_told, "{} scans", used());
    };
    assert_eq!(used(), 0);
    for _ in 0..3 {
        ask(&postgres, "docs", "How does water reach the trees?", 5).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    ask(&postgres, "docs", "How does water reach the trees?", 5).unwrap();
    wait_for(3);
    let before = used();
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    for _ in 0..3 {
        let found = ask(&postgres, "small", "How does water reach the trees?", 5).unwrap();
        assert!(found.state.is_exact);
    }
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    ask(&postgres, "small", "How does water reach the trees?", 5).unwrap();
    assert!(used() <= before + 1, "the graph of another collection");
}
