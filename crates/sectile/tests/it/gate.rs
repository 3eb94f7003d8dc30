//! The front door of every world over HTTP: who is let in, what they see, and how much they may ask.

/// Encrypted connections.
mod encryption;
/// What one caller can take from the others.
mod fairness;
/// How much may be asked, and how slowly.
mod limits;
/// Records of calls, and figures.
mod records;
/// Settings that are read again while the server runs.
mod reload;
/// What was opened with a key or a token ends with it.
mod revocation;
/// Roles: what is not for a role does not exist for it.
mod roles;
/// What is at which address.
mod routes;
/// Keys and tokens, good and bad.
mod sign_in;
/// Five worlds on one port.
mod worlds;

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::fixture::{
    AUDIENCE, Era, Http, HttpAnswer, ISSUER, TOKEN_SECRET, TestVault, claims, sectile, token,
};

/// Settings that let tokens in which are signed with the tests' secret.
fn tokens_settings() -> String {
    format!(
        "[log]\nformat = 'json'\n[server.auth.tokens]\nsecret_file = 'token-secret'\nissuer = '{ISSUER}'\n\
         audience = ['{AUDIENCE}']\n"
    )
}

/// A file beside the settings.
fn file(vault: &TestVault, name: &str) -> PathBuf {
    vault.outside().with_file_name(name)
}

/// Writes a file beside the settings.
fn beside(vault: &TestVault, name: &str, text: &str) {
    fs::write(file(vault, name), text).unwrap();
}

/// A server of the vault world that takes tokens, with more settings.
fn with_tokens<'a>(vault: &'a TestVault, more: &str) -> Http<'a> {
    beside(vault, "token-secret", TOKEN_SECRET);
    let config = vault.config(&(tokens_settings() + more));
    Http::start_with(vault, Some(&config), &[])
}

/// The same for a world that serves the folder of `vault`.
fn world_with_tokens<'a>(vault: &'a TestVault, world: &str, more: &str) -> Http<'a> {
    beside(vault, "token-secret", TOKEN_SECRET);
    let config = vault.config(&(tokens_settings() + more));
    let mut command = sectile();
    command
        .args(["serve", world])
        .arg(vault.root())
        .arg("--config")
        .arg(config);
    Http::spawn(vault, command)
}

/// Sends a signal to a server.
fn signal(server: &mut Http<'_>, name: &str) {
    let id = server.child().id().to_string();
    let told = Command::new("kill").args([name, &id]).status().unwrap();
    assert!(told.success());
}

/// The header of a token.
fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// A good token of `user`.
fn token_of(user: &str, role: &str) -> String {
    bearer(&token(&claims(user, role)))
}

/// Posts a message as whoever has this `Authorization`.
fn post_as(server: &Http<'_>, era: Era, authorization: &str, message: &Value) -> HttpAnswer {
    server.post_with(era, message, &[("Authorization", authorization)])
}

/// A call that every role may make.
fn good_call(era: Era) -> Value {
    era.call(7, "get_note_outline", json!({ "path": "inbox/one.md" }))
}

/// Every byte that a client can see of an answer, the date aside.
fn seen(answer: &HttpAnswer) -> String {
    let headers = answer.headers.join("\n");
    format!("{}\n{headers}\n\n{}", answer.status, answer.body)
}

/// The names of the tools that somebody is shown.
fn tools_of(server: &Http<'_>, era: Era, authorization: &str) -> Vec<String> {
    let list = era.request(3, "tools/list", json!({}));
    let answer = post_as(server, era, authorization, &list).json();
    let tools = answer["result"]["tools"].as_array().cloned();
    let tools = tools.unwrap_or_else(|| panic!("no tools in {answer}"));
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// Runs `sectile auth` and gives what it printed.
fn auth(vault: &TestVault, arguments: &[&str]) -> String {
    let output = sectile()
        .arg("auth")
        .args(arguments)
        .arg("--file")
        .arg(file(vault, "keys.toml"))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {log}");
    String::from_utf8(output.stdout).unwrap()
}
