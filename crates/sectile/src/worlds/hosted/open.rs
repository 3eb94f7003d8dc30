//! Opens the hosted world.

use sectile_mcp::Surface;

use super::{HostedWorld, spec};
use crate::worlds::{OpenError, PathArgument, ServeContext, WorldEntry};

pub(crate) static ENTRY: WorldEntry = WorldEntry {
    name: "hosted",
    about: "The same for many users, for notes in an upstream store. Over HTTP only",
    path: PathArgument::Refused,
    is_http_only: true,
    error_setting: None,
    card: |_| spec().card(),
    open,
};

/// Opens the world, if a store is configured. It must know on whose behalf it makes requests, so it is served only to
/// callers with tokens, which only HTTP has.
fn open(context: ServeContext<'_>) -> Result<Option<Surface>, OpenError> {
    const HOW: &str = "sectile serve hosted --http 127.0.0.1:7420 --config FILE";
    if context.is_asked_for && context.on_stdio {
        let error = "the hosted world is served over HTTP only, to callers with tokens.";
        return Err(OpenError::usage(error).next(HOW));
    }
    if context.is_asked_for && context.has_path {
        let error = "the hosted world takes no folder: its notes are in a store.";
        return Err(OpenError::usage(error).next(HOW));
    }
    let settings = match &context.settings.hosted {
        Some(settings) => settings,
        None if context.is_asked_for => {
            return Err(OpenError::usage("no note store is given.")
                .next("set hosted.store_url in the settings file"));
        }
        None => return Ok(None),
    };
    if !context.takes_tokens {
        let error =
            "the hosted world forwards the tokens of its callers, but no tokens are accepted.";
        return Err(OpenError::usage(error).next(
            "set [server.auth.tokens] secret_file, jwks_file or jwks_url in the settings file",
        ));
    }
    Ok(Some(context.surface(spec(), HostedWorld::new(settings))))
}
