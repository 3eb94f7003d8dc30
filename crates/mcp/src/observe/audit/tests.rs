//! The content of the audit log, and where it is written when files come and go.

#![expect(
    clippy::disallowed_methods,
    reason = "tests look at the files that the record left"
)]

use std::{fs, time::Duration};

use serde_json::Value;

use super::*;

const PLENTY: (u64, usize) = (1 << 20, 5);

fn clock() -> Timestamp {
    Timestamp::from_microsecond(1_700_000_000_123_456).unwrap()
}

fn call(caller: Option<&str>) -> CallRecord<'_> {
    CallRecord {
        world: "hosted",
        tool: "unknown",
        outcome: "unknown_tool",
        truth: ("get_section_source", "not_for_role"),
        upstream: None,
        elapsed: Duration::from_micros(1234),
        caller,
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the hashes of `callers` in a log with this key.
fn hashes(key: Option<&str>, callers: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let key = key.map(Secret::new);
    let log = AuditLog::open_with(&path, key.as_ref(), PLENTY, clock).unwrap();
    for caller in callers {
        log.record(&call(Some(caller)));
    }
    drop(log);
    let hash = |line: &Value| line["caller"].as_str().unwrap().to_owned();
    lines(&path).iter().map(hash).collect()
}

/// Returns the numbers of the calls in a file, in file order.
fn numbers(path: &Path) -> Vec<u64> {
    let number = |line: &Value| {
        let request = line["request"].as_str().unwrap();
        request.split_once('-').unwrap().1.parse().unwrap()
    };
    lines(path).iter().map(number).collect()
}

#[test]
fn a_line_says_who_what_and_how_it_really_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let key = Secret::new("the key of the record");
    let log = AuditLog::open_with(&path, Some(&key), PLENTY, clock).unwrap();
    log.record(&call(Some("token:ann")));
    log.record(&call(None));
    log.flush();
    let text = fs::read_to_string(&path).unwrap();
    let found = lines(&path);
    let id = found[0]["request"].as_str().unwrap();
    let process = id.strip_suffix("-1").unwrap();
    assert!(process.len() == 8 && process.bytes().all(|byte| byte.is_ascii_hexdigit()));
    // HMAC-SHA-256, computed elsewhere.
    let hash = "d3736d3948eff012";
    let expected = format!(
        "{{\"time\":\"2023-11-14T22:13:20.123Z\",\"request\":\"{process}-1\",\"caller\":\"{hash}\",\
         \"world\":\"hosted\",\"tool\":\"get_section_source\",\"outcome\":\"not_for_role\",\
         \"elapsed_us\":1234}}"
    );
    assert_eq!(text.lines().next(), Some(expected.as_str()));
    assert_eq!(found[1]["request"], format!("{process}-2"));
    assert_eq!(found[1]["caller"], Value::Null);
    assert!(!text.contains("ann"), "{text}");
}

#[test]
fn hashes_tell_callers_apart_and_depend_on_the_key() {
    let callers = ["token:ann", "key:ann", "token:ann"];
    let [ann, key, again] = hashes(Some("one"), &callers).try_into().unwrap();
    assert_eq!(ann, again);
    assert_ne!(ann, key);
    assert_eq!(ann.len(), 2 * HASH_BYTES);
    assert_eq!(hashes(Some("one"), &callers)[0], ann, "another process");
    assert_ne!(hashes(Some("two"), &callers)[0], ann);
    assert_ne!(hashes(None, &callers)[0], hashes(None, &callers)[0]);
}

#[test]
fn a_long_file_is_put_aside_and_no_line_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let number_of_calls = 100;
    let max_bytes = 1000;
    let log = AuditLog::open_with(&path, None, (max_bytes, 100), clock).unwrap();
    for _ in 0..number_of_calls {
        log.record(&call(Some("key:ann")));
    }
    drop(log);
    let mut found = Vec::new();
    let mut files = 0;
    for number in (0..=100).rev() {
        let name = match number {
            0 => "audit.jsonl".to_owned(),
            number => format!("audit.jsonl.{number}"),
        };
        let file = folder.path().join(name);
        if file.exists() {
            files += 1;
            let length = fs::metadata(&file).unwrap().len();
            assert!(length <= max_bytes, "{length}");
            found.extend(numbers(&file));
        }
    }
    assert_eq!(found, (1..=number_of_calls).collect::<Vec<_>>());
    assert!(files > 10, "{files}");
}

#[test]
fn whoever_records_faster_than_can_be_written_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open_with(&path, None, (u64::MAX, 0), clock).unwrap();
    let number_of_calls = 4 * QUEUE as u64;
    for _ in 0..number_of_calls {
        log.record(&call(None));
    }
    drop(log);
    assert_eq!(numbers(&path), (1..=number_of_calls).collect::<Vec<_>>());
}

#[test]
fn only_the_newest_files_are_kept() {
    for keep in [0, 1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        // One line each.
        let log = AuditLog::open_with(&path, None, (10, keep), clock).unwrap();
        for _ in 0..10 {
            log.record(&call(None));
        }
        drop(log);
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), 1 + keep, "{names:?}");
        assert_eq!(numbers(&path), [10]);
        for number in 1..=keep {
            let file = folder.path().join(format!("audit.jsonl.{number}"));
            assert_eq!(numbers(&file), [10 - number as u64]);
        }
    }
}

#[test]
fn a_file_that_cannot_be_put_aside_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    fs::create_dir_all(folder.path().join("audit.jsonl.1/in the way")).unwrap();
    let log = AuditLog::open_with(&path, None, (10, 1), clock).unwrap();
    for _ in 0..5 {
        log.record(&call(None));
    }
    log.flush();
    assert_eq!(log.lost().get(), 0);
    assert_eq!(numbers(&path), [1, 2, 3, 4, 5]);
}

#[test]
fn a_file_that_somebody_renamed_or_removed_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let elsewhere = folder.path().join("yesterday.jsonl");
    let log = AuditLog::open_with(&path, None, PLENTY, clock).unwrap();
    log.record(&call(None));
    log.flush();
    fs::rename(&path, &elsewhere).unwrap();
    log.record(&call(None));
    log.flush();
    assert_eq!(numbers(&elsewhere), [1]);
    assert_eq!(numbers(&path), [2]);
    fs::remove_file(&path).unwrap();
    log.record(&call(None));
    drop(log);
    assert_eq!(numbers(&path), [3]);
}

#[test]
fn two_processes_can_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let open = || AuditLog::open_with(&path, None, (2000, 1000), clock).unwrap();
    let logs = [open(), open()];
    std::thread::scope(|scope| {
        for log in &logs {
            scope.spawn(move || {
                for number in 0..200 {
                    log.record(&call(None));
                    if number % 3 == 0 {
                        log.flush();
                    }
                }
            });
        }
    });
    let lost: u64 = logs.iter().map(|log| log.lost().get()).sum();
    drop(logs);
    let files = fs::read_dir(folder.path()).unwrap();
    let found: usize = files.map(|entry| lines(&entry.unwrap().path()).len()).sum();
    assert_eq!((found, lost), (400, 0));
}

#[test]
fn what_is_there_already_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    for expected in 1..=3 {
        let log = AuditLog::open_with(&path, None, PLENTY, clock).unwrap();
        log.record(&call(None));
        drop(log);
        assert_eq!(lines(&path).len(), expected);
    }
}

#[cfg(unix)]
#[test]
fn a_new_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open_with(&path, None, (10, 1), clock).unwrap();
    log.record(&call(None));
    log.record(&call(None));
    drop(log);
    for file in [path.clone(), folder.path().join("audit.jsonl.1")] {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_target_that_cannot_be_written_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for target in [
        folder.path().to_path_buf(),
        folder.path().join("none/audit.jsonl"),
    ] {
        assert!(AuditLog::open_with(&target, None, PLENTY, clock).is_err());
    }
}

#[test]
fn calls_go_on_while_nothing_can_be_written_and_what_is_missing_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("logs");
    let away = folder.path().join("away");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("audit.jsonl");
    let log = AuditLog::open_with(&path, None, PLENTY, clock).unwrap();
    log.record(&call(None));
    log.flush();
    fs::rename(&inner, &away).unwrap();
    for _ in 0..3 {
        log.record(&call(None));
    }
    log.flush();
    assert_eq!(log.lost().get(), 3);
    fs::create_dir(&inner).unwrap();
    log.record(&call(None));
    log.flush();
    assert_eq!(log.lost().get(), 3);
    assert_eq!(numbers(&away.join("audit.jsonl")), [1]);
    assert_eq!(numbers(&path), [5]);
}

#[test]
fn half_a_line_does_not_spoil_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut record = AuditFile {
        file: None,
        path: path.clone(),
        max_bytes: PLENTY.0,
        keep: PLENTY.1,
        is_torn: false,
        failure: None,
        stuck: None,
        lost: Counter::default(),
    };
    record.append(b"{\"a\":1}\n{\"b\"");
    // As if the disk had been full in the middle of the second line.
    record.fail(b"{\"a\":1}\n{\"b\":2}\n", 12, io::ErrorKind::StorageFull);
    assert_eq!(record.lost.get(), 1);
    record.append(b"{\"c\":3}\n");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\"a\":1}\n{\"b\"\n{\"c\":3}\n");
    assert_eq!(record.failure, None);
}
