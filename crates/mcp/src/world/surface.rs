//! A world made ready to serve: its table bound to its state, under a policy and limits.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, LazyLock},
    time::Duration,
};

use tokio::sync::broadcast;

use crate::{
    Access, Answer, AnswerFuture, CacheHint, CallContext, Completer, CompletionRequest, Envelope,
    ErrorList, Failure, FailureKind, Handler, JsonObject, NoObserver, Observer, Pace, Policy,
    Prompt, RefusedCall, Resource, ResourceNotice, ResourceTemplate, Resources, Schema, Tool,
    access::AccessTarget,
    call::{
        policy::CallerRole,
        question::RequestStateSeal,
        shares::{CallerSlotBounds, CallerSlots},
    },
    world::{naming::Naming, resource::ResourceText},
};

/// A world as a value: what it offers, whatever its state.
pub struct WorldSpec<S: 'static> {
    /// Name in configuration, URLs and policies.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What clients are told about using it; under 2 KB.
    pub instructions: &'static str,
    /// Its tools, in listing order.
    pub tools: Vec<Tool<S>>,
    /// Tools that its texts speak of, but that are not served here. Nobody hears of them.
    pub absent: Vec<Cow<'static, str>>,
    /// Its resources; without any, the resource methods do not exist.
    pub resources: Option<Resources<S>>,
    /// Templates of URIs that policies may name besides those of the resources: what its tools tell of.
    pub families: Vec<String>,
    /// Its prompts; without any, the prompt methods do not exist.
    pub prompts: Vec<Prompt<S>>,
    /// How it completes arguments of prompts and variables of resource templates, if it does.
    pub complete: Option<Completer<S>>,
    /// Whether clients of the handshake eras get sessions over HTTP. A world needs them for connections, subscriptions
    /// and questions there; one that keeps nothing between calls is served without.
    pub sessions: bool,
    /// Whether it acts elsewhere in the caller's name, which takes a token: over HTTP nobody comes in with a key.
    pub tokens_only: bool,
    /// What a tool that does not exist answers.
    pub unknown_tool: UnknownTool,
    /// `_meta` of every tool in a listing; empty: none.
    pub tool_meta: JsonObject,
    /// `_meta` of every result of a tool, failed or not; empty: none.
    pub result_meta: JsonObject,
    /// What state it starts in, in a sentence that clients and the log are told; empty: nothing worth to be told.
    pub starts: &'static str,
    /// Its own error object for a call that the frame refuses, which goes into the `data` of the protocol error. Without it
    /// there is only what every world says.
    pub refused: Option<RefusalObject>,
    /// Whether what it reads from can be used now, or in a sentence why not, for the log. It may wait, but not for long.
    /// Without it the world is always ready.
    pub ready: Option<ReadyCheck<S>>,
    /// How it says that a call failed.
    pub envelope: Envelope,
    /// What it can answer instead of a result.
    pub errors: fn() -> ErrorList,
}

/// What a tool that does not exist, or must look as if it did not, answers.
#[derive(Clone, Copy, Debug)]
pub enum UnknownTool {
    /// A JSON-RPC error with this code.
    Code(i32),
    /// A failure, which goes through the world's envelope like any other.
    Answer(fn() -> Failure),
}

/// How a world says, in the form of its own errors, that the frame refused a call.
pub type RefusalObject = fn(&RefusedCall) -> JsonObject;

/// A world's contract as data, for listings and documentation.
#[derive(Debug)]
pub struct WorldCard {
    /// Name in configuration, URLs and policies.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What clients are told about using it.
    pub instructions: &'static str,
    /// Its tools, in listing order.
    pub tools: Vec<ToolCard>,
    /// The names of its prompts.
    pub prompts: Vec<&'static str>,
    /// The templates of its resources.
    pub templates: Vec<String>,
    /// What a tool that does not exist answers.
    pub unknown_tool: UnknownTool,
    /// What it can answer instead of a result.
    pub errors: fn() -> ErrorList,
}

/// A tool's contract as data. Schemas are made when first asked for, so that starting does not wait for them.
#[derive(Debug)]
pub struct ToolCard {
    /// Name on the wire.
    pub name: String,
    /// Name for people.
    pub title: &'static str,
    /// What it does.
    pub description: &'static str,
    /// What it may change.
    pub access: Access,
    /// Whether a second equal call changes nothing more.
    pub idempotent: bool,
    /// Whether it reaches beyond the world's own state.
    pub open_world: bool,
    /// What else the world says of it; empty: nothing.
    pub meta: JsonObject,
    /// Schema of the arguments.
    pub input: LazySchema,
    /// Schema of the answer.
    pub output: LazySchema,
}

/// A schema that is made when it is first read.
pub type LazySchema = LazyLock<JsonObject, Schema>;

/// Bounds on the work of one surface.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceLimits {
    /// Handlers that run at the same time.
    pub max_in_flight: usize,
    /// Those of one caller who signed in.
    pub max_in_flight_per_caller: usize,
    /// Calls that may wait for a free place.
    pub max_waiting: usize,
    /// Those of one caller who signed in.
    pub max_waiting_per_caller: usize,
    /// How long a call may take, waiting included.
    pub call_timeout: Duration,
    /// Whether a quick call that is alone may run on the thread that moves messages. Handing it to another and back
    /// costs more than the call; but whatever it waits for, the transport waits for too.
    pub inline_when_alone: bool,
}

impl SurfaceLimits {
    /// How running and waiting calls are shared.
    fn shares(&self) -> CallerSlotBounds {
        CallerSlotBounds {
            max: self.max_in_flight,
            per_caller: self.max_in_flight_per_caller,
            waiting: self.max_waiting,
            waiting_per_caller: self.max_waiting_per_caller,
        }
    }
}

impl<S> Tool<S> {
    /// Parts the tool into its contract as data and what carries it out.
    fn into_parts(self, meta: &JsonObject) -> (ToolCard, Pace, Handler<S>) {
        let card = ToolCard {
            name: self.name.into_owned(),
            title: self.title,
            description: self.description,
            access: self.access,
            idempotent: self.idempotent,
            open_world: self.open_world,
            meta: meta.clone(),
            input: LazyLock::new(self.input),
            output: LazyLock::new(self.output),
        };
        (card, self.pace, self.handler)
    }
}

impl<S> WorldSpec<S> {
    /// A world that offers nothing yet: without tools, resources and prompts, sessions and checks.
    #[must_use]
    pub fn new(
        name: &'static str,
        instructions: &'static str,
        envelope: Envelope,
        errors: fn() -> ErrorList,
    ) -> Self {
        Self {
            name,
            title: name,
            instructions,
            tools: Vec::new(),
            absent: Vec::new(),
            resources: None,
            families: Vec::new(),
            prompts: Vec::new(),
            complete: None,
            sessions: false,
            tokens_only: false,
            unknown_tool: UnknownTool::Code(-32602),
            tool_meta: JsonObject::new(),
            result_meta: JsonObject::new(),
            starts: "",
            refused: None,
            ready: None,
            envelope,
            errors,
        }
    }

    /// The same world without the tools that change anything.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        let changing = |tool: &mut Tool<S>| tool.access != Access::Read;
        let removed = self.tools.extract_if(.., changing);
        self.absent.extend(removed.map(|tool| tool.name));
        self
    }

    /// The contract of this world as data.
    #[must_use]
    pub fn card(self) -> WorldCard {
        let templates = self.all_families();
        let parts = self.tools.into_iter();
        WorldCard {
            name: self.name,
            title: self.title,
            instructions: self.instructions,
            tools: parts
                .map(|tool| tool.into_parts(&self.tool_meta).0)
                .collect(),
            prompts: self.prompts.iter().map(|prompt| prompt.name).collect(),
            templates,
            unknown_tool: self.unknown_tool,
            errors: self.errors,
        }
    }

    /// The templates that policies may name.
    fn all_families(&self) -> Vec<String> {
        let templates = self
            .resources
            .iter()
            .flat_map(|found| found.templates.iter());
        let mut all: Vec<String> = templates
            .map(|template| template.uri_template.clone().into_owned())
            .collect();
        for family in &self.families {
            if !all.contains(family) {
                all.push(family.clone());
            }
        }
        all
    }
}

/// A world that can be served. It no longer shows the type of its state.
pub struct Surface {
    pub(crate) world: &'static str,
    pub(crate) title: &'static str,
    pub(crate) instructions: &'static str,
    pub(crate) tools: Vec<BoundTool>,
    tool_index: HashMap<String, usize>,
    absent: Vec<Cow<'static, str>>,
    pub(crate) resources: Option<BoundResources>,
    /// Templates of URIs, as policies name them.
    families: Vec<String>,
    pub(crate) prompts: Vec<BoundPrompt>,
    pub(crate) complete: Option<BoundCompleter>,
    pub(crate) sessions: bool,
    pub(crate) tokens_only: bool,
    pub(crate) unknown_tool: UnknownTool,
    pub(crate) result_meta: Option<JsonObject>,
    pub(crate) starts: &'static str,
    pub(crate) refused: Option<RefusalObject>,
    pub(crate) ready: Option<BoundReadyCheck>,
    pub(crate) envelope: Envelope,
    pub(crate) policy: Policy,
    pub(crate) limits: SurfaceLimits,
    /// Places for running handlers.
    pub(crate) slots: Arc<CallerSlots>,
    /// Places for those who listen in the stateless era.
    pub(crate) listeners: Arc<CallerSlots>,
    /// Seals what is asked in rounds.
    pub(crate) seal: RequestStateSeal,
    pub(crate) observer: Arc<dyn Observer>,
    has_callers: bool,
    pub(crate) is_beside_others: bool,
}

/// How many may listen at the same time, in all and for one caller who signed in.
const LISTENERS: CallerSlotBounds = CallerSlotBounds {
    max: 64,
    per_caller: 8,
    waiting: 0,
    waiting_per_caller: 0,
};

type BlockingHandler =
    Arc<dyn Fn(JsonObject, &CallContext) -> Result<Answer, Failure> + Send + Sync>;
type AsyncHandler = Box<dyn Fn(JsonObject, CallContext) -> AnswerFuture + Send + Sync>;
type Lister = Box<dyn Fn() -> Vec<Resource> + Send + Sync>;
type ResourceReader = Box<dyn Fn(&str) -> Result<Option<ResourceText>, Failure> + Send + Sync>;
type BoundCompleter = Box<dyn Fn(&CompletionRequest) -> Vec<String> + Send + Sync>;
type ReadyCheck<S> = fn(&S) -> Result<(), String>;
type BoundReadyCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;
type ResourceWatcher = Box<dyn Fn() -> broadcast::Receiver<ResourceNotice> + Send + Sync>;
type Renderer = Box<dyn Fn(&JsonObject, &CallContext) -> Result<String, Failure> + Send + Sync>;

pub(crate) struct BoundTool {
    pub(crate) card: ToolCard,
    pub(crate) pace: Pace,
    pub(crate) handler: BoundHandler,
}

impl BoundTool {
    /// Whether nothing but its answer is ever sent to the caller.
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
    /// Refuses arguments that are missing, unknown or not text.
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

impl Surface {
    /// Binds the table of `spec` to `state`.
    #[must_use]
    pub fn new<S: Send + Sync + 'static>(
        spec: WorldSpec<S>,
        state: S,
        policy: Policy,
        limits: SurfaceLimits,
    ) -> Self {
        let state = Arc::new(state);
        let families = spec.all_families();
        let tools: Vec<BoundTool> = spec
            .tools
            .into_iter()
            .map(|tool| bind_tool(tool, &spec.tool_meta, &state))
            .collect();
        let tool_index = tools
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.card.name.clone(), index))
            .collect();
        Self {
            world: spec.name,
            title: spec.title,
            instructions: spec.instructions,
            families,
            tools,
            tool_index,
            absent: spec.absent,
            resources: spec
                .resources
                .map(|resources| bind_resources(&resources, &state)),
            prompts: spec
                .prompts
                .into_iter()
                .map(|prompt| bind_prompt(&prompt, &state))
                .collect(),
            complete: spec.complete.map(|complete| {
                let state = Arc::clone(&state);
                let bound: BoundCompleter = Box::new(move |request| complete(&state, request));
                bound
            }),
            sessions: spec.sessions,
            tokens_only: spec.tokens_only,
            unknown_tool: spec.unknown_tool,
            result_meta: Some(spec.result_meta).filter(|meta| !meta.is_empty()),
            starts: spec.starts,
            refused: spec.refused,
            ready: spec.ready.map(|ready| {
                let bound: BoundReadyCheck = Box::new(move || ready(&state));
                bound
            }),
            envelope: spec.envelope,
            policy,
            limits,
            slots: Arc::new(CallerSlots::new(limits.shares())),
            listeners: Arc::new(CallerSlots::new(LISTENERS)),
            seal: RequestStateSeal::default(),
            observer: Arc::new(NoObserver),
            has_callers: false,
            is_beside_others: false,
        }
    }

    /// Name of the world.
    #[must_use]
    pub fn world(&self) -> &'static str {
        self.world
    }

    /// What state the world starts in, where that is worth to be told.
    #[must_use]
    pub fn starts(&self) -> Option<&'static str> {
        Some(self.starts).filter(|starts| !starts.is_empty())
    }

    /// The tool called `name`, hidden or not, with its place in the table.
    pub(crate) fn tool(&self, name: &str) -> Option<(usize, &BoundTool)> {
        let index = *self.tool_index.get(name)?;
        Some((index, &self.tools[index]))
    }

    /// The tools that a listing shows, in table order.
    pub(crate) fn listed_tools(&self, standing: CallerRole) -> impl Iterator<Item = &ToolCard> {
        let cards = self.tools.iter().map(|tool| &tool.card);
        cards.filter(move |card| self.lists(&card.name, card.access, standing))
    }

    /// How texts that name tools are said to somebody with this standing.
    pub(crate) fn naming(&self, standing: CallerRole) -> Naming<'_> {
        if self.absent.is_empty() && !self.policy.hides_from_listings(standing) {
            return Naming::default();
        }
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for BoundTool { card, .. } in &self.tools {
            match self.lists(&card.name, card.access, standing) {
                true => seen.push(card.name.as_str()),
                false => unseen.push(card.name.as_str()),
            }
        }
        unseen.extend(self.absent.iter().map(|name| &**name));
        Naming::new(seen, unseen)
    }

    /// The world's notices of changes, if it has any.
    pub(crate) fn changes(&self) -> Option<&ResourceWatcher> {
        self.resources.as_ref()?.changes.as_ref()
    }

    /// The resources that a listing shows, in order.
    pub(crate) fn listed_resources(&self, standing: CallerRole) -> Vec<Resource> {
        let all = self.resources.as_ref().map(|resources| (resources.list)());
        let all = all.into_iter().flatten();
        all.filter(|resource| self.lists(&resource.uri, Access::Read, standing))
            .collect()
    }

    /// A number that changes with what a listing of resources shows.
    pub(crate) fn digest_of_listing(&self, standing: CallerRole) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.listed_resources(standing).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether a listing for somebody with this standing shows `name`.
    pub(crate) fn lists(&self, name: &str, access: Access, standing: CallerRole) -> bool {
        self.policy.lists(standing, self.thing(name, access))
    }

    /// `name` as policies see it.
    pub(crate) fn thing<'n>(&'n self, name: &'n str, access: Access) -> AccessTarget<'n> {
        let (name, family) = self.policy_names(name);
        AccessTarget {
            world: self.world,
            name,
            family,
            changes: access != Access::Read,
        }
    }

    /// Tells `observer` of every call.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// It stands beside other worlds: where one of them would be served alone, it still is, with the addresses of one that is
    /// alone.
    #[must_use]
    pub fn beside_others(mut self) -> Self {
        self.is_beside_others = true;
        self
    }

    /// The world says it only to those who sign in: what it lists may differ from one caller to the next.
    #[must_use]
    pub fn for_callers(mut self) -> Self {
        self.has_callers = true;
        self
    }

    /// How long, and for whom, what is in the table may be kept.
    pub(crate) fn table_cache(&self) -> CacheHint {
        CacheHint {
            shared: !self.has_callers,
            ..CacheHint::TABLE
        }
    }

    /// What policies call `name`: a URI without its fragment, and the template that it has the form of.
    pub(crate) fn policy_names<'n>(&self, name: &'n str) -> (&'n str, Option<&str>) {
        if !name.contains("://") {
            return (name, None);
        }
        let template =
            |template: &&str| *template != name && name.starts_with(fixed_part(template));
        let families = self.families.iter().map(String::as_str);
        let family = families.clone().find(template);
        if families.into_iter().any(|family| family == name) {
            return (name, family);
        }
        let whole = name.split_once('#').map_or(name, |(whole, _)| whole);
        (whole, family)
    }
}

/// What every URI of a template starts with.
#[must_use]
pub fn fixed_part(template: &str) -> &str {
    template.split('{').next().unwrap_or(template)
}

fn bind_tool<S: Send + Sync + 'static>(
    tool: Tool<S>,
    meta: &JsonObject,
    state: &Arc<S>,
) -> BoundTool {
    let state = Arc::clone(state);
    let (card, pace, handler) = tool.into_parts(meta);
    let handler = match handler {
        Handler::Blocking(handle) => BoundHandler::Blocking(Arc::new(move |arguments, context| {
            handle(&state, arguments, context)
        })),
        Handler::Waiting(handle) => BoundHandler::Waiting(Box::new(move |arguments, context| {
            handle(Arc::clone(&state), arguments, context)
        })),
    };
    BoundTool {
        card,
        pace,
        handler,
    }
}

fn bind_resources<S: Send + Sync + 'static>(
    resources: &Resources<S>,
    state: &Arc<S>,
) -> BoundResources {
    let (list, read) = (resources.list, resources.read);
    let (for_list, for_read) = (Arc::clone(state), Arc::clone(state));
    BoundResources {
        list: Box::new(move || list(&for_list)),
        read: Box::new(move |uri| read(&for_read, uri)),
        templates: resources.templates.clone(),
        cache: resources.cache,
        changes: resources.changes.map(|changes| {
            let state = Arc::clone(state);
            let bound: ResourceWatcher = Box::new(move || changes(&state));
            bound
        }),
    }
}

fn bind_prompt<S: Send + Sync + 'static>(prompt: &Prompt<S>, state: &Arc<S>) -> BoundPrompt {
    let (state, render) = (Arc::clone(state), prompt.render);
    BoundPrompt {
        name: prompt.name,
        title: prompt.title,
        description: prompt.description,
        arguments: prompt.arguments,
        render: Box::new(move |arguments, context| render(&state, arguments, context)),
    }
}
