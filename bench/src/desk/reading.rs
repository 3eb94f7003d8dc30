//! The tools that read, through stdio.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{asked, folder::DeskFolder, load};
use crate::{
    Bench,
    measure::{middle, per_mille},
    notebook::indexing::megabytes,
    processes::{memory, processor_time},
    report::{Report, Verdict},
    server::Server,
};

const SEARCH: Duration = Duration::from_millis(3);
const FILTERS: Duration = Duration::from_millis(2);
const LINKS: Duration = Duration::from_millis(1);
const CALLS: usize = 400;
const FEW_CALLS: usize = 100;
const WARM_UP: usize = 30;

/// How long the calls of a tool took.
struct CallTimes {
    half: Duration,
    nearly_all: Duration,
    /// The processor time of each call.
    processor: Duration,
}

pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    folder: &DeskFolder,
    questions: &[String],
) -> Result<()> {
    let mut server = folder.serve(bench)?;
    let queries: Vec<Value> = questions.iter().map(|one| asked(one)).collect();
    let found = measured(&mut server, "search", &queries)?;
    let what = format!(
        "search among {} notes, {} questions, stdio",
        folder.count,
        queries.len()
    );
    targeted(report, &what, &found, SEARCH);
    let calls = bench.size(CALLS, FEW_CALLS);
    for (what, query) in filters(folder) {
        let found = measured(&mut server, "search", &vec![asked(&query); calls / 4])?;
        targeted(report, &format!("{what}: {query}"), &found, FILTERS);
    }
    let links: Vec<Value> = (0..calls)
        .map(|at| json!({ "id": folder.path(at * 37) }))
        .collect();
    let found = measured(&mut server, "links", &links)?;
    targeted(report, "links of a note", &found, LINKS);
    others(report, folder, &mut server, calls, &queries)?;
    let resident = memory(server.process(), "VmRSS").context("the memory of a server")?;
    let private = memory(server.process(), "RssAnon").unwrap_or_default();
    let figures = format!(
        "{} ({} of it not from files)",
        megabytes(resident),
        megabytes(private)
    );
    report.seen("resident memory then", &figures);
    server.stop()
}

/// Returns filters without words, of every kind.
fn filters(folder: &DeskFolder) -> Vec<(&'static str, String)> {
    let path = folder.path(7);
    let place = path.rsplit_once('/').map_or("", |(place, _)| place);
    vec![
        ("filter by tag", "tag:budget".to_owned()),
        ("filter by field", "status:draft".to_owned()),
        ("filter by absence", "-status:done tag:work".to_owned()),
        ("filter by folder", format!("path:{place}/")),
        (
            "filter by date",
            "after:2024-01-01 before:2024-07-01".to_owned(),
        ),
        ("newest notes", "sort:modified".to_owned()),
        ("open tasks of a folder", format!("is:task path:{place}/")),
        ("all open tasks", "is:task".to_owned()),
    ]
}

/// Measures outlines and readings, which have no target.
fn others(
    report: &mut Report,
    folder: &DeskFolder,
    server: &mut Server,
    calls: usize,
    queries: &[Value],
) -> Result<()> {
    let notes: Vec<Value> = (0..calls)
        .map(|at| json!({ "id": folder.path(at * 41) }))
        .collect();
    let mut sections = Vec::new();
    for query in queries.iter().take(calls) {
        let (_, said) = server.call("search", query)?;
        let id = &said["results"][0]["id"];
        if id.is_string() {
            sections.push(json!({ "id": id }));
        }
    }
    ensure!(!sections.is_empty(), "nothing was found");
    for (what, tool, arguments) in [
        ("outline of the desk", "outline", vec![json!({}); calls / 4]),
        ("outline of a note", "outline", notes.clone()),
        ("fetch of a section", "fetch", sections),
        ("fetch of a note", "fetch", notes),
    ] {
        let times = measured(server, tool, &arguments)?;
        let figures = format!(
            "p50 {:.2?}, p99 {:.2?}, processor time {:.2?}",
            times.half, times.nearly_all, times.processor
        );
        report.seen(what, &figures);
    }
    Ok(())
}

/// Searches for what another program has just written.
pub(super) fn after_an_external_edit(
    report: &mut Report,
    bench: &Bench,
    folder: &DeskFolder,
) -> Result<()> {
    let mut server = folder.serve(bench)?;
    let (mut fresh, mut usual) = (Vec::new(), Vec::new());
    for round in 0..bench.size(60, 20) {
        let number = round * 11;
        let word = format!("quixotic{round}");
        folder.edit(number, Some(&format!("\nA {word} remark.\n")))?;
        let (elapsed, said) = server.call("search", &asked(&word))?;
        let id = said["results"][0]["id"].as_str().unwrap_or_default();
        ensure!(id.starts_with(&folder.path(number)), "not found: {said}");
        fresh.push(elapsed);
        usual.push(server.call("search", &asked(&word))?.0);
        folder.edit(number, None)?;
    }
    server.stop()?;
    let figures = format!(
        "{:.2?}; the same search again {:.2?}; load {}",
        middle(fresh),
        middle(usual),
        load()
    );
    report.seen("search right after another program's edit, p50", &figures);
    Ok(())
}

/// Calls a tool with each of the arguments; the first calls warm the server up and do not count.
fn measured(server: &mut Server, tool: &str, arguments: &[Value]) -> Result<CallTimes> {
    for arguments in arguments.iter().take(WARM_UP) {
        server.call_text(tool, arguments)?;
    }
    let mut times = Vec::with_capacity(arguments.len());
    let before = processor_time(server);
    for arguments in arguments {
        let (elapsed, text) = server.call_text(tool, arguments)?;
        let is_empty = text.contains("\"total\":0,") && text.contains("\"results\":[]");
        ensure!(
            text.starts_with(['{', '<', '#', '-']) || text.contains('\n'),
            "{tool} {arguments} answered {text}"
        );
        ensure!(
            !is_empty
                || arguments["query"]
                    .as_str()
                    .is_some_and(|query| !query.contains(':')),
            "{tool} {arguments} found nothing"
        );
        times.push(elapsed);
    }
    let processor = processor_time(server).saturating_sub(before);
    Ok(CallTimes {
        half: per_mille(&mut times, 500),
        nearly_all: per_mille(&mut times, 990),
        processor: processor / u32::try_from(times.len().max(1))?,
    })
}

fn targeted(report: &mut Report, what: &str, times: &CallTimes, target: Duration) {
    let CallTimes {
        half,
        nearly_all,
        processor,
    } = times;
    let figures = format!(
        "p50 {half:.2?} (target {target:.0?}), p99 {nearly_all:.2?}, processor time {processor:.2?}; load {}",
        load()
    );
    report.line(what, &figures, Verdict::at_most(*half, target));
}
