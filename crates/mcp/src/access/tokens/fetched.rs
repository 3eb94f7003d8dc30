//! A set of keys that another server has: fetched when it is needed, again when it is old or a key is missing, and never
//! more than once at a time.

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

/// How long nobody is asked again because of a key that is missing, or because the last time failed. Tokens with made-up
/// keys must not become requests to somebody else.
const PAUSE: Duration = Duration::from_secs(10);
/// The same where there is no set at all, and nobody can sign in until there is.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How much longer than it counts a set is used when there is no newer one.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// A set of keys from another server.
pub(super) struct RemoteKeySet(Arc<Inner>);

struct Inner {
    url: BaseUrl,
    keep: Duration,
    client: Client,
    clock: fn() -> SystemTime,
    state: Mutex<RemoteKeyState>,
    /// Held by whoever asks.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone, Default)]
struct RemoteKeyState {
    latest: Option<(Arc<KeySet>, SystemTime)>,
    asked: Option<SystemTime>,
    /// How often somebody asked.
    times: u64,
    failed: bool,
}

impl RemoteKeyState {
    /// The set, and whether it still counts.
    fn set(&self, now: SystemTime, keep: Duration) -> Option<(&Arc<KeySet>, bool)> {
        let (set, since) = self.latest.as_ref()?;
        let age = age(now, *since);
        (age < keep.saturating_add(GRACE)).then_some((set, age < keep))
    }

    /// Whether it was asked so lately that it is not asked again.
    fn pauses(&self, now: SystemTime, pause: Duration) -> bool {
        self.asked.is_some_and(|asked| age(now, asked) < pause)
    }
}

/// How long ago something was. What seems to come from the future is old: the clock was set back.
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

    /// Takes over the set of `previous`, if it is from the same place. It is old from the start, so that it is asked for
    /// again, and good until there is a newer one.
    pub(super) fn succeed(&self, previous: &Self) {
        if self.0.url != previous.0.url {
            return;
        }
        let latest = previous.0.state().latest;
        let old = (self.0.clock)().checked_sub(self.0.keep);
        let mut state = self.0.state.lock();
        state.latest = latest.map(|(set, since)| (set, old.map_or(since, |old| old.min(since))));
    }

    /// The key for `algorithm` with this id, from the set as it is or from a newer one.
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
                // Somebody else waits for an answer that may well not come; this set is what there is.
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
        // In a task of its own, so that it comes to its end also when this request goes away.
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

    /// Asks for the set, unless that was done since it had been asked for `seen` times.
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
            tracing::warn!("the key set could not be fetched");
        }
    }
}
