//! Servers end with their owner, however it ends.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use sectile_test_servers::{Postgres, S3};

/// Set in the process that is to die.
const VICTIM: &str = "SECTILE_TEST_VICTIM";
const LIMIT: Duration = Duration::from_secs(20);

/// Returns the number of processes that name `folder` in their arguments.
fn processes(folder: &str) -> usize {
    let output = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|line| line.contains(folder)).count()
}

/// Returns the folder of a cluster, as PostgreSQL itself reports it.
fn folder_of(postgres: &Postgres) -> String {
    let data = postgres.sql("postgres", "SHOW data_directory");
    data.strip_suffix("/data").unwrap().to_owned()
}

#[track_caller]
fn assert_gone(folder: &str) {
    assert_eq!(processes(folder), 0);
    assert!(!Path::new(folder).exists());
}

#[test]
fn a_drop_leaves_nothing() {
    let postgres = Postgres::start();
    let folder = folder_of(&postgres);
    // The server and its watcher, at least.
    assert!(processes(&folder) >= 2);
    drop(postgres);
    assert_gone(&folder);

    let data = tempfile::tempdir().unwrap();
    let s3 = S3::start_in(data.path());
    let data = data.path().to_str().unwrap();
    assert_eq!(processes(data), 1);
    drop(s3);
    assert_eq!(processes(data), 0);
}

#[test]
fn a_panic_leaves_nothing() {
    let (tell, told) = std::sync::mpsc::channel();
    let owner = thread::spawn(move || {
        let postgres = Postgres::start_with_tls();
        tell.send(folder_of(&postgres)).unwrap();
        panic!("on purpose");
    });
    assert!(owner.join().is_err());
    assert_gone(&told.recv().unwrap());
}

#[test]
fn a_kill_leaves_nothing() {
    let mut postgres = Postgres::start();
    let folder = folder_of(&postgres);
    postgres.kill();
    drop(postgres);
    assert_gone(&folder);
}

/// This is also how servers in statics end, which are never dropped.
#[test]
fn an_owner_that_dies_takes_its_servers_along() {
    if let Some(data) = std::env::var_os(VICTIM) {
        let postgres = Postgres::start();
        let _s3 = S3::start_in(Path::new(&data));
        std::fs::write(Path::new(&data).join("folder"), folder_of(&postgres)).unwrap();
        std::process::abort();
    }
    let data = tempfile::tempdir().unwrap();
    let victim = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "ends::an_owner_that_dies_takes_its_servers_along",
        ])
        .env(VICTIM, data.path())
        .output()
        .unwrap();
    assert!(!victim.status.success());
    let folder = std::fs::read_to_string(data.path().join("folder")).unwrap();
    let s3 = data.path().to_str().unwrap();
    let start = Instant::now();
    while processes(&folder) + processes(s3) > 0 || Path::new(&folder).exists() {
        assert!(start.elapsed() < LIMIT, "something is left");
        thread::sleep(Duration::from_millis(50));
    }
}
