//! Answers of the endpoint, and for whom they are cached.

use serde_json::json;

use super::*;
use crate::access::{
    Authenticator, Identity,
    testing::{
        AuthResult, SECRET, START, Signer, TestOrigin, ask, claims_with, client, clock, headers,
        pass, settings, tokens,
    },
};

/// Asks `origin` for roles, and caches its answers for ten seconds.
fn asking(origin: &TestOrigin) -> Authenticator {
    let mut settings = settings(tokens(Some(SECRET), None));
    settings.context = Some(ContextSettings {
        url: origin.target("/api/v1/hosted-context"),
        keep: Duration::from_secs(10),
        client: client(),
    });
    Authenticator::new(settings).unwrap()
}

fn token(changes: serde_json::Value) -> String {
    let mut claims = claims_with(changes);
    claims["exp"] = json!(START + 100_000);
    Signer::secret().token("", &claims)
}

async fn ask_in(authenticator: &Authenticator, token: &str, vault: &str) -> AuthResult {
    let authorization = format!("Bearer {token}");
    let headers = headers(&[("authorization", &authorization), ("x-vault-id", vault)]);
    ask(authenticator, &headers).await
}

#[tokio::test]
async fn it_is_asked_with_the_token_and_the_vault() {
    let origin = TestOrigin::saying(200, "{}");
    let authenticator = asking(&origin);
    let token = token(json!({}));
    ask_in(&authenticator, &token, "one").await.unwrap();
    let port = origin.port();
    let head = format!(
        "GET /api/v1/hosted-context HTTP/1.1\r\naccept: application/json\r\nauthorization: Bearer {token}\r\n\
         x-vault-id: one\r\nhost: 127.0.0.1:{port}\r\n\r\n"
    );
    assert_eq!(origin.heads(), [head]);
}

#[tokio::test]
async fn what_it_says_counts() {
    let good: [(u16, &str, Role, Option<&str>); 12] = [
        (
            200,
            r#"{"role":"admin","effective_canister_user_id":"bob"}"#,
            Role::Admin,
            Some("bob"),
        ),
        (
            200,
            r#"{"role":" editor\n","effective_canister_user_id":" bob "}"#,
            Role::Editor,
            Some("bob"),
        ),
        (200, r#"{"role":"evaluator"}"#, Role::Evaluator, None),
        (
            200,
            r#"{"role":"evaluator","extra":{"role":"admin"}}"#,
            Role::Evaluator,
            None,
        ),
        (200, r#"{"role":"owner"}"#, Role::Viewer, None),
        (200, r#"{"role":"ADMIN"}"#, Role::Viewer, None),
        (200, r#"{"role":""}"#, Role::Viewer, None),
        (200, r#"{"role":null}"#, Role::Viewer, None),
        (
            200,
            r#"{"effective_canister_user_id":"bob"}"#,
            Role::Viewer,
            Some("bob"),
        ),
        (
            200,
            r#"{"effective_canister_user_id":"  "}"#,
            Role::Viewer,
            None,
        ),
        (
            200,
            r#"{"effective_canister_user_id":null}"#,
            Role::Viewer,
            None,
        ),
        (200, "{}", Role::Viewer, None),
    ];
    // Neither role nor effective user of the token is dropped silently: one is replaced, the other is a fallback.
    let plain = token(json!({"role": "admin"}));
    let acting = token(json!({"role": "admin", "acts_for": "carl"}));
    for (status, body, role, effective_user) in good {
        let origin = TestOrigin::saying(status, body);
        let authenticator = asking(&origin);
        let identity = ask_in(&authenticator, &plain, "one").await.unwrap();
        let expected = Identity {
            key: "token:ann".to_owned(),
            user: "ann".to_owned(),
            effective_user: effective_user.map(str::to_owned),
            vault: "one".to_owned(),
            role,
            roots: None,
            token: Some(crate::access::Secret::new(plain.clone())),
            mark: None,
            expires: identity.expires,
        };
        assert_eq!(identity, expected, "{body}");
        let identity = ask_in(&authenticator, &acting, "one").await.unwrap();
        assert_eq!(identity.upstream_user(), effective_user.unwrap_or("carl"));
        assert_eq!(identity.role, role, "{body}");
    }
}

#[tokio::test]
async fn what_is_no_answer_lets_nobody_in() {
    let bad = [
        (401, "{}", AccessDenial::NoAccess),
        (403, "{}", AccessDenial::NoAccess),
        (404, "{}", AccessDenial::NoAccess),
        (400, "{}", AccessDenial::Unavailable),
        (429, "{}", AccessDenial::Unavailable),
        (500, "{}", AccessDenial::Unavailable),
        (302, "{}", AccessDenial::Unavailable),
        (201, "{}", AccessDenial::Unavailable),
        (204, "", AccessDenial::Unavailable),
        (200, "", AccessDenial::Unavailable),
        (200, "null", AccessDenial::Unavailable),
        (200, r#""admin""#, AccessDenial::Unavailable),
        (200, r#"{"role":1}"#, AccessDenial::Unavailable),
        (200, r#"{"role":["admin"]}"#, AccessDenial::Unavailable),
        (
            200,
            r#"{"role":"admin","role":"viewer"}"#,
            AccessDenial::Unavailable,
        ),
        (
            200,
            r#"{"effective_canister_user_id":7}"#,
            AccessDenial::Unavailable,
        ),
        (
            200,
            r#"{"effective_canister_user_id":"a b"}"#,
            AccessDenial::Unavailable,
        ),
        (
            200,
            r#"{"effective_canister_user_id":"a\r\nx: y"}"#,
            AccessDenial::Unavailable,
        ),
    ];
    let token = token(json!({"role": "admin"}));
    for (status, body, denied) in bad {
        let authenticator = asking(&TestOrigin::saying(status, body));
        let answer = ask_in(&authenticator, &token, "one").await;
        assert_eq!(answer, Err(denied), "{status} {body}");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_somebody_who_has_not_signed_in() {
    let origin = TestOrigin::saying(200, r#"{"role":"admin"}"#);
    let authenticator = asking(&origin);
    let expired = Signer::secret().token("", &claims_with(json!({"exp": START - 100})));
    let answer = ask_in(&authenticator, &expired, "one").await;
    assert_eq!(answer, Err(AccessDenial::Invalid("expired")));
    // Nor about a vault that the token is not valid for.
    let limited = token(json!({"vaults": ["one"]}));
    let answer = ask_in(&authenticator, &limited, "two").await;
    assert_eq!(answer, Err(AccessDenial::NoAccess));
    assert_eq!(origin.times(), 0);
}

#[tokio::test]
async fn answers_are_kept_for_a_while_and_refusals_for_less() {
    let origin = TestOrigin::saying(200, r#"{"role":"admin"}"#);
    let authenticator = asking(&origin);
    let token = token(json!({}));
    for _ in 0..2 {
        let identity = ask_in(&authenticator, &token, "one").await.unwrap();
        assert_eq!(identity.role, Role::Admin);
        pass(Duration::from_millis(4999));
    }
    assert_eq!(origin.times(), 1);
    origin.now_says(403, "");
    assert!(ask_in(&authenticator, &token, "one").await.is_ok());
    pass(Duration::from_millis(2));
    for _ in 0..2 {
        let answer = ask_in(&authenticator, &token, "one").await;
        assert_eq!(answer, Err(AccessDenial::NoAccess));
    }
    assert_eq!(origin.times(), 2);
    origin.now_says(500, "");
    pass(Duration::from_secs(1));
    for _ in 0..2 {
        let answer = ask_in(&authenticator, &token, "one").await;
        assert_eq!(answer, Err(AccessDenial::Unavailable));
    }
    assert_eq!(origin.times(), 3);
    origin.now_says(200, r#"{"role":"editor"}"#);
    pass(Duration::from_secs(1));
    let identity = ask_in(&authenticator, &token, "one").await.unwrap();
    assert_eq!(identity.role, Role::Editor);
    assert_eq!(origin.times(), 4);
}

/// Returns the value of a header in a head.
fn value<'a>(head: &'a str, name: &str) -> &'a str {
    let line = head.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start_matches(": ")
}

#[tokio::test]
async fn users_and_vaults_never_mix() {
    // Echoes who asked about what, so that an answer for another caller is noticed.
    let of = ["ann", "bob"].map(|user| {
        [None, Some("carl"), Some("dora")].map(|acts_for| {
            let claims = json!({"sub": user, "acts_for": acts_for});
            (user, acts_for, token(claims))
        })
    });
    let all: Vec<_> = of.into_iter().flatten().collect();
    let known = all.clone();
    let origin = TestOrigin::new(move |head| {
        let bearer = value(head, "authorization")
            .strip_prefix("Bearer ")
            .unwrap();
        let (user, acts_for, _) = known.iter().find(|(_, _, token)| token == bearer).unwrap();
        let vault = value(head, "x-vault-id");
        let who = format!("{user}-{}-{vault}", acts_for.unwrap_or("nobody"));
        (200, json!({"effective_canister_user_id": who}).to_string())
    });
    let authenticator = asking(&origin);
    for _ in 0..3 {
        let asked = (0..120).map(|index| {
            let (user, acts_for, token) = &all[index % all.len()];
            let vault = ["one", "two"][(index / all.len()) % 2];
            let authenticator = &authenticator;
            async move {
                let identity = ask_in(authenticator, token, vault).await.unwrap();
                let who = format!("{user}-{}-{vault}", acts_for.unwrap_or("nobody"));
                assert_eq!(identity.effective_user, Some(who));
                assert_eq!(identity.user, *user);
                assert_eq!(identity.vault, vault);
                assert_eq!(identity.token.unwrap().reveal(), token);
            }
        });
        futures::future::join_all(asked).await;
    }
    // Each was asked for once, however many requests came at the same time.
    assert_eq!(origin.times(), 2 * all.len());
}

#[tokio::test]
async fn names_that_look_alike_when_put_together_are_kept_apart() {
    let origin = TestOrigin::new(|head| {
        let who = value(head, "x-vault-id").to_owned();
        (200, json!({"effective_canister_user_id": who}).to_string())
    });
    let authenticator = asking(&origin);
    for (user, vault) in [
        ("a", "b|c"),
        ("a|b", "c"),
        ("a", "b"),
        ("ab", "c"),
        ("a", "bc"),
    ] {
        let token = token(json!({"sub": user}));
        let identity = ask_in(&authenticator, &token, vault).await.unwrap();
        assert_eq!(identity.effective_user.as_deref(), Some(vault));
    }
    assert_eq!(origin.times(), 5);
}

#[tokio::test]
async fn not_too_many_answers_are_kept() {
    let origin = TestOrigin::saying(200, "{}");
    let settings = ContextSettings {
        url: origin.target(""),
        keep: Duration::from_secs(10),
        client: client(),
    };
    let contexts = UserContexts::new(settings, clock);
    let bearer = |user: String| Bearer {
        user,
        role: Role::Viewer,
        vaults: None,
        effective_user: None,
        expires: None,
    };
    let kept = CachedContext {
        answer: Err(AccessDenial::NoAccess),
        since: clock(),
    };
    for index in 0..MAX_KEPT {
        let place = contexts.place(&bearer(index.to_string()), "one");
        *place.kept.lock() = Some(kept.clone());
    }
    let count = || contexts.places.lock().len();
    assert_eq!(count(), MAX_KEPT);
    // Full of valid answers: another one is asked for each time.
    let late = bearer("late".to_owned());
    for asked in 1..3 {
        assert!(contexts.caller_role(&late, "token", "one").await.is_ok());
        assert_eq!(origin.times(), asked);
        assert_eq!(count(), MAX_KEPT);
    }
    // Full of expired answers: they make room.
    pass(Duration::from_secs(1));
    for _ in 0..2 {
        assert!(contexts.caller_role(&late, "token", "one").await.is_ok());
    }
    assert_eq!(origin.times(), 3);
    assert_eq!(count(), 1);
}
