//! A durable edit by the desk against the same edit by the editor, which keeps no index, in folders of the same size.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    asked,
    folder::{DeskFolder, EDITED},
    load,
};
use crate::{Bench, measure::middle, processes::processor_time, report::Report, server::Server};

const MOST: f64 = 1.2;
/// The number of edits before the other server's turn; see the edits of the editor itself.
const TURN: usize = 5;
/// The approximate length of the new text, in bytes.
const SECTION_BYTES: usize = 600;

pub(super) fn run(report: &mut Report, bench: &Bench, folder: &DeskFolder) -> Result<()> {
    let mut desk = folder.serve(bench)?;
    let mut editor = Command::new(bench.binaries.join("sectile"));
    editor.args(["serve", "editor"]).arg(folder.editor_root());
    let mut editor = Server::start(&mut editor)?;
    editor.initialize()?;
    let (section, id) = (section(&mut editor)?, desk_section(&mut desk)?);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut taken = [&desk, &editor].map(processor_time);
    let mut edits = 0;
    for _ in 0..bench.size(40, 10) {
        for _ in 0..TURN {
            edits += 1;
            let arguments = json!({ "id": id, "new": text(edits) });
            let (elapsed, said) = desk.call("edit", &arguments)?;
            ensure!(said["change"].is_string(), "the edit failed: {said}");
            ours.push(elapsed);
        }
        for _ in 0..TURN {
            edits += 1;
            let arguments =
                json!({ "path": EDITED, "section_id": section, "content": text(edits) });
            let (elapsed, said) = editor.call("update_section", &arguments)?;
            ensure!(said["entry"].is_u64(), "the edit failed: {said}");
            theirs.push(elapsed);
        }
    }
    for (taken, server) in taken.iter_mut().zip([&desk, &editor]) {
        *taken = processor_time(server).saturating_sub(*taken) / u32::try_from(ours.len())?;
    }
    let last = format!("\"edit number {edits:08}\"", edits = edits - TURN);
    let (_, said) = desk.call("search", &asked(&last))?;
    ensure!(
        said["results"][0]["id"] == id,
        "the last edit is not found: {said}"
    );
    desk.stop()?;
    editor.stop()?;
    let best = |times: &[std::time::Duration]| times.iter().min().copied().unwrap_or_default();
    let least = format!(
        "desk {:.1?}, editor {:.1?}; processor time of each {:.2?}, {:.2?}; load {}",
        best(&ours),
        best(&theirs),
        taken[0],
        taken[1],
        load()
    );
    let what = format!(
        "edit of a section of a 10 kB note among {} notes / the editor's own",
        folder.count
    );
    report.ratio(&what, middle(ours), middle(theirs), MOST);
    report.seen("the fastest of these", &least);
    Ok(())
}

/// Returns the text of one edit, always of the same length.
fn text(edit: usize) -> String {
    let line = format!("Edit number {edit:08} of this section.\n");
    line.repeat(SECTION_BYTES / line.len())
}

/// Returns the id of a section in the middle of the note.
fn section(editor: &mut Server) -> Result<String> {
    let (_, said) = editor.call("list_sections", &json!({ "path": EDITED }))?;
    let sections = said["sections"].as_array().context("no sections")?;
    middle_id(sections, "section_id")
}

/// Returns the id of the same section on the desk.
fn desk_section(desk: &mut Server) -> Result<String> {
    let (_, said) = desk.call("outline", &json!({ "id": EDITED, "depth": 6 }))?;
    let items = said["items"].as_array().context("no items")?;
    middle_id(items, "id")
}

fn middle_id(sections: &[Value], key: &str) -> Result<String> {
    let section = sections.get(sections.len() / 2).context("no section")?;
    let id = section[key].as_str();
    Ok(id.context("a section without an id")?.to_owned())
}
