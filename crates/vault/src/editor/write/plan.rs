//! Plans: results of dry runs, kept until they are applied.

use super::WriteRequest;

/// Plans that were made by dry runs and have not been applied.
#[derive(Debug, Default)]
pub(super) struct Plans {
    plans: Vec<(String, Plan)>,
}

/// The result of a dry run: the bytes it would write.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) request: WriteRequest,
    pub(super) documents: Vec<PlannedDocument>,
    /// The ids that new sections will have.
    pub(super) ids: Vec<String>,
}

/// A document before and after a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedDocument {
    pub(super) path: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Plans {
    const MOST: usize = 32;

    pub(super) fn put(&mut self, token: String, plan: Plan) {
        self.plans.retain(|(known, _)| *known != token);
        if self.plans.len() == Self::MOST {
            self.plans.remove(0);
        }
        self.plans.push((token, plan));
    }

    /// Returns the ids that a plan promises.
    pub(super) fn ids(&self, token: &str) -> Option<Vec<String>> {
        let (_, plan) = self.plans.iter().find(|(known, _)| known == token)?;
        Some(plan.ids.clone())
    }

    pub(super) fn take(&mut self, token: &str) -> Option<Plan> {
        let at = self.plans.iter().position(|(known, _)| known == token)?;
        Some(self.plans.remove(at).1)
    }
}
