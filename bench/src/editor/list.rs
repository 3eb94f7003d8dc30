//! `list_sections` of a large document against one pass of the parser.

use std::{hint::black_box, process::Command};

use anyhow::{Result, ensure};
use sectile_markdown::Source;
use serde_json::json;

use super::{NOTE, memory};
use crate::{
    Bench, corpus,
    measure::{middle, time},
    report::Report,
    server::Server,
};

const DOCUMENT_BYTES: usize = 10_000_000;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir_in(memory(bench))?;
    let note = corpus::ordinary_notes(1, DOCUMENT_BYTES).remove(0);
    std::fs::write(folder.path().join(NOTE), &note)?;
    let serve = || -> Result<Server> {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["serve", "editor"]).arg(folder.path());
        let mut server = Server::start(&mut command)?;
        server.initialize()?;
        Ok(server)
    };
    let parse = || time(|| drop(black_box(Source::new(note.as_bytes()).parse())));
    let arguments = json!({ "path": NOTE });
    let (mut met, mut first, mut again, mut pass) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.size(15, 3) {
        // A document without a history: its sections get their ids.
        std::fs::remove_dir_all(folder.path().join(".sectile")).or_else(|error| {
            let absent = error.kind() == std::io::ErrorKind::NotFound;
            if absent { Ok(()) } else { Err(error) }
        })?;
        let mut server = serve()?;
        met.push(server.call("list_sections", &arguments)?.0);
        pass.push(parse());
        server.stop()?;
        // A document that has ids, and a process that has not seen it.
        let mut server = serve()?;
        first.push(server.call("list_sections", &arguments)?.0);
        pass.push(parse());
        for _ in 0..3 {
            let (elapsed, list) = server.call("list_sections", &arguments)?;
            ensure!(list["total"].as_u64().is_some_and(|total| total > 1000));
            again.push(elapsed);
            pass.push(parse());
        }
        server.stop()?;
    }
    let pass = middle(pass);
    let what = |which| format!("list_sections, first page, 10 MB note, {which} / parsing it");
    report.ratio(&what("later calls"), middle(again), pass, 1.5);
    report.ratio(&what("first call of a process"), middle(first), pass, 1.5);
    report.seen(
        &what("note never seen before"),
        &format!("{:.2}", middle(met).as_secs_f64() / pass.as_secs_f64()),
    );
    Ok(())
}
