//! Notices about resources: to subscribers of a connection, and to those who listen in the stateless era.
//!
//! What a policy hides, or keeps from callers, gives no notice: not when it changes, and not when only the part of a
//! listing that it hides has changed.

use std::{collections::BTreeSet, future::Future, sync::Arc};

use rmcp::{
    Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{SubscriptionContext, SubscriptionSink},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::mcp::{Connection, ResourceNotice, Surface, connection::Watched};

/// Who hears of changes.
pub(super) trait Audience: Send + Sync {
    /// Those of the resources that are watched.
    fn watched(&self) -> BTreeSet<String>;
    fn watches(&self, uri: &str) -> bool;
    /// Fails when nobody is there any more.
    fn tell_updated(&self, uri: String) -> impl Future<Output = Result<(), Gone>> + Send;
    fn tell_list_changed(&self) -> impl Future<Output = Result<(), Gone>> + Send;
}

/// Nobody is there any more.
pub(super) struct Gone;

/// A client of the handshake eras, on a connection that carries notices.
struct Subscriber {
    peer: Peer<RoleServer>,
    watched: Arc<Watched>,
}

impl Audience for Subscriber {
    fn watched(&self) -> BTreeSet<String> {
        self.watched.all()
    }

    fn watches(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    async fn tell_updated(&self, uri: String) -> Result<(), Gone> {
        let notice = ResourceUpdatedNotificationParam::new(uri);
        let told = self.peer.notify_resource_updated(notice).await;
        told.map_err(|_| Gone)
    }

    async fn tell_list_changed(&self) -> Result<(), Gone> {
        let told = self.peer.notify_resource_list_changed().await;
        told.map_err(|_| Gone)
    }
}

/// One `subscriptions/listen` request.
pub(super) struct Listener {
    sink: SubscriptionSink,
    watched: BTreeSet<String>,
    hears_of_list: bool,
}

impl Listener {
    pub(super) fn new(context: &SubscriptionContext) -> Self {
        let accepted = context.accepted();
        let watched = accepted.resource_subscriptions.iter().flatten();
        Self {
            sink: context.sink().clone(),
            watched: watched.cloned().collect(),
            hears_of_list: accepted.resources_list_changed == Some(true),
        }
    }
}

impl Audience for Listener {
    fn watched(&self) -> BTreeSet<String> {
        self.watched.clone()
    }

    fn watches(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    async fn tell_updated(&self, uri: String) -> Result<(), Gone> {
        let told = self.sink.notify_resource_updated(uri).await;
        told.map_err(|_| Gone)
    }

    async fn tell_list_changed(&self) -> Result<(), Gone> {
        if !self.hears_of_list {
            return Ok(());
        }
        let told = self.sink.notify_resource_list_changed().await;
        told.map_err(|_| Gone)
    }
}

/// What a listener may have of what it asked for. A URI that does not exist is accepted like any other, and gives no
/// notice.
pub(super) fn acceptable(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    let uris = requested.resource_subscriptions.as_ref();
    accepted.resource_subscriptions = uris
        .filter(|uris| Watched::has_room_for(uris.len()))
        .cloned();
    accepted
}

/// Begins to tell the client of a connection, until that ends. Does nothing when it has begun before.
pub(super) fn tell_connection(
    surface: &Arc<Surface>,
    connection: &Connection,
    peer: Peer<RoleServer>,
) {
    let Some(changes) = surface.changes() else {
        return;
    };
    if !connection.begins_to_hear() {
        return;
    }
    let subscriber = Subscriber {
        peer,
        watched: connection.watched(),
    };
    let (surface, ended) = (Arc::clone(surface), connection.ended());
    let changes = changes();
    tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            () = tell(&surface, &subscriber, changes) => {}
        }
    });
}

/// Tells `audience` of changes until there are none any more, or nobody is there.
pub(super) async fn tell(
    surface: &Arc<Surface>,
    audience: &impl Audience,
    mut changes: Receiver<ResourceNotice>,
) {
    let mut listing = Listing::new(surface).await;
    loop {
        let told = match changes.recv().await {
            Ok(ResourceNotice::Updated(uri)) => {
                if audience.watches(&uri) && surface.tells_of(&uri) {
                    audience.tell_updated(uri).await
                } else {
                    Ok(())
                }
            }
            Ok(ResourceNotice::ListChanged) => listing.tell(surface, audience).await,
            // What was missed may have been anything.
            Err(RecvError::Lagged(_)) => tell_all(surface, audience, &mut listing).await,
            Err(RecvError::Closed) => return,
        };
        if told.is_err() {
            return;
        }
    }
}

async fn tell_all(
    surface: &Arc<Surface>,
    audience: &impl Audience,
    listing: &mut Listing,
) -> Result<(), Gone> {
    for uri in audience.watched() {
        if surface.tells_of(&uri) {
            audience.tell_updated(uri).await?;
        }
    }
    listing.tell(surface, audience).await
}

/// The listing as it was last told of, where part of it is hidden.
struct Listing(Option<u64>);

impl Listing {
    async fn new(surface: &Arc<Surface>) -> Self {
        match surface.policy.visibility.hides_from_listings() {
            true => Self(Self::digest(surface).await),
            false => Self(None),
        }
    }

    async fn tell(&mut self, surface: &Arc<Surface>, audience: &impl Audience) -> Result<(), Gone> {
        if surface.policy.visibility.hides_from_listings() {
            let now = Self::digest(surface).await;
            if self.0 == now {
                return Ok(());
            }
            self.0 = now;
        }
        audience.tell_list_changed().await
    }

    async fn digest(surface: &Arc<Surface>) -> Option<u64> {
        let surface = Arc::clone(surface);
        let digest = tokio::task::spawn_blocking(move || surface.digest_of_listing());
        digest.await.ok()
    }
}
