//! How well documents are found, on a public test set: words alone, and words and meaning. See `tests/data/k8s-docs`.

use serde_json::Value;

use crate::fixture::sectile;

const SET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/k8s-docs");

/// nDCG@10 of words, and of words and meaning.
fn measured(more: &[&str], queries: usize) -> (f64, f64) {
    let mut command = sectile();
    let output = command
        .args(["notebook", "eval", SET, "--json"])
        .args(more)
        .output()
        .unwrap();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(
        (&report["documents"], &report["queries"]),
        (&2000.into(), &queries.into())
    );
    let of = |kind: &str| report[kind]["ndcg_at_10"].as_f64().unwrap();
    (of("words"), of("words_and_meaning"))
}

/// The table that this is measured against has 53.0 for BM25.
#[test]
fn paths_of_headings_find_their_sections() {
    let (words, both) = measured(&[], 500);
    assert!(words >= 52.0, "{words}");
    assert!(both >= 54.5, "{both} with meaning, {words} without");
}

/// The table that this is measured against has 61.5 for BM25.
#[test]
fn single_headings_find_their_sections_and_meaning_helps() {
    let (queries, qrels) = (
        format!("{SET}/queries-leaf.jsonl"),
        format!("{SET}/qrels-leaf.tsv"),
    );
    let (words, both) = measured(&["--queries", &queries, "--qrels", &qrels], 315);
    assert!(words >= 60.5, "{words}");
    assert!(both >= 64.3, "{both} with meaning, {words} without");
    assert!(both > words, "{both} with meaning, {words} without");
}

/// Questions avoid the rare words of their sections, so that meaning has to help. They decided nothing about the models.
#[test]
fn meaning_helps_with_natural_questions() {
    let (queries, qrels) = (
        format!("{SET}/questions.jsonl"),
        format!("{SET}/qrels-questions.tsv"),
    );
    let (words, both) = measured(&["--queries", &queries, "--qrels", &qrels], 240);
    assert!(both > words, "{both} with meaning, {words} without");
}
