//! Any edit of any document is refused, or changes what it says and can be undone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{
    Source, Span,
    edit::{Edit, EditScope, EditableDocument, PayloadHeadings, SectionPlacement, content_span},
};

fuzz_target!(|input: (&str, u8, u8, u8, u8, &str, &str)| {
    let (text, kind, section, target, level, one, other) = input;
    let bytes = text.as_bytes();
    let document = Source::new(bytes).parse();
    let sections = document.top_level().count();
    let (section, target) = (usize::from(section), usize::from(target));
    let edit = edit(kind, section, target, level, one, other);
    let editable = EditableDocument::new(bytes, &document).expect("it is UTF-8");
    if let Ok(edited) = editable.edit(&edit) {
        assert_eq!(edited.changes.apply(bytes).as_ref(), Some(&edited.bytes));
        let back = edited.changes.inverse(bytes).apply(&edited.bytes);
        assert_eq!(back.as_deref(), Some(bytes), "the inverse leads back");
        assert_eq!(Source::new(&edited.bytes).parse(), edited.document);
        assert_eq!(edited.lineage.len(), edited.document.top_level().count());
        let mut seen = vec![false; sections];
        for origin in edited.lineage.iter().flatten() {
            assert!(
                !std::mem::replace(&mut seen[*origin], true),
                "no section is two"
            );
        }
    }
    // Writing back what was read changes nothing.
    if let Some((_, found, extent)) = document.top_level().nth(section) {
        let below = Span::new(found.heading.end, extent.subtree.end);
        let own = &text[content_span(bytes, extent.own_body).range()];
        let all = &text[content_span(bytes, below).range()];
        let headings = PayloadHeadings::Inside;
        let edits = [
            Edit::ReplaceBody {
                section,
                body: own,
                headings,
            },
            Edit::ReplaceSubtree {
                section,
                body: all,
                headings,
            },
        ];
        for edit in edits {
            let edited = editable.edit(&edit).expect("what was read can be written");
            assert_eq!(edited.bytes, bytes);
        }
    }
});

fn edit<'a>(
    kind: u8,
    section: usize,
    target: usize,
    level: u8,
    one: &'a str,
    other: &'a str,
) -> Edit<'a> {
    let place = match kind / 16 % 5 {
        0 => SectionPlacement::Position(target),
        1 => SectionPlacement::Before(target),
        2 => SectionPlacement::After(target),
        3 => SectionPlacement::FirstChild(target),
        _ => SectionPlacement::LastChild(target),
    };
    let headings = match level / 8 % 3 {
        0 => PayloadHeadings::Inside,
        1 => PayloadHeadings::Rebase,
        _ => PayloadHeadings::AsWritten,
    };
    let wanted = Some(level % 8).filter(|level| *level > 0);
    match kind % 9 {
        0 => Edit::Insert {
            place,
            level: wanted,
            heading: one,
            body: other,
            headings,
        },
        1 => Edit::Graft {
            place,
            level: wanted,
            subtree: other,
        },
        2 => Edit::ReplaceBody {
            section,
            body: other,
            headings,
        },
        3 => Edit::ReplaceSubtree {
            section,
            body: other,
            headings,
        },
        4 => Edit::Delete { section },
        5 => Edit::Move {
            section,
            place,
            level: wanted,
        },
        6 => Edit::Rename {
            section,
            heading: one,
        },
        7 => Edit::SetLevel {
            section,
            level: level % 8,
        },
        _ => Edit::ReplaceText {
            within: match target % 3 {
                0 => EditScope::Document,
                1 => EditScope::Body(section),
                _ => EditScope::Subtree(section),
            },
            old: one,
            new: other,
            expected: 1,
        },
    }
}
