//! The console: the first page of a large desk, the page of a long document, and what calls pay for it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{FEW_NOTES, NOTES, folder::DeskFolder, load};
use crate::{
    Bench,
    corpus::ordinary_notes,
    hosted::{Process, open_session, post},
    measure::middle,
    report::{Report, Verdict},
};

const FIRST_PAGE: Duration = Duration::from_millis(100);
const LONG_PAGE: Duration = Duration::from_millis(300);
const LONG_BYTES: usize = 1_000_000;
/// The most that a call may cost with a console that nobody looks at, against the same call without one. Two equal servers
/// differ by this much on a machine that does other things.
const MOST_COST: f64 = 1.05;
const LONG_NOTE: &str = "desk/long.md";

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = DeskFolder::prepare(&bench.target, bench.size(NOTES, FEW_NOTES))?;
    // The index of the folder is complete, as on any day but the first.
    folder.serve(bench)?.stop()?;
    pages(report, bench, &folder)?;
    calls(report, bench, &folder)
}

/// Starts a server of the folder over HTTP.
fn serve(bench: &Bench, folder: &DeskFolder, has_console: bool) -> Result<Process> {
    let home = folder.cache();
    let settings = home.join(format!("console-{has_console}.toml"));
    let text = format!(
        "[desk]\nroot = '{}'\ncache = '{}'\nranking = 'static'\n[server.http]\nconsole = {has_console}\n[log]\nlevel = 'info'\n",
        folder.root().display(),
        home.join("sectile").display()
    );
    fs::write(&settings, text)?;
    let settings = settings.display().to_string();
    let arguments = [
        "serve",
        "desk",
        "--config",
        &settings,
        "--http",
        "127.0.0.1:0",
    ];
    Process::product(bench, &arguments, &home.join("console.log"))
}

fn pages(report: &mut Report, bench: &Bench, folder: &DeskFolder) -> Result<()> {
    let long = folder.root().join(LONG_NOTE);
    fs::write(&long, ordinary_notes(1, LONG_BYTES).remove(0))?;
    let measured = measure_pages(report, bench, folder);
    fs::remove_file(long)?;
    measured
}

fn measure_pages(report: &mut Report, bench: &Bench, folder: &DeskFolder) -> Result<()> {
    let (mut first, mut long, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.size(7, 3) {
        let server = serve(bench, folder, true)?;
        let cookie = enter(bench, folder, server.address)?;
        first.push(page(server.address, "/", &cookie)?.0);
        for _ in 0..5 {
            let (elapsed, bytes) = page(
                server.address,
                &format!("/documents?id={LONG_NOTE}"),
                &cookie,
            )?;
            ensure!(bytes > LONG_BYTES, "the page has only {bytes} bytes");
            long.push(elapsed);
            changes.push(page(server.address, "/changes", &cookie)?.0);
        }
    }
    for (what, times, target) in [
        (
            format!("first page of {} notes, first request", folder.count),
            first,
            FIRST_PAGE,
        ),
        (
            "page of a document of 1 MB, p50".to_owned(),
            long,
            LONG_PAGE,
        ),
    ] {
        let time = middle(times);
        let figures = format!("{time:.1?} (target {target:.0?}); load {}", load());
        report.line(&what, &figures, Verdict::at_most(time, target));
    }
    report.seen("page of changes, p50", &format!("{:.1?}", middle(changes)));
    Ok(())
}

/// Measures the same calls with and without a console, in turns.
fn calls(report: &mut Report, bench: &Bench, folder: &DeskFolder) -> Result<()> {
    let servers = [serve(bench, folder, true)?, serve(bench, folder, false)?];
    let mut sessions = Vec::new();
    for server in &servers {
        sessions.push(open_session(server.address)?);
    }
    let mut times = [Vec::new(), Vec::new()];
    let call = |id: usize| {
        let arguments = json!({ "id": folder.path(id * 41) });
        let params = json!({ "name": "fetch", "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    for round in 0..bench.size(2_000, 300) {
        for (index, server) in servers.iter().enumerate() {
            let header = format!("Mcp-Session-Id: {}\r\n", sessions[index]);
            let started = Instant::now();
            let answer = post(server.address, &call(round), &header)?;
            times[index].push(started.elapsed());
            ensure!(answer.contains("\"result\""), "{answer}");
        }
    }
    let [with, without] = times.map(middle);
    report.ratio(
        "a call with a console that nobody looks at / without one",
        with,
        without,
        MOST_COST,
    );
    Ok(())
}

/// Follows a link to the console, and returns the cookie.
fn enter(bench: &Bench, folder: &DeskFolder, address: SocketAddr) -> Result<String> {
    let mut command = Command::new(bench.binaries.join("sectile"));
    command
        .args(["open", "--print", "--root"])
        .arg(folder.root());
    let printed = String::from_utf8(command.output()?.stdout)?;
    let place = address.to_string();
    let (_, path) = printed
        .trim()
        .split_once(&place)
        .with_context(|| format!("`sectile open` does not lead to the server: {printed}"))?;
    let answer = request(address, path, "")?;
    let cookie = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then_some(value)
    });
    let cookie = cookie.and_then(|value| value.split(';').next());
    Ok(cookie
        .with_context(|| format!("no cookie: {answer}"))?
        .to_owned())
}

/// Asks for a page. Returns how long that took, and the length of the answer.
fn page(address: SocketAddr, path: &str, cookie: &str) -> Result<(Duration, usize)> {
    let started = Instant::now();
    let answer = request(address, path, &format!("Cookie: {cookie}\r\n"))?;
    let elapsed = started.elapsed();
    ensure!(
        answer.starts_with("HTTP/1.1 200"),
        "{}",
        &answer[..answer.len().min(300)]
    );
    Ok((elapsed, answer.len()))
}

fn request(address: SocketAddr, path: &str, more: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
