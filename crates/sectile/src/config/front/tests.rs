//! HTTP and sign-in settings that must be refused, and the results of those that are accepted.

use super::*;
use crate::config::{layers::load_with, settings::Settings};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Resolves a settings file with this text, in a folder with a few other files.
fn resolve(text: &str, environment: &[(&str, &str)]) -> Result<Settings, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let written = crate::files::write_sample(&folder.path().join(name), text);
        written.expect("a file can be written");
    };
    write("sectile.toml", text);
    write("secret", &format!("  {SECRET}\n"));
    write("short", "tooshort");
    write("empty", " \n");
    let environment: Vec<(String, String)> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let file = folder.path().join("sectile.toml");
    let loaded = load_with(Some(&file), &environment, &[]).map_err(|error| error.to_string())?;
    Settings::resolve(&loaded, folder.path()).map_err(|error| error.to_string())
}

fn tokens(more: &str) -> String {
    format!("[server.auth.tokens]\nissuer = 'https://issuer.example'\n{more}")
}

/// Unusable ways to sign in, with the setting that the message names.
fn bad_tokens_and_keys() -> Vec<(&'static str, String, &'static str)> {
    vec![
        (
            "no issuer",
            "[server.auth.tokens]\nsecret_file = 'secret'\n".to_owned(),
            "issuer",
        ),
        ("no file", tokens("secret_file = 'none'\n"), "secret_file"),
        (
            "short secret",
            tokens("secret_file = 'short'\n"),
            "secret_file",
        ),
        (
            "empty secret",
            tokens("secret_file = 'empty'\n"),
            "secret_file",
        ),
        (
            "no variable",
            tokens("secret_env = 'SECTILE_TEST_NOT_SET'\n"),
            "secret_env",
        ),
        (
            "two secrets",
            tokens("secret_file = 'secret'\nsecret_env = 'HOME'\n"),
            "secret_env",
        ),
        ("no URL", tokens("jwks_url = 'ftp://x'\n"), "jwks_url"),
        (
            "a user in the URL",
            tokens("jwks_url = 'https://me:pw@x'\n"),
            "jwks_url",
        ),
        (
            "two sets",
            tokens("jwks_file = 'secret'\njwks_url = 'https://x'\n"),
            "jwks_url",
        ),
        (
            "no keys",
            "[server.auth]\nkeys_file = 'none'\n".to_owned(),
            "keys_file",
        ),
        (
            "not keys",
            "[server.auth]\nkeys_file = 'secret'\n".to_owned(),
            "keys_file",
        ),
    ]
}

/// Unusable paths, addresses and names, with the setting that the message names.
fn bad_places() -> Vec<(&'static str, String, &'static str)> {
    vec![
        (
            "a context without tokens",
            "[server.auth.context]\nurl = 'https://x'\n".to_owned(),
            "context.url",
        ),
        (
            "a certificate without a key",
            "[server.http]\ntls_certificate = 'secret'\n".to_owned(),
            "tls_key",
        ),
        (
            "no certificate",
            "[server.http]\ntls_certificate = 'secret'\ntls_key = 'secret'\n".to_owned(),
            "tls_certificate",
        ),
        (
            "no address",
            "[server.metrics]\nbind = 'x'\n".to_owned(),
            "metrics.bind",
        ),
        (
            "no proxy",
            "[server.http]\ntrusted_proxies = ['x']\n".to_owned(),
            "trusted_proxies",
        ),
        (
            "no public URL",
            "[server.http]\npublic_url = 'notes.example'\n".to_owned(),
            "public_url",
        ),
        (
            "elsewhere without auth",
            "[server.http]\nbind = '0.0.0.0:1'\n".to_owned(),
            "bind",
        ),
        (
            "a role's misspelt tool",
            "[server.auth.roles]\nviewer = ['undoo']\n".to_owned(),
            "roles.viewer",
        ),
        (
            "an unknown role",
            "[server.auth.roles]\nowner = []\n".to_owned(),
            "owner",
        ),
        (
            "no store",
            "[hosted]\nstore_url = 'x'\n".to_owned(),
            "store_url",
        ),
        (
            "no proxy of the store",
            "[hosted]\nstore_url = 'http://x'\nproxy = '/'\n".to_owned(),
            "hosted.proxy",
        ),
        (
            "no roots of the store",
            "[hosted]\nstore_url = 'http://x'\nca_file = 'secret'\n".to_owned(),
            "ca_file",
        ),
    ]
}

#[test]
fn what_cannot_be_used_is_refused_by_name_and_shows_no_secret() {
    for (case, text, named) in bad_tokens_and_keys().into_iter().chain(bad_places()) {
        let error = resolve(&text, &[])
            .err()
            .unwrap_or_else(|| panic!("{case} passes"));
        assert!(error.contains(named), "{case}: {error}");
        assert!(
            !error.contains(SECRET) && !error.contains("pw"),
            "{case}: {error}"
        );
        assert!(!error.contains("/secret"), "{case}: {error}");
    }
}

#[test]
fn a_secret_comes_from_a_file_or_a_variable_without_space_around_it() {
    let from_file = resolve(&tokens("secret_file = 'secret'\n"), &[]).expect("it is complete");
    let auth = from_file.access.auth.expect("people sign in");
    let tokens_settings = auth.tokens.expect("tokens are accepted");
    assert_eq!(tokens_settings.secret.expect("a secret").reveal(), SECRET);
    assert_eq!(
        tokens_settings.authorization_servers,
        ["https://issuer.example"]
    );
    assert!(auth.keys.is_none() && auth.context.is_none());
}

#[test]
fn with_a_way_to_sign_in_any_address_will_do() {
    let text = tokens("secret_file = 'secret'\n") + "[server.http]\nbind = '0.0.0.0:80'\n";
    let settings = resolve(&text, &[]).expect("it is complete");
    assert!(settings.front.bind.ip().is_unspecified());
    assert!(resolve("", &[]).expect("defaults").access.auth.is_none());
}

#[test]
fn roots_of_a_role_are_checked_against_those_of_the_worlds() {
    let text = "[server.auth.role_roots]\nviewer = ['work', 'homes']\nadmin = ['work']\n";
    let settings = resolve(text, &[]).expect("no world here names its roots");
    assert_ne!(settings.access.roles, Acl::default());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sectile.toml");
    crate::files::write_sample(&file, text).expect("a file can be written");
    let loaded = load_with(Some(&file), &[], &[]).expect("it can be read");
    let known = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    let roots = role_roots(&loaded, known(&["work", "homes", "lab"])).expect("all are known");
    assert_eq!(
        roots[0],
        (Role::Viewer, vec!["work".to_owned(), "homes".to_owned()])
    );
    assert_eq!(roots[1], (Role::Editor, Vec::new()));
    let refused = role_roots(&loaded, known(&["work", "home"])).expect_err("one is not");
    let refused = refused.to_string();
    assert!(
        refused.contains("`server.auth.role_roots.viewer` names `homes`"),
        "{refused}"
    );
    assert!(refused.contains("`home`"), "{refused}");
    assert!(!refused.contains("admin"), "{refused}");
}
