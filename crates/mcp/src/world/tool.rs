//! A tool is a value. Everything that lists, calls, documents or guards a tool reads this one.

use std::{borrow::Cow, marker::PhantomData, sync::Arc};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{CallContext, Failure, FailureKind, JsonObject, input_schema, output_schema};

/// Makes a schema when it is first asked for, so that starting a server does not wait for it.
pub type Schema = Box<dyn Fn() -> JsonObject + Send + Sync>;

/// One tool of a world whose state is `S`, made by [`Tool::read`], [`Tool::write`] or [`Tool::destructive`].
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
    pub input: Schema,
    /// Schema of the answer, from its type.
    pub output: Schema,
    /// Does the work.
    pub handler: Handler<S>,
}

impl<S: 'static> Tool<S> {
    /// Starts a tool that only reads, so that a second equal call changes nothing.
    pub fn read(
        name: impl Into<Cow<'static, str>>,
        title: &'static str,
        description: &'static str,
    ) -> ToolBuilder<S> {
        let builder = ToolBuilder::new(name.into(), title, description, Access::Read);
        builder.idempotent(true)
    }

    /// Starts a tool that adds or changes something, in a way that can be undone.
    pub fn write(
        name: impl Into<Cow<'static, str>>,
        title: &'static str,
        description: &'static str,
    ) -> ToolBuilder<S> {
        ToolBuilder::new(name.into(), title, description, Access::Write)
    }

    /// Starts a tool that removes or overwrites something.
    pub fn destructive(
        name: impl Into<Cow<'static, str>>,
        title: &'static str,
        description: &'static str,
    ) -> ToolBuilder<S> {
        ToolBuilder::new(name.into(), title, description, Access::Destructive)
    }
}

/// A tool without its handler yet. Unless it says otherwise, a tool is slow and stays within the world's own state.
#[must_use]
pub struct ToolBuilder<S: 'static> {
    name: Cow<'static, str>,
    title: &'static str,
    description: &'static str,
    access: Access,
    idempotent: bool,
    open_world: bool,
    pace: Pace,
    input: Option<Schema>,
    output: Option<Schema>,
    state: PhantomData<fn(&S)>,
}

impl<S: 'static> ToolBuilder<S> {
    fn new(
        name: Cow<'static, str>,
        title: &'static str,
        description: &'static str,
        access: Access,
    ) -> Self {
        Self {
            name,
            title,
            description,
            access,
            idempotent: false,
            open_world: false,
            pace: Pace::Slow,
            input: None,
            output: None,
            state: PhantomData,
        }
    }

    /// Says whether a second equal call changes nothing more.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Says that the tool reaches beyond the world's own state.
    pub fn open_world(mut self) -> Self {
        self.open_world = true;
        self
    }

    /// Says that the tool takes a few milliseconds at most, whatever the arguments.
    pub fn quick(mut self) -> Self {
        self.pace = Pace::Quick;
        self
    }

    /// Sets the schema of the arguments, where it says more than their type.
    pub fn input(mut self, schema: impl Fn() -> JsonObject + Send + Sync + 'static) -> Self {
        self.input = Some(Box::new(schema));
        self
    }

    /// Sets the schema of the answer, where it says more than its type.
    pub fn output(mut self, schema: impl Fn() -> JsonObject + Send + Sync + 'static) -> Self {
        self.output = Some(Box::new(schema));
        self
    }

    /// Finishes the tool with a handler that may block.
    #[must_use]
    pub fn call<P, O, E>(
        self,
        handle: impl Fn(&S, P, &CallContext) -> Result<(O, AnswerFacts), E> + Send + Sync + 'static,
    ) -> Tool<S>
    where
        P: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
        E: Into<Failure>,
    {
        self.call_raw::<P, O>(move |state, arguments, context| {
            let (output, facts) = handle(state, decode(arguments)?, context).map_err(Into::into)?;
            Answer::new(&output, facts)
        })
    }

    /// Finishes the tool with a handler that may block and decodes its arguments of type `P` itself.
    #[must_use]
    pub fn call_raw<P: JsonSchema + 'static, O: JsonSchema + 'static>(
        self,
        handle: impl Fn(&S, JsonObject, &CallContext) -> Result<Answer, Failure> + Send + Sync + 'static,
    ) -> Tool<S> {
        self.finish::<P, O>(Handler::Blocking(Box::new(handle)))
    }

    /// Finishes the tool with a handler that waits for others and never blocks. It decodes its arguments of type `P` itself.
    #[must_use]
    pub fn call_async<P: JsonSchema + 'static, O: JsonSchema + 'static>(
        self,
        handle: impl Fn(Arc<S>, JsonObject, CallContext) -> AnswerFuture + Send + Sync + 'static,
    ) -> Tool<S> {
        self.finish::<P, O>(Handler::Waiting(Box::new(handle)))
    }

    fn finish<P: JsonSchema + 'static, O: JsonSchema + 'static>(
        self,
        handler: Handler<S>,
    ) -> Tool<S> {
        Tool {
            name: self.name,
            title: self.title,
            description: self.description,
            access: self.access,
            idempotent: self.idempotent,
            open_world: self.open_world,
            pace: self.pace,
            input: self.input.unwrap_or_else(|| Box::new(input_schema::<P>)),
            output: self.output.unwrap_or_else(|| Box::new(output_schema::<O>)),
            handler,
        }
    }
}

/// An answer that is on its way.
pub type AnswerFuture = BoxFuture<'static, Result<Answer, Failure>>;

type BlockingHandler<S> =
    Box<dyn Fn(&S, JsonObject, &CallContext) -> Result<Answer, Failure> + Send + Sync>;
type WaitingHandler<S> = Box<dyn Fn(Arc<S>, JsonObject, CallContext) -> AnswerFuture + Send + Sync>;

/// How a tool does its work.
pub enum Handler<S: 'static> {
    /// On a thread that may block.
    Blocking(BlockingHandler<S>),
    /// By waiting for others, which must not take a thread from anybody: the future never blocks.
    Waiting(WaitingHandler<S>),
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
    pub facts: AnswerFacts,
}

/// The only facts about an answer that a log may carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerFacts {
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
    pub fn new(output: &impl Serialize, facts: AnswerFacts) -> Result<Self, Failure> {
        let text = serde_json::to_string(output).map_err(|_| {
            Failure::new(
                FailureKind::Internal,
                "The answer could not be written as JSON.",
            )
        })?;
        Ok(Self { text, facts })
    }
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
