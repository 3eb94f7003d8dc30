//! Behind sign-in: roles, and what does not exist for them.

use serde_json::json;

use super::{FORM, Visitor, serve};
use crate::fixture::{Http, TestDesk, sectile};

/// A desk of two roots with one change in each, and keys for a viewer, an editor and an editor of one root.
struct KeyedDesk {
    desk: TestDesk,
    settings: String,
}

impl KeyedDesk {
    fn new(more: &str) -> Self {
        let desk = TestDesk::new(&[
            ("open/plan.md", "# Plan\n\nThe pilot costs 350 a day.\n"),
            (
                "closed/secret-plan.md",
                "# Hidden plan\n\nNothing to see: 350.\n",
            ),
        ]);
        let keys = desk.vault.outside().with_file_name("keys.toml");
        let roots = ["open", "closed"].map(|name| {
            let path = desk.location(name);
            format!("[desk.roots.{name}]\npath = '{}'\n", path.display())
        });
        let settings = format!(
            "[server.auth]\nkeys_file = '{}'\n{more}{}",
            keys.display(),
            roots.concat()
        );
        let desk = Self { desk, settings };
        std::fs::write(&keys, "version = 1\n").unwrap();
        desk
    }

    /// Makes a key.
    fn key(&self, user: &str, role: &str, more: &[&str]) -> String {
        let keys = self.desk.vault.outside().with_file_name("keys.toml");
        let mut command = sectile();
        command.args(["auth", "add-key", "--user", user, "--role", role]);
        let output = command.args(more).arg("--file").arg(keys).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{printed}");
        let key = printed
            .split_whitespace()
            .find(|word| word.starts_with("sectile_"));
        key.expect("a key").to_owned()
    }

    fn serve(&self) -> Http<'_> {
        serve(&self.desk, &self.settings)
    }
}

/// Signs someone in with a key.
pub(super) fn sign_in<'s, 'd>(server: &'s Http<'d>, key: &str) -> Visitor<'s, 'd> {
    let answer = try_sign_in(server, key);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/")),
        "{answer:?}"
    );
    Visitor::with_cookie(server, &answer)
}

pub(super) fn try_sign_in(server: &Http<'_>, key: &str) -> crate::fixture::HttpAnswer {
    let origin = format!("http://{}", server.address());
    let headers = [FORM, ("Origin", origin.as_str())];
    server.request(
        "POST",
        "/sign-in",
        &headers,
        format!("credential={key}").as_bytes(),
    )
}

#[test]
fn people_sign_in_with_their_key_and_links_let_nobody_in() {
    let keyed = KeyedDesk::new("");
    let key = keyed.key("ada", "editor", &[]);
    let server = keyed.serve();
    let closed = server.request("GET", "/documents", &[], b"");
    assert_eq!(closed.status, 403);
    assert!(closed.body.contains("type=\"password\""), "{closed:?}");
    assert!(!closed.body.contains("plan"), "{closed:?}");
    assert_eq!(server.request("GET", "/open?link=AAAA", &[], b""), closed);
    for bad in [
        "",
        "x",
        "sectile_a_b",
        &key[..key.len() - 1],
        "%00",
        &"x".repeat(20_000),
    ] {
        let answer = try_sign_in(&server, bad);
        assert_eq!(
            (answer.status, answer.header("set-cookie")),
            (403, None),
            "{bad}: {answer:?}"
        );
    }
    // A form of another site signs nobody in.
    let headers = [FORM, ("Origin", "https://evil.example")];
    let body = format!("credential={key}");
    let foreign = server.request("POST", "/sign-in", &headers, body.as_bytes());
    assert_eq!((foreign.status, foreign.header("set-cookie")), (403, None));
    let ada = sign_in(&server, &key);
    let page = ada.page("/documents");
    assert!(
        page.contains(">ada<") && page.contains("Sign out") && !page.contains(&key),
        "{page}"
    );
}

#[test]
fn what_a_role_may_not_use_does_not_exist() {
    let keyed = KeyedDesk::new("");
    let (viewer, editor) = (
        keyed.key("vi", "viewer", &[]),
        keyed.key("ed", "editor", &[]),
    );
    let server = keyed.serve();
    let (viewer, editor) = (sign_in(&server, &viewer), sign_in(&server, &editor));
    assert!(editor.page("/changes").contains("Changes"));
    let page = viewer.page("/changes");
    assert!(!page.contains("/undo"), "{page}");
    let token = |visitor: &Visitor<'_, '_>| {
        let page = visitor.page("/changes");
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let hidden = viewer.post(
        "/undo",
        &format!("change=open:1&form_token={}", token(&viewer)),
    );
    assert_eq!(hidden.status, 404, "{hidden:?}");
    let visible = editor.post(
        "/undo",
        &format!("change=open:99&form_token={}", token(&editor)),
    );
    assert!(visible.body.contains("change_not_found"), "{visible:?}");
}

#[test]
fn a_page_whose_tool_is_hidden_answers_like_one_that_does_not_exist() {
    let keyed = KeyedDesk::new("roles.viewer = ['search', 'fetch']\n");
    let key = keyed.key("vi", "viewer", &[]);
    let server = keyed.serve();
    let viewer = sign_in(&server, &key);
    assert!(!viewer.page("/documents").contains("/changes"));
    let browser = |path: &str| {
        let headers = [("Cookie", viewer.cookie.as_str()), ("Accept", "text/html")];
        server.request("GET", path, &headers, b"")
    };
    let missing = browser("/no-such-page");
    assert_eq!(missing.status, 404, "{missing:?}");
    assert_eq!(browser("/changes"), missing);
    assert_eq!(browser("/undo"), missing);
}

#[test]
fn a_root_that_someone_is_not_bound_to_is_nowhere() {
    let keyed = KeyedDesk::new("");
    let mut agent = keyed
        .desk
        .open_with(crate::fixture::Era::Handshake, &keyed.settings);
    for id in ["open:plan.md", "closed:secret-plan.md"] {
        agent.json("edit", json!({ "id": id, "old": "350", "new": "400" }));
    }
    let bound = keyed.key("bo", "editor", &["--root", "open"]);
    let server = keyed.serve();
    let bound = sign_in(&server, &bound);
    for path in [
        "/",
        "/documents",
        "/changes",
        "/changes?since=1d&together=yes",
    ] {
        let page = bound.page(path);
        assert!(
            !page.contains("closed") && !page.contains("secret-plan"),
            "{path}: {page}"
        );
    }
    let hidden = bound.get("/documents?id=closed:secret-plan.md");
    let missing = bound.get("/documents?id=clusid:socrot-plan.md");
    assert_eq!(hidden.status, 404);
    assert_eq!(
        hidden.body.replace("closed:secret", "clusid:socrot"),
        missing.body
    );
}

#[test]
fn a_revoked_key_ends_the_visit() {
    let keyed = KeyedDesk::new("");
    let key = keyed.key("ada", "editor", &[]);
    let mut server = keyed.serve();
    let cookie = sign_in(&server, &key).cookie;
    std::fs::write(
        keyed.desk.vault.outside().with_file_name("keys.toml"),
        "version = 1\n",
    )
    .unwrap();
    let id = server.child().id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-HUP", &id])
            .status()
            .unwrap()
            .success()
    );
    crate::fixture::wait_for("the key to be forgotten", || {
        let answer = server.request("GET", "/documents", &[("Cookie", &cookie)], b"");
        (answer.status == 403).then_some(())
    });
}

#[test]
fn people_see_their_own_calls_and_an_admin_sees_all() {
    let keyed = KeyedDesk::new("");
    let keys = ["ada", "ben", "root"].map(|user| {
        let role = if user == "root" { "admin" } else { "editor" };
        keyed.key(user, role, &[])
    });
    let server = keyed.serve();
    for key in &keys[..2] {
        let params = json!({ "name": "search", "arguments": { "query": "pilot" } });
        let message = crate::fixture::Era::Stateless.request(7, "tools/call", params);
        let more = [("X-Api-Key", key.as_str())];
        let answer = server.post_with(crate::fixture::Era::Stateless, &message, &more);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let calls = |key: &str| {
        let answer = sign_in(&server, key).get("/calls?after=0");
        answer.json()["calls"].as_array().unwrap().len()
    };
    assert_eq!(keys.each_ref().map(|key| calls(key)), [1, 1, 2]);
}
