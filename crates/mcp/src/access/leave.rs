//! The leave of a caller to go on hearing: what was granted with a request that lasts ends with what it was granted on.
//!
//! A call is short and has the credentials that it began with. A stream of notices has no end of its own, so it ends when its
//! key is revoked, its token expires, or its role may use other things than before.

use std::{sync::Arc, time::Duration};

use super::{Acl, Authenticator, Identity, LiveValue};

/// Clocks of the day can be set, so nobody sleeps longer than this by them.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The leave of a caller to go on hearing.
pub(crate) struct ListenPermit {
    identity: Arc<Identity>,
    /// What a token may name as its audience.
    audience: [String; 2],
    authenticator: Arc<LiveValue<Authenticator>>,
    roles: Arc<LiveValue<Acl>>,
    /// What roles could use when it was granted.
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

    /// Who has it.
    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Whether its caller could sign in as before, and see the same.
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

    /// Waits until it does not hold any more.
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
