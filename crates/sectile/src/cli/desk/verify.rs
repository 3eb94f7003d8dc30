//! `sectile verify`: what became of the passages that a draft quotes.

use std::{
    io::{self, Read as _},
    path::Path,
};

use sectile_library::quote_check::MAX_DRAFT_BYTES;
use serde_json::Value;

use super::{
    DeskSession, VerifyDraftArgs,
    show::{count, id, list, one_line, text},
};
use crate::{
    cli::ui::{BAD, CliError, DIM, GOOD, HEADING, NAME, StyledText, counted, print, visible},
    files,
};

/// Longest part of a passage that is shown, in characters.
const MAX_SHOWN: usize = 72;
/// Longest stretch of unchanged words that is shown between two differences, in characters.
const MAX_SAME: usize = 48;
/// The width of the longest status.
const STATUS_WIDTH: usize = 8;

pub(in crate::cli) fn verify(args: &VerifyDraftArgs) -> Result<(), CliError> {
    let is_stdin = args.draft.as_os_str() == "-";
    let draft = read_draft(&args.draft, is_stdin)?;
    let session = DeskSession::open(&args.desk, &[])?;
    let place = match is_stdin {
        true => None,
        false => session.world.id_of_file(&args.draft, &session.context),
    };
    let answer = session
        .world
        .check_quotes(&draft, place.as_deref(), &session.context)
        .map_err(|failure| session.failed(&failure))?;
    let shown = serde_json::to_value(&answer).map_err(CliError::failed)?;
    match session.json {
        true => print(format_args!("{shown}\n"))?,
        false => print(report(&shown))?,
    }
    match (answer.unverified(), answer.total()) {
        (_, 0) => Err(CliError::failed("the draft has no passage to check.")
            .next("quote with > or quotation marks, at least three words")),
        (0, _) => Ok(()),
        (1, 1) => Err(CliError::failed("the passage is not verified.")),
        (open, total) => Err(CliError::failed(format_args!(
            "{open} of {total} passages are not verified."
        ))),
    }
}

fn read_draft(path: &Path, is_stdin: bool) -> Result<String, CliError> {
    let limit = MAX_DRAFT_BYTES as u64;
    let bytes = match is_stdin {
        true => {
            let mut bytes = Vec::new();
            io::stdin().take(limit + 1).read_to_end(&mut bytes)?;
            (bytes.len() as u64 <= limit).then_some(bytes)
        }
        false => files::read_bytes(path, limit).map_err(|error| {
            let name = visible(&path.display().to_string());
            let reason = files::reason(error.kind());
            CliError::usage(format_args!("the draft {name} cannot be read: {reason}."))
        })?,
    };
    let bytes = bytes.ok_or_else(|| {
        CliError::usage(format_args!(
            "the draft has more than {} KiB.",
            MAX_DRAFT_BYTES >> 10
        ))
        .next("check it in parts")
    })?;
    String::from_utf8(bytes).map_err(|_| CliError::usage("the draft is not UTF-8."))
}

/// Formats a check for people: a block for each passage, and the numbers at the end.
fn report(answer: &Value) -> String {
    let mut out = String::new();
    for passage in list(answer, "passages") {
        out += &block(passage);
    }
    for sentence in list(answer, "left_out").iter().filter_map(Value::as_str) {
        out += &format!("{}\n", StyledText(DIM, visible(sentence)));
    }
    let counts = ["verified", "moved", "changed", "nowhere"];
    let counts = counts.map(|status| (status, count(&answer["counts"], status)));
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(status, count)| format!("{count} {status}"))
        .collect();
    let total = counted(count(answer, "total"), "passage", "passages");
    match counts.is_empty() {
        true => out + &format!("{total}\n"),
        false => out + &format!("{total}: {}\n", counts.join(", ")),
    }
}

fn block(passage: &Value) -> String {
    let status = text(passage, "status");
    let style = match status {
        "verified" => GOOD,
        "moved" => HEADING,
        _ => BAD,
    };
    let mut out = format!(
        "{} line {}: {}\n",
        StyledText(style, format!("{status:STATUS_WIDTH$}")),
        count(passage, "line"),
        shortened(&one_line(text(passage, "quote")), MAX_SHOWN),
    );
    let mut line = |label: &str, rest: String| out += &format!("  {label}{rest}\n");
    if status == "moved" {
        for cited in list(passage, "cited") {
            let written = StyledText(NAME, visible(text(cited, "written")));
            let missing = match cited["id"].is_string() {
                true => "the text is not there",
                false => "there is no such note or section",
            };
            line("cited: ", format!("{written} ({missing})"));
        }
    }
    for place in list(passage, "places") {
        let label = if status == "moved" { "now: " } else { "" };
        line(label, format!("{}{}", located(place), differences(place)));
    }
    if passage["more"] == true {
        line("", StyledText(DIM, "and more places").to_string());
    }
    let nearest = &passage["nearest"];
    if nearest.is_object() {
        line("nearest: ", located(nearest));
        line("", compared(nearest));
    }
    let removed = &passage["removed"];
    if removed.is_object() {
        let by = match removed["external"] == true {
            true => "another program".to_owned(),
            false => format!(
                "{}, {}",
                visible(text(removed, "by")),
                visible(text(removed, "tool"))
            ),
        };
        let change = visible(text(removed, "change"));
        let time = visible(text(removed, "time"));
        line(
            "",
            format!(
                "change {change} of {time} removed it from {} ({by})",
                id(removed, "id")
            ),
        );
    }
    out
}

fn located(place: &Value) -> String {
    format!("{}, line {}", id(place, "id"), count(place, "line"))
}

/// Returns what differs between the draft and the disk, in parentheses.
fn differences(place: &Value) -> String {
    let words = list(place, "differs").iter().filter_map(Value::as_str);
    let words: Vec<&str> = words
        .map(|word| match word {
            "white_space" => "white space differs",
            "markup" => "markup differs",
            "typography" => "quotation marks or dashes differ",
            "normal_form" => "Unicode normal form differs",
            "end_punctuation" => "the last punctuation mark is the draft's",
            "ellipsis" => "with omissions",
            other => other,
        })
        .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(" {}", StyledText(DIM, format!("({})", words.join(", ")))),
    }
}

/// Returns the passage with what was quoted and what is there now, as `wdiff` shows it.
fn compared(nearest: &Value) -> String {
    let stretches = list(nearest, "diff");
    let last = stretches.len().saturating_sub(1);
    let shown =
        stretches.iter().enumerate().map(|(at, stretch)| {
            if stretch["same"].is_string() {
                let same = one_line(text(stretch, "same"));
                return abridged(&same, at == 0, at == last);
            }
            match stretch["quoted"].is_string() {
                true => StyledText(BAD, format!("[-{}-]", one_line(text(stretch, "quoted"))))
                    .to_string(),
                false => StyledText(GOOD, format!("{{+{}+}}", one_line(text(stretch, "now"))))
                    .to_string(),
            }
        });
    shown.collect::<Vec<String>>().join(" ")
}

/// Returns a stretch of unchanged words, shortened where no difference is next to it.
fn abridged(same: &str, is_first: bool, is_last: bool) -> String {
    let length = same.chars().count();
    if length <= MAX_SAME {
        return same.to_owned();
    }
    let half = MAX_SAME / 2;
    let start: String = same.chars().take(half).collect();
    let end: String = same.chars().skip(length - half).collect();
    // Whole words, where there are spaces between them.
    let start = start
        .rsplit_once(' ')
        .map_or(start.as_str(), |(start, _)| start);
    let end = end.split_once(' ').map_or(end.as_str(), |(_, end)| end);
    match (is_first, is_last) {
        (true, _) => format!("\u{2026} {end}"),
        (false, true) => format!("{start} \u{2026}"),
        (false, false) => format!("{start} \u{2026} {end}"),
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most).chain(['\u{2026}']).collect(),
        false => text.to_owned(),
    }
}
