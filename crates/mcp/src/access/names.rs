//! Names of tools, resources and prompts as settings write them: `name` or `world/name`.

use std::collections::BTreeSet;

/// A set of names from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameSet(BTreeSet<String>);

impl NameSet {
    /// Makes a set of `names`.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `name` of `world` is in the set. A resource may also be named by its template, the `family`.
    #[must_use]
    pub fn contains(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        let named = |name: &str| self.0.contains(name) || self.0.contains(&qualified(world, name));
        !self.0.is_empty() && (named(name) || family.is_some_and(named))
    }
}

/// Returns the form of a name that includes its world.
#[must_use]
pub fn qualified(world: &str, name: &str) -> String {
    format!("{world}/{name}")
}
