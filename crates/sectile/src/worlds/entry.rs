//! A world as one row of a table: all that the rest of the program knows of it.

use std::{fmt, io, path::PathBuf};

use super::{WorldSections, WorldSettings};
use crate::{
    files,
    mcp::{Limits, Policy, Surface, WorldCard, WorldSpec},
};

/// A world.
#[derive(Debug)]
pub(crate) struct WorldEntry {
    /// What it is called on the command line, in addresses and in the settings.
    pub(crate) name: &'static str,
    /// What it offers, for the help of the command line.
    pub(crate) about: &'static str,
    /// What a path after its name means.
    pub(crate) path: PathArgument,
    /// Whether it is served over HTTP only, so that no client can start it.
    pub(crate) is_http_only: bool,
    /// The setting that is `result` for clients whose models do not see protocol errors, if it has them.
    pub(crate) error_setting: Option<&'static str>,
    /// Its contract with these settings, whole: whatever it would offer if nothing were switched off.
    pub(crate) card: fn(&WorldSections) -> WorldCard,
    /// Opens it. Nothing when it is not configured, or switched off.
    pub(crate) open: fn(ServeContext<'_>) -> Result<Option<Surface>, OpenError>,
}

/// What a path means that stands after the name of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathArgument {
    /// The folder to serve, instead of the one that this setting names.
    Root(&'static str),
    /// The same. Where nobody names a folder, the nearest root of the current one is put into the settings.
    NearestRoot(&'static str, fn(&mut WorldSettings) -> &mut Option<PathBuf>),
    /// One more document or folder.
    Document(fn(&mut WorldSettings, &str)),
    /// It takes none.
    Refused,
}

impl PathArgument {
    /// The setting that the path overrides.
    pub(crate) fn setting(self) -> Option<&'static str> {
        match self {
            Self::Root(setting) | Self::NearestRoot(setting, _) => Some(setting),
            Self::Document(_) | Self::Refused => None,
        }
    }
}

/// What a world is opened with.
#[derive(Clone, Copy)]
pub(crate) struct ServeContext<'a> {
    pub(crate) settings: &'a WorldSettings,
    pub(crate) policy: &'a Policy,
    pub(crate) limits: Limits,
    /// What bounds calls besides the world itself, by the names of the settings: those that are enforced in this run.
    pub(crate) server_limits: &'a [(String, u64)],
    /// Whether somebody asked for this world by name, and did not just configure it.
    pub(crate) is_asked_for: bool,
    /// Whether it is served on stdio and not over HTTP.
    pub(crate) on_stdio: bool,
    /// Whether there is a path after its name.
    pub(crate) has_path: bool,
    /// Whether nothing may be written.
    pub(crate) read_only: bool,
    /// Whether callers may sign in with tokens.
    pub(crate) takes_tokens: bool,
}

impl ServeContext<'_> {
    /// The world with this contract and state, without what could change something where nothing may be written.
    pub(crate) fn surface<S: Send + Sync + 'static>(self, spec: WorldSpec<S>, state: S) -> Surface {
        let spec = match self.read_only {
            true => spec.read_only(),
            false => spec,
        };
        Surface::new(spec, state, self.policy.clone(), self.limits)
    }

    /// What becomes of a world that needs a folder and has none: nothing, unless it was asked for.
    pub(crate) fn without_folder(self, world: &str) -> Result<Option<Surface>, OpenError> {
        match self.is_asked_for {
            true => Err(OpenError::no_folder(world)),
            false => Ok(None),
        }
    }
}

/// Why a world cannot be opened.
#[derive(Debug)]
pub(crate) struct OpenError {
    /// What is wrong, in a sentence.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) next: Option<String>,
    /// Whether the command line or the settings ask for what cannot be.
    pub(crate) is_usage: bool,
}

impl OpenError {
    /// What was asked for cannot be had.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            next: None,
            is_usage: false,
        }
    }

    /// What was asked for makes no sense.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self {
            is_usage: true,
            ..Self::failed(message)
        }
    }

    /// Nobody says which folder `world` shall serve.
    pub(crate) fn no_folder(world: &str) -> Self {
        Self::usage("no folder is given.").next(how_to_give_a_folder(world))
    }

    /// Says what to do next.
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

/// How to say which folder `world` shall serve.
pub(crate) fn how_to_give_a_folder(world: &str) -> String {
    format!("sectile serve {world} DIR, or set {world}.root in the settings file")
}
