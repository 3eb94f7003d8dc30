//! `sectile docs search`: the search tool from a shell.

use sectile_mcp::{CallContext, Failure};

use super::world;
use crate::{
    cli::{
        args::DocsSearchArgs,
        ui::{CliError, DIM, HEADING, NAME, StyledText, print, visible},
    },
    worlds::docs::{DocsSearch, DocsSearchAnswer, error_object},
};

pub(super) fn search(args: &DocsSearchArgs) -> Result<(), CliError> {
    let (docs, settings) = world(&args.documents)?;
    let json = args.json;
    let most = settings.written.max_sections;
    if args
        .max_sections
        .is_some_and(|wanted| wanted == 0 || wanted > most)
    {
        return Err(CliError::usage(format_args!(
            "--max-sections must be from 1 to {most}."
        )));
    }
    let answered = docs
        .search(
            &DocsSearch {
                query: &args.query.join(" "),
                max_sections: args.max_sections,
                budget: args.budget,
                explain: args.explain,
            },
            &CallContext::without_client(),
        )
        .map_err(|failure| failed(&failure, json))?;
    if json {
        let text = serde_json::to_string(&answered)
            .map_err(|_| CliError::failed("the answer could not be written as JSON."))?;
        return print(format_args!("{text}\n"));
    }
    print(shown(&answered))
}

fn failed(failure: &Failure, json: bool) -> CliError {
    if json {
        return CliError::failed_json(&error_object(failure));
    }
    let error = CliError::failed(&failure.message);
    match &failure.detail {
        Some(detail) => error.next(&detail.recovery),
        None => error,
    }
}

fn shown(answered: &DocsSearchAnswer) -> String {
    let mut text = String::new();
    for section in answered.shown() {
        let place: Vec<String> = section.place.iter().map(|one| visible(one)).collect();
        text += &format!(
            "{}\n{}\n\n{}\n\n",
            StyledText(HEADING, place.join(" > ")),
            StyledText(NAME, section.uri),
            visible_lines(section.content),
        );
        for part in section.parts {
            text += &format!("{}\n", StyledText(DIM, part));
        }
    }
    for remark in answered.remarks() {
        text += &format!("{}\n", StyledText(DIM, visible(&remark)));
    }
    text
}

fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}
