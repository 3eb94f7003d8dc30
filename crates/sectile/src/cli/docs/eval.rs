//! `sectile docs eval`: measures how often the section that answers a question is found.

use serde_json::json;

use super::world;
use crate::{
    cli::{
        args::DocsEvalArgs,
        ui::{BAD, CliError, DIM, StyledText, print, visible},
    },
    files,
    worlds::docs::eval::{Evaluation, Question, Questions},
};

pub(super) fn eval(args: &DocsEvalArgs) -> Result<(), CliError> {
    let questions = questions(args)?;
    let (docs, _) = world(&args.documents)?;
    let evaluation = docs
        .evaluate(&questions)
        .map_err(|failure| CliError::failed(&failure.message))?;
    if args.json {
        print(format_args!("{}\n", report_json(&questions, &evaluation)))?;
    } else {
        print(report_text(&questions, &evaluation))?;
    }
    if !evaluation.wrong_labels.is_empty() {
        return Err(
            CliError::failed("some questions expect sections that do not exist.")
                .next("correct the lines that are marked"),
        );
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

fn report_json(questions: &[Question], evaluation: &Evaluation) -> serde_json::Value {
    let asked = questions.iter().zip(&evaluation.ranks);
    json!({
        "questions": questions.len(),
        "hit_at_1_permille": evaluation.hit_at(1),
        "hit_at_3_permille": evaluation.hit_at(3),
        "hit_at_10_permille": evaluation.hit_at(10),
        "mrr_permille": evaluation.reciprocal_rank(),
        "ranks": asked
            .map(|(question, rank)| json!({ "ask": question.ask, "rank": rank }))
            .collect::<Vec<_>>(),
        "wrong_labels": evaluation.wrong_labels
            .iter()
            .map(|(number, label)| json!({ "ask": questions[*number].ask, "label": label }))
            .collect::<Vec<_>>(),
    })
}

fn report_text(questions: &[Question], evaluation: &Evaluation) -> String {
    let mut text = String::new();
    for (number, label) in &evaluation.wrong_labels {
        let ask = visible(&questions[*number].ask);
        text += &format!(
            "{} `{}` expected by: {ask}\n",
            StyledText(BAD, "no section"),
            visible(label)
        );
    }
    for (question, rank) in questions.iter().zip(&evaluation.ranks) {
        let rank = match rank {
            Some(1) => continue,
            Some(rank) => format!("{rank:>4}"),
            None => "   -".to_owned(),
        };
        text += &format!("{} {}\n", StyledText(DIM, rank), visible(&question.ask));
    }
    text += &format!(
        "{} questions: hit@1 {}, hit@3 {}, hit@10 {}, MRR 0.{:03}\n",
        questions.len(),
        percent(evaluation.hit_at(1)),
        percent(evaluation.hit_at(3)),
        percent(evaluation.hit_at(10)),
        evaluation.reciprocal_rank(),
    );
    text
}

fn percent(permille: usize) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}
