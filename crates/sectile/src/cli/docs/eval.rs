//! `sectile docs eval`: measures how often the section that answers a question is found.

use std::path::Path;

use serde_json::{Value, json};

use super::world;
use crate::{
    cli::{
        args::DocsEvalArgs,
        ui::{BAD, CliError, DIM, HEADING, StyledText, counted, print, visible},
    },
    files,
    worlds::docs::{
        ScoredSection,
        eval::{Evaluation, Question, QuestionOutcome, Questions, RunDifference, SavedRun},
    },
};

/// A run, and what is to be shown of it.
struct EvalReport<'a> {
    questions: &'a [Question],
    evaluation: &'a Evaluation,
    difference: Option<RunDifference>,
    args: &'a DocsEvalArgs,
}

pub(super) fn eval(args: &DocsEvalArgs) -> Result<(), CliError> {
    let questions = questions(args)?;
    // It may be the file that this run is saved to.
    let saved = args.against.as_deref().map(saved_run).transpose()?;
    let (docs, _) = world(&args.documents)?;
    let evaluation = docs
        .evaluate(&questions)
        .map_err(|failure| CliError::failed(&failure.message))?;
    let report = EvalReport {
        questions: &questions,
        evaluation: &evaluation,
        difference: saved.map(|saved| saved.difference(&questions, &evaluation)),
        args,
    };
    match args.json {
        true => print(format_args!("{}\n", report.json()))?,
        false => print(report.text())?,
    }
    if !evaluation.wrong_labels.is_empty() {
        return Err(
            CliError::failed("some questions expect sections that do not exist.")
                .next("correct the lines that are marked"),
        );
    }
    if let Some(file) = &args.save {
        save(file, &SavedRun::new(&questions, &evaluation))?;
    }
    for (wanted, depth) in [(args.min_hit_1, 1), (args.min_hit_3, 3)] {
        let found = evaluation.hit_at(depth);
        if wanted.is_some_and(|wanted| found < usize::from(wanted) * 10) {
            return Err(
                CliError::failed(format_args!("hit@{depth} is {}.", percent(found)))
                    .next("cover in the documents what the questions ask for"),
            );
        }
    }
    Ok(())
}

fn questions(args: &DocsEvalArgs) -> Result<Vec<Question>, CliError> {
    let refused = |what: String| {
        CliError::failed(what).next("see `sectile docs eval --help` for the format of the file")
    };
    let text = files::read_text(&args.file)
        .map_err(|error| refused(format!("the questions cannot be read ({}).", error.kind())))?
        .ok_or_else(|| refused("the file of questions does not exist.".to_owned()))?;
    let parsed: Questions = toml::from_str(&text).map_err(|error| {
        refused(format!(
            "the questions cannot be parsed: {}.",
            error.message()
        ))
    })?;
    if parsed.questions.is_empty() {
        return Err(refused("there are no questions in the file.".to_owned()));
    }
    Ok(parsed.questions)
}

/// Reads a run that was saved before.
fn saved_run(file: &Path) -> Result<SavedRun, CliError> {
    let refused = |what: String| {
        CliError::failed(format_args!("the file given with --against {what}."))
            .next("save a run with `sectile docs eval --save`")
    };
    let text = files::read_text(file)
        .map_err(|error| refused(format!("cannot be read ({})", error.kind())))?
        .ok_or_else(|| refused("does not exist".to_owned()))?;
    SavedRun::parse(&text).map_err(refused)
}

fn save(file: &Path, run: &SavedRun) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(run)
        .map_err(|_| CliError::failed("the run could not be written as JSON."))?;
    files::replace(file, &format!("{text}\n")).map_err(|error| {
        CliError::failed(format_args!("the run cannot be saved ({}).", error.kind()))
            .next("give --save a file in a folder that you may write to")
    })
}

impl EvalReport<'_> {
    fn json(&self) -> Value {
        let evaluation = self.evaluation;
        let asked = self.questions.iter().zip(&evaluation.outcomes);
        let ranks = asked.map(|(question, outcome)| {
            let mut row = json!({ "ask": question.ask, "rank": outcome.rank });
            if self.args.explain {
                row["expected"] = json!(outcome.expected);
                row["above"] = json!(outcome.above);
            }
            row
        });
        let mut report = json!({
            "questions": self.questions.len(),
            "hit_at_1_permille": evaluation.hit_at(1),
            "hit_at_3_permille": evaluation.hit_at(3),
            "hit_at_10_permille": evaluation.hit_at(10),
            "mrr_permille": evaluation.reciprocal_rank(),
            "corpus": evaluation.corpus,
            "ranking": evaluation.ranking,
            "ranks": ranks.collect::<Vec<_>>(),
            "wrong_labels": evaluation.wrong_labels
                .iter()
                .map(|(number, label)| json!({ "ask": self.questions[*number].ask, "label": label }))
                .collect::<Vec<_>>(),
        });
        if let Some(difference) = &self.difference {
            report["against"] = self.difference_json(difference);
        }
        report
    }

    fn difference_json(&self, difference: &RunDifference) -> Value {
        let [first, three, ten, mean] = difference.totals;
        let ranking = difference.ranking_changed.as_ref();
        json!({
            "asked_in_both": difference.asked_in_both,
            "only_now": difference.only_now,
            "only_then": difference.only_then,
            "hit_at_1_permille": first,
            "hit_at_3_permille": three,
            "hit_at_10_permille": ten,
            "mrr_permille": mean,
            "corpus_changed": difference.corpus_changed,
            "ranking_changed": ranking,
            "moved": difference.moved
                .iter()
                .map(|moved| json!({
                    "ask": self.questions[moved.number].ask,
                    "then": moved.then,
                    "now": moved.now,
                    "reason": moved.reason,
                }))
                .collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (number, label) in &self.evaluation.wrong_labels {
            let ask = visible(&self.questions[*number].ask);
            text += &format!(
                "{} `{}` expected by: {ask}\n",
                StyledText(BAD, "no section"),
                visible(label)
            );
        }
        let asked = self.questions.iter().zip(&self.evaluation.outcomes);
        for (number, (question, outcome)) in asked.enumerate() {
            let is_first = outcome.rank == Some(1);
            if self.args.all || !is_first {
                let rank = StyledText(DIM, format!("{:>4}", shown_rank(outcome.rank)));
                text += &format!("{rank} {}\n", visible(&question.ask));
                // One that moved is explained below.
                if self.args.explain && !is_first && !self.has_moved(number) {
                    text += &explained(outcome);
                }
            }
        }
        let evaluation = self.evaluation;
        text += &format!(
            "{} questions: hit@1 {}, hit@3 {}, hit@10 {}, MRR 0.{:03}\n",
            self.questions.len(),
            percent(evaluation.hit_at(1)),
            percent(evaluation.hit_at(3)),
            percent(evaluation.hit_at(10)),
            evaluation.reciprocal_rank(),
        );
        if let Some(difference) = &self.difference {
            text += &self.difference_text(difference);
        }
        text
    }

    fn has_moved(&self, number: usize) -> bool {
        let mut moved = self.difference.iter().flat_map(|one| &one.moved);
        moved.any(|moved| moved.number == number)
    }

    fn difference_text(&self, difference: &RunDifference) -> String {
        let [first, three, ten, mean] = difference.totals;
        let change = |(then, now): (usize, usize)| format!("{} -> {}", percent(then), percent(now));
        let mut text = format!(
            "{} {} of both runs: hit@1 {}, hit@3 {}, hit@10 {}, MRR 0.{:03} -> 0.{:03}\n",
            StyledText(HEADING, "against the saved run,"),
            counted(difference.asked_in_both, "question", "questions"),
            change(first),
            change(three),
            change(ten),
            mean.0,
            mean.1,
        );
        for (count, what) in [
            (difference.only_now, "not in the saved run"),
            (difference.only_then, "only in the saved run"),
        ] {
            if count > 0 {
                text += &format!(
                    "{} {what}\n",
                    counted(count, "question is", "questions are")
                );
            }
        }
        if difference.corpus_changed {
            text += "corpus changed\n";
        }
        if let Some((then, now)) = &difference.ranking_changed {
            text += &format!("ranking changed {} -> {}\n", visible(then), visible(now));
        }
        if difference.moved.is_empty() {
            text += "no question moved\n";
        }
        for moved in &difference.moved {
            let ranks = format!("{:>4} -> {}", shown_rank(moved.then), shown_rank(moved.now));
            let reason = moved.reason.as_deref().unwrap_or("other sections changed");
            text += &format!(
                "{} {}: {}\n",
                StyledText(DIM, ranks),
                visible(&self.questions[moved.number].ask),
                visible(reason)
            );
            if self.args.explain {
                text += &explained(&self.evaluation.outcomes[moved.number]);
            }
        }
        text
    }
}

/// Shows the parts of the scores of the expected section and of the one above it.
fn explained(outcome: &QuestionOutcome) -> String {
    let lines = |what: &str, section: Option<&ScoredSection>| match section {
        None => format!("       {what}: none found\n"),
        Some(section) => {
            let parts = section.parts.iter();
            let parts = parts.map(|(name, score)| format!("{} {score}", visible(name)));
            let parts: Vec<String> = parts.collect();
            let parts = parts.join(", ");
            format!("       {what}: {}  {parts}\n", visible(&section.uri))
        }
    };
    let mut text = lines("expected", outcome.expected.as_ref());
    if outcome.rank != Some(1) {
        let what = match outcome.rank {
            Some(_) => "above it",
            None => "first",
        };
        text += &lines(what, outcome.above.as_ref());
    }
    StyledText(DIM, text).to_string()
}

fn shown_rank(rank: Option<usize>) -> String {
    rank.map_or("-".to_owned(), |rank| rank.to_string())
}

fn percent(permille: usize) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}
