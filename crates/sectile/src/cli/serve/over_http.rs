//! Serving over HTTP: sign-in and limits, reloading on SIGHUP, metrics and audit log.

use std::{net::SocketAddr, sync::Arc, time::SystemTime};

use sectile_markdown::estimate_tokens;
use sectile_mcp::{
    Surface,
    access::{Acl, Authenticator, LiveValue, RateLimits},
    http::{
        self, AuthenticationSettings, AuthenticationStep, ConsoleSettings, HttpSettings, LinkKey,
        ListenerSettings, ServerTls,
    },
    observe::{CallLog, CallWatch, Metrics},
};
use tokio::{net::TcpListener, runtime};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        servers::{RunningServer, call_relay, link_key},
        settings::folder_of,
    },
    ServeArgs, WhenListening, audit_log, sources, stop_on_signals,
};
use crate::{
    cli::ui::CliError,
    config::{self, AccessSettings, ConfigErrors, FrontSettings, Settings},
};

/// The parts that can be replaced while the server runs.
struct LiveParts {
    authenticator: Option<Arc<LiveValue<Authenticator>>>,
    roles: Arc<LiveValue<Acl>>,
    tls: Option<Arc<LiveValue<ServerTls>>>,
}

pub(super) fn serve(
    surfaces: Vec<Surface>,
    settings: Settings,
    args: &ServeArgs,
    when_listening: Option<WhenListening>,
) -> Result<(), CliError> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run(surfaces, settings, args, when_listening));
    runtime.shutdown_background();
    tracing::info!("stopped");
    result
}

/// Where the console of a server is.
pub(crate) struct ConsoleAddress {
    server: RunningServer,
    endpoint: String,
    key: Option<Arc<LinkKey>>,
}

impl ConsoleAddress {
    /// Returns the address of a page: a link that lets one person in, or the page itself if people sign in.
    pub(crate) fn link(&self, target: &str) -> Result<String, CliError> {
        let path = match &self.key {
            Some(key) if !self.server.signs_in => key.link(target, SystemTime::now())?,
            _ => target.to_owned(),
        };
        Ok(format!("{}{path}", self.server.url))
    }

    /// Returns the address without a link.
    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// Returns the address for MCP clients.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

async fn run(
    surfaces: Vec<Surface>,
    settings: Settings,
    args: &ServeArgs,
    when_listening: Option<WhenListening>,
) -> Result<(), CliError> {
    let shutdown = stop_on_signals()?;
    let front = settings.front;
    let roots = settings.worlds.desk.locations();
    let roles = settings.policy.roles;
    roles.set(settings.access.roles);
    let authenticator = settings.access.auth.map(Authenticator::new).transpose();
    let authenticator = authenticator.map_err(|problem| {
        CliError::failed(format_args!("nobody could sign in: {problem}."))
            .next("correct [server.auth] in the settings file")
    })?;
    let replaceable = LiveParts {
        authenticator: authenticator.map(|known| Arc::new(LiveValue::new(known))),
        roles,
        tls: settings.access.tls.map(|tls| Arc::new(LiveValue::new(tls))),
    };
    let listener = match when_listening {
        // A person who looks at a desk does not care about the port.
        Some(_) => listen_anywhere(front.bind).await?,
        None => listen(front.bind, "--http 127.0.0.1:PORT").await?,
    };
    let address = listener.local_addr()?;
    let has_console = front.has_console && surfaces.iter().any(Surface::has_console);
    let log = has_console.then(|| {
        // Callers that sign in are told apart, and those of other servers are not known here.
        let relay = replaceable
            .authenticator
            .is_none()
            .then(|| call_relay(&roots));
        let log = CallLog::new(estimate_tokens, SystemTime::now, relay.flatten());
        Arc::new(log)
    });
    let watch = watch(&front, &shutdown).await?;
    let surfaces: Vec<Arc<Surface>> = surfaces
        .into_iter()
        .map(|surface| surface.observed_by(Arc::<CallWatch>::clone(&watch)))
        .map(|surface| match replaceable.authenticator {
            Some(_) => surface.for_callers(),
            None => surface,
        })
        .map(|surface| match &log {
            Some(log) => surface.logged_in(Arc::clone(log)),
            None => surface,
        })
        .map(Arc::new)
        .collect();
    let scheme = if replaceable.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let public_url = front.public_url.clone();
    let public_url = public_url.unwrap_or_else(|| format!("{scheme}://{address}"));
    let with_console = surfaces.iter().find(|surface| surface.has_console());
    let path = with_console.map_or_else(String::new, |surface| http::address(surface, &surfaces));
    let console = ConsoleAddress {
        endpoint: format!("{public_url}{path}"),
        server: RunningServer {
            address,
            url: public_url.clone(),
            signs_in: replaceable.authenticator.is_some(),
            roots,
        },
        // Where there is no console, nothing is kept for it.
        key: match has_console {
            true => link_key(address)?.map(Arc::new),
            false => None,
        },
    };
    let console_settings = console.key.clone().map(|links| ConsoleSettings {
        links,
        // Cookies do not know ports, and there may be several servers on this machine.
        cookie: format!("sectile-{}", address.port()),
        clock: SystemTime::now,
    });
    let _announcement = has_console.then(|| console.server.announce());
    log_addresses(&surfaces, &format!("{scheme}://{address}"));
    if let Some(ready) = when_listening {
        // Starting a browser may take a while, and it may ask for the page before it says that it has started.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = ready(&console) {
                error.report();
            }
        });
    }
    let http_settings = http_settings(front, &replaceable, public_url, Arc::clone(&watch));
    reload_on_signal(replaceable, args.clone())?;
    let console = console_settings.filter(|_| has_console);
    let served = http::serve(listener, surfaces, http_settings, console, shutdown).await;
    // A task that still holds the log would keep the last lines from being written.
    watch.flush();
    Ok(served?)
}

/// Writes a line for each world that is served.
fn log_addresses(surfaces: &[Arc<Surface>], server: &str) {
    if surfaces.is_empty() {
        let url = format_args!("{server}/mcp");
        tracing::warn!(%url, "no world is served");
    }
    for surface in surfaces {
        let path = http::address(surface, surfaces);
        let url = format_args!("{server}{path}");
        let state = surface.starts();
        tracing::info!(world = surface.world(), %url, state, "serving over HTTP");
    }
}

fn http_settings(
    front: FrontSettings,
    replaceable: &LiveParts,
    public_url: String,
    watch: Arc<CallWatch>,
) -> HttpSettings {
    HttpSettings {
        listener: ListenerSettings {
            tls: replaceable.tls.clone(),
            max_connections: front.max_connections,
            max_connections_per_address: front.max_connections_per_address,
            trusted_proxies: front.trusted_proxies.clone(),
            head_timeout: front.receive_timeout,
            max_head_bytes: front.max_head_bytes,
        },
        authentication: Arc::new(AuthenticationStep::new(AuthenticationSettings {
            authenticator: replaceable.authenticator.clone(),
            roles: Arc::clone(&replaceable.roles),
            rates: RateLimits::new(front.rates.0, front.rates.1),
            public_url,
            trusted_proxies: front.trusted_proxies,
            observer: watch,
        })),
        origins: front.origins,
        max_body_bytes: front.max_body_bytes,
        body_timeout: front.receive_timeout,
        sessions: front.sessions,
        stop_notice: front.stop_notice,
    }
}

/// Listens on an address, or, if that is in use, on any other port.
async fn listen_anywhere(address: SocketAddr) -> Result<TcpListener, CliError> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(_) => listen(SocketAddr::new(address.ip(), 0), "server.http.bind").await,
    }
}

async fn listen(address: SocketAddr, next: &str) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|error| {
        let kind = error.kind();
        CliError::failed(format_args!("cannot listen on {address} ({kind})."))
            .next(format_args!("choose another port with {next}"))
    })
}

/// Returns the observer that counts and records calls, and serves the metrics where the settings say.
async fn watch(
    front: &FrontSettings,
    shutdown: &CancellationToken,
) -> Result<Arc<CallWatch>, CliError> {
    let audit = audit_log(front)?;
    let metrics = Metrics::new();
    if let Some(address) = front.metrics {
        let listener = listen(address, "server.metrics.bind").await?;
        let address = listener.local_addr()?;
        tracing::info!(url = %format_args!("http://{address}/metrics"), "figures");
        tokio::spawn(metrics.clone().serve(listener, shutdown.clone()));
    }
    Ok(Arc::new(CallWatch::new(metrics, audit)))
}

/// Reloads access rules and certificates whenever the process receives SIGHUP.
#[cfg_attr(
    not(unix),
    expect(unused_variables, reason = "no other system has this signal")
)]
fn reload_on_signal(replaceable: LiveParts, args: ServeArgs) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let args = args.clone();
                let read = tokio::task::spawn_blocking(move || read_again(&args)).await;
                match read {
                    Ok(Ok(access)) => replaceable.replace(access),
                    Ok(Err(error)) => {
                        tracing::error!(%error, "the settings stay unchanged");
                    }
                    Err(_) => tracing::error!("the settings stay unchanged"),
                }
            }
        });
    }
    Ok(())
}

#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "no other system has this signal")
)]
fn read_again(args: &ServeArgs) -> Result<AccessSettings, ConfigErrors> {
    let (file, flags) = sources(args);
    let loaded = config::load(file.as_deref(), &flags)?;
    let base = folder_of(file.as_deref());
    AccessSettings::resolve(&loaded, &base)
}

impl LiveParts {
    /// Replaces the current settings with `access`. Whether callers sign in at all, and whether connections are encrypted,
    /// stays as it was at the start.
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "no other system has this signal")
    )]
    fn replace(&self, access: AccessSettings) {
        match (&self.authenticator, access.auth) {
            (Some(live), Some(auth)) => match Authenticator::new(auth) {
                Ok(authenticator) => {
                    authenticator.succeed(&live.get());
                    live.set(authenticator);
                }
                Err(problem) => {
                    tracing::error!(problem, "keys and tokens stay unchanged");
                    return;
                }
            },
            (None, None) => {}
            _ => {
                tracing::error!("restart the server to turn signing in on or off");
                return;
            }
        }
        self.roles.set(access.roles);
        match (&self.tls, access.tls) {
            (Some(live), Some(tls)) => live.set(tls),
            (None, None) => {}
            _ => tracing::error!("restart the server to turn encryption on or off"),
        }
        tracing::info!("the access settings were reloaded");
    }
}
