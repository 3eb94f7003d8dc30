//! A tool is a value. Everything that lists, calls, documents or guards a tool reads this one.

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{CallContext, Failure, FailureKind, JsonObject};

/// One tool of a world whose state is `S`.
pub struct Tool<S: 'static> {
    /// Name on the wire: verb and noun.
    pub name: Cow<'static, str>,
    /// Name for people.
    pub title: &'static str,
    /// What it does; the first sentence carries the meaning.
    pub description: &'static str,
    /// What it may change.
    pub access: Access,
    /// Whether a second equal call changes nothing more.
    pub idempotent: bool,
    /// Whether it reaches beyond the world's own state.
    pub open_world: bool,
    /// How long it works.
    pub pace: Pace,
    /// Schema of the arguments, from their type.
    pub input: fn() -> JsonObject,
    /// Schema of the answer, from its type.
    pub output: fn() -> JsonObject,
    /// Does the work, on a thread that may block.
    pub handler: fn(&S, JsonObject, &CallContext) -> Result<Answer, Failure>,
}

/// How long a tool works on one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A few milliseconds at most, whatever the arguments.
    Quick,
    /// Perhaps longer.
    Slow,
}

/// What a tool may do to the world's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Read,
    /// Adds or changes, in a way that can be undone.
    Write,
    /// Removes or overwrites.
    Destructive,
}

impl Access {
    /// Word for listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// What a tool answers: JSON, and what the audit line may say of it.
pub struct Answer {
    /// The JSON text, with the fields in the order of the type.
    pub text: String,
    /// For the audit line.
    pub facts: Facts,
}

/// The only facts about an answer that a log may carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Sections in the answer, where that means something.
    pub sections: Option<usize>,
    /// Whether the answer was cut.
    pub truncated: bool,
}

impl Answer {
    /// The answer made of `output`.
    ///
    /// # Errors
    /// [`FailureKind::Internal`] when it cannot be written as JSON.
    pub fn new(output: &impl Serialize, facts: Facts) -> Result<Self, Failure> {
        let text = serde_json::to_string(output).map_err(|_| {
            Failure::new(
                FailureKind::Internal,
                "The answer could not be written as JSON.",
            )
        })?;
        Ok(Self { text, facts })
    }
}

/// Decodes arguments that the schema has already accepted, and calls a typed handler with them.
///
/// # Errors
/// What the handler returns, or [`FailureKind::InvalidArguments`] when the type is stricter than its schema.
pub fn run<S, P: DeserializeOwned, O: Serialize>(
    state: &S,
    arguments: JsonObject,
    context: &CallContext,
    handle: impl FnOnce(&S, P, &CallContext) -> Result<(O, Facts), Failure>,
) -> Result<Answer, Failure> {
    let params = serde_json::from_value(Value::Object(arguments)).map_err(|_| {
        Failure::new(
            FailureKind::InvalidArguments,
            "Invalid arguments: a value is out of range.",
        )
    })?;
    let (output, facts) = handle(state, params, context)?;
    Answer::new(&output, facts)
}
