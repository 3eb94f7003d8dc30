//! Keys and tokens, good and bad. Whoever does not come in sees the same answer, whatever they wanted.

use serde_json::{Value, json};

use super::{
    auth, bearer, beside, good_call, post_as, seen, token_of, tokens_settings, with_tokens,
};
use crate::fixture::{
    AUDIENCE, Era, Http, HttpAnswer, ISSUER, Signer, TOKEN_SECRET, TestVault, claims, hs256, now,
    sectile, signed, token,
};

/// The answer must be the one refusal that all get who do not sign in.
fn assert_refused(answer: &HttpAnswer, case: &str) {
    assert_eq!(answer.status, 401, "{case}: {answer:?}");
    let body = answer.json();
    assert_eq!(body["error"]["code"], -32001, "{case}");
    assert_eq!(body["error"]["data"]["kind"], "unauthenticated", "{case}");
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    assert!(challenge.starts_with("Bearer "), "{case}: {challenge}");
}

fn with(mut claims: Value, key: &str, value: Value) -> Value {
    claims[key] = value;
    claims
}

fn without(mut claims: Value, key: &str) -> Value {
    claims.as_object_mut().unwrap().remove(key);
    claims
}

#[test]
fn nobody_comes_in_without_credentials_whatever_they_want() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "[server.tools]\ndenylist = ['get_document_tree']\n");
    for era in Era::BOTH {
        let wanted = [
            good_call(era),
            era.call(7, "get_document_tree", json!({ "path": "inbox/one.md" })),
            era.call(7, "never_was", json!({})),
            era.request(7, "tools/list", json!({})),
            era.request(7, "resources/list", json!({})),
            crate::fixture::initialize(7),
        ];
        let refusals: Vec<String> = wanted
            .iter()
            .map(|message| {
                let answer = server.post(era, message);
                assert_refused(&answer, &message.to_string());
                seen(&answer)
            })
            .collect();
        for refusal in &refusals {
            assert_eq!(*refusal, refusals[0], "{era:?}");
        }
    }
    let answer = server.request("GET", "/healthz", &[], b"");
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"));
}

#[test]
fn a_refusal_says_where_to_sign_in() {
    let vault = TestVault::sample();
    let server = with_tokens(
        &vault,
        "[server.http]\npublic_url = 'https://notes.example'\n",
    );
    let answer = server.post(Era::Stateless, &good_call(Era::Stateless));
    let challenge = answer.header("www-authenticate").unwrap();
    let place = "https://notes.example/.well-known/oauth-protected-resource/mcp";
    assert!(
        challenge.contains(&format!("resource_metadata=\"{place}\"")),
        "{challenge}"
    );
    assert!(
        !challenge.contains("error="),
        "nothing was wrong yet: {challenge}"
    );
    for (path, resource) in [("", "/mcp"), ("/mcp", "/mcp"), ("/vault/mcp", "/vault/mcp")] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let answer = server.request("GET", &path, &[], b"");
        assert_eq!(answer.status, 200, "{path}");
        let document = answer.json();
        assert_eq!(
            document["resource"],
            format!("https://notes.example{resource}")
        );
        assert_eq!(document["authorization_servers"], json!([ISSUER]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
    }
    let bad = post_as(
        &server,
        Era::Stateless,
        "Bearer x",
        &good_call(Era::Stateless),
    );
    let challenge = bad.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
}

#[test]
fn good_tokens_come_in_in_both_eras() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "");
    let base = claims("ada", "viewer");
    let cases = [
        ("plain", base.clone()),
        (
            "one of several audiences",
            with(base.clone(), "aud", json!(["x", AUDIENCE])),
        ),
        ("no role", without(base.clone(), "role")),
        (
            "just expired, within the leeway",
            with(base.clone(), "exp", json!(now() - 10)),
        ),
        (
            "not yet valid, within the leeway",
            with(base.clone(), "nbf", json!(now() + 10)),
        ),
        (
            "unknown claims",
            with(base.clone(), "extra", json!({ "deep": [1] })),
        ),
    ];
    for era in Era::BOTH {
        for (case, claims) in &cases {
            let answer = post_as(&server, era, &bearer(&token(claims)), &good_call(era));
            assert_eq!(answer.status, 200, "{case}, {era:?}: {answer:?}");
            assert_eq!(answer.json()["result"]["isError"], false, "{case}");
        }
        let lower = format!("bearer {}", token(&base));
        assert_eq!(post_as(&server, era, &lower, &good_call(era)).status, 200);
    }
}

/// Tokens that nobody may come in with.
fn bad_tokens() -> Vec<(&'static str, String)> {
    let base = claims("ada", "admin");
    let head = json!({ "alg": "HS256", "typ": "JWT" });
    let unsigned = |alg: &str| signed(&json!({ "alg": alg }), &base, |_| Vec::new());
    let good = token(&base);
    let (text, signature) = good.rsplit_once('.').unwrap();
    vec![
        (
            "expired",
            token(&with(base.clone(), "exp", json!(now() - 3600))),
        ),
        ("no end", token(&without(base.clone(), "exp"))),
        (
            "an end that is no number",
            token(&with(base.clone(), "exp", json!("tomorrow"))),
        ),
        (
            "not yet valid",
            token(&with(base.clone(), "nbf", json!(now() + 3600))),
        ),
        (
            "wrong audience",
            token(&with(base.clone(), "aud", json!("somebody-else"))),
        ),
        ("no audience", token(&without(base.clone(), "aud"))),
        (
            "wrong issuer",
            token(&with(base.clone(), "iss", json!("https://evil.example"))),
        ),
        ("no issuer", token(&without(base.clone(), "iss"))),
        ("no user", token(&without(base.clone(), "sub"))),
        (
            "an empty user",
            token(&with(base.clone(), "sub", json!(""))),
        ),
        (
            "a user with a line break",
            token(&with(base.clone(), "sub", json!("a\r\nX-User-Id: b"))),
        ),
        (
            "a user that is no text",
            token(&with(base.clone(), "sub", json!(["ada"]))),
        ),
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("alg empty", unsigned("")),
        (
            "no alg",
            signed(&json!({ "typ": "JWT" }), &base, hs256(TOKEN_SECRET)),
        ),
        (
            "alg HS512",
            signed(&json!({ "alg": "HS512" }), &base, hs256(TOKEN_SECRET)),
        ),
        (
            "alg RS256",
            signed(&json!({ "alg": "RS256" }), &base, hs256(TOKEN_SECRET)),
        ),
        (
            "another secret",
            signed(&head, &base, hs256("not the secret, but as long as it is")),
        ),
        (
            "critical extension",
            signed(
                &json!({ "alg": "HS256", "crit": ["x"] }),
                &base,
                hs256(TOKEN_SECRET),
            ),
        ),
        ("no signature", format!("{text}.")),
        ("two parts", text.to_owned()),
        ("four parts", format!("{good}.x")),
        (
            "a changed signature",
            format!("{text}.{}A", &signature[..signature.len() - 2]),
        ),
        ("padding", format!("{good}=")),
        ("not base64", "a.b.c".to_owned()),
        ("empty", String::new()),
        ("dots", "..".to_owned()),
        ("too long", format!("{}.{}", "x".repeat(9000), "y")),
        ("two tokens", format!("{good} {good}")),
    ]
}

#[test]
fn bad_tokens_all_get_the_same_refusal() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "");
    let cases = bad_tokens();
    for era in Era::BOTH {
        let mut refusals = Vec::new();
        for (case, token) in &cases {
            let answer = post_as(&server, era, &bearer(token), &good_call(era));
            assert_refused(&answer, case);
            refusals.push((case, seen(&answer)));
        }
        for scheme in ["Basic YWRhOng=", "Token x", "x"] {
            assert_refused(&post_as(&server, era, scheme, &good_call(era)), scheme);
        }
        for (case, refusal) in &refusals {
            assert_eq!(*refusal, refusals[0].1, "{case}, {era:?}");
        }
    }
    let log = server.log();
    assert!(!log.contains("eyJ"), "a token is logged: {log}");
}

#[test]
fn a_key_decides_its_algorithm_and_an_unknown_key_is_refused() {
    let vault = TestVault::sample();
    let (ed, p, stranger) = (Signer::ed25519(), Signer::p256(), Signer::ed25519());
    let set = json!({ "keys": [ed.public("ed"), p.public("p")] });
    beside(&vault, "jwks.json", &set.to_string());
    let settings =
        tokens_settings().replace("secret_file = 'token-secret'", "jwks_file = 'jwks.json'");
    let config = vault.config(&settings);
    let server = Http::start_with(&vault, Some(&config), &[]);
    let claims = claims("ada", "viewer");
    for era in Era::BOTH {
        for good in [ed.token("ed", &claims), p.token("p", &claims)] {
            let answer = post_as(&server, era, &bearer(&good), &good_call(era));
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let point = p.public("p")["x"].as_str().unwrap().to_owned();
        let public = set["keys"][1].to_string();
        let hs = |secret: &str| {
            signed(
                &json!({ "alg": "HS256", "kid": "p" }),
                &claims,
                hs256(secret),
            )
        };
        let cases = [
            ("unknown key", stranger.token("nobody", &claims)),
            (
                "a stranger with a known name",
                stranger.token("ed", &claims),
            ),
            ("the name of another key", ed.token("p", &claims)),
            (
                "no name, several keys",
                signed(&json!({ "alg": "EdDSA" }), &claims, |_| vec![0; 64]),
            ),
            ("HS256 with the public point", hs(&point)),
            ("HS256 with the public entry", hs(&public)),
            ("HS256 with nothing", hs("")),
            ("HS256, though no secret is set", token(&claims)),
        ];
        for (case, bad) in cases {
            assert_refused(&post_as(&server, era, &bearer(&bad), &good_call(era)), case);
        }
    }
}

#[test]
fn credentials_that_come_twice_are_refused() {
    let vault = TestVault::sample();
    let key = auth(&vault, &["add-key", "--user", "ada"]);
    let key = key.trim();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let settings = tokens_settings().replace(
        "[server.auth.tokens]",
        "[server.auth]\nkeys_file = 'keys.toml'\n[server.auth.tokens]",
    );
    let config = vault.config(&settings);
    let server = Http::start_with(&vault, Some(&config), &[]);
    let token = token_of("ada", "viewer");
    let cases: [&[(&str, &str)]; 4] = [
        &[("Authorization", &token), ("Authorization", &token)],
        &[("Authorization", &token), ("X-Api-Key", key)],
        &[("X-Api-Key", key), ("X-Api-Key", key)],
        &[
            ("Authorization", &token),
            ("X-Vault-Id", "default"),
            ("X-Vault-Id", "default"),
        ],
    ];
    for era in Era::BOTH {
        for headers in cases {
            let answer = server.post_with(era, &good_call(era), headers);
            assert_eq!(answer.status, 400, "{headers:?}: {answer:?}");
            assert_eq!(
                answer.json()["error"]["data"]["kind"],
                "ambiguous_credentials"
            );
        }
        for headers in [[("Authorization", token.as_str())], [("X-Api-Key", key)]] {
            assert_eq!(server.post_with(era, &good_call(era), &headers).status, 200);
        }
    }
}

#[test]
fn keys_come_in_until_they_are_revoked() {
    let vault = TestVault::sample();
    let key = auth(&vault, &["add-key", "--user", "ada", "--role", "editor"]);
    let other = auth(&vault, &["add-key", "--user", "eve"]);
    let (key, other) = (key.trim(), other.trim());
    let listed = auth(&vault, &["list"]);
    assert!(listed.contains("ada") && listed.contains("eve"), "{listed}");
    assert!(!listed.contains(key), "a key is shown once only");
    let config = vault.config("[server.auth]\nkeys_file = 'keys.toml'\n");
    let server = Http::start_with(&vault, Some(&config), &[]);
    for era in Era::BOTH {
        for key in [key, other] {
            let as_key = server.post_with(era, &good_call(era), &[("X-Api-Key", key)]);
            assert_eq!(as_key.status, 200, "{as_key:?}");
            let as_bearer = post_as(&server, era, &bearer(key), &good_call(era));
            assert_eq!(as_bearer.status, 200, "{as_bearer:?}");
        }
        let mut wrong = key.to_owned();
        let last = wrong.pop().unwrap();
        wrong.push(if last == 'A' { 'B' } else { 'A' });
        for bad in [
            wrong.as_str(),
            "sectile_0000000000000000_x",
            "sectile_",
            "x",
            "",
        ] {
            let answer = server.post_with(era, &good_call(era), &[("X-Api-Key", bad)]);
            assert_refused(&answer, bad);
        }
    }
    drop(server);
    let id = key.split('_').nth(1).unwrap();
    auth(&vault, &["revoke", id]);
    let server = Http::start_with(&vault, Some(&config), &[]);
    let era = Era::Stateless;
    let revoked = server.post_with(era, &good_call(era), &[("X-Api-Key", key)]);
    assert_refused(&revoked, "revoked");
    let unknown = server.post_with(
        era,
        &good_call(era),
        &[("X-Api-Key", "sectile_0000000000000000_x")],
    );
    assert_eq!(seen(&revoked), seen(&unknown));
    assert_eq!(
        server
            .post_with(era, &good_call(era), &[("X-Api-Key", other)])
            .status,
        200
    );
}

#[test]
fn a_server_without_auth_stays_on_this_machine() {
    let vault = TestVault::sample();
    let root = vault.root();
    let start = |config: &str| {
        let config = vault.config(config);
        let output = sectile()
            .args(["serve", "vault"])
            .arg(&root)
            .args(["--http", "0.0.0.0:0", "--config"])
            .arg(config)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refused = start("");
    assert!(
        refused.contains("loopback") && refused.contains("[server.auth]"),
        "{refused}"
    );
}

#[test]
fn a_secret_is_in_no_output_of_config_show() {
    let vault = TestVault::sample();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let config = vault.config(&tokens_settings());
    let output = sectile()
        .args(["config", "show", "--config"])
        .arg(config)
        .output()
        .unwrap();
    assert!(output.status.success());
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("token-secret"), "{shown}");
    assert!(!shown.contains(TOKEN_SECRET), "{shown}");
}
