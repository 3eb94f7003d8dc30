//! Questions of ours over the manuals of other projects, beside plain BM25 over the same sections.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use sectile_markdown::AnchorStyle;
use serde_json::Value;

use super::plain_bm25::PlainIndex;
use super::sectile;
use crate::process::{self, Repo};

/// A manual, with the figures that the search must reach.
pub(super) struct Manual {
    name: &'static str,
    /// Relative to the data folder.
    pub(super) folder: &'static str,
    /// The questions, in the repository.
    questions: &'static str,
    /// The value of `docs.site`.
    site: &'static str,
    anchors: AnchorStyle,
    /// Least percentage of questions whose answer is first, and among the first three: by words alone, with the instant
    /// model, and with the better one.
    least: [[f64; 2]; 3],
}

pub(super) const MANUALS: &[Manual] = &[
    Manual {
        name: "uv",
        folder: "corpora/uv-docs",
        questions: "bench/manuals/uv.toml",
        site: "mkdocs",
        anchors: AnchorStyle::MkDocs,
        least: [[66.0, 79.5], [66.0, 81.5], [79.0, 91.5]],
    },
    Manual {
        name: "fastapi",
        folder: "corpora/fastapi-docs",
        questions: "bench/manuals/fastapi.toml",
        site: "mkdocs",
        anchors: AnchorStyle::MkDocs,
        least: [[56.5, 69.0], [59.0, 74.5], [67.5, 80.5]],
    },
    Manual {
        name: "vite",
        folder: "corpora/vite-docs",
        questions: "bench/manuals/vite.toml",
        site: "vitepress",
        anchors: AnchorStyle::VitePress,
        // The weight of meaning that follows the words (`docs/decisions/0038`) gains a question at the first place and loses
        // one among the first three.
        least: [[58.0, 77.5], [65.0, 78.5], [69.0, 84.5]],
    },
];

/// The rankings that are measured; the last column is how they are called.
const RANKINGS: [(&str, &str); 3] = [
    ("words", "words"),
    ("static", "with meaning, static"),
    ("meaning", "with meaning, transformer"),
];

/// What a search reached, in percent.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// Among the first, the first three and the first ten.
    hits: [f64; 3],
    /// The mean reciprocal rank, from 0 to 1.
    mean: f64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, three, ten] = self.hits;
        write!(
            f,
            "hit@1 {first:.1} %, hit@3 {three:.1} %, hit@10 {ten:.1} %, MRR {:.3}",
            self.mean
        )
    }
}

/// Asks the questions about a manual, and returns the figures that are too low.
pub(super) fn evaluated(repo: &Repo, data: &Path, manual: &Manual) -> Result<Vec<String>> {
    let plain = plain(repo, data, manual)?;
    let mut index = asked(repo, manual, "meaning");
    index.args(["docs", "index", "--json", "--path"]);
    process::stdout_of(index.arg(data.join(manual.folder)))?;
    let mut found = [Figures::default(); RANKINGS.len()];
    for (at, (ranking, name)) in RANKINGS.into_iter().enumerate() {
        found[at] = searched(repo, data, manual, ranking)?;
        let [first, three] = manual.least[at];
        let least = format!("(at least {first:.1}, {three:.1})");
        println!("{:<20} {name}: {} {least}", manual.name, found[at]);
    }
    Ok(judged(manual, plain, found))
}

/// Runs plain BM25.
fn plain(repo: &Repo, data: &Path, manual: &Manual) -> Result<Figures> {
    let index = PlainIndex::of_folder(&data.join(manual.folder), manual.anchors)?;
    let text = fs::read_to_string(repo.root.join(manual.questions))?;
    let file: toml::Table = text.parse()?;
    let questions = file["question"].as_array().context("no questions")?;
    let ranks = questions.iter().map(|question| {
        let ask = question["ask"]
            .as_str()
            .context("a question without text")?;
        let expected = question["expect"].as_array().context("no sections")?;
        let expected: Vec<String> = expected
            .iter()
            .filter_map(|label| label.as_str().map(str::to_owned))
            .collect();
        Ok(index.rank(ask, &expected))
    });
    let ranks = ranks.collect::<Result<Vec<Option<usize>>>>()?;
    let figures = Figures::of(&ranks);
    println!(
        "{:<20} {} questions over {} sections; plain BM25: {figures}",
        manual.name,
        ranks.len(),
        index.len()
    );
    Ok(figures)
}

impl Figures {
    fn of(ranks: &[Option<usize>]) -> Self {
        let all = ranks.len().max(1) as f64;
        let hits = [1, 3, 10].map(|depth| {
            let hits = ranks.iter().flatten().filter(|rank| **rank <= depth);
            hits.count() as f64 * 100.0 / all
        });
        let reciprocal = ranks.iter().flatten().map(|rank| 1.0 / *rank as f64);
        Self {
            hits,
            mean: reciprocal.sum::<f64>() / all,
        }
    }
}

/// Returns a command about a manual that is ranked in this way.
fn asked(repo: &Repo, manual: &Manual, ranking: &str) -> Command {
    let mut command = sectile(repo);
    // An index in the user's cache would not hurt, but one belongs neither there nor in the data.
    command
        .env("XDG_CACHE_HOME", repo.target.join("eval-cache"))
        .env("SECTILE_DOCS__SITE", manual.site)
        .env("SECTILE_DOCS__RANKING", ranking);
    command
}

/// Runs the program.
fn searched(repo: &Repo, data: &Path, manual: &Manual, ranking: &str) -> Result<Figures> {
    let mut command = asked(repo, manual, ranking);
    command
        .args(["docs", "eval", "--json", manual.questions, "--path"])
        .arg(data.join(manual.folder));
    let report: Value = serde_json::from_str(&process::stdout_of(&mut command)?)?;
    let figure = |key: &str| {
        let permille = report[key].as_f64();
        permille.with_context(|| format!("the report on {} has no {key}", manual.name))
    };
    Ok(Figures {
        hits: [
            figure("hit_at_1_permille")? / 10.0,
            figure("hit_at_3_permille")? / 10.0,
            figure("hit_at_10_permille")? / 10.0,
        ],
        mean: figure("mrr_permille")? / 1_000.0,
    })
}

fn judged(manual: &Manual, plain: Figures, found: [Figures; RANKINGS.len()]) -> Vec<String> {
    let mut below = Vec::new();
    for ((found, least), (_, name)) in found.iter().zip(manual.least).zip(RANKINGS) {
        for (at, depth) in [1, 3].into_iter().enumerate() {
            if found.hits[at] < least[at] {
                below.push(format!(
                    "{}: hit@{depth} by {name} is {:.1} %, but must be at least {:.1}",
                    manual.name, found.hits[at], least[at]
                ));
            }
        }
    }
    // The program's figures are rounded down to thousandths.
    let words = found[0];
    for (at, depth) in [1, 3, 10].into_iter().enumerate() {
        if words.hits[at] + 0.1 < plain.hits[at] {
            below.push(format!(
                "{}: hit@{depth} by words is {:.1} %, less than the {:.1} of plain BM25",
                manual.name, words.hits[at], plain.hits[at]
            ));
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_below_their_bounds_or_plain_bm25_are_told() {
        let manual = &MANUALS[0];
        let figures = |[first, three]: [f64; 2]| Figures {
            hits: [first, three, 95.0],
            mean: 0.5,
        };
        let found = manual.least.map(figures);
        let plain = figures(manual.least[0]);
        assert_eq!(judged(manual, plain, found), Vec::<String>::new());
        let better = Figures {
            hits: [plain.hits[0], plain.hits[1] + 1.0, 95.0],
            ..plain
        };
        assert_eq!(judged(manual, better, found).len(), 1);
        let low = [figures([0.0, 99.0]), found[1], found[2]];
        assert_eq!(judged(manual, Figures::default(), low).len(), 1);
    }

    #[test]
    fn figures_count_ranks() {
        let figures = Figures::of(&[Some(1), Some(2), None, Some(10)]);
        assert_eq!(figures.hits, [25.0, 50.0, 75.0]);
        assert!((figures.mean - 0.4).abs() < 1e-9);
    }

    #[test]
    fn the_questions_are_in_the_repository() {
        let repo = Repo::find();
        for manual in MANUALS {
            assert!(
                repo.root.join(manual.questions).is_file(),
                "{}",
                manual.name
            );
        }
    }
}
