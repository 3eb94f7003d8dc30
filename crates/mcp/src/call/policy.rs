//! Two policies that never mix: what exists (visibility), and who may use it (authorisation).
//!
//! Both apply to tools, resources, skills and prompts alike, by name or URI, optionally as `world/name`. A skill has the
//! URI of its `SKILL.md`, and its files go with it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{AccessTarget, Acl, LiveValue, Role};
pub use crate::access::{NameSet, qualified};

/// The rules for what a surface shows and lets callers use.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The rules for what exists.
    pub visibility: Visibility,
    /// The rules for who may use it.
    pub authorisation: Authorisation,
    /// The rules for what exists for which role, if callers have roles.
    pub roles: Arc<LiveValue<Acl>>,
}

/// The role of a caller. If callers do not sign in, none has a role, and everything that exists is there for all.
pub(crate) type CallerRole = Option<Role>;

/// The reason something does not exist for a caller. Only the audit log may record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The settings hide it from everyone.
    Hidden,
    /// It is not for this role.
    Role,
}

impl Absence {
    /// Returns the word for the audit log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Role => "hidden_from_role",
        }
    }
}

impl Policy {
    /// Checks whether `thing` exists for a call by a caller with this role.
    pub(crate) fn presence(
        &self,
        caller_role: CallerRole,
        thing: AccessTarget<'_>,
    ) -> Result<(), Absence> {
        if !self
            .visibility
            .exists(thing.world, thing.name, thing.family)
        {
            return Err(Absence::Hidden);
        }
        self.role_allows(caller_role, thing)
            .then_some(())
            .ok_or(Absence::Role)
    }

    /// Returns whether a caller with this role may read everything, whatever its name.
    pub(crate) fn allows_all_reading(&self, caller_role: CallerRole) -> bool {
        let Visibility { allow, deny, .. } = &self.visibility;
        allow.is_empty()
            && deny.is_empty()
            && self.authorisation.allowed.is_empty()
            && caller_role.is_none_or(|role| self.roles.get().allows_all_reading(role))
    }

    /// Returns whether a listing for a caller with this role shows `thing`.
    pub(crate) fn lists(&self, caller_role: CallerRole, thing: AccessTarget<'_>) -> bool {
        self.visibility.lists(thing.world, thing.name, thing.family)
            && self.role_allows(caller_role, thing)
    }

    /// Returns whether a listing for a caller with this role may leave something out.
    pub(crate) fn hides_from_listings(&self, caller_role: CallerRole) -> bool {
        self.visibility.hides_from_listings()
            || caller_role.is_some_and(|role| self.roles.get().limits(role))
    }

    fn role_allows(&self, caller_role: CallerRole, thing: AccessTarget<'_>) -> bool {
        caller_role.is_none_or(|role| self.roles.get().allows(role, thing))
    }
}

/// The rules for what clients can see.
#[derive(Clone, Debug, Default)]
pub struct Visibility {
    /// Whether listings are filtered.
    pub mode: Mode,
    /// If not empty, only these exist.
    pub allow: NameSet,
    /// These never exist.
    pub deny: NameSet,
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

/// The rules for who may call what exists.
#[derive(Clone, Debug, Default)]
pub struct Authorisation {
    /// If not empty, only these may be called.
    pub allowed: NameSet,
}

impl Visibility {
    /// Returns whether `name` exists for a call. A resource may also be named by its template, the `family`.
    pub fn exists(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        (self.allow.is_empty() || self.allow.contains(world, name, family))
            && !self.deny.contains(world, name, family)
    }

    /// Returns whether a resource, or a folder that it is in, is named as something that never exists.
    pub(crate) fn denies_folder_of(&self, world: &str, uri: &str) -> bool {
        let ends = uri.match_indices('/').map(|(end, _)| end);
        let is_denied = |end: usize| self.deny.contains(world, &uri[..end], None);
        !self.deny.is_empty() && ends.chain([uri.len()]).any(is_denied)
    }

    /// Returns whether a listing may leave something out.
    pub(crate) fn hides_from_listings(&self) -> bool {
        self.mode == Mode::Filter && !(self.allow.is_empty() && self.deny.is_empty())
    }

    /// Returns whether `name` is shown in a listing.
    pub fn lists(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        self.mode == Mode::Passthrough || self.exists(world, name, family)
    }
}

impl Authorisation {
    /// Returns whether the caller may use `name`.
    pub fn permits(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        self.allowed.is_empty() || self.allowed.contains(world, name, family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> NameSet {
        NameSet::new(list.iter().map(|name| (*name).to_owned()))
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
    fn any_rule_at_all_may_hide_something_from_a_reader() {
        let roles = |given: Vec<(Role, NameSet)>| Policy {
            roles: Arc::new(LiveValue::new(Acl::new(given))),
            ..Policy::default()
        };
        let mut policy = Policy::default();
        for role in [None, Some(Role::Viewer), Some(Role::Admin)] {
            assert!(policy.allows_all_reading(role));
        }
        policy.visibility.allow = names(&["a"]);
        assert!(!policy.allows_all_reading(None));
        policy.visibility = Visibility {
            deny: names(&["a"]),
            mode: Mode::Passthrough,
            ..Visibility::default()
        };
        assert!(!policy.allows_all_reading(None));
        policy.visibility = Visibility::default();
        policy.authorisation.allowed = names(&["a"]);
        assert!(!policy.allows_all_reading(None));
        let policy = roles(vec![(Role::Viewer, names(&["a"]))]);
        assert!(!policy.allows_all_reading(Some(Role::Viewer)));
        assert!(policy.allows_all_reading(Some(Role::Admin)));
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
        visibility.deny = NameSet::default();
        visibility.allow = names(&["editor/x://documents/{+path}"]);
        assert!(visibility.exists("editor", "x://documents/a", family));
        assert!(!visibility.exists("docs", "x://documents/a", family));
    }
}
