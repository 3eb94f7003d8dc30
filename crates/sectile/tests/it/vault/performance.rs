//! Performance tier: one note read per call, counted, not timed.
//!
//! The system keeps the counts: `/proc` for bytes, handles and processes, access times for files and folders.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use serde_json::json;

use crate::{
    fixture::{Era, Http, Stdio, TestVault, tool_text},
    vectors::TOOLS,
};

const ERA: Era = Era::Handshake;
const OTHERS: usize = 2000;
const NOTE_BYTES: usize = 10_000;

fn call_all_tools(server: &mut Stdio<'_>, path: &str) {
    for tool in TOOLS {
        let answer = server.call(ERA, tool, json!({ "path": path }));
        assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
        assert!(tool_text(&answer).contains(path), "{tool}: {answer}");
    }
}

/// A vault with one note among many others of the same size, in the same folder and in another.
fn crowded() -> TestVault {
    let vault = TestVault::empty();
    let note = format!("# Heading\n\n{}\n", "word ".repeat(NOTE_BYTES / 5 - 3));
    vault.note("inbox/one.md", &note);
    for other in 0..OTHERS / 2 {
        vault.note(&format!("inbox/other-{other}.md"), &note);
        vault.note(&format!("archive/other-{other}.md"), &note);
    }
    vault
}

/// Bytes a process has read so far, from files, pipes and sockets together.
fn bytes_read(process: u32) -> usize {
    let counts = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let line = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_call_reads_no_more_than_its_note() {
    /// The request itself, and what the runtime reads to wake its threads.
    const BESIDES: usize = 4096;
    let vault = crowded();
    let mut server = Stdio::ready(&vault, ERA);
    // Whatever is read once, on the first call, is not a cost of calls.
    call_all_tools(&mut server, "inbox/one.md");
    for tool in TOOLS {
        let before = bytes_read(server.process_id());
        server.call(ERA, tool, json!({ "path": "inbox/one.md" }));
        let read = bytes_read(server.process_id()) - before;
        assert!(
            read >= NOTE_BYTES - 100,
            "{tool}: only {read} bytes are counted"
        );
        assert!(read < NOTE_BYTES + BESIDES, "{tool}: {read} bytes");
    }
    assert!(server.finish().success());
}

/// Every file and folder below `folder`, itself included.
fn everything_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_path_buf()];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Sets the access time so far back that the next access moves it, where the file system keeps access times.
fn age(path: &Path, time: SystemTime) {
    let times = fs::FileTimes::new().set_accessed(time).set_modified(time);
    fs::File::open(path).unwrap().set_times(times).unwrap();
}

fn accessed(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().accessed().unwrap()
}

#[test]
fn no_folder_is_listed_and_no_other_note_is_opened_for_reading() {
    let vault = crowded();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let mut server = Stdio::ready(&vault, ERA);
    let places = everything_below(&vault.root());
    assert!(places.len() > OTHERS);
    let probe = vault.outside();
    for place in places.iter().chain([&probe]) {
        age(place, long_ago);
    }
    fs::read_dir(&probe).unwrap().for_each(drop);
    if accessed(&probe) == long_ago {
        // This file system keeps no access times, so it cannot tell.
        return;
    }
    call_all_tools(&mut server, "inbox/one.md");
    let touched: Vec<&PathBuf> = places
        .iter()
        .filter(|place| accessed(place) != long_ago)
        .collect();
    assert_eq!(touched, [&vault.root().join("inbox/one.md")]);
    assert!(server.finish().success());
}

#[test]
fn a_vault_full_of_unreadable_files_and_pipes_does_not_matter() {
    let vault = TestVault::empty();
    vault.note("inbox/one.md", "# One\n");
    for other in 0..OTHERS / 2 {
        let path = format!("inbox/locked-{other}.md");
        vault.note(&path, "# Locked\n");
        let nobody = fs::Permissions::from_mode(0o000);
        fs::set_permissions(vault.root().join(path), nobody).unwrap();
    }
    let pipes = (0..OTHERS / 2).map(|other| vault.root().join(format!("inbox/pipe-{other}.md")));
    assert!(
        Command::new("mkfifo")
            .args(pipes)
            .status()
            .unwrap()
            .success()
    );
    // May be passed through but not listed. The superuser may list it all the same.
    let folder = vault.root().join("inbox");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o311)).unwrap();
    let mut server = Stdio::ready(&vault, ERA);
    call_all_tools(&mut server, "inbox/one.md");
    assert!(server.finish().success());
    // So that the folder can be removed.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What the open handles of a process lead to.
fn handles(process: u32) -> Vec<String> {
    fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        // A handle may close between being listed and being looked at.
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect()
}

/// Handles of a process that are network sockets. Unix sockets, which the runtime uses for signals, are not.
fn network_sockets(process: u32) -> BTreeSet<String> {
    let tables: String = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"]
        .iter()
        .filter_map(|table| fs::read_to_string(format!("/proc/{process}/net/{table}")).ok())
        .collect();
    let numbers: BTreeSet<&str> = tables
        .lines()
        .filter_map(|line| line.split_whitespace().nth(9))
        .collect();
    handles(process)
        .into_iter()
        .filter(|target| {
            let number = target
                .strip_prefix("socket:[")
                .and_then(|rest| rest.strip_suffix(']'));
            number.is_some_and(|number| numbers.contains(number))
        })
        .collect()
}

/// Field `number` of `/proc/PROCESS/stat`, counted from 1 as in its manual page.
fn stat_field(process: u32, number: usize) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The second field is a name in parentheses that may hold anything.
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    let field = rest.split(' ').nth(number - 3).unwrap();
    field.parse().unwrap()
}

/// Processes whose parent is `process`, ended but not yet collected ones included.
fn children(process: u32) -> Vec<u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .filter(|id: &u32| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
            parent.is_some_and(|parent| parent.trim() == process.to_string())
        })
        .collect()
}

#[test]
fn nothing_stays_open_and_nothing_is_started_or_connected() {
    /// Page faults of collected children: zero exactly when there never was one.
    const CHILD_FAULTS: usize = 11;
    let vault = TestVault::sample();
    let mut server = Stdio::ready(&vault, ERA);
    let process = server.process_id();
    call_all_tools(&mut server, "inbox/one.md");
    let before = handles(process).len();
    for _ in 0..50 {
        call_all_tools(&mut server, "inbox/one.md");
        server.call(ERA, "get_note_outline", json!({ "path": "none.md" }));
        server.call(ERA, "get_note_outline", json!({ "path": "inbox" }));
    }
    let open = handles(process);
    assert_eq!(open.len(), before, "{open:?}");
    for place in vault.absolute_paths() {
        assert!(
            !open.iter().any(|target| target.starts_with(&place)),
            "{open:?}"
        );
    }
    assert_eq!(network_sockets(process), BTreeSet::new());
    assert_eq!(children(process), Vec::<u32>::new());
    assert_eq!(stat_field(process, CHILD_FAULTS), 0);
    assert!(children(std::process::id()).contains(&process));
    assert!(server.finish().success());

    // The same look does find a socket where there is one.
    let mut http = Http::start(&vault);
    let process = http.child().id();
    assert_eq!(network_sockets(process).len(), 1);
    for id in 0..20 {
        let answer = http.post(
            ERA,
            &ERA.call(id, TOOLS[0], json!({ "path": "inbox/one.md" })),
        );
        assert_eq!(answer.json()["result"]["isError"], false);
    }
    assert_eq!(children(process), Vec::<u32>::new());
}
