//! The errors of the desk: text that a model can act on, in a tool result with `isError`.
//!
//! The first line is `code: what is wrong`, the second says what to do next, and the facts follow: candidates, the nearest
//! names, both texts of a conflict.

mod table;

use std::fmt::Write as _;

use sectile_library::LibraryError;
use sectile_markdown::edit::{EditError, Escape};
use sectile_mcp::{
    ErrorList, ErrorResponse, ErrorRow, Failure, JsonObject, may_be_repeated, quoted, visible,
};
use sectile_vault::editor::{Candidate, Conflict, EditorError};

pub(super) use self::table::*;

/// Name under which a failure keeps its facts as text.
const FACTS: &str = "facts";
/// Maximum number of candidates or names that are listed.
const MAX_LISTED: usize = 12;
/// Maximum length of a line that names something, in characters.
const MAX_LINE_CHARS: usize = 300;
/// Maximum length of each text of a conflict, in bytes.
const MAX_SIDE_BYTES: usize = 3000;

/// The errors that the desk can answer with.
pub(super) fn list() -> ErrorList {
    ErrorList {
        form: "The text of a tool result with `isError`. Its first line is the code, a colon and what is wrong; its second \
               line says what to do next. Facts may follow: candidates, the nearest ids, both texts of a conflict.",
        codes: TABLE.to_vec(),
    }
}

/// Encodes a failed call.
pub(super) fn envelope(failure: &Failure) -> ErrorResponse {
    ErrorResponse::Text(text(failure))
}

/// Returns a failure as the text that callers get.
pub(super) fn text(failure: &Failure) -> String {
    let what = failure.message.trim();
    let what = what.strip_prefix("Invalid arguments: ").unwrap_or(what);
    let what = what.replace(['\n', '\r'], " ");
    let code = failure.name();
    let Some(detail) = &failure.detail else {
        return format!("{code}: {what}\n{}", INVALID_ARGUMENTS.recovery);
    };
    let mut text = format!("{code}: {what}\n{}", detail.recovery);
    if !detail.offer.names.is_empty() {
        let names = detail.offer.names.join(", ");
        text += &format!("\n{}: {names}", detail.offer.lead);
    }
    if let Some(facts) = detail.data.get(FACTS).and_then(|facts| facts.as_str()) {
        text += &format!("\n{facts}");
    }
    text
}

/// Makes a failure with facts, which may be empty and have several lines.
pub(super) fn failure(
    row: &ErrorRow,
    what: impl Into<String>,
    facts: impl Into<String>,
) -> Failure {
    let failure = Failure::new(row.kind, what.into());
    with_facts(
        failure.with_detail(row.code, row.recovery, JsonObject::new()),
        facts,
    )
}

/// Returns the failure with facts, unless they are empty.
pub(super) fn with_facts(mut failure: Failure, facts: impl Into<String>) -> Failure {
    let facts: String = facts.into();
    if let Some(detail) = failure.detail.as_mut().filter(|_| !facts.is_empty()) {
        detail.data.insert(FACTS.to_owned(), facts.into());
    }
    failure
}

/// An id that a caller may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfferedId {
    /// Its canonical id.
    pub(super) id: String,
    /// Its title or heading; empty if the id says it all.
    pub(super) title: String,
    /// Where it is, or how it begins; may be empty.
    pub(super) place: String,
}

impl OfferedId {
    /// Makes one whose id says it all.
    pub(super) fn bare(id: String) -> Self {
        Self {
            id,
            title: String::new(),
            place: String::new(),
        }
    }

    /// Adds the start of its text, by which it can be told from others of the same name.
    pub(super) fn add_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.place = format!("{}; {}", self.place, quoted(text));
        }
    }

    fn line(&self) -> String {
        let about = [&self.title, &self.place].map(|part| part.trim());
        let about: Vec<&str> = about.into_iter().filter(|part| !part.is_empty()).collect();
        let line = match about.as_slice() {
            [] => self.id.clone(),
            about => format!("{} ({})", self.id, about.join("; ")),
        };
        format!("- {}", visible(&line, MAX_LINE_CHARS))
    }
}

/// Lists ids as facts, a line each.
pub(super) fn listed(offered: &[OfferedId]) -> String {
    let mut lines: Vec<String> = offered
        .iter()
        .take(MAX_LISTED)
        .map(OfferedId::line)
        .collect();
    if let Some(more @ 1..) = offered.len().checked_sub(MAX_LISTED) {
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

/// Returns what a caller wrote as an id in the form for a message. A path that could be on this machine is not repeated.
pub(super) fn named(given: &str) -> String {
    quoted(if may_be_repeated(given) {
        given
    } else {
        "/…"
    })
}

/// A failure of the index.
pub(super) fn library_failure(error: &LibraryError) -> Failure {
    match error {
        LibraryError::Cancelled => failure(&CANCELLED, error.to_string(), ""),
        // Reading and writing report it alike.
        LibraryError::FolderNotFound => failure(&ROOT_GONE, EditorError::RootGone.to_string(), ""),
        error => failure(&IO, error.to_string(), ""),
    }
}

/// A failure of the editor about the thing that callers know as `id`, in a root whose ids start with `prefix`.
pub(super) fn editor_failure(error: &EditorError, id: &str, prefix: &str) -> Failure {
    let row = table::row_of(error);
    failure(row, what(error, id, prefix), facts(error, prefix))
}

/// The first line of a failure of the editor, without its code.
fn what(error: &EditorError, id: &str, prefix: &str) -> String {
    use EditorError as E;
    let id = named(id);
    match error {
        E::DocumentNotFound
        | E::FolderNotFound
        | E::SectionNotFound { .. }
        | E::Edit(EditError::NoSuchSection) => {
            format!("There is nothing called {id}.")
        }
        E::SectionDeleted { entry, .. } => format!("{id} was deleted by change {prefix}{entry}."),
        E::Ambiguous { candidates } => format!("{id} names {} sections.", candidates.len()),
        E::DocumentExists | E::FolderExists => format!("There is already something at {id}."),
        E::NotWritable { path } => format!(
            "The rules of this root do not allow changing {}. Nothing was written.",
            quoted(&format!("{prefix}{path}"))
        ),
        E::FolderNotEmpty => format!("{id} is not empty. Nothing was deleted."),
        E::OutsideRoot => format!("{id} leads out of the folder."),
        E::NotADocument => format!("{id} is not a path that a note can have here."),
        E::NotMarkdown => format!("{id} does not end in .md or .markdown."),
        E::IsLink { target } => format!("{id} is a link to {}.", quoted(target)),
        E::Conflict(conflict) => match conflict.ours {
            Some(_) => format!(
                "{id} has changed since base, and the changes overlap. Nothing was written."
            ),
            None => format!("{id} has changed since base. Nothing was deleted."),
        },
        E::DocumentChanged => format!("{id} has changed since base. Nothing was written."),
        E::PlanStale => format!(
            "A document that the change of {id} touches has changed since the preview, or the plan is that of another change. Nothing was written."
        ),
        E::PlanDiffers => format!(
            "The change of {id} is not the one that the preview showed: its arguments differ. Nothing was written."
        ),
        E::PartOfText(_) => {
            format!(
                "Only part of {id} was read, and all of it would be replaced. Nothing was written."
            )
        }
        E::Reparents { section } => format!(
            "The section {} would become a child of a different section.",
            quoted(&section.heading)
        ),
        E::FrontMatter(why) => {
            format!("The front matter of {id} cannot be changed like this: {why}.")
        }
        E::Edit(EditError::NotUtf8) => {
            format!("{id} is not UTF-8, so it can be read but not edited.")
        }
        E::Edit(EditError::TextCount { found: 0, .. }) => {
            format!("The old text does not occur in {id}. Nothing was written.")
        }
        E::Edit(EditError::TextCount { found, .. }) => {
            format!("The old text occurs {found} times in {id}. Nothing was written.")
        }
        E::Edit(EditError::Escapes(Escape::Heading { line, level, .. })) => format!(
            "Line {line} of the new text is a heading of level {level}, which would end the section {id}. Nothing was written."
        ),
        E::Busy => format!("Another process is changing {id}."),
        E::KeepsChanging => format!("{id} keeps changing on disk. Nothing was written."),
        E::ReadOnlyDocument => format!("The file of {id} is read-only. Nothing was written."),
        E::UndoOverlaps { entry } => format!(
            "The change cannot be undone by itself: change {prefix}{entry} touched the same text later."
        ),
        E::AlreadyUndone => "The change is already undone.".to_owned(),
        E::EntryNotFound => format!("There is no change {id}."),
        error => error.to_string(),
    }
}

/// The facts of a failure of the editor.
fn facts(error: &EditorError, prefix: &str) -> String {
    match error {
        EditorError::SectionNotFound { near, .. } => sections("Nearest:", near, prefix),
        EditorError::Ambiguous { candidates } => sections("Candidates:", candidates, prefix),
        EditorError::Conflict(conflict) => sides(conflict),
        _ => String::new(),
    }
}

fn sections(lead: &str, candidates: &[Candidate], prefix: &str) -> String {
    if candidates.is_empty() {
        return String::new();
    }
    let offered = |one: &Candidate| OfferedId {
        id: format!("{prefix}{}#{}", one.path, one.id),
        title: one.heading.clone(),
        place: one.first_line.clone(),
    };
    let offered: Vec<OfferedId> = candidates.iter().map(offered).collect();
    format!("{lead}\n{}", listed(&offered))
}

/// Both texts of a conflict, and the base to give next time.
fn sides(conflict: &Conflict) -> String {
    let mut text = format!("base: {}", conflict.hash);
    let sides = [
        ("the text at your base", conflict.base.as_deref()),
        ("your text", conflict.ours.as_deref()),
        ("the text now", Some(conflict.theirs.as_str())),
    ];
    for (name, side) in sides {
        if let Some(side) = side {
            write_side(&mut text, name, side);
        }
    }
    text
}

fn write_side(text: &mut String, name: &str, side: &str) {
    let (shown, next) = sectile_vault::editor::page(side, 0, MAX_SIDE_BYTES);
    let end = if shown.ends_with('\n') || shown.is_empty() {
        ""
    } else {
        "\n"
    };
    let rest = match next {
        Some(next) => format!("[{} more bytes]\n", side.len() - next),
        None => String::new(),
    };
    // Writing to a string cannot fail.
    if write!(text, "\n--- {name}\n{shown}{end}{rest}").is_err() {
        return;
    }
    if text.ends_with('\n') {
        text.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_wrong_what_to_do_and_the_facts() {
        let offered = [
            OfferedId {
                id: "a.md".to_owned(),
                title: "A\nb".to_owned(),
                place: String::new(),
            },
            OfferedId::bare("b.md".to_owned()),
        ];
        let failed = failure(&AMBIGUOUS, "\"a\" can mean 2 things.", listed(&offered));
        assert_eq!(
            text(&failed),
            "ambiguous: \"a\" can mean 2 things.\nCall again with the id of one of the candidates.\n- a.md (A\\nb)\n- b.md"
        );
    }

    #[test]
    fn both_texts_of_a_conflict_are_shown_and_bounded() {
        let conflict = |theirs: String| {
            let conflict = Conflict {
                section_id: "s".to_owned(),
                hash: "0123456789abcdef".to_owned(),
                base: Some("old\n".to_owned()),
                ours: Some("mine".to_owned()),
                theirs,
            };
            let error = EditorError::Conflict(Box::new(conflict));
            text(&editor_failure(&error, "a.md#s", ""))
        };
        let shown = conflict("theirs\n".to_owned());
        assert!(
            shown.ends_with(
                "base: 0123456789abcdef\n--- the text at your base\nold\n--- your text\nmine\n--- the text now\ntheirs"
            ),
            "{shown}"
        );
        let long = conflict("line\n".repeat(10_000));
        assert!(long.len() < MAX_SIDE_BYTES + 1000, "{}", long.len());
        assert!(long.ends_with("[47000 more bytes]"), "{long}");
    }

    #[test]
    fn a_path_that_could_be_on_this_machine_is_not_repeated() {
        assert_eq!(named("a.md"), "\"a.md\"");
        for path in ["/srv/ada/a.md", "C:\\a.md", "file:///a.md"] {
            assert_eq!(named(path), "\"/…\"");
        }
    }

    #[test]
    fn many_ids_are_counted() {
        let offered: Vec<OfferedId> = (0..20)
            .map(|number| OfferedId::bare(format!("{number}.md")))
            .collect();
        let shown = listed(&offered);
        assert_eq!(shown.lines().count(), MAX_LISTED + 1);
        assert!(shown.ends_with("- and 8 more"), "{shown}");
    }

    #[test]
    fn a_code_belongs_to_one_group_and_every_row_says_what_to_do() {
        for row in TABLE {
            let mut same = TABLE.iter().filter(|other| other.code == row.code);
            assert!(same.all(|other| other.group == row.group), "{}", row.code);
            assert!(
                row.meaning.ends_with('.') && row.recovery.ends_with('.'),
                "{}",
                row.code
            );
        }
    }
}
