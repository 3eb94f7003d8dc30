//! Two policies that never mix: what exists (visibility), and who may use it (authorisation).
//!
//! Both speak of tools, resources and prompts alike, by name or URI, optionally as `world/name`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a surface shows and lets be called.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// What exists.
    pub visibility: Visibility,
    /// Who may use it.
    pub authorisation: Authorisation,
}

/// What exists as far as clients can tell.
#[derive(Clone, Debug, Default)]
pub struct Visibility {
    /// Whether listings are filtered.
    pub mode: Mode,
    /// When not empty, only these exist.
    pub allow: Names,
    /// These never exist.
    pub deny: Names,
}

/// Whether listings are filtered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A hidden thing is not listed and cannot be called.
    #[default]
    Filter,
    /// Everything is listed; a hidden thing still cannot be called.
    Passthrough,
}

/// Who may call what exists.
#[derive(Clone, Debug, Default)]
pub struct Authorisation {
    /// When not empty, only these may be called.
    pub allowed: Names,
}

/// Names from the configuration.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// The set of `names`.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn contains(&self, world: &str, name: &str) -> bool {
        self.0.contains(name) || self.0.contains(&qualified(world, name))
    }

    fn contains_either(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        self.contains(world, name) || family.is_some_and(|family| self.contains(world, family))
    }
}

/// The form of a name that says which world it belongs to.
pub fn qualified(world: &str, name: &str) -> String {
    format!("{world}/{name}")
}

impl Visibility {
    /// Whether `name` exists for a call. A resource may also go by its template, the `family`.
    pub fn exists(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        (self.allow.is_empty() || self.allow.contains_either(world, name, family))
            && !self.deny.contains_either(world, name, family)
    }

    /// Whether a listing may leave something out.
    pub(super) fn hides_from_listings(&self) -> bool {
        self.mode == Mode::Filter && !(self.allow.is_empty() && self.deny.is_empty())
    }

    /// Whether `name` is shown in a listing.
    pub fn lists(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        self.mode == Mode::Passthrough || self.exists(world, name, family)
    }
}

impl Authorisation {
    /// Whether the caller may use `name`.
    pub fn permits(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        self.allowed.is_empty() || self.allowed.contains_either(world, name, family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Names {
        Names::new(list.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn deny_beats_allow_and_an_empty_allowlist_means_all() {
        let mut visibility = Visibility::default();
        assert!(visibility.exists("vault", "a", None));
        visibility.allow = names(&["a", "vault/b"]);
        visibility.deny = names(&["vault/a"]);
        assert!(!visibility.exists("vault", "a", None));
        assert!(visibility.exists("docs", "a", None));
        assert!(visibility.exists("vault", "b", None));
        assert!(!visibility.exists("docs", "b", None));
        assert!(!visibility.lists("vault", "a", None));
        visibility.mode = Mode::Passthrough;
        assert!(visibility.lists("vault", "a", None) && !visibility.exists("vault", "a", None));
    }

    #[test]
    fn a_resource_goes_by_its_template_too() {
        let family = Some("x://documents/{+path}");
        let mut visibility = Visibility {
            deny: names(&["x://documents/{+path}"]),
            ..Visibility::default()
        };
        assert!(!visibility.exists("editor", "x://documents/a", family));
        assert!(visibility.exists("editor", "x://other", None));
        visibility.deny = Names::default();
        visibility.allow = names(&["editor/x://documents/{+path}"]);
        assert!(visibility.exists("editor", "x://documents/a", family));
        assert!(!visibility.exists("docs", "x://documents/a", family));
    }
}
