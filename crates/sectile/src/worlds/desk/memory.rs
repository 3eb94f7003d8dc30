//! The memory preset: the six commands of Anthropic's memory tool over the folder of a desk.
//!
//! The commands, their arguments and their texts are those of that tool, so that a model that knows it needs nothing
//! else. Behind them is the editor: a memory has history, and every change can be undone.

mod commands;
mod paths;
mod text;

use sectile_mcp::{ErrorResponse, Failure, WorldSpec};

use super::{DeskWorld, errors};

const INSTRUCTIONS: &str = "A memory of Markdown files below /memories, which lasts across conversations. View /memories before you start, and record what will matter later.";

/// The contract of the preset.
pub(super) fn spec() -> WorldSpec<DeskWorld> {
    WorldSpec {
        tools: commands::table(),
        lenient_scalars: true,
        ..WorldSpec::new("desk", INSTRUCTIONS, envelope, errors::list)
    }
}

/// Encodes a failed call: the text alone, which the commands choose themselves.
fn envelope(failure: &Failure) -> ErrorResponse {
    ErrorResponse::Text(match &failure.detail {
        Some(_) => format!("Error: {}", failure.told()),
        None => failure.message.clone().into_owned(),
    })
}
