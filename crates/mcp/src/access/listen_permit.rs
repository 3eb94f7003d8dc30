//! Permission of a caller to keep listening. It ends with the credentials that it was granted on.
//!
//! A call is short and keeps the credentials that it started with. A stream of notices has no end of its own, so it
//! ends when its key is revoked, its token expires, or its role may use other things than before.

use std::{sync::Arc, time::Duration};

use super::{Acl, Authenticator, Identity, LiveValue};

/// Longest sleep. Wall clocks can be set, so a sleep until a time of day is checked this often.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// Permission of a caller to keep listening.
pub(crate) struct ListenPermit {
    identity: Arc<Identity>,
    /// Audiences that a token may name.
    audience: [String; 2],
    authenticator: Arc<LiveValue<Authenticator>>,
    roles: Arc<LiveValue<Acl>>,
    /// The table of roles when the permission was granted.
    acl: Arc<Acl>,
}

impl ListenPermit {
    pub(crate) fn new(
        identity: Arc<Identity>,
        audience: [String; 2],
        authenticator: &Arc<LiveValue<Authenticator>>,
        roles: &Arc<LiveValue<Acl>>,
    ) -> Self {
        Self {
            identity,
            audience,
            authenticator: Arc::clone(authenticator),
            roles: Arc::clone(roles),
            acl: roles.get(),
        }
    }

    /// Returns the caller that holds the permission.
    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Returns whether the caller could still sign in as before, and would see the same things.
    pub(crate) async fn holds(&self) -> bool {
        let role = self.identity.role;
        if !self.roles.get().is_same_for(role, &self.acl) {
            return false;
        }
        let audience = self.audience.each_ref().map(String::as_str);
        let authenticator = self.authenticator.get();
        authenticator
            .confirm(&self.identity, &audience)
            .await
            .is_ok()
    }

    /// Waits until the permission no longer holds.
    pub(crate) async fn ended(self: Arc<Self>) {
        let mut authenticators = self.authenticator.replacements();
        let mut roles = self.roles.replacements();
        while self.holds().await {
            tokio::select! {
                () = self.expired() => return,
                () = authenticators.next() => {}
                () = roles.next() => {}
            }
        }
    }

    async fn expired(&self) {
        let Some(expires) = self.identity.expires else {
            return std::future::pending().await;
        };
        loop {
            let now = self.authenticator.get().now();
            match expires.duration_since(now) {
                Ok(left) if !left.is_zero() => tokio::time::sleep(left.min(LONGEST_NAP)).await,
                _ => return,
            }
        }
    }
}
