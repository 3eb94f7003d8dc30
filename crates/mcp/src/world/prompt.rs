//! A prompt is a value, like a tool.

use crate::{CallContext, Failure, JsonObject};

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
    /// Fills in the template; the result is one user message.
    pub render: fn(&S, &JsonObject, &CallContext) -> Result<String, Failure>,
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
