//! MCP over Streamable HTTP: one endpoint per world, behind our own gate.
//!
//! A request passes the gate (`http/gate.rs`) before rmcp sees it. Worlds served here need no sessions, so both eras are
//! answered statelessly, with plain JSON where one message is the whole answer.

mod gate;
mod origin;

use std::{io, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    routing::{any, get},
    serve::ListenerExt as _,
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::never::NeverSessionManager,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use self::origin::Origins;

use self::gate::Gate;
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
    let app = router(&surfaces, &settings, &shutdown);
    // Answers are small and written in pieces; waiting to fill a packet would cost 40 ms a call.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(kind = ?error.kind(), "TCP_NODELAY could not be set");
        }
    });
    let stop = shutdown.clone();
    let serving =
        axum::serve(listener, app).with_graceful_shutdown(async move { stop.cancelled().await });
    tokio::select! {
        result = async { serving.await } => result,
        () = async { shutdown.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}

fn router(
    surfaces: &[Arc<Surface>],
    settings: &HttpSettings,
    shutdown: &CancellationToken,
) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        // Tables and state are bound before the listener opens, so a server that answers is ready.
        .route("/readyz", get(|| async { "ready\n" }))
        .fallback(async || gate::not_found());
    for surface in surfaces {
        let service = service(Arc::clone(surface), shutdown.clone());
        let gate = Arc::new(Gate::new(service, settings.clone()));
        let handle = move |request: Request| {
            let gate = Arc::clone(&gate);
            async move { gate.handle(request).await }
        };
        router = router.route(&endpoint(surface.world()), any(handle.clone()));
        if surfaces.len() == 1 {
            router = router.route("/mcp", any(handle));
        }
    }
    router
}

/// rmcp's service, configured the way its defaults are not: no sessions, JSON answers. It keeps a stop signal of its own,
/// so that a call under way when the process is asked to stop still gets its answer.
fn service(
    surface: Arc<Surface>,
    stopping: CancellationToken,
) -> StreamableHttpService<Server, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // The gate has checked host, origin and size by then.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX);
    StreamableHttpService::new(
        move || {
            let surface = Arc::clone(&surface);
            Ok(Server::for_http(surface, stopping.clone()))
        },
        Arc::new(NeverSessionManager::default()),
        config,
    )
}
