//! Bearer tokens: JSON Web Tokens, checked against a secret or a set of keys.
//!
//! The key decides the algorithm: a token is checked with the one algorithm of the one key that it names, and refused when
//! it claims another. `jwt` takes a token apart, `keys` checks signatures, `fetched` keeps a set that another server has,
//! `claims` reads who somebody is.

mod claims;
mod fetched;
mod jwt;
mod keys;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use ring::hmac;

use self::{fetched::RemoteKeySet, jwt::Jwt, keys::KeySet};
use super::{AccessDenial, Role, Secret};
use sectile_client::{BaseUrl, Client};

/// Which tokens are taken, and what is read from them.
pub struct TokenSettings {
    /// The secret of HS256 tokens.
    pub secret: Option<Secret>,
    /// The keys of RS256, ES256 and EdDSA tokens.
    pub key_set: Option<KeySetSource>,
    /// Who must have issued them.
    pub issuer: String,
    /// For whom they must be; empty: for the endpoint that they are sent to.
    pub audience: Vec<String>,
    /// How far clocks may differ.
    pub leeway: Duration,
    /// Longest token, in bytes.
    pub max_bytes: usize,
    /// What is read from them.
    pub claims: ClaimNames,
    /// Issuers that clients are told of.
    pub authorization_servers: Vec<String>,
}

/// Where a set of keys comes from.
pub enum KeySetSource {
    /// The text of a file.
    Text(String),
    /// A place that is asked, now and then and when a key is unknown.
    Url {
        /// The place.
        url: BaseUrl,
        /// How long an answer counts.
        keep: Duration,
        /// Asks it.
        client: Client,
    },
}

/// The names of the claims that say who somebody is.
#[derive(Clone, Debug)]
pub struct ClaimNames {
    /// The user.
    pub user: String,
    /// The role; a token without it makes a viewer.
    pub role: String,
    /// The vaults that the token is good for.
    pub vaults: String,
    /// The user that an upstream store shall see; empty: no claim.
    pub effective_user: String,
}

/// Who somebody is, as a token that was checked says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) user: String,
    pub(super) role: Role,
    /// The vaults that the token is good for; `None` when it does not say.
    pub(super) vaults: Option<Vec<String>>,
    pub(super) effective_user: Option<String>,
    /// From when on the token is not good any more, if that can be said.
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

/// Why a token is refused.
const fn invalid(reason: &'static str) -> AccessDenial {
    AccessDenial::Invalid(reason)
}

impl TokenVerifier {
    pub(super) fn new(
        settings: TokenSettings,
        clock: fn() -> SystemTime,
    ) -> Result<Self, &'static str> {
        if settings.secret.is_none() && settings.key_set.is_none() {
            return Err("there is neither a secret nor a key to check tokens with");
        }
        if settings.claims.user.is_empty() {
            return Err("no claim is named that says who the user is");
        }
        let keys = match settings.key_set {
            None => None,
            Some(KeySetSource::Text(text)) => {
                let set = KeySet::parse(text.as_bytes()).ok_or("the key set is not JSON")?;
                if set.is_empty() {
                    return Err("the key set has no key that can be used");
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

    /// Goes on with the key set that `previous` had fetched from the same place.
    pub(super) fn succeed(&self, previous: &Self) {
        if let (Some(Keys::Fetched(own)), Some(Keys::Fetched(other))) = (&self.keys, &previous.keys)
        {
            own.succeed(other);
        }
    }

    /// Who the holder of `token` is. It must be for one of `here`, unless the settings name an audience.
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
            // Never a key of the set, whatever it may be: what everybody can read is no secret.
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
