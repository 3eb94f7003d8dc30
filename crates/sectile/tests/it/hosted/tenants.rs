//! Users and vaults never mix: interleaved, at the same time, and with an effective user in place of the actor.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::{
    fixture::{Caller, Era, TestHosted, error_of, tool_text},
    vectors::TOOLS,
};

const ERA: Era = Era::Handshake;
const USERS: [&str; 2] = ["ann", "bob"];
const VAULTS: [&str; 2] = ["home", "work"];
const HEADING_TOOLS: [&str; 3] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
];

/// The same path for each user in each vault, with a heading and a project that tell whose it is.
fn shared_path() -> TestHosted {
    let hosted = TestHosted::empty();
    for user in USERS {
        for vault in VAULTS {
            let note = format!("---\nproject: {user}-{vault}\n---\n# Of {user} at {vault}\n");
            hosted.note(vault, user, "n.md", note);
        }
    }
    hosted
}

fn caller(user: &str, vault: &str) -> Caller {
    Caller::named(user).in_vault(vault)
}

/// The answer belongs to this user and vault, and nothing of any other is in it.
fn assert_own(answer: &Value, user: &str, vault: &str) {
    let text = tool_text(answer);
    let own = [format!("Of {user} at {vault}"), format!("{user}-{vault}")];
    assert!(
        own.iter().any(|own| text.contains(own)),
        "{user}, {vault}: {text}"
    );
    for other in USERS.iter().filter(|other| **other != user) {
        assert!(!text.contains(other), "{user}, {vault}: {text}");
    }
    for other in VAULTS.iter().filter(|other| **other != vault) {
        assert!(!text.contains(other), "{user}, {vault}: {text}");
    }
}

#[test]
fn interleaved_callers_get_their_own_notes() {
    let hosted = shared_path();
    let gateway = hosted.serve();
    for turn in 0..3 {
        for era in Era::BOTH {
            for tool in TOOLS {
                for user in USERS {
                    for vault in VAULTS {
                        let answer = gateway.call(
                            era,
                            &caller(user, vault),
                            tool,
                            json!({ "path": "n.md" }),
                        );
                        assert_own(&answer, user, vault);
                        let requests = gateway.requests();
                        assert_eq!(requests.len(), 1, "turn {turn}");
                        assert_eq!(requests[0].header("x-user-id"), Some(user));
                        assert_eq!(requests[0].header("x-vault-id"), Some(vault));
                    }
                }
            }
        }
    }
}

#[test]
fn concurrent_callers_get_their_own_notes() {
    const TURNS: usize = 25;
    let hosted = shared_path();
    let gateway = hosted.serve();
    std::thread::scope(|scope| {
        for user in USERS {
            for vault in VAULTS {
                for era in Era::BOTH {
                    let gateway = &gateway;
                    scope.spawn(move || {
                        for turn in 0..TURNS {
                            let tool = TOOLS[turn % 4];
                            let answer = gateway.call(
                                era,
                                &caller(user, vault),
                                tool,
                                json!({ "path": "n.md" }),
                            );
                            assert_own(&answer, user, vault);
                        }
                    });
                }
            }
        }
    });
    let requests = gateway.requests();
    assert_eq!(requests.len(), TURNS * 8);
    for user in USERS {
        for vault in VAULTS {
            let count = requests
                .iter()
                .filter(|request| request.header("x-user-id") == Some(user))
                .filter(|request| request.header("x-vault-id") == Some(vault))
                .count();
            assert_eq!(count, TURNS * 2, "{user}, {vault}");
        }
    }
    // The token of each request is that of its user.
    for request in &requests {
        let token = request.header("authorization").unwrap();
        let claims = token.split('.').nth(1).unwrap();
        let claims: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!(claims["sub"].as_str(), request.header("x-user-id"));
    }
}

#[test]
fn a_distinct_effective_user_wins_over_the_actor() {
    let hosted = shared_path();
    let gateway = hosted.serve();
    for tool in TOOLS {
        let actor = caller("bob", "work").with("owner", "ann");
        let answer = gateway.call(ERA, &actor, tool, json!({ "path": "n.md" }));
        assert_own(&answer, "ann", "work");
        let requests = gateway.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].header("x-user-id"), Some("ann"));
        let others = requests[0]
            .headers
            .iter()
            .filter(|(name, _)| name != "authorization");
        assert!(
            others.into_iter().all(|(_, value)| !value.contains("bob")),
            "{requests:?}"
        );
        // The next call of the same actor without one is their own again.
        let answer = gateway.call(ERA, &caller("bob", "work"), tool, json!({ "path": "n.md" }));
        assert_own(&answer, "bob", "work");
        assert_eq!(gateway.requests()[0].header("x-user-id"), Some("bob"));
    }
}

#[test]
fn an_empty_effective_user_falls_back_to_the_actor() {
    let hosted = shared_path();
    let gateway = hosted.serve();
    for (tool, empty) in TOOLS.into_iter().zip(["", " ", "\t", ""]) {
        let actor = caller("bob", "work").with("owner", empty);
        let answer = gateway.call(ERA, &actor, tool, json!({ "path": "n.md" }));
        assert_own(&answer, "bob", "work");
        let requests = gateway.requests();
        assert_eq!(requests.len(), 1, "{empty:?}");
        assert_eq!(requests[0].header("x-user-id"), Some("bob"), "{empty:?}");
    }
}

#[test]
fn a_note_of_somebody_else_is_as_absent_as_one_that_is_nowhere() {
    let hosted = shared_path();
    hosted.note("work", "bob", "only-bobs.md", "# Bob\n");
    hosted.note("home", "ann", "only-at-home.md", "# Home\n");
    let gateway = hosted.serve();
    for era in Era::BOTH {
        for tool in TOOLS {
            let ask = |path: &str| {
                gateway.post(
                    era,
                    &caller("ann", "work"),
                    &era.call(1, tool, json!({ "path": path })),
                )
            };
            let nowhere = ask("nowhere-at.md");
            assert_eq!(error_of(&nowhere.json()), "Upstream 404");
            assert_eq!(ask("only-bobs.md"), nowhere, "{tool}");
            assert_eq!(ask("only-at-home.md"), nowhere, "{tool}");
        }
    }
}

#[test]
fn a_vault_that_the_token_does_not_name_is_refused_before_the_store() {
    let hosted = shared_path();
    hosted.note("secret", "ann", "n.md", "# Secret\n");
    let gateway = hosted.serve();
    for era in Era::BOTH {
        for vault in ["secret", "nowhere", "..", "work/../secret", "WORK"] {
            let message = era.call(1, TOOLS[0], json!({ "path": "n.md" }));
            let answer = gateway.post(era, &caller("ann", vault), &message);
            assert_eq!(answer.status, 403, "{vault}: {answer:?}");
            let other = gateway.post(era, &caller("ann", "no-such-vault"), &message);
            assert_eq!(answer, other, "{vault}");
        }
    }
    assert_eq!(gateway.requests(), []);
}

#[test]
fn arguments_name_neither_users_nor_vaults() {
    let hosted = shared_path();
    let gateway = hosted.serve();
    for tool in HEADING_TOOLS {
        for arguments in [
            json!({ "path": "n.md", "user_id": "bob" }),
            json!({ "path": "n.md", "vault_id": "home" }),
            json!({ "path": "n.md", "role": "admin" }),
        ] {
            let answer = gateway.call(ERA, &caller("ann", "work"), tool, arguments);
            assert!(
                error_of(&answer).starts_with("Invalid arguments"),
                "{answer}"
            );
        }
        for path in ["../bob/n.md", "../../home/ann/n.md", "work/../n.md"] {
            let answer = gateway.call(ERA, &caller("ann", "work"), tool, json!({ "path": path }));
            assert_eq!(error_of(&answer), "Invalid path");
        }
    }
    assert_eq!(gateway.requests(), []);
}
