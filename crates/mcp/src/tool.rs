//! A tool is a value. Everything that lists, calls, documents or guards a tool reads this one.

use std::{borrow::Cow, sync::Arc};

use futures::future::BoxFuture;
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
    /// Does the work.
    pub handler: Handler<S>,
}

/// An answer that is on its way.
pub type Awaited = BoxFuture<'static, Result<Answer, Failure>>;

/// How a tool does its work.
pub enum Handler<S: 'static> {
    /// On a thread that may block.
    Blocking(fn(&S, JsonObject, &CallContext) -> Result<Answer, Failure>),
    /// By waiting for others, which must not take a thread from anybody: the future never blocks.
    Waiting(fn(Arc<S>, JsonObject, CallContext) -> Awaited),
}

impl<S> Handler<S> {
    /// Calls a handler from the command line, where nobody else waits.
    ///
    /// # Errors
    /// What the handler returns; [`FailureKind::Internal`] for one that waits, which the command line has none of.
    pub fn call(
        &self,
        state: &S,
        arguments: JsonObject,
        context: &CallContext,
    ) -> Result<Answer, Failure> {
        match self {
            Self::Blocking(handle) => handle(state, arguments, context),
            Self::Waiting(_) => Err(Failure::new(
                FailureKind::Internal,
                "The tool cannot be used from the command line.",
            )),
        }
    }
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
    /// The class of what an upstream store answered, such as `2xx`, where one was asked.
    pub upstream: Option<&'static str>,
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
pub fn run<S, P: DeserializeOwned, O: Serialize, E: Into<Failure>>(
    state: &S,
    arguments: JsonObject,
    context: &CallContext,
    handle: impl FnOnce(&S, P, &CallContext) -> Result<(O, Facts), E>,
) -> Result<Answer, Failure> {
    let params = decode(arguments)?;
    let (output, facts) = handle(state, params, context).map_err(Into::into)?;
    Answer::new(&output, facts)
}

/// Decodes arguments that the schema has already accepted.
///
/// # Errors
/// [`FailureKind::InvalidArguments`] when the type is stricter than its schema.
pub fn decode<P: DeserializeOwned>(arguments: JsonObject) -> Result<P, Failure> {
    serde_json::from_value(Value::Object(arguments)).map_err(|_| {
        Failure::new(
            FailureKind::InvalidArguments,
            "Invalid arguments: a value is out of range.",
        )
    })
}
