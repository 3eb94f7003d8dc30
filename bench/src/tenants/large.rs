//! A tenant of a hundred thousand small notes in S3: what its size costs.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use sectile_test_servers::MemoryS3;
use serde_json::json;

use crate::{
    Bench,
    measure::per_mille,
    processes::{memory, on_all_cores, quickly},
    report::Report,
    server::Server,
};

const BUCKET: &str = "desks";
const NOTES: usize = 100_000;
const FEW_NOTES: usize = 5_000;
const FOLDERS: usize = 200;
/// The number of calls of each kind: two bases are written among as many edits.
const CALLS: usize = 140;
/// The time that the index of a new copy may take.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let home = tempfile::tempdir_in(&bench.target)?;
    let notes = home.path().join("notes");
    let count = bench.size(NOTES, FEW_NOTES);
    make_notes(&notes, count)?;
    let bucket = MemoryS3::start();
    bucket.bucket(BUCKET);
    let settings = write_settings(home.path(), &bucket)?;
    let mut import = Command::new(bench.binaries.join("sectile"));
    import.args(["tenant", "import", "acme"]).arg(&notes);
    import.arg("--config").arg(&settings).arg("--json");
    let (took, _) = quickly(&mut import)?;
    report.seen(
        &format!("import of {count} notes into S3"),
        &format!("{took:.1?}"),
    );
    let mut command = Command::new(bench.binaries.join("sectile"));
    command.args(["serve", "desk", "--config"]).arg(&settings);
    command.env("XDG_CACHE_HOME", home.path().join("cache"));
    let start = || -> Result<(Server, Duration)> {
        let began = Instant::now();
        let mut server = Server::start(&mut on_all_cores(&command))?;
        server.initialize()?;
        let fetch = json!({ "id": "folder 0/note 0.md" });
        let (_, text) = server.call_text("fetch", &fetch)?;
        let elapsed = began.elapsed();
        ensure!(text.contains("# Note 0"), "answered {text}");
        Ok((server, elapsed))
    };
    let (mut server, first) = start()?;
    settle(&mut server)?;
    server.stop()?;
    let (mut server, again) = start()?;
    report.seen(
        "first answer of a server after its start without a copy, with one",
        &format!("{first:.1?}, {again:.1?}"),
    );
    settle(&mut server)?;
    let [mut fetches, mut searches, mut edits] = [const { Vec::new() }; 3];
    for number in 0..CALLS {
        let id = format!("folder {}/note {number}.md", number % FOLDERS);
        fetches.push(server.call_text("fetch", &json!({ "id": id }))?.0);
        let query = json!({ "query": format!("harbour {}", 1900 + number % 120) });
        searches.push(server.call_text("search", &query)?.0);
        let edit = json!({ "id": id, "new": format!("Line {number}."), "place": "append" });
        edits.push(server.call("edit", &edit)?.0);
    }
    let held = memory(server.process(), "VmHWM").context("the memory of a server")?;
    server.stop()?;
    let mut line = |what: &str, times: &mut [Duration]| {
        let [half, most, slowest] = [500, 990, 1_000].map(|share| per_mille(times, share));
        report.seen(
            what,
            &format!("p50 {half:.1?}, p99 {most:.1?}, slowest {slowest:.1?}"),
        );
    };
    line("fetch", &mut fetches);
    line("search", &mut searches);
    line("edit, of which every 64th writes a new base", &mut edits);
    report.seen(
        "most memory of the server",
        &format!("{} MB", held / 1_000_000),
    );
    Ok(())
}

/// A note of half a kilobyte. Every fiftieth has the word that is searched for.
fn make_notes(folder: &Path, count: usize) -> Result<()> {
    for number in 0..FOLDERS.min(count) {
        fs::create_dir_all(folder.join(format!("folder {number}")))?;
    }
    for number in 0..count {
        let word = if number % 50 == 0 {
            "harbour"
        } else {
            "garden"
        };
        let year = 1900 + (number * 13) % 120;
        let mut text = format!(
            "# Note {number}\n\nSee [[note {}]].\n",
            (number * 7) % count
        );
        for line in 0..5 {
            text += &format!(
                "\nThe {word} of year {year} was discussed at length, and {} people agreed on it.\n",
                3 + (number + line) % 17
            );
        }
        let place = format!("folder {}/note {number}.md", number % FOLDERS);
        fs::write(folder.join(place), text)?;
    }
    Ok(())
}

fn write_settings(home: &Path, bucket: &MemoryS3) -> Result<std::path::PathBuf> {
    fs::write(home.join("access"), bucket.access_key())?;
    fs::write(home.join("secret"), bucket.secret_key())?;
    let file = home.join("large.toml");
    let text = format!(
        "[editor]\nkey_file = 'history-key'\n[desk]\nranking = 'static'\n[desk.store]\ntenant = 'acme'\n\
         copies = 'copies'\ntype = 's3'\npath = '{BUCKET}'\nmax_files = 1000000\n[desk.store.s3]\nendpoint = '{}'\n\
         allow_http = true\naccess_key_file = 'access'\nsecret_key_file = 'secret'\n",
        bucket.endpoint()
    );
    fs::write(&file, text)?;
    Ok(file)
}

/// Searches until all notes have been read.
fn settle(server: &mut Server) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let (_, found) = server.call("search", &json!({ "query": "sort:path", "limit": 1 }))?;
        if found.get("index").is_none() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    anyhow::bail!("the notes were never read")
}
