//! MCP over Streamable HTTP: one endpoint per world.
//!
//! Before rmcp sees a request, it is authenticated (`http/authenticate.rs`) and admitted (`http/admit.rs`). If a world
//! needs no sessions, both eras are answered statelessly, with plain JSON when one message is the whole answer; if it
//! does, the handshake eras have them (`http/sessions.rs`) and are answered with event streams.

mod admit;
mod authenticate;
mod console;
mod endpoint;
mod greeting;
mod listener;
mod origin;
mod readiness;
mod refusal;
mod sessions;

use std::{io, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    routing::{MethodRouter, any, get},
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::SessionStore,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use self::{
    authenticate::{AuthenticationSettings, AuthenticationStep},
    console::{ConsoleSettings, LinkKey},
    listener::{ListenerSettings, ServerTls},
    origin::Origins,
    sessions::SessionBounds,
};

use self::{
    admit::AdmissionStep, authenticate::AcceptedCredentials, console::ConsoleSite,
    endpoint::Endpoint, readiness::Readiness, refusal::not_found, sessions::Sessions,
};
use crate::{
    Surface,
    call::caller_slots::{CallerSlotBounds, CallerSlots},
    transport::server::McpServer,
};

/// How long open requests may take to finish after the server is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Large messages that are read, decoded or worked on at the same time, by all worlds together. A message takes several
/// times its bytes until its call has ended, so this is what bounds the memory of a caller, and of all.
const LARGE_MESSAGES: CallerSlotBounds = CallerSlotBounds {
    max: 32,
    per_caller: 4,
    waiting: 1024,
    waiting_per_caller: 64,
};

/// Settings of the HTTP transport.
#[derive(Clone)]
pub struct HttpSettings {
    /// Settings of the listener.
    pub listener: ListenerSettings,
    /// The authentication step.
    pub authentication: Arc<AuthenticationStep>,
    /// Hosts and origins that may use this server.
    pub origins: Origins,
    /// Longest body of a request, in bytes.
    pub max_body_bytes: usize,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// Limits on sessions, if a world has them.
    pub sessions: SessionBounds,
    /// How long requests are still accepted after the server is told to stop, while `/readyz` reports that it is
    /// stopping.
    pub stop_notice: Duration,
}

/// The additional path of a single world.
const SINGLE: &str = "/mcp";

/// Returns the path of a world.
#[must_use]
pub fn endpoint(world: &str) -> String {
    format!("/{world}/mcp")
}

/// Returns the path of a surface among `all` that users are shown: `/mcp` for the only one that is not an extra, so
/// that adding an extra changes no address.
#[must_use]
pub fn address(surface: &Surface, all: &[Arc<Surface>]) -> String {
    match is_single(surface, all.iter().map(Arc::as_ref)) {
        true => SINGLE.to_owned(),
        false => endpoint(surface.world()),
    }
}

/// Returns whether a surface is the only one of `all`, or the only one of them that is not an extra.
fn is_single<'a>(surface: &Surface, all: impl ExactSizeIterator<Item = &'a Surface>) -> bool {
    if all.len() == 1 {
        return true;
    }
    !surface.is_beside_others && all.filter(|one| !one.is_beside_others).count() == 1
}

/// Serves every surface at its [`endpoint()`], and a single one also at `/mcp`, until `shutdown` fires and the stop
/// notice of the settings is over. With `console`, the first surface that has pages for people serves them at the root.
///
/// # Errors
/// Returns an error if the listener breaks.
pub async fn serve(
    listener: TcpListener,
    surfaces: Vec<Arc<Surface>>,
    settings: HttpSettings,
    console: Option<ConsoleSettings>,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let closing = after(&shutdown, settings.stop_notice);
    let worlds: Vec<ServedSurface> = surfaces
        .into_iter()
        .map(|surface| ServedSurface::new(surface, &settings, &closing))
        .collect();
    let app = router(&worlds, &settings, console, shutdown);
    for world in worlds.iter().filter(|world| world.surface.sessions) {
        tokio::spawn(Arc::clone(&world.sessions).look_after());
    }
    let result = listener::serve(listener, app, &settings.listener, &closing, DRAIN).await;
    for world in worlds {
        world.sessions.close_all().await;
    }
    result
}

/// Returns a token that fires `notice` after `shutdown`.
fn after(shutdown: &CancellationToken, notice: Duration) -> CancellationToken {
    if notice.is_zero() {
        return shutdown.clone();
    }
    let (shutdown, closing) = (shutdown.clone(), CancellationToken::new());
    let fires = closing.clone();
    tokio::spawn(async move {
        shutdown.cancelled().await;
        tokio::time::sleep(notice).await;
        fires.cancel();
    });
    closing
}

/// A surface with its sessions, if it has any.
struct ServedSurface {
    surface: Arc<Surface>,
    sessions: Arc<Sessions>,
    stopping: CancellationToken,
}

fn router(
    worlds: &[ServedSurface],
    settings: &HttpSettings,
    console: Option<ConsoleSettings>,
    stopping: CancellationToken,
) -> Router {
    let surfaces = worlds.iter().map(|world| Arc::clone(&world.surface));
    let readiness = Arc::new(Readiness::new(surfaces, stopping));
    let large = Arc::new(CallerSlots::new(LARGE_MESSAGES));
    let ready = move || {
        let readiness = Arc::clone(&readiness);
        async move { readiness.answer().await }
    };
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready));
    router = match console.and_then(|console| console_site(worlds, settings, console)) {
        Some(site) => {
            let pages = Arc::clone(&site).routes();
            let missing = move |request: Request| Arc::clone(&site).missing(request);
            router.merge(pages).fallback(missing)
        }
        None => router
            .route("/", greeting_route(worlds, settings))
            .fallback(async || not_found()),
    };
    let mut endpoints = Vec::new();
    for world in worlds {
        let name = world.surface.world();
        let sessions = world.surface.sessions.then(|| Arc::clone(&world.sessions));
        let served = Arc::new(Endpoint {
            service: world.service(),
            credentials: AcceptedCredentials {
                tokens_only: world.surface.tokens_only,
                bound_to_roots: world.surface.has_roots,
            },
            admission: AdmissionStep {
                sessions,
                large: Arc::clone(&large),
                max_body_bytes: settings.max_body_bytes,
                body_timeout: settings.body_timeout,
            },
            settings: settings.clone(),
        });
        let handle = move |request: Request| {
            let served = Arc::clone(&served);
            async move { served.handle(request).await }
        };
        let all = worlds.iter().map(|world| world.surface.as_ref());
        if is_single(&world.surface, all) {
            router = router.route(SINGLE, any(handle.clone()));
            endpoints.push(SINGLE.to_owned());
        }
        router = router.route(&endpoint(name), any(handle));
        endpoints.push(endpoint(name));
    }
    router.merge(authenticate::metadata_routes(
        &settings.authentication,
        &endpoints,
        SINGLE,
    ))
}

/// Returns the console of the first surface that has one.
fn console_site(
    worlds: &[ServedSurface],
    settings: &HttpSettings,
    console: ConsoleSettings,
) -> Option<Arc<ConsoleSite>> {
    let surfaces: Vec<Arc<Surface>> = worlds
        .iter()
        .map(|world| Arc::clone(&world.surface))
        .collect();
    let surface = surfaces.iter().find(|surface| surface.has_console())?;
    let path = address(surface, &surfaces);
    let surface = Arc::clone(surface);
    Some(Arc::new(ConsoleSite::new(
        surface,
        settings.clone(),
        console,
        path,
    )))
}

/// Returns the route of the page for someone who opens a server without a console in a browser.
fn greeting_route(worlds: &[ServedSurface], settings: &HttpSettings) -> MethodRouter {
    let greeting = greeting::page(worlds.iter().map(|world| {
        let name = world.surface.world();
        let path = match worlds.len() {
            1 => SINGLE.to_owned(),
            _ => endpoint(name),
        };
        (name, settings.authentication.resource(&path))
    }));
    let greet = move || {
        let greeting = greeting.clone();
        async move { greeting::respond(greeting) }
    };
    get(greet).fallback(async || not_found())
}

impl ServedSurface {
    fn new(surface: Arc<Surface>, settings: &HttpSettings, stopping: &CancellationToken) -> Self {
        Self {
            surface,
            sessions: Arc::new(Sessions::new(
                settings.sessions,
                settings.authentication.authenticator().cloned(),
                stopping.clone(),
            )),
            stopping: stopping.clone(),
        }
    }

    /// Returns rmcp's service with non-default settings: sessions only if the world wants them, JSON answers otherwise.
    /// It has a stop signal of its own, so that a call in flight when the process is asked to stop still gets its
    /// answer.
    fn service(&self) -> StreamableHttpService<McpServer, Sessions> {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(self.surface.sessions)
            .with_json_response(true)
            .with_sse_retry(None)
            // Host, origin and size were checked before.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX);
        let mut config = config;
        if self.surface.sessions {
            let kept: Arc<dyn SessionStore> =
                Arc::new(sessions::HandshakeStore(Arc::clone(&self.sessions)));
            config.session_store = Some(kept);
        }
        let (surface, stopping) = (Arc::clone(&self.surface), self.stopping.clone());
        StreamableHttpService::new(
            move || Ok(McpServer::for_http(Arc::clone(&surface), stopping.clone())),
            Arc::clone(&self.sessions),
            config,
        )
    }
}
