//! Query sets over sections of the Kubernetes documentation. The documents and two of the sets were written by other people
//! and are outside the repository; the questions are ours.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result};
use sectile_retrieval::evaluation::{Judgement, TestDocument, TestQuery, TestSet};
use serde_json::Value;

use super::repository;
use crate::Bench;

/// Name, queries and judgements of each set. Weights are chosen on the first.
pub(super) const SETS: [(&str, &str, &str); 3] = [
    ("k8s-docs", "queries", "qrels"),
    ("k8s-docs-leaf", "queries-leaf", "qrels-leaf"),
    ("questions", "questions", "qrels-questions"),
];

/// Returns the folder of the documents and of the sets that others wrote.
pub(super) fn folder(bench: &Bench) -> PathBuf {
    bench.data.join("ir/k8s-docs")
}

/// Returns the folder of the questions.
pub(super) fn questions() -> PathBuf {
    repository().join("bench/k8s-docs")
}

/// Returns the path of a file.
pub(super) fn path(bench: &Bench, name: &str) -> PathBuf {
    let ours = questions().join(name);
    if ours.is_file() {
        ours
    } else {
        folder(bench).join(name)
    }
}

/// Returns the sets, in the order of [`SETS`], or `None` if the documents are absent.
pub(super) fn read(bench: &Bench) -> Result<Option<Vec<TestSet>>> {
    if !folder(bench).is_dir() {
        return Ok(None);
    }
    let documents: Vec<TestDocument> = lines(bench, "corpus.jsonl")?
        .iter()
        .map(|line| TestDocument {
            id: text(line, "_id"),
            title: text(line, "title"),
            text: text(line, "text"),
        })
        .collect();
    let set = |(_, queries, judgements): (&str, &str, &str)| {
        let queries = lines(bench, &format!("{queries}.jsonl"))?;
        let queries = queries.iter().map(|line| TestQuery {
            id: text(line, "_id"),
            text: text(line, "text"),
        });
        Ok(TestSet {
            documents: documents.clone(),
            queries: queries.collect(),
            judgements: judged(bench, &format!("{judgements}.tsv"))?,
        })
    };
    SETS.into_iter().map(set).collect::<Result<_>>().map(Some)
}

fn lines(bench: &Bench, name: &str) -> Result<Vec<Value>> {
    let file = fs::read_to_string(path(bench, name)).with_context(|| name.to_owned())?;
    let lines = file.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| name.to_owned())
}

fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_default().to_owned()
}

fn judged(bench: &Bench, name: &str) -> Result<Vec<Judgement>> {
    let file = fs::read_to_string(path(bench, name)).with_context(|| name.to_owned())?;
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
