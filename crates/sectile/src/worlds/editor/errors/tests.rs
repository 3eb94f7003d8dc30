//! The message of every kind of error, whatever names are in it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sectile_mcp::{CallContext, ErrorRow, MAX_MESSAGE_CHARS};
use sectile_vault::{
    NotePath,
    editor::{Conflict, CreateDocument, Operation, RenameDocument, SectionRef},
};

use super::*;

/// A section with `name` wherever it can have one.
fn named(name: &str) -> Candidate {
    Candidate {
        id: name.to_owned(),
        heading: name.to_owned(),
        path: name.to_owned(),
        position: 3,
        level: 2,
        first_line: name.to_owned(),
    }
}

/// One of each kind, with `name` wherever a name can be.
fn all(name: &str) -> Vec<EditorError> {
    use EditorError as E;
    let candidate = || named(name);
    let conflict = |ours: Option<&str>| {
        E::Conflict(Box::new(Conflict {
            section_id: name.to_owned(),
            hash: name.to_owned(),
            base: Some(name.to_owned()),
            ours: ours.map(str::to_owned),
            theirs: name.to_owned(),
        }))
    };
    let mut errors = vec![
        E::DocumentNotFound,
        E::DocumentExists,
        E::OutsideRoot,
        E::IsLink {
            target: name.to_owned(),
        },
        E::NotMarkdown,
        E::NotADocument,
        E::ReadOnly,
        E::ForeignHistory,
        E::NoDocument,
        E::TooLarge {
            what: "document",
            limit: u64::MAX,
        },
        E::TooManyOperations { limit: usize::MAX },
        E::SectionNotFound {
            section_id: Some(name.to_owned()),
            near: vec![candidate(); 20],
        },
        E::SectionNotFound {
            section_id: None,
            near: Vec::new(),
        },
        E::SectionDeleted {
            section_id: name.to_owned(),
            entry: u64::MAX,
        },
        E::Ambiguous {
            candidates: vec![candidate(); 100],
        },
        E::BadReference("section_id and heading name different sections."),
        E::Reparents {
            section: candidate(),
        },
        E::FrontMatter(name.to_owned()),
        conflict(Some(name)),
        conflict(None),
        E::HashRequired,
        E::PartOfText("The text is only a part."),
        E::NotConfirmed { bytes: usize::MAX },
        E::NothingToUndo,
        E::NothingToRedo,
        E::EntryNotFound,
        E::AlreadyUndone,
        E::UndoOverlaps { entry: u64::MAX },
        E::TextUnknown,
        E::StillThere {
            path: name.to_owned(),
        },
        E::NotPurged {
            name: name.to_owned(),
        },
        E::PlanUnknown,
        E::PlanStale,
        E::PlanDiffers,
        E::DocumentChanged,
        E::RequestReused,
        E::Busy,
        E::Cancelled,
        E::KeepsChanging,
        E::Interrupted,
        E::JournalTooNew,
        E::DiskFull,
        E::NotPermitted,
        E::ReadOnlyFileSystem,
        E::ReadOnlyDocument,
        E::Unkept {
            what: name.to_owned(),
        },
        E::StrangePrivateFile {
            name: name.to_owned(),
            why: name.to_owned(),
        },
        E::TooManyOpenFiles,
        E::RootGone,
        E::Io(std::io::ErrorKind::Other),
    ];
    errors.push(E::ControlCharacter {
        field: "content",
        character: '\0',
    });
    errors.extend(edits().map(E::Edit));
    errors
}

/// One of each kind that an edit by itself can have.
fn edits() -> [EditError; 17] {
    let heading = Escape::Heading {
        line: usize::MAX,
        level: 1,
        section_level: 2,
    };
    [
        EditError::NotUtf8,
        EditError::NoSuchSection,
        EditError::PositionOutOfRange { max: usize::MAX },
        EditError::LevelOutOfRange,
        EditError::IntoItself,
        EditError::EmptyHeading,
        EditError::HeadingHasLineBreak,
        EditError::HeadingCannotBeWritten,
        EditError::Reparents { section: 1 },
        EditError::Escapes(heading),
        EditError::Escapes(Escape::OpenFence),
        EditError::Escapes(Escape::OpenHtml),
        EditError::Escapes(Escape::Open),
        EditError::Escapes(Escape::Structure),
        EditError::EmptyOldText,
        EditError::TextCount {
            found: 0,
            expected: 1,
        },
        EditError::TextCount {
            found: usize::MAX,
            expected: usize::MAX,
        },
    ]
}

/// The answer for `error` when the call names a document and a section.
fn said(error: &EditorError, path: Option<&NotePath>, heading: &str) -> (i32, String, Value) {
    let context = CallContext::without_client();
    let section = SectionRef {
        id: None,
        heading: Some(heading.to_owned()),
    };
    let about = CallSubject::document(path, &context)
        .section(&section)
        .entry(Some(u64::MAX));
    parts(&failure_about(error, &about))
}

#[test]
fn every_row_of_the_table_is_tried_and_no_other_is() {
    let told = |row: &ErrorRow| (row.code, row.meaning);
    let tried: BTreeSet<(&str, &str)> = all("x")
        .iter()
        .map(row_of)
        .chain([&INVALID_CURSOR, &CURSOR_STALE, &INVALID_ARGUMENTS])
        .map(told)
        .collect();
    let listed: Vec<(&str, &str)> = TABLE.map(told).to_vec();
    assert_eq!(tried.len(), listed.len());
    assert_eq!(tried, listed.into_iter().collect());
}

#[test]
fn message_names_the_path_the_candidates_and_what_to_do_next() {
    let path = NotePath::parse_vault("plans/a.md").unwrap();
    let candidate = |id: &str, text: &str| Candidate {
        id: id.to_owned(),
        heading: "Notes".to_owned(),
        path: "plans/a.md".to_owned(),
        position: 0,
        level: 2,
        first_line: text.to_owned(),
    };
    let near = vec![candidate("notes-1", "one")];
    for (error, message) in [
        (
            EditorError::SectionNotFound {
                section_id: None,
                near,
            },
            "Section not found. \"plans/a.md\" has no section called \"Note\". Nearest: \"Notes\" (notes-1). Call \
             list_sections to see the sections and their ids.",
        ),
        (
            EditorError::Ambiguous {
                candidates: vec![candidate("notes-1", "one"), candidate("notes-2", "")],
            },
            "Several sections of \"plans/a.md\" are called \"Notes\". Candidates: notes-1 (\"one\"), notes-2. Call again \
             with the section_id of one of the candidates.",
        ),
        (
            EditorError::NotMarkdown,
            "Invalid params: this is not a Markdown document: its name does not end in .md or .markdown. Give a path that \
             ends in .md or .markdown.",
        ),
        (
            EditorError::Busy,
            "Another process is changing the document \"plans/a.md\". Wait a moment, then call again.",
        ),
    ] {
        assert_eq!(said(&error, Some(&path), "Note").1, message);
    }
}

#[test]
fn message_names_the_documents_that_a_change_is_about() {
    let path = |text| NotePath::parse_vault(text).unwrap();
    let context = CallContext::without_client();
    let rename = [Operation::RenameDocument(RenameDocument {
        path: path("a.md"),
        new_path: path("b.png"),
        repair_links: true,
    })];
    let create = |name| {
        Operation::CreateDocument(CreateDocument {
            path: path(name),
            content: String::new(),
        })
    };
    let several = [create("a.md"), create("b.md")];
    for (operations, error, message) in [
        (
            &rename[..],
            EditorError::NotMarkdown,
            "\"b.png\" is not a Markdown document: its name does not end in .md or .markdown.",
        ),
        (
            &rename,
            EditorError::DocumentExists,
            "There is already a document at \"b.png\".",
        ),
        (
            &rename,
            EditorError::ReadOnlyDocument,
            "The document \"a.md\" is read-only.",
        ),
        (
            &several[..1],
            EditorError::DocumentExists,
            "There is already a document at \"a.md\".",
        ),
        // It is unknown which of them it is.
        (
            &several,
            EditorError::DocumentExists,
            "There is already a document at this path.",
        ),
    ] {
        let about = CallSubject::operations(operations, &context);
        let said = what(&error, &about);
        assert!(said.starts_with(message), "{said}");
    }
}

/// Hostile names: long ones, with control characters, quotes, direction marks.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,20}",
        "\\PC{0,2000}",
        "(\\x1b\\[31m|\\r\\n|\\u{202e}|\\u{0}|\"|\\\\|é|日){0,500}",
        "/(home|etc)/[a-z]{1,8}/x\\.md",
        "file:///[a-z/]{1,20}",
    ]
}

proptest! {
    /// Every kind of error has the contract's code and words, names in quotes without invisible characters, and the next
    /// step at the end, all within 400 characters.
    #[test]
    fn message_of_every_error_is_short_visible_and_ends_with_what_to_do(
        name in hostile(),
        path in hostile(),
        heading in hostile(),
    ) {
        let path = NotePath::parse_vault(&path).ok();
        for error in all(&name) {
            let (code, message, data) = said(&error, path.as_ref(), &heading);
            let recovery = data["recovery"].as_str().unwrap_or_default();
            prop_assert!(message.chars().count() <= MAX_MESSAGE_CHARS, "{}", message);
            prop_assert!(!message.chars().any(|c| c.is_control() || c == '\u{202e}'), "{:?}", message);
            prop_assert!(!recovery.is_empty() && message.ends_with(recovery), "{}", message);
            prop_assert_eq!(code == INVALID_PARAMS, message.starts_with("Invalid params: "), "{}", message);
            let of_section = ["section_not_found", "section_deleted"].contains(&data["kind"].as_str().unwrap());
            prop_assert_eq!(of_section, message.starts_with("Section not found."), "{}", message);
            if let Some(path) = path.as_ref().map(NotePath::as_str).filter(|path| path.contains("://")) {
                prop_assert!(!message.contains(path), "{}", message);
            }
        }
    }
}
