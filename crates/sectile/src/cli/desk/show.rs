//! Formatting of the desk's answers for people: each result is on one line, so that `grep` finds it whole.

use serde_json::Value;

use super::super::{
    edit::diff,
    ui::{BAD, DIM, GOOD, NAME, StyledText, counted, visible},
};

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn count(value: &Value, key: &str) -> usize {
    let count = value[key].as_u64().unwrap_or_default();
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Returns text of a note on one line.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible(&words.join(" "))
}

pub(super) fn id(value: &Value, key: &str) -> StyledText<String> {
    StyledText(NAME, visible(text(value, key)))
}

/// Returns what every list says at its end: how to go on, and what is not in it.
fn footer(answer: &Value) -> String {
    let mut out = String::new();
    for (key, what) in [("index", ""), ("next", "more: --cursor ")] {
        if let Some(note) = answer[key].as_str() {
            out += &format!("{}\n", StyledText(DIM, format!("{what}{}", visible(note))));
        }
    }
    out
}

pub(super) fn search(answer: &Value) -> String {
    let hits = list(answer, "results").iter();
    hits.map(result).collect::<String>() + &search_remarks(answer)
}

/// Returns the line of a search result.
pub(super) fn result(hit: &Value) -> String {
    let title = visible(text(hit, "title"));
    let snippet = one_line(text(hit, "snippet"));
    format!("{}: {title}: {snippet}\n", id(hit, "id"))
}

/// Returns what a search says at its end: what to try, what was left out, and how to go on.
pub(super) fn search_remarks(answer: &Value) -> String {
    let mut out = String::new();
    for advice in list(answer, "try").iter().filter_map(Value::as_str) {
        out += &format!(
            "{} {}\n",
            StyledText(BAD, "nothing found:"),
            visible(advice)
        );
    }
    let dropped: Vec<&str> = list(answer, "dropped")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !dropped.is_empty() {
        let words = visible(&dropped.join(" "));
        out += &format!(
            "{}\n",
            StyledText(DIM, format!("left out of the query: {words}"))
        );
    }
    out + &footer(answer)
}

pub(super) fn outline(answer: &Value) -> String {
    let mut out = String::new();
    for item in list(answer, "items") {
        let mut notes = vec![format!("{} tokens", count(item, "tokens"))];
        if count(item, "children") > 0 {
            notes.push(format!("{} below", count(item, "children")));
        }
        let title = match text(item, "title") {
            "" => String::new(),
            title => format!("  {}", visible(title)),
        };
        out += &format!(
            "{}{title}  {}\n",
            id(item, "id"),
            StyledText(DIM, notes.join(", "))
        );
    }
    out + &footer(answer)
}

pub(super) fn links(answer: &Value) -> String {
    let mut out = String::new();
    for link in list(answer, "links") {
        let problem = match text(link, "broken") {
            "" => String::new(),
            problem => format!(" {}", StyledText(BAD, format!("({})", visible(problem)))),
        };
        let candidates: Vec<&str> = list(link, "candidates")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let candidates = match candidates.is_empty() {
            true => String::new(),
            false => format!(" [{}]", visible(&candidates.join(", "))),
        };
        out += &format!(
            "{} -> {}{problem}{candidates}: {}\n",
            id(link, "from"),
            id(link, "to"),
            one_line(text(link, "text"))
        );
    }
    if out.is_empty() {
        out = format!("{}\n", StyledText(DIM, "no links"));
    }
    out + &footer(answer)
}

pub(super) fn changes(answer: &Value) -> String {
    let mut out = String::new();
    for change in list(answer, "changes") {
        let ids: Vec<&str> = list(change, "ids")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let undone = match (change["undone"] == true, change["undoes"].as_str()) {
            (true, _) => " (undone)".to_owned(),
            (false, Some(change)) => format!(" (of change {})", visible(change)),
            (false, None) => String::new(),
        };
        out += &format!(
            "{} {} {} {}: {}{undone}\n",
            id(change, "change"),
            visible(text(change, "time")),
            visible(text(change, "by")),
            visible(text(change, "tool")),
            visible(&ids.join(" ")),
        );
        out += &diff(text(change, "diff"));
    }
    if out.is_empty() {
        out = format!("{}\n", StyledText(DIM, "no changes"));
    }
    out + &footer(answer)
}

pub(super) fn written(answer: &Value) -> String {
    let mut out = diff(text(answer, "diff"));
    for link in list(answer, "broken").iter().filter_map(Value::as_str) {
        out += &format!("{} {}\n", StyledText(BAD, "broken link:"), visible(link));
    }
    let more = count(answer, "broken_more");
    if more > 0 {
        out += &format!("{} {more} more\n", StyledText(BAD, "broken links:"));
    }
    let mut notes = Vec::new();
    if let Some(change) = answer["change"].as_str() {
        notes.push(format!("change {change}"));
    }
    if let Some(base) = answer["base"].as_str() {
        notes.push(format!("base {base}"));
    }
    if answer["merged"] == true {
        notes.push("merged with another change".to_owned());
    }
    let repaired = count(answer, "repaired");
    if repaired > 0 {
        notes.push(counted(repaired, "link repaired", "links repaired"));
    }
    let said = list(answer, "notes").iter().filter_map(Value::as_str);
    notes.extend(said.map(str::to_owned));
    let notes = visible(&notes.join(", "));
    out + &format!(
        "{}  {}\n",
        StyledText(GOOD, visible(text(answer, "id"))),
        StyledText(DIM, notes)
    )
}
