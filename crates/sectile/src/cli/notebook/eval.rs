//! `sectile notebook eval`: measures how well a test set's documents are found, by words alone and by words and meaning.

use std::{collections::HashMap, path::Path};

use sectile_library::open_collection::IndexState;
use sectile_retrieval::{
    Embedder, ModelError, built_in,
    evaluation::{Figures, Judgement, TestDocument, TestQuery, TestSet},
    transformer,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

use super::{
    args::{EvalArgs, TierName},
    failed, open, require,
    search::opened,
};
use crate::{
    cli::ui::{CliError, DIM, NAME, StyledText, print},
    files,
};

/// The passages considered for each query: enough for ten notebooks, unless a few of them have most of the passages.
const PASSAGES: usize = 50;

/// One line of the documents file.
#[derive(Debug, Deserialize)]
struct EvalDocument {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// One line of the queries file.
#[derive(Debug, Deserialize)]
struct EvalQuery {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

impl From<EvalDocument> for TestDocument {
    fn from(document: EvalDocument) -> Self {
        Self {
            id: document.id,
            title: document.title,
            text: document.text,
        }
    }
}

impl From<EvalQuery> for TestQuery {
    fn from(asked: EvalQuery) -> Self {
        Self {
            id: asked.id,
            text: asked.text,
        }
    }
}

pub(super) fn eval(args: &EvalArgs) -> Result<(), CliError> {
    let of = |given: &Option<std::path::PathBuf>, name: &str| match given {
        Some(path) => path.clone(),
        None => args.folder.join(name),
    };
    let queries: Vec<EvalQuery> = lines(&of(&args.queries, "queries.jsonl"))?;
    let mut set = TestSet {
        documents: Vec::new(),
        queries: queries.into_iter().map(EvalQuery::into).collect(),
        judgements: judgements(&of(&args.qrels, "qrels.tsv"))?,
    };
    if let (Some(root), Some(collection)) = (&args.library, &args.collection) {
        return eval_collection(set, root, collection, args.json);
    }
    let documents: Vec<EvalDocument> = lines(&args.folder.join("corpus.jsonl"))?;
    set.documents = documents.into_iter().map(EvalDocument::into).collect();
    let embedder: Result<&dyn Embedder, ModelError> = match args.tier {
        Some(TierName::Transformer) => transformer().map(|model| model as &dyn Embedder),
        Some(TierName::Static) | None => built_in().map(|model| model as &dyn Embedder),
    };
    let embedder = embedder.map_err(|error| {
        CliError::failed(format_args!(
            "the embedding model inside this program cannot be used: {error}."
        ))
    })?;
    let [words, both] = set.evaluate(embedder).map_err(CliError::failed)?;
    if args.json {
        let report = json!({
            "documents": set.documents.len(),
            "queries": words.queries,
            "model": embedder.name(),
            "words": as_json(&words),
            "words_and_meaning": as_json(&both),
        });
        return print(format_args!("{report}\n"));
    }
    let head = format_args!(
        "{} queries over {} documents, in percent",
        words.queries,
        set.documents.len()
    );
    print(format_args!(
        "{}\n{}{}",
        StyledText(DIM, head),
        row("words", &words),
        row("words and meaning", &both)
    ))
}

/// Evaluates a collection with the index that it has, through the search of a server.
fn eval_collection(
    mut set: TestSet,
    root: &Path,
    collection: &str,
    with_json: bool,
) -> Result<(), CliError> {
    let storage = open(root)?;
    require(&storage, collection)?;
    let listed = storage.notebooks(collection, &|| false);
    let listed = listed.map_err(|error| failed(&error))?;
    let documents = listed.into_iter().map(|one| TestDocument {
        id: one.notebook.to_string(),
        title: String::new(),
        text: String::new(),
    });
    set.documents = documents.collect();
    let numbers: HashMap<&str, usize> = (0..)
        .zip(&set.documents)
        .map(|(number, document)| (document.id.as_str(), number))
        .collect();
    let opened = opened(&storage, None, collection).map_err(|error| failed(&error))?;
    let mut problem = None;
    let figures = set.measured(|query| {
        let asked = opened.lenient_query(&query.text);
        let found = match opened.search(&asked, PASSAGES, &|| false) {
            Ok(found) => found.hits,
            Err(error) => {
                problem.get_or_insert(error);
                Vec::new()
            }
        };
        let mut best: Vec<usize> = Vec::new();
        for hit in found {
            let number = numbers.get(hit.id.notebook.as_str()).copied();
            // The best passage of a notebook counts.
            best.extend(number.filter(|number| !best.contains(number)));
        }
        best
    });
    if let Some(error) = problem {
        return Err(failed(&error));
    }
    let figures = figures.map_err(CliError::failed)?;
    let IndexState { tier, model, .. } = opened.state();
    if with_json {
        let report = json!({
            "documents": set.documents.len(),
            "queries": figures.queries,
            "tier": tier.name(),
            "model": model,
            "words_and_meaning": as_json(&figures),
        });
        return print(format_args!("{report}\n"));
    }
    let head = format_args!(
        "{} queries over {} notebooks with the {} tier, in percent",
        figures.queries,
        set.documents.len(),
        tier.name()
    );
    print(format_args!(
        "{}\n{}",
        StyledText(DIM, head),
        row("words and meaning", &figures)
    ))
}

fn as_json(figures: &Figures) -> serde_json::Value {
    json!({
        "ndcg_at_10": rounded(figures.ndcg),
        "recall_at_10": rounded(figures.recall),
        "mrr_at_10": rounded(figures.reciprocal_rank),
    })
}

fn row(name: &str, figures: &Figures) -> String {
    format!(
        "{}  nDCG@10 {:.2}  recall@10 {:.2}  MRR@10 {:.2}\n",
        StyledText(NAME, format_args!("{name:<18}")),
        figures.ndcg,
        figures.recall,
        figures.reciprocal_rank
    )
}

fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

fn text(path: &Path) -> Result<String, CliError> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let refused = |what: String| {
        CliError::failed(format_args!("{name} {what}"))
            .next("see `sectile notebook eval --help` for the files of a test set")
    };
    files::read_text(path)
        .map_err(|error| refused(format!("cannot be read ({}).", error.kind())))?
        .ok_or_else(|| refused("does not exist.".to_owned()))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, CliError> {
    let text = text(path)?;
    let lines = (1..).zip(text.lines());
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|_| {
                CliError::failed(format_args!("line {number} cannot be parsed."))
                    .next("each line is a JSON object with _id and text")
            })
        })
        .collect()
}

fn judgements(path: &Path) -> Result<Vec<Judgement>, CliError> {
    let text = text(path)?;
    let lines = (1..).zip(text.lines()).skip(1);
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            let mut fields = line.split('\t');
            let judgement = || {
                Some(Judgement {
                    query: fields.next()?.to_owned(),
                    document: fields.next()?.to_owned(),
                    score: fields.next()?.trim().parse().ok()?,
                })
            };
            let mut judgement = judgement;
            judgement().ok_or_else(|| {
                CliError::failed(format_args!("line {number} cannot be parsed."))
                    .next("each line is a query, a document and a score, separated by tabs")
            })
        })
        .collect()
}
