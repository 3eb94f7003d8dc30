//! A desk whose folder is a tenant's in PostgreSQL or S3, beside the same folder on disk; and two tenants of one server, one
//! of which floods it.

pub(crate) mod large;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use sectile_test_servers::{MemoryS3, Postgres};
use serde_json::json;

use crate::{
    Bench,
    hosted::Process,
    measure::{middle, per_mille},
    processes::{finish, on_all_cores, quickly},
    report::Report,
    server::Server,
};

const ROLE: &str = "bench";
const PASSWORD: &str = "a password of the benchmark";
const NAME: &str = "desks";
const BUCKET: &str = "desks";
/// The number of notes of a tenant.
const NOTES: usize = 2_000;
const FEW_NOTES: usize = 200;
/// The number of calls of each kind in each place.
const CALLS: usize = 200;
/// The connections that flood one tenant.
const FLOOD: usize = 16;
/// The pause between two calls of the quiet tenant, which does not wait for the other.
const PACE: Duration = Duration::from_millis(25);
/// The number of calls of the quiet tenant for one figure.
const QUIET_CALLS: usize = 300;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let home = tempfile::tempdir_in(&bench.target)?;
    let notes = home.path().join("notes");
    let count = bench.size(NOTES, FEW_NOTES);
    make_notes(&notes, count)?;
    let database = Postgres::start_on_disk();
    database.create_role(ROLE, PASSWORD);
    database.create_database(NAME);
    database.sql(
        "postgres",
        &format!("ALTER DATABASE {NAME} OWNER TO {ROLE}"),
    );
    let bucket = MemoryS3::start();
    bucket.bucket(BUCKET);
    let places = Places::write(home.path(), &database, &bucket)?;
    for (name, settings) in &places.stores {
        for tenant in ["acme", "quiet", "flood"] {
            let mut import = Command::new(bench.binaries.join("sectile"));
            import.args(["tenant", "import", tenant]).arg(&notes);
            import.arg("--config").arg(settings).arg("--json");
            let (took, _) = quickly(&mut import)?;
            if tenant == "acme" {
                report.seen(
                    &format!("{name}: import of {count} notes"),
                    &format!("{took:.1?}"),
                );
            }
        }
    }
    side_by_side(report, bench, &places, &notes)?;
    for (name, settings) in &places.stores {
        flood(report, bench, name, settings)?;
    }
    Ok(())
}

/// A note of about 2 kB. Every fiftieth has the word that is searched for.
fn make_notes(folder: &Path, count: usize) -> Result<()> {
    for number in 0..count {
        let place = folder.join(format!("folder {}", number % 20));
        fs::create_dir_all(&place)?;
        let mut text = format!(
            "# Note {number}\n\nSee [[note {}]].\n",
            (number * 7) % count
        );
        for section in 0..4 {
            text += &format!("\n## Part {section}\n\n");
            for line in 0..4 {
                let word = if (number + line) % 50 == 0 {
                    "harbour"
                } else {
                    "garden"
                };
                text += &format!(
                    "The {word} of year {} was discussed at length, and {} people agreed on it.\n",
                    1900 + (number * 13 + line) % 120,
                    3 + (number + section) % 17
                );
            }
        }
        fs::write(place.join(format!("note {number}.md")), text)?;
    }
    Ok(())
}

/// The settings of each place.
struct Places {
    home: PathBuf,
    stores: Vec<(&'static str, PathBuf)>,
}

impl Places {
    fn write(home: &Path, database: &Postgres, bucket: &MemoryS3) -> Result<Self> {
        fs::write(home.join("password"), PASSWORD)?;
        fs::write(home.join("access"), bucket.access_key())?;
        fs::write(home.join("secret"), bucket.secret_key())?;
        let common = "[server.limits]\nrequests_per_minute = 10000000\naddress_requests_per_minute = 10000000\n\
             max_in_flight_per_caller = 1\n\
             [editor]\nkey_file = 'history-key'\n[desk]\nranking = 'static'\n[desk.store]\ntenant = 'acme'\n";
        let texts = [
            (
                "PostgreSQL",
                format!(
                    "{common}copies = 'copies-postgres'\ntype = 'postgres'\nconnection = 'postgres://{ROLE}@{}/{NAME}'\n\
                     password_file = 'password'\n",
                    database.address()
                ),
            ),
            (
                "S3",
                format!(
                    "{common}copies = 'copies-s3'\ntype = 's3'\npath = '{BUCKET}'\n[desk.store.s3]\nendpoint = '{}'\n\
                     allow_http = true\naccess_key_file = 'access'\nsecret_key_file = 'secret'\n",
                    bucket.endpoint()
                ),
            ),
        ];
        let mut stores = Vec::new();
        for (name, text) in texts {
            let file = home.join(format!("{name}.toml"));
            fs::write(&file, text)?;
            stores.push((name, file));
        }
        Ok(Self {
            home: home.to_path_buf(),
            stores,
        })
    }

    fn serve(&self, bench: &Bench, settings: Option<&Path>, notes: &Path) -> Command {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["serve", "desk"]);
        match settings {
            Some(settings) => command.arg("--config").arg(settings),
            None => command.arg(notes),
        };
        command.env("XDG_CACHE_HOME", self.home.join("cache"));
        command.env("SECTILE_DESK__RANKING", "static");
        command
    }
}

/// The figures of one place.
struct PlaceFigures {
    first: Duration,
    again: Duration,
    read: Vec<Duration>,
    search: Vec<Duration>,
    edit: Vec<Duration>,
}

fn side_by_side(report: &mut Report, bench: &Bench, places: &Places, notes: &Path) -> Result<()> {
    let calls = bench.size(CALLS, CALLS / 5);
    let stores = places
        .stores
        .iter()
        .map(|(name, file)| (*name, Some(file.as_path())));
    let all: Vec<(&str, Option<&Path>)> = [("folder", None)].into_iter().chain(stores).collect();
    let mut figures = Vec::new();
    for (name, settings) in all {
        figures.push((
            name,
            place_figures(&places.serve(bench, settings, notes), calls)?,
        ));
    }
    for (name, mut seen) in figures {
        let text = format!(
            "first answer {:.0?} with an empty copy, {:.0?} with one; p50 / p99: fetch {:.2?} / {:.2?}, search {:.2?} / {:.2?}, edit {:.2?} / {:.2?}",
            seen.first,
            seen.again,
            middle(seen.read.clone()),
            per_mille(&mut seen.read, 990),
            middle(seen.search.clone()),
            per_mille(&mut seen.search, 990),
            middle(seen.edit.clone()),
            per_mille(&mut seen.edit, 990),
        );
        report.seen(name, &text);
    }
    Ok(())
}

fn place_figures(command: &Command, calls: usize) -> Result<PlaceFigures> {
    let start = || -> Result<(Server, Duration)> {
        let mut server = Server::start(&mut on_all_cores(command))?;
        server.initialize()?;
        let began = Instant::now();
        server.call_text("fetch", &json!({ "id": "folder 0/note 0.md" }))?;
        Ok((server, began.elapsed()))
    };
    let (server, first) = start()?;
    drop(server);
    let (mut server, again) = start()?;
    let mut seen = PlaceFigures {
        first,
        again,
        read: Vec::new(),
        search: Vec::new(),
        edit: Vec::new(),
    };
    // The index is built, and sections have ids.
    for number in 0..calls.max(40) {
        let id = format!("folder {}/note {number}.md", number % 20);
        server.call_text("fetch", &json!({ "id": id }))?;
        server.call_text("search", &json!({ "query": "harbour" }))?;
    }
    std::thread::sleep(Duration::from_secs(1));
    for number in 0..calls {
        let id = format!("folder {}/note {number}.md", number % 20);
        let read = server.call_text("fetch", &json!({ "id": id }))?;
        seen.read.push(read.0);
        let query = format!("harbour {}", 1900 + number % 120);
        seen.search
            .push(server.call_text("search", &json!({ "query": query }))?.0);
        let edit = json!({ "id": format!("{id}#Part 1"), "new": format!("Line {number}."), "place": "append" });
        seen.edit.push(server.call("edit", &edit)?.0);
    }
    Ok(seen)
}

/// Compares how long a quiet tenant waits alone, and while another one sends as much as it can.
fn flood(report: &mut Report, bench: &Bench, name: &str, settings: &Path) -> Result<()> {
    let home = settings.parent().context("no folder")?;
    let keys = home.join("keys.toml");
    let key = |tenant: &str| -> Result<String> {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["auth", "add-key", "--role", "editor", "--user", tenant]);
        command.args(["--root", tenant, "--file"]).arg(&keys);
        let output = finish(&mut command)?;
        Ok(output.output.trim().to_owned())
    };
    let (quiet, loud) = (key("quiet")?, key("flood")?);
    let text = fs::read_to_string(settings)?;
    let with_keys = home.join(format!("{name}-keys.toml"));
    fs::write(
        &with_keys,
        format!("[server.auth]\nkeys_file = 'keys.toml'\n{text}"),
    )?;
    let with_keys = with_keys.to_string_lossy().into_owned();
    let arguments = [
        "serve",
        "desk",
        "--http",
        "127.0.0.1:0",
        "--config",
        &with_keys,
    ];
    let server = Process::product(bench, &arguments, &home.join("log"))?;
    for key in [&quiet, &loud] {
        for _ in 0..50 {
            ask(server.address, key)?;
        }
    }
    std::thread::sleep(Duration::from_secs(1));
    let calls = bench.size(QUIET_CALLS, QUIET_CALLS / 5);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        alone.extend(quiet_calls(server.address, &quiet, calls / 3)?);
        let time = PACE * u32::try_from(calls)? + Duration::from_secs(2);
        let mut flood = flooding(bench, server.address, &loud, time)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        std::thread::sleep(Duration::from_millis(500));
        beside.extend(quiet_calls(server.address, &quiet, calls / 3)?);
        flood.kill()?;
        flood.wait()?;
    }
    let (p50, p50_beside) = (middle(alone.clone()), middle(beside.clone()));
    let (alone, beside) = (per_mille(&mut alone, 990), per_mille(&mut beside, 990));
    report.seen(
        &format!("{name}: a quiet tenant's search, p50 alone and beside a flood"),
        &format!("{p50:.2?}, {p50_beside:.2?}"),
    );
    report.ratio(
        &format!("{name}: p99 of a quiet tenant beside one that floods, of that alone"),
        beside,
        alone,
        2.0,
    );
    Ok(())
}

fn body() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
    });
    let params =
        json!({ "name": "search", "arguments": { "query": "harbour year" }, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

const HEADERS: [&str; 5] = [
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    "MCP-Protocol-Version: 2026-07-28",
    "Mcp-Method: tools/call",
    "Mcp-Name: search",
];

fn flooding(bench: &Bench, address: SocketAddr, key: &str, time: Duration) -> Command {
    let mut command = Command::new(bench.binaries.join("hosted_parts"));
    command
        .args(["load", &address.to_string(), &FLOOD.to_string()])
        .args([time.as_secs_f64().to_string(), usize::MAX.to_string()])
        .args(HEADERS)
        .arg(format!("X-Api-Key: {key}"))
        .arg(body());
    on_all_cores(&command)
}

/// Calls once, on a connection of its own.
fn ask(address: SocketAddr, key: &str) -> Result<Duration> {
    let body = body();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{}\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        HEADERS.join("\r\n"),
        body.len()
    );
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let took = began.elapsed();
    let text = String::from_utf8_lossy(&answer);
    ensure!(
        text.starts_with("HTTP/1.1 200"),
        "the server answered {text}"
    );
    Ok(took)
}

fn quiet_calls(address: SocketAddr, key: &str, calls: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..calls {
        let began = Instant::now();
        times.push(ask(address, key)?);
        std::thread::sleep(PACE.saturating_sub(began.elapsed()));
    }
    Ok(times)
}
