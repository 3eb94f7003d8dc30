//! Links that let one person in once: made by a command on the same machine, which shares a secret with the server.

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;

use crate::access::{SealingKey, Secret};

/// How long a link can be followed: enough for a browser that has to be started first.
const VALID_FOR: Duration = Duration::from_secs(300);
/// What a link is sealed for, so that nothing else sealed with the same secret can pass for one.
const CONTEXT: &[u8] = b"console link";
/// Most links that are remembered as followed. They are forgotten when they expire, so this many would have to be
/// followed within five minutes.
const MOST_FOLLOWED: usize = 1_000;
/// Longest link that is looked at.
const MAX_LINK_BYTES: usize = 8 << 10;
/// Number of bytes of the time in a link.
const TIME_BYTES: usize = 8;

/// The secret that a server shares with the commands that make links to it.
pub struct LinkKey(SealingKey);

impl LinkKey {
    /// Derives the key from a secret. Returns `None` if the library makes no key, which no secret causes.
    #[must_use]
    pub fn derive(secret: &Secret) -> Option<Self> {
        SealingKey::derive(secret, CONTEXT).map(Self)
    }

    /// Returns the path of a link that leads to `target`, a path below the root.
    ///
    /// # Errors
    /// Returns an error if the system has no random bytes.
    pub fn link(&self, target: &str, now: SystemTime) -> io::Result<String> {
        let mut bytes = seconds(now + VALID_FOR).to_be_bytes().to_vec();
        bytes.extend(target.as_bytes());
        let sealed = self.0.seal(CONTEXT, bytes)?;
        Ok(format!("{}?{}={sealed}", super::OPEN, super::LINK))
    }

    /// Returns when a link expires, and where it leads; `None` if it was not made with this key.
    fn read(&self, sealed: &str) -> Option<(u64, String)> {
        if sealed.len() > MAX_LINK_BYTES {
            return None;
        }
        let bytes = self.0.open(CONTEXT, sealed)?;
        let (time, target) = bytes.split_at_checked(TIME_BYTES)?;
        let expires = u64::from_be_bytes(time.try_into().ok()?);
        Some((expires, String::from_utf8(target.to_vec()).ok()?))
    }
}

/// Follows links, each once.
pub(super) struct OneTimeLinks {
    key: Arc<LinkKey>,
    clock: fn() -> SystemTime,
    /// The links that were followed and have not expired, in the order in which they were.
    followed: Mutex<VecDeque<(u64, String)>>,
}

impl OneTimeLinks {
    pub(super) fn new(key: Arc<LinkKey>, clock: fn() -> SystemTime) -> Self {
        Self {
            key,
            clock,
            followed: Mutex::default(),
        }
    }

    /// Returns where a link leads, the first time it is followed.
    pub(super) fn follow(&self, sealed: &str) -> Option<String> {
        let (expires, target) = self.key.read(sealed)?;
        let now = seconds((self.clock)());
        let latest = now + VALID_FOR.as_secs();
        let mut followed = self.followed.lock();
        followed.retain(|(expires, _)| *expires >= now);
        let is_new = followed.iter().all(|(_, link)| link != sealed);
        // A link that is valid for longer was made by a clock that is not ours.
        if !is_new || expires < now || expires > latest || followed.len() == MOST_FOLLOWED {
            return None;
        }
        followed.push_back((expires, sealed.to_owned()));
        Some(target)
    }
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn key(secret: &str) -> LinkKey {
        LinkKey::derive(&Secret::new(secret)).expect("a key")
    }

    fn sealed(link: &str) -> &str {
        link.strip_prefix("/open?link=").expect("the path of links")
    }

    #[test]
    fn a_link_is_followed_once() {
        let links = OneTimeLinks::new(Arc::new(key("one")), || NOW + Duration::from_secs(10));
        let link = key("one").link("/documents?id=a", NOW).expect("a link");
        assert_eq!(
            links.follow(sealed(&link)).as_deref(),
            Some("/documents?id=a")
        );
        assert_eq!(links.follow(sealed(&link)), None);
        let another = key("one").link("/", NOW).expect("a link");
        assert_eq!(links.follow(sealed(&another)).as_deref(), Some("/"));
    }

    #[test]
    fn a_link_that_is_old_or_foreign_or_changed_leads_nowhere() {
        let links = OneTimeLinks::new(Arc::new(key("one")), || {
            NOW + VALID_FOR + Duration::from_secs(1)
        });
        let old = key("one").link("/", NOW).expect("a link");
        assert_eq!(links.follow(sealed(&old)), None);
        let early = key("one").link("/", NOW + VALID_FOR * 3).expect("a link");
        assert_eq!(links.follow(sealed(&early)), None);
        let foreign = key("two").link("/", NOW + VALID_FOR).expect("a link");
        assert_eq!(links.follow(sealed(&foreign)), None);
        let good = key("one").link("/", NOW + VALID_FOR).expect("a link");
        let mut changed = sealed(&good).to_owned();
        changed.pop();
        for bad in [changed.as_str(), "", "!", &"A".repeat(MAX_LINK_BYTES + 1)] {
            assert_eq!(links.follow(bad), None);
        }
        assert!(links.follow(sealed(&good)).is_some());
    }
}
