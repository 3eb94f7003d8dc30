//! Content of answers and prompts: text, pictures, sounds and resources.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rmcp::model::{ContentBlock, MetaObject, ResourceContents};

use crate::world::app::resource_fields;

/// A part of an answer, or a message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// A picture.
    Image(MediaContent),
    /// A sound.
    Audio(MediaContent),
    /// A resource with its content. It need not be one that can be read by its URI.
    Resource {
        /// Its URI.
        uri: String,
        /// The content.
        content: MediaContent,
    },
}

/// Bytes with their media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaContent {
    /// Media type of the bytes.
    pub mime_type: &'static str,
    /// The bytes themselves.
    pub bytes: Vec<u8>,
}

impl ContentPart {
    /// Returns the text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<String> for ContentPart {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<ContentPart> for ContentBlock {
    fn from(part: ContentPart) -> Self {
        match part {
            ContentPart::Text(text) => Self::text(text),
            ContentPart::Image(image) => Self::image(image.base64(), image.mime_type),
            ContentPart::Audio(audio) => Self::audio(audio.base64(), audio.mime_type),
            ContentPart::Resource { uri, content } => Self::resource(content.into_contents(uri)),
        }
    }
}

impl MediaContent {
    fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// Returns the content of the resource at `uri`. Bytes that are not text are sent in base64.
    pub(crate) fn into_contents(self, uri: String) -> ResourceContents {
        let contents = match String::from_utf8(self.bytes) {
            Ok(text) => ResourceContents::text(text, uri),
            Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri),
        };
        let contents = contents.with_mime_type(self.mime_type);
        match resource_fields(self.mime_type) {
            Some(fields) => contents.with_meta(MetaObject(fields)),
            None => contents,
        }
    }
}
