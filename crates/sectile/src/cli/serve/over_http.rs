//! Serving over HTTP: sign-in and limits, reloading on SIGHUP, metrics and audit log.

use std::{net::SocketAddr, sync::Arc};

use sectile_mcp::{
    Surface,
    access::{Acl, Authenticator, LiveValue, RateLimits},
    http::{
        self, AuthenticationSettings, AuthenticationStep, HttpSettings, ListenerSettings, ServerTls,
    },
    observe::{CallWatch, Metrics},
};
use tokio::{net::TcpListener, runtime};
use tokio_util::sync::CancellationToken;

use super::{super::settings::folder_of, ServeArgs, audit_log, sources, stop_on_signals};
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
) -> Result<(), CliError> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run(surfaces, settings, args));
    runtime.shutdown_background();
    tracing::info!("stopped");
    result
}

async fn run(surfaces: Vec<Surface>, settings: Settings, args: &ServeArgs) -> Result<(), CliError> {
    let shutdown = stop_on_signals()?;
    let front = settings.front;
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
    let listener = listen(front.bind, "--http 127.0.0.1:PORT").await?;
    let address = listener.local_addr()?;
    let watch = watch(&front, &shutdown).await?;
    let surfaces: Vec<Arc<Surface>> = surfaces
        .into_iter()
        .map(|surface| surface.observed_by(Arc::<CallWatch>::clone(&watch)))
        .map(|surface| match replaceable.authenticator {
            Some(_) => surface.for_callers(),
            None => surface,
        })
        .map(Arc::new)
        .collect();
    let scheme = if replaceable.tls.is_some() {
        "https"
    } else {
        "http"
    };
    if surfaces.is_empty() {
        let url = format_args!("{scheme}://{address}/mcp");
        tracing::warn!(%url, "no world is served");
    }
    for surface in &surfaces {
        let path = http::address(surface, &surfaces);
        let url = format_args!("{scheme}://{address}{path}");
        let state = surface.starts();
        tracing::info!(world = surface.world(), %url, state, "serving over HTTP");
    }
    let public_url = front.public_url.clone();
    let public_url = public_url.unwrap_or_else(|| format!("{scheme}://{address}"));
    let http_settings = http_settings(front, &replaceable, public_url, Arc::clone(&watch));
    reload_on_signal(replaceable, args.clone())?;
    let served = http::serve(listener, surfaces, http_settings, shutdown).await;
    // A task that still holds the log would keep the last lines from being written.
    watch.flush();
    Ok(served?)
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

fn read_again(args: &ServeArgs) -> Result<AccessSettings, ConfigErrors> {
    let (file, flags) = sources(args);
    let loaded = config::load(file.as_deref(), &flags)?;
    let base = folder_of(file.as_deref());
    AccessSettings::resolve(&loaded, &base)
}

impl LiveParts {
    /// Replaces the current settings with `access`. Whether callers sign in at all, and whether connections are encrypted,
    /// stays as it was at the start.
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
