//! The hosted world under load, compared with a minimal gateway; and the cost of idle sessions.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::{
    Bench,
    processes::{memory, on_all_cores},
    report::{Report, Verdict},
};

const CONNECTIONS: usize = 64;
pub(crate) const SECRET: &str = "a secret of the benchmark, of 32 bytes and more";
pub(crate) const ISSUER: &str = "bench";
/// The time for which each server is loaded in a round.
const ROUND: Duration = Duration::from_secs(4);
const SESSIONS: usize = 2000;
/// The time from one session to the next. Sessions that are opened faster than they are put to rest are not idle, and the
/// allocator keeps what they took.
const PACE: Duration = Duration::from_millis(5);
/// The time after which a session counts as idle.
const IDLE: Duration = Duration::from_secs(5);
const MANY: usize = 200_000;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    throughput(report, bench)?;
    idle_sessions(report, bench)
}

/// A process that prints the address it listens on.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    fn parts(bench: &Bench, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(bench.binaries.join("hosted_parts"));
        command.args(arguments);
        let mut child = on_all_cores(&command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse().context("no address")?;
        Ok(Self { child, address })
    }

    /// Starts the product with its log in a file, as an operator would.
    pub(crate) fn product(bench: &Bench, arguments: &[&str], log: &Path) -> Result<Self> {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(arguments);
        let mut child = on_all_cores(&command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(log)?)
            .spawn()?;
        let address = loop {
            let said = fs::read_to_string(log)?;
            let place = said.split_once("http://").map(|(_, rest)| rest);
            if let Some((address, _)) = place.and_then(|rest| rest.split_once("/mcp")) {
                break address.parse()?;
            }
            ensure!(child.try_wait()?.is_none(), "the server has ended: {said}");
            std::thread::sleep(Duration::from_millis(5));
        };
        Ok(Self { child, address })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        drop(ended);
    }
}

/// The measurements of the load generator.
struct LoadFigures {
    per_second: f64,
    requests: f64,
    p50: f64,
    p99: f64,
}

/// Returns a token of `user` that is valid for a day.
pub(crate) fn token(user: &str) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let claims = json!({ "iss": ISSUER, "aud": "bench", "sub": user, "role": "viewer", "exp": now + 86_400 });
    let head = URL_SAFE_NO_PAD.encode(json!({ "alg": "HS256", "typ": "JWT" }).to_string());
    let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = ring::hmac::sign(&key, signed.as_bytes());
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn load(
    bench: &Bench,
    address: SocketAddr,
    time: Duration,
    requests: usize,
    token: &str,
) -> Result<LoadFigures> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
    });
    let params = json!({ "name": "get_section_source", "arguments": { "path": "inbox/a.md" }, "_meta": meta });
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let mut command = Command::new(bench.binaries.join("hosted_parts"));
    command
        .args(["load", &address.to_string(), &CONNECTIONS.to_string()])
        .args([time.as_secs_f64().to_string(), requests.to_string()])
        .args([
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        ])
        .args([
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: get_section_source",
        ])
        .arg(format!("Authorization: Bearer {token}"))
        .arg(body);
    let output = on_all_cores(&command).stdin(Stdio::null()).output()?;
    ensure!(
        output.status.success(),
        "the load failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let seen: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| {
        seen[key]
            .as_f64()
            .with_context(|| format!("no {key} in {seen}"))
    };
    Ok(LoadFigures {
        per_second: number("requests")? / number("seconds")?,
        requests: number("requests")?,
        p50: number("p50_us")?,
        p99: number("p99_us")?,
    })
}

fn throughput(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Process::parts(bench, &["store"])?;
    let bare = Process::parts(bench, &["bare", &store.address.to_string()])?;
    let secret = folder.path().join("secret");
    fs::write(&secret, SECRET)?;
    let settings = folder.path().join("sectile.toml");
    fs::write(
        &settings,
        format!(
            "[hosted]\nstore_url = 'http://{}'\n\
             [server.limits]\nrequests_per_minute = 10000000\naddress_requests_per_minute = 10000000\n\
             [server.auth.tokens]\nsecret_file = 'secret'\nissuer = '{ISSUER}'\naudience = ['bench']\n",
            store.address
        ),
    )?;
    let settings = settings.to_string_lossy().into_owned();
    let log = folder.path().join("log");
    let product = Process::product(
        bench,
        &[
            "serve",
            "hosted",
            "--http",
            "127.0.0.1:0",
            "--config",
            &settings,
        ],
        &log,
    )?;
    let token = token("ada")?;
    let round = |address| load(bench, address, ROUND, usize::MAX, &token);
    // The first round warms both up.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for at in 0..=bench.size(5, 2) {
        let (product, bare) = (round(product.address)?, round(bare.address)?);
        if at > 0 {
            ours.push(product);
            theirs.push(bare);
        }
    }
    let rate = |all: &[LoadFigures]| median(all.iter().map(|seen| seen.per_second).collect());
    let (ours_rate, theirs_rate) = (rate(&ours), rate(&theirs));
    let share = ours_rate / theirs_rate;
    report.line(
        "hosted get_section_source, 10 kB, 64 connections, of the requests of a bare gateway",
        &format!(
            "{:.0} % (target 60 % or more; {ours_rate:.0} / {theirs_rate:.0} a second)",
            share * 100.0
        ),
        Verdict::at_least(share, 0.6),
    );
    let p50 = median(ours.iter().map(|seen| seen.p50).collect());
    let p99 = median(ours.iter().map(|seen| seen.p99).collect());
    report.line(
        "the same, p99 / p50",
        &format!(
            "{:.1} (target 10; {:.1} ms / {:.1} ms)",
            p99 / p50,
            p99 / 1e3,
            p50 / 1e3
        ),
        Verdict::at_most(p99 / p50, 10.0),
    );
    flat_memory(report, bench, &product, &token)
}

fn flat_memory(report: &mut Report, bench: &Bench, product: &Process, token: &str) -> Result<()> {
    let requests = bench.size(MANY, MANY / 20);
    let process = product.child.id();
    let before = resident(process)?;
    let patience = Duration::from_secs(600);
    let mut after = Vec::new();
    let mut done = 0.0;
    for _ in 0..4 {
        done += load(bench, product.address, patience, requests / 4, token)?.requests;
        after.push(resident(process)?);
    }
    let last = after.last().copied().unwrap_or_default();
    // The middle of the run against its end: memory kept per request would show.
    let growth = last as f64 / after[0] as f64;
    report.line(
        &format!("memory after {done:.0} requests, of that after a quarter of them"),
        &format!(
            "{growth:.2} (target 1.1; {} MB, {} MB before)",
            last >> 20,
            before >> 20
        ),
        Verdict::at_most(growth, 1.1),
    );
    if let Some(time) = bench.soak {
        let seen = load(bench, product.address, time, usize::MAX, token)?;
        let end = resident(process)?;
        report.line(
            &format!(
                "soak of {} s, {:.0} requests, {:.0} a second",
                time.as_secs(),
                seen.requests,
                seen.per_second
            ),
            &format!(
                "memory {:.2} of that before (target 1.1; {} MB)",
                end as f64 / last as f64,
                end >> 20
            ),
            Verdict::at_most(end as f64 / last as f64, 1.1),
        );
    }
    Ok(())
}

/// Measures the memory of idle sessions, in a world that keeps them.
fn idle_sessions(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("notes"))?;
    fs::write(folder.path().join("notes/a.md"), "# A\n\nText.\n")?;
    let settings = folder.path().join("sectile.toml");
    fs::write(
        &settings,
        format!(
            "[editor]\nroot = 'notes'\n[server.http]\nmax_sessions = {}\n",
            SESSIONS + 100
        ),
    )?;
    let settings = settings.to_string_lossy().into_owned();
    let log = folder.path().join("log");
    let server = Process::product(
        bench,
        &[
            "serve",
            "editor",
            "--http",
            "127.0.0.1:0",
            "--config",
            &settings,
        ],
        &log,
    )?;
    for _ in 0..50 {
        open_session(server.address)?;
    }
    let before = resident(server.child.id())?;
    let count = bench.size(SESSIONS, SESSIONS / 10);
    for _ in 0..count {
        open_session(server.address)?;
        std::thread::sleep(PACE);
    }
    std::thread::sleep(IDLE);
    let after = resident(server.child.id())?;
    let grown = after.saturating_sub(before);
    report.line(
        &format!("{count} idle sessions of the editor world"),
        &format!(
            "{} MB (target 64 MB; {} kB each)",
            grown >> 20,
            (grown / count as u64) >> 10
        ),
        Verdict::at_most(grown, 64_u64 << 20),
    );
    Ok(())
}

pub(crate) fn open_session(address: SocketAddr) -> Result<String> {
    let client = json!({ "name": "bench", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let answer = post(address, &hello, "")?;
    let id = answer
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .starts_with("mcp-session-id:")
                .then(|| line[15..].trim().to_owned())
        })
        .with_context(|| format!("no session in {answer}"))?;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(address, &ready, &format!("Mcp-Session-Id: {id}\r\n"))?;
    Ok(id)
}

pub(crate) fn post(address: SocketAddr, message: &Value, more: &str) -> Result<String> {
    let body = message.to_string();
    let mut stream = TcpStream::connect(address)?;
    // In one write: small ones would wait for one another.
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n{more}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

pub(crate) fn resident(process: u32) -> Result<u64> {
    memory(process, "VmRSS").context("the system does not tell")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
