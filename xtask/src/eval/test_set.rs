//! Reads a test set, and finds its documents with plain BM25.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use sectile_retrieval::evaluation::{Judgement, TestDocument, TestQuery, TestSet};
use serde_json::Value;

use super::plain_bm25::PlainIndex;

/// Reads a test set.
pub(super) fn read(folder: &Path, queries: &Path, judgements: &Path) -> Result<TestSet> {
    let documents = lines(&folder.join("corpus.jsonl"))?;
    let documents = documents.iter().map(|line| TestDocument {
        id: text(line, "_id"),
        title: text(line, "title"),
        text: text(line, "text"),
    });
    let queries = lines(queries)?;
    let queries = queries.iter().map(|line| TestQuery {
        id: text(line, "_id"),
        text: text(line, "text"),
    });
    let rows = fs::read_to_string(judgements).context("the judgements")?;
    let rows = rows.lines().skip(1).map(|row| {
        let mut fields = row.split('\t');
        let mut next = || fields.next().context("a judgement has three fields");
        Ok(Judgement {
            query: next()?.to_owned(),
            document: next()?.to_owned(),
            score: next()?.trim().parse()?,
        })
    });
    Ok(TestSet {
        documents: documents.collect(),
        queries: queries.collect(),
        judgements: rows.collect::<Result<_>>()?,
    })
}

/// Returns nDCG@10 of plain BM25, in percent.
pub(super) fn by_plain_bm25(set: &TestSet) -> Result<f64> {
    let texts = set.documents.iter();
    let texts = texts.map(|document| format!("{} {}", document.title, document.text));
    let index = PlainIndex::of_documents(texts);
    let figures = set.measured(|query| index.best(&query.text));
    Ok(figures.map_err(|why| anyhow!(why))?.ndcg)
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let file = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = file.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| path.display().to_string())
}

fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_default().to_owned()
}
