//! Resources of a world: a listing and a reader, both over its state.

use super::Failure;

/// The resources of a world whose state is `S`.
pub struct Resources<S: 'static> {
    /// Everything there is, in a fixed order.
    pub list: fn(&S) -> Vec<Resource>,
    /// The text behind a URI, or `None` for one that does not exist.
    pub read: fn(&S, &str) -> Result<Option<ResourceText>, Failure>,
}

/// One entry of a listing.
#[derive(Clone, Debug)]
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
    /// Length in bytes.
    pub size: u64,
}

/// The content of a resource.
pub struct ResourceText {
    /// Media type of the text.
    pub mime_type: &'static str,
    /// The text itself.
    pub text: String,
}
