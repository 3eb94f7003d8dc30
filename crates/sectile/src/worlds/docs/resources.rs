//! The resources: every document whole, and every section by its anchor.

use std::borrow::Cow;

use sectile_mcp::{CacheHint, Failure, Resource, ResourceTemplate, ResourceText, Resources};

use super::{DocsEntry, DocsWorld};

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
        cache: CacheHint::TABLE,
        changes: None,
    }
}

fn list(docs: &DocsWorld) -> Vec<Resource> {
    let resource = |document: &DocsEntry| Resource {
        uri: document.uri.clone(),
        name: document.doc.slug.clone(),
        title: document.doc.title.clone(),
        description: document.doc.description.clone(),
        mime_type: MARKDOWN,
        size: Some(document.doc.bytes.len() as u64),
        last_modified: None,
    };
    docs.documents.iter().map(resource).collect()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the table requires a reader that can fail"
)]
fn read(docs: &DocsWorld, uri: &str) -> Result<Option<ResourceText>, Failure> {
    let (whole, anchor) = match uri.split_once('#') {
        Some((whole, anchor)) => (whole, Some(anchor)),
        None => (uri, None),
    };
    let document = docs.documents.iter().find(|document| document.uri == whole);
    let text = document.and_then(|document| {
        let mut sections = document.doc.sections.iter();
        let section = match anchor {
            None => sections.next(),
            Some(anchor) => sections.find(|section| section.anchor.as_deref() == Some(anchor)),
        };
        Some(String::from_utf8_lossy(section?.whole.slice(&document.doc.bytes)).into_owned())
    });
    Ok(text.map(|text| ResourceText {
        mime_type: MARKDOWN,
        text,
        cache: CacheHint::TABLE,
    }))
}
