//! `sectile serve`: settings, surfaces, a transport, and a graceful shutdown.

mod over_http;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sectile_vault::{NearestRoot, RootMark};
use tokio::runtime;
use tokio_util::sync::CancellationToken;

use super::{
    args::{ServeArgs, World},
    docs,
    library::Opened,
    root::{levels_up, root_to_serve, shown},
    settings,
    trust::editor_options,
    ui::{CliError, visible},
};
use crate::{
    config::{self, EditorErrors, Flag, FrontSettings, Loaded, Mistakes, Settings},
    mcp::{Surface, stdio},
    observe::{AuditLog, Metrics, Watch},
    telemetry,
    worlds::{
        self,
        docs::Docs,
        editor::{self, EditorWorld, ErrorStyle},
        hosted::{self, Hosted},
        notebook::{self, Constraints, NotebookWorld, limits::Limit},
        vault::{self, Vault},
    },
};

pub(super) fn run(args: &ServeArgs) -> Result<(), CliError> {
    let (loaded, mut settings) = settings_of(args)?;
    let found = serve_where_we_are(args, &mut settings)?;
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
    keep_freed_memory();
    let on_stdio = args.http.is_none() && args.world.is_some();
    settings.limits.inline_when_alone = on_stdio;
    #[cfg(debug_assertions)]
    if let Some(fault) = config::fault() {
        crate::mcp::fault::arm(&fault);
        sectile_vault::fault::arm(&fault);
        // An injected fault may hang, which no quick tool does.
        settings.limits.inline_when_alone = false;
    }
    let surfaces = surfaces(args, &settings)?;
    if !on_stdio {
        return over_http::serve(surfaces, settings, args);
    }
    match surfaces.into_iter().next() {
        Some(surface) => {
            let Some(audit) = audit_log(&settings.front)? else {
                return serve_stdio(Arc::new(surface), &settings);
            };
            let watch = Arc::new(Watch::new(Metrics::new(), Some(audit)));
            let surface = surface.observed_by(Arc::<Watch>::clone(&watch));
            let result = serve_stdio(Arc::new(surface), &settings);
            watch.flush();
            result
        }
        None => Ok(()),
    }
}

/// Returns the settings of this run: from the file, the environment and the command line, in ascending precedence.
fn settings_of(args: &ServeArgs) -> Result<(Loaded, Settings), Mistakes> {
    let (file, flags) = sources(args);
    let (loaded, mut settings) = settings::read(file.as_deref(), &flags)?;
    if args.world == Some(World::Docs) {
        let paths = args.path.iter().map(|path| docs::given_path(path));
        settings.docs.extra_paths.extend(paths);
    }
    Ok((loaded, settings))
}

/// Serves the root of the current folder, if neither the command line nor the settings name one.
fn serve_where_we_are(
    args: &ServeArgs,
    settings: &mut Settings,
) -> Result<Option<NearestRoot>, CliError> {
    let (world, root) = match args.world {
        Some(World::Vault) => ("vault", &mut settings.vault_root),
        Some(World::Editor) => ("editor", &mut settings.editor.root),
        _ => return Ok(None),
    };
    // A settings file without a folder may belong to a service, which can be started anywhere.
    if root.is_some() || settings::named(args.config.as_deref()).is_some() {
        return Ok(None);
    }
    let found = root_to_serve(&format!(
        "sectile serve {world} DIR, or set {world}.root in the settings file"
    ))?;
    *root = Some(found.folder.clone());
    Ok(Some(found))
}

/// Returns the settings file, and the settings from the command line.
fn sources(args: &ServeArgs) -> (Option<PathBuf>, Vec<Flag>) {
    let mut flags = Vec::new();
    let root = match args.world {
        Some(World::Vault) => Some("vault.root"),
        Some(World::Editor) => Some("editor.root"),
        Some(World::Notebook) => Some("notebook.root"),
        // Not a root but one more document or folder, which is added below.
        Some(World::Docs) | None => None,
        // Its notes are not in a folder.
        Some(World::Hosted) => None,
    };
    if let (Some(key), Some(path)) = (root, &args.path) {
        flags.push(Flag {
            key,
            value: path.clone(),
            name: "PATH",
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

fn surfaces(args: &ServeArgs, settings: &Settings) -> Result<Vec<Surface>, CliError> {
    let mut surfaces = Vec::new();
    let wanted = |world: World| args.world.is_none_or(|only| only == world);
    if let Some(root) = settings
        .vault_root
        .as_ref()
        .filter(|_| wanted(World::Vault))
    {
        let state = Vault::open(root, settings.max_note_bytes).map_err(|error| {
            CliError::failed(format_args!("the vault cannot be served: {error}."))
                .next("give the folder of your notes: sectile serve vault DIR")
        })?;
        let mut limits = settings.limits;
        limits.inline_when_alone &= state.is_on_local_disk();
        let mut spec = vault::spec();
        if args.read_only {
            spec = spec.read_only();
        }
        surfaces.push(Surface::new(spec, state, settings.policy.clone(), limits));
    }
    if let Some(root) = settings
        .editor
        .root
        .as_ref()
        .filter(|_| wanted(World::Editor))
    {
        surfaces.push(editor_surface(root, args, settings)?);
    }
    if wanted(World::Hosted)
        && let Some(surface) = hosted_surface(args, settings)?
    {
        surfaces.push(surface);
    }
    let is_asked_for = args.world == Some(World::Docs);
    if is_asked_for || (args.world.is_none() && settings.docs.is_configured) {
        surfaces.extend(docs_surface(args, settings)?);
    }
    if settings.notebook.is_configured() && wanted(World::Notebook) {
        surfaces.push(notebook_surface(args, settings)?);
    }
    // A requested docs world that is switched off is not a mistake: its address answers as if it had never existed.
    if surfaces.is_empty() && !is_asked_for {
        let world = match args.world {
            Some(World::Editor) => "editor",
            Some(World::Notebook) => "notebook",
            _ => "vault",
        };
        return Err(CliError::usage("no folder is given.").next(format_args!(
            "sectile serve {world} DIR, or set {world}.root in the settings file"
        )));
    }
    Ok(surfaces)
}

/// Returns the hosted world, if a store is configured. It must know on whose behalf it makes requests, so it is served only
/// to callers with tokens, which only HTTP has.
fn hosted_surface(args: &ServeArgs, settings: &Settings) -> Result<Option<Surface>, CliError> {
    const HOW: &str = "sectile serve hosted --http 127.0.0.1:7420 --config FILE";
    let is_asked_for = args.world == Some(World::Hosted);
    if is_asked_for && args.http.is_none() {
        let error = "the hosted world is served over HTTP only, to callers with tokens.";
        return Err(CliError::usage(error).next(HOW));
    }
    if is_asked_for && args.path.is_some() {
        let error = "the hosted world takes no folder: its notes are in a store.";
        return Err(CliError::usage(error).next(HOW));
    }
    let hosted = match &settings.hosted {
        Some(hosted) => hosted,
        None if is_asked_for => {
            return Err(CliError::usage("no note store is given.")
                .next("set hosted.store_url in the settings file"));
        }
        None => return Ok(None),
    };
    let auth = settings.access.auth.as_ref();
    if auth.is_none_or(|auth| auth.tokens.is_none()) {
        let error =
            "the hosted world forwards the tokens of its callers, but no tokens are accepted.";
        return Err(CliError::usage(error).next(
            "set [server.auth.tokens] secret_file, jwks_file or jwks_url in the settings file",
        ));
    }
    let state = Hosted::new(
        hosted.store.clone(),
        hosted.client.clone(),
        hosted.gateway_secret.clone(),
        (hosted.breaker_failures, hosted.breaker_pause),
    );
    Ok(Some(Surface::new(
        hosted::spec(),
        state,
        settings.policy.clone(),
        settings.limits,
    )))
}

fn editor_surface(root: &Path, args: &ServeArgs, settings: &Settings) -> Result<Surface, CliError> {
    let options = editor_options(&settings.editor, args.read_only)?;
    let opened = EditorWorld::open(root, options, settings.editor.max_answer_bytes);
    let (state, extent) = opened.map_err(|error| {
        let name = root.file_name().unwrap_or(root.as_os_str());
        let name = visible(&name.to_string_lossy());
        CliError::failed(format_args!("`{name}` cannot be served: {error}."))
            .next("give a document or a folder: sectile serve editor PATH")
    })?;
    if let Some(levels) = state.history_above() {
        tracing::warn!(
            above = levels_up(levels),
            "a folder above has a history of its own: a note that is edited in both has two; see `sectile doctor`"
        );
    }
    let errors = match settings.editor.errors {
        EditorErrors::Auto => ErrorStyle::Suited,
        EditorErrors::Protocol => ErrorStyle::Protocol,
        EditorErrors::Result => ErrorStyle::Result,
    };
    let mut spec = editor::spec(extent, errors);
    if args.read_only {
        spec = spec.read_only();
    }
    Ok(Surface::new(
        spec,
        state.watch(),
        settings.policy.clone(),
        settings.limits,
    ))
}

/// Returns the docs world, unless it is switched off: then it has no address over HTTP. On stdio, where there is one client
/// and nothing else to talk to, that client finds a server without tools and resources.
fn docs_surface(args: &ServeArgs, settings: &Settings) -> Result<Option<Surface>, CliError> {
    let docs = &settings.docs;
    if !docs.enabled && (args.http.is_some() || args.world.is_none()) {
        tracing::info!("the docs world is not served: `docs.enabled` is false");
        return Ok(None);
    }
    let corpus = docs::corpus(docs)?;
    for skipped in &corpus.skipped {
        tracing::warn!(document = %skipped, "a document is not served");
    }
    for note in &corpus.notes {
        tracing::warn!(note, "a document is not served as its author intended");
    }
    if let Some(problem) = docs::policy_problem(settings, &corpus) {
        tracing::warn!(problem, "no document can be found");
    }
    let offer = docs::offer(docs);
    let surface = Surface::new(
        worlds::docs::spec(&docs.namespace, offer),
        Docs::new(&docs.namespace, offer, corpus),
        settings.policy.clone(),
        settings.limits,
    );
    Ok(Some(surface.beside_others()))
}

fn notebook_surface(args: &ServeArgs, settings: &Settings) -> Result<Surface, CliError> {
    let opened = Opened::of(&settings.notebook, settings.max_note_bytes)?;
    let given = settings.notebook.constraints;
    let constraints = Constraints {
        max_passage_context: given.max_passage_context,
        max_search_results: given.max_search_results,
        stream_timeout_s: given.stream_timeout_s,
        stream_chunk_size: given.stream_chunk_size,
    };
    let mut world = NotebookWorld::new(
        Arc::clone(&opened.library),
        opened.indexes(None),
        constraints,
        notebook::clock::now,
    )
    .within(server_limits(args, settings));
    if let Some(secret) = &settings.notebook.shared_secret {
        let unusable =
            || CliError::failed("no key can be derived from notebook.shared_secret_file.");
        world = world.sharing(secret).ok_or_else(unusable)?;
    }
    Ok(Surface::new(
        notebook::spec(&constraints),
        world,
        settings.policy.clone(),
        settings.limits,
    ))
}

/// Returns the limits on calls outside the notebook world itself, by setting: those that are enforced in this run.
fn server_limits(args: &ServeArgs, settings: &Settings) -> Vec<Limit> {
    let on_stdio = args.http.is_none() && args.world.is_some();
    // Requests are counted only where callers sign in.
    let is_counted = !on_stdio && settings.access.auth.is_some();
    let limits = settings.notebook.server_limits.iter();
    let met = limits.filter(|(name, value)| match name.as_str() {
        name if name.starts_with("server.http.") => !on_stdio,
        name if name.ends_with("requests_per_minute") => is_counted && **value > 0,
        _ => true,
    });
    met.map(|(name, value)| Limit {
        value: match name.as_str() {
            "server.http.max_connections_per_address" => {
                settings.front.max_connections_per_address as u64
            }
            "server.limits.max_in_flight_per_caller" => {
                settings.limits.max_in_flight_per_caller as u64
            }
            _ => *value,
        },
        name: name.clone().into(),
        bounds: "the setting of this name, which the manual describes".into(),
    })
    .collect()
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

/// Makes glibc keep the memory that a call frees for the next one. By default it returns anything over 128 kB to the
/// kernel, and a parse frees more: faulting it in again costs half as much as the parse. Freeing a large block raises that
/// threshold to twice its size. The block is never touched, so it costs nothing; other allocators are not affected.
fn keep_freed_memory() {
    const BLOCK: usize = 16 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BLOCK)));
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
