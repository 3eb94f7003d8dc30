//! Five worlds on one port: their state, policies and envelopes stay apart.

use sectile_note_store::{NoteStore, StoreSettings};
use serde_json::{Value, json};

use super::{beside, seen, token_of, tokens_settings};
use crate::fixture::{
    Era, Http, HttpAnswer, TOKEN_SECRET, TestVault, initialize, sectile, tool_error, tool_text,
};

const ERA: Era = Era::Stateless;
const WORLDS: [&str; 5] = ["vault", "editor", "docs", "notebook", "hosted"];

/// A folder for every world, and the store of the hosted one.
struct Five {
    folder: TestVault,
    store: NoteStore,
}

impl Five {
    fn new() -> Self {
        let folder = TestVault::empty();
        folder.note("notes/inbox/one.md", "# Of the vault\n\ntext\n");
        folder.note("edited/a.md", "# Of the editor\n\ntext\n");
        folder.note(
            "manual/guide.md",
            "# Of the manual\n\nHow to tune a viola.\n",
        );
        folder.note(
            "library/physics/waves.md",
            "# Of the library\n\nWaves interfere.\n",
        );
        folder.note("store/default/ada/inbox/one.md", "# Of the store\n\ntext\n");
        let store = NoteStore::start(StoreSettings {
            root: folder.root().join("store"),
            ..StoreSettings::default()
        });
        Self {
            store: store.unwrap(),
            folder,
        }
    }

    fn settings(&self) -> String {
        format!(
            "{}[vault]\nroot = 'vault/notes'\n[editor]\nroot = 'vault/edited'\n\
             [docs]\ninclude_default_docs = false\nextra_paths = ['vault/manual']\n\
             [notebook]\nroot = 'vault/library'\n[hosted]\nstore_url = '{}'\n",
            tokens_settings(),
            self.store.url()
        )
    }

    fn start(&self, more: &str) -> Http<'_> {
        beside(&self.folder, "token-secret", TOKEN_SECRET);
        let config = self.folder.config(&(self.settings() + more));
        let mut command = sectile();
        command.args(["serve", "--config"]).arg(config);
        Http::spawn(&self.folder, command)
    }
}

fn post(server: &Http<'_>, world: &str, era: Era, who: &str, message: &Value) -> HttpAnswer {
    server.post_to(
        &format!("/{world}/mcp"),
        era,
        message,
        &[("Authorization", who)],
    )
}

fn ask(server: &Http<'_>, world: &str, who: &str, tool: &str, arguments: Value) -> Value {
    post(server, world, ERA, who, &ERA.call(7, tool, arguments)).json()
}

fn tools(server: &Http<'_>, world: &str, who: &str) -> Vec<String> {
    let list = ERA.request(3, "tools/list", json!({}));
    let answer = post(server, world, ERA, who, &list).json();
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_world_has_its_own_state_tools_and_envelope() {
    let five = Five::new();
    let server = five.start("");
    let ada = token_of("ada", "editor");
    let path = json!({ "path": "inbox/one.md" });
    let of_vault = ask(&server, "vault", &ada, "get_note_outline", path.clone());
    assert!(tool_text(&of_vault).contains("Of the vault"), "{of_vault}");
    let of_store = ask(&server, "hosted", &ada, "get_note_outline", path);
    assert!(tool_text(&of_store).contains("Of the store"), "{of_store}");
    let of_editor = ask(
        &server,
        "editor",
        &ada,
        "list_sections",
        json!({ "path": "a.md" }),
    );
    assert!(
        tool_text(&of_editor).contains("Of the editor"),
        "{of_editor}"
    );
    let of_docs = ask(
        &server,
        "docs",
        &ada,
        "sectile_docs_search",
        json!({ "query": "viola" }),
    );
    assert!(tool_text(&of_docs).contains("Of the manual"), "{of_docs}");
    let of_library = ask(&server, "notebook", &ada, "list_collections", json!({}));
    assert!(tool_text(&of_library).contains("physics"), "{of_library}");

    let missing = json!({ "path": "none.md" });
    let envelope = |world| {
        tool_error(&ask(
            &server,
            world,
            &ada,
            "get_note_outline",
            missing.clone(),
        ))
    };
    assert_eq!(envelope("vault")["code"], "RUNTIME_ERROR");
    assert_eq!(
        envelope("hosted"),
        json!({ "error": "Upstream 404", "code": "UPSTREAM_ERROR" })
    );
    let unknown = |world| ask(&server, world, &ada, "never_was", json!({}));
    assert_eq!(unknown("editor")["error"]["code"], -32601);
    assert_eq!(unknown("vault")["error"]["code"], -32602);
    assert_eq!(unknown("docs")["error"]["code"], -32602);
    assert_eq!(unknown("hosted")["error"]["code"], -32602);
    assert!(
        unknown("notebook")
            .to_string()
            .contains("operation_forbidden")
    );
    assert_eq!(server.post_to("/mcp", ERA, &initialize(1), &[]).status, 404);
    let nowhere = server.post_to("/desk/mcp", ERA, &initialize(1), &[]);
    assert_eq!(nowhere.status, 404);
}

#[test]
fn a_policy_for_one_world_leaves_the_others_alone() {
    let five = Five::new();
    let server = five.start(
        "[server.tools]\ndenylist = ['hosted/get_section_source']\n\
         [server.auth.roles]\nviewer = ['vault/get_note_outline', 'hosted/get_note_outline', 'hosted/get_section_source']\n",
    );
    let (ada, admin) = (token_of("ada", "viewer"), token_of("root", "admin"));
    assert_eq!(tools(&server, "vault", &ada), ["get_note_outline"]);
    assert_eq!(tools(&server, "hosted", &ada), ["get_note_outline"]);
    for world in ["editor", "docs", "notebook"] {
        assert!(tools(&server, world, &ada).is_empty(), "{world}");
    }
    assert_eq!(tools(&server, "vault", &admin).len(), 4);
    assert_eq!(tools(&server, "hosted", &admin).len(), 3);
    let call = |name: &str| ERA.call(7, name, json!({ "path": "inbox/one.md" }));
    let hidden = post(&server, "hosted", ERA, &admin, &call("get_section_source"));
    let never = post(&server, "hosted", ERA, &admin, &call("get_section_sourcx"));
    assert_eq!(seen(&hidden), seen(&never));
}

#[test]
fn a_session_of_one_world_is_unknown_in_another() {
    let five = Five::new();
    let server = five.start("");
    let ada = token_of("ada", "editor");
    let hello = post(&server, "editor", Era::Handshake, &ada, &initialize(1));
    let id = hello.header("mcp-session-id").unwrap().to_owned();
    let list = Era::Handshake.request(2, "tools/list", json!({}));
    for world in WORLDS {
        let headers = [
            ("Authorization", ada.as_str()),
            ("Mcp-Session-Id", id.as_str()),
        ];
        let path = format!("/{world}/mcp");
        let answer = server.post_to(&path, Era::Handshake, &list, &headers);
        let expected = if world == "editor" { 200 } else { 404 };
        assert_eq!(answer.status, expected, "{world}: {answer:?}");
    }
}

#[test]
fn a_handle_of_one_caller_is_unknown_to_another() {
    let five = Five::new();
    let server = five.start("");
    let (ada, eve) = (token_of("ada", "viewer"), token_of("eve", "viewer"));
    let entered = ask(
        &server,
        "notebook",
        &ada,
        "enter_collection",
        json!({ "collection_id": "physics" }),
    );
    let entered: Value = serde_json::from_str(tool_text(&entered)).unwrap();
    let handle = entered["context_handle"]
        .as_str()
        .unwrap_or_else(|| panic!("no handle in {entered}"));
    let search = |who: &str, handle: &str| {
        ask(
            &server,
            "notebook",
            who,
            "semantic_search",
            json!({ "query": "waves", "context_handle": handle }),
        )
    };
    assert_eq!(search(&ada, handle)["result"]["isError"], false);
    let (stolen, unknown) = (search(&eve, handle), search(&eve, "no-such-handle"));
    assert_eq!(stolen["result"]["isError"], true, "{stolen}");
    assert_eq!(stolen, unknown);
}

#[test]
fn nobody_comes_into_any_world_without_credentials() {
    let five = Five::new();
    let server = five.start("");
    for world in WORLDS {
        for era in Era::BOTH {
            let path = format!("/{world}/mcp");
            let answer = server.post_to(&path, era, &era.request(3, "tools/list", json!({})), &[]);
            assert_eq!(answer.status, 401, "{world}");
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(
                challenge.contains(&format!("oauth-protected-resource{path}")),
                "{challenge}"
            );
            assert_eq!(
                server.request("GET", &path, &[], b"").status,
                401,
                "{world}"
            );
        }
    }
    assert_eq!(five.store.requests().len(), 0);
}
