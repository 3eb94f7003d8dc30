//! A prompt is a value, like a tool.

use crate::{CallContext, Failure, JsonObject};

/// One prompt of a world whose state is `S`.
pub struct Prompt<S: 'static> {
    /// Name on the wire.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// What it takes; every argument is a string.
    pub arguments: &'static [PromptArgument],
    /// Fills the template; the result is one message of the user.
    pub render: fn(&S, &JsonObject, &CallContext) -> Result<String, Failure>,
}

/// One argument of a prompt.
pub struct PromptArgument {
    /// Name on the wire.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// Whether the prompt needs it.
    pub required: bool,
}
