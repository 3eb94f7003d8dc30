//! What is at which address: a page for people at the root, and nothing where other servers have their interfaces.

use serde_json::json;

use super::{beside, tokens_settings, with_tokens};
use crate::{
    fixture::{Era, Http, More, TOKEN_SECRET, TestHosted, TestVault, initialize, sectile},
    vectors::TOOLS,
};

/// Addresses that the contracts' origin, or a server like it, has and this one must not.
const ABSENT: [&str; 24] = [
    "/api",
    "/api/v1",
    "/api/v1/notes",
    "/api/v1/notes/inbox%2Fone.md",
    "/api/v1/section-source?path=inbox/one.md",
    "/api/v1/note-outline?path=inbox/one.md",
    "/api/v1/document-tree?path=inbox/one.md",
    "/api/v1/metadata-facets?path=inbox/one.md",
    "/api/v1/hosted-context",
    "/api/v1/search?q=x",
    "/section-source",
    "/section_source?path=inbox/one.md",
    "/get_section_source",
    "/hub",
    "/hub/",
    "/ui",
    "/admin",
    "/index.html",
    "/openapi.json",
    "/openapi.yaml",
    "/api/openapi.json",
    "/api-docs",
    "/swagger.json",
    "/docs",
];

fn assert_absent(server: &Http<'_>, headers: &[(&str, &str)]) {
    let nothing = server.request("GET", "/no-such-place", headers, b"");
    assert_eq!(nothing.status, 404, "{nothing:?}");
    for path in ABSENT {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let body: &[u8] = if method == "GET" { b"" } else { b"{}" };
            let answer = server.request(method, path, headers, body);
            assert_eq!(answer, nothing, "{method} {path}");
        }
    }
}

#[test]
fn no_hub_openapi_or_section_source_route_exists_in_the_vault_world() {
    let vault = TestVault::sample();
    assert_absent(&Http::start(&vault), &[]);
}

#[test]
fn no_hub_openapi_or_section_source_route_exists_in_the_hosted_world() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve();
    let token = super::token_of("ann", "admin");
    assert_absent(&gateway.http, &[]);
    assert_absent(&gateway.http, &[("Authorization", &token)]);
    assert_eq!(gateway.requests(), []);
    assert_eq!(hosted.store().connections(), 0);
}

/// With the tool denied there is no other way to it either.
#[test]
fn no_route_leads_to_a_tool_that_is_denied() {
    let hosted = TestHosted::sample();
    let gateway = hosted.serve_with(More {
        tables: "[server.tools]\ndenylist = [\"get_section_source\"]\n",
        ..More::default()
    });
    assert_absent(&gateway.http, &[]);
    assert_eq!(gateway.requests(), []);
}

/// A server of one world, with and without signing in, and one of several.
fn servers(vault: &TestVault) -> Vec<(Http<'_>, &'static [&'static str])> {
    let root = vault.root();
    let root = root.to_str().unwrap();
    beside(vault, "token-secret", TOKEN_SECRET);
    let tables = format!("[vault]\nroot = '{root}'\n[editor]\nroot = '{root}'\n");
    let config = vault.config(&(tokens_settings() + &tables));
    let mut several = sectile();
    several.args(["serve", "--config"]).arg(config);
    vec![
        (Http::spawn(vault, several), &["/vault/mcp", "/editor/mcp"]),
        (Http::start(vault), &["/mcp"]),
        (with_tokens(vault, ""), &["/mcp"]),
    ]
}

#[test]
fn get_slash_is_a_friendly_page_without_signing_in() {
    let vault = TestVault::sample();
    for (server, endpoints) in servers(&vault) {
        let page = server.request("GET", "/", &[], b"");
        assert_eq!(page.status, 200, "{page:?}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(page.header(name), Some(value), "{page:?}");
        }
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(page.body.contains("MCP server"), "{}", page.body);
        for endpoint in endpoints {
            let address = format!("<code>http://{}{endpoint}</code>", server.address());
            assert!(page.body.contains(&address), "{address}: {}", page.body);
        }
        assert!(page.body.contains("sectile docs search"), "{}", page.body);
        for word in [
            env!("CARGO_PKG_VERSION"),
            "inbox",
            "token-secret",
            "<script",
        ] {
            assert!(!page.body.contains(word), "{word}: {}", page.body);
        }
        for tool in TOOLS {
            assert!(!page.body.contains(tool), "{tool}: {}", page.body);
        }
        let head = server.request("HEAD", "/", &[], b"");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{head:?}");
        let posted = server.request("POST", "/", &[], b"{}");
        assert_eq!(posted.status, 404, "{posted:?}");
        assert!(posted.json()["error"].is_object(), "{posted:?}");
    }
}

#[test]
fn session_delete_answers_what_clients_expect() {
    let vault = TestVault::sample();
    let mut command = sectile();
    command.args(["serve", "editor"]).arg(vault.root());
    let server = Http::spawn(&vault, command);
    let opened = server.post(Era::Handshake, &initialize(0));
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let headers = [
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", Era::Handshake.version()),
    ];
    let ended = server.request("DELETE", "/mcp", &headers, b"");
    assert_eq!((ended.status, ended.body.as_str()), (204, ""), "{ended:?}");
    assert_eq!(ended.header("content-type"), None, "{ended:?}");
    let again = server.request("DELETE", "/mcp", &headers, b"");
    assert_eq!(again.status, 404, "{again:?}");
    let list = Era::Handshake.request(1, "tools/list", json!({}));
    let late = server.post_with(Era::Handshake, &list, &headers[..1]);
    assert_eq!(late.status, 404, "{late:?}");
}
