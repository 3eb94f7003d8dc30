//! `sectile serve`: settings, surfaces, a transport, and a graceful shutdown.

mod over_http;

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use clap::ValueEnum as _;

use sectile_markdown::estimate_tokens;
use sectile_mcp::{
    Surface,
    observe::{AuditLog, CallLog, CallWatch, Metrics},
    stdio,
};
use sectile_vault::{NearestRoot, RootMark};
use tokio::runtime;
use tokio_util::sync::CancellationToken;

use super::{
    args::ServeArgs,
    root::{root_to_serve, shown},
    servers::call_relay,
    settings,
    ui::CliError,
};
use crate::{
    config::{ConfigErrors, Flag, FrontSettings, LoadedConfig, LogLevel, Settings},
    telemetry,
    worlds::{OpenError, PathArgument, ServeContext, WORLDS, how_to_give_a_folder},
};

pub(super) use self::over_http::ConsoleAddress;

/// Is told where the console is, once the server listens.
type WhenListening = Box<dyn FnOnce(&ConsoleAddress) -> Result<(), CliError> + Send>;

/// How a server is started.
struct ServerStart {
    /// Whether it is on the pipes of the process that started it.
    on_stdio: bool,
    /// Set for a server that a person started to look at a desk.
    when_listening: Option<WhenListening>,
}

/// Serves the desk to a browser on this machine, and tells `ready` where.
pub(super) fn run_console(
    args: &ServeArgs,
    ready: impl FnOnce(&ConsoleAddress) -> Result<(), CliError> + Send + 'static,
) -> Result<(), CliError> {
    let start = ServerStart {
        on_stdio: false,
        when_listening: Some(Box::new(ready)),
    };
    start_server(args, start)
}

pub(super) fn run(args: &ServeArgs) -> Result<(), CliError> {
    let start = ServerStart {
        on_stdio: args.http.is_none() && args.world().is_some(),
        when_listening: None,
    };
    start_server(args, start)
}

fn start_server(args: &ServeArgs, start: ServerStart) -> Result<(), CliError> {
    if let Some(name) = args.unknown_world() {
        let names: Vec<&str> = WORLDS.iter().map(|world| world.name).collect();
        return Err(CliError::usage(format_args!("{name} is not a world."))
            .next(format_args!("the worlds are {}", names.join(", "))));
    }
    let (loaded, mut settings) = settings_of(args)?;
    let found = serve_where_we_are(args, &mut settings)?;
    if start.when_listening.is_some() {
        // The person reads what the command says; the log is for operators.
        settings.log.level = LogLevel::Warn;
    }
    telemetry::start(settings.log);
    if let Some(root) = found {
        // Relative to the current folder, so that it does not disclose where on this machine that is.
        tracing::info!(
            root = shown(&root.folder),
            mark = root.mark.map_or("none", RootMark::name),
            "serving the root of the current folder"
        );
    }
    if let Some(warning) = loaded.warning() {
        tracing::warn!("{warning}");
    }
    let on_stdio = start.on_stdio;
    settings.limits.inline_when_alone = on_stdio;
    #[cfg(debug_assertions)]
    if let Some(fault) = crate::config::fault() {
        sectile_mcp::fault::arm(&fault);
        sectile_vault::fault::arm(&fault);
        // An injected fault may hang, which no quick tool does.
        settings.limits.inline_when_alone = false;
    }
    let surfaces = surfaces(args, &settings, on_stdio)?;
    if !on_stdio {
        return over_http::serve(surfaces, settings, args, start.when_listening);
    }
    match surfaces.into_iter().next() {
        Some(surface) => {
            let surface = with_relay(surface, &settings);
            let Some(audit) = audit_log(&settings.front)? else {
                return serve_stdio(Arc::new(surface), &settings);
            };
            let watch = Arc::new(CallWatch::new(Metrics::new(), Some(audit)));
            let surface = surface.observed_by(Arc::<CallWatch>::clone(&watch));
            let result = serve_stdio(Arc::new(surface), &settings);
            watch.flush();
            result
        }
        None => Ok(()),
    }
}

/// Returns the settings of this run: from the file, the environment and the command line, in ascending precedence.
fn settings_of(args: &ServeArgs) -> Result<(LoadedConfig, Settings), ConfigErrors> {
    let (file, flags) = sources(args);
    let (loaded, mut settings) = settings::read(file.as_deref(), &flags)?;
    if let (Some(world), Some(path)) = (args.world(), args.path())
        && let PathArgument::Document(add) = world.path
    {
        add(&mut settings.worlds, path);
    }
    Ok((loaded, settings))
}

/// Serves the root of the current folder, if neither the command line nor the settings name one.
fn serve_where_we_are(
    args: &ServeArgs,
    settings: &mut Settings,
) -> Result<Option<NearestRoot>, CliError> {
    let Some(world) = args.world() else {
        return Ok(None);
    };
    let PathArgument::NearestRoot(_, root) = world.path else {
        return Ok(None);
    };
    let root = root(&mut settings.worlds);
    // A settings file without a folder may belong to a service, which can be started anywhere.
    if root.is_some() || settings::named(args.config.as_deref()).is_some() {
        return Ok(None);
    }
    let found = root_to_serve(&how_to_give_a_folder(world.name))?;
    *root = Some(found.folder.clone());
    Ok(Some(found))
}

/// Returns the settings file, and the settings from the command line.
fn sources(args: &ServeArgs) -> (Option<PathBuf>, Vec<Flag>) {
    let mut flags = Vec::new();
    let root = args.world().and_then(|world| world.path.setting());
    if let (Some(key), Some(path)) = (root, args.path()) {
        flags.push(Flag {
            key,
            value: path.to_owned(),
            name: "PATH",
        });
    }
    if let Some(preset) = args.preset.and_then(|preset| preset.to_possible_value()) {
        flags.push(Flag {
            key: "desk.preset",
            value: preset.get_name().to_owned(),
            name: "--preset",
        });
    }
    if let Some(address) = &args.http {
        flags.push(Flag {
            key: "server.http.bind",
            value: address.clone(),
            name: "--http",
        });
    }
    (settings::named(args.config.as_deref()), flags)
}

/// Opens the requested world, or all that are configured.
fn surfaces(
    args: &ServeArgs,
    settings: &Settings,
    on_stdio: bool,
) -> Result<Vec<Surface>, CliError> {
    let auth = settings.access.auth.as_ref();
    let context = ServeContext {
        settings: &settings.worlds,
        policy: &settings.policy,
        limits: settings.limits,
        server_limits: &settings.server_limits(on_stdio),
        is_asked_for: args.world().is_some(),
        on_stdio,
        has_path: args.path().is_some(),
        read_only: args.read_only,
        takes_tokens: auth.is_some_and(|auth| auth.tokens.is_some()),
    };
    if let Some(world) = args.world() {
        // One that is switched off is not a mistake: its address answers as if it had never existed.
        return Ok((world.open)(context)?.into_iter().collect());
    }
    let mut surfaces = Vec::new();
    for world in WORLDS {
        surfaces.extend((world.open)(context)?);
    }
    match surfaces.is_empty() {
        true => Err(OpenError::no_folder("desk").into()),
        false => Ok(surfaces),
    }
}

/// Lets a server that a client started for itself pass its calls on to the console of the same desk.
fn with_relay(surface: Surface, settings: &Settings) -> Surface {
    let relay = call_relay(&settings.worlds.desk.locations());
    match relay.filter(|_| surface.has_console() && settings.front.has_console) {
        Some(relay) => {
            let log = CallLog::passed_on(estimate_tokens, SystemTime::now, relay);
            surface.logged_in(Arc::new(log))
        }
        None => surface,
    }
}

/// Opens the audit log, if one is configured.
fn audit_log(front: &FrontSettings) -> Result<Option<AuditLog>, CliError> {
    let Some(audit) = &front.audit else {
        return Ok(None);
    };
    let log = AuditLog::open(&audit.file, audit.key.as_ref(), audit.max_bytes, audit.keep);
    log.map(Some).map_err(|error| {
        let kind = error.kind();
        CliError::failed(format_args!("the audit log cannot be opened ({kind})."))
            .next("correct server.audit.file in the settings file")
    })
}

/// Serves one client on a pair of pipes: one thread moves messages and runs quick calls; the rest have threads of their
/// own.
fn serve_stdio(surface: Arc<Surface>, settings: &Settings) -> Result<(), CliError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let shutdown = stop_on_signals()?;
        let state = surface.starts();
        tracing::info!(world = surface.world(), state, "serving on stdio");
        stdio::serve(surface, settings.max_message_bytes, shutdown).await
    });
    // A handler that is still running has nobody to answer to.
    runtime.shutdown_background();
    tracing::info!("stopped");
    Ok(result?)
}

/// Returns a token that fires when the process is asked to stop.
fn stop_on_signals() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let stop = token.clone();
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        stop.cancel();
    });
    Ok(token)
}
