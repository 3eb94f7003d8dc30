//! Forms: only those of this site, and only with the token of the visit.

use serde_json::json;

use super::{FORM, Visitor, desk, serve};
use crate::fixture::TestDesk;

/// A desk with one change.
fn changed() -> TestDesk {
    let desk = desk();
    let edit = json!({ "id": "plan#Budget", "old": "350", "new": "400" });
    desk.open().json("edit", edit);
    desk
}

#[test]
fn an_undo_needs_the_origin_and_the_token() {
    let desk = changed();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let (token, origin) = (visitor.token(), visitor.origin());
    let cookie = ("Cookie", visitor.cookie.as_str());
    let good = format!("change=1&form_token={token}");
    let other_port = "http://127.0.0.1:1";
    let as_localhost = origin.replace("127.0.0.1", "localhost");
    let refused: &[(&[(&str, &str)], &str)] = &[
        // No origin, or that of another site.
        (&[cookie, FORM], &good),
        (&[cookie, FORM, ("Origin", "null")], &good),
        (&[cookie, FORM, ("Origin", "https://evil.example")], &good),
        (&[cookie, FORM, ("Origin", other_port)], &good),
        (&[cookie, FORM, ("Origin", &as_localhost)], &good),
        (
            &[
                cookie,
                FORM,
                ("Origin", &origin),
                ("Sec-Fetch-Site", "cross-site"),
            ],
            &good,
        ),
        (
            &[
                cookie,
                FORM,
                ("Origin", &origin),
                ("Sec-Fetch-Site", "same-site"),
            ],
            &good,
        ),
        // No token, or that of someone else.
        (&[cookie, FORM, ("Origin", &origin)], "change=1"),
        (&[cookie, FORM, ("Origin", &origin)], "change=1&form_token="),
        (
            &[cookie, FORM, ("Origin", &origin)],
            "change=1&form_token=AAAA",
        ),
        // No cookie.
        (&[FORM, ("Origin", &origin)], &good),
        // Not a form.
        (
            &[cookie, ("Content-Type", "text/plain"), ("Origin", &origin)],
            &good,
        ),
        (
            &[
                cookie,
                ("Content-Type", "application/json"),
                ("Origin", &origin),
            ],
            &good,
        ),
    ];
    for (headers, body) in refused {
        let answer = server.request("POST", "/undo", headers, body.as_bytes());
        assert!(
            matches!(answer.status, 403 | 415),
            "{headers:?} {body}: {answer:?}"
        );
        assert!(
            desk.text("projects/plan.md").contains("400"),
            "{headers:?} {body}"
        );
    }
    let answer = visitor.undo("1");
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/changes"))
    );
    assert!(desk.text("projects/plan.md").contains("350"));
}

#[test]
fn an_address_alone_changes_nothing() {
    let desk = changed();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let token = visitor.token();
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let path = format!("/undo?change=1&form_token={token}");
        let headers = [("Cookie", visitor.cookie.as_str())];
        let answer = server.request(method, &path, &headers, b"");
        assert_eq!(answer.status, 404, "{method}: {answer:?}");
    }
    assert!(desk.text("projects/plan.md").contains("400"));
}

#[test]
fn a_token_belongs_to_one_visit() {
    let desk = changed();
    let server = serve(&desk, "");
    let (one, other) = (
        Visitor::enter(&server, &desk),
        Visitor::enter(&server, &desk),
    );
    let fields = format!("change=1&form_token={}", other.token());
    let answer = one.post("/undo", &fields);
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(answer.body.contains("earlier visit"), "{answer:?}");
    // After signing out, the cookie is worth nothing.
    let out = one.post("/sign-out", &format!("form_token={}", one.token()));
    assert_eq!(out.status, 303);
    assert!(
        out.header("set-cookie").unwrap().contains("Max-Age=0"),
        "{out:?}"
    );
    assert_eq!(one.get("/changes").status, 403);
    assert_eq!(other.get("/changes").status, 200);
}

#[test]
fn a_form_has_a_size() {
    let desk = changed();
    let server = serve(&desk, "[server.limits]\nmax_message_bytes = 4096\n");
    let visitor = Visitor::enter(&server, &desk);
    let large = format!(
        "form_token={}&change={}",
        visitor.token(),
        "1".repeat(5_000)
    );
    let answer = visitor.post("/undo", &large);
    assert_eq!(answer.status, 413, "{answer:?}");
    assert_eq!(visitor.get("/changes").status, 200);
}

#[test]
fn an_undo_that_would_overwrite_later_work_is_refused_with_the_reason() {
    let desk = changed();
    let mut client = desk.open();
    client.json(
        "edit",
        json!({ "id": "plan#Budget", "old": "400", "new": "450" }),
    );
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let answer = visitor.undo("1");
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(answer.body.contains("role=\"alert\""), "{answer:?}");
    assert!(
        answer.body.contains("<code>undo_overlaps</code>"),
        "{answer:?}"
    );
    assert!(desk.text("projects/plan.md").contains("450"));
    for unknown in ["99", "", "x", "-1", "18446744073709551616"] {
        assert_eq!(visitor.undo(unknown).status, 404, "{unknown}");
    }
}

#[test]
fn undo_and_redo_go_back_and_forth() {
    let desk = changed();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    assert_eq!(visitor.undo("1").status, 303);
    assert!(desk.text("projects/plan.md").contains("350"));
    let page = visitor.page("/changes");
    assert!(
        page.contains("undoes change 1") && page.contains(">Redo<"),
        "{page}"
    );
    assert_eq!(visitor.undo("2").status, 303);
    assert!(desk.text("projects/plan.md").contains("400"));
    let page = visitor.page("/changes");
    assert!(
        page.contains("by <a href=\"/changes?by=console\">"),
        "{page}"
    );
}
