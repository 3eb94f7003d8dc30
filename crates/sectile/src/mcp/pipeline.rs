//! The life of a call, in order: visibility, authorisation, limits, arguments, handler, envelope, audit line.
//!
//! Decoding has happened before (`message.rs`), and so has authentication where a transport has one. A tool, a resource,
//! a prompt and a completion all pass the same steps; only what runs at the end differs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData, InputRequiredResult,
    MetaObject,
};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Access, Answer, CallContext, CompletionReference, CompletionRequest, Facts, Failure,
    FailureKind, JsonObject, Pace, Resource, Said, Surface, UnknownTool,
    arguments::check_arguments,
    caller::{Asking, Caller},
    error::{Refusal, invalid_params},
    listing::Page,
    question::{Reply, Rounds},
    resource::ResourceText,
    structured::Structured,
    surface::BoundTool,
};

/// Why a call has no answer.
enum Stop {
    Refused(Refusal),
    /// Ends as if it did not exist. Only the audit line knows better.
    Hidden(Box<Self>),
    Failed(Failure),
    /// Ends for now, with a question to the person at the other end.
    Asks(Box<InputRequiredResult>),
}

impl Stop {
    /// What the caller sees of it.
    fn seen(self) -> Self {
        match self {
            Self::Hidden(like) => *like,
            stop => stop,
        }
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Surface {
    /// Calls the tool `name`.
    pub(super) async fn call_tool(
        self: Arc<Self>,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
        reply: Reply,
        structured: Structured,
    ) -> Result<CallToolResponse, ErrorData> {
        let started = Instant::now();
        let result = self.tool_steps(name, arguments, caller, reply).await;
        let label = self.tool(name).map_or(UNKNOWN, |(_, tool)| &tool.card.name);
        self.audit(label, &result, |answer| answer.facts, started);
        let mut wire = match result.map_err(Stop::seen) {
            Ok(answer) => {
                let structured_content = structured.content(&answer.text);
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = structured_content;
                result
            }
            Err(Stop::Failed(failure)) => {
                let text = ContentBlock::text(self.say(&failure)?.to_string());
                CallToolResult::error(vec![text])
            }
            Err(Stop::Asks(question)) => return Ok((*question).into()),
            Err(Stop::Refused(refusal)) => return Err(refusal.into()),
            Err(Stop::Hidden(_)) => return Err(Refusal::Internal.into()),
        };
        wire.meta = self.result_meta.clone().map(MetaObject);
        Ok(wire.into())
    }

    async fn tool_steps(
        self: &Arc<Self>,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
        reply: Reply,
    ) -> Result<Answer, Stop> {
        let (index, tool) = self.tool(name).ok_or_else(|| self.unknown_tool())?;
        self.exists(&tool.card.name, || self.unknown_tool())?;
        self.authorise(&tool.card.name)?;
        let asking = self.asking(tool, &arguments, &caller, reply)?;
        let surface = Arc::clone(self);
        let effort = (tool.pace, tool.card.access);
        self.within_limits(effort, caller, asking, move |context| {
            let tool = &surface.tools[index];
            check_arguments(&tool.card.input, &arguments)?;
            #[cfg(debug_assertions)]
            super::fault::strike(&tool.card.name);
            context.surface.get_or_init(|| Arc::clone(&surface));
            (tool.handler)(arguments, context)
        })
        .await
    }

    /// What a tool that does not exist answers.
    fn unknown_tool(&self) -> Stop {
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
        reply: Reply,
    ) -> Result<Asking, Refusal> {
        if tool.pace == Pace::Quick && reply.state.is_none() {
            return Ok(Asking::Never);
        }
        let is_answer = reply.state.is_some();
        let can_show = caller.can_show_forms();
        if caller.is_stateless() && (can_show || is_answer) {
            let rounds = Rounds::new(&self.seal, &tool.card.name, arguments, reply)?;
            return Ok(rounds.map_or(Asking::Never, |rounds| Asking::InRounds(Box::new(rounds))));
        }
        match &caller.connection {
            Some(connection) if can_show => Ok(Asking::WhileWaiting(connection.ended())),
            _ => Ok(Asking::Never),
        }
    }

    /// Lists the resources of the page that starts at `start`.
    pub(super) async fn list_resources(
        self: Arc<Self>,
        start: usize,
        caller: Caller,
    ) -> Result<Page<Resource>, ErrorData> {
        let started = Instant::now();
        let surface = Arc::clone(&self);
        let listed = self.within_limits(SLOW_READ, caller, Asking::Never, move |_| {
            Ok(Page::of(surface.listed_resources(), start))
        });
        let result = listed.await;
        self.audit("resources/list", &result, |_| Facts::default(), started);
        result.map_err(|stop| self.protocol_error(stop))
    }

    /// Reads the resource at `uri`.
    pub(super) async fn read_resource(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceText, ErrorData> {
        let started = Instant::now();
        let result = self.resource_steps(uri, caller).await;
        self.audit("resources/read", &result, |_| Facts::default(), started);
        result.map_err(|stop| self.protocol_error(stop))
    }

    /// Whether a client may watch the resource at `uri`, with the same answer as reading it where it may not.
    pub(super) async fn watch_resource(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<(), ErrorData> {
        let started = Instant::now();
        let result = self.resource_steps(uri, caller).await;
        self.audit(
            "resources/subscribe",
            &result,
            |_| Facts::default(),
            started,
        );
        match result {
            Ok(_) => Ok(()),
            Err(stop) => Err(self.protocol_error(stop)),
        }
    }

    /// Whether there may be notices about the resource at `uri`.
    pub(super) fn tells_of(&self, uri: &str) -> bool {
        self.exists(uri, || Refusal::UnknownResource).is_ok() && self.authorise(uri).is_ok()
    }

    /// Runs a subscription, which has no place among the calls but one of its own.
    pub(super) async fn listen(
        &self,
        subscription: impl Future<Output = ()>,
    ) -> Result<(), ErrorData> {
        let started = Instant::now();
        let result = match self.listeners.try_acquire() {
            Ok(_place) => {
                subscription.await;
                Ok(())
            }
            Err(_) => Err(Stop::from(Refusal::Busy)),
        };
        self.audit(
            "subscriptions/listen",
            &result,
            |()| Facts::default(),
            started,
        );
        result.map_err(|stop| self.protocol_error(stop))
    }

    async fn resource_steps(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceText, Stop> {
        self.exists(&uri, || Refusal::UnknownResource)?;
        let surface = Arc::clone(self);
        let name = uri.clone();
        let read = self.within_limits(SLOW_READ, caller, Asking::Never, move |_| {
            match &surface.resources {
                Some(resources) => (resources.read)(&uri),
                None => Ok(None),
            }
        });
        // Only a read tells whether there is such a resource, and that must come before who may have it.
        let text = read.await?.ok_or(Refusal::UnknownResource)?;
        self.authorise(&name)?;
        Ok(text)
    }

    /// Fills the prompt `name`.
    pub(super) async fn get_prompt(
        self: Arc<Self>,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
    ) -> Result<String, ErrorData> {
        let started = Instant::now();
        let known = self.prompts.iter().position(|prompt| prompt.name == name);
        let label = known.map_or(UNKNOWN, |index| self.prompts[index].name);
        let result = self.prompt_steps(known, arguments, caller).await;
        self.audit(label, &result, |_| Facts::default(), started);
        result.map_err(|stop| self.protocol_error(stop))
    }

    async fn prompt_steps(
        self: &Arc<Self>,
        index: Option<usize>,
        arguments: JsonObject,
        caller: Caller,
    ) -> Result<String, Stop> {
        let index = index.ok_or(Refusal::UnknownPrompt)?;
        self.exists(self.prompts[index].name, || Refusal::UnknownPrompt)?;
        self.authorise(self.prompts[index].name)?;
        self.prompts[index].check_arguments(&arguments)?;
        let surface = Arc::clone(self);
        self.within_limits(SLOW_READ, caller, Asking::Never, move |context| {
            (surface.prompts[index].render)(&arguments, context)
        })
        .await
    }

    /// Completes an argument of a prompt or a variable of a resource template: everything that fits.
    pub(super) async fn complete(
        self: Arc<Self>,
        request: CompletionRequest,
        caller: Caller,
    ) -> Result<Vec<String>, ErrorData> {
        let started = Instant::now();
        let result = self.completion_steps(request, caller).await;
        self.audit(
            "completion/complete",
            &result,
            |_| Facts::default(),
            started,
        );
        result.map_err(|stop| self.protocol_error(stop))
    }

    async fn completion_steps(
        self: &Arc<Self>,
        request: CompletionRequest,
        caller: Caller,
    ) -> Result<Vec<String>, Stop> {
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
        self.exists(name, || unknown)?;
        self.authorise(name)?;
        let surface = Arc::clone(self);
        self.within_limits(SLOW_READ, caller, Asking::Never, move |_| {
            let complete = surface.complete.as_ref();
            Ok(complete.map_or_else(Vec::new, |complete| complete(&request)))
        })
        .await
    }

    /// Visibility, before anything else is looked at: a hidden thing answers like one that does not exist, whoever asks.
    fn exists<U: Into<Stop>>(&self, name: &str, unknown: impl FnOnce() -> U) -> Result<(), Stop> {
        let (name, family) = self.policy_names(name);
        if self.policy.visibility.exists(self.world, name, family) {
            Ok(())
        } else {
            Err(Stop::Hidden(Box::new(unknown().into())))
        }
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
    pub(super) fn offers(&self, name: &str) -> bool {
        self.tool(name).is_some()
            && self.exists(name, || self.unknown_tool()).is_ok()
            && self.authorise(name).is_ok()
    }

    /// Runs `work`, which may block, when there is room, for as long as is allowed and somebody waits. A panic
    /// in it becomes an internal error.
    async fn within_limits<T: Send + 'static>(
        &self,
        (pace, access): (Pace, Access),
        caller: Caller,
        asking: Asking,
        work: impl FnOnce(&CallContext) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Stop> {
        // Cancelled when this call ends early for whatever reason, so that the handler can stop as well.
        let cancelled = caller.cancelled();
        let _stop = cancelled.clone().drop_guard();
        let (context, mut desk) = caller.into_parts(pace, asking);
        let steps = async {
            let slot = self.slot().await?;
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
            (Ok(_) | Err(Stop::Failed(_)), Some(question)) => Err(Stop::Asks(Box::new(question))),
            (result, _) => result,
        }
    }

    /// Whether the call that asks is the only one that runs.
    fn is_alone(&self) -> bool {
        self.slots.available_permits() + 1 == self.limits.max_in_flight
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let slots = Arc::clone(&self.slots);
        if let Ok(permit) = Arc::clone(&slots).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = Place::take(&self.waiting, self.limits.max_waiting).ok_or(Refusal::Busy)?;
        slots.acquire_owned().await.map_err(|_| Refusal::Busy)
    }

    /// A failure in the world's words: the JSON of a result, or a JSON-RPC error.
    fn say(&self, failure: &Failure) -> Result<Value, ErrorData> {
        let said = catch_unwind(AssertUnwindSafe(|| (self.envelope)(failure)));
        said.map_or_else(|_| Err(Refusal::Internal.into()), Said::into_result)
    }

    /// Resources and prompts have no result that could carry an error object, so a failure is a protocol error there.
    fn protocol_error(&self, stop: Stop) -> ErrorData {
        let failure = match stop.seen() {
            Stop::Refused(refusal) => return refusal.into(),
            Stop::Failed(failure) => failure,
            // Only tools ask, and what is seen is not hidden.
            Stop::Asks(_) | Stop::Hidden(_) => return Refusal::Internal.into(),
        };
        match (self.say(&failure), failure.kind) {
            (Err(error), _) => error,
            (Ok(_), FailureKind::InvalidArguments) => ErrorData {
                message: failure.message,
                ..invalid_params()
            },
            (Ok(_), FailureKind::Internal) => Refusal::Internal.into(),
            (Ok(_), _) => ErrorData::new(ErrorCode(-32000), failure.message, None),
        }
    }

    /// One line per call, with nothing of the note, the arguments or an unknown name in it.
    fn audit<T>(
        &self,
        label: &str,
        result: &Result<T, Stop>,
        facts: impl Fn(&T) -> Facts,
        started: Instant,
    ) {
        let (outcome, facts) = match result {
            Ok(value) => ("ok", facts(value)),
            Err(Stop::Failed(failure)) => (failure.name(), Facts::default()),
            Err(Stop::Asks(_)) => ("input_required", Facts::default()),
            Err(Stop::Hidden(_)) => ("hidden", Facts::default()),
            Err(Stop::Refused(refusal)) => (refusal.name(), Facts::default()),
        };
        tracing::info!(
            target: "sectile::call",
            world = self.world,
            tool = label,
            outcome,
            elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            sections = facts.sections,
            truncated = facts.truncated,
        );
    }
}

const UNKNOWN: &str = "unknown";

/// How everything but tools works.
const SLOW_READ: (Pace, Access) = (Pace::Slow, Access::Read);

/// A place in the queue of waiting calls, given back when dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, limit: usize) -> Option<Self> {
        let place = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < limit).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
