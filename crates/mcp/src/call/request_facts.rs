//! Facts that a transport knows about a request beyond its message, passed to the pipeline as one value.
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
    call::{caller_slots::CallerSlot, policy::CallerRole, structured::StructuredSlot},
};

/// The facts that a transport knows about a request.
#[derive(Clone, Default)]
pub(crate) struct RequestFacts {
    /// The sender and how long they may listen, if callers sign in.
    pub(crate) permit: Option<Arc<ListenPermit>>,
    /// State of the session that the request belongs to.
    pub(crate) connection: Option<Arc<Connection>>,
    /// Receives the text of the answer, if the transport inserts it itself.
    pub(crate) structured: Option<StructuredSlot>,
    /// Set if there was no room for the call, if the transport needs to know.
    pub(crate) overload: Option<OverloadFlag>,
    /// The name and version of the program that sent the request, for requests that do not say what the client is.
    pub(crate) user_agent: Option<String>,
    /// The share of memory that a large message occupies.
    pub(crate) memory: Option<MessageShare>,
}

impl RequestFacts {
    /// Returns the facts that came with a request; empty on a transport that has none.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let parts = extensions.get::<Parts>();
        let facts = parts.and_then(|parts| parts.extensions.get::<Self>());
        facts.cloned().unwrap_or_default()
    }

    /// Returns the sender of the request, if callers sign in.
    pub(crate) fn identity(&self) -> Option<&Arc<Identity>> {
        self.permit.as_ref().map(|permit| permit.identity())
    }

    /// Returns the role of the sender.
    pub(crate) fn caller_role(&self) -> CallerRole {
        self.identity().map(|identity| identity.role)
    }
}

/// Flag for an overloaded server, so that the status of the answer can reflect it.
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

    /// Releases the share before the call ends, when nothing large is left of its message.
    pub(crate) fn release(&self) {
        drop(self.0.lock().take());
    }
}
