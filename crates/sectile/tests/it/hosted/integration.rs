//! Integration tier: settings, roles, context and store work together.

use sectile_note_store::{Context, FrontMatterForm};
use serde_json::{Value, json};

use crate::{
    fixture::{Caller, Era, GATEWAY_SECRET, More, TestHosted, error_of, sectile, tool_text},
    vectors::TOOLS,
};

const ERA: Era = Era::Handshake;

#[test]
fn every_tool_sends_the_same_request() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    let caller = Caller::named("ann");
    for era in Era::BOTH {
        for tool in TOOLS {
            gateway.call(era, &caller, tool, json!({ "path": " inbox//one.md " }));
            let requests = gateway.requests();
            let [request] = requests.as_slice() else {
                panic!("one request: {requests:?}")
            };
            assert_eq!(request.method, "GET", "{tool}");
            assert_eq!(request.target, "/api/v1/notes/inbox%2Fone.md", "{tool}");
            let mut names: Vec<&str> = request
                .headers
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            names.sort_unstable();
            let expected = [
                "accept",
                "authorization",
                "content-type",
                "host",
                "x-gateway-auth",
                "x-user-id",
                "x-vault-id",
            ];
            assert_eq!(names, expected, "{tool}");
            for (name, value) in [
                ("accept", "application/json"),
                ("content-type", "application/json"),
                ("host", &hosted.store().address().to_string()),
                ("x-gateway-auth", GATEWAY_SECRET),
                ("x-user-id", "ann"),
                ("x-vault-id", "default"),
            ] {
                assert_eq!(request.header(name), Some(value), "{tool}, {name}");
            }
            let bearer = request.header("authorization").unwrap();
            assert_eq!(bearer.split('.').count(), 3, "{tool}");
            assert!(bearer.starts_with("Bearer ey"), "{tool}");
        }
    }
}

#[test]
fn without_a_gateway_secret_there_is_no_header_for_it() {
    let hosted = TestHosted::with(|settings| settings.gateway_secret = None);
    let mut command = hosted.command(More::default());
    let config = hosted.folder().root().join("../sectile.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        text.replace("gateway_secret_file = \"gateway-secret\"\n", ""),
    )
    .unwrap();
    command.env("SECTILE_LOG__LEVEL", "info");
    let http = crate::fixture::Http::spawn(hosted.folder(), command);
    let token = format!("Bearer {}", Caller::named("ann").token());
    let message = ERA.call(1, TOOLS[0], json!({ "path": "ready.md" }));
    let answer = http
        .post_with(ERA, &message, &[("Authorization", &token)])
        .json();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let requests = hosted.store().take_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].headers.len(), 6, "{requests:?}");
    assert_eq!(requests[0].header("x-gateway-auth"), None);
}

#[test]
fn a_caller_cannot_add_to_the_request() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    let token = format!("Bearer {}", Caller::named("ann").token());
    let message = ERA.call(1, TOOLS[0], json!({ "path": "ready.md" }));
    let headers = [
        ("Authorization", token.as_str()),
        ("X-User-Id", "bob"),
        ("X-Gateway-Auth", "mine"),
        ("X-Actor-Id", "bob"),
        ("Cookie", "a=b"),
        ("Accept-Encoding", "gzip"),
        ("X-Forwarded-For", "192.0.2.1"),
        (
            "Traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
    ];
    let answer = gateway.http.post_with(ERA, &message, &headers).json();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let requests = gateway.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].headers.len(), 7, "{requests:?}");
    assert_eq!(requests[0].header("x-user-id"), Some("ann"));
    assert_eq!(requests[0].header("x-gateway-auth"), Some(GATEWAY_SECRET));
}

#[test]
fn all_forms_of_front_matter_give_the_same_answers() {
    let note = "---\ntitle: T\ntags: [x, Y]\nproject: P\n---\n# A\n\ntext\n\n## B\n";
    let answers: Vec<Vec<String>> = [
        FrontMatterForm::Text,
        FrontMatterForm::Object,
        FrontMatterForm::InBody,
    ]
    .into_iter()
    .map(|form| {
        let hosted = TestHosted::with(|settings| settings.front_matter = form);
        hosted.note("default", "ann", "n.md", note);
        let gateway = hosted.serve();
        TOOLS
            .map(|tool| gateway.view(tool, "n.md").to_string())
            .to_vec()
    })
    .collect();
    assert!(answers[0][0].contains("\"title\":\"T\""), "{answers:?}");
    assert!(answers[0][3].contains("\"project\":\"p\""), "{answers:?}");
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

fn listed(gateway: &crate::fixture::Gateway<'_>, caller: &Caller) -> Vec<String> {
    let answer = gateway.post(ERA, caller, &ERA.request(1, "tools/list", json!({})));
    let answer = answer.json();
    let tools = answer["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn every_role_may_list_and_call_all_four() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    for role in [
        "viewer",
        "editor",
        "evaluator",
        "admin",
        "owner",
        "constructor",
        "",
    ] {
        let caller = Caller::named("ann").with("role", role);
        assert_eq!(listed(&gateway, &caller), TOOLS, "{role}");
        for tool in TOOLS {
            let answer = gateway.call(ERA, &caller, tool, json!({ "path": "inbox/one.md" }));
            assert_eq!(answer["result"]["isError"], false, "{role}, {tool}");
        }
    }
}

/// One table decides what is listed and what can be called.
#[test]
fn a_role_has_what_the_table_gives_it_and_nothing_else() {
    let hosted = TestHosted::sample();
    let tables = "[server.auth.roles]\nviewer = [\"hosted/get_note_outline\"]\neditor = [\"get_document_tree\"]\n";
    let gateway = hosted.serve_with(More {
        tables,
        ..More::default()
    });
    for (role, allowed) in [
        ("viewer", &["get_note_outline"][..]),
        ("nobody", &["get_note_outline"]),
        ("editor", &["get_document_tree"]),
        ("admin", &TOOLS),
    ] {
        let caller = Caller::named("ann").with("role", role);
        assert_eq!(listed(&gateway, &caller), allowed, "{role}");
        for tool in TOOLS {
            let message = ERA.call(1, tool, json!({ "path": "inbox/one.md" }));
            let answer = gateway.post(ERA, &caller, &message);
            if allowed.contains(&tool) {
                assert_eq!(answer.json()["result"]["isError"], false, "{role}, {tool}");
                continue;
            }
            let unknown = ERA.call(1, "get_nothing", json!({ "path": "inbox/one.md" }));
            assert_eq!(
                answer,
                gateway.post(ERA, &caller, &unknown),
                "{role}, {tool}"
            );
            assert_eq!(answer.json()["error"]["code"], -32602, "{role}, {tool}");
        }
    }
}

#[test]
fn the_context_gives_role_and_effective_user() {
    let hosted = TestHosted::with(|settings| {
        let row = |user: &str, role: &str, owner: Option<&str>| Context {
            user: user.to_owned(),
            vault: "default".to_owned(),
            role: role.to_owned(),
            effective_user: owner.map(str::to_owned),
        };
        settings.contexts = vec![
            row("bob", "editor", Some("ann")),
            row("eve", "viewer", None),
        ];
    });
    hosted.note("default", "eve", "own.md", "# Own\n");
    let url = hosted.store().url();
    let tables = format!(
        "[server.auth.context]\nurl = \"{url}/api/v1/hosted-context\"\nkeep_ms = 0\n\
         [server.auth.roles]\nviewer = [\"get_note_outline\"]\n"
    );
    let gateway = hosted.serve_with(More {
        tables: &tables,
        ..More::default()
    });
    let bob = Caller::named("bob").with("role", "viewer");
    let answer = gateway.call(ERA, &bob, TOOLS[0], json!({ "path": "ready.md" }));
    assert!(tool_text(&answer).contains("Ready"), "{answer}");
    let requests = gateway.requests();
    let targets: Vec<&str> = requests
        .iter()
        .map(|request| request.target.as_str())
        .collect();
    assert_eq!(
        targets,
        ["/api/v1/hosted-context", "/api/v1/notes/ready.md"]
    );
    assert_eq!(requests[1].header("x-user-id"), Some("ann"));
    assert_eq!(
        requests[0].header("authorization"),
        requests[1].header("authorization")
    );

    let eve = Caller::named("eve").with("role", "admin");
    assert_eq!(listed(&gateway, &eve), ["get_note_outline"]);
    let answer = gateway.call(ERA, &eve, "get_note_outline", json!({ "path": "ready.md" }));
    assert_eq!(error_of(&answer), "Upstream 404");
    assert_eq!(
        gateway.requests().last().unwrap().header("x-user-id"),
        Some("eve")
    );

    let stranger = Caller::named("mallory").with("role", "admin");
    let answer = gateway.post(
        ERA,
        &stranger,
        &ERA.call(1, TOOLS[0], json!({ "path": "ready.md" })),
    );
    assert_eq!(answer.status, 403, "{answer:?}");
    let requests = gateway.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.target == "/api/v1/hosted-context"),
        "{requests:?}"
    );
}

#[test]
fn the_statuses_of_the_store_come_through_without_its_words() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    hosted.note("default", "bob", "b.md", "# B\n");
    for (caller, path, expected) in [
        (Caller::named("ann"), "none.md", "Upstream 404"),
        (Caller::named("eve"), "none.md", "Upstream 403"),
        (
            Caller::named("ann").in_vault("home"),
            "ready.md",
            "Upstream 403",
        ),
    ] {
        for tool in TOOLS {
            let answer = gateway.call(ERA, &caller, tool, json!({ "path": path }));
            assert_eq!(error_of(&answer), expected, "{tool}");
        }
    }
}

/// Runs `sectile serve` with these arguments, which must not serve.
fn refused(arguments: &[&str]) -> String {
    let output = sectile().arg("serve").args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_world_is_not_served_without_http_a_store_or_tokens() {
    let hosted = TestHosted::empty();
    let config = hosted.config(More::default());
    let config = config.to_str().unwrap();
    let said = refused(&["hosted", "--config", config]);
    assert!(said.contains("over HTTP only"), "{said}");
    let said = refused(&[
        "hosted",
        "notes",
        "--config",
        config,
        "--http",
        "127.0.0.1:0",
    ]);
    assert!(said.contains("takes no folder"), "{said}");
    let said = refused(&["hosted", "--http", "127.0.0.1:0"]);
    assert!(said.contains("no note store"), "{said}");
    assert!(said.contains("hosted.store_url"), "{said}");
    let bare = hosted.folder().config(&format!(
        "[hosted]\nstore_url = \"{}\"\n",
        hosted.store().url()
    ));
    for arguments in [
        &[
            "hosted",
            "--http",
            "127.0.0.1:0",
            "--config",
            bare.to_str().unwrap(),
        ][..],
        // One of several worlds is refused as well, rather than left out in silence.
        &["--config", bare.to_str().unwrap()],
    ] {
        let said = refused(arguments);
        assert!(said.contains("no tokens are accepted"), "{said}");
        assert!(said.contains("server.auth.tokens"), "{said}");
    }
    assert_eq!(hosted.store().connections(), 0);
}
