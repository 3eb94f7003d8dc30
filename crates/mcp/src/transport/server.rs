//! A surface as an rmcp server: every method is a few lines over the pipeline or the tables.

mod mirrored;
mod notices;
mod skills;
mod wire;

use std::{
    borrow::Cow,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        MetaObject, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

use self::{
    notices::{Listener, acceptable, tell, tell_connection},
    skills::SkillMethod,
    wire::{
        asked_completion, wire_completion, wire_prompt, wire_resource, wire_template, wire_tool,
    },
};
use crate::{
    Access, CacheHint, Connection, JsonObject, ResourceNotice, Surface,
    call::{
        caller::Caller,
        elicitation::ElicitationReply,
        error::{Refusal, invalid_params, method_not_found},
        policy::CallerRole,
        request_facts::RequestFacts,
        structured::StructuredPlacement,
    },
    world::{
        app,
        listing::{only_page, page_start},
    },
};

/// The revisions that are supported: two with a handshake, and the stateless one.
pub(crate) const VERSIONS: [ProtocolVersion; 3] = [
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// An rmcp handler over a surface. Cheap to make: session-less HTTP makes one per request.
pub(crate) struct McpServer {
    surface: Arc<Surface>,
    structured: StructuredPlacement,
    /// State kept between calls, if the transport knows which calls belong together.
    connection: OnceLock<Arc<Connection>>,
    /// Fires when background work must stop.
    stopping: CancellationToken,
    /// Receivers for clients that are about to listen, so that they do not miss changes before they do.
    about_to_listen: Mutex<VecDeque<Receiver<ResourceNotice>>>,
}

impl McpServer {
    /// Makes a server for the one client at the other end of a pair of streams.
    pub(crate) fn for_streams(surface: Arc<Surface>, connection: Arc<Connection>) -> Self {
        let stopping = connection.ended();
        Self {
            surface,
            structured: StructuredPlacement::Text,
            connection: OnceLock::from(connection),
            stopping,
            about_to_listen: Mutex::default(),
        }
    }

    /// Makes a server for requests over HTTP.
    pub(crate) fn for_http(surface: Arc<Surface>, stopping: CancellationToken) -> Self {
        Self {
            surface,
            structured: StructuredPlacement::Tree,
            connection: OnceLock::new(),
            stopping,
            about_to_listen: Mutex::default(),
        }
    }

    fn caller(&self, request: RequestContext<RoleServer>) -> Caller {
        Caller {
            facts: RequestFacts::of(&request.extensions),
            request,
            connection: self.connection.get().cloned(),
        }
    }

    /// Returns the connection, for methods that exist only if it carries notices.
    fn hearing_connection(&self) -> Result<&Arc<Connection>, ErrorData> {
        let can_hear = self.surface.changes().is_some();
        let connection = self.connection.get().filter(|_| can_hear);
        connection.ok_or_else(method_not_found)
    }

    /// Checks that there are resources, for methods that exist only then.
    fn check_resources(&self) -> Result<(), ErrorData> {
        match self.surface.has_resources() {
            true => Ok(()),
            false => Err(method_not_found()),
        }
    }

    /// Adds the extensions that exist for the sender of a request.
    fn declare(&self, capabilities: &mut ServerCapabilities, request: &RequestContext<RoleServer>) {
        if self.surface.lists_apps(caller_role(request)) {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.extend(app::extension());
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        capabilities.resources = self.surface.has_resources().then(|| {
            let mut capability = rmcp::model::ResourcesCapability::default();
            capability.subscribe = self.surface.changes().map(|_| true);
            capability.list_changed = capability.subscribe;
            capability
        });
        capabilities.extensions = self.surface.skills.as_ref().map(|_| skills::declaration());
        capabilities.prompts =
            (!self.surface.prompts.is_empty()).then(rmcp::model::PromptsCapability::default);
        capabilities.completions = self.surface.complete.as_ref().map(|_| JsonObject::new());
        let mut implementation = Implementation::new("sectile", env!("CARGO_PKG_VERSION"));
        implementation.title = Some(format!("Sectile {}", self.surface.title));
        implementation.description = self.surface.starts().map(str::to_owned);
        let mut config = ServerConfig::new(capabilities);
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config.server_info = implementation;
        config.instructions = Some(self.surface.instructions.to_owned());
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = guarded(|| {
            context.peer.set_peer_info(request.clone());
            if self.surface.sessions {
                // Over HTTP, a handshake is the start of a session.
                self.connection.get_or_init(|| {
                    let kept = RequestFacts::of(&context.extensions).connection;
                    kept.unwrap_or_else(|| Arc::new(Connection::until(&self.stopping)))
                });
            }
            let mut result = self.negotiate_initialize(&request)?;
            if let Some(resources) = &mut result.capabilities.resources
                && self.hearing_connection().is_err()
            {
                // No notice could ever reach this client.
                (resources.subscribe, resources.list_changed) = (None, None);
            }
            self.declare(&mut result.capabilities, &context);
            Ok(result)
        })?;
        result.instructions = self.surface.instructions_for(self.caller(context)).await;
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let begun = guarded(|| {
            if let Ok(connection) = self.hearing_connection() {
                tell_connection(&self.surface, connection, context.peer);
            }
            Ok(())
        });
        if begun.is_err() {
            tracing::error!("no notices will be sent: the world could not provide them");
        }
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut result = guarded(|| {
            let mut result = DiscoverResult::from_server_info(VERSIONS.to_vec(), self.get_info());
            result.ttl_ms = self.surface.table_cache().ttl_ms;
            result.cache_scope = self.surface.table_cache().scope();
            self.declare(&mut result.capabilities, &context);
            Ok(result)
        })?;
        result.instructions = self.surface.instructions_for(self.caller(context)).await;
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        guarded(|| {
            only_page(request.as_ref())?;
            let caller_role = caller_role(&context);
            let naming = self.surface.naming(caller_role);
            let capabilities = context.client_capabilities();
            let shows_apps = capabilities
                .is_some_and(|capabilities| app::shows_apps(&capabilities))
                && self.surface.lists_apps(caller_role);
            let listed = self.surface.listed_tools(caller_role).map(|card| {
                let app = self.surface.listed_app(card, caller_role);
                wire_tool(card, &naming, app.filter(|_| shows_apps))
            });
            let mut result = ListToolsResult::with_all_items(listed.collect());
            let cache = CacheHint {
                // Other clients get a listing that does not name apps.
                shared: self.surface.table_cache().shared && !shows_apps,
                ..self.surface.table_cache()
            };
            result.ttl_ms = Some(cache.ttl_ms);
            result.cache_scope = Some(cache.scope());
            Ok(result)
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let reply = ElicitationReply {
            state: request.request_state,
            responses: request.input_responses,
        };
        let mut caller = self.caller(context);
        self.check_mirrored(&request.name, &arguments, &caller)?;
        let slot = caller
            .facts
            .structured
            .take()
            .map(StructuredPlacement::Slot);
        let structured = slot.unwrap_or_else(|| self.structured.clone());
        Arc::clone(&self.surface)
            .call_tool(&request.name, arguments, caller, reply, structured)
            .await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.check_resources()?;
        let cache = self.surface.listing_cache();
        let start = page_start(request.as_ref())?;
        let (page, meta) = Arc::clone(&self.surface)
            .list_resources(start, self.caller(context))
            .await?;
        let listed = page.entries.into_iter().map(wire_resource).collect();
        let mut result = ListResourcesResult::with_all_items(listed);
        result.meta = (!meta.is_empty()).then(|| MetaObject(meta));
        result.next_cursor = page.next_cursor;
        result.ttl_ms = Some(cache.ttl_ms);
        result.cache_scope = Some(cache.scope());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        guarded(|| {
            self.check_resources()?;
            let templates = self.surface.templates();
            only_page(request.as_ref())?;
            let caller_role = caller_role(&context);
            let listed = templates.filter(|template| {
                self.surface
                    .lists(&template.uri_template, Access::Read, caller_role)
            });
            let naming = self.surface.naming(caller_role);
            let listed = listed.map(|template| wire_template(template, &naming));
            let mut result = ListResourceTemplatesResult::with_all_items(listed.collect());
            result.ttl_ms = Some(self.surface.table_cache().ttl_ms);
            result.cache_scope = Some(self.surface.table_cache().scope());
            Ok(result)
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.check_resources()?;
        let found = Arc::clone(&self.surface)
            .read_resource(request.uri.clone(), self.caller(context))
            .await?;
        let contents = found.content.into_contents(request.uri);
        let mut result = ReadResourceResult::new(vec![contents]);
        result.ttl_ms = Some(found.cache.ttl_ms);
        result.cache_scope = Some(found.cache.scope());
        Ok(ReadResourceResponse::from(result))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        guarded(|| {
            if self.surface.prompts.is_empty() {
                return Err(method_not_found());
            }
            only_page(request.as_ref())?;
            let prompts = self.surface.prompts.iter();
            let caller_role = caller_role(&context);
            let listed =
                prompts.filter(|prompt| self.surface.lists(prompt.name, Access::Read, caller_role));
            let naming = self.surface.naming(caller_role);
            let listed = listed.map(|prompt| wire_prompt(prompt, &naming));
            let mut result = ListPromptsResult::with_all_items(listed.collect());
            result.ttl_ms = Some(self.surface.table_cache().ttl_ms);
            result.cache_scope = Some(self.surface.table_cache().scope());
            Ok(result)
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.surface.prompts.is_empty() {
            return Err(method_not_found());
        }
        let arguments = request.arguments.unwrap_or_default();
        let reply = ElicitationReply {
            state: request.request_state,
            responses: request.input_responses,
        };
        Arc::clone(&self.surface)
            .get_prompt(&request.name, arguments, self.caller(context), reply)
            .await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let connection = self.hearing_connection()?;
        let peer = context.peer.clone();
        Arc::clone(&self.surface)
            .watch_resource(request.uri.clone(), self.caller(context))
            .await?;
        if !connection.watched().add(request.uri) {
            return Err(Refusal::Busy.into());
        }
        guarded(|| {
            tell_connection(&self.surface, connection, peer);
            Ok(())
        })
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let connection = self.hearing_connection()?;
        connection.watched().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let changes = self.surface.changes()?;
        if let Ok(receiver) = guarded(|| Ok(changes())) {
            self.about_to_listen.lock().push_back(receiver);
        }
        Some(acceptable(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let changes = self.about_to_listen.lock().pop_front();
        let changes = changes.ok_or(Refusal::Internal)?;
        let facts = RequestFacts::of(&context.request_context().extensions);
        let identity = facts.identity().cloned();
        let listener = Listener::new(&context, facts.permit.clone());
        if let Some(memory) = &facts.memory {
            memory.release();
        }
        let over = async {
            match facts.permit {
                Some(permit) => permit.ended().await,
                None => std::future::pending().await,
            }
        };
        self.surface
            .listen(identity, async {
                tokio::select! {
                    () = context.cancelled() => {}
                    () = self.stopping.cancelled() => {}
                    () = over => {}
                    () = tell(&self.surface, &listener, changes) => {}
                }
            })
            .await
    }

    #[expect(deprecated, reason = "the method must not look as if it existed")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if self.surface.complete.is_none() {
            return Err(method_not_found());
        }
        let request = asked_completion(request)?;
        let values = Arc::clone(&self.surface)
            .complete(request, self.caller(context))
            .await?;
        Ok(wire_completion(values))
    }

    /// rmcp passes on what it cannot decode: unknown methods, and known ones with broken parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if self.surface.skills.is_some()
            && let Some(method) = SkillMethod::named(&request.method)
        {
            return self.skill_request(method, request, context).await;
        }
        let version = context.protocol_version();
        let is_handshake_era = version.is_some_and(|version| version.has_initialize());
        let known = match request.method.as_str() {
            "tools/list" | "tools/call" => true,
            "resources/list" | "resources/read" | "resources/templates/list" => {
                self.surface.has_resources()
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                is_handshake_era && self.hearing_connection().is_ok()
            }
            "subscriptions/listen" => !is_handshake_era && self.surface.changes().is_some(),
            "prompts/list" | "prompts/get" => !self.surface.prompts.is_empty(),
            "completion/complete" => self.surface.complete.is_some(),
            _ => false,
        };
        Err(if known {
            invalid_params()
        } else {
            method_not_found()
        })
    }
}

/// Returns the role of the caller of a request.
fn caller_role(request: &RequestContext<RoleServer>) -> CallerRole {
    RequestFacts::of(&request.extensions).caller_role()
}

/// Runs work that is too short for the pipeline, with the same guarantee: a panic becomes an answer.
fn guarded<T>(work: impl FnOnce() -> Result<T, ErrorData>) -> Result<T, ErrorData> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Refusal::Internal.into()))
}
