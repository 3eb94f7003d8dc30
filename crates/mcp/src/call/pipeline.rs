//! The life of a call, in order: visibility, authorisation, limits, arguments, handler, envelope, audit line.
//!
//! Decoding has happened before (`message.rs`), and so has authentication if the transport has it. A tool, a resource,
//! a prompt and a completion all pass the same steps; only what runs at the end differs.

mod skills;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use futures::{FutureExt as _, future::BoxFuture};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData, GetPromptResponse,
    GetPromptResult, InputRequiredResult, MetaObject, PromptMessage, Role,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Access, Answer, AnswerBody, AnswerFacts, CallContext, CallRecord, CompletionReference,
    CompletionRequest, ContentPart, Failure, FailureKind, JsonObject, Pace, Resource,
    ResourceContent, Surface, UnknownTool,
    access::Identity,
    call::{
        arguments::{ArgumentRules, INVALID},
        caller::{Caller, ClientChannel, ElicitationMode},
        caller_slots::{CallerSlot, NoFreeSlot},
        elicitation::{ElicitationReply, ElicitationRounds},
        error::{Refusal, RefusedCall, invalid_params},
        policy::{Absence, CallerRole},
        request_facts::OverloadFlag,
        structured::StructuredPlacement,
    },
    observe::EndedCall,
    world::{
        listing::ListingPage,
        skill::is_skill_uri,
        surface::{BoundHandler, BoundTool},
    },
};

/// The reason a call has no answer.
pub(super) enum EarlyReturn {
    Visible(VisibleStop),
    /// Ends as if it did not exist. Only the audit line records the real reason.
    Hidden(Absence, VisibleStop),
}

/// The reason a call has no answer, as far as the caller may know.
pub(super) enum VisibleStop {
    Refused(Refusal),
    Failed(Failure),
    /// Ends for now, with a question to the user.
    Asks(Box<InputRequiredResult>),
}

impl EarlyReturn {
    /// Returns the part that the caller sees.
    pub(super) fn seen(self) -> VisibleStop {
        match self {
            Self::Visible(stop) | Self::Hidden(_, stop) => stop,
        }
    }
}

impl VisibleStop {
    /// Returns the word for the outcome of the call.
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
        let caller_role = caller.caller_role();
        let hides_errors = self
            .tool(name)
            .is_some_and(|(_, tool)| tool.pace == Pace::Slow && caller.hides_errors());
        let log = self.call_log.as_deref().filter(|log| log.is_recording());
        let logged = log.map(|_| (caller.client_name(), caller.identity()));
        let result = self.tool_steps(name, arguments, caller, reply).await;
        let label = self.tool(name).map(|(_, tool)| tool.card.name.as_str());
        let ended = call.end(Label::Named(label), &result, |answer| answer.facts);
        let log = |answer: &str| {
            if let (Some(log), Some((client, identity))) = (log, logged) {
                log.record(EndedCall {
                    answer,
                    client,
                    caller: identity.as_ref().map(|identity| identity.key.as_str()),
                    group: identity
                        .as_deref()
                        .and_then(|identity| self.group_of(identity)),
                    ..ended
                });
            }
        };
        let mut meta = self.result_meta.clone().unwrap_or_default();
        let mut wire = match result.map_err(EarlyReturn::seen) {
            Ok(answer) => {
                meta.extend(answer.meta);
                let structured = match self.tool(name) {
                    Some((_, tool)) if tool.is_silent() => structured,
                    _ => structured.for_streams(),
                };
                let structured_content = match &answer.body {
                    AnswerBody::Json(text) => structured.content(text),
                    AnswerBody::Text(_) | AnswerBody::Parts(_) => None,
                };
                log(answer.body.text());
                let mut result = CallToolResult::success(answer.body.into_blocks());
                result.structured_content = structured_content;
                result
            }
            Err(VisibleStop::Failed(failure)) => {
                let said = self.say(failure, caller_role, hides_errors);
                log(said.as_deref().unwrap_or_default());
                let said = said?;
                CallToolResult::error(vec![ContentBlock::text(said)])
            }
            Err(VisibleStop::Asks(question)) => {
                log("");
                return Ok((*question).into());
            }
            Err(VisibleStop::Refused(refusal)) => {
                log("");
                return Err(self.refusal(refusal));
            }
        };
        wire.meta = (!meta.is_empty()).then(|| MetaObject(meta));
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
        let caller_role = caller.caller_role();
        self.exists(&tool.card.name, tool.card.access, caller_role, || {
            self.unknown_tool()
        })?;
        self.authorise(&tool.card.name)?;
        let asking = match tool.pace {
            Pace::Quick if reply.state.is_none() => ElicitationMode::Never,
            _ => self.asking(("tools/call", name), &arguments, &caller, reply)?,
        };
        let surface = Arc::clone(self);
        let effort = (tool.pace, tool.card.access);
        match &tool.handler {
            BoundHandler::Blocking(handler) => {
                let handler = Arc::clone(handler);
                let work = move |context: &CallContext| {
                    surface.check_call(&surface.tools[index], &mut arguments, caller_role)?;
                    handler(arguments, context)
                };
                self.within_limits(effort, caller, asking, work).await
            }
            BoundHandler::Waiting(handler) => {
                let work = |context: CallContext| {
                    surface.check_call(tool, &mut arguments, caller_role)?;
                    Ok(handler(arguments, context))
                };
                self.waiting_within_limits(effort, caller, work).await
            }
        }
    }

    /// Performs the last check before a handler runs.
    fn check_call(
        &self,
        tool: &BoundTool,
        arguments: &mut JsonObject,
        caller_role: CallerRole,
    ) -> Result<(), Failure> {
        let naming = self.naming(caller_role);
        let rules = ArgumentRules {
            schema: &naming.choices(&tool.card.input),
            aliases: &tool.card.aliases,
            lenient_scalars: self.lenient_scalars,
            errors: self.argument_errors,
        };
        rules.check(arguments)?;
        #[cfg(debug_assertions)]
        crate::call::fault::inject(&tool.card.name);
        Ok(())
    }

    /// Returns the answer to a call of a tool that does not exist.
    fn unknown_tool(&self) -> VisibleStop {
        match self.unknown_tool {
            UnknownTool::Code(code) => Refusal::UnknownTool(ErrorCode(code)).into(),
            UnknownTool::Answer(failure) => failure().into(),
        }
    }

    /// Returns how a call may ask the user. `call` is the method and the name of the tool or prompt.
    fn asking(
        &self,
        call: (&str, &str),
        arguments: &JsonObject,
        caller: &Caller,
        reply: ElicitationReply,
    ) -> Result<ElicitationMode, Refusal> {
        let is_answer = reply.state.is_some();
        let can_show = caller.can_show_forms();
        if caller.is_stateless() && (can_show || is_answer) {
            let rounds = ElicitationRounds::new(&self.seal, call, arguments, reply)?;
            return Ok(rounds.map_or(ElicitationMode::Never, |rounds| {
                ElicitationMode::InRounds(Box::new(rounds))
            }));
        }
        match &caller.connection {
            Some(connection) if can_show => Ok(ElicitationMode::WhileWaiting(connection.ended())),
            _ => Ok(ElicitationMode::Never),
        }
    }

    /// Lists the resources of the page that starts at `start`, with the `_meta` of the listing.
    pub(crate) async fn list_resources(
        self: Arc<Self>,
        start: usize,
        caller: Caller,
    ) -> Result<(ListingPage<Resource>, JsonObject), ErrorData> {
        let call = self.begin(&caller);
        let (surface, caller_role) = (Arc::clone(&self), caller.caller_role());
        let list = move |context: &CallContext| surface.resource_page(start, caller_role, context);
        let listed = self.within_limits(SLOW_READ, caller, ElicitationMode::Never, list);
        let result = listed.await;
        call.end(Label::Method("resources/list"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, caller_role))
    }

    /// Reads the resource at `uri`.
    pub(crate) async fn read_resource(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceContent, ErrorData> {
        let call = self.begin(&caller);
        let caller_role = caller.caller_role();
        let result = self.resource_steps(uri, caller).await;
        call.end(Label::Method("resources/read"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, caller_role))
    }

    /// Returns whether a client may watch the resource at `uri`; if it may not, the answer is the same as for reading
    /// it.
    pub(crate) async fn watch_resource(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<(), ErrorData> {
        let call = self.begin(&caller);
        let caller_role = caller.caller_role();
        let result = self.resource_steps(uri, caller).await;
        call.end(Label::Method("resources/subscribe"), &result, |_| {
            AnswerFacts::default()
        });
        match result {
            Ok(_) => Ok(()),
            Err(stop) => Err(self.protocol_error(stop, caller_role)),
        }
    }

    /// Returns whether there may be notices about the resource at `uri`.
    pub(crate) fn may_notify(&self, uri: &str, caller_role: CallerRole) -> bool {
        let thing = self.thing(uri, Access::Read);
        self.policy.presence(caller_role, thing).is_ok() && self.authorise(uri).is_ok()
    }

    /// Returns whether a caller with this role may read every resource.
    pub(crate) fn may_read_all(&self, caller_role: CallerRole) -> bool {
        self.policy.allows_all_reading(caller_role)
    }

    /// Runs a subscription, which takes a listener's slot instead of a call's.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        identity: Option<Arc<Identity>>,
        subscription: impl Future<Output = ()>,
    ) -> Result<(), ErrorData> {
        let caller_role = identity.as_ref().map(|identity| identity.role);
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
        result.map_err(|stop| self.protocol_error(stop, caller_role))
    }

    async fn resource_steps(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceContent, EarlyReturn> {
        if self.skills.is_some() && is_skill_uri(&uri) {
            return self.skill_file_steps(uri, caller).await;
        }
        let caller_role = caller.caller_role();
        self.exists(&uri, Access::Read, caller_role, || Refusal::UnknownResource)?;
        let owned = self.app_presence(&uri, caller_role);
        owned
            .ok_or(Refusal::UnknownResource)?
            .map_err(|absence| EarlyReturn::Hidden(absence, Refusal::UnknownResource.into()))?;
        let surface = Arc::clone(self);
        let name = uri.clone();
        let read = self.within_limits(SLOW_READ, caller, ElicitationMode::Never, move |context| {
            match &surface.resources {
                Some(resources) => (resources.read)(&uri, context),
                None => Ok(None),
            }
        });
        // Only a read shows whether there is such a resource, and that must be known before authorisation is checked.
        let content = read.await?.ok_or(Refusal::UnknownResource)?;
        self.authorise(&name)?;
        Ok(content)
    }

    /// Renders the prompt `name`.
    pub(crate) async fn get_prompt(
        self: Arc<Self>,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
        reply: ElicitationReply,
    ) -> Result<GetPromptResponse, ErrorData> {
        let call = self.begin(&caller);
        let caller_role = caller.caller_role();
        let known = self.prompts.iter().position(|prompt| prompt.name == name);
        let label = known.map(|index| self.prompts[index].name);
        let result = self.prompt_steps(known, arguments, caller, reply).await;
        call.end(Label::Named(label), &result, |_| AnswerFacts::default());
        match result {
            Ok(parts) => {
                let message = |part: ContentPart| PromptMessage::new(Role::User, part.into());
                let messages = parts.into_iter().map(message).collect();
                Ok(GetPromptResult::new(messages).into())
            }
            Err(EarlyReturn::Visible(VisibleStop::Asks(question))) => Ok((*question).into()),
            Err(stop) => Err(self.protocol_error(stop, caller_role)),
        }
    }

    async fn prompt_steps(
        self: &Arc<Self>,
        index: Option<usize>,
        arguments: JsonObject,
        caller: Caller,
        reply: ElicitationReply,
    ) -> Result<Vec<ContentPart>, EarlyReturn> {
        let index = index.ok_or(Refusal::UnknownPrompt)?;
        let (name, caller_role) = (self.prompts[index].name, caller.caller_role());
        self.exists(name, Access::Read, caller_role, || Refusal::UnknownPrompt)?;
        self.authorise(name)?;
        self.prompts[index].check_arguments(&arguments)?;
        let asking = self.asking(("prompts/get", name), &arguments, &caller, reply)?;
        let surface = Arc::clone(self);
        self.within_limits(SLOW_READ, caller, asking, move |context| {
            (surface.prompts[index].render)(&arguments, context)
        })
        .await
    }

    /// Completes an argument of a prompt or a variable of a resource template: returns everything that fits.
    pub(crate) async fn complete(
        self: Arc<Self>,
        request: CompletionRequest,
        caller: Caller,
    ) -> Result<Vec<String>, ErrorData> {
        let call = self.begin(&caller);
        let caller_role = caller.caller_role();
        let result = self.completion_steps(request, caller).await;
        call.end(Label::Method("completion/complete"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, caller_role))
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
                let known = self.templates().any(|known| known.uri_template == *form);
                (form, known, Refusal::UnknownTemplate)
            }
        };
        if !known {
            return Err(unknown.into());
        }
        self.exists(name, Access::Read, caller.caller_role(), || unknown)?;
        self.authorise(name)?;
        let surface = Arc::clone(self);
        self.within_limits(SLOW_READ, caller, ElicitationMode::Never, move |context| {
            let complete = surface.complete.as_ref();
            Ok(complete.map_or_else(Vec::new, |complete| complete(&request, context)))
        })
        .await
    }

    /// Checks visibility before anything else: a hidden thing answers like one that does not exist, to every caller.
    pub(super) fn exists<U: Into<VisibleStop>>(
        &self,
        name: &str,
        access: Access,
        caller_role: CallerRole,
        unknown: impl FnOnce() -> U,
    ) -> Result<(), EarlyReturn> {
        let presence = self.policy.presence(caller_role, self.thing(name, access));
        presence.map_err(|absence| EarlyReturn::Hidden(absence, unknown().into()))
    }

    pub(super) fn authorise(&self, name: &str) -> Result<(), Refusal> {
        let (name, family) = self.policy_names(name);
        if self.policy.authorisation.permits(self.world, name, family) {
            Ok(())
        } else {
            Err(Refusal::Forbidden)
        }
    }

    /// Returns whether this caller can see the tool `name`.
    pub(crate) fn offers(&self, name: &str, caller_role: CallerRole) -> bool {
        self.tool(name).is_some_and(|(_, tool)| {
            let thing = self.thing(name, tool.card.access);
            self.policy.presence(caller_role, thing).is_ok() && self.authorise(name).is_ok()
        })
    }

    /// Runs `work`, which may block, once there is room, and for as long as the limits allow and the caller waits. A
    /// panic in it becomes an internal error.
    async fn within_limits<T: Send + 'static>(
        self: &Arc<Self>,
        (pace, access): (Pace, Access),
        caller: Caller,
        asking: ElicitationMode,
        work: impl FnOnce(&CallContext) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, EarlyReturn> {
        let cancelled = caller.cancelled();
        let key = self.slot_key(caller.facts.identity());
        let (context, channel) = caller.into_parts(self, pace, asking);
        let steps = async {
            let slot = self.slot(key).await?;
            let inline = pace == Pace::Quick && self.limits.inline_when_alone && self.is_alone();
            // Released when the handler ends, which may be long after its caller has given up.
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
            // A handler that panicked returns nothing.
            Ok(result.ok_or(Refusal::Internal)??)
        };
        self.bounded(access, &cancelled, channel, steps).await
    }

    /// Does the same for async work without a thread of its own. Such work never asks questions.
    async fn waiting_within_limits<T>(
        self: &Arc<Self>,
        (pace, access): (Pace, Access),
        caller: Caller,
        work: impl FnOnce(CallContext) -> Result<BoxFuture<'static, Result<T, Failure>>, Failure>,
    ) -> Result<T, EarlyReturn> {
        let cancelled = caller.cancelled();
        let key = self.slot_key(caller.facts.identity());
        let (context, channel) = caller.into_parts(self, pace, ElicitationMode::Never);
        let steps = async {
            let _slot = self.slot(key).await?;
            let begun = catch_unwind(AssertUnwindSafe(|| work(context)));
            let work = begun.map_err(|_| Refusal::Internal)??;
            let result = AssertUnwindSafe(work).catch_unwind().await;
            Ok(result.map_err(|_| Refusal::Internal)??)
        };
        self.bounded(access, &cancelled, channel, steps).await
    }

    /// Runs `steps` for as long as the limits allow and the caller waits, and serves their messages to the client
    /// meanwhile.
    async fn bounded<T>(
        &self,
        access: Access,
        cancelled: &CancellationToken,
        mut channel: ClientChannel,
        steps: impl Future<Output = Result<T, EarlyReturn>>,
    ) -> Result<T, EarlyReturn> {
        // Cancelled when this call ends early for any reason, so that the handler can stop as well.
        let _stop = cancelled.clone().drop_guard();
        let result = tokio::select! {
            biased;
            result = steps => result,
            () = cancelled.cancelled() => return Err(Refusal::Cancelled(access).into()),
            () = channel.serve(self.limits.call_timeout) => return Err(Refusal::TimedOut(access).into()),
        };
        tokio::select! {
            biased;
            () = channel.clear() => {}
            () = cancelled.cancelled() => {}
        }
        match (result, channel.question()) {
            (Ok(_) | Err(EarlyReturn::Visible(VisibleStop::Failed(_))), Some(question)) => {
                Err(VisibleStop::Asks(Box::new(question)).into())
            }
            (result, _) => result,
        }
    }

    /// Returns whether the current call is the only one that runs.
    fn is_alone(&self) -> bool {
        self.slots.is_one_taken()
    }

    pub(super) async fn slot(&self, caller: Option<String>) -> Result<CallerSlot, Refusal> {
        self.slots
            .take(caller)
            .await
            .map_err(|NoFreeSlot| Refusal::Busy)
    }

    /// Encodes a failure in the world's envelope: the text of a result, or a JSON-RPC error.
    pub(super) fn say(
        &self,
        failure: Failure,
        caller_role: CallerRole,
        hides_errors: bool,
    ) -> Result<String, ErrorData> {
        let failure = match self.argument_errors {
            // A decoder that is stricter than the schema gives no details.
            Some(row) if failure.kind == row.kind && failure.detail.is_none() => {
                let message = failure.message.strip_prefix(INVALID);
                let message = message.map(|message| message.to_owned().into());
                let failure = Failure {
                    message: message.unwrap_or(failure.message),
                    ..failure
                };
                failure.with_detail(row.code, row.recovery, JsonObject::new())
            }
            _ => failure,
        };
        let said = catch_unwind(AssertUnwindSafe(|| {
            (self.envelope)(&failure.worded(&self.naming(caller_role)))
        }));
        said.map_or_else(
            |_| Err(Refusal::Internal.into()),
            |said| said.into_result(hides_errors),
        )
    }

    /// Returns the answer to a tool call that the frame refuses: the same in every world, with the world's own error
    /// object added if it has one.
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
    fn protocol_error(&self, stop: EarlyReturn, caller_role: CallerRole) -> ErrorData {
        let failure = match stop.seen() {
            VisibleStop::Refused(refusal) => return refusal.into(),
            VisibleStop::Failed(failure) => failure,
            // Only tools and prompts ask questions, and their answers carry them.
            VisibleStop::Asks(_) => return Refusal::Internal.into(),
        };
        let kind = failure.kind;
        let told = failure.clone().worded(&self.naming(caller_role)).told();
        match (self.say(failure, caller_role, false), kind) {
            (Err(error), _) => error,
            (Ok(_), FailureKind::InvalidArguments) => ErrorData {
                message: told.into(),
                ..invalid_params()
            },
            (Ok(_), FailureKind::Internal) => Refusal::Internal.into(),
            (Ok(_), _) => ErrorData::new(ErrorCode(-32000), told, None),
        }
    }

    /// Starts to observe a call.
    fn begin(self: &Arc<Self>, caller: &Caller) -> Call {
        Call::begin(self, caller.identity(), caller.facts.overload.clone())
    }
}

/// A call that is being observed, for the log and the observer.
pub(super) struct Call {
    surface: Arc<Surface>,
    identity: Option<Arc<Identity>>,
    started: Instant,
    /// Set if there was no room for the call.
    overload: Option<OverloadFlag>,
    has_ended: bool,
}

impl Call {
    pub(super) fn begin(
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

    /// Writes one line per call, without anything from the note, the arguments, an unknown name or a hidden thing.
    /// Returns what the caller could tell about the call.
    pub(super) fn end<'l, T>(
        mut self,
        label: Label<'l>,
        result: &Result<T, EarlyReturn>,
        facts: impl Fn(&T) -> AnswerFacts,
    ) -> EndedCall<'l> {
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
        EndedCall {
            world,
            tool: seen.0,
            outcome: seen.1,
            elapsed,
            answer: "",
            client: None,
            caller: None,
            group: None,
        }
    }
}

/// The subject of a call.
#[derive(Clone, Copy)]
pub(super) enum Label<'a> {
    /// A method whose calls are not told apart.
    Method(&'static str),
    /// The name of a tool or prompt, as it is in the table; `None` if there is no such entry.
    Named(Option<&'a str>),
}

impl<'a> Label<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Method(name) => name,
            Self::Named(name) => name.unwrap_or(UNKNOWN),
        }
    }

    /// Returns the label for a subject that must look as if it did not exist.
    fn hidden(self) -> Self {
        match self {
            Self::Named(_) => Self::Named(None),
            method @ Self::Method(_) => method,
        }
    }
}

impl Drop for Call {
    /// A call whose client disconnected is dropped at the point it has reached.
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

/// Pace and access of everything except tools.
const SLOW_READ: (Pace, Access) = (Pace::Slow, Access::Read);

/// Returns the key that identifies a caller among the slots.
pub(super) fn identity_key(identity: Option<&Arc<Identity>>) -> Option<String> {
    identity.map(|identity| identity.key.clone())
}
