//! The store by itself: its answers, its record of requests, and its faults.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use super::*;

const HEADERS: &str = "Authorization: Bearer t\r\nX-Vault-Id: v\r\nX-User-Id: u\r\n";

struct Sample {
    _folder: tempfile::TempDir,
    store: NoteStore,
}

fn sample(change: impl FnOnce(&mut StoreSettings)) -> Sample {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("v/u/in")).unwrap();
    let note = "---\ntitle: T\ntags: [a, 1]\n---\n# H\n";
    std::fs::write(folder.path().join("v/u/in/a b.md"), note).unwrap();
    std::fs::write(folder.path().join("v/secret.md"), "# S\n").unwrap();
    let mut settings = StoreSettings {
        root: folder.path().to_path_buf(),
        ..StoreSettings::default()
    };
    change(&mut settings);
    Sample {
        _folder: folder,
        store: NoteStore::start(settings).unwrap(),
    }
}

/// Sends a request, and reads until the store closes the connection or is silent for a while.
fn exchange(store: &NoteStore, target: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(store.address()).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: s\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn status(store: &NoteStore, target: &str, headers: &str) -> String {
    let answer = exchange(store, target, headers);
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_note_is_served_in_each_form() {
    for (form, expected) in [
        (
            FrontMatterForm::Text,
            r##""frontmatter":"{\"title\":\"T\",\"tags\":[\"a\",1.0]}","body":"# H\n"}"##,
        ),
        (
            FrontMatterForm::Object,
            r##""frontmatter":{"title":"T","tags":["a",1.0]},"body":"# H\n"}"##,
        ),
        (
            FrontMatterForm::InBody,
            r##""frontmatter":null,"body":"---\ntitle: T\ntags: [a, 1]\n---\n# H\n"}"##,
        ),
    ] {
        let sample = sample(|settings| settings.front_matter = form);
        let answer = exchange(&sample.store, "/api/v1/notes/in%2Fa%20b.md", HEADERS);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with(expected), "{answer}");
    }
}

#[test]
fn who_may_not_see_a_note_is_told_by_status() {
    let sample = sample(|settings| settings.gateway_secret = Some("g".to_owned()));
    let with = format!("{HEADERS}X-Gateway-Auth: g\r\n");
    let note = "/api/v1/notes/in%2Fa%20b.md";
    for (target, headers, expected) in [
        (note, with.as_str(), "200"),
        (note, HEADERS, "403"),
        (note, &with.replace("Auth: g", "Auth: x"), "403"),
        (note, &with.replace("Bearer t", "Basic t"), "401"),
        (note, &with.replace("User-Id: u", "User-Id: x"), "403"),
        (note, &with.replace("User-Id: u", "User-Id: .."), "403"),
        (note, &with.replace("X-User-Id: u\r\n", ""), "401"),
        (note, &with.replace("Vault-Id: v", "Vault-Id: x"), "403"),
        (note, &format!("{with}X-User-Id: u\r\n"), "401"),
        ("/api/v1/notes/none.md", &with, "404"),
        ("/api/v1/notes/..%2Fsecret.md", &with, "404"),
        ("/api/v1/notes/in/a%20b.md", &with, "404"),
        ("/api/v1/notes", &with, "404"),
        ("/api/v1/notes/", &with, "404"),
    ] {
        assert_eq!(
            status(&sample.store, target, headers),
            expected,
            "{target}, {headers}"
        );
    }
    let requests = sample.store.take_requests();
    assert_eq!(requests.len(), 14);
    assert_eq!(requests[0].target, note);
    assert_eq!(requests[0].header("x-gateway-auth"), Some("g"));
    assert_eq!(requests[8].header("x-user-id"), None, "twice is not once");
    assert_eq!(sample.store.requests(), []);
    assert_eq!(sample.store.connections(), 14);
}

#[test]
fn the_context_is_that_of_the_tokens_user() {
    let sample = sample(|settings| {
        settings.contexts = vec![Context {
            user: "ann".to_owned(),
            vault: "v".to_owned(),
            role: "editor".to_owned(),
            effective_user: Some("bob".to_owned()),
        }];
    });
    // {"sub":"ann"} and {"sub":"eve"}
    let ann = "Authorization: Bearer x.eyJzdWIiOiJhbm4ifQ.x\r\nX-Vault-Id: v\r\n";
    let eve = "Authorization: Bearer x.eyJzdWIiOiJldmUifQ.x\r\nX-Vault-Id: v\r\n";
    let answer = exchange(&sample.store, "/api/v1/hosted-context", ann);
    assert!(
        answer.ends_with(r#"{"role":"editor","effective_canister_user_id":"bob"}"#),
        "{answer}"
    );
    for (headers, expected) in [
        (eve, "403"),
        (&ann.replace("Id: v", "Id: w"), "403"),
        (HEADERS, "401"),
    ] {
        assert_eq!(
            status(&sample.store, "/api/v1/hosted-context", headers),
            expected
        );
    }
}

#[test]
fn faults_can_be_named_and_are_as_named() {
    for (names, _) in KINDS {
        for name in names.split(", ").filter(|name| *name != "...") {
            assert!(Fault::named(name).is_some(), "{name}");
        }
    }
    for name in ["", "200", "600", "Slow"] {
        assert_eq!(Fault::named(name), None, "{name}");
    }
    let sample = sample(|_| {});
    let note = "/api/v1/notes/in%2Fa%20b.md";
    let tiny = Duration::from_micros(1);
    for (fault, part) in [
        (Fault::Slow(tiny), "\"body\":\"# H"),
        (Fault::Drip(tiny), "\"body\":\"# H"),
        (Fault::Huge(800), "{\"body\":\"# Huge\\n# Huge\\n"),
        (Fault::Truncated, "Content-Length"),
        (Fault::Redirect("http://x/".to_owned()), "302 Status"),
        (Fault::Status(503), "503 Status"),
        (Fault::Malformed, "<html>"),
        (Fault::GzipBomb, "Content-Encoding: gzip"),
        (Fault::CloseMidBody, "# Half"),
        (Fault::CloseBeforeHead, ""),
        (Fault::Silence, ""),
        (Fault::NotHttp, "SSH-2.0"),
        (Fault::HangUp, "\"body\":\"# H"),
        (Fault::Hostile, answer::SENTINEL),
        (Fault::Canned(200, b"[]".to_vec()), "\r\n\r\n[]"),
    ] {
        sample.store.set_fault_for("in/a b.md", fault.clone());
        let found = exchange(&sample.store, note, HEADERS);
        assert!(found.contains(part), "{fault:?}: {found}");
        assert_eq!(found.is_empty(), part.is_empty(), "{fault:?}: {found}");
        assert_eq!(
            status(&sample.store, "/api/v1/notes/x", HEADERS),
            "404",
            "{fault:?}"
        );
    }
    sample.store.set_fault(Fault::Status(500));
    sample.store.clear_faults();
    assert_eq!(status(&sample.store, note, HEADERS), "200");
}
