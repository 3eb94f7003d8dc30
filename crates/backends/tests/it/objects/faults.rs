//! Faults: each yields one sentence, in time, and is over when its cause is.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use sectile_backends::{ObjectStorage, S3Credentials};
use sectile_library::{ArtifactStorage as _, NotebookStorage, StorageError};
use sectile_test_servers::Fault;

use super::{Server, names, open, path};

/// The request timeout of tests that mean to exceed it.
const SHORT: Duration = Duration::from_millis(300);
/// Long after every timeout, even on a busy machine.
const LATE: Duration = Duration::from_secs(15);

fn credentials(access_key: &str, secret: &str) -> Option<S3Credentials> {
    Some(S3Credentials {
        access_key: access_key.to_owned(),
        secret: secret.to_owned(),
        session_token: None,
    })
}

/// Makes every call that sends requests, and returns their messages.
fn complaints(server: &Server, storage: &ObjectStorage) -> Vec<String> {
    vec![
        server.complaint(storage.collections()),
        server.complaint(storage.notebooks("a", &|| false)),
        server.complaint(storage.read("a", &path("note.md"))),
        server.complaint(storage.require("a")),
        server.complaint(storage.artifact_files("a", &|| false)),
        server.complaint(storage.ready()),
    ]
}

#[test]
fn credentials_that_are_refused() {
    let server = Server::start();
    server.put("a/note.md", "text");
    let (key, secret) = (server.s3.access_key(), server.s3.secret_key());
    for wrong in [
        credentials(key, "another secret"),
        credentials("ANOTHERKEY", secret),
        None,
    ] {
        let mut settings = server.settings();
        settings.credentials = wrong;
        for complaint in complaints(&server, &open(&settings)) {
            assert!(complaint.contains("refused the credentials"), "{complaint}");
        }
        // Nothing was retried.
        assert_eq!(server.proxy.take_requests().len(), 6);
    }
}

#[test]
fn a_bucket_that_does_not_exist() {
    let server = Server::start();
    let mut settings = server.settings();
    settings.bucket = "another".to_owned();
    for complaint in complaints(&server, &open(&settings)) {
        assert!(complaint.contains("bucket does not exist"), "{complaint}");
    }
}

#[test]
fn throttling_is_waited_out_or_reported() {
    let server = Server::start();
    server.put("a/note.md", "text");
    let storage = server.objects();
    for status in [429, 503, 500] {
        let retry_after = Some(1);
        server.proxy.set(Fault::Answer {
            status,
            retry_after,
            times: 2,
        });
        let read = storage.read("a", &path("note.md"));
        assert_eq!(read.unwrap().unwrap(), b"text");
        assert_eq!(server.proxy.take_requests().len(), 3);
        server.proxy.set(Fault::Answer {
            status,
            retry_after,
            times: 3,
        });
        assert_eq!(names(&storage, "a"), ["note.md"]);
        assert_eq!(server.proxy.take_requests().len(), 4);
    }
    for (status, says) in [
        (429, "is throttling requests"),
        (503, "is throttling requests"),
        (500, "is failing (status 500)"),
    ] {
        server.proxy.set(Fault::Answer {
            status,
            retry_after: None,
            times: usize::MAX,
        });
        let start = Instant::now();
        let complaint = server.complaint(storage.read("a", &path("note.md")));
        assert!(complaint.contains(says), "{complaint}");
        assert!(start.elapsed() < LATE);
        assert_eq!(server.proxy.take_requests().len(), 4);
    }
    server.proxy.set(Fault::Answer {
        status: 418,
        retry_after: None,
        times: 1,
    });
    let complaint = server.complaint(storage.read("a", &path("note.md")));
    assert!(complaint.contains("rejected a request"), "{complaint}");
    assert_eq!(server.proxy.take_requests().len(), 1);
    server.proxy.set(Fault::Pass);
    let read = storage.read("a", &path("note.md"));
    assert_eq!(read.unwrap().unwrap(), b"text");
}

#[test]
fn an_answer_that_breaks_off_is_no_shorter_notebook() {
    let server = Server::start();
    let text = "0123456789".repeat(10_000);
    server.put("a/note.md", &text);
    let mut settings = server.settings();
    settings.max_note_bytes = 1 << 20;
    let storage = open(&settings);
    for after in [0, 10, 400, 20_000, 100_000] {
        server.proxy.set(Fault::Cut { after, times: 2 });
        let read = storage.read("a", &path("note.md"));
        assert_eq!(read.unwrap().unwrap(), text.as_bytes());
        let requests = server.proxy.take_requests();
        assert_eq!(requests.len(), 3);
        // From the start every time: the object may have changed in between.
        for request in requests {
            assert_eq!(request.range.as_deref(), Some("bytes=0-1048576"));
        }
        server.proxy.set(Fault::Cut {
            after,
            times: usize::MAX,
        });
        let complaint = server.complaint(storage.read("a", &path("note.md")));
        assert!(complaint.contains("broke off"), "{complaint}");
        assert_eq!(server.proxy.take_requests().len(), 4);
    }
    server.proxy.set(Fault::Cut {
        after: 200,
        times: usize::MAX,
    });
    let complaint = server.complaint(storage.notebooks("a", &|| false));
    assert!(complaint.contains("broke off"), "{complaint}");
    server.proxy.set(Fault::Pass);
    assert_eq!(names(&storage, "a"), ["note.md"]);
}

#[test]
fn a_server_that_is_down_is_used_again_when_it_is_up() {
    let mut server = Server::start();
    server.put("a/note.md", "text");
    let storage = server.objects();
    assert!(storage.read("a", &path("note.md")).unwrap().is_some());
    server.proxy.set(Fault::Refuse);
    for complaint in complaints(&server, &storage) {
        assert!(complaint.contains("cannot be reached"), "{complaint}");
    }
    server.proxy.set(Fault::Pass);
    assert!(storage.read("a", &path("note.md")).unwrap().is_some());
    // The server itself, while connections to it are open.
    server.s3.stop();
    let complaint = server.complaint(storage.read("a", &path("note.md")));
    let is_known = complaint.contains("broke off") || complaint.contains("cannot be reached");
    assert!(is_known, "{complaint}");
    server.s3.start_again();
    assert!(storage.read("a", &path("note.md")).unwrap().is_some());
}

#[test]
fn a_server_that_hangs_holds_nobody_for_long() {
    let server = Server::start();
    server.put("a/note.md", "text");
    let mut settings = server.settings();
    settings.timeout = SHORT;
    settings.retries = 1;
    let storage = open(&settings);
    assert!(storage.read("a", &path("note.md")).unwrap().is_some());
    server.proxy.set(Fault::Hang);
    let start = Instant::now();
    for complaint in complaints(&server, &storage) {
        assert!(complaint.contains("did not answer in time"), "{complaint}");
    }
    assert!(start.elapsed() < LATE);
    server.proxy.set(Fault::Pass);
    assert!(storage.read("a", &path("note.md")).unwrap().is_some());
}

#[test]
fn a_list_that_nobody_waits_for_ends() {
    let server = Server::start();
    for n in 0..50 {
        server.put(&format!("a/{n}.md"), "x");
    }
    let mut settings = server.settings();
    settings.page_objects = 10;
    let storage = open(&settings);
    let pages = Cell::new(0);
    let stop = || {
        pages.set(server.proxy.requests().len());
        pages.get() >= 2
    };
    let listed = storage.notebooks("a", &stop);
    assert_eq!(listed, Err(StorageError::Cancelled));
    assert_eq!(server.proxy.take_requests().len(), 2);
    // In the middle of a request, too.
    server.proxy.set(Fault::Hang);
    let start = Instant::now();
    let listed = storage.notebooks("a", &|| start.elapsed() > SHORT);
    assert_eq!(listed, Err(StorageError::Cancelled));
    assert!(start.elapsed() < settings.timeout);
    server.proxy.set(Fault::Pass);
    assert_eq!(names(&storage, "a").len(), 50);
}
