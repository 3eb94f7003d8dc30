//! Bearer tokens: JSON Web Tokens, checked against a secret or a set of keys.
//!
//! The key decides the algorithm: a token is checked with the one algorithm of the one key that it names, and refused
//! if it claims another. `jwt` parses a token, `keys` checks signatures, `fetched` holds a key set from another server,
//! `claims` reads who the holder is.

mod claims;
mod jwt;
mod keys;
mod remote_keys;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use ring::hmac;

use self::{jwt::Jwt, keys::KeySet, remote_keys::RemoteKeySet};
use super::{AccessDenial, Role, Secret};
use sectile_client::{BaseUrl, Client};

/// Settings that say which tokens are accepted, and what is read from them.
pub struct TokenSettings {
    /// The secret of HS256 tokens.
    pub secret: Option<Secret>,
    /// The keys of RS256, ES256 and EdDSA tokens.
    pub key_set: Option<KeySetSource>,
    /// The issuer that tokens must name.
    pub issuer: String,
    /// The audiences that tokens may be for; empty means the endpoint that they are sent to.
    pub audience: Vec<String>,
    /// The clock difference that is tolerated.
    pub leeway: Duration,
    /// Longest token, in bytes.
    pub max_bytes: usize,
    /// The claims that are read from them.
    pub claims: ClaimNames,
    /// Issuers that are announced to clients.
    pub authorization_servers: Vec<String>,
}

/// The source of a key set.
pub enum KeySetSource {
    /// The text of a file.
    Text(String),
    /// A URL that is fetched from time to time, and when a key is unknown.
    Url {
        /// The URL.
        url: BaseUrl,
        /// How long an answer is valid.
        keep: Duration,
        /// The client that asks it.
        client: Client,
    },
}

/// The names of the claims that identify the holder.
#[derive(Clone, Debug)]
pub struct ClaimNames {
    /// The user.
    pub user: String,
    /// The role; a holder without this claim is a viewer.
    pub role: String,
    /// The vaults that the token is valid for.
    pub vaults: String,
    /// The user that an upstream store sees; empty means no claim.
    pub effective_user: String,
}

/// The holder of a token that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) user: String,
    pub(super) role: Role,
    /// The vaults that the token is valid for; `None` if it does not say.
    pub(super) vaults: Option<Vec<String>>,
    pub(super) effective_user: Option<String>,
    /// The time at which the token expires, if it can be represented.
    pub(super) expires: Option<SystemTime>,
}

/// Checks tokens.
pub(super) struct TokenVerifier {
    secret: Option<hmac::Key>,
    keys: Option<Keys>,
    issuer: String,
    audience: Vec<String>,
    leeway: Duration,
    max_bytes: usize,
    claims: ClaimNames,
    clock: fn() -> SystemTime,
}

enum Keys {
    Given(KeySet),
    Fetched(RemoteKeySet),
}

/// Returns the denial of a token for this reason.
const fn invalid(reason: &'static str) -> AccessDenial {
    AccessDenial::Invalid(reason)
}

impl TokenVerifier {
    pub(super) fn new(
        settings: TokenSettings,
        clock: fn() -> SystemTime,
    ) -> Result<Self, &'static str> {
        if settings.secret.is_none() && settings.key_set.is_none() {
            return Err("neither a secret nor a key set to check tokens with is configured");
        }
        if settings.claims.user.is_empty() {
            return Err("the name of the user claim is empty");
        }
        let keys = match settings.key_set {
            None => None,
            Some(KeySetSource::Text(text)) => {
                let set = KeySet::parse(text.as_bytes()).ok_or("the key set is not JSON")?;
                if set.is_empty() {
                    return Err("the key set has no usable key");
                }
                Some(Keys::Given(set))
            }
            Some(KeySetSource::Url { url, keep, client }) => {
                Some(Keys::Fetched(RemoteKeySet::new(url, keep, client, clock)))
            }
        };
        let secret = settings.secret.as_ref().map(Secret::reveal);
        Ok(Self {
            secret: secret.map(|text| hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())),
            keys,
            issuer: settings.issuer,
            audience: settings.audience,
            leeway: settings.leeway,
            max_bytes: settings.max_bytes,
            claims: settings.claims,
            clock,
        })
    }

    /// Takes over the key set that `previous` has fetched from the same URL.
    pub(super) fn succeed(&self, previous: &Self) {
        if let (Some(Keys::Fetched(own)), Some(Keys::Fetched(other))) = (&self.keys, &previous.keys)
        {
            own.succeed(other);
        }
    }

    /// Returns the holder of `token`. It must be for one of `here`, unless the settings name an audience.
    pub(super) async fn check(&self, token: &str, here: &[&str]) -> Result<Bearer, AccessDenial> {
        if token.len() > self.max_bytes {
            return Err(invalid("too_long"));
        }
        let jwt = Jwt::parse(token).ok_or(invalid("malformed"))?;
        self.check_signature(&jwt).await?;
        let claims = jwt.claims().ok_or(invalid("malformed"))?;
        let rules = claims::Rules {
            issuer: &self.issuer,
            audience: &self.audience,
            here,
            leeway: self.leeway,
            now: (self.clock)(),
        };
        rules.check(&claims)?;
        let bearer = claims::bearer(&claims, &self.claims);
        let mut bearer = bearer.ok_or(invalid("bad_claims"))?;
        bearer.expires = rules.end(&claims);
        Ok(bearer)
    }

    async fn check_signature(&self, jwt: &Jwt<'_>) -> Result<(), AccessDenial> {
        if jwt.algorithm == "HS256" {
            // Never a key of the set: what everyone can read is not a secret.
            let secret = self.secret.as_ref().ok_or(invalid("unknown_key"))?;
            let checked = hmac::verify(secret, jwt.signed, &jwt.signature);
            return checked.map_err(|_| invalid("bad_signature"));
        }
        let algorithm = keys::Algorithm::named(&jwt.algorithm).ok_or(invalid("unknown_key"))?;
        let kid = jwt.kid.as_deref();
        let is_good = match self.keys.as_ref().ok_or(invalid("unknown_key"))? {
            Keys::Given(set) => {
                let key = set.find(algorithm, kid).ok_or(invalid("unknown_key"))?;
                key.verifies(jwt.signed, &jwt.signature)
            }
            Keys::Fetched(fetched) => {
                let key = fetched.find(algorithm, kid).await?;
                key.verifies(jwt.signed, &jwt.signature)
            }
        };
        is_good.then_some(()).ok_or(invalid("bad_signature"))
    }
}
