//! A store that tells all it knows, in every field, header and error: nothing of it comes out of the server.
//!
//! The fixture looks for the store's mark, tokens and secrets in whatever the server writes, headers and log included.

use sectile_note_store::{Fault, SENTINEL};
use serde_json::json;

use crate::{
    fixture::{Caller, Era, More, TestHosted},
    vault::security::LOGS,
    vectors::TOOLS,
};

fn hostile_faults() -> Vec<Fault> {
    let canned = |value: serde_json::Value| Fault::Canned(200, value.to_string().into_bytes());
    vec![
        Fault::Hostile,
        Fault::Status(401),
        Fault::Status(403),
        Fault::Status(404),
        Fault::Status(500),
        Fault::Malformed,
        Fault::Redirect(format!("http://{SENTINEL}.example/{SENTINEL}")),
        Fault::Canned(503, format!("/srv/{SENTINEL}").into_bytes()),
        Fault::Canned(200, format!("{{\"body\":\"{SENTINEL}").into_bytes()),
        Fault::Canned(200, format!("{{\"{SENTINEL}\":{SENTINEL}}}").into_bytes()),
        canned(json!({ "frontmatter": format!("\"{SENTINEL}"), "body": SENTINEL })),
        canned(json!({ "frontmatter": format!("\"{SENTINEL}\"x\""), "body": "# A" })),
        canned(json!({ "frontmatter": format!("title: {SENTINEL}"), "body": "# A" })),
        canned(json!({ "frontmatter": [SENTINEL], "body": "# A" })),
        canned(
            json!({ "frontmatter": { "title": { "a": SENTINEL }, "Title": SENTINEL }, "body": SENTINEL }),
        ),
        canned(json!({ "frontmatter": null, "body": format!("---\nkey: {SENTINEL}\n---\n# A\n") })),
        canned(
            json!({ "frontmatter": {}, "body": format!("\u{feff}---\nkey: {SENTINEL}\n...\n# A\n") }),
        ),
        canned(json!({ "frontmatter": {}, "body": format!("---\nkey: [{SENTINEL}\n---\n") })),
        canned(json!({ "body": { SENTINEL: SENTINEL } })),
        canned(json!([SENTINEL])),
        canned(json!(SENTINEL)),
    ]
}

#[test]
fn nothing_of_a_hostile_store_comes_out() {
    let hosted = TestHosted::empty();
    let caller = Caller::named("ann").with("private", SENTINEL);
    for environment in LOGS {
        let gateway = hosted.serve_with(More {
            environment: &environment,
            ..More::default()
        });
        for era in Era::BOTH {
            for fault in hostile_faults() {
                hosted.store().set_fault(fault.clone());
                for tool in TOOLS {
                    let message = era.call(1, tool, json!({ "path": "inbox/n.md" }));
                    let answer = gateway.post(era, &caller, &message);
                    let whole = format!("{answer:?}");
                    assert!(!whole.contains(SENTINEL), "{fault:?}, {tool}: {whole}");
                    assert!(!whole.contains("/srv/"), "{fault:?}, {tool}: {whole}");
                    assert!(
                        answer.json()["result"].is_object(),
                        "{fault:?}, {tool}: {whole}"
                    );
                    for name in [
                        "Set-Cookie",
                        "X-Storage-Path",
                        "WWW-Authenticate",
                        "Location",
                    ] {
                        assert_eq!(answer.header(name), None, "{fault:?}, {tool}");
                    }
                }
            }
        }
        gateway.assert_healthy();
        let log = gateway.http.log();
        assert!(!log.contains("inbox"), "{log}");
        assert!(log.contains("hosted/get_section_source"), "{log}");
    }
}

/// The mark is in the title, which may be shown: the look above does find things.
#[test]
fn what_may_be_shown_is_shown() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let note = json!({ "path": "/srv/x.md", "frontmatter": { "title": "Shown" }, "body": "# Also shown\n\nNot this.\n" });
    hosted
        .store()
        .set_fault(Fault::Canned(200, note.to_string().into_bytes()));
    let view = gateway.view("get_section_source", "n.md");
    assert_eq!(view["title"], "Shown");
    assert_eq!(view["path"], "n.md");
    assert_eq!(view["sections"][0]["heading_text"], "Also shown");
    assert!(!view.to_string().contains("Not this"), "{view}");
}
