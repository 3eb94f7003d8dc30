//! The cost of well-meaning and hostile clients: memory over many sessions and ids, and the latency of other clients.

use std::{
    fs,
    io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{
    Bench,
    hosted::{ISSUER, Process, SECRET, open_session, post, resident, token},
    measure::per_mille,
    processes::on_all_cores,
    report::{Report, Verdict},
};

const SESSIONS: usize = 10_000;
const CALLS: usize = 100_000;
/// The idle timeout of sessions in the settings of this measurement, plus a margin.
const SETTLED: Duration = Duration::from_secs(13);
/// The number of concurrent clients.
const CLIENTS: usize = 8;
/// The most that memory may grow from the middle of a run to its end. By the middle, everything kept for reuse has been
/// allocated.
const FLAT: f64 = 1.1;
/// The delay of the store for the notes of the hostile caller.
const SLOW: Duration = Duration::from_secs(2);
const HOSTILE: usize = 200;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    sessions(report, bench)?;
    ids(report, bench)?;
    tenants(report, bench)
}

/// Opens sessions with calls that are cancelled, cut off or abandoned.
fn sessions(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    notes(&folder.path().join("notes"))?;
    let settings = folder.path().join("sectile.toml");
    fs::write(
        &settings,
        "[editor]\nroot = 'notes'\n[server.http]\nmax_sessions = 65536\nsession_idle_seconds = 10\n",
    )?;
    let settings = settings.to_string_lossy().into_owned();
    let arguments = [
        "serve",
        "editor",
        "--http",
        "127.0.0.1:0",
        "--config",
        &settings,
    ];
    let server = Process::product(bench, &arguments, &folder.path().join("log"))?;
    let count = bench.size(SESSIONS, SESSIONS / 20);
    let mut after = Vec::new();
    // The first round is not counted: it allocates everything that is kept for reuse.
    for round in 0..5 {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        while let at = next.fetch_add(1, Ordering::Relaxed)
                            && at < count / 4
                        {
                            session(server.address, at)?;
                        }
                        anyhow::Ok(())
                    })
                })
                .collect();
            clients
                .into_iter()
                .try_for_each(|client| client.join().unwrap_or_else(|_| Ok(())))
        })?;
        thread::sleep(SETTLED);
        if round > 0 {
            after.push(resident(server.child.id())?);
        }
    }
    flat(
        report,
        &format!("{count} sessions opened, cancelled, broken off and abandoned"),
        &after,
    );
    Ok(())
}

fn notes(folder: &Path) -> Result<()> {
    fs::create_dir(folder)?;
    let text: String = (0..100)
        .map(|at| format!("# Heading {at}\n\n[x](#heading-{at})\n\n"))
        .collect();
    Ok(fs::write(folder.join("a.md"), text)?)
}

/// Runs one session; its number decides how it ends.
fn session(address: SocketAddr, at: usize) -> Result<()> {
    match at % 3 {
        0 => {
            let id = open_session(address)?;
            let header = format!("Mcp-Session-Id: {id}\r\n");
            let name = format!("{at:0>256}");
            let params = json!({ "name": "check_links", "arguments": { "path": "a.md" } });
            let call =
                json!({ "jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params });
            let _unread = send(address, &call, &header)?;
            let params = json!({ "requestId": name });
            let cancel =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            post(address, &cancel, &header)?;
            let mut stream = TcpStream::connect(address)?;
            write!(
                stream,
                "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n"
            )?;
            stream.read_to_end(&mut Vec::new())?;
        }
        1 => {
            let client = json!({ "name": "x".repeat(10_000), "version": "1" });
            // Now and then one with more values than a message may have.
            let values = if at.is_multiple_of(10) { 100_000 } else { 1000 };
            let bulk = json!({ "experimental": { "x": { "a": vec![0; values] } } });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": bulk, "clientInfo": client });
            let hello =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
            drop(send(address, &hello, "")?);
        }
        _ => drop(open_session(address)?),
    }
    Ok(())
}

/// Sends a message without waiting for its answer.
fn send(address: SocketAddr, message: &Value, more: &str) -> Result<TcpStream> {
    let body = message.to_string();
    let stream = TcpStream::connect(address)?;
    let mut writer = BufWriter::new(&stream);
    write!(
        writer,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n{more}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    writer.flush()?;
    drop(writer);
    Ok(stream)
}

/// Makes calls on stdio with ids of the maximum length, every second one cancelled, and some with ids far too long.
fn ids(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let notes_folder = folder.path().join("notes");
    notes(&notes_folder)?;
    let mut command = Command::new(bench.binaries.join("sectile"));
    command.args(["serve", "editor"]).arg(&notes_folder);
    let mut child = on_all_cores(&command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = BufWriter::new(child.stdin.take().context("no input")?);
    let output = BufReader::new(child.stdout.take().context("no output")?);
    let answered = AtomicUsize::new(0);
    let count = bench.size(CALLS, CALLS / 20);
    let mut after = Vec::new();
    thread::scope(|scope| {
        let pings = &answered;
        scope.spawn(move || {
            for line in output.lines().map_while(std::io::Result::ok) {
                if line.contains("\"id\":\"settled") {
                    pings.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let client = json!({ "name": "bench", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        writeln!(input, "{hello}")?;
        writeln!(
            input,
            "{}",
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
        )?;
        for quarter in 1..=4 {
            for at in 0..count / 4 {
                let length = if at % 500 == 0 { 1 << 20 } else { 240 };
                let name = format!("{quarter}-{at}-{}", "x".repeat(length));
                let params = json!({ "name": "list_documents", "arguments": {} });
                let call = json!({ "jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params });
                writeln!(input, "{call}")?;
                if at % 2 == 0 {
                    let params = json!({ "requestId": name });
                    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                    writeln!(input, "{cancel}")?;
                }
            }
            let ping =
                json!({ "jsonrpc": "2.0", "id": format!("settled {quarter}"), "method": "ping" });
            writeln!(input, "{ping}")?;
            input.flush()?;
            let started = Instant::now();
            while answered.load(Ordering::Relaxed) < quarter {
                ensure!(
                    started.elapsed() < Duration::from_secs(120),
                    "the server does not answer"
                );
                thread::sleep(Duration::from_millis(10));
            }
            thread::sleep(Duration::from_secs(1));
            after.push(resident(child.id())?);
        }
        drop(input);
        anyhow::Ok(())
    })?;
    child.wait()?;
    flat(
        report,
        &format!("{count} calls with ids of 240 bytes and more, half of them cancelled"),
        &after,
    );
    Ok(())
}

fn flat(report: &mut Report, what: &str, after: &[u64]) {
    let growth = after[after.len() - 1] as f64 / after[after.len() / 2 - 1] as f64;
    let quarters: Vec<String> = after
        .iter()
        .map(|bytes| format!("{:.1}", *bytes as f64 / f64::from(1 << 20)))
        .collect();
    report.line(
        &format!("memory after {what}, of that after half of them"),
        &format!(
            "{growth:.2} (target {FLAT}; {} MB after each quarter)",
            quarters.join(", ")
        ),
        Verdict::at_most(growth, FLAT),
    );
}

/// Two callers of one server: one has a slow store, never stops sending requests, and also holds silent connections.
fn tenants(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = TcpListener::bind("127.0.0.1:0")?;
    let store_address = store.local_addr()?;
    thread::spawn(move || {
        for stream in store.incoming().map_while(std::io::Result::ok) {
            thread::spawn(move || drop(keep(stream)));
        }
    });
    fs::write(folder.path().join("secret"), SECRET)?;
    let settings = folder.path().join("sectile.toml");
    fs::write(
        &settings,
        format!(
            "[hosted]\nstore_url = 'http://{store_address}'\n\
             [server.limits]\nrequests_per_minute = 10000000\naddress_requests_per_minute = 10000000\n\
             [server.auth.tokens]\nsecret_file = 'secret'\nissuer = '{ISSUER}'\naudience = ['bench']\n"
        ),
    )?;
    let settings = settings.to_string_lossy().into_owned();
    let arguments = [
        "serve",
        "hosted",
        "--http",
        "127.0.0.1:0",
        "--config",
        &settings,
    ];
    let server = Process::product(bench, &arguments, &folder.path().join("log"))?;
    let count = bench.size(2000, 200);
    let ada = token("ada")?;
    ask_often(server.address, &ada, count / 10)?;
    let (mut alone, _) = ask_often(server.address, &ada, count)?;
    let eve = token("eve")?;
    let (is_over, refused, served) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let (mut beside, errors) = thread::scope(|scope| {
        for _ in 0..HOSTILE {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let is_served = ask(server.address, &eve).is_ok_and(|(_, good)| good);
                    let count = if is_served { &served } else { &refused };
                    count.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
        let _silent: Vec<_> = (0..200)
            .map(|_| TcpStream::connect(server.address))
            .collect();
        thread::sleep(SLOW);
        let seen = ask_often(server.address, &ada, count);
        is_over.store(true, Ordering::Relaxed);
        seen
    })?;
    let (served, refused) = (served.into_inner(), refused.into_inner());
    report.seen(
        "the hostile caller",
        &format!("{served} calls served, {refused} refused, of {HOSTILE} clients with a store of {SLOW:?}"),
    );
    report.line(
        "two callers, errors of the other",
        &format!("{errors} of {count} (target 0)"),
        Verdict::at_most(errors, 0_usize),
    );
    let (before, with) = (per_mille(&mut alone, 990), per_mille(&mut beside, 990));
    let target = (before * 10).max(Duration::from_millis(250));
    report.line(
        "two callers, p99 of the other",
        &format!(
            "{with:.1?} (target {target:.1?}; {before:.1?} alone, p50 {:.1?} and {:.1?} alone)",
            per_mille(&mut beside, 500),
            per_mille(&mut alone, 500)
        ),
        Verdict::at_most(with, target),
    );
    Ok(())
}

/// Serves one connection of the store.
fn keep(stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let (mut line, mut is_slow) = (String::new(), false);
        loop {
            line.clear();
            ensure!(reader.read_line(&mut line)? > 0, "the server has gone");
            is_slow |= line.to_ascii_lowercase().trim() == "x-user-id: eve";
            if line.trim().is_empty() {
                break;
            }
        }
        if is_slow {
            thread::sleep(SLOW);
        }
        let body = json!({ "body": "# Plan\n\nText.\n" }).to_string();
        let length = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        writer.write_all(answer.as_bytes())?;
    }
}

/// Measures consecutive calls, and counts those without an answer.
fn ask_often(address: SocketAddr, token: &str, count: usize) -> Result<(Vec<Duration>, usize)> {
    let (mut times, mut errors) = (Vec::new(), 0);
    for _ in 0..count {
        let (time, is_good) = ask(address, token).unwrap_or((Duration::ZERO, false));
        times.push(time);
        errors += usize::from(!is_good);
    }
    Ok((times, errors))
}

fn ask(address: SocketAddr, token: &str) -> Result<(Duration, bool)> {
    let params = json!({ "name": "get_note_outline", "arguments": { "path": "a.md" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let started = Instant::now();
    let answer = post(
        address,
        &call,
        &format!("Authorization: Bearer {token}\r\n"),
    )?;
    let is_good = answer.starts_with("HTTP/1.1 200") && answer.contains("\"isError\":false");
    Ok((started.elapsed(), is_good))
}
