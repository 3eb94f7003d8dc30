//! nDCG@10 and recall@10 on every query set, in percent.
//!
//! A fusion is (1 - w) * words / best + w * max(0, cosine). Its w is chosen on the first set and fixed for the others, so
//! only the others are a fair report of it. Searches use the w in the model's file, and the targets apply to that.

use std::{collections::HashMap, fs};

use anyhow::{Context as _, Result, anyhow};
use sectile_markdown::Digest;
use sectile_retrieval::{
    Bytes, Corpus, Embedder, MeaningWeight,
    evaluation::{DEPTH, Figures, TestQuery, TestSet, found},
};

use super::{
    remembered::CachedModel,
    sets::SETS,
    yardstick::{self, Vectors},
};
use crate::{
    Bench,
    report::{Report, Verdict},
};

/// The whole, in the millionths that weights are given in.
const WHOLE: u64 = 1_000_000;
const STEP: u64 = 50_000;
/// The targets for searches with each model on the first two sets. On the others the first model must be as good as words,
/// and the last as good as the baseline model.
const TARGETS: [[f64; 2]; 2] = [[54.5, 64.3], [66.0, 70.0]];

/// The figures for each of the sets.
type Row = Vec<Figures>;

pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    sets: &[TestSet],
    models: &[&dyn Embedder],
) -> Result<()> {
    let heads = SETS.iter().zip(sets);
    let heads: Vec<String> = heads
        .map(|((name, ..), set)| format!("{name} ({})", set.queries.len()))
        .collect();
    report.seen(
        &format!("{:<58}", "nDCG@10 / recall@10"),
        &heads
            .iter()
            .map(|head| format!("{head:>20}"))
            .collect::<String>(),
    );
    let mut words = None;
    let mut searched = Vec::new();
    for model in models {
        let corpus = corpus(bench, &sets[0], *model)?;
        if words.is_none() {
            let by_words = row(sets, |query| found(&corpus, query, None))?;
            show(report, "words", &by_words);
            words = Some(by_words);
        }
        searched.push((model.name(), with_model(report, sets, *model, &corpus)?));
    }
    let words = words.context("no model")?;
    let other = match yardstick::vectors(bench, sets) {
        Ok(vectors) => {
            let corpus = corpus(bench, &sets[0], models[0])?;
            Some(with_yardstick(report, sets, &vectors, &corpus)?)
        }
        Err(missing) => {
            report.seen("skipped, MiniLM f32", &format!("{missing:#}"));
            None
        }
    };
    for ((name, searched), targets) in searched.iter().zip(TARGETS) {
        let other = other.as_ref().filter(|_| targets == TARGETS[1]);
        judge(report, (name, searched), targets, &words, other);
    }
    Ok(())
}

/// Returns the embedded documents. Embedding takes a while, so the file is kept.
fn corpus(bench: &Bench, set: &TestSet, model: &dyn Embedder) -> Result<Corpus> {
    let texts = set.documents.iter();
    let texts: String = texts
        .map(|document| format!("{}\n{}\n", document.title, document.text))
        .collect();
    let named = format!("{}{}", Digest::of(texts.as_bytes()), model.fingerprint());
    let folder = bench.target.join("retrieval");
    let path = folder.join(format!("{}.segment", Digest::of(named.as_bytes())));
    let kept = fs::read(&path).ok();
    if let Some(corpus) = kept.and_then(|file| set.corpus(&Bytes::new(file), model).ok()) {
        return Ok(corpus);
    }
    println!(
        "       embedding {} documents with {}, kept for next time",
        set.documents.len(),
        model.name()
    );
    let file = set.segment(model);
    fs::create_dir_all(folder)?;
    fs::write(path, &file)?;
    Ok(set.corpus(&Bytes::new(file), model)?)
}

fn row(sets: &[TestSet], mut find: impl FnMut(&TestQuery) -> Vec<usize>) -> Result<Row> {
    let figures = sets.iter().map(|set| set.measured(&mut find));
    figures.map(|one| one.map_err(|why| anyhow!(why))).collect()
}

fn show(report: &mut Report, what: &str, row: &Row) {
    let figures = row
        .iter()
        .map(|one| format!("{:>12.1} /{:>6.1}", one.ndcg, one.recall));
    report.seen(&format!("{what:<58}"), &figures.collect::<String>());
}

/// Evaluates a model alone and with words, with the weight chosen here and with that in its file. Returns the last.
fn with_model(
    report: &mut Report,
    sets: &[TestSet],
    model: &dyn Embedder,
    corpus: &Corpus,
) -> Result<Row> {
    let queries = sets.iter().flat_map(|set| &set.queries);
    let mut remembered = CachedModel::new(model, queries.map(|query| query.text.as_str()));
    let mut at = |weight: MeaningWeight, sets: &[TestSet]| {
        remembered.weight = weight;
        let mut reader = remembered.reader();
        row(sets, |query| found(corpus, query, Some(&mut *reader)))
    };
    // Among documents that match at all: that contain one of the words, or are near.
    show(
        report,
        &format!("{} alone", model.name()),
        &at(fixed(WHOLE), sets)?,
    );
    let chosen = chosen(|weight| Ok(at(fixed(weight), &sets[..1])?[0].ndcg))?;
    for (weight, whose) in [
        (fixed(chosen), "best on the first"),
        (model.weight(), "of its file"),
    ] {
        let [most, least] = [weight.most, weight.most - weight.discount];
        let [most, least] = [most, least].map(|share| share as f64 / WHOLE as f64);
        let what = format!(
            "words and {}, w {least:.2} to {most:.2} {whose}",
            model.name()
        );
        show(report, &what, &at(weight, sets)?);
    }
    at(model.weight(), sets)
}

/// Returns a weight that is the same for all queries.
fn fixed(weight: u64) -> MeaningWeight {
    MeaningWeight {
        most: weight,
        discount: 0,
    }
}

/// Returns the weight with the best figure; the lowest of equal ones.
fn chosen(mut figure: impl FnMut(u64) -> Result<f64>) -> Result<u64> {
    let mut best = (0, f64::MIN);
    for weight in (STEP..WHOLE).step_by(STEP as usize) {
        let figure = figure(weight)?;
        if figure > best.1 {
            best = (weight, figure);
        }
    }
    Ok(best.0)
}

/// The scores to fuse for a query.
struct Sides {
    words: Vec<f32>,
    meaning: Vec<f32>,
}

impl Sides {
    /// Returns the numbers of the best documents, the first of equal ones first.
    fn best(&self, weight: u64) -> Vec<usize> {
        let weight = weight as f32 / WHOLE as f32;
        let sides = self.words.iter().zip(&self.meaning);
        let fused: Vec<f32> = sides
            .map(|(words, meaning)| (1.0 - weight) * words + weight * meaning.max(0.0))
            .collect();
        let mut order: Vec<usize> = (0..fused.len()).collect();
        order.sort_by(|one, other| fused[*other].total_cmp(&fused[*one]));
        order.truncate(DEPTH);
        order
    }
}

/// Evaluates the baseline model alone and with our words. Returns the latter.
fn with_yardstick(
    report: &mut Report,
    sets: &[TestSet],
    vectors: &Vectors,
    corpus: &Corpus,
) -> Result<Row> {
    let mut sides: HashMap<&str, Sides> = HashMap::new();
    for (set, vectors_of) in sets.iter().zip(&vectors.queries) {
        for (query, vector) in set.queries.iter().zip(vectors_of) {
            let one = Sides {
                words: words_of(corpus, query),
                meaning: vectors.cosines(vector),
            };
            sides.insert(&query.text, one);
        }
    }
    let at = |weight: u64, sets: &[TestSet]| {
        row(sets, |query| {
            let sides = sides.get(query.text.as_str());
            sides.map(|sides| sides.best(weight)).unwrap_or_default()
        })
    };
    show(report, "MiniLM f32 alone", &at(WHOLE, sets)?);
    let chosen = chosen(|weight| Ok(at(weight, &sets[..1])?[0].ndcg))?;
    let fused = at(chosen, sets)?;
    let shown = chosen as f64 / WHOLE as f64;
    let what = format!("words and MiniLM f32, w {shown:.2} best on the first");
    show(report, &what, &fused);
    Ok(fused)
}

/// Returns the word score of each document, as a fraction of the best.
fn words_of(corpus: &Corpus, query: &TestQuery) -> Vec<f32> {
    let (parsed, _) = corpus.lenient_query(&query.text);
    let mut words = vec![0.0; corpus.len()];
    for hit in corpus.search(&parsed, &query.text, None, corpus.len()).hits {
        words[corpus.document_of(hit.chunk)] = hit.lexical as f32 / WHOLE as f32;
    }
    words
}

/// Compares the results of searches with their targets.
fn judge(
    report: &mut Report,
    (name, searched): (&str, &Row),
    targets: [f64; 2],
    words: &Row,
    other: Option<&Row>,
) {
    for (number, (set, ..)) in SETS.iter().enumerate() {
        let reached = searched[number].ndcg;
        let below = words[number].ndcg;
        let (target, whose) = match (targets.get(number), other) {
            (Some(target), _) => (*target, ""),
            (None, Some(other)) => (other[number].ndcg, ", words and MiniLM f32"),
            (None, None) => (below, ", words alone"),
        };
        report.line(
            &format!("words and {name} on {set}"),
            &format!("{reached:.1} (target {target:.1}{whose}; words {below:.1})"),
            Verdict::at_least(reached, target.max(below)),
        );
    }
}
