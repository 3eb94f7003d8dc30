//! Round trips and start-up of the real server on stdio, against a bare rmcp server.

use std::{
    hint::black_box,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;

use crate::{
    corpus,
    measure::{middle, time},
    parse,
    report::Report,
    server::{Server, message},
};

fn commands(binaries: &Path, vault: &Path) -> (Command, Command) {
    let mut ours = Command::new(binaries.join("sectile"));
    ours.args(["serve", "vault"]).arg(vault);
    (ours, Command::new(binaries.join("bare_server")))
}

/// Measures `get_section_source` on a 10 kB note, and the time from start to the first answer.
pub(crate) fn run(report: &mut Report, binaries: &Path, rounds: usize) -> Result<()> {
    let vault = tempfile::tempdir()?;
    let note = corpus::ordinary_notes(1, 10_000).remove(0);
    let file = vault.path().join("note.md");
    std::fs::write(&file, &note)?;
    round_trip(report, binaries, vault.path(), &file, &note, rounds)?;
    start_up(report, binaries, vault.path(), rounds.min(60))
}

fn round_trip(
    report: &mut Report,
    binaries: &Path,
    vault: &Path,
    file: &Path,
    note: &str,
    rounds: usize,
) -> Result<()> {
    let (mut ours, mut bare) = commands(binaries, vault);
    let (mut ours, mut bare) = (Server::start(&mut ours)?, Server::start(&mut bare)?);
    ours.initialize()?;
    bare.initialize()?;
    let (mut our_times, mut yardstick) = (Vec::new(), Vec::new());
    for id in 1..=rounds + 100 {
        let call = json!({ "name": "get_section_source", "arguments": { "path": "note.md" } });
        let our_time = ours.exchange(&message(id, "tools/call", &call))?;
        let nothing = json!({ "name": "nothing", "arguments": {} });
        let bare_time = bare.exchange(&message(id, "tools/call", &nothing))?;
        // Once per round and not in a separate loop: a server reads and parses after a wait, with cold caches.
        let read_time = time(|| drop(black_box(std::fs::read(file))));
        let parse_time = time(|| parse::parser_pass(note));
        // The first calls warm everything up.
        if id > 100 {
            our_times.push(our_time);
            yardstick.push(bare_time + read_time + parse_time);
        }
    }
    ours.stop()?;
    bare.stop()?;
    report.ratio(
        "get_section_source, 10 kB note, stdio / (bare call + read + parse)",
        middle(our_times),
        middle(yardstick),
        1.5,
    );
    Ok(())
}

fn start_up(report: &mut Report, binaries: &Path, vault: &Path, rounds: usize) -> Result<()> {
    let first_answer = |command: &mut Command| -> Result<Duration> {
        let started = Instant::now();
        let mut server = Server::start(command)?;
        server.initialize()?;
        let elapsed = started.elapsed();
        server.stop()?;
        Ok(elapsed)
    };
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut our_command, mut bare_command) = commands(binaries, vault);
        ours.push(first_answer(&mut our_command)?);
        bare.push(first_answer(&mut bare_command)?);
    }
    report.ratio(
        "start to first answer / bare server",
        middle(ours),
        middle(bare),
        1.5,
    );
    Ok(())
}
