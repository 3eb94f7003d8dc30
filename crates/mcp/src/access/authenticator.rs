//! Identifies the sender of a request from its headers alone.

#[cfg(test)]
mod tests;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderValue, header};

use super::{
    ContextSettings, Identity, KeyFile, KeyMark, Secret, TokenSettings,
    context::UserContexts,
    keys::{self, KeyHolder, KeyRefusal, is_header_safe},
    tokens::TokenVerifier,
};

/// Header for an API key that is not sent as a bearer token.
pub const API_KEY_HEADER: &str = "x-api-key";
/// Header that names the vault a request is about.
pub(super) const VAULT_HEADER: &str = "x-vault-id";
/// The vault of callers that have no other.
pub(super) const DEFAULT_VAULT: &str = "default";

/// The ways to sign in. At least one of `keys` and `tokens` is set.
pub struct AuthSettings {
    /// API keys.
    pub keys: Option<KeyFile>,
    /// Bearer tokens.
    pub tokens: Option<TokenSettings>,
    /// Endpoint that gives the role and the effective user, by user and vault.
    pub context: Option<ContextSettings>,
    /// The clock that tokens are checked against.
    pub clock: fn() -> SystemTime,
}

/// Identifies the senders of requests.
pub struct Authenticator {
    keys: Option<KeyFile>,
    tokens: Option<TokenVerifier>,
    token_sources: Option<TokenSources>,
    contexts: Option<UserContexts>,
    clock: fn() -> SystemTime,
}

/// The parts of a request that identify its sender.
#[derive(Clone, Copy)]
pub struct RequestCredentials<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Audiences that a token may name if the settings name none.
    pub audience: [&'a str; 2],
    /// Whether only a token is accepted.
    pub tokens_only: bool,
}

/// The reason a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDenial {
    /// There are no credentials.
    Missing,
    /// The credentials are not valid. The reason, one of a fixed set of words, is for metrics only.
    Invalid(&'static str),
    /// There is more than one set of credentials.
    Ambiguous,
    /// The credentials are valid, but not for this vault or this world.
    NoAccess,
    /// The credentials cannot be checked now.
    Unavailable,
    /// The caller sent too many requests and has to wait this long.
    TooMany(Duration),
}

/// The issuers of tokens, for clients that have no token yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSources {
    /// Issuers that clients can ask for a token.
    pub authorization_servers: Vec<String>,
}

/// The credential that a request presents.
enum Credential<'a> {
    Key(&'a str),
    Token(&'a str),
}

impl Authenticator {
    /// # Errors
    /// Describes what is wrong with the settings, without showing any secret.
    pub fn new(settings: AuthSettings) -> Result<Self, String> {
        let AuthSettings {
            keys,
            tokens,
            context,
            clock,
        } = settings;
        if keys.is_none() && tokens.is_none() {
            return Err("neither API keys nor tokens are configured".to_owned());
        }
        let token_sources = tokens.as_ref().map(|tokens| TokenSources {
            authorization_servers: tokens.authorization_servers.clone(),
        });
        Ok(Self {
            keys,
            tokens: tokens
                .map(|tokens| TokenVerifier::new(tokens, clock))
                .transpose()?,
            token_sources,
            contexts: context.map(|context| UserContexts::new(context, clock)),
            clock,
        })
    }

    /// Takes over what `previous` has fetched from the same URLs: a reload must not make anyone wait for another
    /// server.
    pub fn succeed(&self, previous: &Self) {
        if let (Some(tokens), Some(previous)) = (&self.tokens, &previous.tokens) {
            tokens.succeed(previous);
        }
    }

    /// Returns where tokens come from, if tokens are accepted.
    #[must_use]
    pub fn token_sources(&self) -> Option<&TokenSources> {
        self.token_sources.as_ref()
    }

    #[cfg(test)]
    pub(super) fn tokens(&self) -> Option<&TokenVerifier> {
        self.tokens.as_ref()
    }

    /// Returns the sender of a request.
    ///
    /// # Errors
    /// Returns an error if these headers do not let anyone in.
    pub async fn authenticate(
        &self,
        asked: RequestCredentials<'_>,
    ) -> Result<Identity, AccessDenial> {
        self.authenticate_within(asked, |_| Ok(())).await
    }

    /// Returns the sender of a request if `admit` lets that caller in. `admit` is asked as soon as the caller is known,
    /// before any other server is asked about them.
    ///
    /// # Errors
    /// Returns an error if these headers do not let anyone in, or not now.
    pub async fn authenticate_within(
        &self,
        asked: RequestCredentials<'_>,
        admit: impl Fn(&str) -> Result<(), Duration>,
    ) -> Result<Identity, AccessDenial> {
        let vault = only(asked.headers, VAULT_HEADER)?;
        let admit = |key: &str| admit(key).map_err(AccessDenial::TooMany);
        match self.credential(asked.headers)? {
            Credential::Key(text) => {
                let identity = self.by_key(text, vault, asked.tokens_only)?;
                admit(&identity.key)?;
                Ok(identity)
            }
            Credential::Token(text) => self.by_token(text, vault, &asked.audience, admit).await,
        }
    }

    /// Confirms that a caller who signed in before still could, and would be the same caller: with the same key or
    /// token, for the same vault and roots, in the same role.
    ///
    /// # Errors
    /// Returns an error if they could not sign in, or would be a different caller.
    pub async fn confirm(
        &self,
        identity: &Identity,
        audience: &[&str],
    ) -> Result<(), AccessDenial> {
        if let Some(mark) = &identity.mark {
            let holder = self
                .holder(mark)
                .ok_or(AccessDenial::Invalid("revoked_api_key"))?;
            let is_same = holder.user == identity.user
                && holder.role == identity.role
                && holder.roots == identity.roots
                && holder.good_for().contains(&identity.vault.as_str());
            return is_same.then_some(()).ok_or(AccessDenial::NoAccess);
        }
        let token = identity.token.as_ref().ok_or(AccessDenial::Missing)?;
        let vault = HeaderValue::try_from(&identity.vault).map_err(|_| AccessDenial::NoAccess)?;
        let again = self
            .by_token(token.reveal(), Some(&vault), audience, |_| Ok(()))
            .await?;
        (again == *identity)
            .then_some(())
            .ok_or(AccessDenial::NoAccess)
    }

    /// Returns whether the key that a caller signed in with is still valid.
    #[must_use]
    pub fn knows(&self, mark: &KeyMark) -> bool {
        self.holder(mark).is_some()
    }

    /// Returns the time that tokens are checked against.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        (self.clock)()
    }

    fn holder(&self, mark: &KeyMark) -> Option<&KeyHolder> {
        self.keys.as_ref()?.holder(mark)
    }

    fn credential<'a>(&self, headers: &'a HeaderMap) -> Result<Credential<'a>, AccessDenial> {
        let authorization = only(headers, header::AUTHORIZATION.as_str())?;
        let key = only(headers, API_KEY_HEADER)?;
        match (authorization, key) {
            (None, None) => Err(AccessDenial::Missing),
            (Some(_), Some(_)) => Err(AccessDenial::Ambiguous),
            (None, Some(key)) => {
                let key = key
                    .to_str()
                    .map_err(|_| AccessDenial::Invalid("malformed"))?;
                Ok(Credential::Key(key))
            }
            (Some(authorization), None) => {
                let text = bearer(authorization).ok_or(AccessDenial::Invalid("malformed"))?;
                Ok(match &self.keys {
                    Some(_) if text.starts_with(keys::PREFIX) => Credential::Key(text),
                    _ => Credential::Token(text),
                })
            }
        }
    }

    fn by_key(
        &self,
        text: &str,
        vault: Option<&HeaderValue>,
        tokens_only: bool,
    ) -> Result<Identity, AccessDenial> {
        let keys = self.keys.as_ref().filter(|_| !tokens_only);
        let keys = keys.ok_or(AccessDenial::Invalid("key_not_accepted"))?;
        let (holder, mark) = keys.check(text).map_err(|refused| match refused {
            KeyRefusal::Unknown => AccessDenial::Invalid("unknown_api_key"),
            KeyRefusal::Revoked => AccessDenial::Invalid("revoked_api_key"),
        })?;
        Ok(Identity {
            key: format!("key:{}", holder.user),
            user: holder.user.clone(),
            effective_user: None,
            vault: choose(vault, Some(&holder.good_for()))?,
            role: holder.role,
            roots: holder.roots.clone(),
            token: None,
            mark: Some(Arc::new(mark)),
            expires: None,
        })
    }

    async fn by_token(
        &self,
        text: &str,
        vault: Option<&HeaderValue>,
        audience: &[&str],
        admit: impl Fn(&str) -> Result<(), AccessDenial>,
    ) -> Result<Identity, AccessDenial> {
        let tokens = self.tokens.as_ref();
        let tokens = tokens.ok_or(AccessDenial::Invalid("unknown_key"))?;
        let bearer = tokens.check(text, audience).await?;
        let key = format!("token:{}", bearer.user);
        admit(&key)?;
        let named: Option<Vec<&str>> = bearer
            .vaults
            .as_ref()
            .map(|vaults| vaults.iter().map(String::as_str).collect());
        let vaults = match (&named, &self.contexts) {
            (Some(vaults), _) => Some(vaults.as_slice()),
            // The context endpoint decides.
            (None, Some(_)) => None,
            (None, None) => Some([DEFAULT_VAULT].as_slice()),
        };
        let vault = choose(vault, vaults)?;
        let (role, effective_user) = match &self.contexts {
            Some(contexts) => {
                let caller_role = contexts.caller_role(&bearer, text, &vault).await?;
                let effective_user = caller_role.effective_user.or(bearer.effective_user);
                (caller_role.role, effective_user)
            }
            None => (bearer.role, bearer.effective_user),
        };
        Ok(Identity {
            key,
            user: bearer.user,
            effective_user,
            vault,
            role,
            roots: None,
            token: Some(Secret::new(text)),
            mark: None,
            expires: bearer.expires,
        })
    }
}

/// Returns the value of a header that may appear at most once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, AccessDenial> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(AccessDenial::Ambiguous),
        (value, None) => Ok(value),
    }
}

/// Returns the token of an `Authorization: Bearer` header (RFC 6750).
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_start_matches(' ');
    let is_token68 = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    let body = token.trim_end_matches('=');
    let is_whole = !body.is_empty() && body.bytes().all(is_token68);
    (scheme.eq_ignore_ascii_case("bearer") && is_whole).then_some(token)
}

/// Returns the vault that is asked for, or the first of `allowed` if none is. `None` allows all vaults.
fn choose(asked: Option<&HeaderValue>, allowed: Option<&[&str]>) -> Result<String, AccessDenial> {
    let vault = match (asked, allowed) {
        (Some(value), _) => value.to_str().ok().filter(|text| is_header_safe(text)),
        (None, Some(vaults)) => vaults.first().copied(),
        (None, None) => Some(DEFAULT_VAULT),
    };
    let vault = vault.ok_or(AccessDenial::NoAccess)?;
    let is_allowed = allowed.is_none_or(|vaults| vaults.contains(&vault));
    is_allowed
        .then(|| vault.to_owned())
        .ok_or(AccessDenial::NoAccess)
}
