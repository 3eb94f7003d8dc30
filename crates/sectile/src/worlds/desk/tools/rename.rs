//! `rename`: renames or moves a heading, a section, a document or a folder.

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_mcp::{Failure, Tool};
use sectile_vault::{
    NotePath,
    editor::{
        MoveSection, Operation, Placement, RelativePlacement, RenameDocument, RenameFolder,
        RenameSection, SectionRef, View,
    },
};
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{AnswerSubject, PlannedWrite, ReviewedWrite, reviewed_tool},
    errors::{INVALID_PATH, NOT_MARKDOWN, WRONG_KIND, failure, named},
    roots::{DeskRoot, VisibleRoots},
};

pub(super) fn tool() -> Tool<DeskWorld> {
    let tool = Tool::write(
        "rename",
        "Rename or move",
        "Rename or move a section, document or folder; links to it are repaired in the same change.",
    )
    .alias("path", "id")
    .alias("old_path", "id")
    .alias("new_path", "to")
    .alias("dry_run", "preview");
    reviewed_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenameParams {
    /// Section, document or folder
    id: String,
    /// Section: new heading, or other.md or other.md#Heading to move it there (`# text` is always a heading). Document or folder: new path (dir/ moves a document into dir)
    to: String,
    /// Only show the diff
    #[serde(default)]
    preview: bool,
    /// Token of a preview: apply exactly what it showed, or fail
    plan: Option<String>,
}

fn planned<'a>(
    roots: &VisibleRoots<'a>,
    params: RenameParams,
) -> Result<ReviewedWrite<'a>, Failure> {
    let write = renamed(roots, &params)?;
    Ok(ReviewedWrite::Planned(PlannedWrite {
        is_preview: params.preview,
        plan: params.plan,
        ..write
    }))
}

/// The write that renames or moves.
fn renamed<'a>(
    roots: &VisibleRoots<'a>,
    params: &RenameParams,
) -> Result<PlannedWrite<'a>, Failure> {
    let located = roots.locate(&params.id)?;
    let root = located.root;
    let id = roots.id_of_target(root, &located.target);
    match located.target {
        FoundTarget::Top => {
            let what = "The root folder cannot be renamed.";
            Err(failure(&WRONG_KIND, what, ""))
        }
        FoundTarget::Folder(path) => {
            let new_path = new_path(roots, root, params.to.trim_end_matches('/'))?;
            let id = roots.id_of(root, &format!("{}/", new_path.as_str()), None);
            let operation = Operation::RenameFolder(RenameFolder { path, new_path });
            Ok(PlannedWrite {
                subject: AnswerSubject::Gone,
                ..PlannedWrite::new(root, "rename", id, vec![operation])
            })
        }
        FoundTarget::Document(path) => {
            let new_path = document_path(roots, root, &path, &params.to)?;
            let path = roots.written_path(root, &params.id, path);
            let id = roots.id_of(root, new_path.as_str(), None);
            let operation = Operation::RenameDocument(RenameDocument {
                path,
                new_path,
                repair_links: true,
            });
            Ok(PlannedWrite::new(root, "rename", id, vec![operation]))
        }
        FoundTarget::Section { path, id: section } => {
            let section = SectionRef {
                id: Some(section),
                heading: None,
            };
            let operation = match names_document(&params.to) {
                true => moved(roots, root, (path, section), &params.to)?,
                false => Operation::Rename(RenameSection {
                    path: Some(path),
                    section,
                    heading: without_marks(&params.to).to_owned(),
                    level: None,
                    repair_links: true,
                    expected_hash: None,
                }),
            };
            Ok(PlannedWrite {
                subject: AnswerSubject::Section,
                ..PlannedWrite::new(root, "rename", id, vec![operation])
            })
        }
    }
}

/// Returns whether the new name of a section names a document, or a section in one, rather than a heading.
fn names_document(to: &str) -> bool {
    let document = to.trim().split('#').next().unwrap_or_default().trim();
    let document = document.to_ascii_lowercase();
    [".md", ".markdown"]
        .iter()
        .any(|end| document.ends_with(end))
}

/// Returns a heading without the marks that it may be written with.
fn without_marks(heading: &str) -> &str {
    let text = heading.trim();
    let rest = text.trim_start_matches('#');
    let marks = text.len() - rest.len();
    match (1..=6).contains(&marks) && rest.starts_with([' ', '\t']) {
        true => rest.trim(),
        false => text,
    }
}

/// The operation that moves a section to the end of a document, or below a heading there.
fn moved(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    (path, section): (NotePath, SectionRef),
    to: &str,
) -> Result<Operation, Failure> {
    let target = roots.locate(to.trim())?;
    refuse_other_root(root, target.root, to)?;
    let (to, at) = match target.target {
        FoundTarget::Section { path, id } => {
            let anchor = SectionRef {
                id: Some(id),
                heading: None,
            };
            let relative = RelativePlacement::LastChild;
            (path, Placement::Next { relative, anchor })
        }
        FoundTarget::Document(path) => {
            let id = roots.id_of(root, path.as_str(), None);
            let view = roots.view(root, &path, &id)?;
            (path, Placement::Position(end_of(&view, &section)))
        }
        FoundTarget::Top | FoundTarget::Folder(_) => {
            let what = format!(
                "{} is a folder; a section moves into a document.",
                named(to)
            );
            return Err(failure(&WRONG_KIND, what, ""));
        }
    };
    Ok(Operation::Move(MoveSection {
        path: Some(path),
        section,
        at,
        to: Some(to),
        level: None,
        expected_hash: None,
    }))
}

/// The position after the last section of a document, which does not count the moved section if it is there already.
fn end_of(view: &View, moved: &SectionRef) -> usize {
    let position = moved.id.as_deref().and_then(|id| view.position_of(id));
    let info = position.and_then(|position| view.section(position));
    let own = info.map_or(0, |info| info.descendants + 1);
    view.ids().len() - own
}

fn refuse_other_root(root: &DeskRoot, other: &DeskRoot, to: &str) -> Result<(), Failure> {
    if root.name == other.name {
        return Ok(());
    }
    let what = format!(
        "{} is in another root, and notes cannot be moved between roots.",
        named(to)
    );
    Err(failure(&INVALID_PATH, what, ""))
}

/// The path that something in `root` gets.
fn new_path(roots: &VisibleRoots<'_>, root: &DeskRoot, to: &str) -> Result<NotePath, Failure> {
    let prefix = roots.prefix(root);
    let (named_root, rest) = roots.split(to);
    let (target, path) = match named_root {
        Some(_) => roots.place(to)?,
        // Without a name it stays in its root.
        None => roots.place(&format!("{prefix}{rest}"))?,
    };
    refuse_other_root(root, target, to)?;
    Ok(path)
}

/// The new path of a document: as given, or its own name in the folder that is given with a slash at the end.
fn document_path(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    path: &NotePath,
    to: &str,
) -> Result<NotePath, Failure> {
    let to = to.trim();
    let new = match to.ends_with('/') {
        true => new_path(roots, root, &format!("{to}{}", path.file_name()))?,
        false => new_path(roots, root, to)?,
    };
    if !sectile_vault::editor::is_markdown(&new) {
        let what = format!("{} does not end in .md or .markdown.", named(to));
        return Err(failure(&NOT_MARKDOWN, what, ""));
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_is_a_document_or_a_heading() {
        for to in [
            "other.md",
            "a/b.markdown",
            "A.MD",
            "work:other.md#Heading",
            " other.md # x",
        ] {
            assert!(names_document(to), "{to}");
        }
        for to in [
            "Heading",
            "# other.md",
            "#tag",
            "md",
            "C# in other.md files",
            "a.md b",
        ] {
            assert!(!names_document(to), "{to}");
        }
    }

    #[test]
    fn marks_are_not_part_of_a_heading() {
        for (written, text) in [
            ("Heading", "Heading"),
            ("  Heading ", "Heading"),
            ("# Heading", "Heading"),
            ("###### Heading", "Heading"),
            ("####### Heading", "####### Heading"),
            ("#tag", "#tag"),
            ("C#", "C#"),
            ("#", "#"),
        ] {
            assert_eq!(without_marks(written), text, "{written}");
        }
    }
}
