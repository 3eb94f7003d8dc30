//! A prompt is a value, like a tool.

use crate::{CallContext, ContentPart, Failure, JsonObject};

/// One prompt of a world whose state is `S`.
pub struct Prompt<S: 'static> {
    /// Name on the wire.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Description of its purpose.
    pub description: &'static str,
    /// Its arguments, all of them strings.
    pub arguments: &'static [PromptArgument],
    /// Fills in the template; each part of the result is a message of the user.
    pub render: fn(&S, &JsonObject, &CallContext) -> Result<Vec<ContentPart>, Failure>,
}

/// One argument of a prompt.
pub struct PromptArgument {
    /// Name on the wire.
    pub name: &'static str,
    /// Description of its purpose.
    pub description: &'static str,
    /// Whether the prompt needs it.
    pub required: bool,
}
