//! `/readyz`: whether the sources of the worlds are usable, and whether the server keeps accepting requests.
//!
//! A world may have to ask another server, so it is asked on a thread of its own, by one probe at a time and with a
//! timeout; its answer is cached for a while, so that probes cannot load what they ask about.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{body::Body, response::Response};
use futures::future::join_all;
use http::{HeaderValue, StatusCode, header};
use tokio::{
    sync::Mutex,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::Surface;

/// How long a world may take to say that it is ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the answers of the worlds are cached.
const KEEP: Duration = Duration::from_secs(1);

/// The state behind the answers to probes.
pub(super) struct Readiness {
    stopping: CancellationToken,
    known: Mutex<ReadinessState>,
}

struct ReadinessState {
    worlds: Vec<WorldProbe>,
    /// When the worlds were last asked.
    asked: Option<Instant>,
}

/// A world and its last answer.
struct WorldProbe {
    surface: Arc<Surface>,
    is_ready: bool,
    /// A world that did not answer in time is not asked again before it does: threads are few.
    running: Option<JoinHandle<Result<(), String>>>,
}

impl Readiness {
    /// Reports on these worlds, until `stopping` fires.
    pub(super) fn new(
        surfaces: impl Iterator<Item = Arc<Surface>>,
        stopping: CancellationToken,
    ) -> Self {
        let worlds = surfaces.map(|surface| WorldProbe {
            surface,
            is_ready: true,
            running: None,
        });
        let known = ReadinessState {
            worlds: worlds.collect(),
            asked: None,
        };
        Self {
            stopping,
            known: Mutex::new(known),
        }
    }

    /// Returns the answer to a probe: `ready`, or `not ready` and the reason: `stopping`, or the names of the worlds,
    /// one per line.
    pub(super) async fn answer(&self) -> Response {
        if self.stopping.is_cancelled() {
            return not_ready(&["stopping"]);
        }
        let mut known = self.known.lock().await;
        if known.asked.is_none_or(|asked| asked.elapsed() >= KEEP) {
            join_all(known.worlds.iter_mut().map(WorldProbe::ask)).await;
            known.asked = Some(Instant::now());
        }
        let missing = known.worlds.iter().filter(|world| !world.is_ready);
        let missing: Vec<&str> = missing.map(|world| world.surface.world()).collect();
        match missing.as_slice() {
            [] => plain(StatusCode::OK, "ready\n".to_owned()),
            missing => not_ready(missing),
        }
    }
}

impl WorldProbe {
    /// Asks the world, and logs it if the answer has changed.
    async fn ask(&mut self) {
        let said = self.said().await;
        let world = self.surface.world();
        match &said {
            Ok(()) if !self.is_ready => tracing::info!(world, "ready again"),
            Err(reason) if self.is_ready => tracing::warn!(world, reason, "not ready"),
            _ => {}
        }
        self.is_ready = said.is_ok();
    }

    async fn said(&mut self) -> Result<(), String> {
        if self.surface.ready.is_none() {
            return Ok(());
        }
        let surface = Arc::clone(&self.surface);
        let mut running = self.running.take().unwrap_or_else(|| {
            spawn_blocking(move || surface.ready.as_ref().map_or(Ok(()), |ready| ready()))
        });
        match timeout(PATIENCE, &mut running).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) => {
                Err("The readiness check failed because of a defect in the server.".to_owned())
            }
            Err(_) => {
                self.running = Some(running);
                Err("The readiness check timed out.".to_owned())
            }
        }
    }
}

fn not_ready(reasons: &[&str]) -> Response {
    let text = format!("not ready\n{}\n", reasons.join("\n"));
    plain(StatusCode::SERVICE_UNAVAILABLE, text)
}

fn plain(status: StatusCode, text: String) -> Response {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, TEXT);
    response
}
