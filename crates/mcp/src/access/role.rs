//! Roles, and the one table of what each may use.

use std::fmt;

use super::{Identity, NameSet};

/// The role of a signed-in caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// May read.
    Viewer,
    /// May read and change.
    Editor,
    /// Like an editor, unless the settings say otherwise.
    Evaluator,
    /// May do everything.
    Admin,
}

impl Role {
    /// Every role, from the least to the most powerful.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Editor, Self::Evaluator, Self::Admin];

    /// Returns the role with this name. An unknown name counts as `viewer`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|role| role.name() == name);
        known.unwrap_or(Self::Viewer)
    }

    /// Returns its name in tokens, key files and settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Evaluator => "evaluator",
            Self::Admin => "admin",
        }
    }

    /// Returns whether this role may change things if no setting mentions it.
    const fn changes(self) -> bool {
        !matches!(self, Self::Viewer)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The table of what each role may use, and in which roots. If the settings name nothing for a role, the effect decides:
/// everyone may read, viewers may not change anything, and both in all roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl {
    given: [NameSet; 4],
    roots: [Vec<String>; 4],
}

/// Something that may be used, as the table sees it.
#[derive(Clone, Copy, Debug)]
pub struct AccessTarget<'a> {
    /// The world it belongs to.
    pub world: &'a str,
    /// Its name or URI.
    pub name: &'a str,
    /// The template that a resource's URI matches.
    pub family: Option<&'a str>,
    /// Whether using it can change anything.
    pub changes: bool,
}

impl Acl {
    /// Makes a table in which each role that has any names may use exactly these.
    #[must_use]
    pub fn new(given: impl IntoIterator<Item = (Role, NameSet)>) -> Self {
        let mut acl = Self::default();
        for (role, names) in given {
            acl.given[role as usize] = names;
        }
        acl
    }

    /// Binds each role that has any names here to the roots of these names.
    #[must_use]
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = (Role, Vec<String>)>) -> Self {
        for (role, names) in roots {
            self.roots[role as usize] = names;
        }
        self
    }

    /// Returns the roots that a caller is bound to, by its key, by its role or by both; `None` means all.
    #[must_use]
    pub fn roots_of(&self, identity: &Identity) -> Option<Vec<String>> {
        let of_role = &self.roots[identity.role as usize];
        match (&identity.roots, of_role.as_slice()) {
            (None, []) => None,
            (None, of_role) => Some(of_role.to_vec()),
            (Some(of_key), []) => Some(of_key.clone()),
            (Some(of_key), of_role) => {
                let both = of_key.iter().filter(|name| of_role.contains(name));
                Some(both.cloned().collect())
            }
        }
    }

    /// Returns whether `role` may use `thing`. Decides listings and calls alike.
    #[must_use]
    pub fn allows(&self, role: Role, thing: AccessTarget<'_>) -> bool {
        let names = &self.given[role as usize];
        if names.is_empty() {
            !thing.changes || role.changes()
        } else {
            names.contains(thing.world, thing.name, thing.family)
        }
    }

    /// Returns whether `role` may use the same things in the same roots under `other` as under this table.
    #[must_use]
    pub fn is_same_for(&self, role: Role, other: &Self) -> bool {
        let index = role as usize;
        self.given[index] == other.given[index] && self.roots[index] == other.roots[index]
    }

    /// Returns whether `role` may read everything, whatever its name.
    #[must_use]
    pub fn allows_all_reading(&self, role: Role) -> bool {
        self.given[role as usize].is_empty()
    }

    /// Returns whether some role may not use everything.
    #[must_use]
    pub fn limits(&self, role: Role) -> bool {
        !role.changes() || !self.given[role as usize].is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(name: &str, changes: bool) -> AccessTarget<'_> {
        AccessTarget {
            world: "editor",
            name,
            family: None,
            changes,
        }
    }

    #[test]
    fn roots_are_those_of_key_and_role_together() {
        let list =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        let acl = Acl::default().with_roots([
            (Role::Viewer, list(&["work", "home"])),
            (Role::Admin, Vec::new()),
        ]);
        for (role, of_key, expected) in [
            (Role::Admin, None, None),
            (Role::Admin, Some(&["home"][..]), Some(&["home"][..])),
            (Role::Viewer, None, Some(&["work", "home"])),
            (Role::Viewer, Some(&["home", "lab"]), Some(&["home"])),
            (Role::Viewer, Some(&["lab"]), Some(&[])),
            // Names are exact.
            (Role::Viewer, Some(&["Home", "work "]), Some(&[])),
        ] {
            let identity = Identity {
                key: "key:ann".to_owned(),
                user: "ann".to_owned(),
                effective_user: None,
                vault: "default".to_owned(),
                role,
                roots: of_key.map(list),
                token: None,
                mark: None,
                expires: None,
            };
            let roots = acl.roots_of(&identity);
            assert_eq!(roots, expected.map(list), "{role}: {of_key:?}");
        }
        assert!(acl.is_same_for(Role::Admin, &Acl::default()));
        assert!(!acl.is_same_for(Role::Viewer, &Acl::default()));
    }

    #[test]
    fn a_role_that_nobody_knows_is_a_viewer() {
        for role in Role::ALL {
            assert_eq!(Role::named(role.name()), role);
        }
        for name in ["", "Admin", "owner", "constructor", "__proto__"] {
            assert_eq!(Role::named(name), Role::Viewer, "{name}");
        }
    }

    #[test]
    fn looking_is_for_everybody_and_changing_not_for_viewers() {
        let acl = Acl::default();
        for role in Role::ALL {
            assert!(acl.allows(role, thing("get_section", false)), "{role}");
            let may_change = role != Role::Viewer;
            assert_eq!(acl.allows(role, thing("undo", true)), may_change, "{role}");
        }
    }

    #[test]
    fn names_in_the_settings_take_the_place_of_the_rule() {
        let names = |list: &[&str]| NameSet::new(list.iter().map(|&name| name.to_owned()));
        let acl = Acl::new([
            (Role::Viewer, names(&["list_sections"])),
            (Role::Admin, names(&["editor/undo"])),
        ]);
        assert!(acl.allows(Role::Viewer, thing("list_sections", false)));
        assert!(!acl.allows(Role::Viewer, thing("get_section", false)));
        assert!(acl.allows(Role::Editor, thing("get_section", false)));
        assert!(acl.allows(Role::Admin, thing("undo", true)));
        assert!(!acl.allows(Role::Admin, thing("get_section", false)));
    }
}
