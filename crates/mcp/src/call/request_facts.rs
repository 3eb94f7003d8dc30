//! What a transport knows about a request beyond its message, handed to the pipeline as one value.
//!
//! HTTP puts the value into the extensions of the request, where rmcp carries it along. Stdio has nothing to add.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::request::Parts;
use parking_lot::Mutex;
use rmcp::model::Extensions;

use crate::{
    Connection,
    access::{Identity, ListenPermit},
    call::{policy::CallerRole, shares::CallerSlot, structured::StructuredSlot},
};

/// What a transport knows about a request.
#[derive(Clone, Default)]
pub(crate) struct RequestFacts {
    /// Who sent it and for how long they may listen, where callers sign in.
    pub(crate) leave: Option<Arc<ListenPermit>>,
    /// State of the session that it belongs to.
    pub(crate) connection: Option<Arc<Connection>>,
    /// Where the transport wants the text of the answer, to put it in place itself.
    pub(crate) structured: Option<StructuredSlot>,
    /// Where the transport wants to learn that there was no room for the call.
    pub(crate) overload: Option<OverloadFlag>,
    /// The share of memory that a large message occupies.
    pub(crate) memory: Option<MessageShare>,
}

impl RequestFacts {
    /// The facts that came with a request; none on a transport that has none.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let parts = extensions.get::<Parts>();
        let facts = parts.and_then(|parts| parts.extensions.get::<Self>());
        facts.cloned().unwrap_or_default()
    }

    /// Who sent the request, where callers sign in.
    pub(crate) fn identity(&self) -> Option<&Arc<Identity>> {
        self.leave.as_ref().map(|leave| leave.identity())
    }

    /// What the sender of the request may see.
    pub(crate) fn standing(&self) -> CallerRole {
        self.identity().map(|identity| identity.role)
    }
}

/// Says that the server has too much to do, so that the status of the answer can say it too.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverloadFlag(Arc<AtomicBool>);

impl OverloadFlag {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The share of memory that a large message occupies, held until its call has ended.
#[derive(Clone)]
pub(crate) struct MessageShare(Arc<Mutex<Option<CallerSlot>>>);

impl MessageShare {
    pub(crate) fn new(share: CallerSlot) -> Self {
        Self(Arc::new(Mutex::new(Some(share))))
    }

    /// Gives the share back before the call ends, when nothing large is left of its message.
    pub(crate) fn release(&self) {
        drop(self.0.lock().take());
    }
}
