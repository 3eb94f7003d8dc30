//! What was opened with a key or a token ends with it: streams, subscriptions and sessions in both eras.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::{auth, bearer, beside, reload::reload, token_of, tokens_settings};
use crate::fixture::{
    Era, Http, PATIENCE, TOKEN_SECRET, TestVault, claims, initialize, now, sectile, token, wait_for,
};

const DOCUMENT: &str = "sectile://editor/document/a.md";
const UPDATED: &str = "notifications/resources/updated";

fn vault() -> TestVault {
    let vault = TestVault::empty();
    vault.note("a.md", "# A\n\nx\n");
    vault
}

/// The editor world, with these settings.
fn editor<'a>(vault: &'a TestVault, settings: &str) -> Http<'a> {
    let config = vault.config(settings);
    let mut command = sectile();
    command
        .args(["serve", "editor"])
        .arg(vault.root())
        .arg("--config")
        .arg(config);
    Http::spawn(vault, command)
}

/// An answer that goes on.
struct Live<'a> {
    server: &'a Http<'a>,
    stream: TcpStream,
    text: String,
}

impl<'a> Live<'a> {
    fn open(
        server: &'a Http<'a>,
        method: &str,
        era: Era,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {}\r\nContent-Length: {}\r\n",
            era.version(),
            body.len()
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .unwrap();
        let mut live = Self {
            server,
            stream,
            text: String::new(),
        };
        live.until("\r\n\r\n");
        assert!(live.text.starts_with("HTTP/1.1 200"), "{}", live.text);
        live
    }

    /// Reads on until `what` has come.
    fn until(&mut self, what: &str) {
        let mut bytes = [0; 4096];
        while !self.text.contains(what) {
            let count = self.stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it ended without {what}: {}", self.text);
            self.server.answers().add(&bytes[..count]);
            self.text += &String::from_utf8_lossy(&bytes[..count]);
        }
    }

    /// Everything that comes until the server ends it.
    fn rest(mut self) -> String {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes).expect("it ends");
        self.server.answers().add(&bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A session of the editor that watches the document, with these credentials.
struct Session<'a> {
    server: &'a Http<'a>,
    id: String,
}

impl<'a> Session<'a> {
    fn open(server: &'a Http<'a>, credentials: (&str, &str)) -> Self {
        let answer = server.post_with(Era::Handshake, &initialize(1), &[credentials]);
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let session = Self { server, id };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.post(credentials, &ready), 202);
        let subscribe =
            Era::Handshake.request(2, "resources/subscribe", json!({ "uri": DOCUMENT }));
        assert_eq!(session.post(credentials, &subscribe), 200);
        session
    }

    fn post(&self, credentials: (&str, &str), message: &Value) -> u16 {
        let headers = [credentials, ("Mcp-Session-Id", self.id.as_str())];
        let answer = self.server.post_with(Era::Handshake, message, &headers);
        answer.status
    }

    fn ping(&self, credentials: (&str, &str)) -> u16 {
        self.post(
            credentials,
            &Era::Handshake.request(3, "tools/list", json!({})),
        )
    }

    /// The stream of its notices.
    fn stream(&self, credentials: (&str, &str)) -> Live<'a> {
        let headers = [credentials, ("Mcp-Session-Id", self.id.as_str())];
        Live::open(self.server, "GET", Era::Handshake, &headers, "")
    }
}

/// Listens for the document in the stateless era.
fn listen<'a>(server: &'a Http<'a>, credentials: (&str, &str)) -> Live<'a> {
    let wanted = json!({ "resourceSubscriptions": [DOCUMENT], "resourcesListChanged": true });
    let params = json!({ "notifications": wanted });
    let message = Era::Stateless.request(9, "subscriptions/listen", params);
    let headers = [credentials, ("Mcp-Method", "subscriptions/listen")];
    let mut live = Live::open(
        server,
        "POST",
        Era::Stateless,
        &headers,
        &message.to_string(),
    );
    live.until("notifications/subscriptions/acknowledged");
    live
}

/// Changes the document until somebody has heard of it.
fn change_until_heard(vault: &TestVault, live: &mut Live<'_>) {
    vault.note("a.md", "# A\n\nchanged\n");
    live.until(UPDATED);
}

#[test]
fn what_was_opened_with_a_key_ends_when_it_is_revoked() {
    let vault = vault();
    let key = auth(&vault, &["add-key", "--user", "eve", "--role", "editor"]);
    let second = auth(&vault, &["add-key", "--user", "eve", "--role", "editor"]);
    let other = auth(&vault, &["add-key", "--user", "ada", "--role", "editor"]);
    let [key, second, other] = [&key, &second, &other].map(|text| ("X-Api-Key", text.trim()));
    let mut server = editor(&vault, "[server.auth]\nkeys_file = 'keys.toml'\n");
    let (session, hers, stream, listener, also);
    {
        let server = &server;
        (session, hers) = {
            let (one, two) = (Session::open(server, key), Session::open(server, other));
            (one.id, two.id)
        };
        let of = |id: &String| Session {
            server,
            id: id.clone(),
        };
        let mut live = of(&session).stream(key);
        change_until_heard(&vault, &mut live);
        stream = live.stream;
        listener = listen(server, key).stream;
        also = of(&hers).stream(other).stream;
    }
    auth(&vault, &["revoke", key.1.split('_').nth(1).unwrap()]);
    reload(&mut server);
    let live = |stream: TcpStream| Live {
        server: &server,
        stream,
        text: String::new(),
    };
    // Both end by themselves, without a change; reading on to the end is what shows it.
    live(stream).rest();
    live(listener).rest();
    let of = |id: &String| Session {
        server: &server,
        id: id.clone(),
    };
    assert_eq!(of(&session).ping(key), 401);
    wait_for("the end of the session, for another key too", || {
        (of(&session).ping(second) == 404).then_some(())
    });
    // Nobody else has noticed anything.
    fs::write(vault.root().join("a.md"), "# A\n\nand again\n").unwrap();
    let mut also = live(also);
    also.until(UPDATED);
    assert_eq!(of(&hers).ping(other), 200);
}

#[test]
fn what_was_opened_with_a_token_ends_when_it_expires() {
    let vault = vault();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let server = editor(&vault, &(tokens_settings() + "leeway_seconds = 0\n"));
    let mut brief = claims("eve", "editor");
    brief["exp"] = json!(now() + 6);
    let brief = bearer(&token(&brief));
    let brief = ("Authorization", brief.as_str());
    let session = Session::open(&server, brief);
    let mut stream = session.stream(brief);
    let listener = listen(&server, brief);
    change_until_heard(&vault, &mut stream);
    stream.rest();
    listener.rest();
    assert_eq!(session.ping(brief), 401);
    let next = token_of("eve", "editor");
    let next = ("Authorization", next.as_str());
    assert_eq!(session.ping(next), 200, "the next token goes on");
    let mut stream = session.stream(next);
    vault.note("a.md", "# A\n\nonce more\n");
    stream.until(UPDATED);
}

#[test]
fn streams_of_a_role_end_when_it_may_use_other_things() {
    let vault = vault();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let mut server = editor(&vault, &tokens_settings());
    let (viewer, admin) = (token_of("eve", "viewer"), token_of("ada", "admin"));
    let (viewer, admin) = (
        ("Authorization", viewer.as_str()),
        ("Authorization", admin.as_str()),
    );
    let (ended, goes_on) = {
        let (eve, ada) = (
            Session::open(&server, viewer),
            Session::open(&server, admin),
        );
        (
            [eve.stream(viewer).stream, listen(&server, viewer).stream],
            ada.stream(admin).stream,
        )
    };
    vault.config(&(tokens_settings() + "[server.auth.roles]\nviewer = ['list_sections']\n"));
    reload(&mut server);
    let live = |stream: TcpStream| Live {
        server: &server,
        stream,
        text: String::new(),
    };
    for stream in ended {
        live(stream).rest();
    }
    fs::write(vault.root().join("a.md"), "# A\n\nchanged\n").unwrap();
    live(goes_on).until(UPDATED);
}
