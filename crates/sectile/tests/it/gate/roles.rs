//! Roles: what is not for a role does not exist for it, byte for byte, in every era and state of signing in.

use serde_json::{Value, json};

use super::{post_as, seen, token_of, tools_of, world_with_tokens};
use crate::{
    fixture::{Era, Http, TestVault, initialize, sectile},
    hidden_names::{assert_unnamed, call, listings},
};

const WRITING: &str = "delete_section";
const READING: &str = "list_sections";
const ROLES: [&str; 6] = ["viewer", "editor", "evaluator", "admin", "owner", ""];

fn editor<'a>(vault: &'a TestVault, more: &str) -> Http<'a> {
    vault.note("a.md", "# A\n\ntext\n");
    world_with_tokens(vault, "editor", more)
}

/// The tools that `sectile tools` lists for a role.
fn listed_for(role: &str) -> Vec<String> {
    let output = sectile()
        .args(["tools", "editor", "--role", role, "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let worlds: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tools = worlds[0]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_role_sees_what_the_command_line_says_it_may_use() {
    let vault = TestVault::empty();
    let server = editor(&vault, "");
    for role in ROLES {
        let known = if ["owner", ""].contains(&role) {
            "viewer"
        } else {
            role
        };
        let seen = tools_of(&server, Era::Stateless, &token_of("ada", role));
        assert_eq!(seen, listed_for(known), "{role}");
        assert_eq!(
            seen.iter().any(|name| name == WRITING),
            known != "viewer",
            "{role}"
        );
        assert!(seen.iter().any(|name| name == READING), "{role}");
    }
}

#[test]
fn a_tool_that_is_not_for_a_role_answers_like_one_that_never_existed() {
    let vault = TestVault::empty();
    let policies = [
        "",
        "[server.tools]\nmode = 'passthrough'\n",
        "[server.tools]\ndenylist = ['undo']\n",
        "[server.auth]\nallowed_tools = ['list_sections', 'delete_section']\n",
    ];
    for policy in policies {
        let server = editor(&vault, policy);
        let viewer = token_of("ada", "viewer");
        for arguments in [
            json!({ "path": "a.md", "section_id": "x" }),
            json!({}),
            json!({ "odd": 1 }),
        ] {
            let call = |name: &str| Era::Stateless.call(7, name, arguments.clone());
            let hidden = post_as(&server, Era::Stateless, &viewer, &call(WRITING));
            let never = post_as(&server, Era::Stateless, &viewer, &call("never_existed_"));
            assert_eq!(seen(&hidden), seen(&never), "{policy}: {arguments}");
            assert!(!seen(&hidden).contains(WRITING));
        }
        let names = tools_of(&server, Era::Stateless, &viewer);
        assert!(!names.iter().any(|name| name == WRITING), "{policy}");
        // In the handshake era the editor keeps a session, which numbers its answers.
        let hidden = Session::open(&server, &viewer).call(WRITING);
        let never = Session::open(&server, &viewer).call("never_existed_");
        assert_eq!(hidden, never, "{policy}");
        assert!(hidden.contains("unknown_tool"), "{hidden}");
    }
}

#[test]
fn without_credentials_every_tool_gets_the_same_refusal() {
    let vault = TestVault::empty();
    let server = editor(&vault, "[server.tools]\ndenylist = ['undo']\n");
    for era in Era::BOTH {
        let refusals: Vec<String> = [READING, WRITING, "undo", "never_existed"]
            .iter()
            .map(|name| seen(&server.post(era, &era.call(7, name, json!({ "path": "a.md" })))))
            .collect();
        assert!(refusals[0].starts_with("401\n"), "{}", refusals[0]);
        for refusal in &refusals {
            assert_eq!(*refusal, refusals[0]);
        }
    }
}

#[test]
fn a_role_of_a_token_may_be_bound_to_roots() {
    let vault = TestVault::empty();
    let server = editor(&vault, "[server.auth.role_roots]\nviewer = ['work']\n");
    let list = Era::Stateless.request(3, "tools/list", json!({}));
    for (role, status) in [("viewer", 403), ("owner", 403), ("editor", 200)] {
        let answer = post_as(&server, Era::Stateless, &token_of("ada", role), &list);
        // This world has no roots to be bound to.
        assert_eq!(answer.status, status, "{role}");
        assert_eq!(answer.body.contains("no_access"), status == 403, "{role}");
    }
}

#[test]
fn the_settings_can_say_what_a_role_may_use() {
    let vault = TestVault::empty();
    let server = editor(
        &vault,
        "[server.auth.roles]\nviewer = ['editor/get_section']\nadmin = ['list_sections', 'undo']\n",
    );
    for (role, expected) in [
        ("viewer", &["get_section"][..]),
        ("owner", &["get_section"]),
        ("admin", &["list_sections", "undo"]),
    ] {
        let mut seen = tools_of(&server, Era::Stateless, &token_of("ada", role));
        seen.sort();
        assert_eq!(seen, expected, "{role}");
    }
}

#[test]
fn a_tool_that_does_the_work_of_others_may_not_do_what_the_role_may_not() {
    let vault = TestVault::empty();
    let server = editor(
        &vault,
        "[server.auth.roles]\neditor = ['apply_edits', 'insert_section', 'list_sections']\n",
    );
    let editor = token_of("ada", "editor");
    let edits = json!([{ "operation": "delete_section", "section_id": "x" }]);
    let call = Era::Stateless.call(7, "apply_edits", json!({ "path": "a.md", "edits": edits }));
    let answer = post_as(&server, Era::Stateless, &editor, &call).json();
    assert!(answer["error"].is_object(), "{answer}");
    assert_eq!(
        std::fs::read_to_string(vault.root().join("a.md")).unwrap(),
        "# A\n\ntext\n"
    );
}

#[test]
fn listings_that_depend_on_the_caller_are_not_for_everybody() {
    let vault = TestVault::empty();
    let server = editor(&vault, "");
    let list = Era::Stateless.request(3, "tools/list", json!({}));
    let answer = post_as(&server, Era::Stateless, &token_of("ada", "viewer"), &list).json();
    assert_eq!(answer["result"]["cacheScope"], "private", "{answer}");
}

#[test]
fn a_session_belongs_to_whoever_opened_it() {
    let vault = TestVault::empty();
    let server = editor(&vault, "");
    let (ada, eve) = (token_of("ada", "editor"), token_of("eve", "editor"));
    let session = Session::open(&server, &ada);
    let stolen = Session {
        id: session.id.clone(),
        server: &server,
        authorization: eve,
    };
    let unknown = Session {
        id: "no-such-session".to_owned(),
        server: &server,
        authorization: ada.clone(),
    };
    assert!(
        session.call(READING).contains("\"result\""),
        "her own works"
    );
    let (stolen, unknown) = (stolen.call(READING), unknown.call(READING));
    assert_eq!(stolen, unknown);
    assert!(stolen.starts_with("404\n"), "{stolen}");
}

#[test]
fn the_search_and_a_document_of_the_docs_world_hide_with_and_without_credentials() {
    let vault = TestVault::empty();
    vault.note("guide.md", "# Guide\n\nHow to tune a viola.\n");
    vault.note("secret.md", "# Secret\n\nWhere the viola is.\n");
    let settings = "[docs]\ninclude_default_docs = false\n[server.tools]\ndenylist = ['sectile://docs/secret']\n\
                    [server.auth.roles]\nviewer = ['sectile://docs/guide', 'sectile://docs/secret']\n";
    let server = world_with_tokens(&vault, "docs", settings);
    let (viewer, editor) = (token_of("ada", "viewer"), token_of("eve", "editor"));
    for era in Era::BOTH {
        let search = |tool: &str| era.call(7, tool, json!({ "query": "viola" }));
        let read = |slug: &str| {
            era.request(
                7,
                "resources/read",
                json!({ "uri": format!("sectile://docs/{slug}") }),
            )
        };
        let as_viewer = |message: &Value| seen(&post_as(&server, era, &viewer, message));
        assert_eq!(
            as_viewer(&search("sectile_docs_search")),
            as_viewer(&search("sectile_docs_searcx"))
        );
        assert_eq!(as_viewer(&read("secret")), as_viewer(&read("never1")));
        assert!(as_viewer(&read("guide")).contains("tune a viola"));
        assert!(tools_of(&server, era, &viewer).is_empty());
        let found = post_as(&server, era, &editor, &search("sectile_docs_search"));
        assert!(found.body.contains("tune a viola"), "{found:?}");
        assert!(
            !found.body.contains("Secret"),
            "a hidden document is found: {found:?}"
        );
        let nobody = |message: &Value| seen(&server.post(era, message));
        let refusal = nobody(&search("sectile_docs_search"));
        assert!(refusal.starts_with("401\n"), "{refusal}");
        for message in [
            search("sectile_docs_searcx"),
            read("guide"),
            read("secret"),
            read("never1"),
        ] {
            assert_eq!(nobody(&message), refusal);
        }
    }
}

/// A session of the handshake era.
struct Session<'a> {
    id: String,
    server: &'a Http<'a>,
    authorization: String,
}

impl<'a> Session<'a> {
    fn open(server: &'a Http<'a>, authorization: &str) -> Self {
        let hello = crate::fixture::initialize(1);
        let answer = post_as(server, Era::Handshake, authorization, &hello);
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let session = Self {
            id,
            server,
            authorization: authorization.to_owned(),
        };
        session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn post(&self, message: &Value) -> String {
        let headers = [
            ("Authorization", self.authorization.as_str()),
            ("Mcp-Session-Id", self.id.as_str()),
        ];
        seen(&self.server.post_with(Era::Handshake, message, &headers))
    }

    fn call(&self, tool: &str) -> String {
        self.post(&Era::Handshake.call(7, tool, json!({ "path": "a.md" })))
    }
}

#[test]
fn tools_that_are_not_for_a_role_are_named_nowhere() {
    let vault = TestVault::empty();
    let server = editor(&vault, "");
    let (viewer, admin) = (token_of("ada", "viewer"), token_of("bob", "admin"));
    let mut said = String::new();
    for era in Era::BOTH {
        let opened = post_as(&server, Era::Handshake, &viewer, &initialize(0));
        let session = opened.header("mcp-session-id").unwrap().to_owned();
        said += &opened.body;
        let mut asked = listings(era);
        for tool in ["list_sections", "get_section", "history", "get_revision"] {
            for arguments in [
                json!({}),
                json!({ "path": "nope.md" }),
                json!({ "path": "a.md", "section_id": "nope" }),
                json!({ "path": "a.md", "heading": "nope" }),
                json!({ "path": "a.md", "entry": 9 }),
            ] {
                asked.push(call(tool, arguments));
            }
        }
        for (id, (method, params)) in (1..).zip(asked) {
            let mut headers = vec![("Authorization", viewer.as_str())];
            if era == Era::Handshake {
                headers.push(("Mcp-Session-Id", &session));
            }
            let request = era.request(id, method, params);
            said += &server.post_with(era, &request, &headers).body;
        }
    }
    let seen = tools_of(&server, Era::Stateless, &viewer);
    let hidden = tools_of(&server, Era::Stateless, &admin);
    let hidden: Vec<&String> = hidden.iter().filter(|name| !seen.contains(name)).collect();
    assert!(hidden.len() > 10, "{hidden:?}");
    for tool in hidden {
        assert_unnamed(&said, tool, "a viewer");
    }
}
