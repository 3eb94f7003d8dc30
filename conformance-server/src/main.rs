//! Serves what the official conformance suite calls, on the frame that serves Sectile's worlds.
//!
//! The suite wants tools, prompts and resources with certain names, which no world for people has. This one has them, so
//! that the suite reaches every part of the frame and of its HTTP transport. What the frame does not have on purpose,
//! such as sampling, is missing here too; `xtask/outside/expected-failures-frame.yml` says why.

#![expect(clippy::print_stdout, reason = "says where it listens")]

mod forms;
mod prompts;
mod resources;
mod tools;

use std::{sync::Arc, time::Duration};

use sectile_mcp::{
    Completer, Envelope, ErrorList, ErrorResponse, NoObserver, Policy, ResourceNotice, Surface,
    SurfaceLimits, WorldSpec,
    access::RateLimits,
    http::{
        self, AuthenticationSettings, AuthenticationStep, HttpSettings, ListenerSettings, Origins,
        SessionBounds,
    },
};
use tokio::{net::TcpListener, sync::broadcast};
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The state of the world.
struct FixtureWorld {
    /// Would report changes of resources; there are none.
    changes: broadcast::Sender<ResourceNotice>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    println!("listening on {url}/mcp");
    let surfaces = vec![Arc::new(surface())];
    let shutdown = CancellationToken::new();
    http::serve(listener, surfaces, settings(url), None, shutdown).await?;
    Ok(())
}

fn surface() -> Surface {
    let envelope: Envelope = |failure| ErrorResponse::Text(failure.told());
    let complete: Completer<FixtureWorld> = |_, request, _| {
        let all = ["paris", "park", "party", "test"].map(str::to_owned);
        let fitting = all
            .into_iter()
            .filter(|value| value.starts_with(&request.value));
        fitting.collect()
    };
    let spec = WorldSpec {
        title: "Conformance",
        tools: tools::table().into_iter().chain(forms::table()).collect(),
        resources: Some(resources::RESOURCES),
        prompts: prompts::table(),
        complete: Some(complete),
        sessions: true,
        ..WorldSpec::new(
            "conformance",
            "Tools, prompts and resources that the official conformance suite calls.",
            envelope,
            ErrorList::default,
        )
    };
    let world = FixtureWorld {
        changes: broadcast::Sender::new(1),
    };
    let limits = SurfaceLimits {
        max_in_flight: 16,
        max_in_flight_per_caller: 16,
        max_waiting: 64,
        max_waiting_per_caller: 64,
        call_timeout: LIMIT,
        inline_when_alone: false,
    };
    Surface::new(spec, world, Policy::default(), limits)
}

fn settings(public_url: String) -> HttpSettings {
    HttpSettings {
        listener: ListenerSettings {
            tls: None,
            max_connections: 1000,
            max_connections_per_address: 1000,
            trusted_proxies: Vec::new(),
            head_timeout: LIMIT,
            max_head_bytes: 32 << 10,
        },
        authentication: Arc::new(AuthenticationStep::new(AuthenticationSettings {
            authenticator: None,
            roles: Arc::default(),
            rates: RateLimits::new(0, 0),
            public_url,
            trusted_proxies: Vec::new(),
            observer: Arc::new(NoObserver),
        })),
        origins: Origins::default(),
        max_body_bytes: 1 << 20,
        body_timeout: LIMIT,
        sessions: SessionBounds {
            max: 1000,
            max_per_caller: 1000,
            rest_after: LIMIT,
            idle: LIMIT,
            confirm_within: LIMIT,
        },
        stop_notice: Duration::ZERO,
    }
}
