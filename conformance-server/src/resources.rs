//! The resources that the suite reads and watches, and the files that tools and prompts show.

use std::borrow::Cow;

use sectile_mcp::{
    CacheHint, CallContext, Failure, MediaContent, Resource, ResourceContent, ResourceListing,
    ResourceTemplate, Resources,
};
use serde_json::json;

use crate::FixtureWorld;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

/// One red pixel.
const PIXEL: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\
    \x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";
/// Two samples of silence.
const SILENCE: &[u8] =
    b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\x02\0\0\0\x80\
    \x80";

/// The resources.
pub(crate) const RESOURCES: Resources<FixtureWorld> = Resources {
    list,
    read,
    templates: Cow::Borrowed(&[ResourceTemplate {
        uri_template: Cow::Borrowed("test://template/{id}/data"),
        name: "template",
        title: "Template",
        description: "Data made from the id.",
        mime_type: "application/json",
    }]),
    cache: CacheHint::TABLE,
    changes: Some(|world| world.changes.subscribe()),
};

/// Returns a picture.
pub(crate) fn picture() -> MediaContent {
    media("image/png", PIXEL)
}

/// Returns a sound.
pub(crate) fn sound() -> MediaContent {
    media("audio/wav", SILENCE)
}

/// Returns bytes with their media type.
pub(crate) fn media(mime_type: &'static str, bytes: &[u8]) -> MediaContent {
    let bytes = bytes.to_vec();
    MediaContent { mime_type, bytes }
}

fn list(_: &FixtureWorld, _: &CallContext) -> Result<ResourceListing, Failure> {
    let resource = |uri: &str, name: &str, mime_type| Resource {
        uri: uri.to_owned(),
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("The {name}."),
        mime_type,
        size: None,
        last_modified: None,
    };
    let resources = vec![
        resource(TEXT, "static text", "text/plain"),
        resource(BINARY, "static picture", "image/png"),
        resource(WATCHED, "watched text", "text/plain"),
    ];
    Ok(resources.into())
}

fn read(_: &FixtureWorld, uri: &str) -> Result<Option<ResourceContent>, Failure> {
    let text = |mime_type, text: String| ResourceContent::text(mime_type, text, CacheHint::TABLE);
    Ok(match uri {
        TEXT => Some(text(
            "text/plain",
            "This is the content of the static text resource.".to_owned(),
        )),
        BINARY => Some(ResourceContent {
            content: picture(),
            cache: CacheHint::TABLE,
        }),
        WATCHED => Some(text("text/plain", "Nothing ever happens here.".to_owned())),
        other => {
            let rest = other.strip_prefix("test://template/");
            let id = rest.and_then(|rest| rest.strip_suffix("/data"));
            id.map(|id| {
                let data = format!("Data for ID: {id}");
                let data = json!({ "id": id, "templateTest": true, "data": data });
                text("application/json", data.to_string())
            })
        }
    })
}
