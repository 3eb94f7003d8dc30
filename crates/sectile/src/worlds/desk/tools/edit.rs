//! `edit`: changes the text of a section or a document.

use std::sync::Arc;

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_markdown::{Source, edit::PayloadHeadings};
use sectile_mcp::{Failure, Tool};
use sectile_vault::{
    NotePath,
    editor::{
        EditText, Operation, PlaceText, Scope, SectionRef, TextPlace, UpdateSection, View, is_part,
    },
};
use serde::Deserialize;

use super::super::{
    DeskWorld, SHOWN_BYTES,
    answers::{AnswerSubject, PlannedWrite, ReviewedWrite, reviewed_tool},
    errors::{FRONT_MATTER, INVALID_ARGUMENTS, PART_OF_TEXT, WRONG_KIND, failure, named},
    roots::{DeskRoot, VisibleRoots},
};

pub(super) fn tool() -> Tool<DeskWorld> {
    let tool = Tool::write(
        "edit",
        "Edit text",
        "Change a section's text, or a document's. With `old`, that passage; without, `place` says what to do with `new`.",
    )
    .alias("path", "id")
    .alias("old_str", "old")
    .alias("old_string", "old")
    .alias("old_text", "old")
    .alias("new_str", "new")
    .alias("new_string", "new")
    .alias("new_text", "new")
    .alias("content", "new")
    .alias("text", "new")
    .alias("dry_run", "preview");
    reviewed_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeskEditParams {
    /// Section or document
    id: String,
    /// New text, without the section's own heading
    new: String,
    /// Exact passage to replace; must occur once
    old: Option<String>,
    /// base you read. If the text changed since, your change is merged or refused with both texts
    base: Option<String>,
    #[serde(default)]
    place: EditPlacement,
    /// body (default): own text; subtree: with subsections, or a whole document
    scope: Option<EditScope>,
    /// Only show the diff
    #[serde(default)]
    preview: bool,
    /// Token of a preview: apply exactly what it showed, or fail
    plan: Option<String>,
    /// Your id for this call: a retry with it is not applied twice
    request_id: Option<String>,
}

/// The place of the new text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum EditPlacement {
    #[default]
    Replace,
    Append,
    Prepend,
    Before,
    After,
}

/// The part of a section.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum EditScope {
    Body,
    Subtree,
}

impl From<EditScope> for Scope {
    fn from(word: EditScope) -> Self {
        match word {
            EditScope::Body => Self::Body,
            EditScope::Subtree => Self::Subtree,
        }
    }
}

impl EditPlacement {
    /// Returns the place of text that is added; `None` if it replaces.
    fn added(self) -> Option<TextPlace> {
        match self {
            Self::Replace => None,
            Self::Append => Some(TextPlace::Append),
            Self::Prepend => Some(TextPlace::Prepend),
            Self::Before => Some(TextPlace::Before),
            Self::After => Some(TextPlace::After),
        }
    }
}

fn planned<'a>(
    roots: &VisibleRoots<'a>,
    params: DeskEditParams,
) -> Result<ReviewedWrite<'a>, Failure> {
    if params.old.is_some() && params.place != EditPlacement::Replace {
        let what = "`old` is the passage to replace, so `place` cannot be given with it.";
        return Err(failure(&INVALID_ARGUMENTS, what, ""));
    }
    let located = roots.locate(&params.id)?;
    let root = located.root;
    let id = roots.id_of_target(root, &located.target);
    let (is_preview, plan) = (params.preview, params.plan.clone());
    let request_id = params.request_id.clone();
    let fits_changed_document = params.old.is_some() || params.place != EditPlacement::Replace;
    let (operation, subject) = match located.target {
        FoundTarget::Top | FoundTarget::Folder(_) => {
            let what = format!(
                "{} is a folder; only documents and sections have text.",
                named(&id)
            );
            return Err(failure(&WRONG_KIND, what, ""));
        }
        FoundTarget::Document(path) => {
            let view = roots.view(root, &path, &id)?;
            let operation = of_document(&view, path, &id, params)?;
            (operation, AnswerSubject::Document)
        }
        FoundTarget::Section { path, id: section } => {
            let view = roots.view(root, &path, &id)?;
            of_section(&view, path, section, params)
        }
    };
    Ok(ReviewedWrite::Planned(PlannedWrite {
        subject,
        is_preview,
        plan,
        request_id,
        fits_changed_document,
        ..PlannedWrite::new(root, "edit", id, vec![operation])
    }))
}

/// The operation on a section.
fn of_section(
    view: &View,
    path: NotePath,
    section: String,
    params: DeskEditParams,
) -> (Operation, AnswerSubject) {
    let position = view.position_of(&section);
    let scope = params.scope.map(Scope::from);
    // Without a scope, a passage may be anywhere in the section, but its own text comes first.
    let is_in_body = |old: &String| {
        let body = position.and_then(|position| view.content(position, false));
        body.is_none_or(|body| body.contains(old.as_str()))
    };
    let scope = match (&params.old, scope) {
        (_, Some(scope)) => scope,
        (Some(old), None) if !is_in_body(old) => Scope::Subtree,
        (_, None) => Scope::Body,
    };
    let reference = SectionRef {
        id: Some(section),
        heading: None,
    };
    let operation = match (params.old, params.place.added()) {
        (Some(old_text), _) => Operation::EditText(EditText {
            path: Some(path),
            section: Some(reference),
            old_text,
            new_text: params.new,
            expected_count: 1,
            scope,
            expected_hash: params.base,
        }),
        (None, Some(place)) => Operation::PlaceText(PlaceText {
            path: Some(path),
            section: Some(reference),
            place,
            scope,
            text: params.new,
            headings: PayloadHeadings::Inside,
            expected_hash: params.base,
        }),
        (None, None) => Operation::Update(UpdateSection {
            path: Some(path),
            section: reference,
            content: without_own_heading(view, position, params.new),
            scope,
            headings: PayloadHeadings::Inside,
            expected_hash: params.base,
        }),
    };
    (operation, AnswerSubject::Section)
}

/// Returns the text without the section's own heading, if it starts with exactly that. A caller
/// that read the section was shown the heading too.
fn without_own_heading(view: &View, position: Option<usize>, text: String) -> String {
    let section = position.and_then(|position| view.document().top_level().nth(position));
    let Some((_, section, _)) = section else {
        return text;
    };
    let heading = String::from_utf8_lossy(section.heading.slice(view.bytes())).into_owned();
    let heading = heading.replace("\r\n", "\n");
    let start = text.replace("\r\n", "\n");
    match start.strip_prefix(heading.trim_end()) {
        Some("") => String::new(),
        Some(rest) if rest.starts_with('\n') => rest.trim_start_matches('\n').to_owned(),
        _ => text,
    }
}

/// The operation on a whole document.
fn of_document(
    view: &View,
    path: NotePath,
    id: &str,
    params: DeskEditParams,
) -> Result<Operation, Failure> {
    let (old_text, new_text) = match (params.old, params.place.added()) {
        (Some(old), _) => (old, params.new),
        (None, Some(place)) => return Ok(added(path, place, params.new, params.base)),
        (None, None) => {
            let count = view.ids().len();
            if count > 0 && !matches!(params.scope, Some(EditScope::Subtree)) {
                let what = format!(
                    "{} is a document with sections: name one of them, or replace all of its text with scope \"subtree\".",
                    named(id)
                );
                return Err(failure(&WRONG_KIND, what, ""));
            }
            let (block, text) = split(view.bytes());
            refuse_part(&text, params.base.as_deref(), id)?;
            let new = without_same_front_matter(&block, params.new, id)?;
            let new = with_line_breaks_of(&text, new);
            if text.is_empty() {
                return Ok(added(path, TextPlace::Append, new, params.base));
            }
            (text, new)
        }
    };
    Ok(Operation::EditText(EditText {
        path: Some(path),
        section: None,
        old_text,
        new_text,
        expected_count: 1,
        scope: Scope::Subtree,
        expected_hash: params.base,
    }))
}

fn added(path: NotePath, place: TextPlace, text: String, base: Option<String>) -> Operation {
    Operation::PlaceText(PlaceText {
        path: Some(path),
        section: None,
        place,
        scope: Scope::Subtree,
        text,
        headings: PayloadHeadings::AsWritten,
        expected_hash: base,
    })
}

/// Splits a document into its front matter, with a byte order mark if there is one, and the text after it.
fn split(bytes: &[u8]) -> (String, String) {
    const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
    let front_matter = Source::new(bytes).front_matter();
    let start = match front_matter {
        Some(front_matter) => front_matter.block.end,
        None if bytes.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
        None => 0,
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&bytes[..start]), text(&bytes[start..]))
}

/// Refuses to replace a text that is longer than one answer for a caller that has not read all of it.
fn refuse_part(text: &str, base: Option<&str>, id: &str) -> Result<(), Failure> {
    let is_unread = match base {
        Some(base) => is_part(base),
        None => text.len() > SHOWN_BYTES,
    };
    if !is_unread {
        return Ok(());
    }
    let what = format!(
        "Only part of {} was read, and all of it would be replaced. Nothing was written.",
        named(id)
    );
    Err(failure(&PART_OF_TEXT, what, ""))
}

/// Returns the text without the front matter of the document, if it starts with exactly that. Different front matter is
/// refused, because it would become text.
fn without_same_front_matter(block: &str, text: String, id: &str) -> Result<String, Failure> {
    let (given, rest) = split(text.as_bytes());
    if Source::new(given.as_bytes()).front_matter().is_none() {
        return Ok(text);
    }
    let lines = |text: &str| text.replace("\r\n", "\n");
    if lines(given.trim()) == lines(block.trim()) {
        return Ok(rest);
    }
    let what = format!(
        "The new text starts with front matter that differs from that of {}.",
        named(id)
    );
    Err(failure(&FRONT_MATTER, what, ""))
}

/// Returns a text with the blank lines that `old`, the one that it replaces, starts with, and with a line break at its
/// end if `old` has one there.
fn with_line_breaks_of(old: &str, mut new: String) -> String {
    let rest = old.trim_start_matches(['\r', '\n']);
    if new.is_empty() || rest.is_empty() {
        return new;
    }
    if !new.starts_with(['\r', '\n']) {
        new.insert_str(0, &old[..old.len() - rest.len()]);
    }
    if old.ends_with('\n') && !new.ends_with('\n') {
        new.push('\n');
    }
    new
}

impl VisibleRoots<'_> {
    /// Returns the document at `path` as it is now.
    pub(in super::super) fn view(
        &self,
        root: &DeskRoot,
        path: &NotePath,
        id: &str,
    ) -> Result<Arc<View>, Failure> {
        let view = root.folder.editor.view(path);
        view.map_err(|error| self.editor_failure(root, &error, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_split_after_its_front_matter() {
        for (text, block, rest) in [
            ("# A\n", "", "# A\n"),
            ("---\na: 1\n---\n# A\n", "---\na: 1\n---\n", "# A\n"),
            ("\u{feff}# A\n", "\u{feff}", "# A\n"),
            ("---\r\na: 1\r\n---\r\n", "---\r\na: 1\r\n---\r\n", ""),
        ] {
            assert_eq!(split(text.as_bytes()), (block.to_owned(), rest.to_owned()));
        }
    }

    #[test]
    fn only_the_same_front_matter_is_dropped() {
        let block = "---\r\na: 1\r\n---\r\n";
        let given = |text: &str| without_same_front_matter(block, text.to_owned(), "a.md");
        assert_eq!(given("---\na: 1\n---\n\n# A\n").as_deref(), Ok("\n# A\n"));
        assert_eq!(given("# A\n\n---\n").as_deref(), Ok("# A\n\n---\n"));
        let refused = given("---\na: 2\n---\n# A\n").expect_err("another front matter");
        assert_eq!(refused.name(), "front_matter");
    }

    #[test]
    fn a_new_text_keeps_the_line_breaks_around_the_old_one() {
        for (old, new, expected) in [
            ("\n# A\n", "# B", "\n# B\n"),
            ("\r\n# A\r\n", "# B", "\r\n# B\n"),
            ("# A", "# B", "# B"),
            ("# A\n", "# B\n\n", "# B\n\n"),
            ("\n# A\n", "\n\n# B\n", "\n\n# B\n"),
            ("# A\n", "", ""),
            ("\n\n", "# B", "# B"),
        ] {
            assert_eq!(with_line_breaks_of(old, new.to_owned()), expected);
        }
    }

    #[test]
    fn a_long_text_is_replaced_only_by_someone_who_has_read_it() {
        let long = "x".repeat(SHOWN_BYTES + 1);
        let hash = "0123456789abcdef";
        assert!(refuse_part("short", None, "a.md").is_ok());
        assert!(refuse_part(&long, Some(hash), "a.md").is_ok());
        for (text, base) in [
            (long.as_str(), None),
            ("short", Some("part-0123456789abcdef")),
        ] {
            let refused = refuse_part(text, base, "a.md").expect_err("not all was read");
            assert_eq!(refused.name(), "part_of_text");
        }
    }
}
