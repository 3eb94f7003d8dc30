//! A quote is the bytes of its span, with as much around it as was asked for; what changed is not quoted.

use proptest::prelude::*;

use crate::{indexing::CutNotebook, quote::*, testing::Memory};

#[test]
fn context_is_cut_at_characters() {
    assert_eq!(last_characters("aé漢字".as_bytes(), 2), "漢字");
    assert_eq!(last_characters("aé漢字".as_bytes(), 9), "aé漢字");
    assert_eq!(first_characters("é漢字a".as_bytes(), 2), "é漢");
    assert_eq!(first_characters(b"", 5), "");
    assert_eq!(last_characters(b"\xffab", 0), "");
}

fn path() -> NotePath {
    NotePath::parse_vault("a.md").unwrap()
}

fn storage(bytes: &[u8]) -> Memory {
    let storage = Memory::default();
    storage.write("lab", "a.md", bytes);
    storage
}

/// The ids of all chunks of a notebook.
fn ids(bytes: &[u8]) -> Vec<SourceId> {
    let (cut, path) = (CutNotebook::new(bytes, &path()), path());
    let numbers = 0..cut.chunks.chunks.len();
    let chunks = numbers.map(|number| cut.chunk(bytes, number).0);
    let is_text = |span: sectile_markdown::Span| std::str::from_utf8(&bytes[span.range()]).is_ok();
    let chunks = chunks.filter(|chunk| is_text(chunk.span));
    chunks
        .map(|chunk| SourceId::new("lab", &path, chunk.span, &chunk.digest))
        .collect()
}

fn quoted(storage: &Memory, id: &SourceId, context: usize) -> Result<Quote, LibraryError> {
    quote(storage, None, id, context, || 7)
}

#[test]
fn what_is_no_notebook_is_not_quoted() {
    let storage = storage(b"text");
    for name in [
        "_artifacts/set/summary.md",
        "_artifacts/set/set.toml",
        "collection.toml",
        "a.txt",
    ] {
        storage.write("lab", name, b"text");
        let path = NotePath::parse_vault(name).unwrap();
        let span = sectile_markdown::Span::new(0, 4);
        let id = SourceId::new("lab", &path, span, &Digest::of(b"text"));
        let Err(LibraryError::SourceNotFound { reason, .. }) = quoted(&storage, &id, 0) else {
            panic!("{name}");
        };
        assert_eq!(reason, GoneReason::Deleted, "{name}");
        let elsewhere = SourceId::new("none", &path, span, &Digest::of(b"text"));
        assert_eq!(
            quoted(&storage, &elsewhere, 0).unwrap_err(),
            LibraryError::CollectionNotFound
        );
    }
}

#[test]
fn front_matter_is_neither_quoted_nor_context() {
    let text = "---\ntitle: Lab\npassword: hunter2\n---\n# Lab\n\nMoss grows.\n\n# Two\n\n<!-- reviewer: x -->\n";
    let storage = storage(text.as_bytes());
    let id_of = |passage: &str| {
        let start = text.find(passage).unwrap();
        let span = sectile_markdown::Span::new(start, start + passage.len());
        SourceId::new("lab", &path(), span, &Digest::of(passage.as_bytes()))
    };
    for forged in ["-", "hunter2", "---\n# Lab\n\nMoss"] {
        let refused = quoted(&storage, &id_of(forged), 500);
        let Err(LibraryError::SourceNotFound { reason, .. }) = refused else {
            panic!("{forged:?} is quoted: {refused:?}");
        };
        assert_eq!(reason, GoneReason::Changed, "{forged:?}");
    }
    // Neither do guesses at what front matter says get another answer than wrong ones.
    let guess = |passage: &str, digest: &[u8]| {
        let id = SourceId::new("lab", &path(), id_of(passage).span, &Digest::of(digest));
        match quoted(&storage, &id, 0) {
            Err(LibraryError::SourceNotFound { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(guess("hunter2", b"hunter2"), guess("hunter2", b"hunter3"));
    for passage in ["Moss grows.", "grows", "# Lab\n\nMoss grows.\n"] {
        let quote = quoted(&storage, &id_of(passage), 500).unwrap();
        assert_eq!(quote.text, passage);
        assert!("# Lab\n\nMoss ".starts_with(&quote.before), "{quote:?}");
    }
}

/// A notebook of pieces that mean something to Markdown, some of them no text.
fn notebook() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"# Ice\n\n".to_vec()),
        Just(b"## Thaw\r\n".to_vec()),
        Just("The ice é 漢字.\n\n".as_bytes().to_vec()),
        Just(b"| a | b |\n|---|---|\n| 1 | 2 |\n\n".to_vec()),
        Just(b"```\n# code\n```\n".to_vec()),
        Just(b"- item\n- item\n".to_vec()),
        Just(b"---\ntitle: T\n---\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xff\xc3".to_vec()),
        "[a-zé漢 \n#*`>-]{0,40}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_text_is_the_bytes_of_the_span(bytes in notebook(), context in 0..60_usize) {
        let storage = storage(&bytes);
        for id in ids(&bytes) {
            let quote = quoted(&storage, &id, context).unwrap();
            prop_assert_eq!(quote.text.as_bytes(), &bytes[id.span.range()]);
            prop_assert_eq!(quote.digest, Digest::of(&bytes[id.span.range()]));
            prop_assert_eq!(quote.notebook_digest, Digest::of(&bytes));
            let lines = bytes[..id.span.start].iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(quote.line, lines + 1);
            prop_assert_eq!(SourceId::parse(&id.to_string()), Some(id));
        }
    }

    /// As many characters as were asked for, or as there are.
    #[test]
    fn context_is_as_long_as_was_asked_for(before in "[a-zé漢🎈]{0,40}", after in "[a-zé漢🎈]{0,40}", context in 0..50_usize) {
        let text = format!("{before}here{after}");
        let span = sectile_markdown::Span::new(before.len(), before.len() + 4);
        let id = SourceId::new("lab", &path(), span, &Digest::of(b"here"));
        let quote = quoted(&storage(text.as_bytes()), &id, context).unwrap();
        prop_assert!(before.ends_with(&quote.before) && after.starts_with(&quote.after));
        prop_assert_eq!(quote.before.chars().count(), context.min(before.chars().count()));
        prop_assert_eq!(quote.after.chars().count(), context.min(after.chars().count()));
    }

    /// Context around bytes that are not text is never longer than requested either.
    #[test]
    fn context_of_any_bytes_is_bounded(bytes in any::<Vec<u8>>(), context in 0..50_usize) {
        prop_assert!(last_characters(&bytes, context).chars().count() <= context);
        prop_assert!(first_characters(&bytes, context).chars().count() <= context);
    }

    /// One byte in the span is another: the id is refused, and what is offered instead is true.
    #[test]
    fn an_edit_that_touches_the_span_is_noticed(bytes in notebook(), at in any::<prop::sample::Index>(), new in any::<u8>()) {
        for id in ids(&bytes) {
            let mut edited = bytes.clone();
            let at = id.span.start + at.index(id.span.len());
            prop_assume!(edited[at] != new);
            edited[at] = new;
            let storage = storage(&edited);
            let Err(LibraryError::SourceNotFound { new_source_id, reason, .. }) = quoted(&storage, &id, 5) else {
                return Err(TestCaseError::fail("a passage that changed is quoted"));
            };
            prop_assert_eq!(new_source_id.is_some(), reason == GoneReason::Moved);
            if let Some(new) = new_source_id {
                prop_assert_eq!(&edited[new.span.range()], &bytes[id.span.range()]);
                prop_assert!(quoted(&storage, &new, 5).is_ok());
            }
        }
    }

    /// Something in front of a passage only moves it.
    #[test]
    fn an_edit_elsewhere_moves_the_passage(bytes in notebook(), front in "[a-z]{1,9}") {
        let moved = [front.as_bytes(), b"\n\n", &bytes].concat();
        let storage = storage(&moved);
        for id in ids(&bytes) {
            match quoted(&storage, &id, 5) {
                // The same bytes may stand there by chance.
                Ok(quote) => prop_assert_eq!(quote.text.as_bytes(), &bytes[id.span.range()]),
                Err(LibraryError::SourceNotFound { new_source_id: Some(new), .. }) => {
                    prop_assert_eq!(&moved[new.span.range()], &bytes[id.span.range()]);
                }
                Err(LibraryError::SourceNotFound { reason, .. }) => prop_assert_eq!(reason, GoneReason::Changed),
                Err(error) => prop_assert!(false, "{error:?}"),
            }
        }
    }
}
