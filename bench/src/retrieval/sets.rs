//! The query sets of the repository, all of them over the same documents.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result};
use sectile_retrieval::evaluation::{Judgement, TestDocument, TestQuery, TestSet};
use serde_json::Value;

use super::repository;

/// Name, queries and judgements of each. Weights are chosen on the first.
pub(super) const SETS: [(&str, &str, &str); 3] = [
    ("k8s-docs", "queries", "qrels"),
    ("k8s-docs-leaf", "queries-leaf", "qrels-leaf"),
    ("questions", "questions", "qrels-questions"),
];

/// The folder of the sets.
pub(super) fn folder() -> PathBuf {
    repository().join("crates/sectile/tests/data/k8s-docs")
}

/// The sets, in the order of [`SETS`].
pub(super) fn read() -> Result<Vec<TestSet>> {
    let documents: Vec<TestDocument> = lines("corpus.jsonl")?
        .iter()
        .map(|line| TestDocument {
            id: text(line, "_id"),
            title: text(line, "title"),
            text: text(line, "text"),
        })
        .collect();
    let set = |(_, queries, judgements): (&str, &str, &str)| {
        let queries = lines(&format!("{queries}.jsonl"))?;
        let queries = queries.iter().map(|line| TestQuery {
            id: text(line, "_id"),
            text: text(line, "text"),
        });
        Ok(TestSet {
            documents: documents.clone(),
            queries: queries.collect(),
            judgements: judged(&format!("{judgements}.tsv"))?,
        })
    };
    SETS.into_iter().map(set).collect()
}

fn lines(name: &str) -> Result<Vec<Value>> {
    let file = fs::read_to_string(folder().join(name)).with_context(|| name.to_owned())?;
    let lines = file.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| name.to_owned())
}

fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_default().to_owned()
}

fn judged(name: &str) -> Result<Vec<Judgement>> {
    let file = fs::read_to_string(folder().join(name)).with_context(|| name.to_owned())?;
    let lines = file.lines().skip(1);
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().context("a judgement has three fields");
            Ok(Judgement {
                query: next()?.to_owned(),
                document: next()?.to_owned(),
                score: next()?.trim().parse()?,
            })
        })
        .collect()
}
