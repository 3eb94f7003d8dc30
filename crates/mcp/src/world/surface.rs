//! A world made ready to serve: its table bound to its state, with a policy and limits.

mod bound;

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, LazyLock},
    time::Duration,
};

use self::bound::{
    BoundCompleter, BoundDescriber, BoundReadyCheck, BoundResources, BoundSkills, ResourceWatcher,
    bind_completer, bind_describer, bind_prompt, bind_ready, bind_resources, bind_skills,
    bind_tool,
};
pub(crate) use self::bound::{BoundHandler, BoundPrompt, BoundTool};
use crate::{
    Access, ArgumentAlias, CacheHint, CallContext, CallState, Completer, Console, Envelope,
    ErrorList, ErrorRow, Failure, Handler, JsonObject, MirroredArgument, NoObserver, Observer,
    Pace, Policy, Prompt, RefusedCall, Resource, ResourceListing, ResourceTemplate, Resources,
    Schema, Skills, Tool,
    access::{AccessTarget, Identity},
    call::{
        caller_slots::{CallerSlotBounds, CallerSlots},
        elicitation::RequestStateSeal,
        instructions::DESCRIBERS,
        policy::CallerRole,
    },
    observe::CallLog,
    world::{
        console::BoundConsole, naming::Naming, schema::without_nulls,
        skill::TEMPLATE as SKILL_TEMPLATE, state::WorldState,
    },
};

/// A world as a value: everything it offers, independent of its state.
pub struct WorldSpec<S: 'static> {
    /// Name in configuration, URLs and policies.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Instructions for clients; under 2 KB.
    pub instructions: &'static str,
    /// Describes what the world holds, for the caller that connects. The lines are added to the instructions, up to
    /// 2,000 bytes in all. It may block; after a second the client gets the instructions alone. The frame does not
    /// reword the description, so text in it that names tools passes [`CallContext::for_caller`], and what is not for the
    /// caller is left out.
    pub describe: Option<Describer<S>>,
    /// Its tools, in listing order.
    pub tools: Vec<Tool<S>>,
    /// Tools that its text mentions but that are not served here. Callers never see their names.
    pub absent: Vec<Cow<'static, str>>,
    /// Its resources; without any, the resource methods do not exist.
    pub resources: Option<Resources<S>>,
    /// Its skills; without any, the methods for skills do not exist.
    pub skills: Option<Skills<S>>,
    /// URI templates that policies may name in addition to those of the resources: those that its tools mention.
    pub families: Vec<String>,
    /// Its prompts; without any, the prompt methods do not exist.
    pub prompts: Vec<Prompt<S>>,
    /// Its pages for people in a browser, served over HTTP if the settings allow it.
    pub console: Option<Console<S>>,
    /// Completes arguments of prompts and variables of resource templates, if the world supports it.
    pub complete: Option<Completer<S>>,
    /// Whether clients of the handshake eras get sessions over HTTP. A world needs them for connections, subscriptions
    /// and questions there; one that keeps nothing between calls is served without them.
    pub sessions: bool,
    /// Whether it acts elsewhere in the caller's name, which takes a token: API keys are not accepted over HTTP.
    pub tokens_only: bool,
    /// Whether its tools keep callers to the roots that they are bound to; see [`CallContext::roots`]. Such callers are
    /// not let into a world that does not.
    pub has_roots: bool,
    /// Whether callers that are bound to the same roots share one caller's part of the running and waiting calls, so that
    /// those of one root cannot take the time of another's.
    pub shares_by_root: bool,
    /// Whether a string of digits is accepted for an integer argument, and `"true"` or `"false"` for a boolean one,
    /// where a string would not be. A null for an argument that is not required then counts as not given, and listings
    /// do not mention that it is accepted.
    pub lenient_scalars: bool,
    /// The error for arguments that do not fit a tool. With it, such failures carry its code and its recovery, name the
    /// argument that is not known and the nearest one that is, and have facts for programs; see [`Detail`](crate::Detail).
    pub argument_errors: Option<&'static ErrorRow>,
    /// The answer to a call of a tool that does not exist.
    pub unknown_tool: UnknownTool,
    /// `_meta` of every tool in a listing; may be empty.
    pub tool_meta: JsonObject,
    /// `_meta` of every result of a tool, failed or not; may be empty.
    pub result_meta: JsonObject,
    /// The state it starts in, as a sentence for clients and the log; empty if there is nothing to say.
    pub starts: &'static str,
    /// Its own error object for a call that the frame refuses, added to the `data` of the protocol error. Without it,
    /// `data` holds only what every world returns.
    pub refused: Option<RefusalObject>,
    /// Checks whether the world's source is usable now; an error is a sentence for the log. It may block, but not for
    /// long. Without it the world is always ready.
    pub ready: Option<ReadyCheck<S>>,
    /// Encodes a failed call.
    pub envelope: Envelope,
    /// The errors that it can return.
    pub errors: fn() -> ErrorList,
}

/// The answer to a call of a tool that does not exist, or must look as if it did not.
#[derive(Clone, Copy, Debug)]
pub enum UnknownTool {
    /// A JSON-RPC error with this code.
    Code(i32),
    /// A failure, which passes through the world's envelope like any other.
    Answer(fn() -> Failure),
}

/// Describes what a world holds, for the caller that connects.
pub type Describer<S> = fn(&S, &CallContext) -> String;

/// Checks whether a world's source is usable now.
type ReadyCheck<S> = fn(&S) -> Result<(), String>;

/// Builds a world's own error object for a call that the frame refused.
pub type RefusalObject = fn(&RefusedCall) -> JsonObject;

/// A world's contract as data, for listings and documentation.
#[derive(Debug)]
pub struct WorldCard {
    /// Name in configuration, URLs and policies.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Instructions for clients.
    pub instructions: &'static str,
    /// Its tools, in listing order.
    pub tools: Vec<ToolCard>,
    /// The names of its prompts.
    pub prompts: Vec<&'static str>,
    /// The templates of its resources.
    pub templates: Vec<String>,
    /// The answer to a call of a tool that does not exist.
    pub unknown_tool: UnknownTool,
    /// The errors that it can return.
    pub errors: fn() -> ErrorList,
}

/// A tool's contract as data. Schemas are generated on first use, so that startup does not wait for them.
#[derive(Debug)]
pub struct ToolCard {
    /// Name on the wire.
    pub name: String,
    /// Display name.
    pub title: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// The kind of change it may make.
    pub access: Access,
    /// Whether repeating the same call changes nothing more.
    pub idempotent: bool,
    /// Whether it reaches beyond the world's own state.
    pub open_world: bool,
    /// Further metadata from the world; may be empty.
    pub meta: JsonObject,
    /// Schema of the arguments.
    pub input: LazySchema,
    /// Schema of the answer; none if the answer is text.
    pub output: Option<LazySchema>,
    /// Other names of arguments that are accepted but not listed.
    pub aliases: Vec<ArgumentAlias>,
    /// Arguments that clients repeat in headers.
    pub mirrored: Vec<MirroredArgument>,
    /// URI of the resource that hosts show to people beside its calls, if there is one.
    pub app: Option<&'static str>,
}

/// A schema that is generated on first use.
pub type LazySchema = LazyLock<JsonObject, Schema>;

/// Limits on the work of one surface.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceLimits {
    /// Number of handlers that run at the same time.
    pub max_in_flight: usize,
    /// The same, for one signed-in caller.
    pub max_in_flight_per_caller: usize,
    /// Number of calls that may wait for a free slot.
    pub max_waiting: usize,
    /// The same, for one signed-in caller.
    pub max_waiting_per_caller: usize,
    /// How long a call may take, including waiting.
    pub call_timeout: Duration,
    /// Whether a quick call that is alone may run on the thread that moves messages. Handing it to another thread and
    /// back costs more than the call; but if it blocks, the transport blocks too.
    pub inline_when_alone: bool,
}

impl SurfaceLimits {
    /// Returns the bounds on running and waiting calls.
    fn shares(&self) -> CallerSlotBounds {
        CallerSlotBounds {
            max: self.max_in_flight,
            per_caller: self.max_in_flight_per_caller,
            waiting: self.max_waiting,
            waiting_per_caller: self.max_waiting_per_caller,
        }
    }
}

/// Settings of a world that apply to all its tools.
struct ToolOffer<'a> {
    meta: &'a JsonObject,
    lenient_scalars: bool,
}

impl<S> Tool<S> {
    /// Splits the tool into its contract as data and its handler.
    fn into_parts(self, offer: &ToolOffer<'_>) -> (ToolCard, Pace, Handler<S>) {
        let input: Schema = match offer.lenient_scalars {
            true => Box::new(move || without_nulls((self.input)())),
            false => self.input,
        };
        let card = ToolCard {
            name: self.name.into_owned(),
            title: self.title,
            description: self.description,
            access: self.access,
            idempotent: self.idempotent,
            open_world: self.open_world,
            meta: offer.meta.clone(),
            input: LazyLock::new(input),
            output: self.output.map(LazyLock::new),
            aliases: self.aliases,
            mirrored: self.mirrored,
            app: self.app,
        };
        (card, self.pace, self.handler)
    }
}

impl<S> WorldSpec<S> {
    /// Makes a world that offers nothing yet: no tools, resources, prompts, sessions or checks.
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
            describe: None,
            tools: Vec::new(),
            absent: Vec::new(),
            resources: None,
            skills: None,
            families: Vec::new(),
            prompts: Vec::new(),
            console: None,
            complete: None,
            sessions: false,
            tokens_only: false,
            has_roots: false,
            shares_by_root: false,
            lenient_scalars: false,
            argument_errors: None,
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

    /// Returns the same world without the tools that change anything.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        let changing = |tool: &mut Tool<S>| tool.access != Access::Read;
        let removed = self.tools.extract_if(.., changing);
        self.absent.extend(removed.map(|tool| tool.name));
        self
    }

    /// Returns the contract of this world as data.
    #[must_use]
    pub fn card(self) -> WorldCard {
        let templates = self.all_families();
        let offer = ToolOffer {
            meta: &self.tool_meta,
            lenient_scalars: self.lenient_scalars,
        };
        let tools = self.tools.into_iter();
        WorldCard {
            name: self.name,
            title: self.title,
            instructions: self.instructions,
            tools: tools.map(|tool| tool.into_parts(&offer).0).collect(),
            prompts: self.prompts.iter().map(|prompt| prompt.name).collect(),
            templates,
            unknown_tool: self.unknown_tool,
            errors: self.errors,
        }
    }

    /// Returns the templates that policies may name, and the apps of the tools.
    fn all_families(&self) -> Vec<String> {
        let templates = self
            .resources
            .iter()
            .flat_map(|found| found.templates.iter());
        let of_skills = self.skills.as_ref().map(|_| &SKILL_TEMPLATE);
        let mut all: Vec<String> = templates
            .chain(of_skills)
            .map(|template| template.uri_template.clone().into_owned())
            .collect();
        let apps = self.tools.iter().filter_map(|tool| tool.app);
        let apps = apps.map(str::to_owned);
        for family in self.families.iter().cloned().chain(apps) {
            if !all.contains(&family) {
                all.push(family);
            }
        }
        all
    }
}

/// A world that can be served. The type of its state is erased.
pub struct Surface {
    pub(crate) world: &'static str,
    pub(crate) title: &'static str,
    pub(crate) instructions: &'static str,
    pub(crate) describe: Option<BoundDescriber>,
    pub(crate) tools: Vec<BoundTool>,
    tool_index: HashMap<String, usize>,
    absent: Vec<Cow<'static, str>>,
    pub(crate) resources: Option<BoundResources>,
    pub(crate) skills: Option<BoundSkills>,
    /// Templates of URIs, as policies name them.
    families: Vec<String>,
    pub(crate) prompts: Vec<BoundPrompt>,
    pub(crate) console: Option<BoundConsole>,
    pub(crate) complete: Option<BoundCompleter>,
    pub(crate) sessions: bool,
    pub(crate) tokens_only: bool,
    pub(crate) has_roots: bool,
    shares_by_root: bool,
    pub(crate) lenient_scalars: bool,
    pub(crate) argument_errors: Option<&'static ErrorRow>,
    pub(crate) unknown_tool: UnknownTool,
    pub(crate) result_meta: Option<JsonObject>,
    pub(crate) starts: &'static str,
    pub(crate) refused: Option<RefusalObject>,
    pub(crate) ready: Option<BoundReadyCheck>,
    pub(crate) envelope: Envelope,
    pub(crate) policy: Policy,
    pub(crate) limits: SurfaceLimits,
    /// Slots for running handlers.
    pub(crate) slots: Arc<CallerSlots>,
    /// Slots for descriptions of the world.
    pub(crate) describers: Arc<CallerSlots>,
    /// Slots for listeners of the stateless era.
    pub(crate) listeners: Arc<CallerSlots>,
    /// Seals the request state of questions asked in rounds.
    pub(crate) seal: RequestStateSeal,
    pub(crate) observer: Arc<dyn Observer>,
    /// The newest calls, if someone may look at them.
    pub(crate) call_log: Option<Arc<CallLog>>,
    has_callers: bool,
    pub(crate) is_beside_others: bool,
}

/// Number of concurrent listeners, in all and for one signed-in caller. A listener lasts as long as its client likes,
/// so listeners have slots of their own.
const LISTENERS: CallerSlotBounds = CallerSlotBounds {
    max: 64,
    per_caller: 8,
    waiting: 0,
    waiting_per_caller: 0,
};

impl Surface {
    /// Binds the table of `spec` to `state`.
    #[must_use]
    pub fn new<S: Send + Sync + 'static>(
        spec: WorldSpec<S>,
        state: S,
        policy: Policy,
        limits: SurfaceLimits,
    ) -> Self {
        Self::bound(spec, WorldState::Kept(Arc::new(state)), policy, limits)
    }

    /// Binds the table of `spec` to a state that `source` makes for each call. Handlers that wait, notices of changes and
    /// the world's own readiness check need a state that lasts, and do not work.
    #[must_use]
    pub fn per_call<S: Send + Sync + 'static>(
        spec: WorldSpec<S>,
        source: impl CallState<S>,
        policy: Policy,
        limits: SurfaceLimits,
    ) -> Self {
        Self::bound(spec, WorldState::PerCall(Arc::new(source)), policy, limits)
    }

    fn bound<S: Send + Sync + 'static>(
        spec: WorldSpec<S>,
        state: WorldState<S>,
        policy: Policy,
        limits: SurfaceLimits,
    ) -> Self {
        let families = spec.all_families();
        let offer = ToolOffer {
            meta: &spec.tool_meta,
            lenient_scalars: spec.lenient_scalars,
        };
        let tools: Vec<BoundTool> = spec
            .tools
            .into_iter()
            .map(|tool| bind_tool(tool, &offer, &state))
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
            describe: spec
                .describe
                .map(|describe| bind_describer(describe, &state)),
            families,
            tools,
            tool_index,
            absent: spec.absent,
            resources: spec
                .resources
                .map(|resources| bind_resources(&resources, &state)),
            skills: spec.skills.map(|skills| bind_skills(&skills, &state)),
            prompts: spec
                .prompts
                .into_iter()
                .map(|prompt| bind_prompt(&prompt, &state))
                .collect(),
            console: spec.console.map(|console| console.bind(&state)),
            complete: spec
                .complete
                .map(|complete| bind_completer(complete, &state)),
            sessions: spec.sessions,
            tokens_only: spec.tokens_only,
            has_roots: spec.has_roots,
            shares_by_root: spec.shares_by_root,
            lenient_scalars: spec.lenient_scalars,
            argument_errors: spec.argument_errors,
            unknown_tool: spec.unknown_tool,
            result_meta: Some(spec.result_meta).filter(|meta| !meta.is_empty()),
            starts: spec.starts,
            refused: spec.refused,
            ready: bind_ready(spec.ready, state),
            envelope: spec.envelope,
            policy,
            limits,
            slots: Arc::new(CallerSlots::new(limits.shares())),
            describers: Arc::new(CallerSlots::new(DESCRIBERS)),
            listeners: Arc::new(CallerSlots::new(LISTENERS)),
            seal: RequestStateSeal::default(),
            observer: Arc::new(NoObserver),
            call_log: None,
            has_callers: false,
            is_beside_others: false,
        }
    }

    /// Returns the key under which a caller's calls are counted when slots are shared out.
    pub(crate) fn slot_key(&self, identity: Option<&Arc<Identity>>) -> Option<String> {
        let identity = identity?;
        let group = self.group_of(identity);
        Some(group.unwrap_or_else(|| identity.key.clone()))
    }

    /// Returns the name of the group of a caller, if the world serves callers in groups: those that are bound to the same
    /// roots.
    pub(crate) fn group_of(&self, identity: &Identity) -> Option<String> {
        if !self.shares_by_root {
            return None;
        }
        match self.policy.roles.get().roots_of(identity) {
            Some(mut roots) => {
                roots.sort_unstable();
                Some(format!("roots {}", roots.join(" ")))
            }
            None if identity.token.is_some() => Some(format!("vault {}", identity.vault)),
            None => None,
        }
    }

    /// Name of the world.
    #[must_use]
    pub fn world(&self) -> &'static str {
        self.world
    }

    /// Returns the state the world starts in, if there is something to say about it.
    #[must_use]
    pub fn starts(&self) -> Option<&'static str> {
        Some(self.starts).filter(|starts| !starts.is_empty())
    }

    /// Returns the tool named `name`, hidden or not, with its index in the table.
    pub(crate) fn tool(&self, name: &str) -> Option<(usize, &BoundTool)> {
        let index = *self.tool_index.get(name)?;
        Some((index, &self.tools[index]))
    }

    /// Returns the tools that a listing shows, in table order.
    pub(crate) fn listed_tools(&self, caller_role: CallerRole) -> impl Iterator<Item = &ToolCard> {
        let cards = self.tools.iter().map(|tool| &tool.card);
        cards.filter(move |card| self.lists(&card.name, card.access, caller_role))
    }

    /// Returns the rewording of text that names tools, for a caller with this role.
    pub(crate) fn naming(&self, caller_role: CallerRole) -> Naming<'_> {
        if self.absent.is_empty() && !self.policy.hides_from_listings(caller_role) {
            return Naming::default();
        }
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for BoundTool { card, .. } in &self.tools {
            match self.lists(&card.name, card.access, caller_role) {
                true => seen.push(card.name.as_str()),
                false => unseen.push(card.name.as_str()),
            }
        }
        unseen.extend(self.absent.iter().map(|name| &**name));
        Naming::new(seen, unseen)
    }

    /// Returns the world's notices of changes, if it has any.
    pub(crate) fn changes(&self) -> Option<&ResourceWatcher> {
        self.resources.as_ref()?.changes.as_ref()
    }

    /// Returns whether the methods for resources exist.
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_some() || self.skills.is_some()
    }

    /// Returns the templates of resources, those of skills included.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        let of_resources = self.resources.iter().flat_map(|found| &*found.templates);
        of_resources.chain(self.skills.as_ref().map(|_| &SKILL_TEMPLATE))
    }

    /// Returns how long a client may cache the listing of resources.
    pub(crate) fn listing_cache(&self) -> CacheHint {
        let cache = self.resources.as_ref().map(|resources| resources.cache);
        // Skills can change at any time.
        cache
            .filter(|_| self.skills.is_none())
            .unwrap_or(CacheHint::LIVE)
    }

    /// Returns the resources that a listing shows, in order.
    pub(crate) fn listed_resources(
        &self,
        caller_role: CallerRole,
        context: &CallContext,
    ) -> Result<ResourceListing, Failure> {
        let Some(resources) = &self.resources else {
            return Ok(ResourceListing::default());
        };
        let mut listing = (resources.list)(context)?;
        let is_listed = |resource: &Resource| {
            self.lists(&resource.uri, Access::Read, caller_role)
                && self.lists_app_to(resource, caller_role, context)
        };
        listing.resources.retain(is_listed);
        Ok(listing)
    }

    /// Returns a hash of what a listing of resources shows; one that fails shows nothing.
    pub(crate) fn digest_of_listing(&self, caller_role: CallerRole) -> u64 {
        let mut hasher = DefaultHasher::new();
        let listing = self.listed_resources(caller_role, &CallContext::without_client());
        listing.unwrap_or_default().resources.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns whether a listing for a caller with this role shows `name`.
    pub(crate) fn lists(&self, name: &str, access: Access, caller_role: CallerRole) -> bool {
        self.policy.lists(caller_role, self.thing(name, access))
    }

    /// Returns `name` as policies see it.
    pub(crate) fn thing<'n>(&'n self, name: &'n str, access: Access) -> AccessTarget<'n> {
        let (name, family) = self.policy_names(name);
        AccessTarget {
            world: self.world,
            name,
            family,
            changes: access != Access::Read,
        }
    }

    /// Reports every call to `observer`.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Keeps the newest calls of tools in `log`, for a console.
    #[must_use]
    pub fn logged_in(mut self, log: Arc<CallLog>) -> Self {
        self.call_log = Some(log);
        self
    }

    /// Returns whether the world has a console.
    #[must_use]
    pub fn has_console(&self) -> bool {
        self.console.is_some()
    }

    /// Marks this world as an extra next to others: if there is just one world that is not an extra, that one still has
    /// the addresses of a single world.
    #[must_use]
    pub fn beside_others(mut self) -> Self {
        self.is_beside_others = true;
        self
    }

    /// Marks this world as served to signed-in callers only: its listings may differ from one caller to the next.
    #[must_use]
    pub fn for_callers(mut self) -> Self {
        self.has_callers = true;
        self
    }

    /// Returns how long, and for whom, the contents of the table may be cached.
    pub(crate) fn table_cache(&self) -> CacheHint {
        CacheHint {
            shared: !self.has_callers,
            ..CacheHint::TABLE
        }
    }

    /// Returns the names that policies use for `name`: a URI without its fragment, and the template that it matches.
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

/// Returns the prefix that every URI of a template starts with.
#[must_use]
pub fn fixed_part(template: &str) -> &str {
    template.split('{').next().unwrap_or(template)
}
