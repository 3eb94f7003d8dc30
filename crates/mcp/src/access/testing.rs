//! Fixtures for tests of sign-in: a clock that stands still, keys that sign, and a server whose answers change.

use std::{
    cell::Cell,
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
        RsaKeyPair,
    },
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use sectile_client::{BaseUrl, Client, ClientSettings};
use serde_json::{Value, json};

use super::{
    AccessDenial, AuthSettings, Authenticator, ClaimNames, Identity, KeySetSource,
    RequestCredentials, Secret, TokenSettings,
};

pub(super) const RSA_PRIVATE: &str = include_str!("../../test_data/jwt/rsa.pem");
pub(super) const RSA_PUBLIC: &str = include_str!("../../test_data/jwt/rsa_public.pem");
pub(super) const SECRET: &str = "a secret of these tests, 32 bytes or more";
pub(super) const ISSUER: &str = "https://issuer.example";
pub(super) const HERE: [&str; 2] = ["https://notes.example/mcp", "https://notes.example"];

/// The time at which tests start, in seconds since 1970.
pub(super) const START: u64 = 1_800_000_000;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::from_secs(START)) };
}

/// The clock of this thread.
pub(super) fn clock() -> SystemTime {
    UNIX_EPOCH + NOW.get()
}

pub(super) fn pass(time: Duration) {
    NOW.set(NOW.get() + time);
}

pub(super) fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key that signs.
pub(super) enum Signer {
    Hs256(Vec<u8>),
    Rs256(RsaKeyPair),
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl Signer {
    pub(super) fn secret() -> Self {
        Self::Hs256(SECRET.into())
    }

    pub(super) fn rsa() -> Self {
        let key = PrivatePkcs8KeyDer::from_pem_slice(RSA_PRIVATE.as_bytes()).unwrap();
        Self::Rs256(RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap())
    }

    pub(super) fn p256() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::Es256(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    pub(super) fn ed25519() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::EdDsa(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Hs256(_) => "HS256",
            Self::Rs256(_) => "RS256",
            Self::Es256(_) => "ES256",
            Self::EdDsa(_) => "EdDSA",
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Hs256(secret) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
                hmac::sign(&key, message).as_ref().to_vec()
            }
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::Es256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::EdDsa(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// Returns the public half, as it appears in a key set.
    pub(super) fn jwk(&self, kid: &str) -> Value {
        let mut jwk = match self {
            Self::Hs256(secret) => json!({"kty": "oct", "k": b64(secret)}),
            Self::Rs256(key) => {
                let public: ring::rsa::PublicKeyComponents<Vec<u8>> = key.public().into();
                json!({"kty": "RSA", "n": b64(public.n), "e": b64(public.e)})
            }
            Self::Es256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "x": b64(&point[1..33]), "y": b64(&point[33..])})
            }
            Self::EdDsa(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": b64(key.public_key())})
            }
        };
        jwk["kid"] = json!(kid);
        jwk
    }

    /// Returns a token with this header and these claims, whatever they are.
    pub(super) fn token_of(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", b64(header), b64(claims));
        let signature = b64(self.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// Returns a token with `claims`, signed by the key `kid` if that is not empty.
    pub(super) fn token(&self, kid: &str, claims: &Value) -> String {
        let mut header = json!({"typ": "JWT", "alg": self.algorithm()});
        if !kid.is_empty() {
            header["kid"] = json!(kid);
        }
        self.token_of(&header.to_string(), &claims.to_string())
    }
}

/// Returns claims that are valid for five minutes from the start.
pub(super) fn claims(user: &str) -> Value {
    json!({
        "iss": ISSUER,
        "aud": HERE[0],
        "sub": user,
        "iat": START,
        "exp": START + 300,
    })
}

/// Returns the time from which a token with these claims is refused, leeway included.
pub(super) fn end() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(START + 330)
}

/// Returns `claims` with some of them replaced; null removes one.
pub(super) fn claims_with(changes: Value) -> Value {
    let mut claims = claims("ann");
    let Value::Object(changes) = changes else {
        panic!("not an object");
    };
    for (name, value) in changes {
        if value.is_null() {
            claims.as_object_mut().unwrap().swap_remove(&name);
        } else {
            claims[name] = value;
        }
    }
    claims
}

pub(super) fn set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

/// Settings that accept tokens by the secret, a key set, or both.
pub(super) fn tokens(secret: Option<&str>, key_set: Option<KeySetSource>) -> TokenSettings {
    TokenSettings {
        secret: secret.map(Secret::new),
        key_set,
        issuer: ISSUER.to_owned(),
        audience: Vec::new(),
        leeway: Duration::from_secs(30),
        max_bytes: 8192,
        claims: ClaimNames {
            user: "sub".to_owned(),
            role: "role".to_owned(),
            vaults: "vaults".to_owned(),
            effective_user: "acts_for".to_owned(),
        },
        authorization_servers: vec![ISSUER.to_owned()],
    }
}

pub(super) fn settings(tokens: TokenSettings) -> AuthSettings {
    AuthSettings {
        keys: None,
        tokens: Some(tokens),
        context: None,
        clock,
    }
}

pub(super) fn with_secret() -> Authenticator {
    Authenticator::new(settings(tokens(Some(SECRET), None))).unwrap()
}

pub(super) fn with_set(keys: &[Value]) -> Authenticator {
    let source = KeySetSource::Text(set(keys));
    Authenticator::new(settings(tokens(None, Some(source)))).unwrap()
}

pub(super) fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = list.iter().map(|&(name, value)| {
        let value = HeaderValue::from_str(value).unwrap();
        (http::HeaderName::from_static(name), value)
    });
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value);
    }
    headers
}

pub(super) async fn ask(authenticator: &Authenticator, headers: &HeaderMap) -> AuthResult {
    let asked = RequestCredentials {
        headers,
        audience: HERE,
        tokens_only: false,
    };
    authenticator.authenticate(asked).await
}

pub(super) type AuthResult = Result<Identity, AccessDenial>;

pub(super) async fn ask_with(authenticator: &Authenticator, token: &str) -> AuthResult {
    let authorization = format!("Bearer {token}");
    ask(
        authenticator,
        &headers(&[("authorization", &authorization)]),
    )
    .await
}

/// A server on this machine whose answers can be changed.
pub(super) struct TestOrigin {
    port: u16,
    answer: Arc<Mutex<ReplyFn>>,
    heads: Arc<Mutex<Vec<String>>>,
}

type ReplyFn = Box<dyn Fn(&str) -> (u16, String) + Send>;

impl TestOrigin {
    pub(super) fn new(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Self {
            port: listener.local_addr().unwrap().port(),
            answer: Arc::new(Mutex::new(Box::new(answer))),
            heads: Arc::default(),
        };
        let (answer, heads) = (Arc::clone(&origin.answer), Arc::clone(&origin.heads));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let (status, body) = answer.lock()(&head);
                heads.lock().push(head);
                let length = body.len();
                let text = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                // The client may have disconnected.
                drop(stream.write_all(text.as_bytes()));
            }
        });
        origin
    }

    pub(super) fn saying(status: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        Self::new(move |_| (status, body.clone()))
    }

    pub(super) fn now_says(&self, status: u16, body: impl Into<String>) {
        let body = body.into();
        *self.answer.lock() = Box::new(move |_| (status, body.clone()));
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().clone()
    }

    pub(super) fn times(&self) -> usize {
        self.heads.lock().len()
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn target(&self, path: &str) -> BaseUrl {
        BaseUrl::parse(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }

    pub(super) fn key_set(&self, keep: Duration) -> KeySetSource {
        KeySetSource::Url {
            url: self.target("/keys"),
            keep,
            client: client(),
        }
    }
}

pub(super) fn client() -> Client {
    let timeout = Duration::from_secs(60);
    Client::new(ClientSettings {
        connect_timeout: timeout,
        timeout,
        max_body_bytes: 10_000,
        proxy: None,
        extra_roots: None,
    })
    .unwrap()
}
