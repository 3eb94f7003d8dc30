//! Notices about resources: to subscribers of a connection, and to listeners of the stateless era.
//!
//! A resource that a policy hides, or keeps from callers, causes no notice: not when it changes, and not when only the
//! hidden part of a listing has changed. Nor does a caller get one that could no longer sign in.

use std::{collections::BTreeSet, future::Future, sync::Arc};

use rmcp::{
    Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{SubscriptionContext, SubscriptionSink},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::{
    Connection, ResourceNotice, Surface,
    access::ListenPermit,
    call::{
        connection::{LatestPermit, WatchedResources},
        policy::CallerRole,
    },
};

/// A receiver of notices.
pub(super) trait Audience: Send + Sync {
    /// Returns whether it may receive notices now.
    fn ear(&self) -> impl Future<Output = NoticeAccess> + Send;
    /// Returns the watched resources.
    fn watched(&self) -> BTreeSet<String>;
    fn watches(&self, uri: &str) -> bool;
    /// Fails if the client has disconnected.
    fn tell_updated(&self, uri: String) -> impl Future<Output = Result<(), ClientGone>> + Send;
    fn tell_list_changed(&self) -> impl Future<Output = Result<(), ClientGone>> + Send;
}

/// Whether a client may receive notices.
pub(super) enum NoticeAccess {
    /// About everything that a caller with this role can see.
    Open(CallerRole),
    /// About nothing, until the client sends other credentials.
    Closed,
    /// Never again.
    Deaf,
}

impl NoticeAccess {
    /// Returns the access of a client that came with `leave`, or `otherwise` if that no longer holds.
    async fn by(permit: Option<Arc<ListenPermit>>, otherwise: Self) -> Self {
        match permit {
            None => Self::Open(None),
            Some(permit) if permit.holds().await => Self::Open(Some(permit.identity().role)),
            Some(_) => otherwise,
        }
    }
}

/// The client has disconnected.
pub(super) struct ClientGone;

/// A client of the handshake eras, on a connection that carries notices.
struct Subscriber {
    peer: Peer<RoleServer>,
    watched: Arc<WatchedResources>,
    permit: Arc<LatestPermit>,
}

impl Audience for Subscriber {
    async fn ear(&self) -> NoticeAccess {
        NoticeAccess::by(self.permit.get(), NoticeAccess::Closed).await
    }

    fn watched(&self) -> BTreeSet<String> {
        self.watched.all()
    }

    fn watches(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    async fn tell_updated(&self, uri: String) -> Result<(), ClientGone> {
        let notice = ResourceUpdatedNotificationParam::new(uri);
        let told = self.peer.notify_resource_updated(notice).await;
        told.map_err(|_| ClientGone)
    }

    async fn tell_list_changed(&self) -> Result<(), ClientGone> {
        let told = self.peer.notify_resource_list_changed().await;
        told.map_err(|_| ClientGone)
    }
}

/// One `subscriptions/listen` request.
pub(super) struct Listener {
    sink: SubscriptionSink,
    watched: BTreeSet<String>,
    hears_of_list: bool,
    permit: Option<Arc<ListenPermit>>,
}

impl Listener {
    pub(super) fn new(context: &SubscriptionContext, permit: Option<Arc<ListenPermit>>) -> Self {
        let accepted = context.accepted();
        let watched = accepted.resource_subscriptions.iter().flatten();
        Self {
            sink: context.sink().clone(),
            watched: watched.cloned().collect(),
            hears_of_list: accepted.resources_list_changed == Some(true),
            permit,
        }
    }
}

impl Audience for Listener {
    async fn ear(&self) -> NoticeAccess {
        NoticeAccess::by(self.permit.clone(), NoticeAccess::Deaf).await
    }

    fn watched(&self) -> BTreeSet<String> {
        self.watched.clone()
    }

    fn watches(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    async fn tell_updated(&self, uri: String) -> Result<(), ClientGone> {
        let told = self.sink.notify_resource_updated(uri).await;
        told.map_err(|_| ClientGone)
    }

    async fn tell_list_changed(&self) -> Result<(), ClientGone> {
        if !self.hears_of_list {
            return Ok(());
        }
        let told = self.sink.notify_resource_list_changed().await;
        told.map_err(|_| ClientGone)
    }
}

/// Returns the part of what a listener asked for that it may have. A URI that does not exist is accepted like any
/// other, and causes no notice.
pub(super) fn acceptable(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    let uris = requested.resource_subscriptions.as_ref();
    accepted.resource_subscriptions = uris
        .filter(|uris| {
            WatchedResources::has_room_for(uris.len(), uris.iter().map(String::len).sum())
        })
        .cloned();
    accepted
}

/// Starts to send notices to the client of a connection, until that ends. Does nothing if that has already started.
pub(super) fn tell_connection(
    surface: &Arc<Surface>,
    connection: &Connection,
    peer: Peer<RoleServer>,
) {
    let Some(changes) = surface.changes() else {
        return;
    };
    let Some(ended) = connection.begins_to_hear() else {
        return;
    };
    let has_missed = connection.has_missed_changes();
    let subscriber = Subscriber {
        peer,
        watched: connection.watched(),
        permit: connection.permit(),
    };
    let surface = Arc::clone(surface);
    let changes = changes();
    tokio::spawn(async move {
        let telling = async {
            if has_missed
                && let NoticeAccess::Open(caller_role) = subscriber.ear().await
                && tell_missed(&surface, &subscriber, caller_role)
                    .await
                    .is_err()
            {
                return;
            }
            tell(&surface, &subscriber, changes).await;
        };
        tokio::select! {
            () = ended.cancelled() => {}
            () = telling => {}
        }
    });
}

/// Sends notices of changes to `audience` until there can be no more, or the client has disconnected.
pub(super) async fn tell(
    surface: &Arc<Surface>,
    audience: &impl Audience,
    mut changes: Receiver<ResourceNotice>,
) {
    let caller_role = match audience.ear().await {
        NoticeAccess::Open(caller_role) => caller_role,
        NoticeAccess::Closed => None,
        NoticeAccess::Deaf => return,
    };
    let mut listing = Listing::new(surface, caller_role).await;
    let mut has_missed = false;
    loop {
        let notice = changes.recv().await;
        let caller_role = match audience.ear().await {
            NoticeAccess::Open(caller_role) => caller_role,
            NoticeAccess::Closed => {
                has_missed = true;
                match notice {
                    Err(RecvError::Closed) => return,
                    _ => continue,
                }
            }
            NoticeAccess::Deaf => return,
        };
        let is_another = caller_role != listing.caller_role;
        if is_another {
            listing = Listing::new(surface, caller_role).await;
        }
        let is_late = std::mem::take(&mut has_missed) || is_another;
        if is_late && tell_missed(surface, audience, caller_role).await.is_err() {
            return;
        }
        let told = match notice {
            Ok(ResourceNotice::Updated(uri)) => {
                if audience.watches(&uri) && surface.may_notify(&uri, caller_role) {
                    audience.tell_updated(uri).await
                } else {
                    Ok(())
                }
            }
            Ok(ResourceNotice::ListChanged) => listing.tell(surface, audience).await,
            // The missed notices may have been about anything.
            Err(RecvError::Lagged(_)) => tell_all(surface, audience, &mut listing).await,
            Err(RecvError::Closed) => return,
        };
        if told.is_err() {
            return;
        }
    }
}

/// Sends notices of everything that may have changed while none were sent. If part of the listing is hidden, there is
/// no way to know whether the rest of it has changed, so no notice is sent about it.
async fn tell_missed(
    surface: &Arc<Surface>,
    audience: &impl Audience,
    caller_role: CallerRole,
) -> Result<(), ClientGone> {
    for uri in audience.watched() {
        if surface.may_notify(&uri, caller_role) {
            audience.tell_updated(uri).await?;
        }
    }
    if surface.policy.hides_from_listings(caller_role) {
        return Ok(());
    }
    audience.tell_list_changed().await
}

async fn tell_all(
    surface: &Arc<Surface>,
    audience: &impl Audience,
    listing: &mut Listing,
) -> Result<(), ClientGone> {
    for uri in audience.watched() {
        if surface.may_notify(&uri, listing.caller_role) {
            audience.tell_updated(uri).await?;
        }
    }
    listing.tell(surface, audience).await
}

/// The last listing that a notice was sent about, if part of it is hidden.
struct Listing {
    caller_role: CallerRole,
    digest: Option<u64>,
}

impl Listing {
    async fn new(surface: &Arc<Surface>, caller_role: CallerRole) -> Self {
        let digest = match surface.policy.hides_from_listings(caller_role) {
            true => Self::digest(surface, caller_role).await,
            false => None,
        };
        Self {
            caller_role,
            digest,
        }
    }

    async fn tell(
        &mut self,
        surface: &Arc<Surface>,
        audience: &impl Audience,
    ) -> Result<(), ClientGone> {
        if surface.policy.hides_from_listings(self.caller_role) {
            let now = Self::digest(surface, self.caller_role).await;
            if self.digest == now {
                return Ok(());
            }
            self.digest = now;
        }
        audience.tell_list_changed().await
    }

    async fn digest(surface: &Arc<Surface>, caller_role: CallerRole) -> Option<u64> {
        let surface = Arc::clone(surface);
        let digest = tokio::task::spawn_blocking(move || surface.digest_of_listing(caller_role));
        digest.await.ok()
    }
}
