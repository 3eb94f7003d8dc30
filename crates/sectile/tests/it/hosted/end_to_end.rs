//! End-to-end tier: a client of each era, from its first message to one body-free answer.

use serde_json::{Value, json};

use crate::{
    fixture::{Caller, Era, SECRET, TestHosted, initialize, tool_text},
    vectors::TOOLS,
};

const ROLES: [&str; 5] = ["viewer", "editor", "evaluator", "admin", "unheard-of"];

#[test]
fn a_client_signs_in_lists_and_asks_for_one_note() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    for role in ROLES {
        let caller = Caller::named("ann").with("role", role);
        let answer = gateway.post(Era::Handshake, &caller, &initialize(1));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.header("Mcp-Session-Id"),
            None,
            "nothing is kept between calls"
        );
        let capabilities = answer.json()["result"]["capabilities"].clone();
        assert!(capabilities["tools"].is_object(), "{capabilities}");
        assert_eq!(capabilities.as_object().unwrap().len(), 1, "{capabilities}");
        for era in Era::BOTH {
            let listing = gateway.post(era, &caller, &era.request(2, "tools/list", json!({})));
            assert_eq!(
                listing.json()["result"]["tools"].as_array().unwrap().len(),
                4
            );
            let answer = gateway.call(era, &caller, TOOLS[0], json!({ "path": "inbox/one.md" }));
            let view: Value = serde_json::from_str(tool_text(&answer)).unwrap();
            assert_eq!(view["path"], "inbox/one.md");
            assert_eq!(view["title"], "One");
            assert_eq!(view["sections"].as_array().unwrap().len(), 3);
            assert!(!answer.to_string().contains(SECRET), "{answer}");
        }
    }
}

#[test]
fn there_are_no_resources_and_no_prompts_for_any_role() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    for role in ROLES {
        let caller = Caller::named("ann").with("role", role);
        for era in Era::BOTH {
            for (method, params) in [
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({ "uri": "note:///inbox/one.md" })),
                (
                    "resources/subscribe",
                    json!({ "uri": "note:///inbox/one.md" }),
                ),
                ("prompts/list", json!({})),
                ("prompts/get", json!({ "name": "any" })),
                (
                    "completion/complete",
                    json!({ "ref": { "type": "ref/prompt", "name": "any" }, "argument": { "name": "a", "value": "" } }),
                ),
            ] {
                let answer = gateway
                    .post(era, &caller, &era.request(1, method, params))
                    .json();
                assert_eq!(
                    answer["error"]["code"], -32601,
                    "{role}, {era:?}, {method}: {answer}"
                );
            }
        }
    }
    assert_eq!(gateway.requests(), []);
}

#[test]
fn nobody_gets_in_without_a_token() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    for era in Era::BOTH {
        let call = era.call(1, TOOLS[0], json!({ "path": "inbox/one.md" }));
        let good = Caller::named("ann").token();
        let (body, signature) = good.rsplit_once('.').unwrap();
        let forged = format!(
            "Bearer {body}.{}",
            signature.chars().rev().collect::<String>()
        );
        for headers in [
            &[][..],
            &[("Authorization", "Bearer x")],
            &[("Authorization", forged.as_str())],
            &[("X-User-Id", "ann")],
            &[("X-Api-Key", "k")],
        ] {
            let answer = gateway.http.post_with(era, &call, headers);
            assert_eq!(answer.status, 401, "{headers:?}: {answer:?}");
        }
    }
    assert_eq!(gateway.requests(), []);
    assert_eq!(hosted.store().connections(), 0);
}
