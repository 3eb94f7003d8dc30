//! Converts the acts of a script to operations.

use sectile_markdown::{Value, edit::EditError};

use super::{
    super::*,
    generators::Act,
    world::{Known, Snapshot},
};

/// Returns the operation for an act, by ids, in terms of the existing sections.
pub(super) fn operation(
    now: &Snapshot,
    act: &Act,
    path: Option<&str>,
    fresh: &str,
) -> Option<Operation> {
    match (act, path) {
        (Act::CreateDocument { text }, _) => Some(Operation::CreateDocument(CreateDocument {
            path: note(fresh),
            content: text.clone(),
        })),
        (Act::RenameDocument, Some(path)) => Some(Operation::RenameDocument(RenameDocument {
            path: note(path),
            new_path: note(fresh),
            repair_links: false,
        })),
        (Act::DeleteDocument, Some(path)) => Some(Operation::DeleteDocument(DeleteDocument {
            path: note(path),
            expected_hash: None,
        })),
        (act, path) => section_operation(now, act, path?),
    }
}

fn place(sections: &[Known], nth: usize, relative: usize) -> Placement {
    let relative = match relative {
        0 => RelativePlacement::Before,
        1 => RelativePlacement::After,
        2 => RelativePlacement::FirstChild,
        3 => RelativePlacement::LastChild,
        _ => return Placement::Position(nth % (sections.len() + 1)),
    };
    match sections.get(nth % sections.len().max(1)) {
        Some(anchor) => Placement::Next {
            relative,
            anchor: by_id(&anchor.id),
        },
        None => Placement::Position(0),
    }
}

fn section_operation(now: &Snapshot, act: &Act, path: &str) -> Option<Operation> {
    let none = Vec::new();
    let sections = now.sections.get(path).unwrap_or(&none);
    let section =
        |nth: usize| (!sections.is_empty()).then(|| by_id(&sections[nth % sections.len()].id));
    let named = Some(note(path));
    Some(match act {
        Act::Insert {
            at,
            relative,
            level,
            heading,
            body,
        } => Operation::Insert(InsertSection {
            path: named,
            heading: heading.clone(),
            content: body.clone(),
            at: place(sections, *at, *relative),
            level: *level,
            headings: PayloadHeadings::Rebase,
            label: None,
        }),
        Act::Update {
            section: nth,
            body,
            subtree,
        } => update_of(section(*nth)?, body.clone(), *subtree),
        Act::WriteBack {
            section: nth,
            subtree,
        } => {
            let at = nth % sections.len().max(1);
            let text = text_of(now.bytes.get(path)?, at, *subtree)?;
            update_of(section(*nth)?, text, *subtree)
        }
        Act::Delete { section: nth } => Operation::Delete(DeleteSection {
            path: named,
            section: section(*nth)?,
            expected_hash: None,
        }),
        Act::Move {
            section: nth,
            at,
            relative,
            across,
        } => {
            let other = now.sections.keys().find(|other| *other != path);
            let to = other.filter(|_| *across).map_or(path, String::as_str);
            Operation::Move(MoveSection {
                path: named,
                section: section(*nth)?,
                at: place(&now.sections[to], *at, *relative),
                to: Some(note(to)),
                level: None,
                expected_hash: None,
            })
        }
        Act::Rename {
            section: nth,
            heading,
            level,
        } => Operation::Rename(RenameSection {
            path: named,
            section: section(*nth)?,
            heading: heading.clone(),
            level: *level,
            repair_links: false,
            expected_hash: None,
        }),
        Act::EditText { section: nth, new } => Operation::EditText(EditText {
            path: named,
            section: match nth {
                Some(nth) => Some(section(*nth)?),
                None => None,
            },
            old_text: "a".to_owned(),
            new_text: new.clone(),
            expected_count: 1,
            scope: Scope::Subtree,
            expected_hash: None,
        }),
        Act::FrontMatter { key, value } => Operation::SetFrontMatter(SetFrontMatter {
            path: named,
            key: ["title", "tags", "new"][*key].to_owned(),
            value: value.clone().map(Value::String),
            expected_hash: None,
        }),
        _ => return None,
    })
}

fn update_of(section: SectionRef, content: String, subtree: bool) -> Operation {
    Operation::Update(UpdateSection {
        path: None,
        section,
        content,
        scope: if subtree { Scope::Subtree } else { Scope::Body },
        headings: PayloadHeadings::Rebase,
        expected_hash: None,
    })
}

/// The text of a section as a caller gets it.
fn text_of(bytes: &[u8], position: usize, subtree: bool) -> Option<String> {
    let document = sectile_markdown::Source::new(bytes).parse();
    let (_, section, extent) = document.top_level().nth(position)?;
    let below = sectile_markdown::Span::new(section.heading.end, extent.subtree.end);
    let region = if subtree { below } else { extent.own_body };
    let content = sectile_markdown::edit::content_span(bytes, region);
    String::from_utf8(content.slice(bytes).to_vec()).ok()
}

/// Returns whether an edit may be refused with this error. Anything else is a bug in the editor.
pub(super) fn is_refusal(error: &EditorError) -> bool {
    matches!(
        error,
        EditorError::Edit(
            EditError::Escapes(_)
                | EditError::TextCount { .. }
                | EditError::LevelOutOfRange
                | EditError::IntoItself
                | EditError::HeadingCannotBeWritten
                | EditError::NoSuchSection
                | EditError::PositionOutOfRange { .. }
        ) | EditorError::Reparents { .. }
            | EditorError::FrontMatter(_)
            | EditorError::SectionNotFound { .. }
            | EditorError::SectionDeleted { .. }
            | EditorError::DocumentNotFound
            | EditorError::BadReference(_)
    )
}
