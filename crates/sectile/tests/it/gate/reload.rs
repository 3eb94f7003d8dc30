//! Settings that are read again while the server runs: keys, key sets, roles. What is wrong changes nothing.

use serde_json::json;

use super::{
    auth, bearer, beside, good_call, post_as, signal, token_of, tokens_settings, tools_of,
};
use crate::fixture::{Era, Http, Signer, TOKEN_SECRET, TestVault, claims, wait_for};

const ERA: Era = Era::Stateless;

/// Asks the server to read its settings again, and waits until it has said so or that it has not.
pub(super) fn reload(server: &mut Http<'_>) {
    let before = said(server);
    signal(server, "-HUP");
    wait_for("the settings to be read", || {
        (said(server) > before).then_some(())
    });
}

fn said(server: &Http<'_>) -> usize {
    let log = server.log();
    ["were reloaded", "stay unchanged", "restart the server"]
        .iter()
        .map(|words| log.matches(words).count())
        .sum()
}

#[test]
fn keys_that_are_added_and_revoked_count_from_then_on() {
    let vault = TestVault::sample();
    let first = auth(&vault, &["add-key", "--user", "ada"]);
    let config = vault.config("[server.auth]\nkeys_file = 'keys.toml'\n");
    let mut server = Http::start_with(&vault, Some(&config), &[]);
    let status = |server: &Http<'_>, key: &str| {
        server
            .post_with(ERA, &good_call(ERA), &[("X-Api-Key", key.trim())])
            .status
    };
    assert_eq!(status(&server, &first), 200);
    let second = auth(&vault, &["add-key", "--user", "eve"]);
    auth(&vault, &["revoke", first.split('_').nth(1).unwrap()]);
    assert_eq!(
        (status(&server, &first), status(&server, &second)),
        (200, 401)
    );
    reload(&mut server);
    assert_eq!(
        (status(&server, &first), status(&server, &second)),
        (401, 200)
    );
    beside(&vault, "keys.toml", "this is no file of keys");
    reload(&mut server);
    assert_eq!(
        status(&server, &second),
        200,
        "a broken file changes nothing"
    );
}

#[test]
fn a_rotated_key_set_counts_from_then_on() {
    let vault = TestVault::sample();
    let (old, new) = (Signer::p256(), Signer::ed25519());
    let settings =
        tokens_settings().replace("secret_file = 'token-secret'", "jwks_file = 'jwks.json'");
    beside(
        &vault,
        "jwks.json",
        &json!({ "keys": [old.public("1")] }).to_string(),
    );
    let config = vault.config(&settings);
    let mut server = Http::start_with(&vault, Some(&config), &[]);
    let claims = claims("ada", "viewer");
    let status = |server: &Http<'_>, signer: &Signer, id: &str| {
        post_as(
            server,
            ERA,
            &bearer(&signer.token(id, &claims)),
            &good_call(ERA),
        )
        .status
    };
    assert_eq!(
        (status(&server, &old, "1"), status(&server, &new, "2")),
        (200, 401)
    );
    beside(
        &vault,
        "jwks.json",
        &json!({ "keys": [old.public("1"), new.public("2")] }).to_string(),
    );
    reload(&mut server);
    assert_eq!(
        (status(&server, &old, "1"), status(&server, &new, "2")),
        (200, 200)
    );
    beside(
        &vault,
        "jwks.json",
        &json!({ "keys": [new.public("2")] }).to_string(),
    );
    reload(&mut server);
    assert_eq!(
        (status(&server, &old, "1"), status(&server, &new, "2")),
        (401, 200)
    );
}

#[test]
fn roots_count_from_then_on() {
    let vault = TestVault::sample();
    let free = auth(&vault, &["add-key", "--user", "ada"]);
    let settings = "[server.auth]\nkeys_file = 'keys.toml'\n";
    let config = vault.config(settings);
    let mut server = Http::start_with(&vault, Some(&config), &[]);
    // The world has no roots, so a caller that is bound to roots is not let in.
    let statuses = |server: &Http<'_>, keys: &[&String]| -> Vec<u16> {
        let status = |key: &&String| {
            let key = [("X-Api-Key", key.trim())];
            server.post_with(ERA, &good_call(ERA), &key).status
        };
        keys.iter().map(status).collect()
    };
    assert_eq!(statuses(&server, &[&free]), [200]);
    let bound = auth(&vault, &["add-key", "--user", "eve", "--root", "work"]);
    reload(&mut server);
    assert_eq!(statuses(&server, &[&free, &bound]), [200, 403]);
    vault.config(&format!(
        "{settings}[server.auth.role_roots]\nviewer = ['work']\n"
    ));
    reload(&mut server);
    assert_eq!(statuses(&server, &[&free, &bound]), [403, 403]);
    vault.config(settings);
    reload(&mut server);
    assert_eq!(statuses(&server, &[&free, &bound]), [200, 403]);
}

#[test]
fn roles_count_from_then_on() {
    let vault = TestVault::sample();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let config = vault.config(&tokens_settings());
    let mut server = Http::start_with(&vault, Some(&config), &[]);
    let ada = token_of("ada", "viewer");
    assert_eq!(tools_of(&server, ERA, &ada).len(), 4);
    let narrow = tokens_settings() + "[server.auth.roles]\nviewer = ['get_note_outline']\n";
    vault.config(&narrow);
    reload(&mut server);
    assert_eq!(tools_of(&server, ERA, &ada), ["get_note_outline"]);
    vault.config(&narrow.replace("get_note_outline", "get_note_outlin"));
    reload(&mut server);
    assert_eq!(
        tools_of(&server, ERA, &ada),
        ["get_note_outline"],
        "a misspelt name changes nothing"
    );
    vault.config("[log]\nformat = 'json'\n");
    reload(&mut server);
    let answer = server.post(ERA, &good_call(ERA));
    assert_eq!(
        answer.status, 401,
        "signing in cannot be turned off while the server runs"
    );
}
