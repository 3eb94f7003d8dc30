//! A tool that is denied leaves no trace: what the contract's planning phase asks for holds whenever a policy asks for it.

use serde_json::json;

use crate::{
    fixture::{Caller, Era, Gateway, More, TestHosted, initialize},
    vectors::TOOLS,
};

const DENIED: &str = "get_section_source";
const ROLES: [&str; 5] = ["viewer", "editor", "evaluator", "admin", "unheard-of"];

/// Settings under which nobody has the tool.
const POLICIES: [&str; 4] = [
    "[server.tools]\ndenylist = [\"get_section_source\"]\n",
    "[server.tools]\ndenylist = [\"hosted/get_section_source\"]\n",
    "[server.tools]\nallowlist = [\"get_note_outline\", \"get_document_tree\", \"hosted/get_metadata_facets\"]\n",
    "[server.auth.roles]\nviewer = [\"get_note_outline\", \"get_document_tree\", \"get_metadata_facets\"]\n\
     editor = [\"get_note_outline\", \"get_document_tree\", \"get_metadata_facets\"]\n\
     evaluator = [\"get_note_outline\", \"get_document_tree\", \"get_metadata_facets\"]\n\
     admin = [\"get_note_outline\", \"get_document_tree\", \"get_metadata_facets\"]\n",
];

fn under_each_policy(check: impl Fn(&TestHosted, &Gateway<'_>)) {
    let hosted = TestHosted::sample();
    for tables in POLICIES {
        let gateway = hosted.serve_with(More {
            tables,
            ..More::default()
        });
        check(&hosted, &gateway);
        // Nothing but answers to calls of the other tools has left the server: no trace anywhere.
        let written = gateway.http.answers().text() + &gateway.http.log();
        assert!(!written.contains("section_source"), "{tables}: {written}");
        assert!(!written.contains("SectionSource"), "{tables}: {written}");
    }
}

#[test]
fn it_is_not_listed_and_not_told_of() {
    under_each_policy(|_, gateway| {
        for role in ROLES {
            let caller = Caller::named("ann").with("role", role);
            for era in Era::BOTH {
                let listing = gateway
                    .post(era, &caller, &era.request(1, "tools/list", json!({})))
                    .json();
                let tools = listing["result"]["tools"].as_array().unwrap();
                let names: Vec<&str> = tools
                    .iter()
                    .map(|tool| tool["name"].as_str().unwrap())
                    .collect();
                assert_eq!(names, TOOLS[1..], "{role}, {era:?}");
            }
            let introduced = gateway.post(Era::Handshake, &caller, &initialize(1));
            assert!(introduced.json()["result"]["instructions"].is_string());
            let discover = Era::Stateless.request(1, "server/discover", json!({}));
            let discovered = gateway.post(Era::Stateless, &caller, &discover);
            assert!(discovered.json()["result"]["instructions"].is_string());
        }
    });
}

#[test]
fn it_cannot_be_called_and_is_byte_for_byte_nonexistent() {
    under_each_policy(|hosted, gateway| {
        for role in ROLES {
            let caller = Caller::named("ann").with("role", role);
            for era in Era::BOTH {
                for arguments in [
                    json!({ "path": "inbox/one.md" }),
                    json!({}),
                    json!({ "path": "../x" }),
                ] {
                    let call = |tool: &str| {
                        gateway.post(era, &caller, &era.call(1, tool, arguments.clone()))
                    };
                    let answer = call(DENIED);
                    assert_eq!(answer, call("get_section_sourcf"), "{role}, {era:?}");
                    assert_eq!(answer.json()["error"]["code"], -32602, "{answer:?}");
                }
            }
        }
        assert_eq!(hosted.store().take_requests(), []);
    });
}

#[test]
fn nobody_can_tell_without_credentials_either() {
    under_each_policy(|hosted, gateway| {
        for era in Era::BOTH {
            for headers in [&[][..], &[("Authorization", "Bearer x")]] {
                let call = |tool: &str| {
                    let message = era.call(1, tool, json!({ "path": "inbox/one.md" }));
                    gateway.http.post_with(era, &message, headers)
                };
                let answer = call(DENIED);
                assert_eq!(answer.status, 401);
                assert_eq!(answer, call("get_section_sourcf"));
                assert_eq!(answer, call("get_note_outline"));
            }
        }
        assert_eq!(hosted.store().connections(), 0);
    });
}

#[test]
fn the_others_work_as_before() {
    under_each_policy(|_, gateway| {
        for role in ROLES {
            let caller = Caller::named("ann").with("role", role);
            for tool in &TOOLS[1..] {
                let answer = gateway.call(
                    Era::Handshake,
                    &caller,
                    tool,
                    json!({ "path": "inbox/one.md" }),
                );
                assert_eq!(
                    answer["result"]["isError"], false,
                    "{role}, {tool}: {answer}"
                );
            }
        }
        assert_eq!(gateway.requests().len(), ROLES.len() * 3);
    });
}
