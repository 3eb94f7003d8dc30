//! Resources of a world: a listing, a reader and templates, all over its state.

use std::borrow::Cow;

use tokio::sync::broadcast;

use crate::{CacheHint, Failure};

/// The resources of a world whose state is `S`.
pub struct Resources<S: 'static> {
    /// Everything there is, in a fixed order. The frame cuts it into pages.
    pub list: fn(&S) -> Vec<Resource>,
    /// The text behind a URI, or `None` for one that does not exist. Only the form that a listing or a template gives
    /// may lead anywhere: policies name URIs, and a second form of one would pass them by. A fragment is part of no name:
    /// what is behind it goes by the URI before it.
    pub read: fn(&S, &str) -> Result<Option<ResourceText>, Failure>,
    /// Forms of URIs that can be read without being listed.
    pub templates: Cow<'static, [ResourceTemplate]>,
    /// How long a client may keep the listing.
    pub cache: CacheHint,
    /// Notices of changes, if the world sees them: each call gives a receiver of its own. Without, nobody can subscribe.
    pub changes: Option<fn(&S) -> broadcast::Receiver<ResourceNotice>>,
}

/// A change that clients may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceNotice {
    /// The text behind this URI has changed.
    Updated(String),
    /// The listing has changed.
    ListChanged,
}

/// One entry of a listing.
#[derive(Clone, Debug, Hash)]
pub struct Resource {
    /// Its address, also its name in policies.
    pub uri: String,
    /// Short name.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What it holds.
    pub description: String,
    /// Media type of the text.
    pub mime_type: &'static str,
    /// Length in bytes, where that is known without reading it.
    pub size: Option<u64>,
    /// When it last changed, as RFC 3339 writes it.
    pub last_modified: Option<String>,
}

/// The form of a family of URIs.
#[derive(Clone, Debug)]
pub struct ResourceTemplate {
    /// RFC 6570 template, also its name in policies.
    pub uri_template: Cow<'static, str>,
    /// Short name.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What is behind such a URI.
    pub description: &'static str,
    /// Media type of the text.
    pub mime_type: &'static str,
}

/// The content of a resource.
pub struct ResourceText {
    /// Media type of the text.
    pub mime_type: &'static str,
    /// The text itself.
    pub text: String,
    /// How long a client may keep it.
    pub cache: CacheHint,
}
