//! A tool is a value. Everything that lists, calls, documents or guards a tool reads this value.

use std::{borrow::Cow, marker::PhantomData, sync::Arc};

use futures::future::BoxFuture;
use rmcp::model::ContentBlock;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    CallContext, ContentPart, Failure, FailureKind, JsonObject, input_schema, output_schema,
};

/// Generates a schema on first use, so that startup does not wait for it.
pub type Schema = Box<dyn Fn() -> JsonObject + Send + Sync>;

/// One tool of a world whose state is `S`, made by [`Tool::read`], [`Tool::write`] or [`Tool::destructive`].
pub struct Tool<S: 'static> {
    /// Name on the wire: verb and noun.
    pub name: Cow<'static, str>,
    /// Display name.
    pub title: &'static str,
    /// Description for the model; the first sentence carries the meaning.
    pub description: &'static str,
    /// The kind of change it may make.
    pub access: Access,
    /// Whether repeating the same call changes nothing more.
    pub idempotent: bool,
    /// Whether it reaches beyond the world's own state.
    pub open_world: bool,
    /// How long a call takes.
    pub pace: Pace,
    /// Schema of the arguments, from their type.
    pub input: Schema,
    /// Schema of the answer, from its type; none if the answer is text.
    pub output: Option<Schema>,
    /// Other names of arguments that are accepted but not listed, each with the argument that it stands for.
    pub aliases: Vec<ArgumentAlias>,
    /// Arguments that clients repeat in headers.
    pub mirrored: Vec<MirroredArgument>,
    /// URI of the resource that hosts show to people beside its calls, if there is one.
    pub app: Option<&'static str>,
    /// The function that does the work.
    pub handler: Handler<S>,
}

impl<S: 'static> Tool<S> {
    /// Starts a tool that only reads, so that repeating a call changes nothing.
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

/// A tool without its handler. By default, a tool is slow and stays within the world's own state.
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
    aliases: Vec<ArgumentAlias>,
    mirrored: Vec<MirroredArgument>,
    app: Option<&'static str>,
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
            aliases: Vec::new(),
            mirrored: Vec::new(),
            app: None,
            state: PhantomData,
        }
    }

    /// Sets whether repeating the same call changes nothing more.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Declares that the tool reaches beyond the world's own state.
    pub fn open_world(mut self) -> Self {
        self.open_world = true;
        self
    }

    /// Declares that the tool takes a few milliseconds at most, whatever the arguments.
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

    /// Declares that callers may also write `alias` for the argument `name`. Listings do not show it, and a call that
    /// gives both is refused.
    pub fn alias(mut self, alias: &'static str, name: &'static str) -> Self {
        self.aliases.push(ArgumentAlias { alias, name });
        self
    }

    /// Makes clients of the stateless era repeat the argument `name` in the HTTP header `Mcp-Param-<header>`, so that a
    /// gateway can route calls without reading them. A call whose header says something else is refused.
    pub fn mirror(mut self, name: &'static str, header: &'static str) -> Self {
        self.mirrored.push(MirroredArgument { name, header });
        self
    }

    /// Names the resource that hosts with MCP Apps show to people beside the calls: one of the world's own, of type
    /// [`APP_TYPE`](crate::APP_TYPE), whose URI starts with `ui://`. It exists only for callers that have the tool.
    pub fn app(mut self, uri: &'static str) -> Self {
        self.app = Some(uri);
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

    /// Finishes the tool with a handler that may block and answers with text, such as Markdown: listings show no schema
    /// of the answer, and results have no structured content. A handler that has to answer some clients with JSON
    /// returns an [`AnswerBody`] instead of a string, and one that answers with pictures a list of [`ContentPart`]s.
    #[must_use]
    pub fn call_text<P, B, E>(
        self,
        handle: impl Fn(&S, P, &CallContext) -> Result<(B, AnswerFacts), E> + Send + Sync + 'static,
    ) -> Tool<S>
    where
        P: DeserializeOwned + JsonSchema + 'static,
        B: Into<AnswerBody>,
        E: Into<Failure>,
    {
        let handle = move |state: &S, arguments: JsonObject, context: &CallContext| {
            let (body, facts) = handle(state, decode(arguments)?, context).map_err(Into::into)?;
            Ok(Answer {
                body: body.into(),
                facts,
                meta: JsonObject::new(),
            })
        };
        self.finish::<P>(None, Handler::Blocking(Box::new(handle)))
    }

    /// Finishes the tool with a handler that may block and decodes its arguments of type `P` itself.
    #[must_use]
    pub fn call_raw<P: JsonSchema + 'static, O: JsonSchema + 'static>(
        self,
        handle: impl Fn(&S, JsonObject, &CallContext) -> Result<Answer, Failure> + Send + Sync + 'static,
    ) -> Tool<S> {
        self.finish::<P>(schema_of::<O>(), Handler::Blocking(Box::new(handle)))
    }

    /// Finishes the tool with an async handler that never blocks. It decodes its arguments of type `P` itself.
    #[must_use]
    pub fn call_async<P: JsonSchema + 'static, O: JsonSchema + 'static>(
        self,
        handle: impl Fn(Arc<S>, JsonObject, CallContext) -> AnswerFuture + Send + Sync + 'static,
    ) -> Tool<S> {
        self.finish::<P>(schema_of::<O>(), Handler::Waiting(Box::new(handle)))
    }

    fn finish<P: JsonSchema + 'static>(
        self,
        output: Option<Schema>,
        handler: Handler<S>,
    ) -> Tool<S> {
        let input = self.input.unwrap_or_else(|| Box::new(input_schema::<P>));
        Tool {
            name: self.name,
            title: self.title,
            description: self.description,
            access: self.access,
            idempotent: self.idempotent,
            open_world: self.open_world,
            pace: self.pace,
            input: mirroring(input, self.mirrored.clone()),
            output: self.output.or(output),
            aliases: self.aliases,
            mirrored: self.mirrored,
            app: self.app,
            handler,
        }
    }
}

/// Returns a schema that says which arguments are repeated in headers.
fn mirroring(schema: Schema, mirrored: Vec<MirroredArgument>) -> Schema {
    if mirrored.is_empty() {
        return schema;
    }
    Box::new(move || {
        let mut schema = schema();
        for MirroredArgument { name, header } in &mirrored {
            let properties = schema.get_mut("properties");
            let property = properties.and_then(|properties| properties.get_mut(name));
            if let Some(Value::Object(property)) = property {
                property.insert("x-mcp-header".to_owned(), Value::from(*header));
            }
        }
        schema
    })
}

fn schema_of<O: JsonSchema + 'static>() -> Option<Schema> {
    Some(Box::new(output_schema::<O>))
}

/// Another name of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentAlias {
    /// The name that callers may write.
    pub alias: &'static str,
    /// The argument in the schema that it stands for.
    pub name: &'static str,
}

/// An argument that clients of the stateless era repeat in a header of the HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirroredArgument {
    /// The argument: a string, an integer or a boolean.
    pub name: &'static str,
    /// The name of the header after `Mcp-Param-`.
    pub header: &'static str,
}

/// A pending answer.
pub type AnswerFuture = BoxFuture<'static, Result<Answer, Failure>>;

type BlockingHandler<S> =
    Box<dyn Fn(&S, JsonObject, &CallContext) -> Result<Answer, Failure> + Send + Sync>;
type WaitingHandler<S> = Box<dyn Fn(Arc<S>, JsonObject, CallContext) -> AnswerFuture + Send + Sync>;

/// The function that does a tool's work.
pub enum Handler<S: 'static> {
    /// Runs on a thread that may block.
    Blocking(BlockingHandler<S>),
    /// Awaits others without occupying a thread: the future never blocks.
    Waiting(WaitingHandler<S>),
}

impl<S> Handler<S> {
    /// Calls a handler from the command line, which has no other callers.
    ///
    /// # Errors
    /// Returns the handler's own error; [`FailureKind::Internal`] for an async handler, which the command line does not
    /// have.
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
    /// Possibly longer.
    Slow,
}

/// The kind of change a tool may make to the world's state.
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
    /// Returns the word for listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// The answer of a tool, and what the audit line may say about it.
pub struct Answer {
    /// The content that is sent to the caller.
    pub body: AnswerBody,
    /// Facts for the audit line.
    pub facts: AnswerFacts,
    /// `_meta` of the result, in addition to that of every result of the world; may be empty.
    pub meta: JsonObject,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerBody {
    /// Text for the model, such as Markdown. There is no structured content.
    Text(String),
    /// JSON, with the fields in the order of the type. Structured content repeats it.
    Json(String),
    /// Parts of several kinds, such as a picture and a text about it. There is no structured content.
    Parts(Vec<ContentPart>),
}

impl AnswerBody {
    /// Makes the JSON of `output`.
    ///
    /// # Errors
    /// Returns [`FailureKind::Internal`] if it cannot be serialized as JSON.
    pub fn json(output: &impl Serialize) -> Result<Self, Failure> {
        let text = serde_json::to_string(output).map_err(|_| {
            Failure::new(
                FailureKind::Internal,
                "The answer could not be written as JSON.",
            )
        })?;
        Ok(Self::Json(text))
    }

    /// Returns the text, which may be JSON; of several parts, the first text, or an empty one.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Json(text) => text,
            Self::Parts(parts) => {
                let mut texts = parts.iter().filter_map(ContentPart::text);
                texts.next().unwrap_or("")
            }
        }
    }

    /// Consumes the body and returns it as it is sent.
    pub(crate) fn into_blocks(self) -> Vec<ContentBlock> {
        match self {
            Self::Text(text) | Self::Json(text) => vec![ContentBlock::text(text)],
            Self::Parts(parts) => parts.into_iter().map(ContentBlock::from).collect(),
        }
    }
}

impl From<String> for AnswerBody {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<ContentPart>> for AnswerBody {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

/// The only facts about an answer that a log may carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// Number of sections in the answer, where that applies.
    pub sections: Option<usize>,
    /// Whether the answer was truncated.
    pub truncated: bool,
    /// The class of an upstream store's answer, such as `2xx`, if one was asked.
    pub upstream: Option<&'static str>,
}

impl Answer {
    /// Makes an answer in JSON from `output`.
    ///
    /// # Errors
    /// Returns [`FailureKind::Internal`] if it cannot be serialized as JSON.
    pub fn new(output: &impl Serialize, facts: AnswerFacts) -> Result<Self, Failure> {
        Ok(Self {
            body: AnswerBody::json(output)?,
            facts,
            meta: JsonObject::new(),
        })
    }

    /// Returns the answer with this `_meta`.
    #[must_use]
    pub fn with_meta(self, meta: JsonObject) -> Self {
        Self { meta, ..self }
    }
}

/// Decodes arguments that the schema has already accepted.
///
/// # Errors
/// Returns [`FailureKind::InvalidArguments`] if the type is stricter than its schema.
pub fn decode<P: DeserializeOwned>(arguments: JsonObject) -> Result<P, Failure> {
    serde_json::from_value(Value::Object(arguments)).map_err(|_| {
        Failure::new(
            FailureKind::InvalidArguments,
            "Invalid arguments: a value is out of range.",
        )
    })
}
