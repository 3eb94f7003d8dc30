//! A world as one row of a table, which is all that the rest of the program knows about it.

use std::{fmt, io, path::PathBuf};

use sectile_mcp::{CallState, Policy, Surface, SurfaceLimits, WorldCard, WorldSpec};

use super::{WorldSections, WorldSettings};
use crate::files;

/// One world in the table of worlds.
#[derive(Debug)]
pub(crate) struct WorldEntry {
    /// Name on the command line, in addresses and in the settings.
    pub(crate) name: &'static str,
    /// One line of help on the command line.
    pub(crate) about: &'static str,
    /// Meaning of the path after the name.
    pub(crate) path: PathArgument,
    /// Whether the world is served over HTTP only, so that no client can start it.
    pub(crate) is_http_only: bool,
    /// Setting to set to `result` for clients that hide protocol errors from the model, if the world has one.
    pub(crate) error_setting: Option<&'static str>,
    /// The complete contract under these settings; switches that turn parts of it off do not count.
    pub(crate) card: fn(&WorldSections) -> WorldCard,
    /// Opens the world. `None` when it is not configured or switched off.
    pub(crate) open: fn(ServeContext<'_>) -> Result<Option<Surface>, OpenError>,
}

/// Meaning of the path after a world's name on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathArgument {
    /// The folder to serve. It overrides this setting.
    Root(&'static str),
    /// Like [`Self::Root`]. Without any folder, the nearest root above the current folder is put into the settings.
    NearestRoot(&'static str, fn(&mut WorldSettings) -> &mut Option<PathBuf>),
    /// An additional document or folder.
    Document(fn(&mut WorldSettings, &str)),
    /// The world takes no path.
    Refused,
}

impl PathArgument {
    /// The setting that the path overrides, if it overrides one.
    pub(crate) fn setting(self) -> Option<&'static str> {
        match self {
            Self::Root(setting) | Self::NearestRoot(setting, _) => Some(setting),
            Self::Document(_) | Self::Refused => None,
        }
    }
}

/// Everything that a world is opened with.
#[derive(Clone, Copy)]
pub(crate) struct ServeContext<'a> {
    pub(crate) settings: &'a WorldSettings,
    pub(crate) policy: &'a Policy,
    pub(crate) limits: SurfaceLimits,
    /// Limits of the server that are enforced in this run, by the names of their settings.
    pub(crate) server_limits: &'a [(String, u64)],
    /// Whether the command line names this world. Otherwise it is opened only if it is configured.
    pub(crate) is_asked_for: bool,
    /// Whether the world is served on stdio, not over HTTP.
    pub(crate) on_stdio: bool,
    /// Whether the command line gives a path.
    pub(crate) has_path: bool,
    /// Whether nothing may be written.
    pub(crate) read_only: bool,
    /// Whether callers can sign in with tokens.
    pub(crate) takes_tokens: bool,
}

impl ServeContext<'_> {
    /// Combines contract and state. In a read-only run, tools that could change something are left out.
    pub(crate) fn surface<S: Send + Sync + 'static>(self, spec: WorldSpec<S>, state: S) -> Surface {
        Surface::new(self.offered(spec), state, self.policy.clone(), self.limits)
    }

    /// Combines a contract with a state that is made for each call, as [`Self::surface`] does with one that lasts.
    pub(crate) fn surface_per_call<S: Send + Sync + 'static>(
        self,
        spec: WorldSpec<S>,
        source: impl CallState<S>,
    ) -> Surface {
        Surface::per_call(self.offered(spec), source, self.policy.clone(), self.limits)
    }

    fn offered<S>(&self, spec: WorldSpec<S>) -> WorldSpec<S> {
        match self.read_only {
            true => spec.read_only(),
            false => spec,
        }
    }

    /// The outcome for a world that needs a folder and has none: an error if the command line names the world.
    pub(crate) fn without_folder(self, world: &str) -> Result<Option<Surface>, OpenError> {
        match self.is_asked_for {
            true => Err(OpenError::no_folder(world)),
            false => Ok(None),
        }
    }
}

/// The reason why a world cannot be opened.
#[derive(Debug)]
pub(crate) struct OpenError {
    /// A sentence about the problem.
    pub(crate) message: String,
    /// Advice on what to do next.
    pub(crate) next: Option<String>,
    /// Whether the command line or the settings are at fault, rather than the system.
    pub(crate) is_usage: bool,
}

impl OpenError {
    /// An error of the system or of the data.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            next: None,
            is_usage: false,
        }
    }

    /// An error in the command line or in the settings.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self {
            is_usage: true,
            ..Self::failed(message)
        }
    }

    /// The error when neither the command line nor the settings give a folder for `world`.
    pub(crate) fn no_folder(world: &str) -> Self {
        Self::usage("no folder is given.").next(how_to_give_a_folder(world))
    }

    /// Adds advice on what to do next.
    pub(crate) fn next(self, next: impl fmt::Display) -> Self {
        Self {
            next: Some(next.to_string()),
            ..self
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::failed(format_args!(
            "the system refused ({})",
            files::reason(error.kind())
        ))
    }
}

/// Hint that says how to give `world` a folder.
pub(crate) fn how_to_give_a_folder(world: &str) -> String {
    format!("sectile serve {world} DIR, or set {world}.root in the settings file")
}
