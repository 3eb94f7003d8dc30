//! Which headers sign in which caller, and for which vault.

use serde_json::json;

use super::*;
use crate::access::{
    KeyHolder, Role,
    testing::{
        self, AuthResult, HERE, ISSUER, SECRET, Signer, TestOrigin, claims, claims_with, client,
        clock, headers, settings, tokens, with_secret,
    },
};

const NOW: &str = "2026-11-15T12:00:00Z";

/// Accepts keys and tokens; returned with the text of a key of `eve` that is valid for `vaults`.
fn with_key(vaults: &[&str]) -> (Authenticator, String) {
    let mut keys = KeyFile::default();
    let holder = KeyHolder {
        user: "eve".to_owned(),
        role: Role::Editor,
        vaults: vaults.iter().map(|&vault| vault.to_owned()).collect(),
        roots: None,
    };
    let key = keys.add(holder, NOW).unwrap();
    let mut settings = settings(tokens(Some(SECRET), None));
    settings.keys = Some(keys);
    let authenticator = Authenticator::new(settings).unwrap();
    (authenticator, key.text.reveal().to_owned())
}

fn bearer_of(text: &str) -> String {
    format!("Bearer {text}")
}

/// Returns the sender of a request, without the mark of the key, which is random.
async fn ask(authenticator: &Authenticator, headers: &HeaderMap) -> AuthResult {
    let answer = testing::ask(authenticator, headers).await;
    answer.map(|identity| Identity {
        mark: None,
        ..identity
    })
}

fn eve(vault: &str) -> AuthResult {
    Ok(Identity {
        key: "key:eve".to_owned(),
        user: "eve".to_owned(),
        effective_user: None,
        vault: vault.to_owned(),
        role: Role::Editor,
        roots: None,
        token: None,
        mark: None,
        expires: None,
    })
}

#[tokio::test]
async fn keys_come_in_either_header() {
    let (authenticator, key) = with_key(&[]);
    for list in [
        [("x-api-key", key.as_str())],
        [("authorization", &bearer_of(&key))],
        [("authorization", &format!("bearer {key}"))],
        [("authorization", &format!("BEARER  {key}"))],
    ] {
        assert_eq!(ask(&authenticator, &headers(&list)).await, eve("default"));
    }
    let token = Signer::secret().token("", &claims("eve"));
    let authorization = bearer_of(&token);
    let list = headers(&[("authorization", &authorization)]);
    let identity = ask(&authenticator, &list).await.unwrap();
    // The same name, but a different caller.
    assert_eq!(identity.key, "token:eve");
    assert_eq!(identity.token, Some(Secret::new(token.as_str())));
    assert!(!format!("{identity:?}").contains(&token));
    // A token is not a key.
    let answer = ask(&authenticator, &headers(&[("x-api-key", &token)])).await;
    assert_eq!(answer, Err(AccessDenial::Invalid("unknown_api_key")));
}

#[tokio::test]
async fn headers_that_say_two_things_are_refused() {
    let (authenticator, key) = with_key(&["one", "two"]);
    let bearer = bearer_of(&key);
    let (bearer, key) = (
        ("authorization", bearer.as_str()),
        ("x-api-key", key.as_str()),
    );
    let (one, two) = (("x-vault-id", "one"), ("x-vault-id", "two"));
    let basic = ("authorization", "Basic abc");
    for list in [
        &[bearer, key][..],
        &[key, bearer],
        &[bearer, bearer],
        &[key, key],
        &[bearer, basic],
        &[basic, bearer],
        &[basic, key],
        &[("authorization", ""), bearer],
        &[("x-api-key", ""), bearer],
        &[key, one, two],
        &[key, one, one],
        &[key, one, ("x-vault-id", "")],
    ] {
        let answer = ask(&authenticator, &headers(list)).await;
        assert_eq!(answer, Err(AccessDenial::Ambiguous), "{list:?}");
    }
    assert_eq!(ask(&authenticator, &headers(&[key, two])).await, eve("two"));
}

#[tokio::test]
async fn without_credentials_nobody_is_let_in() {
    let (authenticator, key) = with_key(&[]);
    let nothing = [
        headers(&[]),
        headers(&[("x-vault-id", "default"), ("cookie", &key)]),
    ];
    for headers in nothing {
        let answer = ask(&authenticator, &headers).await;
        assert_eq!(answer, Err(AccessDenial::Missing));
    }
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer =",
        "Bearer a b",
        "Bearer a,b",
        "Bearer a=b",
        "Bearer \"abc\"",
        "Bearer\tabc",
        "Basic abc",
        "Token abc",
        &key,
        &format!("Bearer {key} {key}"),
        &format!("Bearer {key}, Bearer {key}"),
    ] {
        let answer = ask(&authenticator, &headers(&[("authorization", value)])).await;
        assert_eq!(answer, Err(AccessDenial::Invalid("malformed")), "{value:?}");
    }
    for name in ["authorization", "x-api-key"] {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap();
        headers.insert(name, value);
        let answer = ask(&authenticator, &headers).await;
        assert_eq!(answer, Err(AccessDenial::Invalid("malformed")));
    }
    for value in ["", "sectile_", "x", &key[1..], &format!("{key}x")] {
        let answer = ask(&authenticator, &headers(&[("x-api-key", value)])).await;
        assert_eq!(
            answer,
            Err(AccessDenial::Invalid("unknown_api_key")),
            "{value:?}"
        );
    }
}

#[tokio::test]
async fn a_world_may_take_tokens_only() {
    let (authenticator, key) = with_key(&[]);
    let token = Signer::secret().token("", &claims("ann"));
    let wrong = format!("sectile_0123456789abcdef_{}", "A".repeat(43));
    let refused = Some(AccessDenial::Invalid("key_not_accepted"));
    for (list, expected) in [
        ([("x-api-key", key.as_str())], refused),
        ([("authorization", &bearer_of(&key))], refused),
        // The answer does not reveal whether it would be valid elsewhere.
        ([("x-api-key", &wrong)], refused),
        ([("authorization", &bearer_of(&token))], None),
    ] {
        let headers = headers(&list);
        let asked = RequestCredentials {
            headers: &headers,
            audience: HERE,
            tokens_only: true,
        };
        assert_eq!(authenticator.authenticate(asked).await.err(), expected);
    }
}

#[tokio::test]
async fn what_is_not_configured_is_not_taken() {
    let (_, key) = with_key(&[]);
    let no_keys = with_secret();
    let answer = ask(&no_keys, &headers(&[("x-api-key", &key)])).await;
    assert_eq!(answer, Err(AccessDenial::Invalid("key_not_accepted")));
    let answer = ask(&no_keys, &headers(&[("authorization", &bearer_of(&key))])).await;
    assert_eq!(answer, Err(AccessDenial::Invalid("malformed")));
    assert_eq!(
        no_keys.token_sources(),
        Some(&TokenSources {
            authorization_servers: vec![ISSUER.to_owned()]
        })
    );

    let no_tokens = Authenticator::new(AuthSettings {
        keys: Some(KeyFile::default()),
        tokens: None,
        context: None,
        clock,
    });
    let no_tokens = no_tokens.unwrap();
    let token = bearer_of(&Signer::secret().token("", &claims("ann")));
    let answer = ask(&no_tokens, &headers(&[("authorization", &token)])).await;
    assert_eq!(answer, Err(AccessDenial::Invalid("unknown_key")));
    assert_eq!(no_tokens.token_sources(), None);

    let nothing = Authenticator::new(AuthSettings {
        keys: None,
        tokens: None,
        context: None,
        clock,
    });
    assert!(nothing.is_err());
}

#[tokio::test]
async fn a_revoked_key_is_refused() {
    let (authenticator, text) = with_key(&[]);
    let mut keys = authenticator.keys.clone().unwrap();
    let id = keys.entries().next().unwrap().id.to_owned();
    assert!(keys.revoke(&id, NOW));
    let authenticator = Authenticator::new(AuthSettings {
        keys: Some(keys),
        tokens: None,
        context: None,
        clock,
    });
    let answer = ask(&authenticator.unwrap(), &headers(&[("x-api-key", &text)])).await;
    assert_eq!(answer, Err(AccessDenial::Invalid("revoked_api_key")));
}

#[tokio::test]
async fn the_vault_is_one_that_is_allowed() {
    let origin = TestOrigin::saying(200, "{}");
    let mut with_context = settings(tokens(Some(SECRET), None));
    with_context.context = Some(ContextSettings {
        url: origin.target(""),
        keep: std::time::Duration::ZERO,
        client: client(),
    });
    let with_context = Authenticator::new(with_context).unwrap();
    let without = with_secret();
    // What is allowed, what is asked for, and the result without an endpoint and with one.
    let cases = [
        (json!(null), None, Some("default"), Some("default")),
        (
            json!(null),
            Some("default"),
            Some("default"),
            Some("default"),
        ),
        (json!(null), Some("one"), None, Some("one")),
        (json!(null), Some(""), None, None),
        (json!(null), Some("a b"), None, None),
        (json!("one"), None, Some("one"), Some("one")),
        (json!("one"), Some("one"), Some("one"), Some("one")),
        (json!("one"), Some("default"), None, None),
        (json!(["one", "two"]), None, Some("one"), Some("one")),
        (json!(["one", "two"]), Some("two"), Some("two"), Some("two")),
        (json!(["one", "two"]), Some("three"), None, None),
        (json!(["one", "two"]), Some("One"), None, None),
        (json!(["one", "two"]), Some("one,two"), None, None),
        (json!(["one", "two"]), Some("*"), None, None),
        (json!(["one", "two"]), Some(""), None, None),
        (json!([]), None, None, None),
        (json!([]), Some("default"), None, None),
        (json!(["*"]), Some("one"), None, None),
    ];
    for (allowed, asked, alone, in_context) in cases {
        let token = Signer::secret().token("", &claims_with(json!({"vaults": allowed})));
        let authorization = bearer_of(&token);
        let mut list = vec![("authorization", authorization.as_str())];
        list.extend(asked.map(|vault| ("x-vault-id", vault)));
        for (authenticator, expected) in [(&without, alone), (&with_context, in_context)] {
            let answer = ask(authenticator, &headers(&list)).await;
            let vault = answer.map(|identity| identity.vault);
            let expected = expected.map(str::to_owned).ok_or(AccessDenial::NoAccess);
            assert_eq!(vault, expected, "{allowed} {asked:?}");
        }
    }
    let cases: [(&[&str], Option<&str>, Option<&str>); 6] = [
        (&[], None, Some("default")),
        (&[], Some("default"), Some("default")),
        (&[], Some("one"), None),
        (&["one", "two"], None, Some("one")),
        (&["one", "two"], Some("two"), Some("two")),
        (&["one", "two"], Some("default"), None),
    ];
    for (allowed, asked, expected) in cases {
        let (authenticator, key) = with_key(allowed);
        let mut list = vec![("x-api-key", key.as_str())];
        list.extend(asked.map(|vault| ("x-vault-id", vault)));
        let answer = ask(&authenticator, &headers(&list)).await;
        let vault = answer.map(|identity| identity.vault);
        let expected = expected.map(str::to_owned).ok_or(AccessDenial::NoAccess);
        assert_eq!(vault, expected, "{allowed:?} {asked:?}");
    }
}

#[tokio::test]
async fn a_key_is_not_looked_up_elsewhere() {
    let origin = TestOrigin::saying(
        200,
        r#"{"role":"admin","effective_canister_user_id":"bob"}"#,
    );
    let (authenticator, key) = with_key(&[]);
    let mut with_context = settings(tokens(Some(SECRET), None));
    with_context.keys = authenticator.keys;
    with_context.context = Some(ContextSettings {
        url: origin.target(""),
        keep: std::time::Duration::ZERO,
        client: client(),
    });
    let with_context = Authenticator::new(with_context).unwrap();
    let answer = ask(&with_context, &headers(&[("x-api-key", &key)])).await;
    assert_eq!(answer, eve("default"));
    assert_eq!(origin.times(), 0);
}

#[test]
fn problems_with_settings_show_no_secret() {
    let broken = "{\"keys\": [{\"kty\": \"oct\", \"k\": \"VERYSECRET\"}]}";
    let source = crate::access::KeySetSource::Text(broken.to_owned());
    let refused = Authenticator::new(settings(tokens(Some(SECRET), Some(source))));
    let problem = refused.err().unwrap();
    assert!(!problem.contains("SECRET"), "{problem}");
}

#[tokio::test]
async fn a_key_is_confirmed_as_long_as_it_would_sign_the_same_caller_in() {
    let holder = |role, vaults: &[&str]| KeyHolder {
        user: "eve".to_owned(),
        role,
        vaults: vaults.iter().map(|&vault| vault.to_owned()).collect(),
        roots: None,
    };
    let mut keys = KeyFile::default();
    let key = keys
        .add(holder(Role::Editor, &["one", "two"]), NOW)
        .unwrap();
    let with = |keys: &KeyFile| {
        let mut settings = settings(tokens(Some(SECRET), None));
        settings.keys = Some(keys.clone());
        Authenticator::new(settings).unwrap()
    };
    let list = headers(&[("x-api-key", key.text.reveal()), ("x-vault-id", "two")]);
    let identity = testing::ask(&with(&keys), &list).await.unwrap();
    let mark = identity.mark.clone().unwrap();
    assert_eq!(with(&keys).confirm(&identity, &HERE).await, Ok(()));
    assert!(with(&keys).knows(&mark));
    let text = keys.to_text();
    for (change, by) in [
        ("role = \"editor\"", "role = \"viewer\""),
        ("\"two\"", "\"three\""),
        ("user = \"eve\"", "user = \"mal\""),
        ("created =", "roots = [\"work\"]\ncreated ="),
    ] {
        let changed = KeyFile::parse(&text.replace(change, by)).unwrap();
        let refused = with(&changed).confirm(&identity, &HERE).await;
        assert_eq!(refused, Err(AccessDenial::NoAccess), "{change}");
    }
    // Another key under the same id is a different key.
    let mut others = KeyFile::default();
    let other = others.add(holder(Role::Editor, &["two"]), NOW).unwrap();
    let posing = KeyFile::parse(&others.to_text().replace(&other.id, &key.id)).unwrap();
    assert!(!with(&posing).knows(&mark));
    keys.revoke(&key.id, NOW);
    assert!(!with(&keys).knows(&mark));
    let refused = with(&keys).confirm(&identity, &HERE).await;
    assert_eq!(refused, Err(AccessDenial::Invalid("revoked_api_key")));
    assert!(with_secret().confirm(&identity, &HERE).await.is_err());
}

#[tokio::test]
async fn a_token_is_confirmed_until_it_expires_or_would_not_be_taken() {
    let authenticator = with_secret();
    let token = Signer::secret().token("", &claims("ann"));
    let identity = testing::ask_with(&authenticator, &token).await.unwrap();
    assert_eq!(identity.expires, Some(testing::end()));
    assert_eq!(authenticator.confirm(&identity, &HERE).await, Ok(()));
    let elsewhere = ["https://elsewhere.example/mcp"];
    assert!(authenticator.confirm(&identity, &elsewhere).await.is_err());
    let other = "another secret of these tests, also 32 bytes or more";
    let rotated = Authenticator::new(settings(tokens(Some(other), None))).unwrap();
    assert!(rotated.confirm(&identity, &HERE).await.is_err());
    testing::pass(Duration::from_secs(329));
    assert_eq!(authenticator.confirm(&identity, &HERE).await, Ok(()));
    testing::pass(Duration::from_secs(1));
    assert_eq!(authenticator.now(), testing::end());
    let refused = authenticator.confirm(&identity, &HERE).await;
    assert_eq!(refused, Err(AccessDenial::Invalid("expired")));
}

#[tokio::test]
async fn whoever_sent_too_much_is_refused_before_anybody_is_asked_about_them() {
    let origin = TestOrigin::saying(200, r#"{"role":"editor"}"#);
    let mut settings = settings(tokens(Some(SECRET), None));
    settings.context = Some(ContextSettings {
        url: origin.target(""),
        keep: Duration::from_secs(10),
        client: client(),
    });
    let authenticator = Authenticator::new(settings).unwrap();
    let token = Signer::secret().token("", &claims("ann"));
    let authorization = bearer_of(&token);
    let list = headers(&[("authorization", &authorization)]);
    let asked = RequestCredentials {
        headers: &list,
        audience: HERE,
        tokens_only: false,
    };
    let wait = Duration::from_secs(3);
    let refused = authenticator
        .authenticate_within(asked, |caller| {
            assert_eq!(caller, "token:ann");
            Err(wait)
        })
        .await;
    assert_eq!(refused, Err(AccessDenial::TooMany(wait)));
    assert_eq!(origin.times(), 0);
    assert!(authenticator.authenticate(asked).await.is_ok());
    assert_eq!(origin.times(), 1);
}
