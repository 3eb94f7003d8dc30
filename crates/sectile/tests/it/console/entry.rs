//! A one-time link, and the cookie that it is turned into.

use std::io::{BufRead as _, BufReader};

use super::{Visitor, desk, link, open, serve};
use crate::fixture::{Http, sectile};

/// What every answer of the console carries.
const HEADERS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// What the policy of every answer says, and nothing that it must not.
fn assert_strict(policy: &str) {
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(rule), "{rule}: {policy}");
    }
    for loose in ["unsafe", "http:", "https:", "data:", "*"] {
        assert!(!policy.contains(loose), "{loose}: {policy}");
    }
}

#[test]
fn nobody_sees_a_page_without_a_link() {
    let desk = desk();
    let server = serve(&desk, "");
    for path in [
        "/",
        "/documents",
        "/changes",
        "/calls",
        "/documents?id=projects/plan.md",
    ] {
        let answer = server.request("GET", path, &[], b"");
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
        assert!(answer.body.contains("sectile open"), "{answer:?}");
        assert!(!answer.body.contains("plan"), "{answer:?}");
        let forged = server.request("GET", path, &[("Cookie", "sectile-1=x; a=b")], b"");
        assert_eq!(forged, answer, "{path}");
    }
}

#[test]
fn a_link_is_turned_into_a_cookie_once() {
    let desk = desk();
    let server = serve(&desk, "");
    let link = link(&desk, &[]);
    let answer = server.request("GET", &link, &[], b"");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").unwrap();
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(
        !cookie.contains("Domain") && !cookie.contains("Expires"),
        "{cookie}"
    );
    let visitor = Visitor::with_cookie(&server, &answer);
    assert!(
        visitor.page("/").contains("people/"),
        "the first page lists folders"
    );
    let again = server.request("GET", &link, &[], b"");
    assert_eq!(again.status, 403, "{again:?}");
    assert_eq!(again.header("set-cookie"), None);
    for bad in [
        "/open",
        "/open?link=",
        "/open?link=AAAA",
        &format!("{link}A"),
    ] {
        let answer = server.request("GET", bad, &[], b"");
        assert_eq!(
            (answer.status, answer.header("set-cookie")),
            (403, None),
            "{bad}"
        );
    }
}

#[test]
fn a_link_is_for_one_server_only() {
    let (one, other) = (desk(), desk());
    let (first, second) = (serve(&one, ""), serve(&other, ""));
    let of_first = link(&one, &[]);
    assert_eq!(second.request("GET", &of_first, &[], b"").status, 403);
    assert_eq!(first.request("GET", &of_first, &[], b"").status, 303);
}

#[test]
fn every_answer_keeps_the_browser_strict() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let mut answers = vec![
        server.request("GET", "/", &[], b""),
        server.request("GET", "/console.css", &[], b""),
        server.request("GET", &link(&desk, &[]), &[], b""),
    ];
    for path in [
        "/",
        "/documents?id=projects/plan.md",
        "/documents?id=none.md",
        "/changes",
        "/calls",
        "/calls?after=0",
    ] {
        answers.push(visitor.get(path));
    }
    answers.push(visitor.post("/undo", "change=1"));
    for answer in answers {
        for (name, value) in HEADERS {
            let is_file = answer.header("etag").is_some();
            let value = match name {
                "cache-control" if is_file => "no-cache",
                _ => value,
            };
            assert_eq!(answer.header(name), Some(value), "{name}: {answer:?}");
        }
        assert_strict(answer.header("content-security-policy").unwrap());
    }
}

#[test]
fn pages_load_only_our_own_files() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/documents?id=projects/plan.md");
    for file in ["/console.css", "/console.js", "/icon.svg"] {
        assert!(page.contains(&format!("\"{file}\"")), "{page}");
        let answer = server.request("GET", file, &[], b"");
        assert_eq!(answer.status, 200, "{file}");
        let tag = answer.header("etag").unwrap().to_owned();
        let known = server.request("GET", file, &[("If-None-Match", &tag)], b"");
        assert_eq!((known.status, known.body.as_str()), (304, ""), "{file}");
        assert_eq!(server.request("POST", file, &[], b"").status, 404, "{file}");
    }
    assert!(
        !page.contains(" style=") && !page.contains(" onclick"),
        "{page}"
    );
    assert_eq!(page.matches("<script").count(), 1, "{page}");
}

#[test]
fn a_server_of_another_name_is_not_asked() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let headers = [
        ("Cookie", visitor.cookie.as_str()),
        ("Host", "evil.example"),
    ];
    let answer = server.request("GET", "/documents", &headers, b"");
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(!answer.body.contains("people"), "{answer:?}");
}

#[test]
fn a_console_that_is_switched_off_does_not_exist() {
    let desk = desk();
    let settings = format!(
        "[server.http]\nconsole = false\n[desk]\nroot = '{}'\n",
        desk.vault.root().display()
    );
    let server = serve(&desk, &settings);
    assert!(
        server
            .request("GET", "/", &[], b"")
            .body
            .contains("There is nothing to see")
    );
    for path in [
        "/documents",
        "/changes",
        "/open",
        "/sign-in",
        "/console.css",
        "/undo",
    ] {
        let missing = server.request("GET", "/no-such-place", &[], b"");
        assert_eq!(server.request("GET", path, &[], b""), missing, "{path}");
    }
}

#[test]
fn opening_a_note_leads_to_its_page() {
    let desk = desk();
    let server = serve(&desk, "");
    let answer = server.request("GET", &link(&desk, &["plan#Budget"]), &[], b"");
    let target = answer.header("location").unwrap().to_owned();
    assert_eq!(target, "/documents?id=plan%23Budget");
    let visitor = Visitor::with_cookie(&server, &answer);
    let page = visitor.get(&target);
    let place = page.header("location").unwrap();
    assert!(
        place.starts_with("/documents?id=projects/plan.md#section-budget-"),
        "{place}"
    );
}

#[test]
fn without_a_server_the_command_starts_one_and_tells_where() {
    let desk = desk();
    let mut command = open(&desk, &[]);
    command.env("SECTILE_SERVER__HTTP__BIND", "127.0.0.1:0");
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    let (address, _) = line
        .trim()
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    // Another window finds the same server.
    let second = link(&desk, &[]);
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {second} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut answer).unwrap();
    assert_eq!(crate::fixture::parse(&answer).status, 303);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_place_that_is_not_there_is_not_opened() {
    let mut command = sectile();
    command.args(["open", "/no/such/folder", "--print"]);
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("there is no folder or note at /no/such/folder."),
        "{told}"
    );
}

#[test]
fn a_read_only_console_offers_nothing_that_writes() {
    let desk = desk();
    desk.open().json(
        "edit",
        serde_json::json!({ "id": "plan#Budget", "old": "350", "new": "400" }),
    );
    let mut command = sectile();
    command
        .args(["serve", "desk", "--read-only"])
        .arg(desk.vault.root());
    let server = Http::spawn(&desk.vault, command);
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/changes");
    assert!(
        page.contains("<del>350</del>") && !page.contains("/undo"),
        "{page}"
    );
    let missing = visitor.post("/no-such-page", "");
    assert_eq!(
        visitor.post("/undo", "change=1").status,
        missing.status.min(403)
    );
}
