//! The life of a call, in order: visibility, authorisation, limits, arguments, handler, envelope, audit line.
//!
//! Decoding has happened before (`message.rs`), and so has authentication where a transport has one. A tool, a resource,
//! a prompt and a completion all pass the same steps; only what runs at the end differs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use futures::{FutureExt as _, future::BoxFuture};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData, InputRequiredResult,
    MetaObject,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Access, Answer, AnswerFacts, CallContext, CallRecord, CompletionReference, CompletionRequest,
    Failure, FailureKind, JsonObject, Pace, Resource, Surface, UnknownTool,
    access::Identity,
    call::{
        arguments::check_arguments,
        caller::{Caller, ClientChannel, ElicitationMode},
        error::{Refusal, RefusedCall, invalid_params},
        policy::{Absence, CallerRole},
        question::{ElicitationReply, ElicitationRounds},
        request_facts::OverloadFlag,
        shares::{CallerSlot, NoFreeSlot},
        structured::StructuredPlacement,
    },
    world::{
        listing::ListingPage,
        resource::ResourceText,
        surface::{BoundHandler, BoundTool},
    },
};

/// Why a call has no answer.
enum EarlyReturn {
    Visible(VisibleStop),
    /// Ends as if it did not exist. Only the audit line knows better.
    Hidden(Absence, VisibleStop),
}

/// Why a call has no answer, as far as the caller may know.
enum VisibleStop {
    Refused(Refusal),
    Failed(Failure),
    /// Ends for now, with a question to the person at the other end.
    Asks(Box<InputRequiredResult>),
}

impl EarlyReturn {
    /// What the caller sees of it.
    fn seen(self) -> VisibleStop {
        match self {
            Self::Visible(stop) | Self::Hidden(_, stop) => stop,
        }
    }
}

impl VisibleStop {
    /// Word for what came of the call.
    fn name(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.name(),
            Self::Failed(failure) => failure.name(),
            Self::Asks(_) => "input_required",
        }
    }
}

impl From<Refusal> for VisibleStop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failure> for VisibleStop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl<T: Into<VisibleStop>> From<T> for EarlyReturn {
    fn from(stop: T) -> Self {
        Self::Visible(stop.into())
    }
}

impl Surface {
    /// Calls the tool `name`.
    pub(crate) async fn call_tool(
        self: Arc<Self>,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
        reply: ElicitationReply,
        structured: StructuredPlacement,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.begin(&caller);
        let standing = caller.standing();
        let hides_errors = self
            .tool(name)
            .is_some_and(|(_, tool)| tool.pace == Pace::Slow && caller.hides_errors());
        let result = self.tool_steps(name, arguments, caller, reply).await;
        let label = self.tool(name).map(|(_, tool)| tool.card.name.as_str());
        call.end(Label::Named(label), &result, |answer| answer.facts);
        let mut wire = match result.map_err(EarlyReturn::seen) {
            Ok(answer) => {
                let structured = match self.tool(name) {
                    Some((_, tool)) if tool.is_silent() => structured,
                    _ => structured.for_streams(),
                };
                let structured_content = structured.content(&answer.text);
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = structured_content;
                result
            }
            Err(VisibleStop::Failed(failure)) => {
                let said = self.say(failure, standing, hides_errors)?;
                let text = ContentBlock::text(said.to_string());
                CallToolResult::error(vec![text])
            }
            Err(VisibleStop::Asks(question)) => return Ok((*question).into()),
            Err(VisibleStop::Refused(refusal)) => return Err(self.refusal(refusal)),
        };
        wire.meta = self.result_meta.clone().map(MetaObject);
        Ok(wire.into())
    }

    async fn tool_steps(
        self: &Arc<Self>,
        name: &str,
        mut arguments: JsonObject,
        caller: Caller,
        reply: ElicitationReply,
    ) -> Result<Answer, EarlyReturn> {
        let (index, tool) = self.tool(name).ok_or_else(|| self.unknown_tool())?;
        let standing = caller.standing();
        self.exists(&tool.card.name, tool.card.access, standing, || {
            self.unknown_tool()
        })?;
        self.authorise(&tool.card.name)?;
        let asking = self.asking(tool, &arguments, &caller, reply)?;
        let surface = Arc::clone(self);
        let effort = (tool.pace, tool.card.access);
        match &tool.handler {
            BoundHandler::Blocking(handler) => {
                let handler = Arc::clone(handler);
                let work = move |context: &CallContext| {
                    surface.check_call(&surface.tools[index], &mut arguments, standing)?;
                    context.surface.get_or_init(|| surface);
                    handler(arguments, context)
                };
                self.within_limits(effort, caller, asking, work).await
            }
            BoundHandler::Waiting(handler) => {
                let work = |context: CallContext| {
                    surface.check_call(tool, &mut arguments, standing)?;
                    context.surface.get_or_init(|| surface);
                    Ok(handler(arguments, context))
                };
                self.waiting_within_limits(effort, caller, work).await
            }
        }
    }

    /// The last check before a handler runs.
    fn check_call(
        &self,
        tool: &BoundTool,
        arguments: &mut JsonObject,
        standing: CallerRole,
    ) -> Result<(), Failure> {
        let schema = &tool.card.input;
        check_arguments(&self.naming(standing).choices(schema), arguments)?;
        #[cfg(debug_assertions)]
        crate::call::fault::strike(&tool.card.name);
        Ok(())
    }

    /// What a tool that does not exist answers.
    fn unknown_tool(&self) -> VisibleStop {
        match self.unknown_tool {
            UnknownTool::Code(code) => Refusal::UnknownTool(ErrorCode(code)).into(),
            UnknownTool::Answer(failure) => failure().into(),
        }
    }

    /// How a call of `tool` may ask the person at the other end.
    fn asking(
        &self,
        tool: &BoundTool,
        arguments: &JsonObject,
        caller: &Caller,
        reply: ElicitationReply,
    ) -> Result<ElicitationMode, Refusal> {
        if tool.pace == Pace::Quick && reply.state.is_none() {
            return Ok(ElicitationMode::Never);
        }
        let is_answer = reply.state.is_some();
        let can_show = caller.can_show_forms();
        if caller.is_stateless() && (can_show || is_answer) {
            let rounds = ElicitationRounds::new(&self.seal, &tool.card.name, arguments, reply)?;
            return Ok(rounds.map_or(ElicitationMode::Never, |rounds| {
                ElicitationMode::InRounds(Box::new(rounds))
            }));
        }
        match &caller.connection {
            Some(connection) if can_show => Ok(ElicitationMode::WhileWaiting(connection.ended())),
            _ => Ok(ElicitationMode::Never),
        }
    }

    /// Lists the resources of the page that starts at `start`.
    pub(crate) async fn list_resources(
        self: Arc<Self>,
        start: usize,
        caller: Caller,
    ) -> Result<ListingPage<Resource>, ErrorData> {
        let call = self.begin(&caller);
        let (surface, standing) = (Arc::clone(&self), caller.standing());
        let listed = self.within_limits(SLOW_READ, caller, ElicitationMode::Never, move |_| {
            Ok(ListingPage::of(surface.listed_resources(standing), start))
        });
        let result = listed.await;
        call.end(Label::Method("resources/list"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, standing))
    }

    /// Reads the resource at `uri`.
    pub(crate) async fn read_resource(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceText, ErrorData> {
        let call = self.begin(&caller);
        let standing = caller.standing();
        let result = self.resource_steps(uri, caller).await;
        call.end(Label::Method("resources/read"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, standing))
    }

    /// Whether a client may watch the resource at `uri`, with the same answer as reading it where it may not.
    pub(crate) async fn watch_resource(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<(), ErrorData> {
        let call = self.begin(&caller);
        let standing = caller.standing();
        let result = self.resource_steps(uri, caller).await;
        call.end(Label::Method("resources/subscribe"), &result, |_| {
            AnswerFacts::default()
        });
        match result {
            Ok(_) => Ok(()),
            Err(stop) => Err(self.protocol_error(stop, standing)),
        }
    }

    /// Whether there may be notices about the resource at `uri`.
    pub(crate) fn tells_of(&self, uri: &str, standing: CallerRole) -> bool {
        let thing = self.thing(uri, Access::Read);
        self.policy.presence(standing, thing).is_ok() && self.authorise(uri).is_ok()
    }

    /// Runs a subscription, which has no place among the calls but one of its own.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        identity: Option<Arc<Identity>>,
        subscription: impl Future<Output = ()>,
    ) -> Result<(), ErrorData> {
        let standing = identity.as_ref().map(|identity| identity.role);
        let call = Call::begin(self, identity, None);
        let caller = identity_key(call.identity.as_ref());
        let result = match self.listeners.take(caller).await {
            Ok(_place) => {
                subscription.await;
                Ok(())
            }
            Err(NoFreeSlot) => Err(EarlyReturn::from(Refusal::Busy)),
        };
        call.end(Label::Method("subscriptions/listen"), &result, |()| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, standing))
    }

    async fn resource_steps(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceText, EarlyReturn> {
        let standing = caller.standing();
        self.exists(&uri, Access::Read, standing, || Refusal::UnknownResource)?;
        let surface = Arc::clone(self);
        let name = uri.clone();
        let read =
            self.within_limits(
                SLOW_READ,
                caller,
                ElicitationMode::Never,
                move |_| match &surface.resources {
                    Some(resources) => (resources.read)(&uri),
                    None => Ok(None),
                },
            );
        // Only a read tells whether there is such a resource, and that must come before who may have it.
        let text = read.await?.ok_or(Refusal::UnknownResource)?;
        self.authorise(&name)?;
        Ok(text)
    }

    /// Fills the prompt `name`.
    pub(crate) async fn get_prompt(
        self: Arc<Self>,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
    ) -> Result<String, ErrorData> {
        let call = self.begin(&caller);
        let standing = caller.standing();
        let known = self.prompts.iter().position(|prompt| prompt.name == name);
        let label = known.map(|index| self.prompts[index].name);
        let result = self.prompt_steps(known, arguments, caller).await;
        call.end(Label::Named(label), &result, |_| AnswerFacts::default());
        result.map_err(|stop| self.protocol_error(stop, standing))
    }

    async fn prompt_steps(
        self: &Arc<Self>,
        index: Option<usize>,
        arguments: JsonObject,
        caller: Caller,
    ) -> Result<String, EarlyReturn> {
        let index = index.ok_or(Refusal::UnknownPrompt)?;
        let (name, standing) = (self.prompts[index].name, caller.standing());
        self.exists(name, Access::Read, standing, || Refusal::UnknownPrompt)?;
        self.authorise(name)?;
        self.prompts[index].check_arguments(&arguments)?;
        let surface = Arc::clone(self);
        self.within_limits(SLOW_READ, caller, ElicitationMode::Never, move |context| {
            context.surface.get_or_init(|| Arc::clone(&surface));
            (surface.prompts[index].render)(&arguments, context)
        })
        .await
    }

    /// Completes an argument of a prompt or a variable of a resource template: everything that fits.
    pub(crate) async fn complete(
        self: Arc<Self>,
        request: CompletionRequest,
        caller: Caller,
    ) -> Result<Vec<String>, ErrorData> {
        let call = self.begin(&caller);
        let standing = caller.standing();
        let result = self.completion_steps(request, caller).await;
        call.end(Label::Method("completion/complete"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, standing))
    }

    async fn completion_steps(
        self: &Arc<Self>,
        request: CompletionRequest,
        caller: Caller,
    ) -> Result<Vec<String>, EarlyReturn> {
        let (name, known, unknown) = match &request.reference {
            CompletionReference::Prompt(name) => {
                let known = self.prompts.iter().any(|prompt| prompt.name == name);
                (name, known, Refusal::UnknownPrompt)
            }
            CompletionReference::Template(form) => {
                let mut templates = self
                    .resources
                    .iter()
                    .flat_map(|found| found.templates.iter());
                let known = templates.any(|known| known.uri_template == *form);
                (form, known, Refusal::UnknownTemplate)
            }
        };
        if !known {
            return Err(unknown.into());
        }
        self.exists(name, Access::Read, caller.standing(), || unknown)?;
        self.authorise(name)?;
        let surface = Arc::clone(self);
        self.within_limits(SLOW_READ, caller, ElicitationMode::Never, move |_| {
            let complete = surface.complete.as_ref();
            Ok(complete.map_or_else(Vec::new, |complete| complete(&request)))
        })
        .await
    }

    /// Visibility, before anything else is looked at: a hidden thing answers like one that does not exist, whoever asks.
    fn exists<U: Into<VisibleStop>>(
        &self,
        name: &str,
        access: Access,
        standing: CallerRole,
        unknown: impl FnOnce() -> U,
    ) -> Result<(), EarlyReturn> {
        let presence = self.policy.presence(standing, self.thing(name, access));
        presence.map_err(|absence| EarlyReturn::Hidden(absence, unknown().into()))
    }

    fn authorise(&self, name: &str) -> Result<(), Refusal> {
        let (name, family) = self.policy_names(name);
        if self.policy.authorisation.permits(self.world, name, family) {
            Ok(())
        } else {
            Err(Refusal::Forbidden)
        }
    }

    /// Whether the tool `name` is there for this caller.
    pub(crate) fn offers(&self, name: &str, standing: CallerRole) -> bool {
        self.tool(name).is_some_and(|(_, tool)| {
            let thing = self.thing(name, tool.card.access);
            self.policy.presence(standing, thing).is_ok() && self.authorise(name).is_ok()
        })
    }

    /// Runs `work`, which may block, when there is room, for as long as is allowed and somebody waits. A panic
    /// in it becomes an internal error.
    async fn within_limits<T: Send + 'static>(
        &self,
        (pace, access): (Pace, Access),
        caller: Caller,
        asking: ElicitationMode,
        work: impl FnOnce(&CallContext) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, EarlyReturn> {
        let cancelled = caller.cancelled();
        let key = identity_key(caller.facts.identity());
        let (context, desk) = caller.into_parts(pace, asking);
        let steps = async {
            let slot = self.slot(key).await?;
            let inline = pace == Pace::Quick && self.limits.inline_when_alone && self.is_alone();
            // Given back when the handler ends, which may be long after its caller has given up.
            let work = move || {
                let result = work(&context);
                drop(slot);
                result
            };
            let result = if inline {
                catch_unwind(AssertUnwindSafe(work)).ok()
            } else {
                tokio::task::spawn_blocking(work).await.ok()
            };
            // Nothing comes back from a handler that panicked.
            Ok(result.ok_or(Refusal::Internal)??)
        };
        self.bounded(access, &cancelled, desk, steps).await
    }

    /// The same for work that waits without a thread of its own. Such work asks nobody anything.
    async fn waiting_within_limits<T>(
        &self,
        (pace, access): (Pace, Access),
        caller: Caller,
        work: impl FnOnce(CallContext) -> Result<BoxFuture<'static, Result<T, Failure>>, Failure>,
    ) -> Result<T, EarlyReturn> {
        let cancelled = caller.cancelled();
        let key = identity_key(caller.facts.identity());
        let (context, desk) = caller.into_parts(pace, ElicitationMode::Never);
        let steps = async {
            let _slot = self.slot(key).await?;
            let begun = catch_unwind(AssertUnwindSafe(|| work(context)));
            let work = begun.map_err(|_| Refusal::Internal)??;
            let result = AssertUnwindSafe(work).catch_unwind().await;
            Ok(result.map_err(|_| Refusal::Internal)??)
        };
        self.bounded(access, &cancelled, desk, steps).await
    }

    /// Takes `steps` for as long as is allowed and somebody waits, and runs their errands meanwhile.
    async fn bounded<T>(
        &self,
        access: Access,
        cancelled: &CancellationToken,
        mut desk: ClientChannel,
        steps: impl Future<Output = Result<T, EarlyReturn>>,
    ) -> Result<T, EarlyReturn> {
        // Cancelled when this call ends early for whatever reason, so that the handler can stop as well.
        let _stop = cancelled.clone().drop_guard();
        let result = tokio::select! {
            biased;
            result = steps => result,
            () = cancelled.cancelled() => return Err(Refusal::Cancelled(access).into()),
            () = desk.serve(self.limits.call_timeout) => return Err(Refusal::TimedOut(access).into()),
        };
        tokio::select! {
            biased;
            () = desk.clear() => {}
            () = cancelled.cancelled() => {}
        }
        match (result, desk.question()) {
            (Ok(_) | Err(EarlyReturn::Visible(VisibleStop::Failed(_))), Some(question)) => {
                Err(VisibleStop::Asks(Box::new(question)).into())
            }
            (result, _) => result,
        }
    }

    /// Whether the call that asks is the only one that runs.
    fn is_alone(&self) -> bool {
        self.slots.is_one_taken()
    }

    async fn slot(&self, caller: Option<String>) -> Result<CallerSlot, Refusal> {
        self.slots
            .take(caller)
            .await
            .map_err(|NoFreeSlot| Refusal::Busy)
    }

    /// A failure in the world's words: the JSON of a result, or a JSON-RPC error.
    fn say(
        &self,
        failure: Failure,
        standing: CallerRole,
        hides_errors: bool,
    ) -> Result<Value, ErrorData> {
        let said = catch_unwind(AssertUnwindSafe(|| {
            (self.envelope)(&failure.worded(&self.naming(standing)))
        }));
        said.map_or_else(
            |_| Err(Refusal::Internal.into()),
            |said| said.into_result(hides_errors),
        )
    }

    /// What a tool call that the frame refuses answers: the same in every world, and the world's own error object with it,
    /// where it has one.
    fn refusal(&self, refusal: Refusal) -> ErrorData {
        let mut error = ErrorData::from(refusal);
        let object = self.refused.and_then(|refused| {
            let made = catch_unwind(|| refused(&RefusedCall::from(refusal)));
            made.ok()
        });
        if let (Some(object), Some(Value::Object(data))) = (object, &mut error.data) {
            data.extend(object);
        }
        error
    }

    /// Resources and prompts have no result that could carry an error object, so a failure is a protocol error there.
    fn protocol_error(&self, stop: EarlyReturn, standing: CallerRole) -> ErrorData {
        let failure = match stop.seen() {
            VisibleStop::Refused(refusal) => return refusal.into(),
            VisibleStop::Failed(failure) => failure,
            // Only tools ask.
            VisibleStop::Asks(_) => return Refusal::Internal.into(),
        };
        let kind = failure.kind;
        let told = failure.clone().worded(&self.naming(standing)).told();
        match (self.say(failure, standing, false), kind) {
            (Err(error), _) => error,
            (Ok(_), FailureKind::InvalidArguments) => ErrorData {
                message: told.into(),
                ..invalid_params()
            },
            (Ok(_), FailureKind::Internal) => Refusal::Internal.into(),
            (Ok(_), _) => ErrorData::new(ErrorCode(-32000), told, None),
        }
    }

    /// Begins to watch a call.
    fn begin(self: &Arc<Self>, caller: &Caller) -> Call {
        Call::begin(self, caller.identity(), caller.facts.overload.clone())
    }
}

/// A call that is being watched, for the log and for whoever counts or records calls.
struct Call {
    surface: Arc<Surface>,
    identity: Option<Arc<Identity>>,
    started: Instant,
    /// Where to say that there was no room for it.
    overload: Option<OverloadFlag>,
    has_ended: bool,
}

impl Call {
    fn begin(
        surface: &Arc<Surface>,
        identity: Option<Arc<Identity>>,
        overload: Option<OverloadFlag>,
    ) -> Self {
        surface.observer.began(surface.world);
        Self {
            surface: Arc::clone(surface),
            identity,
            started: Instant::now(),
            overload,
            has_ended: false,
        }
    }

    /// One line per call, with nothing of the note, the arguments, an unknown name or a hidden thing in it.
    fn end<T>(
        mut self,
        label: Label<'_>,
        result: &Result<T, EarlyReturn>,
        facts: impl Fn(&T) -> AnswerFacts,
    ) {
        self.has_ended = true;
        let is_busy = matches!(
            result,
            Err(EarlyReturn::Visible(VisibleStop::Refused(Refusal::Busy)))
        );
        if is_busy && let Some(overload) = &self.overload {
            overload.set();
        }
        let facts = match result {
            Ok(value) => facts(value),
            Err(EarlyReturn::Visible(VisibleStop::Failed(failure))) => AnswerFacts {
                upstream: failure.upstream,
                ..AnswerFacts::default()
            },
            Err(_) => AnswerFacts::default(),
        };
        let named = label.text();
        let (truth, seen) = match result {
            Ok(_) => ((named, "ok"), (named, "ok")),
            Err(EarlyReturn::Visible(stop)) => ((named, stop.name()), (named, stop.name())),
            Err(EarlyReturn::Hidden(absence, like)) => (
                (named, absence.name()),
                (label.hidden().text(), like.name()),
            ),
        };
        let world = self.surface.world;
        let elapsed = self.started.elapsed();
        tracing::info!(
            target: "sectile::call",
            tool = %format_args!("{world}/{}", seen.0),
            outcome = seen.1,
            upstream = facts.upstream,
            elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            sections = facts.sections,
            truncated = facts.truncated,
        );
        self.surface.observer.ended(&CallRecord {
            world,
            tool: seen.0,
            outcome: seen.1,
            truth,
            upstream: facts.upstream,
            elapsed,
            caller: self.identity.as_ref().map(|identity| identity.key.as_str()),
        });
    }
}

/// What a call was about.
#[derive(Clone, Copy)]
enum Label<'a> {
    /// A method whose calls are not told apart.
    Method(&'static str),
    /// The name of a tool or prompt, as it stands in the table; none when there is no such.
    Named(Option<&'a str>),
}

impl<'a> Label<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Method(name) => name,
            Self::Named(name) => name.unwrap_or(UNKNOWN),
        }
    }

    /// The same, when what is named must look as if it did not exist.
    fn hidden(self) -> Self {
        match self {
            Self::Named(_) => Self::Named(None),
            method @ Self::Method(_) => method,
        }
    }
}

impl Drop for Call {
    /// A call whose client went away is dropped where it stands.
    fn drop(&mut self) {
        if !self.has_ended {
            self.surface.observer.ended(&CallRecord {
                world: self.surface.world,
                tool: UNKNOWN,
                outcome: "dropped",
                truth: (UNKNOWN, "dropped"),
                upstream: None,
                elapsed: self.started.elapsed(),
                caller: self.identity.as_ref().map(|identity| identity.key.as_str()),
            });
        }
    }
}

const UNKNOWN: &str = "unknown";

/// How everything but tools works.
const SLOW_READ: (Pace, Access) = (Pace::Slow, Access::Read);

/// What shares know a caller by.
fn identity_key(identity: Option<&Arc<Identity>>) -> Option<String> {
    identity.map(|identity| identity.key.clone())
}
