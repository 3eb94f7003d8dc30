//! MCP over Streamable HTTP: one endpoint per world, behind our own gate.
//!
//! A request passes the gate (`http/gate.rs`) before rmcp sees it. Where a world needs no sessions, both eras are answered
//! statelessly, with plain JSON where one message is the whole answer; where it does, the handshake eras have them
//! (`http/sessions.rs`) and are answered with event streams.

mod gate;
mod origin;
mod sessions;

use std::{io, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    routing::{any, get},
    serve::ListenerExt as _,
};
use rmcp::{
    model::Extensions,
    transport::{StreamableHttpServerConfig, StreamableHttpService},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use self::origin::Origins;

use self::{gate::Gate, sessions::Sessions};
use super::{Surface, server::Server};

/// How long open requests may take to finish after a stop was asked for.
const DRAIN: Duration = Duration::from_secs(10);

/// What the gate checks before a message is looked at.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Hosts and origins that may talk to this server.
    pub origins: Origins,
    /// Longest body of a request.
    pub max_body_bytes: usize,
    /// Sessions of one world that may be open at the same time.
    pub max_sessions: usize,
    /// How long a session may be open without a message.
    pub session_idle: Duration,
}

/// Where a world is served.
#[must_use]
pub fn endpoint(world: &str) -> String {
    format!("/{world}/mcp")
}

/// Serves every surface at its [`endpoint`], and a single one also at `/mcp`, until `shutdown` fires.
///
/// # Errors
/// When the listener breaks.
pub async fn serve(
    listener: TcpListener,
    surfaces: Vec<Arc<Surface>>,
    settings: HttpSettings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let worlds: Vec<World> = surfaces
        .into_iter()
        .map(|surface| World::new(surface, &settings, &shutdown))
        .collect();
    let app = router(&worlds, &settings);
    // Answers are small and written in pieces; waiting to fill a packet would cost 40 ms a call.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(kind = ?error.kind(), "TCP_NODELAY could not be set");
        }
    });
    let stop = shutdown.clone();
    let serving =
        axum::serve(listener, app).with_graceful_shutdown(async move { stop.cancelled().await });
    let result = tokio::select! {
        result = async { serving.await } => result,
        () = async { shutdown.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(()),
    };
    for world in worlds {
        world.sessions.close_all().await;
    }
    result
}

/// A surface with its sessions, if it has any.
struct World {
    surface: Arc<Surface>,
    sessions: Arc<Sessions>,
    stopping: CancellationToken,
}

fn router(worlds: &[World], settings: &HttpSettings) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        // Tables and state are bound before the listener opens, so a server that answers is ready.
        .route("/readyz", get(|| async { "ready\n" }))
        .fallback(async || gate::not_found());
    for world in worlds {
        let sessions = world.surface.sessions.then(|| Arc::clone(&world.sessions));
        let gate = Arc::new(Gate::new(world.service(), sessions, settings.clone()));
        let handle = move |request: Request| {
            let gate = Arc::clone(&gate);
            async move { gate.handle(request).await }
        };
        router = router.route(&endpoint(world.surface.world()), any(handle.clone()));
        if worlds.len() == 1 {
            router = router.route("/mcp", any(handle));
        }
    }
    router
}

impl World {
    fn new(surface: Arc<Surface>, settings: &HttpSettings, stopping: &CancellationToken) -> Self {
        let (max, idle) = (settings.max_sessions, settings.session_idle);
        Self {
            surface,
            sessions: Arc::new(Sessions::new(max, idle, stopping.clone())),
            stopping: stopping.clone(),
        }
    }

    /// rmcp's service, configured the way its defaults are not: sessions only where the world wants them, JSON answers
    /// elsewhere. It keeps a stop signal of its own, so that a call under way when the process is asked to stop still
    /// gets its answer.
    fn service(&self) -> StreamableHttpService<Server, Sessions> {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(self.surface.sessions)
            .with_json_response(true)
            .with_sse_retry(None)
            // The gate has checked host, origin and size by then.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX);
        let (surface, stopping) = (Arc::clone(&self.surface), self.stopping.clone());
        StreamableHttpService::new(
            move || Ok(Server::for_http(Arc::clone(&surface), stopping.clone())),
            Arc::clone(&self.sessions),
            config,
        )
    }
}
/// Who sent a request, where callers are told apart.
pub(super) fn owner(extensions: &Extensions) -> Option<String> {
    let parts: &http::request::Parts = extensions.get()?;
    parts.extensions.get::<sessions::Owner>()?.0.clone()
}
