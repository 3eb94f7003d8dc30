//! The parts of each section's score by name, so that those of two searches can be compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DocsSearchAnswer, FoundSection};

/// A section, and the parts of its score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScoredSection {
    pub(crate) uri: String,
    /// The parts by name. Those of words are in 1024ths, and the nearness in meaning is in thousandths.
    pub(crate) parts: BTreeMap<String, u64>,
}

/// The name of the part that is the nearness in meaning.
pub(crate) const MEANING: &str = "meaning";

impl DocsSearchAnswer {
    /// Returns the sections, best first, with the parts of their scores if they were requested.
    pub(crate) fn scored(&self) -> impl Iterator<Item = ScoredSection> {
        self.sections.iter().map(FoundSection::scored)
    }
}

impl FoundSection {
    fn scored(&self) -> ScoredSection {
        let mut parts = BTreeMap::new();
        if let Some(score) = &self.score {
            for term in &score.terms {
                *parts.entry(format!("word `{}`", term.term)).or_default() += term.score;
            }
            let others = [
                ("words together", score.together),
                ("role", score.role_bonus),
            ];
            let others = others.into_iter().filter(|(_, score)| *score > 0);
            parts.extend(others.map(|(name, score)| (name.to_owned(), score)));
        }
        let nearness = self.nearness.map(|nearness| nearness / 1_000);
        parts.extend(nearness.map(|nearness| (MEANING.to_owned(), nearness)));
        ScoredSection {
            uri: self.uri.clone(),
            parts,
        }
    }
}
