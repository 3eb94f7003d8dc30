//! `fetch_passage` of a large note, minus the cost of any call, against reading and hashing the file.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use sectile_markdown::{Digest, NotePath};
use sectile_vault::Root;
use serde_json::json;

use super::{
    asked, enter,
    library::{LARGE, LARGE_NOTE, NotebookLibrary},
};
use crate::{
    Bench,
    measure::{middle, timed},
    processes::quickly,
    report::Report,
    server::Server,
};

const LIMIT: u64 = 8 << 20;
const WARM_UP: usize = 20;

pub(super) fn run(report: &mut Report, bench: &Bench, library: &NotebookLibrary) -> Result<()> {
    quickly(&mut library.index_command(bench, LARGE))?;
    let mut server = Server::start(&mut library.serve_command(bench))?;
    server.initialize()?;
    enter(&mut server, LARGE)?;
    let passages = passages(&mut server, library)?;
    let root = Root::open(&library.root)?;
    let note = NotePath::parse_vault(&format!("{LARGE}/{LARGE_NOTE}"))?;
    let length = root.read_plain(&note, LIMIT)?.len();
    let (mut fetches, mut nothing, mut yardstick) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.size(300, 60) + WARM_UP {
        let passage = json!({ "source_id": passages[round % passages.len()] });
        let (fetch, said) = server.call("fetch_passage", &passage)?;
        ensure!(said["integrity"]["verified"] == true, "fetched {said}");
        let (call, _) = server.call("list_constraints", &json!({}))?;
        let plain = timed(|| {
            let bytes = root.read_plain(&note, LIMIT)?;
            black_box(Digest::of(&bytes));
            Ok(())
        })?;
        if round >= WARM_UP {
            fetches.push(fetch);
            nothing.push(call);
            yardstick.push(plain);
        }
    }
    server.stop()?;
    let (fetch, nothing) = (middle(fetches), middle(nothing));
    let what = format!(
        "fetch_passage, note of {} kB, minus the cost of a call / reading and hashing it",
        length / 1000
    );
    report.ratio(&what, fetch.saturating_sub(nothing), middle(yardstick), 2.0);
    let figures = format!("{fetch:.1?}, a call that does nothing {nothing:.1?}");
    report.seen("the whole call", &figures);
    Ok(())
}

/// Returns ids of passages found by a search, so that the index knows them.
fn passages(server: &mut Server, library: &NotebookLibrary) -> Result<Vec<String>> {
    let question = [100, 200, 300].map(|number| library.words.word(number));
    let (_, found) = server.call("semantic_search", &asked(&question.join(" ")))?;
    let results = found["results"].as_array().context("no results")?;
    let ids = results.iter().map(|result| result["reference_id"].as_str());
    let ids: Option<Vec<String>> = ids.map(|id| id.map(str::to_owned)).collect();
    let ids = ids.context("a result without an id")?;
    ensure!(!ids.is_empty(), "nothing was found");
    Ok(ids)
}
