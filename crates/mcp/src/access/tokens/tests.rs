//! Which tokens are accepted: signatures, algorithms, keys, times, audiences, claims.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::access::{
    Authenticator, Identity,
    testing::{
        HERE, ISSUER, RSA_PUBLIC, SECRET, START, Signer, TestOrigin, ask_with, b64, claims,
        claims_with, clock, end, pass, set, settings, tokens, with_secret, with_set,
    },
};

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

/// Returns the answer to a token with `changes`, signed with the secret.
fn answer_to(changes: Value) -> Result<Identity, AccessDenial> {
    let token = Signer::secret().token("", &claims_with(changes));
    run(ask_with(&with_secret(), &token))
}

fn signers() -> [Signer; 4] {
    [
        Signer::secret(),
        Signer::rsa(),
        Signer::p256(),
        Signer::ed25519(),
    ]
}

/// Accepts tokens of all `signers`, each with the name of its algorithm as its id.
fn taking(signers: &[Signer]) -> Authenticator {
    let keys: Vec<Value> = signers
        .iter()
        .map(|signer| signer.jwk(signer.algorithm()))
        .collect();
    let source = KeySetSource::Text(set(&keys));
    Authenticator::new(settings(tokens(Some(SECRET), Some(source)))).unwrap()
}

#[test]
fn every_algorithm_signs_somebody_in() {
    let signers = signers();
    let authenticator = taking(&signers);
    for signer in &signers {
        let token = signer.token(signer.algorithm(), &claims("ann"));
        let identity = run(ask_with(&authenticator, &token)).unwrap();
        let expected = Identity {
            key: "token:ann".to_owned(),
            user: "ann".to_owned(),
            effective_user: None,
            vault: "default".to_owned(),
            role: Role::Viewer,
            roots: None,
            token: Some(Secret::new(token)),
            mark: None,
            expires: Some(end()),
        };
        assert_eq!(identity, expected);
    }
}

#[test]
fn every_change_of_one_byte_is_refused() {
    let signers = signers();
    let authenticator = taking(&signers);
    run(async {
        for signer in &signers {
            let token = signer.token(signer.algorithm(), &claims("ann"));
            let tokens = authenticator_tokens(&authenticator);
            assert!(tokens.check(&token, &HERE).await.is_ok());
            for index in 0..token.len() {
                for bit in 0..7 {
                    let mut bytes = token.clone().into_bytes();
                    bytes[index] ^= 1 << bit;
                    let changed = String::from_utf8(bytes).unwrap();
                    let answer = tokens.check(&changed, &HERE).await;
                    assert!(answer.is_err(), "{} {index} {bit}", signer.algorithm());
                }
                let answer = tokens.check(&token[..index], &HERE).await;
                assert!(answer.is_err(), "{} {index}", signer.algorithm());
            }
        }
    });
}

fn authenticator_tokens(authenticator: &Authenticator) -> &TokenVerifier {
    authenticator.tokens().unwrap()
}

#[test]
fn another_form_of_the_same_token_is_refused() {
    let token = Signer::secret().token("", &claims("ann"));
    let authenticator = with_secret();
    let tokens = authenticator_tokens(&authenticator);
    for other in [
        format!("{token}="),
        format!("{token}."),
        format!(".{token}"),
        format!("{token}.x"),
        format!(" {token}"),
        format!("{token}\n"),
        token.replace('.', ".."),
        token.rsplit_once('.').unwrap().0.to_owned(),
        token.rsplit_once('.').unwrap().0.to_owned() + ".",
    ] {
        let answer = run(tokens.check(&other, &HERE));
        let refused = [invalid("malformed"), invalid("bad_signature")];
        assert!(refused.contains(&answer.unwrap_err()), "{other}");
    }
}

#[test]
fn a_token_that_is_not_signed_is_refused() {
    let authenticator = taking(&signers());
    let payload = b64(claims("ann").to_string());
    for name in [
        "none", "None", "NONE", "nOnE", "", "null", "HS256 ", "hs256", "HS512", "PS256", "ES384",
        "RS1",
    ] {
        let header = b64(json!({"alg": name, "typ": "JWT"}).to_string());
        let signature = b64(Signer::secret().sign(format!("{header}.{payload}").as_bytes()));
        for signature in ["", "e30", &signature] {
            let token = format!("{header}.{payload}.{signature}");
            let answer = run(ask_with(&authenticator, &token));
            assert_eq!(answer, Err(invalid("unknown_key")), "{name} {signature}");
        }
    }
    for header in [
        json!({}),
        json!({"alg": null}),
        json!({"alg": ["HS256"]}),
        json!({"alg": 1}),
        json!(["alg", "HS256"]),
        json!({"alg": "HS256", "crit": []}),
        json!({"alg": "HS256", "crit": null}),
        json!({"alg": "HS256", "crit": ["exp"]}),
        json!({"alg": "HS256", "crit": ["b64"], "b64": false}),
        json!({"alg": "RS256", "kid": 1}),
        json!({"alg": "RS256", "kid": null}),
    ] {
        let token = Signer::secret().token_of(&header.to_string(), &claims("ann").to_string());
        let answer = run(ask_with(&authenticator, &token));
        assert_eq!(answer, Err(invalid("malformed")), "{header}");
    }
    for header in [
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{"alg":"HS256","kid":"a","\u006bid":"b"}"#,
        r#"{"alg":"HS256"} {}"#,
        r#"{"alg":"HS256",}"#,
    ] {
        let token = Signer::secret().token_of(header, &claims("ann").to_string());
        let answer = run(ask_with(&authenticator, &token));
        assert_eq!(answer, Err(invalid("malformed")), "{header}");
    }
    let twice = claims("ann")
        .to_string()
        .replacen('{', r#"{"sub":"bob","#, 1);
    let token = Signer::secret().token_of(r#"{"alg":"HS256"}"#, &twice);
    let answer = run(ask_with(&authenticator, &token));
    assert_eq!(answer, Err(invalid("malformed")));
}

#[test]
fn what_everybody_can_read_is_no_secret() {
    let rsa = Signer::rsa();
    let jwk = rsa.jwk("RS256");
    let public = |name: &str| jwk[name].as_str().unwrap().as_bytes().to_vec();
    let modulus = {
        use base64::Engine;
        let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
        engine.decode(public("n")).unwrap()
    };
    let body: String = RSA_PUBLIC
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let secrets = [
        RSA_PUBLIC.as_bytes().to_vec(),
        RSA_PUBLIC.trim().as_bytes().to_vec(),
        body.into_bytes(),
        public("n"),
        modulus,
        jwk.to_string().into_bytes(),
        set(std::slice::from_ref(&jwk)).into_bytes(),
        Vec::new(),
    ];
    let only_set = with_set(std::slice::from_ref(&jwk));
    let both = taking(&[Signer::rsa()]);
    for secret in secrets {
        let signer = Signer::Hs256(secret);
        for kid in ["", "RS256"] {
            let token = signer.token(kid, &claims("ann"));
            let answer = run(ask_with(&only_set, &token));
            assert_eq!(answer, Err(invalid("unknown_key")));
            let answer = run(ask_with(&both, &token));
            assert_eq!(answer, Err(invalid("bad_signature")));
            // The same signature under the name of the key's own algorithm.
            let header = json!({"alg": "RS256", "kid": "RS256"}).to_string();
            let token = signer.token_of(&header, &claims("ann").to_string());
            let answer = run(ask_with(&both, &token));
            assert_eq!(answer, Err(invalid("bad_signature")));
        }
    }
    // A secret in a set is not used, not even for its own algorithm.
    let source = KeySetSource::Text(set(&[Signer::secret().jwk("shared"), jwk]));
    let authenticator = Authenticator::new(settings(tokens(None, Some(source)))).unwrap();
    let token = Signer::secret().token("shared", &claims("ann"));
    let answer = run(ask_with(&authenticator, &token));
    assert_eq!(answer, Err(invalid("unknown_key")));
}

#[test]
fn the_key_decides_the_algorithm() {
    let signers = signers();
    let authenticator = taking(&signers);
    for signer in &signers {
        for claimed in &signers {
            for kid in &signers {
                let (algorithm, kid) = (claimed.algorithm(), kid.algorithm());
                let header = json!({"alg": algorithm, "kid": kid}).to_string();
                let token = signer.token_of(&header, &claims("ann").to_string());
                let is_good =
                    signer.algorithm() == algorithm && (algorithm == kid || algorithm == "HS256");
                let answer = run(ask_with(&authenticator, &token));
                assert_eq!(answer.is_ok(), is_good, "{} {header}", signer.algorithm());
            }
        }
    }
}

#[test]
fn keys_are_found_by_their_ids() {
    let [first, second] = [Signer::p256(), Signer::p256()];
    let other = Signer::ed25519();
    let authenticator = with_set(&[first.jwk("1"), second.jwk("2"), other.jwk("1")]);
    let cases = [
        (&first, "1", Ok(())),
        (&second, "2", Ok(())),
        (&other, "1", Ok(())),
        (&first, "2", Err(invalid("bad_signature"))),
        (&other, "2", Err(invalid("unknown_key"))),
        (&first, "3", Err(invalid("unknown_key"))),
        (&first, " 1", Err(invalid("unknown_key"))),
        // Two keys could have made it.
        (&first, "", Err(invalid("unknown_key"))),
        (&other, "", Ok(())),
    ];
    for (signer, kid, expected) in cases {
        let token = signer.token(kid, &claims("ann"));
        let answer = run(ask_with(&authenticator, &token));
        assert_eq!(answer.map(|_| ()), expected, "{} {kid}", signer.algorithm());
    }
    let twins = with_set(&[first.jwk("1"), second.jwk("1")]);
    let answer = run(ask_with(&twins, &first.token("1", &claims("ann"))));
    assert_eq!(answer, Err(invalid("unknown_key")));
}

#[test]
fn keys_that_are_for_something_else_are_not_used() {
    let changed = |signer: &Signer, changes: Value| {
        let mut jwk = signer.jwk("1");
        for (name, value) in changes.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        jwk
    };
    let [rsa, p256, ed25519] = [Signer::rsa(), Signer::p256(), Signer::ed25519()];
    let good = [
        changed(&rsa, json!({"use": "sig", "alg": "RS256", "x5c": ["?"]})),
        changed(&p256, json!({"key_ops": ["verify"], "alg": "ES256"})),
        changed(&ed25519, json!({"alg": "EdDSA", "use": "sig"})),
    ];
    for jwk in good {
        assert!(
            !KeySet::parse(set(std::slice::from_ref(&jwk)).as_bytes())
                .unwrap()
                .is_empty(),
            "{jwk}"
        );
    }
    let bad = [
        changed(&rsa, json!({"use": "enc"})),
        changed(&rsa, json!({"alg": "RS512"})),
        changed(&rsa, json!({"alg": "HS256"})),
        changed(&rsa, json!({"alg": "none"})),
        changed(&rsa, json!({"kty": "oct", "k": "AAAA"})),
        changed(&rsa, json!({"n": b64([0xff; 128])})),
        changed(&rsa, json!({"n": b64([[0; 128], [0xff; 128]].concat())})),
        changed(
            &rsa,
            json!({"n": b64([[0x7f; 1].as_slice(), &[0xff; 255]].concat())}),
        ),
        changed(&rsa, json!({"n": b64([0xff; 1025])})),
        changed(&rsa, json!({"n": ""})),
        changed(&rsa, json!({"n": "not base64!"})),
        changed(&rsa, json!({"n": null})),
        changed(&rsa, json!({"kid": 1})),
        changed(&p256, json!({"key_ops": ["sign"]})),
        changed(&p256, json!({"crv": "P-384"})),
        changed(&p256, json!({"crv": null})),
        changed(&p256, json!({"x": "AAAA"})),
        changed(&p256, json!({"alg": "EdDSA"})),
        changed(&ed25519, json!({"crv": "X25519"})),
        changed(&ed25519, json!({"crv": "P-256"})),
        changed(&ed25519, json!({"alg": "ES256"})),
        changed(&ed25519, json!({"x": b64([1; 33])})),
        json!({}),
        json!(null),
        json!("key"),
    ];
    for jwk in bad {
        let text = set(std::slice::from_ref(&jwk));
        assert!(KeySet::parse(text.as_bytes()).unwrap().is_empty(), "{jwk}");
        let source = KeySetSource::Text(text);
        let refused = Authenticator::new(settings(tokens(None, Some(source)))).err();
        assert_eq!(refused.unwrap(), "the key set has no usable key");
        // It does not affect the others.
        let authenticator = with_set(&[jwk, Signer::ed25519().jwk("2"), p256.jwk("p")]);
        let answer = run(ask_with(&authenticator, &p256.token("p", &claims("ann"))));
        assert!(answer.is_ok());
    }
    for text in ["", "{}", "[]", "null", "{\"keys\": 1}", "{\"keys\": []"] {
        let source = KeySetSource::Text(text.to_owned());
        let refused = Authenticator::new(settings(tokens(None, Some(source)))).err();
        assert_eq!(refused.unwrap(), "the key set is not JSON", "{text}");
    }
}

#[test]
fn times_are_checked_with_some_leeway() {
    let cases = [
        (json!({"exp": START + 1}), Ok(())),
        (json!({"exp": START}), Ok(())),
        (json!({"exp": START - 29}), Ok(())),
        (json!({"exp": START - 30}), Err("expired")),
        (json!({"exp": START - 3000}), Err("expired")),
        (json!({"exp": 0}), Err("expired")),
        (json!({"exp": -1}), Err("expired")),
        (json!({"exp": START as f64 + 0.5}), Ok(())),
        (json!({"exp": START as f64 - 30.5}), Err("expired")),
        (json!({"exp": u64::MAX}), Ok(())),
        (json!({"exp": null}), Err("bad_claims")),
        (json!({"exp": "never"}), Err("bad_claims")),
        (json!({"exp": (START + 300).to_string()}), Err("bad_claims")),
        (json!({"exp": true}), Err("bad_claims")),
        (json!({"exp": [START + 300]}), Err("bad_claims")),
        (json!({"nbf": START}), Ok(())),
        (json!({"nbf": START + 30}), Ok(())),
        (json!({"nbf": START + 31}), Err("not_yet_valid")),
        (json!({"nbf": u64::MAX}), Err("not_yet_valid")),
        (json!({"nbf": "later"}), Err("bad_claims")),
        (json!({"iat": null}), Ok(())),
        (json!({"iat": START - 100_000}), Ok(())),
        (json!({"iat": START + 30}), Ok(())),
        (json!({"iat": START + 31}), Err("not_yet_valid")),
        (json!({"iat": {}}), Err("bad_claims")),
    ];
    for (changes, expected) in cases {
        let answer = answer_to(changes.clone());
        let expected = expected.map_err(AccessDenial::Invalid);
        assert_eq!(answer.map(|_| ()), expected, "{changes}");
    }
}

#[test]
fn a_token_wears_out_as_time_passes() {
    let authenticator = with_secret();
    let token = Signer::secret().token("", &claims("ann"));
    pass(Duration::from_secs(329));
    assert!(run(ask_with(&authenticator, &token)).is_ok());
    pass(Duration::from_secs(1));
    let answer = run(ask_with(&authenticator, &token));
    assert_eq!(answer, Err(invalid("expired")));
}

#[test]
fn issuer_and_audience_are_compared_exactly() {
    let cases = [
        (json!({"aud": HERE[1]}), Ok(())),
        (json!({"aud": [HERE[0]]}), Ok(())),
        (json!({"aud": ["https://other.example", HERE[1]]}), Ok(())),
        (
            json!({"aud": "https://other.example"}),
            Err("wrong_audience"),
        ),
        (
            json!({"aud": "https://notes.example/mcp/"}),
            Err("wrong_audience"),
        ),
        (
            json!({"aud": "https://notes.example.evil.example"}),
            Err("wrong_audience"),
        ),
        (
            json!({"aud": "HTTPS://NOTES.EXAMPLE"}),
            Err("wrong_audience"),
        ),
        (json!({"aud": ""}), Err("wrong_audience")),
        (json!({"aud": []}), Err("wrong_audience")),
        (json!({"aud": null}), Err("wrong_audience")),
        (json!({"aud": [HERE[0], 1]}), Err("bad_claims")),
        (json!({"aud": {"aud": HERE[0]}}), Err("bad_claims")),
        (json!({"iss": null}), Err("wrong_issuer")),
        (json!({"iss": ""}), Err("wrong_issuer")),
        (json!({"iss": [ISSUER]}), Err("wrong_issuer")),
        (
            json!({"iss": "https://issuer.example/"}),
            Err("wrong_issuer"),
        ),
        (
            json!({"iss": "https://issuer.example.evil.example"}),
            Err("wrong_issuer"),
        ),
    ];
    for (changes, expected) in cases {
        let answer = answer_to(changes.clone());
        let expected = expected.map_err(AccessDenial::Invalid);
        assert_eq!(answer.map(|_| ()), expected, "{changes}");
    }
    // Those in the settings replace the endpoint's own.
    let mut named = tokens(Some(SECRET), None);
    named.audience = vec!["notes".to_owned(), "notes-test".to_owned()];
    let authenticator = Authenticator::new(settings(named)).unwrap();
    for (audience, is_good) in [("notes", true), ("notes-test", true), (HERE[0], false)] {
        let token = Signer::secret().token("", &claims_with(json!({"aud": audience})));
        let answer = run(ask_with(&authenticator, &token));
        assert_eq!(answer.is_ok(), is_good, "{audience}");
    }
}

#[test]
fn claims_say_who_somebody_is() {
    let list = |names: &[&str]| -> Option<Vec<String>> {
        Some(names.iter().map(|&name| name.to_owned()).collect())
    };
    let cases = [
        (json!({}), Role::Viewer, None, None),
        (json!({"role": "admin"}), Role::Admin, None, None),
        (json!({"role": "Admin"}), Role::Viewer, None, None),
        (json!({"role": "owner"}), Role::Viewer, None, None),
        (
            json!({"role": ["owner", "editor", "admin"]}),
            Role::Editor,
            None,
            None,
        ),
        (
            json!({"role": ["owner", 1, null]}),
            Role::Viewer,
            None,
            None,
        ),
        (json!({"role": []}), Role::Viewer, None, None),
        (json!({"role": {"name": "admin"}}), Role::Viewer, None, None),
        (json!({"role": 3}), Role::Viewer, None, None),
        (json!({"vaults": "one"}), Role::Viewer, list(&["one"]), None),
        (
            json!({"vaults": ["one", "two"]}),
            Role::Viewer,
            list(&["one", "two"]),
            None,
        ),
        (json!({"vaults": []}), Role::Viewer, list(&[]), None),
        (json!({"acts_for": "bob"}), Role::Viewer, None, Some("bob")),
        (json!({"acts_for": ""}), Role::Viewer, None, None),
        (json!({"acts_for": " \t"}), Role::Viewer, None, None),
        (json!({"acts_for": null}), Role::Viewer, None, None),
        (json!({"": "x"}), Role::Viewer, None, None),
    ];
    let authenticator = with_secret();
    let tokens = authenticator_tokens(&authenticator);
    for (changes, role, vaults, effective_user) in cases {
        let token = Signer::secret().token("", &claims_with(changes.clone()));
        let expected = Bearer {
            user: "ann".to_owned(),
            role,
            vaults,
            effective_user: effective_user.map(str::to_owned),
            expires: Some(end()),
        };
        assert_eq!(run(tokens.check(&token, &HERE)), Ok(expected), "{changes}");
    }
    let long = "x".repeat(257);
    let odd = [
        json!(""),
        json!("a b"),
        json!("a\r\nx: y"),
        json!("ä"),
        json!(1),
        json!({}),
        json!(long),
    ];
    for value in odd {
        for name in ["sub", "vaults", "acts_for"] {
            if (name, &value) == ("acts_for", &json!("")) {
                continue;
            }
            let answer = answer_to(json!({name: value}));
            assert_eq!(answer, Err(invalid("bad_claims")), "{name} {value}");
        }
        let answer = answer_to(json!({"vaults": ["one", value]}));
        assert_eq!(answer, Err(invalid("bad_claims")), "{value}");
    }
    assert_eq!(answer_to(json!({"sub": null})), Err(invalid("bad_claims")));
    assert_eq!(
        answer_to(json!({"sub": ["ann"]})),
        Err(invalid("bad_claims"))
    );
}

#[test]
fn a_token_that_is_too_long_is_not_looked_at() {
    let token = Signer::secret().token("", &claims("ann"));
    for (max_bytes, expected) in [
        (token.len(), Ok(())),
        (token.len() - 1, Err(invalid("too_long"))),
    ] {
        let mut bounded = tokens(Some(SECRET), None);
        bounded.max_bytes = max_bytes;
        let authenticator = Authenticator::new(settings(bounded)).unwrap();
        let answer = run(ask_with(&authenticator, &token));
        assert_eq!(answer.map(|_| ()), expected);
    }
    let answer = run(ask_with(&with_secret(), &"a".repeat(100_000)));
    assert_eq!(answer, Err(invalid("too_long")));
}

#[test]
fn settings_without_a_way_to_check_are_refused() {
    assert!(TokenVerifier::new(tokens(None, None), clock).is_err());
    let mut nobody = tokens(Some(SECRET), None);
    nobody.claims.user = String::new();
    assert!(TokenVerifier::new(nobody, clock).is_err());
}

/// Asks `origin` for keys.
fn asking(origin: &TestOrigin, keep: u64) -> Authenticator {
    let source = origin.key_set(Duration::from_secs(keep));
    Authenticator::new(settings(tokens(None, Some(source)))).unwrap()
}

/// Returns claims that are valid for a year from the start.
fn lasting() -> Value {
    claims_with(json!({"exp": START + 31_536_000}))
}

#[tokio::test]
async fn keys_are_fetched_once_and_again_when_they_are_rotated() {
    let [old, new] = [Signer::p256(), Signer::p256()];
    let origin = TestOrigin::saying(200, set(&[old.jwk("old")]));
    let authenticator = asking(&origin, 3600);
    assert_eq!(origin.times(), 0);
    let [old_token, new_token] = [old.token("old", &lasting()), new.token("new", &lasting())];
    for _ in 0..3 {
        assert!(ask_with(&authenticator, &old_token).await.is_ok());
    }
    assert_eq!(origin.times(), 1);
    let head = &origin.heads()[0];
    assert!(head.starts_with("GET /keys HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("authorization"), "{head}");

    // Rotated: a token with an unknown key causes another fetch, though not at once.
    origin.now_says(200, set(&[new.jwk("new")]));
    let unknown = Err(invalid("unknown_key"));
    assert_eq!(ask_with(&authenticator, &new_token).await, unknown);
    assert_eq!(origin.times(), 1);
    pass(Duration::from_secs(10));
    assert!(ask_with(&authenticator, &new_token).await.is_ok());
    assert_eq!(origin.times(), 2);
    assert_eq!(ask_with(&authenticator, &old_token).await, unknown);
    assert_eq!(origin.times(), 2);
}

#[tokio::test]
async fn a_reload_keeps_the_set_until_there_is_a_newer_one() {
    let [old, new] = [Signer::p256(), Signer::p256()];
    let origin = TestOrigin::saying(200, set(&[old.jwk("old")]));
    let first = asking(&origin, 3600);
    let [old_token, new_token] = [old.token("old", &lasting()), new.token("new", &lasting())];
    assert!(ask_with(&first, &old_token).await.is_ok());
    origin.now_says(500, String::new());
    let second = asking(&origin, 3600);
    second.succeed(&first);
    assert!(ask_with(&second, &old_token).await.is_ok());
    let third = asking(&origin, 3600);
    third.succeed(&second);
    origin.now_says(200, set(&[new.jwk("new")]));
    assert!(ask_with(&third, &new_token).await.is_ok());
    let unknown = Err(invalid("unknown_key"));
    assert_eq!(ask_with(&third, &old_token).await, unknown);
    let elsewhere = TestOrigin::saying(500, String::new());
    let fourth = asking(&elsewhere, 3600);
    fourth.succeed(&third);
    let unavailable = Err(AccessDenial::Unavailable);
    assert_eq!(ask_with(&fourth, &new_token).await, unavailable);
}

#[tokio::test]
async fn made_up_keys_do_not_become_requests() {
    let signer = Signer::p256();
    let origin = TestOrigin::saying(200, set(&[signer.jwk("1")]));
    let authenticator = asking(&origin, 3600);
    for second in 0..30 {
        for index in 0..10 {
            let token = signer.token(&format!("{second}-{index}"), &lasting());
            let answer = ask_with(&authenticator, &token).await;
            assert_eq!(answer, Err(invalid("unknown_key")));
        }
        pass(Duration::from_secs(1));
    }
    assert_eq!(origin.times(), 3);
    let header = json!({"alg": "none"}).to_string();
    pass(Duration::from_secs(100));
    let token = signer.token_of(&header, &lasting().to_string());
    let answer = ask_with(&authenticator, &token).await;
    assert_eq!(answer, Err(invalid("unknown_key")));
    assert_eq!(origin.times(), 3);
}

#[tokio::test]
async fn old_keys_are_used_when_there_are_no_newer_ones_but_not_for_ever() {
    const DAY: u64 = 24 * 60 * 60;
    let signer = Signer::ed25519();
    let good = set(&[signer.jwk("1")]);
    let origin = TestOrigin::saying(200, good.as_str());
    let authenticator = asking(&origin, 60);
    let token = signer.token("1", &lasting());
    assert!(ask_with(&authenticator, &token).await.is_ok());
    pass(Duration::from_secs(60));
    assert!(ask_with(&authenticator, &token).await.is_ok());
    assert_eq!(origin.times(), 2);

    let failures = [
        (500, String::new()),
        (404, String::new()),
        (302, String::new()),
        (204, String::new()),
        (201, good.clone()),
        (200, "<html>".to_owned()),
        (200, set(&[])),
        (200, set(&[json!({"kty": "oct", "k": "AAAA"})])),
        (200, format!("{good}{}", " ".repeat(10_000))),
    ];
    let mut times = 2;
    for (status, body) in failures {
        origin.now_says(status, body);
        pass(Duration::from_secs(70));
        for _ in 0..3 {
            assert!(ask_with(&authenticator, &token).await.is_ok(), "{status}");
        }
        times += 1;
        assert_eq!(origin.times(), times, "{status}");
    }
    pass(Duration::from_secs(DAY));
    let unavailable = Err(AccessDenial::Unavailable);
    assert_eq!(ask_with(&authenticator, &token).await, unavailable);
    origin.now_says(200, good);
    assert_eq!(ask_with(&authenticator, &token).await, unavailable);
    pass(Duration::from_secs(1));
    assert!(ask_with(&authenticator, &token).await.is_ok());
}

#[tokio::test]
async fn without_any_keys_it_cannot_be_found_out() {
    let signer = Signer::ed25519();
    let origin = TestOrigin::saying(503, "");
    let authenticator = asking(&origin, 60);
    let token = signer.token("1", &lasting());
    for asked in 1..4 {
        for _ in 0..3 {
            let answer = ask_with(&authenticator, &token).await;
            assert_eq!(answer, Err(AccessDenial::Unavailable));
        }
        assert_eq!(origin.times(), asked);
        pass(Duration::from_secs(1));
    }
    // What is wrong whatever the keys are is still reported.
    let garbled = ask_with(&authenticator, "a.b.c").await;
    assert_eq!(garbled, Err(invalid("malformed")));
}

#[tokio::test]
async fn many_at_once_ask_once() {
    let signer = Signer::ed25519();
    let body = set(&[signer.jwk("1")]);
    let origin = TestOrigin::saying(200, body);
    let authenticator = asking(&origin, 60);
    let token = signer.token("1", &lasting());
    for round in 1..4 {
        let asked = (0..50).map(|_| ask_with(&authenticator, &token));
        let answers = futures::future::join_all(asked).await;
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(origin.times(), round);
        pass(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn an_answer_is_not_lost_when_nobody_waits_for_it_any_more() {
    let signer = Signer::ed25519();
    let body = set(&[signer.jwk("1")]);
    let (release, released) = std::sync::mpsc::channel();
    let origin = TestOrigin::new(move |_| {
        released.recv().unwrap();
        (200, body.clone())
    });
    let authenticator = asking(&origin, 60);
    let token = signer.token("1", &lasting());
    let hasty = tokio::time::timeout(Duration::from_millis(50), ask_with(&authenticator, &token));
    assert!(hasty.await.is_err());
    release.send(()).unwrap();
    assert!(ask_with(&authenticator, &token).await.is_ok());
    assert_eq!(origin.times(), 1);
}

proptest! {
    #[test]
    fn garbage_is_refused(text in "\\PC{0,300}", parts in "[A-Za-z0-9_-]{0,60}(\\.[A-Za-z0-9_-]{0,60}){0,4}") {
        let authenticator = with_secret();
        let tokens = authenticator_tokens(&authenticator);
        for text in [text, parts] {
            prop_assert!(run(tokens.check(&text, &HERE)).is_err());
        }
    }

    #[test]
    fn garbage_that_is_signed_is_refused(header in "\\PC{0,40}", claims in any::<Vec<u8>>(), name in "[a-z]{1,4}", value in "\\PC{0,20}") {
        let authenticator = with_secret();
        let tokens = authenticator_tokens(&authenticator);
        let signer = Signer::secret();
        let good = r#"{"alg":"HS256"}"#;
        let claims = String::from_utf8_lossy(&claims);
        let some = json!({name: value}).to_string();
        for (header, claims) in [(header.as_str(), &*claims), (good, &*claims), (good, &some)] {
            let token = signer.token_of(header, claims);
            prop_assert!(run(tokens.check(&token, &HERE)).is_err());
        }
    }

    #[test]
    fn no_set_is_too_odd_to_be_looked_at(text in "\\PC{0,100}", bytes in any::<Vec<u8>>(), n in "[A-Za-z0-9_-]{0,50}") {
        for json in [text.as_bytes(), &bytes] {
            prop_assert!(KeySet::parse(json).is_none_or(|set| set.is_empty()));
        }
        let rsa = json!({"kty": "RSA", "n": n, "e": n});
        let ec = json!({"kty": "EC", "crv": "P-256", "x": n, "y": n});
        if let Some(parsed) = KeySet::parse(set(&[rsa, ec]).as_bytes())
            && let Some(key) = parsed.find(keys::Algorithm::Es256, None)
        {
            prop_assert!(!key.verifies(b"message", &[0; 64]));
        }
    }
}
