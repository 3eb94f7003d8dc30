//! The console: who is let in, what a browser may do with a page, what changes something, and what each page shows. The
//! same pages in a real browser are `cargo xtask console-test`.

/// A one-time link, and the cookie that it is turned into.
mod entry;
/// Forms: only those of this site, and only with the token of the visit.
mod forms;
/// What the pages show.
mod pages;
/// Behind sign-in: roles, and what does not exist for them.
mod sign_in;
/// Tenants in a store.
#[cfg(feature = "backends")]
mod tenants;

use std::process::Command;

use crate::fixture::{Http, HttpAnswer, TestDesk, sectile};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Notes that link to each other.
fn desk() -> TestDesk {
    TestDesk::new(&[
        (
            "projects/plan.md",
            "---\nstatus: draft\ntags: [harbour]\n---\n# Plan\n\nSee [[ada]] and [[nowhere]].\n\n## Budget\n\nThe pilot costs 350 a day.\n",
        ),
        ("people/ada.md", "# Ada\n\nWorks on the [[plan#Budget]].\n"),
    ])
}

/// A server of the desk, over HTTP.
fn serve<'d>(desk: &'d TestDesk, settings: &str) -> Http<'d> {
    Http::spawn(&desk.vault, desk.command(settings))
}

/// The command that opens the console of the desk.
fn open(desk: &TestDesk, more: &[&str]) -> Command {
    let mut command = sectile();
    command.arg("open").args(more).arg("--print");
    command.arg("--root").arg(desk.vault.root());
    command
}

/// The path of a link to the console, as the command prints it for a server that runs.
fn link(desk: &TestDesk, more: &[&str]) -> String {
    let output = open(desk, more).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let (_, rest) = printed.trim().split_once("://").expect("an address");
    format!("/{}", rest.split_once('/').expect("a path").1)
}

/// A person in a browser.
struct Visitor<'s, 'd> {
    server: &'s Http<'d>,
    cookie: String,
}

impl<'s, 'd> Visitor<'s, 'd> {
    /// Someone who followed a link.
    fn enter(server: &'s Http<'d>, desk: &TestDesk) -> Self {
        let answer = server.request("GET", &link(desk, &[]), &[], b"");
        assert_eq!(answer.status, 303, "{answer:?}");
        Self::with_cookie(server, &answer)
    }

    fn with_cookie(server: &'s Http<'d>, answer: &HttpAnswer) -> Self {
        let set = answer.header("set-cookie").expect("a cookie");
        let cookie = set.split(';').next().unwrap().to_owned();
        Self { server, cookie }
    }

    fn get(&self, path: &str) -> HttpAnswer {
        self.server
            .request("GET", path, &[("Cookie", &self.cookie)], b"")
    }

    /// A page that is there.
    #[track_caller]
    fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        answer.body
    }

    /// The token that forms on a page contain.
    fn token(&self) -> String {
        let page = self.page("/changes");
        let (_, rest) = page
            .split_once("name=\"form_token\" value=\"")
            .expect("a form");
        rest.split('"').next().unwrap().to_owned()
    }

    fn origin(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Sends a form as a browser does.
    fn post(&self, path: &str, fields: &str) -> HttpAnswer {
        let origin = self.origin();
        let headers = [
            FORM,
            ("Cookie", &self.cookie),
            ("Origin", &origin),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.server
            .request("POST", path, &headers, fields.as_bytes())
    }

    /// Undoes a change.
    fn undo(&self, change: &str) -> HttpAnswer {
        self.post(
            "/undo",
            &format!("change={change}&form_token={}", self.token()),
        )
    }
}
