//! Who a request comes from. Made once per request from verified credentials, never from what a tool was given.

use std::{fmt, sync::Arc, time::SystemTime};

use super::{KeyMark, Role};

/// A text that no log, error or debug output may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` out of sight.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that has to send or compare it.
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

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What sessions, limits and audit lines know the caller by: the way in and the user, so that a key and a token of
    /// the same name are two callers.
    pub key: String,
    /// The user that signed in.
    pub user: String,
    /// The user that an upstream store shall see instead, where there is one.
    pub effective_user: Option<String>,
    /// The vault that this request is about.
    pub vault: String,
    /// What the caller may do.
    pub role: Role,
    /// The bearer token, which goes on to an upstream store. A caller with a key has none.
    pub token: Option<Secret>,
    /// What the key is known by, where the caller came with one.
    pub mark: Option<Arc<KeyMark>>,
    /// From when on the token is not good any more.
    pub expires: Option<SystemTime>,
}

impl Identity {
    /// The user in whose name an upstream store is asked.
    #[must_use]
    pub fn upstream_user(&self) -> &str {
        self.effective_user.as_deref().unwrap_or(&self.user)
    }
}
