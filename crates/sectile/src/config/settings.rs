//! Settings as the program uses them: typed, checked, and resolved against the worlds' tables.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use sectile_mcp::{
    Policy, SurfaceLimits, fixed_part,
    policy::{Authorisation, NameSet, Visibility, qualified},
};

use super::{AccessSettings, FrontSettings, LoadedConfig, LogSettings, raw};
use crate::{
    settings::{ConfigError, ConfigErrors, SettingsSection as _, nearest, numbers},
    worlds::{self, WorldSettings},
};

pub(crate) struct Settings {
    pub(crate) log: LogSettings,
    pub(crate) limits: SurfaceLimits,
    pub(crate) max_message_bytes: usize,
    pub(crate) front: FrontSettings,
    pub(crate) access: AccessSettings,
    pub(crate) policy: Policy,
    /// The numbers in `[server]` that limit calls, by setting, as written.
    written_limits: BTreeMap<String, u64>,
    pub(crate) worlds: WorldSettings,
}

impl Settings {
    /// Checks the loaded settings and reports all mistakes at once. Paths in a settings file are relative to its folder,
    /// `base`.
    pub(crate) fn resolve(loaded: &LoadedConfig, base: &Path) -> Result<Self, ConfigErrors> {
        let raw = &loaded.raw;
        let mut mistakes = ConfigErrors::default();
        let front = mistakes.take(FrontSettings::resolve(loaded, base));
        let access = mistakes.take(AccessSettings::resolve(loaded, base));
        let policy = mistakes.take(policy(loaded));
        let worlds = mistakes.take(raw.worlds.check(loaded.reader(base)));
        let mistakes = mistakes.after(&loaded.mistakes);
        let (Some(front), Some(access), Some(policy), Some(worlds)) =
            (front, access, policy, worlds)
        else {
            return Err(mistakes);
        };
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Self {
            log: raw.log,
            limits: SurfaceLimits {
                max_in_flight: raw.server.limits.max_in_flight,
                max_in_flight_per_caller: share_of(&raw.server.limits),
                max_waiting: raw.server.limits.max_waiting,
                max_waiting_per_caller: raw.server.limits.max_waiting.div_ceil(8),
                call_timeout: Duration::from_millis(raw.server.limits.call_timeout_ms),
                inline_when_alone: false,
            },
            max_message_bytes: raw.server.limits.max_message_bytes,
            front,
            access,
            policy,
            written_limits: written_limits(&raw.server),
            worlds,
        })
    }

    /// Returns the limits on calls that the server itself enforces, by setting: on stdio, or over HTTP.
    pub(crate) fn server_limits(&self, on_stdio: bool) -> Vec<(String, u64)> {
        // Requests are counted only where callers sign in.
        let is_counted = !on_stdio && self.access.auth.is_some();
        let met = self
            .written_limits
            .iter()
            .filter(|(name, value)| match name.as_str() {
                name if name.starts_with("server.http.") => !on_stdio,
                name if name.ends_with("requests_per_minute") => is_counted && **value > 0,
                _ => true,
            });
        met.map(|(name, value)| {
            let value = match name.as_str() {
                "server.http.max_connections_per_address" => {
                    self.front.max_connections_per_address as u64
                }
                "server.limits.max_in_flight_per_caller" => {
                    self.limits.max_in_flight_per_caller as u64
                }
                _ => *value,
            };
            (name.clone(), value)
        })
        .collect()
    }
}

/// Returns every number in the `[server]` section, by setting, except those that do not limit calls.
fn written_limits(raw: &raw::RawServer) -> BTreeMap<String, u64> {
    const OTHERS: [&str; 4] = [
        "server.auth.",
        "server.metrics.",
        "server.audit.",
        "server.http.stop_notice_ms",
    ];
    let mut limits = numbers("server", raw);
    limits.retain(|name, _| !OTHERS.iter().any(|other| name.starts_with(other)));
    limits
}

/// Returns the policy that says what exists and what may be called.
fn policy(loaded: &LoadedConfig) -> Result<Policy, ConfigErrors> {
    let raw = &loaded.raw.server;
    let mut mistakes = ConfigErrors::default();
    let mut names = |key: &str, list: &[String]| {
        let names = mistakes.take(known_names(key, list, loaded));
        names.unwrap_or_default()
    };
    let policy = Policy {
        visibility: Visibility {
            mode: raw.tools.mode,
            allow: names("server.tools.allowlist", &raw.tools.allowlist),
            deny: names("server.tools.denylist", &raw.tools.denylist),
        },
        authorisation: Authorisation {
            allowed: names("server.auth.allowed_tools", &raw.auth.allowed_tools),
        },
        roles: Arc::default(),
    };
    match mistakes.is_empty() {
        true => Ok(policy),
        false => Err(mistakes),
    }
}

/// Returns the number of calls of one signed-in caller that may run at the same time.
fn share_of(raw: &raw::RawServerLimits) -> usize {
    match raw.max_in_flight_per_caller {
        0 => raw.max_in_flight.div_ceil(4),
        given => given.min(raw.max_in_flight),
    }
}

/// Checks that every name in a policy exists. A misspelt one would silently protect nothing, so it is an error.
pub(super) fn known_names(
    key: &str,
    list: &[String],
    loaded: &LoadedConfig,
) -> Result<NameSet, ConfigErrors> {
    if list.is_empty() {
        return Ok(NameSet::default());
    }
    let worlds = worlds::cards_with(&loaded.raw.worlds);
    let known: Vec<String> = worlds
        .iter()
        .flat_map(|world| {
            let tools = world.tools.iter().map(|tool| tool.name.as_str());
            tools
                .chain(world.prompts.iter().copied())
                .chain(world.templates.iter().map(String::as_str))
                .map(|name| (world.name, name))
                .collect::<Vec<_>>()
        })
        .flat_map(|(world, name)| [name.to_owned(), qualified(world, name)])
        .collect();
    // A resource is named by its URI, and URIs are not listed.
    let is_resource = |name: &String| {
        worlds.iter().any(|world| {
            let uri = name
                .strip_prefix(world.name)
                .and_then(|rest| rest.strip_prefix('/'));
            let uri = uri.unwrap_or(name);
            let mut families = world.templates.iter().map(|template| fixed_part(template));
            families.any(|family| uri.starts_with(family.trim_end_matches('/')))
        })
    };
    let mut mistakes = ConfigErrors::default();
    for (index, name) in list.iter().enumerate() {
        if !known.contains(name) && !is_resource(name) {
            mistakes.add(ConfigError::UnknownName {
                origin: loaded.origins.of_entry(key, index),
                key: key.to_owned(),
                nearest: nearest(name, known.iter().map(String::as_str)),
                name: name.clone(),
            });
        }
    }
    match mistakes.is_empty() {
        true => Ok(NameSet::new(list.iter().cloned())),
        false => Err(mistakes),
    }
}
