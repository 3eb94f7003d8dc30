//! The resources: every document whole, and every section by its anchor.

use std::borrow::Cow;

use sectile_mcp::{
    CacheHint, CallContext, Failure, Resource, ResourceContent, ResourceListing, ResourceTemplate,
    Resources,
};

use super::{DocsWorld, skipped};

const MARKDOWN: &str = "text/markdown";

/// The address of a document.
pub(crate) fn uri(namespace: &str, slug: &str) -> String {
    format!("{namespace}://docs/{slug}")
}

/// The URI template of these addresses.
pub(super) fn template(namespace: &str) -> String {
    format!("{namespace}://docs/{{slug}}")
}

pub(super) fn of(namespace: &str) -> Resources<DocsWorld> {
    Resources {
        list,
        read,
        templates: Cow::Owned(vec![
            ResourceTemplate {
                uri_template: template(namespace).into(),
                name: "document",
                title: "Document",
                description: "A whole document of the manual.",
                mime_type: MARKDOWN,
            },
            ResourceTemplate {
                uri_template: format!("{}{{#anchor}}", template(namespace)).into(),
                name: "section",
                title: "Section",
                description: "A section of a document, with its heading and everything below it.",
                mime_type: MARKDOWN,
            },
        ]),
        cache: CacheHint::LIVE,
        changes: Some(|docs| docs.followed.subscribe()),
    }
}

fn list(docs: &DocsWorld, context: &CallContext) -> Result<ResourceListing, Failure> {
    let all = docs.current(&|| context.cancelled.is_cancelled())?;
    let resource = |at: &usize| {
        let doc = &all.documents[*at];
        Resource {
            uri: docs.uri_of(&doc.slug),
            name: doc.slug.clone(),
            title: doc.title.clone(),
            description: doc.description.clone(),
            mime_type: MARKDOWN,
            size: Some(doc.bytes),
            last_modified: None,
        }
    };
    let (_, skipped) = docs.seen_by(context, &all);
    let named = skipped::named(&all, &skipped);
    Ok(ResourceListing {
        resources: all.listed.iter().map(resource).collect(),
        meta: skipped::meta(&docs.settings.namespace, skipped.len(), &named),
    })
}

fn read(docs: &DocsWorld, uri: &str) -> Result<Option<ResourceContent>, Failure> {
    let (whole, anchor) = match uri.split_once('#') {
        Some((whole, anchor)) => (whole, Some(anchor)),
        None => (uri, None),
    };
    let prefix = self::uri(&docs.settings.namespace, "");
    let Some(slug) = whole.strip_prefix(&prefix) else {
        return Ok(None);
    };
    let text = docs.attempt(&|| false, |all| {
        let Some(doc) = all.documents.iter().find(|doc| doc.slug == slug) else {
            return Some(Ok(None));
        };
        let Some(anchor) = anchor else {
            // The sections of a whole document are not needed.
            let bytes = all.pages.read(doc.page)?;
            return Some(Ok(Some(String::from_utf8_lossy(&bytes).into_owned())));
        };
        let page = docs.pages.read(all, doc)?;
        let section = page.at_anchor(Some(anchor));
        let text = section.map(|section| section.whole.slice(&page.bytes));
        Some(Ok(
            text.map(|text| String::from_utf8_lossy(text).into_owned())
        ))
    })?;
    Ok(text.map(|text| ResourceContent::text(MARKDOWN, text, CacheHint::LIVE)))
}
