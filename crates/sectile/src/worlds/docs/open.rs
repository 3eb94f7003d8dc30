//! Opens the docs world: loads its documents and tells the operator what is wrong with them.

use sectile_mcp::{Policy, Surface};

use super::{
    DocsSection, DocsSettings, DocsWorld,
    corpus::DocsCorpus,
    resources,
    sources::{DocsSources, SourceOptions},
    spec,
};
use crate::worlds::{OpenError, PathArgument, ServeContext, WorldEntry};

pub(crate) static ENTRY: WorldEntry = WorldEntry {
    name: "docs",
    about: "Documentation to search and read: Sectile's own manual and your documents",
    path: PathArgument::Document(|settings, path| settings.docs.add_path(path)),
    is_http_only: false,
    error_setting: None,
    card: |sections| {
        let section = DocsSection {
            namespace: sections.docs.namespace.clone(),
            ..DocsSection::default()
        };
        spec(&section).card()
    },
    open,
};

/// Opens the world, unless it is switched off: then it has no address over HTTP. On stdio, where the client has nothing
/// else to talk to, it finds a server without tools and resources.
fn open(context: ServeContext<'_>) -> Result<Option<Surface>, OpenError> {
    let settings = &context.settings.docs;
    if !context.is_asked_for && !settings.is_configured {
        return Ok(None);
    }
    if !settings.written.enabled && !context.on_stdio {
        tracing::info!("the docs world is not served: `docs.enabled` is false");
        return Ok(None);
    }
    let options = SourceOptions {
        cache: context.settings.desk.cache.as_deref(),
        cache_limit: context.settings.desk.cache_limit,
        background: true,
    };
    let sources = opened_sources(settings, options)?;
    let docs = DocsWorld::new(&settings.written, sources);
    // A large manual is read in the background, and the first call waits for it.
    if !settings.is_whole {
        let corpus = docs
            .current(&|| false)
            .map_err(|failure| OpenError::failed(failure.message))?;
        for skipped in &corpus.skipped {
            tracing::warn!(document = %skipped, "a document is not served");
        }
        for note in &corpus.notes {
            tracing::warn!(note, "a document is not served as its author intended");
        }
        if let Some(problem) = policy_problem(settings, context.policy, &corpus) {
            tracing::warn!(problem, "no document can be found");
        }
    }
    let surface = context.surface(spec(&settings.written), docs);
    Ok(Some(surface.beside_others()))
}

/// Opens the documents of the docs world. A path named by the settings or on the command line must exist.
pub(crate) fn opened_sources(
    settings: &DocsSettings,
    options: SourceOptions<'_>,
) -> Result<DocsSources, OpenError> {
    let sources = DocsSources::open(settings, sectile_manual::PAGES, options);
    match missing(&sources) {
        None => Ok(sources),
        Some(error) => Err(error),
    }
}

/// Returns the error about paths that do not exist, if there are any.
pub(crate) fn missing(sources: &DocsSources) -> Option<OpenError> {
    let missing = sources.missing.iter();
    let names: Vec<String> = missing.map(|label| format!("`{label}`")).collect();
    let verb = match names.len() {
        0 => return None,
        1 => "does",
        _ => "do",
    };
    let error = format!("{} {verb} not exist.", names.join(", "));
    Some(OpenError::failed(error).next(
        "correct or remove the path: docs.extra_paths or docs.root in the settings, or the command line",
    ))
}

/// Returns the problem with a policy that lets callers search but read nothing, if it is such a policy.
pub(crate) fn policy_problem(
    settings: &DocsSettings,
    policy: &Policy,
    corpus: &DocsCorpus,
) -> Option<&'static str> {
    let spec = spec(&settings.written);
    let allows = |name: &str, family: Option<&str>| {
        policy.visibility.exists(spec.name, name, family)
            && policy.authorisation.permits(spec.name, name, family)
    };
    let family = spec.families.first().map(String::as_str);
    let mut uris = corpus
        .documents
        .iter()
        .map(|doc| resources::uri(&settings.written.namespace, &doc.slug));
    let is_searched = spec.tools.iter().any(|tool| allows(&tool.name, None));
    let is_empty = !corpus.documents.is_empty() && !uris.any(|uri| allows(&uri, family));
    (is_searched && is_empty).then_some(
        "`server.tools.allowlist` or `server.auth.allowed_tools` lets callers search but names no document, so nothing is found. \
         Add the address of a document, or `NAMESPACE://docs/{slug}` for all of them.",
    )
}
