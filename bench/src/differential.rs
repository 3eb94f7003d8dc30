//! The headings of documents, found by us and by another implementation of CommonMark.
//!
//! Run by `cargo xtask replay --documents FOLDER`. Exits with 1 if they differ.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use comrak::{Arena, Options, nodes::NodeValue, parse_document};
use sectile_markdown::{LineIndex, Source};

/// A heading: its level, the line that it starts in, and whether it is in a quote or a list.
type FoundHeading = (u8, usize, bool);

/// Returns the headings that our section model finds in a text without front matter.
fn ours(text: &str) -> Vec<FoundHeading> {
    let lines = LineIndex::new(text.as_bytes());
    let document = Source::new(text.as_bytes()).parse();
    let sections = document.sections().iter();
    let found = sections.map(|section| {
        let line = lines.position(section.heading.start).line;
        (section.level, line, section.extent.is_none())
    });
    found.collect()
}

/// Returns the headings that comrak finds, with plain CommonMark as well.
fn theirs(text: &str) -> Vec<FoundHeading> {
    let arena = Arena::new();
    let root = parse_document(&arena, text, &Options::default());
    let headings = root.descendants().filter_map(|node| {
        let data = node.data();
        let NodeValue::Heading(heading) = &data.value else {
            return None;
        };
        let above = node.parent()?;
        let is_nested = !matches!(above.data().value, NodeValue::Document);
        Some((heading.level, data.sourcepos.start.line, is_nested))
    });
    headings.collect()
}

/// Returns the first heading that only one of both finds.
fn difference(text: &str) -> Option<String> {
    let (ours, theirs) = (ours(text), theirs(text));
    let at = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at))?;
    Some(format!(
        "heading {at}: {:?}, but {:?} for comrak",
        ours.get(at),
        theirs.get(at)
    ))
}

/// Compares the Markdown files below the folders that the arguments name.
pub(crate) fn run(folders: impl Iterator<Item = String>) -> Result<ExitCode> {
    let mut files = Vec::new();
    for folder in folders {
        find(Path::new(&folder), &mut files)?;
    }
    files.sort();
    let (mut headings, mut different) = (0, 0);
    for file in &files {
        let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        // Front matter is not CommonMark, and comrak has its own rule for it.
        let start = Source::new(text.as_bytes())
            .front_matter()
            .map_or(0, |found| found.block.end);
        headings += ours(&text[start..]).len();
        if let Some(difference) = difference(&text[start..]) {
            different += 1;
            println!("FAILED  {}: {difference}", file.display());
        }
    }
    println!(
        "{} documents, {headings} headings, {different} documents with a difference",
        files.len()
    );
    Ok(match different {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !is_hidden {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Dice, ordinary_notes};

    /// What decides where headings are: every construct that opens, closes, interrupts or contains one. Two are left out,
    /// where the reference implementations in C and in JavaScript differ, and we agree with the second: `</pre>` in a
    /// lazy line, and a definition of a link that is underlined.
    const PIECES: [&str; 46] = [
        "# a",
        "## b ##",
        "###### c",
        "####### d",
        "#e",
        "#",
        "##\t",
        " # f",
        "   ## g",
        "    # h",
        "\t# i",
        "\\# j",
        "k",
        "l m",
        "===",
        "---",
        " ==",
        "   ---",
        "    ===",
        "- - -",
        "***",
        "```",
        "~~~",
        "```rust",
        "````",
        "    code",
        "> ",
        "> # q",
        "> r",
        ">> ## s",
        "- # t",
        "- u",
        "  # v",
        "1. w",
        "1) # x",
        "10. y",
        "   z",
        "<!-- ",
        " -->",
        "<div>",
        "</div>",
        "<pre>",
        "| a | b |",
        "* # c",
        "+",
        "`",
    ];

    #[test]
    fn both_find_the_same_headings_in_odd_documents() {
        let mut dice = Dice::new(0xc0);
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..=dice.roll(12) {
                text += PIECES[dice.roll(PIECES.len())];
                text += ["\n", "\n", "\n\n", "\r\n"][dice.roll(4)];
            }
            // What starts like front matter is read by us alone.
            if Source::new(text.as_bytes()).front_matter().is_none() {
                assert_eq!(difference(&text), None, "{text:?}");
            }
        }
    }

    #[test]
    fn both_find_the_same_headings_in_ordinary_documents() {
        for text in ordinary_notes(50, 20_000) {
            let start = Source::new(text.as_bytes())
                .front_matter()
                .map_or(0, |found| found.block.end);
            assert_eq!(difference(&text[start..]), None);
        }
    }
}
