//! Renaming a section in a large folder: every document is read for links to it.

use std::{fmt::Write as _, hint::black_box, path::Path};

use anyhow::{Context as _, Result};
use sectile_markdown::{NotePath, Source};
use sectile_vault::{
    Editor,
    editor::{CallHooks, EditorLimits, Operation, RenameSection, SectionRef, WriteRequest},
};

use super::{memory, options, request};
use crate::{
    Bench, corpus,
    measure::{middle, timed},
    report::{Report, Verdict},
};

const DOCUMENT_BYTES: usize = 10_000;
/// One document in this many has links to the section.
const ONE_IN: usize = 100;
/// The section is renamed from one to the other and back.
const NAMES: [&str; 2] = ["Old name", "New name"];
const TARGET: &str = "# Target\n\nText.\n\n## Old name\n\nMore text.\n";

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let mut per_megabyte = Vec::new();
    let mut repaired = 0;
    for full in [1_000, 3_000, 10_000] {
        let files = bench.size(full, full / 10);
        let folder = tempfile::tempdir_in(memory(bench))?;
        let bytes = fill(folder.path(), files)?;
        let editor = Editor::folder(folder.path(), options())?;
        let (mut times, mut plain) = (Vec::new(), Vec::new());
        let back = [NAMES[1], NAMES[0]];
        for [old, new] in [NAMES, back, NAMES] {
            times.push(timed(|| {
                let write = editor.write(&rename(old, new)?, CallHooks::none())?;
                repaired = write.repaired_links;
                Ok(())
            })?);
            plain.push(timed(|| read_and_parse(&editor))?);
        }
        let (elapsed, plain) = (middle(times), middle(plain));
        let each = elapsed.as_secs_f64() * 1e3 / (bytes as f64 / 1e6);
        per_megabyte.push(each);
        report.seen(
            &format!("renaming a section, {files} files of 10 kB"),
            &format!(
                "{elapsed:.1?}, {each:.2} ms per MB, {:.2} times reading and parsing them; {repaired} links repaired",
                elapsed.as_secs_f64() / plain.as_secs_f64()
            ),
        );
    }
    let what = "time per MB of a rename with ten times as many files";
    if repaired == 0 {
        report.seen(what, "not measured: no link was repaired");
        return Ok(());
    }
    let growth = per_megabyte[per_megabyte.len() - 1] / per_megabyte[0];
    report.line(
        what,
        &format!("{growth:.2} times (target 1.5)"),
        Verdict::at_most(growth, 1.5),
    );
    Ok(())
}

/// Creates documents with links among them, and returns their total size in bytes.
fn fill(folder: &Path, files: usize) -> Result<usize> {
    std::fs::write(folder.join("target.md"), TARGET)?;
    let mut bytes = TARGET.len();
    for (number, mut note) in corpus::ordinary_notes(files, DOCUMENT_BYTES)
        .into_iter()
        .enumerate()
    {
        let next = (number + 1) % files;
        write!(
            note,
            "\n## Links\n\n[next](note-{next}.md) [[note-{next}]]\n"
        )?;
        if number % ONE_IN == 0 {
            note += "[target](target.md#old-name) and [[target#Old name]]\n";
        }
        std::fs::write(folder.join(format!("note-{number}.md")), &note)?;
        bytes += note.len();
    }
    Ok(bytes)
}

fn rename(old: &str, new: &str) -> Result<WriteRequest> {
    let operation = Operation::Rename(RenameSection {
        path: Some(NotePath::parse_vault("target.md")?),
        section: SectionRef {
            id: None,
            heading: Some(old.to_owned()),
        },
        heading: new.to_owned(),
        level: None,
        repair_links: true,
        expected_hash: None,
    });
    Ok(request(operation, "rename_section"))
}

/// The minimum that any search for links has to do.
fn read_and_parse(editor: &Editor) -> Result<()> {
    for path in editor.documents(&|| false)? {
        let bytes = editor
            .root()
            .read(&path, EditorLimits::default().max_document_bytes)
            .context("a document that cannot be read")?;
        black_box(Source::new(&bytes).parse());
    }
    Ok(())
}
