//! An id is one text, and one text is one id.

use proptest::prelude::*;
use sectile_markdown::Digest;

use crate::ids::*;

fn id() -> impl Strategy<Value = SourceId> {
    let name = "[a-zA-Z0-9 é氷@:._-]{1,8}";
    let notebook = proptest::collection::vec(name, 1..4);
    let bytes = proptest::collection::vec(any::<u8>(), 0..8);
    let parts = (name, notebook, 0..5000_usize, 1..5000_usize, bytes);
    parts.prop_filter_map("no path", |(collection, notebook, start, length, bytes)| {
        let text = notebook.join("/") + ".md";
        let notebook = NotePath::parse_vault(&text).ok()?;
        let span = Span::new(start, start + length);
        let is_plain = notebook.as_str() == text;
        is_plain.then(|| SourceId::new(&collection, &notebook, span, &Digest::of(&bytes)))
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(id in id()) {
        let text = id.to_string();
        prop_assert_eq!(SourceId::parse(&text), Some(id), "{}", text);
    }

    /// Whatever parses is written exactly so: no other spelling of an id is one.
    #[test]
    fn only_the_exact_form_parses(id in id(), at in any::<prop::sample::Index>(), new in "[ 0-9a-fA-F/@:+._\\-\\\\\0é]{0,2}", cut in any::<bool>()) {
        let mut characters: Vec<char> = id.to_string().chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..at + usize::from(cut), new.chars());
        let text: String = characters.into_iter().collect();
        if let Some(other) = SourceId::parse(&text) {
            prop_assert_eq!(other.to_string(), text.clone());
            prop_assert_eq!(other == id, text == id.to_string());
        }
    }

    #[test]
    fn any_text_is_an_id_or_none(text in "\\PC{0,40}") {
        if let Some(id) = SourceId::parse(&text) {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    /// The digest of other bytes is not that of the id.
    #[test]
    fn an_id_is_of_its_bytes_only(id in id(), one in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
        let id = SourceId::new(&id.collection, &id.notebook, id.span, &Digest::of(&one));
        prop_assert!(id.is_of(&Digest::of(&one)));
        prop_assert_eq!(id.is_of(&Digest::of(&other)), one == other);
    }
}

#[test]
fn other_ways_to_write_an_id_are_none() {
    let exact = "lab/deep/a@b.md@3-14:0123456789abcdef";
    assert!(SourceId::parse(exact).is_some());
    for text in [
        "",
        "lab",
        "deep.md@3-14:0123456789abcdef",
        "lab/deep/a@b.md@03-14:0123456789abcdef",
        "lab/deep/a@b.md@+3-14:0123456789abcdef",
        "lab/deep/a@b.md@3-3:0123456789abcdef",
        "lab/deep/a@b.md@14-3:0123456789abcdef",
        "lab/deep/a@b.md@3-14:0123456789ABCDEF",
        "lab/deep/a@b.md@3-14:0123456789abcde",
        "lab/deep/a@b.md@3-14:0123456789abcdef0",
        "lab/deep/a@b.md@3-14",
        "lab/./deep/a@b.md@3-14:0123456789abcdef",
        "lab//deep/a@b.md@3-14:0123456789abcdef",
        "lab/deep/../a@b.md@3-14:0123456789abcdef",
        "lab/deep/a@b.md@3-99999999999999999999999:0123456789abcdef",
        "lab/deep/a@b.md@3-14:0123456789abcdef\n",
    ] {
        assert_eq!(SourceId::parse(text), None, "{text:?}");
    }
}
