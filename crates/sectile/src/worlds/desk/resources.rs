//! The resources of the desk: the card on which people review changes.

use std::borrow::Cow;

use sectile_mcp::{
    APP_TYPE, CacheHint, CallContext, Failure, Resource, ResourceContent, ResourceListing,
    Resources,
};

use super::{
    DeskWorld,
    card::{CARD, CARD_URI},
};

/// The resources; `None` if there are none. A read-only desk has nothing to review.
pub(super) fn of(read_only: bool) -> Option<Resources<DeskWorld>> {
    (!read_only).then_some(Resources {
        list,
        read,
        templates: Cow::Borrowed(&[]),
        // Clients that show apps get another listing than those that do not.
        cache: CacheHint {
            shared: false,
            ..CacheHint::TABLE
        },
        changes: None,
    })
}

fn list(_: &DeskWorld, _: &CallContext) -> Result<ResourceListing, Failure> {
    let card = Resource {
        uri: CARD_URI.to_owned(),
        name: "change".to_owned(),
        title: "Review a change".to_owned(),
        description: "Shows a change with its diff, and applies it if the person agrees."
            .to_owned(),
        mime_type: APP_TYPE,
        size: Some(CARD.len() as u64),
        last_modified: None,
    };
    Ok(vec![card].into())
}

fn read(_: &DeskWorld, uri: &str) -> Result<Option<ResourceContent>, Failure> {
    Ok((uri == CARD_URI)
        .then(|| ResourceContent::text(APP_TYPE, CARD.to_owned(), CacheHint::TABLE)))
}
