//! Public keys (RFC 7517), each valid for exactly one algorithm.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// Sizes of RSA keys that are accepted. Shorter ones can be broken, longer ones are only slow.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The algorithm that a token is signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A key of a set.
#[derive(Clone)]
pub(super) struct VerificationKey {
    kid: Option<String>,
    material: KeyMaterial,
}

#[derive(Clone)]
enum KeyMaterial {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// An uncompressed point of P-256.
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

impl VerificationKey {
    fn algorithm(&self) -> Algorithm {
        match self.material {
            KeyMaterial::Rsa(_) => Algorithm::Rs256,
            KeyMaterial::P256(_) => Algorithm::Es256,
            KeyMaterial::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Returns whether `signature` over `message` was made with the private half of this key.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            KeyMaterial::Rsa(key) => key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            KeyMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            KeyMaterial::Ed25519(bytes) => {
                UnparsedPublicKey::new(&ED25519, bytes).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

/// The keys of a set that can be used here.
#[derive(Clone)]
pub(super) struct KeySet(Vec<VerificationKey>);

/// The format of a key set. Its keys are read one by one: one of an unknown type does not spoil the others.
#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Parses the keys of a set in JSON; `None` if it is not a key set.
    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        let JwkSet { keys } = serde_json::from_slice(json).ok()?;
        let keys = keys.into_iter().filter_map(|key| {
            let written: Jwk = serde_json::from_value(key).ok()?;
            written.check()
        });
        Some(Self(keys.collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the one key for `algorithm` with this id; a token without an id means the only key there is.
    pub(super) fn find(&self, algorithm: Algorithm, kid: Option<&str>) -> Option<&VerificationKey> {
        let mut fitting = self.0.iter().filter(|key| {
            key.algorithm() == algorithm && (kid.is_none() || key.kid.as_deref() == kid)
        });
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Some(key),
            _ => None,
        }
    }
}

impl Jwk {
    fn check(self) -> Option<VerificationKey> {
        if self.usage.is_some_and(|usage| usage != "sig") {
            return None;
        }
        let is_verify = |operation: &String| operation == "verify";
        if self.key_ops.is_some_and(|all| !all.iter().any(is_verify)) {
            return None;
        }
        let material = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => rsa(&self.n?, &self.e?)?,
            ("EC", Some("P-256")) => {
                let mut point = [4; 65];
                point[1..33].copy_from_slice(&coordinate(&self.x?)?);
                point[33..].copy_from_slice(&coordinate(&self.y?)?);
                KeyMaterial::P256(point)
            }
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(coordinate(&self.x?)?),
            _ => return None,
        };
        let kid = self.kid;
        let key = VerificationKey { kid, material };
        match self.alg {
            Some(name) if Algorithm::named(&name) != Some(key.algorithm()) => None,
            _ => Some(key),
        }
    }
}

fn rsa(n: &str, e: &str) -> Option<KeyMaterial> {
    let n = number(n)?;
    let e = number(e)?;
    let spare = n.first()?.leading_zeros() as usize;
    let is_usable = RSA_BITS.contains(&(n.len() * 8 - spare));
    is_usable.then_some(KeyMaterial::Rsa(RsaPublicKeyComponents { n, e }))
}

/// Returns the bytes of a number, without leading zeros.
fn number(text: &str) -> Option<Vec<u8>> {
    let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    bytes.drain(..zeros);
    Some(bytes)
}

fn coordinate(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
