//! How well documents are found, on the test corpus: words alone, and words and meaning.
//!
//! Thresholds are a little below what was reached. Sets of real documents are for `cargo xtask eval`.

use sectile_test_corpus::Queries;
use serde_json::Value;

use crate::fixture::sectile;

/// nDCG@10 of words, and of words and meaning.
fn measured(kind: Queries, queries: usize) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    sectile_test_corpus::write(folder.path()).unwrap();
    let (asked, judged) = kind.files();
    let mut command = sectile();
    command.args(["notebook", "eval", "--json"]);
    command.arg(folder.path());
    command.arg("--queries").arg(folder.path().join(asked));
    command.arg("--qrels").arg(folder.path().join(judged));
    let output = command.output().unwrap();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(
        (&report["documents"], &report["queries"]),
        (&2000.into(), &queries.into())
    );
    let of = |kind: &str| report[kind]["ndcg_at_10"].as_f64().unwrap();
    (of("words"), of("words_and_meaning"))
}

#[test]
fn paths_of_headings_find_their_sections() {
    let (words, both) = measured(Queries::Path, 500);
    // A word that is not in the corpus is corrected only where nothing else of the query is found.
    assert!(words >= 38.9, "{words}");
    assert!(both >= 40.1, "{both} with meaning, {words} without");
}

#[test]
fn single_headings_find_their_sections_and_meaning_helps() {
    let (words, both) = measured(Queries::Heading, 315);
    assert!(words >= 40.3, "{words}");
    assert!(both >= 42.4, "{both} with meaning, {words} without");
    assert!(both > words, "{both} with meaning, {words} without");
}

/// Questions avoid the names of their things, so that meaning has to help.
#[test]
fn meaning_helps_with_natural_questions() {
    let (words, both) = measured(Queries::Question, 240);
    assert!(words >= 9.6, "{words}");
    assert!(both >= 12.3, "{both} with meaning, {words} without");
    assert!(both > words, "{both} with meaning, {words} without");
}
