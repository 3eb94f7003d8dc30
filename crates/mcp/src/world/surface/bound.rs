//! The parts of a world bound to its state, whose type is erased.

use std::{borrow::Cow, sync::Arc};

use tokio::sync::broadcast;

use super::{Describer, ReadyCheck, ToolCard, ToolOffer};
use crate::{
    Access, Answer, AnswerFuture, CacheHint, CallContext, Completer, CompletionRequest,
    ContentPart, Failure, FailureKind, Handler, JsonObject, Pace, Prompt, ResourceContent,
    ResourceListing, ResourceNotice, ResourceTemplate, Resources, SkillFiles, SkillPurpose, Skills,
    Tool, world::state::WorldState,
};

pub(super) type BlockingHandler =
    Arc<dyn Fn(JsonObject, &CallContext) -> Result<Answer, Failure> + Send + Sync>;
pub(super) type AsyncHandler = Box<dyn Fn(JsonObject, CallContext) -> AnswerFuture + Send + Sync>;
pub(super) type Lister =
    Box<dyn Fn(&CallContext) -> Result<ResourceListing, Failure> + Send + Sync>;
pub(super) type ResourceReader =
    Box<dyn Fn(&str, &CallContext) -> Result<Option<ResourceContent>, Failure> + Send + Sync>;
pub(super) type BoundSkills = Box<
    dyn Fn(&CallContext, SkillPurpose, &mut dyn FnMut(&dyn SkillFiles)) -> Result<(), Failure>
        + Send
        + Sync,
>;
pub(super) type BoundCompleter =
    Box<dyn Fn(&CompletionRequest, &CallContext) -> Vec<String> + Send + Sync>;
pub(super) type BoundDescriber = Box<dyn Fn(&CallContext) -> String + Send + Sync>;
pub(super) type BoundReadyCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;
pub(super) type ResourceWatcher =
    Box<dyn Fn() -> broadcast::Receiver<ResourceNotice> + Send + Sync>;
pub(super) type Renderer =
    Box<dyn Fn(&JsonObject, &CallContext) -> Result<Vec<ContentPart>, Failure> + Send + Sync>;

pub(crate) struct BoundTool {
    pub(crate) card: ToolCard,
    pub(crate) pace: Pace,
    pub(crate) handler: BoundHandler,
}

impl BoundTool {
    /// Returns whether the caller never gets anything but the answer.
    pub(crate) fn is_silent(&self) -> bool {
        self.pace == Pace::Quick || matches!(self.handler, BoundHandler::Waiting(_))
    }
}

pub(crate) enum BoundHandler {
    Blocking(BlockingHandler),
    Waiting(AsyncHandler),
}

pub(crate) struct BoundResources {
    pub(crate) list: Lister,
    pub(crate) read: ResourceReader,
    pub(crate) templates: Cow<'static, [ResourceTemplate]>,
    pub(crate) cache: CacheHint,
    pub(crate) changes: Option<ResourceWatcher>,
}

pub(crate) struct BoundPrompt {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [crate::PromptArgument],
    pub(crate) render: Renderer,
}

impl BoundPrompt {
    /// Rejects arguments that are missing, unknown or not strings.
    pub(crate) fn check_arguments(&self, arguments: &JsonObject) -> Result<(), Failure> {
        let invalid = |what: String| Err(Failure::new(FailureKind::InvalidArguments, what));
        let known = |key: &String| self.arguments.iter().any(|argument| argument.name == key);
        if !arguments.keys().all(known) {
            let names: Vec<&str> = self
                .arguments
                .iter()
                .map(|argument| argument.name)
                .collect();
            return invalid(format!(
                "Invalid arguments: this prompt takes only: {}.",
                names.join(", ")
            ));
        }
        for argument in self.arguments {
            match arguments.get(argument.name) {
                None if argument.required => {
                    return invalid(format!("Invalid arguments: {} is required.", argument.name));
                }
                Some(value) if !value.is_string() => {
                    return invalid(format!(
                        "Invalid arguments: {} must be a JSON string.",
                        argument.name
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

pub(super) fn bind_tool<S: Send + Sync + 'static>(
    tool: Tool<S>,
    offer: &ToolOffer<'_>,
    state: &WorldState<S>,
) -> BoundTool {
    let state = state.clone();
    let (card, pace, handler) = tool.into_parts(offer);
    let access = card.access;
    let handler = match (handler, state) {
        (Handler::Blocking(handle), WorldState::Kept(state)) => {
            BoundHandler::Blocking(Arc::new(move |arguments, context| {
                handle(&state, arguments, context)
            }))
        }
        (Handler::Blocking(handle), state) => {
            BoundHandler::Blocking(Arc::new(move |arguments, context| {
                state.with(context, access, |state| {
                    handle(state, arguments.clone(), context)
                })?
            }))
        }
        (Handler::Waiting(handle), state) => {
            BoundHandler::Waiting(Box::new(move |arguments, context| match state.kept() {
                Ok(state) => handle(Arc::clone(state), arguments, context),
                Err(failure) => Box::pin(std::future::ready(Err(failure))),
            }))
        }
    };
    BoundTool {
        card,
        pace,
        handler,
    }
}

pub(super) fn bind_resources<S: Send + Sync + 'static>(
    resources: &Resources<S>,
    state: &WorldState<S>,
) -> BoundResources {
    let (list, read) = (resources.list, resources.read);
    let (for_list, for_read) = (state.clone(), state.clone());
    BoundResources {
        list: Box::new(move |context| {
            for_list.with(context, Access::Read, |state| list(state, context))?
        }),
        read: Box::new(move |uri, context| {
            for_read.with(context, Access::Read, |state| read(state, uri))?
        }),
        templates: resources.templates.clone(),
        cache: resources.cache,
        changes: resources.changes.and_then(|changes| {
            let state = Arc::clone(state.kept().ok()?);
            let bound: ResourceWatcher = Box::new(move || changes(&state));
            Some(bound)
        }),
    }
}

pub(super) fn bind_prompt<S: Send + Sync + 'static>(
    prompt: &Prompt<S>,
    state: &WorldState<S>,
) -> BoundPrompt {
    let (state, render) = (state.clone(), prompt.render);
    BoundPrompt {
        name: prompt.name,
        title: prompt.title,
        description: prompt.description,
        arguments: prompt.arguments,
        render: Box::new(move |arguments, context| {
            state.with(context, Access::Read, |state| {
                render(state, arguments, context)
            })?
        }),
    }
}

pub(super) fn bind_ready<S: Send + Sync + 'static>(
    ready: Option<ReadyCheck<S>>,
    state: WorldState<S>,
) -> Option<BoundReadyCheck> {
    match state {
        WorldState::Kept(state) => {
            let ready = ready?;
            Some(Box::new(move || ready(&state)))
        }
        WorldState::PerCall(source) => Some(Box::new(move || source.ready())),
    }
}

pub(super) fn bind_describer<S: Send + Sync + 'static>(
    describe: Describer<S>,
    state: &WorldState<S>,
) -> BoundDescriber {
    let state = state.clone();
    // Where there is no state, calls report why.
    Box::new(move |context| {
        let described = state.with(context, Access::Read, |state| describe(state, context));
        described.unwrap_or_default()
    })
}

pub(super) fn bind_skills<S: Send + Sync + 'static>(
    skills: &Skills<S>,
    state: &WorldState<S>,
) -> BoundSkills {
    let (state, open) = (state.clone(), skills.open);
    Box::new(move |context, purpose, work| {
        // Files are read while the state is there.
        state.with(context, Access::Read, |state| {
            work(&*open(state, context, purpose)?);
            Ok(())
        })?
    })
}

pub(super) fn bind_completer<S: Send + Sync + 'static>(
    complete: Completer<S>,
    state: &WorldState<S>,
) -> BoundCompleter {
    let state = state.clone();
    // As with descriptions, calls report why there is no state.
    Box::new(move |request, context| {
        let completed = state.with(context, Access::Read, |state| {
            complete(state, request, context)
        });
        completed.unwrap_or_default()
    })
}
