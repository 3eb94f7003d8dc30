//! Resources of a world: a listing, a reader and templates, all over its state.

use std::borrow::Cow;

use tokio::sync::broadcast;

use crate::{CacheHint, CallContext, Failure, JsonObject, MediaContent};

/// The resources of a world whose state is `S`.
pub struct Resources<S: 'static> {
    /// Lists all resources in a fixed order. The frame leaves out those that the caller may not see, and splits the list
    /// into pages. The resources are the same for every context.
    pub list: fn(&S, &CallContext) -> Result<ResourceListing, Failure>,
    /// Returns the content behind a URI, or `None` if it does not exist. Only the form that a listing or a template gives
    /// may be readable: policies name URIs, and a second form of one would bypass them. A fragment is not part of any
    /// name: what is behind it is named by the URI before it.
    pub read: fn(&S, &str) -> Result<Option<ResourceContent>, Failure>,
    /// Forms of URIs that can be read without being listed.
    pub templates: Cow<'static, [ResourceTemplate]>,
    /// How long a client may cache the listing.
    pub cache: CacheHint,
    /// Notices of changes, if the world sees them: each call returns a new receiver. Without it, no one can subscribe.
    pub changes: Option<fn(&S) -> broadcast::Receiver<ResourceNotice>>,
}

/// A change that clients may subscribe to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceNotice {
    /// The text behind this URI has changed.
    Updated(String),
    /// The listing has changed.
    ListChanged,
}

/// The resources of a world at one moment.
#[derive(Clone, Debug, Default)]
pub struct ResourceListing {
    /// All of them, for every caller.
    pub resources: Vec<Resource>,
    /// `_meta` of every page of the listing; may be empty. It must not reveal a resource that this caller may not see.
    pub meta: JsonObject,
}

impl From<Vec<Resource>> for ResourceListing {
    fn from(resources: Vec<Resource>) -> Self {
        Self {
            resources,
            meta: JsonObject::new(),
        }
    }
}

/// One entry of a listing.
#[derive(Clone, Debug, Hash)]
pub struct Resource {
    /// Its URI, which is also its name in policies.
    pub uri: String,
    /// Short name.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Description of its content.
    pub description: String,
    /// Media type of the content.
    pub mime_type: &'static str,
    /// Length in bytes, if it is known without reading the resource.
    pub size: Option<u64>,
    /// Time of the last change (RFC 3339).
    pub last_modified: Option<String>,
}

/// The form of a family of URIs.
#[derive(Clone, Debug)]
pub struct ResourceTemplate {
    /// RFC 6570 template, which is also its name in policies.
    pub uri_template: Cow<'static, str>,
    /// Short name.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Description of what is behind such a URI.
    pub description: &'static str,
    /// Media type of the content.
    pub mime_type: &'static str,
}

/// The content of a resource, and how long a client may cache it.
pub struct ResourceContent {
    /// The content. Bytes that are not text are sent in base64.
    pub content: MediaContent,
    /// How long a client may cache it.
    pub cache: CacheHint,
}

impl ResourceContent {
    /// Makes the content of a resource that is text.
    #[must_use]
    pub fn text(mime_type: &'static str, text: String, cache: CacheHint) -> Self {
        let bytes = text.into_bytes();
        Self {
            content: MediaContent { mime_type, bytes },
            cache,
        }
    }
}
