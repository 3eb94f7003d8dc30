//! A key set from another server: fetched when it is needed, again when it is stale or a key is missing, and never more
//! than once at a time.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use sectile_client::{BaseUrl, Client};

use super::{
    invalid,
    keys::{Algorithm, KeySet, VerificationKey},
};
use crate::access::AccessDenial;

/// How long to wait before fetching again because a key is missing or the last fetch failed. Tokens with made-up keys
/// must not become requests to another server.
const PAUSE: Duration = Duration::from_secs(10);
/// The same pause if there is no set at all. It is shorter, because no one can sign in until there is one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long a stale set is used if there is no newer one.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// A key set from another server.
pub(super) struct RemoteKeySet(Arc<Inner>);

struct Inner {
    url: BaseUrl,
    keep: Duration,
    client: Client,
    clock: fn() -> SystemTime,
    state: Mutex<RemoteKeyState>,
    /// Held while fetching.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone, Default)]
struct RemoteKeyState {
    latest: Option<(Arc<KeySet>, SystemTime)>,
    asked: Option<SystemTime>,
    /// Number of fetches so far.
    times: u64,
    failed: bool,
}

impl RemoteKeyState {
    /// Returns the set, and whether it is still fresh.
    fn set(&self, now: SystemTime, keep: Duration) -> Option<(&Arc<KeySet>, bool)> {
        let (set, since) = self.latest.as_ref()?;
        let age = age(now, *since);
        (age < keep.saturating_add(GRACE)).then_some((set, age < keep))
    }

    /// Returns whether the last fetch was so recent that there is no other yet.
    fn pauses(&self, now: SystemTime, pause: Duration) -> bool {
        self.asked.is_some_and(|asked| age(now, asked) < pause)
    }
}

/// Returns the time since `then`. A time in the future counts as long ago: the clock was set back.
fn age(now: SystemTime, then: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or(Duration::MAX)
}

impl RemoteKeySet {
    pub(super) fn new(
        url: BaseUrl,
        keep: Duration,
        client: Client,
        clock: fn() -> SystemTime,
    ) -> Self {
        Self(Arc::new(Inner {
            url,
            keep,
            client,
            clock,
            state: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }))
    }

    /// Takes over the set of `previous` if it is from the same URL. It is stale from the start, so that it is fetched
    /// again, and used until there is a newer one.
    pub(super) fn succeed(&self, previous: &Self) {
        if self.0.url != previous.0.url {
            return;
        }
        let latest = previous.0.state().latest;
        let old = (self.0.clock)().checked_sub(self.0.keep);
        let mut state = self.0.state.lock();
        state.latest = latest.map(|(set, since)| (set, old.map_or(since, |old| old.min(since))));
    }

    /// Returns the key for `algorithm` with this id, from the current set or from a newer one.
    pub(super) async fn find(
        &self,
        algorithm: Algorithm,
        kid: Option<&str>,
    ) -> Result<VerificationKey, AccessDenial> {
        let inner = &self.0;
        let now = (inner.clock)();
        let state = inner.state();
        let known = state.set(now, inner.keep);
        let key = known.and_then(|(set, _)| set.find(algorithm, kid));
        let pause = match (known, key) {
            (Some((_, true)), Some(key)) => return Ok(key.clone()),
            (Some(_), Some(key)) if state.failed && inner.asking.try_lock().is_err() => {
                // Another request waits for an answer that may well not come; this set is the best there is.
                return Ok(key.clone());
            }
            (None, _) => FIRST_PAUSE,
            (Some(_), _) => PAUSE,
        };
        if state.pauses(now, pause) {
            return match (known, key) {
                (_, Some(key)) => Ok(key.clone()),
                (Some(_), None) => Err(invalid("unknown_key")),
                (None, None) => Err(AccessDenial::Unavailable),
            };
        }
        // In a task of its own, so that it finishes even if this request is cancelled.
        let asking = Arc::clone(inner);
        let seen = state.times;
        let asked = tokio::spawn(async move { asking.ask(seen).await });
        asked.await.map_err(|_| AccessDenial::Unavailable)?;
        let state = inner.state();
        match state.set((inner.clock)(), inner.keep) {
            Some((set, _)) => set
                .find(algorithm, kid)
                .cloned()
                .ok_or(invalid("unknown_key")),
            None => Err(AccessDenial::Unavailable),
        }
    }
}

impl Inner {
    fn state(&self) -> RemoteKeyState {
        self.state.lock().clone()
    }

    /// Fetches the set, unless that happened since `seen` fetches.
    async fn ask(&self, seen: u64) {
        let _asking = self.asking.lock().await;
        if self.state().times != seen {
            return;
        }
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json);
        let reply = self.client.get(&self.url, "", headers).await;
        let set = reply
            .ok()
            .filter(|reply| reply.status == StatusCode::OK)
            .and_then(|reply| KeySet::parse(&reply.body))
            .filter(|set| !set.is_empty());
        let now = (self.clock)();
        let mut state = self.state.lock();
        state.asked = Some(now);
        state.times += 1;
        state.failed = set.is_none();
        if let Some(set) = set {
            state.latest = Some((Arc::new(set), now));
        }
        let failed = state.failed;
        drop(state);
        if failed {
            tracing::warn!("cannot fetch the key set");
        }
    }
}
