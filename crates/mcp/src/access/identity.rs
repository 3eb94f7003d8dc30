//! The sender of a request. Made once per request from verified credentials, never from the arguments of a tool.

use std::{fmt, sync::Arc, time::SystemTime};

use super::{KeyMark, Role};

/// A string that no log, error or debug output may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the string, for the one place that has to send or compare it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the caller in sessions, limits and audit lines: the way in and the user, so that a key and a token of
    /// the same name are two callers.
    pub key: String,
    /// The user that signed in.
    pub user: String,
    /// The user that an upstream store sees instead, if there is one.
    pub effective_user: Option<String>,
    /// The vault that this request is about.
    pub vault: String,
    /// The caller's role, which decides what it may use.
    pub role: Role,
    /// The roots that the caller's key is bound to; `None` means all. Its role may narrow them further: see
    /// [`Acl::roots_of`](super::Acl::roots_of).
    pub roots: Option<Vec<String>>,
    /// The bearer token, which is forwarded to an upstream store. A caller with a key has none.
    pub token: Option<Secret>,
    /// Identifies the key, if the caller signed in with one.
    pub mark: Option<Arc<KeyMark>>,
    /// The time at which the token expires.
    pub expires: Option<SystemTime>,
}

impl Identity {
    /// Returns the user in whose name an upstream store is asked.
    #[must_use]
    pub fn upstream_user(&self) -> &str {
        self.effective_user.as_deref().unwrap_or(&self.user)
    }
}
