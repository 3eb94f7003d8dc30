//! Tests of finding, resolving and repairing links.

use proptest::prelude::*;

use super::*;
use crate::{Changes, Source};

mod finding;
mod headings;
mod obsidian;
mod paths;
mod styles;

fn parse(text: &str) -> Vec<Link> {
    links(&Source::new(text.as_bytes()))
}

fn only_link(text: &str) -> Link {
    let mut found = parse(text);
    assert_eq!(found.len(), 1, "{text:?}: {found:?}");
    found.remove(0)
}

fn anchors(text: &str) -> Anchors {
    Anchors::new(&Source::new(text.as_bytes()))
}

/// Returns `text` after `repair`, or the name of its other outcome.
fn repaired(text: &str, repair: &Repair) -> String {
    match repair {
        Repair::NotNeeded => "=".to_owned(),
        Repair::Impossible => "!".to_owned(),
        Repair::Change(change) => {
            let changes = Changes::new([change.clone()]).expect("one change");
            let bytes = changes.apply(text.as_bytes()).expect("inside the text");
            String::from_utf8(bytes).expect("still text")
        }
    }
}

/// Generates the pieces of Markdown that links are made of, with any characters between them.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "[",
            "]",
            "[[",
            "]]",
            "](",
            ")",
            "(",
            "<",
            ">",
            "#",
            "|",
            "\\",
            "`",
            "*",
            "_",
            "!",
            "\"",
            "\n",
            "\r\n",
            "> ",
            "- ",
            "    ",
            "\n\n",
            "[a]: ",
            "[^1]: ",
            ":",
            "a.md",
            "%20",
            "%",
            "%%",
            "&amp;",
            "&num;",
            "&",
            ";",
            "é",
            "# A",
            "\n## B\n",
            "^x",
            "```\n",
            "<b>",
            "<a href=",
            "<img src='",
            "'",
            "---\na: \"",
            "\"\n---\n",
            "\r",
            "<!--",
            "-->",
            " ",
            "---\n",
            "\0",
            "https://x",
            "?",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[a-c ]{0,3}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}
