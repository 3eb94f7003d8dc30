//! Formatting of the editor's answers for people.

use sectile_mcp::Failure;
use serde_json::Value;

use super::super::ui::{BAD, DIM, GOOD, HEADING, NAME, StyledText, visible};

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn sections(value: &Value) -> String {
    let rows: Vec<(&Value, String)> = list(value, "sections")
        .iter()
        .map(|section| {
            let level = usize::try_from(section["level"].as_u64().unwrap_or(1)).unwrap_or(1);
            let indent = "  ".repeat(level.saturating_sub(1));
            let heading = visible(text(section, "heading"));
            (section, format!("{indent}{} {heading}", "#".repeat(level)))
        })
        .collect();
    let width = rows
        .iter()
        .map(|(_, heading)| heading.chars().count())
        .max()
        .unwrap_or_default();
    let mut out = format!(
        "{}  {}\n",
        StyledText(HEADING, visible(text(value, "path"))),
        StyledText(DIM, format!("revision {}", value["revision"]))
    );
    for (section, heading) in rows {
        let padding = " ".repeat(width - heading.chars().count());
        out += &format!(
            "{:>4}  {heading}{padding}  {}\n",
            section["position"].to_string(),
            StyledText(NAME, text(section, "section_id"))
        );
    }
    out
}

/// Returns the text of a section or document unchanged, for [`super::super::ui::print_note_text`].
pub(super) fn note_text(value: &Value, part: &str) -> String {
    let content = text(value, part);
    let end = if content.is_empty() || content.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{content}{end}")
}

pub(super) fn written(value: &Value) -> String {
    let mut out = String::new();
    for document in list(value, "documents") {
        out += &diff(text(document, "diff"));
    }
    if value["unchanged"] == true {
        out += &format!("{}\n", StyledText(DIM, "Nothing to change."));
        return out;
    }
    let mut notes = Vec::new();
    if let Some(id) = value["section_id"].as_str() {
        notes.push(id.to_owned());
    }
    if let Some(entry) = value["entry"].as_u64() {
        notes.push(format!("entry {entry}"));
    }
    if value["merged"] == true {
        notes.push("merged with another change".to_owned());
    }
    if let Some(links) = value["repaired_links"].as_u64() {
        notes.push(format!("{links} links repaired"));
    }
    for link in list(value, "broken_links") {
        let (path, reason) = (visible(text(link, "path")), text(link, "reason"));
        out += &match text(link, "target") {
            "" => format!("{} {path}: {reason}\n", StyledText(BAD, "not checked:")),
            target => format!(
                "{} {path}:{}: {}, {reason}\n",
                StyledText(BAD, "broken link:"),
                link["line"],
                visible(target),
            ),
        };
    }
    let message = match value["plan"].as_str() {
        Some(_) => "Dry run: nothing was written.",
        None => text(value, "message"),
    };
    out += &format!(
        "{} {}\n",
        StyledText(GOOD, message),
        StyledText(DIM, notes.join(", "))
    );
    out
}

/// Colours a unified diff; its signs carry the same information without colours.
pub(in crate::cli) fn diff(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = visible(line);
        out += &match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => {
                format!("{}\n", StyledText(HEADING, line))
            }
            [b'+', ..] => format!("{}\n", StyledText(GOOD, line)),
            [b'-', ..] => format!("{}\n", StyledText(BAD, line)),
            [b'@', ..] => format!("{}\n", StyledText(NAME, line)),
            _ => format!("{line}\n"),
        };
    }
    out
}

pub(super) fn history(value: &Value) -> String {
    let mut out = String::new();
    for line in list(value, "history") {
        let details = &line["details"];
        let undone = if details["undone"] == true {
            " (undone)"
        } else {
            ""
        };
        let of = details["of_entry"]
            .as_u64()
            .map(|entry| format!(" of {entry}"))
            .unwrap_or_default();
        out += &format!(
            "{} {}  {}{of}{undone}  {}\n",
            StyledText(HEADING, format!("{:>5}", details["entry"].to_string())),
            text(line, "timestamp"),
            StyledText(NAME, text(line, "operation")),
            StyledText(DIM, visible(text(details, "actor"))),
        );
        if let Some(reason) = details["reason"].as_str() {
            out += &format!("       {}\n", visible(reason));
        }
        if let Some(changes) = details["diff"].as_str() {
            out += &diff(changes);
        }
    }
    if let Some(places) = value["damaged_places"].as_u64() {
        out += &format!(
            "{} {places} parts of the journal cannot be read; they are left unchanged.\n",
            StyledText(BAD, "damage:")
        );
    }
    if out.is_empty() {
        out += &format!("{}\n", StyledText(DIM, "No history yet."));
    }
    out
}

pub(super) fn purged(value: &Value) -> String {
    format!(
        "{} {}\n",
        StyledText(GOOD, text(value, "message")),
        StyledText(DIM, format!("{} entries", value["entries"]))
    )
}

/// Lists the sections or documents that an error offers, one per line.
pub(super) fn candidates(failure: &Failure) -> String {
    let data = failure.detail.as_ref().map(|detail| &detail.data);
    let all = data.and_then(|data| data.get("candidates")?.as_array());
    let mut out = String::new();
    for candidate in all.into_iter().flatten() {
        out += &format!(
            "\n  {}  {}",
            StyledText(NAME, text(candidate, "section_id")),
            visible(text(candidate, "heading"))
        );
    }
    let near = data.and_then(|data| data.get("nearest")?.as_array());
    for path in near.into_iter().flatten().filter_map(Value::as_str) {
        out += &format!("\n  {}", StyledText(NAME, visible(path)));
    }
    out
}

/// Rewrites a recovery hint in terms of the command line.
pub(super) fn for_a_shell(recovery: &str) -> String {
    let words = [
        ("Call list_sections", "Run `sectile edit list PATH`"),
        ("call list_sections", "run `sectile edit list PATH`"),
        (
            "Call list_documents to see which documents there are.",
            "Check the name of the document and its folder.",
        ),
        ("Call history", "Run `sectile edit history PATH`"),
        ("Call redo", "Run `sectile edit redo PATH`"),
        ("confirm: true", "--yes"),
        (
            "Call again with the section_id of one of the candidates.",
            "Give one of these ids instead of the heading.",
        ),
        (
            "use deeper headings, headings: \"rebase\", or insert_section.",
            "use deeper headings, or `sectile edit insert`.",
        ),
    ];
    words.iter().fold(recovery.to_owned(), |text, (from, to)| {
        text.replace(from, to)
    })
}
