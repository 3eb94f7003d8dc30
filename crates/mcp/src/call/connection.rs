//! The state of one client: what a world keeps between its calls, and the resources it subscribes to.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::access::{KeyMark, ListenPermit};

/// Number of URIs that one client may watch.
const MAX_WATCHED: usize = 1000;
/// Total bytes of these URIs.
const MAX_WATCHED_BYTES: usize = 128 << 10;

/// State that is kept between the calls of one client: a few strings, each under a name that the world chose, and
/// values of the world's own types. All of it is dropped with the client.
#[derive(Debug, Default)]
pub struct Connection {
    slots: Mutex<BTreeMap<&'static str, String>>,
    values: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    watched: Arc<WatchedResources>,
    /// The permission that came with the client's latest request.
    permit: Arc<LatestPermit>,
    /// Stops the notices to the client; `Some` while they are being sent.
    hearing: Mutex<Option<CancellationToken>>,
    /// Whether there was a time in which no notices were sent.
    has_missed: AtomicBool,
    ended: CancellationToken,
}

impl Connection {
    /// Makes a connection that ends when `stopping` fires, if not before.
    pub(crate) fn until(stopping: &CancellationToken) -> Self {
        Self {
            slots: Mutex::default(),
            values: Mutex::default(),
            watched: Arc::default(),
            permit: Arc::default(),
            hearing: Mutex::default(),
            has_missed: AtomicBool::new(false),
            ended: stopping.child_token(),
        }
    }

    /// Returns the value stored under `name`.
    #[must_use]
    pub fn get(&self, name: &'static str) -> Option<String> {
        self.slots.lock().get(name).cloned()
    }

    /// Stores `value` under `name`, replacing any earlier value.
    pub fn set(&self, name: &'static str, value: impl Into<String>) {
        self.slots.lock().insert(name, value.into());
    }

    /// Removes the value stored under `name`.
    pub fn clear(&self, name: &'static str) {
        self.slots.lock().remove(name);
    }

    /// Returns the one value of type `T` that is kept for this client, and makes it if there is none yet.
    pub fn value<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.values.lock();
        let known = values.get(&TypeId::of::<T>()).cloned();
        if let Some(value) = known.and_then(|value| value.downcast().ok()) {
            return value;
        }
        let value = Arc::new(make());
        values.insert(TypeId::of::<T>(), Arc::<T>::clone(&value));
        value
    }

    pub(crate) fn watched(&self) -> Arc<WatchedResources> {
        Arc::clone(&self.watched)
    }

    pub(crate) fn permit(&self) -> Arc<LatestPermit> {
        Arc::clone(&self.permit)
    }

    /// Returns a token that fires when notices to the client must stop; `None` if they are already being sent.
    pub(crate) fn begins_to_hear(&self) -> Option<CancellationToken> {
        let mut hearing = self.hearing.lock();
        if hearing.is_some() {
            return None;
        }
        let token = self.ended.child_token();
        *hearing = Some(token.clone());
        Some(token)
    }

    /// Returns whether something may have changed while no notices were sent, and resets that state.
    pub(crate) fn has_missed_changes(&self) -> bool {
        self.has_missed.swap(false, Ordering::Relaxed)
    }

    /// Stops notices until the client comes back.
    pub(crate) fn rest(&self) {
        self.permit.rest();
        if let Some(hearing) = self.hearing.lock().take() {
            self.has_missed.store(true, Ordering::Relaxed);
            hearing.cancel();
        }
    }

    /// Returns a token that fires when the client has disconnected, or when waiting must end.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// The permission that came with the latest request of a client; empty if callers do not sign in, and while the client
/// is away.
#[derive(Default)]
pub(crate) struct LatestPermit {
    permit: Mutex<Option<Arc<ListenPermit>>>,
    /// Identifies the key that it was granted on. Kept while the client is away.
    mark: Mutex<Option<Arc<KeyMark>>>,
}

impl LatestPermit {
    pub(crate) fn get(&self) -> Option<Arc<ListenPermit>> {
        self.permit.lock().clone()
    }

    pub(crate) fn mark(&self) -> Option<Arc<KeyMark>> {
        self.mark.lock().clone()
    }

    pub(crate) fn set(&self, permit: &Arc<ListenPermit>) {
        self.mark.lock().clone_from(&permit.identity().mark);
        *self.permit.lock() = Some(Arc::clone(permit));
    }

    /// Drops the permission while the client is away; its next request brings another.
    fn rest(&self) {
        *self.permit.lock() = None;
    }
}

impl fmt::Debug for LatestPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LatestPermit")
    }
}

/// The URIs of resources that a client watches.
#[derive(Debug, Default)]
pub(crate) struct WatchedResources(Mutex<Uris>);

#[derive(Debug, Default)]
struct Uris {
    all: BTreeSet<String>,
    bytes: usize,
}

impl WatchedResources {
    /// Returns whether one client may watch this many URIs with this many bytes.
    pub(crate) fn has_room_for(uris: usize, bytes: usize) -> bool {
        uris <= MAX_WATCHED && bytes <= MAX_WATCHED_BYTES
    }

    /// Watches `uri`, and returns whether it is watched now; it is not if there are too many.
    pub(crate) fn add(&self, uri: String) -> bool {
        let mut uris = self.0.lock();
        if uris.all.contains(&uri) {
            return true;
        }
        let bytes = uris.bytes + uri.len();
        let has_room = Self::has_room_for(uris.all.len() + 1, bytes);
        if has_room {
            uris.bytes = bytes;
            uris.all.insert(uri);
        }
        has_room
    }

    pub(crate) fn remove(&self, uri: &str) {
        let mut uris = self.0.lock();
        if uris.all.remove(uri) {
            uris.bytes -= uri.len();
        }
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.0.lock().all.contains(uri)
    }

    pub(crate) fn all(&self) -> BTreeSet<String> {
        self.0.lock().all.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_watches_is_bounded_in_number_and_in_bytes() {
        let watched = WatchedResources::default();
        let added = (0..2000).filter(|number| watched.add(format!("x://{number}")));
        assert_eq!(added.count(), MAX_WATCHED);
        let watched = WatchedResources::default();
        let long = |number: usize| format!("{number:0>4096}");
        let added = (0..100).filter(|&number| watched.add(long(number)));
        assert_eq!(added.count(), MAX_WATCHED_BYTES / 4096);
        assert!(!watched.add(long(99)));
        assert!(watched.add(long(0)), "it is watched already");
        watched.remove(&long(0));
        watched.remove(&long(0));
        assert!(watched.add(long(99)));
        assert!(!watched.add(long(98)));
    }
}
