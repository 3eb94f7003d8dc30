//! Role and effective user of a signed-in user in a vault, as reported by an endpoint of the operator.
//!
//! Answers are cached for a short while, by the token's holder and by vault; never across either.

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use sectile_client::{BaseUrl, Client, Reply};
use serde::Deserialize;

use super::{
    AccessDenial, Role, authenticator::VAULT_HEADER, keys::is_header_safe, tokens::Bearer,
};

/// Largest number of cached answers. It bounds the memory; beyond it, the endpoint is asked each time.
const MAX_KEPT: usize = 10_000;
/// Longest time that a refusal is cached, so that a user who was just granted access does not wait.
const MAX_KEEP_REFUSAL: Duration = Duration::from_secs(1);

/// Settings of the endpoint that gives role and effective user.
pub struct ContextSettings {
    /// The endpoint: `GET {url}` with the caller's `Authorization` and `X-Vault-Id`.
    pub url: BaseUrl,
    /// How long an answer is valid.
    pub keep: Duration,
    /// The client that asks the endpoint.
    pub client: Client,
}

/// Role and effective user of a user in a vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserContext {
    pub(super) role: Role,
    pub(super) effective_user: Option<String>,
}

/// Looks up role and effective user.
pub(super) struct UserContexts {
    settings: ContextSettings,
    clock: fn() -> SystemTime,
    places: Mutex<HashMap<String, Arc<ContextSlot>>>,
}

/// Cache slot for the answer about one user in one vault.
#[derive(Default)]
struct ContextSlot {
    kept: Mutex<Option<CachedContext>>,
    /// Held while asking, so that concurrent callers wait for the same answer.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct CachedContext {
    answer: Result<UserContext, AccessDenial>,
    since: SystemTime,
}

#[derive(Deserialize)]
struct ContextResponse {
    role: Option<String>,
    effective_canister_user_id: Option<String>,
}

impl UserContexts {
    pub(super) fn new(settings: ContextSettings, clock: fn() -> SystemTime) -> Self {
        Self {
            settings,
            clock,
            places: Mutex::default(),
        }
    }

    /// Returns the context of `bearer`, whose token this is, in `vault`.
    pub(super) async fn caller_role(
        &self,
        bearer: &Bearer,
        token: &str,
        vault: &str,
    ) -> Result<UserContext, AccessDenial> {
        let place = self.place(bearer, vault);
        if let Some(answer) = self.kept(&place) {
            return answer;
        }
        let _asking = place.asking.lock().await;
        if let Some(answer) = self.kept(&place) {
            return answer;
        }
        let answer = self.ask(token, vault).await;
        let kept = CachedContext {
            answer: answer.clone(),
            since: (self.clock)(),
        };
        *place.kept.lock() = Some(kept);
        answer
    }

    /// Returns the slot of an answer. If there are too many, it is a fresh one that no other call finds.
    fn place(&self, bearer: &Bearer, vault: &str) -> Arc<ContextSlot> {
        // No part contains a line break, and a part that is present is not empty.
        let effective_user = bearer.effective_user.as_deref().unwrap_or_default();
        let key = format!("{}\n{vault}\n{effective_user}", bearer.user);
        let mut places = self.places.lock();
        if let Some(place) = places.get(&key) {
            return Arc::clone(place);
        }
        if places.len() >= MAX_KEPT {
            places.retain(|_, place| Arc::strong_count(place) > 1 || self.kept(place).is_some());
        }
        let place = Arc::<ContextSlot>::default();
        if places.len() < MAX_KEPT {
            places.insert(key, Arc::clone(&place));
        }
        place
    }

    /// Returns the answer in `place` if it is still valid.
    fn kept(&self, place: &ContextSlot) -> Option<Result<UserContext, AccessDenial>> {
        let kept = place.kept.lock();
        let kept = kept.as_ref()?;
        let keep = match kept.answer {
            Ok(_) => self.settings.keep,
            Err(_) => self.settings.keep.min(MAX_KEEP_REFUSAL),
        };
        // An answer from the future is not valid: the clock was set back.
        let age = (self.clock)().duration_since(kept.since).ok()?;
        (age < keep).then(|| kept.answer.clone())
    }

    async fn ask(&self, token: &str, vault: &str) -> Result<UserContext, AccessDenial> {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json);
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| AccessDenial::Unavailable)?;
        authorization.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, authorization);
        let vault = HeaderValue::try_from(vault).map_err(|_| AccessDenial::Unavailable)?;
        headers.insert(VAULT_HEADER, vault);
        let ContextSettings { url, client, .. } = &self.settings;
        let reply = client.get(url, "", headers).await;
        let reply = reply.map_err(|_| AccessDenial::Unavailable)?;
        match reply.status {
            StatusCode::OK => caller_role(&reply).ok_or(AccessDenial::Unavailable),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
                Err(AccessDenial::NoAccess)
            }
            _ => Err(AccessDenial::Unavailable),
        }
    }
}

/// Parses an answer; `None` if it is not one.
fn caller_role(reply: &Reply) -> Option<UserContext> {
    let written: ContextResponse = serde_json::from_slice(&reply.body).ok()?;
    let said = |text: Option<String>| {
        let text = text.unwrap_or_default().trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    };
    let role = said(written.role).map_or(Role::Viewer, |name| Role::named(&name));
    let effective_user = said(written.effective_canister_user_id);
    let is_usable = effective_user.as_deref().is_none_or(is_header_safe);
    is_usable.then_some(UserContext {
        role,
        effective_user,
    })
}
