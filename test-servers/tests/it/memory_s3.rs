//! The S3 server in memory, asked by boto3: what it does is what S3 documents.

use std::process::Command;
use std::time::Duration;

use sectile_test_servers::{MemoryS3, RequestFault, python_with_boto3};

const SCRIPT: &str = include_str!("boto3_client.py");

/// Runs a part of the script against `endpoint`, and returns what it printed.
#[track_caller]
fn ask(s3: &MemoryS3, endpoint: &str, part: &str) -> String {
    let output = Command::new(python_with_boto3())
        .args([
            "-c",
            SCRIPT,
            endpoint,
            s3.access_key(),
            s3.secret_key(),
            part,
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{complaint}");
    said
}

#[test]
fn boto3_finds_conditional_writes_as_s3_documents_them() {
    let s3 = MemoryS3::start();
    s3.bucket("bucket");
    assert_eq!(ask(&s3, &s3.endpoint(), "conditions").trim(), "passed");
}

#[test]
fn boto3_finds_lists_ranges_and_deletions() {
    let s3 = MemoryS3::start();
    s3.bucket("bucket");
    s3.limit_pages(2);
    s3.advance_clock(Duration::from_secs(86_400));
    assert_eq!(ask(&s3, &s3.endpoint(), "objects").trim(), "passed");
}

#[test]
fn of_many_writers_one_wins() {
    let s3 = MemoryS3::start();
    s3.bucket("bucket");
    assert_eq!(ask(&s3, &s3.endpoint(), "race").trim(), "passed");
    assert_eq!(s3.object("bucket", "counter").unwrap(), "80".as_bytes());
}

#[test]
fn a_lost_answer_is_a_write_that_was_carried_out() {
    let s3 = MemoryS3::start();
    s3.bucket("bucket");
    s3.fail(0, usize::MAX, RequestFault::Lose);
    assert_eq!(ask(&s3, &s3.endpoint(), "write").trim(), "no answer");
    assert_eq!(s3.requests(), 1);
    assert_eq!(s3.object("bucket", "a").unwrap(), "written".as_bytes());
    s3.delete("bucket", "a");
    s3.fail(0, usize::MAX, RequestFault::Drop);
    assert_eq!(ask(&s3, &s3.endpoint(), "write").trim(), "no answer");
    assert_eq!(s3.object("bucket", "a"), None);
    s3.fail(0, usize::MAX, RequestFault::Refuse(400, "ExpiredToken"));
    assert_eq!(ask(&s3, &s3.endpoint(), "write").trim(), "ExpiredToken");
    assert_eq!(s3.object("bucket", "a"), None);
    s3.heal();
    assert_eq!(ask(&s3, &s3.endpoint(), "write").trim(), "passed");
    assert_eq!(s3.keys("bucket"), ["a"]);
}

#[test]
fn conditions_can_be_ignored_as_some_servers_do() {
    let s3 = MemoryS3::start();
    s3.bucket("bucket");
    s3.ignore_conditions();
    s3.put("bucket", "a", "old");
    assert_eq!(ask(&s3, &s3.endpoint(), "write").trim(), "passed");
    assert_eq!(s3.object("bucket", "a").unwrap(), "written".as_bytes());
}
