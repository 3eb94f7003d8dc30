//! Names of tools, resources and prompts, as settings write them: `name` or `world/name`.

use std::collections::BTreeSet;

/// Names from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameSet(BTreeSet<String>);

impl NameSet {
    /// The set of `names`.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `name` of `world` is named. A resource may also go by its template, the `family`.
    #[must_use]
    pub fn contains(&self, world: &str, name: &str, family: Option<&str>) -> bool {
        let named = |name: &str| self.0.contains(name) || self.0.contains(&qualified(world, name));
        !self.0.is_empty() && (named(name) || family.is_some_and(named))
    }
}

/// The form of a name that says which world it belongs to.
#[must_use]
pub fn qualified(world: &str, name: &str) -> String {
    format!("{world}/{name}")
}
